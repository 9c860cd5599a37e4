"""The state of a stream of which no epoch has begun: what the first one will start from."""

from __future__ import annotations

from typing import Any

from fuel.plan import _memory
from fuel.plan._chain import step_names, walk
from fuel.schemes._base import order_state, set_order_state
from fuel.typing import JSON

__all__ = ["is_upcoming", "set_upcoming", "upcoming"]


def upcoming(stream: Any) -> dict[str, JSON]:
    """Describe what the next epoch of a stream will start from.

    Parameters
    ----------
    stream : stream
        The top of a chain.

    Returns
    -------
    dict
        Plain JSON, by the names of the steps.

    """
    names = step_names(stream)
    epochs: dict[str, JSON] = {}
    orders: dict[str, JSON] = {}
    for step in walk(stream):
        name = names[id(step)]
        epochs[name] = int(step.__dict__.get("_next_epoch", 0))
        scheme = getattr(step, "iteration_scheme", None)
        if scheme is not None:
            orders[name] = order_state(scheme)
    _memory.watch(stream)
    return {"epochs": epochs, "orders": orders, "memory": _memory.capture(stream)}


def is_upcoming(state: JSON) -> bool:
    """Tell whether a state was saved before its epoch began."""
    return "upcoming" in state


def set_upcoming(stream: Any, state: JSON) -> None:
    """Make the next epoch of a stream start from what was described.

    Parameters
    ----------
    stream : stream
        The top of a chain.
    state : dict
        A checked state with the entry ``"upcoming"``.

    """
    wanted = state["upcoming"]
    names = step_names(stream)
    _memory.watch(stream)
    _memory.restore(stream, wanted["memory"])
    for step in walk(stream):
        name = names[id(step)]
        step.__dict__["_next_epoch"] = wanted["epochs"].get(name, 0)
        scheme = getattr(step, "iteration_scheme", None)
        if scheme is not None:
            set_order_state(scheme, wanted["orders"].get(name))
