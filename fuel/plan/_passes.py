"""Runs of steps over items that exist already, each run as one pass over the arrays.

In this room: `parts`, which divides steps into runs that a kernel can do together and single ones,
and `OnePass`, which does a run. So the steps above a file on disk, a batch put together or a user's
function are joined too. Not here: runs that begin at rows of a table in memory, where not even the
batch has to exist before (`fuel.plan._fusion`).
"""

from __future__ import annotations

from typing import Any

import numpy

from fuel.plan._context import Context
from fuel.plan._decoding import DecodeKernel
from fuel.plan._joining import attributes, fusible, joined

__all__ = ["OnePass", "parts"]


def parts(steps: list[Any]) -> list[Any]:
    """Divide steps into runs.

    Parameters
    ----------
    steps : list of stream
        Steps that make one item of each, lowest first.

    Returns
    -------
    list of OnePass or stream
        In order; all have `apply`.

    """
    divided: list[Any] = []
    run: list[Any] = []
    for step in [*steps, None]:
        if step is not None and fusible(step):
            run.append(step)
            continue
        if run:
            divided.append(OnePass(run))
            run = []
        if step is not None:
            divided.append(step)
    return divided


class OnePass:
    """A run of steps, done by kernels where the items are arrays.

    Parameters
    ----------
    steps : list of stream
        The steps, lowest first.

    """

    def __init__(self, steps: list[Any]) -> None:
        self.steps = steps
        self.examples = bool(steps[0].produces_examples)
        self.forms: Any = None
        self.rows = numpy.arange(0)

    def apply(self, data: Any, context: Context) -> Any:
        """Do the steps for one item, as one after the other would.

        Parameters
        ----------
        data : tuple
            The item.
        context : Context
            Where it stands.

        Returns
        -------
        tuple
            What the uppermost step returns.

        """
        forms = [_form(column) for column in data]
        if forms != self.forms or not self._same_steps():
            self._join(data, forms)
        done = None
        if self.count:
            try:
                done = self._columns(data, context)
            except Exception:
                pass  # step by step it goes wrong again, and whose fault it is will be told
        for step in self.steps if done is None else self.steps[self.count :]:
            done = step.apply(data if done is None else done, context)
        return done

    def _same_steps(self) -> bool:
        return all(
            list(map(id, attributes(step))) == identities
            for step, identities in zip(self.steps, self.identities, strict=True)
        )

    def _join(self, data: Any, forms: list[Any]) -> None:
        tables = [self._table(column) for column in data]
        sources = tuple(self.steps[0].data_stream.sources)
        self.kernels: list[Any] = []
        self.count = 0
        if len(sources) == len(tables):
            self.kernels, self.count = joined(sources, tables, self.steps, self.examples)
        if not any(kernel.calculates for kernel in self.kernels):
            self.count = 0
        self.forms = forms
        self.given = [attributes(step) for step in self.steps]
        self.identities = [list(map(id, given)) for given in self.given]

    def _table(self, column: Any) -> Any:
        """Return a column as a table, each row of which is an example."""
        if self.examples:
            return column[None] if type(column) is numpy.ndarray else None
        return column

    def _columns(self, data: Any, context: Context) -> Any:
        columns = []
        for kernel in self.kernels:
            column = data[kernel.column]
            if not kernel.touched:
                columns.append(column)
                continue
            if type(kernel) is DecodeKernel:
                columns.append(list(kernel(column, list(column), context)))
                continue
            table = self._table(column)
            if not kernel.calculates:
                result = kernel.flattened(table)
            else:
                if len(self.rows) != len(table):
                    self.rows = numpy.arange(len(table), dtype=numpy.int64)
                result = kernel(table, self.rows, context)
            columns.append(result[0] if self.examples else result)
        return tuple(columns)


def _form(column: Any) -> Any:
    """Return what a kernel depends on."""
    if type(column) is numpy.ndarray:
        return column.dtype, column.shape[1:], column.ndim
    return type(column)
