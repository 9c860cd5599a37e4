"""How the chunks of a dataset are laid out, and where the parts of a row are in them."""

from __future__ import annotations

import itertools
import math

import numpy
from numpy.typing import NDArray

__all__ = ["Tiling"]

#: A row in more pieces than this is better copied by HDF5.
_MOST_RUNS = 100_000


class Tiling:
    """The chunks of a dataset.

    Parameters
    ----------
    shape : tuple of int
        That of the dataset.
    chunks : tuple of int
        That of its chunks.
    itemsize : int
        The bytes of an element.

    Attributes
    ----------
    rows : int
        How many rows a chunk has.
    chunk_rows : int
        How many chunks lie one after the other along the first axis.
    grid : tuple of int
        How many lie side by side, along each other axis.
    tiles : int
        How many lie side by side in all.
    row_bytes : int
        The bytes that a row has in one chunk.
    chunk_bytes : int
        The bytes of a chunk.
    runs : numpy.ndarray, shape (k, 4), dtype int64
        The pieces of a row: number of the tile, offset in the chunk's row, offset in the row,
        and length, in bytes. Empty if there are too many of them.

    """

    def __init__(self, shape: tuple[int, ...], chunks: tuple[int, ...], itemsize: int) -> None:
        self.chunks = chunks
        self.rows = chunks[0]
        self.chunk_rows = -(-shape[0] // chunks[0])
        self.grid = tuple(
            -(-size // part) for size, part in zip(shape[1:], chunks[1:], strict=True)
        )
        self.tiles = math.prod(self.grid)
        self.row_bytes = math.prod(chunks[1:]) * itemsize
        self.chunk_bytes = chunks[0] * self.row_bytes
        self.runs = _runs(shape[1:], chunks[1:], itemsize)

    def place(self, offset: tuple[int, ...]) -> int:
        """Return the number of the chunk that begins at some element."""
        number = offset[0] // self.rows
        for first, part, size in zip(offset[1:], self.chunks[1:], self.grid, strict=True):
            number = number * size + first // part
        return number

    def corner(self, number: int) -> tuple[int, ...]:
        """Return the element that the chunk with a number begins at."""
        places = []
        for size in reversed(self.grid):
            number, place = divmod(number, size)
            places.append(place)
        return tuple(
            place * part
            for place, part in zip((number, *reversed(places)), self.chunks, strict=True)
        )


def _runs(shape: tuple[int, ...], chunks: tuple[int, ...], itemsize: int) -> NDArray[numpy.int64]:
    """Return the pieces that make a row."""
    grid = [-(-size // part) for size, part in zip(shape, chunks, strict=True)]
    # Axes behind the last one that is cut are whole in every chunk: pieces go on through them.
    axes = len(shape)
    while axes and chunks[axes - 1] == shape[axes - 1]:
        axes -= 1
    inner = math.prod(shape[axes:]) * itemsize
    if not axes:
        return numpy.array([[0, 0, 0, inner]], dtype=numpy.int64)
    if math.prod(grid[:axes]) * math.prod(chunks[: axes - 1]) > _MOST_RUNS:
        return numpy.empty((0, 4), dtype=numpy.int64)
    runs = []
    for tile, corner in enumerate(itertools.product(*map(range, grid[:axes]))):
        first = [place * part for place, part in zip(corner, chunks, strict=False)]
        sizes = [
            min(part, size - begin) for begin, part, size in zip(first, chunks, shape, strict=False)
        ]
        for place in itertools.product(*map(range, sizes[:-1])):
            inside = outside = 0
            for axis in range(axes):
                step = place[axis] if axis < axes - 1 else 0
                inside = inside * chunks[axis] + step
                outside = outside * shape[axis] + first[axis] + step
            runs.append((tile, inside * inner, outside * inner, sizes[-1] * inner))
    return numpy.array(runs, dtype=numpy.int64)
