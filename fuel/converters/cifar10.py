"""Converts CIFAR-10 to HDF5; the archive is got by `fuel.downloaders.cifar10`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

from fuel.converters._cifar import convert_batches
from fuel.converters.base import check_exists

__all__ = ["DISTRIBUTION_FILE", "convert_cifar10", "fill_subparser"]

#: The archive with the batches.
DISTRIBUTION_FILE = "cifar-10-python.tar.gz"


@check_exists(required_files=[DISTRIBUTION_FILE])
def convert_cifar10(
    directory: str, output_directory: str, output_filename: str = "cifar10.hdf5"
) -> tuple[str, ...]:
    """Convert CIFAR-10, small colour photographs of ten kinds of things.

    The file has two sources: ``features``, uint8 of shape (n, 3, 32, 32) with the axes batch,
    channel (red, green, blue), height and width, and ``targets``, uint8 of shape (n, 1) with the
    axes batch and index (0 airplane, 1 automobile, 2 bird, 3 cat, 4 deer, 5 dog, 6 frog, 7 horse,
    8 ship, 9 truck); and two splits, ``train`` (50,000 examples: batches 1 to 5) and ``test``
    (10,000).

    Parameters
    ----------
    directory : str
        Where ``cifar-10-python.tar.gz`` is.
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
        If it is cut short, damaged, lacks a batch, or holds a pickle that would run something.

    """
    return convert_batches(
        os.path.join(directory, DISTRIBUTION_FILE),
        os.path.join(output_directory, output_filename),
        "cifar-10-batches-py",
        {"train": [f"data_batch_{number}" for number in range(1, 6)], "test": ["test_batch"]},
        {"targets": ("labels", 10)},
        "get it again with `fuel-download cifar10`",
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
        `convert_cifar10`.

    """
    return convert_cifar10
