"""From raw files to HDF5 files that `fuel.datasets.hdf5.H5PYDataset` reads.

`all_converters` is what ``fuel-convert`` knows: pairs of a name and a function that fills the
parser of a sub-command and returns the function to call. Other packages offer the same tuple.

``fuel-convert`` calls that function with ``directory``, ``output_directory``, the options of its
sub-command and, only if the user gave one, ``output_filename``; it returns a tuple of the paths
that it wrote. What it gets as ``output_directory`` is a new, empty directory beside the final
places, so that a failure destroys nothing. A converter that continues an output of an earlier run
says so with an attribute (``convert.in_place = True``) and gets the user's directory itself.

- `base`: the functions that converters are made of
- `bring`: converters of your own files, one module for each kind; `export` is the way back
- `iris`, `mnist` and so on: one module a data set
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from fuel.converters import (
    adult,
    binarized_mnist,
    caltech101_silhouettes,
    celeba,
    cifar10,
    cifar100,
    digits,
    dogs_vs_cats,
    emnist,
    fashion_mnist,
    ilsvrc2010,
    ilsvrc2012,
    iris,
    kmnist,
    mnist,
    repack,
    svhn,
    youtube_audio,
)
from fuel.converters.bring import (
    arrays,
    huggingface,
    images,
    parquet,
    tables,
    text,
    webdataset,
)

__all__ = ["__version__", "all_converters"]

#: The version of the converters, written into every file that ``fuel-convert`` makes.
__version__ = "0.2"

#: Name and function of every converter.
all_converters: tuple[
    tuple[str, Callable[[argparse.ArgumentParser], Callable[..., tuple[str, ...]]]], ...
] = (
    ("digits", digits.fill_subparser),
    ("adult", adult.fill_subparser),
    ("binarized_mnist", binarized_mnist.fill_subparser),
    ("caltech101_silhouettes", caltech101_silhouettes.fill_subparser),
    ("celeba", celeba.fill_subparser),
    ("cifar10", cifar10.fill_subparser),
    ("cifar100", cifar100.fill_subparser),
    ("dogs_vs_cats", dogs_vs_cats.fill_subparser),
    ("iris", iris.fill_subparser),
    ("mnist", mnist.fill_subparser),
    ("svhn", svhn.fill_subparser),
    ("ilsvrc2010", ilsvrc2010.fill_subparser),
    ("ilsvrc2012", ilsvrc2012.fill_subparser),
    ("youtube_audio", youtube_audio.fill_subparser),
    ("emnist", emnist.fill_subparser),
    ("fashion_mnist", fashion_mnist.fill_subparser),
    ("kmnist", kmnist.fill_subparser),
    ("images", images.fill_subparser),
    ("csv", tables.fill_subparser),
    ("npz", arrays.fill_npz_subparser),
    ("npy", arrays.fill_npy_subparser),
    ("parquet", parquet.fill_subparser),
    ("text", text.fill_subparser),
    ("huggingface", huggingface.fill_subparser),
    ("webdataset", webdataset.fill_subparser),
    ("repack", repack.fill_subparser),
)
