"""Several sequences in a row of a certain width.

In this module, the door to the kernel: `row` puts sequences end to end and pads, `runs` tells which
place of a row belongs to which of them. Not here: which sequences share a row
(`fuel.transformers.sequences.Pack`), and sequences side by side (`fuel.kernels.ragged`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.kernels._rows import new_array
from fuel.kernels._select import select

__all__ = ["row", "runs"]

_kernel = select("packing")
_INT32 = numpy.dtype(numpy.int32)


def row(
    sequences: list[Any], width: int, fill: Callable[[numpy.dtype[Any]], Any]
) -> NDArray[Any] | None:
    """Put arrays that are alike end to end, and pad.

    Parameters
    ----------
    sequences : list of numpy.ndarray
        Arrays of numbers; empty vectors among them say nothing about type and shape.
    width : int
        The length of the result.
    fill : callable
        Told the type of the row, answers with what its rest is made of; None where it does not
        know.

    Returns
    -------
    numpy.ndarray, shape (width, ...), or None
        In a new array. None where they are not arrays of one type and of one shape behind the first
        axis, in C order and native byte order, or hold nothing; where `fill` does not know; and
        where the kernel runs in its NumPy form.

    Raises
    ------
    ValueError
        If they are longer than the row.

    Examples
    --------
    >>> import numpy
    >>> from fuel.kernels.packing import row
    >>> found = row([numpy.arange(2), numpy.arange(3)], 6, lambda dtype: -1)
    >>> [0, 1, 0, 1, 2, -1] if found is None else found.tolist()
    [0, 1, 0, 1, 2, -1]

    """
    rows = _kernel.scan(sequences)
    if rows is None or not rows.total:
        return None
    rest = width - rows.total
    if rest < 0:
        raise ValueError(
            f"the sequences have {rows.total} elements together, more than the row of {width}; "
            "give fewer, or a wider row"
        )
    value = fill(rows.dtype)
    if value is None:
        return None
    found = new_array((width, *rows.rest), rows.dtype)
    rows.join(found[: rows.total] if rest else found)
    if rest:
        found[rows.total :] = value
    return found


def runs(lengths: list[int], width: int) -> tuple[NDArray[numpy.int32], NDArray[numpy.int32]]:
    """Tell which place of a row belongs to which sequence.

    Parameters
    ----------
    lengths : list of int
        Of the sequences in the row, in order.
    width : int
        The length of the row.

    Returns
    -------
    numbers : numpy.ndarray, shape (width,), dtype int32
        1 for the first sequence, 2 for the second; 0 behind the last.
    places : numpy.ndarray, shape (width,), dtype int32
        Where in its sequence the place is, from 0.

    Raises
    ------
    ValueError
        If a length is negative, or they are more than the row together.

    Examples
    --------
    >>> from fuel.kernels.packing import runs
    >>> [array.tolist() for array in runs([2, 1], 4)]
    [[1, 1, 2, 0], [0, 1, 0, 0]]

    """
    if min(lengths, default=0) < 0 or sum(lengths) > width:
        raise ValueError(
            f"the lengths must be 0 or more and together at most {width}, the width of the row, "
            f"got {lengths!r:.80}"
        )
    numbers = new_array((width,), _INT32)
    places = new_array((width,), _INT32)
    _kernel.runs(lengths, numbers, places)
    return numbers, places
