"""Gathering: rows of an array into a new batch, with arithmetic on the way.

In this module: `gather`, and `read_rows`, which makes a list of indices a vector. Not here: what
the arithmetic is (`fuel.kernels.arithmetic`), windows of images (`fuel.kernels.crop`).
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.kernels import memory
from fuel.kernels._batches import (
    checked_arithmetic,
    checked_output,
    checked_source,
    in_parts,
    row_vector,
)
from fuel.kernels._select import select
from fuel.kernels.arithmetic import Arithmetic

__all__ = ["all_inside", "gather", "read_rows"]

_kernel = select("gather")
_quickly = _kernel.gather
_read = _kernel.read_rows


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
        Where the result goes: of its type, in C order, writable, apart from `source` and `rows`. By
        default a new array from `fuel.kernels.memory`.
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


def all_inside(rows: NDArray[numpy.int64], limit: int) -> bool:
    """Tell whether all of some indices are there.

    Parameters
    ----------
    rows : numpy.ndarray, shape (n,), dtype int64
        Indices.
    limit : int
        How many rows there are.

    Returns
    -------
    bool
        Whether they lie between 0 and ``limit - 1``.

    """
    plain = rows.flags.c_contiguous and rows.flags.aligned and rows.dtype.isnative
    vector = rows if plain else numpy.array(rows, dtype=numpy.int64)
    return int(_kernel.find_outside(vector, limit)) < 0


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
        checked_output(out, shape, dtype, array, (vector,))
    program = None if arithmetic is None else arithmetic._program
    plain = array.flags.c_contiguous and array.flags.aligned
    if plain and not dtype.hasobject and dtype.itemsize and (arithmetic is None or program):
        batch: NDArray[Any] = memory.empty(shape, dtype) if out is None else out

        def work(part: slice) -> int:
            return int(_kernel.fill(array, vector[part], program, batch[part]))

        if in_parts(work, len(vector), batch.nbytes, most):
            return batch
    taken = array[vector]
    if arithmetic is not None:
        taken = arithmetic.reference(taken)
    if out is None:
        return numpy.ascontiguousarray(taken)
    batch = out
    batch[...] = taken
    return batch
