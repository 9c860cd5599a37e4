"""MNIST and its relatives, CIFAR, Adult and the silhouettes: from the command to batches."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import struct
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

import fuel.datasets
from fuel.bin import fuel_convert
from fuel.config_parser import config
from fuel.datasets import (
    CIFAR10,
    CIFAR100,
    EMNIST,
    KMNIST,
    MNIST,
    Adult,
    BinarizedMNIST,
    CalTech101Silhouettes,
    FashionMNIST,
    H5PYDataset,
)
from fuel.schemes import SequentialScheme, ShuffledScheme
from fuel.streams import DataStream

COUNTS = {"train": 6, "test": 4}

ADULT = (
    "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, "
    "2174, 0, 40, United-States, <=50K\n"
)


def idx(array: numpy.ndarray) -> bytes:
    head = struct.pack(">BBBB", 0, 0, 8, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape)
    return gzip.compress(head + array.tobytes())


def grey(count: int) -> tuple[bytes, bytes]:
    images = numpy.zeros((count, 28, 28), "u1")
    images[:, 0, 1] = 255
    return idx(images), idx(numpy.arange(count, dtype="u1"))


def mnist_like(directory: Path) -> None:
    for prefix, split in (("train", "train"), ("t10k", "test")):
        images, labels = grey(COUNTS[split])
        (directory / f"{prefix}-images-idx3-ubyte.gz").write_bytes(images)
        (directory / f"{prefix}-labels-idx1-ubyte.gz").write_bytes(labels)


def emnist_archive(directory: Path) -> None:
    with zipfile.ZipFile(directory / "gzip.zip", "w") as archive:
        for split, count in COUNTS.items():
            images, labels = grey(count)
            archive.writestr(f"gzip/emnist-digits-{split}-images-idx3-ubyte.gz", images)
            archive.writestr(f"gzip/emnist-digits-{split}-labels-idx1-ubyte.gz", labels)


def cifar(directory: Path, name: str, files: dict[str, int], keys: tuple[str, ...]) -> None:
    with tarfile.open(directory / name, "w:gz") as archive:
        for member, count in files.items():
            data = numpy.full((count, 3072), 255, "u1")
            entries = {"data": data, **{key: list(range(count)) for key in keys}}
            content = pickle.dumps(entries, 2)
            info = tarfile.TarInfo(member)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def cifar10(directory: Path) -> None:
    names = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]
    files = {f"cifar-10-batches-py/{name}": 4 for name in names}
    cifar(directory, "cifar-10-python.tar.gz", files, ("labels",))


def cifar100(directory: Path) -> None:
    files = {f"cifar-100-python/{split}": count for split, count in COUNTS.items()}
    cifar(directory, "cifar-100-python.tar.gz", files, ("fine_labels", "coarse_labels"))


def binarized(directory: Path) -> None:
    for split in ("train", "valid", "test"):
        line = "0 1 " * 392 + "\n"
        (directory / f"binarized_mnist_{split}.amat").write_text(line * 5)


def adult(directory: Path) -> None:
    (directory / "adult.data").write_text(ADULT * 6 + "\n")
    (directory / "adult.test").write_text("|1x3 Cross validator\n" + ADULT * 4 + "\n")


def silhouettes(directory: Path) -> None:
    from scipy.io import savemat

    arrays = {}
    for split in ("train", "val", "test"):
        arrays[f"{split}_data"] = numpy.ones((5, 784), "u1")
        arrays[f"{split}_labels"] = numpy.full((5, 1), 101, "u1")
    savemat(directory / "caltech101_silhouettes_28_split1.mat", arrays, do_compression=True)


class Case:
    """The arguments of the command, what writes its input, the class, what its stream yields."""

    def __init__(
        self, command: str, write: Callable[[Path], None], make: Callable[..., Any], **expected: Any
    ) -> None:
        self.command, self.write, self.make, self.expected = command.split(), write, make, expected


PIXELS = {"features": ((1, 28, 28), "float32", 1.0), "targets": ((1,), "uint8", 5)}

CASES = {
    "MNIST": Case("mnist", mnist_like, MNIST, **PIXELS),
    "FashionMNIST": Case("fashion_mnist", mnist_like, FashionMNIST, **PIXELS),
    "KMNIST": Case("kmnist", mnist_like, KMNIST, **PIXELS),
    "EMNIST": Case(
        "emnist digits", emnist_archive, lambda *args, **kw: EMNIST("digits", *args, **kw), **PIXELS
    ),
    "CIFAR10": Case(
        "cifar10", cifar10, CIFAR10,
        features=((3, 32, 32), "float32", 1.0), targets=((1,), "uint8", 3),
    ),
    "CIFAR100": Case(
        "cifar100", cifar100, CIFAR100,
        coarse_labels=((1,), "uint8", 5), features=((3, 32, 32), "float32", 1.0),
        fine_labels=((1,), "uint8", 5),
    ),
    "BinarizedMNIST": Case(
        "binarized_mnist", binarized, BinarizedMNIST, features=((1, 28, 28), "uint8", 1)
    ),
    "Adult": Case(
        "adult", adult, Adult, features=((104,), "float64", 77516), targets=((1,), "bool", False)
    ),
    "CalTech101Silhouettes": Case(
        "caltech101_silhouettes 28", silhouettes, CalTech101Silhouettes,
        features=((1, 28, 28), "uint8", 1), targets=((1,), "uint8", 101),
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("data")
    for name, case in CASES.items():
        raw = tmp_path_factory.mktemp(name)
        case.write(raw)
        fuel_convert.main([*case.command, "-d", str(raw), "-o", str(directory)])
    return directory


@pytest.fixture(params=list(CASES))
def case(request: pytest.FixtureRequest, converted: Path) -> Iterator[tuple[str, Case]]:
    with config.override(data_path=[str(converted)], floatX="float32"):
        yield request.param, CASES[request.param]


def test_the_default_stream_yields_batches(case: tuple[str, Case]) -> None:
    _, tried = case
    dataset = tried.make(("train",))
    assert isinstance(dataset, H5PYDataset)
    assert dataset.load_in_memory
    assert dataset.sources == tuple(tried.expected)
    scheme = ShuffledScheme(dataset.num_examples, 4, rng=numpy.random.RandomState(1))
    stream = DataStream.default_stream(dataset, iteration_scheme=scheme)
    batches = list(stream.get_epoch_iterator())
    for place, (shape, dtype, most) in enumerate(tried.expected.values()):
        found = numpy.concatenate([batch[place] for batch in batches])
        assert found.shape == (dataset.num_examples, *shape)
        assert found.dtype == numpy.dtype(dtype)
        assert found.max() == most


def test_the_test_split_and_both(case: tuple[str, Case]) -> None:
    _, tried = case
    train, test, both = (tried.make(sets) for sets in (("train",), ("test",), ("train", "test")))
    assert both.num_examples == train.num_examples + test.num_examples
    assert test.num_examples >= 4


def test_from_the_disk_all_is_the_same(case: tuple[str, Case]) -> None:
    _, tried = case
    streams = [
        DataStream.default_stream(
            tried.make(("test",), load_in_memory=there), iteration_scheme=SequentialScheme(4, 3)
        )
        for there in (True, False)
    ]
    for ours, theirs in zip(*(stream.get_epoch_iterator() for stream in streams), strict=True):
        for one, other in zip(ours, theirs, strict=True):
            assert one.dtype == other.dtype
            numpy.testing.assert_array_equal(one, other)


def test_arguments_reach_the_dataset(case: tuple[str, Case]) -> None:
    _, tried = case
    dataset = tried.make(("train",), sources=("features",), subset=slice(1, 4))
    assert (dataset.num_examples, dataset.sources) == (3, ("features",))
    assert dataset.axis_labels["features"][0] == "batch"
    with pytest.raises(ValueError, match="nosuch"):
        tried.make(("nosuch",))


def test_a_pickle_holds_no_data(case: tuple[str, Case]) -> None:
    _, tried = case
    dataset = tried.make(("test",))
    pickled = pickle.dumps(dataset)
    assert len(pickled) < 5000
    for ours, theirs in zip(
        pickle.loads(pickled).get_data(None, [3, 1]), dataset.get_data(None, [3, 1]), strict=True
    ):
        numpy.testing.assert_array_equal(ours, theirs)


def test_a_missing_file_says_how_to_make_it(case: tuple[str, Case], tmp_path: Path) -> None:
    _, tried = case
    with config.override(data_path=[str(tmp_path)]):
        with pytest.raises(IOError, match="not found in Fuel's data path") as caught:
            tried.make(("train",))
    assert f"fuel-download {tried.command[0]}" in str(caught.value)
    assert f"fuel-convert {' '.join(tried.command)}" in str(caught.value)


def test_the_file_says_where_it_comes_from(case: tuple[str, Case]) -> None:
    from fuel.converters._provenance import read_provenance

    _, tried = case
    dataset = tried.make(("train",), load_in_memory=False)
    import h5py

    with h5py.File(dataset.path, "r") as h5file:
        told = json.dumps(read_provenance(h5file))
        assert tried.command[0].encode() in h5file.attrs["fuel_convert_command"]
    assert "sha256" in told


def test_formats_and_sizes_that_do_not_exist_are_refused() -> None:
    with pytest.raises(ValueError, match="EMNIST has the formats"):
        EMNIST("all", ("train",))
    with pytest.raises(ValueError, match="16 or 28, got 32"):
        CalTech101Silhouettes(("train",), 32)


@pytest.mark.parametrize("name", list(CASES))
def test_classes_are_found_in_the_face(name: str) -> None:
    cls = getattr(fuel.datasets, name)
    assert cls.__name__ == name
    assert name in fuel.datasets.__all__
