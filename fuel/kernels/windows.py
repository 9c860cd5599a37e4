"""All sliding windows over a batch of sequences, in one array.

In this module: `windows`, the door to the kernel. Not here: what n-grams and targets are
(`fuel.transformers.sequences`), and how sequences are read (`fuel.kernels.ragged`).
"""

from __future__ import annotations

import operator
import sys
from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.kernels import _windows_reference as reference
from fuel.kernels._select import select
from fuel.kernels.ragged import new_array, read

__all__ = ["windows"]

_kernel = select("windows")


def windows(
    sequences: Any, width: int, step: int = 1, offset: int = 0, reach: int | None = None
) -> tuple[NDArray[Any], NDArray[numpy.int64]]:
    """Cut all windows out of sequences.

    Window number k of a sequence is ``sequence[s + offset : s + offset + width]`` with
    ``s = k * step``. It is there if the sequence has at least ``s + reach`` elements, so that no
    window crosses two sequences, and several calls with the same `step` and `reach` give windows
    that belong together.

    Parameters
    ----------
    sequences : sequence of array_like, or numpy.ndarray of shape (n, length, ...)
        Sequences that agree in all dimensions but the first.
    width : int
        Length of a window.
    step : int, optional
        How far windows begin from each other, at least 1.
    offset : int, optional
        How far behind its beginning a window is cut, from 0.
    reach : int, optional
        How many elements there must be from the beginning of a window. Default, and least:
        ``offset + width``.

    Returns
    -------
    values : numpy.ndarray, shape (total, width, ...)
        All windows, those of the first sequence first, in a new array of the type that can hold
        all sequences. Without windows it has length 0.
    counts : numpy.ndarray, shape (n,), dtype int64
        How many windows each sequence has.

    Raises
    ------
    TypeError
        If a number is not an integer.
    ValueError
        If a number is too small, or what came is not sequences that go together.

    Notes
    -----
    May be called from any thread; the sequences must not change meanwhile.

    Examples
    --------
    >>> from fuel.kernels.windows import windows
    >>> values, counts = windows([[1, 2, 3, 4], [5], [6, 7]], 2)
    >>> values.tolist(), counts.tolist()
    ([[1, 2], [2, 3], [3, 4], [6, 7]], [3, 0, 1])

    """
    width = _at_least("width", width, 0)
    step = _at_least("step", step, 1)
    offset = _at_least("offset", offset, 0)
    reach = offset + width if reach is None else _at_least("reach", reach, offset + width)
    rows = read(sequences, _kernel)
    kernel = reference if isinstance(rows, reference.Rows) else _kernel
    # Further than this comes out the same, and fits any machine's integers.
    step = min(step, max(rows.longest, 1))
    counts = numpy.empty(rows.count, dtype=numpy.int64)
    if reach > rows.longest:
        counts.fill(0)
        return new_array((0, width, *rows.rest), rows.dtype), counts
    total = kernel.count(rows, reach, step, counts)
    values = new_array((total, width, *rows.rest), rows.dtype)
    kernel.cut(rows, width, step, offset, reach, values)
    return values, counts


def _at_least(argument: str, value: Any, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"`{argument}` must be an integer, got {value!r:.80}") from None
    if not least <= number <= sys.maxsize:
        raise ValueError(f"`{argument}` must be at least {least}, got {number}")
    return number
