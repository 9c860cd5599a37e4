"""Other sampling rates: `Resample`.

Not here: windows over sequences (`fuel.transformers._sliding`), noise and masks
(`fuel.transformers._timeseries`). SciPy is imported when a sequence is resampled.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy

from fuel.transformers._base import SourcewiseTransformer
from fuel.transformers._checks import check_integer, kind_below, labels_below
from fuel.transformers._random import each_example
from fuel.transformers._ranges import check_number
from fuel.transformers._time_axes import TIME, axis_of, check_axis

__all__ = ["Resample"]


class Resample(SourcewiseTransformer):
    """Changes the sampling rate of sequences.

    Parameters
    ----------
    data_stream : AbstractDataStream
        The stream below.
    up, down : int, optional
        The factor is ``up / down``. Default 1 each.
    rate_in, rate_out : int or float, optional
        The rates instead: the factor is ``rate_out / rate_in``.
    axis : int or str, optional
        The axis of time among those of an example, or its label. Default: the one labelled
        ``'time'``, else the first.
    **kwargs
        `which_sources` (default: all), `axis_labels` (default: kept), `name`.

    Attributes
    ----------
    up, down : int
        The factor, in lowest terms.
    axis
        As given.

    Raises
    ------
    TypeError
        If a factor is no integer or a rate no number; while iterating, if data is not numeric.
    ValueError
        If a factor or a rate is not positive, both kinds or one rate alone are given, or the
        rates have no ratio of integers up to 100,000.

    Notes
    -----
    By ``scipy.signal.resample_poly``, which filters with zero phase and takes what is outside a
    sequence as 0. A sequence of n becomes one of ``ceil(n up / down)``; an empty one stays empty.
    float32, float64 and complex types are kept, float16 is calculated in float32 and kept, and
    integers become float64. With equal rates the values are those below.

    Examples
    --------
    >>> import numpy
    >>> from fuel.datasets import IndexableDataset
    >>> from fuel.schemes import SequentialScheme
    >>> from fuel.streams import DataStream
    >>> waves = IndexableDataset({'x': numpy.zeros((2, 441), dtype='float32')})
    >>> stream = DataStream(waves, iteration_scheme=SequentialScheme(2, 2))
    >>> [(x.dtype.name, x.shape) for x, in Resample(stream, rate_in=44100, rate_out=16000)]
    [('float32', (2, 160))]

    """

    _asks_sources = True
    elementwise = True

    def __init__(
        self,
        data_stream: Any,
        up: int = 1,
        down: int = 1,
        *,
        rate_in: Any = None,
        rate_out: Any = None,
        axis: int | str | None = None,
        **kwargs: Any,
    ) -> None:
        ratio = _ratio(up, down, rate_in, rate_out)
        self.up, self.down = ratio.numerator, ratio.denominator
        self.axis = check_axis("Resample", axis)
        kwargs.setdefault("axis_labels", labels_below(data_stream))
        super().__init__(data_stream, kind_below("Resample", data_stream), **kwargs)

    def transform_source_example(self, source_example: Any, source_name: str) -> Any:
        """Resample one sequence."""
        return self._resampled(numpy.asarray(source_example), source_name, 0)

    def transform_source_batch(self, source_batch: Any, source_name: str) -> Any:
        """Resample a batch of sequences."""
        if isinstance(source_batch, numpy.ndarray) and source_batch.dtype != object:
            return self._resampled(source_batch, source_name, 1)
        return each_example(
            source_batch, lambda one, _: self.transform_source_example(one, source_name)
        )

    def _resampled(self, data: Any, source_name: str, first: int) -> Any:
        axis = first + axis_of(self, source_name, data.ndim - first, self.axis, TIME, 0)
        if data.dtype.kind not in "biufc":
            raise TypeError(
                f"Resample needs numbers, but source {source_name!r} has the type {data.dtype}; "
                "name the sources to resample in `which_sources`"
            )
        dtype = data.dtype.newbyteorder("=") if data.dtype.kind in "fc" else numpy.dtype("float64")
        if self.up == self.down:
            return data.astype(dtype)
        if data.size == 0:
            shape = list(data.shape)
            shape[axis] = -(-shape[axis] * self.up // self.down)
            return numpy.zeros(shape, dtype=dtype)
        from scipy.signal import resample_poly

        work = numpy.promote_types(dtype, numpy.float32)
        result = resample_poly(data.astype(work), self.up, self.down, axis=axis)
        return numpy.ascontiguousarray(result, dtype=dtype)

    def _parameters(self) -> dict[str, Any]:
        parameters: dict[str, Any] = {"up": self.up, "down": self.down}
        if self.axis is not None:
            parameters["axis"] = self.axis
        return {**parameters, **super()._parameters()}


def _ratio(up: Any, down: Any, rate_in: Any, rate_out: Any) -> Fraction:
    """Return the factor of a resampling."""
    name = "Resample"
    if rate_in is None and rate_out is None:
        up, down = check_integer(name, "up", up), check_integer(name, "down", down)
        for what, number in (("up", up), ("down", down)):
            if number < 1:
                raise ValueError(f"`{what}` of {name} must be positive, got {number}")
        return Fraction(up, down)
    if rate_in is None or rate_out is None or (up, down) != (1, 1):
        raise ValueError(
            f"{name} takes `up` and `down`, or both `rate_in` and `rate_out`, got up={up!r:.40}, "
            f"down={down!r:.40}, rate_in={rate_in!r:.40}, rate_out={rate_out!r:.40}"
        )
    rates = []
    for what, rate in (("rate_in", rate_in), ("rate_out", rate_out)):
        number = check_number(name, what, rate, 0.0)
        if number == 0:
            raise ValueError(f"`{what}` of {name} must be positive, got {rate!r:.80}")
        rates.append(Fraction(repr(number)))  # 11025.1 as it is written, not as it is stored
    ratio = rates[1] / rates[0]
    if max(ratio.numerator, ratio.denominator) > 100_000:
        raise ValueError(
            f"the rates {rate_out!r:.40} and {rate_in!r:.40} of {name} have the ratio {ratio}, too "
            "long for a filter; round them, or give `up` and `down`"
        )
    return ratio
