"""Requests to datasets with numbered examples: checked once, put in one form, answered from memory.

`normalise` is the one place that says which requests are legal; `take` reads rows of anything
that is in memory. Reading rows of files is in ``_h5_read``; parts of files are described by
`fuel.utils.Subset`.
"""

from __future__ import annotations

import operator
from typing import Any, NoReturn, TypeAlias, TypeGuard

import numpy

from fuel.exceptions import RequestError
from fuel.kernels.gather import gather
from fuel.kernels.objects import take as take_objects
from fuel.utils._owning import own, own_array
from fuel.utils._shared_list import SharedList

__all__ = ["Rows", "Window", "merge", "normalise", "take", "take_lent", "take_vector"]

#: A request in its final form: one index, an ascending slice with numeric parts, or an array of
#: indices; everything in it is known to exist.
Rows: TypeAlias = "int | slice | numpy.ndarray[Any, numpy.dtype[numpy.int64]]"

_BOOLS = frozenset({bool, numpy.bool_})
_INT64 = numpy.dtype(numpy.int64)
# Tuples, because a union of types is built anew each time that it is written down in a function.
_LISTS = (list, tuple, range)
_SCALAR_BOOLS = (bool, numpy.bool_)
#: What a kernel can read.
_TABLES = (numpy.ndarray, numpy.memmap)
_LEGAL = (
    "use an index, a slice, or a list or one-dimensional array of indices (or of one bool per "
    "example)"
)


def normalise(request: Any, num_examples: int, owner: str = "the dataset") -> Rows:
    """Check a request and put it in one form.

    Parameters
    ----------
    request : int, slice, list, tuple, range or ndarray
        What was asked for. Arrays and lists hold indices, or one bool for each example.
    num_examples : int
        The number of examples that there are.
    owner : str, optional
        What to call the dataset in error messages.

    Returns
    -------
    int, slice or ndarray of int64
        The same examples, in the same order.

    Raises
    ------
    RequestError
        If the request names an example that does not exist, or no example at all.
    ValueError
        If it is of a type that cannot be a request.

    """
    if type(request) is int and 0 <= request < num_examples:
        return request
    if isinstance(request, slice):
        return _normalise_slice(request, num_examples, owner)
    if isinstance(request, _LISTS) or getattr(request, "ndim", 0) > 0:
        return _normalise_indices(request, num_examples, owner)
    if isinstance(request, _SCALAR_BOOLS):
        _refuse(request, owner)
    try:
        index = operator.index(request)
    except TypeError:
        _refuse(request, owner)
    if not 0 <= index < num_examples:
        _out_of_range(index, num_examples, owner)
    return index


def _refuse(request: Any, owner: str) -> NoReturn:
    text = repr(request)
    raise ValueError(
        f"{owner} cannot answer a request of type {type(request).__name__}: got "
        f"{text if len(text) <= 80 else text[:77] + '...'}; {_LEGAL}"
    )


def _out_of_range(index: Any, num_examples: int, owner: str) -> NoReturn:
    if num_examples == 0:
        raise RequestError(
            f"{owner} is empty, got a request for example {index}; check the split or the subset "
            "that it was made from"
        )
    raise RequestError(
        f"{owner} has {num_examples} examples, got a request for example {index}; indices go from "
        f"0 to {num_examples - 1}, negative ones are not counted from the end"
    )


def _nothing(request: str, num_examples: int, owner: str) -> NoReturn:
    if num_examples == 0:
        raise RequestError(
            f"{owner} is empty, got the request {request}; check the split or the subset that "
            "it was made from"
        )
    raise RequestError(
        f"{owner} has {num_examples} examples, got a request that names none of them: {request}; "
        "ask for at least one"
    )


def _normalise_slice(request: slice, num_examples: int, owner: str) -> slice:
    parts = []
    for part, default in ((request.start, 0), (request.stop, num_examples), (request.step, 1)):
        try:
            parts.append(default if part is None else operator.index(part))
        except TypeError:
            _refuse(request, owner)
    start, stop, step = parts
    if step < 1 or start < 0 or stop < 0:
        raise RequestError(
            f"{owner} has {num_examples} examples, got {request!r}; a slice must have a positive "
            "step and no negative part"
        )
    if num_examples == 0:
        _nothing(repr(request), num_examples, owner)
    if stop > num_examples or start >= num_examples:
        _out_of_range(max(start, stop - 1), num_examples, owner)
    if start >= stop:
        _nothing(repr(request), num_examples, owner)
    # A step beyond the end names the first example only; libraries of files count in 64 bits.
    return slice(start, stop, min(step, num_examples))


def _normalise_indices(request: Any, num_examples: int, owner: str) -> Rows:
    if len(request) == 0:
        _nothing(repr(request), num_examples, owner)
    if isinstance(request, range) and request.step > 0 and request.start >= 0:
        # The stop of a range may overshoot its last element, that of our slices may not.
        return _normalise_slice(
            slice(request.start, request[-1] + 1, request.step), num_examples, owner
        )
    try:
        indices = numpy.asarray(request)
    except (TypeError, ValueError, OverflowError):
        _refuse(request, owner)
    if indices.dtype == _INT64 and indices.ndim == 1 and type(request) in (list, numpy.ndarray):
        # The usual request in two looks at it: as unsigned numbers, negative ones are the largest,
        # and bools among integers, which became 0 and 1, are only to be sought where these are.
        unsigned = indices.view(numpy.uint64)
        if int(unsigned.max()) < num_examples and (
            type(request) is not list
            or int(unsigned.min()) > 1
            or _BOOLS.isdisjoint(map(type, request))
        ):
            return indices
    if indices.ndim != 1 or _is_ambiguous(request, indices):
        _refuse(request, owner)
    if indices.dtype.kind == "b":
        if len(indices) != num_examples:
            raise RequestError(
                f"{owner} has {num_examples} examples, got a mask of {len(indices)} bools; give "
                "one bool for each example"
            )
        rows = numpy.flatnonzero(indices)
        if not len(rows):
            _nothing("a mask without any True", num_examples, owner)
        return rows.astype(numpy.int64, copy=False)
    if indices.dtype.kind in "fO" and all(type(index) is int for index in request):
        # Some of them may not fit into 64 bits; those are out of any range.
        for index in request:
            if not 0 <= index < num_examples:
                _out_of_range(index, num_examples, owner)
        return indices.astype(numpy.int64)
    if indices.dtype.kind not in "iu":
        _refuse(request, owner)
    if indices.min() < 0 or indices.max() >= num_examples:
        wrong = indices[(indices < 0) | (indices >= num_examples)]
        _out_of_range(int(wrong[0]), num_examples, owner)
    return indices.astype(numpy.int64, copy=False)


def _is_ambiguous(request: Any, indices: numpy.ndarray[Any, Any]) -> bool:
    """Tell whether bools stand among indices, or entries of an array are masked out."""
    if isinstance(request, list | tuple):
        return indices.dtype.kind != "b" and not _BOOLS.isdisjoint(map(type, request))
    return isinstance(request, numpy.ma.MaskedArray) and numpy.ma.is_masked(request)


def merge(part: Any, rows: Rows) -> Rows:
    """Translate rows of a part of something into rows of the whole.

    Parameters
    ----------
    part : slice or ndarray of int64
        The part: consecutive rows, or their numbers.
    rows : int, slice or ndarray of int64
        What `normalise` returned for the part's length.

    Returns
    -------
    int, slice or ndarray of int64
        The same rows, as the whole numbers them.

    """
    if isinstance(part, slice):
        first: int = part.start
        if isinstance(rows, slice):
            return slice(first + rows.start, first + rows.stop, rows.step)
        return first + rows
    if isinstance(rows, int):
        return int(part[rows])
    chosen: numpy.ndarray[Any, numpy.dtype[numpy.int64]] = part[rows]
    return chosen


def take_vector(container: Any, rows: numpy.ndarray[Any, Any], borrow: bool = False) -> Any:
    """Take rows named by a vector of indices out of something that is in memory.

    Parameters
    ----------
    container : ndarray, sequence, or object with ``__len__`` and ``__getitem__``
        Where to take them from.
    rows : ndarray of int64, shape (n,)
        Any indices: which exist is checked here.
    borrow : bool, optional
        Whether whoever asked only reads what it gets: then the arrays inside a list or an object
        array are handed out as they are, in a list.

    Returns
    -------
    ndarray or list
        What `take` returns for the same rows.

    Raises
    ------
    RequestError
        If one of them does not exist.

    """
    if type(container) in _TABLES and container.dtype.kind in "biufc" and container.ndim:
        return gather(container, rows)
    if type(container) is list or (
        type(container) is numpy.ndarray and container.dtype == object and container.ndim == 1
    ):
        items = take_objects(container, rows)
        if borrow:
            return items
        items = list(map(own, items))
        return items if type(container) is list else numpy.fromiter(items, object, len(items))
    if type(container) is SharedList:
        return container.take(rows)
    if len(rows) and int(rows.view(numpy.uint64).max()) >= len(container):
        raise RequestError(f"the rows go from 0 to {len(container) - 1}, got {rows!r:.80}")
    return take(container, rows)


def take(container: Any, rows: Rows) -> Any:
    """Take rows out of something that is in memory, or behaves as if it were.

    Parameters
    ----------
    container : ndarray, sequence, or object with ``__len__`` and ``__getitem__``
        Where to take them from.
    rows : int, slice or ndarray of int64
        What `normalise` returned for this container's length.

    Returns
    -------
    object
        One item for an int. For several: an array out of an array, otherwise a list of items
        (a slice of a builtin sequence has that sequence's type). Arrays share no memory with
        the container.

    """
    if isinstance(container, Window):
        return take(container.container, merge(slice(container.first, container.last), rows))
    if isinstance(container, numpy.ndarray):
        taken = container[rows]
        # Picking by an index array has copied already; a slice or a single row is a window.
        if isinstance(rows, numpy.ndarray):
            return own_array(taken)
        return own(taken)
    if isinstance(rows, int):
        return own(container[rows])
    if type(container).__module__.partition(".")[0] == "h5py":
        from fuel.io.hdf5._selection import read_rows

        return read_rows(container, rows)
    if isinstance(rows, slice):
        if isinstance(container, list):
            return [own(item) for item in container[rows]]
        if isinstance(container, tuple):
            return tuple(own(item) for item in container[rows])
        try:
            return own(container[rows])
        except TypeError:
            # It only knows single indices.
            rows = numpy.arange(rows.start, rows.stop, rows.step)
    if type(container) is SharedList:
        return container.take(rows)
    return [own(container[index]) for index in rows.tolist()]


def take_lent(container: Any, rows: Rows) -> Any:
    """Take rows, as a read-only window where they follow one another in an array.

    Parameters
    ----------
    container : object
        Where to take them from.
    rows : int, slice or ndarray of int64
        Rows; of a vector is checked here which exist.

    Returns
    -------
    object
        A window on the container; or, like all rows of anything but an array of plain elements,
        what `take` or `take_vector` returns.

    """
    if not isinstance(container, numpy.ndarray) or container.dtype.hasobject:
        return take_vector(container, rows) if _is_vector(rows) else take(container, rows)
    if _is_vector(rows):
        first, last = int(rows[0]), int(rows[-1])
        if last - first != len(rows) - 1 or not bool((rows[1:] - rows[:-1] == 1).all()):
            return take_vector(container, rows)
        if first < 0 or last >= len(container):
            return take_vector(container, rows)  # which words the error
        rows = slice(first, last + 1)
    window = container[rows]
    if isinstance(window, numpy.ndarray):
        window = window.view(numpy.ndarray)
        window.flags.writeable = False
    return window


def _is_vector(rows: Any) -> TypeGuard[numpy.ndarray[Any, numpy.dtype[numpy.int64]]]:
    return isinstance(rows, numpy.ndarray)


class Window:
    """Some consecutive rows of a container that cannot be sliced without reading it.

    Parameters
    ----------
    container : object
        It has ``__len__`` and ``__getitem__``.
    first, last : int
        The first row, and the row after the last.

    """

    def __init__(self, container: Any, first: int, last: int) -> None:
        self.container, self.first, self.last = container, first, last

    def __len__(self) -> int:
        return self.last - self.first

    def __getitem__(self, key: Any) -> Any:
        return take(self, normalise(key, len(self), "the source"))
