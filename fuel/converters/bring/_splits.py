"""Which example belongs to which split: by fraction, by the values of a column, or by file.

How splits are stored is the business of `fuel.converters.writer`.

Fractions are shared out exactly: the sizes are those of the method of largest remainders (Hamilton,
1792), and the examples of a split are those with the smallest keys, where the keys are the raw
64-bit words of a Philox-4x64-10 generator whose key is ``fuel.rng.philox_key(seed, 0, "split")``.
Neither depends on the platform or on the version of NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.exceptions import ConfigurationError, StorageError
from fuel.rng import philox_key

__all__ = ["Division", "by_parts", "by_values", "divide", "parse_split", "sizes_of"]

#: A column with more values than this does not name splits.
_MOST_SPLITS = 1000

#: What the only split is called where the user names none.
EVERYTHING = "all"


@dataclass(frozen=True)
class Division:
    """Which split each example belongs to.

    Attributes
    ----------
    names : tuple of str
        The splits.
    of : numpy.ndarray, shape (examples,), dtype int16
        For each example the place of its split in `names`.

    """

    names: tuple[str, ...]
    of: NDArray[numpy.int16]

    def sizes(self) -> dict[str, int]:
        """Return the number of examples in each split."""
        counts = numpy.bincount(self.of, minlength=len(self.names))
        return {name: int(count) for name, count in zip(self.names, counts, strict=True)}


def parse_split(
    given: str | Mapping[str, Any] | Sequence[str] | None,
) -> tuple[tuple[str, ...], tuple[Fraction, ...] | None]:
    """Understand ``train=0.8,valid=0.1,test=0.1``, or names alone.

    Parameters
    ----------
    given : str, dict, sequence of str or None
        The text of the option; or a dict from names to fractions; or names.

    Returns
    -------
    names : tuple of str
        The splits, none for None.
    fractions : tuple of Fraction, or None
        The share of each, exactly as written in decimal; None where there are only names.

    Raises
    ------
    ConfigurationError
        If it is not understood, a fraction is not between 0 and 1, they do not sum to 1, or a name
        occurs twice.

    """
    if given is None:
        return (), None
    if isinstance(given, str):
        pairs = [tuple(part.strip() for part in text.split("=", 1)) for text in given.split(",")]
    elif isinstance(given, Mapping):
        pairs = [(name, str(value)) for name, value in given.items()]
    else:
        pairs = [(name,) for name in given]
    names = tuple(pair[0] for pair in pairs)
    hint = "write for example train=0.8,valid=0.1,test=0.1"
    if "" in names or not names:
        raise ConfigurationError(f"each split must have a name, got {given!r}; {hint}")
    if len(set(names)) < len(names):
        raise ConfigurationError(f"each split must be named once, got {given!r}; {hint}")
    if all(len(pair) == 1 for pair in pairs):
        return names, None
    fractions = []
    for name, *value in pairs:
        try:
            fraction = Fraction(value[0])
        except (IndexError, ValueError, ZeroDivisionError):
            raise ConfigurationError(
                f"the fraction of split {name!r} must be a number, got {given!r}; {hint}"
            ) from None
        if not 0 < fraction <= 1:
            raise ConfigurationError(
                f"the fraction of split {name!r} must be above 0 and at most 1, got {value[0]}; "
                + hint
            )
        fractions.append(fraction)
    if sum(fractions) != 1:
        raise ConfigurationError(
            f"the fractions of the splits must sum to 1, got {given!r}, which sum to "
            f"{float(sum(fractions)):.6g}; {hint}, or fractions such as 1/3"
        )
    return names, tuple(fractions)


def sizes_of(total: int, fractions: Sequence[Fraction]) -> list[int]:
    """Share out a number of examples by the method of largest remainders.

    Parameters
    ----------
    total : int
        How many examples there are.
    fractions : sequence of Fraction
        The shares, which sum to 1.

    Returns
    -------
    list of int
        How many examples each gets; of equal remainders the first goes first.

    """
    exact = [total * fraction for fraction in fractions]
    sizes = [int(share) for share in exact]
    order = sorted(range(len(exact)), key=lambda place: (sizes[place] - exact[place], place))
    for place in order[: total - sum(sizes)]:
        sizes[place] += 1
    return sizes


def divide(
    total: int,
    names: tuple[str, ...],
    fractions: Sequence[Fraction],
    seed: int,
    strata: NDArray[Any] | None = None,
) -> Division:
    """Draw splits of given fractions.

    Parameters
    ----------
    total : int
        How many examples there are.
    names : tuple of str
        The splits.
    fractions : sequence of Fraction
        Their shares.
    seed : int
        Another seed draws other splits.
    strata : numpy.ndarray, shape (total,), dtype integer, optional
        A class for each example, from 0 on; each class is then shared out like the whole.

    Returns
    -------
    Division
        Complete and without overlap.

    Raises
    ------
    StorageError
        If a split would be empty.

    """
    wanted = sizes_of(total, fractions)
    for name, size, fraction in zip(names, wanted, fractions, strict=True):
        if not size:
            raise StorageError(
                f"split {name!r} would be empty: {float(fraction):g} of {total} examples is none; "
                "give it a larger fraction, or leave it out"
            )
    bits = numpy.random.Philox(key=philox_key(seed, 0, "split"))
    keys = bits.random_raw(total)
    of = numpy.empty(total, dtype=numpy.int16)
    if strata is None:
        order = numpy.argsort(keys, kind="stable")
        of[order] = numpy.repeat(numpy.arange(len(names)), wanted)
        return Division(names, of)
    # Sorted by class, within it by key: each class is one stretch.
    order = numpy.lexsort((keys, strata))
    counts = numpy.bincount(strata)
    shares = _by_class([int(count) for count in counts], fractions, wanted)
    of[order] = numpy.repeat(numpy.tile(numpy.arange(len(names)), len(counts)), numpy.ravel(shares))
    division = Division(names, of)
    for name, size in division.sizes().items():
        if not size:
            raise StorageError(
                f"split {name!r} would be empty when every class is divided alike; give it a "
                "larger fraction, or leave --stratify out"
            )
    return division


def _by_class(
    counts: Sequence[int], fractions: Sequence[Fraction], wanted: Sequence[int]
) -> list[list[int]]:
    """Share out each class; each share is its exact one rounded up or down.

    What is left after rounding down goes, class by class, to the splits that lag most; then single
    examples change places until the sizes of the splits are those of largest remainders, where
    that is possible without rounding any share further.
    """
    places = range(len(fractions))
    lag = [Fraction(0)] * len(fractions)
    shares, extra, possible = [], [], []
    for count in counts:
        exact = [count * fraction for fraction in fractions]
        share = [int(value) for value in exact]
        can = [exact[place] != share[place] for place in places]
        lag = [lag[place] + exact[place] - share[place] for place in places]
        order = sorted((place for place in places if can[place]), key=lambda p: (-lag[p], p))
        chosen = set(order[: count - sum(share)])
        for place in chosen:
            lag[place] -= 1
        shares.append(share)
        extra.append(chosen)
        possible.append(can)
    excess = [
        sum(share[place] for share in shares)
        + sum(place in chosen for chosen in extra)
        - wanted[place]
        for place in places
    ]
    while any(excess):
        moves = _path(excess, extra, possible)
        if not moves:
            break
        for source, target, stratum in moves:
            extra[stratum].remove(source)
            extra[stratum].add(target)
        excess[moves[0][0]] -= 1
        excess[moves[-1][1]] += 1
    return [
        [share[place] + (place in chosen) for place in places]
        for share, chosen in zip(shares, extra, strict=True)
    ]


def _path(
    excess: Sequence[int], extra: Sequence[set[int]], possible: Sequence[Sequence[bool]]
) -> list[tuple[int, int, int]]:
    """Find moves (from, to, class) that lead from a split with too many to one with too few."""
    edges: dict[tuple[int, int], int] = {}
    for stratum, (chosen, can) in enumerate(zip(extra, possible, strict=True)):
        for source in chosen:
            for target in range(len(can)):
                if can[target] and target not in chosen:
                    edges.setdefault((source, target), stratum)
    for start in (place for place, value in enumerate(excess) if value > 0):
        came: dict[int, int] = {start: start}
        queue = [start]
        for place in queue:
            if excess[place] < 0:
                moves: list[tuple[int, int, int]] = []
                while place != start:
                    moves.insert(0, (came[place], place, edges[came[place], place]))
                    place = came[place]
                return moves
            for source, target in edges:
                if source == place and target not in came:
                    came[target] = place
                    queue.append(target)
    return []


def by_values(
    batches: Iterable[Sequence[Any]], total: int, allowed: tuple[str, ...], what: str
) -> Division:
    """Take the splits that the values of a column name.

    Parameters
    ----------
    batches : iterable of sequence
        The values of all examples.
    total : int
        How many there are.
    allowed : tuple of str
        The names that may occur, in the order in which the splits are to be stored; empty for any,
        in the order of appearance.
    what : str
        What the column is called, for messages.

    Returns
    -------
    Division
        The splits.

    Raises
    ------
    StorageError
        If another name occurs, one does not, or there are too many.

    """

    def name_of(value: Any) -> str:
        name = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
        if not name:
            raise StorageError(
                f"{what} must name a split for every example, got none; fill it in, or leave the "
                "example out"
            )
        return name

    codes, of = codes_of(batches, total, name_of, {name: n for n, name in enumerate(allowed)}, what)
    names = tuple(codes)
    if allowed and len(names) > len(allowed):
        raise StorageError(
            f"{what} names the split {names[len(allowed)]!r}, which is none of "
            f"{', '.join(allowed)}; name it in --split, or leave --split out"
        )
    division = Division(names, of)
    for name, size in division.sizes().items():
        if not size:
            raise StorageError(
                f"split {name!r} would be empty: {what} never has that value, only "
                f"{', '.join(name for name, size in division.sizes().items() if size)}; leave it "
                "out of --split"
            )
    return division


def codes_of(
    batches: Iterable[Sequence[Any]],
    total: int,
    key: Callable[[Any], Any] = lambda value: value,
    known: dict[Any, int] | None = None,
    names_of: str | None = None,
) -> tuple[dict[Any, int], Any]:
    """Number the different values of a column in the order of appearance.

    Parameters
    ----------
    batches : iterable of sequence
        The values of all examples.
    total : int
        How many there are.
    key : callable, optional
        From a value to what is compared.
    known : dict, optional
        Values that have numbers already.
    names_of : str, optional
        What the column is called, if its values name splits.

    Returns
    -------
    dict
        From values to numbers.
    numpy.ndarray, shape (total,)
        The number of each example.

    """
    codes: dict[Any, int] = dict(known or {})
    of = numpy.empty(total, dtype=numpy.int16 if names_of else numpy.int64)
    done = 0
    for batch in batches:
        numbers = [codes.setdefault(key(value), len(codes)) for value in batch]
        if names_of and len(codes) > _MOST_SPLITS:
            raise StorageError(
                f"{names_of} has more than {_MOST_SPLITS} different values, too many for names of "
                "splits; name another column"
            )
        of[done : done + len(numbers)] = numbers
        done += len(numbers)
    if done != total:
        raise StorageError("the input changed while it was read; start again when it is at rest")
    return codes, of


def by_parts(parts: Sequence[tuple[str, int]], allowed: tuple[str, ...]) -> Division:
    """Take the splits that stretches of the input belong to.

    Parameters
    ----------
    parts : sequence of (str, int)
        Name and number of examples of each stretch.
    allowed : tuple of str
        As for `by_values`.

    Returns
    -------
    Division
        The splits.

    """
    batches = ([name] * count for name, count in parts)
    return by_values(batches, sum(count for _, count in parts), allowed, "the input")
