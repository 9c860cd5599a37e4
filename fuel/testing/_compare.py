"""Exact comparison of what streams yield: types, shapes and bits."""

from __future__ import annotations

from typing import Any

import numpy

__all__ = ["assert_same_items", "canonical"]


class _Canonical(tuple):  # type: ignore[type-arg]
    """A form that is canonical already."""

    __slots__ = ()


def canonical(item: Any) -> Any:
    """Return an item in a form whose equality means equality bit for bit.

    Parameters
    ----------
    item : object
        An example or a batch: tuples, lists, dicts, arrays, numbers, strings, bytes.

    Returns
    -------
    tuple or object
        Nested tuples; arrays by type, shape and bytes.

    """
    if isinstance(item, _Canonical):
        return item
    if isinstance(item, numpy.ndarray):
        if item.dtype.hasobject:
            values = tuple(canonical(value) for value in item.ravel())
            return _Canonical(("object array", item.shape, values))
        return _Canonical(("array", item.dtype.str, item.shape, item.tobytes()))
    if isinstance(item, numpy.generic):
        return _Canonical(("scalar", item.dtype.str, item.tobytes()))
    if isinstance(item, (list, tuple)):
        return _Canonical((type(item).__name__, tuple(canonical(value) for value in item)))
    if isinstance(item, dict):
        pairs = tuple((key, canonical(value)) for key, value in item.items())
        return _Canonical(("dict", pairs))
    if isinstance(item, float):
        return _Canonical(("float", item.hex()))
    return item


def assert_same_items(found: Any, expected: Any, what: str = "the items") -> None:
    """Fail with a readable message unless two sequences of items are equal bit for bit.

    Parameters
    ----------
    found, expected : list
        Items, or canonical items.
    what : str, optional
        What is compared, for the message.

    Raises
    ------
    AssertionError
        If they differ.

    """
    one = [canonical(item) for item in found]
    other = [canonical(item) for item in expected]
    if one == other:
        return
    for place, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            raise AssertionError(
                f"{what} differ at place {place}:\n  found    {left!r:.300}\n"
                f"  expected {right!r:.300}"
            )
    raise AssertionError(f"{what}: found {len(one)} items, expected {len(other)}")
