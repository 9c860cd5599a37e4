"""What a chain of steps does in elementary terms: which types, which operands.

In this module: `learn`, which has NumPy say what each step computes in, and `Operand`, the values
of a step along one row. Not here: the choice of loops (`_arithmetic_forms`), and the chain itself
(`arithmetic`).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

__all__ = ["CODES", "Operand", "Operation", "apply", "code_of", "kept", "learn"]

#: Numbers of the element types, as the compiled loops know them, by kind and size.
CODES = {
    ("b", 1): 0,
    ("u", 1): 1,
    ("i", 1): 2,
    ("u", 2): 3,
    ("i", 2): 4,
    ("u", 4): 5,
    ("i", 4): 6,
    ("u", 8): 7,
    ("i", 8): 8,
    ("f", 2): 9,
    ("f", 4): 10,
    ("f", 8): 11,
}

_UFUNCS = {"multiply": operator.mul, "add": operator.add, "divide": operator.truediv}


@dataclass(frozen=True)
class Operand:
    """The values of one step along a row: element ``k`` has ``values[(k // run) % len(values)]``.

    Attributes
    ----------
    values : numpy.ndarray, 1-dimensional
        In the type that the step computes in.
    run : int
        How many consecutive elements share a value; 1 where there is one value for the row.

    """

    values: NDArray[Any]
    run: int

    @property
    def single(self) -> bool:
        """Whether all elements of a row have the same value."""
        return len(self.values) == 1


@dataclass(frozen=True)
class Operation:
    """One elementary operation.

    Attributes
    ----------
    kind : str
        ``"multiply"``, ``"add"``, ``"divide"`` or ``"cast"``.
    before, after : numpy.dtype
        Types of the element before and after; equal unless it is a cast.
    operand : Operand, optional
        None for a cast.

    """

    kind: str
    before: numpy.dtype[Any]
    after: numpy.dtype[Any]
    operand: Operand | None = None


def code_of(dtype: numpy.dtype[Any]) -> int | None:
    """Return the number of a type, or None where there are no loops for it."""
    # A long double of eight bytes (on Windows) is still a type of its own to NumPy.
    if not dtype.isnative or dtype.char == "g":
        return None
    return CODES.get((dtype.kind, dtype.itemsize))


def kept(operand: Any) -> Any:
    """Return an operand as a chain keeps it, or None where it is of no kind that chains know.

    Numbers of Python stay what they are, because NumPy lets the type of the array decide for them.
    """
    if isinstance(operand, (bool, int, float, numpy.bool_, numpy.number)):
        return operand
    if isinstance(operand, (list, tuple)):
        try:
            operand = numpy.asarray(operand)
        except ValueError:  # ragged
            return None
    if type(operand) is numpy.ndarray and operand.dtype.kind in "biuf":
        return operand.copy()
    return None


def apply(batch: NDArray[Any], kind: str, operand: Any) -> Any:
    """Do one step in NumPy."""
    if kind == "cast":
        return batch.astype(operand, copy=False)
    return _UFUNCS[kind](batch, operand)


def learn(
    dtype: numpy.dtype[Any], shape: tuple[int, ...], steps: Sequence[tuple[str, Any]]
) -> list[Operation] | None:
    """Say what the steps do to a batch, as elementary operations.

    Parameters
    ----------
    dtype : numpy.dtype
        Type of the elements.
    shape : tuple of int
        Shape of one row.
    steps : sequence of (str, operand)
        With operands as `kept` returns them.

    Returns
    -------
    list of Operation, or None
        None where a step has no loops, changes the shape, or where NumPy would refuse it or warn.

    """
    operations: list[Operation] = []
    value = numpy.ones((1,) * (len(shape) + 1), dtype)
    if code_of(dtype) is None:
        return None
    try:
        # What may go wrong with every value goes wrong with ones, too: an operand that does not
        # fit, a division by zero. Such chains are left to NumPy, with all that it says.
        with numpy.errstate(all="raise"):
            for kind, operand in steps:
                before = value.dtype
                value = apply(value, kind, operand)
                after = value.dtype
                if code_of(after) is None:
                    return None
                if before != after:
                    operations.append(Operation("cast", before, after))
                if kind == "cast":
                    value = numpy.ones((1,) * (len(shape) + 1), after)
                    continue
                if after.kind == "b":  # NumPy's sum and product of truths are "or" and "and"
                    return None
                found = _operand(numpy.ones(1, after), kind, operand, shape)
                if found is None:
                    return None
                operations.append(Operation(kind, after, after, found))
                value = numpy.ones((1,) * (len(shape) + 1), after)
    except (ArithmeticError, TypeError, ValueError):
        return None
    return operations


def _operand(one: NDArray[Any], kind: str, operand: Any, shape: tuple[int, ...]) -> Operand | None:
    """Return the values of an operand along a row, None where its shape does not fit."""
    # One times the operand is the operand, converted as NumPy does it for this type.
    values = numpy.multiply(one, operand)
    if values.dtype != one.dtype:
        return None
    extents = numpy.shape(operand)
    if len(extents) > len(shape):
        if len(extents) > len(shape) + 1 or extents[0] != 1:
            return None
        extents = extents[1:]
    values = values.reshape(extents)
    values = values.reshape((1,) * (len(shape) - values.ndim) + values.shape)
    if any(mine not in (1, length) for mine, length in zip(values.shape, shape, strict=True)):
        return None
    return _along(values, shape)


def _along(values: NDArray[Any], shape: tuple[int, ...]) -> Operand:
    """Return the values of a broadcast operand in the order of a row's elements."""
    varies = [axis for axis, length in enumerate(values.shape) if length > 1]
    if not math.prod(shape):  # there are no elements, and any value will do
        return Operand(numpy.zeros(1, values.dtype), 1)
    if not varies:
        return Operand(values.reshape(1).copy(), 1)
    first, last = varies[0], varies[-1]
    core = values.reshape(values.shape[first : last + 1])
    core = numpy.broadcast_to(core, shape[first : last + 1])
    return Operand(numpy.array(core, order="C").ravel(), math.prod(shape[last + 1 :]))
