"""Images made larger, smaller, or turned: Pillow's arithmetic for arrays of every type.

In this room: `resize` and `rotate` on one array, and the names of the filters. Not here: the
transformers that choose the sizes and angles (`fuel.transformers._resizing`, `_cropping`,
`_geometry`).

What is done with which type:

- ``'nearest'`` only picks pixels: every type, bit for bit.
- uint8 goes through Pillow's integer arithmetic, which rounds to the nearest.
- All else goes through Pillow's 32-bit floating point, channel by channel. Floating types are
  converted back; integers are rounded to the nearest (a half to the even) and held within the
  range of their type; of more than 24 bits the upper 24 are right. Booleans are treated as 0 and
  1, and are true from one half on.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.kernels import memory
from fuel.transformers._images import by_source, resized_shape

__all__ = ["FILTERS", "ROTATIONS", "check_filter", "check_interpolation", "resize", "rotate"]

#: The filters by name, the quick ones first.
FILTERS = ("nearest", "box", "bilinear", "hamming", "bicubic", "lanczos")

#: Those that look at the nearest pixels alone, as a rotation does.
ROTATIONS = ("nearest", "bilinear", "bicubic")

#: Types whose values Pillow moves without looking at them, by their size in bytes.
_CARRIERS = {1: numpy.uint8, 4: numpy.int32}

#: What Pillow used to call a filter.
_OLD_NAMES = {"antialias": "lanczos"}


def check_filter(name: str, argument: str, value: Any, allowed: tuple[str, ...] = FILTERS) -> str:
    """Return the name of a filter in small letters.

    Parameters
    ----------
    name : str
        Whose argument it is.
    argument : str
        Its name.
    value : str
        The name of the filter.
    allowed : tuple of str, optional
        The filters there are. Default: all.

    Returns
    -------
    str
        One of them.

    Raises
    ------
    ValueError
        If there is none of that name.

    """
    found = value.lower() if isinstance(value, str) else value
    found = _OLD_NAMES.get(found, found) if isinstance(found, str) else found
    if not isinstance(found, str) or found not in allowed:
        raise ValueError(
            f"`{argument}` of {name} must be the name of a filter, got {value!r:.80}; use one of "
            f"{', '.join(map(repr, allowed))}"
        )
    return found


def check_interpolation(
    name: str, interpolation: Any, antialias: Any, stream: Any, which: Any
) -> tuple[Any, bool]:
    """Return the filters of a transformer, and whether they become wider for smaller results.

    Parameters
    ----------
    name : str
        The transformer.
    interpolation : str or dict of str
        One filter, or one for each chosen source.
    antialias : bool
        Whether they become wider.
    stream : stream
        The stream below.
    which : container of str or None
        The chosen sources.

    Returns
    -------
    interpolation : str or dict of str
        Names in `FILTERS`.
    antialias : bool
        As given.

    Raises
    ------
    ValueError
        If a name is unknown, a source is missing, or a filter cannot do without widening.

    """
    found = by_source(name, "interpolation", interpolation, stream, which)
    argument = "interpolation" if antialias else "interpolation` without `antialias"
    allowed = FILTERS if antialias else ROTATIONS
    if isinstance(found, dict):
        for source, value in found.items():
            found[source] = check_filter(name, argument, value, allowed)
    else:
        found = check_filter(name, argument, found, allowed)
    return found, bool(antialias)


def _filter(name: str) -> Any:
    from PIL import Image

    return getattr(Image.Resampling, name.upper())


def _planes(image: Any, layout: str) -> Any:
    """Return a view with the channels in front, one of them where there are none."""
    if layout == "HW":
        return image[None]
    return numpy.moveaxis(image, -1, 0) if layout == "HWC" else image


def _check_type(image: Any, filter_name: str) -> None:
    if image.dtype.kind not in "buif":
        raise TypeError(
            f"the filter {filter_name!r} needs images of numbers, got the type {image.dtype}; use "
            "'nearest', or convert them with Cast"
        )


def _back(values: Any, dtype: Any) -> Any:
    """Return what came of floating-point arithmetic in the type of an image."""
    if dtype.kind == "f":
        with numpy.errstate(over="ignore"):  # a filter that overshoots may leave float16
            return values.astype(dtype)
    if dtype.kind == "b":
        return values >= 0.5
    limits = numpy.iinfo(dtype)
    rounded = numpy.rint(values.astype(numpy.float64))
    # The largest 64-bit integers have no equal among the floats; the next smaller one is in range.
    highest = float(limits.max)
    if int(highest) > limits.max:
        highest = float(numpy.nextafter(highest, 0))
    return numpy.clip(rounded, float(limits.min), highest).astype(dtype)


def _through_pillow(plane: Any, change: Any) -> Any:
    """Return what a method of Pillow's images makes of a plane, in the plane's type."""
    from PIL import Image

    exact = plane.dtype == numpy.uint8
    source = numpy.ascontiguousarray(plane, dtype=numpy.uint8 if exact else numpy.float32)
    values = numpy.asarray(change(Image.fromarray(source)))
    return values if exact else _back(values, plane.dtype)


def resize(
    image: Any, size: tuple[int, int], filter_name: str, layout: str, antialias: bool = True
) -> Any:
    """Return an image of another size.

    Parameters
    ----------
    image : numpy.ndarray
        The image, of at least one pixel.
    size : tuple of int
        Height and width of the result.
    filter_name : str
        One of `FILTERS`.
    layout : {'CHW', 'HWC', 'HW'}
        Its axes.
    antialias : bool, optional
        Whether a filter becomes as wide as the pixels of a smaller result. Default True.

    Returns
    -------
    numpy.ndarray
        Of the same type and layout; a new one.

    Raises
    ------
    TypeError
        If the filter cannot treat images of this type.

    Notes
    -----
    Safe to call from any thread; most of the time is spent without the GIL.

    """
    planes = _planes(image, layout)
    out = memory.empty(resized_shape(image.shape, size, layout), image.dtype)
    if out.size == 0:
        return out
    target = _planes(out, layout)
    if planes.shape == target.shape:
        target[...] = planes
    elif filter_name == "nearest":
        rows, columns = (_nearest(*lengths) for lengths in zip(planes.shape[1:], size, strict=True))
        target[...] = planes.take(rows, axis=1).take(columns, axis=2)
    else:
        _check_type(image, filter_name)
        if not antialias:
            target[...] = _interpolate(planes, size, filter_name)
        elif layout == "HWC" and len(planes) == 3 and image.dtype == numpy.uint8:
            # Three channels in one go; with a fourth Pillow would see transparency.
            out[...] = _through_pillow(image, _resizer(size, filter_name))
        else:
            for plane, place in zip(planes, target, strict=True):
                place[...] = _through_pillow(plane, _resizer(size, filter_name))
    return out


def _resizer(size: tuple[int, int], filter_name: str) -> Any:
    method = _filter(filter_name)
    return lambda picture: picture.resize(size[::-1], method)


def _nearest(length: int, wanted: int) -> NDArray[numpy.intp]:
    """Return which of `length` pixels in a row become `wanted` ones, as Pillow chooses them."""
    from PIL import Image

    numbers = numpy.arange(length, dtype=numpy.int32)[None]
    chosen = Image.fromarray(numbers).resize((wanted, 1), Image.Resampling.NEAREST)
    indices: NDArray[numpy.intp] = numpy.asarray(chosen)[0].astype(numpy.intp)
    return indices


def _interpolate(planes: Any, size: tuple[int, int], filter_name: str) -> Any:
    """Interpolate between the nearest pixels alone, however much smaller the result is."""
    precise = planes.dtype.itemsize > 4 and planes.dtype.kind != "b"
    values = planes.astype(numpy.float64 if precise else numpy.float32)
    for axis, wanted in ((1, size[0]), (2, size[1])):
        indices, weights = _taps(values.shape[axis], wanted, filter_name)
        shape = (1, wanted, 1) if axis == 1 else (1, 1, wanted)
        total: Any = 0.0
        for index, weight in zip(indices, weights, strict=True):
            total = total + values.take(index, axis) * weight.reshape(shape).astype(values.dtype)
        values = total
    return _back(values, planes.dtype)


def _taps(length: int, wanted: int, filter_name: str) -> tuple[Any, Any]:
    """Return the pixels that each pixel of a result is made of, and their weights.

    The centres of pixels lie at one half and beyond; the cubic is that of Keys [1]_ with
    a = -0.75.

    References
    ----------
    .. [1] R. G. Keys. "Cubic convolution interpolation for digital image processing". IEEE
       Transactions on Acoustics, Speech, and Signal Processing 29 (6), 1981.

    """
    places = (numpy.arange(wanted) + 0.5) * (length / wanted) - 0.5
    if filter_name == "bilinear":
        places = places.clip(0, length - 1)
    first = numpy.floor(places)
    part = places - first
    if filter_name == "bilinear":
        weights = [1 - part, part]
        offsets: Any = (0, 1)
    else:
        a = -0.75

        def near(x: Any) -> Any:
            return ((a + 2) * x - (a + 3)) * x * x + 1

        def far(x: Any) -> Any:
            return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

        weights = [far(part + 1), near(part), near(1 - part), far(2 - part)]
        offsets = (-1, 0, 1, 2)
    indices = [(first + offset).clip(0, length - 1).astype(numpy.intp) for offset in offsets]
    return indices, weights


def rotate(image: Any, degrees: float, filter_name: str, layout: str) -> Any:
    """Return an image turned around its centre, in its own size.

    Parameters
    ----------
    image : numpy.ndarray
        The image.
    degrees : float
        The angle, counter-clockwise.
    filter_name : str
        One of `ROTATIONS`.
    layout : {'CHW', 'HWC', 'HW'}
        Its axes.

    Returns
    -------
    numpy.ndarray
        Of the same type and shape; zero where there was nothing to take pixels from.

    Raises
    ------
    TypeError
        If the filter cannot treat images of this type.

    Notes
    -----
    Safe to call from any thread.

    """
    from PIL import Image

    planes = _planes(image, layout)
    out = memory.empty(image.shape, image.dtype)
    target = _planes(out, layout)
    if out.size == 0:
        return out
    method = _filter(filter_name)

    def turn(picture: Any) -> Any:
        return picture.rotate(degrees, resample=method)

    if filter_name != "nearest":
        _check_type(image, filter_name)
        for plane, place in zip(planes, target, strict=True):
            place[...] = _through_pillow(plane, turn)
    elif image.itemsize in _CARRIERS and not image.dtype.hasobject:
        # To pick pixels is to move bits, whatever they mean; and zero is zero.
        carrier = _CARRIERS[image.itemsize]
        for plane, place in zip(planes, target, strict=True):
            bits = numpy.ascontiguousarray(plane).view(carrier)
            place[...] = numpy.asarray(turn(Image.fromarray(bits))).view(image.dtype)
    else:
        # Which pixel comes from where is the same for every channel: numbers are turned. Number 0
        # is nowhere.
        height, width = planes.shape[1:]
        numbers = numpy.arange(1, height * width + 1, dtype=numpy.int32).reshape(height, width)
        chosen = numpy.asarray(turn(Image.fromarray(numbers)))
        pixels = numpy.zeros((len(planes), 1 + height * width), image.dtype)
        pixels[:, 1:] = planes.reshape(len(planes), -1)
        target[...] = pixels.take(chosen, axis=1, mode="clip")
    return out
