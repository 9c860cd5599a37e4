"""Windows of drawn size and shape, resized: `RandomResizedCrop`.

Which windows are cut is decided by one method for a whole batch at once. The arithmetic of the
filters is in `fuel.transformers._pillow`. Not here: windows of a fixed size
(`fuel.transformers._cropping`).
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.kernels import draws
from fuel.transformers._cropping import cut
from fuel.transformers._image_axes import layout_of
from fuel.transformers._images import (
    check_pixels,
    check_range,
    check_window,
    for_source,
    image_of,
    is_dense,
    map_images,
    resized_shape,
    sizes_of,
    spatial,
)
from fuel.transformers._pillow import check_interpolation, resize
from fuel.transformers._random import RandomTransformer
from fuel.transformers._stacking import object_array

__all__ = ["RandomResizedCrop"]

_Vector = NDArray[numpy.int64]


class RandomResizedCrop(RandomTransformer):
    """Cuts a window of drawn size, shape and place out of each image, and resizes it.

    Parameters
    ----------
    data_stream : AbstractDataStream
        The stream below.
    size : tuple of int, or int
        Height and width of the result.
    scale : tuple of float, optional
        The smallest and the largest part of the image's area that a window has.
    ratio : tuple of float, optional
        The smallest and the largest ratio of width to height of a window.
    interpolation : str or dict, optional
        The filter, as for `Resize`; a dict gives one to each chosen source, so that a mask can be
        resized by ``'nearest'`` while its image is not. Default ``'bilinear'``.
    antialias : bool, optional
        As for `Resize`. Default True.
    **kwargs
        `which_sources` (default: all), `seed` (default: the stream's), `name`, `axis_labels`
        (default: kept).

    Attributes
    ----------
    size, scale, ratio : tuple
        As pairs.
    interpolation, antialias
        As given.

    Raises
    ------
    ValueError
        If an argument is out of range, or a filter has an unknown name.
    TypeError
        If `size` holds anything else than integers.

    Notes
    -----
    Ten windows are drawn for each image: the area uniformly, the ratio uniformly on a logarithmic
    scale. The first that fits is taken, at a place at which all are equally likely. If none fits,
    the window is in the middle and as large as `ratio` allows. This is what torchvision's
    documentation says of the transformation of this name; the numbers drawn are others.

    The draws depend on the seed, the name of the step, the epoch and the ordinal of the example
    alone; chosen sources of an example share them, and those of equal height and width are cut
    alike. Logarithms and powers differ in the last bit between platforms, so the ratio is made of
    square roots and products, which do not: it takes 2**24 values.

    Channels first or last by the axis labels; also images without channels. An array of images
    becomes an array, a list a list, an object array an object array.

    """

    _ATTEMPTS = 10
    _draws = 2 * _ATTEMPTS + 2

    def __init__(
        self,
        data_stream: Any,
        size: Any,
        scale: Any = (0.08, 1.0),
        ratio: Any = (3 / 4, 4 / 3),
        interpolation: Any = "bilinear",
        antialias: bool = True,
        **kwargs: Any,
    ) -> None:
        name = "RandomResizedCrop"
        self.size = check_window(name, "size", size)
        self.scale = check_range(name, "scale", scale)
        self.ratio = check_range(name, "ratio", ratio)
        super().__init__(data_stream, **kwargs)
        self.interpolation, self.antialias = check_interpolation(
            name, interpolation, antialias, data_stream, self.which_sources
        )

    def _windows(
        self, bits: NDArray[numpy.uint64], heights: Any, widths: Any
    ) -> tuple[_Vector, _Vector, _Vector, _Vector]:
        """Return the windows: from the top, from the left, heights, widths.

        `bits` has the shape ``(n, 22)``, heights and widths are vectors or numbers.
        """
        count = len(bits)
        heights = numpy.broadcast_to(numpy.asarray(heights, dtype=numpy.int64), count)
        widths = numpy.broadcast_to(numpy.asarray(widths, dtype=numpy.int64), count)
        tries = bits[:, :-2].reshape(count, self._ATTEMPTS, 2)
        low, high = self.scale
        areas = (heights * widths)[:, None] * (low + (high - low) * draws.uniforms(tries[..., 0]))
        ratios = _log_uniform(tries[..., 1], *self.ratio)
        tall = numpy.rint(numpy.sqrt(areas / ratios)).astype(numpy.int64)
        wide = numpy.rint(numpy.sqrt(areas * ratios)).astype(numpy.int64)
        fits = (tall >= 1) & (wide >= 1) & (tall <= heights[:, None]) & (wide <= widths[:, None])
        rows, first = numpy.arange(count), fits.argmax(axis=1)
        found = fits[rows, first]
        # In the middle where none fits.
        flat, steep = self.ratio[1], self.ratio[0]
        shape = widths / heights
        middle_tall = numpy.where(shape < steep, numpy.rint(widths / steep), heights)
        middle_wide = numpy.where(shape > flat, numpy.rint(heights * flat), widths)
        tall = numpy.where(found, tall[rows, first], middle_tall.clip(1, heights).astype(int))
        wide = numpy.where(found, wide[rows, first], middle_wide.clip(1, widths).astype(int))
        free_rows, free_columns = heights - tall, widths - wide
        tops = draws.integers(bits[:, -2], free_rows + 1)
        lefts = draws.integers(bits[:, -1], free_columns + 1)
        return (
            numpy.where(found, tops, free_rows // 2),
            numpy.where(found, lefts, free_columns // 2),
            tall,
            wide,
        )

    def _resized(self, image: Any, layout: str, window: tuple[int, ...], source: str) -> Any:
        part = cut(image, layout, *window)
        filter_name = for_source(self.interpolation, source)
        return resize(part, self.size, filter_name, layout, self.antialias)

    def _one(self, example: Any, source_name: str, bits: NDArray[numpy.uint64]) -> Any:
        layout = layout_of(self.data_stream, source_name)
        image, layout = image_of("RandomResizedCrop", example, layout, source_name)
        sizes = spatial(image.shape, layout)
        check_pixels("RandomResizedCrop", *sizes, source_name)
        windows = self._windows(bits[None], *sizes)
        window = tuple(int(vector[0]) for vector in windows)
        return self._resized(image, layout, window, source_name)

    def _many(self, batch: Any, source_name: str, bits: NDArray[numpy.uint64]) -> Any:
        name = "RandomResizedCrop"
        layout = layout_of(self.data_stream, source_name)
        shape = None
        images: Any
        if is_dense(batch):
            images = batch
            layout = "HW" if batch.ndim == 3 else layout
            image_of(name, numpy.empty(batch.shape[1:], "u1"), layout, source_name)
            shape = resized_shape(batch.shape[1:], self.size, layout)
            sizes: Any = spatial(batch.shape, layout)
        else:
            images = [image_of(name, image, layout, source_name)[0] for image in batch]
            sizes = sizes_of(images, layout)
        heights, widths = sizes
        check_pixels(name, heights, widths, source_name)
        windows = numpy.stack(self._windows(bits, heights, widths), axis=1).tolist()

        def one(image: Any, index: int) -> Any:
            axes = "HW" if image.ndim == 2 else layout
            return self._resized(image, axes, tuple(windows[index]), source_name)

        results = map_images(images, one, shape)
        if isinstance(batch, numpy.ndarray) and batch.dtype == object:
            return object_array(results)
        return results

    def _parameters(self) -> dict[str, Any]:
        return {
            "size": self.size,
            "scale": self.scale,
            "ratio": self.ratio,
            "interpolation": self.interpolation,
            "antialias": self.antialias,
            **super()._parameters(),
        }


def _log_uniform(bits: NDArray[numpy.uint64], low: float, high: float) -> NDArray[numpy.float64]:
    """Return numbers between two bounds whose logarithms are uniform.

    Parameters
    ----------
    bits : numpy.ndarray of uint64
        A draw for each number.
    low, high : float
        The bounds, positive.

    Returns
    -------
    numpy.ndarray of float64
        ``low * (high / low) ** u`` for u of the upper 24 bits, the same on every platform.

    """
    upper, lower = _powers(low, high)
    one = (bits >> numpy.uint64(52)).astype(numpy.intp)
    two = ((bits >> numpy.uint64(40)) & numpy.uint64(4095)).astype(numpy.intp)
    found: NDArray[numpy.float64] = upper[one] * lower[two]
    return found


@functools.lru_cache(maxsize=64)
def _powers(low: float, high: float) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]:
    """Return the powers for the upper and for the lower 12 bits of an exponent."""
    # An exponent is a sum of halves, quarters ...; its power is a product of square roots.
    tables = []
    root = high / low
    for start in (low, 1.0):
        table = numpy.array([start])
        for _ in range(12):
            root = math.sqrt(root)
            # The next bit doubles the table: without it, and with it.
            table = numpy.stack([table, table * root], axis=1).ravel()
        tables.append(table)
    return tables[0], tables[1]
