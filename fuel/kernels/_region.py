"""Places in a region of memory, in plain Python.

For the twin in NumPy of `fuel.kernels._memory`, and for what is handed to worker processes.
"""

from __future__ import annotations

import os
import weakref
from typing import Any

import numpy
from numpy.typing import NDArray

__all__ = ["LEAST", "Region"]

#: Smaller arrays are not worth a place of their own.
LEAST = 1024
_ALIGNMENT = 64
#: How much is reserved at a time.
_STEP = 4 << 20


class Region:
    """Blocks of a region: powers of two, given out again when their array is gone.

    Parameters
    ----------
    region : buffer
        Writable bytes that stay mapped.
    file : int
        The file descriptor behind it, with which memory is reserved; -1 where that cannot be done.

    Attributes
    ----------
    memory : memoryview
        The region.
    reserved, bump, refused : int
        How many bytes were reserved and given out, and for how many arrays there was no room.

    """

    def __init__(self, region: Any, file: int) -> None:
        self.memory, self.file = memoryview(region).cast("B"), file
        self.base = numpy.frombuffer(self.memory, dtype=numpy.uint8).ctypes.data
        self.reserved = self.bump = self.refused = self._blocks = 0
        self.free: dict[int, list[int]] = {}

    def take(self, size: int) -> NDArray[Any] | None:
        """Return a block of at least so many bytes, or None."""
        capacity = max(_ALIGNMENT, 1 << (size - 1).bit_length())
        free = self._free(capacity)
        if free:
            offset = free.pop()
        elif self.reserve(self.bump + capacity):
            offset, self.bump = self.bump, self.bump + capacity
            self._blocks += 1
        else:
            self.refused += 1
            return None
        block = numpy.frombuffer(self.memory, dtype=numpy.uint8, count=size, offset=offset)
        weakref.finalize(block, free.append, offset).atexit = False
        return block

    def _free(self, capacity: int) -> list[int]:
        """Return the free blocks of a size; where nothing is in use, begin anew with all."""
        free = self.free.get(capacity)
        if free:
            return free
        if self.bump + capacity > self.reserved:
            if self._blocks and sum(map(len, self.free.values())) == self._blocks:
                self.free.clear()
                self.bump = self._blocks = 0
        return self.free.setdefault(capacity, [])

    def reserve(self, end: int) -> bool:
        """Make sure that so many bytes are backed by memory."""
        if end > len(self.memory):
            return False
        if end > self.reserved:
            wanted = min(len(self.memory), -(-end // _STEP) * _STEP)
            if self.file >= 0 and hasattr(os, "posix_fallocate"):
                try:
                    os.posix_fallocate(self.file, self.reserved, wanted - self.reserved)
                except OSError:
                    return False
            self.reserved = wanted
        return True
