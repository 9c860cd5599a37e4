"""How batches are filled: with copies of an example, or with those of another batch.

In this room: functions of batches and of their contexts. Not here: which ones are filled
(`_shard`).
"""

from __future__ import annotations

from typing import Any

import numpy

from fuel.plan import Context

__all__ = ["joined", "parts_of", "repeated", "rows_in"]


def rows_in(batch: Any) -> int:
    """Return how many examples a batch has."""
    return len(batch[0]) if batch else 0


def repeated(batch: Any, context: Context, rows: list[int]) -> tuple[Any, Context]:
    """Return the examples of a batch at some rows, of which some may be the same."""
    return tuple(_taken(column, rows) for column in batch), parts_of(context, rows)


def parts_of(context: Context, rows: list[int]) -> Context:
    """Return the context of a batch made of some examples of another."""
    return Context.gather([context.one(row) for row in rows])


def joined(parts: list[tuple[Any, Context]]) -> tuple[Any, Context]:
    """Return several batches as one.

    Raises
    ------
    ValueError
        If their shapes do not fit.

    """
    if len(parts) == 1:
        return parts[0]
    columns = [_together(columns) for columns in zip(*(batch for batch, _ in parts), strict=True)]
    contexts = [context.one(row) for batch, context in parts for row in range(rows_in(batch))]
    return tuple(columns), Context.gather(contexts)


def _taken(column: Any, rows: list[int]) -> Any:
    if isinstance(column, numpy.ndarray):
        return column[numpy.array(rows, dtype=numpy.intp)]
    found = [column[row] for row in rows]
    return type(column)(found) if type(column) in (list, tuple) else found


def _together(columns: Any) -> Any:
    first = columns[0]
    if not isinstance(first, numpy.ndarray):
        return [entry for column in columns for entry in column]
    shapes = {column.shape[1:] for column in columns}
    if len(shapes) > 1:
        raise ValueError(
            f"the last batch cannot be filled with examples from the beginning of the epoch: their "
            f"shapes are {sorted(shapes)}; use remainder='pad' or 'drop', or pad them to one shape"
        )
    return numpy.concatenate(columns)
