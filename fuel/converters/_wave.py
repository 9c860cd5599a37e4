"""Maps the samples of a WAVE file: RIFF chunks, integers of 16 bits.

The module `wave` of the standard library reads such files into memory, and before Python 3.12 not
those of more than two channels as programs write them (WAVE_FORMAT_EXTENSIBLE).
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.exceptions import StorageError

__all__ = ["Wave", "open_wave"]

_PCM, _EXTENSIBLE = 1, 0xFFFE


@dataclass(frozen=True)
class Wave:
    """Sound.

    Attributes
    ----------
    values : numpy.ndarray, int16, shape (time, channels)
        The samples, mapped from the file.
    rate : int
        How many a second.

    """

    values: NDArray[Any]
    rate: int


def open_wave(path: str) -> Wave:
    """Open a WAVE file of 16 bits.

    Parameters
    ----------
    path : str
        The file.

    Returns
    -------
    Wave
        What it holds. A last sample that is not whole is left out, and a size of the data beyond
        the end of the file stands for its end (a program that writes to a pipe knows no size).

    Raises
    ------
    StorageError
        If it is no such file.

    """
    end = os.path.getsize(path) if os.path.isfile(path) else 0
    if not end:
        raise StorageError(f"{path} was to be written by ffmpeg, but is empty or not there")
    channels = rate = 0
    with open(path, "rb") as file:
        head = file.read(12)
        if head[:4] != b"RIFF" or head[8:] != b"WAVE":
            raise _no_wave(path, f"begins with {head!r}")
        while len(head := file.read(8)) == 8:
            name, size = struct.unpack("<4sI", head)
            start = file.tell()
            if name == b"fmt " and size >= 16:
                kind, channels, rate, _, _, bits = struct.unpack("<HHIIHH", file.read(16))
                if kind not in (_PCM, _EXTENSIBLE) or bits != 16 or not channels:
                    raise _no_wave(path, f"has samples of kind {kind} with {bits} bits")
            if name == b"data" and channels:
                count = (min(start + size, end) - start) // (2 * channels)
                shape = (count, channels)
                if not count:
                    return Wave(numpy.empty(shape, "<i2"), rate)
                return Wave(numpy.memmap(path, "<i2", "r", offset=start, shape=shape), rate)
            file.seek(start + size + size % 2)
    raise _no_wave(path, "has no samples")


def _no_wave(path: str, fact: str) -> StorageError:
    return StorageError(
        f"{path} should be a WAVE file of 16 bits, but {fact}; look whether the program ffmpeg on "
        f"the PATH is the right one"
    )
