"""Aligned memory for arrays in plain NumPy: nothing is recycled, but in a region.

`fuel.kernels.memory` describes what is asked for and checks the arguments; `_memory.pyx` is the
compiled form with the same functions.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.kernels._region import LEAST, Region

__all__ = [
    "after_fork",
    "empty",
    "places",
    "region_statistics",
    "set_limit",
    "statistics",
    "trim",
    "use_region",
]

_ALIGNMENT = 64
_limit = 0


_region: Region | None = None


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
    if _region is not None and size >= LEAST:
        block = _region.take(size)
        if block is not None:
            return numpy.ndarray(shape, dtype, buffer=block)
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


def use_region(region: Any, file: int) -> None:
    """Take memory from a region from now on.

    Parameters
    ----------
    region : buffer
        Writable bytes.
    file : int
        The file descriptor behind it, or -1.

    """
    global _region
    _region = Region(region, file)


def region_statistics() -> tuple[int, ...]:
    """Return the counters of the region.

    Returns
    -------
    tuple of int
        Bytes of the region, reserved, given out; refusals.

    """
    if _region is None:
        return (0, 0, 0, 0)
    return (len(_region.memory), _region.reserved, _region.bump, _region.refused)


def places(arrays: list[Any]) -> list[int]:
    """Return where in the region each array lies that nobody else refers to.

    Parameters
    ----------
    arrays : list
        Anything.

    Returns
    -------
    list of int
        Offsets; -1 for what is elsewhere, or shared.

    """
    return [_place(arrays, number) for number in range(len(arrays))]


def _place(arrays: list[Any], number: int) -> int:
    # The list, and the call that counts, refer to what nobody else does.
    if (
        _region is None
        or type(arrays[number]) is not numpy.ndarray
        or type(arrays[number].base) is not numpy.ndarray
        or sys.getrefcount(arrays[number]) != 2
        or sys.getrefcount(arrays[number].base) != 2
        or not arrays[number].flags.c_contiguous
    ):
        return -1
    offset = int(arrays[number].ctypes.data) - _region.base
    return offset if 0 <= offset < len(_region.memory) else -1


def after_fork() -> None:
    """Leave the region: memory that two processes give out would have two owners."""
    global _region
    _region = None
