"""Padded sequences cut along time, for truncated back-propagation: `Segments`.

Windows over the sequences of single examples are in `fuel.transformers.sequences`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy

from fuel.plan import Context, Cursor
from fuel.transformers._base import Transformer
from fuel.transformers._checks import (
    check_integer,
    check_names,
    labels_below,
    need_batches,
    sources_below,
)
from fuel.transformers._holding import Below
from fuel.transformers._stacking import as_batch, is_ragged
from fuel.typing import JSON
from fuel.utils._owning import own

if TYPE_CHECKING:
    from fuel.plan import Start

__all__ = ["Segments"]


class Segments(Transformer):
    """Cuts batches of padded sequences into chunks of so many steps.

    The chunks of a batch come one after the other, with a source that says whether a chunk goes on
    where the one before it stopped: there a recurrent network keeps its state, and elsewhere it
    begins anew. That is truncated back-propagation through time.

    Parameters
    ----------
    data_stream : AbstractDataStream
        A stream of batches of sequences that are padded, as by `Padding`: arrays of shape
        ``(n, time, ...)``, and masks of shape ``(n, time)``.
    length : int
        How many steps a chunk has. The last chunk of a batch has what remains.
    pad : bool, optional
        Whether the last chunk is padded, so that all are of one length. Default False.
    value : number, optional
        What it is padded with; masks (``NAME_mask`` of a source ``NAME``) always with 0. Default 0.
    which_sources : tuple of str, optional
        The sources to cut; the others are repeated in every chunk. Default: those with an axis
        labelled ``'time'``; of those without labels, the arrays with more than one axis.
    flag : str, optional
        Name of the source that is added. Default ``'continues'``.
    axis_labels : dict, optional
        Default: those below, and ``('batch',)`` for the flag.
    name : str, optional
        As for `AbstractDataStream`.

    Attributes
    ----------
    length, pad, value, which_sources, flag
        As given.

    Raises
    ------
    ValueError
        If the stream below produces examples; if `length` is not positive; if `which_sources`
        names what the stream has not, or `flag` what it has.
    TypeError
        If `length` is no integer, `value` no number, or `flag` no name.

    Notes
    -----
    Time is the axis labelled ``'time'``, else the second; batch is the first of the others. The
    flag is an array of shape ``(n,)`` and type bool: for each example whether this chunk continues
    the sequence of the chunk before; all False in the first chunk of a batch. A batch without any
    steps gives one chunk without any.

    In random draws of the steps above, a chunk has the ordinals of its batch, numbered from 1. A
    resumed pass fetches at most one batch again.

    Examples
    --------
    >>> from fuel.datasets import IterableDataset
    >>> from fuel.schemes import ConstantScheme
    >>> from fuel.streams import DataStream
    >>> from fuel.transformers import Batch, Padding
    >>> words = DataStream(IterableDataset({'x': [[1, 2, 3], [4, 5]]}))
    >>> padded = Padding(Batch(words, ConstantScheme(2)), mask_dtype='uint8')
    >>> segments = Segments(padded, 2)
    >>> segments.sources
    ('x', 'x_mask', 'continues')
    >>> for chunk in segments:
    ...     print(*(source.tolist() for source in chunk))
    [[1, 2], [4, 5]] [[1, 1], [1, 1]] [False, False]
    [[3], [0]] [[1], [0]] [True, True]

    """

    def __init__(
        self,
        data_stream: Any,
        length: int,
        *,
        pad: bool = False,
        value: Any = 0,
        which_sources: Any = None,
        flag: str = "continues",
        axis_labels: Any = None,
        name: str | None = None,
    ) -> None:
        need_batches("Segments", data_stream)
        below = sources_below("Segments", data_stream)
        if not isinstance(flag, str):
            raise TypeError(f"`flag` of Segments must be the name of a source, got {flag!r:.80}")
        if flag in below:
            raise ValueError(
                f"Segments adds the source {flag!r}, but the stream below has one of that name; "
                "give another in `flag`"
            )
        if axis_labels is None:
            axis_labels = labels_below(data_stream)
            if axis_labels is not None:
                axis_labels[flag] = ("batch",)
        super().__init__(data_stream, produces_examples=False, axis_labels=axis_labels, name=name)
        self.length = check_integer("Segments", "length", length)
        if self.length < 1:
            raise ValueError(
                f"`length` of Segments must be positive, got {length}; a chunk has at least one "
                "step"
            )
        if numpy.ndim(value) or numpy.asarray(value).dtype.kind not in "biufc":
            raise TypeError(
                f"`value` of Segments must be a number, got {value!r:.80}; it pads the last chunk"
            )
        if which_sources is not None:
            which_sources = _check_which(which_sources, below)
        self.pad = bool(pad)
        self.value = value
        self.which_sources = which_sources
        self.flag = flag

    @property  # type: ignore[misc]  # read only, since it follows from the arguments
    def sources(self) -> Any:
        """Names of what a chunk holds: the sources below, and the flag."""
        return (*self.data_stream.sources, self.flag)

    # -- what the pass asks ---------------------------------------------------------------------

    def _parts(self, batch: Any) -> list[tuple[Any, int | None]]:
        """Return each source with its time axis, or None where it has none."""
        names = self.data_stream.sources
        parts = [self._part(source, data) for source, data in zip(names, batch, strict=False)]
        steps = {
            source: data.shape[axis]
            for source, (data, axis) in zip(names, parts, strict=False)
            if axis is not None
        }
        if not steps:
            raise ValueError(
                f"Segments found no time axis in the sources {tuple(names)}; name those to cut in "
                "`which_sources`"
            )
        if len(set(steps.values())) > 1:
            raise ValueError(
                f"Segments cuts sources that have equally many steps, got {steps}; name those to "
                "cut together in `which_sources`"
            )
        return parts

    def _part(self, source: str, data: Any) -> tuple[Any, int | None]:
        which = self.which_sources
        if which is not None and source not in which:
            return data, None
        labels = (getattr(self.data_stream, "axis_labels", None) or {}).get(source)
        names = () if labels is None else tuple(labels)
        labelled = "time" in names
        if labels is not None and not labelled and which is None:
            return data, None
        axis = names.index("time") if labelled else 1
        array = as_batch(data)
        if array.ndim > max(axis, 1):
            return array, axis
        if labelled or which is not None or is_ragged(array):
            raise ValueError(
                f"Segments needs source {source!r} as an array with time in axis {axis}, got "
                f"shape {array.shape} and type {array.dtype}; put Padding below, or name the "
                "sources to cut in `which_sources`"
            )
        return data, None

    def _chunk(self, parts: list[tuple[Any, int | None]], start: int) -> tuple[Any, ...]:
        """Return the steps from `start` on, and the flag."""
        names = self.data_stream.sources
        masks = {f"{source}_mask" for source in names}
        chunk: list[Any] = []
        size = 0
        for source, (data, axis) in zip(names, parts, strict=False):
            if axis is None:
                # A copy: changing one chunk must not change the next.
                chunk.append(own(data))
                continue
            size = data.shape[0 if axis else 1]
            steps = data[(slice(None),) * axis + (slice(start, start + self.length),)]
            short = self.length - steps.shape[axis] if self.pad else 0
            if not short:
                chunk.append(steps.copy())
                continue
            shape = list(steps.shape)
            shape[axis] = short
            padding = numpy.zeros(shape, dtype=steps.dtype)
            if source not in masks:
                padding[...] = self._fill(source, steps.dtype)
            chunk.append(numpy.concatenate([steps, padding], axis=axis))
        return (*chunk, numpy.full(size, start > 0))

    def _fill(self, source: str, dtype: Any) -> Any:
        if dtype.kind not in "biufc":
            # Zeros, as `Padding` makes them, of a type that has no numbers: empty texts.
            if type(self.value) is int and self.value == 0:
                return numpy.zeros((), dtype)
            raise ValueError(
                f"Segments: value={self.value!r} is no {dtype} as source {source!r} holds; leave "
                "`value` out, or convert the source below"
            )
        try:
            with numpy.errstate(all="ignore"):
                cast = numpy.asarray(self.value).astype(dtype)
            if dtype.kind not in "biu" or cast == self.value:
                return cast
        except (OverflowError, TypeError, ValueError):
            pass
        raise ValueError(
            f"Segments: value={self.value!r} does not fit into source {source!r} of type {dtype}; "
            "use another `value`, or convert the source below"
        )

    def _address(self, context: Context, size: int, number: int) -> Context:
        """Return where the chunk of that number stands, from 0."""
        if context.is_batch and context.numbers is None and len(context.ordinals) == size:
            ordinals = context.ordinals
            numbers = numpy.full(size, number + 1, dtype=numpy.uint64)
            first = int(ordinals[0]) if size else 0
            return Context(
                context.epoch, first, None, context.draws, ordinals=ordinals, numbers=numbers
            )
        if not size:
            return context
        return Context.gather([context.one(index).child(number + 1) for index in range(size)])

    # -- what it offers to the plan -------------------------------------------------------------

    def _make_cursor(self, start: Start) -> Cursor:
        return _SegmentsCursor(start, self)

    def _num_items(self) -> int | None:
        return None

    def _num_examples(self) -> int | None:
        return None

    def _why_not_elementwise(self) -> str:
        return "makes several chunks of a batch: runs in order, in this process"

    def _parameters(self) -> dict[str, Any]:
        parameters: dict[str, Any] = {"length": self.length}
        if self.pad:
            parameters |= {"pad": True, "value": self.value}
        if self.which_sources is not None:
            parameters["which_sources"] = tuple(self.which_sources)
        if self.flag != "continues":
            parameters["flag"] = self.flag
        return parameters


class _SegmentsCursor(Cursor):
    """The pass of a `Segments`: it holds the batch whose chunks are being delivered.

    Attributes
    ----------
    batch : tuple or None
        The batch.
    parts : list or None
        Its sources as arrays, with the axes of time.
    used : int
        How many steps of the batch were delivered.

    """

    step: Segments
    child: Cursor
    batch: Any
    parts: list[tuple[Any, int | None]] | None
    used: int

    def __init__(self, start: Start, step: Segments) -> None:
        self.child = start.child(step.data_stream)
        super().__init__(start, step)
        self.below = Below(self.child, step.data_stream)
        self.first: Any = None
        self._empty()

    def produce(self, request: Any) -> Any:
        """Return the next chunk."""
        step = self.step
        if self.batch is None:
            first = self.below.place()
            self.batch, self.first, self.used = next(self.child), first, 0
        if self.parts is None:
            self.parts = step._parts(self.batch)
        steps = next(data.shape[axis] for data, axis in self.parts if axis is not None)
        chunk = step._chunk(self.parts, self.used)
        number = self.used // step.length
        self.context = step._address(self.child.context, len(chunk[-1]), number)
        self.used += step.length
        if self.used >= steps:
            self._empty()
        return chunk

    def _empty(self) -> None:
        self.batch = None
        self.parts = None
        self.used = 0

    def tell(self) -> JSON:
        """Describe the batch held and how many steps of it were delivered."""
        place = self.below.place() if self.batch is None else self.first
        return {"from": self.below.written(place), "used": self.used}

    def seek(self, mark: JSON) -> None:
        """Fetch the batch again, if one was held."""
        self._empty()
        self.below.go(mark["from"])
        if mark["used"]:
            self.first = mark["from"]
            self.batch, self.used = self.below.again(), mark["used"]


def _check_which(names: Any, below: tuple[Any, ...]) -> Collection[str]:
    if isinstance(names, str):
        names = (names,)
    names = check_names("Segments", "which_sources", names)
    unknown = [name for name in names if name not in below]
    if unknown or not names:
        raise ValueError(
            f"`which_sources` of Segments must name some of the sources {below}, got "
            f"{tuple(names)}; leave it out to find the time axis by labels or by shape"
        )
    return tuple(names)
