"""Chains whose items are shared among ranks, and what each rank is to get of them."""

from __future__ import annotations

import numpy

from fuel.datasets import IndexableDataset, IterableDataset
from fuel.schemes import (
    ConstantScheme,
    PermutedExampleScheme,
    PermutedScheme,
    ShuffledExampleScheme,
    ShuffledScheme,
)
from fuel.streams import DataStream, InterleavedStream, MixtureStream, ShardedStream
from fuel.transformers import Batch, Filter, Mapping, Parallel

REMAINDERS = ("drop", "pad", "wrap")


def noisy(data, rng):
    """Draw for each example: what it draws must not depend on the rank."""
    return (data[0] + rng.random(),)


def even(data):
    return int(data[0]) % 2 == 0


def source(count, scheme=None, first=0):
    dataset = IndexableDataset({"x": first + numpy.arange(count, dtype=float)})
    return DataStream(
        dataset, iteration_scheme=scheme or PermutedExampleScheme(count, seed=5), seed=3
    )


def direct(count, size):
    return source(count, PermutedScheme(count, size, seed=5))


def grouped(count, size):
    return Batch(Mapping(source(count), noisy), ConstantScheme(size))


def shuffled(count, size):
    return source(count, ShuffledScheme(count, size))


def filtered(count, size):
    return Batch(Filter(source(2 * count), even), ConstantScheme(size))


def mixed(count, size):
    streams = [
        Mapping(source(count + 1), noisy),
        source(count // 2 + 1, ShuffledExampleScheme(count // 2 + 1), 1000),
    ]
    return Batch(MixtureStream(streams, [2, 1], stop="cycle"), ConstantScheme(size))


def interleaved(count, size):
    streams = [source(count), source(count // 2, None, 1000)]
    return Batch(InterleavedStream(streams, block_length=2), ConstantScheme(size))


def iterated(count, size):
    stream = DataStream(IterableDataset({"x": [float(n) for n in range(count)]}), seed=3)
    return Batch(stream, ConstantScheme(size))


class OldSource(DataStream):
    """A source that says nothing of how many examples its batches have."""

    def get_data(self, request=None):
        return super().get_data(request)


def old(count, size):
    dataset = IndexableDataset({"x": numpy.arange(count, dtype=float)})
    return OldSource(dataset, iteration_scheme=PermutedScheme(count, size, seed=5), seed=3)


def threaded(count, size):
    return Parallel(grouped(count, size), workers=2, kind="thread")


CHAINS = {
    make.__name__: make
    for make in (
        direct,
        grouped,
        shuffled,
        filtered,
        mixed,
        interleaved,
        iterated,
        old,
        threaded,
    )
}


def ranks_of(chain, count, size, world_size, remainder):
    return [
        ShardedStream(
            CHAINS[chain](count, size), rank=rank, world_size=world_size, remainder=remainder
        )
        for rank in range(world_size)
    ]


def whole(chain, count):
    """Return the epoch as one process has it, example by example."""
    with CHAINS[chain](count, 1) as stream:
        return [float(batch[0][0]) for batch in stream]


def expected(epoch, size, world_size, remainder):
    """Return what each rank is to get in each step, as the documentation has it."""
    step = size * world_size
    values, real = list(epoch), len(epoch)
    if remainder == "drop":
        if world_size > 1:
            values = values[: real // step * step]
    elif real:
        missing = -real % step
        values += (
            [epoch[-1]] * missing
            if remainder == "pad"
            else [epoch[n % real] for n in range(missing)]
        )
    found = [[] for _ in range(world_size)]
    for number, begin in enumerate(range(0, len(values), size)):
        places = range(begin, min(len(values), begin + size))
        item = [values[place] for place in places]
        mask = [place < real for place in places]
        found[number % world_size].append((item, mask) if remainder == "pad" else (item,))
    return found


def listed(items):
    return [tuple(column.tolist() for column in item) for item in items]
