"""Images by Pillow: every format, the kinds of JPEG that nothing else takes, and the last resort.

In this module: one image at a time, as an array (`whole`, and `window` of what `loaded`
returns), its `size` and `orientation`, the turn that Exif asks for (`turned`), and Pillow's own
limit to the number of pixels (`pixel_limit`). Pillow is imported when the first image is opened.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.kernels.memory import empty

__all__ = [
    "check_pixels",
    "forgives",
    "loaded",
    "orientation",
    "pixel_limit",
    "size",
    "turned",
    "whole",
    "window",
]

#: Pillow's own default, where nobody has imported it yet, and so nobody has changed it.
_PIXELS = 1024 * 1024 * 1024 // 4 // 3
#: The number of the tag that says how a camera was held.
_ORIENTATION = 0x0112


def pixel_limit() -> float:
    """Return the number of pixels up to which Pillow opens an image without a word."""
    module = sys.modules.get("PIL.Image")
    limit = _PIXELS if module is None else module.MAX_IMAGE_PIXELS
    return float("inf") if limit is None else limit


def forgives() -> bool:
    """Return whether the program told Pillow to accept truncated files."""
    return bool(getattr(sys.modules.get("PIL.ImageFile"), "LOAD_TRUNCATED_IMAGES", False))


def check_pixels(width: int, height: int, max_pixels: int | None) -> None:
    """Refuse an image of more pixels than were allowed.

    Parameters
    ----------
    width, height : int
        Its size.
    max_pixels : int or None
        The limit; with None, Pillow has the only word.

    Raises
    ------
    PIL.Image.DecompressionBombError
        If it is larger.

    """
    if max_pixels is not None and width * height > max_pixels:
        from PIL import Image

        raise Image.DecompressionBombError(
            f"the image has {width} x {height} = {width * height} pixels, more than the "
            f"{max_pixels} that `max_pixels` allows; raise it if the file is to be trusted"
        )


def _open(data: bytes, max_pixels: int | None) -> Any:
    from PIL import Image

    image = Image.open(io.BytesIO(data))
    check_pixels(*image.size, max_pixels)
    return image


def size(data: bytes, max_pixels: int | None = None) -> tuple[int, int]:
    """Return (height, width) of an image without decoding it."""
    width, height = _open(data, max_pixels).size
    return height, width


def orientation(data: bytes) -> int:
    """Return what Exif says of how the image is to be turned, from 1 (not at all) to 8."""
    return _orientation(_open(data, None))


def _orientation(image: Any) -> int:
    code = image.getexif().get(_ORIENTATION, 1)
    return code if code in range(1, 9) else 1


def whole(
    data: bytes, color_mode: str | None, max_pixels: int | None, turn: bool = False
) -> NDArray[Any]:
    """Decode an image.

    Parameters
    ----------
    data : bytes
        The file.
    color_mode : str or None
        A mode of Pillow to convert to; None keeps that of the file.
    max_pixels : int or None
        See `check_pixels`.
    turn : bool, optional
        Whether to turn it as Exif asks.

    Returns
    -------
    numpy.ndarray, shape (channels, height, width)
        In C order.

    """
    image = _open(data, max_pixels)
    # Between decoding, by which Pillow turns some images itself (TIFF) and says so in what Exif
    # has, and the conversion, which may leave Exif behind.
    image.load()
    code = _orientation(image) if turn else 1
    return turned(_planes(_in_mode(image, color_mode)), code)


def loaded(data: bytes, max_pixels: int | None) -> Any:
    """Decode an image, and leave it to Pillow.

    Parameters
    ----------
    data : bytes
        The file.
    max_pixels : int or None
        See `check_pixels`.

    Returns
    -------
    PIL.Image.Image
        The image.
    """
    image = _open(data, max_pixels)
    image.load()
    return image


def window(
    image: Any,
    color_mode: str,
    place: tuple[int, int, int, int],
    flip: bool,
    out: NDArray[Any],
    layout: str,
) -> None:
    """Store a window of an image.

    Parameters
    ----------
    image : PIL.Image.Image
        What `loaded` returned.
    color_mode : str
        ``"RGB"`` or ``"L"``, to which each pixel can be converted by itself.
    place : tuple of int
        (top, left, rows, columns).
    flip : bool
        Whether to mirror it from left to right.
    out : numpy.ndarray
        Where it goes, a row of a batch.
    layout : str
        ``"CHW"`` or ``"HWC"``.

    """
    from PIL import Image

    top, left, rows, columns = place
    # The window is cut out before it is converted, and before it becomes an array.
    image = _in_mode(image.crop((left, top, left + columns, top + rows)), color_mode)
    if flip:
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    if layout == "CHW":
        for channel, plane in enumerate(_bands(image)):
            out[channel] = plane
    else:
        out[...] = numpy.asarray(image).reshape(out.shape)


def _in_mode(image: Any, color_mode: str | None) -> Any:
    if color_mode is None or image.mode == color_mode:
        return image
    return image.convert(color_mode)


def _bands(image: Any) -> Iterator[NDArray[Any]]:
    """Return the channels one by one; Pillow takes them apart faster than NumPy."""
    for name in image.mode:
        data = image.tobytes("raw", name)
        yield numpy.frombuffer(data, numpy.uint8).reshape(image.height, image.width)


def _planes(image: Any) -> NDArray[Any]:
    """Return an image with its channels first, in new memory."""
    if image.mode in ("RGB", "RGBA"):
        shape = len(image.mode), image.height, image.width
        out: NDArray[Any] = empty(shape, numpy.uint8)
        for channel, plane in enumerate(_bands(image)):
            out[channel] = plane
        return out
    array = numpy.array(image)
    if array.ndim == 2:
        return array[numpy.newaxis]
    if array.ndim != 3:
        raise ValueError(
            f"an image must have two or three axes, got {array.ndim} from mode {image.mode!r}; "
            "choose another `color_mode`, such as 'RGB'"
        )
    return numpy.ascontiguousarray(array.transpose(2, 0, 1))


def turned(planes: NDArray[Any], code: int) -> NDArray[Any]:
    """Return an image the way that Exif says it is to be looked at.

    Parameters
    ----------
    planes : numpy.ndarray, shape (channels, height, width)
        As it is stored.
    code : int
        From 1 to 8, as in the standard's table of the tag Orientation.

    Returns
    -------
    numpy.ndarray, shape (channels, height, width) or (channels, width, height)
        In C order.

    """
    if code >= 5:
        planes = planes.transpose(0, 2, 1)
    if code in (3, 4, 7, 8):
        planes = planes[:, ::-1]
    if code in (2, 3, 6, 7):
        planes = planes[:, :, ::-1]
    return numpy.ascontiguousarray(planes)
