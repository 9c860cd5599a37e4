"""One pass over a dataset: the scheme names, the dataset fetches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fuel.exceptions import StateError, StateMismatchError
from fuel.plan import _memory
from fuel.plan._context import Context
from fuel.plan._cursor import Cursor
from fuel.plan._foreign import NeedsReplay
from fuel.typing import JSON
from fuel.utils._overrides import is_ours

if TYPE_CHECKING:
    from fuel.plan._run import Start

__all__ = ["SourceCursor"]


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

    def __next__(self) -> Any:
        requests = self.requests
        try:
            if requests is None:
                data = self.dataset.get_data(self.state, None)
                self.context = Context(self.epoch, self.count, None, self.draws)
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


def _remembered(step: Any) -> JSON:
    """Return what users' code in a step remembers; None where there is none."""
    if not _memory.remembers(step):
        return None
    try:
        return _memory.capture(step)
    except StateError as error:
        return str(error)
