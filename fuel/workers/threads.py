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
from typing import Any

from fuel.plan._evaluation import Evaluator, Shipment, Unit
from fuel.workers._base import Done
from fuel.workers._blame import evaluated

__all__ = ["ThreadPool"]


class _Job:
    """A unit that whoever takes its claim may evaluate, or take back."""

    __slots__ = ("claims", "generation", "unit")

    def __init__(self, generation: int, unit: Unit) -> None:
        self.generation, self.unit = generation, unit
        self.claims = [True]

    def claim(self) -> bool:
        """Take it; False if somebody has."""
        try:
            return self.claims.pop()
        except IndexError:
            return False


class _Shared:
    """What the threads of a pool see; it does not refer to the pool, which can thus be freed.

    There are queues only, no locks: Ctrl-C may be raised in the consumer right after it has taken
    a lock, which nobody would then release, and garbage collection may close a pool in the middle
    of anything.
    """

    def __init__(self, shipment: Shipment) -> None:
        self.shipment = shipment
        self.waiting: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
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
        self._generation = 0
        self._jobs: dict[int, _Job] = {}
        self._begin(shipment)

    def _begin(self, shipment: Shipment) -> None:
        self._shared = _Shared(shipment)
        self._threads: list[threading.Thread] = []
        self._owner = os.getpid()
        self._finalizer = weakref.finalize(self, _close, self._shared, self.workers)

    def submit(self, unit: Unit) -> None:
        """Take a unit."""
        self._look_who_asks()
        job = self._jobs[unit.number] = _Job(self._generation, unit)
        self._put(job)

    def _put(self, job: _Job) -> None:
        shared = self._shared
        shared.waiting.put(job)
        if len(self._threads) < self.workers:
            number = len(self._threads)
            thread = threading.Thread(
                target=_work, args=(shared, number), name=f"fuel-worker-{number}", daemon=True
            )
            thread.start()  # first: one that was interrupted here must not be counted on
            self._threads.append(thread)

    def _look_who_asks(self) -> None:
        """In a process that was forked, where there are no threads, begin anew."""
        if self._owner == os.getpid():
            return
        self._finalizer.detach()
        self._begin(self._shared.shipment)
        for job in list(self._jobs.values()):
            again = self._jobs[job.unit.number] = _Job(self._generation, job.unit)
            self._put(again)

    def withdraw(self, number: int) -> bool:
        """Take back a unit that no thread has begun."""
        job = self._jobs.get(number)
        if job is None or not job.claim():
            return False
        self._jobs.pop(number, None)
        return True

    def collect(self, timeout: float | None) -> list[Done]:
        """Return the units that are done."""
        self._look_who_asks()
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
                    self._jobs.pop(entry[1].number, None)
                    found.append(entry[1])
        except queue.Empty:
            return found

    def cancel(self) -> None:
        """Forget all units; one that a thread has begun ends unread."""
        self._generation += 1
        for job in list(self._jobs.values()):
            job.claim()
        self._jobs.clear()

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
        self.cancel()
        self._finalizer()


def _since(began: float) -> float:
    return time.perf_counter() - began


def _close(shared: _Shared, workers: int) -> None:
    shared.closed = True
    for _ in range(workers):
        shared.waiting.put(None)


def _work(shared: _Shared, number: int) -> None:
    evaluator: Any = None
    while True:
        job = shared.waiting.get()
        if job is None or shared.closed:
            return
        if not job.claim():
            continue
        generation, unit = job.generation, job.unit
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
        del outcomes, job, unit
