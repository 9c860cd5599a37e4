"""Shuffled orders that need neither memory nor time to begin, or to go on from anywhere.

In this module: `PermutedScheme` and `PermutedExampleScheme`. The order is computed place by place
by a keyed permutation (`fuel.kernels.permutation` says which). Not here: the shuffle of the
original framework (`_shuffled`).
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import Any

from fuel.config_parser import config
from fuel.kernels.permutation import ALGORITHM, LARGEST, VERSION, Permutation
from fuel.schemes._by_place import BatchesByPlace, ExamplesByPlace
from fuel.schemes._digest import describe_indices
from fuel.typing import JSON

__all__ = ["PermutedExampleScheme", "PermutedScheme"]


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

    def _length(self) -> int:
        if isinstance(self.indices, range):  # which may be longer than `len` can say
            return max(0, -((self.indices.start - self.indices.stop) // self.indices.step))
        return len(self.indices)

    def _order(self, epoch: int) -> Permutation:
        return Permutation(self.seed, epoch, self._length())

    def _places(self) -> int:
        return self._length()

    def _fingerprint(self) -> dict[str, JSON]:
        return {
            "kind": "permuted",
            "algorithm": ALGORITHM,
            "version": VERSION,
            "seed": self.seed,
            **describe_indices(self.indices),
        }


class PermutedScheme(_Permuted, BatchesByPlace):
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


class PermutedExampleScheme(_Permuted, ExamplesByPlace):
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
