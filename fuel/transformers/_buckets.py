"""The passes of `BucketByLength`: over open buckets, and over sorted pools.

What a step is given and checks is in `fuel.transformers._bucketing`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy

from fuel.plan import Context, Cursor
from fuel.transformers._fetched import Example, Fetched
from fuel.transformers._holding import Below
from fuel.transformers._stacking import stack
from fuel.typing import JSON

if TYPE_CHECKING:
    from fuel.plan import Start
    from fuel.transformers._bucketing import BucketByLength

__all__ = ["BucketCursor", "PoolCursor"]


class BucketCursor(Cursor):
    """The pass with boundaries: it holds the examples in the open buckets."""

    step: BucketByLength
    child: Cursor

    def __init__(self, start: Start, step: BucketByLength) -> None:
        self.child = start.child(step.data_stream)
        super().__init__(start, step)
        self.fetched = Fetched(self.child, step.data_stream)
        self._empty()

    def _empty(self) -> None:
        assert self.step.boundaries is not None
        self.buckets: list[list[Example]] = [[] for _ in range(len(self.step.boundaries) + 1)]
        self.longest = [0] * len(self.buckets)
        # Fetched, and in no bucket yet: one that an error kept out, or all on resuming.
        self.waiting: deque[Example] = deque()

    def produce(self, request: Any) -> Any:
        """Return the next bucket that is full, or at the end what is left in one."""
        while True:
            for bucket, examples in enumerate(self.buckets):
                if examples and not self._takes(bucket, 0):
                    return self._deliver(bucket)
            if not self.waiting:
                try:
                    self.waiting.append(self.fetched.take())
                except StopIteration:
                    return self._last()
            length = self.step._measure(self.waiting[0].data)
            bucket = bisect_left(self.step.boundaries or (), length)
            if not self._takes(bucket, length):
                return self._deliver(bucket)  # too full for this one, which comes next
            self.buckets[bucket].append(self.waiting.popleft())
            self.longest[bucket] = max(self.longest[bucket], length)

    def _takes(self, bucket: int, length: int) -> bool:
        """Tell whether a bucket has room for an example."""
        longest = max(self.longest[bucket], length)
        return self.step._fits(len(self.buckets[bucket]) + 1, longest, bucket)

    def _last(self) -> Any:
        for bucket, examples in enumerate(self.buckets):
            if examples and self.step.partial:
                return self._deliver(bucket)
        self._empty()
        self.fetched.held.clear()
        raise StopIteration

    def _deliver(self, bucket: int) -> Any:
        examples = self.buckets[bucket]
        context, batch = _together(examples)
        for example in examples:
            self.fetched.let_go(example)
        self.buckets[bucket], self.longest[bucket] = [], 0
        self.context = context
        return batch

    def tell(self) -> JSON:
        """Describe the examples held; which bucket each is in follows from its length."""
        return self.fetched.tell()

    def seek(self, mark: JSON) -> None:
        """Fetch again what was held; it finds its buckets in the order in which it came first."""
        self._empty()
        self.waiting.extend(self.fetched.seek(mark))


class PoolCursor(Cursor):
    """The pass over pools: it holds the pool whose batches are being delivered.

    Attributes
    ----------
    number : int
        How many pools were delivered before.
    batches : list of list of int
        What is to be delivered of the pool, the next one last; empty while it is being read.
    delivered : int
        How many batches of the pool were delivered.

    """

    step: BucketByLength
    child: Cursor

    def __init__(self, start: Start, step: BucketByLength) -> None:
        self.child = start.child(step.data_stream)
        super().__init__(start, step)
        self.under = Below(self.child, step.data_stream)
        self.number = 0
        self.ended = False
        self._empty()

    def _empty(self) -> None:
        self.examples: list[Any] = []
        self.contexts: list[Context] = []
        self.lengths: list[int] = []
        self.tokens = 0
        self.batches: list[list[int]] = []
        self.first: Any = None
        self.delivered = 0

    def produce(self, request: Any) -> Any:
        """Return the next batch of the pool; read another pool if there is none."""
        if not self.batches:
            self._read()
            self._cut()
        indices = self.batches[-1]
        batch = _stacked([self.examples[index] for index in indices])
        self.context = Context.gather([self.contexts[index] for index in indices])
        self.batches.pop()
        self.delivered += 1
        for index in indices:
            self.examples[index] = None  # it is the user's now
        if not self.batches:
            self._empty()
            self.number += 1
        return batch

    def _read(self) -> None:
        """Read until the pool is complete."""
        if not self.examples:
            self.first = self.under.place()
        self._measure()
        while not self.ended and not self._is_complete():
            try:
                example = next(self.child)
            except StopIteration:
                self.ended = True
                break
            self.examples.append(example)
            self.contexts.append(self.child.context)
            self._measure()

    def _measure(self) -> None:
        while len(self.lengths) < len(self.examples):
            length = self.step._measure(self.examples[len(self.lengths)])
            self.lengths.append(length)
            self.tokens += max(length, 1)  # an empty sequence takes up memory as well

    def _is_complete(self) -> bool:
        step = self.step
        if step.batch_size is not None and len(self.lengths) >= step.pool * step.batch_size:
            return True
        return step.max_tokens is not None and self.tokens >= step.pool * step.max_tokens

    def _cut(self) -> None:
        """Sort the pool, cut it, and draw the order of its batches."""
        step = self.step
        lengths = self.lengths
        if not step.partial:
            # Those that came last, so that no length is favoured.
            lengths = lengths[: len(lengths) - len(lengths) % step.batch_size]
        batches = step._cut(lengths)
        if not batches:
            self._empty()
            raise StopIteration
        if step.shuffle:
            where = Context(self.epoch, self.number, None, self.context.draws)
            order = numpy.argsort(where.bits(step, len(batches)), kind="stable")
            batches = [batches[index] for index in order.tolist()]
        self.batches = batches[::-1]

    def tell(self) -> JSON:
        """Describe the pool: where it begins, how much was read, how many batches came of it."""
        place = self.first if self.examples else self.under.place()
        return {
            "from": self.under.written(place),
            "fetched": len(self.examples),
            "delivered": self.delivered,
            "pool": self.number,
        }

    def seek(self, mark: JSON) -> None:
        """Fetch the pool again."""
        self._empty()
        self.ended = False
        self.number = mark["pool"]
        self.under.go(mark["from"])
        self.first = mark["from"]
        for _ in range(mark["fetched"]):
            self.examples.append(self.under.again())
            self.contexts.append(self.child.context)
        if mark["delivered"]:
            self._measure()
            self._cut()
            for _ in range(mark["delivered"]):
                for index in self.batches.pop():
                    self.examples[index] = None
            self.delivered = mark["delivered"]


def _together(examples: list[Example]) -> tuple[Context, Any]:
    """Return the context of a batch of examples, and the batch."""
    context = Context.gather([example.context for example in examples])
    return context, _stacked([example.data for example in examples])


def _stacked(examples: list[Any]) -> Any:
    return tuple([stack(source) for source in zip(*examples, strict=False)])
