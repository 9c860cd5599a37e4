"""Reading rows of HDF5 datasets, in any order and as often as wanted.

HDF5 itself reads a list of rows only in increasing order and without repetitions. Which rows are
legal to ask for is decided before, in ``_requests``; files are opened in ``_h5_handles``.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy

from fuel.datasets._requests import Rows, take
from fuel.exceptions import StorageError
from fuel.utils._subset import Subset

__all__ = ["part_of", "read_rows", "reshaped"]

#: Row numbers of subsets that are not consecutive, as arrays: a subset keeps a list, and turning
#: a long one into an array for each request would take longer than reading.
_PARTS: WeakKeyDictionary[Subset, Any] = WeakKeyDictionary()


def part_of(subset: Subset) -> Any:
    """Return the rows of a subset in the form that `_requests.merge` takes.

    Parameters
    ----------
    subset : Subset
        Some rows of a source.

    Returns
    -------
    slice or ndarray of int64
        Consecutive rows as a slice with numeric parts.

    """
    if not subset.is_list:
        start, stop, _ = subset.slice_to_numerical_args(
            subset.list_or_slice, subset.original_num_examples
        )
        return slice(start, stop)
    part = _PARTS.get(subset)
    if part is None:
        part = _PARTS[subset] = numpy.asarray(subset.list_or_slice, dtype=numpy.int64)
    return part


def read_rows(dataset: Any, rows: Rows, sort: bool = True) -> Any:
    """Read rows of an HDF5 dataset.

    Parameters
    ----------
    dataset : h5py.Dataset
        What to read from.
    rows : int, slice or ndarray of int64
        Existing rows.
    sort : bool, optional
        Whether to read an array of rows in increasing order, each once, and put them in the
        order asked for afterwards. Otherwise the array goes to h5py as it is.

    Returns
    -------
    ndarray, or one item for an int
        The rows, in memory of their own.

    Raises
    ------
    TypeError
        If the rows are not increasing and `sort` is False.
    StorageError
        If the file cannot deliver them.

    """
    try:
        if isinstance(rows, slice):
            return _whole(dataset[rows], range(rows.start, rows.stop, rows.step or 1))
        if not isinstance(rows, numpy.ndarray):
            return dataset[rows]
        if not len(rows):
            return dataset[0:0]
        if not sort:
            return dataset[rows]
        if len(rows) == 1 or bool((rows[1:] > rows[:-1]).all()):
            return _read_increasing(dataset, rows)
        unique, places = numpy.unique(rows, return_inverse=True)
        # `take` also gives repeated examples of variable length memory of their own.
        return take(_read_increasing(dataset, unique), places.reshape(-1))
    except OSError as error:
        raise StorageError(
            f"{dataset.file.filename!r} does not deliver rows of {dataset.name!r}: {error}; the "
            "file is damaged or its compression filter is not installed: make it again, or "
            "install the filter (hdf5plugin)"
        ) from error


def _read_increasing(dataset: Any, rows: Any) -> Any:
    first, last = int(rows[0]), int(rows[-1])
    if last - first + 1 == len(rows):
        # Rows without gaps: one read, where a list would be one per row.
        return _whole(dataset[first : last + 1], rows)
    return dataset[rows]


def _whole(data: Any, rows: Any) -> Any:
    """Return what was read for a slice, of which h5py silently drops what is not there."""
    if len(data) < len(rows):
        raise IndexError(f"{len(data)} of {len(rows)} rows from {rows[0]} on are there")
    return data


def reshaped(flat: Any, shapes: Any, name: str) -> Any:
    """Give examples of a variable-length source their shapes back.

    Parameters
    ----------
    flat : ndarray of object, or ndarray
        Flattened examples; or one of them.
    shapes : ndarray
        Their shapes, one per row; or the shape of the one.
    name : str
        The source, for error messages.

    Returns
    -------
    ndarray of object, or ndarray
        One-dimensional, of the reshaped examples; or the one.

    Raises
    ------
    StorageError
        If a shape does not fit its example.

    """
    try:
        if shapes.ndim == 1:
            return flat.reshape(tuple(shapes.tolist()))
        examples = numpy.empty(len(flat), dtype=object)
        for place, (example, shape) in enumerate(zip(flat, shapes.tolist(), strict=True)):
            examples[place] = example.reshape(tuple(shape))
        return examples
    except ValueError as error:
        raise StorageError(
            f"the shapes of source {name!r} do not fit its data: {error}; the file is damaged or "
            "was written wrongly: make it again"
        ) from error
