"""Adult, binarized MNIST and the silhouettes: tables as text and matrices of MATLAB."""

from __future__ import annotations

import argparse
import itertools
import logging
import os
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy
import pytest

from fuel.converters import adult, binarized_mnist, caltech101_silhouettes
from fuel.converters.base import MissingInputFiles
from fuel.datasets.hdf5 import H5PYDataset
from fuel.exceptions import StorageError

PEOPLE = [
    "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, "
    "2174, 0, 40, United-States, <=50K",
    "52, Self-emp-not-inc, 209642, HS-grad, 9, Married-civ-spouse, Exec-managerial, Husband, "
    "White, Male, 0, 0, 45, United-States, >50K",
    "54, ?, 180211, Some-college, 10, Married-civ-spouse, ?, Husband, Asian-Pac-Islander, Male, "
    "0, 0, 60, South, >50K",
    "28, Private, 338409, Bachelors, 13, Married-civ-spouse, Prof-specialty, Wife, Black, Female, "
    "0, 0, 40, Cuba, <=50K",
]
TESTED = [f"{line}." for line in (PEOPLE[3], PEOPLE[2], PEOPLE[1])]


def write_adult(directory: Path) -> None:
    # Both published files end with an empty line; the second begins with a remark.
    (directory / "adult.data").write_bytes("\n".join([*PEOPLE, "", ""]).encode())
    test = ["|1x3 Cross validator", *TESTED, "", ""]
    (directory / "adult.test").write_bytes("\n".join(test).encode())


def read(path: str, split: str) -> list[numpy.ndarray]:
    dataset = H5PYDataset(path, (split,), load_in_memory=True)
    return list(dataset.get_data(None, slice(0, dataset.num_examples)))


def test_adult_has_104_columns_in_a_fixed_order(tmp_path: Path) -> None:
    write_adult(tmp_path)
    paths = adult.convert_adult(str(tmp_path), str(tmp_path))
    assert paths == (str(tmp_path / "adult.hdf5"),)
    names = adult.FEATURE_NAMES
    assert len(names) == len(set(names)) == 104
    groups = [name.split("=")[0] for name in names]
    assert [key for key, _ in itertools.groupby(groups)] == [
        "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation",
        "relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week",
        "native-country",
    ]  # fmt: skip
    for _, members in itertools.groupby(names, key=lambda name: name.split("=")[0]):
        values = list(members)
        assert values == sorted(values)
    features, targets = read(paths[0], "train")
    assert (features.shape, features.dtype) == ((3, 104), numpy.dtype("f8"))
    assert (targets.tolist(), targets.dtype) == ([[False], [True], [False]], numpy.dtype(bool))
    described = {name: value for name, value in zip(names, features[0], strict=True) if value}
    assert described == {
        "age": 39, "workclass=State-gov": 1, "fnlwgt": 77516, "education=Bachelors": 1,
        "education-num": 13, "marital-status=Never-married": 1, "occupation=Adm-clerical": 1,
        "relationship=Not-in-family": 1, "race=White": 1, "sex=Male": 1, "capital-gain": 2174,
        "hours-per-week": 40, "native-country=United-States": 1,
    }  # fmt: skip
    # The same people have the same columns in the other split, which has other values.
    tested, incomes = read(paths[0], "test")
    numpy.testing.assert_array_equal(tested, features[[2, 1]])
    assert incomes.tolist() == [[False], [True]]
    with h5py.File(paths[0], "r") as h5file:
        assert H5PYDataset.get_axis_labels(h5file) == {
            "features": ("batch", "feature"),
            "targets": ("batch", "index"),
        }
        comments = {row["split"].decode(): row["comment"] for row in h5file.attrs["split"]}
    assert b"1 of 4 examples with unknown values are left out" in comments["train"]
    assert b"1 of 3" in comments["test"]


def test_adult_is_the_same_whatever_the_seed_of_hashes(tmp_path: Path) -> None:
    write_adult(tmp_path)
    found = set()
    code = (
        "import sys, h5py; from fuel.converters.adult import convert_adult;"
        "p, = convert_adult(sys.argv[1], sys.argv[1]);"
        "print(h5py.File(p)['features'][...].tobytes().hex())"
    )
    for seed in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path)], env=env, capture_output=True, check=True
        )
        found.add(done.stdout)
    assert len(found) == 1


@pytest.mark.parametrize("missing", ["adult.data", "adult.test"])
def test_a_missing_adult_is_an_ioerror_with_its_name(missing: str, tmp_path: Path) -> None:
    write_adult(tmp_path)
    os.remove(tmp_path / missing)
    with pytest.raises(IOError) as caught:
        adult.convert_adult(str(tmp_path), str(tmp_path))
    assert os.path.basename(caught.value.filename) == missing
    assert "adult.hdf5" not in os.listdir(tmp_path)


@pytest.mark.parametrize(
    "line, message",
    [
        (PEOPLE[0][:70], "should have 15 fields"),
        ("<html>", "should have 15 fields"),
        (PEOPLE[0].replace("39", "old"), "unknown age 'old'"),
        (PEOPLE[0].replace("39", "nan"), "unknown age 'nan'"),
        (PEOPLE[0].replace("White", "Green"), "unknown race 'Green'"),
        (PEOPLE[0].replace("<=50K", "=50K"), "unknown income '=50K'"),
        (PEOPLE[0] + ", 1", "should have 15 fields"),
        ("x" * 200_000, "should have 15 fields"),
    ],
)
def test_a_line_that_is_not_adult_is_named(line: str, message: str, tmp_path: Path) -> None:
    write_adult(tmp_path)
    (tmp_path / "adult.data").write_text("\n".join([*PEOPLE, "", line]))
    with pytest.raises(StorageError, match=rf"adult\.data: line 6 .*{message}") as caught:
        adult.convert_adult(str(tmp_path), str(tmp_path))
    assert "fuel-download adult" in str(caught.value)
    assert sorted(os.listdir(tmp_path)) == ["adult.data", "adult.test"]


@pytest.mark.parametrize("content", ["", "\n\n", "|1x3\n", PEOPLE[2]])
def test_an_adult_without_people_is_refused(content: str, tmp_path: Path) -> None:
    write_adult(tmp_path)
    (tmp_path / "adult.test").write_text(content)
    with pytest.raises(StorageError, match=r"adult\.test: none of its [01] examples is complete"):
        adult.convert_adult(str(tmp_path), str(tmp_path))


def test_counts_other_than_the_published_are_remarked_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_adult(tmp_path)
    with caplog.at_level(logging.WARNING, logger="fuel"):
        adult.convert_adult(str(tmp_path), str(tmp_path))
    assert "adult.data has 4 examples, where the published file has 32561" in caplog.text
    caplog.clear()
    monkeypatch.setattr(adult, "_PUBLISHED", {"train": 4, "test": 3})
    monkeypatch.setattr(adult, "_BATCH", 1)
    with caplog.at_level(logging.WARNING, logger="fuel"):
        (path,) = adult.convert_adult(str(tmp_path), str(tmp_path))
    assert caplog.text == ""
    assert [len(part) for part in read(path, "train")] == [3, 3]


def test_one_hot_rows() -> None:
    found = adult.convert_to_one_hot([2, 0, 1, 1])
    numpy.testing.assert_array_equal(found, numpy.eye(3)[[2, 0, 1, 1]])
    assert found.dtype == numpy.dtype("f8")
    for wrong in ([], [-1], [[1]]):
        with pytest.raises(ValueError, match="numbers from 0"):
            adult.convert_to_one_hot(wrong)


FILES = {"train": 5, "valid": 2, "test": 3}
BITS = {
    split: numpy.random.default_rng(count).integers(0, 2, (count, 784), "u1")
    for split, count in FILES.items()
}


def amat(bits: numpy.ndarray, end: str = "\n", word: Callable[[int], str] = str) -> bytes:
    return "".join(" ".join(word(int(bit)) for bit in row) + end for row in bits).encode()


def write_binarized(directory: Path, **how: Any) -> None:
    for split, bits in BITS.items():
        (directory / f"binarized_mnist_{split}.amat").write_bytes(amat(bits, **how))


@pytest.mark.parametrize(
    "how", [{}, {"end": " \n"}, {"end": "\r\n"}, {"word": lambda bit: f"{bit}.0000000e+00"}]
)
def test_binarized_images_come_back(how: dict[str, Any], tmp_path: Path) -> None:
    write_binarized(tmp_path, **how)
    paths = binarized_mnist.convert_binarized_mnist(str(tmp_path), str(tmp_path))
    assert paths == (str(tmp_path / "binarized_mnist.hdf5"),)
    with h5py.File(paths[0], "r") as h5file:
        assert set(h5file) == {"features"}
        assert set(H5PYDataset.get_all_splits(h5file)) == set(FILES)
        assert H5PYDataset.get_axis_labels(h5file) == {
            "features": ("batch", "channel", "height", "width")
        }
    for split, bits in BITS.items():
        (features,) = read(paths[0], split)
        assert (features.shape, features.dtype) == ((len(bits), 1, 28, 28), numpy.dtype("u1"))
        numpy.testing.assert_array_equal(features.reshape(-1, 784), bits)


def test_binarized_images_are_written_in_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(binarized_mnist, "_BATCH", 2)
    write_binarized(tmp_path)
    (path,) = binarized_mnist.convert_binarized_mnist(str(tmp_path), str(tmp_path))
    assert [len(read(path, split)[0]) for split in FILES] == [5, 2, 3]
    assert "binarized_mnist_test.amat has 3 examples" in caplog.text


@pytest.mark.parametrize(
    "line",
    [
        b"0 1 0",
        b"0 " * 785,
        b"01" + b" 0" * 782,
        b"2" + b" 0" * 783,
        b"0.5" + b" 0" * 783,
        b"/" + b" 0" * 783,
        b"<html>",
        b"0\t1" * 100_000,
    ],
)
def test_a_line_that_is_no_binary_image_is_named(line: bytes, tmp_path: Path) -> None:
    write_binarized(tmp_path)
    path = tmp_path / "binarized_mnist_valid.amat"
    path.write_bytes(path.read_bytes() + line)
    with pytest.raises(StorageError, match=r"valid\.amat: line 3 should be 784 times 0 or 1"):
        binarized_mnist.convert_binarized_mnist(str(tmp_path), str(tmp_path))
    path.write_bytes(b"")
    with pytest.raises(StorageError, match=r"valid\.amat: it holds no images"):
        binarized_mnist.convert_binarized_mnist(str(tmp_path), str(tmp_path))
    os.remove(path)
    with pytest.raises(MissingInputFiles) as caught:
        binarized_mnist.convert_binarized_mnist(str(tmp_path), str(tmp_path))
    assert caught.value.filenames == [path.name]
    assert "binarized_mnist.hdf5" not in os.listdir(tmp_path)


def element(kind: int, content: bytes) -> bytes:
    if len(content) <= 4:
        return struct.pack("<HH", kind, len(content)) + content.ljust(4, b"\0")
    return struct.pack("<II", kind, len(content)) + content + b"\0" * (-len(content) % 8)


def matrix(name: str, values: numpy.ndarray, packed: bool) -> bytes:
    """A uint8 matrix as MATLAB 5 writes it: columns first."""
    content = (
        element(6, struct.pack("<II", 9, 0))
        + element(5, struct.pack("<ii", *values.shape))
        + element(1, name.encode())
        + element(2, values.astype("u1").tobytes(order="F"))
    )
    whole = struct.pack("<II", 14, len(content)) + content
    if not packed:
        return whole
    squeezed = zlib.compress(whole)
    return struct.pack("<II", 15, len(squeezed)) + squeezed


COUNTS = {"train": 6, "val": 2, "test": 3}


def silhouettes(size: int) -> dict[str, numpy.ndarray]:
    rng = numpy.random.default_rng(size)
    found = {}
    for split, count in COUNTS.items():
        found[f"{split}_data"] = rng.integers(0, 2, (count, size * size), "u1")
        found[f"{split}_labels"] = rng.integers(1, 102, (count, 1), "u1")
    return found


def write_mat(
    directory: Path, size: int, arrays: dict[str, numpy.ndarray], packed: bool = True
) -> Path:
    path = directory / f"caltech101_silhouettes_{size}_split1.mat"
    head = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x0100) + b"IM"
    path.write_bytes(head + b"".join(matrix(*item, packed) for item in arrays.items()))
    return path


@pytest.mark.parametrize("size", [16, 28])
@pytest.mark.parametrize("packed", [False, True])
def test_silhouettes_come_back(size: int, packed: bool, tmp_path: Path) -> None:
    arrays = silhouettes(size)
    write_mat(tmp_path, size, {"classnames": numpy.zeros((1, 1)), **arrays}, packed)
    paths = caltech101_silhouettes.convert_silhouettes(size, str(tmp_path), str(tmp_path))
    assert paths == (str(tmp_path / f"caltech101_silhouettes{size}.hdf5"),)
    for split, old in (("train", "train"), ("valid", "val"), ("test", "test")):
        features, targets = read(paths[0], split)
        assert features.shape == (COUNTS[old], 1, size, size)
        assert (features.dtype, targets.dtype) == ("u1", "u1")
        numpy.testing.assert_array_equal(features.reshape(len(features), -1), arrays[f"{old}_data"])
        numpy.testing.assert_array_equal(targets, arrays[f"{old}_labels"])
    with h5py.File(paths[0], "r") as h5file:
        assert H5PYDataset.get_axis_labels(h5file) == {
            "features": ("batch", "channel", "height", "width"),
            "targets": ("batch", "index"),
        }


def test_the_raw_file_is_what_scipy_writes(tmp_path: Path) -> None:
    from scipy.io import loadmat, savemat

    arrays = silhouettes(16)
    path = write_mat(tmp_path, 16, arrays)
    loaded = loadmat(path)
    for name, values in arrays.items():
        numpy.testing.assert_array_equal(loaded[name], values)
    for compress in (False, True):
        savemat(path, {key: value * 1.0 for key, value in arrays.items()}, do_compression=compress)
        (made,) = caltech101_silhouettes.convert_silhouettes(16, str(tmp_path), str(tmp_path))
        numpy.testing.assert_array_equal(
            read(made, "train")[0].reshape(6, -1), arrays["train_data"]
        )


def test_silhouettes_have_two_sizes(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="16 or 28, got 32"):
        caltech101_silhouettes.convert_silhouettes(32, str(tmp_path), str(tmp_path))
    with pytest.raises(MissingInputFiles) as caught:
        caltech101_silhouettes.convert_silhouettes(16, str(tmp_path), str(tmp_path))
    assert caught.value.filenames == ["caltech101_silhouettes_16_split1.mat"]
    parser = argparse.ArgumentParser()
    convert = caltech101_silhouettes.fill_subparser(parser)
    assert convert is caltech101_silhouettes.convert_silhouettes
    assert vars(parser.parse_args(["28"])) == {"size": 28}


def without(name: str) -> dict[str, numpy.ndarray]:
    return {key: value for key, value in silhouettes(16).items() if key != name}


@pytest.mark.parametrize(
    "arrays, message",
    [
        (without("val_data"), "there is no array 'val_data'"),
        (without("test_labels"), "there is no array 'test_labels'"),
        ({**silhouettes(16), "test_data": numpy.zeros((3, 784))}, r"\(n, 256\)"),
        ({**silhouettes(16), "test_labels": numpy.ones((2, 1))}, r"\(2, 1\)"),
        ({**silhouettes(16), "val_data": numpy.full((2, 256), 2)}, "from 0 to 1, but has 2"),
        ({**silhouettes(16), "val_labels": numpy.zeros((2, 1))}, "from 1 to 101, but has 0"),
        ({**silhouettes(16), "val_labels": numpy.full((2, 1), 102)}, "but has 102"),
    ],
)
def test_other_arrays_are_refused(
    arrays: dict[str, numpy.ndarray], message: str, tmp_path: Path
) -> None:
    path = write_mat(tmp_path, 16, arrays)
    with pytest.raises(StorageError, match=message) as caught:
        caltech101_silhouettes.convert_silhouettes(16, str(tmp_path), str(tmp_path))
    assert path.name in str(caught.value)
    assert "fuel-download caltech101_silhouettes 16" in str(caught.value)
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("packed", [False, True])
def test_every_cut_of_the_silhouettes_is_noticed(packed: bool, tmp_path: Path) -> None:
    path = write_mat(tmp_path, 16, silhouettes(16), packed)
    whole = path.read_bytes()
    for stop in (0, 50, 127, 128, 140, 400, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:stop])
        with pytest.raises(StorageError, match=path.name):
            caltech101_silhouettes.convert_silhouettes(16, str(tmp_path), str(tmp_path))
    path.write_bytes(b"<html>moved</html>" * 20)
    with pytest.raises(StorageError, match="no MATLAB file.*web page"):
        caltech101_silhouettes.convert_silhouettes(16, str(tmp_path), str(tmp_path))
    assert os.listdir(tmp_path) == [path.name]


def test_a_matrix_that_is_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    shape = struct.pack("<ii", 1 << 21, 256)
    content = (
        element(6, struct.pack("<II", 9, 0)) + element(5, shape) + element(1, b"train_data")
        + struct.pack("<II", 2, 1 << 29)
    )  # fmt: skip
    whole = struct.pack("<II", 14, len(content) + (1 << 29)) + content + bytes(1 << 20)
    squeezed = zlib.compress(whole)
    path = write_mat(tmp_path, 16, {})
    path.write_bytes(path.read_bytes() + struct.pack("<II", 15, len(squeezed)) + squeezed)
    with pytest.raises(StorageError, match=r"'train_data' in it .* at most 268435456 bytes"):
        caltech101_silhouettes.convert_silhouettes(16, str(tmp_path), str(tmp_path))
