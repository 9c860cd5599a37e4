"""Orders in which every class comes equally often.

In this module: `BalancedScheme` and `BalancedExampleScheme`, which repeat examples of rare classes
or leave out examples of frequent ones. Not here: drawing by any other weights (`_weighted`).
"""

from __future__ import annotations

import operator
from functools import lru_cache
from typing import Any

import numpy
from numpy.typing import ArrayLike, NDArray

from fuel.config_parser import config
from fuel.kernels.permutation import ALGORITHM, VERSION, Permutation
from fuel.schemes._by_place import BatchesByPlace, ExamplesByPlace
from fuel.schemes._digest import describe_indices
from fuel.typing import JSON

__all__ = ["BalancedExampleScheme", "BalancedScheme"]

_MODES = ("over", "under")
# How many permutations within classes are kept; each takes some hundred bytes, and a few
# microseconds to make.
_KEPT = 1024


class _BalancedOrder:
    """The order of one epoch: a shuffle of all picks, and for each class one of its members."""

    def __init__(self, scheme: _Balanced, epoch: int) -> None:
        self.count = scheme._places()
        self._scheme = scheme
        self._epoch = epoch
        self._make()

    def _make(self) -> None:
        scheme = self._scheme
        self._picks = Permutation(scheme.seed, self._epoch, self.count, "balanced")
        self._within = lru_cache(maxsize=_KEPT)(self._permutation)

    def __getstate__(self) -> dict[str, Any]:
        return {"count": self.count, "_scheme": self._scheme, "_epoch": self._epoch}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make()

    def _permutation(self, number: int) -> Permutation:
        scheme = self._scheme
        size = int(scheme._sizes[number])
        return Permutation(scheme.seed, self._epoch, size, f"class {number}")

    def block(self, start: int, size: int) -> NDArray[numpy.int64]:
        """Return the examples at some places."""
        scheme = self._scheme
        classes, turns = numpy.divmod(self._picks.block(start, size), max(1, scheme.per_class))
        # Turn after turn through the members of the class, in a shuffled order: the last time
        # round, if it is incomplete, comes to others each epoch.
        turns %= scheme._sizes[classes]
        found = numpy.empty(size, dtype=numpy.int64)
        for number in numpy.unique(classes).tolist():
            here = classes == number
            found[here] = scheme._firsts[number] + self._within(number).many(turns[here])
        members: NDArray[numpy.int64] = scheme._members[found]
        return members


class _Balanced:
    """What the two balanced schemes have in common."""

    _keeps_table = True
    mode: str
    seed: int
    per_class: int
    classes: NDArray[Any]
    _members: NDArray[numpy.int64]
    _described: dict[str, JSON] | None = None

    def _prepare(self, labels: NDArray[Any], mode: str, seed: int | None) -> None:
        if mode not in _MODES:
            raise ValueError(
                f"`mode` must be 'over' (repeat examples of rare classes) or 'under' (leave out "
                f"some of frequent ones), got {mode!r:.80}"
            )
        self.mode = mode
        self.seed = operator.index(config.default_seed if seed is None else seed)
        self.classes, of_class = numpy.unique(labels, return_inverse=True)
        self._members = numpy.argsort(of_class, kind="stable").astype(numpy.int64, copy=False)
        self._sizes = numpy.bincount(of_class, minlength=len(self.classes)).astype(numpy.int64)
        self._firsts = numpy.cumsum(self._sizes) - self._sizes
        sizes = self._sizes if len(self._sizes) else numpy.zeros(1, dtype=numpy.int64)
        self.per_class = int(sizes.max() if mode == "over" else sizes.min())

    def _order(self, epoch: int) -> _BalancedOrder:
        return _BalancedOrder(self, epoch)

    def _places(self) -> int:
        return len(self.classes) * self.per_class

    def _fingerprint(self) -> dict[str, JSON]:
        if self._described is None:
            members, sizes = describe_indices(self._members), describe_indices(self._sizes)
            self._described = {"members": members, "sizes": sizes}
        return {
            "kind": "balanced",
            "algorithm": ALGORITHM,
            "version": VERSION,
            "seed": self.seed,
            "mode": self.mode,
            "examples": self._places(),
            "classes": self._described,
        }


class BalancedScheme(_Balanced, BatchesByPlace):
    """Batches of indices in a shuffled order in which every class comes equally often.

    Parameters
    ----------
    labels : array_like, shape (n,) or (n, 1)
        The class of each example: integers, strings, anything that can be sorted.
    batch_size : int
        Number of examples in a request.
    mode : {'over', 'under'}, optional
        ``'over'`` (default): every class comes as often as the most frequent one has examples;
        each example at least once, and of one class no example more than once more often than
        another. ``'under'``: every class comes as often as the rarest one has examples, and none
        of them twice; which ones of the others are left out changes from epoch to epoch.
    seed : int, optional
        What the order depends on, besides the number of the epoch. The default is
        ``config.default_seed``, read when the scheme is made.
    partial : bool, optional
        Whether an epoch ends with a request for what remains, if that is less than a batch.

    Attributes
    ----------
    classes : ndarray
        The classes, sorted.
    per_class : int
        How often each comes in an epoch.
    indices : range
        The indices of the examples.
    batch_size, mode, seed, partial
        As they were given.

    Raises
    ------
    ValueError
        If the labels are no vector, `mode` is none of the two, or the batch size is not positive.
    TypeError
        If `seed` is not an integer.

    Notes
    -----
    An epoch is balanced as a whole; a batch is a random part of it. The order is computed place
    by place from keyed permutations (that of `PermutedScheme`), one of all picks and one for each
    class; kept are the examples sorted by class, 8 bytes for each. Any place of it is known at
    once.

    Examples
    --------
    >>> from fuel.schemes import BalancedScheme
    >>> labels = ['cat', 'dog', 'cat', 'cat', 'cat']
    >>> order = sum(BalancedScheme(labels, 3, seed=1).get_request_iterator(), [])
    >>> sorted(order)
    [0, 1, 1, 1, 1, 2, 3, 4]

    """

    def __init__(
        self,
        labels: ArrayLike,
        batch_size: int,
        *,
        mode: str = "over",
        seed: int | None = None,
        partial: bool = True,
    ) -> None:
        known = _labels(labels)
        super().__init__(len(known), batch_size)
        self._prepare(known, mode, seed)
        self.partial = partial


class BalancedExampleScheme(_Balanced, ExamplesByPlace):
    """Single indices in a shuffled order in which every class comes equally often.

    Parameters
    ----------
    labels, mode, seed
        As for `BalancedScheme`, whose order this is.

    Attributes
    ----------
    classes : ndarray
        The classes, sorted.
    per_class : int
        How often each comes in an epoch.
    indices : range
        The indices of the examples.
    mode, seed
        As they were given.

    Raises
    ------
    ValueError, TypeError
        As for `BalancedScheme`.

    Examples
    --------
    >>> from fuel.schemes import BalancedExampleScheme
    >>> order = list(BalancedExampleScheme([1, 1, 0, 1], mode='under', seed=1)
    ...              .get_request_iterator())
    >>> len(order), 2 in order
    (2, True)

    """

    def __init__(self, labels: ArrayLike, *, mode: str = "over", seed: int | None = None) -> None:
        known = _labels(labels)
        super().__init__(len(known))
        self._prepare(known, mode, seed)


def _labels(labels: ArrayLike) -> NDArray[Any]:
    """Return labels as a vector, or say what is wrong with them."""
    given = numpy.asarray(labels)
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    if given.ndim != 1:
        raise ValueError(
            "`labels` must have one class for each example, shape (n,) or (n, 1), got shape "
            f"{given.shape}; of one-hot codes take argmax(axis=1)"
        )
    return given
