"""Random draws by address: the draws of one example are a function of where it stands.

In this module: `bits`, raw draws for many examples at once, and what is made of them: `uniforms`,
`integers` and `normals`. Not here: how the address of an example is hashed into a key
(`fuel.rng`), and who asks (`context.bits` in `fuel.plan`).

Raw draws are those of the generators of `fuel.rng`, Philox-4x64-10 (Salmon and others, 2011): row
i of ``bits(key, ordinals, numbers, count)`` is what ``example_rng(seed, epoch, ordinals[i], step,
numbers[i])`` would give as its first raw numbers, whatever the other rows are. What is made of the
bits uses integers, the four operations and the square root only, which are rounded alike on every
platform: equal bits give equal numbers everywhere.

References
----------
J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw. "Parallel random numbers: as easy as 1, 2, 3".
SC'11, 2011.

D. Lemire. "Fast random integer generation in an interval". ACM Transactions on Modeling and
Computer Simulation 29, 2019.

M. J. Wichura. "Algorithm AS 241: the percentage points of the normal distribution". Applied
Statistics 37, 1988.

"""

from __future__ import annotations

import operator
from typing import Any

import numpy
from numpy.typing import ArrayLike, NDArray

from fuel.kernels._integers import in_order, vector_of
from fuel.kernels._select import select

__all__ = ["bits", "integers", "normals", "uniforms"]

# The largest bound: results are signed.
_HIGHEST = (1 << 63) - 1

_kernel = select("draws")


def bits(key: ArrayLike, ordinals: ArrayLike, numbers: ArrayLike | None, count: int) -> Any:
    """Return the first raw draws of each of many examples.

    Parameters
    ----------
    key : array_like, shape (2,), dtype uint64
        What `fuel.rng.philox_key` makes of seed, epoch and name of the step.
    ordinals : array_like of int, shape (n,)
        Places of the examples in the order of the epoch, from 0 to 2**64 - 1.
    numbers : array_like of int, shape (n,), or None
        Numbers of the children, where several are made of one example; None for 0.
    count : int
        How many draws for each example.

    Returns
    -------
    numpy.ndarray, shape (n, count), dtype uint64
        A new array. Row i depends on the key, ``ordinals[i]`` and ``numbers[i]`` alone.

    Raises
    ------
    TypeError
        If an argument is not made of integers.
    ValueError
        If an ordinal or a number is negative, `count` is negative, or the lengths differ.

    Notes
    -----
    May be called from any thread; runs without the interpreter's lock.

    Examples
    --------
    >>> from fuel.kernels.draws import bits
    >>> from fuel.rng import example_rng, philox_key
    >>> drawn = bits(philox_key(1, 0, "crop"), [7, 8], None, 3)
    >>> drawn[0].tolist() == example_rng(1, 0, 7, "crop").bit_generator.random_raw(3).tolist()
    True

    """
    words = _unsigned("key", key)
    if len(words) != 2:
        raise ValueError(f"`key` must have two words, got {len(words)}; see fuel.rng.philox_key")
    places = _unsigned("ordinals", ordinals)
    children = None if numbers is None else _unsigned("numbers", numbers)
    if children is not None and len(children) != len(places):
        raise ValueError(
            f"`numbers` must have an entry for each ordinal, got {len(children)} for "
            f"{len(places)}; use None where there are no children"
        )
    size = operator.index(count)
    if size < 0:
        raise ValueError(f"`count` must not be negative, got {size}; it is draws for one example")
    out = numpy.empty((len(places), size), dtype=numpy.uint64)
    if out.size:
        _kernel.bits(int(words[0]), int(words[1]), places, children, out)
    return out


def uniforms(bits: ArrayLike) -> NDArray[numpy.float64]:
    """Return numbers from the half-open interval from 0 to 1.

    Parameters
    ----------
    bits : array_like, dtype uint64
        Raw draws, in any shape.

    Returns
    -------
    numpy.ndarray, of the same shape, dtype float64
        The upper 53 bits of each, divided by 2**53.

    Raises
    ------
    TypeError
        If they are not of type uint64.

    Examples
    --------
    >>> import numpy
    >>> from fuel.kernels.draws import uniforms
    >>> uniforms(numpy.array([0, 1 << 63], dtype=numpy.uint64)).tolist()
    [0.0, 0.5]

    """
    raw = _raw(bits)
    out = numpy.empty(raw.shape, dtype=numpy.float64)
    _kernel.uniforms(raw, out)
    return out


def integers(bits: ArrayLike, high: ArrayLike) -> NDArray[numpy.int64]:
    """Return integers from 0 to ``high - 1``.

    Parameters
    ----------
    bits : array_like, dtype uint64
        Raw draws, in any shape.
    high : int or array_like of int
        The bounds, from 1 to 2**63 - 1; broadcast together with the draws.

    Returns
    -------
    numpy.ndarray, of the common shape, dtype int64
        ``floor(bits * high / 2**64)``.

    Raises
    ------
    TypeError
        If the draws are not of type uint64, or the bounds are not integers.
    ValueError
        If a bound is not positive or too large, or the shapes do not fit.

    Notes
    -----
    One draw makes one integer (Lemire, 2019), but without rejection, which would take more of them.
    The chances of two integers differ by less than ``high / 2**64`` of their size: for a bound of
    a million, in the thirteenth digit.

    Examples
    --------
    >>> import numpy
    >>> from fuel.kernels.draws import integers
    >>> integers(numpy.array([0, 1 << 63, (1 << 64) - 1], dtype=numpy.uint64), 10).tolist()
    [0, 5, 9]

    """
    raw = _raw(bits)
    bounds = numpy.asarray(high)
    if bounds.size and bounds.dtype.kind not in "iu":
        raise TypeError(f"`high` must be an integer or integers, got {bounds.dtype}: {high!r}")
    if bounds.size:
        for bound in (int(bounds.min()), int(bounds.max())):
            if not 1 <= bound <= _HIGHEST:
                raise ValueError(
                    f"`high` must lie between 1 and 2**63 - 1, got {bound}; integers are drawn "
                    "from 0 to high - 1"
                )
    if bounds.shape != ():
        raw, bounds = numpy.broadcast_arrays(raw, bounds)
        raw = in_order(raw, numpy.uint64)
    out = numpy.empty(raw.shape, dtype=numpy.int64)
    if out.size:
        _kernel.integers(raw, in_order(bounds, numpy.uint64), out)
    return out


def normals(bits: ArrayLike) -> NDArray[numpy.float64]:
    """Return normal deviates, of mean 0 and variance 1.

    Parameters
    ----------
    bits : array_like, dtype uint64
        Raw draws, in any shape.

    Returns
    -------
    numpy.ndarray, of the same shape, dtype float64
        The inverse of the normal distribution function at the middle of one of 2**52 equal parts,
        chosen by the upper 52 bits; no further from 0 than 8.21.

    Raises
    ------
    TypeError
        If they are not of type uint64.

    Notes
    -----
    Wichura's rational approximations (1988), with a relative error of about 1e-15, over a logarithm
    of our own, because those of platforms differ in the last digit. One draw makes one deviate.

    Examples
    --------
    >>> import numpy
    >>> from fuel.kernels.draws import normals
    >>> round(float(normals(numpy.array([62 << 58], dtype=numpy.uint64))[0]), 3)
    1.863

    """
    raw = _raw(bits)
    out = numpy.empty(raw.shape, dtype=numpy.float64)
    _kernel.normals(raw, out)
    return out


def _raw(bits: ArrayLike) -> NDArray[numpy.uint64]:
    """Return raw draws in C order, or say what they are instead."""
    raw: NDArray[Any] = numpy.asarray(bits)
    if raw.dtype != numpy.uint64:
        raise TypeError(f"`bits` must be raw draws of type uint64, got {raw.dtype}")
    return in_order(raw, numpy.uint64)


def _unsigned(name: str, values: ArrayLike) -> NDArray[numpy.uint64]:
    """Return a vector of unsigned integers, or say what is wrong with it."""
    given = vector_of(values)
    if given.dtype == object and all(type(value) is int for value in given.flat):
        for value in given.flat:
            if not 0 <= value < 1 << 64:
                raise ValueError(f"`{name}` must be from 0 to 2**64 - 1, got {value}")
        given = given.astype(numpy.uint64)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise TypeError(
            f"`{name}` must be a vector of integers from 0 to 2**64 - 1, got shape {given.shape}, "
            f"dtype {given.dtype}"
        )
    if given.size and given.dtype.kind == "i" and int(given.min()) < 0:
        raise ValueError(f"`{name}` must not be negative, got {int(given.min())}")
    return in_order(given, numpy.uint64)
