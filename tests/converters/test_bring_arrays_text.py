"""NumPy's files and lines of text become sources; objects, damage and wrong lengths are refused."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

import h5py
import numpy
import pytest

from fuel.converters.bring.arrays import convert_npy, convert_npz
from fuel.converters.bring.text import convert_text
from fuel.datasets.hdf5 import H5PYDataset
from fuel.datasets.text import TextFile
from fuel.exceptions import ConfigurationError, StorageError
from fuel.utils.vocabulary import Vocabulary


def everything(path: str, split: str = "all") -> dict[str, Any]:
    dataset = H5PYDataset(path, (split,), load_in_memory=True)
    data = dataset.get_data(request=slice(0, dataset.num_examples))
    return dict(zip(dataset.sources, data, strict=True))


def npz(folder: Path, **options: Any) -> str:
    return convert_npz(str(folder), str(folder), "out.hdf5", file="a.npz", **options)[0]


def npy(folder: Path, *files: str, **options: Any) -> str:
    return convert_npy(str(folder), str(folder), "out.hdf5", files=files, **options)[0]


def text(folder: Path, *files: str, **options: Any) -> str:
    return convert_text(str(folder), str(folder), "out.hdf5", files=files, **options)[0]


ARRAYS = {
    "rows": numpy.arange(60, dtype=">f4").reshape(20, 3),
    "columns": numpy.asfortranarray(numpy.arange(120.0).reshape(20, 3, 2)),
    "flags": numpy.arange(20) % 3 == 0,
    "names": numpy.array([f"näme {n}" for n in range(20)]),
    "fixed": numpy.array([b"%d" % n for n in range(20)]),
    "empty": numpy.zeros((20, 0, 2), "int16"),
}


@pytest.mark.parametrize("save", [numpy.savez, numpy.savez_compressed])
def test_npz_keeps_every_kind_of_array(
    tmp_path: Path, save: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fuel.converters.bring._common.BATCH_BYTES", 50)  # many small pieces
    save(tmp_path / "a.npz", **ARRAYS)
    path = npz(tmp_path, split="train=0.75,test=0.25", seed=1)
    train, test = everything(path, "train"), everything(path, "test")
    order = numpy.concatenate([train["rows"][:, 0], test["rows"][:, 0]]).astype(int) // 3
    assert sorted(order) == list(range(20)) and len(train["rows"]) == 15
    for name, values in ARRAYS.items():
        found = numpy.concatenate([train[name], test[name]])
        if name == "names":
            found = numpy.array([value.decode() for value in found])
        else:
            assert found.dtype == values.dtype.newbyteorder("=")
        assert numpy.array_equal(found, values[order])
    assert sorted(os.listdir(tmp_path)) == ["a.npz", "out.hdf5"]


def test_npy_files_are_the_sources_they_are_called(tmp_path: Path) -> None:
    for name in ("rows", "columns"):
        numpy.save(tmp_path / f"{name}.npy", ARRAYS[name])
    path = npy(tmp_path, "x=rows.npy", "columns.npy")
    found = everything(path)
    assert numpy.array_equal(found["x"], ARRAYS["rows"])
    assert numpy.array_equal(found["columns"], ARRAYS["columns"])


def test_splits_by_suffix_and_by_array(tmp_path: Path) -> None:
    numpy.savez(tmp_path / "a.npz", x_train=[1, 2, 3], y_train=[0, 1, 0], x_test=[4], y_test=[1])
    path = npz(tmp_path, split_suffixes=["train", "test"])
    assert everything(path, "train")["x"].tolist() == [1, 2, 3]
    assert everything(path, "test")["y"].tolist() == [1]
    numpy.savez(tmp_path / "a.npz", x=[1, 2, 3], set=numpy.array(["b", "a", "b"]))
    path = npz(tmp_path, split_by="set", split="a,b")
    assert everything(path, "b")["x"].tolist() == [1, 3] and "set" not in everything(path, "a")


def test_stratified_by_an_array(tmp_path: Path) -> None:
    numpy.savez(tmp_path / "a.npz", y=numpy.arange(40).reshape(-1, 1) % 4)
    path = npz(tmp_path, split="a=0.5,b=0.5", stratify="y")
    assert numpy.bincount(everything(path, "a")["y"][:, 0]).tolist() == [5] * 4


class Bomb:
    def __reduce__(self) -> Any:
        return os.mkdir, ("exploded",)


def test_objects_are_refused_and_never_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    numpy.savez(tmp_path / "a.npz", x=numpy.array([Bomb()]))
    numpy.save(tmp_path / "x.npy", numpy.array([Bomb()]))
    with pytest.raises(StorageError, match="array 'x' of a.npz holds Python objects"):
        npz(tmp_path)
    with pytest.raises(StorageError, match="x.npy holds Python objects"):
        npy(tmp_path, "x.npy")
    assert sorted(os.listdir(tmp_path)) == ["a.npz", "x.npy"]


@pytest.mark.parametrize(
    ("arrays", "options", "said"),
    [
        ({"x": [1, 2], "y": [1]}, {}, "same number of examples, got 2 in 'x', 1 in 'y'"),
        ({"x": 1}, {}, "holds a single value"),
        ({"x": [1]}, {"sources": ["y"]}, "there is no array 'y'; there are x"),
        ({"x": [1]}, {"split_by": "y"}, "there is no array 'y'"),
        ({"x": [[1, 2]], "y": [1]}, {"split_by": "x"}, "one value for each is needed"),
        ({"x_a": [1]}, {"split_suffixes": ["a", "b"]}, "ends in '_b'"),
        ({"x": numpy.array(["2020"], "M8[Y]")}, {}, "which HDF5 does not know"),
        ({"x": numpy.zeros((0, 2))}, {}, "has no examples"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(
    tmp_path: Path, arrays: dict[str, Any], options: dict[str, Any], said: str
) -> None:
    numpy.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(StorageError, match=said):
        npz(tmp_path, **options)
    assert os.listdir(tmp_path) == ["a.npz"]


def test_damaged_archives_are_refused(tmp_path: Path) -> None:
    rng = numpy.random.default_rng(0)
    numpy.savez(tmp_path / "a.npz", x=rng.random(4000))
    whole = (tmp_path / "a.npz").read_bytes()
    for damaged in (whole[:-50], b"", b"no archive", whole[:3000] + b"?" * 99 + whole[3099:]):
        (tmp_path / "a.npz").write_bytes(damaged)
        with pytest.raises(StorageError, match=r"a\.npz"):
            npz(tmp_path)
    numpy.save(tmp_path / "x.npy", rng.random(100))
    (tmp_path / "x.npy").write_bytes((tmp_path / "x.npy").read_bytes()[:-8])
    with pytest.raises(StorageError, match="x.npy should have 928 bytes.*but has 920"):
        npy(tmp_path, "x.npy")
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(StorageError, match="'readme.txt', which is no array"):
        npz(tmp_path)


def test_an_archive_that_would_fill_the_disk_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numpy.savez_compressed(tmp_path / "a.npz", x=numpy.zeros(10**6))
    usage = __import__("shutil").disk_usage(tmp_path)
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage._replace(free=10**6))
    with pytest.raises(StorageError, match="unpacks to 8,000,128 bytes, but only 1,000,000"):
        npz(tmp_path)


LINES = "to be or not to be\n\nthat is the question\nto be\n"


@pytest.mark.parametrize("level", ["word", "character"])
def test_lines_are_what_text_file_reads(tmp_path: Path, level: str) -> None:
    (tmp_path / "t.txt").write_text(LINES)
    path = text(tmp_path, "t.txt", level=level)
    vocabulary = Vocabulary.load(tmp_path / "out.vocabulary.json")
    dataset = TextFile([tmp_path / "t.txt"], vocabulary, level=level, encoding="utf-8")
    expected = [example[0] for example in dataset.get_example_stream().get_epoch_iterator()]
    assert [list(line) for line in everything(path)["features"]] == expected
    with h5py.File(path) as file:
        kept = file[file["features"].attrs["vocabulary"]]
        assert tuple(kept.asstr()[...]) == vocabulary.tokens
        assert kept.attrs["unknown"] == "<UNK>"


def test_vocabularies_are_limited_given_or_built_from_one_split(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x x x y y z\n")
    (tmp_path / "b.txt").write_text("w y\n")
    text(tmp_path, "a.txt", vocabulary_size=5)
    assert Vocabulary.load(tmp_path / "out.vocabulary.json").tokens[3:] == ("x", "y")
    path = text(tmp_path, "train=a.txt", "test=b.txt", vocabulary_split="train", marks=False)
    assert Vocabulary.load(tmp_path / "out.vocabulary.json").tokens[3:] == ("x", "y", "z")
    assert [list(line) for line in everything(path, "test")["features"]] == [[2, 4]]
    (tmp_path / "words").write_text("y\nw\n")
    path = text(tmp_path, "b.txt", vocabulary="words")
    assert [list(line) for line in everything(path)["features"]] == [[1, 0]]
    with pytest.raises(StorageError, match=r"line 1 of a.txt: token 'x' is not in the vocabulary"):
        text(tmp_path, "a.txt", vocabulary="words")
    with pytest.raises(ConfigurationError, match="either given or built"):
        text(tmp_path, "a.txt", vocabulary="words", vocabulary_size=3)
    with pytest.raises(ConfigurationError, match="there is no split 'valid'"):
        text(tmp_path, "a.txt", vocabulary_split="valid")


def test_blank_lines_encodings_and_empty_files(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text(LINES)
    assert len(everything(text(tmp_path, "t.txt", skip_blank=True))["features"]) == 3
    (tmp_path / "l.txt").write_bytes(b"caf\xe9\n")
    with pytest.raises(StorageError, match="l.txt is not text in the encoding utf-8"):
        text(tmp_path, "l.txt")
    text(tmp_path, "l.txt", encoding="latin-1")
    assert "café" in Vocabulary.load(tmp_path / "out.vocabulary.json")
    (tmp_path / "e.txt").write_text("")
    with pytest.raises(StorageError, match="has no examples"):
        text(tmp_path, "e.txt")
