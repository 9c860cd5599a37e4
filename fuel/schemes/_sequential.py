"""Orders in which nothing is shuffled.

In this module: `SequentialScheme`, `SequentialExampleScheme` and `ConstantScheme`.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

from fuel.exceptions import StateDamagedError
from fuel.schemes._arguments import check_batch_size, check_place
from fuel.schemes._base import BatchScheme, BatchSizeScheme, IndexScheme, RequestIterator
from fuel.schemes._digest import describe_indices
from fuel.schemes._requests import batches, examples, one_shot
from fuel.typing import JSON, Request

__all__ = ["ConstantScheme", "SequentialExampleScheme", "SequentialScheme"]


class _InOrder:
    """What the two sequential schemes have in common."""

    def _order_state(self) -> JSON:
        source = one_shot(self)
        return None if source is None else source.taken

    def _set_order_state(self, state: JSON) -> None:
        source = one_shot(self)
        if source is not None:
            source.advance(state)
        elif state is not None:
            raise StateDamagedError(
                f"a sequential order needs no saved state, got {state!r}; give the scheme the "
                "same kind of indices as when the state was saved"
            )

    def _fingerprint(self) -> dict[str, JSON]:
        indices: Any = self.indices  # type: ignore[attr-defined]
        return {"kind": "sequential", **describe_indices(indices)}


class SequentialScheme(_InOrder, BatchScheme):
    """Batches of consecutive indices.

    Parameters
    ----------
    examples : int or iterable
        The indices to visit, or their number ``n`` for the indices 0 to ``n - 1``. A one-shot
        iterator is used up by the first epoch.
    batch_size : int
        Number of examples in a request. The last one of an epoch may have fewer.

    Notes
    -----
    Requests are lists of at most `batch_size` indices, in the order in which they were given.

    Examples
    --------
    >>> from fuel.schemes import SequentialScheme
    >>> list(SequentialScheme(7, 3).get_request_iterator())
    [[0, 1, 2], [3, 4, 5], [6]]

    """

    def get_request_iterator(self) -> RequestIterator:
        """Start an epoch.

        Returns
        -------
        RequestIterator
            Lists of indices.

        """
        return batches(self)

    def _start(self, epoch: int) -> RequestIterator:
        return batches(self)


class SequentialExampleScheme(_InOrder, IndexScheme):
    """One index after the other.

    Parameters
    ----------
    examples : int or iterable
        The indices to visit, or their number ``n`` for the indices 0 to ``n - 1``. A one-shot
        iterator is used up by the first epoch.

    Examples
    --------
    >>> from fuel.schemes import SequentialExampleScheme
    >>> list(SequentialExampleScheme(3).get_request_iterator())
    [0, 1, 2]

    """

    def get_request_iterator(self) -> RequestIterator:
        """Start an epoch.

        Returns
        -------
        RequestIterator
            Indices.

        """
        return examples(self)

    def _start(self, epoch: int) -> RequestIterator:
        return examples(self)


class ConstantScheme(BatchSizeScheme):
    """The same number of examples again and again.

    Parameters
    ----------
    batch_size : int
        The number of examples to ask for each time.
    num_examples : int, optional
        The number of examples in all: the last request asks for what remains.
    times : int, optional
        The number of requests. Not together with `num_examples`; with neither, the requests
        never end.

    Attributes
    ----------
    batch_size, num_examples, times
        As they were given.

    Raises
    ------
    ValueError
        If both `num_examples` and `times` are given, either is negative, or `batch_size` is not
        positive.
    TypeError
        If `num_examples` or `times` is no integer.

    Examples
    --------
    >>> from fuel.schemes import ConstantScheme
    >>> list(ConstantScheme(3, num_examples=7).get_request_iterator())
    [3, 3, 1]
    >>> list(ConstantScheme(3, times=2).get_request_iterator())
    [3, 3]

    """

    def __init__(
        self, batch_size: int, num_examples: int | None = None, times: int | None = None
    ) -> None:
        if num_examples is not None and times is not None:
            raise ValueError(
                "`num_examples` and `times` both say when to end, got "
                f"{num_examples} and {times}; give one of them"
            )
        check_batch_size(batch_size)
        for name, value in (("num_examples", num_examples), ("times", times)):
            if value is None:
                continue
            if not isinstance(value, Integral) or isinstance(value, bool):
                raise TypeError(
                    f"`{name}` must be an integer, got {value!r:.80}; leave it out for requests "
                    "without end"
                )
            if value < 0:
                raise ValueError(
                    f"`{name}` must not be negative, got {value}; leave it out for requests "
                    "without end"
                )
        self.batch_size = batch_size
        self.num_examples = num_examples
        self.times = times

    def get_request_iterator(self) -> RequestIterator:
        """Start an epoch.

        Returns
        -------
        RequestIterator
            Numbers of examples.

        """
        return self._start(0)

    def _start(self, epoch: int) -> RequestIterator:
        return ConstantRequests(self.batch_size, self.num_examples, self.times)

    def _fingerprint(self) -> dict[str, JSON]:
        return {
            "kind": "constant",
            "examples": None if self.num_examples is None else int(self.num_examples),
            "times": None if self.times is None else int(self.times),
        }

    def _num_requests(self) -> int | None:
        if self.num_examples is not None:
            return int(-(-self.num_examples // self.batch_size))
        return None if self.times is None else int(self.times)

    def _num_examples(self) -> int | None:
        if self.times is not None:
            return int(self.batch_size * self.times)
        return None if self.num_examples is None else int(self.num_examples)


class ConstantRequests(RequestIterator):
    """The requests of a `ConstantScheme`.

    Parameters
    ----------
    batch_size : int
        The number of examples to ask for each time.
    num_examples : int or None
        The number of examples in all.
    times : int or None
        The number of requests.

    """

    def __init__(self, batch_size: int, num_examples: int | None, times: int | None) -> None:
        self.position = 0
        self._batch_size = check_batch_size(batch_size)
        self._num_examples = None if num_examples is None else int(num_examples)
        self._times = None if times is None else int(times)
        self._requests = 0

    def __next__(self) -> Request:
        size = self._batch_size
        if self._num_examples is not None:
            size = min(size, self._num_examples - self.position)
            if size == 0:
                raise StopIteration
        elif self._requests == self._times:
            raise StopIteration
        self.position += size
        self._requests += 1
        return size

    def tell(self) -> JSON:
        """Return the number of examples asked for; before it that of requests, if it matters."""
        return self.position if self._times is None else [self._requests, self.position]

    @property
    def bounded(self) -> bool:
        """Whether the requests end by themselves."""
        return self._times is not None or self._num_examples is not None

    def skip(self, count: int) -> int:
        """Pass over numbers of examples, at once where they have no end."""
        if not self.bounded:
            self._requests += max(0, count)
            self.position += max(0, count) * self._batch_size
            return max(0, count)
        return super().skip(count)

    def seek(self, mark: JSON) -> None:
        """Go to a place, at once."""
        if self._times is None:
            self.position = check_place(mark, self._num_examples, "of numbers of examples")
            return
        if not isinstance(mark, list) or len(mark) != 2:
            raise StateDamagedError(
                "the place in a ConstantScheme with `times` is saved as the numbers of requests "
                f"and of examples, got {mark!r}; use the state as it was written"
            )
        self._requests = check_place(mark[0], self._times, "a number of requests")
        self.position = check_place(mark[1], None, "of numbers of examples")
