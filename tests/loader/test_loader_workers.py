"""Workers change nothing but the time; failures are told, left out, replaced; memory is reused."""

from __future__ import annotations

import json
import pickle
import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import fuel
from fuel import DataLoader
from fuel.loader._order import BatchOrder
from fuel.workers import FailurePolicy

IMAGES = numpy.arange(23 * 6, dtype=numpy.float32).reshape(23, 2, 3)
NAMES = [f"name {index}" for index in range(23)]
DATA = {"image": IMAGES, "name": NAMES}


@pytest.fixture(scope="module", autouse=True)
def no_process_is_left() -> Iterator[None]:
    yield
    fuel.close_dataloader_pool()


def plain(item: Any) -> Any:
    """An item in a form that can be compared."""
    if isinstance(item, dict):
        return {key: plain(part) for key, part in item.items()}
    if isinstance(item, (list, tuple)):
        return [plain(part) for part in item]
    return item.tolist() if hasattr(item, "tolist") else item


def noisy(observation: Any, rng: numpy.random.Generator) -> Any:
    return {**observation, "noise": rng.normal(size=2)}


WORKERS: list[dict[str, Any]] = [
    {"parallel": 3},
    {"parallel": True},
    {"num_workers": 2},
    {"parallel": 2, "prefetch": 1},
    {"num_workers": 1, "prefetch": 9},
]
CHAINS: list[dict[str, Any]] = [
    {},
    {"shuffle": True, "num_epochs": 2},
    {"collate": False},
    {"collate": True, "partial": False},
    {"transform": noisy, "shuffle": True, "num_epochs": 3},
    {"collate": lambda observations: [o["name"] for o in observations]},
    {"batch_size": -1, "transform": noisy},
    {"batch_size": -1, "shuffle": True},
    {"on_error": "skip", "transform": noisy},
]


@pytest.mark.parametrize("chain", CHAINS, ids=range(len(CHAINS)))
@pytest.mark.parametrize("workers", WORKERS, ids=str)
def test_workers_deliver_what_this_process_would_and_states_fit_both(
    chain: dict[str, Any], workers: dict[str, Any]
) -> None:
    arguments = {"batch_size": 4, "seed": 3, **chain}
    serial: list[Any] = []
    alone = DataLoader(DATA, **arguments)
    states = []
    iterator = iter(alone)
    for item in iterator:
        serial.append(plain(item))
        states.append(iterator.state_dict())
    following = [plain(item) for item in alone]
    with DataLoader(DATA, **arguments, **workers) as loader:
        iterator = iter(loader)
        for number in range(len(serial)):
            assert plain(next(iterator)) == serial[number]
            assert iterator.state_dict() == states[number]
        assert list(iterator) == []
        assert [plain(item) for item in loader] == following
        loader.load_state_dict(json.loads(json.dumps(states[1])))
        assert [plain(item) for item in loader] == serial[2:]
        assert [plain(item) for item in loader] == following
        assert plain(loader.replay_batch(states[-1], 1)) == serial[1]
        if "on_error" not in chain:
            iterator = iter(loader)
            next(iterator)
            iterator.seek(3)
            assert iterator.skip(1) == 1
            loader.load_state_dict(iterator.state_dict())
            assert len(list(loader)) == len(serial) - 4
    alone.load_state_dict(states[0])
    assert [plain(item) for item in alone] == serial[1:]


def test_without_order_each_batch_comes_once_also_after_resuming() -> None:
    with DataLoader(numpy.arange(40), 4, parallel=3, ordered=False) as loader:
        iterator = iter(loader)
        found = [next(iterator).tolist() for _ in range(4)]
        state = json.loads(json.dumps(iterator.state_dict()))
        loader.load_state_dict(state)
        found += [batch.tolist() for batch in loader]
    assert sorted(found) == [list(range(k, k + 4)) for k in range(0, 40, 4)]


def test_a_loader_over_nothing_starts_no_worker() -> None:
    with DataLoader(numpy.empty((0, 2)), 4, num_workers=2) as loader:
        assert list(loader) == []
        assert len(loader) == 0


class Brittle:
    """A container some of whose observations cannot be loaded."""

    def __init__(self, count: int, broken: frozenset[int]) -> None:
        self.count, self.broken = count, broken

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> int:
        if index in self.broken:
            raise OSError(f"no {index}")
        return index


@pytest.mark.parametrize("workers", [{}, {"parallel": 2}], ids=str)
def test_what_fails_is_left_out_and_batches_are_filled_with_others(workers: Any) -> None:
    data = Brittle(12, frozenset({2, 5, 6}))
    loader = DataLoader(data, 4, on_error="skip", collate=True, **workers)
    assert [batch.tolist() for batch in loader] == [[0, 1, 3, 4], [7, 8, 9, 10], [11]]
    assert [failure.example for failure in loader.failures.failures] == [2, 5, 6]
    with pytest.raises(TypeError, match="may be left out"):
        len(loader)
    with pytest.raises(TypeError, match="may be left out"):
        loader.steps_per_epoch
    iterator = iter(loader)
    next(iterator)
    state = iterator.state_dict()
    loader.load_state_dict(state)
    assert [batch.tolist() for batch in loader] == [[7, 8, 9, 10], [11]]
    assert loader.replay_batch(state, 1).tolist() == [7, 8, 9, 10]
    iterator = iter(loader)
    iterator.seek(2)
    assert next(iterator).tolist() == [11]
    iterator.seek(0)
    assert next(iterator).tolist() == [0, 1, 3, 4]
    loader.close()


def test_what_fails_is_replaced_by_what_another_example_is() -> None:
    data = Brittle(12, frozenset({2, 5, 6}))
    loader = DataLoader(data, 4, on_error=FailurePolicy("replace"), collate=True)
    batches = [batch.tolist() for batch in loader]
    assert [len(batch) for batch in batches] == [4, 4, 4] and len(loader) == 3
    assert not {2, 5, 6} & {number for batch in batches for number in batch}
    assert list(DataLoader(data, 4, on_error="replace")) == batches


@pytest.mark.parametrize("workers", [{}, {"parallel": 2}], ids=str)
def test_an_error_says_which_example_it_was_and_iteration_can_go_on(workers: Any) -> None:
    def doubled(number: int) -> int:
        if number == 5:
            raise ZeroDivisionError("five")
        return number * 2

    with DataLoader(list(range(8)), 2, transform=doubled, **workers) as loader:
        iterator = iter(loader)
        assert [next(iterator).tolist() for _ in range(2)] == [[0, 2], [4, 6]]
        with pytest.raises(ZeroDivisionError) as caught:
            next(iterator)
        assert any(
            "example 5" in note for note in getattr(caught.value, "__notes__", ["example 5"])
        )
        state = iterator.state_dict()
        assert state["position"] == 4
        assert next(iterator).tolist() == [12, 14]
        assert iterator.state_dict()["position"] == 8
        assert list(iterator) == []
        loader.load_state_dict(state)
        with pytest.raises(ZeroDivisionError, match="five"):
            next(iter(loader))


def test_a_ragged_batch_says_where_which_examples_and_what_to_use() -> None:
    data = {"x": [numpy.zeros(3), numpy.zeros(3), numpy.zeros(4)], "y": [1, 2, 3]}
    loader = DataLoader(data, 3, collate=True, shuffle=True, seed=1)
    order = loader.batch_ids(0).tolist()
    with pytest.raises(ValueError) as caught:
        next(iter(loader))
    message = str(caught.value)
    assert "['x']" in message and "(3,)" in message and "(4,)" in message
    odd = 2 if order[0] != 2 else order[1]
    assert f"observation {order[0]}" in message and f"observation {odd}" in message
    assert "collate=False" in message
    assert [len(item["x"]) for item in next(iter(DataLoader(data, 3, collate=False)))] == [3, 3, 4]


# -- memory ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch_size", [4, -1])
@pytest.mark.parametrize("shuffle", [True, False])
def test_a_buffer_is_reused_and_holds_what_a_new_array_would(
    batch_size: int, shuffle: bool
) -> None:
    arguments: dict[str, Any] = {"batch_size": batch_size, "shuffle": shuffle, "seed": 2}
    loader = DataLoader((IMAGES, NAMES), buffer=True, **arguments)
    fresh = DataLoader((IMAGES, NAMES), **arguments)
    for _ in range(2):
        addresses = set()
        iterator = iter(loader)
        for (images, names), (expected, told) in zip(iterator, fresh, strict=True):
            assert images.tolist() == expected.tolist() and names == told
            addresses.add(images.__array_interface__["data"][0])
        assert len(addresses) == 1


def test_iterators_of_one_loader_have_buffers_of_their_own() -> None:
    loader = DataLoader(IMAGES, 4, buffer=True)
    one, other = iter(loader), iter(loader)
    first = next(one)
    assert next(other) is not None and other.skip(1) == 1
    next(other)
    assert first.tolist() == IMAGES[:4].tolist()
    copy = pickle.loads(pickle.dumps(one))
    assert next(copy).tolist() == next(one).tolist() == IMAGES[4:8].tolist()


def test_a_buffered_batch_allocates_next_to_nothing() -> None:
    images = numpy.zeros((512, 64, 64), dtype=numpy.float32)
    loader = DataLoader(images, 64, shuffle=True, buffer=True, num_epochs=None)
    iterator = iter(loader)
    for _ in range(3):
        next(iterator)
    tracemalloc.start()
    for _ in range(20):
        next(iterator)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < images[:64].nbytes / 50


def test_batches_belong_to_whoever_gets_them() -> None:
    for data in (IMAGES.copy(), list(IMAGES.copy()), (IMAGES.copy(), NAMES)):
        before = plain(data)
        kept = []
        for batch in DataLoader(data, 4):
            arrays = batch if isinstance(batch, (list, tuple)) else [batch]
            kept.append([array for array in arrays if isinstance(array, numpy.ndarray)])
            for array in kept[-1]:
                array += 1
        assert plain(data) == before
        pointers = [array.__array_interface__["data"][0] for arrays in kept for array in arrays]
        assert len(set(pointers)) == len(pointers)


def test_a_run_over_a_billion_examples_begins_and_resumes_at_once() -> None:
    loader = DataLoader(range(10**9), 256, shuffle=True, seed=1)
    iterator = iter(loader)
    iterator.seek(10**6)
    tracemalloc.start()
    batch = next(iterator)
    state = iterator.state_dict()
    other = DataLoader(range(10**9), 256, shuffle=True, seed=1)
    other.load_state_dict(state)
    following = next(iter(other))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert batch == loader.batch_ids(10**6).tolist()
    assert following == loader.batch_ids(10**6 + 1).tolist()
    assert len(json.dumps(state)) < 1000 and peak < 1 << 20


def test_an_order_remembers_nothing_when_it_is_pickled() -> None:
    order = BatchOrder(10**6, 2, 1, 32, True).order(0)
    before = order.block(10**6 - 3, 6).tolist()
    assert pickle.loads(pickle.dumps(order)).block(10**6 - 3, 6).tolist() == before
    assert len(pickle.dumps(order)) < 500
