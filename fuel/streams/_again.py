"""Passes over streams that were passed over before: their next epoch, or the same one again.

In this room: `Opened`, a pass and what it began from. Not here: the epoch of a whole chain
(`fuel.plan`), and why somebody would begin again (`_several`, `_shard`).
"""

from __future__ import annotations

from typing import Any

from fuel.plan import Start
from fuel.plan._run import described
from fuel.plan._upcoming import orders, set_orders
from fuel.typing import JSON

__all__ = ["Opened"]


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
