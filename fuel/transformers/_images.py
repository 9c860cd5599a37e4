"""What an image is, and a batch of them: the ground that the image transformers stand on.

In this room: the checks of images and of sizes, `map_images`, which treats the images of a batch
one by one (in threads, where they are large), and `ImageTransformer`, the base of those that draw
nothing. Not here: where the channels are (`fuel.transformers._image_axes`), and what is done with
the pixels (`_cropping`, `_geometry`, `_resizing` and their neighbours).

An image is an array of three axes, or of two where it has no channels. A batch is one array of
images of one size, or a list or an object array of images of any sizes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.kernels import crop, memory, threads
from fuel.transformers._base import SourcewiseTransformer
from fuel.transformers._checks import check_integer, kind_below, labels_below, sources_below
from fuel.transformers._image_axes import layout_of
from fuel.transformers._stacking import object_array

__all__ = [
    "ImageTransformer",
    "by_source",
    "check_pixels",
    "check_range",
    "check_window",
    "for_source",
    "image_of",
    "is_dense",
    "map_images",
    "moved",
    "owned",
    "resized_shape",
    "sizes_of",
    "spatial",
]

#: Elements of a batch from which on threads are worth their start (Pillow resizes some 200 million
#: bytes a second, and handing a job to a thread takes some 20 microseconds).
_WORTH_THREADS = 1 << 18


def check_window(name: str, argument: str, value: Any) -> tuple[int, int]:
    """Return a size as (height, width).

    Parameters
    ----------
    name : str
        Whose argument it is.
    argument : str
        Its name.
    value : int or sequence of int
        A number for both, or two.

    Returns
    -------
    tuple of int
        Height and width.

    Raises
    ------
    TypeError
        If it holds anything else than integers.
    ValueError
        If they are not two, or not positive.

    """
    pair = (value, value) if _is_scalar(value) else tuple(value)
    if len(pair) != 2:
        raise ValueError(
            f"`{argument}` of {name} must be (height, width) or one number for both, got "
            f"{value!r:.80}; give two numbers of pixels"
        )
    height, width = (check_integer(name, argument, one) for one in pair)
    if height < 1 or width < 1:
        raise ValueError(
            f"`{argument}` of {name} must be positive numbers of pixels, got {value!r:.80}; give "
            "1 or more for height and width"
        )
    return height, width


def check_range(name: str, argument: str, value: Any) -> tuple[float, float]:
    """Return two positive numbers, the smaller first.

    Parameters
    ----------
    name : str
        Whose argument it is.
    argument : str
        Its name.
    value : sequence of float
        The two numbers.

    Returns
    -------
    tuple of float
        The same.

    Raises
    ------
    ValueError
        If they are not two finite positive numbers in order.

    """
    try:
        low, high = (float(one) for one in value)
    except (TypeError, ValueError):
        low = high = math.nan
    if not 0 < low <= high < math.inf:
        raise ValueError(
            f"`{argument}` of {name} must be two positive numbers, the smaller first, got "
            f"{value!r:.80}; give for example (0.5, 1.0)"
        )
    return low, high


def check_pixels(name: str, heights: Any, widths: Any, source: str) -> None:
    """Refuse images without any pixel.

    Parameters
    ----------
    name : str
        The transformer.
    heights, widths : int or numpy.ndarray of int
        The sizes of the images.
    source : str
        The source.

    Raises
    ------
    ValueError
        If a height or a width is zero.

    """
    heights, widths = numpy.atleast_1d(heights, widths)
    empty = numpy.flatnonzero((heights < 1) | (widths < 1))
    if len(empty):
        at = empty[0]
        raise ValueError(
            f"{name} needs images with pixels, got one of {heights[at]} x {widths[at]} in source "
            f"{source!r}; leave it out, for example with Filter"
        )


def _is_scalar(value: Any) -> bool:
    return isinstance(value, (str, bytes)) or not hasattr(value, "__len__")


def by_source(name: str, argument: str, value: Any, stream: Any, which: Any) -> Any:
    """Check an argument that may be a dict with an entry for every chosen source.

    Parameters
    ----------
    name : str
        The transformer.
    argument : str
        Its argument.
    value : object
        What was given; a dict is copied, so that a later change of it changes nothing.
    stream : stream
        The stream below.
    which : container of str or None
        The chosen sources.

    Returns
    -------
    object
        The value, or a dict with exactly the chosen sources.

    Raises
    ------
    ValueError
        If a chosen source is missing in the dict, or the dict names another.

    """
    if not isinstance(value, Mapping):
        return value
    chosen = [one for one in sources_below(name, stream) if which is None or one in which]
    if set(value) != set(chosen):
        raise ValueError(
            f"`{argument}` of {name} must have an entry for each of the chosen sources {chosen}, "
            f"got entries for {list(value)}; name them all, or give one value for all of them"
        )
    return {source: value[source] for source in chosen}


def for_source(value: Any, source: str) -> Any:
    """Return the entry of a source in what `by_source` returned."""
    return value[source] if isinstance(value, dict) else value


def image_of(name: str, image: Any, layout: str, source: str) -> tuple[Any, str]:
    """Return an image as an array, with its layout.

    Parameters
    ----------
    name : str
        The transformer.
    image : array_like
        One image.
    layout : str
        ``"CHW"``, ``"HWC"`` or ``"HW"``, as the axis labels have it.
    source : str
        The source.

    Returns
    -------
    image : numpy.ndarray
        The image.
    layout : str
        ``"HW"`` for an image of two axes, else as given.

    Raises
    ------
    ValueError
        If it is no image.

    """
    array = numpy.asarray(image)
    if array.dtype != object:
        if array.ndim == 2:
            return array, "HW"
        if array.ndim == 3 and layout != "HW":
            return array, layout
    raise ValueError(
        f"{name} needs images of two or three axes ({layout}), got an entry of source {source!r} "
        f"with the shape {array.shape} and the type {array.dtype}; choose the sources that hold "
        "images with `which_sources=`"
    )


def is_dense(batch: Any) -> bool:
    """Tell whether a batch is one array of images of one size."""
    return isinstance(batch, numpy.ndarray) and batch.dtype != object and batch.ndim in (3, 4)


def spatial(shape: tuple[int, ...], layout: str) -> tuple[int, int]:
    """Return height and width of the shape of an image, or of an array of them."""
    height, width = shape[-3:-1] if layout == "HWC" else shape[-2:]
    return height, width


def resized_shape(shape: tuple[int, ...], size: tuple[int, int], layout: str) -> tuple[int, ...]:
    """Return the shape of an image with another height and width."""
    return (*size, *shape[2:]) if layout == "HWC" else (*shape[:-2], *size)


def sizes_of(images: list[Any], layout: str) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64]]:
    """Return the heights and the widths of images as two int64 vectors."""
    pairs = [spatial(image.shape, "HW" if image.ndim == 2 else layout) for image in images]
    sizes = numpy.array(pairs, dtype=numpy.int64).reshape(len(images), 2)
    return sizes[:, 0], sizes[:, 1]


def owned(image: Any) -> Any:
    """Return an array in C order that shares no memory with the given one."""
    copy = memory.empty(image.shape, image.dtype)
    copy[...] = image
    return copy


def moved(image: Any, layout: str, **options: Any) -> Any:
    """Return an image mirrored, or with its axes in another order, in C order.

    Parameters
    ----------
    image : numpy.ndarray
        The image, of the axes in `layout`.
    layout : {'CHW', 'HWC', 'HW'}
        Its axes.
    **options
        `flip_width`, `flip_height` (bool) or `to_layout` of `fuel.kernels.crop.crop`.

    Returns
    -------
    numpy.ndarray
        A new one.

    """
    nowhere = numpy.zeros(1, dtype=numpy.int64)
    flips = {name: numpy.array([value]) for name, value in options.items() if value is True}
    window = spatial(image.shape, layout)
    settings: Any = {**options, **flips}
    return crop.crop(image[None], None, nowhere, nowhere, window, layout=layout, **settings)[0]


def map_images(
    batch: Any, function: Callable[[Any, int], Any], shape: tuple[int, ...] | None = None
) -> Any:
    """Apply a function to every image of a batch.

    Parameters
    ----------
    batch : list, tuple or numpy.ndarray
        The images.
    function : callable
        Takes an image and its place in the batch, and returns an image of the same type; called
        from several threads at once where the images are large.
    shape : tuple of int, optional
        The shape of each result, known beforehand where the batch is one array.

    Returns
    -------
    list or numpy.ndarray
        One array of one array, an object array of an object array, else a list; in order.

    """
    count = len(batch)
    if shape is not None and is_dense(batch):
        out = memory.empty((count, *shape), batch.dtype)

        def put(index: int) -> None:
            out[index] = function(batch[index], index)

        _run(put, count, max(batch.size, out.size))
        return out
    size = sum(int(numpy.size(image)) for image in batch)
    results = _run(lambda index: function(batch[index], index), count, size)
    if not isinstance(batch, numpy.ndarray):
        return results
    if batch.dtype == object:
        return object_array(results)
    return numpy.stack(results) if results else batch.copy()


def _run(function: Callable[[int], Any], count: int, elements: int) -> list[Any]:
    workers = threads.limit() if elements >= _WORTH_THREADS and count > 1 else 1
    if workers == 1:
        return [function(index) for index in range(count)]
    # A few runs of images for each thread: a job an image would cost more than a small image.
    step = math.ceil(count / (4 * workers))
    parts = [(start, min(start + step, count)) for start in range(0, count, step)]
    done = threads.run(lambda start, stop: [function(index) for index in range(start, stop)], parts)
    return [result for part in done for result in part]


class ImageTransformer(SourcewiseTransformer):
    """A transformer of images that draws nothing.

    A subclass implements ``_image``; ``_images`` too where a whole array can be treated at once,
    and ``_shape`` if the results of images of one size are of one size.

    Parameters
    ----------
    data_stream : AbstractDataStream
        The stream below.
    which_sources : tuple of str, optional
        The sources to transform; the others pass unchanged. Default: all.
    **kwargs
        `name`, `axis_labels` (default: kept).

    """

    _asks_sources = True
    elementwise = True

    def __init__(self, data_stream: Any, which_sources: Any = None, **kwargs: Any) -> None:
        examples = kwargs.pop("produces_examples", None)
        if examples is None:
            examples = kind_below(type(self).__name__, data_stream)
        kwargs.setdefault("axis_labels", labels_below(data_stream))
        super().__init__(data_stream, examples, which_sources, **kwargs)

    def transform_source_example(self, source_example: Any, source_name: str) -> Any:
        """Transform one image."""
        layout = layout_of(self.data_stream, source_name)
        image, layout = image_of(type(self).__name__, source_example, layout, source_name)
        return self._image(image, layout, source_name)

    def transform_source_batch(self, source_batch: Any, source_name: str) -> Any:
        """Transform the images of a batch; a list stays a list."""
        layout = layout_of(self.data_stream, source_name)
        name = type(self).__name__
        if is_dense(source_batch):
            layout = "HW" if source_batch.ndim == 3 else layout
            image_of(name, numpy.empty(source_batch.shape[1:], "u1"), layout, source_name)
            return self._images(numpy.asarray(source_batch), layout, source_name)

        def each(image: Any, index: int) -> Any:
            return self._image(*image_of(name, image, layout, source_name), source_name)

        return map_images(source_batch, each)

    def _shape(self, shape: tuple[int, ...], layout: str, source: str) -> tuple[int, ...]:
        """Return the shape that becomes of the shape of an image."""
        raise NotImplementedError(f"{type(self).__qualname__} does not implement `_shape`")

    def _image(self, image: Any, layout: str, source: str) -> Any:
        """Transform one image."""
        raise NotImplementedError(f"{type(self).__qualname__} does not implement `_image`")

    def _images(self, batch: Any, layout: str, source: str) -> Any:
        """Transform an array of images of one size."""
        shape = self._shape(batch.shape[1:], layout, source)
        return map_images(batch, lambda image, index: self._image(image, layout, source), shape)
