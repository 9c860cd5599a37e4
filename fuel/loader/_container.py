"""A container of observations as a dataset, and a stream that reads it into the same memory.

In this room: `ContainerDataset`, one source for each part of the container, and `BufferedStream`
for ``buffer=True``. Not here: what a container is, and how it is asked (`fuel.observations`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy

from fuel.datasets._dataset import Dataset
from fuel.datasets._requests import normalise, take_vector
from fuel.kernels import memory
from fuel.observations import numobs
from fuel.observations._access import fetch
from fuel.observations._view import View
from fuel.plan import Context, SourceCursor
from fuel.streams._dataset import DataStream

if TYPE_CHECKING:
    from fuel.plan import Start
    from fuel.plan._cursor import Cursor

__all__ = ["BufferedStream", "ContainerDataset", "splits"]

_TABLES = (numpy.ndarray, numpy.memmap)


class ContainerDataset(Dataset):
    """A dataset of one or more containers of the same length.

    Parameters
    ----------
    sources : tuple of str
        What they are called.
    parts : list
        The containers.
    apart : bool, optional
        Whether a batch of a container that answers as it likes is asked for one by one, so that
        it is a list of its observations.

    Notes
    -----
    What is handed out shares no array with the containers.

    """

    def __init__(self, sources: tuple[str, ...], parts: list[Any], apart: bool = False) -> None:
        self.provides_sources = sources
        super().__init__()
        self.indexables = parts
        self._apart = [apart and not splits(part) for part in parts]

    @property
    def num_examples(self) -> int:
        """int: The number of observations."""
        return numobs(self.indexables[0])

    def get_data(self, state: Any = None, request: Any = None) -> tuple[Any, ...]:
        """Fetch observations.

        Parameters
        ----------
        state : None
            There is none.
        request : int, slice, list, tuple, range or ndarray
            As for `fuel.observations.getobs`.

        Returns
        -------
        tuple
            One entry a source.

        """
        rows = normalise(request, self.num_examples, "the data")
        if isinstance(rows, int):
            try:
                return tuple([fetch(part, rows) for part in self.indexables])
            except StopIteration as error:
                raise _no_end(rows) from error
        if isinstance(rows, slice):
            rows = numpy.arange(rows.start, rows.stop, rows.step, dtype=numpy.int64)
        return tuple([self._take(part, rows) for part in self.indexables])

    # -- what it offers to the plan -------------------------------------------------------------

    def _tables(self) -> list[Any]:
        """Return the container of each source."""
        return self.indexables

    def _take(self, table: Any, rows: Any, borrow: bool = False) -> Any:
        """Answer a vector of indices from one of them."""
        kind = type(table)
        if kind in _TABLES or kind is list:
            return take_vector(table, rows, borrow)
        try:
            if any(apart and part is table for apart, part in zip(self._apart, self.indexables)):
                return _one_by_one(table, rows)
            return fetch(table, rows)
        except StopIteration as error:
            raise _no_end(rows) from error


def _no_end(rows: Any) -> RuntimeError:
    return RuntimeError(
        f"the data raised StopIteration when asked for {rows!r:.80}, which is no way to end it; "
        "its `len` says how many observations there are"
    )


def splits(part: Any) -> bool:
    """Tell whether a batch of a container can be taken apart into its observations.

    Parameters
    ----------
    part : container
        The container.

    Returns
    -------
    bool
        True for arrays, lists, and tuples and mappings of them.

    """
    if isinstance(part, Mapping):
        return all(map(splits, part.values()))
    if isinstance(part, tuple):
        return all(map(splits, part))
    if isinstance(part, View):
        return False
    in_file = type(part).__module__.partition(".")[0] == "h5py"
    return isinstance(part, (numpy.ndarray, list, range)) or in_file


def _one_by_one(table: Any, rows: Any) -> list[Any]:
    """Return a list of observations."""
    numbers = rows.tolist()
    if hasattr(type(table), "__getitems__"):
        found = table.__getitems__(numbers)
        if isinstance(found, list):
            if len(found) != len(numbers):
                raise ValueError(
                    f"{type(table).__name__}.__getitems__ was asked for {len(numbers)} "
                    f"observations, and answered with a list of {len(found)}; it must return one "
                    "for each index"
                )
            return found
    return [fetch(table, number) for number in numbers]


class BufferedStream(DataStream):
    """A stream that fetches arrays of numbers into the same memory again and again.

    Parameters
    ----------
    dataset, **kwargs
        As for `fuel.streams.DataStream`.

    Notes
    -----
    An item is valid until the next one is asked for. Each iterator has memory of its own.

    """

    def _make_cursor(self, start: Start) -> Cursor:
        return _BufferedCursor(start, self)


class _BufferedCursor(SourceCursor):
    """The pass of a `BufferedStream`."""

    def __init__(self, start: Start, step: BufferedStream) -> None:
        super().__init__(start, step)
        self.buffers: dict[int, tuple[Any, Any]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "buffers": {}}

    def __next__(self) -> Any:
        if not self.by_rows or not self.examples:
            return super().__next__()
        first = self.requests.position
        try:
            row = next(self.requests)
        except StopIteration:
            self.finished = True
            raise
        data = tuple([self._one(place, table, row) for place, table in enumerate(self.tables())])
        self.context = Context(self.epoch, first, None, self.draws)
        self.delivered()
        return data

    def read(self, rows: Any, request: Any) -> Any:
        """Fetch what was asked for, arrays of numbers into memory that was used before."""
        tables = self.tables() if rows is not None else []
        if not tables:
            return super().read(rows, request)
        return tuple([self._many(place, table, rows) for place, table in enumerate(tables)])

    def _many(self, place: int, table: Any, rows: Any) -> Any:
        if not _is_numeric(table):
            return self.dataset._take(table, rows, False)
        if len(table) < self.step.iteration_scheme.examples:
            return self.dataset._take(table, rows, False)  # which says what is missing
        out = self._buffer(place, table, len(rows))
        if len(out) > len(rows):
            out = out[: len(rows)]
        # Clipping nothing, for all rows are there; to raise an error, NumPy would need a buffer.
        return table.take(rows, 0, out, "clip")

    def _one(self, place: int, table: Any, row: int) -> Any:
        if not _is_numeric(table) or table.ndim < 2:
            return fetch(table, row)
        out = self._buffer(place, table, 1)[0]
        out[...] = table[row]
        return out

    def _buffer(self, place: int, table: Any, size: int) -> Any:
        known, buffer = self.buffers.get(place, (None, None))
        if known is not table or len(buffer) < size:
            buffer = memory.empty((size, *table.shape[1:]), table.dtype)
            self.buffers[place] = table, buffer
        return buffer


def _is_numeric(table: Any) -> bool:
    return type(table) in _TABLES and table.ndim > 0 and table.dtype.kind in "biufc"
