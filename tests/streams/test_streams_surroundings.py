"""Streams do not depend on their surroundings: threads, interruptions, the hash seed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy
import pytest

from fuel.datasets import IndexableDataset, IterableDataset
from fuel.schemes import (
    ConstantScheme,
    PermutedExampleScheme,
    SequentialExampleScheme,
    SequentialScheme,
    ShuffledScheme,
)
from fuel.streams import DataStream
from fuel.transformers import Batch, Cache, Mapping, Merge, Unpack
from fuel.transformers.sequences import NGrams

DATA = IndexableDataset({"x": numpy.arange(120).reshape(60, 2), "y": numpy.arange(60)})


def noise(data: Any, rng: numpy.random.Generator) -> Any:
    return tuple(column + rng.random() for column in data)


def shuffled() -> Any:
    return Cache(DataStream(DATA, iteration_scheme=ShuffledScheme(60, 7)), ConstantScheme(4))


def drawn() -> Any:
    examples = DataStream(DATA, iteration_scheme=PermutedExampleScheme(60, seed=3))
    return Batch(Mapping(examples, noise), ConstantScheme(8))


def merged() -> Any:
    both = [Unpack(shuffled()), DataStream(DATA, iteration_scheme=PermutedExampleScheme(60))]
    return Merge(both, ("a", "b", "c", "d"))


def grams() -> Any:
    words = DataStream(IterableDataset({"w": [list(range(n)) for n in range(20)]}))
    return NGrams(3, words)


PIPELINES: list[Callable[[], Any]] = [shuffled, drawn, merged, grams]


def digest(stream: Any) -> list[str]:
    return [repr(item) for _ in range(2) for item in stream.get_epoch_iterator()]


def test_threads_with_a_stream_each_do_not_disturb_one_another() -> None:
    work = PIPELINES * 3
    expected = {build: digest(build()) for build in PIPELINES}
    together = threading.Barrier(len(work), timeout=60)

    def run(build: Callable[[], Any]) -> list[str]:
        stream = build()
        together.wait()
        return digest(stream)

    with ThreadPoolExecutor(len(work)) as threads:
        for build, found in zip(work, threads.map(run, work), strict=True):
            assert found == expected[build]


def test_threads_save_and_resume_streams_of_their_own() -> None:
    expected = {build: digest(build()) for build in PIPELINES}
    together = threading.Barrier(len(PIPELINES), timeout=60)

    def run(build: Callable[[], Any]) -> list[str]:
        together.wait()
        found: list[str] = []
        iterator = build().get_epoch_iterator()
        while True:
            resumed = build().get_epoch_iterator()
            resumed.load_state_dict(iterator.state_dict())
            try:
                found.append(repr(next(resumed)))
            except StopIteration:
                return found
            iterator = resumed

    with ThreadPoolExecutor(len(PIPELINES)) as threads:
        for build, found in zip(PIPELINES, threads.map(run, PIPELINES), strict=True):
            assert found == expected[build][: len(found)]
            assert len(found) == len(expected[build]) - len(digest_of_second(build))


def digest_of_second(build: Callable[[], Any]) -> list[str]:
    stream = build()
    list(stream.get_epoch_iterator())
    return [repr(item) for item in stream.get_epoch_iterator()]


class Interrupted(IndexableDataset):
    """Somebody presses Ctrl-C while the example of a number is fetched, once."""

    at: Any = None

    def get_data(self, state: Any = None, request: Any = None) -> Any:
        wanted = request if isinstance(request, list) else [request]
        if self.at in wanted:
            self.at = None
            raise KeyboardInterrupt
        return super().get_data(state, request)


def interrupted(at: int | None) -> Interrupted:
    dataset = Interrupted({"x": numpy.arange(20)})
    dataset.at = at
    return dataset


OVER: dict[str, Callable[[Any], Any]] = {
    "DataStream": lambda data: DataStream(data, iteration_scheme=SequentialScheme(20, 3)),
    "Batch": lambda data: Batch(
        DataStream(data, iteration_scheme=SequentialExampleScheme(20)), ConstantScheme(4)
    ),
    "Cache": lambda data: Cache(
        DataStream(data, iteration_scheme=SequentialScheme(20, 3)), ConstantScheme(4)
    ),
    "Unpack": lambda data: Unpack(DataStream(data, iteration_scheme=SequentialScheme(20, 3))),
}


@pytest.mark.parametrize("name", OVER)
@pytest.mark.parametrize("at", [0, 7, 10, 19])
def test_an_interruption_leaves_the_place_behind_the_item_delivered_last(
    name: str, at: int
) -> None:
    build = OVER[name]
    expected = [repr(item) for item in build(interrupted(None))]
    stream = build(interrupted(at))
    iterator = stream.get_epoch_iterator()
    got = []
    with pytest.raises(KeyboardInterrupt):
        for item in iterator:
            got.append(repr(item))
    assert got == expected[: len(got)]
    assert len(got) < len(expected)
    resumed = build(interrupted(None)).get_epoch_iterator()
    resumed.load_state_dict(iterator.state_dict())
    assert got + [repr(item) for item in resumed] == expected


PROGRAM = """
import json
import numpy
from fuel.datasets import IndexableDataset
from fuel.schemes import (
    ConstantScheme, PermutedExampleScheme, PermutedScheme, ShuffledExampleScheme, ShuffledScheme,
    shuffled_split,
)
from fuel.streams import DataStream
from fuel.transformers import Batch, Filter, Mapping, Merge

def noise(data, rng):
    return tuple(column + rng.random() for column in data)

def some(data, rng):
    return rng.random() < 0.7

data = IndexableDataset({name: numpy.arange(12) for name in ("x", "y", "z")})
told = [sorted(map(list, shuffled_split(12, 0.5)))]
for scheme in (
    ShuffledScheme(12, 5), ShuffledExampleScheme(12), PermutedScheme(12, 5),
    PermutedExampleScheme(12, seed=4), PermutedScheme([5, 3, 8, 1], 2),
):
    stream = Mapping(Filter(DataStream(data, iteration_scheme=scheme), some), noise)
    if stream.produces_examples:
        stream = Batch(Merge([stream], ("a", "b", "c")), ConstantScheme(4))
    iterator = stream.get_epoch_iterator()
    next(iterator)
    told.append(stream.state_dict())
    told += [[column.tolist() for column in item] for item in stream]
print(json.dumps(told))
"""


def test_orders_draws_and_states_do_not_depend_on_the_hash_seed(
    fresh_python: Callable[..., str],
) -> None:
    told = {fresh_python(PROGRAM, PYTHONHASHSEED=seed) for seed in ("0", "1", "random")}
    assert len(told) == 1
    assert "noise" in told.pop()
