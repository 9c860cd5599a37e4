"""Rows of a dataset that lies in the file as one piece: gathered from the map, or read in place.

What is in the file is handed out as it is, so this is only for elements whose form in the file is
that in memory (``_layout`` sees to it).
"""

from __future__ import annotations

import math
import os
from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.exceptions import StorageError
from fuel.io.hdf5._mapping import FileMap, OpenFile
from fuel.kernels import memory
from fuel.kernels.gather import gather

__all__ = ["MappedRows", "ReadRows", "can_read_in_place"]


class MappedRows:
    """A dataset in a mapped file.

    Parameters
    ----------
    filemap : FileMap
        The file.
    first : int
        Where the dataset begins, in bytes.
    shape : tuple of int
        The shape of the dataset.
    dtype : numpy.dtype
        The type of its elements.

    Attributes
    ----------
    table : numpy.ndarray
        All rows; read-only, a window on the file.

    """

    def __init__(
        self, filemap: FileMap, first: int, shape: tuple[int, ...], dtype: numpy.dtype[Any]
    ) -> None:
        self.filemap = filemap
        self.table: NDArray[Any] = filemap.array(first, shape, dtype)
        # Kernels read elements where their type lies; bytes lie everywhere.
        self._bytes = None
        if not self.table.flags.aligned or dtype.kind not in "biufc":
            row_bytes = math.prod(shape[1:]) * dtype.itemsize
            self._bytes = filemap.array(first, (shape[0], row_bytes), numpy.dtype(numpy.uint8))

    def take(self, rows: Any) -> Any:
        """Return rows in memory of their own.

        Parameters
        ----------
        rows : int, slice or ndarray of int64
            Existing rows.

        Returns
        -------
        numpy.ndarray or scalar
            The rows, or the one.

        """
        self.filemap.check()
        table = self.table
        if isinstance(rows, numpy.ndarray):
            if self._bytes is None:
                return gather(table, rows)
            taken = gather(self._bytes, rows)
            return taken.view(table.dtype).reshape(len(rows), *table.shape[1:])
        taken = table[rows]
        if isinstance(rows, slice):
            fresh = memory.empty(taken.shape, taken.dtype)
            fresh[...] = taken
            return fresh
        return taken.copy()


def can_read_in_place() -> bool:
    """Tell whether this system can read a stretch of a file without moving its position."""
    return hasattr(os, "preadv")


class ReadRows:
    """A dataset in a file that is not mapped: each row is read where it is.

    Parameters
    ----------
    file : OpenFile
        The file.
    first : int
        Where the dataset begins, in bytes.
    shape : tuple of int
        The shape of the dataset.
    dtype : numpy.dtype
        The type of its elements.

    """

    table: Any = None

    def __init__(
        self,
        file: OpenFile,
        first: int,
        shape: tuple[int, ...],
        dtype: numpy.dtype[Any],
    ) -> None:
        self.file = file
        self.first = first
        self.shape = shape
        self.dtype = dtype
        self.row_bytes = math.prod(shape[1:]) * dtype.itemsize

    def take(self, rows: Any) -> Any:
        """Return rows in memory of their own; see `MappedRows.take`.

        Raises
        ------
        StorageError
            If the file ends before them.

        """
        if isinstance(rows, int):
            return self.take(numpy.array([rows]))[0]
        if isinstance(rows, slice):
            if rows.step == 1:
                return self._read(rows.start, rows.stop - rows.start)
            rows = numpy.arange(rows.start, rows.stop, rows.step)
        if len(rows) > 1 and bool((numpy.diff(rows) == 1).all()):
            return self._read(int(rows[0]), len(rows))
        batch = memory.empty((len(rows), *self.shape[1:]), self.dtype)
        bare = batch.reshape(-1).view(numpy.uint8).data
        for place, row in enumerate(rows.tolist()):
            self._fill(bare[place * self.row_bytes : (place + 1) * self.row_bytes], row)
        return batch

    def _read(self, row: int, count: int) -> NDArray[Any]:
        batch = memory.empty((count, *self.shape[1:]), self.dtype)
        self._fill(batch.reshape(-1).view(numpy.uint8).data, row)
        return batch

    def _fill(self, part: memoryview, row: int) -> None:
        place = self.first + row * self.row_bytes
        while part:
            count = os.preadv(self.file.descriptor, [part], place)
            if not count:
                raise StorageError(
                    f"{self.file.path!r} ends at byte {place}, before row {row} does; it was "
                    "truncated: restore it, and make the dataset anew"
                )
            part, place = part[count:], place + count
