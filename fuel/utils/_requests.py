"""Requests as users write them: what is an index, what are several, and what is a mistake.

Here a request is brought to one of three forms, without looking at what it is for. Whether it
fits a collection is checked in `fuel.utils._subset`.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy

from fuel.exceptions import RequestError

__all__ = ["check_integers", "check_slice_parts", "index_bounds", "normalize_indices"]


def _mask_to_indices(mask: numpy.ndarray[Any, Any], num_examples: int) -> Any:
    if len(mask) != num_examples:
        raise RequestError(
            f"a mask must have one entry for each of the {num_examples} examples, got "
            f"{len(mask)} entries; make it as long as the collection"
        )
    return numpy.flatnonzero(mask)


def normalize_indices(indices: Any, num_examples: int) -> Any:
    """Return indices as a list or a 1-d integer array; a slice, or one integer, as it came.

    Parameters
    ----------
    indices : int, slice, list, tuple, range or array
        What a user wrote. The entries of a list are not looked at.
    num_examples : int
        The length that a boolean array must have.

    Returns
    -------
    int, slice, list or numpy.ndarray
        An array has one dimension and type int64.

    Raises
    ------
    RequestError
        If it is none of these.

    """
    if isinstance(indices, (slice, list, numbers.Integral)):
        return indices
    if isinstance(indices, (range, tuple)):
        return list(indices)
    if isinstance(indices, numpy.ndarray):
        if isinstance(indices, numpy.ma.MaskedArray):
            if numpy.ma.is_masked(indices):
                raise RequestError(
                    f"indices must all be there, got an array with entries masked out: "
                    f"{indices!r:.100}; use `indices.compressed()`"
                )
            indices = indices.data
        if indices.ndim == 0 and indices.dtype.kind in "iu":
            return int(indices)
        if indices.ndim != 1:
            raise RequestError(
                f"indices must be in one row, got an array of shape {indices.shape}; "
                f"use `indices.ravel()`"
            )
        if indices.dtype.kind == "b":
            return _mask_to_indices(indices, num_examples)
        if indices.dtype.kind in "iu" or indices.size == 0:
            return indices.astype(numpy.int64, copy=False)
        raise RequestError(
            f"indices must be integers, got an array of {indices.dtype}; use "
            f"`indices.astype(int)` if they are whole numbers"
        )
    raise RequestError(
        f"a request must be an integer, a slice or a list of integers, got "
        f"{type(indices).__name__}: {indices!r:.100}; put indices in a list"
    )


def check_integers(indices: Sequence[Any]) -> None:
    """Refuse a list with an entry that is not an integer, or is a bool."""
    if set(map(type, indices)) <= {int}:  # nearly always, and much faster than a look at each
        return
    for index in indices:
        if not isinstance(index, numbers.Integral) or isinstance(index, (bool, numpy.bool_)):
            hint = (
                "; make it a boolean array to choose by a mask"
                if isinstance(index, (bool, numpy.bool_))
                else ""
            )
            raise RequestError(
                f"indices must be integers, got {index!r} of type {type(index).__name__}{hint}"
            )


def index_bounds(indices: Any) -> tuple[Any, Any]:
    """Return the smallest and the largest of some indices."""
    if isinstance(indices, numpy.ndarray):
        return int(indices.min()), int(indices.max())
    return min(indices), max(indices)


def check_slice_parts(slice_: slice) -> None:
    """Refuse a slice with a part that is negative or not an integer."""
    for part in (slice_.start, slice_.stop, slice_.step):
        if part is None:
            continue
        if not isinstance(part, numbers.Integral):
            raise RequestError(f"{slice_} was requested, but its parts must be integers")
        if int(part) < 0:
            raise RequestError(
                f"{slice_} was requested; indices count from 0, and from the front only"
            )
