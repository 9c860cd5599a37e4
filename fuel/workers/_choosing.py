"""The kind of workers, chosen by measuring the first items of an epoch.

Nothing measured is lost, and no result depends on the choice: the items that were measured are
those that are delivered first.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from typing import Any

from fuel.plan._evaluation import Evaluator, Unit
from fuel.utils._limits import usable_cpus
from fuel.workers._base import Done
from fuel.workers._blame import evaluated

__all__ = ["ChoosingPool"]

_logger = logging.getLogger("fuel.workers")

#: Units measured one after the other: the first, which opens files and fills caches, and these.
_MEASURED = 3
#: Items cheaper than this are not worth handing over to anybody, in seconds.
_CHEAP_S = 0.0002
#: Threads are chosen where two of them need less than this part of the time of one: the
#: interpreter's lock would not let them.
_GAIN = 0.75
#: Where less than this part of the time is spent calculating, workers mostly wait.
_WAITING = 0.5


class ChoosingPool:
    """Evaluates the first units here, and hands the others to what suits them.

    Parameters
    ----------
    crew : Crew
        Gives the pools.
    cursor : ExecutorCursor
        The pass.

    """

    by_place = False

    def __init__(self, crew: Any, cursor: Any) -> None:
        self.crew = crew
        self.cursor = cursor
        self.chosen: Any = None
        self.kind = ""
        self.serial = True
        self._waiting: deque[Unit] = deque()
        self._seconds: list[float] = []
        self._cpu: list[float] = []
        self._evaluator: Any = None

    @property
    def workers(self) -> int:
        """How many evaluate at the same time."""
        return 1 if self.chosen is None else int(self.chosen.workers)

    @property
    def processes(self) -> Any:
        """The processes, if these were chosen."""
        return getattr(self.chosen, "processes", None)

    def submit(self, unit: Unit) -> None:
        """Take a unit."""
        if self.chosen is not None:
            self.chosen.submit(unit)
        else:
            self._waiting.append(unit)

    def withdraw(self, number: int) -> bool:
        """Take back a unit."""
        if self.chosen is not None:
            return bool(self.chosen.withdraw(number))
        before = len(self._waiting)
        self._waiting = deque(unit for unit in self._waiting if unit.number != number)
        return len(self._waiting) < before

    def collect(self, timeout: float | None) -> list[Done]:
        """Measure, or return what is done."""
        if self.chosen is not None:
            found: list[Done] = self.chosen.collect(timeout)
            return found
        if not self._waiting:
            return []
        if self._evaluator is None:
            self._evaluator = Evaluator(self.crew.shipment(self.cursor))
        if len(self._seconds) <= _MEASURED:
            done = self._measured(self._waiting.popleft())
            if len(self._seconds) > _MEASURED:
                self._look()
            return [done]
        return self._compared()

    def _measured(self, unit: Unit) -> Done:
        began, cpu = time.perf_counter(), time.thread_time()
        outcomes = evaluated(self._evaluator, unit, "")
        seconds = time.perf_counter() - began
        self._seconds.append(seconds / max(1, unit.items))
        self._cpu.append((time.thread_time() - cpu) / max(1, unit.items))
        return Done(unit.number, outcomes, seconds)

    def _look(self) -> None:
        """Choose, if one worker at a time says enough."""
        # Without the first: it opens files and fills caches.
        seconds = sorted(self._seconds[1:])[len(self._seconds[1:]) // 2]
        busy = sum(self._cpu[1:]) / max(sum(self._seconds[1:]), 1e-9)
        self._each = seconds
        if seconds < _CHEAP_S:
            self._choose("serial", f"an item takes {seconds * 1e6:.0f} us")
        elif busy < _WAITING:
            self._choose("thread", f"{100 - 100 * busy:.0f} % of the time is spent waiting")
        elif usable_cpus() < 2:
            self._choose("serial", "there is one processor")
        elif self.crew.settings.workers < 2:
            self._choose("process", f"an item takes {seconds * 1e3:.1f} ms")
        else:
            self.serial = False  # two units are wanted

    def _compared(self) -> list[Done]:
        """Evaluate two units at once, and see what the second thread gains."""
        if len(self._waiting) < 2:
            if self.cursor.exhausted:
                return [self._measured(self._waiting.popleft())]
            self._choose("process", "there were too few items to compare")
            return []
        units = [self._waiting.popleft(), self._waiting.popleft()]
        other = Evaluator(self.crew.shipment(self.cursor))
        results: list[Any] = [None, None]

        def work(number: int, evaluator: Evaluator) -> None:
            began = time.perf_counter()
            outcomes = evaluated(evaluator, units[number], f"thread {number}")
            results[number] = Done(units[number].number, outcomes, time.perf_counter() - began)

        thread = threading.Thread(target=work, args=(1, other), daemon=True)
        began = time.perf_counter()
        thread.start()
        work(0, self._evaluator)
        thread.join()
        elapsed = time.perf_counter() - began
        alone = self._each * sum(unit.items for unit in units)
        part = elapsed / max(alone, 1e-9)
        kind = "thread" if part < _GAIN else "process"
        self._choose(kind, f"two threads needed {part:.2f} of the time of one")
        return [one for one in results if one is not None]

    def _choose(self, kind: str, reason: str) -> None:
        pool: Any
        try:
            pool = self.crew.pool_of(kind, self.cursor)
        except TypeError as error:
            if kind != "process":
                raise
            kind, reason = "thread", f"it cannot be sent to a process ({error})"
            pool = self.crew.pool_of(kind, self.cursor)
        self.kind = kind
        _logger.debug("%s: %s workers, for %s", self.crew.purpose, kind, reason)
        self.chosen = pool
        self.serial = kind == "serial"
        while self._waiting:
            pool.submit(self._waiting.popleft())

    def cancel(self) -> None:
        """Forget all units."""
        self._waiting.clear()
        if self.chosen is not None:
            self.chosen.cancel()

    def stacks(self) -> str:
        """Return what every worker is doing."""
        return "" if self.chosen is None else str(self.chosen.stacks())

    def close(self) -> None:
        """Let the workers go."""
        self._waiting.clear()
        if self.chosen is not None:
            self.chosen.close()
