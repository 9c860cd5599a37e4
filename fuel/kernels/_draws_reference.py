"""Draws by address in plain NumPy.

`fuel.kernels.draws` describes the numbers and checks the arguments; `_draws.pyx` is the compiled
form with the same functions. Arrays come in C order.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

__all__ = ["bits", "integers", "normals", "uniforms"]

_U = numpy.uint64
_32, _LOW = _U(32), _U(0xFFFFFFFF)
_HALF = 1 << 51

# Wichura's AS 241, PPND16: the coefficients, highest power first.
_CENTRE_TOP = (
    2509.0809287301227,
    33430.57558358813,
    67265.7709270087,
    45921.95393154987,
    13731.69376550946,
    1971.5909503065513,
    133.14166789178438,
    3.3871328727963665,
)
_CENTRE_BOTTOM = (
    5226.495278852854,
    28729.085735721943,
    39307.89580009271,
    21213.794301586597,
    5394.196021424751,
    687.1870074920579,
    42.31333070160091,
    1.0,
)
_TAIL_TOP = (
    0.0007745450142783414,
    0.022723844989269184,
    0.2417807251774506,
    1.2704582524523684,
    3.6478483247632045,
    5.769497221460691,
    4.630337846156546,
    1.4234371107496835,
)
_TAIL_BOTTOM = (
    1.0507500716444169e-09,
    0.0005475938084995345,
    0.015198666563616457,
    0.14810397642748008,
    0.6897673349851,
    1.6763848301838038,
    2.053191626637759,
    1.0,
)
_FAR_TOP = (
    2.0103343992922881e-07,
    2.7115555687434876e-05,
    0.0012426609473880784,
    0.026532189526576124,
    0.29656057182850487,
    1.7848265399172913,
    5.463784911164114,
    6.657904643501103,
)
_FAR_BOTTOM = (
    2.0442631033899397e-15,
    1.421511758316446e-07,
    1.8463183175100548e-05,
    0.0007868691311456133,
    0.014875361290850615,
    0.1369298809227358,
    0.599832206555888,
    1.0,
)
# 1/21, 1/19, ..., 1: the logarithm as twice the inverse hyperbolic tangent.
_ODD = tuple(1.0 / divisor for divisor in range(21, 0, -2))


def bits(
    key0: int,
    key1: int,
    ordinals: NDArray[Any],
    numbers: NDArray[numpy.uint64] | None,
    out: NDArray[numpy.uint64],
) -> None:
    """Write the first raw draws of each address into the rows of `out`.

    Parameters
    ----------
    key0, key1 : int
        The key.
    ordinals : numpy.ndarray, shape (n,), dtype int64 or uint64
        The third word of each counter.
    numbers : numpy.ndarray, shape (n,), dtype uint64, optional
        The second word; 0 where there are none.
    out : numpy.ndarray, shape (n, count), dtype uint64
        Where the draws are written.

    """
    key = numpy.array([key0, key1], dtype=_U)
    words = numpy.zeros(4, dtype=_U)
    generator = numpy.random.Philox(key=key, counter=words)
    state = generator.state
    for row in range(len(out)):
        words[1] = 0 if numbers is None else numbers[row]
        words[2] = ordinals[row]
        state["state"]["counter"] = words
        generator.state = state
        out[row] = generator.random_raw(out.shape[1])


def uniforms(raw: NDArray[numpy.uint64], out: NDArray[numpy.float64]) -> None:
    """Write numbers from 0 to 1, without 1.

    Parameters
    ----------
    raw : numpy.ndarray, dtype uint64
        Raw draws.
    out : numpy.ndarray, of the same shape, dtype float64
        Where they are written.

    """
    numpy.multiply((raw >> _U(11)).astype(numpy.float64), 2.0**-53, out=out)


def integers(
    raw: NDArray[numpy.uint64], high: NDArray[numpy.uint64], out: NDArray[numpy.int64]
) -> None:
    """Write integers below `high`.

    Parameters
    ----------
    raw : numpy.ndarray, dtype uint64
        Raw draws.
    high : numpy.ndarray, dtype uint64
        One bound, or an array of the same shape.
    out : numpy.ndarray, of the same shape, dtype int64
        Where they are written.

    """
    # The high half of the product of 128 bits, from four products of halves.
    a0, a1, b0, b1 = raw & _LOW, raw >> _32, high & _LOW, high >> _32
    p01, p10 = a0 * b1, a1 * b0
    middle = (a0 * b0 >> _32) + (p01 & _LOW) + (p10 & _LOW)
    out[...] = (a1 * b1 + (p01 >> _32) + (p10 >> _32) + (middle >> _32)).astype(numpy.int64)


def normals(raw: NDArray[numpy.uint64], out: NDArray[numpy.float64]) -> None:
    """Write normal deviates.

    Parameters
    ----------
    raw : numpy.ndarray, dtype uint64
        Raw draws.
    out : numpy.ndarray, of the same shape, dtype float64
        Where they are written.

    """
    unit = 2.0**-52
    cell = (raw >> _U(12)).astype(numpy.int64)
    q = ((cell - _HALF).astype(numpy.float64) + 0.5) * unit
    centre = numpy.abs(q) <= 0.425
    inner = q[centre]
    r = 0.180625 - inner * inner
    out[centre] = _polynomial(_CENTRE_TOP, r) * inner / _polynomial(_CENTRE_BOTTOM, r)
    outer, cell = q[~centre], cell[~centre]
    below = numpy.where(cell < _HALF, cell, 2 * _HALF - 1 - cell)
    r = numpy.sqrt(-_log((below.astype(numpy.float64) + 0.5) * unit))
    far = r > 5.0
    found = numpy.empty_like(r)
    for where, top, bottom, middle in (
        (~far, _TAIL_TOP, _TAIL_BOTTOM, 1.6),
        (far, _FAR_TOP, _FAR_BOTTOM, 5.0),
    ):
        x = r[where] - middle
        found[where] = _polynomial(top, x) / _polynomial(bottom, x)
    out[~centre] = numpy.where(outer < 0.0, -found, found)


def _polynomial(coefficients: tuple[float, ...], x: Any) -> Any:
    """Evaluate a polynomial, highest power first."""
    value: Any = coefficients[0]
    for coefficient in coefficients[1:]:
        value = value * x + coefficient
    return value


def _log(x: Any) -> Any:
    """Return the natural logarithm, from operations that are rounded alike everywhere."""
    m, exponent = numpy.frexp(x)
    small = m < 0.7071067811865476
    m = numpy.where(small, m * 2.0, m)
    exponent = exponent - small
    s = (m - 1.0) / (m + 1.0)
    return exponent.astype(numpy.float64) * 0.6931471805599453 + 2.0 * s * _polynomial(_ODD, s * s)
