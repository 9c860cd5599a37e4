"""The laws of `IndexableDataset`: containers, bounds, attributes, pickling, ownership."""

import array
import collections
import copy
import pickle
import subprocess
import sys

import numpy
import pytest

from fuel.datasets import IndexableDataset, IterableDataset
from fuel.exceptions import RequestError
from fuel.typing import Spec
from fuel.utils import do_not_pickle_attributes


class Squares:
    """Knows single indices only."""

    def __len__(self):
        return 10

    def __getitem__(self, index):
        if not isinstance(index, int):
            raise TypeError("ints only")
        return index * index


class Loaded(IndexableDataset):
    """A subclass of the kind that loads its data again after unpickling."""

    def __init__(self, **kwargs):
        super().__init__(self.make(), **kwargs)

    @staticmethod
    def make():
        return {"features": numpy.arange(10**6), "targets": numpy.arange(10**6)}

    def load(self):
        data = self.make()
        self.indexables = [data[source][self.start : self.stop] for source in self.sources]


Lazy = do_not_pickle_attributes("indexables")(Loaded)


def test_the_manual_asks_an_indexable_dataset():
    features = numpy.arange(32).reshape(8, 2, 2)
    targets = numpy.arange(8).reshape(8, 1)
    indexables = collections.OrderedDict([("features", features), ("targets", targets)])
    dataset = IndexableDataset(indexables=indexables)
    state = dataset.open()
    assert state is None
    data = dataset.get_data(state=state, request=[0, 1])
    assert isinstance(data, tuple)
    assert numpy.array_equal(data[0], features[:2])
    assert numpy.array_equal(data[1], targets[:2])
    dataset.close(state=state)
    restricted = IndexableDataset(indexables=indexables, sources=("features",))
    assert restricted.provides_sources == ("features", "targets")
    assert restricted.sources == ("features",)
    assert len(restricted.get_data(request=[0, 1])) == 1


def test_the_manual_subclasses_for_npy_files(tmp_path):
    class NPYDataset(IndexableDataset):
        def __init__(self, source_paths, **kwargs):
            indexables = {source: numpy.load(path) for source, path in source_paths.items()}
            super().__init__(indexables, **kwargs)

    numpy.save(tmp_path / "features.npy", numpy.arange(40).reshape((10, 4)))
    dataset = NPYDataset({"features": tmp_path / "features.npy"})
    (batch,) = dataset.get_data(request=[0, 1, 2, 3])
    assert numpy.array_equal(batch, numpy.arange(16).reshape(4, 4))


def test_start_and_stop_are_applied_once_to_every_container():
    indexables = {"array": numpy.arange(10), "list": list(range(10)), "single": Squares()}
    dataset = IndexableDataset(indexables, start=2, stop=8)
    assert dataset.num_examples == 6
    assert dataset.get_data(request=0) == (2, 2, 4)
    array, as_list, single = dataset.get_data(request=[5, 0])
    assert array.tolist() == [7, 2]
    assert as_list == [7, 2]
    assert single == [49, 4]
    array, as_list, single = dataset.get_data(request=slice(1, 6, 2))
    assert array.tolist() == as_list == [3, 5, 7]
    assert single == [9, 25, 49]
    with pytest.raises(RequestError):
        dataset.get_data(request=[6])


def test_a_single_container_is_cut_too():
    assert IndexableDataset(numpy.arange(10), start=4).get_data(request=[0]) == (4,)


@pytest.mark.parametrize("bounds", [(-1, None), (None, 11), (5, 4), (10, None), (None, -2)])
def test_bounds_must_lie_within_the_data(bounds):
    with pytest.raises(ValueError, match="the data has 10 examples"):
        IndexableDataset(numpy.arange(10), *bounds)


def test_sources_are_attributes():
    features = numpy.arange(4)
    dataset = IndexableDataset({"features": features, "targets": [1, 2, 3, 4]}, stop=3)
    assert numpy.array_equal(dataset.features, features[:3])
    assert dataset.targets == [1, 2, 3]
    with pytest.raises(AttributeError, match=r"no attribute 'labels'.*'features', 'targets'"):
        _ = dataset.labels


def test_unequal_lengths_are_refused():
    with pytest.raises(ValueError, match=r"same length, got {'a': 2, 'b': 3}"):
        IndexableDataset({"a": [1, 2], "b": [1, 2, 3]})


def test_something_that_has_no_items_is_refused_by_name():
    with pytest.raises(ValueError, match="got generator for source 'a'"):
        IndexableDataset({"a": (i for i in range(3))})


@pytest.mark.parametrize("arguments", [{}, {"state": 1, "request": [0]}, {"state": 1}])
def test_a_request_and_no_state_is_needed(arguments):
    with pytest.raises(ValueError, match="needs a request and no state"):
        IndexableDataset([1, 2]).get_data(**arguments)


def test_memory_maps_are_read_into_ordinary_arrays(tmp_path):
    numpy.save(tmp_path / "x.npy", numpy.arange(20).reshape(10, 2))
    dataset = IndexableDataset(numpy.load(tmp_path / "x.npy", mmap_mode="r"), start=1)
    for request, expected in [
        (slice(0, 2), [[2, 3], [4, 5]]),
        ([8, 0], [[18, 19], [2, 3]]),
        (3, [8, 9]),
    ]:
        (batch,) = dataset.get_data(request=request)
        assert type(batch) is numpy.ndarray
        assert batch.flags.writeable
        assert batch.tolist() == expected


@pytest.mark.parametrize("request_", [0, slice(0, 2), [0, 1], [True, True, False]])
def test_an_array_handed_out_shares_nothing_with_the_data(request_):
    ragged = numpy.empty(3, dtype=object)
    ragged[:] = [numpy.zeros(size) for size in (1, 2, 3)]
    structured = numpy.zeros(3, dtype=[("a", "i4"), ("b", "f8")])
    data = {
        "array": numpy.zeros((3, 2)),
        "list": [numpy.zeros(2) for _ in range(3)],
        "ragged": ragged,
        "structured": structured,
    }
    batch = IndexableDataset(data).get_data(request=request_)
    for item in (batch[0], batch[1] if request_ == 0 else batch[1][0]):
        item += 1
    inner = batch[2] if request_ == 0 else batch[2][0]
    inner += 1
    batch[3]["a"] = 7
    assert not data["array"].any()
    assert not any(item.any() for item in data["list"])
    assert not any(item.any() for item in ragged)
    assert not structured["a"].any()


def test_examples_asked_for_twice_are_two():
    dataset = IndexableDataset([numpy.zeros(2)])
    (batch,) = dataset.get_data(request=[0, 0])
    batch[0] += 1
    assert not batch[1].any()


def test_a_dataset_without_examples_answers_nothing():
    dataset = IndexableDataset({"x": numpy.zeros((0, 2))})
    assert dataset.num_examples == 0
    for request in (0, [0], [], slice(None), slice(0, 0), numpy.zeros(0, bool)):
        with pytest.raises(RequestError, match="is empty"):
            dataset.get_data(request=request)


def test_specs_tell_shape_and_type():
    dataset = IndexableDataset(
        {
            "array": numpy.zeros((2, 3, 4), "uint8"),
            "numbers": [1.5, 2.5],
            "same": [numpy.zeros((2, 3), "f4"), numpy.ones((2, 3), "f4")],
            "ragged": [numpy.zeros((2, 3)), numpy.zeros((2, 5))],
            "tokens": [[1, 2], [3]],
            "text": ["a", "b"],
            "single": range(2),
        }
    )
    assert dataset.specs == {
        "array": Spec((3, 4), numpy.dtype("uint8")),
        "numbers": Spec((), numpy.dtype("float64")),
        "same": Spec((2, 3), numpy.dtype("float32")),
        "ragged": Spec((2, None), numpy.dtype("float64")),
        "tokens": Spec((None,), numpy.asarray(1).dtype),
        "text": Spec(None, None),
        "single": Spec((), numpy.dtype("int64")),
    }


def test_specs_of_objects_of_different_kinds_are_unknown():
    assert IndexableDataset([1, "a"]).specs == {"data": Spec(None, None)}
    assert IndexableDataset([]).specs == {"data": Spec(None, None)}


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_subclass_unpickles(protocol):
    dataset = pickle.loads(pickle.dumps(Loaded(start=5), protocol))
    assert dataset.get_data(request=[0])[0].tolist() == [5]
    assert dataset.features[0] == 5
    assert copy.deepcopy(dataset).num_examples == dataset.num_examples == 10**6 - 5


def test_data_that_can_be_loaded_again_stays_out_of_the_pickle():
    dataset = Lazy(stop=20, sources=("targets",))
    pickled = pickle.dumps(dataset)
    assert len(pickled) < 2000
    again = pickle.loads(pickled)
    assert again.num_examples == 20
    assert again.targets.tolist() == list(range(20))
    assert again.get_data(request=[3])[0].tolist() == [3]


def test_an_object_without_state_has_no_attributes():
    dataset = IndexableDataset.__new__(IndexableDataset)
    for name in ("features", "indexables", "_indexables", "__setstate_x__"):
        with pytest.raises(AttributeError):
            getattr(dataset, name)
    assert "IndexableDataset" in repr(dataset)


def test_it_unpickles_in_a_new_process(tmp_path):
    dataset = IndexableDataset({"x": numpy.arange(6), "y": list("abcdef")}, start=1)
    (tmp_path / "d.pkl").write_bytes(pickle.dumps(dataset))
    program = (
        "import pickle, sys; d = pickle.load(open(sys.argv[1], 'rb'))\n"
        "x, y = d.get_data(request=[4, 0]); print(x.tolist(), y, d.example_iteration_scheme and 1)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "d.pkl")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[5, 1] ['f', 'b'] 1"


def test_the_example_scheme_visits_all():
    dataset = IndexableDataset(numpy.arange(5), start=2)
    assert list(dataset.example_iteration_scheme.get_request_iterator()) == [0, 1, 2]


def test_an_hdf5_dataset_is_an_indexable(tmp_path):
    import h5py

    with h5py.File(tmp_path / "x.hdf5", "w") as file:
        file["x"] = numpy.arange(10)
        dataset = IndexableDataset({"x": file["x"]}, start=2)
        assert dataset.get_data(request=[3, 0, 0])[0].tolist() == [5, 2, 2]
        assert dataset.get_data(request=slice(1, 3))[0].tolist() == [3, 4]
        assert dataset.get_data(request=4)[0] == 6


def test_a_container_that_changed_its_length_is_noticed():
    data = {"a": [1, 2], "b": [1, 2]}
    dataset = IndexableDataset(data)
    data["a"].append(3)
    with pytest.raises(ValueError, match="same length"):
        dataset.get_data(request=[0])


@pytest.mark.parametrize("make", [IndexableDataset, IterableDataset])
def test_what_is_no_collection_is_refused_by_name(make):
    with pytest.raises(ValueError, match="got ndarray for source 'x'"):
        make({"x": numpy.array(3)})
    with pytest.raises(ValueError, match="at least one source, got an empty dict"):
        make({})


def test_bounds_that_are_no_integers_are_refused_by_name():
    with pytest.raises(TypeError, match=r"must be integers, got start=1\.0 and stop='2'"):
        IndexableDataset([1, 2, 3], start=1.0, stop="2")


@pytest.mark.parametrize(
    "container",
    [
        array.array("d", [1, 2, 3, 4]),
        collections.deque([1, 2, 3, 4]),
        collections.UserList([1, 2, 3, 4]),
        bytearray([1, 2, 3, 4]),
        memoryview(bytes([1, 2, 3, 4])),
        range(1, 5),
    ],
    ids=lambda container: type(container).__name__,
)
def test_every_python_sequence_is_a_source(container):
    dataset = IndexableDataset({"x": container}, start=1)
    assert dataset.num_examples == 3
    assert dataset.get_data(request=0) == (2,)
    assert dataset.get_data(request=[2, 0]) == ([4, 2],)
    assert list(dataset.get_data(request=slice(1, 3))[0]) == [3, 4]
