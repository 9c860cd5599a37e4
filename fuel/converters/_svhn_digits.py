"""Writes SVHN's format 2: single digits in MATLAB files.

What the output is like is told in `fuel.converters.svhn`; MATLAB's format in `_mat5`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy
from numpy.typing import NDArray

from fuel.converters._mat5 import MatArray, find_arrays
from fuel.converters._raw import damaged
from fuel.converters.base import progress_bar
from fuel.converters.writer import HDF5Writer, SourceSpec

__all__ = ["write_digits"]

_ADVICE = "get it again with `fuel-download svhn 2`"
_SHAPE = (32, 32, 3)
#: 3 MiB at a time.
_ROWS = 1024


def write_digits(paths: Mapping[str, str], output_path: str) -> None:
    """Convert the files.

    Parameters
    ----------
    paths : dict of str to str
        The file of each split.
    output_path : str
        The HDF5 file.

    Raises
    ------
    StorageError
        If a file is damaged, or its arrays are not those of SVHN.

    """
    pictures = {split: _pictures(path) for split, path in paths.items()}
    sizes = {split: array.shape[-1] for split, array in pictures.items()}
    targets = {split: _targets(path, sizes[split]) for split, path in paths.items()}
    sources = {
        "features": SourceSpec((3, 32, 32), "uint8", ("batch", "channel", "height", "width")),
        "targets": SourceSpec((1,), "uint8", ("batch", "index")),
    }
    with HDF5Writer(
        output_path, sources, sizes=sizes, splits=tuple(paths), inputs=tuple(paths.values())
    ) as writer:
        for split, array in pictures.items():
            done = 0
            with progress_bar(f"SVHN, {split} split", sizes[split]) as bar:
                for block in array.blocks(_ROWS):
                    writer.add(
                        split,
                        features=block.transpose(0, 1, 3, 2),  # MATLAB: columns before rows
                        targets=targets[split][done : done + len(block)],
                    )
                    bar.update(done := done + len(block))


def _pictures(path: str) -> MatArray:
    array = _array(path, "X")
    shape = array.shape if len(array.shape) > 3 else (*array.shape, 1)  # MATLAB drops a last 1
    if shape[:3] != _SHAPE or len(shape) != 4 or array.dtype != numpy.uint8:
        raise damaged(
            path,
            f"'X' in it should be uint8 of shape (32, 32, 3, n), and is {array.dtype} of shape "
            f"{array.shape}",
            _ADVICE,
        )
    return dataclasses.replace(array, shape=shape)


def _targets(path: str, count: int) -> NDArray[numpy.uint8]:
    array = _array(path, "y")
    if array.shape not in ((count, 1), (1, count)):
        raise damaged(
            path, f"'X' in it has {count} pictures, but 'y' has the shape {array.shape}", _ADVICE
        )
    values = numpy.concatenate([block.reshape(-1) for block in array.blocks(1 << 20)])
    wrong = ~numpy.isin(values, range(11))
    if wrong.any():
        raise damaged(
            path,
            f"label {int(wrong.argmax()) + 1} of {count} in it should be from 1 to 9, or 10 for "
            f"the digit 0, and is {values[wrong][0]}",
            _ADVICE,
        )
    return (values % 10).astype("uint8").reshape(-1, 1)


def _array(path: str, name: str) -> MatArray:
    arrays = find_arrays(path, _ADVICE)
    if name not in arrays:
        raise damaged(path, f"there is no array {name!r} in it, only {sorted(arrays)}", _ADVICE)
    return arrays[name]
