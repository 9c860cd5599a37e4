"""Getting the raw files of data sets.

`all_downloaders` is what ``fuel-download`` knows: pairs of a name and a function that fills the
parser of a sub-command and returns the function to call. Other packages offer the same tuple.

- `base`: the functions that downloaders are made of
- `packaged`: copies that ship with the package
- `iris`, `mnist` and so on: one module a data set
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from fuel.downloaders import (
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
    one_billion_word,
    svhn,
    youtube_audio,
)

__all__ = ["all_downloaders"]

#: Name and function of every downloader.
all_downloaders: tuple[
    tuple[str, Callable[[argparse.ArgumentParser], Callable[..., None]]], ...
] = (
    ("digits", digits.fill_subparser),
    ("adult", adult.fill_subparser),
    ("binarized_mnist", binarized_mnist.fill_subparser),
    ("caltech101_silhouettes", caltech101_silhouettes.fill_subparser),
    ("celeba", celeba.fill_subparser),
    ("cifar10", cifar10.fill_subparser),
    ("cifar100", cifar100.fill_subparser),
    ("iris", iris.fill_subparser),
    ("mnist", mnist.fill_subparser),
    ("svhn", svhn.fill_subparser),
    ("ilsvrc2010", ilsvrc2010.fill_subparser),
    ("ilsvrc2012", ilsvrc2012.fill_subparser),
    ("dogs_vs_cats", dogs_vs_cats.fill_subparser),
    ("youtube_audio", youtube_audio.fill_subparser),
    ("emnist", emnist.fill_subparser),
    ("fashion_mnist", fashion_mnist.fill_subparser),
    ("kmnist", kmnist.fill_subparser),
    ("one_billion_word", one_billion_word.fill_subparser),
)
