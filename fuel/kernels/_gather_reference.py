"""Gathering rows in plain NumPy.

`fuel.kernels.gather` describes and checks; `_gather.pyx` is the compiled form with the same
functions.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.kernels._status import NUMPY_ONLY

__all__ = ["fill", "find_outside", "gather", "read_rows"]


def gather(source: Any, rows: Any, arithmetic: Any) -> NDArray[Any] | None:
    """Leave every batch to the door, which checks and takes rows in NumPy.

    Parameters
    ----------
    source, rows, arithmetic
        As for `fuel.kernels.gather.gather`.

    Returns
    -------
    None

    """
    return None


def fill(source: NDArray[Any], rows: NDArray[numpy.int64], program: Any, out: NDArray[Any]) -> int:
    """Write rows into an array.

    Parameters
    ----------
    source : numpy.ndarray, shape (N, ...)
        Where the rows are.
    rows : numpy.ndarray, shape (n,), dtype int64
        Which ones, all from 0 to ``N - 1``.
    program : None
        There is no way to run a compiled chain: with one, nothing is done.
    out : numpy.ndarray, shape (n, ...)
        Where they are written.

    Returns
    -------
    int
        0, or with a program what says that NumPy is to do the work.

    """
    if program is not None:
        return NUMPY_ONLY
    numpy.take(source, rows, axis=0, out=out, mode="clip")
    return 0


def find_outside(rows: NDArray[numpy.int64], limit: int) -> int:
    """Return the place of the first row that is not from 0 to ``limit - 1``.

    Parameters
    ----------
    rows : numpy.ndarray, shape (n,), dtype int64
        Row numbers.
    limit : int
        How many rows there are.

    Returns
    -------
    int
        A place in `rows`, -1 where all are in range.

    """
    outside = numpy.flatnonzero((rows < 0) | (rows >= limit))
    return int(outside[0]) if len(outside) else -1


def read_rows(request: list[Any], limit: int) -> NDArray[numpy.int64] | None:
    """Return a list of integers as a vector.

    Parameters
    ----------
    request : list
        Anything.
    limit : int
        How many rows there are.

    Returns
    -------
    numpy.ndarray, shape (n,), dtype int64, or None
        None where an item is something else than an integer of Python from 0 to ``limit - 1``.

    """
    if not all(type(item) is int and 0 <= item < limit for item in request):
        return None
    return numpy.array(request, dtype=numpy.int64)
