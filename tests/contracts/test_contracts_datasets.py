"""Every dataset of the package under the suite of datasets."""

from __future__ import annotations

import gzip

import h5py
import numpy
import pytest

import fuel.datasets
from fuel.config_parser import config
from fuel.converters.digits import convert_digits
from fuel.converters.iris import convert_iris
from fuel.converters.writer import HDF5Writer, SourceSpec
from fuel.datasets import (
    CIFAR10,
    CIFAR100,
    EMNIST,
    KMNIST,
    MNIST,
    SVHN,
    Adult,
    BinarizedMNIST,
    CalTech101Silhouettes,
    CelebA,
    Digits,
    DogsVsCats,
    FashionMNIST,
    H5PYDataset,
    IndexableDataset,
    Iris,
    IterableDataset,
    OneBillionWord,
    TextFile,
)
from fuel.datasets.hdf5 import PytablesDataset
from fuel.datasets.imagenet import ILSVRC2010, ILSVRC2012
from fuel.datasets.toy import Spiral, SwissRoll
from fuel.datasets.youtube_audio import YouTubeAudio
from fuel.downloaders.packaged import take_packaged
from fuel.manifests import MANIFESTS
from fuel.testing import DatasetContract


def hdf5(folder):
    path = folder / "data.hdf5"
    if not path.exists():
        with h5py.File(path, "w") as file:
            file["x"] = numpy.arange(24, dtype="f4").reshape(8, 3)
            file["y"] = numpy.arange(8, dtype="u1")[:, None]
            ragged = file.create_dataset("r", (8,), dtype=h5py.vlen_dtype("i4"))
            ragged[...] = numpy.array(
                [numpy.arange(2 * (n % 3 + 1), dtype="i4") for n in range(8)], dtype=object
            )
            shapes = file.create_dataset("r_shapes", data=[(2, n % 3 + 1) for n in range(8)])
            shapes.make_scale("shapes")
            ragged.dims[0].attach_scale(shapes)
            file.attrs["split"] = H5PYDataset.create_split_array(
                {
                    "train": dict.fromkeys("xyr", (0, 6)),
                    "test": dict.fromkeys("xy", (6, 8)),
                }
            )
    return path


def plain_hdf5(folder):
    path = folder / "plain.hdf5"
    if not path.exists():
        with h5py.File(path, "w") as file:
            file["x"] = numpy.arange(10).reshape(5, 2)
            file["group/y"] = numpy.arange(5.0)
    return path


def tables_file(folder):
    import tables

    path = folder / "data.h5"
    if not path.exists():
        with tables.open_file(str(path), "w") as file:
            node = file.create_group("/", "Data")
            file.create_array(node, "x", numpy.arange(12).reshape(6, 2))
            file.create_array(node, "y", numpy.arange(6.0))
    return str(path)


def text(folder):
    path = folder / "text.txt.gz"
    if not path.exists():
        with gzip.open(path, "wt") as file:
            file.write("a b\nb\n\na a a\nc\n")
    dictionary = {"<S>": 0, "</S>": 1, "<UNK>": 2, "a": 3, "b": 4}
    return TextFile([str(path)], dictionary)


def one_billion_words(folder):
    where = folder / "1-billion-word" / "heldout-monolingual.tokenized.shuffled"
    if not where.exists():
        where.mkdir(parents=True)
        (where / "news.en.heldout-00000-of-00050").write_text("a b\nb b a\na\nc\n")
    dictionary = {"<S>": 0, "</S>": 1, "<UNK>": 2, "a": 3, "b": 4}
    return OneBillionWord("heldout", [0], dictionary)


def built_in(folder, name, convert):
    if not (folder / f"{name}.hdf5").exists():
        take_packaged(MANIFESTS[name], str(folder))
        convert(str(folder), str(folder))


def written(folder, filename, split, **shapes):
    """Write a file like that of a converter: bytes of these shapes, None for axes that vary."""
    path = folder / filename
    if path.exists():
        return
    rng = numpy.random.RandomState(1)
    with HDF5Writer(
        path, {name: SourceSpec(shape, "u1") for name, shape in shapes.items()}
    ) as file:
        for number in range(1, 7):
            example = {
                name: rng.randint(0, 256, [size or 1 + number % 3 for size in shape]).astype("u1")
                for name, shape in shapes.items()
            }
            file.add_example(split, **example)


MAKERS = {
    "indexable": lambda folder: IndexableDataset(
        {"x": numpy.arange(12).reshape(6, 2), "y": list("abcdef")}
    ),
    "indexable, a part": lambda folder: IndexableDataset(
        {"x": numpy.arange(12), "y": numpy.arange(12) * 0.5}, start=2, stop=9
    ),
    "indexable, a ragged list": lambda folder: IndexableDataset(
        [numpy.arange(n) for n in range(5)]
    ),
    "iterable": lambda folder: IterableDataset({"x": [1, 2, 3, 4], "y": "abcd"}),
    "HDF5": lambda folder: H5PYDataset(hdf5(folder), ("train",)),
    "HDF5 in memory": lambda folder: H5PYDataset(hdf5(folder), ("train",), load_in_memory=True),
    "HDF5, two splits": lambda folder: H5PYDataset(hdf5(folder), ("train", "test")),
    "HDF5, a subset": lambda folder: H5PYDataset(
        hdf5(folder), ("train",), subset=[5, 1, 3, 0], sources=("y", "r")
    ),
    "plain HDF5": lambda folder: H5PYDataset(plain_hdf5(folder)),
    "PyTables": lambda folder: PytablesDataset(tables_file(folder), ("x", "y")),
    "text": text,
    "one billion words": one_billion_words,
    "spiral": lambda folder: Spiral(num_examples=6),
    "swiss roll": lambda folder: SwissRoll(num_examples=6),
    "iris": lambda folder: built_in(folder, "iris", convert_iris) or Iris(("all",)),
    "digits": lambda folder: (
        built_in(folder, "digits", convert_digits) or Digits(("test",), subset=slice(0, 6))
    ),
    "SVHN, whole numbers": lambda folder: (
        written(
            folder, "svhn_format_1.hdf5", "test", features=(3, None, None), bbox_labels=(None, 1)
        )
        or SVHN(1, ("test",))
    ),
    "SVHN, digits": lambda folder: (
        written(folder, "svhn_format_2.hdf5", "extra", features=(3, 32, 32), targets=(1,))
        or SVHN(2, ("extra",))
    ),
    "CelebA": lambda folder: (
        written(folder, "celeba_64.hdf5", "valid", features=(3, 64, 64), targets=(40,))
        or CelebA("64", ("valid",))
    ),
    "dogs vs. cats": lambda folder: (
        written(folder, "dogs_vs_cats.hdf5", "train", image_features=(3, None, None), targets=(1,))
        or DogsVsCats(("train",))
    ),
    "ImageNet 2010": lambda folder: (
        written(folder, "ilsvrc2010.hdf5", "test", encoded_images=(None,), targets=(1,))
        or ILSVRC2010(("test",))
    ),
    "ImageNet 2012": lambda folder: (
        written(folder, "ilsvrc2012.hdf5", "test", encoded_images=(None,)) or ILSVRC2012(("test",))
    ),
    "sound": lambda folder: (
        written(folder, "abc.hdf5", "train", features=(9, 2)) or YouTubeAudio("abc")
    ),
}

GREY = {"features": (1, 28, 28), "targets": (1,)}
COLOUR = {"features": (3, 32, 32)}


def _plain(filename, shapes, split, make):
    return lambda folder: written(folder, filename, split, **shapes) or make()


MAKERS.update(
    {
        "MNIST": _plain("mnist.hdf5", GREY, "test", lambda: MNIST(("test",))),
        "Fashion-MNIST": _plain(
            "fashion_mnist.hdf5", GREY, "train", lambda: FashionMNIST(("train",))
        ),
        "KMNIST": _plain("kmnist.hdf5", GREY, "test", lambda: KMNIST(("test",))),
        "EMNIST": _plain(
            "emnist_letters.hdf5", GREY, "train", lambda: EMNIST("letters", ("train",))
        ),
        "binarized MNIST": _plain(
            "binarized_mnist.hdf5",
            {"features": (1, 28, 28)},
            "valid",
            lambda: BinarizedMNIST(("valid",)),
        ),
        "CIFAR-10": _plain(
            "cifar10.hdf5", {**COLOUR, "targets": (1,)}, "test", lambda: CIFAR10(("test",))
        ),
        "CIFAR-100": _plain(
            "cifar100.hdf5",
            {**COLOUR, "coarse_labels": (1,), "fine_labels": (1,)},
            "train",
            lambda: CIFAR100(("train",)),
        ),
        "Adult": _plain(
            "adult.hdf5", {"features": (104,), "targets": (1,)}, "test", lambda: Adult(("test",))
        ),
        "silhouettes": _plain(
            "caltech101_silhouettes16.hdf5",
            {"features": (1, 16, 16), "targets": (1,)},
            "valid",
            lambda: CalTech101Silhouettes(("valid",), 16),
        ),
    }
)


@pytest.fixture(params=list(MAKERS))
def name(request):
    return request.param


class TestEveryDataset(DatasetContract):
    @pytest.fixture(autouse=True)
    def _choose(self, name, tmp_path_factory):
        folder = tmp_path_factory.getbasetemp() / "contract-datasets"
        folder.mkdir(exist_ok=True)
        self.make_dataset = lambda: MAKERS[name](folder)
        self.indexable = name not in ("iterable", "text", "one billion words")
        with config.override(data_path=[str(folder)]):
            yield


def test_every_public_dataset_is_under_the_suite(tmp_path):
    with config.override(data_path=[str(tmp_path)]):
        made = {type(make(tmp_path)) for make in MAKERS.values()}
    public = {getattr(fuel.datasets, name) for name in fuel.datasets.__all__}
    assert public - {fuel.datasets.Dataset} <= made
