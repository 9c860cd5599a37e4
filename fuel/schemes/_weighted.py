"""Orders that draw examples with replacement, each as often as its weight says.

In this module: `WeightedScheme` and `WeightedExampleScheme`, whose order is a function of the seed,
the epoch and the place. Not here: orders in which each class comes equally often (`_balanced`), and
mixing several streams by weight (`fuel.streams`).
"""

from __future__ import annotations

import operator
from hashlib import blake2b
from typing import Any

import numpy
from numpy.typing import ArrayLike, NDArray

from fuel.config_parser import config
from fuel.kernels.draws import bits, uniforms
from fuel.rng import philox_key
from fuel.schemes._by_place import BatchesByPlace, ExamplesByPlace
from fuel.typing import JSON

__all__ = ["WeightedExampleScheme", "WeightedScheme"]


class _WeightedOrder:
    """The draws of one epoch, place by place."""

    def __init__(self, seed: int, epoch: int, count: int, table: NDArray[numpy.float64]) -> None:
        self.seed = seed
        self.epoch = epoch
        self.count = count
        self._table = table
        self._total = float(table[-1]) if len(table) else 0.0
        # A draw that is rounded up to the total belongs to the last one that has a weight.
        self._last = int(numpy.searchsorted(table, self._total, side="left"))
        self._key = philox_key(seed, epoch, "fuel.schemes/weighted")

    def block(self, start: int, size: int) -> NDArray[numpy.int64]:
        """Return the examples at some places."""
        places = numpy.arange(start, start + size, dtype=numpy.int64)
        drawn = uniforms(bits(self._key, places, None, 1)[:, 0]) * self._total
        found = numpy.searchsorted(self._table, drawn, side="right")
        return numpy.minimum(found, self._last).astype(numpy.int64, copy=False)


class _Weighted:
    """What the two weighted schemes have in common."""

    num_examples: int
    seed: int
    _keeps_table = True
    _table: NDArray[numpy.float64]
    _digest: str | None = None

    def _prepare(self, num_examples: int | None, seed: int | None) -> None:
        count = len(self._table) if num_examples is None else _examples(num_examples)
        if count and not len(self._table):
            raise ValueError(
                f"`num_examples` is {count}, but there are no weights to draw by; give a weight "
                "for each example"
            )
        self.num_examples = count
        self.seed = operator.index(config.default_seed if seed is None else seed)

    def _order(self, epoch: int) -> _WeightedOrder:
        return _WeightedOrder(self.seed, epoch, self.num_examples, self._table)

    def _places(self) -> int:
        return self.num_examples

    def _fingerprint(self) -> dict[str, JSON]:
        if self._digest is None:  # once: so many weights may take seconds
            content = self._table.astype("<f8", copy=False).view(numpy.uint8)
            self._digest = blake2b(content.data, digest_size=8).hexdigest()
        return {
            "kind": "weighted",
            "version": 1,
            "seed": self.seed,
            "examples": self.num_examples,
            "weights": [len(self._table), self._digest],
        }


class WeightedScheme(_Weighted, BatchesByPlace):
    """Batches of indices drawn with replacement.

    Each place of the epoch draws index ``i`` with probability ``weights[i] / sum(weights)``,
    whatever the others draw, so that an index may come several times, even in one request.

    Parameters
    ----------
    weights : array_like of float, shape (n,)
        The weights of the indices 0 to ``n - 1``: finite, not negative, not all zero. They are
        read once; changing the array later changes nothing.
    batch_size : int
        Number of examples in a request.
    num_examples : int, optional
        How many examples an epoch has. Default: as many as there are weights.
    seed : int, optional
        What the draws depend on, besides the number of the epoch and the place in it. The default
        is ``config.default_seed``, read when the scheme is made.
    partial : bool, optional
        Whether an epoch ends with a request for what remains, if that is less than a batch.

    Attributes
    ----------
    indices : range
        The indices that have a weight.
    batch_size, num_examples, seed, partial
        As they were given.

    Raises
    ------
    ValueError
        If the weights are not a vector of finite numbers that are not negative, or have no sum;
        if `num_examples` is negative, or the batch size not positive.
    TypeError
        If `num_examples` or `seed` is not an integer.

    Notes
    -----
    The scheme keeps the cumulative sums of the weights: 8 bytes for each, 8 GB for 10**9 of them,
    which take half a minute to add up. A draw is a binary search in them: any place of the order
    is known at once, and going on from the middle of an epoch costs nothing. The sums are rounded
    as sums of 64-bit floats are, so that a weight below 10**-16 of the sum of those before it may
    be lost.

    The draws are those of `fuel.rng` for the seed, the epoch and the place. Request iterators may
    be used by several threads, one each.

    Examples
    --------
    >>> from fuel.schemes import WeightedScheme
    >>> scheme = WeightedScheme([0, 1, 0, 3], 4, num_examples=1000, seed=1)
    >>> drawn = sum(scheme.get_request_iterator(), [])
    >>> sorted(set(drawn)), 700 < drawn.count(3) < 800
    ([1, 3], True)

    """

    def __init__(
        self,
        weights: ArrayLike,
        batch_size: int,
        *,
        num_examples: int | None = None,
        seed: int | None = None,
        partial: bool = True,
    ) -> None:
        self._table = _sums(weights)
        super().__init__(len(self._table), batch_size)
        self._prepare(num_examples, seed)
        self.partial = partial


class WeightedExampleScheme(_Weighted, ExamplesByPlace):
    """Single indices drawn with replacement.

    Parameters
    ----------
    weights : array_like of float, shape (n,)
        The weights of the indices 0 to ``n - 1``: finite, not negative, not all zero.
    num_examples : int, optional
        How many examples an epoch has. Default: as many as there are weights.
    seed : int, optional
        What the draws depend on, besides the number of the epoch and the place in it. The default
        is ``config.default_seed``, read when the scheme is made.

    Attributes
    ----------
    indices : range
        The indices that have a weight.
    num_examples, seed
        As they were given.

    Raises
    ------
    ValueError, TypeError
        As for `WeightedScheme`, whose order this is.

    Examples
    --------
    >>> from fuel.schemes import WeightedExampleScheme
    >>> set(WeightedExampleScheme([0, 2, 0], num_examples=5, seed=1).get_request_iterator())
    {1}

    """

    def __init__(
        self, weights: ArrayLike, *, num_examples: int | None = None, seed: int | None = None
    ) -> None:
        self._table = _sums(weights)
        super().__init__(len(self._table))
        self._prepare(num_examples, seed)


def _sums(weights: ArrayLike) -> NDArray[numpy.float64]:
    """Return the cumulative sums of weights, or say what is wrong with these."""
    given = numpy.asarray(weights)
    if given.ndim != 1 or given.dtype.kind not in "iufb":
        raise ValueError(
            "`weights` must be a vector of numbers, one for each example, got "
            f"shape {given.shape}, dtype {given.dtype}"
        )
    if not len(given):
        return numpy.empty(0)
    lowest = given.min()
    if not lowest >= 0:
        raise ValueError(
            f"`weights` must not be negative, got {lowest} for example {int(given.argmin())}; "
            "use 0 for examples that are never drawn"
        )
    table: NDArray[numpy.float64] = numpy.cumsum(given, dtype=numpy.float64)
    if not 0 < table[-1] < numpy.inf:
        raise ValueError(
            f"`weights` must have a positive, finite sum, got {table[-1]}; give a positive weight "
            "to at least one example"
        )
    return table


def _examples(value: Any) -> int:
    try:
        count = operator.index(value)
    except TypeError:
        raise TypeError(
            f"`num_examples` must be an integer, got {value!r:.80}; leave it out for as many as "
            "there are weights"
        ) from None
    if count < 0:
        raise ValueError(f"`num_examples` must not be negative, got {count}")
    return count
