"""Gathering: rows of an array into a new batch, with arithmetic on the way.

In this module: `gather`, and `read_rows`, which makes a list of indices a vector. Not here: what
the arithmetic is (`fuel.kernels.arithmetic`), windows of images (`fuel.kernels.crop`).
"""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.exceptions import RequestError
from fuel.kernels import memory, threads
from fuel.kernels._select import select
from fuel.kernels._status import must_repeat
from fuel.kernels.arithmetic import Arithmetic

__all__ = ["gather", "read_rows"]

_kernel = select("gather")
_quickly = _kernel.gather
_read = _kernel.read_rows

# Below so many bytes of output a second thread costs more than it brings.
_WORTH_A_THREAD = 4 << 20


def gather(
    source: NDArray[Any],
    rows: NDArray[numpy.int64] | list[int],
    arithmetic: Arithmetic | None = None,
    *,
    out: NDArray[Any] | None = None,
    threads: int = 1,
) -> NDArray[Any]:
    """Return rows of an array, as ``source[rows]`` does, with arithmetic in the same pass.

    Parameters
    ----------
    source : numpy.ndarray, shape (N, ...)
        An array or a memory map. In C order, aligned, and in this machine's order of bytes it is
        fast; others give the same result through NumPy.
    rows : numpy.ndarray or list of int, shape (n,)
        Which rows, from 0 to ``N - 1``, in any order and as often as wanted. A vector of int64 is
        the fastest.
    arithmetic : Arithmetic, optional
        What is done to each element; made for the type and the shape of these rows.
    out : numpy.ndarray, shape (n, ...), optional
        Where the result goes: of its type, in C order, writable, apart from `source`. By default a
        new array from `fuel.kernels.memory`.
    threads : int, optional
        How many threads may work on it. More than one are used only where the work is large, and
        never change the result.

    Returns
    -------
    numpy.ndarray, shape (n, ...)
        Bit for bit what ``arithmetic.reference(source[rows])`` returns, an ordinary array in C
        order; `out` if that was given.

    Raises
    ------
    RequestError
        If there is no such row. Negative numbers do not count from the end.
    TypeError
        If `source` is no array, `rows` no vector of integers, or the arithmetic is for another
        type.
    ValueError
        If the arithmetic is for another shape, or `out` cannot take the result.

    Notes
    -----
    May be called from any thread; the interpreter's lock is free while the rows move.

    Examples
    --------
    >>> import numpy
    >>> from fuel.kernels.arithmetic import Arithmetic
    >>> from fuel.kernels.gather import gather
    >>> images = numpy.arange(6, dtype=numpy.uint8).reshape(3, 2)
    >>> gather(images, [2, 0])
    array([[4, 5],
           [0, 1]], dtype=uint8)
    >>> halves = Arithmetic.of(numpy.uint8, (2,), [("multiply", 0.5), ("cast", "float32")])
    >>> gather(images, [2, 0], halves)
    array([[2. , 2.5],
           [0. , 0.5]], dtype=float32)

    """
    if out is None and threads == 1:
        batch: NDArray[Any] | None = _quickly(source, rows, arithmetic)
        if batch is not None:
            return batch
    return _carefully(source, rows, arithmetic, out, threads)


def read_rows(request: list[Any], limit: int) -> NDArray[numpy.int64] | None:
    """Return a list of indices as a vector.

    Parameters
    ----------
    request : list
        What was asked for.
    limit : int
        How many rows there are.

    Returns
    -------
    numpy.ndarray, shape (n,), dtype int64, or None
        None where an item is anything else than an integer of Python from 0 to ``limit - 1``: a
        truth value, an integer of NumPy, a negative number. Who asks then looks for himself.

    Examples
    --------
    >>> from fuel.kernels.gather import read_rows
    >>> read_rows([2, 0, 1], 3)
    array([2, 0, 1])
    >>> read_rows([2, -1], 3) is None
    True

    """
    found: NDArray[numpy.int64] | None = _read(request, limit)
    return found


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
    given: NDArray[Any] = numpy.asarray(rows)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise TypeError(
            f"`rows` must be a vector of integers, got shape {given.shape}, dtype {given.dtype}; "
            "for a mask, numpy.flatnonzero(mask) gives the rows"
        )
    if given.dtype.kind == "u" and given.size and int(given.max()) >= count:
        raise _no_such_row(int(given[int(numpy.argmax(given))]), count)
    vector = numpy.ascontiguousarray(given, dtype=numpy.int64)
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
    out: Any, shape: tuple[int, ...], dtype: numpy.dtype[Any], source: NDArray[Any]
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


def slices(count: int, row_bytes: int, most: int) -> list[slice]:
    """Divide rows among threads.

    Parameters
    ----------
    count : int
        How many rows.
    row_bytes : int
        Bytes that are written for each.
    most : int
        How many threads there may be.

    Returns
    -------
    list of slice
        One for each thread that is worth it.

    """
    parts = max(1, min(most, count, count * row_bytes // _WORTH_A_THREAD))
    edges = [count * part // parts for part in range(parts + 1)]
    return [slice(*pair) for pair in itertools.pairwise(edges)]


def _carefully(source: Any, rows: Any, arithmetic: Any, out: Any, most: int) -> NDArray[Any]:
    """Check everything, and take what way there is."""
    array = checked_source(source)
    vector = row_vector(rows, len(array))
    dtype = array.dtype
    if arithmetic is not None:
        checked_arithmetic(arithmetic, dtype, array.shape[1:])
        dtype = arithmetic.dtype
    shape = (len(vector), *array.shape[1:])
    if out is not None:
        checked_output(out, shape, dtype, array)
    if operator.index(most) < 1:
        raise ValueError(f"`threads` must be at least 1, got {most}")
    program = None if arithmetic is None else arithmetic._program
    plain = array.flags.c_contiguous and array.flags.aligned
    if plain and not dtype.hasobject and dtype.itemsize and (arithmetic is None or program):
        batch = memory.empty(shape, dtype) if out is None else out
        parts = slices(len(vector), batch.nbytes // max(1, len(batch)), most)
        jobs = [(array, vector[part], program, batch[part]) for part in parts]
        done = [_kernel.fill(*jobs[0])] if len(jobs) == 1 else threads.run(_kernel.fill, jobs, most)
        status = 0
        for found in done:
            status |= found
        if not (status and must_repeat(status)):
            return batch
    taken = array[vector]
    if arithmetic is not None:
        taken = arithmetic.reference(taken)
    if out is None:
        return numpy.ascontiguousarray(taken)
    batch = out
    batch[...] = taken
    return batch
