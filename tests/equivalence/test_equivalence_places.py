"""Places that are found by counting are found as they were counted, or not at all."""

from __future__ import annotations

import json
from typing import Any

import numpy
import pytest

from fuel import DataLoader, eachobs
from fuel.datasets import Dataset, IndexableDataset, IterableDataset
from fuel.exceptions import StateMismatchError
from fuel.schemes import (
    ConstantScheme,
    PermutedExampleScheme,
    SequentialExampleScheme,
    SequentialScheme,
)
from fuel.streams import DataStream, ShardedStream
from fuel.transformers import Batch, Filter


class Counting(Dataset):
    """A dataset without numbered places, which remembers what it was asked."""

    provides_sources = ("x",)

    def __init__(self) -> None:
        super().__init__()
        self.number = 0

    def get_data(self, state: Any = None, request: Any = None) -> Any:
        self.number += 1
        if self.number > 20:
            raise StopIteration
        return (self.number,)


def of_chain(size: int) -> Any:
    return Batch(DataStream(Counting()), ConstantScheme(size))


def of_loader(size: int) -> Any:
    return DataLoader(DataStream(Counting()), size)


@pytest.mark.parametrize("make", [of_chain, of_loader])
def test_a_place_that_only_counting_finds_is_refused_with_another_batch_size(make: Any) -> None:
    stream = make(4)
    iterator = iter(stream)
    next(iterator), next(iterator)
    state = json.loads(json.dumps(stream.state_dict()))
    same = make(4)
    same.load_state_dict(state)
    assert [item[0].tolist() for item in same][0] == [9, 10, 11, 12]
    other = make(3)
    with pytest.raises(StateMismatchError, match=r"\[4\], and here are \[3\]; resume with"):
        other.load_state_dict(state)
        next(iter(other))


def numbers(size: int, filtered: bool = False) -> Any:
    dataset = IndexableDataset({"x": numpy.arange(60)})
    stream = DataStream(dataset, iteration_scheme=PermutedExampleScheme(60, seed=1))
    return Batch(Filter(stream, odd) if filtered else stream, ConstantScheme(size))


def odd(data: Any) -> bool:
    return bool(data[0] % 2)


@pytest.mark.parametrize("filtered", [False, True])
@pytest.mark.parametrize("of", ["chain", "loader", "ranks"])
def test_items_are_counted_in_their_present_size_wherever_the_run_was_resumed(
    of: str, filtered: bool
) -> None:
    def make(size: int) -> Any:
        if of == "loader":
            return DataLoader(numbers(3, filtered), size)
        if of == "ranks":
            return ShardedStream(numbers(2, filtered), rank=1, world_size=size)
        return numbers(size, filtered)

    first = iter(make(4))
    next(first), next(first)
    state = first.state_dict()
    expected = [item[0].tolist() for item in make(2)]
    stream = make(2)
    stream.load_state_dict(json.loads(json.dumps(state)))
    iterator = iter(stream)
    for place in (len(expected) - 1, 1, 2, 0):
        iterator.seek(place)
        assert next(iterator)[0].tolist() == expected[place]


@pytest.mark.parametrize("kind", ["batches", "examples"])
def test_a_negative_batch_size_gives_the_observations_of_any_stream(kind: str) -> None:
    dataset = IndexableDataset({"x": numpy.arange(5), "y": numpy.arange(5) * 2})
    scheme = SequentialScheme(5, 2) if kind == "batches" else SequentialExampleScheme(5)
    stream = DataStream(dataset, iteration_scheme=scheme)
    expected = [(number, 2 * number) for number in range(5)]
    assert [tuple(map(int, item)) for item in eachobs(stream)] == expected
    items = [(int(item["x"]), int(item["y"])) for item in eachobs(stream, as_dict=True)]
    assert items == expected
    doubled = eachobs(stream, transform=lambda item: int(item[0]) * 2, num_epochs=2)
    assert list(doubled) == [0, 2, 4, 6, 8] * 2
    if kind == "examples":
        assert len(doubled) == 10
    as_it_is = DataLoader(stream, None)
    assert [x.tolist() for x, _ in as_it_is] == [x.tolist() for x, _ in stream]
    state = doubled.state_dict()
    assert doubled.replay_batch(state, 6) == 2


def test_what_is_made_again_is_read_beside_a_stream_that_is_read_in_order() -> None:
    dataset = IterableDataset({"x": list(range(6))})
    stream = Batch(DataStream(dataset), ConstantScheme(2))
    state = stream.state_dict()
    for number in (0, 2, 1, 0):
        assert stream.replay(state, number)[0].tolist() == [2 * number, 2 * number + 1]
    iterator = iter(stream)
    first = next(iterator)
    assert stream.replay(state, 1)[0].tolist() == [2, 3]
    assert [first[0].tolist(), *[x.tolist() for (x,) in iterator]] == [[0, 1], [2, 3], [4, 5]]
