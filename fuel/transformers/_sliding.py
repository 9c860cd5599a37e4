"""Windows over recordings: `SlidingWindows`.

Not here: a window for the source and one for the target, over one sequence of words (`Window`, in
`fuel.transformers.sequences`), and steps that make one sequence of one
(`fuel.transformers._timeseries`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from fuel.plan import Context, Cursor
from fuel.transformers._base import Transformer
from fuel.transformers._checks import (
    check_integer,
    check_which,
    labels_below,
    need_examples,
    sources_below,
)
from fuel.transformers._holding import Below
from fuel.transformers._ranges import check_fill, filling
from fuel.transformers._time_axes import TIME, axis_of, check_axis
from fuel.typing import JSON
from fuel.utils._owning import own

if TYPE_CHECKING:
    from fuel.plan import Start

__all__ = ["SlidingWindows"]


class SlidingWindows(Transformer):
    """Cuts every sequence into windows, which become examples.

    Parameters
    ----------
    data_stream : AbstractDataStream
        A stream of examples, long sequences.
    length : int
        Length of a window.
    step : int, optional
        From the beginning of a window to that of the next. Default 1.
    partial : {'drop', 'pad', 'keep'}, optional
        What happens at the end of a sequence, where less than a window is left that no window
        held: it is dropped (default), filled up with `value`, or given short.
    value : number, optional
        What is filled up with. Default 0.
    axis : int or str, optional
        The axis of time among those of an example, or its label. Default: the one labelled
        ``'time'``, else the first.
    which_sources : tuple of str, optional
        The sources to cut, all of one length along time. The others go with every window
        unchanged. Default: all.
    **kwargs
        `axis_labels` (default: kept), `name`.

    Attributes
    ----------
    length, step, partial, value, axis, which_sources
        As given.

    Raises
    ------
    TypeError
        If an argument is of another kind.
    ValueError
        If the stream below produces batches (put Unpack between), a number is out of bounds, or
        `which_sources` names no source; while iterating, if sources that are cut differ in length.

    Notes
    -----
    Sequences are arrays, or lists along their only axis; lists of sequences are taken for the
    arrays that they make. Windows never cross from one sequence
    to the next, and are copies: changing one changes no other. What random steps above draw for a
    window depends on the ordinal of its sequence and the number of the window in it. A resumed
    pass fetches at most one sequence again.

    Examples
    --------
    >>> from fuel.datasets import IterableDataset
    >>> from fuel.streams import DataStream
    >>> waves = DataStream(IterableDataset({'x': [[1, 2, 3, 4, 5], [6, 7]]}))
    >>> list(SlidingWindows(waves, 3, step=2))
    [([1, 2, 3],), ([3, 4, 5],)]
    >>> list(SlidingWindows(waves, 3, step=3, partial='pad'))
    [([1, 2, 3],), ([4, 5, 0],), ([6, 7, 0],)]

    """

    def __init__(
        self,
        data_stream: Any,
        length: int,
        step: int = 1,
        partial: str = "drop",
        value: Any = 0,
        axis: int | str | None = None,
        which_sources: Any = None,
        **kwargs: Any,
    ) -> None:
        name = "SlidingWindows"
        need_examples(name, data_stream)
        self.length = check_integer(name, "length", length)
        self.step = check_integer(name, "step", step)
        for what, number in (("length", self.length), ("step", self.step)):
            if number < 1:
                raise ValueError(f"`{what}` of {name} must be at least 1, got {number}")
        if partial not in ("drop", "pad", "keep"):
            raise ValueError(
                f"`partial` of {name} must be 'drop', 'pad' or 'keep', got {partial!r:.80}"
            )
        self.partial = partial
        self.value = check_fill(name, "value", value)
        if isinstance(self.value, tuple):
            raise TypeError(f"`value` of {name} must be one number, got {value!r:.80}")
        self.axis = check_axis(name, axis)
        if which_sources is not None:
            which_sources = check_which(name, "which_sources", which_sources)
            there = sources_below(name, data_stream)
            if not any(source in which_sources for source in there):
                raise ValueError(
                    f"`which_sources` of {name} must name some of the sources {there}, got "
                    f"{which_sources!r:.80}; there would be no windows at all"
                )
        self.which_sources = which_sources
        kwargs.setdefault("axis_labels", labels_below(data_stream))
        super().__init__(data_stream, True, **kwargs)

    def count(self, total: int) -> int:
        """Return how many windows a sequence gives.

        Parameters
        ----------
        total : int
            Its length.

        Returns
        -------
        int
            The number.

        """
        full = 0 if total < self.length else (total - self.length) // self.step + 1
        if self.partial == "drop":
            return full
        covered = (full - 1) * self.step + self.length if full else 0
        return full + (covered < total and full * self.step < total)

    def _chosen(self) -> list[tuple[int, str]]:
        """Return places and names of the sources that are cut."""
        which = self.which_sources
        return [
            (place, source)
            for place, source in enumerate(self.data_stream.sources)
            if which is None or source in which
        ]

    def _extent(self, example: Any, context: Context) -> int:
        """Return the length of an example along time."""
        lengths = {}
        for place, source in self._chosen():
            sequence = example[place]
            if _is_flat(sequence):
                self._axis(source, 1)  # which says so if there is no such axis
                lengths[source] = len(sequence)
            else:
                array = _array(sequence, source)
                lengths[source] = array.shape[self._axis(source, array.ndim)]
        if len(set(lengths.values())) > 1:
            raise ValueError(
                f"SlidingWindows cuts sources of one length, but the example with ordinal "
                f"{context.address()[0]} has {lengths}; name those to cut in `which_sources`"
            )
        return next(iter(lengths.values()), 0)

    def _axis(self, source: str, ndim: int) -> int:
        return axis_of(self, source, ndim, self.axis, TIME, 0)

    def _window(self, example: Any, index: int) -> tuple[Any, ...]:
        """Return one window of an example."""
        # Copies: changing what goes with one window must not change what goes with the next.
        chosen = dict(self._chosen())
        result = [item if place in chosen else own(item) for place, item in enumerate(example)]
        for place, source in chosen.items():
            result[place] = self._cut(example[place], index * self.step, source)
        return tuple(result)

    def _cut(self, sequence: Any, start: int, source: str) -> Any:
        """Return what a window that begins at `start` holds of a sequence."""
        if _is_flat(sequence):
            words: Any = sequence[start : start + self.length]
            if self.partial == "pad":
                words += type(words)([self.value]) * (self.length - len(words))
            return words
        array = _array(sequence, source)
        axis = self._axis(source, array.ndim)
        part = array[(slice(None),) * axis + (slice(start, start + self.length),)]
        missing = self.length - part.shape[axis]
        if self.partial != "pad" or not missing:
            return own(part)
        shape = list(part.shape)
        shape[axis] = missing
        value = filling("SlidingWindows", "value", self.value, part.dtype, source)
        return numpy.concatenate([part, numpy.full(shape, value, dtype=part.dtype)], axis=axis)

    def _make_cursor(self, start: Start) -> Cursor:
        return _SlidingCursor(start, self)

    def _num_items(self) -> int | None:
        return None

    def _num_examples(self) -> int | None:
        return None

    def _parameters(self) -> dict[str, Any]:
        parameters: dict[str, Any] = {"length": self.length, "step": self.step}
        if self.partial != "drop":
            parameters["partial"] = self.partial
        if self.partial == "pad":
            parameters["value"] = self.value
        if self.axis is not None:
            parameters["axis"] = self.axis
        if self.which_sources is not None:
            parameters["which_sources"] = self.which_sources
        return parameters


def _is_flat(sequence: Any) -> bool:
    """Tell whether a sequence is a list along its only axis."""
    return isinstance(sequence, (list, tuple)) and not (
        sequence and isinstance(sequence[0], (list, tuple, numpy.ndarray))
    )


def _array(sequence: Any, source: str) -> Any:
    try:
        return numpy.asarray(sequence)
    except ValueError:
        raise ValueError(
            f"SlidingWindows needs sequences along one axis or arrays, but source {source!r} has "
            f"{sequence!r:.80}, whose parts differ in shape; make them alike below"
        ) from None


class _SlidingCursor(Cursor):
    """The pass of a `SlidingWindows`: it holds the example that windows are cut from."""

    step: SlidingWindows
    child: Cursor

    def __init__(self, start: Start, step: SlidingWindows) -> None:
        self.child = start.child(step.data_stream)
        super().__init__(start, step)
        self.below = Below(self.child, step.data_stream)
        self.first: Any = None
        self.held: Any = None
        self.index = self.total = 0

    def produce(self, request: Any) -> Any:
        """Return the next window."""
        while self.held is None:
            self.first = self.below.place()
            self._hold(next(self.child), 0)
        window = self.step._window(self.held, self.index)
        # Counted from 1: number 0 is the sequence itself, of which others may be children too.
        self.context = self.child.context.child(self.index + 1)
        self._advance()
        return window

    def _hold(self, example: Any, index: int) -> None:
        """Keep an example for as long as there are windows in it."""
        self.total = self.step.count(self.step._extent(example, self.child.context))
        self.held, self.index = (example, index) if index < self.total else (None, 0)

    def _advance(self) -> None:
        self.index += 1
        if self.index >= self.total:
            self.held, self.index = None, 0

    def tell(self) -> JSON:
        """Describe the example held and the number of the next window in it."""
        if self.held is None:
            return {"from": self.below.written(self.below.place()), "index": None}
        return {"from": self.below.written(self.first), "index": self.index}

    def seek(self, mark: JSON) -> None:
        """Fetch the example again, if one was held."""
        self.held, self.index = None, 0
        self.below.go(mark["from"])
        if mark["index"] is not None:
            self.first = mark["from"]
            self._hold(self.below.again(), mark["index"])
