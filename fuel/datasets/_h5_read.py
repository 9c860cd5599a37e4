"""Rows of HDF5 datasets as examples: which belong to a subset, and their shapes.

The rows are read in `fuel.io.hdf5`. Which are legal to ask for is decided before, in
``_requests``; files are opened in ``_h5_handles``.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy

from fuel.exceptions import StorageError
from fuel.io.hdf5._selection import read_rows
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
