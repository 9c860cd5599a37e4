"""Arguments that are refused say why; a loader can be printed, explained, pickled and closed."""

from __future__ import annotations

import functools
import gc
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy
import pytest

import fuel
from fuel import DataLoader
from fuel.datasets import IndexableDataset, IterableDataset
from fuel.exceptions import (
    IteratorInvalidatedError,
    RequestError,
    StateDamagedError,
    StateMismatchError,
)
from fuel.observations import mapobs, obsview, shuffleobs
from fuel.schemes import SequentialExampleScheme, SequentialScheme
from fuel.streams import DataStream

X = numpy.arange(10)
STREAM = DataStream(IndexableDataset(X), iteration_scheme=SequentialExampleScheme(10))

REFUSED: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    (X, {"batch_size": 0}, ValueError, "negative one gives single"),
    (X, {"batch_size": 2.5}, TypeError, "`batch_size` must be an integer"),
    (X, {"batch_size": True}, TypeError, "`batch_size` must be an integer"),
    (X, {"shuffle": 1}, TypeError, "`shuffle` must be True or False"),
    (X, {"collate": "stack"}, TypeError, "`collate` must be None"),
    (X, {"batch_size": -1, "collate": True}, ValueError, "batch_size=-1 gives them one by one"),
    (X, {"parallel": 2, "num_workers": 2}, ValueError, "exclude each other"),
    (X, {"buffer": True, "num_workers": 2}, ValueError, "leave one of them out"),
    (X, {"num_workers": -1}, ValueError, "`num_workers` must be 0"),
    (X, {"num_workers": True}, TypeError, "`num_workers` must be an integer"),
    (X, {"parallel": -2}, ValueError, "`parallel` must be False, True"),
    (X, {"prefetch": 2}, ValueError, "without workers"),
    (X, {"num_epochs": 0}, ValueError, "`num_epochs` must be a positive number, or None"),
    (X, {"transform": 3}, TypeError, "must be a function of one observation"),
    (X, {"seed": "one"}, TypeError, "`seed` must be an integer"),
    (X, {"seed": "one"}, TypeError, "None takes `config.default_seed`"),
    (X, {"parallel": None}, TypeError, "`parallel` must be False, True"),
    (X, {"num_workers": None}, TypeError, "0 loads in this process"),
    (X, {"num_epochs": 10**20}, ValueError, "None for no end"),
    # What is for workers is looked at when there are none, too.
    (X, {"ordered": 1}, TypeError, "`ordered` must be True or False"),
    (X, {"restarts": "x"}, TypeError, "`restarts` must be an integer"),
    (X, {"restarts": -1}, ValueError, "`restarts` must be an integer from 0 on"),
    (X, {"prefetch": 0, "parallel": 2}, ValueError, "`prefetch` must be an integer from 1 on"),
    (X, {"shared_memory_bytes": -1}, ValueError, "`shared_memory_bytes` must be an integer from"),
    (X, {"stall_timeout_s": "1"}, TypeError, "`stall_timeout_s` must be a number of seconds"),
    (X, {"stall_timeout_s": float("nan")}, ValueError, "must be a positive number of seconds"),
    (X, {"start_method": "thread"}, ValueError, "`start_method` must be 'forkserver'"),
    (X, {"on_error": "forget"}, ValueError, "forget"),
    (X, {"as_dict": True}, ValueError, "give a dict of containers"),
    (X, {"batch_size": 11, "partial": False}, ValueError, "larger than the data, which has 10"),
    (X, {"batch_size": 21, "partial": False, "num_epochs": 2}, ValueError, "20 in 2 epochs"),
    ((X, X[:5]), {}, ValueError, "same number of observations"),
    ({}, {}, ValueError, "at least one"),
    (iter(X), {}, TypeError, "make a list of it"),
    ("abc", {}, TypeError, "make a list of it"),
    (7, {}, TypeError, "observations need a container"),
    (STREAM, {"shuffle": True}, ValueError, "give the stream a shuffled scheme"),
    (STREAM, {"buffer": True}, ValueError, "asked for by number"),
    (
        DataStream(IndexableDataset(X), iteration_scheme=SequentialScheme(10, 2)),
        {"batch_size": None, "transform": abs},
        ValueError,
        "give a `batch_size`",
    ),
    (IterableDataset(X), {"shuffle": True}, ValueError, "read it into a list first"),
]


@pytest.mark.parametrize(("data", "arguments", "kind", "message"), REFUSED, ids=range(len(REFUSED)))
def test_what_cannot_be_done_is_refused_with_a_reason(
    data: Any, arguments: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        DataLoader(data, **arguments)


def test_a_function_that_draws_from_a_generator_of_its_own_is_refused() -> None:
    rng = numpy.random.default_rng(0)
    for arguments in (
        {"transform": lambda x: x + rng.normal()},
        {"collate": lambda xs: xs[rng.integers(len(xs))]},
    ):
        with pytest.raises(ValueError, match="holds a generator in 'rng'"):
            DataLoader(X, 2, **arguments)


def two(observation: Any, other: Any) -> None: ...


def nothing() -> None: ...


def by_keyword(observation: Any, *, rng: Any) -> None: ...


def generated(observation: Any) -> Any:
    yield observation


async def later(observation: Any) -> None: ...


class Later:
    async def __call__(self, observation: Any) -> None: ...


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (two, r"got two\(observation.*missing a required argument: 'other'"),
        (nothing, "too many positional arguments"),
        (by_keyword, "missing a required"),
        (generated, "generated, a generator function; write `f"),
        (later, "later, an asynchronous function"),
        (Later(), "Later, an asynchronous function"),
        (functools.partial(generated), "generated, a generator function"),
    ],
)
@pytest.mark.parametrize("argument", ["transform", "collate"])
def test_a_function_that_can_only_fail_is_refused_before_anything_is_loaded(
    function: Any, message: str, argument: str
) -> None:
    with pytest.raises(TypeError, match=message):
        DataLoader(X, 2, on_error="skip", **{argument: function})


def ends(observation: Any) -> Any:
    return next(iter(()))


class Ends:
    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: int) -> int:
        return next(iter(()))


@pytest.mark.parametrize("workers", [{}, {"parallel": 2}, {"num_workers": 1}], ids=str)
def test_stop_iteration_out_of_a_function_is_an_error_and_not_the_end_of_the_data(
    workers: dict[str, Any],
) -> None:
    for data, arguments in (
        (X, {"transform": ends}),
        (X, {"collate": ends}),
        (Ends(), {}),
        (Ends(), {"collate": True}),
        (Ends(), {"on_error": "raise"}),
    ):
        with DataLoader(data, 2, **arguments, **workers) as loader:
            with pytest.raises(RuntimeError, match="raised StopIteration"):
                list(loader)
    with DataLoader(X, -1, transform=ends, **workers) as loader:
        with pytest.raises(RuntimeError, match="raised StopIteration"):
            list(loader)


def test_a_batch_larger_than_the_data_is_one_short_batch() -> None:
    assert [batch.tolist() for batch in DataLoader(X, 99)] == [X.tolist()]
    assert len(DataLoader(X, 99)) == 1
    assert list(DataLoader(X[:0], 99, partial=False)) == []


def test_the_package_offers_the_loader_without_loading_it(
    fresh_python: Callable[..., str],
) -> None:
    code = """
import sys, fuel
assert {"DataLoader", "eachobs", "close_workers"} <= set(dir(fuel))
before = set(sys.modules)
assert not any(name.startswith(("fuel.loader", "fuel.streams", "numpy")) for name in before)
print([len(batch) for batch in fuel.DataLoader(range(5), 2)])
assert not {"h5py", "zmq", "multiprocessing", "scipy", "PIL"} & set(sys.modules)
fuel.close_dataloader_pool()
"""
    assert fresh_python(code).strip() == "[2, 2, 1]"
    with pytest.raises(AttributeError, match="no attribute 'Dataloader'"):
        fuel.Dataloader  # type: ignore[attr-defined]


def test_a_loader_shows_what_it_does() -> None:
    loader = DataLoader(
        (X, list("abcdefghij")), 4, shuffle=True, seed=3, collate=list, num_epochs=2
    )
    assert repr(loader) == (
        "<DataLoader((int64 array (10,), list of 10), batch_size=4, shuffle=True, seed=3, "
        "collate=list, num_epochs=2): 5 batches>"
    )
    text = loader.explain()
    assert text.startswith("DataLoader(") and "ContainerDataset, BatchOrder" in text
    assert "can be evaluated for any example, anywhere" in text
    assert "? batches" in repr(DataLoader(X, 4, num_epochs=None))
    assert "STREAM" not in repr(DataLoader(STREAM)) and "DataStream" in repr(DataLoader(STREAM))


def test_a_loader_is_true_and_closes() -> None:
    loader = DataLoader(X[:0])
    assert loader
    with DataLoader(X, 4) as loader:
        iterator = iter(loader)
        first = next(iterator)
    with pytest.raises(IteratorInvalidatedError):
        next(iterator)
    assert first.tolist() == [0, 1, 2, 3]
    assert len(list(loader)) == 3


def test_the_state_of_a_loader_is_that_of_the_iterator_started_last_even_when_it_is_gone() -> None:
    loader = DataLoader(X, 4, shuffle=True, seed=1)
    fresh = loader.state_dict()
    one, other = iter(loader), iter(loader)
    next(one), next(one), next(other)
    assert loader.state_dict() == other.state_dict() != one.state_dict()
    expected = other.state_dict()
    del other
    gc.collect()
    del one
    gc.collect()
    assert loader.state_dict() == expected
    for _batch in loader:
        break
    assert loader.state_dict()["run"] == 2 and loader.state_dict()["position"] == 4
    loader.load_state_dict(fresh)
    assert loader.state_dict() == fresh
    assert [batch.tolist() for batch in loader] == [
        batch.tolist() for batch in DataLoader(X, 4, shuffle=True, seed=1)
    ]


def test_an_iterator_goes_to_a_place_in_another_run() -> None:
    loader = DataLoader(X, 4, shuffle=True, seed=1)
    list(loader)
    later = iter(loader)
    next(later)
    state = later.state_dict()
    expected = [batch.tolist() for batch in later]
    iterator = iter(DataLoader(X, 4, shuffle=True, seed=1))
    next(iterator)
    iterator.load_state_dict(state)
    assert iterator.state_dict() == state
    assert [batch.tolist() for batch in iterator] == expected


def test_iterators_are_independent() -> None:
    loader = DataLoader(X, 4, shuffle=True, seed=1)
    expected = [[batch.tolist() for batch in DataLoader(X, 4, shuffle=True, seed=1)]]
    one, other = iter(loader), iter(loader)
    found = [next(one).tolist()]
    theirs = [batch.tolist() for batch in other]
    found += [batch.tolist() for batch in one]
    assert found == expected[0] and theirs != found


def test_a_state_of_another_loader_is_refused_with_both_sides() -> None:
    state = DataLoader(X, 4, shuffle=True, seed=1).state_dict()
    for other in (
        DataLoader(X, 4, shuffle=True, seed=2),
        DataLoader(X, 4),
        DataLoader(X[:9], 4, shuffle=True, seed=1),
        DataLoader(X, 4, shuffle=True, seed=1, num_epochs=2),
        DataLoader(X, 4, shuffle=True, seed=1, transform=abs),
        DataLoader({"x": X}, 4, shuffle=True, seed=1),
    ):
        with pytest.raises(StateMismatchError, match="saved"):
            other.load_state_dict(state)
    with pytest.raises(StateDamagedError):
        DataLoader(X, 4, shuffle=True, seed=1).load_state_dict({**state, "position": 3})
    for same in (
        DataLoader(X, 7, shuffle=True, seed=1, collate=False, partial=False, parallel=2),
        DataLoader(X, -1, shuffle=True, seed=1),
    ):
        same.load_state_dict(state)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_loaders_and_iterators_pickle_in_the_middle(protocol: int, on_error: str) -> None:
    data = {"x": X, "y": list("abcdefghij")}
    loader = DataLoader(data, 3, shuffle=True, seed=1, collate=True, on_error=on_error)
    iterator = iter(loader)
    next(iterator)
    state = loader.state_dict()
    twin = pickle.loads(pickle.dumps(loader, protocol))
    copy = pickle.loads(pickle.dumps(iterator, protocol))
    assert twin.state_dict() == copy.state_dict() == state
    told = [item["y"] for item in iterator]
    assert [item["y"] for item in copy] == told
    assert [item["y"] for item in twin] == [item["y"] for item in loader]


class Named(NamedTuple):
    """The first field is an array."""

    x: Any
    y: Any


def test_items_have_the_structure_of_the_data() -> None:
    item = next(iter(DataLoader(Named(X, list("abcdefghij")), 2)))
    assert isinstance(item, Named) and item.x.tolist() == [0, 1] and item.y == ["a", "b"]
    assert next(iter(DataLoader((X,), 2)))[0].tolist() == [0, 1]
    keys = next(iter(DataLoader({1: X, "1": X}, 2)))
    assert list(keys) == [1, "1"]
    (observation, _) = next(iter(DataLoader(Named(X, X), 2, collate=False)))
    assert isinstance(observation, Named)


def test_views_are_containers_and_files_are_too(tmp_path: Path) -> None:
    pairs = (X, list("abcdefghij"))
    view = obsview(pairs, [7, 3, 5])
    assert [(x.tolist(), y) for x, y in DataLoader(view, 2)] == [([7, 3], ["h", "d"]), ([5], ["f"])]
    mapped = mapobs(lambda pair: (pair[0] * 2, pair[1]), shuffleobs(pairs, seed=1))
    stacked = [x.tolist() for x, _ in DataLoader(mapped, 10, collate=True)]
    assert sorted(stacked[0]) == (X * 2).tolist()
    with h5py.File(tmp_path / "f.hdf5", "w") as file:
        file["x"] = numpy.arange(20).reshape(10, 2)
        loader = DataLoader((file["x"], X), 4, shuffle=True, seed=1)
        for rows, numbers in loader:
            assert rows[:, 0].tolist() == (numbers * 2).tolist()
    numpy.save(tmp_path / "x.npy", X)
    mapped_array = numpy.load(tmp_path / "x.npy", mmap_mode="r")
    batch = next(iter(DataLoader(mapped_array, 4)))
    assert type(batch) is numpy.ndarray and batch.flags.writeable


@pytest.mark.parametrize("arguments", [{"collate": False}, {"transform": str, "collate": False}])
def test_a_view_is_asked_for_single_observations_where_these_are_wanted(arguments: Any) -> None:
    told = mapobs(lambda pair: f"{pair!r}", [(1, "a"), (2, "b"), (3, "c")])
    batches = list(DataLoader(told, 2, **arguments))
    assert batches == [["(1, 'a')", "(2, 'b')"], ["(3, 'c')"]]


def test_a_stream_says_what_is_in_a_batch_and_makes_it_again() -> None:
    loader = DataLoader(STREAM, 4)
    iterator = iter(loader)
    next(iterator)
    assert loader.batch_ids(1).tolist() == [4, 5, 6, 7]
    assert loader.replay_batch(iterator.state_dict(), 2)[0].tolist() == [8, 9]
    assert next(iterator)[0].tolist() == [4, 5, 6, 7]
    with pytest.raises(TypeError):
        DataLoader(IterableDataset(X), 4).batch_ids(0)


def test_places_that_are_not_there_are_refused() -> None:
    loader = DataLoader(X, 4)
    iterator = iter(loader)
    for place in (-1, 4):
        with pytest.raises(RequestError, match=f"item {place}"):
            iterator.seek(place)
    with pytest.raises(ValueError, match="`count` must be"):
        iterator.skip(-1)
    iterator.seek(3)
    assert list(iterator) == []


def test_data_that_shrank_is_told(tmp_path: Path) -> None:
    data = list(range(10))
    loader = DataLoader(data, 4)
    del data[6:]
    with pytest.raises(RequestError):
        list(loader)


@pytest.mark.parametrize("workers", [{}, {"parallel": 2}, {"num_workers": 1}])
def test_an_iterator_that_was_closed_says_so_and_the_loader_goes_on(workers: Any) -> None:
    loader = DataLoader(numpy.arange(20), 4, **workers)
    with loader:
        iterator = iter(loader)
        next(iterator)
        state = iterator.state_dict()
        complete = iter(DataLoader(numpy.arange(4), 4, **workers))
        assert len(list(complete)) == 1
        complete.close()
        assert list(complete) == []
    with pytest.raises(IteratorInvalidatedError, match="closed before the end.*1 items into it"):
        next(iterator)
    assert iterator.state_dict() == state
    loader.load_state_dict(state)
    assert [batch.tolist() for batch in loader][0] == [4, 5, 6, 7]
    loader.close()


@pytest.mark.parametrize(
    ("given", "advice"),
    [
        ({"drop_last": True}, "partial=False"),
        ({"collate_fn": list}, "`collate` here"),
        ({"workers": 2}, "num_workers=n"),
        ({"pin_memory": True, "sampler": []}, "pin_memory.*NumPy.*sampler.*DataStream"),
        ({"shufle": True}, "did you mean `shuffle`"),
        ({"zzz": 1}, "there are shuffle, partial"),
    ],
)
def test_arguments_by_other_names_are_told_what_they_are_called_here(
    given: Any, advice: str
) -> None:
    with pytest.raises(TypeError, match=f"no argument.*{advice}"):
        DataLoader(X, 4, **given)


def test_every_name_elsewhere_is_no_name_here() -> None:
    from fuel.loader._other_names import _HERE

    assert not set(_HERE) & set(DataLoader.__init__.__kwdefaults__)
