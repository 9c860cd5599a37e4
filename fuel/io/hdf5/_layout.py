"""What a dataset is made of: which way of reading its rows is open.

`rows_of` chooses: from the mapped file where the elements lie there as they do in memory, from
decoded chunks, or through HDF5's own selection where nothing else is safe or understood.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy
from numpy.typing import NDArray

from fuel.io.hdf5._cache import ChunkCache
from fuel.io.hdf5._chunked import CachedChunks, MappedChunks
from fuel.io.hdf5._contiguous import MappedRows, ReadRows, can_read_in_place
from fuel.io.hdf5._decoders import Pipeline
from fuel.io.hdf5._mapping import FileMap, OpenFile
from fuel.io.hdf5._selection import SelectedRows
from fuel.io.hdf5._table import ChunkTable
from fuel.io.hdf5._tiles import Tiling
from fuel.io.hdf5._variable import DESCRIPTOR_BYTES, DescriptorChunks, VariableRows

__all__ = ["Rows", "rows_of"]

#: A table of more chunks than this takes longer to make than most requests, and half a gigabyte.
_MOST_CHUNKS = 10_000_000


class Rows(Protocol):
    """Whatever gives rows of a dataset, in any order, in memory of their own."""

    #: An array over all of them, where there is one.
    table: Any

    def take(self, rows: Any) -> Any:
        """Return rows named by an index, a slice or a vector of indices."""


def rows_of(
    dataset: Any,
    filemap: FileMap | None,
    file: OpenFile | None,
    cache: ChunkCache,
) -> Rows:
    """Choose how to read a dataset.

    Parameters
    ----------
    dataset : h5py.Dataset
        The dataset; nobody writes to it.
    filemap : FileMap or None
        The file, if it is mapped.
    file : OpenFile or None
        The file, open for reading, if it is not mapped.
    cache : ChunkCache
        For chunks that have to be decoded.

    Returns
    -------
    Rows
        How.

    """
    import h5py

    shape, dtype = dataset.shape, dataset.dtype
    if not shape or not math.prod(shape) or h5py.check_dtype(ref=dtype):
        return SelectedRows(dataset)
    properties = dataset.id.get_create_plist()
    layout = properties.get_layout()
    if dtype.hasobject:
        return _variable(dataset, properties, filemap, cache) or SelectedRows(dataset)
    same = _same_in_file(dataset)
    if layout == h5py.h5d.CONTIGUOUS and same:
        return _contiguous(dataset, filemap, file) or SelectedRows(dataset)
    if layout == h5py.h5d.CHUNKED:
        return _chunked(dataset, properties, filemap, cache, same) or SelectedRows(dataset)
    return SelectedRows(dataset)


def _same_in_file(dataset: Any) -> bool:
    """Tell whether the elements lie in the file as they do in memory, byte for byte."""
    import h5py

    inside = dataset.id.get_type()
    try:
        outside = h5py.h5t.py_create(dataset.dtype, logical=True)
    except TypeError:
        return False
    return bool(inside.equal(outside)) and inside.get_size() == dataset.dtype.itemsize


def _contiguous(
    dataset: Any, filemap: FileMap | None, file: OpenFile | None
) -> MappedRows | ReadRows | None:
    first = dataset.id.get_offset()
    size = math.prod(dataset.shape) * dataset.dtype.itemsize
    if first is None or dataset.external:
        # Never written, or in other files.
        return None
    if filemap is not None:
        if not filemap.has(first, size):
            return None
        return MappedRows(filemap, first, dataset.shape, dataset.dtype)
    if file is not None and can_read_in_place():
        return ReadRows(file, first, dataset.shape, dataset.dtype)
    return None


def _chunked(
    dataset: Any, properties: Any, filemap: FileMap | None, cache: ChunkCache, same: bool
) -> MappedChunks | CachedChunks | None:
    shape, dtype, chunks = dataset.shape, dataset.dtype, dataset.chunks
    tiling = Tiling(shape, chunks, dtype.itemsize)
    if not len(tiling.runs) or tiling.chunk_rows * tiling.tiles > _MOST_CHUNKS:
        return None
    pipeline = Pipeline.of(properties, tiling.chunk_bytes) if same else None
    table = None if pipeline is None else ChunkTable.of(dataset, tiling)
    if _userblock(dataset):
        # Versions of HDF5 disagree about whether places of chunks count from behind it.
        filemap = None
    if filemap is not None and table is not None and not table.within(filemap.size):
        table = None
    fill = _fill_chunk(dataset, chunks if table is None or not table.sizes.all() else (0,))
    plain = pipeline is not None and not pipeline.filters
    if plain and table is not None and filemap is not None:
        sized = table.sizes[table.sizes > 0]
        if bool((sized == tiling.chunk_bytes).all()):
            return MappedChunks(filemap, table, tiling, shape, dtype, fill)
    return CachedChunks(dataset, filemap, table, tiling, pipeline, shape, dtype, fill, cache)


def _userblock(dataset: Any) -> int:
    return int(dataset.file.id.get_create_plist().get_userblock())


def _variable(
    dataset: Any, properties: Any, filemap: FileMap | None, cache: ChunkCache
) -> VariableRows | None:
    import h5py

    base = h5py.check_vlen_dtype(dataset.dtype)
    inside = dataset.id.get_type()
    if filemap is None or dataset.ndim != 1 or inside.get_size() != DESCRIPTOR_BYTES:
        return None
    if isinstance(base, numpy.dtype):
        if base.hasobject or not base.isnative:
            return None  # h5py turns the bytes of numbers around, and so must be asked
        if not inside.get_super().equal(h5py.h5t.py_create(base, logical=True)):
            return None
    elif base is None and h5py.check_string_dtype(dataset.dtype) is None:
        return None
    else:
        base = None
    block, count = _userblock(dataset), len(dataset)
    descriptors: Any
    if properties.get_layout() == h5py.h5d.CONTIGUOUS:
        first = dataset.id.get_offset()
        if first is None or dataset.external or not filemap.has(first, count * DESCRIPTOR_BYTES):
            return None
        descriptors = MappedRows(
            filemap, first, (count, DESCRIPTOR_BYTES), numpy.dtype(numpy.uint8)
        )
    elif properties.get_layout() == h5py.h5d.CHUNKED and not block:
        dtype = numpy.dtype(f"V{DESCRIPTOR_BYTES}")
        tiling = Tiling((count,), dataset.chunks, DESCRIPTOR_BYTES)
        if tiling.chunk_rows > _MOST_CHUNKS:
            return None
        pipeline = Pipeline.of(properties, tiling.chunk_bytes)
        table = None if pipeline is None else ChunkTable.of(dataset, tiling)
        if table is None or not table.within(filemap.size):
            return None
        # What was never written is empty: its descriptor is zero.
        fill: NDArray[Any] = numpy.zeros(dataset.chunks, dtype=dtype)
        descriptors = DescriptorChunks(
            dataset, filemap, table, tiling, pipeline, (count,), dtype, fill, cache
        )
    else:
        return None
    return VariableRows(dataset, filemap, descriptors, base, block)


def _fill_chunk(dataset: Any, chunks: tuple[int, ...]) -> NDArray[Any]:
    """Return a chunk of what stands for elements that were never written."""
    return numpy.full(chunks, dataset.fillvalue, dtype=dataset.dtype)
