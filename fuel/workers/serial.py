"""No workers: units are evaluated by whoever waits for them."""

from __future__ import annotations

import time
from collections import deque

from fuel.plan._evaluation import Evaluator, Shipment, Unit
from fuel.workers._base import Done
from fuel.workers._blame import evaluated

__all__ = ["SerialPool"]


class SerialPool:
    """Evaluates units in the process and the thread that asks for them.

    Parameters
    ----------
    shipment : Shipment
        The part of the chain.

    """

    workers = 1
    by_place = False

    def __init__(self, shipment: Shipment) -> None:
        self.evaluator = Evaluator(shipment)
        self._waiting: deque[Unit] = deque()

    def submit(self, unit: Unit) -> None:
        """Take a unit."""
        self._waiting.append(unit)

    def withdraw(self, number: int) -> bool:
        """Take back a unit."""
        before = len(self._waiting)
        self._waiting = deque(unit for unit in self._waiting if unit.number != number)
        return len(self._waiting) < before

    def collect(self, timeout: float | None) -> list[Done]:
        """Evaluate the unit that was taken first."""
        if not self._waiting:
            return []
        unit = self._waiting.popleft()
        began = time.perf_counter()
        outcomes = evaluated(self.evaluator, unit, "")
        return [Done(unit.number, outcomes, time.perf_counter() - began)]

    def cancel(self) -> None:
        """Forget all units."""
        self._waiting.clear()

    def stacks(self) -> str:
        """Return nothing: who would read it is what works."""
        return ""

    def close(self) -> None:
        """Do nothing."""
        self._waiting.clear()
