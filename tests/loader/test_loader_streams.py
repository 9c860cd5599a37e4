"""Datasets and streams in a loader: their order is kept, their epochs follow one another."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuel import DataLoader
from fuel.converters.base import fill_hdf5_file
from fuel.datasets import H5PYDataset, IndexableDataset, IterableDataset
from fuel.schemes import (
    PermutedExampleScheme,
    PermutedScheme,
    SequentialExampleScheme,
    SequentialScheme,
)
from fuel.streams import DataStream
from fuel.transformers import Mapping, ScaleAndShift


def lists(loader: Any) -> list[Any]:
    return [[numpy.asarray(part).tolist() for part in batch] for batch in loader]


def dataset(count: int = 10) -> IndexableDataset:
    return IndexableDataset({"x": numpy.arange(count), "y": list("abcdefghijklmno"[:count])})


STREAMS: dict[str, Callable[[], Any]] = {
    "in order": lambda: DataStream(dataset(), iteration_scheme=SequentialExampleScheme(10)),
    "shuffled": lambda: DataStream(dataset(), iteration_scheme=PermutedExampleScheme(10, seed=2)),
    "batches": lambda: DataStream(dataset(), iteration_scheme=PermutedScheme(10, 3, seed=2)),
    "iterable": lambda: DataStream(IterableDataset({"x": range(10), "y": list("abcdefghij")})),
    "mapped": lambda: Mapping(
        DataStream(dataset(), iteration_scheme=PermutedExampleScheme(10, seed=2)),
        lambda data, rng: (data[0] + rng.integers(1000), data[1]),
    ),
}


def flat(stream: Any, epochs: int) -> list[Any]:
    """The examples of several epochs of a stream, one by one."""
    found: list[Any] = []
    for _ in range(epochs):
        for item in stream:
            pairs = [item] if stream.produces_examples else zip(*item, strict=True)
            found += [[int(x), str(y)] for x, y in pairs]
    return found


@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("partial", [True, False])
@pytest.mark.parametrize("epochs", [1, 2])
def test_batches_of_a_stream_are_its_examples_in_its_order(
    kind: str, partial: bool, epochs: int
) -> None:
    loader = DataLoader(STREAMS[kind](), 4, partial=partial, num_epochs=epochs)
    expected = flat(STREAMS[kind](), 3 * epochs)
    for run in range(3):
        found = [[list(pair) for pair in zip(*batch, strict=True)] for batch in lists(loader)]
        wanted = expected[run * 10 * epochs : (run + 1) * 10 * epochs]
        cut = [wanted[k : k + 4] for k in range(0, len(wanted), 4)]
        assert found == (cut if partial else [batch for batch in cut if len(batch) == 4])
        if kind != "iterable":
            assert len(loader) == loader.steps_per_epoch == len(found)


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(sorted(STREAMS)), st.data())
def test_a_stream_goes_on_from_every_place_with_another_batch_size(
    kind: str, data: st.DataObject
) -> None:
    epochs = data.draw(st.sampled_from([1, 3]))
    size, other_size = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 6))
    loader = DataLoader(STREAMS[kind](), size, num_epochs=epochs)
    expected = flat(STREAMS[kind](), 2 * epochs)
    iterator = iter(loader)
    count = data.draw(st.integers(0, -(-10 * epochs // size)))
    for _ in range(count):
        next(iterator)
    state = json.loads(json.dumps(loader.state_dict()))
    other = DataLoader(STREAMS[kind](), other_size, num_epochs=epochs)
    other.load_state_dict(state)
    assert other.state_dict() == state
    found = [list(pair) for batch in lists(other) for pair in zip(*batch, strict=True)]
    assert found == expected[min(count * size, 10 * epochs) : 10 * epochs]
    found = [list(pair) for batch in lists(other) for pair in zip(*batch, strict=True)]
    assert found == expected[10 * epochs :]


@pytest.mark.parametrize("epochs", [1, 2, None])
def test_a_stream_without_end_and_one_that_replays_go_through_its_epochs(epochs: Any) -> None:
    loader = DataLoader(STREAMS["shuffled"](), 4, num_epochs=epochs, replay=True)
    expected = flat(STREAMS["shuffled"](), 2)
    for _ in range(2):
        iterator = iter(loader)
        taken = [next(iterator) for _ in range(2)]
        assert [list(pair) for pair in zip(*lists(taken)[0], strict=True)] == expected[:4]
        if epochs != 1:
            more = [
                pair
                for batch in [*taken, *(next(iterator) for _ in range(3))]
                for pair in zip(*lists([batch])[0], strict=True)
            ]
            assert [list(pair) for pair in more] == expected


def test_an_endless_run_over_nothing_ends() -> None:
    empty: list[Any] = []
    assert list(DataLoader(DataStream(IterableDataset(empty)), 2, num_epochs=None)) == []
    assert list(DataLoader(empty, 2, num_epochs=None)) == []


def test_batches_of_a_stream_pass_as_they_are_without_a_batch_size() -> None:
    loader = DataLoader(STREAMS["batches"](), None)
    assert [len(x) for x, _ in loader] == [3, 3, 3, 1]
    assert len(loader) == 4
    doubled = DataLoader(STREAMS["batches"](), None, num_epochs=2)
    assert [len(x) for x, _ in doubled] == [3, 3, 3, 1] * 2


@pytest.mark.parametrize("kind", STREAMS)
def test_seek_and_skip_work_over_streams(kind: str) -> None:
    everything = lists(DataLoader(STREAMS[kind](), 3))
    iterator = iter(DataLoader(STREAMS[kind](), 3))
    iterator.seek(2)
    assert lists([next(iterator)]) == everything[2:3]
    assert iterator.skip(5) == 1
    assert list(iterator) == []
    again = iter(DataLoader(STREAMS[kind](), 3))
    assert again.skip(1) == 1
    assert lists(again) == everything[1:]


def test_a_transform_over_a_stream_draws_by_the_place_in_the_stream_s_epoch() -> None:
    def drawn(observation: Any, rng: numpy.random.Generator) -> Any:
        return int(observation[0]), rng.integers(1 << 40)

    batched = DataLoader(STREAMS["shuffled"](), 3, num_epochs=2, transform=drawn, seed=4)
    single = DataLoader(STREAMS["shuffled"](), -1, transform=drawn, seed=4)
    one_by_one = [[int(part) for part in item] for _ in range(2) for item in single]
    found = [list(pair) for batch in lists(batched) for pair in zip(*batch, strict=True)]
    assert found == one_by_one
    assert len({number for _, number in found}) == 20


@pytest.mark.parametrize("as_dict", [True, False])
def test_a_dataset_gives_its_sources(as_dict: bool) -> None:
    loader = DataLoader(dataset(), 4, as_dict=as_dict)
    items = list(loader)
    if as_dict:
        assert all(list(item) == ["x", "y"] for item in items)
        items = [tuple(item.values()) for item in items]
    assert lists(items)[0] == [[0, 1, 2, 3], ["a", "b", "c", "d"]]
    observations = DataLoader(dataset(), 4, collate=False, as_dict=as_dict)
    expected = {"x": 0, "y": "a"} if as_dict else (0, "a")
    assert next(iter(observations))[0] == expected


def hdf5_file(path: Path) -> Path:
    with h5py.File(path, "w") as file:
        x = numpy.arange(40, dtype=numpy.float32).reshape(10, 4)
        fill_hdf5_file(
            file,
            (
                ("train", "x", x[:7]),
                ("test", "x", x[7:]),
                ("train", "y", numpy.arange(7)),
                ("test", "y", numpy.arange(3)),
            ),
        )
    return path


@pytest.mark.parametrize("in_memory", [True, False])
def test_an_hdf5_file_is_a_dataset_like_any_other(tmp_path: Path, in_memory: bool) -> None:
    data = H5PYDataset(hdf5_file(tmp_path / "f.hdf5"), ("train",), load_in_memory=in_memory)
    loader = DataLoader(data, 3, shuffle=True, seed=1, num_epochs=2)
    batches = list(loader)
    assert [len(y) for _, y in batches] == [3, 3, 3, 3, 2]
    order = [
        index
        for k in range(5)
        for index in DataLoader(numpy.arange(7), 3, shuffle=True, seed=1, num_epochs=2).batch_ids(k)
    ]
    assert numpy.concatenate([y for _, y in batches]).tolist() == order
    iterator = iter(DataLoader(data, 3, shuffle=True, seed=1, num_epochs=2))
    iterator.seek(3)
    assert lists([next(iterator)]) == lists(batches[3:4])
    loader.close()


def test_steps_below_a_loader_keep_their_place_and_their_draws() -> None:
    stream = ScaleAndShift(
        DataStream(IndexableDataset(numpy.arange(6.0)), iteration_scheme=SequentialScheme(6, 2)),
        2.0,
        1.0,
    )
    assert [x.tolist() for (x,) in DataLoader(stream, 4)] == [[1.0, 3.0, 5.0, 7.0], [9.0, 11.0]]


@pytest.mark.parametrize("kind", STREAMS)
def test_a_loader_and_its_iterator_pickle_in_the_middle(kind: str) -> None:
    if kind == "mapped":  # whose lambda only cloudpickle can pickle
        return
    loader = DataLoader(STREAMS[kind](), 3)
    iterator = iter(loader)
    next(iterator)
    copy = pickle.loads(pickle.dumps(iterator))
    assert lists(copy) == lists(iterator)
    assert lists(pickle.loads(pickle.dumps(loader))) == lists(loader)


class Drawing(IndexableDataset):
    """A dataset of a user's that draws: what it answers is no function of the place."""

    def __init__(self, count: int) -> None:
        self.rng = numpy.random.RandomState(3)
        super().__init__(numpy.arange(count))

    def get_data(self, state: Any = None, request: Any = None) -> Any:
        (rows,) = super().get_data(state, request)
        return rows, self.rng.uniform(size=len(rows))


def test_a_dataset_that_draws_goes_on_with_its_draws() -> None:
    def loader() -> DataLoader:
        data = Drawing(10)
        data.provides_sources = ("data", "drawn")
        return DataLoader(data, 3, shuffle=True, seed=1)

    expected = [lists(one) for one in [loader()] for _ in range(2)]
    original = loader()
    list(original)
    iterator = iter(original)
    next(iterator)
    ids = [original.batch_ids(number).tolist() for number in range(4)]
    state = json.loads(json.dumps(original.state_dict()))
    assert lists(iterator) == expected[1][1:]
    resumed = loader()
    resumed.load_state_dict(state)
    assert resumed.batch_ids(1).tolist() == ids[1]
    assert lists(resumed) == expected[1][1:]
    assert [rows for rows, _ in expected[1]] == ids
