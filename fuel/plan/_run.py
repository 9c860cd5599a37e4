"""One epoch of a whole chain: positioned, described and resumed.

How its passes are started is in `fuel.plan._start`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

from fuel.exceptions import StateDamagedError, StateError, StateMismatchError
from fuel.plan import _memory, _upcoming
from fuel.plan._chain import walk
from fuel.plan._context import Draws
from fuel.plan._cursor import Cursor
from fuel.plan._start import Start, described
from fuel.typing import JSON
from fuel.utils._overrides import is_ours

__all__ = ["Run", "guarded"]

_T = TypeVar("_T")


class Run:
    """One epoch of a chain.

    Parameters
    ----------
    stream : stream
        The top of the chain.
    description : dict, optional
        The epoch and the place to start at, as `describe` returned it; without it the next epoch
        begins.

    Attributes
    ----------
    cursor : Cursor
        The pass of the top.
    delivered : int
        Items delivered so far.
    counted : bool
        Whether they were all of the present size: a run that goes on with other batches, or among
        other ranks, does not know how many of these came before.

    Notes
    -----
    Picklable whenever the stream is. Not shared between threads.

    """

    cursor: Cursor

    def __init__(self, stream: Any, description: JSON = None) -> None:
        self.stream = stream
        self.draws = Draws(stream)
        self.delivered = 0
        _memory.watch(stream)
        if description is None:
            self._open(None)
        else:
            self._go(description)

    def _open(self, origin: JSON) -> None:
        # What the epoch began with, should it have to be run again to reach a place in it.
        self.began: Any = None
        try:
            self.began = {"memory": _memory.capture(self.stream)}
        except StateError:
            pass
        start = Start(self.draws, origin)
        self.cursor = start.top(self.stream)
        if self.began is None:
            # Starting an epoch often empties what was left over of the one before.
            try:
                self.began = {"memory": _memory.capture(self.stream), "started": True}
            except StateError as error:
                self.began = error
        self.origin = start.origin
        self.delivered = 0
        self.counted = True
        self.ended = False
        self.following = self._following()

    def _following(self) -> JSON:
        """Describe what the epochs after this one will start from, None if that cannot be said."""
        try:
            return _upcoming.orders(self.stream)
        except StateError:
            return None

    @property
    def epoch(self) -> int:
        """Number of the epoch, from 0."""
        return self.cursor.epoch

    def __iter__(self) -> Run:
        return self

    def __next__(self) -> Any:
        if self.ended:
            # What has ended stays so, and users' code is not asked again.
            raise StopIteration
        try:
            data = next(self.cursor)
        except StopIteration:
            self.ended = True
            raise
        self.delivered += 1
        return data

    def skip(self, count: int) -> int:
        """Pass over items, without evaluating them where that is possible.

        Parameters
        ----------
        count : int
            How many; the end of the epoch may leave fewer.

        Returns
        -------
        int
            How many there were.

        """
        if self.ended or count <= 0:
            return 0
        passed = self.cursor.skip(count)
        self.delivered += passed
        self.ended = passed < count
        return passed

    def begin_again(self) -> None:
        """Go back to the beginning of the epoch; those to come are what they were.

        Raises
        ------
        StateError
            If a step cannot be brought back there.

        """
        if isinstance(self.began, StateError):
            raise self.began
        upcoming = self._following()
        position = {"replay": 0, **self.began}
        origin = described(self.origin)
        self.cursor.close()
        self._go({"delivered": 0, "origin": origin, "position": position})
        if upcoming is not None:
            _upcoming.set_orders(self.stream, upcoming)

    def position(self) -> dict[str, JSON]:
        """Describe the place behind the item delivered last.

        Returns
        -------
        dict
            Plain JSON: the mark of the top pass, and what users' steps remember; or the number of
            items after which the place is reached again, where a step cannot say where it is.

        Raises
        ------
        StateError
            If a step remembers something that cannot be described.

        """
        try:
            position: dict[str, JSON] = {"mark": self.cursor.tell()}
            memory = _memory.capture(self.stream)
        except StateError as error:
            if isinstance(self.began, StateError):
                raise self.began from error
            if not self.counted:
                raise StateError(
                    f"{error}; and since the batches or ranks are others than those that the run "
                    "began with, counting does not find the place: save it behind a later item, "
                    "or before something fails"
                ) from error
            return {"replay": self.delivered, **self._unit(), **self.began}
        if memory:
            position["memory"] = memory
        return position

    def _unit(self) -> dict[str, JSON]:
        """Describe what an item is, where items are counted."""
        return {"ranks": _ranks(self.stream), "sizes": _sizes(self.stream)}

    def describe(self) -> dict[str, JSON]:
        """Describe the epoch and the place in it.

        Returns
        -------
        dict
            Plain JSON, for `restore`.

        Raises
        ------
        StateError
            If a step cannot be described.

        """
        description: dict[str, JSON] = {
            "delivered": self.delivered,
            "origin": described(self.origin),
            "position": self.position(),
        }
        if self.counted:
            description["unit"] = self._unit()
        if self.ended:
            description["ended"] = [one.finished for one in _sources(self.cursor)]
        following = self._following()
        if following != self.following:
            # Other epochs have begun since, or somebody else draws from the same generator.
            description["following"] = following
        return description

    def restore(self, description: JSON) -> None:
        """Go to a place described earlier, in this or another process.

        Parameters
        ----------
        description : dict
            What `describe` returned.

        """
        position = description["position"]
        began = {key: position[key] for key in ("memory", "started") if key in position}
        same = self.origin == description["origin"] and not self.delivered and not self.ended
        if same and ("replay" not in position or self.began == began):
            # This very epoch has just begun here: to begin it again might draw again.
            if "replay" not in position or "started" in position:
                _memory.restore(self.stream, position.get("memory", {}))
            self._reach(description)
            return
        self.cursor.close()
        self._go(description)

    def restart(self) -> None:
        """Begin the stream's next epoch, letting this one go."""
        self.cursor.close()
        self._open(None)

    def _go(self, description: JSON) -> None:
        position = description["position"]
        memory = position.get("memory", {})
        if "started" not in position:
            _memory.restore(self.stream, memory)
        self._open(description["origin"])
        if "replay" in position and "started" in position:
            _memory.restore(self.stream, memory)
        self._reach(description)

    def _reach(self, description: JSON) -> None:
        """Go from the beginning of an epoch to a place in it."""
        position = description["position"]
        memory = position.get("memory", {})
        if "replay" in position:
            self.began = {key: position[key] for key in ("memory", "started") if key in position}
            before, now = position.get("ranks", 1), _ranks(self.stream)
            if before != now and position["replay"]:
                raise StateMismatchError(
                    f"a step cannot say where it is, so that the place is found by {before} ranks "
                    f"only, as when the state was saved, and here are {now}; resume with as many"
                )
            before, now = position.get("sizes"), _sizes(self.stream)
            if before is not None and before != now and position["replay"]:
                raise StateMismatchError(
                    "a step cannot say where it is, so that the place is found with the batch "
                    f"sizes only that the state was saved with, {before}, and here are {now}; "
                    "resume with the same"
                )
            for number in range(position["replay"]):
                try:
                    next(self.cursor)
                except StopIteration:
                    raise StateMismatchError(
                        f"the state lies behind item {position['replay']} of the epoch, but here "
                        f"it ended after {number}; build the pipeline that it was saved from"
                    ) from None
            if "ended" in description:
                next(self.cursor, None)  # users' code was asked, and said that this is the end
        else:
            self.cursor.seek(position["mark"])
            # Reading up to a place runs users' code, which may have changed what it remembers.
            _memory.restore(self.stream, memory)
        self.delivered = description["delivered"]
        self.counted = not self.delivered or description.get("unit") == self._unit()
        if "ended" in description:
            self.ended = True
            for one, finished in zip(_sources(self.cursor), description["ended"], strict=False):
                one.finished = finished
        following = description.get("following")
        if following is not None:
            _upcoming.set_orders(self.stream, following)

    def go(self, position: JSON) -> None:
        """Go to a place in the same epoch.

        Parameters
        ----------
        position : dict
            What `position` returned in a copy of this run.

        """
        self.restore({"delivered": 0, "origin": self.origin, "position": position})

    def release(self) -> None:
        """Let go of a pass that nobody reads any more, so that what it holds is freed."""
        pending: list[Any] = [self.cursor]
        while pending:
            cursor = pending.pop()
            pending += cursor.children()
            step = getattr(cursor, "step", None)
            if step is not None and step.__dict__.get("_live") is cursor:
                step.__dict__["_live"] = None
        self.cursor.close()


def _ranks(stream: Any) -> int:
    """Return among how many ranks the items of a chain are shared."""
    sizes = [getattr(step, "world_size", 1) for step in walk(stream) if is_ours(type(step))]
    return math.prod(size for size in sizes if isinstance(size, int))


def _sizes(stream: Any) -> JSON:
    """Return in batches of how many examples the steps of a chain deal."""
    schemes = [step.__dict__.get("iteration_scheme") for step in walk(stream)]
    sizes = [getattr(scheme, "batch_size", None) for scheme in schemes]
    return [size for size in sizes if isinstance(size, int)]


def _sources(cursor: Any) -> list[Any]:
    """Return the passes over datasets below a pass."""
    found = [cursor] if hasattr(cursor, "finished") else []
    for child in cursor.children():
        found += _sources(child)
    return found


def guarded(action: Callable[[], _T]) -> _T:
    """Run a part of loading; what goes wrong in damaged content is a damaged state."""
    try:
        return action()
    except StateError:
        raise
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise StateDamagedError(
            f"the state does not describe a position in this pipeline ({type(error).__name__}: "
            f"{error}); it was written for other steps, or altered"
        ) from error
