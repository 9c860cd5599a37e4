"""One pass over a dataset: the scheme names, the dataset fetches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from fuel.exceptions import RequestError, StateError, StateMismatchError
from fuel.kernels.gather import read_rows
from fuel.plan import _memory
from fuel.plan._context import Context
from fuel.plan._cursor import Cursor
from fuel.plan._foreign import NeedsReplay
from fuel.typing import JSON
from fuel.utils._overrides import is_ours, overridden
from fuel.utils._shared_list import SharedList

if TYPE_CHECKING:
    from fuel.plan._start import Start

__all__ = ["SourceCursor", "reads_by_rows"]

#: The methods of a dataset that decide what a request means.
_READING = ("_tables", "_take", "get_data", "num_examples")
#: Larger than any index.
_LARGEST = 1 << 62


def reads_by_rows(step: Any, state: Any) -> bool:
    """Tell whether what a stream reads can be named by vectors of indices.

    Parameters
    ----------
    step : stream
        A stream that reads a dataset.
    state : object
        The state of the dataset.

    Returns
    -------
    bool
        True where the scheme asks for examples by their numbers, the dataset has tables of them,
        and no class of a user's says what a request means.

    """
    dataset = getattr(step, "dataset", None)
    return (
        state is None
        and getattr(step, "iteration_scheme", None) is not None
        and hasattr(dataset, "_take")
        and not overridden(dataset, *_READING)
        and not overridden(step, "get_data")
    )


class SourceCursor(Cursor):
    """The pass of a stream that reads a dataset.

    Parameters
    ----------
    start : Start
        The epoch being started.
    step : stream
        A stream with `dataset`, `iteration_scheme` and `produces_examples`.

    """

    def __init__(self, start: Start, step: Any) -> None:
        start.take_epoch(step)
        # What users' code remembers before it starts: from there, reading up to a place gets there.
        self.began = _remembered(step)
        # Before the step learns of this pass: it looks at its earlier one.
        fresh = step.__dict__.get("_fresh_state", True)
        self.state = step._begin_pass()
        if start.repeats_first_epoch and not fresh and _remembered(step) != self.began:
            raise StateMismatchError(
                f"{type(step).__name__} was at the beginning of its data when the state was "
                f"saved, and what the {type(step.dataset).__name__} holds draws whenever it "
                "begins; load the state into a pipeline built anew, before it is used"
            )
        super().__init__(start, step)
        self.draws = start.draws
        self.dataset = step.dataset
        self.count = 0
        self.finished = False
        self.examples = bool(step.produces_examples)
        self.mark: JSON = None if self.requests is None else self.requests.tell()
        # Whether rows may be named by vectors of indices, and no list of them is ever made.
        self.by_rows = reads_by_rows(step, self.state)
        # Whether whoever reads the items only reads them, and hands none of their arrays on.
        self.borrow = False
        # The tables that were last found to be such that rows of them can be stacked.
        self.looked_at: list[Any] = []
        self.stacked: list[int] = []

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "looked_at": [], "stacked": []}

    def __next__(self) -> Any:
        if self.by_rows and not self.examples:
            first, rows, request = self.ask()
            data = self.read(rows, request)
            self.context = Context(self.epoch, first, self.requests.position - first, self.draws)
            self.delivered()
            return data
        requests = self.requests
        try:
            if requests is None:
                # Made first: what was read is not lost to an interruption while it is made.
                context = Context(self.epoch, self.count, None, self.draws)
                data = self.dataset.get_data(self.state, None)
                self.context = context
            else:
                first = requests.position
                request = next(requests)
                data = self.dataset.get_data(self.state, request)
                count = None if self.examples else requests.position - first
                self.context = Context(self.epoch, first, count, self.draws)
        except StopIteration:
            self.finished = True
            raise
        self.count += 1
        if requests is not None:
            # Only now: after an error the place is still that behind the last item delivered.
            self.mark = requests.tell()
        return data

    def ask(self) -> tuple[int, Any, Any]:
        """Make the next request.

        Returns
        -------
        first : int
            The ordinal of the first example of it.
        rows : numpy.ndarray, shape (n,), dtype int64, or None
            The rows of a batch; not checked. None where the request is no list of integers.
        request : object
            The request; None where there is no need for it, for there are rows.

        Raises
        ------
        StopIteration
            At the end of the epoch.

        """
        requests = self.requests
        first = requests.position
        try:
            if not self.examples:
                rows = requests.rows(1)
                if rows is not None:
                    return first, rows, None
            request = next(requests)
        except StopIteration:
            self.finished = True
            raise
        return first, read_rows(request, _LARGEST) if type(request) is list else None, request

    def read(self, rows: Any, request: Any) -> Any:
        """Fetch what was asked for."""
        tables = self.tables() if rows is not None else []
        if tables:
            take, borrow = self.dataset._take, self.borrow
            try:
                return tuple([take(table, rows, borrow) for table in tables])
            except RequestError:
                pass  # the dataset says it better
        return self.dataset.get_data(self.state, rows.tolist() if request is None else request)

    def delivered(self) -> None:
        """Count an item; only after an item is the place behind it."""
        self.count += 1
        self.mark = self.requests.tell()

    def in_blocks(self) -> list[Any]:
        """Return the tables, if several examples can be had at once; else an empty list."""
        if not self.by_rows or not self.examples:
            return []
        tables = self.tables()
        if list(map(id, tables)) != self.stacked:
            if not all(map(_stackable, tables)):
                return []
            self.stacked, self.looked_at = list(map(id, tables)), list(tables)
        return tables

    def rows_ahead(self, count: int) -> Any:
        """Request several examples of a stream of examples at once.

        Parameters
        ----------
        count : int
            How many; the end of the epoch may leave fewer.

        Returns
        -------
        numpy.ndarray, shape (n,), dtype int64, or None
            The rows to fetch, after which `passed` or `back` is to be called. None where they can
            only be requested one by one; nothing was requested then.

        Raises
        ------
        StopIteration
            At the end of the epoch.

        """
        try:
            rows: Any = self.requests.rows(count)
        except StopIteration:
            self.finished = True
            raise
        return rows

    def passed(self, size: int, count: int) -> None:
        """Move the place behind examples that were delivered at once, out of so many wanted."""
        self.count += size
        self.mark = self.requests.tell()
        if size < count:
            self.finished = True

    def back(self) -> None:
        """Go back behind the item delivered last."""
        self.requests.seek(self.mark)

    def block(self, count: int) -> Any:
        """Return several examples at once; see `Cursor.block`."""
        tables = self.in_blocks()
        rows = self.rows_ahead(count) if tables else None
        if rows is None:
            return None
        first = self.requests.position - len(rows)
        try:
            take = self.dataset._take
            return [take(table, rows, True) for table in tables], first, len(rows)
        except Exception:
            self.back()  # one by one, those before the one that fails are delivered
            return None

    def tables(self) -> list[Any]:
        """Return what the sources are read from, if all are in memory; else an empty list."""
        tables: list[Any] = self.dataset._tables()
        return tables

    def skip(self, count: int) -> int:
        """Pass over items: what is asked for by its number is not fetched."""
        if self.requests is None or self._counts_items():
            return super().skip(count)
        if count < 1:
            return 0
        passed: int = self.requests.skip(count - 1)
        first = self.requests.position
        if passed == count - 1 and self.requests.skip(1):
            passed = count
            size = None if self.examples else self.requests.position - first
            self.context = Context(self.epoch, first, size, self.draws)
        self.count += passed
        self.mark = self.requests.tell()
        self.finished = self.finished or passed < count
        return passed

    def produce(self, request: Any) -> Any:
        """Fetch what a request names."""
        return self.dataset.get_data(self.state, request)

    def tell(self) -> JSON:
        """Describe the place: that of the scheme, or the number of items without one."""
        if self.requests is not None and not self._counts_items():
            return self.mark
        if self.began is not None and _remembered(self.step) != self.began:
            # Reading up to this place would begin with what is remembered here.
            raise NeedsReplay(
                f"{type(self.dataset).__qualname__} has no numbered places, and remembers something"
            )
        if self.requests is not None:
            return {"own": self.mark, "items": self.count}
        if is_ours(type(self.state)) and hasattr(self.state, "tell"):
            return {"items": self.count, "state": self.state.tell()}
        return self.count

    def _counts_items(self) -> bool:
        # A dataset with a state moves on with every call: its place is the number of calls.
        return self.state is not None

    def seek(self, mark: JSON) -> None:
        """Go to a place; without a scheme that can seek, by reading up to it."""
        self.finished = False
        if self.requests is not None:
            if self._counts_items():
                for _ in range(mark["items"]):
                    next(self)
                mark = mark["own"]
            else:
                self.requests.seek(mark)
            self.mark = self.requests.tell()
            return
        if isinstance(mark, dict):
            if not hasattr(self.state, "seek"):
                raise StateMismatchError(
                    f"the state describes a position inside the {type(self.dataset).__name__}'s "
                    "own state, which has none here; use the dataset it was saved from"
                )
            self.state.seek(mark["state"])
            self.count = mark["items"]
            return
        while self.count < mark:
            try:
                next(self)
            except StopIteration:
                raise StateMismatchError(
                    f"the state lies behind item {mark}, but the dataset has only {self.count}; "
                    "use the dataset it was saved from"
                ) from None

    def close(self) -> None:
        """Close the dataset's state if no later pass uses it."""
        self.step._end_pass(self)


def _stackable(table: Any) -> bool:
    """Tell whether rows of a table, taken at once, are what single rows make when stacked."""
    if type(table) is list or type(table) is SharedList:
        return True
    if type(table) not in (numpy.ndarray, numpy.memmap):
        return False
    if table.dtype.kind == "O":
        return bool(table.ndim == 1)
    # Strings become as long as the longest among them.
    return bool(table.ndim > 0 and table.dtype.kind in "biufc" and table.dtype.isnative)


def _remembered(step: Any) -> JSON:
    """Return what users' code in a step remembers; None where there is none."""
    if not _memory.remembers(step):
        return None
    try:
        return _memory.capture(step)
    except StateError as error:
        return str(error)
