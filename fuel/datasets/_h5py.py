"""`H5PYDataset`: examples in an HDF5 file, read from disk or kept in memory.

This is the class alone. What a file contains is told by ``_h5_layout`` and ``_splits``, files are
opened and counted in ``_h5_handles``, rows are read in ``_h5_read``, and ``_requests`` says which
requests are legal.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy

from fuel.datasets import _h5_layout, _splits
from fuel.datasets._h5_attributes import LazyAttributes
from fuel.datasets._h5_handles import HandleTable, References, noticing_damage
from fuel.datasets._h5_read import part_of
from fuel.datasets._h5_store import Tables, layout_of, take_stored
from fuel.datasets._requests import merge, normalise, take_vector
from fuel.exceptions import StorageError
from fuel.io.hdf5.store import DEFAULT_BYTES, Store
from fuel.schemes._chunk_order import ChunkLayout
from fuel.schemes._sequential import SequentialExampleScheme
from fuel.typing import Request, Spec
from fuel.utils._subset import Subset
from fuel.utils.cache import cache_file

if TYPE_CHECKING:
    import h5py

__all__ = ["H5PYDataset"]

_TABLE = HandleTable()


class H5PYDataset(LazyAttributes):
    """Reads examples from an HDF5 file.

    The datasets in the file are the sources; the attribute `split` of the root group says which
    of their rows make up which split (see `create_split_array`). A file without that attribute
    can be read as well: all of its datasets are sources then, those in groups under the names
    ``'group/name'``, and must have the same length. Dimension labels are the axis labels.

    Parameters
    ----------
    file_or_path : path or h5py.File
        The file. An open one is used as it is and never closed.
    which_sets : iterable of str, optional
        The splits to read. Several are united, in the order of the rows in the file. Leave it
        out for a file that has no splits.
    subset : slice, list, range or ndarray, optional
        Use only these examples, counted within the splits. Their order and repetitions do not
        matter; ``[]`` is a dataset without examples. All by default.
    load_in_memory : bool, optional
        Whether to read everything chosen at once, and answer from memory.
    driver : str, optional
        An HDF5 file driver, see `h5py.File`.
    sort_indices : bool, optional
        Whether to read the rows of a list in increasing order, which HDF5 demands, and put them
        in the order asked for afterwards. With False, a list that is not increasing is a
        TypeError from h5py.
    subset_order : {'sorted', 'given'}, optional
        Whether the examples keep the order of the rows in the file, each once; or the order and
        the repetitions of `subset` and of a split's list of row numbers.
    copy : bool, optional
        With False, a request for examples that follow one another is answered by a read-only
        window on the memory or the mapped file, where there is one. By default what is handed
        out is the caller's own.
    chunk_cache_bytes : int, optional
        How many bytes of decompressed chunks to keep, for all sources together; by default 256
        MiB. Only files with compressed chunks need any. A cache that holds all of the data makes
        shuffling a compressed file as fast as memory; see `ChunkShuffledScheme` for larger files.
    **kwargs
        ``sources`` (their order is that of the data returned) and ``axis_labels`` (by default
        those in the file), see `Dataset`.

    Attributes
    ----------
    path : str
        The file. Assign another one if it was moved while the dataset was pickled.
    provides_sources : tuple of str
        The sources that all of the splits have, sorted.
    vlen_sources : tuple of str
        The sources whose examples have different shapes.
    default_axis_labels : dict
        The axis labels in the file, for all of its sources.
    user_given_subset : slice, list, range or ndarray
        `subset`; ``slice(None)`` if it was not given.

    Raises
    ------
    ValueError
        If the splits are not there or have no source in common, the subset leaves them, or the
        sources to be read have different lengths.
    fuel.exceptions.StorageError
        If the file is missing, damaged, locked or not laid out as described.

    Notes
    -----
    A source of variable length is a one-dimensional dataset of flattened examples, whose first
    dimension has two scales attached: ``shapes``, with shape (examples, axes), and
    ``shape_labels``. A batch of it is a one-dimensional array of objects, which are arrays.

    `open` shares one file handle between all datasets of a process that read the file, `close`
    gives it back. Reading without opening opens the file; the handle is given back by the next
    `close`, or when the dataset is garbage collected. A forked process opens the file itself.
    Several threads may read at once (h5py lets one at a time through).

    Pickles hold neither handles nor data, and can be loaded without the file, which is looked
    for under `path` when it is needed. If the local cache is on, `path` is still the original.

    Examples
    --------
    >>> import os, tempfile, h5py, numpy
    >>> from fuel.datasets import H5PYDataset
    >>> directory = tempfile.TemporaryDirectory()
    >>> path = os.path.join(directory.name, 'numbers.hdf5')
    >>> with h5py.File(path, 'w') as f:
    ...     f['x'] = numpy.arange(10)
    ...     f['y'] = numpy.arange(10) ** 2
    ...     f.attrs['split'] = H5PYDataset.create_split_array(
    ...         {'train': {'x': (0, 8), 'y': (0, 8)}, 'test': {'x': (8, 10), 'y': (8, 10)}})
    >>> train = H5PYDataset(path, which_sets=('train',))
    >>> train.num_examples, train.sources
    (8, ('x', 'y'))
    >>> handle = train.open()
    >>> train.get_data(handle, [6, 2])
    (array([6, 2]), array([36,  4]))
    >>> train.close(handle)
    >>> test = H5PYDataset(path, which_sets=('test',), sources=('y',), load_in_memory=True)
    >>> test.get_data(request=slice(0, 2))
    (array([64, 81]),)
    >>> directory.cleanup()

    """

    interface_version = "0.3"
    # Of datasets that were pickled before there was a choice.
    subset_order = "sorted"
    copy = True
    chunk_cache_bytes = DEFAULT_BYTES
    _ref_counts = _TABLE.ref_counts
    _file_handles = _TABLE.handles

    def __init__(
        self,
        file_or_path: str | os.PathLike[str] | h5py.File,
        which_sets: Iterable[str] | None = None,
        subset: Any = None,
        load_in_memory: bool = False,
        driver: str | None = None,
        sort_indices: bool = True,
        *,
        subset_order: str = "sorted",
        copy: bool = True,
        chunk_cache_bytes: int | None = None,
        **kwargs: Any,
    ) -> None:
        import h5py

        if subset_order not in ("sorted", "given"):
            raise ValueError(f"`subset_order` must be 'sorted' or 'given', got {subset_order!r}")
        self.subset_order = subset_order
        self.copy = copy
        self.chunk_cache_bytes = _cache_size(chunk_cache_bytes)

        if isinstance(file_or_path, h5py.File):
            self.path = os.fspath(file_or_path.filename)
            self.external_file_handle = file_or_path
        else:
            self.path = os.fsdecode(file_or_path)
            self.external_file_handle = None
        self.driver = driver
        self.sort_indices = sort_indices
        if isinstance(which_sets, Iterable) and not isinstance(which_sets, str):
            which_sets = tuple(which_sets)
        if which_sets is not None and not (
            isinstance(which_sets, tuple) and all(isinstance(name, str) for name in which_sets)
        ):
            one = which_sets if isinstance(which_sets, str) else "train"
            raise ValueError(
                "`which_sets` must be a tuple of names of splits, got "
                f"{which_sets!r}; write ({one!r},) for one split"
            )
        self.which_sets = which_sets
        self.user_given_subset = slice(None) if subset is None else subset
        self.load_in_memory = load_in_memory
        with self._reading():
            self._parse_dataset_info()
            kwargs.setdefault("axis_labels", dict(self.default_axis_labels))
            super().__init__(**kwargs)
            self.load()

    def _parse_dataset_info(self) -> None:
        """Read from the file which sources there are, and what their examples look like."""
        with self._reading() as h5file, noticing_damage(self.path):
            self.provides_sources = _h5_layout.sources_of_splits(h5file, self.which_sets)
            self.default_axis_labels = self.get_axis_labels(h5file)
            self.vlen_sources = self.get_vlen_sources(h5file)
            self._specs = _h5_layout.specs_of(h5file, self.provides_sources)

    create_split_array = staticmethod(_splits.create_split_array)
    get_all_splits = staticmethod(_splits.get_all_splits)
    get_all_sources = staticmethod(_h5_layout.get_all_sources)
    get_provided_sources = staticmethod(_splits.get_provided_sources)
    get_vlen_sources = staticmethod(_h5_layout.get_vlen_sources)
    get_axis_labels = staticmethod(_h5_layout.get_axis_labels)
    get_subsets = staticmethod(_splits.get_subsets)

    def load(self) -> None:
        """Find out which rows of the file are ours; and read them, if `load_in_memory`."""
        with self._reading() as h5file:
            self._load_subsets()
            self.data_sources, self.source_shapes = None, None
            self.in_memory_subset = Subset(slice(None), self.num_examples)
            if self.load_in_memory:
                data_sources, source_shapes = [], []
                for source, subset in zip(self.sources, self.subsets, strict=True):
                    data, shapes = self._read(h5file, source, part_of(subset))
                    data_sources.append(data)
                    source_shapes.append(shapes)
                self.data_sources, self.source_shapes = data_sources, source_shapes
                self._loaded_sources = self.sources
                # Chunks that were decompressed on the way are not needed any more.
                self.__dict__.pop("_file_tables", None)

    def _load_subsets(self) -> None:
        if getattr(self, "path", None) is None:
            raise AttributeError(
                f"{type(self).__name__} does not know its file yet; call `H5PYDataset.__init__` "
                "before asking about examples"
            )
        with self._reading() as h5file, noticing_damage(self.path):
            if self.which_sets is None:
                lengths = {source: len(h5file[source]) for source in self.sources}
                parts = [Subset(slice(0, length), length) for length in lengths.values()]
            else:
                given = self.subset_order == "given"
                parts = self.get_subsets(h5file, self.which_sets, self.sources, given)
            subsets = [self._chosen(part) for part in parts]
        lengths = {s: part.num_examples for s, part in zip(self.sources, subsets, strict=True)}
        if len(set(lengths.values())) > 1:
            raise ValueError(
                f"the sources of {self.path!r} must have the same number of examples, got "
                f"{lengths}; choose some that have with `sources`"
            )
        self.subsets = subsets

    def _chosen(self, part: Subset) -> Subset:
        """Return the part of a split that the user chose."""
        chosen = self.user_given_subset
        if isinstance(chosen, slice) and chosen == slice(None):
            return part
        if not isinstance(chosen, slice) and hasattr(chosen, "__len__") and not len(chosen):
            return Subset.empty_subset(part.original_num_examples)
        owner = "the data that `subset` chooses from"
        rows: Any = merge(part_of(part), normalise(chosen, part.num_examples, owner))
        if isinstance(rows, slice) and rows.step != 1:
            rows = list(range(rows.start, rows.stop, rows.step))
        elif isinstance(rows, int):
            raise ValueError(
                f"`subset` must be a slice or a list, got {chosen!r}; use [{chosen!r}]"
            )
        make = _splits.rows_as_given if self.subset_order == "given" else Subset
        return make(rows, part.original_num_examples)

    @property
    def specs(self) -> dict[str, Spec]:
        """dict: Shape and type of one example of each source, known before reading."""
        return {source: self._specs[source] for source in self.sources}

    @property
    def example_iteration_scheme(self) -> Any:
        """IterationScheme: One example after the other, unless set otherwise."""
        try:
            return super().example_iteration_scheme
        except AttributeError:
            return SequentialExampleScheme(self.num_examples)

    @example_iteration_scheme.setter
    def example_iteration_scheme(self, value: Any) -> None:
        self._example_iteration_scheme = value

    @property
    def _references(self) -> References:
        """Our references to the file in this process, shared with no copy of the dataset."""
        references = self.__dict__.get("_file_references")
        if references is None or not references.valid_for(self):
            references = self._file_references = References(_TABLE, self)
        return references

    def _usable_external_handle(self) -> Any:
        """Return the open file that we were given, or None if it cannot be read through here."""
        handle = self.external_file_handle
        if handle is None or not handle:
            return None
        if self._external_pid != os.getpid() and os.path.exists(self.path):
            # Inherited through a fork: reading it would disturb the parent.
            return None
        return handle

    def open(self) -> Any:
        """Open the file, or share the handle if it is open already.

        Returns
        -------
        None
            The handle is kept here, not in a state. In memory there is nothing to open.

        """
        return None if self.load_in_memory else self._out_of_memory_open()

    def _out_of_memory_open(self) -> Any:
        if self._usable_external_handle() is None:
            self._references.add(self.path, cache_file(self.path), self.driver)
        return None

    def close(self, state: Any) -> None:
        """Give the handle back; the last dataset to do so closes the file.

        Parameters
        ----------
        state : None
            What `open` returned.

        """
        if not self.load_in_memory:
            self._out_of_memory_close()

    def _out_of_memory_close(self) -> None:
        if self._usable_external_handle() is None:
            self._references.remove()

    @property
    def _file_handle(self) -> Any:
        """The open file; StorageError (an IOError) if there is none."""
        handle = self._usable_external_handle() or self._references.handle
        if handle:
            return handle
        raise StorageError(f"{self.path!r} is not open; call `open()` of the dataset first")

    @contextmanager
    def _reading(self) -> Iterator[Any]:
        """Have the file open for a while."""
        handle = self._usable_external_handle()
        if handle is not None:
            yield handle
            return
        key, handle = _TABLE.acquire(self.path, cache_file(self.path), self.driver)
        try:
            yield handle
        finally:
            _TABLE.give_back(key)

    def get_data(self, state: Any = None, request: Request = None) -> tuple[Any, ...]:
        """Fetch what a request names.

        Parameters
        ----------
        state : None
            What `open` returned.
        request : int, slice, list, tuple, range or ndarray
            One index for an example; for a batch several indices in any order and with
            repetitions, a slice, or one bool for each example. Counted within the splits and the
            subset.

        Returns
        -------
        tuple
            One item per source, in the order of `sources`; a batch has one more axis in front.

        Raises
        ------
        fuel.exceptions.RequestError
            If the request names examples that are not there, or none.
        ValueError
            If there is no request, or one of an unsuitable type, or a state while in memory.
        fuel.exceptions.StorageError
            If the file cannot be read.

        """
        if self.load_in_memory:
            return self._in_memory_get_data(state, request)
        return self._out_of_memory_get_data(state, request)

    def _in_memory_get_data(self, state: Any = None, request: Request = None) -> tuple[Any, ...]:
        if state is not None or request is None:
            raise ValueError(
                f"{type(self).__name__} needs a request, and no state while it is in memory; got "
                f"state {state!r} and request {request!r}"
            )
        rows = normalise(request, self.num_examples, type(self).__name__)
        return tuple(
            [take_stored(data, rows, False, self.copy) for data in self.data_sources or ()]
        )

    def example_chunks(self) -> ChunkLayout:
        """Tell which examples are stored together, for `ChunkShuffledScheme`.

        Returns
        -------
        ChunkLayout
            The chunks of the source with the largest examples among those that have chunks. Where
            none has, as many examples as fit into a mebibyte.

        """
        with self._reading() as h5file, noticing_damage(self.path):
            return layout_of(h5file, self.sources, self.subsets)

    def _tables(self) -> list[Any]:
        """Return the container of each source, row i of which is example i."""
        name = "_in_memory_get_data" if self.load_in_memory else "_out_of_memory_get_data"
        if getattr(type(self), name) is not getattr(H5PYDataset, name):
            return []  # a subclass answers requests in its own way
        if self.load_in_memory:
            return list(self.data_sources or ()) if self.num_examples else []
        known: Tables | None = self.__dict__.get("_file_tables")
        if known is not None and known.is_of(self):
            return known.current()
        h5file = self._usable_external_handle() or self._references.handle
        if h5file is None or not self.sort_indices or not self.num_examples:
            return []  # requests are answered, or refused, one by one
        if known is None or not known.valid_for(h5file, self.sources, self.subsets):
            known = self._open_tables(h5file)
        return [] if known.store.changing else known.current()

    def _take(self, table: Any, rows: Any, borrow: bool = False) -> Any:
        """Answer a vector of indices from one of them."""
        if self.copy and type(table) is numpy.ndarray:
            return take_vector(table, rows, borrow)
        return take_stored(table, rows, borrow, self.copy)

    def _open_tables(self, h5file: Any) -> Tables:
        """Find out how to read our rows of an open file."""
        known = self.__dict__.get("_file_tables")
        with noticing_damage(self.path):
            if known is not None and known.store.belongs_to(h5file):
                store = known.store
            else:
                ours = h5file is not self.external_file_handle and self.driver is None
                path = h5file.filename if ours else None
                store = Store(h5file, path, self.chunk_cache_bytes, known and known.store)
            variable = {
                source: _h5_layout.shapes_of(h5file[source]).name
                for source in self.sources
                if source in self.vlen_sources
            }
            tables = Tables(store, self.path, self.sources, self.subsets, variable)
        self._file_tables = tables
        return tables

    def _out_of_memory_get_data(
        self, state: Any = None, request: Request = None
    ) -> tuple[Any, ...]:
        if request is None:
            raise ValueError(
                f"{type(self).__name__} needs a request, got None; use an iteration scheme"
            )
        rows = normalise(request, self.subsets[0].num_examples, type(self).__name__)
        try:
            h5file = self._file_handle
        except OSError:
            self._references.add(self.path, cache_file(self.path), self.driver, implicit=True)
            h5file = self._file_handle
        if not self.sort_indices and isinstance(rows, numpy.ndarray):
            return tuple(
                self._read(h5file, source, merge(part_of(subset), rows))[0]
                for source, subset in zip(self.sources, self.subsets, strict=True)
            )
        known = self.__dict__.get("_file_tables")
        if known is None or not known.valid_for(h5file, self.sources, self.subsets):
            known = self._open_tables(h5file)
        return tuple([take_stored(table, rows, False, self.copy) for table in known.current()])

    def _read(self, h5file: Any, source: str, rows: Any) -> tuple[Any, Any]:
        """Read rows of a source and, if it is of variable length, the shapes of the examples."""
        known = self.__dict__.get("_file_tables")
        if known is None or not known.valid_for(h5file, self.sources, self.subsets):
            known = self._open_tables(h5file)
        with noticing_damage(self.path):
            return known.read(source, rows, self.sort_indices)


def _cache_size(chunk_cache_bytes: Any) -> int:
    if chunk_cache_bytes is None:
        return DEFAULT_BYTES
    try:
        size = operator.index(chunk_cache_bytes)
    except TypeError:
        size = -1
    if size < 0 or isinstance(chunk_cache_bytes, bool):
        raise ValueError(
            "`chunk_cache_bytes` must be a number of bytes, 0 for no cache, got "
            f"{chunk_cache_bytes!r}"
        )
    return size
