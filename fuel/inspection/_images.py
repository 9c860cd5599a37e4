"""Examples as images: finding height, width and channels, decoding, and what is black and white."""

from __future__ import annotations

import io
import warnings
from typing import Any

import numpy
from numpy.typing import NDArray

__all__ = ["as_picture", "decode", "is_encoded", "plane_of", "range_of", "reduced"]

#: Images are reduced to this before anything else is done with them.
LONGEST_SIDE = 256
#: Encoded images with more pixels than this are not decoded.
_MOST_PIXELS = 64 * 2**20
_SMALLEST_PLAIN = 8
_CHANNELS = (1, 3, 4)
_HEIGHT, _WIDTH = ("height", "row", "y"), ("width", "column", "x")
_SIGNATURES = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF8", b"BM", b"II*\0", b"MM\0*")


def is_encoded(value: Any) -> bool:
    """Tell whether an example is the content of an image file."""
    if isinstance(value, bytes):
        start = value[:12]
    elif isinstance(value, numpy.ndarray) and value.ndim == 1 and value.dtype == numpy.uint8:
        start = value[:12].tobytes()
    else:
        return False
    return start.startswith(_SIGNATURES) or (start[:4] == b"RIFF" and start[8:12] == b"WEBP")


def decode(value: Any) -> tuple[Any, tuple[int, int]]:
    """Decode the content of an image file.

    Returns
    -------
    image : PIL.Image.Image
        In red, green and blue, reduced.
    size : tuple of int
        Width and height before that.

    Raises
    ------
    ValueError
        If it cannot be decoded; the message is for the place where the image would be.

    """
    from PIL import Image

    content = value if isinstance(value, bytes) else value.tobytes()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            image = Image.open(io.BytesIO(content))
            size = image.size
            if size[0] * size[1] > _MOST_PIXELS:
                raise ValueError(f"too large to draw: {size[0]} x {size[1]}")
            image.draft("RGB", (LONGEST_SIDE, LONGEST_SIDE))
            image = on_white(image)
            image.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
            return image, size
    except ValueError:
        raise
    except Exception as error:  # decoders raise whatever they like
        raise ValueError("it cannot be decoded") from error


def on_white(image: Any) -> Any:
    """Return an image in red, green and blue; what is transparent becomes white."""
    from PIL import Image

    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        image = image.convert("RGBA")
        ground = Image.new("RGBA", image.size, "white")
        return Image.alpha_composite(ground, image).convert("RGB")
    return image.convert("RGB")


def plane_of(shape: tuple[int, ...], labels: tuple[str, ...]) -> tuple[int, int, int | None] | None:
    """Find the axes of an image.

    Parameters
    ----------
    shape : tuple of int
        The shape of an example.
    labels : tuple of str
        The labels of its axes, ``''`` where an axis has none.

    Returns
    -------
    tuple or None
        The axes of height, width and channels (None without channels); other axes are left over.
        None if it is no image.

    Examples
    --------
    >>> plane_of((3, 32, 32), ("channel", "height", "width"))
    (1, 2, 0)
    >>> plane_of((28, 28, 1), ("", "", ""))
    (0, 1, 2)
    >>> plane_of((5,), ("",)) is None
    True

    """
    height = next((labels.index(name) for name in _HEIGHT if name in labels), None)
    width = next((labels.index(name) for name in _WIDTH if name in labels), None)
    channel = labels.index("channel") if "channel" in labels else None
    if height is not None and width is not None:
        return height, width, channel
    if len(shape) == 2 and "time" in labels:
        # What is heard at each moment: time from left to right.
        time = labels.index("time")
        return (1 - time, time, None) if channel is None else None
    if "channel" in labels and len(shape) == 3:
        rest = [axis for axis in range(3) if axis != channel]
        return rest[0], rest[1], channel
    if len(shape) == 2 and min(shape) >= _SMALLEST_PLAIN:
        return 0, 1, None
    if len(shape) == 3:
        for axis, others in ((0, (1, 2)), (2, (0, 1))):
            if shape[axis] in _CHANNELS and min(shape[k] for k in others) > 1:
                return others[0], others[1], axis
    return None


def as_plane(example: Any, axes: tuple[int, int, int | None]) -> NDArray[Any]:
    """Return an example as height by width by channels; of other axes, the middle."""
    height, width, channel = axes
    kept = [height, width] + ([] if channel is None else [channel])
    others = [axis for axis in range(example.ndim) if axis not in kept]
    moved = numpy.moveaxis(example, [*others, *kept], list(range(example.ndim)))
    for _ in others:
        moved = moved[len(moved) // 2]
    plane: NDArray[Any] = moved if channel is not None else moved[..., None]
    return plane


def reduced(example: Any, axes: tuple[int, int, int | None]) -> NDArray[Any]:
    """Return an example as height by width by 1, 3 or 4 channels, not larger than is drawn."""
    plane = as_plane(numpy.asarray(example), axes)
    channels = plane.shape[2]
    if channels not in _CHANNELS:
        plane = plane[..., :1]
    if plane.dtype.kind == "c":
        plane = numpy.abs(plane)
    factor = -(-max(plane.shape[:2]) // LONGEST_SIDE)
    if factor <= 1:
        return plane
    height, width = (max(1, size // factor) for size in plane.shape[:2])
    tall, wide = min(factor, plane.shape[0]), min(factor, plane.shape[1])
    cut = plane[: height * tall, : width * wide].astype(numpy.float64)
    mean: NDArray[Any] = cut.reshape(height, tall, width, wide, -1).mean(axis=(1, 3))
    return numpy.rint(mean).astype(plane.dtype) if plane.dtype.kind in "iub" else mean


def range_of(planes: list[NDArray[Any]]) -> tuple[float, float]:
    """Return which values are to be black and white in all of some images.

    Parameters
    ----------
    planes : list of ndarray
        The images.

    Returns
    -------
    tuple of float
        0 and 1, 0 and 255, or -1 and 1 where the values look like it, else the smallest and the
        largest value.

    """
    finite = [plane[numpy.isfinite(plane)] for plane in planes]
    finite = [part for part in finite if part.size]
    if not finite:
        return 0.0, 1.0
    low = min(float(part.min()) for part in finite)
    high = max(float(part.max()) for part in finite)
    whole = planes[0].dtype.kind in "iub"
    if low >= 0 and high <= 1:
        return 0.0, 1.0
    if planes[0].dtype == numpy.uint8 or (low >= 0 and 32 < high <= 255):
        # Pixels, unless there are so few values that they are classes or the like.
        return (0.0, 255.0) if high > 32 else (0.0, high)
    if not whole and -1 <= low < 0 and high <= 1:
        return -1.0, 1.0
    return low, high if high > low else low + 1.0


def as_picture(plane: NDArray[Any], low: float, high: float) -> Any:
    """Return an image to draw.

    Parameters
    ----------
    plane : ndarray
        Height by width by 1, 3 or 4 channels.
    low, high : float
        What is black and what is white.

    Returns
    -------
    PIL.Image.Image
        In red, green and blue; what is not a number becomes black.

    """
    from PIL import Image

    values = numpy.nan_to_num(plane.astype(numpy.float64), nan=low, posinf=high, neginf=low)
    # Halves, for the whole span may be larger than any number.
    span = (high / 2 - low / 2) or 1.0
    pixels = (((values / 2 - low / 2) / span).clip(0, 1) * 255 + 0.5).astype(numpy.uint8)
    if pixels.shape[2] == 1:
        return Image.fromarray(pixels[..., 0]).convert("RGB")
    return on_white(Image.fromarray(numpy.ascontiguousarray(pixels)))
