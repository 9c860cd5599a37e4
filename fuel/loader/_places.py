"""Saved places of a loader as documents, which no other batches and no other workers change.

In this room: what is written down, and read. Where the loader decides on the order, that is a count
of examples; over a stream it is the place of its chain, which is the same chain for all batches.
Not here: going to a place (`fuel.loader._iterator`, and the streams).
"""

from __future__ import annotations

from typing import Any

from fuel.exceptions import StateMismatchError
from fuel.plan._chain import fingerprint
from fuel.plan._run import guarded
from fuel.state import check_state, make_state
from fuel.typing import JSON

__all__ = ["loader_state", "of_stream", "read_state", "to_stream"]

#: What a document holds besides the place.
_ENVELOPE = ("format", "version", "fuel", "numpy", "fingerprint", "checksum")


def loader_state(plan: Any, run: int, mark: JSON, ended: bool) -> dict[str, JSON]:
    """Write down a place in a run.

    Parameters
    ----------
    plan : Plan
        What the loader does.
    run : int
        Number of the run.
    mark : JSON
        How the chain describes the place.
    ended : bool
        Whether the run has ended.

    Returns
    -------
    dict
        A checked document.

    """
    position = plan.position(mark)
    place = {"mark": mark} if position is None else {"position": position}
    return make_state(plan.fingerprint(), run=run, ended=ended, **place)


def read_state(plan: Any, state: JSON) -> dict[str, JSON]:
    """Return what `loader_state` has written down, after checking it."""
    found: dict[str, JSON] = check_state(state, plan.fingerprint(), draws=plan.draws)

    def check() -> dict[str, JSON]:
        run, position = found["run"], found.get("position", 0)
        if "ended" not in found:
            raise KeyError("ended")
        count = plan.scheme.order(run).count
        if type(position) is not int or not 0 <= position <= count or run < 0:
            raise StateMismatchError(
                f"the state lies behind example {position!r} of run {run!r}, which has {count}; "
                "use the data that it was saved with"
            )
        return found

    return guarded(check)


def of_stream(plan: Any, state: dict[str, JSON]) -> dict[str, JSON]:
    """Write down a place in a stream that has an order of its own.

    Parameters
    ----------
    plan : Plan
        What the loader does.
    state : dict
        The state of its chain.

    Returns
    -------
    dict
        A checked document.

    """
    if plan.scheme is not None:
        return state
    place = {name: value for name, value in state.items() if name not in _ENVELOPE}
    return make_state(plan.fingerprint(), **place)


def to_stream(plan: Any, stream: Any, state: JSON) -> JSON:
    """Return the state of the chain that `of_stream` has written down, after checking it.

    Parameters
    ----------
    plan : Plan
        What the loader does.
    stream : stream
        Its chain.
    state : dict
        The document.

    Returns
    -------
    dict
        For `load_state_dict` of the chain.

    """
    if plan.scheme is not None:
        return state
    found = check_state(state, plan.fingerprint(), draws=plan.draws)
    place = {name: value for name, value in found.items() if name not in _ENVELOPE}
    return make_state(fingerprint(stream), **place)
