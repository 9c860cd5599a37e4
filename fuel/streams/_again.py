"""Passes over streams that were passed over before: their next epoch, or the same one again.

In this room: `Opened`, a pass and what it began from, and `Spot`, a place to go back to. Not here:
the epoch of a whole chain (`fuel.plan`), and why somebody would begin again (`_several`, `_shard`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from fuel.exceptions import StateError
from fuel.plan import Start, _memory
from fuel.plan._start import described
from fuel.plan._upcoming import orders, set_orders
from fuel.typing import JSON

__all__ = ["Opened", "Spot"]


class Spot(NamedTuple):
    """A place in a stream, and what users' steps below remembered there.

    Attributes
    ----------
    mark : JSON
        The place.
    memory : dict or None
        What was remembered; None where nothing can be.

    """

    mark: JSON
    memory: JSON

    @classmethod
    def of(cls, cursor: Any, stream: Any) -> Spot | StateError:
        """Return where a pass of a stream is; an error where that cannot be said."""
        try:
            memory = _memory.capture(stream) if _memory.remembers(stream) else None
            return cls(cursor.tell(), memory)
        except StateError as error:
            return error

    def reach(self, cursor: Any, stream: Any) -> None:
        """Bring a pass of the stream there, as it was then."""
        cursor.seek(self.mark)
        if self.memory is not None:
            # Last, because going there may have run users' code.
            _memory.restore(stream, self.memory)


class Opened:
    """The pass of a stream below, which can be begun again.

    Parameters
    ----------
    start : Start
        The epoch being started.
    stream : stream
        The stream.

    Attributes
    ----------
    cursor : Cursor
        The pass.
    stream : stream
        As given.
    first_epoch : int
        The epoch of the first pass.

    """

    def __init__(self, start: Start, stream: Any) -> None:
        # Those that put workers in the place of passes do so for every pass of this epoch.
        self._carriers = dict(start._carriers)
        before = {what: len(found) for what, found in start.origin.items()}
        self.stream = stream
        self.cursor: Any = start.child(stream)
        self.origin: dict[str, list[JSON]] = {
            what: list(found[before.get(what, 0) :]) for what, found in start.origin.items()
        }
        self.draws = start.draws
        self.first_epoch: int = self.cursor.epoch

    def __getstate__(self) -> dict[str, Any]:
        # Found by identity, which is another one in a copy.
        return {**self.__dict__, "_carriers": {}}

    def again(self, epoch: int, origin: JSON = None) -> tuple[Any, JSON]:
        """Begin another pass.

        Parameters
        ----------
        epoch : int
            The number that its sources have.
        origin : dict, optional
            What an earlier pass began from, to begin that one again; else it is a new one.

        Returns
        -------
        cursor : Cursor
            The pass.
        origin : dict
            What it began from.

        """
        start = Start(self.draws, origin, epoch)
        start._carriers = dict(self._carriers)
        return start.child(self.stream), start.origin

    def first_again(self) -> Any:
        """Begin the first pass once more, and leave the orders of later epochs as they are."""
        later = orders(self.stream)
        try:
            return self.again(self.first_epoch, described(self.origin))[0]
        finally:
            set_orders(self.stream, later)
