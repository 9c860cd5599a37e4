"""Going to any place of an epoch, and asking about single items, without running it."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuel.datasets import IndexableDataset, IterableDataset
from fuel.exceptions import RequestError
from fuel.schemes import (
    ConstantScheme,
    PermutedExampleScheme,
    PermutedScheme,
    SequentialExampleScheme,
    SequentialScheme,
    ShuffledExampleScheme,
    ShuffledScheme,
)
from fuel.streams import DataStream
from fuel.transformers import Batch, Filter, Mapping, Parallel, Unpack

ROWS = 17
BATCHES = {
    "sequential": lambda: SequentialScheme(ROWS, 4),
    "shuffled": lambda: ShuffledScheme(ROWS, 4, rng=numpy.random.RandomState(1)),
    "permuted": lambda: PermutedScheme(ROWS, 4, seed=1),
    "short dropped": lambda: PermutedScheme(ROWS, 4, seed=1, partial=False),
}
EXAMPLES = {
    "sequential": lambda: SequentialExampleScheme(ROWS),
    "shuffled": lambda: ShuffledExampleScheme(ROWS, rng=numpy.random.RandomState(1)),
    "permuted": lambda: PermutedExampleScheme(ROWS, seed=1),
}


def noisy(data: Any, rng: numpy.random.Generator) -> Any:
    return (data[0] + rng.integers(0, 1000),)


def even(data: Any) -> bool:
    return bool(data[0] % 20)


def over(scheme: Any) -> DataStream:
    return DataStream(IndexableDataset(numpy.arange(ROWS) * 10), iteration_scheme=scheme)


def chains() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, scheme in BATCHES.items():
        found[f"batches, {name}"] = lambda s=scheme: over(s())
        found[f"unpacked, {name}"] = lambda s=scheme: Unpack(over(s()))
    for name, scheme in EXAMPLES.items():
        found[f"examples, {name}"] = lambda s=scheme: Mapping(over(s()), noisy)
        for strictness in (0, 1):
            found[f"grouped, {name}, {strictness}"] = lambda s=scheme, k=strictness: Batch(
                Mapping(over(s()), noisy), ConstantScheme(4), strictness=k
            )
    found["filtered"] = lambda: Filter(
        over(SequentialExampleScheme(ROWS)), lambda data: data[0] % 20
    )
    found["iterable"] = lambda: DataStream(IterableDataset(list(range(ROWS))))
    return found


CHAINS = chains()
KNOWN = [name for name in CHAINS if name.startswith(("batches", "grouped", "examples"))]


def values(items: Any) -> list[Any]:
    return [numpy.asarray(item[0]).tolist() for item in items]


@pytest.mark.parametrize("name", CHAINS)
@settings(deadline=None, max_examples=30)
@given(moves=st.lists(st.tuples(st.sampled_from(["skip", "next", "seek"]), st.integers(0, 20))))
def test_skipping_and_seeking_lead_where_running_leads(name: str, moves: Any) -> None:
    stream = CHAINS[name]()
    epoch, following = values(stream), values(stream)
    stream = CHAINS[name]()
    iterator = stream.get_epoch_iterator()
    place = 0
    for move, number in moves:
        if move == "skip":
            there = min(number, len(epoch) - place)
            assert iterator.skip(number) == there
            place += there
        elif move == "next" and place < len(epoch):
            assert values([next(iterator)]) == [epoch[place]]
            place += 1
        elif move == "seek":
            if number > len(epoch):
                with pytest.raises(RequestError, match=f"the epoch has {len(epoch)}"):
                    iterator.seek(number)
                place = len(epoch)
            else:
                iterator.seek(number)
                place = number
        state = iterator.state_dict()
    assert values(iterator) == epoch[place:]
    assert values(stream) == following
    if moves:
        resumed = CHAINS[name]()
        resumed.load_state_dict(state)
        assert values(resumed) == epoch[place:]
        assert values(resumed) == following


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("workers", [None, 2])
def test_batch_ids_are_the_examples_of_the_batch(name: str, workers: int | None) -> None:
    stream = CHAINS[name]()
    if workers:
        stream = Parallel(stream, workers=workers, kind="thread")
    before = [stream.batch_ids(number) for number in range(len(stream))]
    for epoch in range(2):
        iterator = stream.get_epoch_iterator()
        told = [stream.batch_ids(number) for number in range(len(stream))]
        if epoch == 0:
            assert told == before
        for ids, item in zip(told, iterator, strict=True):
            # The draws are below a thousand, and the data are ten times the index.
            least = numpy.asarray(ids) * 10
            assert (
                (numpy.asarray(item[0]) >= least) & (numpy.asarray(item[0]) < least + 1000)
            ).all()
        with pytest.raises(RequestError, match="ends before"):
            stream.batch_ids(len(stream))
    with pytest.raises(RequestError, match="from 0 on"):
        stream.batch_ids(-1)


def test_batch_ids_of_a_filtered_stream_are_refused() -> None:
    with pytest.raises(TypeError, match="explain"):
        CHAINS["filtered"]().batch_ids(0)


def test_batch_ids_far_out_cost_nothing() -> None:
    scheme = PermutedExampleScheme(10**12, seed=1)

    class Numbers(IndexableDataset):
        num_examples = 10**12

    dataset = Numbers(range(10**12))
    stream = Batch(DataStream(dataset, iteration_scheme=scheme), ConstantScheme(8))
    assert len(set(stream.batch_ids(10**11))) == 8
    iterator = stream.get_epoch_iterator()
    iterator.seek(10**11)
    assert next(iterator)[0].tolist() == stream.batch_ids(10**11)


@pytest.mark.parametrize("name", CHAINS)
def test_any_item_of_an_earlier_epoch_is_made_again(name: str) -> None:
    stream = CHAINS[name]()
    states, epochs = [], []
    for _ in range(3):
        iterator = stream.get_epoch_iterator()
        states.append(iterator.state_dict())
        epochs.append(values(iterator))
    running = stream.get_epoch_iterator()
    next(running)
    for state, epoch in zip(states, epochs, strict=True):
        for number in (0, len(epoch) // 2, len(epoch) - 1):
            assert values([stream.replay(state, number)]) == [epoch[number]]
        with pytest.raises(RequestError, match="ends before"):
            stream.replay(state, len(epoch))
    # Nothing was moved: the epoch that runs, and the one after it.
    reference = CHAINS[name]()
    for _ in range(3):
        list(reference)
    rest = values(reference)[1:]
    assert values(running) == rest
    assert values(stream) == values(reference)


def test_steps_per_epoch_is_the_number_of_items() -> None:
    for name, build in CHAINS.items():
        stream = build()
        if name == "filtered":
            with pytest.raises(TypeError, match="not known"):
                _ = stream.steps_per_epoch
        else:
            assert stream.steps_per_epoch == len(list(stream))


@pytest.mark.parametrize("wrong", [-1, 1.5, True, None])
def test_wrong_numbers_are_refused(wrong: Any) -> None:
    iterator = over(SequentialScheme(ROWS, 4)).get_epoch_iterator()
    for method in (iterator.skip, iterator.seek):
        with pytest.raises(ValueError, match="integer from 0 on"):
            method(wrong)
