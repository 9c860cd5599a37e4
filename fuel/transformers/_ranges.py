"""Numbers that transformers are given, checked: probabilities, ranges, values for a data type.

In this room: functions that return a number in a plain form or say what is wrong with it. Not
here: names, integers and data types (`fuel.transformers._checks`).
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy

__all__ = ["check_fill", "check_number", "check_range", "filling"]


def check_number(
    name: str, argument: str, value: Any, least: float = -math.inf, most: float = math.inf
) -> float:
    """Return a number as a float.

    Parameters
    ----------
    name : str
        Whose argument it is.
    argument : str
        Its name.
    value : float
        The number.
    least, most : float, optional
        Its bounds, both allowed.

    Returns
    -------
    float
        The same.

    Raises
    ------
    TypeError
        If it is no real number.
    ValueError
        If it is not finite or out of bounds.

    """
    if isinstance(value, numpy.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, (bool, numpy.bool_)) or not isinstance(value, Real):
        raise TypeError(f"`{argument}` of {name} must be a number, got {value!r:.80}")
    try:
        number = float(value)
    except OverflowError:  # an int beyond all floats
        number = math.inf
    if not math.isfinite(number) or not least <= number <= most:
        if math.isfinite(most):
            bounds = f"between {least:g} and {most:g}"
        else:
            bounds = "finite" if math.isinf(least) else f"finite and at least {least:g}"
        raise ValueError(f"`{argument}` of {name} must be {bounds}, got {value!r:.80}")
    return number


def check_range(
    name: str, argument: str, value: Any, least: float = -math.inf, most: float = math.inf
) -> tuple[float, float]:
    """Return a pair of numbers, the smaller one first.

    Parameters
    ----------
    name : str
        Whose argument it is.
    argument : str
        Its name.
    value : tuple of float
        The two numbers.
    least, most : float, optional
        Their bounds, both allowed.

    Returns
    -------
    tuple of float
        The same.

    Raises
    ------
    TypeError
        If it is no pair of numbers.
    ValueError
        If one of them is out of bounds, or the first is larger than the second.

    """
    try:
        low, high = value
    except (TypeError, ValueError):
        raise TypeError(
            f"`{argument}` of {name} must be a pair of numbers (smallest, largest), got "
            f"{value!r:.80}"
        ) from None
    low = check_number(name, argument, low, least, most)
    high = check_number(name, argument, high, least, most)
    if low > high:
        raise ValueError(
            f"`{argument}` of {name} must have the smaller number first, got {value!r:.80}; write "
            f"({high:g}, {low:g})"
        )
    return low, high


def check_fill(name: str, argument: str, value: Any) -> Any:
    """Return a number, or several, that data is to be overwritten with.

    Parameters
    ----------
    name : str
        Whose argument it is.
    argument : str
        Its name.
    value : number or sequence of numbers
        What was given.

    Returns
    -------
    number or tuple of numbers
        Plain numbers of Python's.

    Raises
    ------
    TypeError
        If it is neither.

    """
    try:
        array = numpy.asarray(value)
    except ValueError:  # a ragged list
        array = numpy.asarray("")
    if array.dtype.kind not in "biufc" or array.ndim > 1 or array.size == 0:
        raise TypeError(
            f"`{argument}` of {name} must be a number or a sequence of numbers, got {value!r:.80}"
        )
    plain = array.tolist()
    return tuple(plain) if isinstance(plain, list) else plain


def filling(name: str, argument: str, value: Any, dtype: Any, source_name: str) -> Any:
    """Return a value in the data type that is to hold it.

    Parameters
    ----------
    name : str
        Whose argument it is.
    argument : str
        Its name.
    value : number or tuple of numbers
        What `check_fill` returned.
    dtype : numpy.dtype
        The type of the data.
    source_name : str
        The source that the data belongs to, for the message.

    Returns
    -------
    numpy.ndarray, shape () or (n,)
        The value. Floating-point types round it.

    Raises
    ------
    TypeError
        If the data is not numeric.
    ValueError
        If an integer type cannot hold the value, or a real type is given a complex one.

    """
    given = numpy.asarray(value)
    if dtype.kind not in "biufc":
        raise TypeError(
            f"{name} needs numbers, but source {source_name!r} has the type {dtype}; name the "
            "sources to transform in `which_sources`"
        )
    if dtype.kind in "biu":
        low, high = (0, 1) if dtype.kind == "b" else _bounds(dtype)
        fits = given.dtype.kind != "c" and all(
            float(one).is_integer() and low <= one <= high for one in given.ravel().tolist()
        )
    else:
        fits = given.dtype.kind != "c" or dtype.kind == "c"
    if not fits:
        raise ValueError(
            f"`{argument}` of {name} is {value!r:.80}, which {dtype} of source {source_name!r} "
            "cannot hold; choose another, or put Cast below"
        )
    return given.astype(dtype)


def _bounds(dtype: Any) -> tuple[int, int]:
    info = numpy.iinfo(dtype)
    return int(info.min), int(info.max)
