"""Batches of costly examples, evaluated in pieces by several workers.

Where the examples of a batch take long, and one of them perhaps much longer, a worker that had the
whole batch would hold up all who wait for it. So the examples are handed out a few at a time, and
the batch is put together by the consumer, as a pass in one process puts it together of single
examples.
"""

from __future__ import annotations

from typing import Any

from fuel.plan._context import Context
from fuel.plan._evaluation import Evaluator, Unit
from fuel.plan._schedule import Planned, Schedule
from fuel.workers._base import Done, Failed
from fuel.workers._blame import note

__all__ = ["COSTLY_S", "Pieces"]

#: Batches that take less are evaluated whole: putting them together here costs the consumer a
#: copy, of some milliseconds for a batch of images, and kernels do their work example by example.
COSTLY_S = 0.15
#: How long a piece should take: long beside what it costs to send it.
_PIECE_S = 0.01


class Pieces:
    """The pieces of a batch.

    Parameters
    ----------
    units : list of Unit
        Of single examples, in order.

    Attributes
    ----------
    units : list of Unit
        As given.
    seconds : float
        How long the evaluation of those that are done took.

    """

    def __init__(self, units: list[Unit]) -> None:
        self.units = units
        self.seconds = 0.0
        self._done: dict[int, list[Any]] = {}

    @classmethod
    def of(cls, schedule: Schedule, planned: Planned, seconds: float) -> Pieces | None:
        """Divide a unit.

        Parameters
        ----------
        schedule : Schedule
            Numbers the pieces.
        planned : Planned
            The unit.
        seconds : float
            How long a batch takes.

        Returns
        -------
        Pieces or None
            None where it is not a single batch, or one of a single example.

        """
        unit = planned.unit
        if unit.items != 1 or unit.group < 2 or planned.sizes is None:
            return None
        size = planned.sizes[0]
        step = max(1, int(_PIECE_S / (seconds / size))) if seconds else 1
        units: list[Unit] = []
        for start in range(0, size, step):
            stop = min(start + step, size)
            asked = None if unit.asked is None else unit.asked[start:stop]
            first = unit.first + start
            units.append(Unit(schedule.number, unit.epoch, first, stop - start, asked))
            schedule.number += 1
        return cls(units)

    def add(self, done: Done) -> bool:
        """Take the outcomes of a piece; tell whether all are there."""
        self._done[done.number] = done.outcomes
        self.seconds += done.seconds
        return len(self._done) == len(self.units)

    def put_together(self, grouping: Any, evaluator: Evaluator, context: Context) -> Any:
        """Return the batch.

        Parameters
        ----------
        grouping : Cursor
            The pass of the step that makes batches.
        evaluator : Evaluator
            For the steps above it.
        context : Context
            That of the batch.

        Returns
        -------
        tuple or Failed
            The item, or the failure of the first of its examples that failed.

        """
        examples = [outcome for unit in self.units for outcome in self._done[unit.number]]
        for example in examples:
            if isinstance(example, Failed):
                return example
        try:
            return evaluator.finish(grouping.put_together(examples), context)
        except Exception as error:
            first = self.units[0]
            note(
                error,
                f"raised in the batch that begins at ordinal {first.first} of epoch "
                f"{first.epoch}, put together in the process of the consumer",
            )
            return Failed(error)
