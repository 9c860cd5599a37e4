"""All sliding windows over a batch of sequences, in one array.

In this module: `windows` and `windows_together`, the door to the kernel. Not here: what n-grams and
targets are (`fuel.transformers.sequences`), and how sequences are read (`fuel.kernels.ragged`).
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.kernels import _windows_reference as reference
from fuel.kernels._rows import listed, new_array, read
from fuel.kernels._select import select

__all__ = ["windows", "windows_together"]

_kernel = select("windows")

#: Offsets, widths and steps up to here can be added on any machine.
_LARGEST = sys.maxsize // 4


def windows(
    sequences: Any, width: int, step: int = 1, offset: int = 0
) -> tuple[NDArray[Any], NDArray[numpy.int64]]:
    """Cut all windows out of sequences.

    Window number k of a sequence is ``sequence[offset + k * step :][:width]``. None leaves its
    sequence: one that is too short has none.

    Parameters
    ----------
    sequences : sequence of array_like, or numpy.ndarray of shape (n, length, ...)
        Sequences that agree in all dimensions but the first. Empty ones say nothing about type
        and shape.
    width : int
        Length of a window.
    step : int, optional
        How far windows begin from each other, at least 1.
    offset : int, optional
        Where the first window of a sequence begins.

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
    (values,), counts = windows_together(sequences, [(offset, width)], step)
    return values, counts


def windows_together(
    sequences: Any, parts: Sequence[tuple[int, int]], step: int = 1
) -> tuple[list[NDArray[Any]], NDArray[numpy.int64]]:
    """Cut several windows at each place of sequences, such as words and the word that follows.

    Parameters
    ----------
    sequences : sequence of array_like, or numpy.ndarray of shape (n, length, ...)
        As for `windows`.
    parts : sequence of (int, int)
        Offset and width of each window, counted from the place. A place counts if all of them
        are inside the sequence.
    step : int, optional
        How far places are from each other, at least 1. The first is the beginning.

    Returns
    -------
    values : list of numpy.ndarray, shapes (total, width, ...)
        The windows of each part, all of one length.
    counts : numpy.ndarray, shape (n,), dtype int64
        How many places each sequence has.

    Raises
    ------
    TypeError, ValueError
        As of `windows`.

    Examples
    --------
    >>> from fuel.kernels.windows import windows_together
    >>> (words, following), counts = windows_together([[1, 2, 3, 4], [5, 6, 7]], [(0, 2), (2, 1)])
    >>> words.tolist(), following.tolist(), counts.tolist()
    ([[1, 2], [2, 3], [5, 6]], [[3], [4], [7]], [2, 1])

    """
    step = _at_least("step", step, 1)
    checked = [(_at_least("offset", o, 0), _at_least("width", w, 0)) for o, w in parts]
    reach = max((offset + width for offset, width in checked), default=0)
    rows = read(listed(sequences), _kernel)
    kernel = reference if isinstance(rows, reference.Rows) else _kernel
    # Further than this comes out the same, and fits any machine's integers.
    step = min(step, rows.longest + 1)
    counts = numpy.zeros(rows.count, dtype=numpy.int64)
    total = kernel.count(rows, reach, step, counts) if reach <= rows.longest else 0
    values = []
    for offset, width in checked:
        array = new_array((total, width, *rows.rest), rows.dtype)
        if total:
            kernel.cut(rows, width, step, offset, reach, array)
        values.append(array)
    return values, counts


def _at_least(argument: str, value: Any, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"`{argument}` must be an integer, got {value!r:.80}") from None
    if not least <= number <= _LARGEST:
        raise ValueError(f"`{argument}` must be from {least} to {_LARGEST}, got {number}")
    return number
