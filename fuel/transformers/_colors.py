"""Arithmetic on the colours of pixels, for `fuel.transformers._color`.

In this room: the luma, and the four adjustments of arrays ``(n, channels, height, width)`` of
floating-point numbers, in place, each with a factor an image. Not here: what is drawn, and the
types and layouts of images.

All acts on each image by itself, so that an image gives the same bits in any batch.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.transformers._image_axes import layout_of

__all__ = [
    "ORDERS",
    "adjust_brightness",
    "adjust_contrast",
    "adjust_saturation",
    "channel_axis",
    "gray",
    "shift_hue",
]

#: The 24 orders of four adjustments, in lexicographic order: part of what a draw means.
ORDERS: NDArray[numpy.int8] = numpy.array(
    [
        (a, b, c, 6 - a - b - c)
        for a in range(4)
        for b in range(4)
        for c in range(4)
        if len({a, b, c}) == 3
    ],
    dtype=numpy.int8,
)


def channel_axis(step: Any, source_name: str, ndim: int) -> int | None:
    """Return where the channels of images are.

    Parameters
    ----------
    step : Transformer
        The step that asks; the axis labels are those of the stream below it.
    source_name : str
        The source.
    ndim : int
        The number of axes of one image.

    Returns
    -------
    int or None
        -3 or -1, counted from the last axis; None for images without channels.

    Raises
    ------
    ValueError
        If that is not the number of axes of an image.

    """
    layout = layout_of(step.data_stream, source_name)
    if ndim == 2:
        return None
    if ndim != 3 or layout == "HW":
        wanted = "two axes" if layout == "HW" else "three axes, or two without channels"
        raise ValueError(
            f"{type(step).__name__} needs images of {wanted}, but those of source {source_name!r} "
            f"have {ndim}; name the sources that hold images in `which_sources`"
        )
    return -3 if layout == "CHW" else -1


def gray(planes: Any) -> Any:
    """Return the luma of ITU-R BT.601.

    Parameters
    ----------
    planes : numpy.ndarray, shape (n, 3, height, width)
        Red, green and blue: floating-point numbers, or integers of up to 32 bits.

    Returns
    -------
    numpy.ndarray, shape (n, height, width)
        Of the same type; integers are the exact value rounded to the nearest, halves up.

    """
    dtype = planes.dtype
    if dtype.kind != "f":
        wide = numpy.int32 if dtype.itemsize <= 2 else numpy.int64
        total = planes[:, 0].astype(wide) * 299
        total += planes[:, 1].astype(wide) * 587
        total += planes[:, 2].astype(wide) * 114
        total += 500
        total //= 1000
        return total.astype(dtype)
    work = numpy.promote_types(dtype, numpy.float32).type
    total = planes[:, 0] * work(0.299)
    total += planes[:, 1] * work(0.587)
    total += planes[:, 2] * work(0.114)
    return total.astype(dtype, copy=False)


def _wide(factors: Any, dtype: Any) -> Any:
    """Return one factor an image in a shape that multiplies images."""
    return factors.astype(dtype)[:, None, None, None]


def _blend(planes: Any, other: Any, factors: Any, bound: Any) -> None:
    """Put ``f x + (1 - f) other`` into the images."""
    planes *= _wide(factors, planes.dtype)
    planes += other * _wide(1.0 - factors, planes.dtype)
    numpy.clip(planes, 0, bound, out=planes)


def adjust_brightness(planes: Any, factors: Any, bound: Any) -> None:
    """Multiply images by a factor each.

    Parameters
    ----------
    planes : numpy.ndarray, shape (n, channels, height, width)
        The images, changed in place.
    factors : numpy.ndarray, shape (n,)
        The factors.
    bound : float
        The largest value of a pixel; the smallest is 0.

    """
    planes *= _wide(factors, planes.dtype)
    numpy.clip(planes, 0, bound, out=planes)


def adjust_contrast(planes: Any, factors: Any, bound: Any) -> None:
    """Blend images with the mean of their luma; parameters as for `adjust_brightness`."""
    luma = gray(planes) if planes.shape[1] == 3 else planes[:, 0]
    # Widened before the sum, not by it: so every image is summed in the same order, wherever in
    # the batch it is.
    rows = luma.reshape(len(planes), -1).astype(numpy.promote_types(planes.dtype, numpy.float64))
    mean = rows.mean(axis=1).astype(planes.dtype)
    _blend(planes, mean[:, None, None, None], factors, bound)


def adjust_saturation(planes: Any, factors: Any, bound: Any) -> None:
    """Blend images with their luma; parameters as for `adjust_brightness`, three channels."""
    _blend(planes, gray(planes)[:, None], factors, bound)


def shift_hue(planes: Any, shifts: Any, bound: Any) -> None:
    """Turn the hue of images.

    Parameters
    ----------
    planes : numpy.ndarray, shape (n, 3, height, width)
        The images, changed in place.
    shifts : numpy.ndarray, shape (n,)
        By how much, in turns.
    bound : float
        The largest value of a pixel; the smallest is 0.

    Notes
    -----
    The hexcone model of A. R. Smith, "Color gamut transform pairs", SIGGRAPH '78. With the value
    v (the largest channel), the chroma c (largest minus smallest) and the hue h in sixths of a
    turn, red is ``v - c (1 - clip(|h - 3| - 1, 0, 1))``, green has ``2 - |h - 2|`` and blue
    ``2 - |h - 4|`` in the place of ``|h - 3| - 1``: the six cases of the original at once.

    """
    numpy.clip(planes, 0, bound, out=planes)
    red, green, blue = planes[:, 0], planes[:, 1], planes[:, 2]
    value = numpy.maximum(numpy.maximum(red, green), blue)
    chroma = value - numpy.minimum(numpy.minimum(red, green), blue)
    # Which channel is the largest, as 0 and 1: products with them select without a branch, which
    # a processor could not foresee, and are exact.
    dtype = planes.dtype
    most_red = (value == red).astype(dtype)
    most_green = (value == green).astype(dtype)
    most_green *= 1 - most_red
    most_blue = 1 - most_red
    most_blue -= most_green
    hue = (green - blue) * most_red
    hue += (blue - red) * most_green
    hue += (red - green) * most_blue
    hue /= chroma + (chroma == 0)  # without chroma, any hue will do
    hue += most_green * 2
    hue += most_blue * 4
    hue += (6.0 * shifts).astype(dtype)[:, None, None]
    hue -= numpy.floor(hue / 6) * 6
    for channel, centre in enumerate((3, 2, 4)):
        # One minus the share of the chroma.
        place = numpy.abs(hue - centre)
        place = 2 - place if channel == 0 else place - 1
        numpy.clip(place, 0, 1, out=place)
        place *= chroma
        numpy.subtract(value, place, out=planes[:, channel])
