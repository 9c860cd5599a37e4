"""The state of a stream of which no epoch has begun: what the first one will start from."""

from __future__ import annotations

from typing import Any

from fuel.plan import _memory
from fuel.plan._chain import step_names, walk
from fuel.schemes._base import order_state, set_order_state
from fuel.typing import JSON

__all__ = ["is_upcoming", "orders", "set_orders", "set_upcoming", "upcoming"]


def orders(stream: Any) -> dict[str, JSON]:
    """Describe the epochs and orders that the sources below a stream will start with.

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
    found: dict[str, JSON] = {}
    for step in walk(stream):
        name = names[id(step)]
        epochs[name] = int(step.__dict__.get("_next_epoch", 0))
        scheme = getattr(step, "iteration_scheme", None)
        if scheme is not None:
            found[name] = order_state(scheme)
    return {"epochs": epochs, "orders": found}


def set_orders(stream: Any, wanted: JSON) -> None:
    """Make the sources below a stream start with what `orders` described.

    Parameters
    ----------
    stream : stream
        The top of a chain.
    wanted : dict
        What `orders` returned.

    """
    names = step_names(stream)
    for step in walk(stream):
        name = names[id(step)]
        step.__dict__["_next_epoch"] = wanted["epochs"].get(name, 0)
        scheme = getattr(step, "iteration_scheme", None)
        if scheme is not None:
            set_order_state(scheme, wanted["orders"].get(name))


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
    _memory.watch(stream)
    return {**orders(stream), "memory": _memory.capture(stream)}


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
    _memory.watch(stream)
    _memory.restore(stream, wanted["memory"])
    set_orders(stream, wanted)
