"""An epoch that has ended stays so; other epochs begun meanwhile count; long chains do not nest."""

from __future__ import annotations

import json
from typing import Any

import numpy
import pytest

from fuel.datasets import IndexableDataset, IterableDataset
from fuel.exceptions import StateError, StateMismatchError
from fuel.schemes import ConstantScheme, ShuffledExampleScheme
from fuel.streams import DataStream
from fuel.transformers import Batch, Mapping, Transformer, Unpack


def shuffled(scheme: Any = None, count: int = 6) -> DataStream:
    data = IndexableDataset({"x": numpy.arange(count)})
    return DataStream(data, iteration_scheme=scheme or ShuffledExampleScheme(count))


def numbers(iterator: Any) -> list[Any]:
    return [numpy.asarray(item[-1]).tolist() for item in iterator]


class Counting(Transformer):
    calls = 0

    def get_data(self, request: Any = None) -> Any:
        self.calls += 1
        return (*super().get_data(request), self.calls)

    def transform_example(self, example: Any) -> Any:
        return example


class CountingSource(DataStream):
    calls = 0

    def get_data(self, request: Any = None) -> Any:
        self.calls += 1
        return (*super().get_data(request), self.calls)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Counting(shuffled(), True),
        lambda: CountingSource(IterableDataset({"x": [1, 2, 3]})),
    ],
    ids=["mark", "replay"],
)
def test_an_epoch_that_has_ended_asks_nobody_again(make):
    stream = make()
    iterator = stream.get_epoch_iterator()
    length = len(list(iterator))
    assert next(iterator, None) is None
    assert stream.calls == length + 1
    state = json.loads(json.dumps(iterator.state_dict()))
    expected = numbers(stream.get_epoch_iterator())
    other = make()
    other.load_state_dict(state)
    assert numbers(other.get_epoch_iterator()) == []
    assert numbers(other.get_epoch_iterator()) == expected


def test_epochs_begun_meanwhile_are_not_begun_again_after_loading():
    stream = shuffled()
    first = stream.get_epoch_iterator()
    next(first)
    second = stream.get_epoch_iterator()
    next(second)
    state = json.loads(json.dumps(first.state_dict()))
    expected = [numbers(first), numbers(stream.get_epoch_iterator())]
    other = shuffled()
    other.load_state_dict(state)
    assert [numbers(other.get_epoch_iterator()) for _ in range(2)] == expected


def test_streams_that_share_a_scheme_go_on_in_its_order():
    def make() -> Any:
        scheme = ShuffledExampleScheme(6)
        return shuffled(scheme), shuffled(scheme)

    one, two = make()
    iterator = one.get_epoch_iterator()
    next(iterator)
    next(two.get_epoch_iterator())
    state = iterator.state_dict()
    expected = [numbers(iterator), numbers(one.get_epoch_iterator())]
    other, _ = make()
    other.load_state_dict(state)
    assert [numbers(other.get_epoch_iterator()) for _ in range(2)] == expected


@pytest.mark.parametrize(
    "wrap",
    [
        lambda stream: Mapping(stream, lambda data: data),
        lambda stream: Unpack(Batch(stream, ConstantScheme(2))),
    ],
)
def test_a_chain_of_three_hundred_steps_starts_and_resumes(wrap):
    def make() -> Any:
        stream: Any = shuffled()
        for _ in range(300 // (2 if wrap(stream).data_stream is not stream else 1)):
            stream = wrap(stream)
        return stream

    stream = make()
    iterator = stream.get_epoch_iterator()
    next(iterator)
    state = iterator.state_dict()
    other = make()
    other.load_state_dict(state)
    assert numbers(other.get_epoch_iterator()) == numbers(iterator)


class Holding(Transformer):
    def __init__(self, stream: Any) -> None:
        super().__init__(stream, True)
        self.beside = shuffled(count=20).get_epoch_iterator()

    def transform_example(self, example: Any) -> Any:
        return (*example, *next(self.beside))


def test_a_held_iterator_of_another_stream_is_refused_by_name():
    stream = Holding(shuffled())
    list(stream.get_epoch_iterator())
    iterator = stream.get_epoch_iterator()
    next(iterator)
    with pytest.raises(StateError, match="Holding keeps 'beside'"):
        iterator.state_dict()


class Shuffling:
    """A sequence with an order of its own."""

    def __init__(self) -> None:
        self.rng = numpy.random.RandomState(1)

    def __iter__(self) -> Any:
        return iter(self.rng.permutation(5).tolist())


@pytest.mark.parametrize("earlier", [0, 1])
def test_what_the_data_itself_remembers_is_resumed(earlier):
    def make() -> Any:
        return DataStream(IterableDataset({"x": Shuffling()}))

    stream = make()
    for _ in range(earlier):
        numbers(stream.get_epoch_iterator())
    iterator = stream.get_epoch_iterator()
    next(iterator)
    state = json.loads(json.dumps(iterator.state_dict()))
    expected = [numbers(iterator), numbers(stream.get_epoch_iterator())]
    other = make()
    other.load_state_dict(state)
    assert [numbers(other.get_epoch_iterator()) for _ in range(2)] == expected
    other = make()
    iterator = other.get_epoch_iterator()
    iterator.load_state_dict(state)
    assert [numbers(iterator), numbers(other.get_epoch_iterator())] == expected


def test_data_that_drew_before_it_was_seen_is_not_gone_back_to():
    stream = DataStream(IterableDataset({"x": Shuffling()}))
    state = stream.get_epoch_iterator().state_dict()
    iterator = stream.get_epoch_iterator()
    with pytest.raises(StateMismatchError, match="IterableDataset holds draws .* built anew"):
        iterator.load_state_dict(state)
