"""An order for data that is stored in chunks: chunks are shuffled, then examples among neighbours.

In this module: `ChunkLayout`, which says what is stored together, and `ChunkOrder`, the order of
one epoch. The schemes that make requests of it are in ``_chunk_shuffled``.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.kernels.permutation import Permutation

__all__ = ["ChunkLayout", "ChunkOrder"]


class ChunkLayout:
    """Which examples are stored together.

    Parameters
    ----------
    count : int
        The number of examples.
    rows : int
        How many examples a chunk holds.
    first : int, optional
        How many rows of the first chunk come before the first example.
    numbers : ndarray of int64, shape (count,), optional
        The row of each example, counted from the beginning of a chunk, where they do not follow
        one another; `first` is not looked at then.

    Attributes
    ----------
    count, rows, first, numbers
        As given.
    chunks : int
        How many chunks hold examples.

    Raises
    ------
    ValueError
        If a number is negative, or a chunk holds nothing.

    """

    def __init__(
        self, count: int, rows: int, first: int = 0, numbers: NDArray[numpy.int64] | None = None
    ) -> None:
        if count < 0 or rows < 1 or first < 0:
            raise ValueError(
                "a layout needs a number of examples and chunks of at least one row, got "
                f"count={count}, rows={rows}, first={first}"
            )
        self.count = count
        self.rows = rows
        self.first = first % rows
        self.numbers = numbers
        if numbers is None:
            self.chunks = -(-(self.first + count) // rows) if count else 0
        else:
            self.chunks = len(numpy.unique(numbers // rows))

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.count} examples in {self.chunks} chunks of {self.rows})"
        )


class ChunkOrder:
    """The order of one epoch.

    The chunks are put in a shuffled order and taken `window` at a time; the examples of a window
    are shuffled among themselves. Which examples lie in incomplete chunks, at most two in a row of
    examples without gaps, join one of the windows, chosen anew each epoch.

    Parameters
    ----------
    seed, epoch : int
        What the order depends on.
    layout : ChunkLayout
        What is stored together.
    window : int
        How many chunks are mixed.

    Attributes
    ----------
    count : int
        The number of examples.

    """

    def __init__(self, seed: int, epoch: int, layout: ChunkLayout, window: int) -> None:
        self.seed = seed
        self.epoch = epoch
        self.layout = layout
        self.window = window
        self.count = layout.count
        plan = _Even if layout.numbers is None else _Uneven
        self._plan: Any = plan(seed, epoch, layout, window)
        self._last: tuple[int, Permutation] | None = None

    def __reduce__(self) -> Any:
        return type(self), (self.seed, self.epoch, self.layout, self.window)

    def block(self, start: int, size: int) -> NDArray[numpy.int64]:
        """Return the examples at some places of the order.

        Parameters
        ----------
        start : int
            The first place.
        size : int
            How many places; all must exist.

        Returns
        -------
        ndarray of int64, shape (size,)
            The examples.

        """
        plan: Any = self._plan
        parts: list[NDArray[numpy.int64]] = []
        stop = start + size
        while start < stop:
            number = plan.window_of(start)
            begin, length = plan.extent(number)
            end = min(stop, begin + length)
            places = self._within(number, length).block(start - begin, end - start)
            parts.append(plan.examples(number, places))
            start = end
        if len(parts) == 1:
            return parts[0]
        return numpy.concatenate(parts) if parts else numpy.empty(0, dtype=numpy.int64)

    def _within(self, number: int, length: int) -> Permutation:
        known = self._last
        if known is None or known[0] != number:
            # One window serves many batches.
            order = Permutation(self.seed, self.epoch, length, f"window {number}")
            known = self._last = number, order
        return known[1]


class _Even:
    """Windows over examples that follow one another: everything is computed, nothing is kept."""

    def __init__(self, seed: int, epoch: int, layout: ChunkLayout, window: int) -> None:
        rows, count = layout.rows, layout.count
        self.rows = rows
        # Examples before the first chunk that is complete, and behind the last one.
        self.head = min(-layout.first % rows, count)
        self.tail = (count - self.head) % rows
        self.count = count
        full = (count - self.head) // rows
        self.window = window
        self.full = full
        self.windows = max(1, -(-full // window))
        self.chunks = Permutation(seed, epoch, full, "chunks")
        # The incomplete ones join this window.
        self.host = Permutation(seed, epoch, self.windows, "incomplete").one(0)
        self.starts = lru_cache(maxsize=4)(self._starts)

    def _more(self) -> int:
        return self.head + self.tail

    def window_of(self, place: int) -> int:
        length = self.window * self.rows
        number = place // length
        if number > self.host:
            number = max(self.host, (place - self._more()) // length)
        return min(number, self.windows - 1)

    def extent(self, number: int) -> tuple[int, int]:
        begin = number * self.window * self.rows + (self._more() if number > self.host else 0)
        chunks = min(self.window, self.full - number * self.window)
        return begin, chunks * self.rows + (self._more() if number == self.host else 0)

    def _starts(self, number: int) -> NDArray[numpy.int64]:
        first = number * self.window
        chunks = min(self.window, self.full - first)
        return self.head + self.chunks.block(first, chunks) * self.rows

    def examples(self, number: int, places: NDArray[numpy.int64]) -> NDArray[numpy.int64]:
        starts = self.starts(number)
        if number != self.host:
            return starts[places // self.rows] + places % self.rows
        found = numpy.empty_like(places)
        inside = places < len(starts) * self.rows
        whole = places[inside]
        found[inside] = starts[whole // self.rows] + whole % self.rows
        rest = places[~inside] - len(starts) * self.rows
        found[~inside] = numpy.where(
            rest < self.head, rest, self.count - self.tail + rest - self.head
        )
        return found


class _Uneven:
    """Windows over examples that are spread over the chunks in any way."""

    def __init__(self, seed: int, epoch: int, layout: ChunkLayout, window: int) -> None:
        assert layout.numbers is not None
        of_chunk = layout.numbers // layout.rows
        self.members = numpy.argsort(of_chunk, kind="stable")
        ids, firsts = numpy.unique(of_chunk[self.members], return_index=True)
        order = Permutation(seed, epoch, len(ids), "chunks").block(0, len(ids))
        bounds = numpy.append(firsts, layout.count)
        self.firsts = bounds[:-1][order]
        self.sizes = (bounds[1:] - bounds[:-1])[order]
        #: Where each chunk begins in the order of the epoch, and each window.
        self.ends = numpy.cumsum(self.sizes)
        self.window = window
        self.begins = numpy.append(0, self.ends[window - 1 :: window])
        if self.begins[-1] != layout.count:
            self.begins = numpy.append(self.begins, layout.count)

    def window_of(self, place: int) -> int:
        return int(numpy.searchsorted(self.begins, place, side="right")) - 1

    def extent(self, number: int) -> tuple[int, int]:
        begin = int(self.begins[number])
        return begin, int(self.begins[number + 1]) - begin

    def examples(self, number: int, places: NDArray[numpy.int64]) -> NDArray[numpy.int64]:
        first = number * self.window
        ends = self.ends[first : first + self.window] - self.begins[number]
        chunk = numpy.searchsorted(ends, places, side="right")
        inside = places - (ends - self.sizes[first : first + self.window])[chunk]
        found: NDArray[numpy.int64] = self.members[self.firsts[first + chunk] + inside]
        return found
