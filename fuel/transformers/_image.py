"""Windows of images by their offsets: the address that the original's compiled code had.

The work is done by `fuel.kernels.crop`.
"""

from __future__ import annotations

from typing import Any

import numpy

from fuel.kernels import crop

__all__ = ["window_batch_bchw"]


def window_batch_bchw(batch: Any, height_offsets: Any, width_offsets: Any, out: Any) -> None:
    """Cut one window out of every image of a batch.

    Parameters
    ----------
    batch : numpy.ndarray, shape (n, channels, height, width)
        The images, of any type.
    height_offsets, width_offsets : array_like of int, shape (n,)
        Where the windows begin, in pixels from the top and from the left.
    out : numpy.ndarray, shape (n, channels, window height, window width)
        Where the windows are written, of the same type; its shape says how large they are.

    Raises
    ------
    ValueError
        If the shapes or types do not go together, or a window reaches beyond its image.

    Examples
    --------
    >>> import numpy
    >>> out = numpy.empty((1, 1, 1, 2), dtype='int64')
    >>> window_batch_bchw(numpy.arange(9).reshape(1, 1, 3, 3), [1], [0], out)
    >>> out.tolist()
    [[[[3, 4]]]]

    """
    batch = numpy.asarray(batch)
    if batch.ndim != 4 or out.ndim != 4 or batch.shape[:2] != out.shape[:2]:
        raise ValueError(
            "window_batch_bchw needs a batch (n, channels, height, width) and an output of as many "
            f"images and channels, got the shapes {batch.shape} and {out.shape}; make `out` with "
            "numpy.empty((n, channels, window height, window width), batch.dtype)"
        )
    if batch.dtype != out.dtype:
        raise ValueError(
            "window_batch_bchw needs an output of the type of the batch, got "
            f"{out.dtype} for {batch.dtype}; make `out` with that type"
        )
    tops, lefts = (
        numpy.asarray(offsets, dtype=numpy.int64) for offsets in (height_offsets, width_offsets)
    )
    window = (out.shape[2], out.shape[3])
    if out.flags.c_contiguous and out.flags.aligned and out.dtype.isnative:
        crop.crop(batch, None, tops, lefts, window, layout="CHW", out=out)
    else:
        out[...] = crop.crop(batch, None, tops, lefts, window, layout="CHW")
