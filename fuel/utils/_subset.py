"""Parts of an indexed collection: which examples belong, and reading requests within them.

`Subset` describes some of the examples of a collection by a slice or a list of indices, and
translates requests into the subset to indices of the collection. Only NumPy is needed: HDF5 and
other on-disk arrays are recognised by having a ``shape``. Opening files is not done here; which
forms a request may have is in `fuel.utils._requests`.
"""

from __future__ import annotations

import numbers
from typing import Any, TypeAlias

import numpy

from fuel.exceptions import RequestError
from fuel.utils._requests import (
    check_integers,
    check_slice_parts,
    index_bounds,
    normalize_indices,
)

__all__ = ["Subset", "iterable_fancy_indexing"]

#: A description or a request: a slice, or indices in a list, tuple, range or array.
_Indices: TypeAlias = Any
#: A list, an array, or an HDF5 dataset. Typed loosely, because h5py and PyTables have no types.
_Indexable: TypeAlias = Any


def _takes_lists(indexable: _Indexable) -> bool:
    """Tell whether a list of indices can be handed over as it is.

    True of what looks like an array: NumPy, h5py, PyTables, tensors. Tables that look lists up
    by label instead of position, known by their ``iloc``, are read item by item, like lists.
    """
    if isinstance(indexable, numpy.ndarray):
        return True
    return hasattr(indexable, "shape") and not hasattr(indexable, "iloc")


def iterable_fancy_indexing(iterable: _Indexable, request: _Indices) -> Any:
    """Index a collection, even a list, with a list of indices.

    Parameters
    ----------
    iterable : list, numpy.ndarray or other collection with ``[]``
        What to read from.
    request : int, slice, list of int or 1-d integer array
        What to read.

    Returns
    -------
    object
        ``iterable[request]``; for a list of indices into a collection that takes only single
        ones, a list of items.

    Examples
    --------
    >>> iterable_fancy_indexing(["a", "b", "c"], [2, 0])
    ['c', 'a']

    """
    if isinstance(request, (slice, numbers.Integral)) or _takes_lists(iterable):
        return iterable[request]
    return [iterable[index] for index in request]


class Subset:
    """Some of the examples of a collection.

    Parameters
    ----------
    list_or_slice : list of int, slice, tuple, range or 1-d array
        The examples that belong. Indices are sorted and each is kept once; neighbours without a
        gap become a slice. A boolean array has one entry per example of the collection.
    original_num_examples : int
        The number of examples in the whole collection.

    Attributes
    ----------
    list_or_slice : list of int or slice
        The description kept.
    original_num_examples : int
        As given.

    Raises
    ------
    ValueError
        If an index or a boundary is negative or past the end, or a slice has a step.

    Notes
    -----
    Nothing is changed after construction, so threads may share a subset; it pickles.

    Examples
    --------
    >>> Subset([4, 2, 3, 2], 10)
    Subset(slice(2, 5, None), 10)
    >>> subset = Subset([0, 3, 7], 10)
    >>> subset[[2, 0]]
    [7, 0]
    >>> subset.index_within_subset(list("abcdefghij"), [2, 0])
    ['h', 'a']
    >>> Subset(slice(0, 3), 10) + Subset(slice(2, 6), 10)
    Subset(slice(0, 6, None), 10)

    """

    list_or_slice: Any
    original_num_examples: int

    def __init__(self, list_or_slice: _Indices, original_num_examples: int) -> None:
        indices = normalize_indices(list_or_slice, original_num_examples)
        if isinstance(indices, numbers.Integral):
            raise TypeError(
                f"a subset is described by a slice or a list of indices, got {list_or_slice!r}; "
                f"use `[{indices}]` for one example"
            )
        self._subset_sanity_check(indices, original_num_examples)
        if self._is_list(indices):
            indices = self._beautify_list(indices)
        self.list_or_slice = indices
        self.original_num_examples = original_num_examples

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.list_or_slice!r:.200}, {self.original_num_examples})"

    @classmethod
    def subset_of(cls, subset: Subset, list_or_slice: _Indices) -> Subset:
        """Make a subset of a subset.

        Parameters
        ----------
        subset : Subset
            Where to choose from.
        list_or_slice : list of int, slice or 1-d array
            What to keep, counted within `subset`.

        Returns
        -------
        Subset
            It refers to the same whole collection.

        Raises
        ------
        RequestError
            If something outside of `subset` is asked for.

        """
        return cls(subset[list_or_slice], subset.original_num_examples)

    @classmethod
    def empty_subset(cls, original_num_examples: int) -> Subset:
        """Make a subset with no examples.

        Parameters
        ----------
        original_num_examples : int
            The number of examples in the whole collection.

        Returns
        -------
        Subset
            It is empty.

        """
        return cls([], original_num_examples)

    def __add__(self, other: Subset) -> Subset:
        """Unite two subsets of one collection.

        Raises
        ------
        ValueError
            If the collections differ in length.

        """
        if not isinstance(other, Subset):
            return NotImplemented
        size = self.original_num_examples
        if size != other.original_num_examples:
            raise ValueError(
                f"only subsets of one collection can be added, got collections of {size} and "
                f"{other.original_num_examples} examples"
            )
        if self.is_empty:
            return other
        if not self.is_list and not other.is_list:
            start, stop, _ = self.slice_to_numerical_args(self.list_or_slice, size)
            first, last, _ = self.slice_to_numerical_args(other.list_or_slice, size)
            if first <= stop and start <= last:
                step = self.list_or_slice.step
                return type(self)(slice(min(start, first), max(stop, last), step), size)
        return type(self)(self.get_list_representation() + other.get_list_representation(), size)

    def __getitem__(self, key: _Indices) -> Any:
        """Translate a request into the subset to one into the whole collection.

        Parameters
        ----------
        key : int, slice, list of int or 1-d array
            A request; all of it with ``slice(None)``.

        Returns
        -------
        int, slice, list of int or numpy.ndarray
            Indices of the collection, in the order asked for; an array for an array.

        Raises
        ------
        RequestError
            If `key` is empty, or names what is not in the subset.

        """
        if isinstance(key, slice) and key == slice(None):
            return self.list_or_slice
        key = normalize_indices(key, self.num_examples)
        if isinstance(key, numbers.Integral):
            self._request_sanity_check([key], self.num_examples)
            if self.is_list:
                return self.list_or_slice[key]
            # NumPy 1 makes a float of an unsigned 64-bit integer and a Python integer.
            return self._start + int(key)
        self._request_sanity_check(key, self.num_examples)
        if isinstance(key, slice):
            if self.is_list:
                return self.list_or_slice[key]
            start, stop, step = self.slice_to_numerical_args(key, self.num_examples)
            return slice(self._start + start, self._start + stop, step)
        if isinstance(key, numpy.ndarray):
            if self.is_list:
                members = self.list_or_slice  # not made an array: it may be much longer than key
                return numpy.array([members[index] for index in key.tolist()], dtype=numpy.int64)
            return key.astype(numpy.int64) + self._start
        if self.is_list:
            return [self.list_or_slice[index] for index in key]
        start = self._start
        return [start + index for index in key]

    @property
    def _start(self) -> int:
        """First example of a slice."""
        return int(self.list_or_slice.start or 0)

    @staticmethod
    def sorted_fancy_indexing(indexable: _Indexable, request: _Indices) -> Any:
        """Read in increasing order, each example once, and put the result in the order asked for.

        HDF5 reads a list of rows only in increasing order and without repetitions.

        Parameters
        ----------
        indexable : numpy.ndarray, h5py.Dataset or alike
            What to read from.
        request : list of int or 1-d integer array
            What to read.

        Returns
        -------
        numpy.ndarray
            ``len(request)`` items in the order of `request`.

        """
        if len(request) <= 1:
            return indexable[request]
        rows, places = numpy.unique(numpy.asarray(request), return_inverse=True)
        # Some versions of NumPy 2 give the places the shape of the request, which is the same here.
        return indexable[rows.tolist()][places.reshape(-1)]

    @staticmethod
    def slice_to_numerical_args(slice_: slice, num_examples: int) -> tuple[int, int, int]:
        """Fill in what a slice leaves out.

        Parameters
        ----------
        slice_ : slice
            A slice without negative parts.
        num_examples : int
            The length of what it is for.

        Returns
        -------
        start, stop, step : int
            Its boundaries and its step.

        """
        start = slice_.start if slice_.start is not None else 0
        stop = slice_.stop if slice_.stop is not None else num_examples
        step = slice_.step if slice_.step is not None else 1
        return start, stop, step

    def get_list_representation(self) -> list[int]:
        """List the examples of the subset.

        Returns
        -------
        list of int
            Their indices in the collection, increasing.

        """
        if self.is_list:
            return list(self.list_or_slice)
        start, stop, step = self.slice_to_numerical_args(
            self.list_or_slice, self.original_num_examples
        )
        return list(range(start, stop, step))

    def index_within_subset(
        self, indexable: _Indexable, subset_request: _Indices, sort_indices: bool = False
    ) -> Any:
        """Read examples of a collection by their place in the subset.

        Parameters
        ----------
        indexable : list, numpy.ndarray, h5py.Dataset or alike
            The whole collection.
        subset_request : int, slice, list of int or 1-d array
            What to read, counted within the subset.
        sort_indices : bool, optional
            Read a list in increasing order and restore the order afterwards, which HDF5 needs
            for lists that are not increasing. Collections read item by item do not care.

        Returns
        -------
        object
            One item for an integer; otherwise what the collection gives for a slice or a list,
            which is a list of items if it takes no lists.

        Raises
        ------
        RequestError
            If the subset or the request is empty, or something outside of it is asked for.

        """
        if self.is_empty:
            raise RequestError(
                f"{subset_request!r:.100} was requested of an empty subset; check `num_examples` "
                f"or `is_empty` before asking for data"
            )
        request = self[subset_request]
        if isinstance(request, (numbers.Integral, slice)):
            return indexable[request]
        if sort_indices and _takes_lists(indexable):
            return self.sorted_fancy_indexing(indexable, request)
        return iterable_fancy_indexing(indexable, request)

    def _is_list(self, list_or_slice: _Indices) -> bool:
        """Tell whether a description is a list (or an array) of indices, not a slice."""
        return not isinstance(list_or_slice, slice)

    @property
    def is_list(self) -> bool:
        """Whether the subset is kept as a list of indices; else as a slice."""
        return self._is_list(self.list_or_slice)

    @property
    def num_examples(self) -> int:
        """The number of examples in the subset."""
        if self.is_list:
            return len(self.list_or_slice)
        start, stop, _ = self.slice_to_numerical_args(
            self.list_or_slice, self.original_num_examples
        )
        return int(stop - start)

    @property
    def is_empty(self) -> bool:
        """Whether the subset has no examples."""
        return self.num_examples == 0

    def _subset_sanity_check(self, list_or_slice: _Indices, num_examples: int) -> None:
        if self._is_list(list_or_slice):
            self._list_subset_sanity_check(list_or_slice, num_examples)
        else:
            self._slice_subset_sanity_check(list_or_slice, num_examples)

    def _list_subset_sanity_check(self, indices: _Indices, num_examples: int) -> None:
        if len(indices) == 0:
            return
        if not isinstance(indices, numpy.ndarray):
            check_integers(indices)
        low, high = index_bounds(indices)
        if low < 0 or high >= num_examples:
            raise ValueError(
                f"a subset of {num_examples} examples has indices from 0 to {num_examples - 1}, "
                f"got {low if low < 0 else high}"
            )

    def _slice_subset_sanity_check(self, slice_: slice, num_examples: int) -> None:
        check_slice_parts(slice_)
        start, stop, step = self.slice_to_numerical_args(slice_, num_examples)
        if step != 1:
            raise ValueError(
                f"a subset cannot skip examples, got {slice_}; use a list of indices, such as "
                f"`list(range({start}, {stop}, {step}))`"
            )
        if stop > num_examples:
            raise ValueError(f"{slice_} stops after the last of {num_examples} examples")
        if start >= num_examples and not (start == stop == 0):
            raise ValueError(f"{slice_} starts after the last of {num_examples} examples")
        if start > stop:
            raise ValueError(f"{slice_} starts after it stops; exchange the two")

    def _request_sanity_check(self, list_or_slice: _Indices, num_examples: int) -> None:
        if self._is_list(list_or_slice):
            self._list_request_sanity_check(list_or_slice, num_examples)
        else:
            self._slice_request_sanity_check(list_or_slice, num_examples)

    def _list_request_sanity_check(self, indices: _Indices, num_examples: int) -> None:
        if len(indices) == 0:
            raise RequestError("an empty list was requested; ask for at least one example")
        if not isinstance(indices, numpy.ndarray):
            check_integers(indices)
        low, high = index_bounds(indices)
        if low < 0:
            raise RequestError(
                f"example {low} was requested; indices count from 0, and from the front only"
            )
        if high >= num_examples:
            raise RequestError(
                f"example {high} was requested, but there are only {num_examples} (0 to "
                f"{num_examples - 1}); check the number of examples of the scheme"
            )

    def _slice_request_sanity_check(self, slice_: slice, num_examples: int) -> None:
        check_slice_parts(slice_)
        start, stop, step = self.slice_to_numerical_args(slice_, num_examples)
        if step == 0:
            raise RequestError(f"{slice_} was requested, but a step must be at least 1")
        if stop > num_examples:
            raise RequestError(
                f"{slice_} was requested, but there are only {num_examples} examples; stop there"
            )
        if start >= num_examples:
            raise RequestError(
                f"{slice_} was requested, but there are only {num_examples} examples; start "
                f"before their end"
            )
        if start >= stop:
            raise RequestError(f"{slice_} was requested, which is empty; stop after the start")

    def _beautify_list(self, indices: _Indices) -> Any:
        """Sort indices, keep each once, and make a slice of them if none is left out."""
        unique = numpy.unique(numpy.asarray(indices, dtype=numpy.int64))
        if len(unique) and unique[-1] - unique[0] + 1 == len(unique):
            return slice(int(unique[0]), int(unique[-1]) + 1, None)
        return unique.tolist()
