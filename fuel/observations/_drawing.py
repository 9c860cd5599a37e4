"""Observations in random order, or at random; and where all views that draw have their luck from.

In this module: `shuffleobs`, `randobs`, and `generator`. Not here: an order that is another one in
each epoch (`fuel.schemes.PermutedScheme`, the loader).
"""

from __future__ import annotations

import operator
from typing import Any

import numpy

from fuel.config_parser import config
from fuel.exceptions import RequestError
from fuel.observations._access import fetch, numobs
from fuel.observations._indices import frozen
from fuel.observations._obsview import view_of
from fuel.rng import philox_key

__all__ = ["generator", "randobs", "shuffleobs"]


def shuffleobs(
    data: Any, *, seed: int | None = None, rng: numpy.random.Generator | None = None
) -> Any:
    """Return a view of all observations, in random order.

    Parameters
    ----------
    data : container
        Any container.
    seed : int, optional
        What the order depends on. By default ``config.default_seed``, read now.
    rng : numpy.random.Generator, optional
        Draws the order, in place of a seed.

    Returns
    -------
    ObsView, or a tuple, named tuple or dict of them
        As for `obsview`: ``x, y = shuffleobs((x, y))``. The order stays the same as long as the
        view lives.

    Raises
    ------
    ValueError
        If both `seed` and `rng` are given.
    TypeError
        If `data` is no container, or `rng` no generator.

    Examples
    --------
    >>> from fuel.observations import shuffleobs
    >>> view = shuffleobs(range(5), seed=1)
    >>> sorted(view), list(view) == list(shuffleobs(range(5), seed=1))
    ([0, 1, 2, 3, 4], True)

    """
    count = numobs(data)
    return view_of(data, frozen(generator(seed, rng, "shuffleobs").permutation(count)))


def randobs(
    data: Any,
    n: int | None = None,
    *,
    seed: int | None = None,
    rng: numpy.random.Generator | None = None,
) -> Any:
    """Fetch an observation at random, or a batch of them.

    Parameters
    ----------
    data : container
        Any container.
    n : int, optional
        How many. They are drawn with replacement, and come as a batch. By default one observation,
        as such.
    seed : int, optional
        What the choice depends on: the same seed, the same choice. By default
        ``config.default_seed``.
    rng : numpy.random.Generator, optional
        Draws, in place of a seed: each call goes on where the last one stopped.

    Returns
    -------
    object
        What `getobs` returns for that index, or these indices.

    Raises
    ------
    fuel.exceptions.RequestError
        If there are no observations.
    ValueError
        If `n` is not positive, or both `seed` and `rng` are given.
    TypeError
        If `data` is no container, or `rng` no generator.

    Examples
    --------
    >>> import numpy
    >>> from fuel.observations import randobs
    >>> rng = numpy.random.default_rng(0)
    >>> randobs(numpy.arange(10) * 10, 3, rng=rng).shape
    (3,)

    """
    count = numobs(data)
    draws = generator(seed, rng, "randobs")
    if n is not None and operator.index(n) < 1:
        raise ValueError(f"`n` must be a positive integer, got {n!r}; leave it out for one")
    if not count:
        raise RequestError("the data is empty, got a request for random observations")
    if n is None:
        return fetch(data, int(draws.integers(count)))
    return fetch(data, draws.integers(count, size=operator.index(n), dtype=numpy.int64))


def generator(seed: Any, rng: Any, purpose: str) -> numpy.random.Generator:
    """Return the generator that a function draws from.

    Parameters
    ----------
    seed : int or None
        A seed, None for the default.
    rng : numpy.random.Generator or None
        What the user gave instead.
    purpose : str
        What is drawn: what is drawn from the same seed for another purpose is unrelated.

    Returns
    -------
    numpy.random.Generator
        `rng`, or a new one.

    Raises
    ------
    ValueError
        If both are given.
    TypeError
        If the seed is no integer, or `rng` no generator.

    """
    if rng is None:
        chosen = config.default_seed if seed is None else seed
        key = philox_key(chosen, 0, f"fuel.observations.{purpose}")
        return numpy.random.Generator(numpy.random.Philox(key=key))
    if seed is not None:
        raise ValueError(
            f"`seed` and `rng` say the same thing, got seed={seed!r} and rng={rng!r}; give one"
        )
    if not isinstance(rng, numpy.random.Generator):
        raise TypeError(
            f"`rng` must be a numpy.random.Generator, got {rng!r:.80}; use "
            "numpy.random.default_rng, or `seed`"
        )
    return rng
