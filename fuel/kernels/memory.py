"""Memory for fresh arrays: aligned, and recycled when the last reference to it is gone.

In this module: `empty`, which is `numpy.empty` over such memory, and the one setting that bounds
it. Not here: the kernels that fill the arrays.

A fresh array of megabytes comes, as a rule, straight from the operating system, and each of its
pages costs a fault when it is first written: that is more than the arithmetic that fills it. What
was freed a moment ago has its pages, and often still lies in the processor's caches. So the memory
of an array that nobody refers to any more, neither itself nor through a view, is kept for the next
array of about its size. It is never handed out twice at a time: an array belongs to whom it was
given for as long as he keeps it.

What is kept is bounded. When more than the limit lies idle, what has been idle for longest goes
back to the operating system. The environment variable ``FUEL_BUFFER_BYTES``, read when this module
is imported, is the limit in bytes; unset, it is 256 MiB; with 0 nothing is kept.

A worker process takes its memory from a region that it shares with its consumer (`use_region`), so
that a batch that was calculated there has arrived.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy
from numpy.typing import DTypeLike, NDArray

from fuel.exceptions import ConfigurationError
from fuel.kernels._select import select

__all__ = [
    "ALIGNMENT",
    "empty",
    "places",
    "region_statistics",
    "set_limit",
    "statistics",
    "trim",
    "use_region",
]

#: Every array begins at a multiple of so many bytes: a line of the cache, a register of AVX-512,
#: and what DLPack's consumers ask for to take an array without copying it.
ALIGNMENT = 64

_SETTING = "FUEL_BUFFER_BYTES"
# Room for a few dozen batches of images in float32, which is more than are idle at a time.
_DEFAULT = 256 << 20
_LARGEST = (1 << 62) - 1

_kernel = select("memory")
_allocate = _kernel.empty


def empty(shape: SupportsIndex | Sequence[SupportsIndex], dtype: DTypeLike = float) -> NDArray[Any]:
    """Return a new array whose contents are arbitrary.

    Parameters
    ----------
    shape : int or sequence of int
        Lengths of the axes.
    dtype : data-type, optional
        Type of the elements: any but those that hold references to Python objects.

    Returns
    -------
    numpy.ndarray
        In C order, writable, its first element at a multiple of 64 bytes. It does not own its
        memory (``flags.owndata`` is false), and so cannot be resized in place; in all else it is
        like an array from `numpy.empty`.

    Raises
    ------
    MemoryError
        If there is no such amount of memory.
    TypeError
        If `shape` is not made of integers, or `dtype` is no type, or one with references to
        objects.
    ValueError
        If a length is negative, or the array would be larger than memory can be addressed.

    Notes
    -----
    May be called from any thread, and on both sides of a fork. Takes about half a microsecond.

    Examples
    --------
    >>> from fuel.kernels.memory import empty
    >>> batch = empty((256, 3, 32, 32), "float32")
    >>> batch.ctypes.data % 64
    0

    """
    if type(dtype) is not numpy.dtype and not isinstance(dtype, numpy.dtype):
        dtype = numpy.dtype(dtype)
    if dtype.hasobject:
        raise TypeError(
            f"arrays of {dtype} hold references to Python objects, for which recycled memory is "
            "not safe; use numpy.empty"
        )
    if not dtype.itemsize:  # texts of unknown length: NumPy decides how long they are
        dtype = numpy.empty(0, dtype).dtype
    if type(shape) is not tuple:
        shape = _lengths(shape)
    try:
        array: NDArray[Any] = _allocate(shape, dtype)
    except TypeError:
        _lengths(shape)  # which says what is wrong with it
        raise
    except OverflowError:
        raise ValueError(
            f"an array of shape {shape} is larger than memory can be addressed; ask for less"
        ) from None
    return array


def set_limit(limit_bytes: int) -> None:
    """Set how much idle memory is kept.

    Parameters
    ----------
    limit_bytes : int
        Bytes; 0 keeps nothing. What is kept beyond the new limit is given back at once.

    Raises
    ------
    TypeError
        If it is not an integer.
    ValueError
        If it is negative.

    """
    limit = operator.index(limit_bytes)
    if limit < 0:
        raise ValueError(f"`limit_bytes` must not be negative, got {limit}; 0 keeps nothing")
    _kernel.set_limit(min(limit, _LARGEST))


def statistics() -> dict[str, int]:
    """Say what the pool holds.

    Returns
    -------
    dict
        ``limit_bytes``; ``kept_bytes`` and ``kept_blocks``, which lie idle; ``used_bytes`` and
        ``used_blocks``, which belong to living arrays; ``recycled`` and ``fresh``, how many arrays
        so far got memory of an earlier one and how many did not. All but the limit are 0 where
        the kernel runs in its NumPy form.

    """
    names = (
        "limit_bytes",
        "kept_bytes",
        "kept_blocks",
        "used_bytes",
        "used_blocks",
        "recycled",
        "fresh",
    )
    return dict(zip(names, _kernel.statistics(), strict=True))


def trim() -> int:
    """Give all idle memory back to the operating system.

    Returns
    -------
    int
        How many bytes that were.

    """
    return int(_kernel.trim())


def use_region(region: Any, file: int = -1) -> None:
    """Take memory from a region of shared memory from now on, while it has room.

    Parameters
    ----------
    region : buffer
        Writable bytes that begin at a page, which stay mapped for as long as the process lives.
    file : int, optional
        The file descriptor behind it, with which memory is reserved before it is given out (a
        step of 4 MiB at a time); -1 where that cannot be done.

    Notes
    -----
    Arrays of less than 1 KiB, and those for which there is no room, come from elsewhere as before.
    Memory never goes back from the region to the system.

    """
    _kernel.use_region(region, file)


def region_statistics() -> dict[str, int]:
    """Say how much of the region is used.

    Returns
    -------
    dict
        ``capacity_bytes``, ``reserved_bytes``, ``given_bytes`` (where the last block ends)
        and ``refused`` (for how many arrays there was no room).

    """
    names = ("capacity_bytes", "reserved_bytes", "given_bytes", "refused")
    return dict(zip(names, _kernel.region_statistics(), strict=True))


def places(arrays: list[Any]) -> list[int]:
    """Say where arrays lie in the region.

    Parameters
    ----------
    arrays : list
        Anything. The list must be all that refers to them.

    Returns
    -------
    list of int
        For each array in C order the offset of its first byte, if it lies in the region and nobody
        else refers to it or to its memory; -1 for everything else.

    """
    found: list[int] = _kernel.places(arrays)
    return found


def _lengths(shape: Any) -> tuple[int, ...]:
    """Return a shape as a tuple, or say what is wrong with it."""
    try:
        if hasattr(shape, "__index__") and not getattr(shape, "ndim", 0):
            return (operator.index(shape),)
        return tuple(operator.index(length) for length in shape)
    except TypeError:
        raise TypeError(
            f"`shape` must be an integer or a sequence of integers, got {shape!r}"
        ) from None


def _configured() -> int:
    """Read the setting."""
    text = os.environ.get(_SETTING, "").strip()
    if not text:
        return _DEFAULT
    if not (text.isascii() and text.isdigit()):
        raise ConfigurationError(
            f"{_SETTING} must be a number of bytes, got {text!r}; for example 268435456 for "
            "256 MiB, or 0 to keep nothing"
        )
    return int(text[:20])


set_limit(_configured())
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_kernel.after_fork)
