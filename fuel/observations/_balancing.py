"""As many observations of one class as of another: `oversample` and `undersample`.

Not here: draws by weight while streaming (`fuel.schemes`).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.observations._access import numobs
from fuel.observations._classes import classes_of, members_of
from fuel.observations._drawing import generator
from fuel.observations._indices import frozen
from fuel.observations._obsview import view_of

__all__ = ["oversample", "undersample"]


def oversample(
    data: Any,
    labels: Any = None,
    fraction: float = 1.0,
    shuffle: bool = True,
    *,
    seed: int | None = None,
    rng: numpy.random.Generator | None = None,
) -> Any:
    """Repeat observations of the smaller classes.

    Parameters
    ----------
    data : container
        Any container.
    labels : container, optional
        One label for each observation. By default the last container of the tuple `data`.
    fraction : float, optional
        Every class will have at least this fraction of the observations of the largest, between 0
        and 1. With 1 all will have the same number.
    shuffle : bool, optional
        Whether to shuffle the result. Otherwise all observations come first, in their order, and
        the repeated ones after them, class by class.
    seed : int, optional
        What all draws depend on. By default ``config.default_seed``, read now.
    rng : numpy.random.Generator, optional
        Draws, in place of a seed.

    Returns
    -------
    views
        With `labels`, a pair: of the data, and of the labels, as `obsview` makes them. Without,
        of the tuple.

    Raises
    ------
    ValueError
        If `fraction` is not between 0 and 1, there is not one label for each observation, or no
        labels at all.
    TypeError
        If `data` or `labels` is no container.

    Notes
    -----
    No observation is repeated once more before all of its class have been repeated as often.

    Examples
    --------
    >>> import numpy
    >>> from fuel.observations import getobs, oversample
    >>> x, y = oversample(numpy.arange(12).reshape(6, 2), list("abbbba"), seed=1)
    >>> len(x), sorted(y)
    (8, ['a', 'a', 'a', 'a', 'b', 'b', 'b', 'b'])
    >>> getobs(x).shape
    (8, 2)

    """
    share = _checked(fraction)
    labelled, codes = _labelled("oversample", data, labels)
    draws = generator(seed, rng, "oversample")
    members = members_of(codes, numpy.arange(len(codes)))
    wanted = math.ceil(share * max(map(len, members), default=0))
    chosen: list[NDArray[Any]] = [numpy.arange(len(codes))]
    for group in members:
        times, more = divmod(max(0, wanted - len(group)), len(group))
        chosen += [numpy.tile(group, times), numpy.sort(_some(group, more, draws))]
    return _result(labelled, numpy.concatenate(chosen), shuffle, draws)


def undersample(
    data: Any,
    labels: Any = None,
    fraction: float = 1.0,
    shuffle: bool = True,
    *,
    seed: int | None = None,
    rng: numpy.random.Generator | None = None,
) -> Any:
    """Leave out observations of the larger classes.

    Parameters
    ----------
    data : container
        Any container.
    labels : container, optional
        One label for each observation. By default the last container of the tuple `data`.
    fraction : float, optional
        The smallest class will have at least this fraction of the observations of every other,
        between 0 (not included) and 1. With 1 all will have the same number.
    shuffle : bool, optional
        Whether to shuffle the result. Otherwise it is in the order of the data.
    seed : int, optional
        What all draws depend on. By default ``config.default_seed``, read now.
    rng : numpy.random.Generator, optional
        Draws, in place of a seed.

    Returns
    -------
    views
        With `labels`, a pair: of the data, and of the labels, as `obsview` makes them. Without,
        of the tuple.

    Raises
    ------
    ValueError
        If `fraction` is not between 0 and 1 or is 0, there is not one label for each observation,
        or no labels at all.
    TypeError
        If `data` or `labels` is no container.

    Examples
    --------
    >>> from fuel.observations import undersample
    >>> x, y = undersample(range(6), list("abbbba"), shuffle=False, seed=1)
    >>> len(x), sorted(y)
    (4, ['a', 'a', 'b', 'b'])

    """
    share = _checked(fraction)
    if not share:
        raise ValueError(f"`fraction` must be more than 0, got {fraction!r}; 0 leaves none out")
    labelled, codes = _labelled("undersample", data, labels)
    draws = generator(seed, rng, "undersample")
    members = members_of(codes, numpy.arange(len(codes)))
    most = math.floor(min(map(len, members), default=0) / share)
    chosen = [_some(group, most, draws) for group in members]
    return _result(labelled, numpy.sort(numpy.concatenate([codes[:0], *chosen])), shuffle, draws)


def _checked(fraction: Any) -> Fraction:
    try:
        inside = 0 <= fraction <= 1
    except TypeError:
        inside = False
    if not inside:
        raise ValueError(f"`fraction` must be between 0 and 1, got {fraction!r}")
    # As it is written: 0.1 of ten is one, and not a little more.
    return Fraction(float(fraction)).limit_denominator(10**9)


def _labelled(name: str, data: Any, labels: Any) -> tuple[Any, NDArray[numpy.int64]]:
    """Return data together with its labels, and the numbers of their classes."""
    if labels is None:
        if not isinstance(data, tuple) or len(data) < 2:
            raise ValueError(
                f"{name} needs labels, got data of type {type(data).__name__} alone; give them as "
                "the second argument, or as the last entry of a tuple"
            )
        return data, classes_of(data[-1], numobs(data), "labels")
    if isinstance(labels, tuple):
        labels = list(labels)
    return (data, labels), classes_of(labels, numobs(data), "labels")


def _some(group: NDArray[Any], count: int, draws: numpy.random.Generator) -> NDArray[Any]:
    """Draw without repetition; all, if there are no more."""
    return draws.permutation(group)[:count]


def _result(
    labelled: Any, chosen: NDArray[Any], shuffle: bool, draws: numpy.random.Generator
) -> Any:
    order = chosen.astype(numpy.int64)
    return view_of(labelled, frozen(draws.permutation(order) if shuffle else order))
