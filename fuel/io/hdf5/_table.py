"""Where the chunks of a dataset are in the file."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.io.hdf5._tiles import Tiling

__all__ = ["ChunkTable"]


class ChunkTable:
    """Place, size and filters of every chunk, by its number.

    Parameters
    ----------
    count : int
        How many chunks there are.

    Attributes
    ----------
    offsets : numpy.ndarray, shape (count,), dtype int64
        The first byte of each in the file.
    sizes : numpy.ndarray, shape (count,), dtype int64
        How many bytes it has there; 0 if it was never written.
    masks : numpy.ndarray, shape (count,), dtype int64
        Bit i says that filter i was left out.

    """

    def __init__(self, count: int) -> None:
        self.offsets: NDArray[numpy.int64] = numpy.zeros(count, dtype=numpy.int64)
        self.sizes: NDArray[numpy.int64] = numpy.zeros(count, dtype=numpy.int64)
        self.masks: NDArray[numpy.int64] = numpy.zeros(count, dtype=numpy.int64)

    @classmethod
    def of(cls, dataset: Any, tiling: Tiling) -> ChunkTable | None:
        """Read the table from the file, in one go.

        Parameters
        ----------
        dataset : h5py.Dataset
            The dataset.
        tiling : Tiling
            How its chunks are laid out.

        Returns
        -------
        ChunkTable or None
            None where this version of HDF5 or h5py cannot tell, or tells what cannot be.

        """
        if not hasattr(dataset.id, "chunk_iter"):
            return None
        table = cls(tiling.chunk_rows * tiling.tiles)
        shape, most = dataset.shape, numpy.iinfo(numpy.int64).max

        def note(chunk: Any) -> bool | None:
            """Write down one chunk; True, which ends the iteration, where it cannot be."""
            if any(
                first % part or first >= size
                for first, part, size in zip(chunk.chunk_offset, tiling.chunks, shape, strict=True)
            ):
                return True
            if chunk.byte_offset is None:
                return None
            if max(chunk.byte_offset, chunk.size, chunk.filter_mask) > most:
                return True
            number = tiling.place(chunk.chunk_offset)
            table.offsets[number] = chunk.byte_offset
            table.sizes[number] = chunk.size
            table.masks[number] = chunk.filter_mask
            return None

        return None if dataset.id.chunk_iter(note) else table

    def within(self, size_bytes: int) -> bool:
        """Tell whether all chunks lie inside of a file of some size."""
        ends = self.offsets + self.sizes
        return bool((self.offsets >= 0).all() and (self.sizes >= 0).all()) and bool(
            (ends <= size_bytes).all() and (ends >= 0).all()
        )
