"""Rows of elements of variable length: found and copied in the mapped file, many at a time.

A dataset of them holds descriptors only, which say where in the file's heap the elements are
(`fuel.kernels.heap` knows its form). Whatever is odd about one is left to HDF5, which words the
error.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.io.hdf5._chunked import CachedChunks
from fuel.io.hdf5._mapping import FileMap
from fuel.io.hdf5._selection import SelectedRows
from fuel.kernels import heap

__all__ = ["DESCRIPTOR_BYTES", "DescriptorChunks", "VariableRows"]

#: The size of a descriptor where addresses have 64 bits.
DESCRIPTOR_BYTES = 16


class DescriptorChunks(CachedChunks):
    """Chunks of descriptors, which HDF5 does not give away."""

    def _through_hdf5(self, number: int) -> NDArray[Any]:
        raise LookupError(f"chunk {number} of descriptors cannot be read")


class VariableRows:
    """A dataset of elements of variable length in a mapped file.

    Parameters
    ----------
    dataset : h5py.Dataset
        The dataset, of one dimension.
    filemap : FileMap
        The file.
    descriptors : fuel.io.hdf5 rows
        What gives the descriptors, 16 bytes each.
    base : numpy.dtype or None
        The type of what the elements consist of; None for texts, which come as bytes.
    block : int
        The bytes in the file before the first one that HDF5 counts.

    """

    table: Any = None

    def __init__(
        self,
        dataset: Any,
        filemap: FileMap,
        descriptors: Any,
        base: numpy.dtype[Any] | None,
        block: int,
    ) -> None:
        self.filemap = filemap
        self.descriptors = descriptors
        self.base = base
        self.block = block
        self._selected = SelectedRows(dataset)

    def take(self, rows: Any) -> Any:
        """Return rows in memory of their own.

        Parameters
        ----------
        rows : int, slice or ndarray of int64
            Existing rows.

        Returns
        -------
        numpy.ndarray of object, or the one element
            Vectors, or bytes.

        """
        if isinstance(rows, int):
            return self.take(numpy.array([rows]))[0]
        if isinstance(rows, slice):
            rows = numpy.arange(rows.start, rows.stop, rows.step)
        try:
            found = self.descriptors.take(rows)
        except LookupError:
            return self._selected.take(rows)
        file = self.filemap.content
        item = 1 if self.base is None else self.base.itemsize
        starts, lengths, good = heap.locate(
            file, found.view(numpy.uint8).reshape(-1, DESCRIPTOR_BYTES), self.block, item
        )
        if not good:
            return self._selected.take(rows)
        if self.base is not None:
            return heap.take_arrays(file, starts, lengths, self.base)
        texts = numpy.empty(len(rows), dtype=object)
        texts[:] = heap.take_bytes(file, starts, lengths)
        return texts
