"""The keyed permutation in plain NumPy, and in plain Python integers.

`fuel.kernels.permutation` describes the algorithm and checks the arguments; `_permutation.pyx` is
the compiled form with the same functions.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

__all__ = ["beyond", "permute_block", "permute_many", "permute_one"]

_MASK = (1 << 64) - 1
_FIRST = 0xBF58476D1CE4E5B9
_SECOND = 0x94D049BB133111EB

_U = numpy.uint64
_31, _32, _LOW = _U(31), _U(32), _U(0xFFFFFFFF)
_STEPS = ((_U(30), _U(_FIRST)), (_U(27), _U(_SECOND)))
# Blocks small enough that the temporaries of a round stay in the processor's cache.
_BLOCK = 8192
# Fewer values than these are quicker one by one: a pass over arrays takes 0.3 ms however short.
_FEW = 16


def permute_one(place: int, count: int, left: int, right: int, keys: bytes) -> int:
    """Return the index at one place of the order.

    Parameters
    ----------
    place : int
        A place, from 0 to ``count - 1``.
    count : int
        Number of examples.
    left, right : int
        The radices.
    keys : bytes
        The key of each round, as 64-bit integers in this machine's order of bytes.

    Returns
    -------
    int
        An index, from 0 to ``count - 1``.

    """
    value = place
    rounds = numpy.frombuffer(keys, dtype=_U).tolist()
    while True:
        high, low = divmod(value, right)
        for number, key in enumerate(rounds):
            if number % 2:
                low = (low + (_mix(high ^ key) * right >> 64)) % right
            else:
                high = (high + (_mix(low ^ key) * left >> 64)) % left
        value = high * right + low
        if value < count:
            return value


def beyond(places: NDArray[numpy.int64], count: int) -> int:
    """Return the first place that is not in the order.

    Parameters
    ----------
    places : numpy.ndarray, shape (n,), dtype int64
        Places.
    count : int
        Number of examples.

    Returns
    -------
    int
        Where it is in `places`, or -1.

    """
    wrong = (places < 0) | (places >= count)
    return int(wrong.argmax()) if wrong.any() else -1


def permute_many(
    places: NDArray[numpy.int64],
    count: int,
    left: int,
    right: int,
    keys: bytes,
    out: NDArray[numpy.int64],
) -> None:
    """Write the indices at many places of the order.

    Parameters
    ----------
    places : numpy.ndarray, shape (n,), dtype int64
        Places, from 0 to ``count - 1``.
    count, left, right, keys
        As for `permute_one`.
    out : numpy.ndarray, shape (n,), dtype int64
        Where the indices are written.

    """
    for start in range(0, len(places), _BLOCK):
        stop = start + _BLOCK
        values = places[start:stop].astype(_U)
        left_over = numpy.arange(len(values))
        while len(left_over) > _FEW:
            again = _pass(values[left_over], left, right, keys)
            values[left_over] = again
            left_over = left_over[again >= _U(count)]
        for item in left_over.tolist():
            values[item] = permute_one(int(values[item]), count, left, right, keys)
        out[start:stop] = values.astype(numpy.int64)


def permute_block(
    start: int,
    count: int,
    left: int,
    right: int,
    keys: bytes,
    out: NDArray[numpy.int64],
) -> None:
    """Write the indices at consecutive places of the order.

    Parameters
    ----------
    start : int
        The first place.
    count, left, right, keys
        As for `permute_one`.
    out : numpy.ndarray, shape (n,), dtype int64
        Where the indices at `start`, ``start + 1``, ... are written.

    """
    places = numpy.arange(start, start + len(out), dtype=numpy.int64)
    permute_many(places, count, left, right, keys, out)


def _mix(value: int) -> int:
    """Return Stafford's variant 13 of a 64-bit finalizer."""
    value = (value ^ (value >> 30)) * _FIRST & _MASK
    value = (value ^ (value >> 27)) * _SECOND & _MASK
    return value ^ (value >> 31)


def _pass(values: Any, left: int, right: int, keys: bytes) -> Any:
    """Go through the rounds once."""
    a, b = _U(left), _U(right)
    high, low = values // b, values % b
    scratch = numpy.empty_like(high)
    for number, key in enumerate(numpy.frombuffer(keys, dtype=_U)):
        if number % 2:
            _add(low, high ^ key, b, scratch)
        else:
            _add(high, low ^ key, a, scratch)
    return high * b + low


def _add(half: Any, mixed: Any, radix: Any, scratch: Any) -> None:
    """Add a function of keyed values to one half, modulo its radix, all in place."""
    for shift, factor in _STEPS:
        numpy.right_shift(mixed, shift, out=scratch)
        numpy.bitwise_xor(mixed, scratch, out=mixed)
        numpy.multiply(mixed, factor, out=mixed)
    numpy.right_shift(mixed, _31, out=scratch)
    numpy.bitwise_xor(mixed, scratch, out=mixed)
    # The high half of the 128-bit product, which fits because a radix has at most 32 bits.
    numpy.bitwise_and(mixed, _LOW, out=scratch)
    numpy.multiply(scratch, radix, out=scratch)
    numpy.right_shift(scratch, _32, out=scratch)
    numpy.right_shift(mixed, _32, out=mixed)
    numpy.multiply(mixed, radix, out=mixed)
    numpy.add(mixed, scratch, out=mixed)
    numpy.right_shift(mixed, _32, out=mixed)
    numpy.add(half, mixed, out=half)
    numpy.subtract(half, radix, out=half, where=half >= radix)
