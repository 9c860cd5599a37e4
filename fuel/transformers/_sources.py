"""Other names for sources, and fewer of them: `Rename`, `FilterSources`."""

from __future__ import annotations

import logging
from typing import Any

from fuel.transformers._base import AgnosticTransformer
from fuel.transformers._checks import (
    below,
    check_names,
    kind_below,
    labels_below,
    sources_below,
)

__all__ = ["FilterSources", "Rename"]

log = logging.getLogger(__name__)


class Rename(AgnosticTransformer):
    """Gives sources other names.

    Parameters
    ----------
    data_stream : AbstractDataStream
        The stream below.
    names : dict
        From old to new names. Names can be swapped.
    on_non_existent : {'raise', 'warn', 'ignore'}, optional
        What to do about an old name that is no source: raise a KeyError (default), log a
        warning, or log a debug message.
    **kwargs
        `axis_labels` (default: those below under the new names), `name`.

    Raises
    ------
    ValueError
        If `on_non_existent` is none of the three.
    KeyError
        If an old name is no source, or two sources would get the same name.
    TypeError
        If `names` is no dict of names.

    """

    elementwise = True

    def __init__(
        self, data_stream: Any, names: Any, on_non_existent: str = "raise", **kwargs: Any
    ) -> None:
        if on_non_existent not in ("raise", "ignore", "warn"):
            raise ValueError(
                "`on_non_existent` of Rename must be 'raise', 'warn' or 'ignore', got "
                f"{on_non_existent!r}"
            )
        there = sources_below("Rename", data_stream)
        if not hasattr(names, "items") or not hasattr(names, "get"):
            raise TypeError(
                f"`names` of Rename must be a dict from old to new names, got {names!r:.80}; "
                "write for example `{'x': 'features'}`"
            )
        check_names("Rename", "names", list(names.values()))
        for old in names:
            if old not in there:
                self._missing(old, there, on_non_existent, data_stream)
        renamed = {source: names.get(source, source) for source in there}
        self._check_collisions(renamed)
        labels = labels_below(data_stream)
        if labels is not None:
            new = {renamed[source]: names for source, names in labels.items() if source in renamed}
            # Labels of what is no source stay, unless a source now has their name.
            for source, axes in labels.items():
                if source not in renamed:
                    new.setdefault(source, axes)
            labels = new
        kwargs.setdefault("axis_labels", labels)
        super().__init__(data_stream, kind_below("Rename", data_stream), **kwargs)
        self.sources = tuple(renamed.values())

    @staticmethod
    def _missing(old: Any, there: tuple[Any, ...], policy: str, data_stream: Any) -> None:
        message = (
            f"Rename: {old!r} is no source of the {below(data_stream)} below, which has {there}"
        )
        if policy == "raise":
            raise KeyError(f"{message}; correct the name, or pass on_non_existent='ignore'")
        log.log(logging.WARNING if policy == "warn" else logging.DEBUG, "%s", message)

    @staticmethod
    def _check_collisions(renamed: dict[Any, Any]) -> None:
        taken: dict[Any, Any] = {}
        for old, new in renamed.items():
            if new in taken:
                raise KeyError(
                    f"Rename: the sources {taken[new]!r} and {old!r} would both be called {new!r}; "
                    "give each a name of its own"
                )
            taken[new] = old

    def transform_any(self, data: Any) -> Any:
        """Return the data as it came: only names change."""
        return data

    def _columns(self, sources: tuple[str, ...]) -> list[int]:
        return list(range(len(sources)))

    def _parameters(self) -> dict[str, Any]:
        pairs = zip(self.data_stream.sources, self.sources, strict=False)
        return {"names": {old: new for old, new in pairs if old != new}}


class FilterSources(AgnosticTransformer):
    """Keeps some of the sources, in the order in which the stream has them.

    Parameters
    ----------
    data_stream : AbstractDataStream
        The stream below.
    sources : tuple of str
        The sources to keep.
    **kwargs
        `axis_labels` (default: those of the sources kept), `name`.

    Raises
    ------
    ValueError
        If a name is no source of the stream below, or there is none.
    TypeError
        If `sources` is no collection of names.

    """

    elementwise = True

    def __init__(self, data_stream: Any, sources: Any, **kwargs: Any) -> None:
        there = sources_below("FilterSources", data_stream)
        if isinstance(sources, str) and sources in there:
            sources = (sources,)
        sources = check_names("FilterSources", "sources", sources)
        if len(sources) == 0:
            raise ValueError(
                f"FilterSources must keep at least one source, got {sources!r}; the "
                f"{below(data_stream)} below has the sources {there}"
            )
        unknown = [source for source in sources if source not in there]
        if unknown:
            raise ValueError(
                f"FilterSources cannot keep {unknown}: the {below(data_stream)} below has the "
                f"sources {there}; give a tuple of some of these"
            )
        kept = tuple(source for source in there if source in sources)
        labels = labels_below(data_stream)
        if labels is not None:
            for source in [source for source in labels if source not in kept]:
                del labels[source]
        kwargs.setdefault("axis_labels", labels)
        super().__init__(data_stream, kind_below("FilterSources", data_stream), **kwargs)
        self.sources = kept

    def transform_any(self, data: Any) -> Any:
        """Return the data of the sources kept."""
        pairs = zip(self.data_stream.sources, data, strict=False)
        return tuple([item for source, item in pairs if source in self.sources])

    def _columns(self, sources: tuple[str, ...]) -> list[int]:
        return [column for column, source in enumerate(sources) if source in self.sources]

    def _parameters(self) -> dict[str, Any]:
        return {"sources": tuple(self.sources)}
