"""A loader delivers what a few lines of NumPy would, for every kind of data and argument."""

from __future__ import annotations

import importlib.util
import json
from itertools import islice
from pathlib import Path
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuel import DataLoader, eachobs
from fuel.observations import batch


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


model = load("_models")

settings.register_profile("loader", deadline=None, max_examples=150)
ours = settings.get_profile("loader")


@st.composite
def cases(draw: st.DrawFn) -> dict[str, Any]:
    """Data, and arguments of a loader that they allow."""
    count = draw(st.integers(0, 13))
    case = {
        "kind": draw(st.sampled_from(model.KINDS)),
        "count": count,
        "batch_size": draw(st.integers(1, 15)),
        "partial": draw(st.booleans()),
        "shuffle": draw(st.booleans()),
        "seed": draw(st.integers(-2, 3)),
        "num_epochs": draw(st.integers(1, 3)),
    }
    if case["count"] * case["num_epochs"] < case["batch_size"]:
        case["partial"] = True
    return case


def loader_of(case: dict[str, Any], **changes: Any) -> DataLoader:
    arguments = {key: case[key] for key in ("batch_size", "partial", "shuffle", "seed")}
    arguments["num_epochs"] = case["num_epochs"]
    arguments.update(changes)
    return DataLoader(model.container(case["kind"], case["count"]), **arguments)


def indices_of(case: dict[str, Any], run: int = 0) -> list[list[int]]:
    epochs = range(run * case["num_epochs"], (run + 1) * case["num_epochs"])
    seed = case["seed"] if case["shuffle"] else None
    flat = model.order(case["count"], seed, epochs)
    return model.cut(flat, case["batch_size"], case["partial"])


@settings(ours)
@given(cases())
def test_batches_are_what_the_model_says_run_after_run(case: dict[str, Any]) -> None:
    loader = loader_of(case)
    data = model.container(case["kind"], case["count"])
    for run in range(3):
        expected = [model.many(data, indices) for indices in indices_of(case, run)]
        assert model.same(list(loader), expected)


@settings(ours)
@given(cases(), st.sampled_from([False, True, "function"]), st.sampled_from(["raise", "skip"]))
def test_collation_is_a_function_of_the_list_of_observations(
    case: dict[str, Any], collate: Any, on_error: str
) -> None:
    data = model.container(case["kind"], case["count"])

    def together(observations: list[Any]) -> Any:
        return {"first": observations[0], "all": list(reversed(observations))}

    make: Any = {False: list, True: batch, "function": together}[collate]
    given = together if collate == "function" else collate
    expected = [make([model.one(data, i) for i in indices]) for indices in indices_of(case)]
    assert model.same(list(loader_of(case, collate=given, on_error=on_error)), expected)


@settings(ours)
@given(cases())
def test_a_loader_that_would_leave_out_failures_delivers_the_same_without_any(
    case: dict[str, Any],
) -> None:
    assert model.same(list(loader_of(case, on_error="skip")), list(loader_of(case)))


@settings(ours)
@given(cases())
def test_a_negative_batch_size_gives_the_observations_one_by_one(case: dict[str, Any]) -> None:
    case["batch_size"] = 1
    data = model.container(case["kind"], case["count"])
    expected = [model.one(data, index) for (index,) in indices_of(case)]
    loader = loader_of(case, batch_size=-1)
    assert model.same(list(loader), expected)
    assert len(loader) == len(expected)
    assert model.same(list(loader_of(case, batch_size=None)), expected)


@settings(ours)
@given(cases(), st.booleans())
def test_the_length_is_the_number_of_batches_and_batch_ids_say_what_is_in_each(
    case: dict[str, Any], started: bool
) -> None:
    loader = loader_of(case)
    iterator = iter(loader) if started else None
    expected = indices_of(case)
    assert len(loader) == loader.steps_per_epoch == len(expected)
    assert [loader.batch_ids(k).tolist() for k in range(len(loader))] == expected
    for beyond in (-1, len(expected)):
        with pytest.raises(IndexError, match="got a request for batch"):
            loader.batch_ids(beyond)
    assert iterator is None or len(list(iterator)) == len(expected)


@settings(ours)
@given(cases(), st.data())
def test_loading_goes_on_from_every_place_with_another_batch_size(
    case: dict[str, Any], data: st.DataObject
) -> None:
    case["partial"] = True
    loader = loader_of(case)
    iterator = iter(loader)
    passed = data.draw(st.integers(0, len(loader)))
    for _ in range(passed):
        next(iterator)
    state = json.loads(json.dumps(iterator.state_dict()))
    assert state == loader.state_dict()
    size = data.draw(st.integers(1, 15))
    flat = [index for indices in indices_of(case) for index in indices]
    rest = model.cut(flat[passed * case["batch_size"] :], size, True)
    container = model.container(case["kind"], case["count"])
    other = loader_of(case, batch_size=size)
    other.load_state_dict(state)
    assert other.state_dict() == state
    assert model.same(list(other), [model.many(container, indices) for indices in rest])
    # And the runs that follow are those that would have followed.
    following = indices_of({**case, "batch_size": size}, 1)
    assert model.same(list(other), [model.many(container, indices) for indices in following])
    one_by_one = loader_of(case, batch_size=-1)
    one_by_one.load_state_dict(state)
    assert len(list(one_by_one)) == sum(map(len, rest))


@settings(ours)
@given(cases(), st.data())
def test_seek_and_skip_reach_what_iterating_reaches(
    case: dict[str, Any], data: st.DataObject
) -> None:
    loader = loader_of(case)
    everything = list(iter(loader))
    iterator = iter(loader_of(case))
    place = data.draw(st.integers(0, len(everything)))
    iterator.seek(place)
    count = data.draw(st.integers(0, 5))
    passed = iterator.skip(count)
    assert passed == min(count, len(everything) - place)
    state = iterator.state_dict()
    assert model.same(list(iterator), everything[place + passed :])
    iterator.seek(0)
    assert model.same(list(iterator), everything)
    iterator.load_state_dict(state)
    assert model.same(list(iterator), everything[place + passed :])


@settings(ours)
@given(cases(), st.data())
def test_a_batch_is_rebuilt_from_any_state_of_its_run(
    case: dict[str, Any], data: st.DataObject
) -> None:
    loader = loader_of(case)
    if not len(loader):
        return
    runs = data.draw(st.integers(0, 2))
    for _ in range(runs):
        list(loader)
    iterator = iter(loader)
    state = iterator.state_dict()
    batches = list(iterator)
    number = data.draw(st.integers(0, len(batches) - 1))
    untouched = loader.state_dict()
    assert model.same(loader.replay_batch(state, number), batches[number])
    assert model.same(loader.replay_batch(untouched, number), batches[number])
    assert loader.state_dict() == untouched
    with pytest.raises(IndexError):
        loader.replay_batch(state, len(batches))


@settings(ours)
@given(cases(), st.sampled_from(["raise", "skip"]), st.sampled_from([None, False, True]))
def test_a_transform_sees_each_observation_and_draws_by_its_place_in_the_epoch(
    case: dict[str, Any], on_error: str, collate: Any
) -> None:
    def noisy(observation: Any, rng: numpy.random.Generator) -> Any:
        return {"came": repr(observation), "drawn": rng.integers(1 << 40)}

    def drawn(loader: DataLoader) -> list[tuple[str, int]]:
        found: list[tuple[str, int]] = []
        for item in loader:
            if isinstance(item, list):
                item = batch(item)
            found += zip(item["came"], item["drawn"].tolist(), strict=True)
        return found

    case["partial"] = True
    loader = loader_of(case, transform=noisy, on_error=on_error, collate=collate)
    found = drawn(loader)
    # One by one, and epoch by epoch, they are the same.
    by_epoch = loader_of(case, transform=noisy, batch_size=-1, num_epochs=1)
    alone = [
        (item["came"], int(item["drawn"])) for _ in range(case["num_epochs"]) for item in by_epoch
    ]
    assert found == alone
    assert len({number for _, number in found}) == len(found)
    flat = [index for indices in indices_of(case) for index in indices]
    data = model.container(case["kind"], case["count"])
    assert [came for came, _ in found] == [repr(model.one(data, index)) for index in flat]


@settings(ours)
@given(cases())
def test_a_run_without_end_goes_through_epoch_after_epoch(case: dict[str, Any]) -> None:
    count = max(1, case["count"])
    case = {**case, "count": count, "num_epochs": 4}
    loader = loader_of(case, num_epochs=None)
    expected = indices_of(case)[: 3 * count // case["batch_size"]]
    data = model.container(case["kind"], count)
    for _ in range(2):
        found = list(islice(loader, len(expected)))
        assert model.same(found, [model.many(data, indices) for indices in expected])
        loader = loader_of(case, num_epochs=None)
    assert loader.steps_per_epoch == count // case["batch_size"]
    with pytest.raises(TypeError, match="has no end"):
        len(loader)


@pytest.mark.parametrize("count", [1, 2, 7, 100])
def test_a_shuffled_epoch_is_a_permutation_new_each_time_and_the_same_for_the_same_seed(
    count: int,
) -> None:
    loader = DataLoader(numpy.arange(count), count, shuffle=True, seed=5)
    runs = [next(iter(loader)).tolist() for _ in range(6)]
    assert all(sorted(run) == list(range(count)) for run in runs)
    assert count < 3 or len({tuple(run) for run in runs}) > 1
    again = DataLoader(numpy.arange(count), count, shuffle=True, seed=5)
    assert [next(iter(again)).tolist() for _ in range(6)] == runs
    other = DataLoader(numpy.arange(count), count, shuffle=True, seed=6)
    assert count < 7 or [next(iter(other)).tolist() for _ in range(6)] != runs


def test_a_loader_that_replays_begins_again_each_time() -> None:
    loader = DataLoader(numpy.arange(7), 3, shuffle=True, seed=1, replay=True)
    first = [batch.tolist() for batch in loader]
    assert [batch.tolist() for batch in loader] == first
    iterator = iter(loader)
    next(iterator)
    loader.load_state_dict(iterator.state_dict())
    assert [batch.tolist() for batch in loader] == first[1:]
    assert [batch.tolist() for batch in loader] == first


def test_eachobs_gives_single_observations_and_takes_what_a_loader_takes() -> None:
    data = {"x": numpy.arange(4), "y": list("abcd")}
    assert [(int(o["x"]), o["y"]) for o in eachobs(data)] == list(enumerate("abcd"))
    assert [o["x"].tolist() for o in eachobs(data, 3)] == [[0, 1, 2], [3]]
    assert len(list(eachobs(data, batch_size=3, partial=False))) == 1
