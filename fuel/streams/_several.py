"""One pass over several streams of which one at a time gives an item.

In this room: `SeveralCursor`, which keeps the passes, begins a stream again that has ended, and
says where in the epoch an item stands. Not here: whose turn it is (`_mixture`, `_interleaved`), and
streams side by side (`fuel.transformers.Merge`).
"""

from __future__ import annotations

from typing import Any

import numpy

from fuel.plan import Context, Cursor, Start
from fuel.plan._start import described
from fuel.streams._again import Opened
from fuel.streams._over import OverStreams
from fuel.typing import JSON

__all__ = ["SeveralCursor", "told"]


class SeveralCursor(Cursor):
    """The passes over several streams.

    Parameters
    ----------
    start : Start
        The epoch being started.
    step : stream
        A stream with `data_streams`.

    Attributes
    ----------
    passes : list of Cursor
        The present pass of each stream.
    origins : list
        For a stream that started another epoch, what that began from; else None.
    rounds : list of int
        How many further epochs each stream has started.
    ended : list of bool
        Which streams have come to the end of an epoch at least once.
    count : int
        How many items were delivered.

    """

    def __init__(self, start: Start, step: Any) -> None:
        self.opened = [Opened(start, stream) for stream in step.data_streams]
        super().__init__(start, step)
        self.passes: list[Any] = [one.cursor for one in self.opened]
        self.epoch = self.passes[0].epoch
        self.draws = start.draws
        self.origins: list[JSON] = [None] * len(self.passes)
        self.rounds = [0] * len(self.passes)
        self.ended = [False] * len(self.passes)
        self.count = 0
        self.examples = bool(step.produces_examples)

    def place(self, index: int, number: int) -> Context:
        """Return where the item stands that a stream has just given, or passed over.

        An example's ordinal is its number among all that were given; the examples of a batch have
        that of the batch, and are numbered in it.
        """
        if self.examples:
            return Context(self.epoch, number, None, self.draws)
        below = self.passes[index].context
        size = len(below.ordinals) if below.is_batch else 1
        return Context(
            self.epoch,
            number,
            None,
            self.draws,
            ordinals=numpy.full(size, number, dtype=numpy.int64),
            numbers=numpy.arange(size, dtype=numpy.uint64),
        )

    def begin_again(self, index: int) -> None:
        """Start the next epoch of a stream that has ended."""
        self.rounds[index] += 1
        self._reopen(index, None)

    def _reopen(self, index: int, origin: JSON) -> None:
        # Closed first, so that the source knows that nobody reads the old pass any more.
        self.passes[index].close()
        # An epoch of its own within this one, whatever other iterators of the stream do.
        opened = self.opened[index]
        epoch = opened.first_epoch + (self.rounds[index] << 32)
        self.passes[index], self.origins[index] = opened.again(epoch, origin)

    def name(self, index: int) -> str:
        """Return how messages call a stream."""
        return f"stream {index} ({type(self.step.data_streams[index]).__name__})"

    def tell_one(self, index: int) -> dict[str, JSON]:
        """Describe the place in a stream."""
        mark: dict[str, JSON] = {"at": self.passes[index].tell()}
        if self.origins[index] is not None:
            mark["origin"] = described(self.origins[index])
            mark["round"] = self.rounds[index]
        if self.ended[index]:
            mark["ended"] = True
        return mark

    def seek_one(self, index: int, mark: JSON) -> None:
        """Go to a place in a stream."""
        if "origin" in mark:
            if (self.rounds[index], self.origins[index]) != (mark["round"], mark["origin"]):
                self.rounds[index] = mark["round"]
                self._reopen(index, mark["origin"])
        elif self.rounds[index]:
            self.rounds[index] = 0
            self.passes[index].close()
            self.passes[index] = self.opened[index].first_again()
            self.origins[index] = None
        self.passes[index].seek(mark["at"])
        self.ended[index] = bool(mark.get("ended"))

    def children(self) -> list[Any]:
        """Return the passes of the streams."""
        return self.passes


def told(step: OverStreams) -> str:
    """Return the streams below, as a repr shows them."""
    parts = [
        stream._describe() if hasattr(stream, "_describe") else type(stream).__name__
        for stream in step._below()
    ]
    return ", ".join(parts)
