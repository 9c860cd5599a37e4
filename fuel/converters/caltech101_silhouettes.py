"""Converts Caltech-101 Silhouettes to HDF5.

The files are got by `fuel.downloaders.caltech101_silhouettes`; MATLAB's format is read by `_mat5`.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

import numpy
from numpy.typing import NDArray

from fuel.converters._mat5 import MatArray, find_arrays
from fuel.converters._raw import damaged
from fuel.converters.base import progress_bar
from fuel.converters.writer import HDF5Writer, SourceSpec
from fuel.exceptions import MissingInputFiles

__all__ = ["convert_silhouettes", "fill_subparser"]

#: What the splits are called in the raw files.
_SPLITS = {"train": "train", "valid": "val", "test": "test"}

#: The published arrays are 6.4 MB at most; they are read as a whole.
_MAX_ARRAY_BYTES = 1 << 28

_CLASSES = range(1, 102)


def convert_silhouettes(
    size: int, directory: str, output_directory: str, output_filename: str | None = None
) -> tuple[str, ...]:
    """Convert Caltech-101 Silhouettes, the outlines of 101 kinds of things.

    The file has two sources: ``features``, uint8 of shape (n, 1, size, size) with the axes batch,
    channel, height and width and the values 0 and 1; and ``targets``, uint8 of shape (n, 1) with
    the axes batch and index, from 1 to 101; and three splits, ``train``, ``valid`` and ``test``
    (4,082, 2,257 and 2,302 examples of 16 pixels; 4,100, 2,264 and 2,307 of 28).

    Pixels are in the order in which they were published, which is MATLAB's: what is called a row
    here is a column of the picture. Swap height and width to look at one.

    Parameters
    ----------
    size : {16, 28}
        How many pixels high and wide the images are.
    directory : str
        Where ``caltech101_silhouettes_SIZE_split1.mat`` is.
    output_directory : str
        Where the HDF5 file goes; it must exist.
    output_filename : str, optional
        The name of the HDF5 file; by default ``caltech101_silhouettesSIZE.hdf5``.

    Returns
    -------
    tuple of str
        The path of the HDF5 file.

    Raises
    ------
    ValueError
        If there is no such size.
    MissingInputFiles
        If the file is not there.
    StorageError
        If it is cut short, damaged, or has other arrays than those expected.

    """
    if size not in (16, 28):
        raise ValueError(f"the silhouettes have a size of 16 or 28, got {size!r}")
    if output_filename is None:
        output_filename = f"caltech101_silhouettes{size}.hdf5"
    output_path = os.path.join(output_directory, output_filename)
    name = f"caltech101_silhouettes_{size}_split1.mat"
    path = os.path.join(directory, name)
    if not os.path.isfile(path):
        raise MissingInputFiles("Required files missing", [name])

    advice = f"get it again with `fuel-download caltech101_silhouettes {size}`"
    arrays = find_arrays(path, advice)
    data = {split: _find(arrays, f"{old}_data", path, advice) for split, old in _SPLITS.items()}
    labels = {split: _find(arrays, f"{old}_labels", path, advice) for split, old in _SPLITS.items()}
    for split, array in data.items():
        count = array.shape[0]
        if array.shape != (count, size**2) or labels[split].shape not in ((count, 1), (1, count)):
            raise damaged(
                path,
                f"{array.name} should have the shape (n, {size**2}) and {labels[split].name} "
                f"(n, 1), but they have {array.shape} and {labels[split].shape}",
                advice,
            )
    sources = {
        "features": SourceSpec((1, size, size), "uint8", ("batch", "channel", "height", "width")),
        "targets": SourceSpec((1,), "uint8", ("batch", "index")),
    }
    sizes = {split: array.shape[0] for split, array in data.items()}
    with (
        HDF5Writer(output_path, sources, sizes=sizes, splits=sizes, inputs=[path]) as writer,
        progress_bar(f"caltech101_silhouettes {size}", len(data)) as bar,
    ):
        for number, split in enumerate(data, 1):
            features = _values(data[split], range(2))
            targets = _values(labels[split], _CLASSES)
            writer.add(
                split,
                features=features.reshape(-1, 1, size, size),
                targets=targets.reshape(-1, 1),
            )
            bar.update(number)
    return (output_path,)


def _find(arrays: dict[str, MatArray], name: str, path: str, advice: str) -> MatArray:
    if name not in arrays:
        raise damaged(path, f"there is no array {name!r} in it, only {sorted(arrays)}", advice)
    array = arrays[name]
    size = array.dtype.itemsize
    for length in array.shape:
        size *= length
    if len(array.shape) != 2 or size > _MAX_ARRAY_BYTES:
        raise damaged(
            path,
            f"{name!r} in it has the shape {array.shape}, and should be a matrix of at most "
            f"{_MAX_ARRAY_BYTES} bytes",
            advice,
        )
    return array


def _values(array: MatArray, allowed: range) -> NDArray[numpy.uint8]:
    """Return a matrix in rows; all of it is read, so that a checksum at the end is seen."""
    blocks = list(array.blocks(max(1, array.shape[1])))
    empty = numpy.empty((0, array.shape[0]), array.dtype)
    matrix = numpy.concatenate([empty, *blocks]).T
    wrong = ~numpy.isin(matrix, allowed)
    if wrong.any():
        raise damaged(
            array.path,
            f"{array.name!r} in it should be from {allowed[0]} to {allowed[-1]}, but has "
            f"{matrix[wrong][0]}",
            array.advice,
        )
    return matrix.astype("uint8", order="C")


def fill_subparser(subparser: argparse.ArgumentParser) -> Callable[..., tuple[str, ...]]:
    """Give the sub-command of ``fuel-convert`` its argument, the size.

    Parameters
    ----------
    subparser : argparse.ArgumentParser
        The parser of the sub-command.

    Returns
    -------
    callable
        `convert_silhouettes`.

    """
    subparser.add_argument(
        "size", type=int, choices=(16, 28), help="how many pixels high and wide the images are"
    )
    return convert_silhouettes
