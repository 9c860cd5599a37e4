"""Objects out of a list, or out of an array of objects; and how long they are.

In this module, the door to the kernel: `take` and `lengths`. It is a matter of memory: objects that
were not used for long lie outside of the processor's cache, and even to count a reference to one it
has to be fetched; the kernel asks for several ahead. Not here: rows of arrays of numbers
(`fuel.kernels.gather`), and what is done with sequences (`fuel.kernels.ragged`).
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.exceptions import RequestError
from fuel.kernels._select import select

__all__ = ["lengths", "take"]

_kernel = select("objects")
_INT64 = numpy.dtype(numpy.int64)


def lengths(sequences: Any) -> NDArray[numpy.int64] | None:
    """Return how long sequences are.

    Parameters
    ----------
    sequences : list, or numpy.ndarray of shape (n, length, ...)
        Sequences.

    Returns
    -------
    numpy.ndarray, shape (n,), dtype int64, or None
        What ``len`` says of each. None where some are no lists, tuples, texts, bytes or arrays
        with an axis, or are of a class derived from these: what ``len`` says of others, and whether
        it says anything, only calling it can tell.

    Notes
    -----
    Holds the interpreter's lock, and runs no code of the sequences' own.

    Examples
    --------
    >>> from fuel.kernels.objects import lengths
    >>> lengths([[1, 2], "abc", ()]).tolist()
    [2, 3, 0]
    >>> lengths([1, 2]) is None
    True

    """
    if type(sequences) is list:
        found = numpy.empty(len(sequences), numpy.int64)
        return found if _kernel.lengths(sequences, found) else None
    if type(sequences) is numpy.ndarray and sequences.ndim > 1:
        return numpy.full(len(sequences), sequences.shape[1], numpy.int64)
    return None


def take(container: list[Any] | NDArray[Any], rows: NDArray[numpy.int64]) -> list[Any]:
    """Return objects by their places.

    Parameters
    ----------
    container : list, or numpy.ndarray of shape (N,) and dtype object
        Where they are.
    rows : numpy.ndarray, shape (n,), dtype int64
        Their places, in any order and with repetitions.

    Returns
    -------
    list, length n
        The objects themselves, not copies.

    Raises
    ------
    RequestError
        If there is no such place. Negative numbers do not count from the end.
    TypeError
        If `container` or `rows` is anything else.

    Notes
    -----
    Holds the interpreter's lock.

    Examples
    --------
    >>> import numpy
    >>> from fuel.kernels.objects import take
    >>> take(["a", "b", "c"], numpy.array([2, 0]))
    ['c', 'a']

    """
    found: list[Any] | None = _kernel.take(container, rows)
    return _carefully(container, rows) if found is None else found


def _carefully(container: Any, rows: Any) -> list[Any]:
    """Do the same for what lies in memory in other ways, or say what is wrong."""
    if not isinstance(rows, numpy.ndarray) or rows.dtype != _INT64 or rows.ndim != 1:
        raise TypeError(
            f"`rows` must be a vector of int64, got {rows!r:.80}; make one with "
            "numpy.asarray(rows, dtype='int64')"
        )
    if type(container) is not list and (
        not isinstance(container, numpy.ndarray) or container.dtype != object or container.ndim != 1
    ):
        raise TypeError(
            "`container` must be a list or a vector of objects, got "
            f"{type(container).__name__}; make a list of it"
        )
    places = rows.tolist()
    for place in places:
        if not 0 <= place < len(container):
            raise RequestError(
                f"there are {len(container)} objects, got a request for number {place}; numbers "
                f"go from 0 to {len(container) - 1}"
            )
    return [container[place] for place in places]
