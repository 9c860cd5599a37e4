"""Converts the UCI handwritten digits to HDF5; their origin is told in `fuel/data/README.md`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

import numpy

from fuel.converters.base import atomic_output, check_exists, fill_hdf5_file, label_axes
from fuel.exceptions import StorageError
from fuel.manifests import MANIFESTS

__all__ = ["convert_digits", "fill_subparser"]

_FILE = MANIFESTS["digits"].files[0].name

_EXPECTED = 1797

#: Of the examples of each digit every so-maniest is for testing.
TEST_EVERY = 5


@check_exists(required_files=[_FILE])
def convert_digits(
    directory: str, output_directory: str, output_filename: str = "digits.hdf5"
) -> tuple[str, ...]:
    """Convert the handwritten digits.

    The file has two sources: ``features``, uint8 of shape (1797, 1, 8, 8) with the axes batch,
    channel, height and width and values from 0 to 16 (how much ink), and ``targets``, uint8 of
    shape (1797, 1) with the axes batch and index.

    There are two splits: ``train`` (1,442 examples) and ``test`` (355). Of the examples of each
    digit, in the order of the raw file, the 5th, 10th, 15th and so on are for testing, so that the
    ten digits are as frequent in one as in the other. Within a split the order is that of the raw
    file. The publishers' own division is by writer, but their training file is not part of this
    data set: both splits hold the same 13 writers, so the accuracy on ``test`` says little about
    the digits of strangers.

    Parameters
    ----------
    directory : str
        Where ``optdigits.tes`` is.
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
        If ``optdigits.tes`` is not there.
    StorageError
        If it is not what it should be.

    """
    import h5py

    features, targets = _read(os.path.join(directory, _FILE))
    test = is_test(targets[:, 0])
    output_path = os.path.join(output_directory, output_filename)
    with atomic_output(output_path) as part, h5py.File(part, mode="w") as h5file:
        fill_hdf5_file(
            h5file,
            (
                ("train", "features", features[~test]),
                ("train", "targets", targets[~test]),
                ("test", "features", features[test]),
                ("test", "targets", targets[test]),
            ),
        )
        label_axes(h5file["features"], "batch", "channel", "height", "width")
        label_axes(h5file["targets"], "batch", "index")
    return (output_path,)


def is_test(labels: numpy.ndarray) -> numpy.ndarray:
    """Tell which examples are for testing: the `TEST_EVERY`-th of each label, and so on."""
    chosen = numpy.zeros(len(labels), dtype=bool)
    for label in numpy.unique(labels):
        chosen[numpy.flatnonzero(labels == label)[TEST_EVERY - 1 :: TEST_EVERY]] = True
    return chosen


def _read(path: str) -> tuple[numpy.ndarray, numpy.ndarray]:
    rows = []
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = [int(value) for value in line.split(",")]
                if len(row) != 65 or min(row) < 0 or max(row[:64]) > 16 or row[64] > 9:
                    raise ValueError
            except ValueError:
                raise StorageError(
                    f"line {number} of {path} should be 64 numbers from 0 to 16 and a digit, "
                    f"separated by commas, but it is {line[:60].rstrip()!r}; get the file again "
                    f"with `fuel-download digits`"
                ) from None
            rows.append(row)
    if len(rows) != _EXPECTED:
        raise StorageError(
            f"{path} has {len(rows)} examples instead of {_EXPECTED}; get it again with "
            f"`fuel-download digits`"
        )
    table = numpy.array(rows, dtype="uint8")
    return table[:, :64].reshape(-1, 1, 8, 8), table[:, 64:]


def fill_subparser(subparser: argparse.ArgumentParser) -> Callable[..., tuple[str, ...]]:
    """Set up the sub-command of ``fuel-convert``; it has no options of its own.

    Parameters
    ----------
    subparser : argparse.ArgumentParser
        The parser of the sub-command.

    Returns
    -------
    callable
        `convert_digits`.

    """
    return convert_digits
