"""What the converters of the packaged data sets write, and how they fail."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import h5py
import numpy
import pytest

import fuel.converters
from fuel.converters import all_converters, digits, iris
from fuel.converters.base import MissingInputFiles
from fuel.datasets.hdf5 import H5PYDataset
from fuel.downloaders.packaged import take_packaged
from fuel.exceptions import StorageError
from fuel.manifests import MANIFESTS


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    for name in ("iris", "digits"):
        take_packaged(MANIFESTS[name], str(tmp_path / "raw"))
    return tmp_path / "raw"


def test_the_table_of_converters_is_what_the_command_expects() -> None:
    assert fuel.converters.__version__ == "0.2"
    assert isinstance(all_converters, tuple)
    names = [name for name, _ in all_converters]
    assert names[0] == "digits"
    assert len(set(names)) == len(names)
    parser = argparse.ArgumentParser()
    assert iris.fill_subparser(parser) is iris.convert_iris
    assert digits.fill_subparser(parser) is digits.convert_digits
    assert vars(parser.parse_args([])) == {}


def test_iris_keeps_its_layout(raw: Path, tmp_path: Path) -> None:
    paths = iris.convert_iris(str(raw), str(tmp_path))
    assert paths == (str(tmp_path / "iris.hdf5"),)
    with h5py.File(paths[0], "r") as h5file:
        assert set(h5file) == {"features", "targets"}
        features, targets = h5file["features"], h5file["targets"]
        assert (features.shape, features.dtype) == ((150, 4), numpy.dtype("float32"))
        assert (targets.shape, targets.dtype) == ((150, 1), numpy.dtype("uint8"))
        assert numpy.bincount(targets[:, 0]).tolist() == [50, 50, 50]
        # The two lines in which the repository's file differs from Fisher's paper.
        numpy.testing.assert_array_equal(
            features[[34, 37]], numpy.array([[4.9, 3.1, 1.5, 0.1]] * 2, dtype="float32")
        )
        numpy.testing.assert_allclose(
            features[...].mean(axis=0), [5.843333, 3.054, 3.758667, 1.198667], rtol=1e-6
        )
        assert H5PYDataset.get_all_splits(h5file) == ("all",)
        labels = H5PYDataset.get_axis_labels(h5file)
    assert labels == {"features": ("batch", "feature"), "targets": ("batch", "index")}


def test_fishers_values_are_taken_as_well(raw: Path, tmp_path: Path) -> None:
    lines = (raw / "iris.data").read_text().split("\n")
    lines[34] = "4.9,3.1,1.5,0.2,Iris-setosa"
    (raw / "iris.data").write_text("\r\n".join(lines), newline="")
    (path,) = iris.convert_iris(str(raw), str(tmp_path), "fisher.h5")
    assert os.path.basename(path) == "fisher.h5"
    with h5py.File(path, "r") as h5file:
        assert h5file["features"][34, 3] == numpy.float32(0.2)


def test_missing_iris_is_an_ioerror(tmp_path: Path) -> None:
    with pytest.raises(IOError):
        iris.convert_iris(str(tmp_path), str(tmp_path))
    assert os.listdir(tmp_path) == []


def test_missing_digits_are_named(tmp_path: Path) -> None:
    with pytest.raises(MissingInputFiles) as caught:
        digits.convert_digits(str(tmp_path), str(tmp_path))
    assert caught.value.filenames == ["optdigits.tes"]


@pytest.mark.parametrize(
    "line", ["<!DOCTYPE html>", "5.1,3.5,1.4,Iris-setosa", "5.1,3.5,1.4,0.2,Iris-alba", "a,b,c,d,e"]
)
def test_a_line_that_is_not_iris_is_named_and_an_older_file_stays(
    raw: Path, tmp_path: Path, line: str
) -> None:
    (path,) = iris.convert_iris(str(raw), str(tmp_path))
    before = Path(path).read_bytes()
    lines = (raw / "iris.data").read_text().splitlines()
    lines[6] = line
    (raw / "iris.data").write_text("\n".join(lines))
    with pytest.raises(StorageError, match=r"line 7 of .*iris\.data should be four numbers"):
        iris.convert_iris(str(raw), str(tmp_path))
    assert Path(path).read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["iris.hdf5", "raw"]


def test_an_iris_file_cut_short_is_remarked_on(raw: Path, tmp_path: Path) -> None:
    lines = (raw / "iris.data").read_text().splitlines()
    (raw / "iris.data").write_text("\n".join(lines[:120]))
    with pytest.warns(UserWarning, match="has 120 examples where Iris has 150"):
        iris.convert_iris(str(raw), str(tmp_path))
    (raw / "iris.data").write_text("\n")
    with pytest.raises(StorageError, match="is empty"):
        iris.convert_iris(str(raw), str(tmp_path))


def test_digits_have_a_documented_layout(raw: Path, tmp_path: Path) -> None:
    (path,) = digits.convert_digits(str(raw), str(tmp_path))
    assert path == str(tmp_path / "digits.hdf5")
    with h5py.File(path, "r") as h5file:
        features, targets = h5file["features"], h5file["targets"]
        assert (features.shape, features.dtype) == ((1797, 1, 8, 8), numpy.dtype("uint8"))
        assert (targets.shape, targets.dtype) == ((1797, 1), numpy.dtype("uint8"))
        assert features[...].max() == 16
        assert set(H5PYDataset.get_all_splits(h5file)) == {"train", "test"}
        labels = H5PYDataset.get_axis_labels(h5file)
    assert labels == {
        "features": ("batch", "channel", "height", "width"),
        "targets": ("batch", "index"),
    }


def test_every_fifth_example_of_each_digit_is_for_testing(raw: Path, tmp_path: Path) -> None:
    (path,) = digits.convert_digits(str(raw), str(tmp_path))
    table = numpy.loadtxt(raw / "optdigits.tes", delimiter=",", dtype="uint8")
    seen = dict.fromkeys(range(10), 0)
    expected: dict[str, list[numpy.ndarray]] = {"train": [], "test": []}
    for row in table:
        seen[row[64]] += 1
        expected["test" if seen[row[64]] % 5 == 0 else "train"].append(row)
    for split, rows in expected.items():
        dataset = H5PYDataset(path, (split,), load_in_memory=True)
        features, targets = dataset.get_data(None, slice(0, dataset.num_examples))
        wanted = numpy.array(rows)
        numpy.testing.assert_array_equal(features.reshape(-1, 64), wanted[:, :64])
        numpy.testing.assert_array_equal(targets[:, 0], wanted[:, 64])
        shares = numpy.bincount(targets[:, 0]) / len(targets)
        assert abs(shares - 0.1).max() < 0.01
    assert [len(rows) for rows in expected.values()] == [1442, 355]


@pytest.mark.parametrize(
    "spoil, message",
    [
        (lambda lines: lines[:1000], "has 1000 examples instead of 1797"),
        (lambda lines: ["17" + lines[0][1:], *lines[1:]], "line 1 of .* 64 numbers from 0 to 16"),
        (lambda lines: [*lines[:-1], lines[-1][:40]], "line 1797 of"),
        (lambda lines: ["<html>"], "line 1 of"),
        (lambda lines: [], "has 0 examples"),
    ],
)
def test_what_is_not_the_digits_is_refused(
    raw: Path, tmp_path: Path, spoil: object, message: str
) -> None:
    lines = (raw / "optdigits.tes").read_text().splitlines()
    (raw / "optdigits.tes").write_text("\n".join(spoil(lines)))  # type: ignore[operator]
    with pytest.raises(StorageError, match=message):
        digits.convert_digits(str(raw), str(tmp_path))
    assert os.listdir(tmp_path) == ["raw"]


def test_a_softmax_regression_learns_the_digits(raw: Path, tmp_path: Path) -> None:
    (path,) = digits.convert_digits(str(raw), str(tmp_path))
    sets = {}
    for split in ("train", "test"):
        dataset = H5PYDataset(path, (split,), load_in_memory=True)
        x, y = dataset.get_data(None, slice(0, dataset.num_examples))
        sets[split] = x.reshape(len(x), -1) / 16.0, y[:, 0]
    x, y = sets["train"]
    weights, bias = numpy.zeros((64, 10)), numpy.zeros(10)
    rng = numpy.random.default_rng(1)
    for _ in range(10):
        order = rng.permutation(len(x))
        for start in range(0, len(x), 50):
            chosen = order[start : start + 50]
            scores = x[chosen] @ weights + bias
            scores = numpy.exp(scores - scores.max(axis=1, keepdims=True))
            scores /= scores.sum(axis=1, keepdims=True)
            scores[numpy.arange(len(chosen)), y[chosen]] -= 1
            weights -= 0.5 * x[chosen].T @ scores / len(chosen)
            bias -= 0.5 * scores.mean(axis=0)
    x, y = sets["test"]
    assert ((x @ weights + bias).argmax(axis=1) == y).mean() > 0.93
