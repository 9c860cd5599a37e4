"""Windows of images in plain NumPy.

`fuel.kernels.crop` describes and checks; `_crop.pyx` is the compiled form with the same functions.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.kernels._status import NUMPY_ONLY

__all__ = ["LARGEST_PIXEL", "fill", "find_beyond"]

#: The most bytes that a pixel may have: as many as there are.
LARGEST_PIXEL = 1 << 62


def fill(
    source: NDArray[Any],
    rows: NDArray[numpy.int64] | None,
    tops: NDArray[numpy.int64],
    lefts: NDArray[numpy.int64],
    mirror: NDArray[numpy.bool_] | None,
    turn: NDArray[numpy.bool_] | None,
    extents: tuple[int, int, int, int, int],
    pixels_in: bool,
    pixels_out: bool,
    program: Any,
    out: NDArray[Any],
    level: int,
) -> int:
    """Write windows into an array.

    Parameters
    ----------
    source : numpy.ndarray, shape (N, C, H, W), (N, H, W, C) or (N, H, W)
        Images.
    rows : numpy.ndarray, shape (n,), dtype int64, optional
        Which images; None for all in their order.
    tops, lefts : numpy.ndarray, shape (n,), dtype int64
        Where each window begins.
    mirror, turn : numpy.ndarray, shape (n,), dtype bool, optional
        Which windows are mirrored from left to right, and which from top to bottom.
    extents : tuple of int
        C, H, W, and the height and the width of the windows.
    pixels_in, pixels_out : bool
        Whether channels are the last axis, of the source and of the result.
    program : None
        There is no way to run a compiled chain: with one, nothing is done.
    out : numpy.ndarray, shape (n, C, h, w), (n, h, w, C) or (n, h, w)
        Where they are written.
    level : int
        Means nothing here.

    Returns
    -------
    int
        0, or with a program what says that NumPy is to do the work.

    """
    if program is not None:
        return NUMPY_ONLY
    high, wide = extents[3:]
    for place in range(len(tops)):
        top, left = int(tops[place]), int(lefts[place])
        image = source[place if rows is None else int(rows[place])]
        if image.ndim == 3 and not pixels_in:
            image = image.transpose(1, 2, 0)
        window = image[top : top + high, left : left + wide]
        if mirror is not None and mirror[place]:
            window = window[:, ::-1]
        if turn is not None and turn[place]:
            window = window[::-1]
        if image.ndim == 3 and not pixels_out:
            window = window.transpose(2, 0, 1)
        out[place] = window
    return 0


def find_beyond(offsets: NDArray[numpy.int64], most: int) -> int:
    """Return the place of the first offset that is not from 0 to the most.

    Parameters
    ----------
    offsets : numpy.ndarray, shape (n,), dtype int64
        Where windows begin, along one axis.
    most : int
        The largest offset with which a window is inside its image; negative if none is.

    Returns
    -------
    int
        A place in `offsets`, -1 where all are in range.

    """
    beyond = numpy.flatnonzero((offsets < 0) | (offsets > most))
    return int(beyond[0]) if len(beyond) else -1
