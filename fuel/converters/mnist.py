"""Converts MNIST to HDF5; the files are got by `fuel.downloaders.mnist`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import IO, Any

from numpy.typing import DTypeLike, NDArray

from fuel.converters._idx import IdxReader
from fuel.converters._idx_images import as_pixels, convert_pairs, open_pair, pixel_dtype
from fuel.converters.base import check_exists

__all__ = [
    "ALL_FILES",
    "MNIST_IMAGE_MAGIC",
    "MNIST_LABEL_MAGIC",
    "TEST_IMAGES",
    "TEST_LABELS",
    "TRAIN_IMAGES",
    "TRAIN_LABELS",
    "convert_mnist",
    "fill_subparser",
    "read_mnist_images",
    "read_mnist_labels",
]

#: What a file of images begins with: bytes, three axes.
MNIST_IMAGE_MAGIC = 2051
#: What a file of labels begins with: bytes, one axis.
MNIST_LABEL_MAGIC = 2049

#: Images for training.
TRAIN_IMAGES = "train-images-idx3-ubyte.gz"
#: Labels for training.
TRAIN_LABELS = "train-labels-idx1-ubyte.gz"
#: Images for testing.
TEST_IMAGES = "t10k-images-idx3-ubyte.gz"
#: Labels for testing.
TEST_LABELS = "t10k-labels-idx1-ubyte.gz"
#: All of them.
ALL_FILES = [TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS]

_ADVICE = "get it again with `fuel-download mnist`"


@check_exists(required_files=ALL_FILES)
def convert_mnist(
    directory: str,
    output_directory: str,
    output_filename: str | None = None,
    dtype: DTypeLike | None = None,
) -> tuple[str, ...]:
    """Convert MNIST, the handwritten digits.

    The file has two sources: ``features`` of shape (n, 1, 28, 28) with the axes batch, channel,
    height and width, and ``targets``, uint8 of shape (n, 1) with the axes batch and index; and two
    splits, ``train`` (60,000 examples) and ``test`` (10,000), each in the order of its raw file.
    Files of other lengths are converted as well, as their headers say how many there are.

    Parameters
    ----------
    directory : str
        Where the four files are.
    output_directory : str
        Where the HDF5 file goes; it must exist.
    output_filename : str, optional
        The name of the HDF5 file; by default ``mnist.hdf5``, or ``mnist_DTYPE.hdf5``.
    dtype : dtype-like, optional
        A floating type: pixels from 0.0 to 1.0; ``bool``: whether a pixel is at least 128. By
        default pixels stay uint8, from 0 to 255.

    Returns
    -------
    tuple of str
        The path of the HDF5 file.

    Raises
    ------
    MissingInputFiles
        If a file is not there.
    ValueError
        If `dtype` is another one.
    StorageError
        If a file is cut short, damaged, or not what its name says (also a ValueError, for a wrong
        magic number or a wrong number of examples).

    """
    if output_filename is None:
        suffix = "" if dtype is None else f"_{pixel_dtype(dtype).name}"
        output_filename = f"mnist{suffix}.hdf5"
    train_images, train_labels, test_images, test_labels = (
        os.path.join(directory, name)
        for name in (TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS)
    )
    magics = (MNIST_IMAGE_MAGIC, MNIST_LABEL_MAGIC)
    return convert_pairs(
        {
            "train": open_pair(train_images, train_labels, _ADVICE, magics),
            "test": open_pair(test_images, test_labels, _ADVICE, magics),
        },
        os.path.join(output_directory, output_filename),
        title="mnist",
        inputs=(train_images, train_labels, test_images, test_labels),
        dtype=dtype,
        classes=range(10),
    )


def fill_subparser(subparser: argparse.ArgumentParser) -> Callable[..., tuple[str, ...]]:
    """Give the sub-command of ``fuel-convert`` its option, the type of the pixels.

    Parameters
    ----------
    subparser : argparse.ArgumentParser
        The parser of the sub-command.

    Returns
    -------
    callable
        `convert_mnist`.

    """
    subparser.add_argument(
        "--dtype",
        choices=("float32", "float64", "bool"),
        help="convert pixels to this type (default: leave them uint8); the output is then called "
        "mnist_DTYPE.hdf5",
    )
    return convert_mnist


def read_mnist_images(
    filename: str | os.PathLike[str] | IO[bytes], dtype: DTypeLike | None = None
) -> NDArray[Any]:
    """Read a file of images into memory.

    Parameters
    ----------
    filename : str, path or binary file object
        The file, compressed with gzip or not.
    dtype : dtype-like, optional
        As for `convert_mnist`.

    Returns
    -------
    ndarray
        Of shape (images, 1, rows, columns); uint8, or `dtype`.

    Raises
    ------
    ValueError
        If it is not a file of images, is shorter or longer than its header says, or `dtype` is not
        possible.
    StorageError
        If it is damaged.

    """
    pixels = pixel_dtype(dtype)
    with IdxReader(filename, MNIST_IMAGE_MAGIC, advice=_ADVICE) as reader:
        return as_pixels(reader.read(), pixels)[:, None]


def read_mnist_labels(filename: str | os.PathLike[str] | IO[bytes]) -> NDArray[Any]:
    """Read a file of labels into memory.

    Parameters
    ----------
    filename : str, path or binary file object
        The file, compressed with gzip or not.

    Returns
    -------
    ndarray
        uint8, of shape (labels, 1).

    Raises
    ------
    ValueError
        If it is not a file of labels, or is shorter or longer than its header says.
    StorageError
        If it is damaged.

    """
    with IdxReader(filename, MNIST_LABEL_MAGIC, advice=_ADVICE) as reader:
        return reader.read()[:, None]
