"""One run over the data: items in the user's form, and where they are.

In this room: `LoaderIterator`. How items are made is in the chain below it (`fuel.loader._plan`).
"""

from __future__ import annotations

import operator
from typing import Any

from fuel.exceptions import IteratorInvalidatedError, RequestError
from fuel.loader._places import loader_state, of_stream, read_state, to_stream
from fuel.typing import JSON

__all__ = ["LoaderIterator"]


class LoaderIterator:
    """Iterates over one run of a loader: `num_epochs` epochs.

    Users get it from ``iter(loader)``.

    Parameters
    ----------
    loader : DataLoader
        The loader.
    items : DataIterator
        The items of its chain.
    run : int
        Number of the run.

    Notes
    -----
    Independent of other iterators of the same loader. Picklable whenever the data and the functions
    are; the copy goes on with the same next item. Not safe to share between threads.

    """

    def __init__(self, loader: Any, items: Any, run: int) -> None:
        self._loader = loader
        self._items = items
        self._run = run
        self._token: Any = None
        self._count_from(0)
        self._hold()

    def _count_from(self, position: int) -> None:
        """Count what is delivered, and what fails, from a position in the run on."""
        self._base = position - self._items._run.delivered * self._size
        self._failed = 0
        # How many items had been delivered when the latest one failed, and the place before it.
        self._failing: tuple[int, int] | None = None

    @property
    def _size(self) -> int:
        return self._loader._plan.arguments.batch_size or 1

    def _hold(self) -> None:
        plan = self._loader._plan
        self._advance = self._items._run.__next__
        opaque = tuple(self._items.data_stream.sources) == ("item",)
        structure = plan.structure
        # An item of one source is that source's data; a plain tuple is what the chain delivers.
        self._first = opaque or structure.form is None
        self._pack = None if self._first or structure.is_plain else structure.pack
        # Of streams, single observations come as lists of one.
        self._single = plan.one_by_one

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        for name in ("_advance", "_pack", "_single"):
            del state[name]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._hold()
        self._loader._returned(self)

    def __iter__(self) -> LoaderIterator:
        return self

    def __next__(self) -> Any:
        try:
            data = self._advance()
        except (StopIteration, IteratorInvalidatedError):
            raise
        except BaseException:
            self._note_failure()
            raise
        if self._first:
            return data[0][0] if self._single else data[0]
        return data if self._pack is None else self._pack(data)

    def _note_failure(self) -> None:
        # The source may stand behind an item that the steps above it failed to make.
        delivered = self._items._run.delivered
        if self._failing is None or self._failing[0] != delivered:
            before = self._base + (delivered + self._failed) * self._size
            self._failing = delivered, before
        self._failed += 1

    def __length_hint__(self) -> int:
        """Return about how many items are left."""
        plan = self._loader._plan
        total = plan.items()
        return 0 if total is None else max(0, total - self._items._run.delivered)

    def __del__(self) -> None:
        if "_items" in self.__dict__:
            self._loader._left(self)

    @property
    def delivered(self) -> int:
        """How many items this iterator has delivered or passed over."""
        return int(self._items._run.delivered)

    @property
    def failures(self) -> Any:
        """What could not be evaluated, and what was done about it; None where that is an error."""
        return self._loader.failures

    def skip(self, count: int) -> int:
        """Pass over items without evaluating them, wherever that is possible.

        Parameters
        ----------
        count : int
            How many; the end of the run may leave fewer.

        Returns
        -------
        int
            How many there were.

        Raises
        ------
        ValueError
            If `count` is negative.

        """
        number = operator.index(count)
        if number < 0:
            raise ValueError(f"`count` must be a number of items, got {count}; seek goes back")
        run = self._items._run
        if not self._loader._plan.arguments.may_skip:
            return int(run.skip(number))
        # Which examples are left out is only known when they were tried.
        for passed in range(number):
            if next(run, run) is run:
                return passed
        return number

    def seek(self, number: int) -> None:
        """Go to an item of the run, forward or back, without evaluating those before it.

        Parameters
        ----------
        number : int
            The next item is this one, counted from 0 in a run of this batch size from its
            beginning; the number of all items is the end.

        Raises
        ------
        RequestError
            If there is no such item. It is a ValueError and an IndexError.

        Notes
        -----
        At once where the examples have numbers. Otherwise, and where examples that fail are left
        out, the items before it are gone through.

        """
        place = operator.index(number)
        plan = self._loader._plan
        if not plan.by_place:
            self._items.seek(place)
            return
        if plan.arguments.may_skip and place >= 0:
            if place < self.delivered:
                self._go({"position": 0, "ended": False})
            if self.skip(place - self.delivered) < place - self.delivered:
                raise _no_item(place, self.delivered)
            return
        total = plan.items()
        if place < 0 or (total is not None and place > total):
            raise _no_item(place, total)
        run = self._items._run
        end = plan.scheme.order(self._run).count
        run.cursor.seek(plan.mark(min(place * self._size, end)))
        run.ended, run.delivered = False, place
        self._count_from(place * self._size)

    def state_dict(self) -> dict[str, JSON]:
        """Describe the place behind the item delivered last.

        Returns
        -------
        dict
            Plain JSON, for `load_state_dict` of a loader over the same data, of whatever batch size
            and with whatever workers.

        """
        plan = self._loader._plan
        if not plan.by_place:
            return of_stream(plan, self._items.state_dict())
        run, failing = self._items._run, self._failing
        mark = run.cursor.tell()
        if (
            failing is not None
            and failing[0] == run.delivered
            and not plan.arguments.needs_executor
        ):
            mark = failing[1]
        return loader_state(plan, self._run, mark, run.ended)

    def load_state_dict(self, state: JSON) -> None:
        """Go to the place that a state describes.

        Parameters
        ----------
        state : dict
            What `state_dict` of an iterator or of a loader returned.

        Raises
        ------
        StateMismatchError
            If it belongs to another loader; both sides are shown.
        StateVersionError, StateDamagedError
            If it was written by a newer version, or is not what was written.

        """
        plan = self._loader._plan
        if not plan.by_place:
            self._items.load_state_dict(to_stream(plan, self._items.data_stream, state))
            return
        place = read_state(plan, state)
        if place["run"] != self._run:
            self._items.close()
            self._run = place["run"]
            self._items = plan.begin_at(self._items.data_stream, self._run)
            self._hold()
        self._go(place)
        self._loader._started(self)

    def _go(self, place: JSON) -> None:
        """Go to a place in the run."""
        plan = self._loader._plan
        run = self._items._run
        mark = place["mark"] if "mark" in place else plan.mark(place["position"])
        run.cursor.seek(mark)
        position = int(place.get("position", 0))
        run.delivered = -(-position // self._size)
        run.ended = bool(place["ended"])
        self._count_from(position)

    def close(self) -> None:
        """Release what the run holds (workers, files); it cannot be used afterwards."""
        self._loader._left(self)
        self._items.close()
        if not self._items._run.ended:
            self._advance = self._refuse

    def _refuse(self) -> Any:
        raise IteratorInvalidatedError(
            f"this iterator was closed before the end of its run, {self.delivered} items into it "
            "(by `close`, or at the end of a `with`); iterate over the loader again, or load the "
            "state of this iterator into it"
        )


def _no_item(place: int, total: int | None) -> RequestError:
    has = "begins with item 0" if total is None else f"has {total} items"
    return RequestError(f"the run {has}, got a request for item {place}")
