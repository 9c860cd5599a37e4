"""Sequences of unequal lengths as one array: `Padding`."""

from __future__ import annotations

from typing import Any

import numpy

from fuel.config_parser import config
from fuel.transformers._base import Transformer
from fuel.transformers._checks import check_dtype, check_which, need_batches

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
    **kwargs
        `axis_labels` (default: None), `name`.

    Attributes
    ----------
    mask_sources, mask_dtype
        As given, or the defaults.

    Raises
    ------
    ValueError
        If the stream below produces examples.
    TypeError
        If `mask_sources` holds no names, or `mask_dtype` is no data type.

    Notes
    -----
    A padded source is an array of shape ``(n, longest, ...)`` of the type that can hold all its
    sequences; right after it comes ``NAME_mask`` of shape ``(n, longest)``, with 1 where there is
    data.

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
        self, data_stream: Any, mask_sources: Any = None, mask_dtype: Any = None, **kwargs: Any
    ) -> None:
        need_batches("Padding", data_stream)
        super().__init__(data_stream, produces_examples=False, **kwargs)
        if mask_sources is not None:
            mask_sources = check_which("Padding", "mask_sources", mask_sources)
        self.mask_sources = data_stream.sources if mask_sources is None else mask_sources
        if mask_dtype is not None:
            check_dtype("Padding", "mask_dtype", mask_dtype)
        self._mask_dtype = mask_dtype

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
        names: list[str] = []
        for source in self.data_stream.sources:
            names.append(source)
            if source in self.mask_sources:
                names.append(f"{source}_mask")
        return tuple(names)

    def transform_batch(self, batch: Any) -> Any:
        """Pad the chosen sources of a batch."""
        padded: list[Any] = []
        for source, samples in zip(self.data_stream.sources, batch, strict=False):
            if source in self.mask_sources:
                padded += _pad(source, samples, self.mask_dtype)
            else:
                padded.append(samples)
        return tuple(padded)

    def _parameters(self) -> dict[str, Any]:
        return {
            "mask_sources": tuple(s for s in self.data_stream.sources if s in self.mask_sources),
            "mask_dtype": str(numpy.dtype(self.mask_dtype)),
        }


def _pad(source: str, samples: Any, mask_dtype: Any) -> tuple[Any, Any]:
    arrays = [_sequence(source, sample) for sample in samples]
    # An empty list says nothing about type and shape.
    telling = [array for array in arrays if array.size] or arrays
    try:
        dtype = numpy.result_type(*{array.dtype for array in telling}) if telling else None
    except TypeError as error:
        kinds = sorted({str(array.dtype) for array in telling})
        raise ValueError(
            f"Padding: the sequences of source {source!r} have types that no array can hold "
            f"together ({', '.join(kinds)}); convert them before batching"
        ) from error
    rest = telling[0].shape[1:] if telling else ()
    for array in arrays:
        if array.shape[1:] != rest and array.shape != (0,):
            raise ValueError(
                f"Padding: all sequences of source {source!r} must agree in all dimensions but "
                f"the first, got shapes {telling[0].shape} and {array.shape}; reshape them, or "
                "leave the source out of `mask_sources`"
            )
    longest = max((len(array) for array in arrays), default=0)
    padded = numpy.zeros((len(arrays), longest, *rest), dtype=dtype)
    mask = numpy.zeros((len(arrays), longest), dtype=mask_dtype)
    for index, array in enumerate(arrays):
        if array.size:
            padded[index, : len(array)] = array
        mask[index, : len(array)] = 1
    return padded, mask


def _sequence(source: str, sample: Any) -> Any:
    try:
        array = numpy.asarray(sample)
    except ValueError as error:
        raise ValueError(
            f"Padding: a sequence of source {source!r} is itself ragged: {sample!r:.80}; only the "
            "first dimension may vary"
        ) from error
    if array.ndim == 0:
        raise ValueError(
            f"Padding: source {source!r} must hold sequences, got {sample!r:.80}; name the sources "
            "to pad in `mask_sources`"
        )
    return array
