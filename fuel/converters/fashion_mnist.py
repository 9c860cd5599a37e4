"""Converts Fashion-MNIST to HDF5; the files are got by `fuel.downloaders.fashion_mnist`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

from fuel.converters._idx_images import convert_pairs, open_pair
from fuel.converters.base import check_exists
from fuel.manifests import MANIFESTS

__all__ = ["convert_fashion_mnist", "fill_subparser"]

_FILES = MANIFESTS["fashion_mnist"].filenames

_ADVICE = "get it again with `fuel-download fashion_mnist`; MNIST has files of the same names"


@check_exists(required_files=_FILES)
def convert_fashion_mnist(
    directory: str, output_directory: str, output_filename: str = "fashion_mnist.hdf5"
) -> tuple[str, ...]:
    """Convert Fashion-MNIST, grey pictures of clothes.

    Sources, splits and the names of the raw files are those of MNIST: ``features``, uint8 of shape
    (n, 1, 28, 28) with the axes batch, channel, height and width; ``targets``, uint8 of shape
    (n, 1) with the axes batch and index; ``train`` (60,000 examples) and ``test`` (10,000). Give
    it a directory of its own.

    Parameters
    ----------
    directory : str
        Where the four files are.
    output_directory : str
        Where the HDF5 file goes; it must exist.
    output_filename : str, optional
        The name of the HDF5 file.

    Returns
    -------
    tuple of str
        The path of the HDF5 file.

    Raises
    ------
    MissingInputFiles
        If a file is not there.
    StorageError
        If a file is cut short, damaged, or not what its name says.

    """
    paths = [os.path.join(directory, name) for name in _FILES]
    return convert_pairs(
        {
            "train": open_pair(paths[0], paths[1], _ADVICE),
            "test": open_pair(paths[2], paths[3], _ADVICE),
        },
        os.path.join(output_directory, output_filename),
        title="fashion_mnist",
        inputs=tuple(paths),
        classes=range(10),
    )


def fill_subparser(subparser: argparse.ArgumentParser) -> Callable[..., tuple[str, ...]]:
    """Set up the sub-command of ``fuel-convert``; it has no options of its own.

    Parameters
    ----------
    subparser : argparse.ArgumentParser
        The parser of the sub-command.

    Returns
    -------
    callable
        `convert_fashion_mnist`.

    """
    return convert_fashion_mnist
