"""What is to be evaluated next: an epoch of a part, cut into units, in order.

In this room: `Schedule`, which takes requests from the scheme ahead of what is delivered, and
knows the place behind each item. Nothing is fetched here. Not here: the evaluation of units
(`fuel.plan._evaluation`), and who carries them out (`fuel.workers`).
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy

from fuel.plan._context import Context
from fuel.plan._evaluation import Unit
from fuel.plan._parts import Part
from fuel.schemes._base import RequestIterator
from fuel.schemes._by_place import PermutedBatches, PermutedExamples
from fuel.schemes._requests import SequenceBatches, SequenceExamples
from fuel.typing import JSON

__all__ = ["Planned", "Schedule"]

#: Orders in which any place can be named, and reached at once.
_BY_PLACE = (PermutedBatches, PermutedExamples, SequenceBatches, SequenceExamples)


class Planned(NamedTuple):
    """A unit, and what the consumer knows of its items.

    Attributes
    ----------
    unit : Unit
        What is to be evaluated.
    places : list
        The place behind each item, for `Schedule.reached`.
    sizes : list of int or None
        How many examples each item has; None for single examples.

    """

    unit: Unit
    places: list[Any]
    sizes: list[int] | None


class Schedule:
    """The units of one epoch of a part.

    Parameters
    ----------
    part : Part
        The part.
    child : Cursor
        The pass of its top, freshly started. From now on its requests run ahead, and it stands
        behind the item delivered last.

    """

    def __init__(self, part: Part, child: Any) -> None:
        self.part = part
        self.child = child
        self.number = 0
        cursor = child
        self.grouping: Any = None
        while cursor.step is not part.source:
            if cursor.step is part.group:
                self.grouping = cursor
            cursor = cursor.child
        self.source = cursor
        if not part.given:
            self.requests: RequestIterator = cursor.requests
            self.examples: bool = cursor.examples
        # Whether the pass can go back to a place.
        self.returns = not part.given and isinstance(cursor.requests, _BY_PLACE)
        self.draws = child.context.draws
        # Where the stream below stood behind the item delivered last: it is read ahead.
        self._below: Any = self._stand()
        # How many examples the last batch asked for, and how many were left for it, if too few.
        self.left_over: tuple[int, int] | None = None

    @property
    def epoch(self) -> int:
        """Number of the epoch of the source."""
        epoch: int = self.source.epoch
        return epoch

    def order(self) -> RequestIterator | None:
        """Return the order of the epoch, if a place in it says what is asked for."""
        if self.part.given or type(self.requests) not in _BY_PLACE:
            return None
        indices = getattr(self.requests, "_indices", None)
        counted = isinstance(indices, range) or (
            isinstance(indices, numpy.ndarray) and indices.dtype == numpy.int64
        )
        if isinstance(self.requests, (PermutedBatches, PermutedExamples)):
            counted = isinstance(indices, range) and (indices.start, indices.step) == (0, 1)
        return self.requests if counted else None

    def take(self, count: int, *, by_place: bool = False) -> Planned | None:
        """Make the next unit.

        Parameters
        ----------
        count : int
            How many items it may have.
        by_place : bool, optional
            Leave out the requests, where the place in the order says what they are.

        Returns
        -------
        Planned or None
            None at the end of the epoch, and where the next item is to be evaluated in order.

        """
        if self.part.given:
            planned = self._given(count)
        elif self.grouping is not None:
            planned = self._groups(count, by_place)
        elif self.examples:
            planned = self._examples(count, by_place)
        else:
            planned = self._batches(count, by_place)
        if planned is not None:
            self.number += 1
        return planned

    def pass_over(self, count: int) -> int:
        """Pass over items that nobody asked for yet, and return how many there were."""
        passed: int = self.child.skip(count)
        self._below = self._stand()
        return passed

    def _stand(self) -> Callable[[], JSON] | None:
        return _described(self.source) if self.part.given else None

    def place(self) -> Any:
        """Return where the pass stands, for `put`."""
        own = None if self.grouping is None else self.grouping.own
        return self.source.mark, self.source.count, own

    def put(self, place: Any) -> None:
        """Let the pass stand somewhere else; its requests stay where they are."""
        self.source.mark, self.source.count, own = place
        if self.grouping is not None:
            self.grouping.own = own

    def asked(self, planned: Planned, index: int) -> Any:
        """Return what the scheme asked for with an item: an index, or a list of them."""
        unit = planned.unit
        if self.part.given or unit.group:
            return None
        asked = unit.asked
        if asked is None:
            order = copy.copy(self.requests)
            if planned.sizes is None:
                order.seek(unit.first + index)
                return next(order)
            order.seek(planned.places[index][0] - planned.sizes[index])
            return next(order)
        found = asked[index]
        return found.tolist() if isinstance(found, (numpy.ndarray, numpy.generic)) else found

    # -- the kinds of units ---------------------------------------------------------------------

    def _vector(self, count: int) -> Any:
        try:
            return self.requests.rows(count)
        except StopIteration:
            return numpy.empty(0, dtype=numpy.int64)

    def _asked(self, count: int) -> tuple[Any, list[JSON]]:
        """Take requests for single examples, and the places behind them."""
        requests = self.requests
        first = requests.position
        if type(requests).tell is RequestIterator.tell:
            vector = self._vector(count)
            if vector is not None:
                return vector, list(range(first + 1, first + len(vector) + 1))
        asked: list[Any] = []
        places: list[JSON] = []
        while len(asked) < count:
            try:
                asked.append(next(requests))
            except StopIteration:
                break
            places.append(requests.tell())
        return asked, places

    def _examples(self, count: int, by_place: bool) -> Planned | None:
        first = self.requests.position
        asked, places = self._asked(count)
        if not len(asked):
            return None
        unit = Unit(self.number, self.epoch, first, len(asked), None if by_place else asked)
        return Planned(unit, [(place, None) for place in places], None)

    def _batches(self, count: int, by_place: bool) -> Planned | None:
        requests = self.requests
        first = requests.position
        asked: list[Any] = []
        places: list[Any] = []
        sizes: list[int] = []
        if by_place:
            size = requests._batch_size  # type: ignore[attr-defined]
            passed = requests.skip(count)
            end = requests.position
            for number in range(passed):
                stop = min(end, first + (number + 1) * size)
                places.append((stop, None))
                sizes.append(stop - first - number * size)
            if not passed:
                return None
            return Planned(Unit(self.number, self.epoch, first, passed, None), places, sizes)
        while len(asked) < count:
            before = requests.position
            try:
                request = requests.rows(1)
                if request is None:
                    request = next(requests)
            except StopIteration:
                break
            asked.append(request)
            places.append((requests.tell(), None))
            sizes.append(requests.position - before)
        if not asked:
            return None
        return Planned(Unit(self.number, self.epoch, first, len(asked), asked), places, sizes)

    def _groups(self, count: int, by_place: bool) -> Planned | None:
        """Make a unit of whole batches; batches of different sizes come one a unit."""
        grouping, requests = self.grouping, self.requests
        first, mark = requests.position, requests.tell()
        sizes: list[int] = []
        owns: list[JSON] = []
        if not self.returns:
            count = 1
        while len(sizes) < count:
            before = grouping.requests.tell()
            try:
                size = grouping.request()
            except StopIteration:
                break
            if sizes and size != sizes[0]:
                grouping.requests.seek(before)
                break
            sizes.append(size)
            owns.append(grouping.requests.tell())
        if not sizes:
            return None
        asked, places = self._asked(sizes[0] * len(sizes))
        there, size = len(asked), sizes[0]
        whole, left = divmod(there, size)
        if left and whole:
            # The short last batch stands alone.
            requests.seek(mark)
            asked, places = self._asked(whole * size)
            left = 0
        elif left and grouping.step.strictness:
            self.left_over = (size, left)
            return None
        batches = whole + (1 if left else 0)
        if not batches:
            return None
        if batches < len(owns):
            grouping.requests.seek(owns[batches - 1])
        marks = [
            (places[min(len(places), (number + 1) * size) - 1], owns[number])
            for number in range(batches)
        ]
        unit = Unit(
            self.number, self.epoch, first, batches, None if by_place else asked, min(size, there)
        )
        return Planned(unit, marks, [size] * whole + ([left] if left else []))

    def _given(self, count: int) -> Planned | None:
        items: list[Any] = []
        places: list[Any] = []
        for _ in range(count):
            try:
                item = next(self.source)
            except StopIteration:
                break
            items.append((item, self.source.context.over(None)))
            places.append((_described(self.source), None))
        if not items:
            return None
        return Planned(Unit(self.number, self.epoch, 0, len(items), items), places, None)

    # -- the consumer's side --------------------------------------------------------------------

    def context(self, planned: Planned, index: int) -> Context:
        """Return the context of an item.

        Parameters
        ----------
        planned : Planned
            A unit.
        index : int
            Which of its items.

        Returns
        -------
        Context
            That which the pass here would have given it.

        """
        unit = planned.unit
        if self.part.given:
            found: Context = unit.asked[index][1].over(self.draws)
            return found
        if planned.sizes is None:
            return Context(unit.epoch, unit.first + index, None, self.draws)
        first = unit.first + sum(planned.sizes[:index])
        grouped = self.grouping is not None
        return Context(unit.epoch, first, planned.sizes[index], self.draws, collected=grouped)

    def reached(self, planned: Planned, index: int) -> None:
        """Put the pass here behind an item that was delivered."""
        place, own = planned.places[index]
        if self.part.given:
            self._below = place
            return
        self.source.mark = place
        self.source.count += 1 if planned.sizes is None or not own else planned.sizes[index]
        if self.grouping is not None:
            self.grouping.own = own

    def tell(self) -> JSON:
        """Describe the place behind the item delivered last, as the pass here does."""
        if self.part.given and self._below is not None:
            return self._below()
        return self.child.tell()

    def seek(self, mark: JSON) -> None:
        """Go to a place; the next unit begins behind it."""
        self.child.seek(mark)
        self._below = self._stand()
        if self.grouping is not None:
            self.grouping.let_go()

    def finish(self) -> None:
        """Note that the epoch is over.

        Raises
        ------
        ValueError
            If the step that makes batches refuses the short last one.

        """
        if self.left_over is not None and self.grouping.step.strictness == 2:
            self.grouping.refuse_short(*self.left_over)
        if self.part.given:
            # The stream below has been found to have ended, and says so.
            self._below = None
        else:
            self.source.finished = True


def _described(cursor: Any) -> Callable[[], JSON]:
    """Return the place of a pass, to be asked for if somebody wants it."""
    from fuel.exceptions import StateError

    try:
        mark = cursor.tell()
    except StateError as error:
        return functools.partial(_raise, error)
    return functools.partial(_same, mark)


def _same(mark: JSON) -> JSON:
    return mark


def _raise(error: Exception) -> JSON:
    raise error
