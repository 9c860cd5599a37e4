"""`PytablesDataset`: examples in an HDF5 file that was written by PyTables.

PyTables is imported when such a dataset is made. New files are better read by `H5PYDataset`.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Sequence
from typing import Any

import numpy

from fuel.datasets._dataset import Dataset
from fuel.datasets._h5_handles import open_hdf5, opening_error
from fuel.datasets._requests import Rows, merge, normalise, take
from fuel.exceptions import StorageError
from fuel.io.hdf5.store import Store
from fuel.schemes._sequential import SequentialExampleScheme
from fuel.typing import Request, Spec
from fuel.utils._pickling import do_not_pickle_attributes

__all__ = ["PytablesDataset"]


@do_not_pickle_attributes("nodes", "h5file")
class PytablesDataset(Dataset):
    """Reads examples from the nodes of a PyTables file.

    Parameters
    ----------
    path : path
        The file.
    sources : sequence of str
        What to call the sources.
    start : int, optional
        The first row to use.
    stop : int, optional
        The row after the last; by default the number of rows of the first node.
    data_node : str, optional
        The group whose children are read.
    sources_in_file : sequence of str, optional
        The names of the nodes in that group, one for each source; the same as `sources` by
        default.

    Attributes
    ----------
    num_examples : int
        `stop` - `start`.
    h5file : tables.File
        The open file; opened when it is needed, never pickled.
    nodes : list of tables.Leaf
        The nodes in the order of `sources`, never pickled.

    Raises
    ------
    ValueError
        If `start` and `stop` do not lie within the nodes.
    fuel.exceptions.StorageError
        If the file, or a node in it, is missing or damaged.

    Notes
    -----
    The file is open from the beginning, and closed by `close_file` or when the dataset is garbage
    collected. A forked process opens it again for itself. PyTables does not allow reading from
    several threads at once.

    Examples
    --------
    >>> import os, tempfile, numpy, tables
    >>> from fuel.datasets.hdf5 import PytablesDataset
    >>> directory = tempfile.TemporaryDirectory()
    >>> path = os.path.join(directory.name, 'numbers.h5')
    >>> with tables.open_file(path, 'w') as f:
    ...     group = f.create_group('/', 'Data')
    ...     _ = f.create_array(group, 'x', numpy.arange(10))
    >>> dataset = PytablesDataset(path, ('x',), start=2)
    >>> dataset.get_data(request=slice(0, 3))
    (array([2, 3, 4]),)
    >>> dataset.close_file()
    >>> directory.cleanup()

    """

    # Set by the decorator.
    nodes: Any
    h5file: Any

    def __init__(
        self,
        path: str | os.PathLike[str],
        sources: Sequence[str],
        start: int = 0,
        stop: int | None = None,
        data_node: str = "Data",
        sources_in_file: Sequence[str] | None = None,
    ) -> None:
        self.path = os.fsdecode(path)
        self.provides_sources = (sources,) if isinstance(sources, str) else tuple(sources)
        names = self.provides_sources if sources_in_file is None else tuple(sources_in_file)
        if len(names) != len(self.provides_sources):
            raise ValueError(
                "`sources_in_file` must name one node for each source, got "
                f"{names} for {self.provides_sources}"
            )
        self.sources_in_file, self.data_node = names, data_node
        super().__init__(self.provides_sources)
        self.start, self.stop = start, stop
        self.load()
        rows = {name: len(node) for name, node in zip(self.sources, self.nodes, strict=True)}
        self.stop = len(self.nodes[0]) if stop is None else stop
        if not 0 <= start <= self.stop <= min(rows.values()):
            self.close_file()
            raise ValueError(
                "`start` and `stop` must lie within the rows of every node, got "
                f"start={start} and stop={self.stop} for {rows} rows"
            )
        self.num_examples = self.stop - self.start
        self.example_iteration_scheme = SequentialExampleScheme(self.num_examples)

    def open_file(self, path: str) -> None:
        """Open a file, and find the nodes.

        Parameters
        ----------
        path : str
            The file.

        Raises
        ------
        fuel.exceptions.StorageError
            If it, or a node, is missing or damaged.

        """
        import tables

        try:
            h5file = tables.open_file(path, mode="r")
        except (OSError, tables.HDF5ExtError, ValueError) as error:
            raise opening_error(path, error) from error
        try:
            nodes = [h5file.get_node(f"/{self.data_node}/{name}") for name in self.sources_in_file]
        except tables.NoSuchNodeError as error:
            h5file.close()
            raise StorageError(
                f"{path!r} does not have the nodes {self.sources_in_file} in the group "
                f"{self.data_node!r}: {error}; set `data_node` and `sources_in_file` to what the "
                "file has (`ptdump` shows it)"
            ) from error
        self.h5file, self.nodes, self._pid = h5file, nodes, os.getpid()
        weakref.finalize(self, _close, h5file, os.getpid())

    def load(self) -> None:
        """Open the file under `path`."""
        self.open_file(self.path)

    def close_file(self) -> None:
        """Close the file. Reading opens it again."""
        h5file = self.__dict__.pop("_h5file", None)
        self.__dict__.pop("_nodes", None)
        self.__dict__.pop("_quick", None)
        if h5file is not None:
            _close(h5file, self._pid)

    def _open_nodes(self) -> Any:
        if "_nodes" not in self.__dict__ or self._pid != os.getpid() or not self.h5file.isopen:
            self.load()
        return self.nodes

    @property
    def specs(self) -> dict[str, Spec]:
        """dict: Shape and type of one example of each source, known before reading."""
        specs = {}
        for source, node in zip(self.sources, self._open_nodes(), strict=True):
            if node._c_classid == "VLARRAY":
                dtype = node.atom.dtype
                specs[source] = Spec((None, *dtype.shape), dtype.base)
            else:
                specs[source] = Spec(tuple(map(int, node.shape[1:])), node.dtype)
        return specs

    def get_data(self, state: Any = None, request: Request = None) -> tuple[Any, ...]:
        """Fetch what a request names.

        Parameters
        ----------
        state : None
            There is none.
        request : int, slice, list, tuple, range or ndarray
            As for `H5PYDataset`, counted from `start`.

        Returns
        -------
        tuple
            One item per source, in the order of `sources`.

        Raises
        ------
        fuel.exceptions.RequestError
            If the request names examples that are not there, or none.
        ValueError
            If there is no request, or one of an unsuitable type.

        """
        if request is None:
            raise ValueError(
                f"{type(self).__name__} needs a request, got None; give the stream an iteration "
                "scheme"
            )
        rows = normalise(request, self.num_examples, type(self).__name__)
        rows = merge(slice(self.start, self.stop), rows)
        nodes = self._open_nodes()
        if not isinstance(rows, numpy.ndarray):
            return tuple(_read(node, rows) for node in nodes)
        quick = self._quick_rows()
        return tuple(
            [
                _read(node, rows) if reader is None else reader.take(rows)
                for node, reader in zip(nodes, quick, strict=True)
            ]
        )

    def _quick_rows(self) -> list[Any]:
        """Return for each node what reads rows in any order faster than PyTables, or None."""
        known = self.__dict__.get("_quick")
        if known is not None and known.pid != os.getpid():
            # To close it here would drop a lock that the parent has, too.
            _INHERITED.append(known)
        if known is None or known.h5file is not self.h5file:
            known = self._quick = _QuickRows(self.h5file, self.path, self.nodes)
        readers: list[Any] = known.readers
        return readers


#: What a forked process inherited.
_INHERITED: list[Any] = []


class _QuickRows:
    """The nodes of a file as plain HDF5 datasets, where they are nothing else.

    Parameters
    ----------
    h5file : tables.File
        The file as PyTables has it open.
    path : str
        The file.
    nodes : list of tables.Node
        The nodes.

    """

    def __init__(self, h5file: Any, path: str, nodes: list[Any]) -> None:
        self.h5file = h5file
        self.pid = os.getpid()
        self.readers: list[Any] = [None] * len(nodes)
        plain = [
            place
            for place, node in enumerate(nodes)
            if node._c_classid in ("ARRAY", "CARRAY", "EARRAY") and node.flavor == "numpy"
        ]
        if not plain:
            return
        try:
            # A second library looks at the same file, so it may not be a handle of the first.
            file = self._file = open_hdf5(path)
            store = Store(file, path)
            for place in plain:
                name = nodes[place]._v_pathname
                if (
                    file[name].dtype == nodes[place].dtype
                    and file[name].shape == nodes[place].shape
                ):
                    self.readers[place] = store.rows(name)
        except (OSError, KeyError, RuntimeError):
            self.readers = [None] * len(nodes)

    def __reduce__(self) -> Any:
        return (_nothing, ())


def _nothing() -> None:
    """Stand for the rows of an unpickled dataset: it has none yet."""


def _read(node: Any, rows: Rows) -> Any:
    if not isinstance(rows, numpy.ndarray):
        return node[rows]
    unique, places = numpy.unique(rows, return_inverse=True)
    first, last = int(unique[0]), int(unique[-1])
    gapless = last - first + 1 == len(unique)
    if gapless:
        data = node[first : last + 1]
    elif node._c_classid in ("TABLE", "VLARRAY"):
        data = node[unique.tolist()]
    else:
        # A bare list would name elements, one coordinate for each axis.
        data = node[(unique.tolist(), *[slice(None)] * (node.ndim - 1))]
    return take(data, places.reshape(-1))


def _close(h5file: Any, pid: int) -> None:
    """Close a file, unless it was inherited from a parent process."""
    if pid == os.getpid() and h5file.isopen:
        h5file.close()
