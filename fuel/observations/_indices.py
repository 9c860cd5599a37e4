"""Indices inside of views: checked once, kept small, composed without touching data.

They have one of two forms: a `range`, which takes no memory however long it is, or a vector of
int64 that is never written to again. Not here: requests to containers (`fuel.datasets._requests`).
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy
from numpy.typing import NDArray

from fuel.datasets._requests import Rows, normalise

__all__ = ["Indices", "as_indices", "compose", "frozen", "select"]

#: What a view holds.
Indices: TypeAlias = "range | numpy.ndarray[Any, numpy.dtype[numpy.int64]]"


def as_indices(indices: Any, count: int) -> Indices:
    """Check the indices of a view, of which there may be none.

    Parameters
    ----------
    indices : slice, list, tuple, range, array, or None
        What a user wrote; None for all.
    count : int
        How many observations there are.

    Returns
    -------
    range or numpy.ndarray of int64
        The same, in memory of their own.

    Raises
    ------
    fuel.exceptions.RequestError
        If one is negative or out of range.
    ValueError
        If they are of an unsuitable type, or one index only.

    """
    if indices is None:
        return range(count)
    if isinstance(indices, range):
        if len(indices):
            normalise(
                [min(indices[0], indices[-1]), max(indices[0], indices[-1])], count, "the data"
            )
        return indices if len(indices) else range(0)
    if isinstance(indices, slice):
        if None not in (indices.start, indices.stop) and 0 <= indices.start == indices.stop:
            return range(0)
        if not count and indices == slice(None):
            return range(0)
    elif not hasattr(indices, "__len__") or getattr(indices, "ndim", 1) == 0:
        raise ValueError(
            f"the indices of a view must be several, got {indices!r:.80}; use `getobs` for one "
            "observation, or put the index in a list"
        )
    elif not len(indices) or _is_empty_mask(indices, count):
        return range(0)
    rows: Any = normalise(indices, count, "the data")
    if isinstance(rows, slice):
        return range(rows.start, rows.stop, rows.step)
    return frozen(rows.copy())


def frozen(vector: Any) -> NDArray[numpy.int64]:
    """Return a vector as one of int64 that cannot be written to.

    Parameters
    ----------
    vector : numpy.ndarray of integers
        Nobody else's.

    Returns
    -------
    numpy.ndarray, dtype int64
        The same.

    """
    indices: NDArray[numpy.int64] = numpy.ascontiguousarray(vector, dtype=numpy.int64)
    indices.flags.writeable = False
    return indices


def compose(outer: Indices, inner: Indices) -> Indices:
    """Return the indices of a view on a view.

    Parameters
    ----------
    outer : range or numpy.ndarray
        Indices of the first view.
    inner : range or numpy.ndarray
        Indices into that view.

    Returns
    -------
    range or numpy.ndarray
        What the second view is of the data itself.

    """
    if isinstance(inner, range):
        if inner == range(len(outer)):
            return outer
        if not len(inner):
            return range(0)
        if isinstance(outer, range):
            step = outer.step * inner.step
            first, last = outer[inner[0]], outer[inner[-1]]
            return range(first, last + (1 if step > 0 else -1), step)
        inner = numpy.arange(inner.start, inner.stop, inner.step)
    if isinstance(outer, range):
        return frozen(outer.start + outer.step * inner)
    return frozen(outer[inner])


def select(indices: Indices, rows: Rows) -> Rows:
    """Translate rows of a view into rows of its data.

    Parameters
    ----------
    indices : range or numpy.ndarray
        Those of the view.
    rows : int, slice or ndarray of int64
        What was asked of it, in its final form.

    Returns
    -------
    int, slice or ndarray of int64
        What is to be asked of the data.

    """
    if not isinstance(indices, range):
        return int(indices[rows]) if isinstance(rows, int) else indices[rows]
    if isinstance(rows, int):
        return indices[rows]
    if isinstance(rows, slice):
        part = indices[rows]
        if not len(part):
            return slice(0, 0, 1)
        if part.step > 0:
            return slice(part.start, part[-1] + 1, part.step)
        return numpy.arange(part.start, part.stop, part.step, dtype=numpy.int64)
    return indices.start + indices.step * rows


def _is_empty_mask(indices: Any, count: int) -> bool:
    mask = numpy.asarray(indices) if isinstance(indices, (list, tuple)) else indices
    kind = getattr(getattr(mask, "dtype", None), "kind", "")
    return bool(kind == "b" and mask.shape == (count,) and not mask.any())
