"""Training and validation again and again: `kfolds`, `leavepout`, `timeseries_kfolds`.

Not here: one division (``_splitting``); pairs of schemes (`fuel.schemes.cross_validation`).
"""

from __future__ import annotations

import operator
from typing import Any

import numpy

from fuel.observations._access import numbers_of
from fuel.observations._classes import classes_of, members_of
from fuel.observations._drawing import generator
from fuel.observations._indices import Indices, frozen
from fuel.observations._obsview import view_of
from fuel.observations._splitting import count_of
from fuel.observations._storing import store
from fuel.observations._view import View, describe

__all__ = ["Folds", "kfolds", "leavepout", "timeseries_kfolds"]


def kfolds(
    data: Any,
    k: int = 5,
    *,
    shuffle: bool = False,
    stratified: Any = None,
    seed: int | None = None,
    rng: numpy.random.Generator | None = None,
) -> Any:
    """Divide observations into folds, each of which is once for validation.

    Parameters
    ----------
    data : container or int
        Any container; or a number of observations, to get indices.
    k : int, optional
        How many folds, from 2 to the number of observations.
    shuffle : bool, optional
        Whether to assign the observations to the folds at random.
    stratified : container, optional
        One label for each observation: the folds then differ by at most one in the number of
        observations of each class, and in all.
    seed : int, optional
        What the random assignment depends on. By default ``config.default_seed``, read now.
    rng : numpy.random.Generator, optional
        Draws it, in place of a seed.

    Returns
    -------
    sequence of (train, validation)
        For a container: of length `k`, lazy, with views as `obsview` makes them. The validation
        parts have no observation in common and are all together; each training part is all the
        rest. The first folds are larger by one, where the number is no multiple of `k`.
    tuple of (list, list)
        For a number: the indices of the `k` training parts, and those of the validation parts.

    Raises
    ------
    ValueError
        If there are not that many observations or labels, or both `seed` and `rng` are given.
    TypeError
        If `data` is no container, or `k` no integer.

    Examples
    --------
    >>> from fuel.observations import kfolds
    >>> for train, validation in kfolds(range(10), k=5):
    ...     print(list(train), list(validation))
    [2, 3, 4, 5, 6, 7, 8, 9] [0, 1]
    [0, 1, 4, 5, 6, 7, 8, 9] [2, 3]
    [0, 1, 2, 3, 6, 7, 8, 9] [4, 5]
    [0, 1, 2, 3, 4, 5, 8, 9] [6, 7]
    [0, 1, 2, 3, 4, 5, 6, 7] [8, 9]
    >>> train, validation = kfolds(10, 5)
    >>> validation
    [range(0, 2), range(2, 4), range(4, 6), range(6, 8), range(8, 10)]

    """
    count, number_given = count_of(data)
    folds = operator.index(k)
    if not 2 <= folds <= count:
        raise ValueError(
            f"`k` must be from 2 to the number of observations, {count}, got {folds}; a fold has "
            "at least one observation"
        )
    draws = generator(seed, rng, "kfolds")
    order = draws.permutation(count) if shuffle else None
    if stratified is None:
        small, larger = divmod(count, folds)
        bounds = [fold * small + min(fold, larger) for fold in range(folds + 1)]
        pairs: Pairs = BetweenBounds(bounds, order)
    else:
        codes = classes_of(stratified, count, "stratified")
        order = numpy.arange(count) if order is None else order
        fold_of = numpy.empty(count, dtype=numpy.int64)
        # One class after the other dealt out in turns evens out both each class and the whole.
        fold_of[numpy.concatenate(members_of(codes, order))] = numpy.arange(count) % folds
        pairs = ByNumber(fold_of, folds, order)
    return _folds("kfolds", data, pairs, number_given)


def leavepout(
    data: Any,
    p: int = 1,
    *,
    shuffle: bool = False,
    seed: int | None = None,
    rng: numpy.random.Generator | None = None,
) -> Any:
    """Divide observations into folds of a given size, each of which is once for validation.

    Parameters
    ----------
    data : container or int
        Any container; or a number of observations, to get indices.
    p : int, optional
        How many observations a fold has, at most half of all. Where the number of observations is
        no multiple of it, the first folds have more.
    shuffle, seed, rng : optional
        As for `kfolds`.

    Returns
    -------
    sequence of (train, validation), or tuple of (list, list)
        What ``kfolds(data, numobs(data) // p)`` returns.

    Raises
    ------
    ValueError
        If `p` is not positive, or there are not two times as many observations.
    TypeError
        If `data` is no container, or `p` no integer.

    Examples
    --------
    >>> from fuel.observations import leavepout
    >>> [list(validation) for train, validation in leavepout(range(7), p=2)]
    [[0, 1, 2], [3, 4], [5, 6]]

    """
    count, _ = count_of(data)
    size = operator.index(p)
    if size < 1 or count // size < 2:
        raise ValueError(
            f"`p` must be from 1 to half of the number of observations, {count}, got {size}; what "
            "is left out must leave something to train on"
        )
    return kfolds(data, count // size, shuffle=shuffle, seed=seed, rng=rng)


def timeseries_kfolds(data: Any, k: int = 5, *, gap: int = 0, max_train: int | None = None) -> Any:
    """Validate on stretches of a time series, and train on what came before each.

    Parameters
    ----------
    data : container or int
        Observations in the order of time; or their number, to get indices.
    k : int, optional
        How many stretches, from 1. The series is divided into ``k + 1`` of equal length
        (``numobs(data) // (k + 1)``), of which the first is for training only, and longer by what
        is left over.
    gap : int, optional
        How many observations before each validation part are left out, in case they say something
        about it.
    max_train : int, optional
        How many observations, the latest ones, to train on at most. All by default.

    Returns
    -------
    sequence of (train, validation)
        For a container: of length `k`, lazy, with views as `obsview` makes them. Every observation
        of a training part comes before those of its validation part, which follow one another from
        part to part.
    tuple of (list, list)
        For a number: the ranges of the training parts, and those of the validation parts.

    Raises
    ------
    ValueError
        If there are too few observations for all that.
    TypeError
        If `data` is no container, or a number is no integer.

    Examples
    --------
    >>> from fuel.observations import timeseries_kfolds
    >>> for train, validation in timeseries_kfolds(range(10), k=3, gap=1, max_train=4):
    ...     print(list(train), list(validation))
    [0, 1, 2] [4, 5]
    [1, 2, 3, 4] [6, 7]
    [3, 4, 5, 6] [8, 9]

    """
    count, number_given = count_of(data)
    folds, skipped = operator.index(k), operator.index(gap)
    most = count if max_train is None else operator.index(max_train)
    for name, value, least in (("k", folds, 1), ("gap", skipped, 0), ("max_train", most, 1)):
        if value < least and (name != "max_train" or max_train is not None):
            raise ValueError(f"`{name}` must be {least} or more, got {value}")
    size = count // (folds + 1)
    if size < 1 or count - folds * size - skipped < 1:
        raise ValueError(
            f"{count} observations are too few for {folds} folds and a gap of {skipped}: nothing "
            "would be left to train on; use fewer folds or a smaller gap"
        )
    pairs = InTime([count - left * size for left in range(folds, 0, -1)], size, skipped, most)
    return _folds("timeseries_kfolds", data, pairs, number_given)


class Folds(View):
    """Pairs of views, made when they are asked for.

    Parameters
    ----------
    name : str
        Who made them.
    data : container
        The observations.
    pairs : Pairs
        Their indices.

    """

    def __init__(self, name: str, data: Any, pairs: Pairs) -> None:
        self.name, self.data, self.pairs = name, data, pairs

    def __len__(self) -> int:
        return self.pairs.count

    def _fetch(self, rows: Any, out: Any = None) -> Any:
        if isinstance(rows, int):
            train, validation = self.pairs.pair(rows)
            return store((view_of(self.data, train), view_of(self.data, validation)), out)
        return [self._fetch(row) for row in numbers_of(rows)]

    def __repr__(self) -> str:
        return f"{self.name}({describe(self.data)}, {len(self)} folds)"


class Pairs:
    """Indices of the training and of the validation part of each fold.

    Held together so, n folds of n observations take as much memory as the observations' indices,
    and not as much as their square.
    """

    count: int

    def pair(self, fold: int) -> tuple[Indices, Indices]:
        """Return the indices of one fold."""
        raise NotImplementedError


class BetweenBounds(Pairs):
    """Each fold is a stretch of an order."""

    def __init__(self, bounds: list[int], order: Any) -> None:
        self.bounds, self.order, self.count = bounds, order, len(bounds) - 1

    def pair(self, fold: int) -> tuple[Indices, Indices]:
        """Return the indices of one fold."""
        first, last, end = self.bounds[fold], self.bounds[fold + 1], self.bounds[-1]
        if self.order is not None:
            rest = numpy.concatenate([self.order[:first], self.order[last:]])
            return frozen(rest), frozen(self.order[first:last])
        if first == 0 or last == end:
            return (range(last, end) if first == 0 else range(first)), range(first, last)
        around = numpy.concatenate([numpy.arange(first), numpy.arange(last, end)])
        return frozen(around), range(first, last)


class ByNumber(Pairs):
    """It is known of each observation to which fold it belongs."""

    def __init__(self, fold_of: Any, count: int, order: Any) -> None:
        self.in_order, self.count, self.order = fold_of[order], count, order

    def pair(self, fold: int) -> tuple[Indices, Indices]:
        """Return the indices of one fold."""
        inside = self.in_order == fold
        return frozen(self.order[~inside]), frozen(self.order[inside])


class InTime(Pairs):
    """Each fold is a stretch, and is preceded by what it is for."""

    def __init__(self, starts: list[int], size: int, gap: int, most: int) -> None:
        self.starts, self.size, self.gap, self.most = starts, size, gap, most
        self.count = len(starts)

    def pair(self, fold: int) -> tuple[Indices, Indices]:
        """Return the indices of one fold."""
        start = self.starts[fold]
        end = start - self.gap
        return range(max(0, end - self.most), end), range(start, start + self.size)


def _folds(name: str, data: Any, pairs: Pairs, number_given: bool) -> Any:
    if not number_given:
        return Folds(name, data, pairs)
    found = [pairs.pair(fold) for fold in range(pairs.count)]
    return [train for train, _ in found], [validation for _, validation in found]
