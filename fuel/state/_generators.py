"""Random generators (NumPy's, and the standard library's) as plain JSON, and back."""

from __future__ import annotations

import random
from typing import Any

import numpy

from fuel.exceptions import StateDamagedError, StateMismatchError
from fuel.typing import JSON

__all__ = ["generator_state", "is_generator", "set_generator_state"]


def is_generator(obj: Any) -> bool:
    """Tell whether an object is a random generator whose state can be described.

    Parameters
    ----------
    obj : object
        Anything.

    Returns
    -------
    bool
        True for ``numpy.random.RandomState``, ``numpy.random.Generator`` and ``random.Random``.

    """
    return isinstance(obj, (numpy.random.RandomState, numpy.random.Generator, random.Random))


def _to_plain(value: Any) -> JSON:
    if isinstance(value, dict):
        return {key: _to_plain(item) for key, item in value.items()}
    if isinstance(value, numpy.ndarray):
        return {"dtype": value.dtype.str, "values": value.tolist()}
    if isinstance(value, numpy.generic):
        return value.item()
    return value


def _from_plain(value: JSON) -> Any:
    if isinstance(value, dict):
        if set(value) == {"dtype", "values"}:
            return numpy.array(value["values"], dtype=value["dtype"])
        return {key: _from_plain(item) for key, item in value.items()}
    return value


def generator_state(rng: Any) -> JSON:
    """Describe the state of a generator.

    Parameters
    ----------
    rng : numpy.random.RandomState, numpy.random.Generator or random.Random
        The generator; it is not changed.

    Returns
    -------
    dict
        Plain JSON: the class, and the state of the bit generator (for the Mersenne twister this
        holds 624 integers, about 7 kB).

    """
    kind = _kind(rng)
    if kind == "random.Random":
        version, key, gauss = rng.getstate()
        return {"generator": kind, "state": [version, list(key), gauss]}
    state = rng.get_state(legacy=False) if kind == "RandomState" else rng.bit_generator.state
    return {"generator": kind, "state": _to_plain(state)}


def _kind(rng: Any) -> str:
    if isinstance(rng, random.Random):
        return "random.Random"
    return "RandomState" if isinstance(rng, numpy.random.RandomState) else "Generator"


def set_generator_state(rng: Any, state: JSON) -> None:
    """Put a generator into a state described earlier.

    Parameters
    ----------
    rng : numpy.random.RandomState, numpy.random.Generator or random.Random
        The generator to change.
    state : dict
        What `generator_state` returned.

    Raises
    ------
    StateMismatchError
        If the state is that of another kind of generator.
    StateDamagedError
        If the description cannot be understood.

    """
    kind = _kind(rng)
    if not isinstance(state, dict) or "generator" not in state or "state" not in state:
        raise StateDamagedError(f"expected the state of a {kind}, got {state!r:.80}")
    if state["generator"] != kind:
        raise StateMismatchError(
            f"the state belongs to a {state['generator']}, but the pipeline has a {kind}; "
            "build it with the same kind of generator"
        )
    try:
        if kind == "random.Random":
            version, key, gauss = state["state"]
            rng.setstate((version, tuple(key), gauss))
            return
        inner = _from_plain(state["state"])
        if isinstance(rng, numpy.random.RandomState):
            rng.set_state(inner)
        else:
            theirs = inner.get("bit_generator")
            ours = rng.bit_generator.state["bit_generator"]
            if theirs != ours:
                raise StateMismatchError(
                    f"the state belongs to the bit generator {theirs}, the pipeline has {ours}; "
                    "build it with the same bit generator"
                )
            rng.bit_generator.state = inner
    except StateMismatchError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise StateDamagedError(f"the state of a {kind} cannot be read: {error}") from error
