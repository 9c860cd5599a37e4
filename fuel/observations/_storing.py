"""Results into arrays that are there already: what ``out=`` means.

In this module: `store`, and the checks that it shares with ``_access``, which gathers straight into
an array where it can.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy

__all__ = ["check_array", "place", "same_structure", "store"]


def store(result: Any, out: Any) -> Any:
    """Write a result into arrays of the same structure.

    Parameters
    ----------
    result : object
        An observation or a batch.
    out : object or None
        Where it goes: an array for an array, a number, or a list of numbers; a tuple, a named tuple
        or a dict for one; a list for a list, whose entries are replaced. None for nowhere.

    Returns
    -------
    object
        `out`, or `result` if there is none.

    Raises
    ------
    ValueError
        If `out` has another structure, shape or type, or is of a type that cannot be filled.

    """
    if out is None:
        return result
    if isinstance(out, numpy.ndarray):
        array = result if isinstance(result, numpy.ndarray) else numpy.asarray(result)
        # A number of Python has no type of its own.
        exact = isinstance(result, (numpy.ndarray, numpy.generic))
        check_array(out, array.shape, array.dtype if exact else None)
        out[...] = array
        return out
    if isinstance(out, (tuple, Mapping)) and isinstance(result, (tuple, Mapping)):
        parts = list(result.values()) if isinstance(result, Mapping) else list(result)
        for part, key in zip(parts, same_structure(result, out), strict=True):
            place(out, key, store(part, out[key]))
        return out
    if isinstance(out, list) and isinstance(result, list):
        if len(out) != len(result):
            raise ValueError(
                f"`out` must have as many entries as the result, {len(result)}, got a list of "
                f"{len(out)}"
            )
        out[:] = result
        return out
    raise ValueError(
        f"`out` must have the structure of the result, {type(result).__name__}, got "
        f"{type(out).__name__}; call without `out` to see what it is to be"
    )


def place(out: Any, key: Any, stored: Any) -> None:
    """Make an entry of a structure refer to what was stored for it, if it does not yet."""
    if out[key] is stored:
        return
    if isinstance(out, tuple):
        raise ValueError(
            f"`out` must be a tuple of arrays, got {out[key]!r:.80} as entry {key}; use a dict for "
            "entries that are to be filled in"
        )
    out[key] = stored


def same_structure(data: Any, out: Any) -> list[Any]:
    """Return the keys of a tuple or a mapping, which another must have as well.

    Parameters
    ----------
    data : tuple or mapping
        What is to be stored, or its containers.
    out : object
        Where it is to go.

    Returns
    -------
    list
        Names of a mapping, places of a tuple.

    Raises
    ------
    ValueError
        If `out` has other ones.

    """
    if isinstance(data, Mapping):
        keys: list[Any] = list(data)
        if isinstance(out, Mapping) and set(out) == set(keys):
            return keys
        there = f"the keys {list(out)}" if isinstance(out, Mapping) else type(out).__name__
        raise ValueError(f"`out` must be a dict with the keys {keys}, got {there}")
    if isinstance(out, tuple) and len(out) == len(data):
        return list(range(len(data)))
    there = f"{type(out).__name__} of {len(out)}" if hasattr(out, "__len__") else f"{out!r:.80}"
    raise ValueError(f"`out` must be a tuple of {len(data)} arrays, got {there}")


def check_array(out: Any, shape: tuple[int, ...], dtype: Any) -> None:
    """Refuse an array that does not have the shape, or the type, of a result."""
    if out.shape != shape or (dtype is not None and out.dtype != dtype):
        wanted = f"shape {shape}" + ("" if dtype is None else f" and type {dtype}")
        raise ValueError(
            f"`out` must have {wanted}, got an array of shape {out.shape} and type {out.dtype}; "
            "make it with numpy.empty"
        )
