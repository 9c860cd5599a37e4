"""How many observations there are, and fetching them: `numobs` and `getobs` for every container.

Here is the one list of what is a container. What a request may be is decided in
`fuel.datasets._requests`, as for all datasets.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from fuel.datasets._dataset import Dataset
from fuel.datasets._iterable import IterableDataset
from fuel.datasets._requests import Rows, normalise, take, take_vector
from fuel.kernels.gather import gather
from fuel.observations._storing import check_array, place, same_structure, store
from fuel.observations._view import View, rebuild
from fuel.utils._owning import own

__all__ = ["fetch", "getobs", "is_numeric", "numbers_of", "numobs"]

_KINDS_OF_NUMBERS = "biufc"
#: What a kernel can read.
_TABLES = (numpy.ndarray, numpy.memmap)


def numobs(data: Any) -> int:
    """Return how many observations a container has.

    Parameters
    ----------
    data : container
        An array, a memory map or an HDF5 dataset (observations along the first axis), a list, a
        Fuel dataset, anything with ``len`` and ``[]``; or a tuple, named tuple or dict of these.

    Returns
    -------
    int
        The number of observations.

    Raises
    ------
    ValueError
        If the containers in a tuple or a dict have different lengths, or there are none in it.
    TypeError
        If `data` is no container.

    Notes
    -----
    Reads no data.

    Examples
    --------
    >>> import numpy
    >>> from fuel.observations import numobs
    >>> numobs(numpy.zeros((100, 10)))
    100
    >>> numobs({"x": numpy.zeros((5, 10)), "y": list("abcde")})
    5

    """
    if type(data) is numpy.ndarray and data.ndim:
        return len(data)
    if isinstance(data, Mapping):
        return _common_length({key: numobs(part) for key, part in data.items()}, data)
    if isinstance(data, tuple):
        return _common_length(dict(enumerate(map(numobs, data))), data)
    if _is_dataset(data):
        return _num_examples(data)
    sized = hasattr(data, "__len__") and hasattr(data, "__getitem__")
    by_label = hasattr(data, "iloc")
    if not sized or by_label or isinstance(data, type) or getattr(data, "shape", None) == ():
        raise TypeError(
            f"observations need a container, got {type(data).__name__}: {data!r:.80}; "
            + _instead(data, by_label)
        )
    return len(data)


def _instead(data: Any, by_label: bool) -> str:
    """Say what to give instead of something that is no container."""
    if by_label:
        return (
            "it is asked for rows by label, and a frame for columns; give `data.to_numpy()`, or "
            "a dict of the columns' arrays"
        )
    if isinstance(data, (set, frozenset)):
        return "a set has no order; give a list, such as `sorted(data)`"
    if hasattr(data, "__next__"):
        return "it can only be gone through; make a list of it"
    if hasattr(data, "__len__") and hasattr(data, "__getitems__"):
        return "it has `__getitems__`, but single observations are asked for with `__getitem__`"
    return (
        "give an array with a first axis, a list, a dataset, an object with `__len__` and "
        "`__getitem__`, or a tuple or dict of these"
    )


def getobs(data: Any, indices: Any = None, out: Any = None) -> Any:
    """Fetch one observation, or a batch of them.

    Parameters
    ----------
    data : container
        What `numobs` takes.
    indices : int, slice, list, tuple, range or array, optional
        One index, for one observation; or several in any order and with repetitions, a slice, or
        one bool for each observation, for a batch. All observations by default.
    out : array, or a tuple, named tuple, dict or list of arrays, optional
        Where the result goes: arrays of its shape and type, in its structure.

    Returns
    -------
    object
        An observation, or a batch, in the structure of the container: a tuple for a tuple, a named
        tuple for a named tuple, a dict for a dict; a Fuel dataset gives a tuple, one entry a
        source. A batch of an array is an array, its first axis the batch. A batch of a list is a
        list. Other objects are asked ``data.__getitems__([...])`` if they have this method, and
        answer as they like; else the batch is the list of what ``data[i]`` returns. With `out`,
        that.

    Raises
    ------
    fuel.exceptions.RequestError
        If an index is negative or out of range, or `indices` are none.
    ValueError
        If `indices` are of a type that cannot be a request, or `out` cannot take the result.
    TypeError
        If `data` is no container.

    Notes
    -----
    The arrays and lists that are returned share nothing with the container. Safe from several
    threads if reading the containers is.

    Examples
    --------
    >>> import numpy
    >>> from fuel.observations import getobs
    >>> data = {"x": numpy.arange(10).reshape(5, 2), "y": list("abcde")}
    >>> getobs(data, 1)
    {'x': array([2, 3]), 'y': 'b'}
    >>> getobs(data, [4, 0])
    {'x': array([[8, 9],
           [0, 1]]), 'y': ['e', 'a']}
    >>> buffer = numpy.empty((2, 2), dtype=int)
    >>> getobs(data["x"], [4, 0], out=buffer) is buffer
    True

    """
    count = numobs(data)
    if indices is None:
        return fetch(data, slice(0, count, 1), out)
    return fetch(data, normalise(indices, count, "the data"), out)


def fetch(data: Any, rows: Rows, out: Any = None) -> Any:
    """Fetch observations that are known to exist; `getobs` without its checks.

    Parameters
    ----------
    data : container
        Where to take them from.
    rows : int, slice or ndarray of int64
        What `fuel.datasets._requests.normalise` returned; several rows may be none.
    out : object, optional
        As for `getobs`.

    Returns
    -------
    object
        As `getobs`.

    """
    if isinstance(data, numpy.ndarray):
        return _from_array(data, rows, out)
    if isinstance(data, View):
        return data._fetch(rows, out)
    if isinstance(data, (tuple, Mapping)):
        parts = list(data.values()) if isinstance(data, Mapping) else list(data)
        if out is None:
            return rebuild(data, [fetch(part, rows) for part in parts])
        places = same_structure(data, out)
        for part, key in zip(parts, places, strict=True):
            place(out, key, fetch(part, rows, out[key]))
        return out
    return store(_from_object(data, rows), out)


def numbers_of(rows: Any) -> Sequence[int]:
    """Return several rows one by one, as integers of Python.

    Parameters
    ----------
    rows : slice or ndarray of int64
        Several rows in their final form.

    Returns
    -------
    sequence of int
        The same.

    """
    if isinstance(rows, slice):
        return range(rows.start, rows.stop, rows.step)
    numbers: list[int] = rows.tolist()
    return numbers


def is_numeric(data: Any) -> bool:
    """Tell whether batches of a container are arrays of numbers for certain.

    Parameters
    ----------
    data : container
        Any container.

    Returns
    -------
    bool
        Whether it consists of arrays of numbers, in memory or HDF5, only.

    """
    if isinstance(data, Mapping):
        return all(map(is_numeric, data.values()))
    if isinstance(data, tuple):
        return all(map(is_numeric, data))
    if type(data) in _TABLES or _is_h5py(data):
        return bool(data.dtype.kind in _KINDS_OF_NUMBERS and data.dtype.isnative)
    return False


def _common_length(lengths: dict[Any, int], data: Any) -> int:
    """Return the length that all containers of a structure have."""
    if len(set(lengths.values())) == 1:
        return next(iter(lengths.values()))
    if not lengths:
        raise ValueError(
            f"a {type(data).__name__} of containers needs at least one, got an empty one; use a "
            "list for observations"
        )
    found: Any = lengths
    if isinstance(data, tuple):
        fields = getattr(data, "_fields", None)
        found = tuple(lengths.values())
        if fields is not None:
            found = dict(zip(fields, found, strict=True))
    raise ValueError(
        f"the containers of a {type(data).__name__} must have the same number of observations, got "
        f"{found!r}; cut them to the same length"
        + (
            ""
            if isinstance(data, Mapping)
            else ", or use a list where each entry is an observation"
        )
    )


def _is_dataset(data: Any) -> bool:
    return isinstance(data, Dataset) or (
        hasattr(type(data), "get_data") and hasattr(data, "sources")
    )


def _is_h5py(data: Any) -> bool:
    return type(data).__module__.partition(".")[0] == "h5py" and hasattr(data, "dtype")


def _num_examples(data: Any) -> int:
    if isinstance(data, IterableDataset) or hasattr(type(data), "get_epoch_iterator"):
        raise TypeError(
            f"observations are asked for by number, got {type(data).__name__}, which only goes "
            "from one to the next; use a dataset that answers requests, such as IndexableDataset"
        )
    try:
        return operator.index(data.num_examples)
    except (AttributeError, TypeError) as error:
        raise TypeError(
            f"{type(data).__name__} does not know how many examples it has; give it the attribute "
            "`num_examples`, or use a dataset that has it"
        ) from error


def _from_array(array: Any, rows: Any, out: Any) -> Any:
    """Fetch rows of an array."""
    if out is None:
        return take_vector(array, rows) if isinstance(rows, numpy.ndarray) else take(array, rows)
    if isinstance(rows, numpy.ndarray) and isinstance(out, numpy.ndarray):
        shape = (len(rows), *array.shape[1:])
        check_array(out, shape, array.dtype)
        plain = type(array) in _TABLES and not array.dtype.hasobject
        if plain and out.flags.c_contiguous and not numpy.may_share_memory(array, out):
            return gather(array, rows, out=out)
    if array.dtype.hasobject:
        return store(_from_array(array, rows, None), out)
    # A single row, or a slice, goes straight from the array to where it is to be.
    return store(array[rows], out)


def _from_object(data: Any, rows: Any) -> Any:
    """Fetch out of what is neither an array, nor a view, nor a structure."""
    if _is_dataset(data):
        # Those of the package take every form of request; others may expect what users write.
        ours = type(data).__module__.partition(".")[0] == "fuel"
        return data.get_data(None, rows if ours or isinstance(rows, int) else [*numbers_of(rows)])
    if isinstance(rows, int) or _is_h5py(data):
        return take(data, rows)
    if type(data) is list:
        return take_vector(data, rows) if isinstance(rows, numpy.ndarray) else take(data, rows)
    numbers = numbers_of(rows)
    if hasattr(type(data), "__getitems__"):
        return data.__getitems__(list(numbers)) if len(numbers) else []
    return [own(data[number]) for number in numbers]
