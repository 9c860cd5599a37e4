"""The form of the data: what an item is put together as, and what its parts are called.

In this room: `Structure`, which takes a container apart into sources and puts items together again.
Not here: fetching (`fuel.loader._container`, `fuel.observations`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy

from fuel.observations._view import rebuild

__all__ = ["Structure", "observations_of"]


class Structure:
    """What the sources of a stream are to the user: an array, a tuple, a dict, a named tuple.

    Parameters
    ----------
    form : tuple, dict or None
        A tuple, named tuple or mapping with as many entries as there are sources, whose class and
        keys matter, and not its contents; None for a single source that is the item itself.
    sources : tuple of str
        What the sources are called.

    Notes
    -----
    Picklable whenever the class of a named tuple is.

    """

    def __init__(self, form: Any, sources: tuple[str, ...]) -> None:
        self.form = form
        self.sources = sources

    @classmethod
    def of(cls, data: Any) -> tuple[Structure, list[Any]]:
        """Take a container apart.

        Parameters
        ----------
        data : container
            A tuple, named tuple or mapping of containers, or any other container.

        Returns
        -------
        structure : Structure
            Its form.
        parts : list
            The container of each source.

        """
        if isinstance(data, Mapping):
            keys = list(data)
            names = tuple(map(str, keys))
            if len(set(names)) < len(names):
                names = tuple(map(repr, keys))
            return cls(dict.fromkeys(keys), names), list(data.values())
        if isinstance(data, tuple):
            names = getattr(data, "_fields", None) or tuple(map(str, range(len(data))))
            return cls(rebuild(data, [None] * len(data)), tuple(names)), list(data)
        return cls(None, ("data",)), [data]

    @classmethod
    def of_sources(cls, sources: Any, as_dict: bool) -> Structure:
        """Return the form of a dataset's or a stream's items.

        Parameters
        ----------
        sources : sequence of str
            The names of the sources.
        as_dict : bool
            Whether items are dicts (else: tuples).

        Returns
        -------
        Structure
            The form.

        """
        names = tuple(sources)
        return cls(dict.fromkeys(names) if as_dict else (None,) * len(names), names)

    @property
    def is_plain(self) -> bool:
        """Whether an item is the very tuple that a stream delivers."""
        return type(self.form) is tuple

    def pack(self, columns: Any) -> Any:
        """Put an item together.

        Parameters
        ----------
        columns : tuple
            One entry a source.

        Returns
        -------
        object
            The item.

        """
        if self.form is None:
            return columns[0]
        return columns if type(self.form) is tuple else rebuild(self.form, list(columns))

    def where(self, column: int) -> str:
        """Return how messages call a source: as the user would write it."""
        if self.form is None:
            return "data"
        if hasattr(self.form, "_fields"):
            return f".{self.sources[column]}"
        return f"[{(list(self.form) if isinstance(self.form, dict) else range(9**9))[column]!r}]"


def observations_of(column: Any) -> list[Any] | Iterator[Any]:
    """Return the observations in a batch of one source.

    Parameters
    ----------
    column : array, list, or a tuple or mapping of these
        A batch.

    Returns
    -------
    iterable
        Its observations, in order. Those of an array are windows on it.

    """
    if isinstance(column, numpy.ndarray):
        return list(column)
    if isinstance(column, Mapping):
        parts = [observations_of(part) for part in column.values()]
    elif isinstance(column, tuple):
        parts = [observations_of(part) for part in column]
    else:
        return column if isinstance(column, list) else list(column)
    return [rebuild(column, list(each)) for each in zip(*parts, strict=True)]
