"""One number of padding in a given type, or the reason why the type cannot hold it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
from numpy.typing import NDArray

__all__ = ["fill_of"]


def fill_of(value: Any, dtype: numpy.dtype[Any]) -> NDArray[Any] | None:
    """Return a value in a type.

    Parameters
    ----------
    value : object
        A number, a text, a date; anything where the type is that of objects.
    dtype : numpy.dtype
        The type.

    Returns
    -------
    numpy.ndarray, shape (), or None
        The value; None for the number 0, which stands for the zero of any type.

    Raises
    ------
    ValueError
        If the type cannot hold the value. Rounding is no reason to refuse a floating-point number,
        overflow is; a whole number must come out as it went in.

    """
    if type(value) is int and value == 0:
        return None
    fill = numpy.zeros((), dtype)
    if dtype.kind == "O":
        fill[()] = value
        return fill
    try:
        given = numpy.asarray(value)
        if given.ndim:
            raise ValueError("it is no single value")
        with warnings.catch_warnings(), numpy.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            fill[...] = given if dtype.kind != "V" else value
        same = _same(given, fill)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(_refusal(value, dtype, f" ({error})")) from error
    if not same:
        raise ValueError(_refusal(value, dtype, f": it would become {fill[()]!r:.80}"))
    return fill


def _refusal(value: Any, dtype: numpy.dtype[Any], why: str) -> str:
    return (
        f"`value` {value!r:.80} does not fit sequences of type {dtype}{why}; choose another, or "
        "convert the sequences first"
    )


def _same(given: NDArray[Any], fill: NDArray[Any]) -> bool:
    """Tell whether a value survived the conversion."""
    kind, into = given.dtype.kind, fill.dtype.kind
    if into == "V":
        return True
    if into in "mM":
        # A number is no date, though NumPy would make one of it; texts such as 'NaT' are read.
        if kind in "mM":
            return kind == into and bool(given == fill or (_nat(given) and _nat(fill)))
        return kind in "SU"
    if into in "SU":
        return kind == into and bool(given == fill)
    if kind not in "biufcO":
        return False
    before, after = given.item(), fill.item()
    if into in "fc" and kind != "c":
        # Rounded perhaps, but neither infinite nor complex all of a sudden.
        return bool(numpy.isfinite(fill)) or not _finite(before)
    if into == "c":
        return bool(numpy.isfinite(fill)) or not _finite(before)
    if kind == "c" and before.imag == 0 and into == "f":
        before = before.real
        return bool(numpy.isfinite(fill)) or not _finite(before)
    return bool(before == after)


def _nat(array: NDArray[Any]) -> bool:
    return bool(numpy.isnat(array))


def _finite(number: Any) -> bool:
    try:
        return bool(numpy.isfinite(number))
    except TypeError:  # an integer beyond NumPy's own
        return True
