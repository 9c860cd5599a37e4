"""Sequences of unequal lengths as one array: `Padding`."""

from __future__ import annotations

import bisect
import itertools
from typing import Any

import numpy

from fuel.config_parser import config
from fuel.kernels import ragged
from fuel.plan import Context
from fuel.transformers._base import Transformer
from fuel.transformers._checks import check_dtype, check_integer, check_which, need_batches
from fuel.utils._owning import own_array

__all__ = ["Padding"]


class Padding(Transformer):
    """Pads sequences with zeros and adds masks that tell data from padding.

    Parameters
    ----------
    data_stream : AbstractDataStream
        A stream of batches of sequences: of arrays or lists that may differ in length, and in
        nothing else.
    mask_sources : tuple of str, optional
        The sources to pad; the others pass unchanged. Default: all.
    mask_dtype : str or numpy.dtype, optional
        The type of the masks. Default: ``config.floatX``, read for every batch.
    value : object, optional
        What padding is made of, if not zeros: a number or text that the type of the sequences
        can hold.
    side : {'right', 'left'}, optional
        Where the padding goes.
    multiple_of : int, optional
        The width of every batch is rounded up to a multiple of this.
    buckets : sequence of int, optional
        The widths that batches may have, in rising order: the smallest that fits is taken. A
        consumer that compiles itself for each shape sees only these.
    with_mask : bool, optional
        Whether masks are added. Default: True.
    **kwargs
        `axis_labels` (default: None), `name`.

    Attributes
    ----------
    mask_sources, mask_dtype, value, side, multiple_of, buckets, with_mask
        As given, or the defaults.

    Raises
    ------
    ValueError
        If the stream below produces examples, or an argument after `mask_dtype` is none of the
        above; while iterating, if a sequence is longer than the largest bucket, the type of the
        sequences cannot hold `value`, or the sequences of a batch do not go together.
    TypeError
        If `mask_sources` holds no names, `mask_dtype` is no data type, or a width no integer.

    Notes
    -----
    A padded source is an array of shape ``(n, width, ...)`` of the type that can hold all its
    sequences; right after it comes ``NAME_mask`` of shape ``(n, width)``, with 1 where there is
    data. The width is the length of the longest sequence of the batch, unless `multiple_of` or
    `buckets` says otherwise.

    Examples
    --------
    >>> from fuel.datasets import IterableDataset
    >>> from fuel.schemes import ConstantScheme
    >>> from fuel.streams import DataStream
    >>> from fuel.transformers import Batch
    >>> words = DataStream(IterableDataset({'x': [[1, 2], [3]]}))
    >>> padded = Padding(Batch(words, ConstantScheme(2)))
    >>> padded.sources
    ('x', 'x_mask')
    >>> for x, mask in padded:
    ...     print(x.tolist(), mask.tolist())
    [[1, 2], [3, 0]] [[1.0, 1.0], [1.0, 0.0]]

    """

    elementwise = True

    def __init__(
        self,
        data_stream: Any,
        mask_sources: Any = None,
        mask_dtype: Any = None,
        *,
        value: Any = 0,
        side: str = "right",
        multiple_of: int | None = None,
        buckets: Any = None,
        with_mask: bool = True,
        **kwargs: Any,
    ) -> None:
        need_batches("Padding", data_stream)
        super().__init__(data_stream, produces_examples=False, **kwargs)
        if mask_sources is not None:
            mask_sources = check_which("Padding", "mask_sources", mask_sources)
        self.mask_sources = data_stream.sources if mask_sources is None else mask_sources
        if mask_dtype is not None:
            check_dtype("Padding", "mask_dtype", mask_dtype)
        self._mask_dtype = mask_dtype
        if side not in ("right", "left"):
            raise ValueError(f"`side` of Padding must be 'right' or 'left', got {side!r:.80}")
        self.value = value
        self.side = side
        self.multiple_of = multiple_of
        if multiple_of is not None:
            self.multiple_of = _positive("multiple_of", multiple_of)
        self.buckets = None if buckets is None else _widths(buckets)
        if multiple_of is not None and buckets is not None:
            raise ValueError(
                f"Padding takes either `multiple_of` or `buckets`, got {multiple_of!r:.80} and "
                f"{buckets!r:.80}; choose buckets that are multiples"
            )
        self.with_mask = bool(with_mask)

    @property
    def mask_dtype(self) -> Any:
        """The type of the masks."""
        return config.floatX if self._mask_dtype is None else self._mask_dtype

    @mask_dtype.setter
    def mask_dtype(self, value: Any) -> None:
        self._mask_dtype = value

    @property  # type: ignore[misc]  # read only, since it follows from the arguments
    def sources(self) -> Any:
        """Names of what an item holds: each padded source is followed by its mask."""
        if not self.with_mask:
            return self.data_stream.sources
        names: list[str] = []
        for source in self.data_stream.sources:
            names.append(source)
            if source in self.mask_sources:
                names.append(f"{source}_mask")
        return tuple(names)

    def apply(self, data: Any, context: Context) -> Any:
        """Pad one batch; that it is one was seen to when the step was built."""
        return self.transform_batch(data)

    def transform_batch(self, batch: Any) -> Any:
        """Pad the chosen sources of a batch."""
        padded: list[Any] = []
        for source, samples in zip(self.data_stream.sources, batch, strict=False):
            if source in self.mask_sources:
                padded += self._pad(source, samples)
            else:
                padded.append(samples)
        return tuple(padded)

    def _pad(self, source: str, samples: Any) -> list[Any]:
        """Return a source, padded, and its mask if there is to be one."""
        free = self.multiple_of is None and self.buckets is None
        try:
            array, mask = ragged.pad(
                samples,
                value=self.value,
                side=self.side,
                width=None if free else self._width,
                mask_dtype=self.mask_dtype if self.with_mask else None,
            )
        except ValueError as error:
            raise ValueError(
                f"Padding cannot make an array of source {source!r}: {error} (or leave the source "
                "out of `mask_sources`)"
            ) from error
        # Sequences of objects may hold arrays of the data set.
        array = own_array(array)
        return [array, mask] if self.with_mask else [array]

    def _width(self, longest: int) -> int:
        """Return the width of a batch with a sequence of this length."""
        if self.multiple_of is not None:
            return -(-longest // self.multiple_of) * self.multiple_of
        assert self.buckets is not None
        place = bisect.bisect_left(self.buckets, longest)
        if place == len(self.buckets):
            raise ValueError(
                f"a sequence of length {longest} is longer than the largest of `buckets`, "
                f"{self.buckets[-1]}; add a larger one, or cut or filter long sequences before"
            )
        return self.buckets[place]

    def _copies_source(self, source: str) -> bool:
        """Tell whether a source comes out in new memory, so that what came in may be reused."""
        return source in self.mask_sources

    def _parameters(self) -> dict[str, Any]:
        parameters: dict[str, Any] = {
            "mask_sources": tuple(s for s in self.data_stream.sources if s in self.mask_sources),
            "mask_dtype": str(numpy.dtype(self.mask_dtype)),
        }
        if not (type(self.value) is int and self.value == 0):
            parameters["value"] = self.value
        if self.side != "right":
            parameters["side"] = self.side
        if self.multiple_of is not None:
            parameters["multiple_of"] = self.multiple_of
        if self.buckets is not None:
            parameters["buckets"] = self.buckets
        if not self.with_mask:
            # Nor does the type of what is not there matter.
            del parameters["mask_dtype"]
            parameters["with_mask"] = False
        return parameters


def _positive(argument: str, value: Any) -> int:
    number = check_integer("Padding", argument, value)
    if number < 1:
        raise ValueError(f"`{argument}` of Padding must be at least 1, got {number}")
    return number


def _widths(buckets: Any) -> tuple[int, ...]:
    try:
        given = list(buckets)
    except TypeError:
        raise TypeError(
            f"`buckets` of Padding must be a sequence of widths, got {buckets!r:.80}; for example "
            "(16, 32, 64)"
        ) from None
    widths = tuple(_positive("buckets", width) for width in given)
    if not widths or any(b <= a for a, b in itertools.pairwise(widths)):
        raise ValueError(
            f"`buckets` of Padding must be widths in rising order, got {widths!r:.80}; sort them"
        )
    return widths
