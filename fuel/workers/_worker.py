"""A worker process, as its parent sees it: what it was told, what it holds, what it sends.

In this room: `Worker`. Not here: the loop inside the process (`fuel.workers._child`), which units
it gets (`fuel.workers.processes`), and which workers wait for work (`fuel.workers._idle`).
"""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import signal
import time
from typing import Any

from fuel.exceptions import TransportError, WorkerError
from fuel.plan._evaluation import Unit
from fuel.transport.segments import Segment, send_segments
from fuel.utils._channel import ChannelClosed
from fuel.utils._failure import unpack_failure
from fuel.utils._limits import memory_left
from fuel.utils._process import ChildProcess
from fuel.workers._child import run_worker
from fuel.workers._global_draws import warn_of_draws
from fuel.workers._handing import Outbox
from fuel.workers._results import Arrivals
from fuel.workers._wire import Wire

__all__ = ["Worker"]

#: The most shared memory that a worker gets unless the user says otherwise. It is only taken when
#: it is used.
_MOST_BYTES = 4 << 30
#: Less is not worth having.
_LEAST_BYTES = 1 << 20
#: How many parts a worker keeps at hand; a mixture has one for each stream.
_PARTS = 16
#: How much room there is for the stacks of a worker.
_STACKS_BYTES = 64 << 10

_numbers = itertools.count()


class Worker:
    """A worker process and what was said to it.

    Parameters
    ----------
    share : int
        How many workers there will be, about, which share what memory is left.
    region_bytes : int or None
        How much shared memory it gets; None: a part of what is left, and 0 for none.
    start_method : str or None
        How its process is started.

    Attributes
    ----------
    ready : bool
        Whether it has said that it runs.
    pending : dict
        From the token of a unit to (key of its part, unit), in the order in which they were sent.
    refusal : str
        Why it has no shared memory, if it should have; else "".
    missing_bytes : int
        How much did not fit into its shared memory, when that happened last.
    told : bool
        Whether the user was told of either.
    dismissed : bool
        Whether it was ended by `fuel.close_workers` while a pass had it.
    circumstances, thread : object
        Under which it was started, and who had it last.

    """

    def __init__(self, share: int, region_bytes: int | None, start_method: str | None) -> None:
        self.number = next(_numbers)
        self.region_bytes, self.start_method = region_bytes, start_method
        self.pending: dict[int, tuple[Any, Unit, float]] = {}
        self._blocks: dict[int, list[Any]] = {}
        self.parts: dict[Any, Any] = {}
        self.ready = False
        self.begun = False
        self.told = self.dismissed = False
        self.circumstances: Any = None
        self.thread = 0
        self.missing_bytes = 0
        self._region, self.refusal = _region(share, region_bytes)
        self._stacks = _stacks()
        size = 0 if self._region is None else self._region.size_bytes
        self.arrivals = Arrivals(None if self._region is None else self._region.memory, size // 2)
        self._outbox = Outbox()
        parts = (self._region, self._stacks, self._outbox.segment)
        given = [one for one in parts if one is not None]
        self.process = ChildProcess(
            run_worker,
            (f"worker {self.number}", [one is not None for one in parts]),
            name=f"worker {self.number}",
            start_method=start_method,
            single_threaded=True,
        )
        self.channel = self.process._channel
        self.wire = Wire(self.channel)
        with contextlib.suppress(
            OSError, ChannelClosed
        ):  # it died at once, and the first look says so
            send_segments(self.channel._connection, given)

    def fileno(self) -> int:
        """Return what becomes readable with news."""
        return self.channel.fileno()

    @property
    def origin(self) -> str:
        """The worker in words."""
        return self.process.origin

    def _say(self, message: tuple[Any, ...], segments: list[Segment] | None = None) -> None:
        payload = pickle.dumps(message, protocol=5)
        with contextlib.suppress(ChannelClosed, OSError):  # the next look says how it ended
            self.wire.send(payload, segments)

    def give_part(self, key: Any, payload: bytes, segments: list[Segment]) -> None:
        """Send a part, if the worker does not have it."""
        if key in self.parts:
            self.parts[key] = self.parts.pop(key)
            return
        while len(self.parts) >= _PARTS:
            oldest = next(iter(self.parts))
            del self.parts[oldest]
            self._say(("drop", oldest))
        self.parts[key] = None
        self._say(("part", key, payload, len(segments)), segments)

    def give_order(self, key: Any, order: tuple[bytes, list[Segment]] | None) -> None:
        """Send the order of an epoch, if the worker does not have it."""
        if order is not None and self.parts.get(key) is not order:
            self.parts[key] = order
            payload, segments = order
            self._say(("order", key, payload, len(segments)), segments)

    def give(self, token: int, key: Any, unit: Unit) -> None:
        """Send a unit."""
        payload, places, blocks = self._outbox.packed(unit)
        self.pending[token] = key, unit, time.monotonic()
        self._blocks[token] = blocks
        self._say(("unit", token, key, payload, places, self.arrivals.released()))

    def receive(self) -> tuple[Any, ...]:
        """Return a message that is there.

        Returns
        -------
        tuple
            ``("done", token, outcomes' form, seconds)``, ``("part", key)`` when a part has
            arrived, ``("missing", key, module, failure)`` or ``("refused", key, failure)`` where it
            could not be made, or ``("booted",)``.

        Raises
        ------
        ChannelClosed
            If the worker is gone.
        BaseException
            What went wrong in the worker, outside of any unit.

        """
        payload = self.wire.receive()
        if payload[:1] != b"\x80":
            if payload[:1] == b"R":
                self.ready = True
                self.process.booted()
                return ("booted",)
            if payload[:1] == b"F":
                raise unpack_failure(payload[1:], self.origin)
            raise ChannelClosed("the worker has ended")
        kind, *content = pickle.loads(payload)
        if kind == "done":
            token, seconds, encoded, missing = content
            self.pending.pop(token, None)
            self._blocks.pop(token, None)
            self.begun = True
            self.missing_bytes = missing or self.missing_bytes
            return ("done", token, encoded, seconds)
        if kind == "draws":
            warn_of_draws(content[0])
            return ("draws",)
        if kind == "ready":
            return ("part", content[0])
        self.parts.pop(content[0], None)
        return (kind, *content)

    def complaint(self) -> str:
        """Say what is wrong with its shared memory; "" if nothing is, or the user knows."""
        if self.told:
            return ""
        if self.refusal:
            return (
                f"a worker gets no shared memory ({self.refusal}; it should have at least "
                f"{_LEAST_BYTES} bytes, better {self.region_bytes or _MOST_BYTES}); batches go "
                "through a pipe, which is slower"
            )
        if self.missing_bytes and self._region is not None:
            return (
                f"the shared memory of {self.origin} ({self._region.size_bytes} bytes) has no room "
                f"for {self.missing_bytes} bytes more; what does not fit goes through a pipe, "
                "which is slower: keep fewer or smaller batches in flight, or give more "
                "(`shared_memory_bytes`)"
            )
        return ""

    def dismiss(self) -> None:
        """Hang up, for another thread than the one that uses it."""
        self.dismissed = True
        self.wire.hang_up()

    def held(self) -> list[Unit]:
        """Return the units that it was given and has not answered."""
        return [unit for _, unit, _ in self.pending.values()]

    def stacks(self, wait_s: float = 0.5) -> str:
        """Return the Python stacks of the worker's threads, if it can be asked."""
        part = self._stacks
        if part is None or not hasattr(signal, "SIGUSR1") or not self.process.alive:
            return "(its stacks cannot be had)"
        descriptor = part.fileno()
        before = os.lseek(descriptor, 0, os.SEEK_CUR)
        try:
            os.kill(self.process.pid, signal.SIGUSR1)
        except OSError:
            return "(it is gone)"
        deadline = time.monotonic() + wait_s
        size = before
        while time.monotonic() < deadline:
            now = os.lseek(descriptor, 0, os.SEEK_CUR)
            if now > before and now == size:
                break
            size = now
            time.sleep(0.02)  # there is nothing to wait on: a signal is answered by a file
        return os.pread(descriptor, max(0, size - before), before).decode(errors="replace").rstrip()

    def death(self) -> WorkerError:
        """Return how the worker ended, as an error."""
        return self.process._death()

    def close(self, *, patient: bool = True) -> None:
        """End the process. Arrays over its memory stay valid."""
        self.process.close(patient=patient)
        for part in (self._region, self._stacks):
            if part is not None:
                part.close()
        self._outbox.close()


def _region(share: int, wanted: int | None) -> tuple[Segment | None, str]:
    """Return shared memory, or why there is none although it is wanted."""
    if wanted is not None and wanted < _LEAST_BYTES:
        return None, ""
    left = memory_left()
    size = _MOST_BYTES if wanted is None else wanted
    if left is not None:
        # Half of it for the workers, half for everything else.
        size = min(size, left // (2 * max(1, share)))
    size -= size % 4096
    if size < _LEAST_BYTES:
        return None, f"only {left} bytes are left"
    try:
        return Segment.create(size, "the batches of a worker"), ""
    except TransportError as error:
        return None, str(error)


def _stacks() -> Segment | None:
    if os.name == "nt":
        return None
    try:
        return Segment.create(_STACKS_BYTES, "the stacks of a worker")
    except TransportError:
        return None
