"""A rectangle of an image is overwritten: `RandomErasing`.

Not here: what changes colours (`fuel.transformers._color`), and rectangles pasted from another
image (`CutMix`, in `fuel.transformers._mixing`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.kernels.draws import integers, normals, uniforms
from fuel.plan import Context
from fuel.transformers._colors import channel_axis
from fuel.transformers._random import RandomTransformer, each_example, is_hooked, treated
from fuel.transformers._ranges import check_fill, check_number, check_range, filling

__all__ = ["RandomErasing"]

#: How many rectangles are tried before one is cut to fit; part of what a draw means.
_ATTEMPTS = 10


class RandomErasing(RandomTransformer):
    """Overwrites a rectangle of some images.

    Parameters
    ----------
    data_stream : AbstractDataStream
        The stream below.
    p : float, optional
        The probability that an image is changed. Default 0.5.
    scale : tuple of float, optional
        The smallest and the largest area, as a share of the image's. Default (0.02, 0.33).
    ratio : tuple of float, optional
        The smallest and the largest height divided by width. Default (0.3, 3.3).
    value : number, sequence of numbers or 'random', optional
        What is written: one number, one a channel, or random values for every pixel and channel.
        Default 0.
    **kwargs
        `which_sources` (default: all), `seed`, `axis_labels` (default: kept), `name`.

    Attributes
    ----------
    p : float
        As given.
    scale, ratio : tuple of float
        As given.
    value : number, tuple of numbers or 'random'
        As given.

    Raises
    ------
    TypeError
        If an argument is of another kind; while iterating, if images are not numeric, or
        ``'random'`` is asked for complex numbers or integers with a sign.
    ValueError
        If a number is out of its bounds; while iterating, if the type of the images cannot hold
        `value`, or it has not as many numbers as there are channels.

    Notes
    -----
    After Z. Zhong, L. Zheng, G. Kang, S. Li, Y. Yang, "Random erasing data augmentation"
    (arXiv:1708.04896): area and ratio are drawn uniformly, and the place among all where the
    rectangle lies inside the image. Height and width are rounded. A rectangle that is larger than
    the image is drawn again, up to ten times; then the first is cut to the size of the image.
    Random values are, for floating-point images, standard normal, and for unsigned integers
    uniform over all values of the type.

    Parameters and defaults follow torchvision's documentation of the transformation of this name.
    Its version 0.29 draws the ratio uniformly on a logarithmic scale, so that as many rectangles
    are wide as are tall, and erases nothing where no rectangle fits; here both are as published.

    All chosen sources of an example draw the same: an image and its mask of one size are erased
    at one place. Images are never changed in place; type and shape are kept.

    Examples
    --------
    >>> import numpy
    >>> from fuel.datasets import IndexableDataset
    >>> from fuel.schemes import SequentialScheme
    >>> from fuel.streams import DataStream
    >>> images = IndexableDataset({'x': numpy.ones((1, 1, 4, 4))})
    >>> stream = DataStream(images, iteration_scheme=SequentialScheme(1, 1))
    >>> erased = RandomErasing(stream, p=1, scale=(0.25, 0.25), ratio=(1, 1))
    >>> [int(x.sum()) for x, in erased]
    [12]

    """

    # Once more, for the methods below that change what comes out.
    elementwise = True

    # One whether, so many areas and ratios, one from the top and one from the left.
    _draws = 1 + 2 * _ATTEMPTS + 2

    def __init__(
        self,
        data_stream: Any,
        p: float = 0.5,
        scale: Any = (0.02, 0.33),
        ratio: Any = (0.3, 3.3),
        value: Any = 0,
        **kwargs: Any,
    ) -> None:
        name = "RandomErasing"
        self.p = check_number(name, "p", p, 0.0, 1.0)
        self.scale = check_range(name, "scale", scale, 0.0, 1.0)
        self.ratio = check_range(name, "ratio", ratio, 0.0)
        if self.ratio[0] == 0.0:
            raise ValueError(
                f"`ratio` of {name} must be positive, got {ratio!r:.80}; it is height by width"
            )
        if isinstance(value, str):
            if value != "random":
                raise ValueError(
                    f"`value` of {name} must be a number, one a channel, or 'random', got "
                    f"{value!r:.80}"
                )
            self.value: Any = value
        else:
            self.value = check_fill(name, "value", value)
        super().__init__(data_stream, **kwargs)

    def apply(self, data: Any, context: Context) -> Any:
        """Transform one item, with the draws that belong to its address."""
        if self.produces_examples != self.data_stream.produces_examples or is_hooked(self):
            return super().apply(data, context)  # which says what is wrong, or asks the subclass
        method = self._example if self.produces_examples else self._batch
        return self._apply_sourcewise_transformation(
            data, lambda item, source: method(item, source, context)
        )

    def transform_source_example(self, source_example: Any, source_name: str) -> Any:
        """Transform one source of an example: of the one being treated, else as if the first."""
        return self._example(source_example, source_name, treated(self) or Context(0))

    def transform_source_batch(self, source_batch: Any, source_name: str) -> Any:
        """Transform one source of a batch: of the one being treated, else as if the first."""
        context = treated(self) or Context(0, 0, len(source_batch))
        return self._batch(source_batch, source_name, context)

    def _example(self, example: Any, source_name: str, context: Context) -> Any:
        image = _copy(numpy.asarray(example))
        axis = channel_axis(self, source_name, image.ndim)
        value = self._filling(image.shape, image.dtype, axis, source_name)
        height, width = _size(image.shape, axis)
        bits = context.bits(self, self._draws)
        box = [int(side[0]) for side in self._rectangles(bits[None], height, width)]
        _erase(image, axis, box, value, lambda n: self._more(context, n))
        return image

    def _batch(self, batch: Any, source_name: str, context: Context) -> Any:
        if not isinstance(batch, numpy.ndarray) or batch.dtype == object:
            return each_example(
                batch, lambda one, index: self._example(one, source_name, context.one(index))
            )
        images = _copy(batch)
        axis = channel_axis(self, source_name, images.ndim - 1)
        value = self._filling(images.shape[1:], images.dtype, axis, source_name)
        height, width = _size(images.shape, axis)
        bits = context.bits(self, self._draws, len(images))
        boxes = numpy.stack(self._rectangles(bits, height, width), axis=1)
        for index in numpy.flatnonzero(boxes[:, 2] * boxes[:, 3]):

            def more(count: int, index: int = int(index)) -> Any:
                return self._more(context.one(index), count)

            _erase(images[index], axis, boxes[index].tolist(), value, more)
        return images

    def _more(self, context: Context, count: int) -> Any:
        """Return so many further draws of an example."""
        return context.bits(self, self._draws + count)[self._draws :]

    def _rectangles(
        self, bits: NDArray[numpy.uint64], height: int, width: int
    ) -> tuple[Any, Any, Any, Any]:
        """Return top, left, height and width of what is erased; no height where nothing is."""
        drawn = uniforms(bits)
        areas, ratios = drawn[:, 1 : 1 + _ATTEMPTS], drawn[:, 1 + _ATTEMPTS : 1 + 2 * _ATTEMPTS]
        (least, most), (flattest, steepest) = self.scale, self.ratio
        areas = (least + (most - least) * areas) * (height * width)
        ratios = flattest + (steepest - flattest) * ratios
        heights = numpy.rint(numpy.sqrt(areas * ratios))
        widths = numpy.rint(numpy.sqrt(areas / ratios))
        # Of several that fit the first; where none does, the first of all.
        first = numpy.argmax((heights <= height) & (widths <= width), axis=1)
        rows = numpy.arange(len(bits))
        tall = numpy.minimum(heights[rows, first], height).astype(numpy.int64)
        wide = numpy.minimum(widths[rows, first], width).astype(numpy.int64)
        tops = integers(bits[:, -2], height - tall + 1)
        lefts = integers(bits[:, -1], width - wide + 1)
        return tops, lefts, numpy.where(drawn[:, 0] < self.p, tall, 0), wide

    def _filling(self, shape: Any, dtype: Any, axis: int | None, source_name: str) -> Any:
        """Return what is written, or None for random values; checked whether or not it is used."""
        if isinstance(self.value, str):
            _noise(numpy.zeros(0, dtype=numpy.uint64), dtype, source_name)
            return None
        value = filling("RandomErasing", "value", self.value, dtype, source_name)
        channels = 1 if axis is None else shape[axis]
        if value.size not in (1, channels):
            raise ValueError(
                f"`value` of RandomErasing has {value.size} numbers, but the images of source "
                f"{source_name!r} have {channels} channels (shape {tuple(shape)}); give one "
                "number, or one a channel"
            )
        return value.reshape(-1, 1, 1)

    def _parameters(self) -> dict[str, Any]:
        return {
            "p": self.p,
            "scale": self.scale,
            "ratio": self.ratio,
            "value": self.value,
            **super()._parameters(),
        }


def _erase(
    image: Any, axis: int | None, box: list[int], value: Any, more: Callable[[int], Any]
) -> None:
    """Overwrite a rectangle of an image in place; without a value, with what `more` draws."""
    top, left, height, width = box
    planes = image[None] if axis is None else numpy.moveaxis(image, axis, 0)
    target = planes[:, top : top + height, left : left + width]
    if value is not None:
        target[...] = value
    elif target.size:
        target[...] = _noise(more(target.size), image.dtype, "").reshape(target.shape)


def _copy(array: Any) -> Any:
    """Return a copy in native byte order."""
    return array.astype(array.dtype.newbyteorder("="), order="C")


def _size(shape: tuple[int, ...], axis: int | None) -> tuple[int, int]:
    """Return height and width of images."""
    return (shape[-3], shape[-2]) if axis == -1 else (shape[-2], shape[-1])


def _noise(bits: NDArray[numpy.uint64], dtype: Any, source_name: str) -> Any:
    """Return random values of a type."""
    if dtype.kind == "f":
        return normals(bits).astype(dtype)
    if dtype.kind == "u":
        return (bits >> numpy.uint64(64 - 8 * dtype.itemsize)).astype(dtype)
    if dtype.kind == "b":
        return bits >= numpy.uint64(1 << 63)
    raise TypeError(
        "RandomErasing(value='random') needs floating-point numbers or unsigned integers, but "
        f"source {source_name!r} has the type {dtype}; give a number as `value`"
    )
