"""An epoch being started: the passes of its steps, and what it began from.

What becomes of it is in `fuel.plan._run`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from fuel.exceptions import StateError, StateMismatchError
from fuel.plan import _upcoming
from fuel.plan._chain import children
from fuel.plan._context import Draws
from fuel.plan._cursor import Cursor
from fuel.plan._foreign import LegacyCursor, OpaqueCursor
from fuel.schemes._base import order_state, set_order_state, start_requests
from fuel.typing import JSON
from fuel.utils._overrides import is_ours, overridden

__all__ = ["Start", "described"]

#: Passes of chains longer than this are made in portions.
_STRIDE = 32


class Start:
    """An epoch being started: makes the cursors of a chain and records what it began from.

    Parameters
    ----------
    draws : Draws
        Where the generators of the chain come from.
    origin : dict, optional
        What an earlier start recorded, to start that very epoch again.
    repeat : int, optional
        The number to use for the epoch of every source, for an epoch inside another one: the
        sources then count no epoch of their own.

    Attributes
    ----------
    origin : dict
        ``{"epochs": [...], "orders": [...], "foreign": [...]}``: the epoch of each source, the
        state that each scheme's order came from, and what the streams under a user's
        ``get_epoch_iterator`` started from, in the order in which the cursors are made.

    """

    def __init__(self, draws: Draws, origin: JSON = None, repeat: int | None = None) -> None:
        self.draws = draws
        self.epoch = 0
        self.repeat = repeat
        self.origin: dict[str, list[JSON]] = {"epochs": [], "orders": [], "foreign": []}
        self._replayed = None if origin is None else copy.deepcopy(origin)
        # A step whose pass was made before that of the step above it asked for it.
        self._ready: tuple[Any, Cursor] | None = None
        self._preparing = False
        #: Whether the source starts its first epoch once more.
        self.repeats_first_epoch = False
        # What takes the place of the passes of some streams, by ``id``.
        self._carriers: dict[int, Callable[[Cursor], Cursor]] = {}

    def carry(self, stream: Any, carrier: Callable[[Cursor], Cursor]) -> None:
        """Let something take the place of the pass of a stream below.

        Parameters
        ----------
        stream : stream
            The stream.
        carrier : callable
            Called with its pass when that has been started; returns what is read instead.

        """
        self._carriers[id(stream)] = carrier

    def _recorded(self, what: str) -> JSON:
        assert self._replayed is not None
        if not self._replayed[what]:
            raise StateMismatchError(
                "the state describes fewer sources or schemes than this pipeline has; build the "
                "pipeline that it was saved from"
            )
        return self._replayed[what].pop(0)

    def child(self, stream: Any) -> Cursor:
        """Return the pass of a stream below.

        Parameters
        ----------
        stream : stream
            The stream that a step reads from.

        Returns
        -------
        Cursor
            Ours, unless a user's class says how its epochs start.

        """
        if self._ready is not None and self._ready[0] is stream:
            cursor, self._ready = self._ready[1], None
            return cursor
        self._prepare(stream)
        return self._child(stream)

    def _prepare(self, stream: Any) -> None:
        # From the bottom, for each step would start the one below it in its own frames.
        if self._preparing:
            return
        self._preparing = True
        try:
            for one in self._far_below(stream):
                self._ready = (one, self._child(one))
        finally:
            self._preparing = False

    def _child(self, stream: Any) -> Cursor:
        if not hasattr(stream, "_make_cursor") or overridden(stream, "get_epoch_iterator"):
            return OpaqueCursor(self, stream)
        carrier = self._carriers.pop(id(stream), None)
        cursor = self.open(stream)
        return cursor if carrier is None else carrier(cursor)

    def _far_below(self, stream: Any) -> list[Any]:
        """Return the steps under a stream, lowest first, where they are too many to nest."""
        below: list[Any] = []
        while not overridden(stream, "get_epoch_iterator") and not getattr(
            stream, "_transparent", False
        ):
            under = children(stream)
            if len(under) != 1:
                break
            stream = under[0]
            below.append(stream)
        return below[::-_STRIDE] if len(below) > _STRIDE else []

    def open(self, stream: Any) -> Cursor:
        """Return the pass of a stream whose epochs start the usual way."""
        if overridden(stream, "get_data") or not is_ours(_maker(stream)):
            return LegacyCursor(self, stream)
        cursor: Cursor = stream._make_cursor(self)
        return cursor

    def top(self, stream: Any) -> Cursor:
        """Return the pass of the stream whose epoch is started."""
        self._prepare(stream)
        return self.open(stream)

    def attach(self, cursor: Cursor, step: Any) -> None:
        """Tell a step which pass is its latest."""
        step.__dict__["_live"] = cursor

    def take_epoch(self, stream: Any) -> int:
        """Give a source the number of its next epoch.

        Parameters
        ----------
        stream : stream
            A stream that reads from no other.

        Returns
        -------
        int
            The number of the epoch, from 0.

        """
        if self._replayed is not None:
            epoch = int(self._recorded("epochs"))
            self.repeats_first_epoch = epoch == 0
            if epoch and "_fresh_state" in stream.__dict__:
                # The dataset's first state is that of the first epoch.
                stream.__dict__["_fresh_state"] = False
        elif self.repeat is not None:
            epoch = self.repeat
        else:
            epoch = int(stream.__dict__.get("_next_epoch", 0))
        if self.repeat is None:
            stream.__dict__["_next_epoch"] = epoch + 1
        self.took_epoch(epoch)
        return epoch

    def foreign(self, stream: Any) -> None:
        """Record, or set, what the streams from one whose epochs a user starts on begin with."""
        if self._replayed is not None:
            _upcoming.set_orders(stream, self._recorded("foreign"))
        try:
            self.origin["foreign"].append(_upcoming.orders(stream))
        except StateError as error:
            self.origin["undescribable"] = [str(error)]

    def took_epoch(self, epoch: int) -> None:
        """Record the epoch of a source."""
        self.epoch = epoch
        self.origin["epochs"].append(epoch)

    def requests(self, scheme: Any) -> Any:
        """Start a scheme.

        Parameters
        ----------
        scheme : IterationScheme or None
            The scheme of a step.

        Returns
        -------
        RequestIterator or None
            The requests of this epoch.

        """
        if scheme is None:
            return None
        if self._replayed is not None:
            set_order_state(scheme, self._recorded("orders"))
        try:
            self.origin["orders"].append(order_state(scheme))
        except StateError as error:
            # An epoch can be run without being described; asking for its state is the error.
            self.origin["undescribable"] = [str(error)]
        return start_requests(scheme, self.epoch)


def _maker(stream: Any) -> type:
    for cls in type(stream).__mro__:
        if "_make_cursor" in cls.__dict__:
            return cls
    return type(stream)


def described(origin: JSON) -> JSON:
    """Return what an epoch began from, if it could be described.

    Parameters
    ----------
    origin : dict
        The `origin` of a `Start`.

    Returns
    -------
    dict
        The same.

    Raises
    ------
    StateError
        If a scheme keeps something that plain JSON cannot hold.

    """
    if "undescribable" in origin:
        raise StateError(origin["undescribable"][0])
    return origin
