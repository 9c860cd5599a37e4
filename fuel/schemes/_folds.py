"""Splits of examples into parts for training and for testing.

In this module: `cross_validation` and `shuffled_split`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Any

import numpy

from fuel.config_parser import config
from fuel.kernels.permutation import Permutation

__all__ = ["cross_validation", "shuffled_split"]


def cross_validation(
    scheme_class: Any, num_examples: int, num_folds: int, strict: bool = True, **kwargs: Any
) -> Iterator[tuple[Any, ...]]:
    """Return pairs of schemes for cross-validation.

    Parameters
    ----------
    scheme_class : type
        The class of the schemes; it is called with a list of indices and `kwargs`.
    num_examples : int
        Number of examples.
    num_folds : int
        Number of pairs. As many folds as examples leave one example out each time.
    strict : bool, optional
        Whether to insist on folds of the same size.
    **kwargs
        Arguments for both schemes, such as ``batch_size``.

    Yields
    ------
    tuple
        A scheme for training and one for validation; if not `strict`, also the number of
        examples in the latter. Fold i validates on the examples from
        ``num_examples * i // num_folds`` to (not including)
        ``num_examples * (i + 1) // num_folds``, and trains on all others.

    Raises
    ------
    ValueError
        When the first pair is asked for: if `num_folds` is not positive, or `strict` and
        `num_examples` is not a multiple of it.
    TypeError
        Likewise, if either is no integer, or `scheme_class` cannot be called.

    Notes
    -----
    The schemes can be used for any number of epochs. For folds of shuffled examples see
    `shuffled_split`.

    Examples
    --------
    >>> from fuel.schemes import SequentialExampleScheme, cross_validation
    >>> for train, valid in cross_validation(SequentialExampleScheme, 4, 2):
    ...     print(list(train.get_request_iterator()), list(valid.get_request_iterator()))
    [2, 3] [0, 1]
    [0, 1] [2, 3]

    """
    for name, value in (("num_examples", num_examples), ("num_folds", num_folds)):
        if not isinstance(value, Integral) or isinstance(value, bool):
            raise TypeError(f"`{name}` must be an integer, got {value!r:.80}")
    if not callable(scheme_class):
        raise TypeError(
            f"`scheme_class` must be a class of schemes, got {scheme_class!r:.80}; pass for "
            "example SequentialScheme itself, and its arguments after `num_folds`"
        )
    if num_folds < 1:
        raise ValueError(f"`num_folds` must be a positive integer, got {num_folds!r}")
    if strict and num_examples % num_folds:
        raise ValueError(
            f"{num_examples} examples cannot be divided into {num_folds} folds of the same size; "
            "use `strict=False` for folds that differ by one"
        )
    for fold in range(num_folds):
        begin = num_examples * fold // num_folds
        end = num_examples * (fold + 1) // num_folds
        train = scheme_class([*range(begin), *range(end, num_examples)], **kwargs)
        valid = scheme_class(list(range(begin, end)), **kwargs)
        yield (train, valid) if strict else (train, valid, end - begin)


def shuffled_split(
    num_examples: int, fractions: float | Sequence[float], *, seed: int | None = None
) -> tuple[list[int], ...]:
    """Divide examples at random into parts, for example for training and for validation.

    Parameters
    ----------
    num_examples : int
        Number of examples.
    fractions : float or sequence of float
        The share of each part; they add up to one. A single number is the share of the first of
        two parts.
    seed : int, optional
        What the split depends on. The default is ``config.default_seed``.

    Returns
    -------
    tuple of list of int
        The indices of each part, in increasing order. Together they are all examples, each once.

    Raises
    ------
    ValueError
        If a share is not between 0 and 1, or they do not add up to one.

    Examples
    --------
    >>> from fuel.schemes import ShuffledScheme, shuffled_split
    >>> train, valid = shuffled_split(10, 0.8, seed=1)
    >>> len(train), len(valid)
    (8, 2)
    >>> scheme = ShuffledScheme(train, batch_size=4)

    """
    if isinstance(fractions, Sequence):
        shares = [float(share) for share in fractions]
    else:
        shares = [float(fractions), 1 - float(fractions)]
    if any(not 0 <= share <= 1 for share in shares) or not math.isclose(sum(shares), 1):
        raise ValueError(
            f"`fractions` must be shares between 0 and 1 that add up to 1, got {fractions!r}"
        )
    chosen = operator.index(config.default_seed if seed is None else seed)
    order = Permutation(chosen, 0, num_examples, purpose="split").block(0, num_examples)
    bounds = [round(math.fsum(shares[:part]) * num_examples) for part in range(len(shares))]
    return tuple(numpy.sort(part).tolist() for part in numpy.split(order, bounds[1:]))
