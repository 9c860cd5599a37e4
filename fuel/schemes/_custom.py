"""Requests of schemes that users wrote, counted so that their place can be saved.

In this module: `CustomRequests`. A user's iterator can only go forward; its place is therefore
marked by counts, and found again by skipping. Not here: what a user's scheme keeps on itself
from one epoch to the next (`fuel.state.hidden`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import GeneratorType
from typing import Any

import numpy

from fuel.exceptions import StateDamagedError, StateError, StateMismatchError
from fuel.schemes._base import RequestIterator
from fuel.typing import JSON, Request

__all__ = ["CustomRequests", "request_size"]


def request_size(request: Request, examples: bool) -> int:
    """Return how many examples a request asks for.

    Parameters
    ----------
    request : object
        An index, a list, tuple, slice or array of indices, a mask, or a number of examples.
    examples : bool
        Whether the requests of the scheme name single examples.

    Returns
    -------
    int
        The number of examples. A slice without an end counts as one, for want of knowing.

    """
    if examples:
        return 1
    if isinstance(request, slice):
        start, stop, step = request.start or 0, request.stop, request.step or 1
        if stop is None or start < 0 or stop < 0:
            return 1
        return len(range(start, stop, step))
    if isinstance(request, numpy.ndarray) and request.dtype == bool:
        return int(numpy.count_nonzero(request))
    if isinstance(request, (int, numpy.integer)):
        return int(request)
    try:
        return len(request)
    except TypeError:
        return 1


class CustomRequests(RequestIterator):
    """The requests of an iterator that can say nothing about itself.

    Parameters
    ----------
    scheme : object
        The scheme that made the iterator.
    requests : iterator
        What its ``get_request_iterator`` returned.

    Attributes
    ----------
    position : int
        How many examples were requested so far.
    requests : int
        How many requests were made so far.

    """

    def __init__(self, scheme: Any, requests: Iterator[Request]) -> None:
        self.position = 0
        self.requests = 0
        self._name = type(scheme).__name__
        self._examples = bool(getattr(scheme, "requests_examples", False))
        self._iterator = iter(requests)

    def __next__(self) -> Request:
        request = next(self._iterator)
        self.requests += 1
        self.position += request_size(request, self._examples)
        return request

    def tell(self) -> JSON:
        """Return how many requests were made, and for how many examples."""
        return {"requests": self.requests, "examples": self.position}

    def seek(self, mark: JSON) -> None:
        """Go forward to a marked place, one request at a time."""
        try:
            requests, examples = mark["requests"], mark["examples"]
        except (KeyError, TypeError):
            requests = examples = None
        if type(requests) is not int or type(examples) is not int or requests < 0:
            raise StateDamagedError(
                "the place in a scheme is saved as numbers of requests and of examples, "
                f"got {mark!r}; use the state as it was written"
            )
        if requests < self.requests:
            raise StateError(
                f"{self._name} is at request {self.requests} and cannot go back to {requests}: "
                "its iterator only goes forward; load the state into a new epoch iterator"
            )
        while self.requests < requests:
            try:
                next(self)
            except StopIteration:
                raise StateMismatchError(
                    f"the saved place is after {requests} requests, but {self._name} ends after "
                    f"{self.requests}; rebuild the scheme that the state is from"
                ) from None
        if self.position != examples:
            raise StateMismatchError(
                f"the saved place is after {requests} requests for {examples} examples, but "
                f"{self._name} now asks for {self.position} in as many; its place can only be "
                "found again with requests of the same sizes"
            )

    def __getstate__(self) -> dict[str, Any]:
        iterator = self._iterator
        if isinstance(iterator, GeneratorType):
            what = f"a generator ({iterator.__qualname__})"
        elif sys.version_info >= (3, 14) and type(iterator).__module__ == "itertools":
            what = f"an iterator of the standard library (itertools.{type(iterator).__name__})"
        else:
            return self.__dict__.copy()
        raise TypeError(
            f"the requests of {self._name} come from {what}, which cannot be pickled; let its "
            "get_request_iterator return an iterator that can, such as `iter` of a list or an "
            "object of a class with __iter__ and __next__, or save the place with state_dict()"
        )
