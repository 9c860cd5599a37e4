"""The tables that an HDF5 dataset offers to whoever reads it batch by batch.

A table of a source has one row for each example, in the dataset's own numbering: a window on the
mapped file where that is possible, else a `StoredTable` that knows how to read rows. How rows get
out of a file is told in `fuel.io.hdf5`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from fuel.datasets._h5_handles import noticing_damage
from fuel.datasets._h5_read import part_of, reshaped
from fuel.datasets._requests import merge, take, take_lent, take_vector
from fuel.exceptions import RequestError
from fuel.io.hdf5._selection import read_rows
from fuel.io.hdf5.store import Store
from fuel.kernels.gather import all_inside
from fuel.schemes._chunk_order import ChunkLayout
from fuel.utils._subset import Subset

__all__ = ["StoredTable", "Tables", "layout_of", "take_stored"]


class StoredTable:
    """The examples of a source, read when they are asked for.

    Parameters
    ----------
    path : str
        The file, for error messages.
    source : str
        The source, for error messages.
    part : slice or ndarray of int64
        The rows of the file that are examples.
    rows : fuel.io.hdf5 rows
        What reads them.
    shapes : fuel.io.hdf5 rows or None
        What reads the shapes of examples of variable length.

    """

    def __init__(self, path: str, source: str, part: Any, rows: Any, shapes: Any) -> None:
        self.path = path
        self.source = source
        self.part = part
        self.rows = rows
        self.shapes = shapes
        #: Where the examples begin; None where they do not follow one another.
        self.first = part.start if isinstance(part, slice) else None
        self.count = part.stop - part.start if isinstance(part, slice) else len(part)

    def __len__(self) -> int:
        return self.count

    def take(self, rows: Any) -> Any:
        """Return examples named by an index, a slice, or a vector of indices."""
        if isinstance(rows, numpy.ndarray) and not all_inside(rows, self.count):
            raise RequestError(f"the rows go from 0 to {self.count - 1}, got {rows!r:.80}")
        where = rows if self.first == 0 else merge(self.part, rows)
        try:
            data = self.rows.take(where)
            if self.shapes is None:
                return data
            return reshaped(data, self.shapes.take(where), self.source)
        except Exception as error:
            with noticing_damage(self.path):
                raise error


class Tables:
    """The tables of a dataset that is open, for as long as nothing about it changes.

    Parameters
    ----------
    store : Store
        The open file.
    path : str
        The file, for error messages.
    sources : tuple of str
        The sources, in their order.
    subsets : list of Subset
        The rows of the file that are examples of each.
    variable : dict of str to str
        The sources of variable length, and where their shapes are.

    Attributes
    ----------
    tables : list
        One for each source.

    """

    def __init__(
        self,
        store: Store,
        path: str,
        sources: tuple[str, ...],
        subsets: list[Subset],
        variable: dict[str, str],
    ) -> None:
        self.store = store
        self.sources = sources
        self.subsets = subsets
        self.variable = variable
        self.tables = [
            self._table(path, source, part_of(subset), variable.get(source))
            for source, subset in zip(sources, subsets, strict=True)
        ]
        self.filemap = store.filemap

    def _table(self, path: str, source: str, part: Any, shapes: str | None) -> Any:
        rows = self.store.rows(source)
        last = part.stop if isinstance(part, slice) else int(part.max()) + 1 if len(part) else 0
        if last > len(self.store.h5file[source]):
            raise IndexError(f"source {source!r} has {len(self.store.h5file[source])} rows")
        table = rows.table
        if table is not None and shapes is None and isinstance(part, slice):
            return table[part]
        return StoredTable(
            path, source, part, rows, None if shapes is None else self.store.rows(shapes)
        )

    def read(self, source: str, rows: Any, sort: bool) -> tuple[Any, Any]:
        """Read rows of the file.

        Parameters
        ----------
        source : str
            The source.
        rows : int, slice or ndarray of int64
            The rows, as the file numbers them.
        sort : bool
            Whether they may be read in another order than the one given.

        Returns
        -------
        data : numpy.ndarray
            The examples.
        shapes : numpy.ndarray or None
            Their shapes, if they are of variable length.

        """
        shapes = self.variable.get(source)
        data = self._rows(source, rows, sort)
        if shapes is None:
            return data, None
        sizes = self._rows(shapes, rows, sort)
        return reshaped(data, sizes, source), sizes

    def _rows(self, name: str, rows: Any, sort: bool) -> Any:
        if sort or not isinstance(rows, numpy.ndarray):
            return self.store.rows(name).take(rows)
        return read_rows(self.store.h5file[name], rows, False)

    def valid_for(self, h5file: Any, sources: Any, subsets: Any) -> bool:
        """Tell whether these still are the tables of a dataset."""
        return (
            self.store.belongs_to(h5file)
            and not self.store.changing
            and self.sources == sources
            and self.subsets is subsets
        )

    def is_of(self, dataset: Any) -> bool:
        """Tell, in the usual case, whether these are the tables of a dataset as it is now.

        It is asked for every batch, so it looks at the attributes themselves.
        """
        state = dataset.__dict__
        references = state.get("_file_references")
        return (
            references is not None
            and references.handle is self.store.h5file
            and self.store.belongs_to(references.handle)
            and references.owner() is dataset
            and state.get("_external_file_handle") is None
            and state.get("_subsets") is self.subsets
            and state.get("_subset_sources") == self.sources == dataset.sources
            and dataset.sort_indices
        )

    def __reduce__(self) -> Any:
        return (_nothing, ())

    def current(self) -> list[Any]:
        """Return the tables; StorageError if the file was truncated meanwhile."""
        if self.filemap is not None:
            self.filemap.check()
        return self.tables


def take_stored(table: Any, rows: Any, borrow: bool, copy: bool) -> Any:
    """Take rows named by an index, a slice or a vector out of a table.

    Parameters
    ----------
    table : numpy.ndarray, list or StoredTable
        The table.
    rows : int, slice or ndarray of int64
        The rows.
    borrow : bool
        See `fuel.datasets._requests.take_vector`.
    copy : bool
        Whether windows on the table are not wanted.

    Returns
    -------
    object
        The rows.

    """
    if isinstance(table, StoredTable):
        return table.take(rows)
    if not copy:
        return take_lent(table, rows)
    if isinstance(rows, numpy.ndarray):
        return take_vector(table, rows, borrow)
    return take(table, rows)


def layout_of(h5file: Any, sources: Any, subsets: list[Subset]) -> ChunkLayout:
    """Tell which examples of a dataset are stored together.

    Parameters
    ----------
    h5file : h5py.File
        The open file.
    sources : tuple of str
        The sources.
    subsets : list of Subset
        The rows of the file that are examples of each.

    Returns
    -------
    ChunkLayout
        That of the source with the largest rows among those that have chunks.

    """
    best, largest, rows = subsets[0], -1, 0
    for source, subset in zip(sources, subsets, strict=True):
        dataset = h5file[source]
        row_bytes = math.prod(dataset.shape[1:]) * dataset.dtype.itemsize
        if dataset.chunks and row_bytes > largest:
            best, largest, rows = subset, row_bytes, dataset.chunks[0]
        elif largest < 0:
            rows = max(rows, 1, 2**20 // max(row_bytes, 1))
    part = part_of(best)
    if isinstance(part, slice):
        return ChunkLayout(part.stop - part.start, rows, part.start)
    return ChunkLayout(len(part), rows, 0, part)


def _nothing() -> None:
    """Stand for the tables of an unpickled dataset: it has none yet."""
