"""A source and the steps above it as one: rows are gathered, cut and calculated with in one pass.

In this room: `fuse`, which finds the longest run of steps above a source that a kernel can do
together, and `Fused`, which does them for an item, or for many examples at once; `Above` is for
steps above anything else. What one source goes through is in `fuel.plan._kernels`, and runs of
steps over items that exist are in `fuel.plan._passes`. Not here: the words in which steps say what
they do (`fuel.plan._operations`), and the arithmetic itself (`fuel.kernels`).

A fused run gives what the steps give one after the other, bit for bit; whatever is out of the
ordinary (a request that is no list of integers, a table that changed its form) takes that way.
"""

from __future__ import annotations

from typing import Any

import numpy

from fuel.plan._context import Context
from fuel.plan._cursor import MapCursor, next_lent, only_reads
from fuel.plan._decoding import DecodeKernel
from fuel.plan._joining import attributes, fusible, fusible_steps, joined
from fuel.plan._passes import parts
from fuel.plan._source import SourceCursor, reads_by_rows

__all__ = ["Above", "Fused", "foreseen", "fuse"]


def fuse(cursor: MapCursor) -> Fused | Above | None:
    """Return what does the work of a pass and of those below it, if that is possible.

    Parameters
    ----------
    cursor : MapCursor
        The pass of the uppermost step.

    Returns
    -------
    Fused, Above or None
        None where nothing can be fused.

    """
    steps = [cursor.step]
    below: Any = cursor.child
    while type(below) is MapCursor:
        steps.append(below.step)
        below = below.child
    steps.reverse()
    if isinstance(below, SourceCursor) and below.by_rows:
        fused = Fused(below, steps)
        if fused.count:
            return fused
    return Above(below, steps) if any(map(fusible, steps)) else None


def foreseen(source: Any, steps: list[Any]) -> list[Any]:
    """Return the steps above a source that kernels will do, without reading anything.

    Parameters
    ----------
    source : stream
        A stream that reads a dataset.
    steps : list of stream
        The elementwise steps right above it, lowest first.

    Returns
    -------
    list of stream
        Those at the beginning of `steps` that will be fused.

    """
    if not steps or not reads_by_rows(source, getattr(source, "data_state", None)):
        return []
    tables, sources = source.dataset._tables(), tuple(source.sources)
    if len(tables) != len(sources):
        return []
    able = fusible_steps(steps)
    kernels, count = joined(sources, tables, able, bool(source.produces_examples))
    return able[:count] if any(kernel.touched for kernel in kernels) else []


class Fused:
    """A source and the steps above it, evaluated together.

    Parameters
    ----------
    source : SourceCursor
        The pass of the source.
    steps : list of stream
        All steps up to the one whose items are wanted, lowest first.

    Attributes
    ----------
    count : int
        How many of the steps are done by kernels.

    """

    def __init__(self, source: SourceCursor, steps: list[Any]) -> None:
        self.source = source
        self.steps = steps
        self._join()

    def _join(self) -> None:
        source = self.source
        tables, sources = source.tables(), tuple(source.step.sources)
        able = fusible_steps(self.steps) if len(tables) == len(sources) else []
        self.kernels, self.count = joined(sources, tables, able, source.examples)
        # Sources that are only taken from their tables are done by nobody else, but that is no
        # reason to call it fused.
        if not any(kernel.touched for kernel in self.kernels):
            self.count = 0
        self.left = self.steps[self.count :]
        self.above, self.all = parts(self.left), parts(self.steps)
        self.given = [list(attributes(step)) for step in self.steps[: self.count]]
        self.identities = [list(map(id, given)) for given in self.given]

    def _up_to_date(self) -> bool:
        """Tell whether kernels do anything, after a look at whether the steps were changed."""
        for step, identities in zip(self.steps, self.identities, strict=False):
            if list(map(id, attributes(step))) != identities:
                self._join()
                break
        return self.count > 0

    def item(self) -> tuple[Any, Context]:
        """Return the next item and its context.

        Returns
        -------
        data : tuple
            One entry a source.
        context : Context
            That of the item.

        Raises
        ------
        StopIteration
            At the end of the epoch.

        """
        source = self.source
        first, rows, request = source.ask()
        if source.examples and type(request) is int and request >= 0:
            rows = numpy.array([request], dtype=numpy.int64)
        size = source.requests.position - first
        context = Context(source.epoch, first, None if source.examples else size, source.draws)
        data: Any = None
        above = self.above
        if rows is not None and self._up_to_date():
            try:
                data, above = self._columns(rows, first), self.above
            except Exception:
                pass  # step by step it goes wrong again, and whose fault it is will be told
        if data is None:
            data = source.dataset.get_data(None, rows.tolist() if request is None else request)
            above = self.all
        elif source.examples:
            data = tuple([column[0] for column in data])
        else:
            # Of files the steps make lists of images.
            for column, kernel in enumerate(self.kernels):
                if type(kernel) is DecodeKernel:
                    data = (*data[:column], list(data[column]), *data[column + 1 :])
        source.context = context
        source.delivered()
        for part in above:
            data = part.apply(data, context)
        return data, context

    def block(self, count: int) -> Any:
        """Return several examples at once; see `Cursor.block`."""
        if not self._up_to_date() or self.left:
            return None
        source = self.source
        rows = source.rows_ahead(count) if source.in_blocks() else None
        if rows is None:
            return None
        first = source.requests.position - len(rows)
        try:
            columns = self._columns(rows, first, borrow=True)
        except Exception:
            columns = None
        if columns is None:
            source.back()  # one by one, those before the one that fails are delivered
            return None
        return columns, first, len(rows)

    def _columns(self, rows: Any, first: int, borrow: bool = False) -> Any:
        """Return the sources of a batch; None where a table is not what it was."""
        source = self.source
        tables = source.tables()
        batch = Context(source.epoch, first, len(rows), source.draws)
        take, borrow = source.dataset._take, borrow or (source.borrow and not self.left)
        columns = []
        for kernel in self.kernels:
            if kernel.column >= len(tables):
                return None
            table = tables[kernel.column]
            if not kernel.touched:
                columns.append(take(table, rows, borrow))
            elif type(kernel) is DecodeKernel:
                columns.append(kernel(table, list(take(table, rows, True)), batch))
            elif kernel.fits(table):
                columns.append(kernel(table, rows, batch))
            else:
                return None
        return tuple(columns)


class Above:
    """Steps above a pass whose items exist already.

    Parameters
    ----------
    child : Cursor
        The pass.
    steps : list of stream
        All steps up to the one whose items are wanted, lowest first.

    """

    def __init__(self, child: Any, steps: list[Any]) -> None:
        self.child = child
        self.parts = parts(steps)
        self.borrows = hasattr(child, "borrow") and only_reads(steps[0])

    def item(self) -> tuple[Any, Context]:
        """Return the next item and its context."""
        child = self.child
        data = next_lent(child) if self.borrows else next(child)
        context = child.context
        for part in self.parts:
            data = part.apply(data, context)
        return data, context

    def block(self, count: int) -> Any:
        """Return None: the items come one by one."""
        return None
