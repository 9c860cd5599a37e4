"""Datasets: what can be read.

A dataset knows how to fetch examples and what they are called; it does not know in which order
they are wanted (`fuel.schemes`), who asks for them (`fuel.streams`) or what happens to them
afterwards (`fuel.transformers`).

========================  =====================================================================
`fuel.datasets.base`      `Dataset`, `IterableDataset`, `IndexableDataset`: the abstract class, and
                          data that already is in the process
`fuel.datasets.hdf5`      `H5PYDataset`, `PytablesDataset`: HDF5 files
`fuel.datasets.text`      `TextFile`: lines of text as lists of numbers
`fuel.datasets.billion`   `OneBillionWord`: a language-modelling corpus
`fuel.datasets.toy`       `Spiral`, `SwissRoll`: points drawn from formulas
`fuel.datasets.iris`,     built-in data sets, each a few lines over `H5PYDataset`
`fuel.datasets.digits`
========================  =====================================================================

In private modules: the classes of `base` (``_dataset``, ``_iterable``, ``_indexable``), the forms
of requests (``_requests``) and what examples look like (``_specs``); the classes of `hdf5`
(``_h5py``, ``_pytables``) with what they stand on: open files (``_h5_handles``), what is in them
(``_h5_layout``, ``_splits``), reading rows (``_h5_read``), lazy attributes (``_h5_attributes``).

Names are looked up when they are first used, so that ``from fuel.datasets import Dataset`` loads
neither h5py nor any built-in data set.
"""

from __future__ import annotations

import importlib
from typing import Any

_MODULE_OF = {
    "Adult": "fuel.datasets.adult",
    "BinarizedMNIST": "fuel.datasets.binarized_mnist",
    "CIFAR10": "fuel.datasets.cifar10",
    "CIFAR100": "fuel.datasets.cifar100",
    "CalTech101Silhouettes": "fuel.datasets.caltech101_silhouettes",
    "CelebA": "fuel.datasets.celeba",
    "Dataset": "fuel.datasets.base",
    "Digits": "fuel.datasets.digits",
    "DogsVsCats": "fuel.datasets.dogs_vs_cats",
    "EMNIST": "fuel.datasets.emnist",
    "FashionMNIST": "fuel.datasets.fashion_mnist",
    "H5PYDataset": "fuel.datasets.hdf5",
    "IndexableDataset": "fuel.datasets.base",
    "Iris": "fuel.datasets.iris",
    "IterableDataset": "fuel.datasets.base",
    "KMNIST": "fuel.datasets.kmnist",
    "MNIST": "fuel.datasets.mnist",
    "OneBillionWord": "fuel.datasets.billion",
    "SVHN": "fuel.datasets.svhn",
    "TextFile": "fuel.datasets.text",
}

_SUBMODULES = frozenset(
    {
        "adult",
        "base",
        "billion",
        "binarized_mnist",
        "caltech101_silhouettes",
        "celeba",
        "cifar10",
        "cifar100",
        "digits",
        "dogs_vs_cats",
        "emnist",
        "fashion_mnist",
        "hdf5",
        "imagenet",
        "iris",
        "kmnist",
        "mnist",
        "svhn",
        "text",
        "toy",
        "youtube_audio",
    }
)

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "EMNIST",
    "KMNIST",
    "MNIST",
    "SVHN",
    "Adult",
    "BinarizedMNIST",
    "CalTech101Silhouettes",
    "CelebA",
    "Dataset",
    "Digits",
    "DogsVsCats",
    "FashionMNIST",
    "H5PYDataset",
    "IndexableDataset",
    "Iris",
    "IterableDataset",
    "OneBillionWord",
    "TextFile",
]


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        value = getattr(importlib.import_module(_MODULE_OF[name]), name)
    elif name in _SUBMODULES:
        value = importlib.import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF, *_SUBMODULES})
