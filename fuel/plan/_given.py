"""Steps that read from an iterator which somebody assigned to ``child_epoch_iterator``.

Programs did so in a ``get_epoch_iterator`` of their own. The step's built-in behaviour is then
evaluated over that very iterator.
"""

from __future__ import annotations

from typing import Any

from fuel.plan._context import Context
from fuel.typing import JSON

__all__ = ["over_given"]


class _GivenStart:
    """Starts a step on an iterator that somebody assigned to ``child_epoch_iterator``."""

    def __init__(self, step: Any, given: Any) -> None:
        self.epoch = 0
        self.draws = None
        self._given = given
        self._step = step

    def child(self, stream: Any) -> Any:
        return _GivenCursor(self._given)

    def requests(self, scheme: Any) -> None:
        return None

    def attach(self, cursor: Any, step: Any) -> None:
        cursor.given = self._given
        step.__dict__["_live"] = cursor

    def take_epoch(self, stream: Any) -> None:
        return None


class _GivenCursor:
    """Lets an assigned iterator pass for a cursor."""

    requests = None

    def __init__(self, given: Any) -> None:
        self.given = given
        self.context = Context(0)
        self.count = 0

    def __next__(self) -> Any:
        data = next(self.given)
        self.context = Context(0, self.count)
        self.count += 1
        return data

    def tell(self) -> JSON:
        return None

    def children(self) -> list[Any]:
        return []

    def close(self) -> None:
        return None


def over_given(step: Any, given: Any) -> Any:
    """Return the pass of a step over an iterator that somebody assigned.

    Parameters
    ----------
    step : stream
        The step.
    given : iterator
        What it is to read from.

    Returns
    -------
    Cursor
        The pass; it has no place in an epoch that could be described.

    """
    return step._make_cursor(_GivenStart(step, given))
