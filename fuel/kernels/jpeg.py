"""Encoded images to arrays: whole images or windows of them, many at a time, in threads.

In this module: `decode_many`, `decode_windows` and `sizes`, and `backend`, which says who decodes
JPEG files: our own extension over libjpeg-turbo (``"compiled"``), the package simplejpeg
(``"simplejpeg"``, installed with ``fuel[jpeg]``) or Pillow (``"pillow"``). The environment
variable ``FUEL_JPEG`` names one of them; unset, the first that is there is used. Read when this
module is first imported. All other formats, and the rarer kinds of JPEG (CMYK, 12 bits, arithmetic
coding, lossless), are decoded by Pillow. Not here: the transformer (`fuel.transformers.image`).

The pixels are the same with every backend: those of the slow integer transform and of fancy
upsampling, which are libjpeg-turbo's defaults and Pillow's. A window has the pixels that it has in
the whole image. Our extension decodes little more than the window: columns and rows outside it are
read but not transformed, but for the two next to it, from which chroma is interpolated.

What is done about damaged files
--------------------------------
A file that ends too early, or that is no image, raises what Pillow raises: `OSError`, or
`PIL.UnidentifiedImageError`, which is one. Where libjpeg finds data that no encoder wrote, it goes
on with made-up pixels and a warning. The first two backends make an `OSError` of that; Pillow
hands out the pixels. Damage below a window is not looked for, but for an early end. A program
that sets ``PIL.ImageFile.LOAD_TRUNCATED_IMAGES`` gets what Pillow makes of the file in all cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import ArrayLike, NDArray

from fuel.kernels import _jpeg_batch, _jpeg_pillow
from fuel.kernels._jpeg_batch import Batch
from fuel.kernels.memory import empty

__all__ = ["backend", "can_scale", "decode_many", "decode_windows", "sizes"]


def backend() -> str:
    """Return who decodes JPEG files.

    Returns
    -------
    str
        ``"compiled"``, ``"simplejpeg"`` or ``"pillow"``.

    """
    return _jpeg_batch.BACKEND


def can_scale() -> bool:
    """Return whether the backend can decode to a smaller size."""
    return _jpeg_batch.BACKEND != "pillow"


def sizes(
    images: Sequence[bytes], *, max_pixels: int | None = None, name: str = ""
) -> NDArray[numpy.int64]:
    """Return the sizes of images, as their headers have them.

    Parameters
    ----------
    images : sequence of bytes, length n
        Files of any format that Pillow knows.
    max_pixels, name
        See `decode_many`.

    Returns
    -------
    numpy.ndarray, shape (n, 2), dtype int64
        (height, width) of each.

    Raises
    ------
    TypeError
        If one of them is not `bytes`.
    OSError
        If one of them is no image.
    PIL.Image.DecompressionBombError
        If one has more pixels than allowed.

    """
    batch = Batch(images, None, max_pixels, name)
    found = numpy.ascontiguousarray(batch.found[:, 1::-1])
    for number in numpy.flatnonzero(~batch.usual).tolist():
        found[number] = batch.told(number, _jpeg_pillow.size, batch.images[number], max_pixels)
    return found


def decode_many(
    images: Sequence[bytes],
    color_mode: str | None = "RGB",
    threads: int | None = None,
    *,
    minimum_shape: tuple[int, int] | None = None,
    apply_orientation: bool = False,
    max_pixels: int | None = None,
    name: str = "",
) -> list[NDArray[Any]]:
    """Decode images.

    Parameters
    ----------
    images : sequence of bytes, length n
        Files of any format that Pillow knows; of several frames the first is taken.
    color_mode : str or None, optional
        A mode of Pillow to convert to, by default RGB. None keeps that of the file.
    threads : int, optional
        How many threads to use; the default is the limit of `fuel.kernels.threads`.
    minimum_shape : tuple of int, optional
        (height, width). If given, JPEG files are decoded to the smallest multiple of an eighth of
        their size, at most to their size, that is no smaller: see `can_scale`.
    apply_orientation : bool, optional
        Whether to turn the image the way Exif says it is to be looked at. By default it is left as
        it is stored, but for TIFF files, which Pillow always turns.
    max_pixels : int, optional
        The largest number of pixels of an image. The default is Pillow's: it warns above
        ``PIL.Image.MAX_IMAGE_PIXELS``, and refuses twice as many. For larger images raise that too:
        what Pillow decodes (as all but usual JPEG files) has to be within its limit as well.
    name : str, optional
        Where the images come from, for messages.

    Returns
    -------
    list of numpy.ndarray, each of shape (channels, height, width)
        In the order of the files. uint8, but for a few modes that `color_mode` None may keep: bool
        for ``1``, uint16 for ``I;16``, int32 for ``I``, float32 for ``F``.

    Raises
    ------
    TypeError
        If one of them is not `bytes`.
    OSError
        If one of them is no image, truncated or corrupt. A note says which.
    PIL.Image.DecompressionBombError
        If one has more pixels than allowed; nothing was allocated for it.
    ValueError
        If the backend cannot scale, or Pillow cannot convert to `color_mode`.

    Notes
    -----
    May be called from several threads.

    Examples
    --------
    >>> import io
    >>> from PIL import Image
    >>> file = io.BytesIO()
    >>> Image.new("RGB", (6, 4), "red").save(file, "JPEG")
    >>> image, = decode_many([file.getvalue()])
    >>> image.shape, image[:, 0, 0].tolist()
    ((3, 4, 6), [254, 0, 0])

    """
    if minimum_shape is not None and not can_scale():
        raise ValueError(
            "a `minimum_shape` needs a backend that decodes JPEG files to a smaller size, got "
            "'pillow'; install fuel[jpeg], or build the package with the headers of libjpeg-turbo"
        )
    batch = Batch(images, color_mode, max_pixels, name)
    batch.turn, batch.minimum = apply_orientation, minimum_shape
    return batch.whole(threads)


def decode_windows(
    images: Sequence[bytes],
    places: tuple[ArrayLike, ArrayLike],
    window: tuple[int, int],
    flips: ArrayLike | None = None,
    layout: str = "CHW",
    out: NDArray[Any] | None = None,
    threads: int | None = None,
    *,
    color_mode: str = "RGB",
    max_pixels: int | None = None,
    name: str = "",
) -> NDArray[numpy.uint8]:
    """Decode a window of each image, straight into a batch.

    Parameters
    ----------
    images : sequence of bytes, length n
        Files of any format that Pillow knows.
    places : tuple of array_like of int, each of shape (n,)
        The top rows and the left columns of the windows.
    window : tuple of int
        (height, width) of all windows.
    flips : array_like of bool, shape (n,), optional
        Which of them to mirror from left to right; none by default.
    layout : {"CHW", "HWC"}, optional
        Whether the channels come first or last.
    out : numpy.ndarray, optional
        Where to write: uint8, in C order, of shape (n, channels, height, width) or (n, height,
        width, channels).
    color_mode : {"RGB", "L"}, optional
        What to convert to.
    threads, max_pixels, name
        See `decode_many`.

    Returns
    -------
    numpy.ndarray
        `out`, or a new array of its shape: ``decode_many`` cropped, mirrored and stacked.

    Raises
    ------
    TypeError
        If one of the images is not `bytes`.
    ValueError
        If a window does not lie inside its image, or an argument has the wrong shape.
    OSError
        If one of them is no image, truncated or corrupt. A note says which.
    PIL.Image.DecompressionBombError
        If one has more pixels than allowed.

    """
    if layout not in ("CHW", "HWC") or color_mode not in ("RGB", "L"):
        raise ValueError(
            "`layout` must be 'CHW' or 'HWC' and `color_mode` 'RGB' or 'L', got "
            f"{layout!r} and {color_mode!r}; decode whole images for others"
        )
    batch = Batch(images, color_mode, max_pixels, name)
    batch.window(places, window, flips)
    batch.channels = channels = 3 if color_mode == "RGB" else 1
    one = (channels, *batch.shape) if layout == "CHW" else (*batch.shape, channels)
    shape = (len(batch.images), *one)
    if out is None:
        out = empty(shape, numpy.uint8)
    elif out.shape != shape or out.dtype != numpy.uint8 or not out.flags.c_contiguous:
        raise ValueError(
            f"`out` must be a uint8 array of shape {shape} in C order, got {out.dtype} of shape "
            f"{out.shape}; leave it out for a new one"
        )
    if not out.flags.writeable:
        raise ValueError("`out` must be writable, got a read-only array; pass another")
    batch.out, batch.layout = out, layout
    batch.windows(threads)
    return out
