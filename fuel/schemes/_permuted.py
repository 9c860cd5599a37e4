"""Shuffled orders that need neither memory nor time to begin, or to go on from anywhere.

In this module: `PermutedScheme` and `PermutedExampleScheme`. The order is computed place by place
by a keyed permutation (`fuel.kernels.permutation` says which). Not here: the shuffle of the
original framework (`_shuffled`).
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import numpy
from numpy.typing import NDArray

from fuel.config_parser import config
from fuel.kernels.permutation import ALGORITHM, LARGEST, VERSION, Permutation
from fuel.schemes._arguments import check_batch_size, check_place
from fuel.schemes._base import BatchScheme, IndexScheme, RequestIterator
from fuel.schemes._digest import describe_indices
from fuel.schemes._requests import take
from fuel.typing import JSON, Request

__all__ = ["PermutedExampleScheme", "PermutedScheme"]

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


class _Permuted:
    """What the two permuted schemes have in common."""

    indices: Any
    seed: int

    def _prepare(self, seed: int | None) -> None:
        """Check the indices, and settle the seed."""
        if not hasattr(self.indices, "__getitem__") or isinstance(self.indices, Mapping):
            raise TypeError(
                "`examples` must be the number of examples or a sequence of their indices, got "
                f"{self.indices!r}; make a list of it"
            )
        if self._length() > LARGEST:
            raise ValueError(f"`examples` must be at most 2**62, got {self._length()}")
        self.seed = operator.index(config.default_seed if seed is None else seed)
        self._epochs_started = 0

    def _length(self) -> int:
        if isinstance(self.indices, range):  # which may be longer than `len` can say
            return max(0, -((self.indices.start - self.indices.stop) // self.indices.step))
        return len(self.indices)

    def _order(self, epoch: int) -> Permutation:
        return Permutation(self.seed, epoch, self._length())

    def _next_epoch(self) -> int:
        """Count the epochs of a scheme that is used without a stream."""
        epoch = self._epochs_started
        self._epochs_started = epoch + 1
        return epoch

    def _num_examples(self) -> int:
        return self._length()

    def _fingerprint(self) -> dict[str, JSON]:
        return {
            "kind": "permuted",
            "algorithm": ALGORITHM,
            "version": VERSION,
            "seed": self.seed,
            **describe_indices(self.indices),
        }


class PermutedScheme(_Permuted, BatchScheme):
    """Batches of indices in a shuffled order that takes no memory.

    Parameters
    ----------
    examples : int or sequence
        The indices to visit, or their number ``n``, up to 2**62, for the indices 0 to ``n - 1``.
    batch_size : int
        Number of examples in a request.
    seed : int, optional
        What the order depends on, besides the number of the epoch. The default is
        ``config.default_seed``, read when the scheme is made.
    partial : bool, optional
        Whether an epoch ends with a request for what remains, if that is less than a batch.
        (Elsewhere this is called ``drop_last``, or ``drop_remainder``, with the opposite meaning.)

    Attributes
    ----------
    indices : sequence
        ``range(n)``, or the indices as they were given.
    batch_size, partial
        As they were given.
    seed : int
        The seed.

    Raises
    ------
    TypeError
        If `examples` is an iterable that cannot be indexed, or `seed` is not an integer.
    ValueError
        If the number of examples is negative or larger than 2**62, or the batch size is not
        positive.

    Notes
    -----
    Each epoch has an order of its own. In a stream it depends on the seed and on the number of
    the stream's epoch alone; used by itself, the scheme counts the epochs it has started.

    The order is the keyed permutation ``feistel-mix13``, version 1: a generalized Feistel network
    over pairs of digits with cycle walking (Black and Rogaway, "Ciphers with arbitrary finite
    domains", CT-RSA 2002), whose round function is the output function of SplitMix64 (Steele,
    Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014) and whose round
    keys are BLAKE2b digests of seed, epoch and number of examples. It is the same for a seed on
    every machine, and computed place by place: to start an epoch of 10**9 examples, or to resume
    it in the middle, takes microseconds and a few hundred bytes. It is a shuffle, not a cipher.

    Examples
    --------
    >>> from fuel.schemes import PermutedScheme
    >>> scheme = PermutedScheme(10**12, 4, seed=1)
    >>> requests = scheme.get_request_iterator()
    >>> requests.seek(10**11)
    >>> next(requests) == next(requests)
    False

    """

    def __init__(
        self,
        examples: int | Iterable[Any],
        batch_size: int,
        *,
        seed: int | None = None,
        partial: bool = True,
    ) -> None:
        super().__init__(examples, batch_size)
        self._prepare(seed)
        self.partial = partial

    def get_request_iterator(self) -> RequestIterator:
        """Start the next epoch.

        Returns
        -------
        RequestIterator
            Lists of indices.

        """
        return self._start(self._next_epoch())

    def _start(self, epoch: int) -> RequestIterator:
        order = self._order(epoch)
        return PermutedBatches(self.indices, order, self.batch_size, bool(self.partial))

    def _num_examples(self) -> int:
        count = self._length()
        return count if self.partial else count - count % check_batch_size(self.batch_size)

    def _num_requests(self) -> int:
        size = check_batch_size(self.batch_size)
        return self._length() // size if not self.partial else -(-self._length() // size)


class PermutedExampleScheme(_Permuted, IndexScheme):
    """Single indices in a shuffled order that takes no memory.

    Parameters
    ----------
    examples : int or sequence
        The indices to visit, or their number ``n``, up to 2**62, for the indices 0 to ``n - 1``.
    seed : int, optional
        What the order depends on, besides the number of the epoch. The default is
        ``config.default_seed``, read when the scheme is made.

    Attributes
    ----------
    indices : sequence
        ``range(n)``, or the indices as they were given.
    seed : int
        The seed.

    Raises
    ------
    TypeError
        If `examples` is an iterable that cannot be indexed, or `seed` is not an integer.
    ValueError
        If the number of examples is negative or larger than 2**62.

    Notes
    -----
    The order is that of `PermutedScheme` with the same seed, where it is described.

    Examples
    --------
    >>> from fuel.schemes import PermutedExampleScheme
    >>> sorted(PermutedExampleScheme(5, seed=1).get_request_iterator())
    [0, 1, 2, 3, 4]

    """

    def __init__(self, examples: int | Iterable[Any], *, seed: int | None = None) -> None:
        super().__init__(examples)
        self._prepare(seed)

    def get_request_iterator(self) -> RequestIterator:
        """Start the next epoch.

        Returns
        -------
        RequestIterator
            Indices.

        """
        return self._start(self._next_epoch())

    def _start(self, epoch: int) -> RequestIterator:
        return PermutedExamples(self.indices, self._order(epoch))

    def _num_requests(self) -> int:
        return self._length()


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
