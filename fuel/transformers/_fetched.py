"""Examples that a step fetched and did not deliver yet, from scattered places of the stream below.

`Fetched` keeps them and describes them without their data, for the steps that hold some examples
longer than others (open buckets, open rows). Steps that hold what was fetched last, and nothing
between, need no more than `fuel.transformers._holding`. `numbered` tells whether the stream below
is such that places and ordinals are one.
"""

from __future__ import annotations

from typing import Any

import numpy

from fuel.plan import Context, Cursor, MapCursor, SourceCursor
from fuel.schemes import RequestIterator
from fuel.transformers._batching import _UnpackCursor
from fuel.transformers._holding import Below, RequestCursor
from fuel.typing import JSON
from fuel.utils._overrides import is_ours
from fuel.utils._owning import own

__all__ = ["Fetched", "numbered", "owned"]

#: Where going to a place below costs a batch, so many examples are rather read in passing.
_GAP = 16
#: Where places are too dear to note for every example, one in so many has its place noted.
_STRIDE = 64
#: So many examples are fetched at once where that is possible.
_BLOCK = 256


class Fetched:
    """What was fetched and not let go of: examples by their numbers.

    Where the stream below can hand over many examples at once, they are fetched so, and are *ahead*
    until they are taken. Only what was taken belongs to the state: what is ahead is fetched again.

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
    own : bool, optional
        Whether examples are shown to a user's function, so that what is the dataset's is copied.

    Attributes
    ----------
    count : int
        The number of the example that comes next: how many were taken in the epoch. Where the
        stream below is `numbered`, the ordinal.
    held : dict
        The examples held by their numbers, in the order in which they were taken: tuples, one entry
        a source; their owner may replace them by another form.
    ahead : list
        The examples fetched with those before them; those before `index` have been taken.
    index : int
        Which of them is the one that comes next.
    ended : bool
        Whether the epoch below has come to its end.

    """

    def __init__(self, cursor: Any, stream: Any, own: bool = False) -> None:
        self.child = cursor
        self.below = Below(cursor, stream)
        self.own = own
        self.count = 0
        self.held: dict[int, Any] = {}
        self.ahead: list[Any] = []
        self.index = 0
        self.ended = False
        # Whether examples in `ahead` are rows of an array that is in memory as long as they are.
        self._rows = False
        # So many examples are fetched one by one, since fetching them at once came to nothing.
        self._slowly = 0
        self._numbered = numbered(cursor, self.below)
        self._gap = None if self.below.remembers else _gap(cursor)
        # How an example is fetched again: the number of one at or before it, and the place of that.
        self._origins: dict[int, tuple[int, Any]] = {}
        self._contexts: dict[int, Context] = {}
        self._anchor: tuple[int, Any] | None = None

    def look_ahead(self) -> list[Any] | None:
        """Fetch many examples at once, when those ahead have been taken.

        Returns
        -------
        list or None
            What is ahead, a column a source: an array, or a list. None where the examples can only
            be taken one by one.

        """
        self._part()
        if not self._numbered or self.ended:
            return None
        if self._slowly:
            self._slowly -= 1
            return None
        try:
            found = self.child.block(_BLOCK)
        except StopIteration:
            self.ended = True
            return None
        if found is None:
            self._slowly = _BLOCK
            return None
        columns, first, size = found
        if self.own:
            columns = [owned(column) for column in columns]
        self.ahead, self.index, self.count = list(zip(*columns, strict=True)), 0, first
        self._rows = any(type(column) is numpy.ndarray and column.ndim > 1 for column in columns)
        self.child.passed(size, _BLOCK)
        return list(columns)

    def take(self) -> int:
        """Take one more example, fetched if none is ahead, and hold it.

        Returns
        -------
        int
            Its number.

        Raises
        ------
        StopIteration
            At the end of the epoch; what has ended is not asked again.

        """
        if self.index < len(self.ahead):
            return self.take_ahead(1)
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

    def take_ahead(self, count: int) -> int:
        """Take examples that are ahead, and hold them.

        Parameters
        ----------
        count : int
            How many; there are so many.

        Returns
        -------
        int
            The number of the last.

        """
        first, start = self.count, self.index
        self.count, self.index = first + count, start + count
        self.held.update(zip(range(first, self.count), self.ahead[start : self.index], strict=True))
        if self.index == len(self.ahead) and not self._rows:
            self.ahead, self.index = [], 0
        return self.count - 1

    def let_go(self, numbers: list[int]) -> None:
        """Hold examples no longer."""
        for number in numbers:
            del self.held[number]
        if not self._numbered:
            for number in numbers:
                del self._contexts[number], self._origins[number]

    def context(self, number: int) -> Context:
        """Return where in the epoch an example stands that is held."""
        if self._numbered:
            return Context(self.child.epoch, number, None, self.child.context.draws)
        return self._contexts[number]

    def gathered(self, numbers: list[int]) -> Context:
        """Return the context of a batch of examples that are held."""
        if not self._numbered:
            return Context.gather([self._contexts[number] for number in numbers])
        draws = self.child.context.draws
        return Context(self.child.epoch, numbers[0], None, draws, ordinals=numbers)

    def clear(self) -> None:
        """Hold nothing, and have nothing ahead."""
        self.held, self.ahead, self.index = {}, [], 0
        self._origins, self._contexts, self._anchor = {}, {}, None
        self._slowly = 0

    def tell(self) -> JSON:
        """Describe what is held, and the place of the example that comes next.

        Returns
        -------
        dict
            ``count``, the number of the example that comes next; ``runs``, for each of several
            stretches the number of its first example, the place of that, and which of those that
            follow are held; ``at``, the place behind it all, or None where one gets there by
            reading on.

        """
        runs: list[JSON] = []
        limit = self.count if self._gap is None else self._gap
        for number in self.held:
            if not runs or number - runs[-1][0] - runs[-1][2][-1][1] > limit:
                first, place = (number, {"at": number})
                if not self._numbered:
                    first, place = self._origins[number]
                start = number - first
                runs.append([first, self.below.written(place), [[start, start + 1]]])
                continue
            first, _, kept = runs[-1]
            start = number - first
            if kept[-1][1] == start:
                kept[-1][1] += 1
            else:
                kept.append([start, start + 1])
        at = None
        if self.index < len(self.ahead):
            at = {"at": self.count}
        elif self._gap is not None or not runs:
            at = self.below.written(self.below.place())
        return {"count": self.count, "runs": runs, "at": at}

    def seek(self, mark: JSON) -> list[int]:
        """Go to a place described earlier, and fetch again what was held there.

        Parameters
        ----------
        mark : dict
            What `tell` returned.

        Returns
        -------
        list of int
            The numbers of the examples held, in the order in which they were taken first.

        """
        self.clear()
        self.ended = False
        for first, place, kept in mark["runs"]:
            self.below.go(place)
            self.count, self._anchor = first, (first, place)
            passed = 0
            for start, stop in kept:
                self._pass(start - passed)
                for number in range(start, stop):
                    origin = self._origin() if number else (first, place)
                    self._hold(origin, self.below.again())
                passed = stop
        if mark["at"] is None:
            self._pass(mark["count"] - self.count)
        else:
            self.below.go(mark["at"])
            self.count = mark["count"]
        return list(self.held)

    def _origin(self) -> tuple[int, Any]:
        """Return how the next example can be fetched again."""
        if self._numbered:
            return 0, None  # from its number
        if self._gap is None and self._anchor is not None and self.count % _STRIDE:
            return self._anchor
        self._anchor = self.count, self.below.place()
        return self._anchor

    def _hold(self, origin: tuple[int, Any], data: Any) -> int:
        """Hold an example that was fetched by itself."""
        number = self.count
        if self._numbered:
            # An example that could not be fetched may have been left out.
            number, _ = self.child.context.address()
        else:
            self._origins[number], self._contexts[number] = origin, self.child.context
        self.held[number] = data
        self.count = number + 1
        return number

    def _pass(self, size: int) -> None:
        """Read on by so many examples."""
        for _ in range(size):
            if self._gap is None and not self.count % _STRIDE:
                self._origin()
            self.below.again()
            self.count += 1

    def _part(self) -> None:
        """Forget what was ahead: what is still held of it becomes independent of it."""
        if self._rows:
            first = self.count - self.index
            for number, data in self.held.items():
                if number >= first:
                    self.held[number] = tuple(map(own, data))
            self._rows = False
        self.ahead, self.index = [], 0


def numbered(cursor: Any, below: Below) -> bool:
    """Tell whether the ordinal of an example is the place from which it can be fetched.

    Parameters
    ----------
    cursor : Cursor
        The pass of a stream.
    below : Below
        The same pass, for who holds items of it.

    Returns
    -------
    bool
        True for a dataset with a scheme of ours that asks for single examples, and steps above it
        that make one example of each. Only there may ``cursor.block`` have anything to offer.

    """
    while type(cursor) is MapCursor and cursor.requests is None:
        cursor = cursor.child
    return (
        not below.remembers
        and type(cursor) is SourceCursor
        and cursor.by_rows
        and cursor.examples
        and type(cursor.requests).tell is RequestIterator.tell
    )


def owned(column: Any) -> Any:
    """Return a source of several examples, fetched at once, so that it may be handed out.

    Parameters
    ----------
    column : numpy.ndarray or list
        What ``Cursor.block`` returned.

    Returns
    -------
    numpy.ndarray or list
        The same; arrays and lists in a list are copied.

    """
    if type(column) is numpy.ndarray:
        return column
    return list(map(own, column))


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
