"""Noise and masks: `AddNoise`, `TimeMask`, `FrequencyMask`.

In this room: what changes the values of sequences at random. Not here: windows over sequences
(`fuel.transformers._sliding`), other sampling rates (`fuel.transformers._resampling`), padding.

Examples are sequences of any length, with time first unless the axis labels or the user say
otherwise. A batch is an array, or a list or an object array of sequences of different lengths.
What comes in is never changed: results are new arrays.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.kernels.draws import integers, normals, uniforms
from fuel.plan import Context
from fuel.transformers._checks import check_integer
from fuel.transformers._random import RandomTransformer, is_hooked, treated
from fuel.transformers._ranges import check_fill, check_number, filling
from fuel.transformers._stacking import object_array
from fuel.transformers._time_axes import FREQUENCY, TIME, axis_of, check_axis

__all__ = ["AddNoise", "FrequencyMask", "TimeMask"]


def _is_array(batch: Any) -> bool:
    """Tell whether a batch is one array of numbers."""
    return isinstance(batch, numpy.ndarray) and batch.dtype != object


class AddNoise(RandomTransformer):
    """Adds random numbers to all elements.

    Parameters
    ----------
    data_stream : AbstractDataStream
        The stream below.
    scale : float or array_like
        How strong the noise is, at least 0: the standard deviation of normal noise, the largest
        size of uniform noise. An array is broadcast over the last axes of an example, so that
        features may have a strength each.
    distribution : {'normal', 'uniform'}, optional
        Default ``'normal'``.
    **kwargs
        `which_sources` (default: all), `seed`, `axis_labels` (default: kept), `name`.

    Attributes
    ----------
    scale : float or numpy.ndarray
        As given.
    distribution : str
        As given.

    Raises
    ------
    TypeError
        If `scale` is neither a number nor an array of numbers; while iterating, if the data is
        not floating-point.
    ValueError
        If `scale` is negative or not finite, or the distribution is unknown; while iterating, if
        the array does not fit an example.

    Notes
    -----
    Every element draws once, at the address of its example and its place in it, the chosen
    sources one after the other: no two share noise, and no example's noise depends on its batch.
    Calculated in float64 and added in the type of the data, which is kept.

    Examples
    --------
    >>> import numpy
    >>> from fuel.datasets import IndexableDataset
    >>> from fuel.schemes import SequentialScheme
    >>> from fuel.streams import DataStream
    >>> waves = IndexableDataset({'x': numpy.zeros((2, 5), dtype='float32')})
    >>> stream = DataStream(waves, iteration_scheme=SequentialScheme(2, 2))
    >>> for x, in AddNoise(stream, 0.5, 'uniform', seed=1):
    ...     print(x.dtype, x.shape, bool(abs(x).max() <= 0.5))
    float32 (2, 5) True

    """

    # Once more, for the methods below that change what comes out.
    elementwise = True

    def __init__(
        self, data_stream: Any, scale: Any, distribution: str = "normal", **kwargs: Any
    ) -> None:
        if isinstance(scale, (list, tuple)) or (isinstance(scale, numpy.ndarray) and scale.ndim):
            try:
                self.scale: Any = numpy.array(scale)
            except ValueError:  # a ragged list
                self.scale = numpy.array("")
            if self.scale.dtype.kind not in "iuf":
                raise TypeError(
                    f"`scale` of AddNoise must be a number or an array of them, got {scale!r:.80}"
                )
            if not (numpy.isfinite(self.scale).all() and (self.scale >= 0).all()):
                raise ValueError(
                    f"`scale` of AddNoise must be finite and not negative, got {scale!r:.80}"
                )
        else:
            self.scale = check_number("AddNoise", "scale", scale, 0.0)
        if distribution not in ("normal", "uniform"):
            raise ValueError(
                "`distribution` of AddNoise must be 'normal' or 'uniform', got "
                f"{distribution!r:.80}"
            )
        self.distribution = distribution
        super().__init__(data_stream, **kwargs)

    def apply(self, data: Any, context: Context) -> Any:
        """Transform one item, with the draws that belong to its address."""
        if self.produces_examples != self.data_stream.produces_examples or is_hooked(self):
            return super().apply(data, context)  # which says what is wrong, or asks the subclass
        sources, which = tuple(self.data_stream.sources), self.which_sources
        chosen = [i for i, name in enumerate(sources) if which is None or name in which]
        result = list(data)
        if not chosen:
            return tuple(result)
        names = [sources[place] for place in chosen]
        columns = [data[place] for place in chosen]
        if self.produces_examples:
            noisy = self._example([numpy.asarray(one) for one in columns], names, context)
        elif all(map(_is_array, columns)):
            noisy = self._arrays(columns, names, context)
        else:
            noisy = self._ragged(columns, names, context)
        for place, array in zip(chosen, noisy, strict=True):
            result[place] = array
        return tuple(result)

    def transform_source_example(self, source_example: Any, source_name: str) -> Any:
        """Transform one source of an example: of the one being treated, else as if the first."""
        context = treated(self) or Context(0)
        return self._example([numpy.asarray(source_example)], [source_name], context)[0]

    def transform_source_batch(self, source_batch: Any, source_name: str) -> Any:
        """Transform one source of a batch: of the one being treated, else as if the first."""
        context = treated(self) or Context(0, 0, len(source_batch))
        method = self._arrays if _is_array(source_batch) else self._ragged
        return method([source_batch], [source_name], context)[0]

    def _example(self, arrays: list[Any], names: list[str], context: Context) -> list[Any]:
        bits = context.bits(self, sum(array.size for array in arrays))
        batches = self._noisy([array[None] for array in arrays], names, bits[None])
        return [batch[0] for batch in batches]

    def _arrays(self, batches: list[Any], names: list[str], context: Context) -> list[Any]:
        count = sum(int(numpy.prod(batch.shape[1:])) for batch in batches)
        return self._noisy(batches, names, context.bits(self, count, len(batches[0])))

    def _ragged(self, batches: list[Any], names: list[str], context: Context) -> list[Any]:
        rows = [
            self._example([numpy.asarray(one) for one in row], names, context.one(index))
            for index, row in enumerate(zip(*batches, strict=True))
        ]
        results: list[Any] = []
        for number, batch in enumerate(batches):
            column = [row[number] for row in rows]
            if _is_array(batch):
                results.append(numpy.stack(column) if column else batch.copy())
            else:
                wrap = object_array if isinstance(batch, numpy.ndarray) else list
                results.append(wrap(column))
        return results

    def _noisy(
        self, batches: list[Any], names: list[str], bits: NDArray[numpy.uint64]
    ) -> list[Any]:
        """Add noise to arrays ``(n, ...)`` that share the draws of their examples."""
        results, used = [], 0
        for batch, source_name in zip(batches, names, strict=True):
            if batch.dtype.kind != "f":
                raise TypeError(
                    f"AddNoise needs floating-point data, but source {source_name!r} has the type "
                    f"{batch.dtype}; put Cast below it, or name the sources in `which_sources`"
                )
            shape = batch.shape[1:]
            size = int(numpy.prod(shape))
            drawn = bits[:, used : used + size]
            used += size
            noise = normals(drawn) if self.distribution == "normal" else 2 * uniforms(drawn) - 1
            noise = noise.reshape(batch.shape)
            try:
                noise *= numpy.broadcast_to(self.scale, shape)
            except ValueError:
                raise ValueError(
                    f"`scale` of AddNoise has the shape {numpy.shape(self.scale)}, which does not "
                    f"fit the examples of source {source_name!r} with the shape {shape}; give a "
                    "number, or an array for the last axes"
                ) from None
            results.append(batch + noise.astype(batch.dtype.newbyteorder("=")))
        return results

    def _parameters(self) -> dict[str, Any]:
        return {"scale": self.scale, "distribution": self.distribution, **super()._parameters()}


class _Mask(RandomTransformer):
    """What the two masks share."""

    _names: tuple[str, ...]
    _default_axis: int

    def __init__(
        self,
        data_stream: Any,
        max_width: int,
        num_masks: int = 1,
        value: Any = 0,
        max_share: float = 1.0,
        axis: int | str | None = None,
        **kwargs: Any,
    ) -> None:
        name = type(self).__name__
        self.max_width = check_integer(name, "max_width", max_width)
        self.num_masks = check_integer(name, "num_masks", num_masks)
        for what, number in (("max_width", self.max_width), ("num_masks", self.num_masks)):
            if number < 0:
                raise ValueError(
                    f"`{what}` of {name} must not be negative, got {number}; 0 is none"
                )
        self.value = check_fill(name, "value", value)
        if isinstance(self.value, tuple):
            raise TypeError(f"`value` of {name} must be one number, got {value!r:.80}")
        self.max_share = check_number(name, "max_share", max_share, 0.0, 1.0)
        self.axis = check_axis(name, axis)
        self._draws = 2 * self.num_masks
        super().__init__(data_stream, **kwargs)

    def _one(self, example: Any, source_name: str, bits: NDArray[numpy.uint64]) -> Any:
        return self._masked(numpy.asarray(example)[None], source_name, bits[None])[0]

    def _many(self, batch: Any, source_name: str, bits: NDArray[numpy.uint64]) -> Any:
        if not _is_array(batch):
            return super()._many(batch, source_name, bits)
        return self._masked(batch, source_name, bits)

    def _masked(self, batch: Any, source_name: str, bits: NDArray[numpy.uint64]) -> Any:
        name = type(self).__name__
        value = filling(name, "value", self.value, batch.dtype, source_name)
        ndim = batch.ndim - 1
        axis = 1 + axis_of(self, source_name, ndim, self.axis, self._names, self._default_axis)
        result = batch.astype(batch.dtype.newbyteorder("="), order="C")
        starts, widths = self._bands(bits, batch.shape[axis])
        for index in range(len(batch)):
            along = numpy.moveaxis(result[index], axis - 1, 0)
            for start, width in zip(starts[index], widths[index], strict=True):
                along[start : start + width] = value
        return result

    def _bands(self, bits: NDArray[numpy.uint64], length: int) -> tuple[Any, Any]:
        """Return where the masks begin and how wide they are, both of shape ``(n, masks)``."""
        widest = min(self.max_width, int(self.max_share * length))
        widths = integers(bits[:, 0::2], widest + 1)
        return integers(bits[:, 1::2], length - widths + 1), widths

    def _parameters(self) -> dict[str, Any]:
        return {
            "max_width": self.max_width,
            "num_masks": self.num_masks,
            "value": self.value,
            "max_share": self.max_share,
            **({} if self.axis is None else {"axis": self.axis}),
            **super()._parameters(),
        }


class TimeMask(_Mask):
    """Overwrites spans of time with one value.

    Parameters
    ----------
    data_stream : AbstractDataStream
        The stream below.
    max_width : int
        The largest width of a mask, in steps of time.
    num_masks : int, optional
        How many masks; they may overlap. Default 1.
    value : number, optional
        What is written. Default 0.
    max_share : float, optional
        No mask is wider than this share of the sequence. Default 1.
    axis : int or str, optional
        The axis of time among those of an example, or its label. Default: the one labelled
        ``'time'``, else the first.
    **kwargs
        `which_sources` (default: all), `seed`, `axis_labels` (default: kept), `name`.

    Attributes
    ----------
    max_width, num_masks, value, max_share, axis
        As given.

    Raises
    ------
    TypeError
        If an argument is of another kind; while iterating, if data is not numeric.
    ValueError
        If a number is out of bounds; while iterating, if the type of the data cannot hold `value`
        or an example has no such axis.

    Notes
    -----
    After D. S. Park et al., "SpecAugment: A simple data augmentation method for automatic speech
    recognition", Interspeech 2019: the width is uniform from 0 to the largest, both included, and
    the place among all where the mask lies inside. The largest is `max_width`, or the length of
    the sequence times `max_share` if that is less.

    Examples
    --------
    >>> import numpy
    >>> from fuel.datasets import IndexableDataset
    >>> from fuel.schemes import SequentialScheme
    >>> from fuel.streams import DataStream
    >>> waves = IndexableDataset({'x': numpy.ones((4, 100))})
    >>> stream = DataStream(waves, iteration_scheme=SequentialScheme(4, 4))
    >>> [bool(((x.sum(axis=1) >= 80) & (x.sum(axis=1) <= 100)).all())
    ...  for x, in TimeMask(stream, 10, num_masks=2)]
    [True]

    """

    _names = TIME
    _default_axis = 0


class FrequencyMask(_Mask):
    """Overwrites bands of frequencies with one value.

    Parameters
    ----------
    data_stream : AbstractDataStream
        The stream below.
    max_width : int
        The largest width of a mask, in frequencies.
    axis : int or str, optional
        The axis of frequencies among those of an example, or its label. Default: the one labelled
        ``'frequency'``, ``'freq'``, ``'mel'`` or ``'feature'``, else the last.
    num_masks, value, max_share, **kwargs
        As for `TimeMask`.

    Attributes
    ----------
    max_width, num_masks, value, max_share, axis
        As given.

    Raises
    ------
    TypeError, ValueError
        As `TimeMask`.

    Notes
    -----
    As `TimeMask`, along the other axis.

    Examples
    --------
    >>> import numpy
    >>> from fuel.datasets import IndexableDataset
    >>> from fuel.schemes import SequentialScheme
    >>> from fuel.streams import DataStream
    >>> spectra = IndexableDataset({'x': numpy.ones((4, 100, 8))})
    >>> stream = DataStream(spectra, iteration_scheme=SequentialScheme(4, 4))
    >>> [bool((x == x[:, :1]).all()) for x, in FrequencyMask(stream, 3)]
    [True]

    """

    _names = FREQUENCY
    _default_axis = -1
