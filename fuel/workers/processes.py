"""Workers that are processes: units to them, outcomes back, and new ones for those that die.

In this room: `Processes`, the workers of one pass, and `Port`, the pool that each part of the pass
sees. Not here: one worker (`fuel.workers._worker`), and how it is kept between passes
(`fuel.workers._idle`).
"""

from __future__ import annotations

import hashlib
import itertools
import os
import select
import time
import warnings
from collections import deque
from multiprocessing.connection import wait
from typing import Any

from fuel.exceptions import WorkerError
from fuel.plan._evaluation import Shipment, Unit
from fuel.transport.segments import Segment
from fuel.utils._channel import ChannelClosed
from fuel.utils._failure import unpack_failure
from fuel.utils._limits import oom_kills
from fuel.workers._base import Done, Failed
from fuel.workers._idle import lease, put_back
from fuel.workers._picklable import check_picklable
from fuel.workers._sharing import dumps_shared
from fuel.workers._worker import Worker

__all__ = ["Port", "Processes"]

#: Seconds between two looks at whether the processes live. A dead one closes its pipe, which is
#: noticed at once; this is for one whose pipe a process that it started holds open.
_LOOK_S = 0.25
#: A worker that needs longer for a unit gets the next one when it is done, so that none waits
#: behind one that takes long; another gets one more, so that it need not wait for a message.
_LONG_S = 0.01
#: How many units a worker is given at a time.
_DEPTH = 2
#: How large the pickled order of an epoch may be, in bytes, to be sent instead of requests.
_ORDER_BYTES = 4096

_tokens = itertools.count(1)


class _Waiting:
    """A unit that is to be evaluated, and how often workers died of it."""

    __slots__ = ("deaths", "port", "token", "unit")

    def __init__(self, token: int, port: Port, unit: Unit) -> None:
        self.token = token
        self.port = port
        self.unit = unit
        self.deaths = 0


class Processes:
    """The worker processes of a pass.

    Parameters
    ----------
    count : int
        How many.
    restarts : int
        How often the same unit may be given to another worker after one died of it.
    region_bytes : int or None
        How much shared memory each gets.
    start_method : str or None
        How they are started.
    purpose : str
        What they are for, for messages.

    """

    def __init__(
        self,
        count: int,
        restarts: int,
        region_bytes: int | None,
        start_method: str | None,
        purpose: str,
    ) -> None:
        self.count = count
        self.restarts = restarts
        self.purpose = purpose
        self._terms = region_bytes, start_method
        self.workers: list[Worker] = []
        self.waiting: deque[_Waiting] = deque()
        self.sent: dict[int, _Waiting] = {}
        self.ports: list[Port] = []
        self.seconds = 0.0
        self._deaths = 0
        self._owner = os.getpid()
        self._oom_kills = oom_kills()
        self._looked = 0.0
        self._warned = False

    def port(self, shipment: Shipment, name: str) -> Port:
        """Return the pool for a part."""
        try:
            check_picklable(shipment.part.top, name)
        except TypeError:
            # Told of the step that holds it, not of the chain above that.
            for step in shipment.steps():
                check_picklable(step, name)
            raise
        port = Port(self, shipment)
        self.ports.append(port)
        return port

    @property
    def booting(self) -> bool:
        """Whether no worker runs yet."""
        return not any(worker.ready for worker in self.workers)

    def submit(self, entry: _Waiting) -> None:
        """Take a unit."""
        self.waiting.append(entry)
        self._make_ready()

    def _make_ready(self) -> None:
        """Have workers that can be talked to, and give them what waits."""
        if self._owner != os.getpid():
            self._begin_anew()
        for worker in [one for one in self.workers if one.wire.midway]:
            # Ctrl-C came while something was said: nobody knows what its next words mean.
            self._retire(worker)
        if len(self.workers) < self.count:
            self.workers += lease(self.count - len(self.workers), *self._terms)
        self._assign()

    def _begin_anew(self) -> None:
        """In a process that was forked from the one that had the workers: get others."""
        self._owner = os.getpid()
        self.workers = []
        for entry in reversed(self.sent.values()):
            self.waiting.appendleft(entry)
        self.sent.clear()

    def _warn(self) -> None:
        """Tell the user, once, what is wrong with the shared memory."""
        found = [text for worker in self.workers if (text := worker.complaint())]
        if not found:
            return
        known = self._warned or any(worker.told for worker in self.workers)
        self._warned = True
        for worker in self.workers:
            worker.told = True
        if not known:
            warnings.warn(found[0], RuntimeWarning, stacklevel=2)

    def _assign(self) -> None:
        """Give waiting units to the workers that have the least to do."""
        depth = 1 if self.seconds > _LONG_S else _DEPTH
        while self.waiting:
            free = [one for one in self.workers if one.ready and len(one.pending) < depth]
            if not free:
                return
            worker = min(free, key=lambda one: len(one.pending))
            entry = self.waiting[0]
            port = entry.port
            if not port.key:
                port.ship()  # only now: by then the consumer has had its first items
            worker.give_part(port.key, port.payload, port.segments)
            worker.give_order(port.key, port.order)
            self.sent[entry.token] = entry
            self.waiting.popleft()
            try:
                worker.give(entry.token, port.key, entry.unit)
            except Exception as error:
                del self.sent[entry.token]
                port.done.append(_not_sent(entry.unit, error))

    def listen(self, timeout: float) -> None:
        """Wait for news, and take what there is."""
        self._make_ready()
        self._warn()
        deadline = time.monotonic() + timeout
        while True:
            left = max(0.0, deadline - time.monotonic())
            there: Any = _readable(self.workers, min(left, _LOOK_S))
            for worker in there:
                if worker in self.workers:
                    self._receive(worker)
            if not there or time.monotonic() - self._looked > _LOOK_S:
                self._looked = time.monotonic()
                for worker in list(self.workers):
                    if worker in self.workers and worker not in there and not _lives(worker):
                        self._replace(worker)
            if there or time.monotonic() >= deadline:
                return

    def _receive(self, worker: Worker) -> None:
        try:
            try:
                kind, *content = worker.receive()
            except (ChannelClosed, OSError):
                self._replace(worker)
                return
            if kind == "done":
                self._take(worker, *content)
        except BaseException as error:
            # What was interrupted halfway is not to be gone on with.
            worker.wire.midway |= not isinstance(error, Exception)
            raise
        if kind == "booted":
            self._assign()
        elif kind == "missing":
            self._by_value(worker, *content)
        elif kind == "refused":
            self._refused(worker, *content)
        elif kind == "done":
            self._warn()

    def _take(self, worker: Worker, token: int, encoded: list[Any], seconds: float) -> None:
        self._deaths = 0
        entry = self.sent.pop(token, None)
        if entry is None:
            worker.arrivals.drop(encoded)
            self._assign()
            return
        self.seconds = seconds if not self.seconds else 0.8 * self.seconds + 0.2 * seconds
        # Its next unit first: what it sent can be looked at while it works.
        self._assign()
        outcomes = worker.arrivals.decode(encoded, worker.origin)
        entry.port.done.append(Done(entry.unit.number, outcomes, seconds))

    def _take_back(self, worker: Worker, key: Any) -> None:
        """Have units wait again whose part a worker does not have."""
        for token in reversed([token for token, held in worker.pending.items() if held[0] == key]):
            worker.pending.pop(token)
            entry = self.sent.pop(token, None)
            if entry is not None:
                self.waiting.appendleft(entry)

    def _refused(self, worker: Worker, key: Any, failure: bytes) -> None:
        """Raise why a part cannot be made in a worker, if it is one of this pass."""
        self._take_back(worker, key)
        if any(port.key == key for port in self.ports):
            raise unpack_failure(failure, worker.origin)
        self._assign()

    def _by_value(self, worker: Worker, key: Any, module: str, failure: bytes) -> None:
        """Send a part again, with a module that the worker cannot import."""
        self._take_back(worker, key)
        for port in self.ports:
            if port.key == key or key in port.old_keys:
                if module is None or (module in port.by_value and key == port.key):
                    raise unpack_failure(failure, worker.origin)
                if key == port.key:
                    port.old_keys.add(key)
                    port.by_value.add(module)
                    port.ship()
        self._assign()

    # -- those that die -------------------------------------------------------------------------

    def _replace(self, worker: Worker) -> None:
        """Put another worker in the place of one that is gone, and give its units out again."""
        closed_by_us = worker.process.closed or worker.dismissed
        death = WorkerError("it was closed") if closed_by_us else worker.death()
        held = self._retire(worker)
        if not closed_by_us:
            self._deaths += 1
            if held:
                held[0].deaths += 1
            deaths = held[0].deaths if held else 0
            # Those that die before they did anything will go on doing so.
            if deaths > self.restarts or self._deaths > self.restarts + 2 * self.count:
                raise self._too_many(death, held, deaths)
        self._make_ready()

    def _retire(self, worker: Worker) -> list[_Waiting]:
        """Do without a worker; return the units that it held, which wait again."""
        tokens = list(worker.pending)
        held = [entry for token in tokens if (entry := self.sent.pop(token, None)) is not None]
        self.waiting.extendleft(reversed(held))
        self.workers.remove(worker)
        worker.close(patient=False)
        return held

    def _too_many(self, death: WorkerError, held: list[_Waiting], deaths: int) -> WorkerError:
        what = f"it held {_told(held[0].unit)}" if held else "it held nothing"
        if len(held) > 1:
            what += f" and {len(held) - 1} more"
        times = (
            f"{deaths} workers died of the same examples"
            if deaths > 1
            else f"{self._deaths} workers died one after the other"
        )
        hint = ""
        now = oom_kills()
        if now is not None and self._oom_kills is not None and now > self._oom_kills:
            hint = (
                f"; memory ran out: the system killed {now - self._oom_kills} processes of this "
                "control group meanwhile, so use fewer workers, or smaller batches"
            )
        return WorkerError(
            f"{death}; {what}; {times}, of which `restarts`={self.restarts} allows no more "
            f"({self.purpose}){hint}"
        )

    # -- the end --------------------------------------------------------------------------------

    def cancel(self, port: Port) -> None:
        """Forget the units of a part."""
        self.waiting = deque(entry for entry in self.waiting if entry.port is not port)
        for token in [token for token, entry in self.sent.items() if entry.port is port]:
            del self.sent[token]

    def stacks(self) -> str:
        """Return what every worker is doing."""
        lines: list[str] = []
        now = time.monotonic()
        for worker in self.workers:
            if not worker.ready:
                lines.append(f"{worker.origin}: starting")
                continue
            pending = worker.pending.values()
            held = [f"{_told(unit)} for {now - since:.1f} s" for _, unit, since in pending]
            lines.append(f"{worker.origin}: {'; '.join(held) or 'idle'}")
            lines.append(worker.stacks())
        return "\n".join(lines)

    def let_go(self) -> None:
        """Give the workers back, to be used by the next pass."""
        workers, self.workers = self.workers, []
        self.waiting.clear()
        self.sent.clear()
        for worker in workers:
            if self._owner == os.getpid():
                put_back(worker)


def _not_sent(unit: Unit, error: Exception) -> Done:
    """Return the outcome of a unit that cannot be pickled."""
    failure = TypeError(
        f"an item that workers are to evaluate cannot be sent to them ({type(error).__name__}: "
        f"{error}); let the steps below give arrays, numbers, texts or other objects that can be "
        "pickled, or use kind='thread'"
    )
    failure.__cause__ = error
    return Done(unit.number, [Failed(failure) for _ in range(unit.items)], 0.0)


def _lives(worker: Worker) -> bool:
    return not worker.process.closed and worker.process.exitcode is None


def _readable(workers: list[Worker], timeout: float) -> list[Worker]:
    """Return the workers that have news; those that were closed count among them."""
    closed = [worker for worker in workers if worker.process.closed or worker.wire.inbox]
    if closed:
        return closed
    if not hasattr(select, "poll"):
        return wait(workers, timeout)  # type: ignore[arg-type, return-value]
    # Quicker than `wait`, which makes a selector each time.
    poller = select.poll()
    for worker in workers:
        poller.register(worker.fileno(), select.POLLIN)
    there = {number for number, _ in poller.poll(timeout * 1000)}
    return [worker for worker in workers if worker.fileno() in there] if there else []


def _told(unit: Unit) -> str:
    size = unit.items * (unit.group or 1)
    if unit.asked is not None and not unit.group and isinstance(unit.asked, list):
        lengths = [len(one) if hasattr(one, "__len__") else 1 for one in unit.asked]
        size = sum(lengths)
    if size == 1:
        return f"ordinal {unit.first} of epoch {unit.epoch}"
    return f"ordinals {unit.first} to {unit.first + size - 1} of epoch {unit.epoch}"


class Port:
    """The pool of one part, over the workers that all parts of a pass share.

    Parameters
    ----------
    processes : Processes
        The workers.
    shipment : Shipment
        The part.

    """

    by_place = True

    def __init__(self, processes: Processes, shipment: Shipment) -> None:
        self.processes = processes
        self.workers = processes.count
        self.shipment = shipment
        self.by_value: set[str] = set()
        self.old_keys: set[Any] = set()
        self.order: tuple[bytes, Any] | None = None
        self.done: deque[Done] = deque()
        self.payload = b""
        self.segments: list[Segment] = []
        self.key = b""

    def ship(self) -> None:
        """Take the part apart for sending."""
        self.payload, self.segments = dumps_shared(self.shipment, self.by_value)
        self.key = hashlib.blake2b(self.payload, digest_size=16).digest()

    def set_order(self, order: Any, epoch: int) -> bool:
        """Let units name places in an order.

        Parameters
        ----------
        order : RequestIterator
            The requests of the epoch.
        epoch : int
            Its number.

        Returns
        -------
        bool
            False if the order is too large to be sent; units have to say what is asked for then.

        """
        try:
            payload, segments = dumps_shared(order)
        except Exception:
            return False
        self.order = (payload, segments) if len(payload) <= _ORDER_BYTES else None
        return self.order is not None

    def submit(self, unit: Unit) -> None:
        """Take a unit."""
        self.processes.submit(_Waiting(next(_tokens), self, unit))

    def withdraw(self, number: int) -> bool:
        """Take back a unit that no worker was given."""
        for entry in self.processes.waiting:
            if entry.port is self and entry.unit.number == number:
                self.processes.waiting.remove(entry)
                return True
        return False

    def collect(self, timeout: float | None) -> list[Done]:
        """Return the units that are done; wait for one if there is none."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self.done:
            left = 1.0 if deadline is None else deadline - time.monotonic()
            if left <= 0:
                break
            self.processes.listen(left)
        found = list(self.done)
        self.done.clear()
        return found

    def cancel(self) -> None:
        """Forget all units."""
        self.processes.cancel(self)
        self.done.clear()

    def stacks(self) -> str:
        """Return what every worker is doing."""
        return self.processes.stacks()

    def close(self) -> None:
        """Forget all units; the workers go back with the last part."""
        self.cancel()
