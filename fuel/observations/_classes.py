"""Labels as numbers of classes, for all that keeps or changes proportions."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.observations._access import getobs, numobs

__all__ = ["classes_of", "members_of"]


def classes_of(labels: Any, count: int, name: str) -> NDArray[numpy.int64]:
    """Return the number of the class of each observation.

    Parameters
    ----------
    labels : container
        One label for each observation: numbers, texts, or anything that can be a key of a dict.
    count : int
        How many observations there are.
    name : str
        What the argument is called.

    Returns
    -------
    numpy.ndarray, shape (count,), dtype int64
        From 0, in the order of the labels if they have one, else of their appearance.

    Raises
    ------
    ValueError
        If there are more or fewer labels than observations, or they are no single values.
    TypeError
        If `labels` is no container, or one of them cannot be a key.

    """
    if isinstance(labels, tuple):
        labels = list(labels)
    found = numobs(labels)
    if found != count:
        raise ValueError(
            f"`{name}` must have one label for each of the {count} observations, got {found}"
        )
    values = getobs(labels)
    if isinstance(values, numpy.ndarray):
        if values.ndim != 1:
            raise ValueError(
                f"`{name}` must have one label for each observation, got an array of shape "
                f"{values.shape}; use numpy.argmax for vectors of classes"
            )
        if not values.dtype.hasobject:
            codes = numpy.unique(values, return_inverse=True)[1]
            return codes.reshape(-1).astype(numpy.int64, copy=False)
        values = values.tolist()
    distinct = list(dict.fromkeys(values))
    try:
        distinct.sort()
    except TypeError:
        pass
    numbers = {label: number for number, label in enumerate(distinct)}
    return numpy.fromiter((numbers[label] for label in values), numpy.int64, count)


def members_of(codes: NDArray[numpy.int64], order: NDArray[numpy.int64]) -> list[NDArray[Any]]:
    """Return the observations of each class.

    Parameters
    ----------
    codes : numpy.ndarray, shape (n,), dtype int64
        What `classes_of` returned.
    order : numpy.ndarray, shape (n,), dtype int64
        An order of all observations.

    Returns
    -------
    list of numpy.ndarray
        For each class its observations, in that order.

    """
    if not len(codes):
        return []
    by_class = order[numpy.argsort(codes[order], kind="stable")]
    sizes = numpy.bincount(codes)
    return [part for part in numpy.split(by_class, numpy.cumsum(sizes)[:-1]) if len(part)]
