"""Which loops do the work of a chain: one for all of it where there is one.

In this module: `program_of`, which makes the compiled chain. Not here: what the steps mean
(`_arithmetic_steps`), and the loops (``_arithmetic_loops.h``).

The forms, from the fastest to the most general:

``multiply_add``, ``add_multiply``, ``add_divide``
    cast, two operations and a cast in one loop over the elements; a missing factor is 1 and a
    missing summand -0.0, which change nothing, not even the sign of a zero;
``split``
    for bytes that become float32 by way of double precision: scale and shift are split into two
    parts each, so that ``x * scale_high + shift_high`` is exact in single precision, and
    ``(x * scale_high + shift_high) + (x * scale_low + shift_low)`` is nearly always what double
    precision gives when it is rounded. "Nearly always" is not enough: all 256 bytes are tried,
    for every pair of operands, and the form is used where all results are equal;
``table``
    for bytes: the results of all 256;
``chain``
    operation by operation on short pieces.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.kernels._arithmetic_steps import Operand, Operation, code_of

__all__ = ["program_of"]

_KINDS = {"multiply": 0, "add": 1, "divide": 2, "cast": 3}
_SINGLE, _DOUBLE = numpy.dtype(numpy.float32), numpy.dtype(numpy.float64)
_WAYS = {(_SINGLE, _SINGLE): 0, (_DOUBLE, _SINGLE): 1, (_DOUBLE, _DOUBLE): 2}
_FORMS = {
    ("multiply",): ("multiply_add", 0, None),
    ("add",): ("multiply_add", None, 0),
    ("multiply", "add"): ("multiply_add", 0, 1),
    ("add", "multiply"): ("add_multiply", 0, 1),
    ("add", "divide"): ("add_divide", 0, 1),
    ("divide",): ("add_divide", None, 0),
}
# Shorter runs than this cost more to begin than to compute: their values are written out.
_SHORT_RUN = 32
# And a vector of values is repeated until it is worth a loop.
_LONG_VECTOR = 1024
# More pairs of operands take too long to try with every byte.
_MOST_TRIED = 64
# Tables are to stay in the first cache, beside the data.
_TABLE_BYTES = 16384

Form = tuple[str, int, int, int, int, list[NDArray[Any]]]


def program_of(
    kernel: Any,
    dtype: numpy.dtype[Any],
    result: numpy.dtype[Any],
    shape: tuple[int, ...],
    operations: list[Operation],
    level: int,
) -> Any:
    """Compile a chain.

    Parameters
    ----------
    kernel : module
        ``fuel.kernels._arithmetic``.
    dtype, result : numpy.dtype
        Types of the elements before and after.
    shape : tuple of int
        Shape of one row.
    operations : list of Operation
        What is done; none for a copy.
    level : int
        The set of instructions: 0 is what every processor has.

    Returns
    -------
    Program

    """
    size = math.prod(shape)
    form = _fused(dtype, operations, size) if operations else None
    if dtype.kind in "ui" and dtype.itemsize == 1 and _is_slow(operations, form):
        form = _of_bytes(dtype, result, operations, size, level, form) or form
    return kernel.Program(
        dtype, result, shape, [_step(operation, size) for operation in operations], form, level
    )


def _is_slow(operations: list[Operation], form: Form | None) -> bool:
    """Say whether a form for bytes may be faster than what there is.

    Looking up 256 results costs as much as one or two operations in double precision, a quarter of
    one in half precision, or five in single precision; integers are faster than any table.
    """
    if form is not None:
        return form[2] != 0  # not all in single precision
    costs = {("f", 2): 20, ("f", 8): 3, ("f", 4): 1}
    kinds = [(operation.after.kind, operation.after.itemsize) for operation in operations]
    return sum(costs.get(kind, 0) for kind in kinds) > 5


def _step(operation: Operation, size: int) -> tuple[int, int, int, Any, int, int]:
    """Return one operation as the compiled chain takes it."""
    values, run = None, 1
    if operation.operand is not None:
        values, run = _settled(operation.operand, size)
        if operation.before.itemsize == 2 and operation.before.kind == "f":
            values = values.astype(_SINGLE)  # what half precision computes in
    return (
        _KINDS[operation.kind],
        _code(operation.before),
        _code(operation.after),
        values,
        max(run, 1),
        1 if values is None else len(values),
    )


def _code(dtype: numpy.dtype[Any]) -> int:
    code = code_of(dtype)
    assert code is not None
    return code


def _settled(operand: Operand, size: int) -> tuple[NDArray[Any], int]:
    """Return values that are worth a loop, and how long they hold: 0 for one an element."""
    values, run = operand.values, operand.run
    if operand.single:
        return values, max(size, 1)
    if 1 < run < _SHORT_RUN:
        values, run = numpy.repeat(values, run), 1
    if run > 1:
        return values, run
    if len(values) < min(size, _LONG_VECTOR):
        values = numpy.tile(values, -(-min(size, _LONG_VECTOR) // len(values)))
    return values, 0


def _together(operations: list[Operation]) -> tuple[int, list[NDArray[Any]]] | None:
    """Return all operands with the same number of values and the same run, where they have."""
    operands = [operation.operand for operation in operations if operation.operand is not None]
    kinds = {(found.run, len(found.values)) for found in operands if not found.single}
    if len(kinds) > 1:
        return None
    run, count = kinds.pop() if kinds else (1, 1)
    return run, [
        numpy.repeat(found.values, count) if found.single else found.values for found in operands
    ]


def _arranged(run: int, values: list[NDArray[Any]], size: int) -> tuple[int, list[NDArray[Any]]]:
    """Settle several operands in the same way."""
    settled = [_settled(Operand(one, run), size) for one in values]
    return settled[0][1], [one for one, _ in settled]


def _fused(dtype: numpy.dtype[Any], operations: list[Operation], size: int) -> Form | None:
    """Return the form with cast, two operations and a cast, if this is such a chain."""
    middle = [operation for operation in operations if operation.kind != "cast"]
    found = _FORMS.get(tuple(operation.kind for operation in middle))
    if found is None or (dtype.kind == "f" and dtype.itemsize == 2):
        return None
    kinds = [operation.kind for operation in operations]
    before, after = kinds[0] == "cast", kinds[-1] == "cast"
    if kinds[before : len(kinds) - after] != [operation.kind for operation in middle]:
        return None  # there is a cast between, or there are several at one end
    computes, result = middle[0].before, operations[-1].after
    way = _WAYS.get((computes, result))
    together = _together(middle)
    if way is None or together is None:
        return None
    name, *places = found
    neutral = (numpy.ones if name == "multiply_add" else _negative_zeros, _negative_zeros)
    given = together[1]
    operands = [
        neutral[number](len(given[0]), computes) if place is None else given[place]
        for number, place in enumerate(places)
    ]
    run, operands = _arranged(together[0], operands, size)
    return name, _code(dtype), way, run, len(operands[0]), operands


def _negative_zeros(count: int, dtype: numpy.dtype[Any]) -> NDArray[Any]:
    return numpy.full(count, -0.0, dtype)


def _of_bytes(
    dtype: numpy.dtype[Any],
    result: numpy.dtype[Any],
    operations: list[Operation],
    size: int,
    level: int,
    otherwise: Form | None,
) -> Form | None:
    """Return a form that is for bytes alone, if one gives the same for each of them."""
    together = _together(operations)
    if together is None:
        return None
    run, values = together
    count = len(values[0]) if values else 1
    if count > _MOST_TRIED:
        return None
    inputs = numpy.arange(256, dtype=numpy.uint8).view(dtype)[:, None]
    expected = _all_results(inputs, operations, values)
    if expected is None:
        return None
    if result == _SINGLE and values:
        parts = _split(inputs, expected, operations, values)
        if parts is not None:
            run, parts = _arranged(run, parts, size)
            return "split", _code(dtype), 0, run, len(parts[0]), parts
    # A table beats everything but the loop in one pass with wide registers.
    runs_are_long = count == 1 or run >= _SHORT_RUN
    if runs_are_long and expected.nbytes <= _TABLE_BYTES and (otherwise is None or level == 0):
        table = numpy.ascontiguousarray(expected.T)
        return "table", _code(dtype), 0, run if count > 1 else max(size, 1), count, [table]
    return None


def _all_results(
    inputs: NDArray[Any], operations: list[Operation], values: list[NDArray[Any]]
) -> NDArray[Any] | None:
    """Return what the chain makes of every byte: shape (256, operands), or None where it warns."""
    given = iter(values)
    value = numpy.broadcast_to(inputs, (256, len(values[0]) if values else 1))
    try:
        with numpy.errstate(all="raise"):
            for operation in operations:
                if operation.kind == "cast":
                    if operation.after.kind in "iu" and operation.before.kind == "f":
                        return None  # whether a value was out of range cannot be seen
                    value = value.astype(operation.after)
                else:
                    value = getattr(numpy, operation.kind)(value, next(given))
    except FloatingPointError:
        return None
    return value


def _split(
    inputs: NDArray[Any],
    expected: NDArray[Any],
    operations: list[Operation],
    values: list[NDArray[Any]],
) -> list[NDArray[Any]] | None:
    """Return scale and shift in two parts each, if every byte gives what is expected."""
    x = inputs.astype(_SINGLE)
    count = expected.shape[1]
    parts = numpy.zeros((4, count), _SINGLE)
    for column in range(count):
        line = _line([operation.kind for operation in operations], [one[column] for one in values])
        for coarser in range(5):
            found = None if line is None else _parts(*line, coarser)
            if found is None:
                return None
            high, low = x[:, 0] * found[0] + found[1], x[:, 0] * found[2] + found[3]
            if (high + low).tobytes() == expected[:, column].tobytes():
                parts[:, column] = found
                break
        else:
            return None
    return list(parts)


def _line(kinds: list[str], values: list[Any]) -> tuple[Fraction, Fraction] | None:
    """Return the scale and the shift of a chain, exactly, as if nothing was ever rounded."""
    scale, shift = Fraction(1), Fraction(0)
    given = iter(values)
    for kind in kinds:
        if kind == "cast":
            continue
        value = float(next(given))
        if not math.isfinite(value):
            return None
        by = Fraction(value)
        if kind == "add":
            shift += by
        elif kind == "multiply":
            scale, shift = scale * by, shift * by
        else:
            scale, shift = scale / by, shift / by
    return scale, shift


def _parts(scale: Fraction, shift: Fraction, coarser: int) -> NDArray[Any] | None:
    """Return (scale high, shift high, scale low, shift low) in single precision.

    The high parts are multiples of one power of two, small enough that 255 times the one and the
    other have 24 bits together: their sum is exact.
    """
    try:
        _, exponent = math.frexp(float(255 * abs(scale) + abs(shift)))
    except OverflowError:
        return None
    unit = Fraction(2) ** (exponent - 24 + coarser)
    high = [round(part / unit) * unit for part in (scale, shift)]
    low = [scale - high[0], shift - high[1]]
    try:
        parts = [float(part) for part in (*high, *low)]
    except OverflowError:
        return None
    # Far from where single precision ends: subnormal numbers are slow, and not as exact.
    if any(part and not 1e-30 < abs(part) < 1e30 for part in parts):
        return None
    return numpy.array(parts, _SINGLE)
