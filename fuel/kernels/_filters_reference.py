"""Undoing HDF5's own filters in plain NumPy: what the compiled form does, more slowly.

The door, `fuel.kernels.filters`, describes and checks; `_filters.pyx` is the compiled form with the
same functions.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

__all__ = ["fletcher32", "lzf", "unshuffle"]

_CUT, _FULL, _BEFORE, _SHORT = 1, 2, 3, 4


def _bytes_of(data: Any) -> NDArray[numpy.uint8]:
    view = memoryview(data)
    if not view.c_contiguous:
        raise BufferError("the bytes do not follow one another in C order")
    found: NDArray[numpy.uint8] = numpy.frombuffer(view, numpy.uint8)
    return found


def _target(out: Any) -> NDArray[numpy.uint8]:
    found: NDArray[numpy.uint8] = out.reshape(-1).view(numpy.uint8)
    return found


def lzf(data: Any, out: Any) -> tuple[int, int]:
    """Fill an array with what LZF made smaller.

    Parameters
    ----------
    data : bytes-like
        What it made of it.
    out : numpy.ndarray
        Of the size that is expected.

    Returns
    -------
    status : int
        0 or what is wrong; -1 where the two overlap.
    place : int
        Where in the data that became clear.

    """
    source, target = _bytes_of(data), _target(out)
    if numpy.may_share_memory(source, target):
        return -1, 0
    text, made, size = source.tobytes(), bytearray(), len(target)
    at = status = 0
    while at < len(text):
        control = text[at]
        if control < 32:
            count = control + 1
            if len(text) - at <= count:
                status = _CUT
            elif size - len(made) < count:
                status = _FULL
            if status:
                break
            made += text[at + 1 : at + 1 + count]
            at += count + 1
            continue
        count, behind = (control >> 5) + 2, at + 1
        if len(text) - at < (3 if count == 9 else 2):
            status = _CUT
            break
        if count == 9:
            count += text[behind]
            behind += 1
        distance = ((control & 31) << 8 | text[behind]) + 1
        if distance > len(made):
            status = _BEFORE
        elif size - len(made) < count:
            status = _FULL
        if status:
            break
        pattern = bytes(made[-distance:])
        made += (pattern * (count // distance + 1))[:count]
        at = behind + 1
    if status or len(made) != size:
        return status or _SHORT, at
    target[:] = numpy.frombuffer(bytes(made), numpy.uint8)
    return 0, at


def unshuffle(data: Any, size: int, out: Any) -> int:
    """Fill an array with elements whose bytes were shuffled.

    Parameters
    ----------
    data : bytes-like
        The bytes, shuffled.
    size : int
        The bytes of an element.
    out : numpy.ndarray
        As long as the data.

    Returns
    -------
    int
        0; -2 where it is not as long, -1 where the two overlap.

    """
    source, target = _bytes_of(data), _target(out)
    if len(source) != len(target):
        return -2
    if numpy.may_share_memory(source, target):
        return -1
    whole = len(source) // size * size
    target[:whole].reshape(-1, size)[...] = source[:whole].reshape(size, -1).T
    target[whole:] = source[whole:]
    return 0


def fletcher32(data: Any) -> int:
    """Return a checksum, word by word as it is defined.

    Parameters
    ----------
    data : bytes-like
        Bytes.

    Returns
    -------
    int
        32 bits.

    """
    text = _bytes_of(data).tobytes()
    words = numpy.frombuffer(text + b"\0" * (len(text) % 2), ">u2").astype(numpy.uint64)
    first = second = 0
    for begin in range(0, len(words), 360):
        sums = numpy.cumsum(words[begin : begin + 360]) + numpy.uint64(first)
        first, second = int(sums[-1]), second + int(sums.sum())
        first = (first & 0xFFFF) + (first >> 16)
        second = (second & 0xFFFF) + (second >> 16)
    first = (first & 0xFFFF) + (first >> 16)
    second = (second & 0xFFFF) + (second >> 16)
    return second << 16 | first
