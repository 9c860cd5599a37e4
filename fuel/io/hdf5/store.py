"""The rows of the datasets in one open HDF5 file, each read in the fastest way that is safe.

`Store` is what `fuel.datasets.hdf5` reads through. How a dataset is read is chosen in ``_layout``:
from the mapped file (``_mapping``, ``_contiguous``, ``_tiles``), from decoded chunks (``_chunked``,
``_table``, ``_decoders``, ``_cache``), from the heap of elements of variable length
(``_variable``), or by HDF5 itself (``_selection``). Opening and counting files is not done here.
"""

from __future__ import annotations

import os
import threading
from typing import Any

from fuel.io.hdf5._cache import DEFAULT_BYTES, ChunkCache, Shelf
from fuel.io.hdf5._chunked import CachedChunks
from fuel.io.hdf5._layout import Rows, rows_of
from fuel.io.hdf5._mapping import FileMap, OpenFile, map_file, open_same
from fuel.io.hdf5._selection import SelectedRows

__all__ = ["DEFAULT_BYTES", "Store"]


class Store:
    """What can be read from an open file.

    Parameters
    ----------
    h5file : h5py.File
        The file.
    path : str or None
        Its path if we opened it ourselves with the default driver: then it may be mapped.
    cache_bytes : int, optional
        How many bytes of decoded chunks to keep, for all datasets of the file together.
    before : Store, optional
        What was made for the file when it was open before: if nothing was written to it since, the
        chunks that were decoded then are used again.

    Notes
    -----
    Several threads may read at once. A store is for the process that made it, and only as long as
    the file is open; it is not pickled with whoever has it.

    """

    def __init__(
        self,
        h5file: Any,
        path: str | None,
        cache_bytes: int = DEFAULT_BYTES,
        before: Store | None = None,
    ) -> None:
        self.h5file = h5file
        self.path = path
        self.cache = ChunkCache(cache_bytes)
        self._shelves: dict[str, Shelf] = {}
        self._pid = os.getpid()
        self._identity = None if path is None else _identity(h5file)
        if (
            before is not None
            and self._identity is not None
            and self._identity == before._identity
            and self._pid == before._pid
            and self.cache.limit_bytes == before.cache.limit_bytes
        ):
            self.cache, self._shelves = before.cache, before._shelves
        self._rows: dict[str, tuple[Any, Rows]] = {}
        self._lock = threading.Lock()
        self._filemap: FileMap | None = None
        self._file: OpenFile | None = None
        self._looked = False
        #: Whether somebody may be writing: then what HDF5 says at the moment is all that counts.
        self.changing: bool = h5file.mode != "r" or h5file.swmr_mode

    def belongs_to(self, h5file: Any) -> bool:
        """Tell whether this is the store of a file, in this process."""
        return self.h5file is h5file and self._pid == os.getpid()

    def rows(self, name: str) -> Rows:
        """Return what reads a dataset.

        Parameters
        ----------
        name : str
            The dataset.

        Returns
        -------
        Rows
            Its rows.

        Raises
        ------
        KeyError
            If there is no such dataset.

        """
        known = self._rows.get(name)
        if known is not None:
            return known[1]
        with self._lock:
            dataset = self.h5file[name]
            rows = self._choose(dataset)
            if isinstance(rows, CachedChunks):
                rows.use(self._shelves.setdefault(name, rows.shelf))
            if not self.changing:
                self._rows[name] = dataset, rows
            return rows

    def _choose(self, dataset: Any) -> Rows:
        if self.changing:
            return SelectedRows(dataset)
        if not _is_inside(dataset, self.h5file):
            # Behind a link to another file: its places are places there.
            return rows_of(dataset, None, None, self.cache)
        self._look()
        return rows_of(dataset, self._filemap, self._file, self.cache)

    def _look(self) -> None:
        """Map the file, or open it a second time, once."""
        if self._looked:
            return
        self._looked = True
        if self.path is None:
            return
        self._filemap = map_file(self.path, self.h5file)
        if self._filemap is None:
            self._file = open_same(self.path, self.h5file)

    @property
    def filemap(self) -> FileMap | None:
        """FileMap or None: The file, if it is mapped."""
        self._look()
        return self._filemap

    def __reduce__(self) -> Any:
        return (_nothing, ())


def _identity(h5file: Any) -> tuple[int, ...] | None:
    """Return what tells a file, as it is now, from any other; None where nothing does."""
    if os.name != "posix":
        return None
    try:
        status = os.fstat(h5file.id.get_vfd_handle())
    except (OSError, NotImplementedError, RuntimeError, TypeError):
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _is_inside(dataset: Any, h5file: Any) -> bool:
    """Tell whether a dataset is in a file itself."""
    from h5py import h5o

    return bool(h5o.get_info(dataset.id).fileno == h5o.get_info(h5file.id).fileno)


def _nothing() -> None:
    """Stand for the store of an unpickled dataset: it has none yet."""
