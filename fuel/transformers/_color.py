"""The colours of images: `Normalize`, `ColorJitter`, `RandomGrayscale`.

In this room: what is done to the values of pixels, where they stay. Not here: windows, sizes and
mirror images, which move pixels; `RandomErasing`, which overwrites them; and `ScaleAndShift`, which
treats all channels alike.

Images have the channel first, or last where the axis labels of the stream say so (``('batch',
'height', 'width', 'channel')``), or none. A batch is an array, or a list or an object array of
images of different sizes. What comes in is never changed: results are new arrays.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.kernels.draws import integers, uniforms
from fuel.kernels.memory import empty
from fuel.plan import _operations as operations
from fuel.transformers._base import SourcewiseTransformer
from fuel.transformers._checks import kind_below, labels_below, selects
from fuel.transformers._colors import (
    ORDERS,
    adjust_brightness,
    adjust_contrast,
    adjust_saturation,
    channel_axis,
    gray,
    shift_hue,
)
from fuel.transformers._random import RandomTransformer, each_example
from fuel.transformers._ranges import check_number, check_range

__all__ = ["ColorJitter", "Normalize", "RandomGrayscale"]

#: How many numbers of an array are worked on at once: few enough to stay in a processor's cache.
_CHUNK = 1 << 18


def _is_array(batch: Any) -> bool:
    """Tell whether a batch is one array of numbers."""
    return isinstance(batch, numpy.ndarray) and batch.dtype != object


class Normalize(SourcewiseTransformer):
    """Subtracts a mean and divides by a standard deviation, channel by channel.

    Parameters
    ----------
    data_stream : AbstractDataStream
        The stream below.
    mean : float or sequence of float
        What is subtracted: one number, or one a channel.
    std : float or sequence of float
        What is divided by: one positive number, or one a channel.
    **kwargs
        `which_sources` (default: all), `axis_labels` (default: kept), `name`.

    Attributes
    ----------
    mean, std : float or tuple of float
        As given.

    Raises
    ------
    TypeError
        If `mean` or `std` is neither a number nor a sequence of numbers; while iterating, if the
        images are not floating-point numbers.
    ValueError
        If a number is not finite, or one of `std` is not positive; while iterating, if there are
        not as many numbers as channels.

    Notes
    -----
    The data type is kept: the result is ``x + (-mean)``, then ``/ std``, both in the type of the
    image. Integers would lose the result, so they are refused: scale and cast them first, as in
    ``Cast(ScaleAndShift(stream, 1 / 255., 0), 'float32')``.

    Examples
    --------
    >>> import numpy
    >>> from fuel.datasets import IndexableDataset
    >>> from fuel.schemes import SequentialScheme
    >>> from fuel.streams import DataStream
    >>> images = IndexableDataset({'x': numpy.full((2, 3, 1, 1), 0.5, dtype='float32')})
    >>> stream = DataStream(images, iteration_scheme=SequentialScheme(2, 2))
    >>> for x, in Normalize(stream, mean=(0.25, 0.5, 0.75), std=(0.5, 0.5, 0.25)):
    ...     print(x.dtype, x[0].ravel().tolist())
    float32 [0.5, 0.0, -1.0]

    """

    _asks_sources = True
    elementwise = True

    def __init__(self, data_stream: Any, mean: Any, std: Any, **kwargs: Any) -> None:
        self.mean = _per_channel("mean", mean)
        self.std = _per_channel("std", std)
        if min(self.std if isinstance(self.std, tuple) else (self.std,)) <= 0:
            raise ValueError(
                f"`std` of Normalize must be positive, got {std!r:.80}; for a channel that never "
                "varies give 1"
            )
        kwargs.setdefault("axis_labels", labels_below(data_stream))
        super().__init__(data_stream, kind_below("Normalize", data_stream), **kwargs)

    def transform_source_example(self, source_example: Any, source_name: str) -> Any:
        """Normalize one image."""
        return self._normalized(numpy.asarray(source_example), source_name, False)

    def transform_source_batch(self, source_batch: Any, source_name: str) -> Any:
        """Normalize a batch of images."""
        if _is_array(source_batch):
            return self._normalized(source_batch, source_name, True)
        return each_example(
            source_batch, lambda one, _: self.transform_source_example(one, source_name)
        )

    def _normalized(self, images: Any, source_name: str, is_batch: bool) -> Any:
        axis = channel_axis(self, source_name, images.ndim - is_batch)
        shift, divisor = self._operands(images.dtype, axis, images.shape, source_name)
        result = images + shift
        result /= divisor
        return result

    def _operations(self, source: str, dtype: Any, shape: Any) -> Any:
        if not selects(self, source):
            return ()
        if dtype is None or dtype.kind != "f" or shape is None or not shape:
            return None
        try:
            axis = channel_axis(self, source, len(shape))
            shift, divisor = self._operands(dtype, axis, shape, source)
        except (TypeError, ValueError):
            return None  # which is told when there are images
        return operations.Add(shift), operations.Divide(divisor)

    def _operands(self, dtype: Any, axis: int | None, shape: Any, source_name: str) -> Any:
        """Return what is added and what is divided by, in the type of the images."""
        if dtype.kind != "f":
            raise TypeError(
                f"Normalize needs floating-point images, but source {source_name!r} has the type "
                f"{dtype}; put Cast, or ScaleAndShift and Cast, below it"
            )
        shift = (-numpy.asarray(self.mean, dtype=numpy.float64)).astype(dtype.newbyteorder("="))
        divisor = numpy.asarray(self.std, dtype=numpy.float64).astype(shift.dtype)
        if not divisor.all():
            raise ValueError(
                f"`std` of Normalize is {self.std!r:.80}, of which {dtype} keeps only 0 (source "
                f"{source_name!r}); put Cast to a wider type below it"
            )
        channels = 1 if axis is None else shape[axis]
        found = []
        for what, operand in (("mean", shift), ("std", divisor)):
            if operand.size not in (1, channels):
                raise ValueError(
                    f"`{what}` of Normalize has {operand.size} numbers, but the images of source "
                    f"{source_name!r} have {channels} channels (shape {tuple(shape)}); give one "
                    "number, or one a channel"
                )
            wide = (-1, 1, 1) if axis == -3 and operand.size > 1 else operand.shape
            found.append(operand.reshape(()) if operand.size == 1 else operand.reshape(wide))
        return found

    def _parameters(self) -> dict[str, Any]:
        return {"mean": self.mean, "std": self.std, **super()._parameters()}


def _per_channel(argument: str, value: Any) -> float | tuple[float, ...]:
    """Return one number, or one a channel."""
    if isinstance(value, (list, tuple)) or (isinstance(value, numpy.ndarray) and value.ndim == 1):
        if len(value) == 0:
            raise ValueError(f"`{argument}` of Normalize is empty; give one number a channel")
        return tuple([check_number("Normalize", argument, one) for one in value])
    return check_number("Normalize", argument, value)


class ColorJitter(RandomTransformer):
    """Changes brightness, contrast, saturation and hue at random, in a random order.

    Parameters
    ----------
    data_stream : AbstractDataStream
        The stream below.
    brightness, contrast, saturation : float or tuple of float, optional
        How much: a factor is drawn from ``[max(0, 1 - x), 1 + x]``, or from the range given.
        Default 0: unchanged.
    hue : float or tuple of float, optional
        How much: a shift is drawn from ``[-x, x]``, or from the range given, where 0.5 is half
        the circle of colours. At most 0.5. Default 0: unchanged.
    **kwargs
        `which_sources` (default: all), `seed`, `axis_labels` (default: kept), `name`.

    Attributes
    ----------
    brightness, contrast, saturation, hue : tuple of float
        The ranges.

    Raises
    ------
    TypeError
        If a range is no number and no pair of numbers; while iterating, if the images are neither
        uint8 nor floating-point numbers.
    ValueError
        If a range is negative, the wrong way round, or (hue) reaches beyond half a circle; while
        iterating, if images have neither one nor three channels.

    Notes
    -----
    Images are uint8, or floating-point numbers between 0 and 1, in three channels (red, green,
    blue) or one; with one, saturation and hue change nothing. Type and shape are kept. With the
    luma ``y = 0.299 R + 0.587 G + 0.114 B`` of ITU-R BT.601 and a factor f,

    - brightness: ``f x``;
    - contrast: ``f x + (1 - f) mean(y)``, the mean being that of the image;
    - saturation: ``f x + (1 - f) y``;
    - hue: the image is taken to hue, saturation and value [1]_, and its hue shifted;

    after each, values are limited to the range of the type. Everything is calculated in float32
    (float64 images: in float64), and uint8 is rounded to the nearest once, at the end. (Steps that
    truncate in between differ from this by a few levels. torchvision, in its version 0.29, is one
    of them, and takes 0.2989 for the share of red, which makes up to 1e-4 in floats.)

    References
    ----------
    .. [1] A. R. Smith. "Color gamut transform pairs". SIGGRAPH '78, 1978.

    Examples
    --------
    >>> import numpy
    >>> from fuel.datasets import IndexableDataset
    >>> from fuel.schemes import SequentialScheme
    >>> from fuel.streams import DataStream
    >>> images = IndexableDataset({'x': numpy.full((2, 3, 1, 1), 100, dtype='uint8')})
    >>> stream = DataStream(images, iteration_scheme=SequentialScheme(2, 2))
    >>> for x, in ColorJitter(stream, brightness=(0.5, 0.5)):
    ...     print(x.dtype, x.ravel().tolist())
    uint8 [50, 50, 50, 50, 50, 50]

    """

    _draws = 5

    def __init__(
        self,
        data_stream: Any,
        brightness: Any = 0,
        contrast: Any = 0,
        saturation: Any = 0,
        hue: Any = 0,
        **kwargs: Any,
    ) -> None:
        self.brightness = _factors("brightness", brightness)
        self.contrast = _factors("contrast", contrast)
        self.saturation = _factors("saturation", saturation)
        self.hue = _factors("hue", hue)
        super().__init__(data_stream, **kwargs)

    def _one(self, example: Any, source_name: str, bits: NDArray[numpy.uint64]) -> Any:
        image = numpy.asarray(example)
        return self._jittered(image[None], source_name, bits[None])[0]

    def _many(self, batch: Any, source_name: str, bits: NDArray[numpy.uint64]) -> Any:
        if not _is_array(batch):
            return super()._many(batch, source_name, bits)
        result = empty(batch.shape, batch.dtype.newbyteorder("="))
        rows = max(1, _CHUNK // max(1, result[:1].size))
        for start in range(0, len(batch), rows):
            part = slice(start, start + rows)
            result[part] = self._jittered(batch[part], source_name, bits[part])
        return result

    def _adjustments(self, bits: NDArray[numpy.uint64]) -> tuple[Any, Any]:
        """Return the four factors and the order of each example, both of shape ``(n, 4)``."""
        ranges = numpy.array([self.brightness, self.contrast, self.saturation, self.hue])
        factors = ranges[:, 0] + (ranges[:, 1] - ranges[:, 0]) * uniforms(bits[:, :4])
        return factors, ORDERS[integers(bits[:, 4], len(ORDERS))]

    def _jittered(self, images: Any, source_name: str, bits: NDArray[numpy.uint64]) -> Any:
        """Change the images of an array; their channels are put first meanwhile."""
        dtype = images.dtype.newbyteorder("=")
        if dtype != numpy.uint8 and dtype.kind != "f":
            raise TypeError(
                f"ColorJitter needs uint8 or floating-point images, but source {source_name!r} has "
                f"the type {dtype}; put Cast below it, or leave it out of `which_sources`"
            )
        axis = channel_axis(self, source_name, images.ndim - 1)
        planes = images[:, None] if axis is None else numpy.moveaxis(images, axis, 1)
        channels = planes.shape[1]
        if channels not in (1, 3):
            raise ValueError(
                f"ColorJitter needs images of 1 or 3 channels, but those of source {source_name!r} "
                f"have {channels} (shape {images.shape[1:]}); say where the channels are by the "
                "`axis_labels` of the stream"
            )
        if images.size == 0:
            return images.astype(dtype)
        work = numpy.array(planes, dtype=numpy.promote_types(dtype, numpy.float32), order="C")
        # Resizing may overshoot 1 a little; numbers far beyond it are pixels that were only cast.
        if dtype != numpy.uint8 and work.max() > 2:
            raise ValueError(
                f"ColorJitter needs floating-point images between 0 and 1, but source "
                f"{source_name!r} holds {work.max():g}; put ScaleAndShift(..., 1 / 255, 0) below "
                "it, or leave the images in uint8"
            )
        bound = work.dtype.type(255 if dtype == numpy.uint8 else 1)
        self._adjust(work, bits, bound)
        if dtype == numpy.uint8:
            numpy.rint(work, out=work)
        work = work[:, 0] if axis is None else numpy.moveaxis(work, 1, axis)
        return work.astype(dtype)

    def _adjust(self, work: Any, bits: NDArray[numpy.uint64], bound: Any) -> None:
        """Change images ``(n, channels, height, width)`` in place."""
        factors, orders = self._adjustments(bits)
        active = [
            (0, adjust_brightness, self.brightness != (1.0, 1.0)),
            (1, adjust_contrast, self.contrast != (1.0, 1.0)),
            (2, adjust_saturation, self.saturation != (1.0, 1.0) and work.shape[1] == 3),
            (3, shift_hue, self.hue != (0.0, 0.0) and work.shape[1] == 3),
        ]
        for turn in range(4):
            for number, adjust, wanted in active:
                if not wanted:
                    continue
                chosen = numpy.flatnonzero(orders[:, turn] == number)
                if len(chosen) == len(work):
                    adjust(work, factors[:, number], bound)
                elif len(chosen):
                    part = work[chosen]
                    adjust(part, factors[chosen, number], bound)
                    work[chosen] = part

    def _parameters(self) -> dict[str, Any]:
        return {
            "brightness": self.brightness,
            "contrast": self.contrast,
            "saturation": self.saturation,
            "hue": self.hue,
            **super()._parameters(),
        }


def _factors(argument: str, value: Any) -> tuple[float, float]:
    """Return the range that a factor is drawn from."""
    name, is_hue = "ColorJitter", argument == "hue"
    if value is None:
        value = 0
    if isinstance(value, (list, tuple, numpy.ndarray)) and numpy.ndim(value) != 0:
        if is_hue:
            return check_range(name, argument, value, -0.5, 0.5)
        return check_range(name, argument, value, 0.0)
    if is_hue:
        number = check_number(name, argument, value, 0.0, 0.5)
        return (0.0 - number, number)
    number = check_number(name, argument, value, 0.0)
    return (max(0.0, 1.0 - number), 1.0 + number)


class RandomGrayscale(RandomTransformer):
    """Takes the colours out of some images, and keeps the number of channels.

    Parameters
    ----------
    data_stream : AbstractDataStream
        The stream below.
    p : float, optional
        The probability that an image becomes gray. Default 0.1.
    **kwargs
        `which_sources` (default: all), `seed`, `axis_labels` (default: kept), `name`.

    Attributes
    ----------
    p : float
        As given.

    Raises
    ------
    TypeError
        If `p` is no number; while iterating, if the images are neither integers of up to 32 bits
        nor floating-point numbers.
    ValueError
        If `p` is no probability; while iterating, if images have neither one nor three channels.

    Notes
    -----
    All three channels (red, green, blue) become the luma ``0.299 R + 0.587 G + 0.114 B`` of
    ITU-R BT.601; for integers, the exact value rounded to the nearest, halves up. (torchvision, in
    its version 0.29, takes 0.2989 for the share of red and truncates: up to 1 less, and 1e-4 in
    floats.) Images with one channel stay as they are. Type and shape are kept.

    Examples
    --------
    >>> import numpy
    >>> from fuel.datasets import IndexableDataset
    >>> from fuel.schemes import SequentialScheme
    >>> from fuel.streams import DataStream
    >>> red = IndexableDataset({'x': numpy.array([[[[255]], [[0]], [[0]]]], dtype='uint8')})
    >>> stream = DataStream(red, iteration_scheme=SequentialScheme(1, 1))
    >>> [x.ravel().tolist() for x, in RandomGrayscale(stream, p=1)]
    [[76, 76, 76]]

    """

    _draws = 1

    def __init__(self, data_stream: Any, p: float = 0.1, **kwargs: Any) -> None:
        self.p = check_number("RandomGrayscale", "p", p, 0.0, 1.0)
        super().__init__(data_stream, **kwargs)

    def _one(self, example: Any, source_name: str, bits: NDArray[numpy.uint64]) -> Any:
        return self._grayed(numpy.asarray(example)[None], source_name, bits[None])[0]

    def _many(self, batch: Any, source_name: str, bits: NDArray[numpy.uint64]) -> Any:
        if not _is_array(batch):
            return super()._many(batch, source_name, bits)
        return self._grayed(batch, source_name, bits)

    def _grayed(self, images: Any, source_name: str, bits: NDArray[numpy.uint64]) -> Any:
        dtype = images.dtype
        if not (dtype.kind == "f" or (dtype.kind in "iu" and dtype.itemsize <= 4)):
            raise TypeError(
                "RandomGrayscale needs images of floating-point numbers or of integers of up to 32 "
                f"bits, but source {source_name!r} has the type {dtype}; put Cast below it"
            )
        axis = channel_axis(self, source_name, images.ndim - 1)
        channels = 1 if axis is None else images.shape[axis]
        if channels not in (1, 3):
            raise ValueError(
                "RandomGrayscale needs images of 1 or 3 channels, but those of source "
                f"{source_name!r} have {channels} (shape {images.shape[1:]}); say where the "
                "channels are by the `axis_labels` of the stream"
            )
        result = images.astype(dtype.newbyteorder("="))
        chosen = numpy.flatnonzero(uniforms(bits[:, 0]) < self.p)
        if channels == 3 and axis is not None:
            planes = numpy.moveaxis(result, axis, 1)
            planes[chosen] = gray(planes[chosen])[:, None]
        return result

    def _parameters(self) -> dict[str, Any]:
        return {"p": self.p, **super()._parameters()}
