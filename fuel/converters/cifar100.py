"""Converts CIFAR-100 to HDF5; the archive is got by `fuel.downloaders.cifar100`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

from fuel.converters._cifar import convert_batches
from fuel.converters.base import check_exists

__all__ = ["DISTRIBUTION_FILE", "convert_cifar100", "fill_subparser"]

#: The archive with both splits.
DISTRIBUTION_FILE = "cifar-100-python.tar.gz"


@check_exists(required_files=[DISTRIBUTION_FILE])
def convert_cifar100(
    directory: str, output_directory: str, output_filename: str = "cifar100.hdf5"
) -> tuple[str, ...]:
    """Convert CIFAR-100, small colour photographs of a hundred kinds of things.

    The file has three sources: ``features``, uint8 of shape (n, 3, 32, 32) with the axes batch,
    channel (red, green, blue), height and width; ``fine_labels`` (100 classes) and
    ``coarse_labels`` (the 20 groups of five that these make), uint8 of shape (n, 1) with the axes
    batch and index; and two splits, ``train`` (50,000 examples) and ``test`` (10,000).

    Parameters
    ----------
    directory : str
        Where ``cifar-100-python.tar.gz`` is.
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
        If the archive is not there.
    StorageError
        If it is cut short, damaged, lacks a split, or holds a pickle that would run something.

    """
    return convert_batches(
        os.path.join(directory, DISTRIBUTION_FILE),
        os.path.join(output_directory, output_filename),
        "cifar-100-python",
        {"train": ["train"], "test": ["test"]},
        {"coarse_labels": ("coarse_labels", 20), "fine_labels": ("fine_labels", 100)},
        "get it again with `fuel-download cifar100`",
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
        `convert_cifar100`.

    """
    return convert_cifar100
