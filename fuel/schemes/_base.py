"""What a scheme is, and how the rest of the package talks to any scheme, ours or a user's.

In this module: the abstract schemes (`IterationScheme`, `BatchSizeScheme`, `BatchScheme`,
`IndexScheme`), the interface of a request iterator that can say where it is (`RequestIterator`),
and the functions through which streams use a scheme: `start_requests`, `order_state`,
`set_order_state`, `scheme_fingerprint`, `num_requests`, `num_examples`. Not here: any order of
our own (the neighbouring modules), and the wrapper for users' schemes (`_custom`,
`_hidden`).

A user's scheme has one method, ``get_request_iterator``. Ours answer a few questions more, whose
names begin with an underscore:

- ``_start(epoch)``: the requests of an epoch;
- ``_order_state()`` and ``_set_order_state(state)``: what the next ``_start`` will consume, such
  as the key of a generator, in plain JSON;
- ``_fingerprint()``: what makes the order the order it is, and never the batch size;
- ``_num_requests()`` and ``_num_examples()``: the length of an epoch, where it is known.

The module functions ask a scheme of ours these questions, and answer them for one that a user
wrote (or a subclass in which a user wrote ``get_request_iterator``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.exceptions import StateMismatchError
from fuel.schemes._arguments import (
    as_indices,
    check_batch_size,
    known_length,
    short,
)
from fuel.schemes._hidden import remember, remembered
from fuel.typing import JSON, Request
from fuel.utils._overrides import overridden

__all__ = [
    "BatchScheme",
    "BatchSizeScheme",
    "IndexScheme",
    "IterationScheme",
    "RequestIterator",
    "is_custom",
    "num_examples",
    "num_requests",
    "order_state",
    "own_requests",
    "scheme_fingerprint",
    "set_order_state",
    "start_requests",
]


class RequestIterator(ABC):
    """The requests of one epoch: an iterator that can say where it is, and go there.

    Attributes
    ----------
    position : int
        How many examples were requested so far; which is the place, in the order of the epoch,
        of the first example of the next request.

    Notes
    -----
    Request iterators pickle at any point. They belong to one thread.

    """

    position: int = 0

    def __iter__(self) -> RequestIterator:
        return self

    @abstractmethod
    def __next__(self) -> Request:
        """Return the next request."""

    def tell(self) -> JSON:
        """Return a mark for the present place, in plain JSON.

        For schemes that request batches the mark counts examples, so that it can be used with
        another batch size.
        """
        return self.position

    @abstractmethod
    def seek(self, mark: JSON) -> None:
        """Go to a place that `tell` has marked, in this iterator or in an equal one.

        Raises
        ------
        StateMismatchError
            If the order has no such place.
        StateError
            If the place is behind, and the order cannot be gone back in.

        """

    def exhaust(self) -> None:
        """Go to the end of the epoch, as if all requests had been made."""
        for _ in self:
            pass

    def skip(self, count: int) -> int:
        """Pass over requests as if they had been made.

        Parameters
        ----------
        count : int
            How many; the end of the epoch may leave fewer.

        Returns
        -------
        int
            How many there were.

        """
        for number in range(count):
            try:
                next(self)
            except StopIteration:
                return number
        return count

    def rows(self, count: int) -> NDArray[numpy.int64] | None:
        """Make the next request, or several for single examples, as a vector of indices.

        The same indices as in the lists that ``next`` returns, without a Python object for each.

        Parameters
        ----------
        count : int
            How many single examples to request; of no meaning where requests are for batches.

        Returns
        -------
        numpy.ndarray, shape (n,), dtype int64, or None
            Not to be changed: it may be a part of the order itself. Fewer than `count` at the end
            of the epoch. None where the indices are not plain integers, or come from elsewhere:
            nothing was requested then, and ``next`` tells what it would be.

        Raises
        ------
        StopIteration
            At the end of the epoch.

        """
        return None


class IterationScheme(ABC):
    """Which examples are visited in an epoch, and in what order.

    Attributes
    ----------
    requests_examples : bool
        Whether a request names a single example (else: a batch).

    Notes
    -----
    A new scheme implements :meth:`get_request_iterator`. Whatever it keeps on itself between
    epochs (a generator, a counter) is saved and restored with the position of the stream.

    """

    requests_examples: bool

    @abstractmethod
    def get_request_iterator(self) -> Iterator[Request]:
        """Start an epoch.

        Returns
        -------
        iterator
            The requests of one epoch. It should be picklable.

        """

    def _start(self, epoch: int) -> RequestIterator:
        """Start the epoch of a number."""
        return own_requests(self)

    def _order_state(self) -> JSON:
        """Describe what the next `_start` will consume."""
        return None

    def _set_order_state(self, state: JSON) -> None:
        """Go back to what `_order_state` described."""
        if state is not None:
            raise StateMismatchError(
                f"{type(self).__name__} keeps nothing from one epoch to the next, but the saved "
                f"state holds {short(state)} for it; rebuild the scheme that the state is from"
            )

    def _fingerprint(self) -> dict[str, JSON]:
        """Describe the order, apart from how it is cut into batches."""
        return {"kind": type(self).__name__}

    def _num_requests(self) -> int | None:
        """Return the number of requests in an epoch, None if it is unknown or infinite."""
        return None

    def _num_examples(self) -> int | None:
        """Return the number of examples in an epoch, None if it is unknown or infinite."""
        return None


class BatchSizeScheme(IterationScheme):
    """A scheme whose requests are numbers of examples.

    For data that cannot be indexed, where all one can ask for is "so many more".
    """

    requests_examples = False


class BatchScheme(IterationScheme):
    """A scheme whose requests are lists of indices.

    Parameters
    ----------
    examples : int or iterable
        The indices to visit, or their number ``n`` for the indices 0 to ``n - 1``. A one-shot
        iterator is used up by the first epoch.
    batch_size : int
        Number of examples in a request. The last one of an epoch may have fewer.

    Attributes
    ----------
    indices : iterable
        ``range(n)``, or the indices as they were given.
    batch_size : int
        As it was given.

    Raises
    ------
    TypeError
        If `examples` is neither an integer nor iterable.
    ValueError
        If the number of examples is negative, or the batch size is not positive.

    """

    requests_examples = False

    def __init__(self, examples: int | Iterable[Any], batch_size: int) -> None:
        self.indices = as_indices(examples)
        if not is_custom(self):  # a user's subclass may give the batch size its own meaning
            check_batch_size(batch_size)
        self.batch_size = batch_size

    def _num_examples(self) -> int | None:
        return known_length(self.indices)

    def _num_requests(self) -> int | None:
        count = self._num_examples()
        return None if count is None else -(-count // check_batch_size(self.batch_size))


class IndexScheme(IterationScheme):
    """A scheme whose requests are single indices.

    Parameters
    ----------
    examples : int or iterable
        The indices to visit, or their number ``n`` for the indices 0 to ``n - 1``. A one-shot
        iterator is used up by the first epoch.

    Attributes
    ----------
    indices : iterable
        ``range(n)``, or the indices as they were given.

    Raises
    ------
    TypeError
        If `examples` is neither an integer nor iterable.
    ValueError
        If the number of examples is negative.

    """

    requests_examples = True

    def __init__(self, examples: int | Iterable[Any]) -> None:
        self.indices = as_indices(examples)

    def _num_examples(self) -> int | None:
        return known_length(self.indices)

    def _num_requests(self) -> int | None:
        return self._num_examples()


def is_custom(scheme: Any) -> bool:
    """Tell whether a user wrote the method that starts an epoch.

    Parameters
    ----------
    scheme : IterationScheme or any object with ``get_request_iterator``
        A scheme.

    Returns
    -------
    bool
        True if the scheme can only be asked for an iterator.

    """
    return not isinstance(scheme, IterationScheme) or overridden(scheme, "get_request_iterator")


def own_requests(scheme: Any) -> RequestIterator:
    """Start an epoch as a user would, and return an iterator that can say where it is.

    Parameters
    ----------
    scheme : IterationScheme or any object with ``get_request_iterator``
        A scheme.

    Returns
    -------
    RequestIterator
        What ``get_request_iterator`` gave, wrapped if it is not of our making.

    """
    from fuel.schemes._custom import CustomRequests

    requests = scheme.get_request_iterator()
    if not is_custom(scheme) and isinstance(requests, RequestIterator):
        return requests
    return CustomRequests(scheme, requests)


def start_requests(scheme: Any, epoch: int) -> RequestIterator:
    """Start an epoch of a scheme.

    Parameters
    ----------
    scheme : IterationScheme or any object with ``get_request_iterator``
        A scheme.
    epoch : int
        The number of the epoch. Schemes whose order depends on it use it; others give the order
        that comes next.

    Returns
    -------
    RequestIterator
        The requests of the epoch.

    """
    if is_custom(scheme):
        return own_requests(scheme)
    requests: RequestIterator = scheme._start(epoch)
    return requests


def order_state(scheme: Any) -> JSON:
    """Describe what the next epoch of a scheme will consume.

    To be called before `start_requests`; after `set_order_state`, which takes the answer, the
    epochs that follow are the same again.

    Parameters
    ----------
    scheme : IterationScheme or any object with ``get_request_iterator``
        A scheme.

    Returns
    -------
    JSON
        None where the scheme keeps nothing from one epoch to the next.

    Raises
    ------
    StateError
        If a user's scheme holds an attribute that cannot be described.

    """
    if is_custom(scheme):
        return remembered(scheme)
    return scheme._order_state()


def set_order_state(scheme: Any, state: JSON) -> None:
    """Go back to what `order_state` described.

    Parameters
    ----------
    scheme : IterationScheme or any object with ``get_request_iterator``
        A scheme, equal to the one that was described.
    state : JSON
        What `order_state` returned.

    Raises
    ------
    StateError
        If the state cannot be used with this scheme.

    """
    if is_custom(scheme):
        remember(scheme, state)
    else:
        scheme._set_order_state(state)


def scheme_fingerprint(scheme: Any) -> dict[str, JSON]:
    """Describe the order that a scheme gives, apart from how it is cut into batches.

    Parameters
    ----------
    scheme : IterationScheme or any object with ``get_request_iterator``
        A scheme.

    Returns
    -------
    dict
        Plain JSON. Two schemes with different answers cannot continue each other's epochs.

    """
    if not is_custom(scheme):
        fingerprint: dict[str, JSON] = scheme._fingerprint()
        return fingerprint
    from fuel.schemes._digest import describe_indices

    described: dict[str, JSON] = {"kind": "custom", "class": type(scheme).__name__}
    if isinstance(scheme, BatchScheme | IndexScheme) and hasattr(scheme, "indices"):
        described.update(describe_indices(scheme.indices))
    return described


def num_requests(scheme: Any) -> int | None:
    """Return the number of requests in an epoch.

    Parameters
    ----------
    scheme : IterationScheme or any object with ``get_request_iterator``
        A scheme.

    Returns
    -------
    int or None
        None if the number is unknown or infinite.

    """
    return None if is_custom(scheme) else scheme._num_requests()


def num_examples(scheme: Any) -> int | None:
    """Return the number of examples that the requests of an epoch ask for.

    Parameters
    ----------
    scheme : IterationScheme or any object with ``get_request_iterator``
        A scheme.

    Returns
    -------
    int or None
        None if the number is unknown or infinite.

    """
    return None if is_custom(scheme) else scheme._num_examples()
