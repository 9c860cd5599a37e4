"""The pass of a `ShardedStream`: step by step, an own item among those of other ranks.

In this room: `ShardCursor`. Not here: how batches are
filled (`_filling`), and what the stream says of itself (`_shard`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy

from fuel.exceptions import StateError
from fuel.plan import Context, Cursor, _memory
from fuel.streams._again import Opened, Spot
from fuel.streams._filling import joined, repeated, rows_in
from fuel.streams._over import batch_size_of, goes_back, hides_sizes
from fuel.typing import JSON

if TYPE_CHECKING:
    from fuel.plan import Start

__all__ = ["ShardCursor"]

#: Steps that are passed over one by one rather than together.
_FEW = 8


class ShardCursor(Cursor):
    """The pass of one of several ranks.

    Of each step it passes over the items before its own, evaluates that, and passes over the rest.
    Its place is behind a whole step, and so the same on every rank.

    Attributes
    ----------
    at : Spot or StateError
        The place behind the last step that was delivered.
    steps : int
        How many were.
    gone : int
        How many items of the present step were passed or evaluated.
    own : tuple or None
        The own one of these, and its context.
    latest : tuple or None
        The last one of these that was evaluated.
    earlier, last : int
        How many examples one of them has that is not the last, and the last one; 0 if unknown.
    full : int
        How many a batch has that is not the last one of the epoch, as far as was seen.
    over : bool
        Whether the stream below has no more.
    ended : bool
        Whether the epoch has ended here.

    """

    child: Any

    def __init__(self, start: Start, step: Any) -> None:
        self.opened = Opened(start, step.data_stream)
        self.child = self.opened.cursor
        super().__init__(start, step)
        self.rank, self.world_size = step.rank, step.world_size
        self.remainder = step.remainder
        self.examples = bool(step.produces_examples)
        self.declared = 0 if self.examples else batch_size_of(step.data_stream) or 0
        # Whether all items are evaluated, because nobody else tells how many examples they have,
        # or because one cannot go back for the last one.
        self.evaluates = not self.examples and hides_sizes(step.data_stream)
        self.returns = goes_back(step.data_stream)
        self.full = 0
        self.steps = 0
        self.ended = False
        self.failed = False
        self.over = False
        self._begin(self._place())
        self._share()

    def _place(self) -> Any:
        return Spot.of(self.child, self.step.data_stream)

    def _begin(self, at: Any) -> None:
        """Get ready for a step."""
        self.at = at
        if self.remainder == "pad" and isinstance(at, StateError):
            self.evaluates = True
        self.gone = self.earlier = self.last = 0
        self.own: Any = None
        self.latest: Any = None

    def _share(self) -> None:
        """Tell those who evaluate ahead which items are asked for; now, between two steps."""
        if not self.evaluates:
            self.child.share(self.rank, self.world_size)

    # -- a step ---------------------------------------------------------------------------------

    def produce(self, request: Any) -> Any:
        """Return the own item of the next step."""
        if request is not None:
            raise ValueError(
                f"{type(self.step).__name__} takes no requests, got {request!r:.80}; give the "
                "iteration scheme to the DataStream below it"
            )
        item = self._step(True)
        if item is None:
            raise StopIteration
        data, self.context = item
        return data

    def _step(self, evaluate: bool) -> Any:
        """Deliver a step: return the own item and its context, None at the end of the epoch."""
        if self.failed:
            self._retry()
        if self.ended:
            return None
        try:
            self._reach(self.world_size, evaluate)
            return self._delivered(evaluate)
        except BaseException:
            self.failed = True
            raise

    def _delivered(self, evaluate: bool) -> Any:
        item, gone = self.own, self.gone
        before = self.at
        if gone == self.world_size:
            sizes = self.earlier, self.last, self.latest
            full = max(self.full, self.earlier) or self.declared
            short = 0 < self.last < full
            self._begin(self._place())
            if not short or self._more(evaluate):
                self.full = max(self.full, sizes[0], sizes[1])
                self.steps += 1
                return self._with_mask(item) if evaluate else (None, self._any_context())
            self.at, self.gone, self.own = before, gone, item
            self.earlier, self.last, self.latest = sizes
        self.over = True
        if not gone or self.remainder == "drop":
            self.ended = True
            self.gone = 0
            return None
        if not evaluate:
            item = None, self._any_context()
        else:
            item = self._padded() if self.remainder == "pad" else self._wrapped()
        self.at = self._place()
        self.gone, self.ended = 0, True
        self.steps += 1
        return item

    def _more(self, evaluate: bool) -> bool:
        """Tell whether the next step has any item. It is begun for that."""
        try:
            self._reach(max(1, self.rank), evaluate)
        except Exception:
            self.failed = True  # it is told in its turn: the step is tried again
            return True
        return self.gone > 0

    def _reach(self, target: int, evaluate: bool) -> None:
        """Go on in the step until so many of its items are passed."""
        child = self.child
        while self.gone < target and not self.over:
            if self.evaluates or (evaluate and self.gone == self.rank):
                try:
                    data = next(child)
                except StopIteration:
                    self.over = True
                    return
                self.latest = data, child.context
                if self.gone == self.rank:
                    self.own = self.latest
                self._note(1, self._size_of(child.context, data))
                continue
            if evaluate:
                wanted = min(target, self.rank if self.gone < self.rank else target) - self.gone
            else:  # the last one by itself, so that both sizes are known
                wanted = max(1, target - 1 - self.gone)
            there: int = child.skip(wanted)
            self.over = there < wanted
            self._note(there, 0 if self.over else self._size_of(child.context))

    def _note(self, count: int, size: int) -> None:
        self.gone += count
        if count:
            self.earlier = max(self.earlier, self.last)
            self.last = size

    def _size_of(self, context: Context, data: Any = None) -> int:
        if self.examples:
            return 0
        if data is not None and self.evaluates:
            return rows_in(data)
        return len(context.ordinals) if context.is_batch else 0

    def _retry(self) -> None:
        """After an error: begin the step anew, where that is possible."""
        self.failed = False
        if self.returns and not isinstance(self.at, StateError):
            self.at.reach(self.child, self.step.data_stream)
            self.over = False
            self._begin(self.at)
            self._share()

    def _any_context(self) -> Context:
        """Return the context of an item that was passed over."""
        count = None if self.examples else self.full or self.declared or self.last
        return Context(self.epoch, 0, count, self.child.context.draws)

    # -- the last step --------------------------------------------------------------------------

    def _full(self) -> int:
        """Return how many examples a full batch has, now that the last step is known."""
        return max(self.full, self.earlier) or self.declared or self.last

    def _with_mask(self, item: Any, real: int = -1) -> Any:
        if self.remainder != "pad":
            return item
        data, context = item
        if self.examples:
            mask: Any = numpy.bool_(real != 0)
        else:
            mask = numpy.ones(rows_in(data), dtype=bool)
            if real >= 0:
                mask[real:] = False
        return (*data, mask), context

    def _padded(self) -> Any:
        """Return the own item of the last step, filled with copies of the last example."""
        item = self.own
        if self.examples:
            return self._with_mask(item) if item else self._with_mask(self._last_item(), 0)
        data, context = item or self._last_item()
        rows = rows_in(data)
        real = list(range(rows)) if item else []
        full = max(self._full(), rows)
        if len(real) == full:
            return self._with_mask(item)
        filled = repeated(data, context, real + [rows - 1] * (full - len(real)))
        return self._with_mask(filled, len(real))

    def _last_item(self) -> Any:
        """Return the last item of the epoch, which is another rank's."""
        if self.latest is not None:
            return self.latest
        with self._once_more(self.at) as cursor:
            cursor.skip(self.gone - 1)
            return next(cursor), cursor.context

    @contextlib.contextmanager
    def _once_more(self, at: Any) -> Iterator[Any]:
        """Begin the epoch once more beside this pass, and leave all as if nobody had."""
        stream = self.step.data_stream
        now = _memory.capture(stream) if _memory.remembers(stream) else None
        cursor = self.opened.first_again()
        try:
            if isinstance(at, Spot):
                at.reach(cursor, stream)
            elif at is not None:
                cursor.skip(self.steps * self.world_size)
            yield cursor
        finally:
            _let_go(cursor)
            if now is not None:
                _memory.restore(stream, now)

    def _wrapped(self) -> Any:
        """Return the own item of the last step, filled from the beginning of the epoch."""
        if self.examples:
            return self.own or self._from_beginning(self.rank - self.gone, 1)
        if self.own is not None:
            rows = rows_in(self.own[0])
            missing = self._full() - rows
            if missing <= 0:
                return self.own
            return joined([self.own, self._from_beginning(0, missing)])
        rows = self._rows_of_last()
        full = max(self._full(), rows)
        return self._from_beginning(full - rows + (self.rank - self.gone) * full, full)

    def _rows_of_last(self) -> int:
        if self.latest is not None:
            return rows_in(self.latest[0])
        with self._once_more(self.at) as cursor:
            cursor.skip(self.gone - 1)
            if cursor.skip(1) and cursor.context.is_batch:
                return len(cursor.context.ordinals)
        return rows_in(self._last_item()[0])

    def _from_beginning(self, offset: int, count: int) -> Any:
        """Return so many examples of the epoch, from some place on, beginning again at its end."""
        stream = self.step.data_stream
        if _memory.remembers(stream) and _memory.capture(stream):
            raise ValueError(
                "remainder='wrap' evaluates the first examples of the epoch once more, but steps "
                "or functions below remember something since, and would make others of them; use "
                "'pad' or 'drop'"
            )
        if self.examples:
            with self._once_more(None) as cursor:
                total = cursor.skip(offset + 1)
            with self._once_more(None) as cursor:
                cursor.skip(offset if total > offset else offset % total)
                return next(cursor), cursor.context
        parts: list[tuple[Any, Context]] = []
        full = self._full()
        whole = offset // full
        while count:
            with self._once_more(None) as cursor:
                if whole:
                    there = cursor.skip(whole) == whole and self._size_of(cursor.context) == full
                    offset -= whole * full if there else 0
                    whole = 0
                    if not there:
                        continue  # there are not so many: batch by batch, round and round
                for data in cursor:
                    rows = rows_in(data)
                    taken = list(range(offset, min(rows, offset + count)))
                    offset = max(0, offset - rows)
                    if taken:
                        parts.append(repeated(data, cursor.context, taken))
                        count -= len(taken)
                    if not count:
                        break
        return joined(parts)

    # -- the place ------------------------------------------------------------------------------

    def tell(self) -> JSON:
        """Describe the place behind the last step, as the stream below does."""
        if isinstance(self.at, StateError):
            raise self.at
        return self.at.mark

    def seek(self, mark: JSON) -> None:
        """Go to a place described by any rank, or by the stream below."""
        self.child.seek(mark)
        self.ended = self.over = self.failed = False
        self._begin(self._place())
        self._share()

    def skip(self, count: int) -> int:
        """Pass over steps: many at once, where the stream below can go back from its end."""
        if self.failed:
            self._retry()
        passed = 0
        if self.returns and count > _FEW and not self.gone and not self.ended:
            passed = self._skip_together(count - 1)
        while passed < count:
            item = self._step(False)
            if item is None:
                break
            self.context = item[1]
            passed += 1
        return passed

    def _skip_together(self, count: int) -> int:
        if isinstance(self.at, StateError) or self.evaluates:
            return 0
        items = count * self.world_size
        there: int = self.child.skip(items - 1)
        before = self._size_of(self.child.context)
        there += self.child.skip(1)
        if there < items or self._size_of(self.child.context) < before:
            # The end, or near it.
            self.at.reach(self.child, self.step.data_stream)
            self._begin(self.at)
            self._share()
            return 0
        self.full = max(self.full, before)
        self.steps += count
        self._begin(self._place())
        return count


def _let_go(cursor: Any) -> None:
    """Release a pass that was begun once more."""
    pending = [cursor]
    while pending:
        one = pending.pop()
        pending += one.children()
        if hasattr(one, "finished"):
            one.finished = True
    cursor.close()
