"""Passes that hold items of the stream below: how these are described without storing them.

What is held is described by the *place* below from which it can be fetched again, and by how
much of it has been used. `Below` tells such places, `RequestCursor` is the pass of a step with
an iteration scheme of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fuel.exceptions import RequestError, StateError, StateMismatchError
from fuel.plan import Cursor, _memory
from fuel.typing import JSON

if TYPE_CHECKING:
    from fuel.plan import Start

__all__ = ["Below", "RequestCursor", "check_request", "told"]


class Below:
    """The pass below a step that holds items.

    A place is the mark of that pass and, where users' steps or functions below remember
    something, what they remembered there: fetching an item again must find them as they were
    when it was fetched first, which is not how they are now.

    Parameters
    ----------
    cursor : Cursor
        The pass.
    stream : stream
        The stream passed over.

    """

    def __init__(self, cursor: Any, stream: Any) -> None:
        self.cursor = cursor
        self.stream = stream
        self.remembers = _memory.remembers(stream)

    def place(self) -> Any:
        """Return where the pass is now.

        Returns
        -------
        JSON or StateError
            For `written` and `go`; an error where the place cannot be described, which matters
            only if somebody asks for it.

        """
        try:
            mark = {"at": self.cursor.tell()}
            if self.remembers:
                memory = _memory.capture(self.stream)
                if memory:
                    mark["memory"] = memory
        except StateError as error:
            return error
        return mark

    @staticmethod
    def written(place: Any) -> JSON:
        """Return a place as JSON, or raise the error that stands for it."""
        if isinstance(place, StateError):
            raise place
        return place

    def go(self, place: JSON) -> None:
        """Go to a place, ready to fetch what was fetched from there."""
        self.cursor.seek(place["at"])
        if self.remembers:
            # Last, because going there may have run users' code.
            _memory.restore(self.stream, place.get("memory", {}))

    def again(self) -> Any:
        """Return the next item, which was fetched before.

        Raises
        ------
        StateMismatchError
            If there is none.

        """
        try:
            return next(self.cursor)
        except StopIteration:
            raise StateMismatchError(
                f"the state describes an item of the {type(self.stream).__name__} that is to be "
                "fetched again, but its epoch ended before; build the pipeline that the state was "
                "saved from"
            ) from None


class RequestCursor(Cursor):
    """The pass of a step that answers the requests of its own scheme from the stream below.

    A request is made until it was answered: after an error the same one is tried again, and the
    place is still that behind the item delivered last.

    Parameters
    ----------
    start : Start
        The epoch being started.
    step : Transformer
        The step.

    """

    child: Any

    def __init__(self, start: Start, step: Any) -> None:
        self.child = start.child(step.data_stream)
        super().__init__(start, step)
        self.below = Below(self.child, step.data_stream)
        self.own: JSON = None if self.requests is None else self.requests.tell()
        self.unanswered: Any = None

    def __next__(self) -> Any:
        if self.unanswered is None:
            self.unanswered = next(self.requests)
        data = self.produce(self.unanswered)
        self.unanswered = None
        self.own = self.requests.tell()
        return data

    def tell(self) -> JSON:
        """Describe the place: that of the requests, and what is held."""
        return {"own": self.own, "held": self.tell_held()}

    def seek(self, mark: JSON) -> None:
        """Go to a place described earlier; what was held there is fetched again."""
        self.unanswered = None
        if self.requests is not None:
            self.requests.seek(mark["own"])
            self.own = self.requests.tell()
        self.seek_held(mark["held"])

    def tell_held(self) -> JSON:
        """Describe what is held."""
        raise NotImplementedError

    def seek_held(self, mark: JSON) -> None:
        """Hold what was described."""
        raise NotImplementedError


def told(scheme: Any) -> str:
    """Return how messages call what was given as an iteration scheme."""
    if isinstance(scheme, type):
        return f"the class {scheme.__name__}"
    known = scheme is None or hasattr(scheme, "get_request_iterator")
    return type(scheme).__name__ if known else f"{scheme!r:.80}"


def check_request(name: str, request: Any) -> int:
    """Return a request for a number of examples, or say what is wrong with it.

    Parameters
    ----------
    name : str
        The transformer.
    request : int
        What its scheme asked for.

    Returns
    -------
    int
        The number.

    Raises
    ------
    RequestError
        If it is not a positive integer. It is a ValueError.

    """
    if isinstance(request, bool) or not hasattr(request, "__index__"):
        raise RequestError(
            f"{name} must be asked for a number of examples, got {request!r:.80}; give it an "
            "iteration scheme like ConstantScheme(batch_size)"
        )
    number: int = request.__index__()
    if number < 1:
        raise RequestError(f"{name} was asked for {number} examples; ask for at least one")
    return number
