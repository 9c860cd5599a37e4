"""Windows over sequences: `Window`, `NGrams`.

Over examples, the windows of one sequence after the other; over batches, all windows of all its
sequences at once, cut by `fuel.kernels.windows`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from fuel.exceptions import IteratorInvalidatedError
from fuel.kernels.windows import windows_together
from fuel.plan import Context, Cursor, MapCursor
from fuel.transformers._base import Transformer, _count
from fuel.transformers._checks import (
    below,
    check_integer,
    check_names,
    kind_below,
    need_examples,
    sources_below,
)
from fuel.transformers._holding import Below
from fuel.typing import JSON
from fuel.utils._overrides import overridden
from fuel.utils._owning import own

if TYPE_CHECKING:
    from fuel.plan import Start

__all__ = ["NGrams", "Window"]

#: The methods by which a subclass says where windows are, and what is cut there.
_PLACES = ("_set_index", "_get_target_index", "_get_end_index")
_HOOKS = (*_PLACES, "_target_start", "_first_index", "_fits", "_windows")


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
        A stream with one source, the sequence; of examples or of batches.
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
        If the stream below has more than one source, or a window is negative; if it produces
        batches and a subclass says itself where windows are.
    TypeError
        If a window or the offset is no integer.

    Notes
    -----
    Windows move by one and never leave a sequence; one that is too short gives none. Windows of
    arrays are copies. A resumed pass fetches at most one sequence again.

    Over examples, each item is one pair of windows. Over batches, each item holds all pairs of a
    batch, as arrays of shape ``(m, source_window, ...)`` and ``(m, target_window, ...)``, those of
    its first sequence first; m is 0 where all sequences are too short, and another in each batch.
    Its sequences are arrays or lists that agree in all dimensions but the first. What a step above
    draws for a window is the same both ways.

    Examples
    --------
    >>> from fuel.datasets import IterableDataset
    >>> from fuel.streams import DataStream
    >>> numbers = DataStream(IterableDataset({'x': [[1, 2, 3, 4], [5, 6]]}))
    >>> list(Window(1, 2, 2, True, numbers))
    [([1, 2], [2, 3]), ([2, 3], [3, 4])]
    >>> from fuel.schemes import ConstantScheme
    >>> from fuel.transformers import Batch
    >>> for source, target in Window(1, 2, 2, True, Batch(numbers, ConstantScheme(2))):
    ...     print(source.tolist(), target.tolist())
    [[1, 2], [2, 3]] [[2, 3], [3, 4]]

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
        source_window = check_integer(name, "source_window", source_window)
        target_window = check_integer(name, "target_window", target_window)
        if not overridden(self, "_get_target_index"):
            offset = check_integer(name, "offset", offset)
        batches = not kind_below(name, data_stream)
        if batches and overridden(self, *_HOOKS):
            # Its user says where one window is, and does so by the place of the pass.
            need_examples(name, data_stream)
        there = sources_below(name, data_stream)
        check_names(name, "target_source", [target_source])
        if len(there) > 1:
            raise ValueError(
                f"{name} needs a stream with one source, but the {below(data_stream)} below has "
                f"{there}; choose one with FilterSources"
            )
        for what, length in (("source_window", source_window), ("target_window", target_window)):
            if length < 0:
                raise ValueError(
                    f"`{what}` of {name} must not be negative, got {length}; to look back, give a "
                    "negative `offset`"
                )
        kwargs.setdefault("produces_examples", not batches)
        super().__init__(data_stream, **kwargs)
        self.sources = (*there, target_source)
        self.offset = offset
        self.source_window = source_window
        self.target_window = target_window
        self.overlapping = overlapping
        #: Where the source window begins, for the three methods below.
        self.index = 0

    # -- where the windows are: a subclass may say otherwise ------------------------------------

    def _set_index(self) -> None:
        """Set `index` to where the first source window of a sequence begins."""
        self.index = 0
        self.index = max(0, -self._get_target_index())

    def _get_target_index(self) -> int:
        """Return where the target window begins while the source window begins at `index`."""
        return self._target_start(self.index)

    def _get_end_index(self) -> int:
        """Return the first position behind both windows."""
        return max(self.index + self.source_window, self._get_target_index() + self.target_window)

    # -- the same, for a pass that keeps its place to itself ------------------------------------

    def _target_start(self, index: int) -> int:
        return index + self.offset + (0 if self.overlapping else self.source_window)

    def _first_index(self) -> int:
        return max(0, -self._target_start(0))

    def _fits(self, index: int, length: int) -> bool:
        end = max(index + self.source_window, self._target_start(index) + self.target_window)
        return end <= length

    def _windows(self, sequence: Any, index: int, target: int) -> tuple[Any, Any]:
        return (
            _cut(sequence, index, index + self.source_window),
            _cut(sequence, target, target + self.target_window),
        )

    # -- all windows of a batch -----------------------------------------------------------------

    def transform_batch(self, batch: Any) -> Any:
        """Cut all windows out of all sequences of a batch."""
        return self._all_windows(batch)[:2]

    def _all_windows(self, batch: Any) -> tuple[Any, Any, Any]:
        """Return the windows of all sequences, the targets, and how many each sequence has."""
        (sequences,) = batch
        ahead = self._target_start(0)
        # A pair of windows begins where the first of the two does.
        begin = min(0, ahead)
        parts = [(-begin, self.source_window), (ahead - begin, self.target_window)]
        try:
            (features, targets), counts = windows_together(sequences, parts)
        except ValueError as error:
            raise ValueError(
                f"{type(self).__name__} cannot cut windows out of a batch of source "
                f"{self.sources[0]!r}: {error}; or put Unpack below it, for windows one by one"
            ) from error
        return features, targets, counts

    def _make_cursor(self, start: Start) -> Cursor:
        if not self.produces_examples:
            return _BatchWindowCursor(start, self)
        if overridden(self, *_PLACES):
            return _HookedWindowCursor(start, self)
        return _WindowCursor(start, self)

    def _num_items(self) -> int | None:
        return None if self.produces_examples else _count(self.data_stream, "_num_items")

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
    return own(part)


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
        target = self.step._target_start(self.index)
        windows = self.step._windows(self.held[0], self.index, target)
        # Counted from 1: number 0 is the sequence itself, of which others may be children too.
        self.context = self.child.context.child(self.index - self.step._first_index() + 1)
        self._hold(self.held, self.index + 1)
        return windows

    def _hold(self, item: Any, index: int) -> None:
        """Keep an item (a tuple of one sequence) for as long as there are windows in it."""
        fits = self.step._fits(index, self._length(item[0]))
        self.held, self.index = (item, index) if fits else (None, 0)

    def _length(self, sequence: Any) -> int:
        try:
            return len(sequence)
        except TypeError:
            step = self.step
            raise ValueError(
                f"{type(step).__name__} slides over sequences, but source {step.sources[0]!r} has "
                f"{sequence!r:.60}; choose a source of sequences with FilterSources"
            ) from None

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


class _BatchWindowCursor(MapCursor):
    """The pass of a `Window` over batches: each batch of sequences becomes one of windows."""

    step: Window

    def produce(self, request: Any) -> Any:
        """Return the windows of the next batch."""
        if request is not None:
            return super().produce(request)  # which says what is wrong
        batch, step = next(self.child), self.step
        *found, counts = step._all_windows(batch)
        self.context = _children(self.child.context, counts)
        if overridden(step, "apply", "transform_batch"):
            return step.apply(batch, self.child.context)
        return tuple(found)


def _children(context: Context, counts: Any) -> Context:
    """Return the context of a batch of children: that of `Context.child` for each of them.

    Their numbers count from 1: number 0 is the sequence itself, of which others may be children
    too.
    """
    parents = numpy.repeat(numpy.arange(len(counts)), counts)
    firsts = numpy.cumsum(counts) - counts
    numbers = (numpy.arange(len(parents)) - firsts[parents] + 1).astype(numpy.uint64)
    if context.is_batch and context.numbers is None and len(context.ordinals) == len(counts):
        ordinals = context.ordinals
    else:
        addresses = [context.address(index) for index in range(len(counts))]
        ordinals = numpy.array([ordinal for ordinal, _ in addresses], dtype=numpy.int64)
        above = numpy.array([number for _, number in addresses], dtype=numpy.uint64)
        numbers = _nested(above[parents], numbers)
    return Context(
        context.epoch,
        context.address()[0] if len(counts) else 0,
        None,
        context.draws,
        ordinals=ordinals[parents],
        numbers=numbers,
    )


def _nested(above: Any, number: Any) -> Any:
    """Combine the numbers of two levels as `Context.child` does; arrays of uint64, which wrap."""
    one, shift = numpy.uint64(1), numpy.uint64(29)
    mixed = above * numpy.uint64(0x9E3779B97F4A7C15) + number + one
    mixed ^= mixed >> shift
    mixed *= numpy.uint64(0xBF58476D1CE4E5B9)
    return numpy.where(above == 0, number, mixed)


class _HookedWindowCursor(_WindowCursor):
    """The pass of a subclass whose user says where windows are: asked as late as can be.

    Its methods read ``index`` from the step, so that the place is there and not here; they may
    move it, or keep more there. Hence there is one such pass at a time.
    """

    number = 0

    def __next__(self) -> Any:
        if self.step.__dict__.get("_live") is not self:
            raise IteratorInvalidatedError(
                f"this iterator was displaced: {type(self.step).__qualname__} keeps its place on "
                "itself, and a later epoch of it was started; use one iterator at a time"
            )
        return super().__next__()

    def produce(self, request: Any) -> Any:
        """Return the next pair of windows."""
        step = self.step
        while True:
            if self.held is None:
                self.first = self.below.place()
                self.held, self.number = next(self.child), 0
                step._set_index()
                self.index = step.index
            else:
                step.index = self.index
            if step._get_end_index() <= self._length(self.held[0]):
                break
            self.held = None
        windows = step._windows(self.held[0], step.index, step._get_target_index())
        self.number += 1
        self.context = self.child.context.child(self.number)
        step.index += 1
        self.index = step.index
        return windows

    def tell(self) -> JSON:
        """Describe the sequence held, where to go on in it, and how many windows it gave."""
        return {**super().tell(), "number": self.number}

    def seek(self, mark: JSON) -> None:
        """Fetch the sequence again, if one was held."""
        super().seek(mark)
        self.number = mark["number"]
        self.step.index = self.index

    def _hold(self, item: Any, index: int) -> None:
        self.held, self.index = item, index


class NGrams(Window):
    """All runs of so many words, each with the word that follows.

    Parameters
    ----------
    ngram_order : int
        How many words.
    *args, **kwargs
        The stream of sequences (of examples, or of batches), and what else `Window` takes from
        there on.

    Notes
    -----
    Over batches, each item holds all n-grams of a batch: features of shape ``(m, ngram_order)``
    and targets of shape ``(m,)``.

    Examples
    --------
    >>> from fuel.datasets import IterableDataset
    >>> from fuel.streams import DataStream
    >>> sentences = DataStream(IterableDataset({'x': [[1, 2, 3, 4], [5, 6]]}))
    >>> list(NGrams(2, sentences))
    [([1, 2], 3), ([2, 3], 4)]

    """

    def __init__(self, ngram_order: int, *args: Any, **kwargs: Any) -> None:
        check_integer(type(self).__name__, "ngram_order", ngram_order)
        super().__init__(0, ngram_order, 1, False, *args, **kwargs)

    def _windows(self, sequence: Any, index: int, target: int) -> tuple[Any, Any]:
        features, targets = super()._windows(sequence, index, target)
        return features, targets[0]

    def _all_windows(self, batch: Any) -> tuple[Any, Any, Any]:
        features, targets, counts = super()._all_windows(batch)
        return features, targets[:, 0], counts

    def _parameters(self) -> dict[str, Any]:
        return {"ngram_order": self.source_window}
