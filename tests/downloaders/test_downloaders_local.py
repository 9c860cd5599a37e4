"""What downloaders do without a network: clearing, packaged copies, names that programs replace."""

from __future__ import annotations

import argparse
import hashlib
import os
from pathlib import Path
from unittest import mock

import pytest

import fuel.downloaders.base
from fuel.downloaders import _transfer, all_downloaders, base, digits, iris
from fuel.downloaders.packaged import check_file, take_packaged
from fuel.exceptions import StorageError
from fuel.manifests import MANIFESTS, DataFile, Manifest, file_at


def test_clear_deletes_finished_and_unfinished_files_without_the_network(tmp_path: Path) -> None:
    for name in ("a", "a.part", "b.part", "other"):
        (tmp_path / name).touch()
    with mock.patch.object(fuel.downloaders.base, "requests") as requests:
        base.default_downloader(str(tmp_path), [None, None], ["a", "b"], clear=True)
        base.default_downloader(str(tmp_path / "nowhere"), [None], ["a"], clear=True)
    assert requests.get.call_count == 0
    assert os.listdir(tmp_path) == ["other"]


def test_clear_makes_do_with_the_name_in_the_address_when_offline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    (tmp_path / "data.txt").touch()
    base.default_downloader(str(tmp_path), ["http://127.0.0.1:1/data.txt"], [None], clear=True)
    assert os.listdir(tmp_path) == []


def test_programs_may_replace_requests(tmp_path: Path) -> None:
    with mock.patch("fuel.downloaders.base.requests") as requests:
        response = requests.get.return_value
        response.headers = {"Content-Length": "5", "Content-Disposition": "filename=named"}
        response.iter_content.return_value = [b"he", b"llo"]
        base.default_downloader(str(tmp_path), ["http://example.invalid/x"], [None])
    assert (tmp_path / "named").read_bytes() == b"hello"


def test_programs_may_replace_download(tmp_path: Path) -> None:
    with mock.patch("fuel.downloaders.base.download") as download:
        base.default_downloader(str(tmp_path), [None], ["x"], url_prefix="http://example.invalid/")
    download.assert_called_once_with("http://example.invalid/x", mock.ANY)


def test_what_is_going_to_be_downloaded_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with mock.patch("fuel.downloaders.base.download"):
        base.default_downloader(str(tmp_path), ["http://e.invalid/a"] * 2, ["a", "b"])
    assert capsys.readouterr().out == "Downloading a, b\n\n"


def test_lengths_must_agree(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="equal length, got 2 and 1"):
        base.default_downloader(str(tmp_path), ["http://e.invalid/a"] * 2, ["a"])
    with pytest.raises(ValueError, match="each of the 1 files, got 2"):
        base.default_downloader(str(tmp_path), ["http://e.invalid/a"], ["a"], checksums=["", ""])


def test_a_file_in_the_way_of_a_directory_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "taken").touch()
    with pytest.raises(OSError):
        base.ensure_directory_exists(str(tmp_path / "taken"))
    base.ensure_directory_exists(str(tmp_path / "a" / "b"))
    base.ensure_directory_exists(str(tmp_path / "a" / "b"))
    assert (tmp_path / "a" / "b").is_dir()


@pytest.mark.parametrize("module, name", [(iris, "iris"), (digits, "digits")])
def test_fill_subparser_sets_the_defaults_of_the_manifest(module: object, name: str) -> None:
    parser = argparse.ArgumentParser()
    assert module.fill_subparser(parser) is base.default_downloader  # type: ignore[attr-defined]
    arguments = parser.parse_args([])
    assert arguments.urls == MANIFESTS[name].urls
    assert arguments.filenames == MANIFESTS[name].filenames


def test_iris_comes_from_its_old_address() -> None:
    parser = argparse.ArgumentParser()
    iris.fill_subparser(parser)
    assert vars(parser.parse_args([])) == {
        "urls": ["https://archive.ics.uci.edu/ml/machine-learning-databases/iris/iris.data"],
        "filenames": ["iris.data"],
    }


def test_all_downloaders_is_a_tuple_of_names_and_functions() -> None:
    assert isinstance(all_downloaders, tuple)
    names = [name for name, _ in all_downloaders]
    assert names[0] == "digits"
    assert len(set(names)) == len(names)
    assert all(callable(fill) for _, fill in all_downloaders)


@pytest.mark.parametrize("name", [name for name in MANIFESTS if MANIFESTS[name].packaged])
def test_packaged_files_are_what_the_manifest_says(name: str, tmp_path: Path) -> None:
    manifest = MANIFESTS[name]
    assert manifest.packaged
    paths = take_packaged(manifest, str(tmp_path / "new"))
    assert sorted(os.listdir(tmp_path / "new")) == sorted(manifest.filenames)
    for file, path in zip(manifest.files, paths):
        content = Path(path).read_bytes()
        assert hashlib.sha256(content).hexdigest() == file.packaged_sha256
        assert len(content) == file.size
        assert check_file(file, path) is None
        assert file_at(file.url) is file


def test_a_damaged_package_is_noticed_before_anything_is_replaced(tmp_path: Path) -> None:
    damaged = Manifest("x", "", (DataFile("iris.data", packaged_sha256="0" * 64),), hdf5="x.hdf5")
    (tmp_path / "iris.data").write_text("older")
    with pytest.raises(StorageError, match="damaged"):
        take_packaged(damaged, str(tmp_path))
    assert (tmp_path / "iris.data").read_text() == "older"
    with pytest.raises(StorageError, match="does not ship"):
        take_packaged(Manifest("x", "", (DataFile("a"),), hdf5="x.hdf5"), str(tmp_path))


def test_a_file_of_unknown_checksum_is_judged_by_its_form(tmp_path: Path) -> None:
    (file,) = MANIFESTS["digits"].files
    (path,) = take_packaged(MANIFESTS["digits"], str(tmp_path))
    good = Path(path).read_text()
    Path(path).write_text(good + "\n")
    assert "not one of the known variants" in str(check_file(file, path))
    Path(path).write_text(good[: len(good) // 2])
    with pytest.raises(StorageError, match=r"not optdigits.tes|not the whole optdigits.tes"):
        check_file(file, path)
    Path(path).write_text("<!DOCTYPE html>\n<p>Log in first, please")
    with pytest.raises(StorageError, match=r"line 1 has 1 fields instead of 65.*DOCTYPE"):
        check_file(file, path)


def test_a_body_shorter_than_announced_is_refused_whatever_the_http_library_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_transfer, "RETRY_DELAYS_S", (0.0, 0.0, 0.0))
    with mock.patch("fuel.downloaders.base.requests") as requests:
        response = requests.get.return_value
        response.headers = {"content-length": "100"}
        response.iter_content.side_effect = lambda size: iter([b"0123456789"])
        with pytest.raises(StorageError, match="ended after 10 bytes of 100"):
            base.default_downloader(str(tmp_path), ["http://example.invalid/x"], ["x"])
    assert os.listdir(tmp_path) == []
