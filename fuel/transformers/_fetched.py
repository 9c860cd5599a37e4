"""Examples that a step fetched and did not deliver yet, from scattered places of the stream below.

`Fetched` keeps them and describes them without their data, for the steps that hold some examples
longer than others (open buckets, open rows). Steps that hold what was fetched last, and nothing
between, need no more than `fuel.transformers._holding`.
"""

from __future__ import annotations

from typing import Any

from fuel.plan import Context, Cursor, SourceCursor
from fuel.transformers._batching import _UnpackCursor
from fuel.transformers._holding import Below, RequestCursor
from fuel.typing import JSON
from fuel.utils._overrides import is_ours

__all__ = ["Example", "Fetched"]

#: Where going to a place below costs a batch, so many examples are rather read in passing.
_GAP = 16
#: Where places are too dear to note for every example, one in so many has its place noted.
_STRIDE = 64


class Example:
    """One example that is held.

    Attributes
    ----------
    number : int
        How many examples were fetched before it in the epoch.
    origin : tuple
        The number of an example at or before it, and the place below from which that is fetched.
    data : tuple
        The example, one entry a source; its owner may replace it by another form.
    context : Context
        Where it stands in the epoch.

    """

    __slots__ = ("context", "data", "number", "origin")

    def __init__(self, number: int, origin: tuple[int, Any], data: Any, context: Context) -> None:
        self.number = number
        self.origin = origin
        self.data = data
        self.context = context

    def __getstate__(self) -> tuple[Any, ...]:
        # Written out for pickle's protocols 0 and 1, which know nothing of slots.
        return self.number, self.origin, self.data, self.context

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.number, self.origin, self.data, self.context = state


class Fetched:
    """What was fetched and not let go of.

    The state has a size that depends on how many examples are held, not on how many were fetched.
    Where the pass below can go from place to place (a dataset with a scheme or with a state that
    seeks, and steps above it that hold nothing, or a batch), restoring fetches the held examples
    alone. Otherwise (a user's function that remembers, another process, merged streams) it reads
    from the oldest held example on, or at most 64 examples before it.

    Parameters
    ----------
    cursor : Cursor
        The pass of the stream below.
    stream : stream
        The stream passed over.

    Attributes
    ----------
    count : int
        How many examples were fetched in the epoch.
    held : dict
        The examples held by their numbers, in the order in which they were fetched.
    ended : bool
        Whether the epoch below has come to its end.

    """

    def __init__(self, cursor: Any, stream: Any) -> None:
        self.child = cursor
        self.below = Below(cursor, stream)
        self.count = 0
        self.held: dict[int, Example] = {}
        self.ended = False
        self._gap = None if self.below.remembers else _gap(cursor)
        self._anchor: tuple[int, Any] | None = None

    def take(self) -> Example:
        """Fetch one more example and hold it.

        Returns
        -------
        Example
            The example.

        Raises
        ------
        StopIteration
            At the end of the epoch; what has ended is not asked again.

        """
        if self.ended:
            raise StopIteration
        if self._gap is None and not self.held:
            self._anchor = None  # nothing before this example will be needed again
        origin = self._origin()
        try:
            data = next(self.child)
        except StopIteration:
            self.ended = True
            raise
        return self._hold(origin, data)

    def let_go(self, example: Example) -> None:
        """Hold an example no longer."""
        del self.held[example.number]

    def tell(self) -> JSON:
        """Describe what is held, and the place of the example that comes next.

        Returns
        -------
        dict
            ``count``, the number of examples fetched; ``runs``, for each of several stretches the
            number of its first example, the place of that, and which of those that follow are
            held; ``at``, the place behind it all, or None where one gets there by reading on.

        """
        runs: list[JSON] = []
        limit = self.count if self._gap is None else self._gap
        for example in self.held.values():
            if not runs or example.number - runs[-1][0] - runs[-1][2][-1][1] > limit:
                first, place = example.origin
                start = example.number - first
                runs.append([first, self.below.written(place), [[start, start + 1]]])
                continue
            first, _, kept = runs[-1]
            start = example.number - first
            if kept[-1][1] == start:
                kept[-1][1] += 1
            else:
                kept.append([start, start + 1])
        at = None
        if self._gap is not None or not runs:
            at = self.below.written(self.below.place())
        return {"count": self.count, "runs": runs, "at": at}

    def seek(self, mark: JSON) -> list[Example]:
        """Go to a place described earlier, and fetch again what was held there.

        Parameters
        ----------
        mark : dict
            What `tell` returned.

        Returns
        -------
        list of Example
            The examples held, in the order in which they were fetched first.

        """
        self.held, self.ended, self._anchor = {}, False, None
        for first, place, kept in mark["runs"]:
            self.below.go(place)
            self.count, self._anchor = first, (first, place)
            for start, stop in kept:
                self._pass(first + start)
                while self.count < first + stop:
                    origin = (first, place) if self.count == first else self._origin()
                    self._hold(origin, self.below.again())
        if mark["at"] is None:
            self._pass(mark["count"])
        else:
            self.below.go(mark["at"])
            self.count = mark["count"]
        return list(self.held.values())

    def _origin(self) -> tuple[int, Any]:
        """Return how the next example can be fetched again."""
        if self._gap is None and self._anchor is not None and self.count % _STRIDE:
            return self._anchor
        self._anchor = self.count, self.below.place()
        return self._anchor

    def _hold(self, origin: tuple[int, Any], data: Any) -> Example:
        example = Example(self.count, origin, data, self.child.context)
        self.held[self.count] = example
        self.count += 1
        return example

    def _pass(self, number: int) -> None:
        """Read up to an example."""
        while self.count < number:
            if self._gap is None and not self.count % _STRIDE:
                self._origin()
            self.below.again()
            self.count += 1


def _gap(cursor: Any) -> int | None:
    """Return how far to read on rather than to go to a place of a pass.

    0 where going costs nothing; None where going may mean to begin again, so that it is done once.
    """
    if isinstance(cursor, SourceCursor):
        if cursor.requests is not None:
            # A dataset with a state moves on with every call: its places are reached by calling.
            return 0 if cursor.state is None else None
        return 0 if is_ours(type(cursor.state)) and hasattr(cursor.state, "seek") else None
    below = cursor.children()
    gap = _gap(below[0]) if len(below) == 1 else None
    if gap is None:
        return None
    if isinstance(cursor, (RequestCursor, _UnpackCursor)):
        return _GAP
    kind = type(cursor)
    holds_nothing = kind.tell is Cursor.tell and kind.seek is Cursor.seek
    return gap if holds_nothing and cursor.requests is None else None
