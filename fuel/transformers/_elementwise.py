"""Arithmetic and types, element by element: `Flatten`, `ScaleAndShift`, `Cast`, `ForceFloatX`.

All are pure functions of one example or batch. Batches of examples of unequal shapes (lists, or
object arrays) are treated example by example.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from fuel.config_parser import config
from fuel.plan import _operations as operations
from fuel.transformers._base import AgnosticSourcewiseTransformer, SourcewiseTransformer
from fuel.transformers._checks import (
    check_dtype,
    check_which,
    kind_below,
    labels_below,
    selects,
)
from fuel.transformers._stacking import as_batch, is_ragged, object_array
from fuel.utils._overrides import overridden

__all__ = ["Cast", "Flatten", "ForceFloatX", "ScaleAndShift"]


def _each(array: Any, function: Callable[[Any], Any]) -> Any:
    """Apply a function to an array, or to every example of a ragged one."""
    if is_ragged(array):
        return object_array([function(numpy.asarray(example)) for example in array])
    return function(array)


class Flatten(SourcewiseTransformer):
    """Makes a vector of every example.

    Parameters
    ----------
    data_stream : AbstractDataStream
        The stream below.
    **kwargs
        `which_sources` (default: all), `axis_labels`, `name`.

    Notes
    -----
    A batch of shape ``(n, ...)`` becomes a matrix ``(n, m)``, an example a vector ``(m,)``. Where
    the examples of a batch differ in shape, each becomes a vector, in an object array. The axis
    labels become ``(first label, 'feature')`` or ``('feature',)``.

    Examples
    --------
    >>> import numpy
    >>> from fuel.datasets import IndexableDataset
    >>> from fuel.schemes import SequentialScheme
    >>> from fuel.streams import DataStream
    >>> images = IndexableDataset({'x': numpy.zeros((4, 2, 3))})
    >>> for x, in Flatten(DataStream(images, iteration_scheme=SequentialScheme(4, 2))):
    ...     print(x.shape)
    (2, 6)
    (2, 6)

    """

    elementwise = True

    def __init__(self, data_stream: Any, **kwargs: Any) -> None:
        examples = kind_below("Flatten", data_stream)
        which = kwargs.get("which_sources")
        if which is not None:
            kwargs["which_sources"] = which = check_which("Flatten", "which_sources", which)
        if getattr(data_stream, "axis_labels", None):
            kwargs.setdefault("axis_labels", self._infer_axis_labels(data_stream, which))
        super().__init__(data_stream, examples, **kwargs)

    def _infer_axis_labels(self, data_stream: Any, which_sources: Any) -> Any:
        labels = labels_below(data_stream)
        for source, names in list(labels.items()):
            if which_sources is not None and source not in which_sources:
                continue
            if not names:
                labels[source] = None
            elif data_stream.produces_examples:
                labels[source] = ("feature",)
            else:
                labels[source] = (names[0], "feature")
        return labels

    def transform_source_example(self, source_example: Any, source_name: str) -> Any:
        """Flatten one source of an example."""
        return numpy.asarray(source_example).flatten()

    def transform_source_batch(self, source_batch: Any, source_name: str) -> Any:
        """Flatten one source of a batch, example by example."""
        batch = as_batch(source_batch)
        if is_ragged(batch):
            return _each(batch, numpy.ravel)
        # Not -1: it could not be inferred for a batch without examples.
        return batch.reshape((len(batch), int(numpy.prod(batch.shape[1:]))))

    def _operations(self, source: str, dtype: Any, shape: Any) -> Any:
        return (operations.Flatten(),) if selects(self, source) else ()


def _check_number(argument: str, value: Any, operation: str) -> None:
    """Refuse what arrays cannot be multiplied by, or added to."""
    try:
        array = numpy.asarray(value)
        odd = array.dtype.kind in "SUV" or (
            array.dtype.kind == "O" and array.ndim == 0 and not hasattr(value, operation)
        )
    except ValueError:  # a ragged list
        odd = True
    if odd:
        raise TypeError(
            f"`{argument}` of ScaleAndShift must be a number or an array of numbers, got "
            f"{value!r:.80}; convert it, for example with float()"
        )


class ScaleAndShift(AgnosticSourcewiseTransformer):
    """Multiplies by one number and adds another.

    Parameters
    ----------
    data_stream : AbstractDataStream
        The stream below.
    scale : float or array_like
        The factor.
    shift : float or array_like
        What is added *after* scaling.
    **kwargs
        `which_sources` (default: all), `axis_labels` (default: kept), `name`.

    Attributes
    ----------
    scale, shift
        As given.

    Raises
    ------
    TypeError
        If `scale` or `shift` is no number and no array of numbers.

    """

    elementwise = True

    def __init__(self, data_stream: Any, scale: Any, shift: Any, **kwargs: Any) -> None:
        if not overridden(self, "transform_any", "transform_any_source"):
            _check_number("scale", scale, "__mul__")
            _check_number("shift", shift, "__add__")
        self.scale = scale
        self.shift = shift
        kwargs.setdefault("axis_labels", labels_below(data_stream))
        super().__init__(data_stream, kind_below("ScaleAndShift", data_stream), **kwargs)

    def transform_any_source(self, source_data: Any, source_name: str) -> Any:
        """Scale, then shift."""
        return _each(as_batch(source_data), lambda data: data * self.scale + self.shift)

    def _operations(self, source: str, dtype: Any, shape: Any) -> Any:
        if not selects(self, source):
            return ()
        return operations.Multiply(self.scale), operations.Add(self.shift)

    def _parameters(self) -> dict[str, Any]:
        return {"scale": self.scale, "shift": self.shift, **super()._parameters()}


class Cast(AgnosticSourcewiseTransformer):
    """Changes the data type.

    Parameters
    ----------
    data_stream : AbstractDataStream
        The stream below.
    dtype : str or numpy.dtype
        The type; ``'floatX'`` means ``config.floatX`` as it is now.
    **kwargs
        `which_sources` (default: all), `axis_labels` (default: kept), `name`.

    Attributes
    ----------
    dtype : str or numpy.dtype
        The type, ``'floatX'`` replaced.

    Raises
    ------
    TypeError
        If `dtype` is not a data type.

    """

    elementwise = True

    def __init__(self, data_stream: Any, dtype: Any, **kwargs: Any) -> None:
        if isinstance(dtype, str) and dtype == "floatX":
            dtype = config.floatX
        check_dtype("Cast", "dtype", dtype)
        self.dtype = dtype
        kwargs.setdefault("axis_labels", labels_below(data_stream))
        super().__init__(data_stream, kind_below("Cast", data_stream), **kwargs)

    def transform_any_source(self, source_data: Any, source_name: str) -> Any:
        """Return the data in the new type."""
        if isinstance(source_data, (list, tuple)):
            try:
                return numpy.asarray(source_data, dtype=self.dtype)
            except ValueError:
                source_data = as_batch(source_data)
                if not is_ragged(source_data):
                    raise
        return _each(numpy.asarray(source_data), lambda data: numpy.asarray(data, dtype=self.dtype))

    def _operations(self, source: str, dtype: Any, shape: Any) -> Any:
        return (operations.CastTo(self.dtype),) if selects(self, source) else ()

    def _parameters(self) -> dict[str, Any]:
        return {"dtype": str(numpy.dtype(self.dtype)), **super()._parameters()}


class ForceFloatX(AgnosticSourcewiseTransformer):
    """Changes floating-point arrays to the type in ``config.floatX``; all else passes unchanged.

    Parameters
    ----------
    data_stream : AbstractDataStream
        The stream below.
    **kwargs
        `which_sources` (default: all), `axis_labels` (default: kept), `name`.

    Notes
    -----
    The setting is read for every item.

    """

    elementwise = True

    def __init__(self, data_stream: Any, **kwargs: Any) -> None:
        kwargs.setdefault("axis_labels", labels_below(data_stream))
        super().__init__(data_stream, kind_below("ForceFloatX", data_stream), **kwargs)

    def transform_any_source(self, source_data: Any, source_name: str) -> Any:
        """Change the type of a floating-point array."""
        if isinstance(source_data, numpy.ndarray) and source_data.dtype.kind == "f":
            dtype = numpy.dtype(config.floatX)
            if source_data.dtype.name != dtype.name:
                return source_data.astype(dtype)
        return source_data

    @property
    def _setting(self) -> Any:
        return config.floatX

    def _operations(self, source: str, dtype: Any, shape: Any) -> Any:
        if not selects(self, source):
            return ()
        if dtype is None:
            return None
        floating = dtype.kind == "f" and dtype.name != numpy.dtype(config.floatX).name
        return (operations.CastTo(config.floatX),) if floating else ()

    def _parameters(self) -> dict[str, Any]:
        return {"dtype": str(numpy.dtype(config.floatX)), **super()._parameters()}
