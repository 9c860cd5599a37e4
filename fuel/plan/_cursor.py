"""One pass of one step: it yields items, says where it is, and goes there again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fuel.plan._chain import BEHAVIOUR, elementwise
from fuel.plan._context import Context
from fuel.typing import JSON
from fuel.utils._overrides import overridden

if TYPE_CHECKING:
    from fuel.plan._start import Start

__all__ = ["Cursor", "MapCursor", "PassedOn"]


class Cursor:
    """One pass of a step over its epoch.

    A subclass implements `produce`, and `tell` and `seek` if it holds anything of its own.

    Parameters
    ----------
    start : Start
        The epoch being started; gives cursors of the streams below and request iterators.
    step : stream
        The step.

    Attributes
    ----------
    child : Cursor or None
        The pass of the stream below, for a step that reads from one.
    requests : RequestIterator or None
        The requests of the step's own scheme.
    context : Context
        That of the item delivered last.

    Notes
    -----
    Picklable whenever the step is. Not shared between threads.

    """

    child: Cursor | None = None
    context: Context

    def __init__(self, start: Start, step: Any) -> None:
        self.step = step
        self.epoch = start.epoch
        self.requests: Any = start.requests(getattr(step, "iteration_scheme", None))
        self.context = Context(start.epoch, 0, None, start.draws)
        start.attach(self, step)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # Streams are pickled without their pass; a pass finds its step again.
        self.step.__dict__["_live"] = self

    def __iter__(self) -> Cursor:
        return self

    def __next__(self) -> Any:
        if self.requests is None:
            return self.produce(None)
        return self.produce(next(self.requests))

    def produce(self, request: Any) -> Any:
        """Return the next item and set `context`.

        Parameters
        ----------
        request : object
            What the step's scheme asks for; None without a scheme.

        Raises
        ------
        StopIteration
            At the end of the epoch.

        """
        raise NotImplementedError

    def block(self, count: int) -> Any:
        """Return several examples at once, without moving the place.

        Parameters
        ----------
        count : int
            How many; the end of the epoch may leave fewer.

        Returns
        -------
        tuple or None
            (columns, ordinal of the first, number of examples), where a column holds a source of
            all of them: an array, or a list whose entries must not be handed out, for they may be
            the dataset's. Then `passed` is to be called, or `back`. None where examples can only
            be had one by one.

        Raises
        ------
        StopIteration
            At the end of the epoch.

        """
        return None

    def passed(self, size: int, count: int) -> None:
        """Move the place behind the examples that `block` returned, out of so many wanted."""

    def back(self) -> None:
        """Give up the examples that `block` returned."""

    def skip(self, count: int) -> int:
        """Pass over items, without evaluating them where that is possible.

        If there were so many, `context` then tells of the last one at least how many examples it
        has.

        Parameters
        ----------
        count : int
            How many; the end of the epoch may leave fewer.

        Returns
        -------
        int
            How many there were.

        """
        for number in range(count):
            try:
                next(self)
            except StopIteration:
                return number
        return count

    def share(self, rank: int, world_size: int) -> None:
        """Learn that of so many items one will be asked for, and the others passed over.

        Parameters
        ----------
        rank : int
            Which one, counted from here on.
        world_size : int
            Of how many.

        """

    def face(self, request: Any) -> Any:
        """Answer a direct call of the step's ``get_data``."""
        return self.produce(request)

    def tell(self) -> JSON:
        """Describe the place behind the item delivered last, as plain JSON."""
        below = None if self.child is None else self.child.tell()
        return below if self.requests is None else {"own": self.requests.tell(), "below": below}

    def seek(self, mark: JSON) -> None:
        """Go to a place described earlier; the next item is the one after it.

        Parameters
        ----------
        mark : JSON
            What `tell` returned in this or another pass of the same epoch.

        """
        if self.requests is not None:
            self.requests.seek(mark["own"])
            mark = mark["below"]
        if self.child is not None:
            self.child.seek(mark)

    def children(self) -> list[Any]:
        """Return the passes that this one reads from."""
        return [] if self.child is None else [self.child]

    def close(self) -> None:
        """Release what the pass holds: processes, files. It cannot be used afterwards."""
        for child in self.children():
            child.close()


class MapCursor(Cursor):
    """The pass of a step that makes one item of each: it holds nothing.

    Parameters
    ----------
    start : Start
        The epoch being started.
    step : stream
        A step with `apply`.

    """

    child: Cursor

    def __init__(self, start: Start, step: Any) -> None:
        self.child = start.child(step.data_stream)
        super().__init__(start, step)
        # What does the work of this step and of those below it, once it is known: False for nobody.
        self.fused: Any = None
        # Whether the step only reads what it is given, so that the child need not make copies.
        self.borrows = hasattr(self.child, "borrow") and only_reads(step)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "fused": None}

    def produce(self, request: Any) -> Any:
        """Return the next item of the stream below, transformed."""
        if request is not None:
            raise ValueError(
                f"{type(self.step).__name__} takes no requests, got {request!r:.80}; give the "
                "iteration scheme to the DataStream below it"
            )
        fused = self.fused
        if fused is None:
            fused = self._fuse()
        if fused:
            data, self.context = fused.item()
            return data
        child = self.child
        data = next_lent(child) if self.borrows else next(child)
        self.context = child.context
        return self.step.apply(data, child.context)

    def block(self, count: int) -> Any:
        """Return several examples at once, where kernels do all the work."""
        fused = self._fuse() if self.fused is None else self.fused
        return fused.block(count) if fused else None

    def passed(self, size: int, count: int) -> None:
        """Move the place behind the examples that `block` returned."""
        self.fused.source.passed(size, count)

    def back(self) -> None:
        """Give up the examples that `block` returned."""
        self.fused.source.back()

    def skip(self, count: int) -> int:
        """Pass over items; only of a step that may remember something are they evaluated."""
        if self.requests is None and elementwise(self.step):
            passed: int = self.child.skip(count)
            self.context = self.child.context
            return passed
        return super().skip(count)

    def share(self, rank: int, world_size: int) -> None:
        """Learn which items will be asked for."""
        if self.requests is None and elementwise(self.step):
            self.child.share(rank, world_size)

    def _fuse(self) -> Any:
        from fuel.plan._fusion import fuse

        self.fused = fuse(self) or False
        return self.fused


class PassedOn(Cursor):
    """The pass of a step that hands on what comes, as it comes.

    Parameters
    ----------
    start : Start
        The epoch being started.
    step : stream
        A step over one stream.

    """

    child: Cursor

    def __init__(self, start: Start, step: Any) -> None:
        self.child = start.child(step.data_stream)
        super().__init__(start, step)

    def produce(self, request: Any) -> Any:
        """Return the next item of the stream below."""
        data = next(self.child)
        self.context = self.child.context
        return data

    def block(self, count: int) -> Any:
        """Return several examples at once, where the stream below can."""
        return self.child.block(count)

    def passed(self, size: int, count: int) -> None:
        """Move the place behind the examples that `block` returned."""
        self.child.passed(size, count)

    def back(self) -> None:
        """Give up the examples that `block` returned."""
        self.child.back()

    def skip(self, count: int) -> int:
        """Pass over items."""
        passed: int = self.child.skip(count)
        self.context = self.child.context
        return passed

    def share(self, rank: int, world_size: int) -> None:
        """Learn which items will be asked for."""
        self.child.share(rank, world_size)


def next_lent(child: Any) -> Any:
    """Return the next item of a pass that need not copy what it hands out."""
    child.borrow = True
    try:
        return next(child)
    finally:
        child.borrow = False


def only_reads(step: Any) -> bool:
    """Tell whether a step hands on nothing of what it is given, but what it made of it."""
    copies = getattr(step, "_copies_source", None)
    if copies is None or overridden(step, "_copies_source", *BEHAVIOUR):
        return False
    return all(copies(source) for source in step.data_stream.sources)
