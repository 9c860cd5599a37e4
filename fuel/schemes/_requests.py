"""The request iterators behind our own schemes, and the one-shot iterators they may read.

In this module: iterators over sequences of indices, which seek in no time, and over iterators
of indices, which can only skip; `OneShot`, which counts what was taken from such an iterator.
Not here: what is iterated over (`_sequential`, `_shuffled`).

All are classes of our own with plain attributes: the iterators of the standard library's
``itertools`` cannot be pickled from Python 3.14 on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.exceptions import StateDamagedError, StateError, StateMismatchError
from fuel.kernels.gather import read_rows
from fuel.schemes._arguments import check_batch_size, check_place
from fuel.schemes._base import RequestIterator
from fuel.typing import JSON, Request

__all__ = [
    "IteratorBatches",
    "IteratorExamples",
    "OneShot",
    "SequenceBatches",
    "SequenceExamples",
    "batches",
    "examples",
    "index_vector",
    "one_shot",
    "take",
]


_INT64 = numpy.dtype(numpy.int64)
#: Larger than any number of examples.
_LARGEST = 1 << 62


class SequenceExamples(RequestIterator):
    """The items of a sequence, one at a time.

    Parameters
    ----------
    indices : list, tuple, range or numpy.ndarray
        The indices to request.

    """

    def __init__(self, indices: Any) -> None:
        self.position = 0
        self._indices = indices
        # Of an array of integers, plain ints are requested.
        self._plain = _is_integer_vector(indices)

    def __next__(self) -> Request:
        position = self.position
        try:
            request = self._indices.item(position) if self._plain else self._indices[position]
        except IndexError:
            raise StopIteration from None
        self.position = position + 1
        return request

    def rows(self, count: int) -> NDArray[numpy.int64] | None:
        """Make several requests, as a vector of indices."""
        start = self.position
        found = index_vector(self._indices, start, start + count)
        if found is not None:
            if not len(found):
                raise StopIteration
            self.position = start + len(found)
        return found

    def skip(self, count: int) -> int:
        """Pass over single examples, at once."""
        passed = max(0, min(count, len(self._indices) - self.position))
        self.position += passed
        return passed

    def seek(self, mark: JSON) -> None:
        """Go to a place, at once."""
        self.position = check_place(mark, len(self._indices), "of single examples")

    def exhaust(self) -> None:
        """Go to the end, at once."""
        self.position = len(self._indices)


class SequenceBatches(RequestIterator):
    """The items of a sequence, as lists of so many.

    Parameters
    ----------
    indices : list, tuple, range or numpy.ndarray
        The indices to request.
    batch_size : int
        How many a request asks for. The last one may be shorter.
    sort : bool, optional
        Whether to sort the indices in each request.

    """

    def __init__(self, indices: Any, batch_size: int, sort: bool = False) -> None:
        self.position = 0
        self._indices = indices
        self._batch_size = check_batch_size(batch_size)
        self._sort = sort
        self._plain = _is_integer_vector(indices)

    def __next__(self) -> Request:
        start = self.position
        part = self._indices[start : start + self._batch_size]
        request: list[Any] = part.tolist() if self._plain else list(part)
        if not request:
            raise StopIteration
        self.position = start + len(request)
        if self._sort:
            request.sort()
        return request

    def rows(self, count: int) -> NDArray[numpy.int64] | None:
        """Make the next request, as a vector of indices."""
        start = self.position
        found = index_vector(self._indices, start, start + self._batch_size)
        if found is not None:
            if not len(found):
                raise StopIteration
            self.position = start + len(found)
            if self._sort:
                found = numpy.sort(found)
        return found

    def skip(self, count: int) -> int:
        """Pass over batches, at once."""
        before, end = self.position, len(self._indices)
        self.position = max(before, min(end, before + count * self._batch_size))
        return -(-(self.position - before) // self._batch_size)

    def seek(self, mark: JSON) -> None:
        """Go to a place, at once."""
        self.position = check_place(mark, len(self._indices), "of batches")

    def exhaust(self) -> None:
        """Go to the end, at once."""
        self.position = len(self._indices)


class OneShot:
    """An iterator of indices that cannot be started again, and a count of what was taken.

    Parameters
    ----------
    iterator : iterator
        The indices.

    Attributes
    ----------
    iterator : iterator
        The indices that are left.
    taken : int
        How many were taken.

    """

    def __init__(self, iterator: Iterator[Any]) -> None:
        self.iterator = iterator
        self.taken = 0

    def __iter__(self) -> OneShot:
        return self

    def __next__(self) -> Any:
        index = next(self.iterator)
        self.taken += 1
        return index

    def advance(self, taken: JSON) -> None:
        """Take until so many were taken.

        Raises
        ------
        StateError
            If more were taken already, or there are not so many.

        """
        if type(taken) is not int or taken < 0:
            raise StateDamagedError(
                "the use of a one-shot iterator is saved as the number of indices taken from "
                f"it, got {taken!r}; use the state as it was written"
            )
        if taken < self.taken:
            raise StateError(
                f"{self.taken} indices were taken from a one-shot iterator, which cannot go back "
                f"to the saved place, {taken}; load the state into a newly built scheme, or give "
                "the scheme a list instead of an iterator"
            )
        while self.taken < taken:
            try:
                next(self)
            except StopIteration:
                raise StateMismatchError(
                    f"the saved place is after {taken} indices of a one-shot iterator, which "
                    f"ended after {self.taken}; give the scheme the indices that the state is "
                    "from"
                ) from None


class IteratorExamples(RequestIterator):
    """The items of an iterator, one at a time.

    Parameters
    ----------
    source : OneShot
        The indices to request.

    """

    def __init__(self, source: OneShot) -> None:
        self.position = 0
        self._source = source

    def __next__(self) -> Request:
        request = next(self._source)
        self.position += 1
        return request

    def seek(self, mark: JSON) -> None:
        """Go forward to a place, by taking."""
        target = check_place(mark, None, "of an iterator")
        self._source.advance(self._source.taken + target - self.position)
        self.position = target


class IteratorBatches(IteratorExamples):
    """The items of an iterator, as lists of so many.

    Parameters
    ----------
    source : OneShot
        The indices to request.
    batch_size : int
        How many a request asks for. The last one may be shorter.

    """

    def __init__(self, source: OneShot, batch_size: int) -> None:
        super().__init__(source)
        self._batch_size = check_batch_size(batch_size)

    def __next__(self) -> Request:
        request: list[Any] = []
        while len(request) < self._batch_size:
            try:
                request.append(next(self._source))
            except StopIteration:
                break
        if not request:
            raise StopIteration
        self.position += len(request)
        return request


def one_shot(scheme: Any) -> OneShot | None:
    """Return the count that a scheme keeps of a one-shot iterator, None if it has a re-usable one.

    Parameters
    ----------
    scheme : BatchScheme or IndexScheme
        A scheme with attribute ``indices``.

    Returns
    -------
    OneShot or None
        The same object each time, for as long as ``indices`` stays the same.

    """
    indices = scheme.indices
    if not isinstance(indices, Iterator):
        return None
    source: OneShot | None = scheme.__dict__.get("_one_shot")
    if source is None or source.iterator is not indices:
        source = scheme._one_shot = OneShot(indices)
    return source


def examples(scheme: Any) -> RequestIterator:
    """Return the indices of a scheme as requests, in the order in which they are.

    Parameters
    ----------
    scheme : IndexScheme
        A scheme.

    Returns
    -------
    RequestIterator
        Requests for single examples.

    """
    source = _source(scheme)
    return IteratorExamples(source) if isinstance(source, OneShot) else SequenceExamples(source)


def batches(scheme: Any) -> RequestIterator:
    """Return the indices of a scheme as lists, in the order in which they are.

    Parameters
    ----------
    scheme : BatchScheme
        A scheme.

    Returns
    -------
    RequestIterator
        Requests for batches.

    """
    source = _source(scheme)
    if isinstance(source, OneShot):
        return IteratorBatches(source, scheme.batch_size)
    return SequenceBatches(source, scheme.batch_size)


def index_vector(indices: Any, start: int, stop: int) -> NDArray[numpy.int64] | None:
    """Return a part of a sequence of indices as a vector.

    Parameters
    ----------
    indices : sequence
        The indices of a scheme.
    start, stop : int
        The part, as a slice has it.

    Returns
    -------
    numpy.ndarray, shape (n,), dtype int64, or None
        A view where the indices are such a vector; None where they are not plain integers that
        fit.

    """
    if isinstance(indices, numpy.ndarray):
        if indices.dtype == _INT64 and indices.ndim == 1:
            return indices[start:stop]
        if not _is_integer_vector(indices) or indices.dtype.itemsize == 8:
            return None  # of 64 bits: unsigned ones may not fit, and others are swapped
        return indices[start:stop].astype(numpy.int64)
    part = indices[start:stop]
    if type(part) is range:
        if max(abs(part.start), abs(part.stop)) >= _LARGEST:
            return None
        return numpy.arange(part.start, part.stop, part.step, dtype=numpy.int64)
    return read_rows(part, _LARGEST) if type(part) is list else None


def take(indices: Any, places: NDArray[numpy.int64]) -> list[Any]:
    """Return the items of a sequence at some places.

    Parameters
    ----------
    indices : sequence
        The indices of a scheme.
    places : numpy.ndarray, shape (n,), dtype int64
        Places in the sequence.

    Returns
    -------
    list, length n
        Plain ints where the indices are a range or an array of integers.

    """
    if isinstance(indices, range):
        if indices.start == 0 and indices.step == 1:
            found: list[Any] = places.tolist()
            return found
    elif isinstance(indices, numpy.ndarray):
        part = indices[places]
        return part.tolist() if _is_integer_vector(indices) else list(part)
    return [indices[place] for place in places.tolist()]


def _source(scheme: Any) -> Any:
    """Return a sequence that can be sliced, or else the items as they come."""
    indices = scheme.indices
    if isinstance(indices, (list, tuple, range, numpy.ndarray)):
        return indices
    shot = one_shot(scheme)
    if shot is not None:
        return shot
    if hasattr(indices, "__len__"):
        return list(indices)
    return OneShot(iter(indices))  # perhaps endless


def _is_integer_vector(indices: Any) -> bool:
    """Tell whether indices are an array of integers."""
    return isinstance(indices, numpy.ndarray) and indices.ndim == 1 and indices.dtype.kind in "iu"
