"""`numobs` and `getobs`: one observation, a batch, into arrays that are there, and refusals."""

from __future__ import annotations

import importlib.util
import pickle
from collections import deque, namedtuple
from pathlib import Path
from typing import Any

import h5py
import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuel.datasets import H5PYDataset, IndexableDataset, IterableDataset
from fuel.exceptions import RequestError
from fuel.observations import ObsView, getobs, mapobs, numobs
from fuel.schemes import SequentialScheme
from fuel.streams import DataStream


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


shared = load("_containers")
plain, transposed = shared.plain, shared.transposed


@settings(deadline=None)
@given(st.data())
def test_a_batch_is_its_observations_put_together(data: st.DataObject) -> None:
    container = data.draw(shared.containers())
    count = numobs(container)
    indices = data.draw(st.lists(st.integers(0, count - 1), min_size=1))
    expected = transposed([getobs(container, index) for index in indices])
    for request in (indices, tuple(indices), numpy.array(indices)):
        assert plain(getobs(container, request)) == expected


@settings(deadline=None)
@given(st.data())
def test_slices_ranges_and_masks_are_indices_in_short(data: st.DataObject) -> None:
    container = data.draw(shared.containers())
    count = numobs(container)
    start = data.draw(st.integers(0, count - 1))
    stop = data.draw(st.integers(start + 1, count))
    step = data.draw(st.integers(1, 3))
    expected = plain(getobs(container, list(range(start, stop, step))))
    assert plain(getobs(container, slice(start, stop, step))) == expected
    assert plain(getobs(container, range(start, stop, step))) == expected
    mask = numpy.zeros(count, bool)
    mask[start:stop:step] = True
    assert plain(getobs(container, mask)) == expected
    assert plain(getobs(container)) == plain(getobs(container, range(count)))


@pytest.mark.parametrize("kind", ["vector", "table", "big", "strided", "texts"])
def test_arrays_are_fetched_as_numpy_does(kind: str) -> None:
    array = shared.column(kind, 9)
    for request in ([4, 0, 4], slice(2, 7, 2), 3):
        fetched = getobs(array, request)
        numpy.testing.assert_array_equal(fetched, array[request])
        assert fetched.dtype == array[request].dtype


def test_the_structure_of_a_container_is_that_of_an_observation() -> None:
    pair = namedtuple("pair", "x y")
    data = pair({"a": numpy.arange(4)}, (numpy.arange(4) * 2, list("abcd")))
    one = getobs(data, 2)
    assert type(one) is pair and one == pair({"a": 2}, (4, "c"))
    several = getobs(data, [2, 3])
    assert type(several) is pair and several.y[1] == ["c", "d"]
    assert numobs(data) == 4


def test_a_list_is_a_container_of_observations_and_a_tuple_one_of_containers() -> None:
    columns = [[1, 2, 3], [4, 5, 6]]
    assert numobs(columns) == 2 and getobs(columns, 1) == [4, 5, 6]
    assert numobs(tuple(columns)) == 3 and getobs(tuple(columns), 1) == (2, 5)


@settings(deadline=None)
@given(st.sampled_from(["vector", "table", "objects", "list", "dataset"]), st.data())
def test_what_is_fetched_shares_nothing_with_the_container(kind: str, data: st.DataObject) -> None:
    container = (shared.column(kind, 5),)
    before = plain(getobs(container))
    request = data.draw(st.sampled_from([0, 3, slice(0, 3), [1, 2], None]))

    def spoil(value: Any) -> None:
        if isinstance(value, numpy.ndarray) and value.dtype.kind != "O":
            value[...] = 0
        elif isinstance(value, (tuple, list, numpy.ndarray)):
            for each in value:
                spoil(each)
            if isinstance(value, list):
                value.clear()

    spoil(getobs(container, request))
    assert plain(getobs(container)) == before


def test_what_other_objects_hold_is_copied() -> None:
    held = deque([numpy.zeros(2), numpy.zeros(2)])
    for request in (0, [0, 1], slice(0, 2)):
        fetched = getobs(held, request)
        for array in fetched if isinstance(fetched, list) else [fetched]:
            assert not any(numpy.shares_memory(array, each) for each in held)


def test_a_memory_map_is_an_array(tmp_path: Path) -> None:
    numpy.save(tmp_path / "x.npy", numpy.arange(12).reshape(6, 2))
    mapped = numpy.load(tmp_path / "x.npy", mmap_mode="r")
    assert numobs(mapped) == 6
    for request in (1, [4, 1], slice(0, 2)):
        fetched = getobs(mapped, request)
        assert type(fetched) is numpy.ndarray and fetched.flags.writeable
        numpy.testing.assert_array_equal(fetched, mapped[request])


def test_hdf5_is_read_in_any_order(tmp_path: Path) -> None:
    values = numpy.arange(20).reshape(10, 2)
    with h5py.File(tmp_path / "x.hdf5", "w") as file:
        data = file.create_dataset("x", data=values, chunks=(3, 2))
        assert numobs(data) == 10
        numpy.testing.assert_array_equal(getobs(data, [7, 1, 7]), values[[7, 1, 7]])
        view = ObsView(ObsView(data, [9, 3, 5]), [2, 0])
        numpy.testing.assert_array_equal(getobs(view), values[[5, 9]])
        out = numpy.empty((2, 2), values.dtype)
        assert getobs((data,), [3, 2], out=(out,))[0] is out
        numpy.testing.assert_array_equal(out, values[[3, 2]])
        # A file is a dict of its datasets.
        assert numobs(file) == 10 and getobs(file, 2)["x"].tolist() == [4, 5]


def test_datasets_answer_with_one_entry_a_source(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "x.hdf5", "w") as file:
        file["a"], file["b"] = numpy.arange(10), numpy.arange(20).reshape(10, 2)
    for dataset in (
        H5PYDataset(tmp_path / "x.hdf5", which_sets=None),
        IndexableDataset({"a": numpy.arange(10), "b": numpy.arange(20).reshape(10, 2)}),
    ):
        assert numobs(dataset) == 10
        a, b = getobs(dataset, [9, 3])
        assert a.tolist() == [9, 3] and b.tolist() == [[18, 19], [6, 7]]
        assert getobs(dataset, 4)[0] == 4
        doubled = mapobs(lambda pair: pair[0] * 2, ObsView(dataset, [8, 2]))
        assert getobs(doubled).tolist() == [16, 4]


def test_a_dataset_of_a_user_is_asked_with_lists() -> None:
    class Users:
        sources = ("n",)
        num_examples = 6
        asked: list[Any] = []

        def get_data(self, state: Any = None, request: Any = None) -> Any:
            self.asked.append((state, request))
            return (request,)

    assert numobs(Users()) == 6
    getobs(Users(), slice(1, 3)), getobs(Users(), numpy.array([2, 5])), getobs(Users(), 4)
    assert Users.asked == [(None, [1, 2]), (None, [2, 5]), (None, 4)]
    assert all(type(request) in (int, list) for _, request in Users.asked)


@settings(deadline=None)
@given(st.data())
def test_out_is_filled_and_returned(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 9))
    kinds = ["vector", "table", "big", "strided", "texts", "squares", "range"]
    columns = data.draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=3))
    form = data.draw(st.sampled_from([tuple, lambda c: dict(zip("abc", c)), lambda c: c[0]]))
    container = form([shared.column(kind, count) for kind in columns])
    request = data.draw(
        st.one_of(
            st.integers(0, count - 1),
            st.lists(st.integers(0, count - 1), min_size=1),
            st.just(slice(0, count)),
        )
    )
    if data.draw(st.booleans()):
        container = mapobs(lambda whole: whole, container)
    expected = getobs(container, request)

    def like(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(like, value))
        if isinstance(value, dict):
            return {key: like(each) for key, each in value.items()}
        return numpy.empty_like(numpy.asarray(value))

    out = like(expected)
    parts = out if isinstance(out, tuple) else list(out.values()) if type(out) is dict else [out]
    given_parts = list(parts)
    assert getobs(container, request, out=out) is out
    assert plain(out) == plain(expected)
    after = out if isinstance(out, tuple) else list(out.values()) if type(out) is dict else [out]
    assert all(new is old for new, old in zip(after, given_parts, strict=True))


def test_out_may_overlap_the_container_and_lie_in_any_way() -> None:
    array = numpy.arange(10)
    getobs(array, [3, 2, 1, 0], out=array[:4])
    assert array[:4].tolist() == [3, 2, 1, 0]
    getobs(array, slice(0, 9), out=array[1:])
    assert array.tolist() == [3, 3, 2, 1, 0, 4, 5, 6, 7, 8]
    wide = numpy.zeros((2, 6), array.dtype)
    getobs(array.reshape(5, 2), [4, 0], out=wide[:, ::3])
    assert wide[:, ::3].tolist() == [[7, 8], [3, 3]]


def test_a_list_is_filled_too() -> None:
    out: list[Any] = [None, None]
    assert getobs(["a", "b", "c"], [2, 0], out=out) is out and out == ["c", "a"]
    entries: dict[str, Any] = {"x": None}
    assert getobs({"x": [1, 2]}, [1, 0], out=entries) is entries and entries == {"x": [2, 1]}


@pytest.mark.parametrize(
    ("container", "out", "message"),
    [
        (numpy.zeros((4, 3)), numpy.zeros((3, 3)), r"shape \(2, 3\) and type float64, got.*3, 3"),
        (numpy.zeros((4, 3)), numpy.zeros((2, 3), "float32"), "type float64, got.*float32"),
        ((numpy.zeros(4),), (numpy.zeros(2),) * 2, "tuple of 1 arrays, got tuple of 2"),
        ({"x": numpy.zeros(4)}, {"y": numpy.zeros(2)}, r"keys \['x'\], got the keys \['y'\]"),
        ({"x": numpy.zeros(4)}, numpy.zeros(2), "a dict with the keys"),
        ((["a", "b"],), (None,), "entry 0; use a dict"),
        (["a", "b"], ["c"], "as many entries"),
        (["a", "b"], "ab", "structure of the result, list, got str"),
    ],
)
def test_out_of_another_form_is_refused(container: Any, out: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        getobs(container, [0, 1], out=out)


@pytest.mark.parametrize("request_", [-1, 5, [0, -1], [5], [], slice(-2, None), slice(3, 9)])
@pytest.mark.parametrize("kind", shared.KINDS)
def test_indices_that_are_not_there_are_refused(kind: str, request_: Any) -> None:
    container = shared.column(kind, 5)
    for data in (container, (container,), {"a": container}, ObsView(container)):
        with pytest.raises(RequestError):
            getobs(data, request_)
    with pytest.raises(RequestError):
        ObsView(container)[request_]


@pytest.mark.parametrize("request_", [1.0, "a", [0.5], True, [True, 1], [[0], [1]]])
def test_other_things_are_no_indices(request_: Any) -> None:
    with pytest.raises(ValueError, match="cannot answer a request"):
        getobs(numpy.arange(5), request_)


def test_unequal_lengths_are_shown() -> None:
    pair = namedtuple("pair", "x y")
    x, y = numpy.zeros(3), numpy.zeros(4)
    with pytest.raises(ValueError, match=r"got \{'x': 3, 'y': 4\}"):
        numobs({"x": x, "y": y})
    with pytest.raises(ValueError, match=r"got \(3, 4\).*list where each entry is an observation"):
        numobs((x, y))
    with pytest.raises(ValueError, match=r"pair.*got \{'x': 3, 'y': 4\}"):
        getobs(pair(x, y), 0)
    for empty in ((), {}):
        with pytest.raises(ValueError, match="at least one"):
            numobs(empty)


@pytest.mark.parametrize(
    "data",
    [3, None, {1, 2}, iter([1]), numpy.array(3), list, object(), IterableDataset([1, 2])],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_container_is_refused(data: Any) -> None:
    for call in (numobs, lambda data: getobs(data, 0), ObsView):
        with pytest.raises(TypeError, match="observations (need|are)"):
            call(data)


def test_streams_and_endless_datasets_are_refused() -> None:
    stream = DataStream(IndexableDataset([1, 2]), iteration_scheme=SequentialScheme(2, 1))
    with pytest.raises(TypeError, match="by number, got DataStream"):
        numobs(stream)

    class Endless:
        sources = ("n",)

        def get_data(self, state: Any = None, request: Any = None) -> Any:
            return (0,)

    with pytest.raises(TypeError, match="num_examples"):
        numobs(Endless())


@settings(deadline=None)
@given(shared.containers())
def test_an_empty_choice_of_any_container_has_no_observations(container: Any) -> None:
    view = ObsView(container, [])
    assert numobs(view) == 0 and list(view) == []
    with pytest.raises(RequestError, match="is empty"):
        getobs(view, 0)


def test_all_of_nothing_is_an_empty_batch() -> None:
    x, words = getobs((numpy.zeros((0, 3)), []))
    assert x.shape == (0, 3) and words == []
    assert getobs(ObsView(shared.Squares(4), [])) == []
    assert getobs(ObsView(shared.AtOnce(4), [])) == []  # it need not know what to do with none
    assert getobs(pickle.loads(pickle.dumps(ObsView(numpy.zeros((3, 2)), [])))).shape == (0, 2)
