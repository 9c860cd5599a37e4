"""Images of other sizes: `MinimumImageDimensions`, `Resize`, `Pad`.

The arithmetic of the filters is in `fuel.transformers._pillow`. Not here: windows cut out of
images (`fuel.transformers._cropping`).
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy

from fuel.kernels import memory
from fuel.transformers._checks import check_integer
from fuel.transformers._image_axes import ChannelsFirst
from fuel.transformers._images import (
    ImageTransformer,
    by_source,
    check_pixels,
    check_window,
    for_source,
    map_images,
    owned,
    resized_shape,
    spatial,
)
from fuel.transformers._pillow import check_filter, check_interpolation, resize

__all__ = ["MinimumImageDimensions", "Pad", "Resize"]


class MinimumImageDimensions(ImageTransformer, ChannelsFirst):
    """Enlarges images that are too small, and leaves the others as they are.

    Parameters
    ----------
    data_stream : AbstractDataStream
        The stream below; of images of the shape ``(channel, height, width)``, or without channels.
    minimum_shape : tuple of int, or int
        The least height and width.
    resample : str, optional
        The filter: ``'nearest'`` (default), ``'box'``, ``'bilinear'``, ``'hamming'``,
        ``'bicubic'`` or ``'lanczos'``.
    **kwargs
        `which_sources` (default: all), `name`, `axis_labels` (default: kept).

    Attributes
    ----------
    minimum_shape : tuple of int
        Height and width.
    resample : str
        The name of the filter.

    Raises
    ------
    ValueError
        If there is no filter of that name, or `minimum_shape` is not two positive numbers.
    TypeError
        If `minimum_shape` holds anything else than integers; while items are produced, if a filter
        other than ``'nearest'`` meets pixels that are no numbers.
    NotImplementedError
        While items are produced, if an image has neither two nor three axes.
    AxisLabelsMismatchError
        While items are produced, if the labels name other axes. Without labels the images are
        taken to have their channels first, with a warning in the log.

    Notes
    -----
    An image is enlarged by the same factor in both directions, the smallest with which it is large
    enough; the longer side is rounded up. Types are kept: uint8 is resized with Pillow's integer
    arithmetic, floating types through 32-bit floats, other integers through these too, then
    rounded and held within the range of their type; ``'nearest'`` picks pixels of any type. A batch
    becomes a list, whatever it was.

    Examples
    --------
    >>> import numpy
    >>> from fuel.datasets import IndexableDataset
    >>> from fuel.schemes import SequentialExampleScheme
    >>> from fuel.streams import DataStream
    >>> images = IndexableDataset({'x': numpy.zeros((1, 3, 4, 6), dtype='float32')})
    >>> stream = DataStream(images, iteration_scheme=SequentialExampleScheme(1))
    >>> [x.shape for x, in MinimumImageDimensions(stream, (8, 8), resample='bilinear')]
    [(3, 8, 12)]

    """

    # Once more, for the methods below that change what comes out.
    elementwise = True

    _asks_sources = False

    def __init__(
        self, data_stream: Any, minimum_shape: Any, resample: Any = "nearest", **kwargs: Any
    ) -> None:
        name = "MinimumImageDimensions"
        self.minimum_shape = check_window(name, "minimum_shape", minimum_shape)
        self.resample = check_filter(name, "resample", resample)
        super().__init__(data_stream, **kwargs)

    def transform_source_example(self, source_example: Any, source_name: str) -> Any:
        """Enlarge one image where it is too small."""
        self._check_labels(False, source_name)
        return self._example_transform(source_example, source_name)

    def transform_source_batch(self, source_batch: Any, source_name: str) -> Any:
        """Enlarge the images of a batch that are too small; returns a list."""
        self._check_labels(True, source_name)
        images = list(source_batch)
        return map_images(images, lambda image, _: self._example_transform(image, source_name))

    def _size(self, height: int, width: int) -> tuple[int, int]:
        """Return height and width of the result for those of an image."""
        rows, columns = self.minimum_shape
        if height >= rows and width >= columns:
            return height, width
        # The larger of rows / height and columns / width, compared and applied without rounding.
        if rows * width >= columns * height:
            return rows, -(-width * rows // height)
        return -(-height * columns // width), columns

    def _example_transform(self, example: Any, source_name: str) -> Any:
        image = numpy.asarray(example)
        if image.ndim not in (2, 3) or image.dtype == object:
            raise NotImplementedError(
                f"MinimumImageDimensions needs images of two or three axes, got source "
                f"{source_name!r} with the shape {image.shape} and the type {image.dtype}; choose "
                "the sources that hold images with `which_sources=`"
            )
        height, width = image.shape[-2:]
        check_pixels("MinimumImageDimensions", height, width, source_name)
        size = self._size(height, width)
        if size == (height, width):
            return image
        return resize(image, size, self.resample, "HW" if image.ndim == 2 else "CHW")

    def _parameters(self) -> dict[str, Any]:
        return {
            "minimum_shape": self.minimum_shape,
            "resample": self.resample,
            **super()._parameters(),
        }


class Resize(ImageTransformer):
    """Brings images to another size.

    Parameters
    ----------
    data_stream : AbstractDataStream
        The stream below.
    size : int, tuple of int, or None
        The length of the shorter side, the other following in proportion, rounded down; or height
        and width; or None: the longer side becomes `max_size`.
    interpolation : str or dict, optional
        The filter: ``'nearest'``, ``'box'``, ``'bilinear'`` (default), ``'hamming'``,
        ``'bicubic'`` or ``'lanczos'``; a dict gives one to each chosen source, so that a mask can
        be resized by ``'nearest'`` while its image is not.
    max_size : int, optional
        The greatest length of the longer side, for a `size` that is one number: where it would
        become longer, it is made `max_size` and the shorter side follows.
    antialias : bool, optional
        True (default): a filter becomes as wide as the pixels of a smaller result, so that all
        pixels count. False (``'nearest'``, ``'bilinear'`` and ``'bicubic'`` only): interpolate
        between the nearest pixels alone.
    **kwargs
        `which_sources` (default: all), `name`, `axis_labels` (default: kept).

    Attributes
    ----------
    size, interpolation, max_size, antialias
        As given.

    Raises
    ------
    ValueError
        If a size is not positive, `max_size` is not larger than `size` or goes with a pair, or a
        filter has an unknown name; while items are produced, if an image has no pixels or a chosen
        source holds no images.
    TypeError
        If a size is no integer; while items are produced, if a filter other than ``'nearest'``
        meets pixels that are no numbers.

    Notes
    -----
    Channels first or last by the axis labels; also images without channels. An array of images
    becomes an array, a list a list, an object array an object array. Large images are resized in
    several threads.

    Pixels are Pillow's: types are kept, uint8 is resized with integer arithmetic that rounds to
    the nearest, floating types through 32-bit floats, other integers through these too, then
    rounded and held within the range of their type.

    Sizes follow torchvision's documentation of the transformation of this name. The pixels of its
    version 0.29 on tensors differ from these by at most 1 in uint8 and by 1e-5 in floats between
    0 and 1, but for: ``'bicubic'`` in uint8, which it holds within 0 and 255 before the second
    direction too; and ``'nearest'``, which here picks the pixels that Pillow picks.

    Examples
    --------
    >>> import numpy
    >>> from fuel.datasets import IndexableDataset
    >>> from fuel.schemes import SequentialScheme
    >>> from fuel.streams import DataStream
    >>> images = IndexableDataset({'x': numpy.zeros((2, 3, 40, 60), dtype='uint8')})
    >>> stream = DataStream(images, iteration_scheme=SequentialScheme(2, 2))
    >>> [x.shape for x, in Resize(stream, 20)]
    [(2, 3, 20, 30)]

    """

    def __init__(
        self,
        data_stream: Any,
        size: Any,
        interpolation: Any = "bilinear",
        max_size: Any = None,
        antialias: bool = True,
        **kwargs: Any,
    ) -> None:
        self.size = _checked_size(size, max_size)
        self.max_size = max_size
        super().__init__(data_stream, **kwargs)
        self.interpolation, self.antialias = check_interpolation(
            "Resize", interpolation, antialias, data_stream, self.which_sources
        )

    def _size(self, height: int, width: int) -> tuple[int, int]:
        """Return height and width of the result for those of an image."""
        if isinstance(self.size, tuple):
            return self.size
        short, long = min(height, width), max(height, width)
        if self.size is None:
            new_short, new_long = self.max_size * short // long, self.max_size
        else:
            new_short, new_long = self.size, self.size * long // short
            if self.max_size is not None and new_long > self.max_size:
                new_short, new_long = self.max_size * new_short // new_long, self.max_size
        new_short = max(new_short, 1)
        return (new_short, new_long) if height <= width else (new_long, new_short)

    def _shape(self, shape: tuple[int, ...], layout: str, source: str) -> tuple[int, ...]:
        sizes = spatial(shape, layout)
        check_pixels("Resize", *sizes, source)
        return resized_shape(shape, self._size(*sizes), layout)

    def _image(self, image: Any, layout: str, source: str) -> Any:
        sizes = spatial(image.shape, layout)
        check_pixels("Resize", *sizes, source)
        filter_name = for_source(self.interpolation, source)
        return resize(image, self._size(*sizes), filter_name, layout, self.antialias)

    def _parameters(self) -> dict[str, Any]:
        return {
            "size": self.size,
            "interpolation": self.interpolation,
            "max_size": self.max_size,
            "antialias": self.antialias,
            **super()._parameters(),
        }


def _checked_size(size: Any, max_size: Any) -> Any:
    """Return the size of `Resize` as a number, a pair or None."""
    if max_size is not None and check_integer("Resize", "max_size", max_size) < 1:
        raise ValueError(
            f"`max_size` of Resize must be a positive number of pixels, got {max_size}; leave it "
            "out for no limit"
        )
    if size is None:
        if max_size is None:
            raise ValueError(
                "`size` of Resize may be None only where `max_size` is given, got neither; give "
                "the length of the shorter side, or (height, width)"
            )
        return None
    pair = check_window("Resize", "size", size)
    if hasattr(size, "__len__"):
        if max_size is not None:
            raise ValueError(
                f"`max_size` of Resize goes with one number as `size`, got {size!r:.80}; leave it "
                "out, since height and width are both given"
            )
        return pair
    if max_size is not None and max_size <= pair[0]:
        raise ValueError(
            f"`max_size` of Resize must be larger than `size`, got {max_size} and {size}; it "
            "limits the longer side, `size` is the shorter one"
        )
    return pair[0]


_MODES = ("constant", "edge", "reflect", "symmetric")


class Pad(ImageTransformer):
    """Surrounds images with pixels.

    Parameters
    ----------
    data_stream : AbstractDataStream
        The stream below.
    padding : int or tuple of int
        How many pixels: on every side; or (left and right, top and bottom); or (left, top, right,
        bottom).
    fill : number, sequence of number, or dict, optional
        The value of the pixels, for ``'constant'``; a sequence gives one to each channel, a dict
        one (or a sequence) to each chosen source. Default 0.
    padding_mode : {'constant', 'edge', 'reflect', 'symmetric'}, optional
        Where the pixels come from: `fill`; the last one on that side; the image mirrored without
        and with its last one. Default ``'constant'``.
    **kwargs
        `which_sources` (default: all), `name`, `axis_labels` (default: kept).

    Attributes
    ----------
    padding : tuple of int
        Left, top, right, bottom.
    fill, padding_mode
        As given.

    Raises
    ------
    ValueError
        If a number is negative, there are not one, two or four, or the mode is unknown; while
        items are produced, if `fill` is no value of the images' type, it has not one entry a
        channel, or a chosen source holds no images.
    TypeError
        If a number is no integer.

    Notes
    -----
    Channels first or last by the axis labels; also images without channels. An array of images
    stays an array, a list a list, an object array an object array.

    Parameters and modes follow torchvision's documentation of the transformation of this name. Here
    ``'reflect'`` and ``'symmetric'`` may be asked for more pixels than the image has, and go back
    and forth; a negative padding, which would cut, is refused.

    Examples
    --------
    >>> import numpy
    >>> from fuel.datasets import IndexableDataset
    >>> from fuel.schemes import SequentialExampleScheme
    >>> from fuel.streams import DataStream
    >>> images = IndexableDataset({'x': numpy.ones((1, 1, 1, 2), dtype='uint8')})
    >>> stream = DataStream(images, iteration_scheme=SequentialExampleScheme(1))
    >>> [x.tolist() for x, in Pad(stream, (1, 0))]
    [[[[0, 1, 1, 0]]]]

    """

    def __init__(
        self,
        data_stream: Any,
        padding: Any,
        fill: Any = 0,
        padding_mode: str = "constant",
        **kwargs: Any,
    ) -> None:
        self.padding = _checked_padding(padding)
        if padding_mode not in _MODES:
            raise ValueError(
                f"`padding_mode` of Pad must be one of {', '.join(map(repr, _MODES))}, got "
                f"{padding_mode!r:.80}; use 'constant' for pixels of the value `fill`"
            )
        self.padding_mode = padding_mode
        super().__init__(data_stream, **kwargs)
        self.fill = by_source("Pad", "fill", fill, data_stream, self.which_sources)
        for value in self.fill.values() if isinstance(self.fill, dict) else [self.fill]:
            if numpy.asarray(value).ndim > 1 or numpy.asarray(value).dtype.kind not in "buifc":
                raise ValueError(
                    f"`fill` of Pad must be a number, or one for each channel, got {value!r:.80}; "
                    "use 0 for black"
                )

    def _shape(self, shape: tuple[int, ...], layout: str, source: str) -> tuple[int, ...]:
        left, top, right, bottom = self.padding
        height, width = spatial(shape, layout)
        return resized_shape(shape, (height + top + bottom, width + left + right), layout)

    def _image(self, image: Any, layout: str, source: str) -> Any:
        return self._padded(image, layout, source)

    def _images(self, batch: Any, layout: str, source: str) -> Any:
        return self._padded(batch, layout, source)

    def _padded(self, images: Any, layout: str, source: str) -> Any:
        """Pad the last axes of an image, or of an array of images."""
        left, top, right, bottom = self.padding
        check_pixels("Pad", *spatial(images.shape, layout), source)
        sides = [(top, bottom), (left, right), *([(0, 0)] if layout == "HWC" else [])]
        around = [(0, 0)] * (images.ndim - len(sides)) + sides
        if self.padding_mode != "constant":
            return owned(numpy.pad(images, around, mode=self.padding_mode))  # type: ignore[call-overload]
        shape = [length + sum(pair) for length, pair in zip(images.shape, around, strict=True)]
        out = memory.empty(tuple(shape), images.dtype)
        out[...] = self._value(images, layout, source)
        inner = tuple(
            slice(pair[0], pair[0] + length)
            for length, pair in zip(images.shape, around, strict=True)
        )
        out[inner] = images
        return out

    def _value(self, images: Any, layout: str, source: str) -> Any:
        """Return the value to fill with, in the type of the images."""
        given = numpy.asarray(for_source(self.fill, source))
        kind = images.dtype.kind
        value, fits = given, False
        if kind in "buifc":
            with numpy.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what does not fit is refused below
                value = given.astype(images.dtype)
                # A float may be rounded to a shorter one; an integer may not become another.
                rounds = kind == "c" or (kind == "f" and given.dtype.kind != "c")
                fits = rounds or numpy.array_equal(value.astype(given.dtype), given)
        if not fits:
            raise ValueError(
                f"`fill` of Pad must be a value of the images' type, got {given.tolist()!r:.80} "
                f"for source {source!r} of the type {images.dtype}; convert the images with Cast, "
                "or choose another value"
            )
        if value.ndim == 0:
            return value
        channels = 1 if layout == "HW" else images.shape[-1 if layout == "HWC" else -3]
        if len(value) not in (1, channels):
            raise ValueError(
                f"`fill` of Pad must have one entry for each channel, got {len(value)} for source "
                f"{source!r} with {channels}; give one number for all channels"
            )
        return value if layout == "HWC" else value[:, None, None] if layout == "CHW" else value[0]

    def _parameters(self) -> dict[str, Any]:
        return {
            "padding": self.padding,
            "fill": self.fill,
            "padding_mode": self.padding_mode,
            **super()._parameters(),
        }


def _checked_padding(padding: Any) -> tuple[int, ...]:
    """Return the widths of the sides: left, top, right, bottom."""
    given = tuple(padding) if hasattr(padding, "__len__") else (padding,)
    if len(given) not in (1, 2, 4):
        raise ValueError(
            f"`padding` of Pad must be one, two or four numbers, got {padding!r:.80}; give one for "
            "all sides, (left and right, top and bottom), or (left, top, right, bottom)"
        )
    numbers = [check_integer("Pad", "padding", one) for one in given]
    if min(numbers) < 0:
        raise ValueError(
            f"`padding` of Pad must not be negative, got {padding!r:.80}; cut with CenterCrop "
            "or RandomFixedSizeCrop instead"
        )
    return tuple((numbers * 4)[:4])
