"""What the doors to kernels over rows share: reading what users give, and arrays to write to."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.kernels import _ragged_reference as reference
from fuel.kernels._integers import in_order
from fuel.kernels.memory import empty

__all__ = ["integers", "joined", "listed", "new_array", "offsets_of", "read"]


def read(sequences: Any, kernel: Any) -> Any:
    """Return sequences as rows.

    Parameters
    ----------
    sequences : list, tuple or numpy.ndarray
        The sequences.
    kernel : module
        A kernel with `scan`.

    Returns
    -------
    Rows
        Those of the kernel, or of the reference where the kernel leaves the sequences to it.

    Raises
    ------
    ValueError
        If they are no sequences, or do not go together.

    """
    rows = kernel.scan(sequences)
    return reference.scan(sequences) if rows is None else rows


def listed(sequences: Any) -> Any:
    """Return a batch in a form that can be read more than once.

    Parameters
    ----------
    sequences : iterable
        The sequences.

    Returns
    -------
    list, tuple or numpy.ndarray
        As given, or a list.

    Raises
    ------
    ValueError
        If it is no collection.

    """
    if type(sequences) in (list, tuple) or isinstance(sequences, numpy.ndarray):
        return sequences
    try:
        return list(sequences)
    except TypeError:
        raise ValueError(f"a batch must be a list of sequences, got {sequences!r:.80}") from None


def new_array(shape: tuple[int, ...], dtype: numpy.dtype[Any]) -> NDArray[Any]:
    """Return an array to be written.

    Parameters
    ----------
    shape : tuple of int
        Its shape.
    dtype : numpy.dtype
        Its type.

    Returns
    -------
    numpy.ndarray
        In recycled memory, except for objects.

    """
    return numpy.zeros(shape, dtype) if dtype.hasobject else empty(shape, dtype)


def integers(argument: str, given: Any) -> NDArray[numpy.int64]:
    """Return a vector of integers.

    Parameters
    ----------
    argument : str
        What it was given as.
    given : array_like
        The integers.

    Returns
    -------
    numpy.ndarray, shape (n,), dtype int64
        In C order.

    Raises
    ------
    ValueError
        If it is anything else.

    """
    vector: NDArray[Any] = numpy.asarray(given)
    if vector.ndim != 1 or (vector.size and vector.dtype.kind not in "iu"):
        raise ValueError(
            f"`{argument}` must be a vector of integers, got shape {vector.shape}, dtype "
            f"{vector.dtype}"
        )
    return in_order(vector, numpy.int64)


def joined(rows: Any) -> NDArray[Any]:
    """Return rows end to end.

    Parameters
    ----------
    rows : Rows
        The rows.

    Returns
    -------
    numpy.ndarray, shape (total, ...)
        A new array.

    """
    values = new_array((rows.total, *rows.rest), rows.dtype)
    rows.join(values)
    return values


def offsets_of(lengths: NDArray[Any]) -> NDArray[numpy.int64]:
    """Return where rows of these lengths begin and end, laid end to end.

    Parameters
    ----------
    lengths : numpy.ndarray, shape (n,)
        The lengths.

    Returns
    -------
    numpy.ndarray, shape (n + 1,), dtype int64
        From 0 to their sum.

    """
    offsets = numpy.zeros(len(lengths) + 1, dtype=numpy.int64)
    numpy.cumsum(lengths, out=offsets[1:])
    return offsets
