"""`View`, the base of all views, and short descriptions of what they are views of.

Not here: how data is fetched out of containers that are no views (``_access``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

import numpy

from fuel.datasets._requests import Rows, normalise

__all__ = ["View", "describe", "rebuild"]


class View(ABC):
    """A container whose observations are made when they are asked for.

    A subclass says how many there are (``__len__``) and fetches them (``_fetch``). Views hold
    nothing but other containers, indices and functions, so that they pickle if these do, and may
    be read from several threads if these may.
    """

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of observations."""

    @abstractmethod
    def _fetch(self, rows: Rows, out: Any = None) -> Any:
        """Return one observation, or several as a batch; `rows` are known to exist."""

    def __getitem__(self, index: Any) -> Any:
        return self._fetch(normalise(index, len(self), type(self).__name__))

    def __iter__(self) -> Iterator[Any]:
        for place in range(len(self)):
            yield self._fetch(place)


def rebuild(structure: Any, parts: list[Any]) -> Any:
    """Put parts together in the form of a tuple, a named tuple or a mapping.

    Parameters
    ----------
    structure : tuple or mapping
        The form; its own parts do not matter.
    parts : list
        The new parts, in the order of the old ones.

    Returns
    -------
    tuple or dict
        A tuple for a tuple, a named tuple of the same class for a named tuple, else a dict.

    """
    if isinstance(structure, Mapping):
        return dict(zip(structure, parts, strict=True))
    if hasattr(structure, "_make"):
        return structure._make(parts)
    return tuple(parts)


def describe(data: Any) -> str:
    """Write a container for the repr of a view: its type and size, never its contents.

    Parameters
    ----------
    data : container
        Any container.

    Returns
    -------
    str
        A few words.

    """
    if isinstance(data, View):
        return repr(data)
    if isinstance(data, numpy.ndarray):
        return f"{data.dtype} array {data.shape}"
    if isinstance(data, Mapping):
        return "{" + ", ".join(f"{key!r}: {describe(part)}" for key, part in data.items()) + "}"
    if isinstance(data, tuple):
        inside = ", ".join(map(describe, data))
        return f"({inside},)" if len(data) == 1 else f"({inside})"
    if isinstance(data, range):
        return repr(data)
    try:
        return f"{type(data).__name__} of {len(data)}"
    except TypeError:
        return repr(data) if hasattr(data, "get_data") else type(data).__name__
