"""Downloaders of SVHN, CelebA, Dogs vs. Cats, of videos' sound, and of a corpus to unpack."""

from __future__ import annotations

import argparse
import gzip
import importlib
import io
import json
import os
import sys
import tarfile
from pathlib import Path

import pytest

from fuel.config_parser import config
from fuel.datasets import OneBillionWord
from fuel.downloaders import (
    all_downloaders,
    base,
    celeba,
    dogs_vs_cats,
    one_billion_word,
    svhn,
    youtube_audio,
)
from fuel.exceptions import StorageError
from fuel.manifests import MANIFESTS

ID = "-a_B3c4D5e6"


@pytest.mark.parametrize("which, ending", [(1, ".tar.gz"), (2, "_32x32.mat")])
def test_svhn_asks_the_default_downloader_of_its_module(monkeypatch, which, ending):
    calls = []
    monkeypatch.setattr(svhn, "default_downloader", lambda **keywords: calls.append(keywords))
    svhn.svhn_downloader(which, "there", clear=True)
    assert calls == [
        {
            "directory": "there",
            "urls": [None] * 3,
            "filenames": [split + ending for split in ("train", "test", "extra")],
            "url_prefix": "http://ufldl.stanford.edu/housenumbers/",
            "clear": True,
        }
    ]
    # What the table has is what these parts make.
    made = [calls[0]["url_prefix"] + name for name in calls[0]["filenames"]]
    assert made == MANIFESTS[f"svhn_{which}"].urls


def test_svhn_has_two_formats(tmp_path):
    with pytest.raises(ValueError, match="either 1 or 2, got 3"):
        svhn.svhn_downloader(3, str(tmp_path))
    parser = argparse.ArgumentParser()
    assert svhn.fill_subparser(parser) is svhn.svhn_downloader
    assert parser.parse_args(["1"]).which_format == 1


@pytest.mark.parametrize(
    "module, names",
    [
        (celeba, ["img_align_celeba.zip", "list_attr_celeba.txt"]),
        (dogs_vs_cats, ["dogs_vs_cats.train.zip", "dogs_vs_cats.test1.zip"]),
    ],
)
def test_pictures_are_left_to_the_default_downloader(module, names):
    parser = argparse.ArgumentParser()
    assert module.fill_subparser(parser) is base.default_downloader
    options = parser.parse_args([])
    assert options.filenames == names
    for name, url in zip(names, options.urls, strict=True):
        assert url.startswith("https://www.dropbox.com/")
        assert f"/{name.replace('dogs_vs_cats.', '')}?dl=1" in url


def test_converters_and_downloaders_know_the_same_files():
    converters = {
        name: importlib.import_module(f"fuel.converters.{name}")
        for name in ("svhn", "celeba", "dogs_vs_cats")
    }
    assert MANIFESTS["svhn_1"].filenames == converters["svhn"].FORMAT_1_FILES
    assert MANIFESTS["svhn_2"].filenames == converters["svhn"].FORMAT_2_FILES
    assert MANIFESTS["celeba_64"].filenames == converters["celeba"].DATASET_FILES
    cats = converters["dogs_vs_cats"]
    assert MANIFESTS["dogs_vs_cats"].filenames == [cats.TRAIN, cats.TEST]
    names = [name for name, _ in all_downloaders]
    assert {"svhn", "celeba", "dogs_vs_cats", "youtube_audio", "one_billion_word"} <= {*names}


YT_DLP = """
import json, os, sys
arguments = sys.argv[1:]
given = dict(zip(arguments, arguments[1:]))
target = given["--output"].replace("%%", "%")
with open(os.path.join(os.path.dirname(target), "arguments.json"), "w") as file:
    json.dump(arguments, file)
if arguments[-1].endswith("gone"):
    print("WARNING: something", file=sys.stderr)
    print("ERROR: [youtube] gone: Video unavailable", file=sys.stderr)
    sys.exit(1)
if not arguments[-1].endswith("nothing"):
    open(target, "wb").write(b"sound")
"""


@pytest.fixture
def yt_dlp(tmp_path, monkeypatch):
    """Put a program of that name on the PATH."""
    folder = tmp_path / "programs"
    folder.mkdir()
    script = folder / "script.py"
    script.write_text(YT_DLP)
    if os.name == "nt":
        (folder / "yt-dlp.bat").write_text(f'@"{sys.executable}" "{script}" %*\n')
    else:
        (folder / "yt-dlp").write_text(f"#!{sys.executable}\n{YT_DLP}")
        (folder / "yt-dlp").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


@pytest.mark.usefixtures("yt_dlp")
def test_the_sound_of_a_video_is_got_by_a_program(tmp_path, capfd):
    where = tmp_path / "100% new"
    youtube_audio.download(str(where), ID)
    assert (where / f"{ID}.m4a").read_bytes() == b"sound"
    arguments = json.loads((where / "arguments.json").read_text())
    assert arguments[-2:] == ["--", f"https://www.youtube.com/watch?v={ID}"]
    assert f"Downloading {ID}.m4a" in capfd.readouterr().out
    youtube_audio.download(str(where), ID, clear=True)
    youtube_audio.download(str(where), ID, clear=True)
    assert os.listdir(where) == ["arguments.json"]


@pytest.mark.usefixtures("yt_dlp")
def test_the_reason_of_the_program_is_told(tmp_path):
    with pytest.raises(StorageError, match=r"exit code 1\): ERROR: .* Video unavailable\. The sit"):
        youtube_audio.download(str(tmp_path), "gone")
    with pytest.raises(StorageError, match=r"ended without an error, but there is no .*\.m4a"):
        youtube_audio.download(str(tmp_path), "nothing")


def test_a_missing_program_is_told_with_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "yt_dlp", None)
    monkeypatch.setattr(youtube_audio.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(StorageError, match="which is not installed; `pip install yt-dlp`"):
        youtube_audio.download(str(tmp_path / "new"), ID)
    assert not (tmp_path / "new").exists()


def test_a_package_is_as_good_as_a_program(tmp_path, monkeypatch):
    (tmp_path / "yt_dlp.py").write_text(YT_DLP)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    youtube_audio.download(str(tmp_path), ID)
    assert (tmp_path / f"{ID}.m4a").read_bytes() == b"sound"


@pytest.mark.parametrize("wrong", ["", "../x", "a b", "https://youtu.be/x"])
def test_what_cannot_be_an_identity_is_refused(tmp_path, wrong):
    with pytest.raises(ValueError, match="`youtube_id` must consist of letters"):
        youtube_audio.download(str(tmp_path), wrong)


def test_videos_need_an_identity():
    parser = argparse.ArgumentParser()
    assert youtube_audio.fill_subparser(parser) is youtube_audio.download
    assert parser.parse_args([f"--youtube-id={ID}"]).youtube_id == ID
    assert youtube_audio.PAFY_AVAILABLE is False


TOP = "1-billion-word-language-modeling-benchmark-r13output"
CORPUS = {
    f"{TOP}/README": b"read me",
    f"{TOP}/training-monolingual.tokenized.shuffled/news.en-00001-of-00100": b"a b\nc\n",
    f"{TOP}/training-monolingual.tokenized.shuffled/news.en-00002-of-00100": b"b\n" * 5000,
    f"{TOP}/heldout-monolingual.tokenized.shuffled/news.en.heldout-00000-of-00050": b"c c\n",
}


def corpus(path, members=CORPUS, links=()):
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        for name, target in links:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            archive.addfile(info)


def archive_in(folder):
    return folder / MANIFESTS["one_billion_word"].filenames[0]


def test_the_corpus_is_unpacked_where_the_dataset_looks(tmp_path, capsys):
    corpus(archive_in(tmp_path))
    one_billion_word.download_one_billion_word(str(tmp_path), unpack_only=True)
    assert "Unpacked 3 files" in capsys.readouterr().out
    with config.override(data_path=[str(tmp_path)]):
        files = OneBillionWord.files_of("training", [1, 2])
        assert [Path(path).read_bytes() for path in files] == list(CORPUS.values())[1:3]
        dataset = OneBillionWord("heldout", [0], {"<S>": 0, "</S>": 1, "<UNK>": 2, "c": 3})
        stream = dataset.get_example_stream()
        assert list(stream.get_epoch_iterator()) == [([0, 3, 3, 1],)]
    unpacked = [name for _, _, files in os.walk(tmp_path / "1-billion-word") for name in files]
    assert len(unpacked) == 3
    one_billion_word.download_one_billion_word(str(tmp_path), clear=True)
    assert os.listdir(tmp_path) == []


def test_an_archive_writes_nothing_outside_of_its_folder(tmp_path):
    inside = tmp_path / "a" / "b"
    inside.mkdir(parents=True)
    training = "training-monolingual.tokenized.shuffled/news.en-00003-of-00100"
    members = {
        **CORPUS,
        f"../../{training}": b"inside all the same",
        "../../outside": b"",
        "/tmp/fuel-outside": b"",
        f"{TOP}/{training}/../../../../../outside": b"",
    }
    corpus(archive_in(inside), members, [(f"{TOP}/{training[:-12]}4-of-00100", "/etc/passwd")])
    paths = one_billion_word.unpack(str(archive_in(inside)), str(inside))
    assert all(path.startswith(str(inside / "1-billion-word")) for path in paths)
    assert len(paths) == 4
    assert sorted(os.listdir(tmp_path)) == ["a"]
    assert os.listdir(tmp_path / "a") == ["b"]
    assert not any(os.path.islink(path) for path in paths)


@pytest.mark.parametrize("keep", [0.3, 0.7, -1, -9])
def test_an_archive_cut_short_is_told(tmp_path, keep):
    corpus(archive_in(tmp_path))
    content = archive_in(tmp_path).read_bytes()
    archive_in(tmp_path).write_bytes(content[: int(len(content) * keep) if keep > 0 else keep])
    with pytest.raises(StorageError, match="is cut short or damaged"):
        one_billion_word.unpack(str(archive_in(tmp_path)), str(tmp_path))


def test_what_is_no_such_archive_is_told(tmp_path):
    path = archive_in(tmp_path)
    path.write_bytes(b"<html>404</html>")
    with pytest.raises(StorageError, match=r"is cut short or damaged \(Not a gzipped file"):
        one_billion_word.unpack(str(path), str(tmp_path))
    path.write_bytes(gzip.compress(b"text" * 1000))
    with pytest.raises(StorageError, match="is cut short or damaged"):
        one_billion_word.unpack(str(path), str(tmp_path))
    corpus(path, {"other": b"file"})
    with pytest.raises(StorageError, match="has none of the files of the corpus"):
        one_billion_word.unpack(str(path), str(tmp_path))
    assert os.listdir(tmp_path) == [path.name]


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(one_billion_word, "_LIMIT_BYTES", 9000)
    corpus(archive_in(tmp_path))
    with pytest.raises(StorageError, match="more than 9,000 bytes of text"):
        one_billion_word.unpack(str(archive_in(tmp_path)), str(tmp_path))


def test_the_command_of_the_corpus():
    parser = argparse.ArgumentParser()
    function = one_billion_word.fill_subparser(parser)
    assert function is one_billion_word.download_one_billion_word
    assert vars(parser.parse_args([])) == {"unpack_only": False}
