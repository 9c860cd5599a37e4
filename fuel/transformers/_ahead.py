"""A pass that runs in another process, ahead of the one that reads it.

The pass below is started here, so that schemes draw here and everything is in the state that the
user left it in; then a copy of it goes to the child process, which sends back each item with its
context and its place. The place of the item *delivered* last is the state of the pass here,
whatever the child has produced since. The pass that stayed here is not read: it is moved, when
the child has to be replaced in the middle of an epoch.

The streams that use this are in `fuel.transformers._parallel`.
"""

from __future__ import annotations

import contextlib
import pickle
import queue
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from fuel.exceptions import StateError, WorkerError
from fuel.plan import Context, Cursor, Draws, SourceCursor, _memory, step_names, walk
from fuel.plan._foreign import NeedsReplay, OpaqueCursor
from fuel.rng import GeneratorPool
from fuel.streams._base import AbstractDataStream
from fuel.typing import JSON
from fuel.utils._channel import ChannelClosed, dumps
from fuel.utils._failure import pack_failure, unpack_failure
from fuel.utils._overrides import overridden
from fuel.utils._process import ChildProcess

if TYPE_CHECKING:
    from fuel.plan import Start
    from fuel.utils._channel import Channel

__all__ = ["AheadCursor"]

#: Seconds that describing what users' steps remember may take for each item. It takes some 50 µs,
#: but a step that holds large arrays needs a digest of them; its place is found by replay then.
_DESCRIBE_S = 0.005


class _Place(NamedTuple):
    """Where a pass is."""

    known: bool
    mark: JSON = None
    memory: dict[str, JSON] | None = None
    reason: str = ""


class AheadCursor(Cursor):
    """The pass of a step whose child pass runs in another process.

    Parameters
    ----------
    start : Start
        The epoch being started.
    step : MultiProcessing
        The step.

    """

    child: Cursor

    def __init__(self, start: Start, step: Any) -> None:
        draws = start.draws
        if isinstance(draws, Draws):
            start.draws = _CarriedDraws(draws, step.data_stream)
        try:
            self.child = start.child(step.data_stream)
        finally:
            start.draws = draws
        super().__init__(start, step)
        self._draws = draws
        self._worker: ChildProcess | None = None
        self._place: _Place | None = None  # None: nothing was delivered
        self._stands: JSON = None  # the place to which the pass that stayed here was moved
        self._taken = 0
        self._delivered = 0  # in this process, for messages
        self._ended = False

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_worker": None, "_taken": 0}

    def produce(self, request: Any) -> Any:
        """Return the next item that the child process sends."""
        if request is not None:
            raise ValueError(
                f"{type(self.step).__name__} takes no requests, got {request!r:.80}; give the "
                "iteration scheme to the DataStream below it"
            )
        if self._ended:
            raise StopIteration
        worker = self._worker
        if worker is None or worker.closed or not worker.is_mine:
            worker = self._worker = self._start()
        try:
            kind, place, content = worker.recv()
        except BaseException as error:
            # It died, or the wait was interrupted in the middle of a message. The next call
            # starts another process behind the item delivered last.
            self._drop()
            if type(error) is WorkerError:
                raise WorkerError(
                    f"{error}; it had delivered {self._delivered} items of epoch {self.epoch}"
                ) from None
            raise
        self._place = place = _Place(*place)
        if place.memory is not None:
            _memory.restore(self.step.data_stream, place.memory)
        if kind == "end":
            self._finish(worker)
            raise StopIteration
        self._grant(worker)
        if kind == "error":
            failure = unpack_failure(content, worker.origin)
            if hasattr(failure, "add_note"):  # from Python 3.11 on
                failure.add_note(f"raised in the process of {self.step._process_name()}")
            raise failure
        self._delivered += 1
        data, (epoch, first, count, ordinals, numbers) = content
        self.context = Context(epoch, first, count, self._draws, ordinals=ordinals, numbers=numbers)
        return data

    def _grant(self, worker: ChildProcess) -> None:
        """Let the child produce more, in portions, so that the pipe never fills with grants."""
        self._taken += 1
        if self._taken >= (self.step._bound() + 1) // 2:
            worker.send(("grant", self._taken))
            self._taken = 0

    def _start(self) -> ChildProcess:
        self._move()
        self._taken = 0
        _defer_iterators(self.child)
        work = (self.child, self.step.data_stream, self.step._bound())
        try:
            worker: ChildProcess = self.step._worker(work)
        except TypeError:
            # Perhaps a user's dataset keeps an open file as its state.
            with _states_left_here(self.child) as left:
                if not left:
                    raise
                worker = self.step._worker(work)
        return worker

    def _move(self) -> None:
        """Bring the pass that stayed here to the place of the item delivered last."""
        place = self._place
        if place is None:
            return
        if not place.known:
            raise WorkerError(
                f"the process of {self.step._process_name()} is gone, and the epoch cannot go on "
                f"in another one ({place.reason}); start the epoch again"
            )
        if place.mark == self._stands:
            return
        stream = self.step.data_stream
        remembered = _memory.capture(stream)
        self.child.seek(place.mark)
        self._stands = place.mark
        # Moving may run users' code, which may have changed what it remembers.
        _memory.restore(stream, remembered)

    def _finish(self, worker: ChildProcess) -> None:
        self._ended = True
        self._worker = None
        self.step._keep(worker)
        for cursor in _all_below(self.child):
            if not isinstance(cursor, SourceCursor):
                continue
            if cursor.state is not None and overridden(cursor.dataset, "next_epoch", "reset"):
                # The next epoch is made from the state at the end of this one, which is over
                # there; reading up to it brings the state here to the same place.
                try:
                    self._move()
                except StateError:
                    pass
            cursor.finished = True

    def _drop(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()

    def tell(self) -> JSON:
        """Describe the place behind the item delivered last, as the pass below would."""
        if self._place is None:
            return self.child.tell()
        if not self._place.known:
            raise NeedsReplay(self._place.reason)
        return self._place.mark

    def seek(self, mark: JSON) -> None:
        """Go to a place described by this pass or by the one below."""
        self._drop()
        self.child.seek(mark)
        self._stands = mark
        self._place = _Place(True, mark)
        self._ended = False

    def close(self) -> None:
        """End the child process and close the passes below."""
        self._drop()
        super().close()


class _CarriedDraws(Draws):
    """The generators of a part of a chain, which keep their names when the part is sent away."""

    def __init__(self, above: Draws, stream: Any) -> None:
        super().__init__(stream)
        self._above: Draws | None = above
        self._named: dict[int, tuple[Any, str]] = {}

    def __getstate__(self) -> dict[str, Any]:
        named = list(self._named.values())
        if self._above is not None:
            # Named from the top of the chain, which may not even be picklable.
            names = step_names(self._above._stream)
            below = walk(self._stream)
            named = [(step, names[id(step)]) for step in below if id(step) in names]
        return {"_stream": self._stream, "named": named}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._stream = state["_stream"]
        self._pools = {}
        self._above = None
        self._named = {id(step): (step, name) for step, name in state["named"]}

    def pool(self, step: Any) -> GeneratorPool:
        """Return the generators of a step; see `Draws.pool`."""
        if self._above is not None:
            return self._above.pool(step)
        if id(step) not in self._pools and id(step) in self._named:
            name = self._named[id(step)][1]
            self._pools[id(step)] = GeneratorPool(step._effective_seed(), name)
        return super().pool(step)


class _NotStarted:
    """An epoch that begins in the process that first reads it."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._iterator: Any = None

    def __iter__(self) -> _NotStarted:
        return self

    def __next__(self) -> Any:
        if self._iterator is None:
            self._iterator = iter(self._stream.get_epoch_iterator())
        return next(self._iterator)


def _all_below(cursor: Any) -> list[Any]:
    found = [cursor]
    for child in cursor.children():
        found += _all_below(child)
    return found


def _defer_iterators(cursor: Any) -> None:
    """Replace fresh iterators of users' streams that do not travel, such as generators."""
    for one in _all_below(cursor):
        if isinstance(one, OpaqueCursor) and one.run is None and one.count == 0:
            try:
                dumps(one.iterator)
            except Exception:  # whatever it holds
                one.iterator = _NotStarted(one.step)


class _OpenedThere:
    """Stands for the state of a dataset that is opened anew in the process that reads it."""


@contextlib.contextmanager
def _states_left_here(cursor: Any) -> Iterator[list[Any]]:
    """Take fresh states of datasets that do not travel, such as files, out of passes to be sent."""
    left = []
    for one in _all_below(cursor):
        if isinstance(one, SourceCursor) and one.count == 0 and one.state is not None:
            try:
                dumps(one.state)
            except Exception:  # whatever it holds
                left.append((one, one.state, one.step.data_state))
    try:
        for one, _, _ in left:
            one.state = one.step.data_state = _OpenedThere()
        yield left
    finally:
        for one, state, latest in left:
            one.state, one.step.data_state = state, latest


def _open_states(cursor: Any) -> None:
    for one in _all_below(cursor):
        if isinstance(one, SourceCursor) and isinstance(one.state, _OpenedThere):
            one.state = one.step.data_state = one.dataset.open()


# -- in the child process ------------------------------------------------------------------------


def run_ahead(channel: Channel, work: Any) -> None:
    """Run passes in the child: the first one, and those that are sent later.

    Parameters
    ----------
    channel : Channel
        To the parent.
    work : tuple
        The pass, its stream, and how many items may wait.

    """
    sender = _Sender(channel)
    while True:
        sender.put(dumps("started"))
        _run_one(channel, sender, *work)
        while True:
            kind, content = channel.recv()
            if kind == "work":  # anything else is a grant that came too late to be used
                _pass_on(work[1], content[1])
                work = content
                break


def _pass_on(before: Any, after: Any) -> None:
    """Let the streams of a new pass take over connections, with the items that wait in them."""
    for old, new in zip(walk(before), walk(after), strict=False):
        if isinstance(new, AbstractDataStream) and type(old) is type(new):
            new._take_over(old)


def _run_one(channel: Channel, sender: _Sender, cursor: Any, stream: Any, window: int) -> None:
    _open_states(cursor)
    _memory.watch(stream)
    describe = _may_describe(stream)
    low = window // 2
    while True:
        while window == 0 or (window <= low and channel.poll(0)):
            window += channel.recv()[1]
        try:
            data = next(cursor)
            context = cursor.context
            where = (context.epoch, context._first, context._count, context._ordinals)
            message = ("item", _where(cursor, stream, describe), (data, (*where, context.numbers)))
            payload = _dumps(message)
        except StopIteration:
            sender.put(dumps(("end", _where(cursor, stream, True), None)))
            return
        except BaseException as error:
            packed = pack_failure(error)
            payload = dumps(("error", _where(cursor, stream, describe), packed))
        sender.put(payload)
        window -= 1


def _dumps(message: Any) -> bytes:
    """Pickle in the child: quickly, or by cloudpickle what only that can.

    Not for use in the parent, where the quick way refers to what the main module defines by name.
    """
    try:
        return pickle.dumps(message, protocol=5)
    except Exception:  # whatever a user's object raises
        return dumps(message)


def _may_describe(stream: Any) -> bool:
    """Tell whether it is quick to describe what users' steps remember."""
    quickest = float("inf")
    for _ in range(3):
        begin = time.perf_counter()
        try:
            _memory.capture(stream)
        except StateError:
            pass
        quickest = min(quickest, time.perf_counter() - begin)
    return quickest < _DESCRIBE_S


def _where(cursor: Any, stream: Any, describe: bool) -> tuple[Any, ...]:
    """Return the fields of a `_Place`; a plain tuple takes half the time to pickle."""
    if not describe:
        return (False, None, None, "a step holds too much to describe it after every item")
    try:
        return (True, cursor.tell(), _memory.capture(stream))
    except StateError as error:
        return (False, None, None, str(error))


class _Sender:
    """Sends in a thread of its own, so that the next item is made meanwhile.

    The queue is bounded by what the parent has asked for.
    """

    def __init__(self, channel: Channel) -> None:
        self._queue: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._channel = channel
        threading.Thread(target=self._run, name="fuel-sender", daemon=True).start()

    def put(self, payload: bytes) -> None:
        self._queue.put(payload)

    def _run(self) -> None:
        try:
            while True:
                self._channel.send_bytes(self._queue.get())
        except ChannelClosed:
            pass  # the thread that receives notices it too
