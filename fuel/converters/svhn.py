"""Converts SVHN to HDF5; the files are got by `fuel.downloaders.svhn`.

Here are the two converters and the choice between them. How the pictures and boxes of format 1 are
read is in ``_svhn_numbers`` and ``_digit_struct``, the arrays of format 2 in ``_svhn_digits``.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

from fuel.converters._svhn_digits import write_digits
from fuel.converters._svhn_numbers import write_numbers
from fuel.converters.base import check_exists

__all__ = [
    "FORMAT_1_EXTRA_FILE",
    "FORMAT_1_FILES",
    "FORMAT_1_TEST_FILE",
    "FORMAT_1_TRAIN_FILE",
    "FORMAT_2_EXTRA_FILE",
    "FORMAT_2_FILES",
    "FORMAT_2_TEST_FILE",
    "FORMAT_2_TRAIN_FILE",
    "convert_svhn",
    "convert_svhn_format_1",
    "convert_svhn_format_2",
    "fill_subparser",
]

#: The raw files, by format and split.
FORMAT_1_TRAIN_FILE = "train.tar.gz"
FORMAT_1_TEST_FILE = "test.tar.gz"
FORMAT_1_EXTRA_FILE = "extra.tar.gz"
FORMAT_1_FILES = [FORMAT_1_TRAIN_FILE, FORMAT_1_TEST_FILE, FORMAT_1_EXTRA_FILE]
FORMAT_2_TRAIN_FILE = "train_32x32.mat"
FORMAT_2_TEST_FILE = "test_32x32.mat"
FORMAT_2_EXTRA_FILE = "extra_32x32.mat"
FORMAT_2_FILES = [FORMAT_2_TRAIN_FILE, FORMAT_2_TEST_FILE, FORMAT_2_EXTRA_FILE]

_SPLITS = ("train", "test", "extra")


@check_exists(required_files=FORMAT_1_FILES)
def convert_svhn_format_1(
    directory: str, output_directory: str, output_filename: str = "svhn_format_1.hdf5"
) -> tuple[str, ...]:
    """Convert format 1: whole house numbers, with a box around each digit.

    The file has six sources, and examples of different shapes in each: ``features``, uint8 of shape
    (3, height, width) with the axes channel, height and width; ``bbox_labels`` (uint8),
    ``bbox_heights``, ``bbox_widths``, ``bbox_lefts`` and ``bbox_tops`` (uint16, in pixels) of shape
    (boxes, 1) with the axes bounding_box and index, height, width, x and y. There are three splits:
    ``train`` (33,402 examples), ``test`` (13,068) and ``extra`` (202,353), in the order of
    ``digitStruct.mat``.

    Labels are as published: 1 to 9, and 10 for the digit 0. A few boxes begin one or two pixels
    outside of their picture; their ``lefts`` or ``tops``, which cannot be negative, are 0.

    Parameters
    ----------
    directory : str
        Where ``train.tar.gz``, ``test.tar.gz`` and ``extra.tar.gz`` are.
    output_directory : str
        Where the HDF5 file goes; it must exist, and have room for the pictures of one archive as
        well for a while (2 GB).
    output_filename : str, optional
        The name of the HDF5 file.

    Returns
    -------
    tuple of str
        The path of the HDF5 file.

    Raises
    ------
    MissingInputFiles
        If an archive is not there.
    StorageError
        If an archive or something in it is damaged, or its pictures and ``digitStruct.mat`` do not
        agree.

    """
    paths = {split: os.path.join(directory, name) for split, name in zip(_SPLITS, FORMAT_1_FILES)}
    output_path = os.path.join(output_directory, output_filename)
    write_numbers(paths, output_path)
    return (output_path,)


@check_exists(required_files=FORMAT_2_FILES)
def convert_svhn_format_2(
    directory: str, output_directory: str, output_filename: str = "svhn_format_2.hdf5"
) -> tuple[str, ...]:
    """Convert format 2: single digits of 32 x 32 pixels.

    The file has two sources: ``features``, uint8 of shape (n, 3, 32, 32) with the axes batch,
    channel, height and width, and ``targets``, uint8 of shape (n, 1) with the axes batch and index,
    from 0 to 9 (the raw files have 10 for the digit 0). There are three splits, in the order of the
    raw files: ``train`` (73,257 examples), ``test`` (26,032) and ``extra`` (531,131).

    Parameters
    ----------
    directory : str
        Where ``train_32x32.mat``, ``test_32x32.mat`` and ``extra_32x32.mat`` are.
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
        If one is damaged, or its arrays are not those of SVHN.

    """
    paths = {split: os.path.join(directory, name) for split, name in zip(_SPLITS, FORMAT_2_FILES)}
    output_path = os.path.join(output_directory, output_filename)
    write_digits(paths, output_path)
    return (output_path,)


def convert_svhn(
    which_format: int,
    directory: str,
    output_directory: str,
    output_filename: str | None = None,
) -> tuple[str, ...]:
    """Convert SVHN.

    Parameters
    ----------
    which_format : {1, 2}
        Whole house numbers or single digits; see `convert_svhn_format_1` and
        `convert_svhn_format_2`.
    directory : str
        Where the raw files are.
    output_directory : str
        Where the HDF5 file goes; it must exist.
    output_filename : str, optional
        The name of the HDF5 file, by default ``svhn_format_N.hdf5``.

    Returns
    -------
    tuple of str
        The path of the HDF5 file.

    Raises
    ------
    ValueError
        If there is no such format.
    OSError, MissingInputFiles
        If a raw file is missing or damaged.

    """
    if which_format not in (1, 2):
        raise ValueError(f"SVHN format needs to be either 1 or 2, got {which_format!r}")
    if not output_filename:
        output_filename = f"svhn_format_{which_format}.hdf5"
    if which_format == 1:
        return convert_svhn_format_1(directory, output_directory, output_filename)
    return convert_svhn_format_2(directory, output_directory, output_filename)


def fill_subparser(subparser: argparse.ArgumentParser) -> Callable[..., tuple[str, ...]]:
    """Give the sub-command of ``fuel-convert`` its argument, the format.

    Parameters
    ----------
    subparser : argparse.ArgumentParser
        The parser of the sub-command.

    Returns
    -------
    callable
        `convert_svhn`.

    """
    subparser.add_argument(
        "which_format",
        type=int,
        choices=(1, 2),
        help="1: whole house numbers with a box around each digit; 2: single digits",
    )
    return convert_svhn
