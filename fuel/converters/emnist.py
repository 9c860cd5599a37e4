"""Converts EMNIST to HDF5; the archive is got by `fuel.downloaders.emnist`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fuel.converters._archives import find
from fuel.converters._idx import IdxReader
from fuel.converters._idx_images import IMAGE_MAGIC, LABEL_MAGIC, Opener, convert_pairs
from fuel.exceptions import MissingInputFiles

__all__ = ["ARCHIVE", "CLASSES", "convert_emnist", "fill_subparser"]

#: The archive with all of it.
ARCHIVE = "gzip.zip"

#: The divisions of EMNIST, and the labels of each. Those of the letters begin with 1, as published.
CLASSES = {
    "byclass": range(62),
    "bymerge": range(47),
    "balanced": range(47),
    "letters": range(1, 27),
    "digits": range(10),
    "mnist": range(10),
}

_ADVICE = "get it again with `fuel-download emnist`"


def convert_emnist(
    which_format: str, directory: str, output_directory: str, output_filename: str | None = None
) -> tuple[str, ...]:
    """Convert one of the divisions of EMNIST, handwritten letters and digits.

    The file has two sources: ``features``, uint8 of shape (n, 1, 28, 28) with the axes batch,
    channel, height and width, and ``targets``, uint8 of shape (n, 1) with the axes batch and
    index; and the splits ``train`` and ``test``, in the order of the raw files.

    The raw files hold each image column by column, so that read like MNIST it lies on its side,
    mirrored. Here the images are upright, like those of MNIST.

    Parameters
    ----------
    which_format : {'byclass', 'bymerge', 'balanced', 'letters', 'digits', 'mnist'}
        Which division: digits, capital and small letters (62 classes); the same with letters
        merged whose capitals look alike (47); as many examples of each of these; letters without
        regard to case (26, labelled 1 to 26); digits; digits in the numbers of MNIST.
    directory : str
        Where ``gzip.zip`` is.
    output_directory : str
        Where the HDF5 file goes; it must exist.
    output_filename : str, optional
        The name of the HDF5 file; by default ``emnist_FORMAT.hdf5``.

    Returns
    -------
    tuple of str
        The path of the HDF5 file.

    Raises
    ------
    ValueError
        If there is no such division.
    MissingInputFiles
        If ``gzip.zip`` is not there.
    StorageError
        If it is cut short, damaged, or not what its name says.

    """
    if which_format not in CLASSES:
        raise ValueError(f"EMNIST has the formats {', '.join(CLASSES)}, got {which_format!r}")
    if output_filename is None:
        output_filename = f"emnist_{which_format}.hdf5"
    path = os.path.join(directory, ARCHIVE)
    if not os.path.isfile(path):
        raise MissingInputFiles("Required files missing", [ARCHIVE])
    return convert_pairs(
        {split: _opener(path, which_format, split) for split in ("train", "test")},
        os.path.join(output_directory, output_filename),
        title=f"emnist {which_format}",
        inputs=(path,),
        upright=False,
        classes=CLASSES[which_format],
    )


def _opener(archive: str, which_format: str, split: str) -> Opener:
    @contextmanager
    def open_both() -> Iterator[tuple[IdxReader, IdxReader]]:
        stem = f"gzip/emnist-{which_format}-{split}"
        with (
            _reader(archive, f"{stem}-images-idx3-ubyte.gz", IMAGE_MAGIC) as images,
            _reader(archive, f"{stem}-labels-idx1-ubyte.gz", LABEL_MAGIC) as labels,
        ):
            yield images, labels

    return open_both


@contextmanager
def _reader(archive: str, name: str, magic: int) -> Iterator[IdxReader]:
    with (
        find(archive, name, _ADVICE) as member,
        IdxReader(
            member.file,
            magic,
            name=f"{name} in {archive}",
            advice=_ADVICE,
            packed_bytes=member.size,
        ) as reader,
    ):
        yield reader


def fill_subparser(subparser: argparse.ArgumentParser) -> Callable[..., tuple[str, ...]]:
    """Give the sub-command of ``fuel-convert`` its argument, the division.

    Parameters
    ----------
    subparser : argparse.ArgumentParser
        The parser of the sub-command.

    Returns
    -------
    callable
        `convert_emnist`.

    """
    subparser.add_argument("which_format", choices=tuple(CLASSES), help="which division to convert")
    return convert_emnist
