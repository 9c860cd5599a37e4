"""A part of a chain, evaluated for what it is given: in this process or in any other.

In this room: `Unit`, which says what is wanted, `Shipment`, which is all that has to be sent to
evaluate units elsewhere, and `Evaluator`, which does it. The passes are those of a serial epoch,
fused kernels included; only their requests come from the unit instead of a scheme. Not here: who
makes units (`fuel.plan._schedule`), and who carries them (`fuel.workers`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy

from fuel.plan._chain import step_names
from fuel.plan._context import Context, Draws
from fuel.plan._cursor import Cursor
from fuel.plan._parts import Part, detached
from fuel.plan._source import SourceCursor, reads_by_rows
from fuel.schemes._base import RequestIterator
from fuel.typing import JSON, Request

__all__ = ["Evaluator", "NamedDraws", "Shipment", "Unit"]


class Unit(NamedTuple):
    """Items that are evaluated together.

    Attributes
    ----------
    number : int
        Which unit of its pass it is, from 0.
    epoch : int
        Number of the epoch of the source.
    first : int
        Ordinal of the first example.
    items : int
        How many items there are.
    asked : object
        The requests of the items: an int64 vector of single examples, a list of requests, or None
        where the place in the order says it all (`Evaluator.order`). Of a part that is given its
        items: a list of (item, context).
    group : int
        How many examples make a batch, where the part has a step that makes them; 0 to evaluate
        the examples and no step above.

    """

    number: int
    epoch: int
    first: int
    items: int
    asked: Any
    group: int = 0


class Shipment:
    """What is needed to evaluate the units of a part.

    Parameters
    ----------
    part : Part
        The part.
    names : dict
        The names of the steps of the whole chain, by ``id``.

    """

    def __init__(self, part: Part, names: dict[int, str]) -> None:
        self.part, originals = detached(part)
        self.seeds_and_names: list[tuple[Any, str]] = [
            (twin, names[key])
            for twin in _all(self.part)
            if (key := id(originals[id(twin)])) in names
        ]

    def steps(self) -> list[Any]:
        """Return the steps of the part, lowest first."""
        return _all(self.part)

    def draws(self) -> NamedDraws:
        """Return where the generators of the part come from."""
        return NamedDraws(self.part.top, self.seeds_and_names)


def _all(part: Part) -> list[Any]:
    return [part.source, *part.steps, *([part.group] if part.group else []), *part.above]


class NamedDraws(Draws):
    """Generators of steps that keep the names they have in another chain.

    Parameters
    ----------
    stream : stream
        The top of the steps.
    named : list of (stream, str)
        The steps and their names.

    """

    def __init__(self, stream: Any, named: list[tuple[Any, str]]) -> None:
        super().__init__(stream)
        self._named = {id(step): name for step, name in named}

    def _name(self, step: Any) -> str:
        name = self._named.get(id(step))
        return step_names(step)[id(step)] if name is None else name


class GivenRequests(RequestIterator):
    """Requests that come from a unit.

    Notes
    -----
    Ends with the last request of the unit; `load` begins another one.

    """

    def __init__(self) -> None:
        self.load(0, [])

    def load(self, first: int, asked: Any) -> None:
        """Take the requests of a unit.

        Parameters
        ----------
        first : int
            Ordinal of the first example.
        asked : numpy.ndarray or list
            A vector of single examples, or requests.

        """
        self.first = self.position = first
        self.vector = asked if isinstance(asked, numpy.ndarray) else None
        self.asked = asked
        self.index = 0
        self.places = [first]

    def __next__(self) -> Request:
        if self.index >= len(self.asked):
            raise StopIteration
        request = self.asked[self.index]
        if self.vector is not None:
            request = int(request)
        elif isinstance(request, numpy.ndarray) and request.dtype == numpy.int64:
            request = request.tolist()
        self._passed(1, request)
        return request

    def rows(self, count: int) -> Any:
        """Make the next requests as a vector; see `RequestIterator.rows`."""
        if self.index >= len(self.asked):
            raise StopIteration
        if self.vector is not None:
            found = self.vector[self.index : self.index + count]
            self.index += len(found)
            self.position += len(found)
            return found
        request = self.asked[self.index]
        if isinstance(request, numpy.ndarray) and request.dtype == numpy.int64:
            self._passed(1, request)
            return request
        return None

    def _passed(self, count: int, request: Any) -> None:
        from fuel.schemes._custom import request_size

        self.index += count
        self.position += 1 if self.vector is not None else request_size(request, self.examples)
        if self.vector is None:
            del self.places[self.index :]
            self.places.append(self.position)

    #: Whether a request names a single example.
    examples = False

    def seek(self, mark: JSON) -> None:
        """Go back to a place inside the unit."""
        if self.vector is not None:
            self.index = int(mark) - self.first
        else:
            self.index = self.places.index(mark)
        self.position = int(mark)


class _GivenSizes(RequestIterator):
    """The sizes of the batches of a unit."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def __next__(self) -> Request:
        if not self.sizes:
            raise StopIteration
        return self.sizes.pop(0)

    def seek(self, mark: JSON) -> None:
        """Do nothing: a unit is evaluated from its beginning."""


class _SourcePass(SourceCursor):
    """The pass of a source whose requests come from units."""

    def __init__(self, start: _Start, step: Any) -> None:
        # Not that of the base: no epoch of the stream begins, and no state of its dataset.
        self.step = step
        self.epoch = 0
        self.requests: Any = GivenRequests()
        self.requests.examples = bool(step.produces_examples)
        self.draws = start.draws
        self.context = Context(0, 0, None, start.draws)
        self.state = None
        self.began = None
        self.dataset = step.dataset
        self.count = 0
        self.finished = False
        self.examples = bool(step.produces_examples)
        self.mark: JSON = 0
        self.by_rows = reads_by_rows(step, None)
        self.borrow = False
        self.looked_at: list[Any] = []
        self.stacked: list[int] = []


class _ItemsPass(Cursor):
    """The pass of a stream whose items come with the unit."""

    def __init__(self, start: _Start, step: Any) -> None:
        self.step = step
        self.epoch = 0
        self.requests = None
        self.context = Context(0, 0, None, start.draws)
        self.items: list[Any] = []

    def produce(self, request: Any) -> Any:
        """Return the next item of the unit."""
        if not self.items:
            raise StopIteration
        data, self.context = self.items.pop(0)
        return data


class _Start:
    """Starts the passes of a part; see `fuel.plan._start.Start`, whose place it takes."""

    epoch = 0

    def __init__(self, part: Part, draws: Draws) -> None:
        self.part = part
        self.draws = draws
        self.source: Any = None
        self.sizes: Any = None
        self.cursors: list[Cursor] = []

    def child(self, stream: Any) -> Cursor:
        cursor: Any
        if stream is self.part.source:
            cursor = self.source = (_ItemsPass if self.part.given else _SourcePass)(self, stream)
        else:
            cursor = stream._make_cursor(self)
        self.cursors.append(cursor)
        made: Cursor = cursor
        return made

    def requests(self, scheme: Any) -> Any:
        if scheme is None:
            return None
        self.sizes = _GivenSizes()
        return self.sizes

    def attach(self, cursor: Cursor, step: Any) -> None:
        # The step's own pass is that of the consumer.
        return None


class Evaluator:
    """Evaluates units of a part.

    Parameters
    ----------
    shipment : Shipment
        The part.

    Notes
    -----
    Belongs to one thread; several of one shipment may work at the same time.

    """

    def __init__(self, shipment: Shipment) -> None:
        part = shipment.part
        self.part = part
        self.draws = shipment.draws()
        self.whole = _Start(part, self.draws)
        self.top = self.whole.child(part.top)
        self.single: Any = None
        source = part.source
        if not part.given and not getattr(source, "_opened", True):
            source._open()
        #: The order of the epoch, where units name places in it.
        self.order: Any = None

    def items(self, unit: Unit) -> Iterator[Any]:
        """Evaluate a unit, item by item.

        Parameters
        ----------
        unit : Unit
            What is wanted.

        Yields
        ------
        tuple or BaseException
            An item, or what was raised in its stead. The generator goes on after an error.

        """
        start, top = self.whole, self.top
        if self.part.group is not None and not unit.group:
            start, top = self._below_group()
        source = start.source
        if self.part.given:
            source.items = [(item, context.over(self.draws)) for item, context in unit.asked]
        else:
            self._load(source, unit)
        for cursor in start.cursors:
            cursor.epoch = unit.epoch
        if unit.group:
            self._prepare_group(unit)
        for _ in range(unit.items):
            try:
                yield next(top)
            except StopIteration:
                yield RuntimeError(
                    f"{type(self.part.top).__name__} ended before everything that was asked for "
                    "was there; a step that is declared elementwise must give one item for each"
                )
            except Exception as error:
                yield error

    def _load(self, source: Any, unit: Unit) -> None:
        asked = unit.asked
        if asked is None:
            self.order.seek(unit.first)
            examples = unit.group * unit.items if unit.group else unit.items
            if source.examples:
                asked = self.order.rows(examples)
            else:
                asked = [self.order.rows(1) for _ in range(unit.items)]
        source.requests.load(unit.first, asked)
        source.mark = unit.first

    def _prepare_group(self, unit: Unit) -> None:
        left = len(self.whole.source.requests.asked)
        sizes = []
        while left > 0:
            sizes.append(min(unit.group, left))
            left -= unit.group
        self.whole.sizes.sizes = sizes
        group = next(one for one in self.whole.cursors if one.step is self.part.group)
        group.forget()  # type: ignore[attr-defined]

    def _below_group(self) -> tuple[_Start, Any]:
        """Return the passes of the examples only, for units smaller than a batch."""
        if self.single is None:
            start = _Start(self.part, self.draws)
            self.single = start, start.child(self.part.group.data_stream)
        found: tuple[_Start, Any] = self.single
        return found

    def finish(self, batch: Any, context: Context) -> Any:
        """Take a batch that was put together elsewhere through the steps above.

        Parameters
        ----------
        batch : tuple
            One entry a source.
        context : Context
            That of the batch.

        Returns
        -------
        tuple
            The item.

        """
        context = context.over(self.draws)
        for step in self.part.above:
            batch = step.apply(batch, context)
        return batch
