"""Rows of unequal lengths in plain NumPy.

`fuel.kernels.ragged` describes what is done and checks the arguments; `_ragged.pyx` is the
compiled form with the same functions, for arrays that are alike. This one takes anything that can
be a sequence, and says what is wrong with what cannot.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.exceptions import RequestError

__all__ = ["Rows", "scan", "scan_dense", "scan_flat", "uniform"]


class Rows:
    """Rows, and what an array that holds all of them must be like.

    Parameters
    ----------
    arrays : list of numpy.ndarray
        The rows, each with one axis or more.

    Attributes
    ----------
    arrays
        As given.
    count, longest, shortest, total : int
        How many rows; the length of the longest and of the shortest; all lengths together.
    dtype : numpy.dtype
        The type that can hold all of them.
    rest : tuple of int
        Their shape behind the first axis.

    Raises
    ------
    ValueError
        If no type can hold all of them, or they differ behind the first axis.

    """

    def __init__(self, arrays: list[Any]) -> None:
        self.arrays = arrays
        self.count = len(arrays)
        # An empty list says nothing about type and shape.
        telling = [array for array in arrays if array.size] or arrays
        try:
            types = {array.dtype for array in telling}
            self.dtype = numpy.result_type(*types) if telling else numpy.dtype(float)
        except TypeError as error:
            kinds = sorted({str(array.dtype) for array in telling})
            raise ValueError(
                f"the sequences have types that no array can hold together ({', '.join(kinds)}); "
                "convert them first"
            ) from error
        self.rest: tuple[int, ...] = telling[0].shape[1:] if telling else ()
        for array in arrays:
            if array.shape[1:] != self.rest and array.shape != (0,):
                raise ValueError(
                    "all sequences must agree in all dimensions but the first, got shapes "
                    f"{telling[0].shape} and {array.shape}; reshape them"
                )
        lengths = [len(array) for array in arrays]
        self.longest = max(lengths, default=0)
        self.shortest = min(lengths, default=0)
        self.total = sum(lengths)

    def lengths(self, out: NDArray[numpy.int64]) -> None:
        """Write the length of each row.

        Parameters
        ----------
        out : numpy.ndarray, shape (count,), dtype int64
            Where they are written.

        """
        out[:] = [len(array) for array in self.arrays]

    def pad(
        self,
        out: NDArray[Any],
        mask: NDArray[Any] | None,
        fill: Any,
        one: Any,
        left: bool,
    ) -> None:
        """Write all rows into a rectangle, and what tells them from padding beside it.

        Parameters
        ----------
        out : numpy.ndarray, shape (count, width, ...)
            Where the rows are written; `width` is at least `longest`.
        mask : numpy.ndarray, shape (count, width), or None
            Where the mask is written.
        fill : numpy.ndarray, shape (), or None
            One number of the padding, of the type of `out`; None for zero.
        one : numpy.ndarray, shape (), or None
            The mark for data, of the type of the mask; None without a mask.
        left : bool
            Whether the padding comes before the data.

        """
        width = out.shape[1]
        out[...] = numpy.zeros((), out.dtype) if fill is None else fill
        if mask is not None:
            mask[...] = numpy.zeros((), mask.dtype)
        for index, array in enumerate(self.arrays):
            start = width - len(array) if left else 0
            if array.size:
                out[index, start : start + len(array)] = array
            if mask is not None:
                mask[index, start : start + len(array)] = one

    def join(self, out: NDArray[Any]) -> None:
        """Write all rows end to end.

        Parameters
        ----------
        out : numpy.ndarray, shape (total, ...)
            Where they are written.

        """
        start = 0
        for array in self.arrays:
            if array.size:
                out[start : start + len(array)] = array
            start += len(array)


def scan(sequences: Iterable[Any]) -> Rows:
    """Return sequences as rows.

    Parameters
    ----------
    sequences : iterable of array_like
        Sequences that agree in all dimensions but the first.

    Returns
    -------
    Rows
        The rows; arrays are not copied.

    Raises
    ------
    ValueError
        If one of them is no sequence, or they do not go together.

    """
    return Rows([_sequence(number, sequence) for number, sequence in enumerate(sequences)])


def scan_flat(
    values: NDArray[Any], offsets: NDArray[numpy.int64], wanted: NDArray[numpy.int64] | None
) -> Rows:
    """Return the rows between offsets into one array.

    Parameters
    ----------
    values : numpy.ndarray, shape (total, ...)
        All rows, end to end.
    offsets : numpy.ndarray, shape (n + 1,), dtype int64
        Row i is ``values[offsets[i]:offsets[i + 1]]``.
    wanted : numpy.ndarray of int64, or None
        Which rows; None for all.

    Returns
    -------
    Rows
        The rows.

    Raises
    ------
    RequestError
        If there is no such row.
    ValueError
        If offsets decrease or lead out of `values`.

    """
    limit = len(offsets) - 1
    rows = range(limit) if wanted is None else wanted.tolist()
    arrays = []
    for row in rows:
        if not 0 <= row < limit:
            raise RequestError(
                f"there are the rows 0 to {limit - 1}, got {row}"
                if limit
                else f"there are no rows, got {row}"
            )
        start, stop = int(offsets[row]), int(offsets[row + 1])
        if not 0 <= start <= stop <= len(values):
            raise ValueError(
                f"`offsets` must rise from 0 to at most {len(values)}, the number of values, got "
                f"{start} and {stop} around row {row}"
            )
        arrays.append(values[start:stop])
    found = Rows(arrays)
    if not arrays:
        # No row says anything about type and shape, but the values do.
        found.dtype = numpy.result_type(values.dtype)
        found.rest = values.shape[1:]
    return found


def scan_dense(array: NDArray[Any], lengths: NDArray[numpy.int64], left: bool) -> Rows:
    """Return the rows that padding made a rectangle of.

    Parameters
    ----------
    array : numpy.ndarray, shape (n, width, ...)
        The padded rows.
    lengths : numpy.ndarray, shape (n,), dtype int64
        How long each is.
    left : bool
        Whether the padding comes before the data.

    Returns
    -------
    Rows
        The rows without padding.

    """
    width = array.shape[1]
    if left:
        arrays = [row[width - n :] for row, n in zip(array, lengths.tolist(), strict=True)]
    else:
        arrays = [row[:n] for row, n in zip(array, lengths.tolist(), strict=True)]
    found = Rows(arrays)
    found.dtype = numpy.result_type(array.dtype)
    found.rest = array.shape[2:]
    return found


def uniform(sequences: Any) -> bool | None:
    """Tell whether all items are arrays of one shape.

    Parameters
    ----------
    sequences : list or tuple
        The items.

    Returns
    -------
    bool or None
        None where some are no arrays, or there are none.

    """
    if not len(sequences) or not all(isinstance(item, numpy.ndarray) for item in sequences):
        return None
    return all(item.shape == sequences[0].shape for item in sequences)


def _sequence(number: int, sample: Any) -> Any:
    try:
        array = numpy.asarray(sample)
    except ValueError as error:
        raise ValueError(
            f"sequence {number} is itself ragged: {sample!r:.80}; only the first dimension may vary"
        ) from error
    if array.ndim == 0:
        raise ValueError(f"a batch must hold sequences, got {sample!r:.80} as number {number}")
    return array
