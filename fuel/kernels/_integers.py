"""Integers as users give them, and numbers as compiled code reads them.

In this module: `vector_of`, which loses no integer of Python on the way to NumPy, and `in_order`.
Not here: which integers are allowed, which each door says itself.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

__all__ = ["in_order", "vector_of"]


def vector_of(values: Any) -> NDArray[Any]:
    """Return what was given as an array.

    Parameters
    ----------
    values : array_like
        Integers, as a rule.

    Returns
    -------
    numpy.ndarray
        That of `numpy.asarray`, but for a list of integers of Python that has none for all of them:
        of some below and some above 2**63, NumPy makes floats. They come back as objects.

    """
    given: NDArray[Any] = numpy.asarray(values)
    if (
        given.dtype.kind == "f"
        and given.ndim == 1
        and isinstance(values, (list, tuple))
        and all(type(value) is int for value in values)
        and values
    ):
        return numpy.array(values, dtype=object)
    return given


def in_order(values: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """Return numbers as C reads them.

    Parameters
    ----------
    values : numpy.ndarray
        Numbers.
    dtype : data-type
        Their type in C.

    Returns
    -------
    numpy.ndarray, of the same shape
        Of this type, in C order, aligned; `values` itself where it is like that.

    """
    found: NDArray[Any] = numpy.asarray(values, dtype=dtype, order="C")
    return found if found.flags.aligned else found.copy()
