"""Observations divided into parts: `splitobs`.

Not here: folds, which divide again and again (``_folds``).
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.observations._access import numobs
from fuel.observations._classes import classes_of, members_of
from fuel.observations._drawing import generator
from fuel.observations._indices import Indices, frozen
from fuel.observations._obsview import view_of

__all__ = ["count_of", "splitobs"]

# A share is meant as it is written: 0.3 is three tenths, 1/3 is a third, and not the binary number
# next to it. Nine digits tell apart all shares of as many observations as anybody splits.
_DENOMINATOR = 10**9


def splitobs(
    data: Any,
    at: float | int | Sequence[float | int] = 0.7,
    *,
    shuffle: bool = False,
    stratified: Any = None,
    seed: int | None = None,
    rng: numpy.random.Generator | None = None,
) -> tuple[Any, ...]:
    """Divide observations into parts.

    Parameters
    ----------
    data : container or int
        Any container; or a number of observations, to get indices.
    at : float, int, or sequence of them, optional
        The share of the first part, between 0 and 1, or the shares of all parts but the last,
        which gets what is left. An integer is a number of observations.
    shuffle : bool, optional
        Whether to divide the observations in random order.
    stratified : container, optional
        One label for each observation: each part then has its share of the observations of each
        class, less than one more or fewer.
    seed : int, optional
        What the random order depends on. By default ``config.default_seed``, read now.
    rng : numpy.random.Generator, optional
        Draws the order, in place of a seed.

    Returns
    -------
    tuple
        One part more than there are numbers in `at`. A part is a view as `obsview` makes it (so a
        tuple of views for a tuple), or indices for a number: a range, or a vector if shuffled or
        stratified. Every observation is in exactly one part. Without `shuffle` each part is in the
        order of the data.

    Raises
    ------
    ValueError
        If a share is not between 0 and 1, or all together are more than there is; if there is not
        one label for each observation; if both `seed` and `rng` are given.
    TypeError
        If `data` is no container, or `at` is no number.

    Examples
    --------
    >>> import numpy
    >>> from fuel.observations import numobs, splitobs
    >>> splitobs(100, at=0.7)
    (range(0, 70), range(70, 100))
    >>> data = {"x": numpy.ones((10, 2)), "n": range(10)}
    >>> [numobs(part) for part in splitobs(data, at=(0.5, 0.3))]
    [5, 3, 2]
    >>> labels = [0, 0, 0, 0, 1, 1, 1, 1, 1, 1]
    >>> [list(part) for part in splitobs(range(1, 11), at=0.5, stratified=labels)]
    [[1, 2, 5, 6, 7], [3, 4, 8, 9, 10]]

    """
    count, number_given = count_of(data)
    shares = _shares(at, count)
    order: Any = None
    if shuffle:
        order = generator(seed, rng, "splitobs").permutation(count)
    else:
        generator(seed, rng, "splitobs")  # checks what was given
    parts: list[Indices]
    if stratified is not None:
        codes = classes_of(stratified, count, "stratified")
        parts = _stratify(codes, numpy.arange(count) if order is None else order, shares)
    else:
        reached = [round(sum(shares[:part]) * count) for part in range(len(shares) + 1)]
        bounds = list(itertools.pairwise(reached))
        if order is None:
            parts = [range(first, last) for first, last in bounds]
        else:
            parts = [frozen(order[first:last]) for first, last in bounds]
    return tuple(part if number_given else view_of(data, part) for part in parts)


def count_of(data: Any) -> tuple[int, bool]:
    """Return how many observations there are, and whether that is all that is known of them.

    Parameters
    ----------
    data : container or int
        What is to be divided.

    Returns
    -------
    tuple of (int, bool)
        The number, and whether `data` is that number.

    """
    if isinstance(data, Integral) and not isinstance(data, bool):
        if data < 0:
            raise ValueError(f"the number of observations must not be negative, got {data}")
        return operator.index(data), True  # type: ignore[arg-type]
    return numobs(data), False


def _shares(at: Any, count: int) -> list[Fraction]:
    """Return the share of every part, the last one too."""
    given = list(at) if isinstance(at, (Sequence, numpy.ndarray)) else [at]
    shares = []
    for share in given:
        if isinstance(share, (bool, numpy.bool_)) or not isinstance(share, Real):
            raise TypeError(
                f"`at` must be a share, a number of observations, or several, got {at!r:.80}"
            )
        if isinstance(share, Integral):
            part = Fraction(int(share), count) if count else Fraction(int(share))
        else:
            # Not a number, or infinite, is no fraction.
            inside = 0 <= float(share) <= 1
            part = Fraction(float(share)).limit_denominator(_DENOMINATOR) if inside else Fraction(2)
        shares.append(part)
    if not shares or any(not 0 <= share <= 1 for share in shares) or sum(shares) > 1:
        raise ValueError(
            f"`at` must be shares between 0 and 1, or numbers of the {count} observations, which "
            f"together are not more than all, got {at!r}; what is left is the last part"
        )
    return [*shares, 1 - sum(shares, Fraction(0))]


def _stratify(
    codes: NDArray[numpy.int64], order: NDArray[numpy.int64], shares: list[Fraction]
) -> list[Indices]:
    """Divide every class by the shares, and let what is left over even out between classes."""
    part_of = numpy.zeros(len(codes), dtype=numpy.int64)
    owed = [Fraction(0)] * len(shares)
    for members in members_of(codes, order):
        exact = [share * len(members) for share in shares]
        sizes = [int(size) for size in exact]
        owed = [debt + size - whole for debt, size, whole in zip(owed, exact, sizes, strict=True)]
        # One more at most for each part whose size is not whole: so no part is off by one.
        broken = [part for part, size in enumerate(exact) if size.denominator > 1]
        broken.sort(key=lambda part: -owed[part])
        for part in broken[: len(members) - sum(sizes)]:
            sizes[part] += 1
            owed[part] -= 1
        part_of[members] = numpy.repeat(numpy.arange(len(shares)), sizes)
    in_order = part_of[order]
    return [frozen(order[in_order == part]) for part in range(len(shares))]
