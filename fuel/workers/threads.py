"""Workers that are threads of this process.

For steps that spend their time without the interpreter's lock (our kernels, decoders, reading
files, waiting for a network), and for interpreters without that lock. Nothing is copied.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
import time
import traceback
import weakref
from collections import deque
from typing import Any

from fuel.plan._evaluation import Evaluator, Shipment, Unit
from fuel.workers._base import Done
from fuel.workers._blame import evaluated

__all__ = ["ThreadPool"]


class _Shared:
    """What the threads of a pool see; it does not refer to the pool, which can thus be freed."""

    def __init__(self, shipment: Shipment) -> None:
        self.shipment = shipment
        self.condition = threading.Condition()
        self.waiting: deque[tuple[int, Unit]] = deque()
        self.done: queue.SimpleQueue[tuple[int, Done] | BaseException] = queue.SimpleQueue()
        self.closed = False
        self.at_work: dict[int, tuple[int, float]] = {}


class ThreadPool:
    """Evaluates units in threads.

    Parameters
    ----------
    shipment : Shipment
        The part of the chain; its steps are shared by the threads, which have passes of their own.
    workers : int
        How many threads.

    Notes
    -----
    The threads start with the first unit and end with `close`, and with garbage collection.

    """

    by_place = False

    def __init__(self, shipment: Shipment, workers: int) -> None:
        self.workers = workers
        self._shared = _Shared(shipment)
        self._generation = 0
        self._threads: list[threading.Thread] = []
        self._owner = os.getpid()
        self._finalizer = weakref.finalize(self, _close, self._shared)

    def submit(self, unit: Unit) -> None:
        """Take a unit."""
        shared = self._shared
        with shared.condition:
            shared.waiting.append((self._generation, unit))
            shared.condition.notify()
        if len(self._threads) < self.workers:
            number = len(self._threads)
            thread = threading.Thread(
                target=_work, args=(shared, number), name=f"fuel-worker-{number}", daemon=True
            )
            self._threads.append(thread)
            thread.start()

    def withdraw(self, number: int) -> bool:
        """Take back a unit that no thread has begun."""
        shared = self._shared
        with shared.condition:
            for entry in shared.waiting:
                if entry[1].number == number:
                    shared.waiting.remove(entry)
                    return True
        return False

    def collect(self, timeout: float | None) -> list[Done]:
        """Return the units that are done."""
        found: list[Done] = []
        try:
            while True:
                entry = (
                    self._shared.done.get(timeout=timeout)
                    if not found
                    else self._shared.done.get_nowait()
                )
                if isinstance(entry, BaseException):
                    raise entry
                if entry[0] == self._generation:
                    found.append(entry[1])
        except queue.Empty:
            return found

    def cancel(self) -> None:
        """Forget all units; one that a thread has begun ends unread."""
        with self._shared.condition:
            self._shared.waiting.clear()
        self._generation += 1

    def stacks(self) -> str:
        """Return the Python stack of every thread, and what it holds."""
        frames = sys._current_frames()
        lines: list[str] = []
        for number, thread in enumerate(self._threads):
            held = self._shared.at_work.get(number)
            doing = "idle" if held is None else f"unit {held[0]} for {_since(held[1]):.1f} s"
            lines.append(f"worker thread {number} ({thread.name}): {doing}")
            frame = frames.get(thread.ident or 0)
            if frame is not None:
                lines.append("".join(traceback.format_stack(frame)).rstrip())
        return "\n".join(lines)

    def close(self) -> None:
        """Let the threads end. They are not waited for: one may be held up for ever."""
        self._generation += 1
        self._finalizer()


def _since(began: float) -> float:
    return time.perf_counter() - began


def _close(shared: _Shared) -> None:
    # Without waiting: it may be called by garbage collection while this very thread holds it.
    shared.closed = True
    if shared.condition.acquire(blocking=False):
        try:
            shared.waiting.clear()
            shared.condition.notify_all()
        finally:
            shared.condition.release()


#: Seconds after which an idle thread looks whether its pool is still there.
_LOOK_S = 0.5


def _work(shared: _Shared, number: int) -> None:
    evaluator: Any = None
    while True:
        with shared.condition:
            while not shared.waiting and not shared.closed:
                shared.condition.wait(_LOOK_S)
            if shared.closed:
                return
            generation, unit = shared.waiting.popleft()
        began = time.perf_counter()
        shared.at_work[number] = unit.number, began
        try:
            if evaluator is None:
                evaluator = Evaluator(shared.shipment)
            outcomes = evaluated(evaluator, unit, f"worker thread {number}")
        except BaseException as error:  # of the machinery: the consumer must hear of it
            shared.done.put(error)
            continue
        finally:
            shared.at_work.pop(number, None)
        shared.done.put((generation, Done(unit.number, outcomes, time.perf_counter() - began)))
        del outcomes
