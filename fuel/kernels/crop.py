"""Cropping: a window of each of many images, mirrored, in another layout, with arithmetic.

In this module: `crop`. Not here: where the windows are and which are mirrored, which random
transformers decide (`fuel.transformers`), whole rows (`fuel.kernels.gather`), the arithmetic
(`fuel.kernels.arithmetic`).
"""

from __future__ import annotations

import operator
from typing import Any

import numpy
from numpy.typing import ArrayLike, NDArray

from fuel.kernels import _crop_reference as _plainly
from fuel.kernels import arithmetic as _arithmetic
from fuel.kernels import memory
from fuel.kernels._batches import (
    checked_arithmetic,
    checked_output,
    checked_source,
    in_parts,
    row_vector,
)
from fuel.kernels._integers import in_order, vector_of
from fuel.kernels._select import select

__all__ = ["crop"]

_kernel = select("crop")

_LAYOUTS = ("CHW", "HWC", "HW")


def crop(
    source: NDArray[Any],
    rows: NDArray[numpy.int64] | list[int] | None,
    tops: ArrayLike,
    lefts: ArrayLike,
    window: tuple[int, int],
    *,
    layout: str = "CHW",
    flip_width: ArrayLike | None = None,
    flip_height: ArrayLike | None = None,
    to_layout: str | None = None,
    arithmetic: _arithmetic.Arithmetic | None = None,
    out: NDArray[Any] | None = None,
    threads: int = 1,
) -> NDArray[Any]:
    """Cut a window out of each of many images, in one pass.

    Parameters
    ----------
    source : numpy.ndarray, shape (N, C, H, W), (N, H, W, C) or (N, H, W)
        Images, as `layout` says: an array or a memory map, of any type.
    rows : numpy.ndarray or list of int, shape (n,), optional
        Which images, from 0 to ``N - 1``; None for all in their order.
    tops, lefts : array_like of int, shape (n,)
        The first line and the first column of each window.
    window : (int, int)
        Height h and width w of the windows.
    layout : {"CHW", "HWC", "HW"}, optional
        Order of the axes of an image in the source.
    flip_width, flip_height : array_like of bool, shape (n,), optional
        Which windows are mirrored from left to right, and which from top to bottom.
    to_layout : {"CHW", "HWC", "HW"}, optional
        Order of the axes of an image in the result; by default that of the source.
    arithmetic : Arithmetic, optional
        What is done to each element; made for the shape of a window in the layout of the result.
    out : numpy.ndarray, optional
        Where the result goes: of its shape and type, in C order, writable, apart from all that is
        read. By default a new array from `fuel.kernels.memory`.
    threads : int, optional
        How many threads may work on it. More than one are used only where the work is large, and
        never change the result.

    Returns
    -------
    numpy.ndarray, shape (n, C, h, w), (n, h, w, C) or (n, h, w)
        The windows, in C order; `out` if that was given.

    Raises
    ------
    RequestError
        If there is no such image.
    TypeError
        If an argument is of the wrong type, or the arithmetic is for another one.
    ValueError
        If a window is not inside its image, a layout is unknown or is not that of such arrays, the
        vectors differ in length, the arithmetic is for another shape, or `out` cannot take the
        result.

    Notes
    -----
    May be called from any thread; the interpreter's lock is free while the windows move. Sources
    that are not in C order go through NumPy, image by image, with the same result.

    Examples
    --------
    >>> import numpy
    >>> from fuel.kernels.crop import crop
    >>> images = numpy.arange(2 * 3 * 4, dtype=numpy.uint8).reshape(2, 3, 4)
    >>> crop(images, [1, 1], [0, 1], [1, 2], (2, 2), layout="HW", flip_width=[False, True])
    array([[[13, 14],
            [17, 18]],
    <BLANKLINE>
           [[19, 18],
            [23, 22]]], dtype=uint8)

    """
    windows = _Windows(
        source, rows, tops, lefts, window, layout, to_layout, (flip_width, flip_height)
    )
    array, shape = windows.source, windows.shape
    dtype = array.dtype
    if arithmetic is not None:
        checked_arithmetic(arithmetic, dtype, shape[1:])
        dtype = arithmetic.dtype
    if out is not None:
        vectors = (windows.rows, windows.tops, windows.lefts, windows.mirror, windows.turn)
        checked_output(out, shape, dtype, array, vectors)
    program = None if arithmetic is None else arithmetic._program
    if windows.plain and (arithmetic is None or program is not None) and _units_lie(array, out):
        batch: NDArray[Any] = memory.empty(shape, dtype) if out is None else out

        def work(part: slice) -> int:
            return windows.fill(_kernel, part, program, batch)

        if in_parts(work, len(batch), batch.nbytes, threads):
            return batch
    taken = numpy.empty(shape, array.dtype) if out is None or arithmetic is not None else out
    windows.fill(_plainly, slice(0, len(taken)), None, taken)
    computed = taken if arithmetic is None else arithmetic.reference(taken)
    if out is None:
        return computed
    if computed is not out:
        out[...] = computed
    return out


def _units_lie(source: NDArray[Any], out: NDArray[Any] | None) -> bool:
    """Say whether elements lie where numbers of their size do: texts, for example, lie anywhere."""
    unit = min(source.itemsize, 8)
    if source.dtype.alignment % unit == 0:
        return True  # the arrays are known to be aligned
    return all(array.ctypes.data % unit == 0 for array in (source, out) if array is not None)


class _Windows:
    """What is cut out, checked."""

    def __init__(
        self,
        source: Any,
        rows: Any,
        tops: ArrayLike,
        lefts: ArrayLike,
        window: tuple[int, int],
        layout: str,
        to_layout: str | None,
        flips: tuple[ArrayLike | None, ArrayLike | None],
    ) -> None:
        self.source = checked_source(source)
        self.pixels_in, self.pixels_out = _layouts(self.source, layout, to_layout)
        self.rows = None if rows is None else row_vector(rows, len(self.source))
        count = len(self.source) if self.rows is None else len(self.rows)
        axes = dict(zip(layout, self.source.shape[1:], strict=True))
        channels, height, width = axes.get("C", 1), axes["H"], axes["W"]
        high, wide = _window(window, height, width)
        self.extents = (channels, height, width, high, wide)
        self.tops = _offsets("tops", tops, count, height - high)
        self.lefts = _offsets("lefts", lefts, count, width - wide)
        self.mirror, self.turn = (
            _flips(name, flips[number], count)
            for number, name in enumerate(("flip_width", "flip_height"))
        )
        sizes = {"C": channels, "H": high, "W": wide}
        self.shape = (count, *(sizes[axis] for axis in to_layout or layout))
        flags, itemsize = self.source.flags, self.source.itemsize
        #: Whether the compiled form may look at the memory of the source.
        self.plain = (
            flags.c_contiguous
            and flags.aligned
            and itemsize in (1, 2, 4, 8, 16)
            and not self.source.dtype.hasobject
            and channels * itemsize <= _kernel.LARGEST_PIXEL
        )

    def fill(self, kernel: Any, part: slice, program: Any, out: NDArray[Any]) -> int:
        """Write some of the windows, and return the status of the arithmetic."""
        return int(
            kernel.fill(
                self.source if self.rows is not None else self.source[part],
                None if self.rows is None else self.rows[part],
                self.tops[part],
                self.lefts[part],
                None if self.mirror is None else self.mirror[part],
                None if self.turn is None else self.turn[part],
                self.extents,
                self.pixels_in,
                self.pixels_out,
                program,
                out[part],
                _arithmetic._level,
            )
        )


def _layouts(source: NDArray[Any], layout: str, to_layout: str | None) -> tuple[bool, bool]:
    """Say whether channels are the last axis, in the source and in the result."""
    for name, given in (("layout", layout), ("to_layout", to_layout or layout)):
        if given not in _LAYOUTS:
            raise ValueError(f"`{name}` must be one of 'CHW', 'HWC' and 'HW', got {given!r}")
    if source.ndim != len(layout) + 1:
        raise ValueError(
            f"images in the layout {layout} have {len(layout)} axes, and the source one more; got "
            f"an array of shape {source.shape}; name the layout that it has"
        )
    if to_layout is not None and len(to_layout) != len(layout):
        raise ValueError(
            f"`to_layout` must have the axes of {layout}, got {to_layout!r}; reshape the array to "
            "give it a channel or take it away"
        )
    return layout == "HWC", (to_layout or layout) == "HWC"


def _window(window: tuple[int, int], height: int, width: int) -> tuple[int, int]:
    """Return height and width of the windows."""
    high, wide = (operator.index(length) for length in window)
    if high < 0 or wide < 0:
        raise ValueError(f"`window` must be a height and a width, got {(high, wide)}")
    if high > height or wide > width:
        raise ValueError(
            f"a window of {high} x {wide} does not fit into images of {height} x {width}; make it "
            "smaller, or the images larger"
        )
    return high, wide


def _offsets(name: str, offsets: ArrayLike, count: int, most: int) -> NDArray[numpy.int64]:
    """Return where the windows begin along one axis."""
    given = vector_of(offsets)
    # Where NumPy needs objects for integers of Python, one is beyond 64 bits.
    beyond = given.dtype == object and all(type(offset) is int for offset in given.flat)
    if given.shape != (count,) or (count and not beyond and given.dtype.kind not in "iu"):
        raise TypeError(
            f"`{name}` must be a vector of {count} integers, one for each image, got shape "
            f"{given.shape}, dtype {given.dtype}"
        )
    if beyond:
        vector = numpy.array([min(max(-1, offset), most + 1) for offset in given], numpy.int64)
    else:
        vector = in_order(given, numpy.int64)
    place = _kernel.find_beyond(vector, most)
    if place >= 0:
        raise ValueError(
            f"`{name}` must be from 0 to {most}, so that the windows are inside their images, got "
            f"{given[place]} for window {place}; draw it from numpy.arange({most + 1})"
        )
    return vector


def _flips(name: str, flips: ArrayLike | None, count: int) -> NDArray[numpy.bool_] | None:
    """Return which windows are mirrored."""
    if flips is None:
        return None
    given = numpy.asarray(flips)
    if given.shape != (count,) or (count and given.dtype != numpy.bool_):
        raise TypeError(
            f"`{name}` must be a vector of {count} truth values, one for each image, got shape "
            f"{given.shape}, dtype {given.dtype}"
        )
    return numpy.ascontiguousarray(given, dtype=numpy.bool_)
