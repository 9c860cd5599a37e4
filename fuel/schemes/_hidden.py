"""What an object that a user wrote remembers from one epoch to the next.

In this module: `remembered` and `remember`, for schemes that users wrote and for whatever they
shuffle with. The looking itself is in `fuel.state.hidden`; here is when the first look is taken
(when a stream first asks), and where it is kept (on the object, so that it is pickled with it).
"""

from __future__ import annotations

from typing import Any

from fuel.exceptions import StateDamagedError
from fuel.state import hidden
from fuel.typing import JSON

__all__ = ["remember", "remembered"]

_FIRST_LOOK = "_fuel_first_look"


def _is_elsewhere(value: Any) -> bool:
    """Whether a value is not part of the memory of the object that holds it."""
    return isinstance(value, hidden.Memory) or hasattr(value, "get_data")


def _memory(obj: Any) -> hidden.Memory | None:
    """Return the first look at an object, taken now if there is none."""
    attributes = getattr(obj, "__dict__", None)
    if not isinstance(attributes, dict):
        return None  # an object without attributes remembers nothing that could be seen
    if _FIRST_LOOK not in attributes:
        attributes[_FIRST_LOOK] = hidden.Memory(obj, frozenset({_FIRST_LOOK}), _is_elsewhere)
    found: hidden.Memory = attributes[_FIRST_LOOK]
    return found


def remembered(obj: Any) -> JSON:
    """Describe what an object remembers now.

    Parameters
    ----------
    obj : object
        An object of a user's class.

    Returns
    -------
    JSON
        What the object's own ``state_dict`` says, if it has one; else what changed since the
        first look; None if nothing did.

    Raises
    ------
    StateError
        If something changed that plain JSON cannot hold; the message names class and attribute.

    """
    if hidden.has_state_methods(obj):
        return hidden.capture(obj)
    memory = _memory(obj)
    captured = None if memory is None else hidden.capture(obj, memory)
    return captured if captured and captured["changes"] else None


def remember(obj: Any, state: JSON) -> None:
    """Bring an object into a described state.

    Parameters
    ----------
    obj : object
        An object of the same class.
    state : JSON
        What `remembered` returned.

    Raises
    ------
    StateError
        If the state is not one of such an object.

    """
    memory = None if hidden.has_state_methods(obj) else _memory(obj)
    if state is None:
        if memory is not None:
            hidden.restore(obj, {"changes": {}}, memory)
        return
    if not isinstance(state, dict) or not ({"own", "changes"} & set(state)):
        raise StateDamagedError(
            f"{type(obj).__name__} needs what it remembered between epochs, got {state!r:.80}; "
            "use the state as it was written"
        )
    hidden.restore(obj, state, memory)
