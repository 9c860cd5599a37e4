"""Chunks that were decoded lately, within a bound in bytes, shared by the sources of a dataset.

Which chunk goes when there is no room is decided by the "clock" algorithm (Corbató 1968, A paging
experiment with the Multics system): a hand goes round the chunks and takes out the first one that
was not used since it last came by. Marking a use is one byte written by the kernel that reads, so
that a request that finds all of its chunks here costs nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Container
from typing import Any

import numpy
from numpy.typing import NDArray

__all__ = ["DEFAULT_BYTES", "ChunkCache", "Shelf"]

#: Enough for the whole of the usual small data sets (CIFAR has 184 MB), so that shuffling one that
#: is compressed costs its decoding once; little beside what a training process needs anyway.
DEFAULT_BYTES = 256 * 2**20


class Shelf:
    """The decoded chunks of one source.

    Parameters
    ----------
    chunk_rows : int
        How many rows of chunks there are; chunks side by side come and go together.
    tiles : int
        How many chunks are side by side.

    Attributes
    ----------
    pointers : numpy.ndarray, shape (chunk_rows * tiles,), dtype int64
        The address of each chunk; 0 for those that are not here.
    touched : numpy.ndarray, shape (chunk_rows,), dtype uint8
        1 for those that were used since the hand came by.

    """

    def __init__(self, chunk_rows: int, tiles: int) -> None:
        self.tiles = tiles
        self.pointers: NDArray[numpy.int64] = numpy.zeros(chunk_rows * tiles, dtype=numpy.int64)
        self.touched: NDArray[numpy.uint8] = numpy.zeros(chunk_rows, dtype=numpy.uint8)

    def put(self, row: int, chunks: list[NDArray[Any]]) -> None:
        """Note where the chunks of a row are."""
        addresses = [chunk.ctypes.data for chunk in chunks]
        # In one go, so that an interruption leaves all of them here, or none.
        self.pointers[row * self.tiles : (row + 1) * self.tiles] = addresses

    def drop(self, row: int) -> None:
        """Forget the chunks of a row."""
        self.pointers[row * self.tiles : (row + 1) * self.tiles] = 0


class ChunkCache:
    """Decoded chunks of some sources.

    Parameters
    ----------
    limit_bytes : int
        How much they may take; 0 keeps none.

    Attributes
    ----------
    limit_bytes : int
        As given.
    held_bytes : int
        How much they take.
    lock : threading.RLock
        To be held while chunks are put, taken out, or read at their addresses.

    """

    def __init__(self, limit_bytes: int = DEFAULT_BYTES) -> None:
        self.limit_bytes = limit_bytes
        self.held_bytes = 0
        self.lock = threading.RLock()
        self._held: list[tuple[Shelf, int, list[NDArray[Any]], int]] = []
        self._hand = 0

    def put(
        self, shelf: Shelf, row: int, chunks: list[NDArray[Any]], pinned: Container[int]
    ) -> bool:
        """Keep the chunks of a row, if there is room or can be made.

        Parameters
        ----------
        shelf : Shelf
            The source.
        row : int
            Which.
        chunks : list of numpy.ndarray
            The chunks.
        pinned : container of int
            Rows of this source that are not to be taken out.

        Returns
        -------
        bool
            Whether they are kept.

        """
        size = sum(chunk.nbytes for chunk in chunks)
        try:
            if not self._make_room(size, shelf, pinned):
                return False
            # Held before it is found, so that no address outlives its memory.
            self._held.insert(self._hand, (shelf, row, chunks, size))
            shelf.put(row, chunks)
            self._hand += 1
            self.held_bytes += size
        except BaseException:  # Ctrl-C, between any two of these lines
            self.clear()
            raise
        return True

    def _make_room(self, size: int, shelf: Shelf, pinned: Container[int]) -> bool:
        if size > self.limit_bytes:
            return False
        # Twice around: the first time may only take marks away.
        for _ in range(2 * len(self._held)):
            if self.held_bytes + size <= self.limit_bytes:
                break
            if self._hand >= len(self._held):
                self._hand = 0
            owner, row, _, held = self._held[self._hand]
            if owner is shelf and row in pinned:
                self._hand += 1
            elif owner.touched[row]:
                owner.touched[row] = 0
                self._hand += 1
            else:
                owner.drop(row)
                del self._held[self._hand]
                self.held_bytes -= held
        return self.held_bytes + size <= self.limit_bytes

    def clear(self) -> None:
        """Take everything out."""
        with self.lock:
            for shelf, row, _, _ in self._held:
                shelf.drop(row)
            self._held.clear()
            self.held_bytes = self._hand = 0
