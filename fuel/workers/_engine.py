"""A pass whose items are evaluated by workers, ahead of whoever reads it, and in order.

In this room: `ExecutorCursor`, which asks the schedule for units, hands them to a pool, puts what
comes back in order and counts what is delivered. The pass below stays behind the item delivered
last, so that a position is what it is without workers. Not here: what is asked for
(`fuel.plan._schedule`), who evaluates it (the pools), what becomes of failures
(`fuel.workers._failures`).
"""

from __future__ import annotations

import logging
import time
from collections import deque
from typing import Any

from fuel.exceptions import IteratorInvalidatedError
from fuel.plan._cursor import Cursor
from fuel.plan._parts import Part
from fuel.plan._schedule import Planned, Schedule
from fuel.typing import JSON
from fuel.workers._base import Done, Failed
from fuel.workers._blame import evaluated
from fuel.workers._entries import Entry, size_of, unread
from fuel.workers._failures import Failure, Failures
from fuel.workers._pieces import COSTLY_S, Pieces
from fuel.workers._replacing import replacement

__all__ = ["ExecutorCursor"]

_logger = logging.getLogger("fuel.workers")

#: Seconds between two looks at whether something is stuck.
_LOOK_S = 1.0
#: How long the evaluation of a unit should take, in seconds: long beside the some 50 µs of a
#: message there and back, short beside the time in which a consumer would miss it.
_UNIT_S = 0.002
#: How many items a unit may have.
_LARGEST_UNIT = 256


class ExecutorCursor(Cursor):
    """The pass of the top of a part, whose items workers evaluate.

    Parameters
    ----------
    part : Part
        The part.
    child : Cursor
        The pass of its top, freshly started.
    crew : Crew
        Who evaluates: gives pools, and knows the settings.
    number : int
        Which of the parts of the crew it is.

    """

    child: Any

    def __init__(self, part: Part, child: Cursor, crew: Any, number: int) -> None:
        self.step = part.top
        self.part = part
        self.child = child
        self.crew = crew
        self.number = number
        self.epoch = child.epoch
        self.requests = None
        self.context = child.context
        self.schedule = Schedule(part, child)
        self.failures = Failures(crew.policy, crew.total(part.top))
        self.queue: deque[Entry] = deque()
        self.ahead = 0  # items in the queue
        self.exhausted = False
        self.ended = self.closed = False
        self.error: Exception | None = None
        self.broken = self.interrupted = False
        self.per_item = 0.0
        self.item_bytes = 0
        self.rank, self.world_size, self.turn = 0, 1, 0
        self.pool: Any = None
        self._entries: dict[int, Entry] = {}
        self._by_place = False

    def __getstate__(self) -> dict[str, Any]:
        queue = deque(unread(entry) for entry in self.queue)
        return {**self.__dict__, "pool": None, "queue": queue, "_entries": {}, "_by_place": False}

    # -- one item -------------------------------------------------------------------------------

    def produce(self, request: Any) -> Any:
        """Return the next item."""
        if request is not None:
            raise ValueError(
                f"the {type(self.step).__name__} below a Parallel takes no requests, got "
                f"{request!r:.80}; give the iteration scheme to the DataStream below it"
            )
        if self.closed:
            raise IteratorInvalidatedError(
                f"this iterator over a {type(self.step).__name__} was closed before the end of its "
                "epoch (by `close`, or at the end of a `with`); start another one, or load its "
                "state into one"
            )
        if self.interrupted and not self.broken:
            self.seek(self.tell())  # Ctrl-C came between any two steps
        try:
            return self._next_item()
        except BaseException as error:
            self.interrupted = not isinstance(error, Exception)
            raise

    def _next_item(self) -> Any:
        while True:
            if self.ended:
                raise StopIteration
            if self.broken:
                return self._go_on_after_error()
            entry = self._next_entry()
            index = entry.index
            outcomes = entry.outcomes
            assert outcomes is not None and entry.planned is not None
            outcome, outcomes[index] = outcomes[index], None
            if not isinstance(outcome, Failed):
                self.failures.succeeded()
                self.context = self.schedule.context(entry.planned, index)
                self._passed(entry)
                return outcome
            outcome = self._failed(entry, index, outcome)
            if outcome is not None:
                return outcome

    def _next_entry(self) -> Entry:
        """Return the entry whose next item is to be delivered, evaluated."""
        while True:
            self._fill()
            if not self.queue:
                self._end()
            entry = self._choice()
            if entry.planned is None:
                # Somebody asks for what was to be passed over.
                self.share(0, 1)
                continue
            if entry.outcomes is not None:
                return entry
            self._wait(entry)

    def _choice(self) -> Entry:
        """Return the entry to be delivered next: the first one, or one that is done."""
        if not self.crew.ordered:
            for entry in self.queue:
                if entry.outcomes is not None and entry.left:
                    return entry
        return self.queue[0]

    def _passed(self, entry: Entry) -> None:
        """Put the pass behind an item."""
        assert entry.planned is not None
        index = entry.index
        entry.index = index + 1
        self.ahead -= 1
        if entry is self.queue[0]:
            self.schedule.reached(entry.planned, index)
            if entry.index == entry.count:
                self._forget(self.queue.popleft())
                self._drop_finished()
        elif entry.index == entry.count:
            entry.planned.places[:-1] = []

    def _drop_finished(self) -> None:
        """Without order: units behind the first may have been delivered before it."""
        while self.queue and self.queue[0].planned is not None and not self.queue[0].left:
            entry = self.queue.popleft()
            assert entry.planned is not None
            place, own = entry.planned.places[-1]
            entry.planned.places[:] = [(place, own)]
            self.schedule.reached(entry.planned._replace(sizes=None), 0)
            self._forget(entry)
        if self.queue and self.queue[0].planned is not None and self.queue[0].index:
            self.schedule.reached(self.queue[0].planned, self.queue[0].index - 1)

    def _forget(self, entry: Entry) -> None:
        if entry.planned is not None:
            for unit in entry.units:
                self._entries.pop(unit.number, None)

    def _end(self) -> None:
        if self.error is not None:
            error, self.error = self.error, None
            self.exhausted = False
            raise error
        self.ended = True
        self.crew.rest(self)
        self.schedule.finish()
        raise StopIteration

    # -- units there and back -------------------------------------------------------------------

    def _fill(self) -> None:
        """Keep as many items on their way as are allowed."""
        if self.pool is None:
            self._employ()
        bound = self.crew.bound(self)
        while self.ahead < bound and not self.exhausted:
            entry = self._gap() if self.world_size > 1 else None
            if entry is None:
                entry = self._unit(bound)
            if entry is None:
                self.exhausted = True
            else:
                self.queue.append(entry)
                # What will be passed over takes no room.
                self.ahead += entry.count if entry.planned is not None else 0

    def _employ(self) -> None:
        """Get workers, and hand them what was on its way when there were none."""
        self.pool = self.crew.pool(self)
        order = self.schedule.order() if self.pool.by_place else None
        self._by_place = order is not None and self.pool.set_order(order, self.schedule.epoch)
        for entry in self.queue:
            if entry.planned is not None and entry.outcomes is None:
                self._submit(entry)

    def _unit(self, bound: int) -> Entry | None:
        count = 1 if self.world_size > 1 else self._unit_size(bound)
        try:
            planned = self.schedule.take(count, by_place=self._by_place)
        except Exception as error:  # told in its turn, behind what was on its way before it
            self.error = error
            return None
        if planned is None:
            return None
        self.turn += planned.unit.items
        entry = Entry(planned, planned.unit.items)
        self._submit(entry)
        return entry

    def _unit_size(self, bound: int) -> int:
        fitting = max(1, bound // (2 * self.pool.workers))
        if not self.per_item:
            return 1
        size: int = max(1, min(int(_UNIT_S / self.per_item), fitting, _LARGEST_UNIT))
        return size

    def _gap(self) -> Entry | None:
        """Pass over the items of other ranks."""
        # Those before its own and those behind it are passed over separately: between them lies
        # a place that may be asked for.
        at = self.turn % self.world_size
        others = self.rank - at if at <= self.rank else self.world_size - at
        if not others:
            return None
        before = self.schedule.place()
        passed = self.schedule.pass_over(others)
        after = self.schedule.place()
        self.schedule.put(before)
        self.turn += passed
        return Entry(None, passed, after, self.schedule.child.context) if passed else None

    def _submit(self, entry: Entry) -> None:
        assert entry.planned is not None
        entry.began = time.perf_counter()
        if self.part.group is not None and self.pool.workers > 1 and self.per_item > COSTLY_S:
            entry.pieces = Pieces.of(self.schedule, entry.planned, self.per_item)
        for unit in entry.units:
            self._entries[unit.number] = entry
            self.pool.submit(unit)

    def _wait(self, entry: Entry) -> None:
        """Wait until something is done."""
        assert entry.planned is not None
        pool, unit = self.pool, entry.planned.unit
        if not entry.pieces and self.crew.may_help(self, pool) and pool.withdraw(unit.number):
            evaluator = self.crew.evaluator(self, self._by_place)
            began = time.perf_counter()
            outcomes = evaluated(evaluator, unit, "")
            self._done(Done(unit.number, outcomes, time.perf_counter() - began))
            return
        stall = self.crew.stall_timeout_s
        waited = time.monotonic()
        told = False
        while True:
            for done in pool.collect(_LOOK_S if stall is None else min(_LOOK_S, stall)):
                self._done(done)
                told = True
            if told:
                return
            if stall is not None and time.monotonic() - waited >= stall:
                waited = time.monotonic()
                self.crew.stalled(self, pool, unit)

    def _done(self, done: Done) -> None:
        entry = self._entries.get(done.number)
        if entry is None:
            return  # passed over meanwhile
        if entry.pieces is not None:
            if not entry.pieces.add(done):
                return
            done = self._put_together(entry, entry.pieces)
        entry.outcomes = done.outcomes
        if not self.item_bytes:
            self.item_bytes = size_of(done.outcomes[0])
        per_item = done.seconds / max(1, entry.count)
        self.per_item = per_item if not self.per_item else 0.7 * self.per_item + 0.3 * per_item

    def _put_together(self, entry: Entry, pieces: Pieces) -> Done:
        """Make the batch of its pieces."""
        assert entry.planned is not None
        context = self.schedule.context(entry.planned, 0)
        evaluator = self.crew.evaluator(self, False)
        outcome = pieces.put_together(self.schedule.grouping, evaluator, context)
        return Done(entry.planned.unit.number, [outcome], pieces.seconds)

    def evaluate_now(self, planned: Planned) -> Any:
        """Have a single item evaluated, and wait for it."""
        if self.pool is None:
            self._employ()
        entry = Entry(planned, 1)
        self._submit(entry)
        while entry.outcomes is None:
            self._wait(entry)
        self._forget(entry)
        return entry.outcomes[0]

    # -- what goes wrong ------------------------------------------------------------------------

    def _failed(self, entry: Entry, index: int, failed: Failed) -> Any:
        """Decide about an item that was not evaluated; None if it is left out."""
        assert entry.planned is not None
        planned = entry.planned
        context = self.schedule.context(planned, index)
        ordinal = context.address()[0] if not context.is_batch else int(context.ordinals[0])
        example = self.schedule.asked(planned, index)
        failure = Failure(planned.unit.epoch, ordinal, example, failed.error)
        action = "raise"
        try:
            action = self.failures.decide(failure)
        finally:
            if isinstance(action, str) and action == "raise":
                self._move_on(entry)
        if isinstance(action, str) and action == "skip":
            self._passed(entry)
            return None
        if isinstance(action, str):
            action = replacement(self, failure)
        self.context = context
        self._passed(entry)
        return action

    def _move_on(self, entry: Entry) -> None:
        """After an error that the consumer hears of, the next item is the one behind it."""
        if self.schedule.grouping is not None and self.schedule.returns:
            self.broken = True
            return
        entry.index += 1
        self.ahead -= 1
        if entry.index == entry.count:
            if entry is self.queue[0]:
                self.queue.popleft()
            else:
                self.queue.remove(entry)
            self._forget(entry)

    def _go_on_after_error(self) -> Any:
        """Take the examples of a batch behind the one that failed, as the pass here would."""
        self._cancel()
        if self.broken is True:
            # Once more, so that the pass here holds what it would hold after that error.
            self.broken = 2  # type: ignore[assignment]
            try:
                data = next(self.child)
            except StopIteration:
                self.ended = True
                raise
            except Exception:
                data = None
        else:
            data = None
        if data is None:
            try:
                data = next(self.child)
            except StopIteration:
                self.ended = True
                raise
        self.broken = False
        self.context = self.child.context
        return data

    # -- the place ------------------------------------------------------------------------------

    def tell(self) -> JSON:
        """Describe the place behind what was delivered, as the pass here would."""
        mark = self.schedule.tell()
        delivered = self._delivered_beyond()
        return {"at": mark, "beyond": delivered} if delivered else mark

    def _delivered_beyond(self) -> list[int]:
        """Return which items behind the place were delivered, where order does not matter."""
        found: list[int] = []
        if self.crew.ordered or not self.queue:
            return found
        offset = -self.queue[0].index
        for entry in self.queue:
            if entry is not self.queue[0]:
                found += range(offset, offset + entry.index)
            offset += entry.count
        return found

    def seek(self, mark: JSON) -> None:
        """Go to a place."""
        self._cancel(back=False)
        beyond: list[int] = []
        if isinstance(mark, dict) and "beyond" in mark:
            mark, beyond = mark["at"], mark["beyond"]
        self.schedule.seek(mark)
        self.exhausted = self.ended = self.broken = self.interrupted = False
        self.turn = 0
        self.context = self.child.context
        self._leave_out(beyond)

    def _leave_out(self, beyond: list[int]) -> None:
        """Plan the items up to the last one delivered already, one by one, without these."""
        taken = set(beyond)
        for number in range(max(taken, default=-1) + 1):
            planned = self.schedule.take(1)
            if planned is None:
                break
            entry = Entry(planned, 1)
            if number in taken:
                entry.index = 1
                entry.outcomes = [None]
            self.queue.append(entry)
            self.ahead += entry.left
        if self.queue and self.pool is not None:
            for entry in self.queue:
                if entry.left:
                    self._submit(entry)
        if self.queue:
            self._drop_finished()

    def skip(self, count: int) -> int:
        """Pass over items; what no worker has begun is not evaluated."""
        passed = 0
        if self.broken or not self.crew.ordered or self.crew.policy.may_skip:
            # Only by evaluating them is it known which items there are.
            return super().skip(count)
        while passed < count and not self.ended:
            if not self.queue:
                there: int = self.schedule.pass_over(count - passed)
                self.turn += there
                self.context = self.schedule.child.context
                return passed + there
            entry = self.queue[0]
            number = min(count - passed, entry.left)
            if entry.planned is None:
                if number < entry.count:
                    self._cancel()
                    continue
                self.schedule.put(entry.after)
                self.context = entry.context
            else:
                entry.index += number
                self.ahead -= number
                self.schedule.reached(entry.planned, entry.index - 1)
                self.context = self.schedule.context(entry.planned, entry.index - 1)
            passed += number
            if entry.planned is None or not entry.left:
                self.queue.popleft()
                if entry.planned is not None and entry.outcomes is None and self.pool is not None:
                    for unit in entry.units:
                        self.pool.withdraw(unit.number)
                self._forget(entry)
        return passed

    def share(self, rank: int, world_size: int) -> None:
        """Learn that of so many items only one will be asked for, and which."""
        if (rank, world_size) == (self.rank, self.world_size) or not self.schedule.returns:
            return
        if self.queue:
            self._cancel()
        self.rank, self.world_size, self.turn = rank, world_size, 0

    def _cancel(self, back: bool = True) -> None:
        """Forget what is on its way, and go back behind what was delivered."""
        if self.pool is not None:
            self.pool.cancel()
        self._entries = {}
        ahead, self.queue, self.ahead = bool(self.queue), deque(), 0
        self.exhausted = False
        self.error = None
        if back and ahead:
            self.schedule.seek(self.schedule.tell())
            self.turn = 0

    def close(self) -> None:
        """Let the workers go, and close the pass here."""
        self._cancel(back=False)
        self.crew.rest(self)
        self.closed = not self.ended
        super().close()
