"""`Repeat`: several epochs of a stream as one.

For streams and datasets that say themselves in which order they come; where the loader decides on
the order, it goes through the data several times by itself (`fuel.loader._order`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fuel.plan import Cursor
from fuel.transformers._base import Transformer, _count
from fuel.transformers._checks import kind_below, labels_below
from fuel.typing import JSON

if TYPE_CHECKING:
    from fuel.plan import Start

__all__ = ["Repeat"]


class Repeat(Transformer):
    """Delivers the items of several epochs of the stream below, one epoch after the other.

    Parameters
    ----------
    data_stream : AbstractDataStream
        The stream below.
    epochs : int or None
        How many; None for no end (but an epoch without items ends it).

    """

    _why_not_elementwise = "begins epochs: runs in order, in this process"

    def __init__(self, data_stream: Any, epochs: int | None, **kwargs: Any) -> None:
        kwargs.setdefault("axis_labels", labels_below(data_stream))
        super().__init__(data_stream, kind_below("Repeat", data_stream), **kwargs)
        self.epochs = epochs

    def _make_cursor(self, start: Start) -> Cursor:
        return _RepeatCursor(start, self)

    def _num_items(self) -> int | None:
        return self._times(_count(self.data_stream, "_num_items"))

    def _num_examples(self) -> int | None:
        return self._times(_count(self.data_stream, "_num_examples"))

    def _times(self, count: int | None) -> int | None:
        return None if count is None or self.epochs is None else count * self.epochs

    def _parameters(self) -> dict[str, Any]:
        return {"epochs": self.epochs}


class _RepeatCursor(Cursor):
    """The pass of a `Repeat`: that of the epoch being delivered."""

    step: Repeat
    child: Cursor

    def __init__(self, start: Start, step: Repeat) -> None:
        kinds = ("epochs", "orders", "foreign")
        before = {kind: len(start.origin[kind]) for kind in kinds}
        self.child = start.child(step.data_stream)
        super().__init__(start, step)
        self.draws = start.draws
        self.turn = 0
        self.delivered = 0
        #: What the epoch being delivered began from.
        self.origin: JSON = {kind: start.origin[kind][before[kind] :] for kind in kinds}

    def produce(self, request: Any) -> Any:
        """Return the next item, of the next epoch if this one is over."""
        while True:
            try:
                data = next(self.child)
            except StopIteration:
                self._following()
                continue
            self.context = self.child.context
            self.delivered += 1
            return data

    def skip(self, count: int) -> int:
        """Pass over items, into the epochs that follow."""
        passed = 0
        while passed < count:
            found = self.child.skip(count - passed)
            self.delivered += found
            passed += found
            if passed < count:
                try:
                    self._following()
                except StopIteration:
                    break
        return passed

    def _following(self) -> None:
        epochs = self.step.epochs
        if self.turn + 1 == epochs or (epochs is None and not self.delivered):
            raise StopIteration
        self._begin(None)
        self.turn += 1
        self.delivered = 0

    def _begin(self, origin: JSON) -> None:
        from fuel.plan import Start

        start = Start(self.draws, origin)
        ended, self.child = self.child, start.child(self.step.data_stream)
        ended.close()
        self.origin = start.origin

    def tell(self) -> JSON:
        """Describe which of the epochs it is, what that began from, and the place in it."""
        return {
            "turn": self.turn,
            "delivered": self.delivered,
            "origin": self.origin,
            "below": self.child.tell(),
        }

    def seek(self, mark: JSON) -> None:
        """Go to a place, beginning the epoch that it is in once more."""
        if mark["origin"] != self.origin:
            self._begin(mark["origin"])
        self.turn, self.delivered = mark["turn"], mark["delivered"]
        self.child.seek(mark["below"])
