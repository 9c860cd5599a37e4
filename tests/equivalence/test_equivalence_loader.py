"""A loader goes on from anywhere with other batches and workers, and says what it will deliver."""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuel import DataLoader
from fuel.datasets import IndexableDataset, IterableDataset
from fuel.observations import unbatch
from fuel.schemes import ConstantScheme, PermutedExampleScheme, PermutedScheme
from fuel.streams import DataStream, MixtureStream
from fuel.transformers import Batch, Filter, Mapping


class Numbers:
    """A container that only knows single indices."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        if not 0 <= index < self.count:
            raise IndexError(index)
        return numpy.array([index, index * index])


class AtOnce(Numbers):
    """A container that is asked for a whole batch."""

    def __getitems__(self, indices: list[int]) -> list[Any]:
        return [self[index] for index in indices]


def kept(data: Any) -> bool:
    """Keep two examples of three."""
    return bool(data[0] % 3)


def noisy(data: Any, rng: numpy.random.Generator) -> Any:
    """Draw for an example."""
    return (data[0] * 1.0 + rng.random(),)


def stream_of(kind: str, count: int) -> Any:
    """Return a stream whose examples come in an order of its own."""
    dataset = IndexableDataset({"x": numpy.arange(count)})
    if kind == "stream of batches":
        return DataStream(dataset, iteration_scheme=PermutedScheme(count, 3, seed=5), seed=7)
    examples = DataStream(dataset, iteration_scheme=PermutedExampleScheme(count, seed=5), seed=7)
    if kind == "stream":
        return Mapping(examples, noisy)
    if kind == "filtered":
        return Mapping(Filter(examples, kept), noisy)
    if kind == "batches of a filter":
        return Batch(Filter(examples, kept), ConstantScheme(2))
    if kind == "iterable":
        return DataStream(IterableDataset({"x": list(range(count))}), seed=7)
    other = DataStream(
        IndexableDataset({"x": 100 + numpy.arange(count // 2 + 1)}),
        iteration_scheme=PermutedExampleScheme(count // 2 + 1, seed=5),
    )
    return Mapping(MixtureStream([examples, other], [2, 1], stop="all"), noisy)


STREAMS = (
    "stream", "stream of batches", "filtered", "batches of a filter", "iterable", "mixture",
)  # fmt: skip
CONTAINERS = ("array", "list", "dict", "object", "at once", "dataset", "iterable dataset")


def data_of(kind: str, count: int) -> Any:
    """Return data of a kind, no two of whose observations are alike."""
    if kind in STREAMS:
        return stream_of(kind, count)
    x = numpy.arange(2 * count).reshape(count, 2)
    kinds: dict[str, Any] = {
        "array": x,
        "list": [f"text {number}" for number in range(count)],
        "dict": {"x": x, "y": list(range(count))},
        "object": Numbers(count),
        "at once": AtOnce(count),
        "dataset": IndexableDataset({"x": x}),
        "iterable dataset": IterableDataset({"x": list(x)}),
    }
    return kinds[kind]


def drawn(observation: Any, rng: numpy.random.Generator) -> Any:
    """Show an observation together with what was drawn for it."""
    return f"{observation!r} and {int(rng.integers(1 << 40))}"


def shown(observation: Any) -> Any:
    """Show an observation."""
    return repr(observation)


@st.composite
def cases(draw: st.DrawFn, streams: bool = True) -> dict[str, Any]:
    """Draw what a loader loads: what its batches and workers do not change."""
    kind = draw(st.sampled_from(CONTAINERS + STREAMS if streams else CONTAINERS))
    numbered = kind not in STREAMS and kind != "iterable dataset"
    return {
        "kind": kind,
        "count": draw(st.integers(0, 13)),
        "shuffle": numbered and draw(st.booleans()),
        "seed": draw(st.sampled_from([None, 0, 3])),
        "num_epochs": draw(st.sampled_from([1, 1, 2, 3])),
        "transform": draw(st.sampled_from([None, shown, drawn])),
    }


@st.composite
def ways(draw: st.DrawFn, processes: bool = False) -> dict[str, Any]:
    """Draw batches and workers."""
    found: dict[str, Any] = {"batch_size": draw(st.sampled_from([-1, 1, 2, 3, 5, 20]))}
    found["partial"] = True
    if found["batch_size"] > 0:
        found["collate"] = draw(st.sampled_from([None, False]))
    workers = draw(st.integers(0, 3))
    if processes and workers:
        found["num_workers"] = workers
    elif workers:
        found["parallel"] = workers
    if workers:
        found["prefetch"] = draw(st.sampled_from([None, 1, 4]))
    found["on_error"] = draw(st.sampled_from(["raise", "raise", "skip", "replace"]))
    return found


def loader_of(case: dict[str, Any], way: dict[str, Any]) -> DataLoader:
    """Return a loader of some data in some way."""
    arguments = {key: case[key] for key in ("shuffle", "seed", "num_epochs", "transform")}
    return DataLoader(data_of(case["kind"], case["count"]), **arguments, **way)


def observations(case: dict[str, Any], way: dict[str, Any], items: list[Any]) -> list[str]:
    """Return the observations in the items of a loader, as texts."""
    if way["batch_size"] < 0:
        return [text(item) for item in items]
    parts = [item if way["collate"] is False else unbatch(item) for item in items]
    return [text(one) for part in parts for one in part]


def text(observation: Any) -> str:
    """Return an observation as a text, the same for a number and for NumPy's own of its value."""
    return re.sub(r"np\.\w+\(([^()]*)\)", r"\1", repr(observation))


def reference(case: dict[str, Any], runs: int) -> list[list[str]]:
    """Return the observations of some runs, one by one, in this process."""
    loader = loader_of(case, {"batch_size": 1, "collate": None, "partial": True})
    way = {"batch_size": 1, "collate": None}
    return [observations(case, way, list(loader)) for _ in range(runs)]


def check(case: dict[str, Any], parts: list[tuple[dict[str, Any], int]]) -> None:
    """Run a loader in parts, each going on from the state of the one before in its own way."""
    first, following = reference(case, 2)
    found: list[str] = []
    state: Any = None
    for number, (way, steps) in enumerate(parts):
        with loader_of(case, way) as loader:
            if state is not None:
                loader.load_state_dict(state)
            iterator = iter(loader)
            items = list(islice(iterator, steps)) if number < len(parts) - 1 else list(iterator)
            found += observations(case, way, items)
            assert found == first[: len(found)]
            state = json.loads(json.dumps(loader.state_dict()))
            if number == len(parts) - 1:
                assert found == first
                assert observations(case, way, list(loader)) == following


@settings(max_examples=150, deadline=None)
@given(cases(), st.lists(st.tuples(ways(), st.integers(0, 4)), min_size=1, max_size=4))
def test_a_run_in_parts_is_one_run(
    case: dict[str, Any], parts: list[tuple[dict[str, Any], int]]
) -> None:
    check(case, parts)


@settings(max_examples=25, deadline=None)
@given(cases(), st.lists(st.tuples(ways(True), st.integers(0, 4)), min_size=1, max_size=3))
def test_a_run_in_parts_is_one_run_with_processes_too(
    case: dict[str, Any], parts: list[tuple[dict[str, Any], int]]
) -> None:
    check(case, parts)


@settings(max_examples=200, deadline=None)
@given(cases(), ways(), st.booleans(), st.data())
def test_what_a_loader_says_of_its_batches_is_what_comes(
    case: dict[str, Any], way: dict[str, Any], partial: bool, data: st.DataObject
) -> None:
    way["partial"] = partial
    try:
        loader = loader_of(case, way)
    except ValueError as error:
        assert "there would be no batch at all" in str(error)
        return
    with loader:
        try:
            said: int | None = len(loader)
        except TypeError as error:
            assert "not known" in str(error)
            said = None
        if said is not None:
            assert loader.steps_per_epoch == said
        runs = data.draw(st.integers(0, 1))
        for _ in range(runs):
            list(loader)
        iterator = iter(loader)
        place = data.draw(st.integers(0, 4))
        items = list(islice(iterator, place))
        state = json.loads(json.dumps(loader.state_dict()))
        items += list(iterator)
        assert said in (None, len(items))
        if case["kind"] in ("array", "object", "dict", "dataset") and way["on_error"] == "raise":
            flat = _order(case, runs)
            size = max(1, way["batch_size"])
            ids = [loader.batch_ids(number).tolist() for number in range(len(items))]
            assert ids == [flat[k : k + size] for k in range(0, len(items) * size, size)]
        # Any batch of the run again, from a state of any place in it and another loader.
        other = loader_of(case, {**way, **_other_workers(way)})
        for number in {0, place, len(items) - 1, len(items)} - {-1}:
            if number < len(items):
                again = other.replay_batch(state, number)
                assert repr(again) == repr(items[number])
            else:
                with pytest.raises(IndexError):
                    other.replay_batch(state, number)


def _other_workers(way: dict[str, Any]) -> dict[str, Any]:
    return {"parallel": 0 if way.get("parallel") else 2, "num_workers": 0, "prefetch": None}


def _order(case: dict[str, Any], run: int) -> list[int]:
    """Return the indices of a run: what a loader of numbers delivers."""
    loader = DataLoader(
        range(case["count"]),
        -1,
        shuffle=case["shuffle"],
        seed=case["seed"],
        num_epochs=case["num_epochs"],
    )
    for _ in range(run):
        list(loader)
    return list(loader)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 9), st.lists(st.tuples(ways(), st.integers(0, 9)), min_size=1, max_size=4))
def test_a_run_without_end_goes_on_from_anywhere(
    count: int, parts: list[tuple[dict[str, Any], int]]
) -> None:
    case = {
        "kind": "array",
        "count": count,
        "shuffle": True,
        "seed": 1,
        "num_epochs": None,
        "transform": drawn,
    }
    state: Any = None
    found: list[str] = []
    for way, steps in parts:
        with loader_of(case, way) as loader:
            if state is not None:
                loader.load_state_dict(state)
            items = list(islice(iter(loader), steps))
            found += observations(case, way, items)
            state = loader.state_dict()
    with loader_of(case, {"batch_size": -1}) as loader:
        assert [text(item) for item in islice(loader, len(found))] == found


@settings(max_examples=60, deadline=None)
@given(cases(streams=False), st.lists(ways(), min_size=2, max_size=3))
def test_draws_depend_on_nothing_but_the_seed_and_the_place(
    case: dict[str, Any], each: list[dict[str, Any]]
) -> None:
    case["transform"] = drawn
    found = []
    for way in each:
        with loader_of(case, way) as loader:
            found.append(observations(case, way, list(loader)))
    assert all(one == found[0] for one in found)
    assert len(set(found[0])) == len(found[0])
