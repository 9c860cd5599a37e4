"""Windows over sequences: `Window`, `NGrams`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from fuel.plan import Cursor
from fuel.transformers._base import Transformer
from fuel.transformers._checks import below, need_examples
from fuel.transformers._holding import Below
from fuel.typing import JSON

if TYPE_CHECKING:
    from fuel.plan import Start

__all__ = ["NGrams", "Window"]


class Window(Transformer):
    """Slides two windows over every sequence: one for the source, one for the target.

    Parameters
    ----------
    offset : int
        How far the target window begins behind the source window (with `overlapping`), or behind
        its end (without). Negative for a target that begins before.
    source_window : int
        Length of the source window.
    target_window : int
        Length of the target window.
    overlapping : bool
        Whether `offset` counts from the beginning of the source window.
    data_stream : AbstractDataStream
        A stream of examples with one source, the sequence.
    target_source : str, optional
        Name of the added source. Default ``'targets'``.
    **kwargs
        `axis_labels` (default: None), `name`.

    Attributes
    ----------
    offset, source_window, target_window, overlapping
        As given.

    Raises
    ------
    ValueError
        If the stream below produces batches or has more than one source, or a window is negative.

    Notes
    -----
    Windows move by one and never leave a sequence; one that is too short gives none. Windows of
    arrays are copies. A resumed pass fetches at most one sequence again.

    Examples
    --------
    >>> from fuel.datasets import IterableDataset
    >>> from fuel.streams import DataStream
    >>> numbers = DataStream(IterableDataset({'x': [[1, 2, 3, 4], [5, 6]]}))
    >>> list(Window(1, 2, 2, True, numbers))
    [([1, 2], [2, 3]), ([2, 3], [3, 4])]

    """

    def __init__(
        self,
        offset: int,
        source_window: int,
        target_window: int,
        overlapping: bool,
        data_stream: Any,
        target_source: str = "targets",
        **kwargs: Any,
    ) -> None:
        name = type(self).__name__
        need_examples(name, data_stream)
        there = tuple(data_stream.sources)
        if len(there) > 1:
            raise ValueError(
                f"{name} needs a stream with one source, but the {below(data_stream)} below has "
                f"{there}; choose one with FilterSources"
            )
        for what, length in (("source_window", source_window), ("target_window", target_window)):
            if length < 0:
                raise ValueError(f"`{what}` of {name} must not be negative, got {length}")
        kwargs.setdefault("produces_examples", True)
        super().__init__(data_stream, **kwargs)
        self.sources = (*there, target_source)
        self.offset = offset
        self.source_window = source_window
        self.target_window = target_window
        self.overlapping = overlapping

    def _target_start(self, index: int) -> int:
        """Return where the target window begins if the source window begins at `index`."""
        return index + self.offset + (0 if self.overlapping else self.source_window)

    def _first_index(self) -> int:
        """Return where the first source window begins."""
        return max(0, -self._target_start(0))

    def _fits(self, index: int, length: int) -> bool:
        """Tell whether the windows at `index` lie inside a sequence."""
        end = max(index + self.source_window, self._target_start(index) + self.target_window)
        return end <= length

    def _windows(self, sequence: Any, index: int) -> tuple[Any, Any]:
        target = self._target_start(index)
        return (
            _cut(sequence, index, index + self.source_window),
            _cut(sequence, target, target + self.target_window),
        )

    def _make_cursor(self, start: Start) -> Cursor:
        return _WindowCursor(start, self)

    def _num_items(self) -> int | None:
        return None

    def _num_examples(self) -> int | None:
        return None

    def _parameters(self) -> dict[str, Any]:
        return {
            "offset": self.offset,
            "source_window": self.source_window,
            "target_window": self.target_window,
            "overlapping": bool(self.overlapping),
        }


def _cut(sequence: Any, start: int, stop: int) -> Any:
    part = sequence[start:stop]
    # Neighbouring windows overlap: changing one must not change the next.
    return part.copy() if isinstance(part, numpy.ndarray) else part


class _WindowCursor(Cursor):
    """The pass of a `Window`: it holds the sequence that the windows slide over."""

    step: Window
    child: Cursor

    def __init__(self, start: Start, step: Window) -> None:
        self.child = start.child(step.data_stream)
        super().__init__(start, step)
        self.below = Below(self.child, step.data_stream)
        self.first: Any = None
        self.held: Any = None
        self.index = 0

    def produce(self, request: Any) -> Any:
        """Return the next pair of windows."""
        while self.held is None:
            self.first = self.below.place()
            self._hold(next(self.child), self.step._first_index())
        windows = self.step._windows(self.held[0], self.index)
        # Counted from 1: number 0 is the sequence itself, of which others may be children too.
        self.context = self.child.context.child(self.index - self.step._first_index() + 1)
        self._hold(self.held, self.index + 1)
        return windows

    def _hold(self, item: Any, index: int) -> None:
        """Keep an item (a tuple of one sequence) for as long as there are windows in it."""
        fits = self.step._fits(index, len(item[0]))
        self.held, self.index = (item, index) if fits else (None, 0)

    def tell(self) -> JSON:
        """Describe the sequence held and where the next windows begin in it."""
        if self.held is None:
            return {"from": self.below.written(self.below.place()), "index": None}
        return {"from": self.below.written(self.first), "index": self.index}

    def seek(self, mark: JSON) -> None:
        """Fetch the sequence again, if one was held."""
        self.held, self.index = None, 0
        self.below.go(mark["from"])
        if mark["index"] is not None:
            self.first = mark["from"]
            self._hold(self.below.again(), mark["index"])


class NGrams(Window):
    """All runs of so many words, each with the word that follows.

    Parameters
    ----------
    ngram_order : int
        How many words.
    *args, **kwargs
        The stream of sequences, and what else `Window` takes from there on.

    Examples
    --------
    >>> from fuel.datasets import IterableDataset
    >>> from fuel.streams import DataStream
    >>> sentences = DataStream(IterableDataset({'x': [[1, 2, 3, 4], [5, 6]]}))
    >>> list(NGrams(2, sentences))
    [([1, 2], 3), ([2, 3], 4)]

    """

    def __init__(self, ngram_order: int, *args: Any, **kwargs: Any) -> None:
        super().__init__(0, ngram_order, 1, False, *args, **kwargs)

    def _windows(self, sequence: Any, index: int) -> tuple[Any, Any]:
        features, targets = super()._windows(sequence, index)
        return features, targets[0]

    def _parameters(self) -> dict[str, Any]:
        return {"ngram_order": self.source_window}
