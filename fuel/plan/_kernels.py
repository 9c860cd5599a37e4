"""What one source goes through, as one kernel call.

In this room: `Kernel`, which is extended step by step with what the steps say they do, and then
called with a table and the rows to take. Not here: which steps may be joined
(`fuel.plan._fusion`), and the loops themselves (`fuel.kernels`).
"""

from __future__ import annotations

import copy
from typing import Any

import numpy

from fuel.kernels.arithmetic import Arithmetic
from fuel.kernels.gather import gather
from fuel.plan._context import Context
from fuel.plan._decoding import DecodeKernel
from fuel.plan._operations import (
    Add,
    CastTo,
    CropTo,
    Decode,
    Divide,
    Flatten,
    Flip,
    Multiply,
    Operation,
    ToLayout,
)
from fuel.utils._shared_list import SharedList

__all__ = ["Kernel"]

_NAMES = {Multiply: "multiply", Add: "add", Divide: "divide"}
_NUMBERS = (int, float, bool, numpy.generic)


class Kernel:
    """Rows of a table, cut, turned and calculated with.

    Parameters
    ----------
    column : int
        Which of the tables.
    table : object
        What it is read from: an array, or anything else, of which rows can only be taken.
    examples : bool
        Whether the items are single examples, which decides what an operand may look like.

    Attributes
    ----------
    column : int
        As given.
    dtype : numpy.dtype or None
        The type that results; None where it is not known.

    """

    def __init__(self, column: int, table: Any, examples: bool) -> None:
        self.column = column
        self.examples = examples
        known = type(table) in (numpy.ndarray, numpy.memmap) and table.dtype.kind in "biufc"
        #: Whether rows may be files.
        self.files = type(table) in (list, SharedList) or (
            type(table) is numpy.ndarray and table.dtype == object and table.ndim == 1
        )
        #: Type and shape of a row of the table; None where only whole rows can be taken.
        self.row: Any = (table.dtype, table.shape[1:]) if known else None
        self.dtype: Any = table.dtype if known else None
        #: The shape of an example as it is now, before it is flattened.
        self.shape: Any = table.shape[1:] if known else None
        self.flat = False
        self.geometry: list[Any] = []
        self.layout = ""
        self.steps: list[tuple[str, Any]] = []
        self.arithmetic: Arithmetic | None = None

    @property
    def touched(self) -> bool:
        """Whether there is anything to do but taking rows."""
        return self.flat or bool(self.geometry) or bool(self.steps)

    @property
    def result(self) -> Any:
        """The shape of an example as the next step sees it; None where it is not known."""
        return (int(numpy.prod(self.shape)),) if self.flat else self.shape

    @property
    def calculates(self) -> bool:
        """Whether the elements change, or their order: whether more is to do than to copy them."""
        changes = self.arithmetic is not None and (
            self.arithmetic.dtype != self.row[0]
            or any(name != "cast" for name, _ in self.steps)
            or any(dtype != self.row[0] for _, dtype in self.steps)
        )
        return bool(self.geometry) or changes

    @property
    def complete(self) -> bool:
        """Whether what comes out is what the last step gives: always."""
        return True

    def extended(self, operations: tuple[Operation, ...]) -> Kernel | DecodeKernel | None:
        """Return a kernel that goes on with what a step does.

        Parameters
        ----------
        operations : tuple of Operation
            What it does.

        Returns
        -------
        Kernel, DecodeKernel or None
            A new one; None where that cannot be joined to the rest.

        """
        if not operations:
            return self
        if isinstance(operations[0], Decode):
            decoding = DecodeKernel(self.column, operations[0]) if self.files else None
            return decoding.extended(operations[1:]) if decoding else None
        if self.row is None or (self.examples and not self.row[1]):
            return None
        longer = copy.copy(self)
        longer.geometry, longer.steps = list(self.geometry), list(self.steps)
        for operation in operations:
            if isinstance(operation, Flatten):
                longer.flat = True
            elif isinstance(operation, (CropTo, Flip, ToLayout)):
                if not longer._turn(operation):
                    return None
            elif not longer._calculate(operation):
                return None
        if longer.steps:
            longer.arithmetic = Arithmetic.of(self.row[0], longer.shape, tuple(longer.steps))
            if longer.arithmetic is None or not longer.arithmetic.dtype.isnative:
                return None
            longer.dtype = longer.arithmetic.dtype
        return longer

    def _turn(self, operation: CropTo | Flip | ToLayout) -> bool:
        """Add geometry; False where it does not go together with what comes before."""
        if self.flat or any(numpy.ndim(operand) for name, operand in self.steps if name != "cast"):
            return False  # an operand with axes belongs to the image as it was
        layout = operation.before if isinstance(operation, ToLayout) else operation.layout
        if len(layout) != len(self.shape) or (self.layout and layout != self.layout):
            return False
        self.geometry.append(operation)
        self.layout = layout
        lengths = dict(zip(layout, self.shape, strict=True))
        if isinstance(operation, CropTo):
            lengths["H"], lengths["W"] = operation.window
        elif isinstance(operation, ToLayout):
            if len(layout) != 3:
                return False
            self.layout = operation.layout
        self.shape = tuple(lengths[axis] for axis in self.layout)
        return True

    def _calculate(self, operation: Any) -> bool:
        """Add arithmetic; False where the operand makes something else of the array."""
        if isinstance(operation, CastTo):
            self.steps.append(("cast", numpy.dtype(operation.dtype)))
            return True
        operand = operation.operand
        if not isinstance(operand, _NUMBERS):
            if not isinstance(operand, (list, tuple)) and type(operand) is not numpy.ndarray:
                return False
            operand = numpy.asarray(operand)
            axes = 1 if self.flat else len(self.shape)
            if operand.ndim > axes + (not self.examples):
                return False
            if self.flat and operand.ndim:
                if operand.size == 1:
                    operand = operand.reshape((1,) * max(1, len(self.shape)))
                elif operand.ndim == 1 and operand.size == numpy.prod(self.shape):
                    operand = operand.reshape(self.shape)
                else:
                    return False
        self.steps.append((_NAMES[type(operation)], operand))
        return True

    def flattened(self, table: Any) -> Any:
        """Return a table as it comes out where nothing is calculated.

        Parameters
        ----------
        table : numpy.ndarray, shape (n, ...)
            The table.

        Returns
        -------
        numpy.ndarray, shape (n, ...)
            The table itself, a view of it, or for single examples a copy, as `Flatten` has it.

        """
        if not self.flat:
            return table
        matrix = table.reshape(len(table), int(numpy.prod(self.shape)))
        return matrix.copy() if self.examples else matrix

    def fits(self, table: Any) -> bool:
        """Tell whether a table still is what the kernel was made for."""
        return self.row is None or (table.dtype == self.row[0] and table.shape[1:] == self.row[1])

    def __call__(self, table: Any, rows: Any, context: Context) -> Any:
        """Do the work.

        Parameters
        ----------
        table : numpy.ndarray
            What rows are taken from.
        rows : numpy.ndarray, shape (n,), dtype int64
            Which.
        context : Context
            That of a batch of these examples.

        Returns
        -------
        numpy.ndarray, shape (n, ...)
            The result.

        Raises
        ------
        RequestError
            If a row does not exist.

        """
        if self.geometry:
            result = self._cut(table, rows, context)
        else:
            result = gather(table, rows, self.arithmetic)
        if self.flat:
            return result.reshape(len(result), int(numpy.prod(self.shape)))
        return result

    def _cut(self, table: Any, rows: Any, context: Context) -> Any:
        """Find out where each image comes from, and take it from there."""
        from fuel.kernels.crop import crop

        layout = before = _layout(self.geometry[0])
        size = len(rows)
        lengths = dict(zip(layout, self.row[1], strict=True))
        height, width = lengths["H"], lengths["W"]
        tops = lefts = numpy.zeros(size, dtype=numpy.int64)
        upside_down = mirrored = None
        for operation in self.geometry:
            if isinstance(operation, CropTo):
                heights = numpy.full(size, height, dtype=numpy.int64)
                widths = numpy.full(size, width, dtype=numpy.int64)
                down, right = operation.place(context, heights, widths)
                # What is cut from an image that runs backwards is counted from its other end.
                if upside_down is not None:
                    down = numpy.where(upside_down, height - operation.window[0] - down, down)
                if mirrored is not None:
                    right = numpy.where(mirrored, width - operation.window[1] - right, right)
                tops, lefts = tops + down, lefts + right
                height, width = operation.window
            elif isinstance(operation, Flip):
                chosen = operation.choose(context, size)
                if operation.axis == "height":
                    upside_down = chosen if upside_down is None else upside_down ^ chosen
                else:
                    mirrored = chosen if mirrored is None else mirrored ^ chosen
            else:
                layout = operation.layout
        return crop(
            table,
            rows,
            tops,
            lefts,
            (height, width),
            layout=before,
            flip_width=mirrored,
            flip_height=upside_down,
            to_layout=None if layout == before else layout,
            arithmetic=self.arithmetic,
        )


def _layout(operation: Any) -> str:
    layout: str = operation.before if isinstance(operation, ToLayout) else operation.layout
    return layout
