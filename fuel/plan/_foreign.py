"""Steps that users wrote the old way: by overriding ``get_data`` or ``get_epoch_iterator``.

They are called exactly as they always were. What that costs: such a step keeps its pass on
itself, so a second iterator displaces the first, which then says so instead of stealing items.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fuel.exceptions import IteratorInvalidatedError, StateError
from fuel.plan._chain import children
from fuel.plan._context import Context
from fuel.plan._cursor import Cursor
from fuel.typing import JSON

if TYPE_CHECKING:
    from fuel.plan._start import Start

__all__ = ["LegacyCursor", "NeedsReplay", "OpaqueCursor"]


class NeedsReplay(StateError):
    """The place inside a step is unknown; it can only be reached by running the epoch again."""


class _FaceStart:
    """Starts the built-in part of a subclass on the children that the subclass already has."""

    def __init__(self, owner: LegacyCursor) -> None:
        self.owner = owner
        self.epoch = owner.epoch
        self.draws = owner.context.draws
        self._children = iter(owner.passes)

    def child(self, stream: Any) -> Any:
        return next(self._children)

    def requests(self, scheme: Any) -> None:
        return None  # the subclass hands its requests on

    def attach(self, cursor: Cursor, step: Any) -> None:
        return None  # the step's pass is the subclass's

    def take_epoch(self, stream: Any) -> None:
        return None

    def foreign(self, stream: Any) -> None:
        return None


class LegacyCursor(Cursor):
    """The pass of a step whose ``get_data`` a user wrote.

    Parameters
    ----------
    start : Start
        The epoch being started.
    step : stream
        The step.

    """

    def __init__(self, start: Start, step: Any) -> None:
        below = children(step)
        self.passes = [start.child(stream) for stream in below]
        if not below:
            start.take_epoch(step)
        # A subclass of a stream over a dataset reads the dataset's state from the stream.
        begin = getattr(step, "_begin_pass", None)
        self.state = None if begin is None else begin()
        super().__init__(start, step)
        self.inner: Cursor | None = None
        self.count = 0
        self.number = 0
        self.seen: Any = None

    def __next__(self) -> Any:
        if self.step.__dict__.get("_live") is not self:
            raise IteratorInvalidatedError(
                f"this iterator was displaced: {type(self.step).__qualname__} keeps its place on "
                "itself, and a later epoch of it was started; use one iterator at a time, or "
                "override `apply` or a `transform_*` method instead of `get_data`"
            )
        if self.requests is None:
            data = self.step.get_data()
        else:
            data = self.step.get_data(next(self.requests))
        self._count()
        return data

    def _leader(self) -> Any:
        """Return the pass that tells where an item stands, None for a source."""
        if self.inner is not None:
            return self.inner
        return self.passes[0] if self.passes else None

    def _count(self) -> None:
        leader = self._leader()
        if leader is not None:
            context = leader.context
            # Several items made from one below are told apart by number.
            self.number = self.number + 1 if context is self.seen else 0
            self.seen = context
            self.context = context if self.number == 0 else context.child(self.number)
        else:
            self.context = Context(self.epoch, self.count, None, self.context.draws)
        self.count += 1

    def face(self, request: Any) -> Any:
        """Answer ``super().get_data(request)``: the built-in behaviour on the same children."""
        if self.inner is None:
            self.inner = self.step._make_cursor(_FaceStart(self))
        return self.inner.produce(request)

    def tell(self) -> JSON:
        """Describe the place: that of the children, or of the built-in part over them."""
        if self.state is not None:
            raise NeedsReplay(
                f"{type(self.step).__name__} reads a dataset that moves on with every call"
            )
        mark: dict[str, JSON] = {"count": self.count, "number": self.number}
        if self.requests is not None:
            mark["own"] = self.requests.tell()
        if self.inner is not None:
            mark["inner"] = self.inner.tell()
        else:
            mark["below"] = [one.tell() for one in self.passes]
        if self.seen is not None:
            # An item made from what the step kept stands where the one before it stood.
            mark["seen"] = self.seen.describe()
        return mark

    def seek(self, mark: JSON) -> None:
        """Go to a place described earlier."""
        self.count, self.number = mark["count"], mark["number"]
        if self.requests is not None:
            self.requests.seek(mark["own"])
        if "inner" in mark:
            if self.inner is None:
                self.inner = self.step._make_cursor(_FaceStart(self))
            self.inner.seek(mark["inner"])
        else:
            for one, place in zip(self.passes, mark["below"], strict=True):
                one.seek(place)
        self.seen = None
        if "seen" in mark:
            self.seen = Context.described(mark["seen"], self.context.draws)
            self._leader().context = self.seen

    def children(self) -> list[Any]:
        """Return the passes below."""
        return self.passes


class OpaqueCursor(Cursor):
    """The pass of a stream whose ``get_epoch_iterator`` a user wrote: whatever it returns.

    Parameters
    ----------
    start : Start
        The epoch being started.
    step : stream
        The stream.

    """

    def __init__(self, start: Start, step: Any) -> None:
        self.step = step
        self.requests = None
        start.foreign(step)
        self.iterator = iter(step.get_epoch_iterator())
        run = getattr(self.iterator, "_run", None)
        self.run = run
        epoch = getattr(run, "epoch", None)
        start.took_epoch(0 if epoch is None else epoch)
        self.epoch = start.epoch
        self.draws = start.draws
        self.context = Context(self.epoch, 0, None, start.draws)
        self.count = 0

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __next__(self) -> Any:
        data = next(self.iterator)
        if self.run is not None:
            self.context = self.run.cursor.context
        else:
            self.context = Context(self.epoch, self.count, None, self.draws)
        self.count += 1
        return data

    def tell(self) -> JSON:
        """Describe the place, where the iterator is one of ours."""
        if self.run is None:
            raise NeedsReplay(
                f"{type(self.step).__qualname__}.get_epoch_iterator returns a "
                f"{type(self.iterator).__qualname__}, which cannot say where it is"
            )
        return {"run": self.run.describe(), "items": self.count}

    def seek(self, mark: JSON) -> None:
        """Go to a place described earlier."""
        if self.run is None:
            raise NeedsReplay("the place inside a foreign iterator is unknown")
        self.run.restore(mark["run"])
        self.count = mark["items"]

    def close(self) -> None:
        """Close the iterator, if it can be."""
        close = getattr(self.iterator, "close", None)
        if close is not None:
            close()
