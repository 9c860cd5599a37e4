"""Orders that are computed place by place: their schemes and requests, whatever the order is.

In this module: `Order`, what such an order offers; `BatchesByPlace` and `ExamplesByPlace`, schemes
that only have to say what the order of an epoch is; and their requests, which go to any place at
once. Not here: the orders (`_permuted`, `_chunk_shuffled`, `_block_shuffled`, `_weighted`,
`_balanced`).
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy
from numpy.typing import NDArray

from fuel.schemes._arguments import check_batch_size, check_place
from fuel.schemes._base import BatchScheme, IndexScheme, RequestIterator
from fuel.schemes._requests import take
from fuel.typing import JSON, Request

__all__ = [
    "BatchesByPlace",
    "ExamplesByPlace",
    "Order",
    "PermutedBatches",
    "PermutedExamples",
    "TableBatches",
    "TableExamples",
]

# Places computed at once for single examples: enough to make the call cheap, few enough not to
# be felt when an epoch starts or is resumed.
_AHEAD = 256


class Order(Protocol):
    """The order of an epoch, computed place by place."""

    @property
    def count(self) -> int:
        """int: How many places there are."""

    def block(self, start: int, size: int) -> NDArray[numpy.int64]:
        """Return what is at some places."""


class _ByPlace:
    """What the two kinds of schemes have in common."""

    indices: Any
    _epochs_started = 0
    #: Whether the order keeps a table, which is not to be sent about.
    _keeps_table = False

    def _order(self, epoch: int) -> Order:
        """Return the order of an epoch."""
        raise NotImplementedError

    def _places(self) -> int:
        """Return how many places an order has."""
        raise NotImplementedError

    def _next_epoch(self) -> int:
        """Count the epochs of a scheme that is used without a stream."""
        epoch = self._epochs_started
        self._epochs_started = epoch + 1
        return epoch


class BatchesByPlace(_ByPlace, BatchScheme):
    """Batches of indices in an order that is computed place by place."""

    partial: bool

    def get_request_iterator(self) -> RequestIterator:
        """Start the next epoch.

        Returns
        -------
        RequestIterator
            Lists of indices.

        """
        return self._start(self._next_epoch())

    def _start(self, epoch: int) -> RequestIterator:
        kind = TableBatches if self._keeps_table else PermutedBatches
        return kind(self.indices, self._order(epoch), self.batch_size, bool(self.partial))

    def _num_examples(self) -> int:
        count = self._places()
        return count if self.partial else count - count % check_batch_size(self.batch_size)

    def _num_requests(self) -> int:
        return -(-self._num_examples() // check_batch_size(self.batch_size))


class ExamplesByPlace(_ByPlace, IndexScheme):
    """Single indices in an order that is computed place by place."""

    def get_request_iterator(self) -> RequestIterator:
        """Start the next epoch.

        Returns
        -------
        RequestIterator
            Indices.

        """
        return self._start(self._next_epoch())

    def _start(self, epoch: int) -> RequestIterator:
        kind = TableExamples if self._keeps_table else PermutedExamples
        return kind(self.indices, self._order(epoch))

    def _num_examples(self) -> int:
        return self._places()

    def _num_requests(self) -> int:
        return self._places()


class PermutedBatches(RequestIterator):
    """The requests of a `PermutedScheme`.

    Parameters
    ----------
    indices : sequence
        The indices to request.
    order : Order
        The order of the epoch.
    batch_size : int
        How many a request asks for.
    partial : bool
        Whether the last one may be shorter.

    """

    def __init__(self, indices: Any, order: Order, batch_size: int, partial: bool) -> None:
        self.position = 0
        self._indices = indices
        self._order = order
        self._batch_size = check_batch_size(batch_size)
        self._partial = partial

    def __next__(self) -> Request:
        position = self.position
        size = min(self._batch_size, self._order.count - position)
        if size == 0 or (size < self._batch_size and not self._partial):
            raise StopIteration
        request = take(self._indices, self._order.block(position, size))
        self.position = position + size
        return request

    def rows(self, count: int) -> NDArray[numpy.int64] | None:
        """Make the next request, as a vector of indices."""
        if not _counts_up(self._indices):
            return None
        position = self.position
        size = min(self._batch_size, self._order.count - position)
        if size == 0 or (size < self._batch_size and not self._partial):
            raise StopIteration
        found = self._order.block(position, size)
        self.position = position + size
        return found

    def skip(self, count: int) -> int:
        """Pass over batches, at once."""
        before, size = self.position, self._batch_size
        there = self._order.count - before
        passed = max(0, min(count, -(-there // size) if self._partial else there // size))
        self.position = min(self._order.count, before + passed * size)
        return passed

    def seek(self, mark: JSON) -> None:
        """Go to a place, at once."""
        self.position = check_place(mark, self._order.count, "of a permutation")

    def exhaust(self) -> None:
        """Go to the end, at once."""
        left = self._order.count - self.position
        self.position += left if self._partial else left - left % self._batch_size


class PermutedExamples(RequestIterator):
    """The requests of a `PermutedExampleScheme`.

    Parameters
    ----------
    indices : sequence
        The indices to request.
    order : Order
        The order of the epoch.

    """

    def __init__(self, indices: Any, order: Order) -> None:
        self.position = 0
        self._indices = indices
        self._order = order
        self._ahead: list[Any] = []  # requests computed, the next one last

    def __next__(self) -> Request:
        if not self._ahead:
            size = min(_AHEAD, self._order.count - self.position)
            if size == 0:
                raise StopIteration
            self._ahead = take(self._indices, self._order.block(self.position, size))[::-1]
        self.position += 1
        return self._ahead.pop()

    def rows(self, count: int) -> NDArray[numpy.int64] | None:
        """Make several requests, as a vector of indices."""
        if not _counts_up(self._indices):
            return None
        size = min(count, self._order.count - self.position)
        if size == 0:
            raise StopIteration
        found = self._order.block(self.position, size)
        self.position += size
        self._ahead = self._ahead[:-size]
        return found

    def skip(self, count: int) -> int:
        """Pass over single examples, at once."""
        passed = max(0, min(count, self._order.count - self.position))
        self.seek(self.position + passed)
        return passed

    def seek(self, mark: JSON) -> None:
        """Go to a place, at once."""
        self.position = check_place(mark, self._order.count, "of a permutation")
        self._ahead = []

    def exhaust(self) -> None:
        """Go to the end, at once."""
        self.seek(self._order.count)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_ahead": []}  # computed again when it is needed


def _counts_up(indices: Any) -> bool:
    """Tell whether an index is its own place."""
    return isinstance(indices, range) and indices.start == 0 and indices.step == 1


class TableBatches(PermutedBatches):
    """Requests for batches of an order that keeps a table, which is not to be sent about."""


class TableExamples(PermutedExamples):
    """Requests for single examples of an order that keeps a table."""
