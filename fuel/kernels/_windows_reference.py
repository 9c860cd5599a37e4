"""Windows over rows in plain NumPy.

`fuel.kernels.windows` describes what is done and checks the arguments; `_windows.pyx` is the
compiled form with the same functions.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.kernels._ragged_reference import Rows, scan

__all__ = ["Rows", "count", "cut", "scan"]


def count(rows: Rows, reach: int, step: int, out: NDArray[numpy.int64]) -> int:
    """Write how many windows each row has.

    Parameters
    ----------
    rows : Rows
        The rows.
    reach : int
        How many elements there must be from where a window begins.
    step : int
        How far windows begin from each other, at least 1.
    out : numpy.ndarray, shape (count,), dtype int64
        Where the numbers are written.

    Returns
    -------
    int
        How many windows all rows have.

    """
    rows.lengths(out)
    out[:] = numpy.where(out < reach, 0, (out - reach) // step + 1)
    return int(out.sum())


def cut(rows: Rows, width: int, step: int, offset: int, reach: int, out: NDArray[Any]) -> None:
    """Write all windows of all rows.

    Parameters
    ----------
    rows : Rows
        The rows.
    width : int
        Length of a window.
    step : int
        How far windows begin from each other.
    offset : int
        How far behind its beginning a window is cut.
    reach : int
        How many elements there must be from where a window begins, at least ``offset + width``.
    out : numpy.ndarray, shape (total, width, ...)
        Where the windows are written.

    """
    place = 0
    for array in rows.arrays:
        for start in range(0, len(array) - reach + 1, step):
            if array.size:
                out[place] = array[start + offset : start + offset + width]
            place += 1
