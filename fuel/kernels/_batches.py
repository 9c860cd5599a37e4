"""What the doors of gathering and cropping have in common: checks, and the division of work.

In this module: the checks of sources, rows, outputs and arithmetic, each with its error, and
`in_parts`, which divides rows among threads. Not here: the doors (`fuel.kernels.gather`,
`fuel.kernels.crop`).
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.exceptions import RequestError
from fuel.kernels import threads
from fuel.kernels._integers import in_order, vector_of
from fuel.kernels._select import select
from fuel.kernels._status import must_repeat
from fuel.kernels.arithmetic import Arithmetic

__all__ = [
    "checked_arithmetic",
    "checked_output",
    "checked_source",
    "in_parts",
    "row_vector",
]

_kernel = select("gather")

# Measured on two cores: with less than twice so many bytes of output two threads are no faster
# than one, which has its memory to itself.
_WORTH_A_THREAD = 12 << 20


def row_vector(rows: Any, count: int) -> NDArray[numpy.int64]:
    """Return row numbers as a vector of int64, all from 0 to ``count - 1``, or say what is wrong.

    Parameters
    ----------
    rows : array_like of int, shape (n,)
        Row numbers.
    count : int
        How many rows there are.

    Returns
    -------
    numpy.ndarray, shape (n,), dtype int64

    """
    given = vector_of(rows)
    if given.dtype == object and given.ndim == 1 and all(type(row) is int for row in given):
        for row in given:  # where NumPy needs objects for integers, one is beyond 64 bits
            if not 0 <= row < count:
                raise _no_such_row(row, count)
        given = given.astype(numpy.int64)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise TypeError(
            f"`rows` must be a vector of integers, got shape {given.shape}, dtype {given.dtype}; "
            "for a mask, numpy.flatnonzero(mask) gives the rows"
        )
    if given.dtype.kind == "u" and given.size and int(given.max()) >= count:
        raise _no_such_row(int(given[int(numpy.argmax(given))]), count)
    vector = in_order(given, numpy.int64)
    place = _kernel.find_outside(vector, count)
    if place >= 0:
        raise _no_such_row(int(vector[place]), count)
    return vector


def _no_such_row(row: int, count: int) -> RequestError:
    has = f"the rows 0 to {count - 1}" if count else "no rows"
    return RequestError(f"the source has {has}, got {row}; ask for rows that are there")


def checked_source(source: Any) -> NDArray[Any]:
    """Return an array, or say that it is none.

    Parameters
    ----------
    source : object
        What was given.

    Returns
    -------
    numpy.ndarray

    """
    if type(source) not in (numpy.ndarray, numpy.memmap):
        raise TypeError(
            f"`source` must be an array or a memory map, got {type(source).__name__}; "
            "numpy.asarray(source) makes it one"
        )
    if source.ndim == 0:
        raise ValueError("`source` must have rows, got an array without axes; reshape it first")
    return numpy.asarray(source)


def checked_output(
    out: Any,
    shape: tuple[int, ...],
    dtype: numpy.dtype[Any],
    source: NDArray[Any],
    read: Iterable[NDArray[Any] | None],
) -> NDArray[Any]:
    """Return an array for a result, or say why it cannot take it.

    Parameters
    ----------
    out : numpy.ndarray
        What was given.
    shape, dtype
        Of the result.
    source : numpy.ndarray
        What is read meanwhile.
    read : iterable of numpy.ndarray or None
        What else is: numbers of rows, places of windows.

    Returns
    -------
    numpy.ndarray

    """
    if not isinstance(out, numpy.ndarray) or out.shape != shape or out.dtype != dtype:
        got = f"{out.shape}, {out.dtype}" if isinstance(out, numpy.ndarray) else type(out).__name__
        raise ValueError(f"`out` must be an array of shape {shape}, {dtype}, got {got}")
    if not (out.flags.c_contiguous and out.flags.aligned and out.flags.writeable):
        raise ValueError(
            "`out` must be writable, aligned and in C order, got an array that is not; "
            "fuel.kernels.memory.empty makes one"
        )
    if numpy.may_share_memory(out, source):
        raise ValueError("`out` must be apart from `source`, got arrays that overlap; copy one")
    if any(vector is not None and numpy.may_share_memory(out, vector) for vector in read):
        # Checked or not, numbers that are written over while they are read may lead anywhere.
        raise ValueError(
            "`out` must be apart from the vectors that say what is read, got arrays that overlap; "
            "copy one"
        )
    return out


def checked_arithmetic(
    arithmetic: Arithmetic, dtype: numpy.dtype[Any], shape: tuple[int, ...]
) -> None:
    """Say if a chain is for other elements.

    Parameters
    ----------
    arithmetic : Arithmetic
        The chain.
    dtype, shape
        Of what it is to be used for.

    """
    if not isinstance(arithmetic, Arithmetic):
        raise TypeError(
            f"`arithmetic` must be an Arithmetic, got {type(arithmetic).__name__}; Arithmetic.of "
            "makes one"
        )
    if arithmetic.input != dtype:
        raise TypeError(
            f"the arithmetic is for {arithmetic.input}, got rows of {dtype}; make it for the type "
            "of the source"
        )
    if arithmetic.shape != shape:
        raise ValueError(
            f"the arithmetic is for rows of shape {arithmetic.shape}, got rows of shape {shape}; "
            "make it for the shape of the source"
        )


def in_parts(work: Callable[[slice], int], count: int, nbytes: int, most: int) -> bool:
    """Have rows written, by several threads where that is worth it.

    Parameters
    ----------
    work : callable
        Takes a slice of the rows, writes them, and returns the status of the arithmetic.
    count : int
        How many rows there are.
    nbytes : int
        Bytes that are written for all of them.
    most : int
        How many threads there may be.

    Returns
    -------
    bool
        Whether the rows are done. If not, NumPy has something to say about them.

    """
    if operator.index(most) < 1:
        raise ValueError(f"`threads` must be at least 1, got {most}")
    parts = max(1, min(most, count, nbytes // _WORTH_A_THREAD))
    status = 0
    if parts == 1:
        status = work(slice(0, count))
    else:
        edges = [count * part // parts for part in range(parts + 1)]
        jobs = [(slice(*pair),) for pair in itertools.pairwise(edges)]
        for found in threads.run(work, jobs, parts):
            status |= found
    return not (status and must_repeat(status))
