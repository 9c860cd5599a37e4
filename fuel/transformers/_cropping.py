"""Windows of a fixed size cut out of images: `RandomFixedSizeCrop`, `CenterCrop`.

Which window is cut is decided by one small method of each class, for a whole batch at once; arrays
of images of one size are cut by `fuel.kernels.crop`, images of different sizes one by one. Not
here: windows that are resized (`fuel.transformers._resized_crop`), larger and smaller images
(`fuel.transformers._resizing`), mirrored and turned ones (`fuel.transformers._geometry`).
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.kernels import crop, draws, memory, threads
from fuel.plan import _operations as operations
from fuel.transformers._checks import selects
from fuel.transformers._image_axes import ChannelsFirst, layout_of
from fuel.transformers._images import (
    ImageTransformer,
    check_window,
    owned,
    resized_shape,
    sizes_of,
    spatial,
)
from fuel.transformers._sequential import DrawsInOrder
from fuel.transformers._stacking import object_array

__all__ = ["CenterCrop", "RandomFixedSizeCrop", "cut"]

_Vector = NDArray[numpy.int64]


def cut(image: Any, layout: str, top: int, left: int, height: int, width: int) -> Any:
    """Return a window of an image: a view.

    Parameters
    ----------
    image : numpy.ndarray
        The image.
    layout : {'CHW', 'HWC', 'HW'}
        Its axes.
    top, left, height, width : int
        The window.

    Returns
    -------
    numpy.ndarray
        The window.

    """
    rows, columns = slice(top, top + height), slice(left, left + width)
    return image[rows, columns] if layout == "HWC" else image[..., rows, columns]


class RandomFixedSizeCrop(DrawsInOrder, ChannelsFirst):
    """Cuts a window of a fixed size out of each image, at a place that is drawn.

    Parameters
    ----------
    data_stream : AbstractDataStream
        The stream below; of images of the shape ``(channel, height, width)``.
    window_shape : tuple of int, or int
        Height and width of the window.
    rng : numpy.random.RandomState, optional
        A generator to draw from in order. Default: every example has its own draws.
    **kwargs
        `which_sources` (default: all), `seed` (default: the stream's), `name`, `axis_labels`
        (default: kept).

    Attributes
    ----------
    window_shape : tuple of int
        Height and width.
    rng
        As given.

    Raises
    ------
    ValueError
        If `window_shape` is not two positive numbers; if `rng` and `seed` are both given; while
        items are produced, if a window is larger than an image, or a batch holds anything else
        than images of three axes.
    TypeError
        If `window_shape` holds anything else than integers, or `rng` is no generator.
    AxisLabelsMismatchError
        While items are produced, if the labels name other axes. Without labels the images are
        taken to have their channels first, with a warning in the log.

    Notes
    -----
    All places at which the window fits are equally likely. Images of any type can be cut. An
    array of images stays an array, a list a list, an object array an object array.

    Without `rng` the place depends on the seed, the name of the step, the epoch and the ordinal of
    the example alone, and chosen sources of equal height and width are cut alike. With `rng` the
    step runs in order, as the original did: an array of images takes one vector of ``randint``
    for the places from the left and then one for the places from the top, any other image one
    number for the top and then one for the left; source after source.

    Examples
    --------
    >>> import numpy
    >>> from fuel.datasets import IndexableDataset
    >>> from fuel.schemes import SequentialScheme
    >>> from fuel.streams import DataStream
    >>> images = IndexableDataset({'x': numpy.zeros((4, 3, 8, 8), dtype='uint8')})
    >>> stream = DataStream(images, iteration_scheme=SequentialScheme(4, 2))
    >>> for x, in RandomFixedSizeCrop(stream, (5, 6)):
    ...     print(x.shape)
    (2, 3, 5, 6)
    (2, 3, 5, 6)

    """

    _draws = 2
    _needs = ("randint", "integers")

    def __init__(
        self, data_stream: Any, window_shape: Any, *, rng: Any = None, **kwargs: Any
    ) -> None:
        self.window_shape = check_window("RandomFixedSizeCrop", "window_shape", window_shape)
        super().__init__(data_stream, rng, **kwargs)

    def _places(
        self, bits: NDArray[numpy.uint64], heights: Any, widths: Any
    ) -> tuple[_Vector, _Vector]:
        """Return where windows begin, from the top and from the left.

        `bits` has the shape ``(n, 2)``, heights and widths are vectors or numbers.
        """
        height, width = self.window_shape
        tops = draws.integers(bits[:, 0], heights - height + 1)
        return tops, draws.integers(bits[:, 1], widths - width + 1)

    def _check_fits(self, heights: Any, widths: Any, source: str) -> None:
        height, width = self.window_shape
        heights, widths = numpy.atleast_1d(heights, widths)
        small = numpy.flatnonzero((heights < height) | (widths < width))
        if len(small):
            at = small[0]
            which = f"image {at} of a batch" if len(heights) > 1 else "an image"
            raise ValueError(
                f"RandomFixedSizeCrop cannot cut a window of {height} x {width} out of {which} of "
                f"source {source!r} of {heights[at]} x {widths[at]} (height x width); choose a "
                "smaller `window_shape`, or enlarge the images first with MinimumImageDimensions "
                "or Pad"
            )

    def _operations(self, source: str, dtype: Any, shape: Any) -> Any:
        if not selects(self, source):
            return ()

        def place(context: Any, heights: Any, widths: Any) -> tuple[_Vector, _Vector]:
            self._check_labels(not self.produces_examples, source)
            self._check_fits(heights, widths, source)
            return self._places(context.bits(self, 2, len(heights)), heights, widths)

        return (operations.CropTo(self.window_shape, place, "CHW"),)

    def _checked_image(self, example: Any, source: str) -> Any:
        image = numpy.asarray(example)
        if image.ndim != 3 or image.dtype == object:
            raise ValueError(
                f"RandomFixedSizeCrop needs images of the shape (channel, height, width), got "
                f"source {source!r} with the shape {image.shape} and the type {image.dtype}; "
                "choose the sources that hold images with `which_sources=`"
            )
        return image

    def _checked_batch(self, batch: Any, source: str) -> Any:
        """Return a batch as one array of four axes, or as a list of images."""
        self._check_labels(True, source)
        if isinstance(batch, numpy.ndarray) and batch.dtype != object:
            if batch.ndim != 4:
                raise ValueError(
                    "RandomFixedSizeCrop needs batches of the shape (batch, channel, height, "
                    f"width), or lists of images, got source {source!r} with the shape "
                    f"{batch.shape}; choose the sources that hold images with `which_sources=`"
                )
            return numpy.asarray(batch)
        return [self._checked_image(image, source) for image in batch]

    def _one(self, example: Any, source_name: str, bits: NDArray[numpy.uint64]) -> Any:
        self._check_labels(False, source_name)
        image = self._checked_image(example, source_name)
        height, width = image.shape[1:]
        self._check_fits(height, width, source_name)
        (top,), (left,) = self._places(bits[None], height, width)
        return owned(cut(image, "CHW", top, left, *self.window_shape))

    def _many(self, batch: Any, source_name: str, bits: NDArray[numpy.uint64]) -> Any:
        images = self._checked_batch(batch, source_name)
        if isinstance(images, list):
            heights, widths = sizes_of(images, "CHW")
        else:
            heights, widths = images.shape[2:]
        self._check_fits(heights, widths, source_name)
        return self._cut_all(batch, images, *self._places(bits, heights, widths))

    def _cut_all(self, batch: Any, images: Any, tops: _Vector, lefts: _Vector) -> Any:
        if not isinstance(images, list):
            return crop.crop(
                images, None, tops, lefts, self.window_shape, layout="CHW", threads=threads.limit()
            )
        windows = [
            owned(cut(image, "CHW", top, left, *self.window_shape))
            for image, top, left in zip(images, tops.tolist(), lefts.tolist(), strict=True)
        ]
        return object_array(windows) if isinstance(batch, numpy.ndarray) else windows

    def _one_in_order(self, example: Any, source_name: str, rng: Any) -> Any:
        self._check_labels(False, source_name)
        return self._next_window(self._checked_image(example, source_name), source_name, rng)

    def _next_window(self, image: Any, source: str, rng: Any) -> Any:
        height, width = image.shape[1:]
        self._check_fits(height, width, source)
        top = _any_of(rng, height - self.window_shape[0], None)
        left = _any_of(rng, width - self.window_shape[1], None)
        return owned(cut(image, "CHW", top, left, *self.window_shape))

    def _many_in_order(self, batch: Any, source_name: str, rng: Any) -> Any:
        images = self._checked_batch(batch, source_name)
        if isinstance(images, list):
            windows = [self._next_window(image, source_name, rng) for image in images]
            return object_array(windows) if isinstance(batch, numpy.ndarray) else windows
        height, width = images.shape[2:]
        self._check_fits(height, width, source_name)
        lefts = _any_of(rng, width - self.window_shape[1], len(images))
        tops = _any_of(rng, height - self.window_shape[0], len(images))
        return self._cut_all(batch, images, tops, lefts)

    def _parameters(self) -> dict[str, Any]:
        return {"window_shape": self.window_shape, **super()._parameters()}


def _any_of(rng: Any, last: int, size: int | None) -> Any:
    """Return numbers from 0 to `last`, both included, from a generator of either kind."""
    if hasattr(rng, "integers"):
        return rng.integers(0, last + 1, size=size)
    # 64 bits on every platform.
    return rng.randint(0, last + 1, size=size, dtype=numpy.int64)


class CenterCrop(ImageTransformer):
    """Cuts a window of a fixed size out of the middle of each image.

    Parameters
    ----------
    data_stream : AbstractDataStream
        The stream below.
    size : tuple of int, or int
        Height and width of the window.
    **kwargs
        `which_sources` (default: all), `name`, `axis_labels` (default: kept).

    Attributes
    ----------
    size : tuple of int
        Height and width.

    Raises
    ------
    ValueError
        If `size` is not two positive numbers; while items are produced, if a chosen source holds
        no images.
    TypeError
        If `size` holds anything else than integers.

    Notes
    -----
    Channels first or last by the axis labels; also images without channels. Where the rest is odd,
    the place is half of it rounded to the even number. An image that is smaller is first
    surrounded with zeros, the odd one below and to the right.

    Examples
    --------
    >>> import numpy
    >>> from fuel.datasets import IndexableDataset
    >>> from fuel.schemes import SequentialExampleScheme
    >>> from fuel.streams import DataStream
    >>> images = IndexableDataset({'x': numpy.arange(16).reshape(1, 1, 4, 4)})
    >>> stream = DataStream(images, iteration_scheme=SequentialExampleScheme(1))
    >>> [x.tolist() for x, in CenterCrop(stream, 2)]
    [[[[5, 6], [9, 10]]]]

    """

    def __init__(self, data_stream: Any, size: Any, **kwargs: Any) -> None:
        self.size = check_window("CenterCrop", "size", size)
        super().__init__(data_stream, **kwargs)

    def _place(self, height: int, width: int) -> tuple[int, int]:
        """Return where the window begins, from the top and from the left; negative: outside."""
        tops = [
            round((length - wanted) / 2) if length >= wanted else -((wanted - length) // 2)
            for length, wanted in zip((height, width), self.size, strict=True)
        ]
        return tops[0], tops[1]

    def _operations(self, source: str, dtype: Any, shape: Any) -> Any:
        if not selects(self, source):
            return ()

        def place(context: Any, heights: Any, widths: Any) -> tuple[_Vector, _Vector]:
            if (heights < self.size[0]).any() or (widths < self.size[1]).any():
                raise ValueError("there is something to be added around an image")
            pairs = zip(heights.tolist(), widths.tolist(), strict=True)
            places = numpy.array([self._place(*pair) for pair in pairs], dtype=numpy.int64)
            tops, lefts = places.reshape(len(heights), 2).T
            return tops, lefts

        layout = layout_of(self.data_stream, source)
        if shape is not None and len(shape) == len(layout):
            height, width = spatial(shape, layout)
            if height < self.size[0] or width < self.size[1]:
                return None
        return (operations.CropTo(self.size, place, layout),)

    def _shape(self, shape: tuple[int, ...], layout: str, source: str) -> tuple[int, ...]:
        return resized_shape(shape, self.size, layout)

    def _image(self, image: Any, layout: str, source: str) -> Any:
        height, width = spatial(image.shape, layout)
        top, left = self._place(height, width)
        if top >= 0 and left >= 0 and height >= self.size[0] and width >= self.size[1]:
            return owned(cut(image, layout, top, left, *self.size))
        out = memory.empty(self._shape(image.shape, layout, source), image.dtype)
        out[...] = numpy.zeros((), image.dtype)
        part = cut(image, layout, max(top, 0), max(left, 0), *self.size)
        place = cut(out, layout, max(-top, 0), max(-left, 0), *spatial(part.shape, layout))
        place[...] = part
        return out

    def _images(self, batch: Any, layout: str, source: str) -> Any:
        height, width = spatial(batch.shape, layout)
        top, left = self._place(height, width)
        if height < self.size[0] or width < self.size[1]:
            return super()._images(batch, layout, source)
        tops, lefts = (numpy.full(len(batch), place, dtype=numpy.int64) for place in (top, left))
        many = threads.limit()
        return crop.crop(batch, None, tops, lefts, self.size, layout=layout, threads=many)

    def _parameters(self) -> dict[str, Any]:
        return {"size": self.size, **super()._parameters()}
