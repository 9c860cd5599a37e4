"""What is on its way in a pass: units, pieces of them, and gaps, from being planned to delivered.

The pass itself is in `fuel.workers._engine`.
"""

from __future__ import annotations

from typing import Any

from fuel.plan._evaluation import Unit
from fuel.plan._schedule import Planned
from fuel.workers._pieces import Pieces

__all__ = ["Entry", "size_of", "unread"]


class Entry:
    """A unit on its way, or a gap of items that nobody will ask for.

    Parameters
    ----------
    planned : Planned or None
        The unit; None for a gap.
    count : int
        How many items there are.
    after : object, optional
        Where the pass stands behind a gap.
    context : Context, optional
        That of the last item of a gap.

    """

    __slots__ = ("after", "began", "context", "count", "index", "outcomes", "pieces", "planned")

    def __init__(
        self, planned: Planned | None, count: int, after: Any = None, context: Any = None
    ) -> None:
        self.context = context
        self.planned = planned
        self.count = count
        self.after = after
        self.index = 0
        self.outcomes: list[Any] | None = None
        self.began = 0.0
        #: Of a batch that is evaluated in pieces.
        self.pieces: Pieces | None = None

    @property
    def left(self) -> int:
        """How many of the items were not delivered."""
        return self.count - self.index

    @property
    def units(self) -> list[Unit]:
        """What is submitted for it."""
        assert self.planned is not None
        return [self.planned.unit] if self.pieces is None else self.pieces.units


def size_of(outcome: Any) -> int:
    """Return about how many bytes an item takes; at least 1."""
    parts = outcome if isinstance(outcome, tuple) else (outcome,)
    return 1 + sum(int(getattr(part, "nbytes", 1024)) for part in parts)


def unread(entry: Entry) -> Entry:
    """Return an entry as it is pickled: without what was evaluated."""
    twin = Entry(entry.planned, entry.count, entry.after, entry.context)
    twin.index = entry.index
    twin.began = entry.began
    return twin
