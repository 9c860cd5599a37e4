"""One collection from several examples: an array where they agree in shape, else an object array.

Used by the transformers that put examples together (`Batch`, `Cache`) and by those that must not
fall over batches put together so (`Flatten`, `ScaleAndShift`, `Cast`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from fuel.kernels import ragged
from fuel.utils._owning import own

__all__ = ["as_batch", "is_ragged", "object_array", "stack", "stack_own"]


def object_array(items: Sequence[Any]) -> Any:
    """Return a one-dimensional array that holds objects as they are.

    Parameters
    ----------
    items : sequence
        The objects.

    Returns
    -------
    numpy.ndarray, shape (n,), dtype object
        The objects, none of them converted.

    """
    return numpy.fromiter(items, dtype=object, count=len(items))


def stack(items: Sequence[Any]) -> Any:
    """Return examples as one array.

    Parameters
    ----------
    items : sequence
        The data of one source, example by example.

    Returns
    -------
    numpy.ndarray, shape (n, ...)
        What ``numpy.asarray`` makes of them, in native byte order; where it cannot, because their
        shapes differ, or would change them (it drops zeros at the end of byte strings), an object
        array of shape (n,).

    Notes
    -----
    Arrays that are alike are copied once, into recycled memory.

    """
    # Arrays of unequal shapes take NumPy's way of finding out long, and equal ones need none.
    if isinstance(items, (list, tuple)):
        same = ragged.uniform(items)
        if same is False:
            return object_array(items)
        stacked = ragged.stack(items) if same else None
        if stacked is not None:
            return stacked
    try:
        array = numpy.asarray(items)
    except ValueError:
        return object_array(items)
    if array.dtype.kind == "V" or not array.dtype.isnative:
        # Of several arrays NumPy makes one of their common type, of one it keeps its own: its byte
        # order, and the gaps between its fields.
        array = array.astype(numpy.promote_types(array.dtype, array.dtype), copy=False)
    if array.dtype.kind in "SU" and array.ndim == 1:
        zero: Any = b"\0" if array.dtype.kind == "S" else "\0"
        if any(isinstance(item, type(zero)) and item.endswith(zero) for item in items):
            return object_array(items)
    return array


def stack_own(items: Sequence[Any], borrow: bool = False) -> Any:
    """Return examples as one array that shares nothing with them.

    Parameters
    ----------
    items : sequence
        The data of one source, example by example, as a data set holds it.
    borrow : bool, optional
        Whether whoever asked only reads what it gets: then an object array may hold them as they
        are.

    Returns
    -------
    numpy.ndarray, shape (n, ...)
        What `stack` makes of them.

    """
    batch = stack(items)
    if batch.dtype == object and not borrow:
        for index, item in enumerate(items):
            if isinstance(item, (numpy.ndarray, list)):
                batch[index] = own(item)
    return batch


def as_batch(batch: Any) -> Any:
    """Return a batch of one source as an array.

    Parameters
    ----------
    batch : array_like
        An array, or the examples in a list.

    Returns
    -------
    numpy.ndarray, shape (n, ...)
        The array itself, or the examples stacked.

    """
    if isinstance(batch, (list, tuple)):
        return stack(batch)
    return numpy.asarray(batch)


def is_ragged(array: Any) -> bool:
    """Tell whether an array holds examples of unequal shapes.

    Parameters
    ----------
    array : numpy.ndarray
        A batch of one source.

    Returns
    -------
    bool
        True for a one-dimensional object array with an entry that is an array or a sequence.

    """
    return bool(
        array.dtype == object
        and array.ndim == 1
        and any(isinstance(item, (numpy.ndarray, list, tuple)) for item in array)
    )
