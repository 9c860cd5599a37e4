"""`InterleavedStream`: the items of several streams, a few of each in turn.

The passes over the streams: `_several`. Not here: turns in proportion to weights (`_mixture`).
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from fuel.plan import Cursor
from fuel.streams._over import OverStreams, count_below, need_alike
from fuel.streams._several import SeveralCursor, told
from fuel.typing import JSON

if TYPE_CHECKING:
    from fuel.plan import Start

__all__ = ["InterleavedStream"]


class InterleavedStream(OverStreams):
    """Takes turns among streams, until all have ended.

    `cycle_length` of the streams are open at a time, and give `block_length` items each in turn.
    When it is the turn of one that has ended, the next one passes, and when its turn comes round
    again, the first stream that was not opened yet takes its place. Every item of every stream
    comes exactly once, in an order that is always the same: that of the deterministic
    ``interleave`` of tf.data.

    Parameters
    ----------
    streams : sequence of AbstractDataStream
        The streams: of the same sources, all of examples or all of batches.
    cycle_length : int, optional
        How many are open at a time. Default: all.
    block_length : int, optional
        How many items each gives in its turn. Default 1.
    seed : int, optional
        Seed of the draws of the steps above. Default: that of the first stream.
    name, axis_labels
        As for `AbstractDataStream`; the labels default to those of the first stream.

    Attributes
    ----------
    data_streams, sources, cycle_length, block_length
        The streams, their sources, and how they take turns.

    Raises
    ------
    TypeError
        If `streams` holds what is no stream.
    ValueError
        If there is no stream, or one of them twice; if they differ in their sources, or some
        produce examples and others batches; if a length is not a positive integer.

    Notes
    -----
    Where an item stands, for steps above that draw, is as in a `MixtureStream`. Open files are
    those of all streams, whatever `cycle_length` is; it says in which order they are read.

    Examples
    --------
    >>> from fuel.datasets import IterableDataset
    >>> from fuel.streams import DataStream, InterleavedStream
    >>> streams = [DataStream(IterableDataset(items)) for items in ('aaaa', 'bb', 'cccc')]
    >>> ''.join(item for item, in InterleavedStream(streams))
    'abcabcacac'
    >>> ''.join(item for item, in InterleavedStream(streams, cycle_length=2, block_length=2))
    'aabbaacccc'

    """

    def __init__(
        self,
        streams: Any,
        *,
        cycle_length: int | None = None,
        block_length: int = 1,
        seed: int | None = None,
        name: str | None = None,
        axis_labels: Any = None,
    ) -> None:
        self.data_streams, sources, examples = need_alike("InterleavedStream", streams)
        if axis_labels is None:
            labels = getattr(self.data_streams[0], "axis_labels", None)
            axis_labels = None if labels is None else dict(labels)
        super().__init__(axis_labels=axis_labels, name=name, seed=seed)
        self.sources: Any = sources
        self.produces_examples = examples
        length = len(self.data_streams)
        if cycle_length is not None:
            length = min(length, _positive("cycle_length", cycle_length))
        self.cycle_length = length
        self.block_length = _positive("block_length", block_length)

    def _make_cursor(self, start: Start) -> Cursor:
        return _InterleavedCursor(start, self)

    def _num_items(self) -> int | None:
        counts = [count_below(stream) for stream in self.data_streams]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None

    def _num_examples(self) -> int | None:
        if self.produces_examples:
            return self._num_items()
        counts = [count_below(stream, "_num_examples") for stream in self.data_streams]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None

    def _fingerprint(self) -> dict[str, JSON]:
        return {"cycle_length": self.cycle_length, "block_length": self.block_length}

    def _why_not_elementwise(self) -> str:
        return "takes turns among streams: runs in order, in this process"

    def _describe(self) -> str:
        lengths = f"cycle_length={self.cycle_length}, block_length={self.block_length}"
        return f"{type(self).__name__}({told(self)}, {lengths})"


class _InterleavedCursor(SeveralCursor):
    """The pass of an `InterleavedStream`.

    Attributes
    ----------
    open : list of int
        The stream at each place of the cycle; -1 where one has ended.
    coming : int
        The first stream that was not opened yet.
    turn : int
        The place whose turn it is.
    given : int
        How many items it gave in this turn.

    """

    step: InterleavedStream

    def __init__(self, start: Start, step: InterleavedStream) -> None:
        super().__init__(start, step)
        self.open = list(range(step.cycle_length))
        self.coming = step.cycle_length
        self.turn = 0
        self.given = 0

    def produce(self, request: Any) -> Any:
        """Return the next item."""
        while True:
            index = self._at_turn()
            try:
                data = next(self.passes[index])
            except StopIteration:
                self._ends(index)
                continue
            self._gave(index, 1)
            return data

    def skip(self, count: int) -> int:
        """Pass over items, a block at a time."""
        passed = 0
        while passed < count:
            try:
                index = self._at_turn()
            except StopIteration:
                break
            wanted = min(count - passed, self.step.block_length - self.given)
            there: int = self.passes[index].skip(wanted)
            if there:
                passed += there
                self._gave(index, there)
            if there < wanted:
                self._ends(index)
        return passed

    def _at_turn(self) -> int:
        """Return the stream whose turn it is."""
        for _ in range(len(self.open)):
            if self.open[self.turn] < 0 and self.coming < len(self.passes):
                self.open[self.turn] = self.coming
                self.coming += 1
            if self.open[self.turn] >= 0:
                return self.open[self.turn]
            self._next_turn()
        raise StopIteration

    def _next_turn(self) -> None:
        self.turn = (self.turn + 1) % len(self.open)
        self.given = 0

    def _gave(self, index: int, count: int) -> None:
        self.count += count
        self.context = self.place(index, self.count - 1)
        self.given += count
        if self.given == self.step.block_length:
            self._next_turn()

    def _ends(self, index: int) -> None:
        self.ended[index] = True
        self.open[self.open.index(index)] = -1
        self._next_turn()

    def tell(self) -> JSON:
        """Describe whose turn it is, and the place in each stream that is open."""
        return {
            "items": self.count,
            "open": list(self.open),
            "coming": self.coming,
            "turn": [self.turn, self.given],
            "streams": [None if i < 0 else self.tell_one(i) for i in self.open],
        }

    def seek(self, mark: JSON) -> None:
        """Go to a place described earlier."""
        self.count = mark["items"]
        self.open = list(mark["open"])
        self.coming = mark["coming"]
        self.turn, self.given = mark["turn"]
        for index in range(len(self.passes)):
            self.ended[index] = index < self.coming and index not in self.open
            if self.ended[index]:
                _finish(self.passes[index])
        for index, one in zip(self.open, mark["streams"], strict=True):
            if index >= 0:
                self.seek_one(index, one)


def _finish(cursor: Any) -> None:
    """Tell the sources below a pass that nobody reads it any more."""
    if hasattr(cursor, "finished"):
        cursor.finished = True
    for child in cursor.children():
        _finish(child)


def _positive(name: str, value: Any) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = 0
    if number < 1 or isinstance(value, bool):
        raise ValueError(f"`{name}` must be a positive integer, got {value!r:.80}")
    return number
