"""Sequences of unequal lengths: into a rectangle with a mask, end to end, and back.

In this module, the door to the kernel: `pad` and `pad_flat` make a rectangle, `dense_to_ragged`
and `dense_to_flat` take the padding off, `join` puts sequences end to end, `stack` and `uniform`
are for those that turn out to be of one length. Not here: which sources of a batch are padded, and
to which width (`fuel.transformers.Padding`), and windows over sequences (`fuel.kernels.windows`).

Two forms of the same: sequences as a list or an array of objects, or all of them in one array of
values with the offsets at which they begin and end.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy
from numpy.typing import ArrayLike, DTypeLike, NDArray

from fuel.kernels import _ragged_reference as reference
from fuel.kernels._fill import fill_of
from fuel.kernels._rows import integers, joined, listed, new_array, offsets_of, read
from fuel.kernels._select import select
from fuel.kernels.memory import empty

__all__ = ["dense_to_flat", "dense_to_ragged", "join", "pad", "pad_flat", "stack", "uniform"]

_kernel = select("ragged")

#: Kinds of types that hold no objects and need no conversion.
_NUMBERS = "biufc"


def pad(
    sequences: Any,
    *,
    value: Any = 0,
    side: str = "right",
    width: int | Callable[[int], int] | None = None,
    dtype: DTypeLike | None = None,
    mask_dtype: DTypeLike | None = None,
    out: NDArray[Any] | None = None,
    mask_out: NDArray[Any] | None = None,
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Make one array of sequences, and a mask that tells them from the padding.

    Parameters
    ----------
    sequences : sequence of array_like, or numpy.ndarray of shape (n, length, ...)
        Sequences that agree in all dimensions but the first. Empty ones say nothing about type
        and shape.
    value : object, optional
        What padding is made of: a number or text that `dtype` can hold. The default, 0, means
        what `numpy.zeros` is made of, which is ``''`` for texts.
    side : {"right", "left"}, optional
        Where the padding goes.
    width : int or callable, optional
        Length of all sequences afterwards; or what is told the length of the longest, and answers
        with the width. Default: that of `out`, else the longest.
    dtype : data-type, optional
        The type of the result; sequences are converted as by ``astype``. Default: the type that
        can hold all sequences, by NumPy's promotion.
    mask_dtype : data-type, optional
        The type of the mask. Default: that of `mask_out`; without either there is no mask.
    out : numpy.ndarray, shape (n, width, ...), optional
        Where the result is written: in C order, of the type it has without `out`, and no part of
        a sequence.
    mask_out : numpy.ndarray, shape (n, width), optional
        The same for the mask.

    Returns
    -------
    padded : numpy.ndarray, shape (n, width, ...)
        A new array, or `out`.
    mask : numpy.ndarray, shape (n, width), or None
        1 where there is data.

    Raises
    ------
    TypeError
        If `width` is not an integer.
    ValueError
        If a sequence is longer than `width`, or is no sequence; if they do not go together; if
        the type cannot hold `value`; if an argument is none of the above.

    Notes
    -----
    Arrays of one type (numbers, dates, texts) that lie in memory in C order are read directly;
    anything else goes through NumPy, with the same result. May be called from any thread; the
    sequences must not change meanwhile.

    Examples
    --------
    >>> from fuel.kernels.ragged import pad
    >>> padded, mask = pad([[1, 2, 3], [4]], value=-1, mask_dtype=bool)
    >>> padded.tolist()
    [[1, 2, 3], [4, -1, -1]]
    >>> mask.tolist()
    [[True, True, True], [True, False, False]]

    """
    sequences = listed(sequences)
    rows = read(sequences, _kernel)
    if (
        width is None
        and dtype is None
        and out is None
        and mask_out is None
        and type(value) is int
        and value == 0
        and side == "right"
        and mask_dtype is not None
        and rows.dtype.kind in _NUMBERS
        and numpy.dtype(mask_dtype).kind in _NUMBERS
    ):
        # The everyday case, in which there is nothing more to look at.
        padded = empty((rows.count, rows.longest, *rows.rest), rows.dtype)
        mask = empty((rows.count, rows.longest), mask_dtype)
        rows.pad(padded, mask, None, _one(mask.dtype), False)
        return padded, mask
    return _pad(
        rows,
        lambda: reference.scan(sequences),
        value,
        side,
        width,
        dtype,
        mask_dtype,
        out,
        mask_out,
    )


def pad_flat(
    values: NDArray[Any],
    offsets: ArrayLike,
    rows: ArrayLike | None = None,
    *,
    value: Any = 0,
    side: str = "right",
    width: int | Callable[[int], int] | None = None,
    dtype: DTypeLike | None = None,
    mask_dtype: DTypeLike | None = None,
    out: NDArray[Any] | None = None,
    mask_out: NDArray[Any] | None = None,
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Make one array of sequences that lie end to end in another.

    Parameters
    ----------
    values : numpy.ndarray, shape (total, ...)
        All sequences.
    offsets : array_like of int, shape (n + 1,)
        Sequence i is ``values[offsets[i]:offsets[i + 1]]``.
    rows : array_like of int, shape (m,), optional
        Which sequences, in which order. Default: all.
    value, side, width, dtype, mask_dtype, out, mask_out
        As for `pad`.

    Returns
    -------
    padded, mask
        As of `pad`.

    Raises
    ------
    RequestError
        If `rows` names a sequence that is not there.
    TypeError, ValueError
        As of `pad`; if offsets are no integers, decrease, or lead out of `values`.

    Examples
    --------
    >>> import numpy
    >>> from fuel.kernels.ragged import pad_flat
    >>> pad_flat(numpy.array([1, 2, 3, 4]), [0, 3, 4], [1, 0])[0].tolist()
    [[4, 0, 0], [1, 2, 3]]

    """
    values = numpy.asarray(values)
    if not values.ndim:
        raise ValueError(f"`values` must be an array of all sequences, got {values!r:.80}")
    places = integers("offsets", offsets)
    if not len(places):
        raise ValueError("`offsets` must be one more than there are sequences, got none")
    wanted = None if rows is None else integers("rows", rows)

    def plain() -> reference.Rows:
        return reference.scan_flat(values, places, wanted)

    found = _kernel.scan_flat(values, places, wanted)
    if found is None:
        found = plain()
    return _pad(found, plain, value, side, width, dtype, mask_dtype, out, mask_out)


def dense_to_ragged(
    array: NDArray[Any],
    lengths: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    side: str = "right",
) -> list[NDArray[Any]]:
    """Take the padding off.

    Parameters
    ----------
    array : numpy.ndarray, shape (n, width, ...)
        Sequences with padding.
    lengths : array_like of int, shape (n,), optional
        How long each sequence is, or:
    mask : array_like, shape (n, width), optional
        What is data; it may have holes. One of the two has to be given.
    side : {"right", "left"}, optional
        Where the padding is; a mask says so itself.

    Returns
    -------
    list of numpy.ndarray
        The sequences, in new arrays.

    Raises
    ------
    TypeError
        If neither or both of `lengths` and `mask` are given.
    ValueError
        If they do not fit the array.

    Examples
    --------
    >>> import numpy
    >>> from fuel.kernels.ragged import dense_to_ragged
    >>> [row.tolist() for row in dense_to_ragged(numpy.array([[1, 2], [3, 0]]), lengths=[2, 1])]
    [[1, 2], [3]]

    """
    values, offsets = dense_to_flat(array, lengths, mask, side=side)
    ends = offsets.tolist()
    return [values[start:stop].copy() for start, stop in itertools.pairwise(ends)]


def dense_to_flat(
    array: NDArray[Any],
    lengths: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    side: str = "right",
) -> tuple[NDArray[Any], NDArray[numpy.int64]]:
    """Take the padding off, and put the sequences end to end.

    Parameters
    ----------
    array, lengths, mask, side
        As for `dense_to_ragged`.

    Returns
    -------
    values : numpy.ndarray, shape (total, ...)
        All sequences, in a new array in native byte order.
    offsets : numpy.ndarray, shape (n + 1,), dtype int64
        Sequence i is ``values[offsets[i]:offsets[i + 1]]``.

    Raises
    ------
    TypeError, ValueError
        As of `dense_to_ragged`.

    Examples
    --------
    >>> import numpy
    >>> from fuel.kernels.ragged import dense_to_flat
    >>> values, offsets = dense_to_flat(numpy.array([[1, 2], [3, 0]]), mask=[[1, 1], [1, 0]])
    >>> values.tolist(), offsets.tolist()
    ([1, 2, 3], [0, 2, 3])

    """
    array = numpy.asarray(array)
    if array.ndim < 2:
        raise ValueError(f"`array` must be of shape (n, width, ...), got {array.shape}")
    if (lengths is None) == (mask is None):
        raise TypeError("give either `lengths` or `mask`, which say what of the array is data")
    left = _left(side)
    if mask is not None:
        chosen = numpy.asarray(mask)
        if chosen.shape != array.shape[:2]:
            raise ValueError(
                f"`mask` must have the shape {array.shape[:2]} of the array's first two axes, got "
                f"{chosen.shape}"
            )
        chosen = chosen != numpy.zeros((), chosen.dtype)
        values = array[chosen].astype(numpy.result_type(array.dtype), copy=False)
        return values, offsets_of(numpy.count_nonzero(chosen, axis=1))
    counts = integers("lengths", lengths)
    if counts.shape != array.shape[:1] or (
        counts.size and not 0 <= counts.min() <= counts.max() <= array.shape[1]
    ):
        raise ValueError(
            f"`lengths` must be {array.shape[0]} numbers from 0 to {array.shape[1]}, the width of "
            f"the array, got {counts.tolist()!r:.80}"
        )
    rows = _kernel.scan_dense(array, counts, left)
    if rows is None:
        rows = reference.scan_dense(array, counts, left)
    return joined(rows), offsets_of(counts)


def join(sequences: Any) -> tuple[NDArray[Any], NDArray[numpy.int64]]:
    """Put sequences end to end.

    Parameters
    ----------
    sequences : sequence of array_like, or numpy.ndarray of shape (n, length, ...)
        Sequences that agree in all dimensions but the first.

    Returns
    -------
    values : numpy.ndarray, shape (total, ...)
        All sequences, in a new array of the type that can hold them all.
    offsets : numpy.ndarray, shape (n + 1,), dtype int64
        Sequence i is ``values[offsets[i]:offsets[i + 1]]``.

    Raises
    ------
    ValueError
        If what came is not sequences that go together.

    Examples
    --------
    >>> from fuel.kernels.ragged import join
    >>> values, offsets = join([[1, 2], [], [3]])
    >>> values.tolist(), offsets.tolist()
    ([1, 2, 3], [0, 2, 2, 3])

    """
    rows = read(listed(sequences), _kernel)
    lengths = numpy.empty(rows.count, dtype=numpy.int64)
    rows.lengths(lengths)
    return joined(rows), offsets_of(lengths)


def stack(items: list[Any] | tuple[Any, ...]) -> NDArray[Any] | None:
    """Make one array of arrays that are alike.

    Parameters
    ----------
    items : list or tuple
        Anything.

    Returns
    -------
    numpy.ndarray, shape (n, ...), or None
        What ``numpy.asarray`` makes of them, in a new array; None where they are not arrays of
        one type and shape, with one axis or more, that lie in memory in C order, or where the
        kernel runs in its NumPy form.

    Examples
    --------
    >>> import numpy
    >>> from fuel.kernels.ragged import stack
    >>> stack([numpy.arange(2), [0, 1]]) is None
    True

    """
    if _kernel is reference or type(items) not in (list, tuple):
        return None  # NumPy itself is as quick
    rows = _kernel.scan(items)
    if rows is None or rows.shortest != rows.longest:
        return None
    if rows.longest == 0 and not uniform(items):
        return None
    array = new_array((rows.count, rows.longest, *rows.rest), rows.dtype)
    rows.join(array)
    return array


def uniform(items: list[Any] | tuple[Any, ...]) -> bool | None:
    """Tell whether all items are arrays of one shape.

    Parameters
    ----------
    items : list or tuple
        Anything.

    Returns
    -------
    bool or None
        None where not all are arrays, or there are none.

    Examples
    --------
    >>> import numpy
    >>> from fuel.kernels.ragged import uniform
    >>> uniform([numpy.zeros(2), numpy.zeros(3)]), uniform([[0, 0], [0, 0]])
    (False, None)

    """
    found: bool | None = _kernel.uniform(tuple(items))
    return found


def _pad(
    rows: Any,
    plain: Callable[[], reference.Rows],
    value: Any,
    side: str,
    width: Any,
    dtype: Any,
    mask_dtype: Any,
    out: Any,
    mask_out: Any,
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    left = _left(side)
    wide = rows.longest if width is None and out is None else _width(rows, width, out)
    if dtype is not None and rows.dtype != dtype:
        rows = plain()
        rows.dtype = numpy.dtype(dtype)
    fill = fill_of(value, rows.dtype)
    if mask_dtype is None and mask_out is not None:
        mask_dtype = mask_out.dtype
    mask = one = None
    if mask_dtype is not None:
        mask = _target("mask_out", mask_out, (rows.count, wide), numpy.dtype(mask_dtype))
        one = _one(mask.dtype)
        if mask.dtype.hasobject:
            dtype, rows = rows.dtype, plain()
            rows.dtype = dtype
    padded = _target("out", out, (rows.count, wide, *rows.rest), rows.dtype)
    rows.pad(padded, mask, fill, one, left)
    return padded, mask


def _left(side: Any) -> bool:
    if side not in ("right", "left"):
        raise ValueError(f"`side` must be 'right' or 'left', got {side!r:.80}")
    return bool(side == "left")


def _width(rows: Any, width: Any, out: Any) -> int:
    """Return the width asked for, if all rows fit."""
    asked = width(rows.longest) if callable(width) else width
    if asked is None and not callable(width):
        if not isinstance(out, numpy.ndarray) or out.ndim < 2:
            raise ValueError(f"`out` must be an array of shape (n, width, ...), got {out!r:.80}")
        asked = out.shape[1]
    try:
        number = operator.index(asked)
    except TypeError:
        raise TypeError(f"`width` must be an integer, got {asked!r:.80}") from None
    if number < 0:
        raise ValueError(f"`width` must not be negative, got {number}; 0 is for empty sequences")
    if number < rows.longest:
        lengths = numpy.empty(rows.count, dtype=numpy.int64)
        rows.lengths(lengths)
        first = int(numpy.flatnonzero(lengths > number)[0])
        raise ValueError(
            f"sequence {first} has length {lengths[first]}, more than the width {number}; make "
            "the width larger, or cut long sequences before"
        )
    return number


def _target(
    argument: str, given: Any, shape: tuple[int, ...], dtype: numpy.dtype[Any]
) -> NDArray[Any]:
    """Return the array to write to."""
    if given is None:
        return new_array(shape, dtype)
    if (
        not isinstance(given, numpy.ndarray)
        or given.shape != shape
        or given.dtype != dtype
        or not given.flags.c_contiguous
        or not given.flags.writeable
    ):
        what = f"{given.dtype} {given.shape}" if isinstance(given, numpy.ndarray) else given
        raise ValueError(
            f"`{argument}` must be a writable array in C order of type {dtype} and shape {shape}, "
            f"got {what!s:.80}"
        )
    return given


@functools.lru_cache(maxsize=64)
def _one(dtype: numpy.dtype[Any]) -> NDArray[Any]:
    """Return the mark for data in a mask."""
    one = numpy.zeros((), dtype)
    one[...] = 1
    return one
