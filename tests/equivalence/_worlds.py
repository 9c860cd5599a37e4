"""Chains and ways to evaluate them, drawn at random, for the tests that all ways are one.

In this room: how a chain is built, how one is run by so many ranks, and what it is to deliver.
"""

from __future__ import annotations

import json
from typing import Any

import numpy
from hypothesis import strategies as st

from fuel.datasets import IndexableDataset, IterableDataset
from fuel.schemes import (
    BlockShuffledExampleScheme,
    ConstantScheme,
    PermutedExampleScheme,
    PermutedScheme,
    SequentialExampleScheme,
    ShuffledExampleScheme,
)
from fuel.streams import DataStream, InterleavedStream, MixtureStream, ShardedStream
from fuel.transformers import Batch, Cast, Filter, Mapping, Merge, Parallel, Unpack

__all__ = ["CHAINS", "WAYS", "build", "chains", "flat", "life", "ranks_of", "reference", "ways"]

KINDS = ("serial", "thread", "process", "auto")


def noisy(data: Any, rng: numpy.random.Generator) -> Any:
    """Add a draw to the second source."""
    return (data[0], data[1] + rng.random(), *data[2:])


def kept(data: Any) -> bool:
    """Keep two examples of three."""
    return bool(data[0] % 3)


def examples(count: int, first: int = 0, order: str = "permuted") -> Any:
    """Return a stream of examples, no two of which are alike."""
    schemes: dict[str, Any] = {
        "permuted": lambda: PermutedExampleScheme(count, seed=5),
        "stored": lambda: SequentialExampleScheme(count),
        "shuffled": lambda: ShuffledExampleScheme(count, rng=numpy.random.RandomState(3)),
        "blocks": lambda: BlockShuffledExampleScheme(count, block_size=3, window=2, seed=5),
    }
    numbers = first + numpy.arange(count)
    dataset = IndexableDataset({"n": numbers, "x": numbers * 1.0})
    return DataStream(dataset, iteration_scheme=schemes[order](), seed=7)


def batches(count: int, size: int) -> Any:
    """Return a stream of batches."""
    numbers = numpy.arange(count)
    dataset = IndexableDataset({"n": numbers, "x": numbers * 1.0})
    return DataStream(dataset, iteration_scheme=PermutedScheme(count, size, seed=5), seed=7)


def grouped(stream: Any, size: int) -> Any:
    """Return a stream in batches of a size."""
    return Batch(stream, ConstantScheme(size))


def _kinds(order: str) -> Any:
    return lambda count, size, inner: grouped(
        inner(Mapping(examples(count, 0, order), noisy)), size
    )


def _direct(count: int, size: int, inner: Any) -> Any:
    return Cast(inner(batches(count, size)), "float64", which_sources=("x",))


def _filtered(count: int, size: int, inner: Any) -> Any:
    below = inner(Mapping(examples(count), noisy, name="below"))
    return grouped(Mapping(Filter(below, kept), noisy, name="above"), size)


def _unpacked(count: int, size: int, inner: Any) -> Any:
    return grouped(Mapping(Unpack(inner(batches(count, 3))), noisy), size)


def _mixed(stop: str) -> Any:
    def make(count: int, size: int, inner: Any) -> Any:
        streams = [
            inner(Mapping(examples(count + 1), noisy)),  # one without examples cannot cycle
            Mapping(examples(count // 2 + 1, 1000, "shuffled"), noisy),
        ]
        return grouped(Mapping(MixtureStream(streams, [2, 1], stop=stop), noisy, name="top"), size)

    return make


def _interleaved(count: int, size: int, inner: Any) -> Any:
    streams = [inner(examples(count)), examples(count // 2, 1000), inner(examples(3, 2000))]
    stream = InterleavedStream(streams, cycle_length=2, block_length=2)
    return grouped(Mapping(stream, noisy), size)


def _iterated(count: int, size: int, inner: Any) -> Any:
    numbers = list(range(count))
    stream = DataStream(IterableDataset({"n": numbers, "x": [float(n) for n in numbers]}), seed=7)
    return grouped(inner(Mapping(stream, noisy)), size)


def _merged(count: int, size: int, inner: Any) -> Any:
    other = examples(count, 0, "stored")
    return grouped(
        Merge((inner(Mapping(examples(count), noisy)), other), ("n", "x", "m", "y")), size
    )


#: From a name to a function of the number of examples, the batch size and what is put inside.
CHAINS: dict[str, Any] = {
    "permuted": _kinds("permuted"),
    "stored": _kinds("stored"),
    "shuffled": _kinds("shuffled"),
    "blocks": _kinds("blocks"),
    "direct": _direct,
    "filtered": _filtered,
    "unpacked": _unpacked,
    "mixed": _mixed("first"),
    "mixed, all": _mixed("all"),
    "mixed, cycling": _mixed("cycle"),
    "interleaved": _interleaved,
    "iterated": _iterated,
    "merged": _merged,
}

chains = st.sampled_from(sorted(CHAINS))


@st.composite
def ways(draw: st.DrawFn, kinds: tuple[str, ...] = KINDS, most: int = 3) -> dict[str, Any]:
    """Draw a way to evaluate a chain."""
    return {
        "kind": draw(st.sampled_from(kinds)),
        "workers": draw(st.integers(1, 3)),
        "prefetch": draw(st.sampled_from([None, None, 1, 5])),
        "size": draw(st.integers(1, 6)),
        "ranks": draw(st.integers(1, most)),
        # Where the workers are: above all, below what is in order, below the ranks, both.
        "where": draw(st.sampled_from(["top", "inner", "below ranks", "both"])),
        "remainder": draw(st.sampled_from(["drop", "pad", "wrap"])),
    }


WAYS = ways


def build(chain: str, count: int, way: dict[str, Any], rank: int = 0) -> Any:
    """Return a chain, as one of the ranks has it."""

    def parallel(stream: Any) -> Any:
        kind, workers = way["kind"], way["workers"]
        on_error = way.get("on_error", "raise")
        return Parallel(
            stream, workers=workers, kind=kind, prefetch=way["prefetch"], on_error=on_error
        )

    where = way["where"]
    inner = parallel if where in ("inner", "both") else (lambda stream: stream)
    stream = CHAINS[chain](count, way["size"], inner)
    if where == "below ranks":
        stream = parallel(stream)
    if way["ranks"] > 1 or way["remainder"] != "drop":
        stream = ShardedStream(
            stream, rank=rank, world_size=way["ranks"], remainder=way["remainder"]
        )
    return parallel(stream) if where in ("top", "both") else stream


def ranks_of(chain: str, count: int, way: dict[str, Any]) -> list[Any]:
    """Return the chain as each rank has it."""
    return [build(chain, count, way, rank) for rank in range(way["ranks"])]


def flat(items: list[Any], way: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Return the examples in batches, one after the other, without those that are copies."""
    found: list[tuple[Any, ...]] = []
    for item in items:
        columns = [column.tolist() for column in item]
        if way["remainder"] == "pad":
            mask = columns.pop()
            columns = [
                [x for x, real in zip(column, mask, strict=True) if real] for column in columns
            ]
        found += zip(*columns, strict=True)
    return found


def reference(chain: str, count: int, epochs: int) -> list[list[tuple[Any, ...]]]:
    """Return the examples of some epochs, as one process without workers has them, one by one."""
    way = {"size": 1, "where": "nowhere", "ranks": 1, "remainder": "drop"}
    stream = build(chain, count, way)
    return [flat(list(stream), way) for _ in range(epochs)]


def life(chain: str, count: int, parts: list[tuple[dict[str, Any], int | None]]) -> Any:
    """Run an epoch in parts, each going on from the state of the one before in its own way.

    Parameters
    ----------
    chain : str
        Which chain.
    count : int
        How many examples its data has.
    parts : list of (dict, int or None)
        How it is run, and for how many steps; None to the end of the epoch.

    Returns
    -------
    found : list of (list of tuple, bool)
        For each part: the examples in the order of the steps, and in each of the ranks; whether
        the epoch came to its end in it.
    streams : list of stream
        The chains of the last part.

    """
    state: Any = None
    found: list[tuple[list[tuple[Any, ...]], bool]] = []
    streams: list[Any] = []
    for way, steps in parts:
        for stream in streams:
            stream.close()
        streams = ranks_of(chain, count, way)
        if state is not None:
            for stream in streams:
                stream.load_state_dict(state)
        iterators = [stream.get_epoch_iterator() for stream in streams]
        here: list[tuple[Any, ...]] = []
        ended, number = False, 0
        while not ended and (steps is None or number < steps):
            items = [next(iterator, None) for iterator in iterators]
            ended = items[0] is None
            assert all((item is None) == ended for item in items), "ranks differ in their steps"
            if not ended:
                here += flat(items, way)
                number += 1
        found.append((here, ended))
        states = [json.loads(json.dumps(iterator.state_dict())) for iterator in iterators]
        assert all(one == states[0] for one in states), "ranks differ in their states"
        state = states[0]
    return found, streams
