"""The passes of `BucketByLength`: over open buckets, and over sorted pools.

What a step is given and checks is in `fuel.transformers._bucketing`. Where the stream below can
hand over many examples at once, they are measured and ordered at once as well; the batches,
the addresses and the states are those that come of fetching them one by one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy

from fuel.kernels import objects
from fuel.kernels.gather import gather
from fuel.plan import Context, Cursor
from fuel.transformers._fetched import Fetched, numbered, owned
from fuel.transformers._holding import Below
from fuel.transformers._stacking import stack_own
from fuel.typing import JSON
from fuel.utils._overrides import overridden

if TYPE_CHECKING:
    from fuel.plan import Start
    from fuel.transformers._bucketing import BucketByLength

__all__ = ["BucketCursor", "PoolCursor"]

#: More than there can be.
_NO_LIMIT = 1 << 62
#: So many examples at least are fetched at once, to find out how long examples are.
_FEW = 64


class BucketCursor(Cursor):
    """The pass with boundaries: it holds the examples in the open buckets."""

    step: BucketByLength
    child: Cursor

    def __init__(self, start: Start, step: BucketByLength) -> None:
        self.child = start.child(step.data_stream)
        super().__init__(start, step)
        self.fetched = Fetched(self.child, step.data_stream, own=callable(step.length))
        # Whether the step above only reads the batches, and hands none of their arrays on.
        self.borrow = False
        self._empty()

    def _empty(self) -> None:
        assert self.step.boundaries is not None
        self.buckets: list[list[int]] = [[] for _ in range(len(self.step.boundaries) + 1)]
        self.longest = [0] * len(self.buckets)
        # Taken, and in no bucket yet: one that an error kept out, or all on resuming.
        self.waiting: deque[int] = deque()
        # The lengths of the examples fetched ahead, if they were measured, and their buckets.
        self.lengths: list[int] = []
        self.where: list[int] = []

    def produce(self, request: Any) -> Any:
        """Return the next bucket that is full, or at the end what is left in one."""
        fetched = self.fetched
        # With smaller sizes than when the state was saved, more than one may be full.
        for bucket, numbers in enumerate(self.buckets):
            if numbers and not self._takes(bucket, 0):
                return self._deliver(bucket)
        while True:
            if not self.waiting:
                if fetched.index == len(fetched.ahead):
                    self._look_ahead()
                if self.lengths:
                    full = self._fill()
                    if full is None:
                        continue
                    return self._deliver(full)
                try:
                    self.waiting.append(fetched.take())
                except StopIteration:
                    return self._last()
            length = self.step._measure(fetched.held[self.waiting[0]])
            bucket = bisect_left(self.step.boundaries or (), length)
            if not self._takes(bucket, length):
                return self._deliver(bucket)  # too full for this one, which comes next
            self.buckets[bucket].append(self.waiting.popleft())
            self.longest[bucket] = max(self.longest[bucket], length)
            if not self._takes(bucket, 0):
                return self._deliver(bucket)

    def _takes(self, bucket: int, length: int) -> bool:
        """Tell whether a bucket has room for an example."""
        longest = max(self.longest[bucket], length)
        return self.step._fits(len(self.buckets[bucket]) + 1, longest, bucket)

    def _look_ahead(self) -> None:
        """Fetch many examples and measure them, if that can be done at once."""
        self.lengths, self.where = [], []
        columns = self.fetched.look_ahead()
        lengths = None if columns is None else _lengths(self.step, columns)
        if lengths is not None:
            boundaries = numpy.array(self.step.boundaries, dtype=numpy.int64)
            self.where = numpy.searchsorted(boundaries, lengths).tolist()
            self.lengths = lengths.tolist()

    def _fill(self) -> int | None:
        """Put examples that are ahead into their buckets until one is to be delivered.

        Returns
        -------
        int or None
            That bucket; None where no more examples are ahead.

        """
        step, fetched, buckets, longest = self.step, self.fetched, self.buckets, self.longest
        sizes = step.batch_size
        if not isinstance(sizes, tuple):
            sizes = (_NO_LIMIT if sizes is None else sizes,) * len(buckets)
        limit = step.max_tokens
        start, stop, offset = fetched.index, len(self.where), fetched.count - fetched.index
        index, full = start, None
        where, lengths = self.where, self.lengths
        while index < stop:
            bucket = where[index]
            numbers = buckets[bucket]
            size = len(numbers) + 1
            if limit is not None:
                length = max(longest[bucket], lengths[index])
                if size > 1 and size * (length or 1) > limit:
                    # Too full for this one, which comes next.
                    self.waiting.append(offset + index)
                    index, full = index + 1, bucket
                    break
                longest[bucket] = length
                if (size + 1) * (length or 1) > limit:
                    full = bucket
            numbers.append(offset + index)
            index += 1
            if size >= sizes[bucket]:
                full = bucket
            if full is not None:
                break
        fetched.take_ahead(index - start)
        if index == stop:
            self.lengths, self.where = [], []
        return full

    def _last(self) -> Any:
        for bucket, numbers in enumerate(self.buckets):
            if numbers and self.step.partial:
                return self._deliver(bucket)
        self._empty()
        self.fetched.clear()
        raise StopIteration

    def _deliver(self, bucket: int) -> Any:
        fetched, numbers = self.fetched, self.buckets[bucket]
        held = fetched.held
        columns = zip(*[held[number] for number in numbers], strict=False)
        batch = tuple([stack_own(column, self.borrow) for column in columns])
        self.context = fetched.gathered(numbers)
        fetched.let_go(numbers)
        self.buckets[bucket], self.longest[bucket] = [], 0
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
    pooled : _Pool or None
        The examples of the pool, as long as all were fetched at once with others; else `examples`
        holds them, and `contexts` their addresses.

    """

    step: BucketByLength
    child: Cursor

    def __init__(self, start: Start, step: BucketByLength) -> None:
        self.child = start.child(step.data_stream)
        super().__init__(start, step)
        self.under = Below(self.child, step.data_stream)
        self.numbered = numbered(self.child, self.under)
        # Whether the step above only reads the batches, and hands none of their arrays on.
        self.borrow = False
        self.number = 0
        self.ended = False
        self._empty()

    def _empty(self) -> None:
        self.pooled: _Pool | None = _Pool() if self.numbered else None
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
        if self.pooled is not None:
            batch = self.pooled.batch(indices, self.borrow)
            ordinals = self.pooled.first + numpy.array(indices, dtype=numpy.int64)
            draws = self.child.context.draws
            self.context = Context(self.epoch, int(ordinals[0]), None, draws, ordinals=ordinals)
        else:
            sources = zip(*[self.examples[index] for index in indices], strict=False)
            batch = tuple([stack_own(source, self.borrow) for source in sources])
            self.context = Context.gather([self.contexts[index] for index in indices])
        self.batches.pop()
        self.delivered += 1
        self._let_go(indices)
        if not self.batches:
            self._empty()
            self.number += 1
        return batch

    def _let_go(self, indices: list[int]) -> None:
        """Hold examples no longer: they are the user's now."""
        if self.pooled is not None:
            self.pooled.let_go(indices)
            return
        for index in indices:
            self.examples[index] = None

    def _read(self) -> None:
        """Read until the pool is complete."""
        if not self._count():
            self.first = self.under.place()
        if self.pooled is not None:
            self._read_at_once()
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

    def _read_at_once(self) -> None:
        """Read many examples at once, until the pool is complete or that cannot be done."""
        assert self.pooled is not None
        child, step = self.child, self.step
        while not self.ended and not self._is_complete():
            wanted = self._wanted()
            try:
                found = child.block(wanted)
            except StopIteration:
                self.ended = True
                return
            if found is None:
                break
            columns, first, size = found
            if callable(step.length):
                columns = [owned(column) for column in columns]
            lengths = self._lengths_until_complete(columns, size)
            kept = len(lengths)
            if kept < size:
                # What follows is for the next pool, or is to be measured by itself.
                child.back()
                if kept and child.block(kept) is None:
                    break
                wanted = kept
            if kept:
                child.passed(kept, wanted)
                self.pooled.extend([column[:kept] for column in columns], first, kept)
                self.lengths += lengths
                self.tokens += sum(lengths) + lengths.count(0)
            if kept < size and not self._is_complete():
                break
        else:
            return
        self._one_by_one()

    def _lengths_until_complete(self, columns: list[Any], size: int) -> list[int]:
        """Return the lengths of examples up to that which completes the pool.

        Fewer, where the next one cannot be measured.
        """
        step = self.step
        if not callable(step.length):
            found = _lengths(step, columns)
            if found is None:
                return []
            if step.max_tokens is not None:
                left = step.pool * step.max_tokens - self.tokens
                sums = numpy.cumsum(numpy.maximum(found, 1))
                found = found[: int(numpy.searchsorted(sums, left)) + 1]
            lengths: list[int] = found.tolist()
            return lengths
        lengths, tokens = [], self.tokens
        for example in zip(*columns, strict=True):
            try:
                lengths.append(step._measure(example))
            except Exception:
                break  # it comes again when this example is fetched by itself
            tokens += max(lengths[-1], 1)
            if step.max_tokens is not None and tokens >= step.pool * step.max_tokens:
                break
        return lengths

    def _wanted(self) -> int:
        """Return how many examples to read at once."""
        step, count = self.step, self._count()
        wanted = _NO_LIMIT if step.batch_size is None else step.pool * step.batch_size - count
        if step.max_tokens is not None:
            # As many as will probably not be too many, for these would be fetched again.
            left = step.pool * step.max_tokens - self.tokens
            likely = left * count * 15 // (self.tokens * 16) if count else 0
            wanted = min(wanted, left, max(likely, _FEW))
        return int(wanted)

    def _one_by_one(self) -> None:
        """Hold the examples of the pool singly, to go on reading one after the other."""
        pooled = self.pooled
        assert pooled is not None
        if pooled.count:
            draws = self.child.context.draws
            self.examples = list(zip(*pooled.columns(), strict=True))
            self.contexts = [
                Context(self.epoch, ordinal, None, draws)
                for ordinal in range(pooled.first, pooled.first + pooled.count)
            ]
        self.pooled = None

    def _measure(self) -> None:
        while len(self.lengths) < len(self.examples):
            length = self.step._measure(self.examples[len(self.lengths)])
            self.lengths.append(length)
            self.tokens += max(length, 1)  # an empty sequence takes up memory as well

    def _count(self) -> int:
        """Return how many examples are in the pool."""
        return len(self.examples) if self.pooled is None else self.pooled.count

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
        count = self._count()
        return {
            "from": self.under.written(self.first if count else self.under.place()),
            "fetched": count,
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
        if not (mark["delivered"] and self._again_at_once(mark["fetched"])):
            self.pooled = None
            for _ in range(mark["fetched"]):
                self.examples.append(self.under.again())
                self.contexts.append(self.child.context)
        if mark["delivered"]:
            self._measure()
            self._cut()
            for _ in range(mark["delivered"]):
                self._let_go(self.batches.pop())
            self.delivered = mark["delivered"]
        elif not mark["fetched"]:
            self._empty()

    def _again_at_once(self, count: int) -> bool:
        """Fetch a whole pool at once; tell whether that was possible."""
        if self.pooled is None or callable(self.step.length):
            return False
        try:
            found = self.child.block(count)
        except StopIteration:
            return False  # one by one it is told what is wrong
        if found is None:
            return False
        columns, first, size = found
        lengths = _lengths(self.step, columns) if size == count else None
        if lengths is None:
            self.child.back()
            return False
        self.child.passed(size, count)
        self.pooled.extend(columns, first, size)
        self.lengths = lengths.tolist()
        return True


class _Pool:
    """Examples that were fetched at once with others, source by source.

    Attributes
    ----------
    first : int
        The ordinal of the first; those of the others follow.
    count : int
        How many they are.

    """

    def __init__(self) -> None:
        self.first = 0
        self.count = 0
        self.parts: list[list[Any]] = []

    def extend(self, columns: list[Any], first: int, count: int) -> None:
        """Add examples."""
        if not self.parts:
            self.first = first
        self.parts.append(columns)
        self.count += count

    def columns(self) -> list[Any]:
        """Return the sources of all examples: arrays and lists."""
        if len(self.parts) > 1:
            joined: list[Any] = []
            for column in zip(*self.parts, strict=True):
                if all(type(part) is numpy.ndarray for part in column):
                    joined.append(numpy.concatenate(column))
                else:
                    joined.append([item for part in column for item in part])
            self.parts = [joined]
        return self.parts[0]

    def batch(self, indices: list[int], borrow: bool) -> tuple[Any, ...]:
        """Return a batch of examples."""
        batch = []
        for column in self.columns():
            if type(column) is not numpy.ndarray:
                batch.append(stack_own([column[index] for index in indices], borrow))
            elif column.dtype.kind in "biufc" and column.flags.c_contiguous:
                batch.append(gather(column, numpy.array(indices, dtype=numpy.int64)))
            else:
                batch.append(column[indices])
        return tuple(batch)

    def let_go(self, indices: list[int]) -> None:
        """Hold examples no longer, where they are objects."""
        for column in self.columns():
            if type(column) is list:
                for index in indices:
                    column[index] = None


def _lengths(step: BucketByLength, columns: list[Any]) -> Any:
    """Return the lengths of examples fetched at once; None for users' functions and errors."""
    if callable(step.length) or overridden(step, "_measure"):
        return None
    lengths = objects.lengths(columns[step._measured])
    if lengths is None or step.max_tokens is None or step.too_long != "error":
        return lengths
    return None if lengths.max(initial=0) > step.max_tokens else lengths
