"""Downloaders of MNIST and its relatives, CIFAR, Adult and the silhouettes: which addresses."""

from __future__ import annotations

import argparse
import importlib

import pytest

from fuel.converters import adult, binarized_mnist, cifar10, cifar100, emnist, mnist
from fuel.downloaders import base, caltech101_silhouettes
from fuel.manifests import MANIFESTS

TORONTO = "http://www.cs.toronto.edu/"
UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/"

#: The addresses that programs have known since 2018.
ADDRESSES = {
    "mnist": [f"http://yann.lecun.com/exdb/mnist/{name}" for name in mnist.ALL_FILES],
    "binarized_mnist": [
        f"{TORONTO}~larocheh/public/datasets/binarized_mnist/{name}"
        for name in binarized_mnist.ALL_FILES
    ],
    "cifar10": [f"{TORONTO}~kriz/cifar-10-python.tar.gz"],
    "cifar100": [f"{TORONTO}~kriz/cifar-100-python.tar.gz"],
    "adult": [f"{UCI}adult.data", f"{UCI}adult.test"],
}

NAMES = {
    "mnist": mnist.ALL_FILES,
    "fashion_mnist": mnist.ALL_FILES,
    "kmnist": mnist.ALL_FILES,
    "emnist": [emnist.ARCHIVE],
    "binarized_mnist": binarized_mnist.ALL_FILES,
    "cifar10": [cifar10.DISTRIBUTION_FILE],
    "cifar100": [cifar100.DISTRIBUTION_FILE],
    "adult": list(adult._FILES.values()),
}


@pytest.mark.parametrize("name", list(NAMES))
def test_the_default_downloader_gets_what_the_converter_needs(name: str) -> None:
    module = importlib.import_module(f"fuel.downloaders.{name}")
    parser = argparse.ArgumentParser()
    assert module.fill_subparser(parser) is base.default_downloader
    options = vars(parser.parse_args([]))
    assert options == {"urls": MANIFESTS[name].urls, "filenames": NAMES[name]}
    assert all(url.startswith("http") for url in options["urls"])


@pytest.mark.parametrize("name", list(ADDRESSES))
def test_old_addresses_are_kept(name: str) -> None:
    assert MANIFESTS[name].urls == ADDRESSES[name]


def test_what_has_moved_has_mirrors() -> None:
    for file in MANIFESTS["mnist"].files:
        assert file.mirrors == (
            f"https://ossci-datasets.s3.amazonaws.com/mnist/{file.name}",
            f"https://storage.googleapis.com/cvdf-datasets/mnist/{file.name}",
        )
    for manifest in MANIFESTS.values():
        for file in manifest.files:
            assert file.sha256 is None or len(bytes.fromhex(file.sha256)) == 32


@pytest.mark.parametrize("size", [16, 28])
def test_silhouettes_ask_the_default_downloader_of_their_module(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    monkeypatch.setattr(
        caltech101_silhouettes, "default_downloader", lambda **keywords: calls.append(keywords)
    )
    caltech101_silhouettes.silhouettes_downloader(size, directory="there", clear=True)
    name = f"caltech101_silhouettes_{size}_split1.mat"
    assert calls == [
        {
            "urls": [f"https://people.cs.umass.edu/~marlin/data/{name}"],
            "filenames": [name],
            "directory": "there",
            "clear": True,
        }
    ]


def test_silhouettes_have_two_sizes() -> None:
    with pytest.raises(ValueError, match="16 or 28, got 20"):
        caltech101_silhouettes.silhouettes_downloader(20, directory=".")
    parser = argparse.ArgumentParser()
    function = caltech101_silhouettes.fill_subparser(parser)
    assert function is caltech101_silhouettes.silhouettes_downloader
    assert vars(parser.parse_args(["16"])) == {"size": 16}
