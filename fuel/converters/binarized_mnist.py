"""Converts binarized MNIST to HDF5; the files are got by `fuel.downloaders.binarized_mnist`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator

import numpy
from numpy.typing import NDArray

from fuel.converters._lines import numbered_lines, remark_on_count
from fuel.converters._raw import damaged
from fuel.converters.base import check_exists, progress_bar
from fuel.converters.writer import HDF5Writer, SourceSpec

__all__ = [
    "ALL_FILES",
    "TEST_FILE",
    "TRAIN_FILE",
    "VALID_FILE",
    "convert_binarized_mnist",
    "fill_subparser",
]

#: Images for training.
TRAIN_FILE = "binarized_mnist_train.amat"
#: Images for validation.
VALID_FILE = "binarized_mnist_valid.amat"
#: Images for testing.
TEST_FILE = "binarized_mnist_test.amat"
#: All of them.
ALL_FILES = [TRAIN_FILE, VALID_FILE, TEST_FILE]

_SOURCES = {"features": SourceSpec((1, 28, 28), "uint8", ("batch", "channel", "height", "width"))}
_PIXELS = 28 * 28
_PUBLISHED = {"train": 50000, "valid": 10000, "test": 10000}
_ADVICE = "get it again with `fuel-download binarized_mnist`"
_BATCH = 2048


@check_exists(required_files=ALL_FILES)
def convert_binarized_mnist(
    directory: str, output_directory: str, output_filename: str = "binarized_mnist.hdf5"
) -> tuple[str, ...]:
    """Convert MNIST as it was binarized once for all, pixel by pixel with the grey as probability.

    The file has one source, ``features``, uint8 of shape (n, 1, 28, 28) with the axes batch,
    channel, height and width and the values 0 and 1; and three splits, ``train`` (50,000
    examples), ``valid`` (10,000) and ``test`` (10,000). Files with other numbers of images are
    converted as well; a warning is logged.

    Parameters
    ----------
    directory : str
        Where the three files are.
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
        If a line of it is not 784 times 0 or 1, or there is none.

    """
    output_path = os.path.join(output_directory, output_filename)
    splits = {"train": TRAIN_FILE, "valid": VALID_FILE, "test": TEST_FILE}
    paths = {split: os.path.join(directory, name) for split, name in splits.items()}
    done = 0
    with (
        HDF5Writer(output_path, _SOURCES, splits=splits, inputs=paths.values()) as writer,
        progress_bar("binarized_mnist", sum(_PUBLISHED.values())) as bar,
    ):
        for split, path in paths.items():
            for images in _images(path):
                writer.add(split, features=images)
                done += len(images)
                bar.update(done)
            found = writer.num_examples[split]
            if not found:
                raise damaged(path, "it holds no images", _ADVICE)
            remark_on_count(path, found, _PUBLISHED[split])
    return (output_path,)


def _images(path: str) -> Iterator[NDArray[numpy.uint8]]:
    rows: list[NDArray[numpy.uint8]] = []
    for number, line in numbered_lines(path):
        rows.append(_pixels(path, number, line))
        if len(rows) == _BATCH:
            yield numpy.stack(rows).reshape(-1, 1, 28, 28)
            rows = []
    if rows:
        yield numpy.stack(rows).reshape(-1, 1, 28, 28)


def _pixels(path: str, number: int, line: bytes) -> NDArray[numpy.uint8]:
    characters = numpy.frombuffer(line, "uint8")
    pixels = characters[::2] - ord("0")  # below "0" it wraps round, and is far above 1
    if len(line) == 2 * _PIXELS - 1 and (characters[1::2] == 32).all() and pixels.max() <= 1:
        return pixels
    # Other ways of writing the same numbers.
    words = line.split()
    try:
        values = numpy.array([float(word) for word in words])
        if len(words) != _PIXELS or not numpy.isin(values, (0, 1)).all():
            raise ValueError
    except ValueError:
        raise damaged(
            path,
            f"line {number} should be {_PIXELS} times 0 or 1, but it has {len(words)} words and "
            f"begins with {line[:30]!r}",
            _ADVICE,
        ) from None
    return values.astype("uint8")


def fill_subparser(subparser: argparse.ArgumentParser) -> Callable[..., tuple[str, ...]]:
    """Set up the sub-command of ``fuel-convert``; it has no options of its own.

    Parameters
    ----------
    subparser : argparse.ArgumentParser
        The parser of the sub-command.

    Returns
    -------
    callable
        `convert_binarized_mnist`.

    """
    return convert_binarized_mnist
