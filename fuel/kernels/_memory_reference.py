"""Aligned memory for arrays in plain NumPy: nothing is recycled.

`fuel.kernels.memory` describes what is asked for and checks the arguments; `_memory.pyx` is the
compiled form with the same functions.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy
from numpy.typing import NDArray

__all__ = ["after_fork", "empty", "set_limit", "statistics", "trim"]

_ALIGNMENT = 64
_limit = 0


def empty(shape: tuple[int, ...], dtype: numpy.dtype[Any]) -> NDArray[Any]:
    """Return a new array on a boundary of 64 bytes.

    Parameters
    ----------
    shape : tuple of int
        Lengths of the axes.
    dtype : numpy.dtype
        Any type without objects.

    Returns
    -------
    numpy.ndarray
        Its contents are arbitrary.

    """
    if min(shape, default=0) < 0:
        raise ValueError(
            f"`shape` must have no negative lengths, got {shape}; check what it was computed from"
        )
    size = math.prod(shape) * dtype.itemsize
    lengths = [length for length in shape if length]
    if len(lengths) == len(shape) and size > sys.maxsize:
        raise ValueError(
            f"an array of shape {shape} with {dtype.itemsize} bytes an element is larger than "
            "memory can be addressed; ask for less at once"
        )
    raw = numpy.empty(size + _ALIGNMENT - 1, dtype=numpy.uint8)
    return numpy.ndarray(shape, dtype, buffer=raw, offset=-raw.ctypes.data % _ALIGNMENT)


def set_limit(limit: int) -> None:
    """Remember the limit; nothing is kept anyway.

    Parameters
    ----------
    limit : int
        Bytes.

    """
    global _limit
    _limit = limit


def trim() -> int:
    """Give back nothing.

    Returns
    -------
    int
        0.

    """
    return 0


def statistics() -> tuple[int, ...]:
    """Return the counters.

    Returns
    -------
    tuple of int
        The limit, and zeros: what NumPy allocates is not counted here.

    """
    return (_limit, 0, 0, 0, 0, 0, 0)


def after_fork() -> None:
    """Do nothing: there is nothing to mend in a child."""
