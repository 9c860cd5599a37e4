"""The state of whatever a user gave to shuffle with.

In this module: `rng_state`, `set_rng_state` and `rng_kind`, for NumPy's generators, those of the
standard library, the two modules ``numpy.random`` and ``random`` themselves, and objects that
hold any of these.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy

from fuel.schemes._hidden import remember, remembered
from fuel.state import generator_state, is_generator, set_generator_state
from fuel.typing import JSON

__all__ = ["rng_kind", "rng_state", "set_rng_state"]


def rng_kind(rng: Any) -> str:
    """Name the kind of a generator.

    Parameters
    ----------
    rng : object
        Anything with a method ``shuffle``.

    Returns
    -------
    str
        The name of its class and, for a numpy Generator, of what it draws bits from.

    """
    rng = _object(rng)
    if isinstance(rng, numpy.random.Generator):
        return f"Generator({type(rng.bit_generator).__name__})"
    return type(rng).__name__


def rng_state(rng: Any) -> JSON:
    """Describe the state of a generator.

    Parameters
    ----------
    rng : object
        Anything with a method ``shuffle``.

    Returns
    -------
    JSON
        What `set_rng_state` takes.

    Raises
    ------
    StateError
        If it is an object that cannot be described.

    """
    rng = _object(rng)
    return generator_state(rng) if is_generator(rng) else remembered(rng)


def set_rng_state(rng: Any, state: JSON) -> None:
    """Put a generator into a described state.

    Parameters
    ----------
    rng : object
        A generator of the same kind as the one described.
    state : JSON
        What `rng_state` returned.

    Raises
    ------
    StateError
        If the state is not one of such a generator.

    """
    rng = _object(rng)
    if is_generator(rng):
        set_generator_state(rng, state)
    else:
        remember(rng, state)


def _object(rng: Any) -> Any:
    """Return the generator that a module stands for, and any other object as it is."""
    if isinstance(rng, ModuleType):
        # Their functions are methods of one instance each.
        return getattr(rng.shuffle, "__self__", rng)
    return rng
