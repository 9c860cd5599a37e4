"""Rows of a chunked dataset: gathered from the file itself, or from chunks decoded once.

A request is grouped by chunk. Chunks without filters are read where they lie in the mapped file;
others are decoded outside of HDF5 and of the interpreter's lock, several at once, and kept in a
`ChunkCache` for as long as there is room. What is not understood here is read chunk by chunk
through h5py, with the same result.
"""

from __future__ import annotations

import logging
from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.exceptions import StorageError
from fuel.io.hdf5._cache import ChunkCache, Shelf
from fuel.io.hdf5._decoders import Pipeline
from fuel.io.hdf5._mapping import FileMap
from fuel.io.hdf5._table import ChunkTable
from fuel.io.hdf5._tiles import Tiling
from fuel.kernels import chunks, memory, threads

__all__ = ["CachedChunks", "MappedChunks"]

_log = logging.getLogger(__name__)


class MappedChunks:
    """A chunked dataset without filters in a mapped file.

    Parameters
    ----------
    filemap : FileMap
        The file.
    table : ChunkTable
        Where its chunks are, all of them inside of the file.
    tiling : Tiling
        How they are laid out.
    shape : tuple of int
        The shape of the dataset.
    dtype : numpy.dtype
        The type of its elements.
    fill : numpy.ndarray
        A chunk of the value that stands for what was never written.

    """

    table: Any = None

    def __init__(
        self,
        filemap: FileMap,
        table: ChunkTable,
        tiling: Tiling,
        shape: tuple[int, ...],
        dtype: numpy.dtype[Any],
        fill: NDArray[Any],
    ) -> None:
        self.filemap = filemap
        self.tiling = tiling
        self.shape = shape
        self.dtype = dtype
        self._fill = fill
        there = table.sizes > 0
        self._pointers = numpy.where(there, filemap.address + table.offsets, fill.ctypes.data)
        self._touched: NDArray[numpy.uint8] = numpy.zeros(tiling.chunk_rows, dtype=numpy.uint8)

    def take(self, rows: Any) -> Any:
        """Return rows in memory of their own; see `MappedRows.take`."""
        self.filemap.check()
        if isinstance(rows, int):
            return self.take(numpy.array([rows]))[0]
        rows = _vector(rows)
        tiling = self.tiling
        batch = memory.empty((len(rows), *self.shape[1:]), self.dtype)
        chunks.gather_tiles(
            self._pointers, rows, tiling.rows, tiling.tiles, tiling.runs, tiling.row_bytes, batch
        )
        return batch


def _vector(rows: Any) -> Any:
    return numpy.arange(rows.start, rows.stop, rows.step) if isinstance(rows, slice) else rows


class CachedChunks:
    """A chunked dataset whose chunks are decoded.

    Parameters
    ----------
    dataset : h5py.Dataset
        The dataset.
    filemap : FileMap or None
        The file, if it is mapped.
    table : ChunkTable or None
        Where the chunks are; None if they are to be read through h5py.
    tiling : Tiling
        How they are laid out.
    pipeline : Pipeline or None
        What was done to them; None if only HDF5 can undo it.
    shape : tuple of int
        The shape of the dataset.
    dtype : numpy.dtype
        The type of the elements.
    fill : numpy.ndarray
        A chunk of the value that stands for what was never written.
    cache : ChunkCache
        Where decoded chunks are kept.

    """

    table: Any = None

    def __init__(
        self,
        dataset: Any,
        filemap: FileMap | None,
        table: ChunkTable | None,
        tiling: Tiling,
        pipeline: Pipeline | None,
        shape: tuple[int, ...],
        dtype: numpy.dtype[Any],
        fill: NDArray[Any],
        cache: ChunkCache,
    ) -> None:
        self.dataset = dataset
        self.filemap = filemap
        self.chunk_table = table
        self.tiling = tiling
        self.pipeline = pipeline
        self.shape = shape
        self.dtype = dtype
        self.cache = cache
        self._fill = fill
        self.shelf = Shelf(tiling.chunk_rows, tiling.tiles)
        self._complained = False
        # The chunk that comes next if the file is read from front to end.
        self._next = 0

    def use(self, shelf: Shelf) -> None:
        """Go on with chunks that were decoded before, if they are laid out as these are."""
        if len(shelf.pointers) == len(self.shelf.pointers) and shelf.tiles == self.shelf.tiles:
            self.shelf = shelf

    def take(self, rows: Any) -> Any:
        """Return rows in memory of their own; see `MappedRows.take`.

        Raises
        ------
        StorageError
            If a chunk cannot be read.

        """
        if isinstance(rows, int):
            return self.take(numpy.array([rows]))[0]
        rows = _vector(rows)
        batch = memory.empty((len(rows), *self.shape[1:]), self.dtype)
        tiling, shelf = self.tiling, self.shelf
        with self.cache.lock:
            absent = chunks.missing(shelf.pointers, rows, tiling.rows, tiling.tiles, shelf.touched)
            if not len(absent):
                self._gather(shelf.pointers, rows, batch, None)
            else:
                self._take_absent(rows, absent, batch)
        return batch

    def _gather(
        self, pointers: NDArray[numpy.int64], rows: Any, batch: NDArray[Any], places: Any
    ) -> None:
        tiling = self.tiling
        chunks.gather_tiles(
            pointers, rows, tiling.rows, tiling.tiles, tiling.runs, tiling.row_bytes, batch, places
        )

    def _take_absent(self, rows: Any, absent: Any, batch: NDArray[Any]) -> None:
        """Take rows of which some are in chunks that are not in the cache."""
        tiling, shelf = self.tiling, self.shelf
        if self.filemap is not None:
            self.filemap.check()
        # In the order of the file: those that are here first, for others may take their room.
        of_chunk = rows // tiling.rows
        here = shelf.pointers[of_chunk * tiling.tiles] != 0
        places = numpy.flatnonzero(here)
        if len(places):
            self._gather(shelf.pointers, rows[places], batch, places)
        order = numpy.argsort(of_chunk, kind="stable")
        order = order[~here[order]]
        bounds = numpy.append(numpy.searchsorted(of_chunk[order], absent), len(order))
        wanted = set(numpy.unique(of_chunk).tolist())
        # So many at a time that what is being decoded takes a quarter of the room of the cache, but
        # never fewer than there are threads for.
        size = tiling.tiles * tiling.chunk_bytes
        together = max(self.cache.limit_bytes // (4 * size), threads.limit())
        for first in range(0, len(absent), together):
            part = absent[first : first + together]
            more = self._ahead(part) if first + together >= len(absent) else []
            decoded = self._decode(part.tolist() + more)
            pointers = _addresses(decoded[: len(part)])
            places = order[bounds[first] : bounds[min(first + together, len(absent))]]
            within = numpy.searchsorted(part, of_chunk[places])
            self._gather(pointers, within * tiling.rows + rows[places] % tiling.rows, batch, places)
            wanted.update(more)
            for row, row_chunks in zip(part.tolist() + more, decoded, strict=True):
                self.cache.put(shelf, row, row_chunks, wanted)

    def _ahead(self, absent: Any) -> list[int]:
        """Return the chunks to be decoded besides, by threads that would be idle.

        There are some where the file is read from front to end, so that these come next.
        """
        tiling, shelf = self.tiling, self.shelf
        stop = int(absent[-1]) + 1
        follows, self._next = int(absent[0]) == self._next, stop
        count = -(len(absent) * tiling.tiles) % threads.limit() // tiling.tiles
        size = tiling.tiles * tiling.chunk_bytes
        if not follows or not count or (len(absent) + count) * size > self.cache.limit_bytes:
            return []
        rows = range(stop, min(stop + count, tiling.chunk_rows))
        self._next = rows.stop
        return [row for row in rows if not shelf.pointers[row * tiling.tiles]]

    def _decode(self, chunk_rows: list[int]) -> list[list[NDArray[Any]]]:
        """Return the chunks of some rows of chunks."""
        tiles = self.tiling.tiles
        jobs = [(row * tiles + tile,) for row in chunk_rows for tile in range(tiles)]
        if len(jobs) == 1:
            return [[self._chunk(jobs[0][0])]]
        found = threads.run(self._chunk, jobs)
        return [found[place : place + tiles] for place in range(0, len(found), tiles)]

    def _chunk(self, number: int) -> NDArray[Any]:
        """Return one chunk; it has memory of its own, or is the one that stands for nothing."""
        table = self.chunk_table
        if table is None or self.pipeline is None:
            return self._through_hdf5(number)
        size = int(table.sizes[number])
        if not size:
            return self._fill
        try:
            return self.pipeline.decode(self._raw(number, size), int(table.masks[number]))
        except (StorageError, MemoryError):
            raise
        except Exception as error:  # whatever decoders raise of what they do not understand
            if not self._complained:
                self._complained = True
                _log.debug("%s: %s; reading through HDF5", self.dataset.name, error)
            return self._through_hdf5(number)

    def _raw(self, number: int, size: int) -> Any:
        """Return a chunk as it is in the file."""
        assert self.chunk_table is not None
        if self.filemap is not None:
            first = int(self.chunk_table.offsets[number])
            return self.filemap.content.data[first : first + size]
        return self.dataset.id.read_direct_chunk(self.tiling.corner(number))[1]

    def _through_hdf5(self, number: int) -> NDArray[Any]:
        corner, tiling = self.tiling.corner(number), self.tiling
        inside = tuple(
            slice(first, min(first + part, size))
            for first, part, size in zip(corner, tiling.chunks, self.shape, strict=True)
        )
        try:
            data = self.dataset[inside]
        except OSError as error:
            raise StorageError(
                f"{self.dataset.file.filename!r} does not deliver the chunk of "
                f"{self.dataset.name!r} at {corner}: {error}; the file is damaged or its "
                "compression filter is not installed: make it again, or install the filter "
                "(`pip install hdf5plugin`)"
            ) from error
        if data.shape == tiling.chunks:
            return numpy.ascontiguousarray(data)
        chunk = numpy.zeros(tiling.chunks, dtype=self.dtype)
        chunk[tuple(slice(0, size) for size in data.shape)] = data
        return chunk


def _addresses(decoded: list[list[NDArray[Any]]]) -> NDArray[numpy.int64]:
    """Return where chunks are, whether or not the cache keeps them."""
    return numpy.array(
        [chunk.ctypes.data for chunks_of_row in decoded for chunk in chunks_of_row],
        dtype=numpy.int64,
    )
