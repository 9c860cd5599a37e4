"""MNIST and its relatives: IDX files, byte by byte, and what becomes of them."""

from __future__ import annotations

import argparse
import gzip
import io
import os
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuel.converters import _idx_images, emnist, fashion_mnist, kmnist, mnist
from fuel.converters._idx import IdxError, IdxReader
from fuel.converters.base import MissingInputFiles
from fuel.datasets.hdf5 import H5PYDataset
from fuel.exceptions import StorageError

NAMES = [
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
]

CONVERTERS: dict[str, Callable[..., tuple[str, ...]]] = {
    "mnist": mnist.convert_mnist,
    "fashion_mnist": fashion_mnist.convert_fashion_mnist,
    "kmnist": kmnist.convert_kmnist,
}

RNG = numpy.random.default_rng(1)
IMAGES = {
    "train": RNG.integers(0, 256, (10, 28, 28), "u1"),
    "test": RNG.integers(0, 256, (3, 28, 28), "u1"),
}
LABELS = {"train": numpy.arange(10, dtype="u1"), "test": numpy.array([9, 0, 9], "u1")}


def idx(array: numpy.ndarray, code: int = 8) -> bytes:
    header = struct.pack(">BBBB", 0, 0, code, array.ndim) + struct.pack(
        f">{array.ndim}I", *array.shape
    )
    return header + array.astype(array.dtype.newbyteorder(">")).tobytes()


def write_raw(directory: Path) -> Path:
    directory.mkdir(exist_ok=True)
    parts = [IMAGES["train"], LABELS["train"], IMAGES["test"], LABELS["test"]]
    for name, part in zip(NAMES, parts, strict=True):
        (directory / name).write_bytes(gzip.compress(idx(part)))
    return directory


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    return write_raw(tmp_path / "raw")


@pytest.mark.parametrize("name", list(CONVERTERS))
def test_the_file_holds_what_the_raw_files_hold(name: str, raw: Path, tmp_path: Path) -> None:
    paths = CONVERTERS[name](str(raw), str(tmp_path))
    assert paths == (str(tmp_path / f"{name}.hdf5"),)
    with h5py.File(paths[0], "r") as h5file:
        assert set(h5file) == {"features", "targets"}
        assert set(H5PYDataset.get_all_splits(h5file)) == {"train", "test"}
        assert h5file["features"].shape == (13, 1, 28, 28)
        assert h5file["features"].chunks is None
        assert H5PYDataset.get_axis_labels(h5file) == {
            "features": ("batch", "channel", "height", "width"),
            "targets": ("batch", "index"),
        }
    for split in ("train", "test"):
        dataset = H5PYDataset(paths[0], (split,), load_in_memory=True)
        features, targets = dataset.get_data(None, slice(0, dataset.num_examples))
        assert (features.dtype, targets.dtype) == ("u1", "u1")
        numpy.testing.assert_array_equal(features[:, 0], IMAGES[split])
        numpy.testing.assert_array_equal(targets[:, 0], LABELS[split])


@pytest.mark.parametrize("dtype", ["float32", "float64", "bool", "float16", numpy.float32])
def test_pixels_are_converted_and_the_name_says_so(dtype: Any, raw: Path, tmp_path: Path) -> None:
    (path,) = mnist.convert_mnist(str(raw), str(tmp_path), dtype=dtype)
    name = numpy.dtype(dtype).name
    assert os.path.basename(path) == f"mnist_{name}.hdf5"
    with h5py.File(path, "r") as h5file:
        found = h5file["features"][:10, 0]
    assert found.dtype == numpy.dtype(dtype)
    expected = IMAGES["train"] >= 128 if name == "bool" else IMAGES["train"].astype(dtype) / 255
    numpy.testing.assert_array_equal(found, expected.astype(dtype))
    read = mnist.read_mnist_images(raw / NAMES[0], dtype)
    numpy.testing.assert_array_equal(read[:, 0], found)


@pytest.mark.parametrize("dtype", ["int32", "uint8", "complex64", "S3"])
def test_other_types_of_pixels_are_refused(dtype: str, raw: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="bool or to a floating type"):
        mnist.read_mnist_images(str(raw / NAMES[0]), dtype)
    with pytest.raises(ValueError, match="bool or to a floating type"):
        mnist.convert_mnist(str(raw), str(tmp_path), dtype=dtype)
    assert os.listdir(tmp_path) == ["raw"]


def test_the_old_readers_read_files_packed_or_not(raw: Path, tmp_path: Path) -> None:
    images = mnist.read_mnist_images(str(raw / NAMES[0]))
    assert (images.shape, images.dtype) == ((10, 1, 28, 28), numpy.dtype("u1"))
    labels = mnist.read_mnist_labels(raw / NAMES[1])
    assert labels.tolist() == [[label] for label in range(10)]
    plain = tmp_path / "plain"
    plain.write_bytes(idx(LABELS["test"]))
    assert mnist.read_mnist_labels(plain).tolist() == [[9], [0], [9]]
    assert mnist.read_mnist_labels(io.BytesIO(idx(LABELS["test"]))).tolist() == [[9], [0], [9]]
    images[0] = 0  # the array is the caller's


def test_a_wrong_magic_number_is_a_valueerror(raw: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"begins with 2051, but here it is 2049"):
        mnist.read_mnist_images(str(raw / NAMES[1]))
    with pytest.raises(ValueError, match=r"begins with 2049, but here it is 2051"):
        mnist.read_mnist_labels(str(raw / NAMES[0]))
    (raw / NAMES[0]).write_bytes((raw / NAMES[1]).read_bytes())
    with pytest.raises(
        StorageError, match=r"train-images.*wrong magic number.*fuel-download mnist"
    ):
        mnist.convert_mnist(str(raw), str(tmp_path))


def test_programs_may_set_the_names_and_magic_numbers(
    raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.rename(raw / NAMES[3], raw / "other.gz")
    (raw / NAMES[3]).write_bytes(b"")
    monkeypatch.setattr(mnist, "TEST_LABELS", "other.gz")
    mnist.convert_mnist(str(raw), str(tmp_path))
    monkeypatch.setattr(mnist, "MNIST_IMAGE_MAGIC", 7)
    with pytest.raises(ValueError, match="begins with 7"):
        mnist.read_mnist_images(raw / NAMES[0])


@pytest.mark.parametrize("missing", NAMES)
@pytest.mark.parametrize("name", list(CONVERTERS))
def test_a_missing_file_is_named(name: str, missing: str, raw: Path, tmp_path: Path) -> None:
    os.remove(raw / missing)
    with pytest.raises(MissingInputFiles) as caught:
        CONVERTERS[name](str(raw), str(tmp_path))
    assert caught.value.filenames == [missing]


SPOILS: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "the stream is cut": (lambda c: c[:-20], "cut short"),
    "the stream is cut in its last bytes": (lambda c: c[:-2], "cut short"),
    "the payload is cut": (
        lambda c: gzip.compress(gzip.decompress(c)[:-2]),
        "cut short: its header announces",
    ),
    "only a header": (lambda c: gzip.compress(gzip.decompress(c)[:6]), "cut short in its header"),
    "nothing": (lambda c: b"", "it is empty"),
    "nothing, packed": (lambda c: gzip.compress(b""), "it is empty"),
    "more": (lambda c: gzip.compress(gzip.decompress(c) + b"!"), "holds more than"),
    "a wrong checksum": (lambda c: c[:-8] + b"0000" + c[-4:], "damaged"),
    "a web page": (lambda c: b"<html>404</html>", "wrong magic number"),
    "garbage behind": (lambda c: c + b"garbage", "damaged"),
    "noise": (
        lambda c: c[:-9] + bytes([c[-9] ^ 85]) + c[-8:],
        r"damaged|cut short|announces",
    ),
}


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("spoil", list(SPOILS))
def test_damage_names_the_file_and_leaves_the_old_output(
    spoil: str, which: int, raw: Path, tmp_path: Path
) -> None:
    (path,) = mnist.convert_mnist(str(raw), str(tmp_path))
    before = Path(path).read_bytes()
    change, message = SPOILS[spoil]
    file = raw / NAMES[which]
    file.write_bytes(change(file.read_bytes()))
    with pytest.raises(StorageError, match=message) as caught:
        mnist.convert_mnist(str(raw), str(tmp_path))
    assert NAMES[which] in str(caught.value)
    assert "fuel-download mnist" in str(caught.value)
    assert Path(path).read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["mnist.hdf5", "raw"]


def test_counts_that_differ_name_both_files(raw: Path, tmp_path: Path) -> None:
    (raw / NAMES[1]).write_bytes(gzip.compress(idx(LABELS["train"][:9])))
    with pytest.raises(StorageError, match=r"train-images.* has 10 images, but .*labels.* has 9"):
        mnist.convert_mnist(str(raw), str(tmp_path))


def test_sizes_that_differ_are_refused(raw: Path, tmp_path: Path) -> None:
    (raw / NAMES[2]).write_bytes(gzip.compress(idx(IMAGES["test"][:, :27])))
    with pytest.raises(StorageError, match=r"must be of the same size.*\(27, 28\)"):
        mnist.convert_mnist(str(raw), str(tmp_path))


def test_labels_out_of_range_are_refused(raw: Path, tmp_path: Path) -> None:
    (raw / NAMES[1]).write_bytes(gzip.compress(idx(LABELS["train"] + 1)))
    with pytest.raises(StorageError, match=r"train-labels.*from 0 to 9, but one is 10"):
        mnist.convert_mnist(str(raw), str(tmp_path))


def test_a_header_that_announces_too_much_makes_no_room_for_it(raw: Path, tmp_path: Path) -> None:
    for which in (0, 1):
        content = bytearray(gzip.decompress((raw / NAMES[which]).read_bytes()))
        content[4:8] = b"\xff\xff\xff\xff"
        (raw / NAMES[which]).write_bytes(gzip.compress(bytes(content)))
    with pytest.raises(StorageError, match=r"announces \d+ bytes, more than a file of \d+ bytes"):
        mnist.convert_mnist(str(raw), str(tmp_path))


def test_a_file_that_unpacks_to_more_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "labels.gz"
    path.write_bytes(gzip.compress(idx(LABELS["train"]) + bytes(50_000_000)))
    with pytest.raises(IdxError, match="holds more than the 10"):
        mnist.read_mnist_labels(path)


def test_large_files_are_read_in_batches(
    raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_idx_images, "_BATCH", 4)
    (path,) = mnist.convert_mnist(str(raw), str(tmp_path))
    with h5py.File(path, "r") as h5file:
        numpy.testing.assert_array_equal(
            h5file["features"][:, 0], numpy.concatenate([IMAGES["train"], IMAGES["test"]])
        )


def test_the_command_has_its_option() -> None:
    parser = argparse.ArgumentParser()
    assert mnist.fill_subparser(parser) is mnist.convert_mnist
    assert vars(parser.parse_args([])) == {"dtype": None}
    assert vars(parser.parse_args(["--dtype", "bool"])) == {"dtype": "bool"}
    with pytest.raises(SystemExit):
        parser.parse_args(["--dtype", "int8"])
    for module in (fashion_mnist, kmnist):
        parser = argparse.ArgumentParser()
        assert module.fill_subparser(parser) in CONVERTERS.values()
        assert vars(parser.parse_args([])) == {}


CODES = {"u1": 0x08, "i1": 0x09, "i2": 0x0B, "i4": 0x0C, "f4": 0x0D, "f8": 0x0E}


@given(
    st.sampled_from(list(CODES)),
    st.lists(st.integers(0, 4), min_size=1, max_size=4),
    st.integers(1, 5),
    st.booleans(),
)
def test_every_type_and_shape_comes_back(
    dtype: str, shape: list[int], rows: int, packed: bool
) -> None:
    array = numpy.random.default_rng(0).integers(0, 100, shape).astype(dtype)
    content = idx(array, CODES[dtype])
    with IdxReader(io.BytesIO(gzip.compress(content) if packed else content), name="x") as reader:
        assert (reader.shape, reader.dtype) == (array.shape, array.dtype)
        assert reader.dtype.isnative
        parts = list(reader.batches(rows))
    found = numpy.concatenate([numpy.empty((0, *shape[1:]), dtype), *parts])
    numpy.testing.assert_array_equal(found, array)


@pytest.mark.parametrize("head", [b"\0\0\x08\0", b"\0\0\x0a\x01", b"\x01\0\x08\x01", b"\0\0\x08"])
def test_what_is_no_idx_file_is_refused(head: bytes) -> None:
    with pytest.raises(IdxError, match="not an IDX file"):
        IdxReader(io.BytesIO(head), name="x")


def write_emnist(
    path: Path, which: str, labels: dict[str, numpy.ndarray], reverse: bool = False
) -> None:
    files = {}
    for split in ("train", "test"):
        stem = f"gzip/emnist-{which}-{split}"
        # As published: each image lies on its side.
        files[f"{stem}-images-idx3-ubyte.gz"] = idx(IMAGES[split].transpose(0, 2, 1))
        files[f"{stem}-labels-idx1-ubyte.gz"] = idx(labels[split])
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("gzip/emnist-other-mapping.txt", "0 48\n")
        for name in sorted(files, reverse=reverse):
            archive.writestr(name, gzip.compress(files[name]))


@pytest.mark.parametrize("reverse", [False, True])
def test_emnist_is_upright(reverse: bool, tmp_path: Path) -> None:
    write_emnist(tmp_path / "gzip.zip", "balanced", LABELS, reverse)
    paths = emnist.convert_emnist("balanced", str(tmp_path), str(tmp_path))
    assert paths == (str(tmp_path / "emnist_balanced.hdf5"),)
    for split in ("train", "test"):
        dataset = H5PYDataset(paths[0], (split,), load_in_memory=True)
        features, targets = dataset.get_data(None, slice(0, dataset.num_examples))
        numpy.testing.assert_array_equal(features[:, 0], IMAGES[split])
        numpy.testing.assert_array_equal(targets[:, 0], LABELS[split])
    with h5py.File(paths[0], "r") as h5file:
        numpy.testing.assert_array_equal(h5file["features"][:10, 0], IMAGES["train"])


def test_emnist_keeps_the_published_labels_of_letters(tmp_path: Path) -> None:
    letters = {split: labels + 17 for split, labels in LABELS.items()}
    write_emnist(tmp_path / "gzip.zip", "letters", letters)
    (path,) = emnist.convert_emnist("letters", str(tmp_path), str(tmp_path), "l.h5")
    with h5py.File(path, "r") as h5file:
        assert h5file["targets"][:10, 0].tolist() == list(range(17, 27))
    write_emnist(tmp_path / "gzip.zip", "letters", LABELS)
    with pytest.raises(StorageError, match=r"letters-train-labels.*from 1 to 26, but one is 0"):
        emnist.convert_emnist("letters", str(tmp_path), str(tmp_path))


def test_emnist_says_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="byclass, bymerge, .*got 'all'"):
        emnist.convert_emnist("all", str(tmp_path), str(tmp_path))
    with pytest.raises(MissingInputFiles) as caught:
        emnist.convert_emnist("digits", str(tmp_path), str(tmp_path))
    assert caught.value.filenames == ["gzip.zip"]
    write_emnist(tmp_path / "gzip.zip", "mnist", LABELS)
    with pytest.raises(StorageError, match=r"gzip\.zip: it lacks gzip/emnist-digits-train-images"):
        emnist.convert_emnist("digits", str(tmp_path), str(tmp_path))
    content = (tmp_path / "gzip.zip").read_bytes()
    (tmp_path / "gzip.zip").write_bytes(content[:-100])
    with pytest.raises(StorageError, match=r"gzip\.zip: the archive is cut short"):
        emnist.convert_emnist("mnist", str(tmp_path), str(tmp_path))
    assert os.listdir(tmp_path) == ["gzip.zip"]
    parser = argparse.ArgumentParser()
    assert emnist.fill_subparser(parser) is emnist.convert_emnist
    assert vars(parser.parse_args(["letters"])) == {"which_format": "letters"}
