"""Which of several comes next, so that each has its share at every moment.

In this room: `Proportions`, in integers, with a state of one number for each. Not here: the streams
that are mixed by it (`_mixture`).

Chosen is the one whose share is most overdue, among those that are due at all: the solution by
R. Tijdeman of the chairman assignment problem ("The chairman assignment problem", Discrete
Mathematics 32, 1980). After any ``n`` choices, each of ``k`` was chosen ``n`` times its share, but
for at most ``1 - 1 / (2 * k - 2)``, which no method can better. After as many choices as the
weights sum up to, all is as at the beginning.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from numbers import Rational, Real
from typing import Any

from fuel.typing import JSON

__all__ = ["Proportions", "as_shares", "first_beyond"]

#: Decimal fractions are taken at their word up to this denominator; 1/3 is one third.
_DENOMINATOR = 10**6


def as_shares(weights: Any, count: int, name: str = "weights") -> list[int]:
    """Return weights as integers in the same proportion, as small as possible.

    Parameters
    ----------
    weights : sequence of numbers
        Integers and fractions are taken exactly; a float stands for the fraction next to it
        whose denominator is at most a million.
    count : int
        How many there must be.
    name : str, optional
        What messages call them.

    Returns
    -------
    list of int
        Not negative, not all zero, without a common divisor.

    """
    try:
        given = list(weights)
    except TypeError:
        given = [weights]
    if len(given) != count:
        raise ValueError(f"`{name}` must have one for each of the {count} streams, got {weights!r}")
    exact: list[Fraction] = []
    for weight in given:
        if isinstance(weight, bool) or not isinstance(weight, Real):
            raise ValueError(f"`{name}` must be numbers, got {weight!r:.80} among {weights!r:.80}")
        if not 0 <= float(weight) < math.inf:
            raise ValueError(
                f"`{name}` must be finite and not negative, got {weight!r}; use 0 for a stream "
                "that gives nothing for now"
            )
        if isinstance(weight, Rational):
            exact.append(Fraction(int(weight.numerator), int(weight.denominator)))
        else:
            exact.append(_near(float(weight)))
    common = math.lcm(*(one.denominator for one in exact))
    shares = [int(one * common) for one in exact]
    divisor = math.gcd(*shares)
    if not divisor:
        raise ValueError(
            f"`{name}` must not all be zero, got {weights!r:.80}; give at least one stream a "
            "positive weight"
        )
    return [share // divisor for share in shares]


def _near(weight: float) -> Fraction:
    """Return the fraction that a float is meant to be."""
    found = Fraction(weight).limit_denominator(_DENOMINATOR)
    # A tiny weight is kept as it is, rather than rounded away.
    return found if found and abs(found - Fraction(weight)) * 10**9 <= weight else Fraction(weight)


class Proportions:
    """Choices in proportion to weights.

    Parameters
    ----------
    shares : sequence of int
        The weights, as `as_shares` returns them.
    counts : sequence of int, optional
        How often each was chosen so far.

    Attributes
    ----------
    shares, counts
        As given.

    Examples
    --------
    >>> from fuel.streams._proportions import Proportions
    >>> choices = Proportions([3, 1])
    >>> [choices.take() for _ in range(8)]
    [0, 0, 1, 0, 0, 0, 1, 0]

    """

    def __init__(self, shares: Sequence[int], counts: Sequence[int] | None = None) -> None:
        self.shares = list(shares)
        self.counts = [0] * len(self.shares) if counts is None else list(counts)
        self._total = sum(self.shares)
        self._active = [number for number, share in enumerate(self.shares) if share]
        self._scale = 2 * len(self._active) - 2
        self._made = sum(self.counts)

    def peek(self) -> int:
        """Return which one is next."""
        active = self._active
        if len(active) == 1:
            return active[0]
        total, scale, shares, counts = self._total, self._scale, self.shares, self.counts
        made = self._made + 1
        chosen = -1
        least = over = 1
        for number in active:
            share = shares[number]
            due = scale * (made * share - total * counts[number])
            if due < total:
                continue
            # Until when its share can wait: (scale - 1) * total - due, in units of its weight.
            wait = (scale - 1) * total - due
            if chosen < 0 or wait * over < least * share:
                chosen, least, over = number, wait, share
        return chosen

    def take(self) -> int:
        """Choose the next one."""
        chosen = self.peek()
        self.counts[chosen] += 1
        self._made += 1
        return chosen

    def advance(self, count: int) -> int:
        """Make many choices, and return the last of them; -1 for none.

        It takes time for at most as many of them as the weights sum up to.
        """
        rounds = max(0, count - 1) // self._total
        self.counts = [
            counted + rounds * share
            for counted, share in zip(self.counts, self.shares, strict=True)
        ]
        self._made += rounds * self._total
        last = -1
        for _ in range(count - rounds * self._total):
            last = self.take()
        return last

    def copy(self) -> Proportions:
        """Return an equal one that goes its own way."""
        return Proportions(self.shares, self.counts)

    def state(self) -> JSON:
        """Describe how often each was chosen, as plain JSON."""
        return list(self.counts)


def first_beyond(shares: Sequence[int], lengths: Sequence[int], every: bool, most: int) -> int:
    """Return after how many choices some, or all, were chosen more often than they can be.

    Parameters
    ----------
    shares : sequence of int
        The weights.
    lengths : sequence of int
        How often each can be chosen; those without a weight do not count.
    every : bool
        Whether all of them must have been.
    most : int
        How many choices may be gone through one by one.

    Returns
    -------
    int
        The number of the first choice that is too many; -1 where it takes too long to say.

    """
    active = [number for number, share in enumerate(shares) if share]
    rounds = [lengths[number] // shares[number] for number in active]
    whole = max(rounds) if every else min(rounds)
    total = sum(shares)
    choices = Proportions(shares)
    made = whole * total
    latest = [(lengths[number] + 2) * total // shares[number] + 1 for number in active]
    if min(total, (max(latest) if every else min(latest)) - made) > most:
        return -1
    choices.counts = [whole * share for share in shares]
    choices._made = made
    while True:
        beyond = [choices.counts[number] > lengths[number] for number in active]
        if all(beyond) if every else any(beyond):
            return made
        choices.take()
        made += 1
