"""The laws of `IterableDataset` and of the walk that is its state."""

import collections
import copy
import json
import math
import pickle

import numpy
import pytest

from fuel.datasets import IterableDataset
from fuel.typing import Spec


class Countdown:
    """Iterable without a length."""

    def __iter__(self):
        return iter([3, 2, 1])


def read(dataset, state):
    examples = []
    while True:
        try:
            examples.append(dataset.get_data(state))
        except StopIteration:
            return examples


def test_the_manual_walks_through_an_iterable_dataset():
    features = numpy.arange(32).reshape(8, 2, 2)
    targets = numpy.arange(8).reshape(8, 1)
    dataset = IterableDataset(
        iterables=collections.OrderedDict([("features", features), ("targets", targets)]),
        axis_labels=collections.OrderedDict(
            [("features", ("batch", "height", "width")), ("targets", ("batch", "index"))]
        ),
    )
    assert dataset.provides_sources == dataset.sources == ("features", "targets")
    assert dataset.axis_labels["targets"] == ("batch", "index")
    assert dataset.num_examples == 8
    state = dataset.open()
    assert state.__class__.__name__ == "imap"
    examples = read(dataset, state)
    assert len(examples) == 8
    for number, (feature, target) in enumerate(examples):
        assert numpy.array_equal(feature, features[number])
        assert numpy.array_equal(target, targets[number])
    with pytest.raises(StopIteration):
        dataset.get_data(state=state)
    state = dataset.reset(state=state)
    assert numpy.array_equal(dataset.get_data(state=state)[0], features[0])
    dataset.close(state=state)


def test_one_iterable_is_the_source_data():
    dataset = IterableDataset([1, 2])
    assert dataset.sources == ("data",)
    assert read(dataset, dataset.open()) == [(1,), (2,)]


def test_sources_choose_and_order():
    dataset = IterableDataset({"a": [1, 2], "b": "xy"}, sources=("b", "a"))
    assert dataset.iterables == ["xy", [1, 2]]
    assert read(dataset, dataset.open()) == [("x", 1), ("y", 2)]


def test_something_that_is_not_iterable_is_refused_by_name():
    with pytest.raises(ValueError, match="must be iterable, got int for source 'b'"):
        IterableDataset({"a": [1], "b": 5})


def test_unequal_lengths_are_refused_where_they_are_known():
    with pytest.raises(ValueError, match=r"same length, got {'a': 2, 'b': 3}"):
        IterableDataset({"a": [1, 2], "b": [1, 2, 3]})
    dataset = IterableDataset({"a": [1, 2], "b": Countdown()})
    assert read(dataset, dataset.open()) == [(1, 3), (2, 2)]


def test_num_examples_is_nan_where_a_length_is_unknown():
    assert math.isnan(IterableDataset(Countdown()).num_examples)


def test_a_request_or_a_missing_state_is_refused():
    dataset = IterableDataset([1, 2])
    with pytest.raises(ValueError, match="request"):
        dataset.get_data(dataset.open(), request=[0])
    with pytest.raises(ValueError, match="needs a state"):
        dataset.get_data()


def test_there_is_no_scheme_to_choose_examples_with():
    assert IterableDataset([1]).example_iteration_scheme is None


def test_states_do_not_disturb_each_other():
    dataset = IterableDataset({"a": [1, 2, 3], "b": Countdown()})
    first, second = dataset.open(), dataset.open()
    assert dataset.get_data(first) == (1, 3)
    assert dataset.get_data(second) == (1, 3)
    assert dataset.get_data(first) == (2, 2)


@pytest.mark.parametrize("done", range(4))
def test_a_walk_pickles_at_every_point(done):
    dataset = IterableDataset(
        {"a": numpy.arange(3), "b": Countdown(), "c": {"x": 1, "y": 2, "z": 3}}
    )
    state = dataset.open()
    for _ in range(done):
        dataset.get_data(state)
    dataset2, state2 = pickle.loads(pickle.dumps((dataset, state)))
    assert read(dataset2, state2) == read(dataset, state)


@pytest.mark.parametrize("done", range(4))
def test_a_walk_goes_to_a_mark(done):
    dataset = IterableDataset({"a": "xyz", "b": Countdown()})
    state = dataset.open()
    for _ in range(done):
        dataset.get_data(state)
    mark = json.loads(json.dumps(state.tell()))
    rest = read(dataset, state)
    for fresh in (dataset.open(), state):
        fresh.seek(mark)
        assert read(dataset, fresh) == rest


def test_a_walk_of_arrays_goes_to_a_mark_without_walking():
    class Counting(list):
        read = 0

    state = IterableDataset(numpy.arange(10**7)).open()
    state.seek(10**7 - 1)
    assert next(state) == (10**7 - 1,)


def test_items_are_the_readers_own():
    features = numpy.zeros((3, 2))
    items = [numpy.zeros(2) for _ in range(3)]
    dataset = IterableDataset({"array": features, "list": items})
    array, item = dataset.get_data(dataset.open())
    array += 1
    item += 1
    assert not features.any()
    assert not items[0].any()


def test_specs_are_known_for_what_stays():
    dataset = IterableDataset({"a": numpy.zeros((3, 2), "float32"), "b": Countdown()})
    assert dataset.specs == {"a": Spec((2,), numpy.dtype("float32")), "b": Spec(None, None)}


def test_a_copy_is_a_dataset_too():
    dataset = copy.copy(IterableDataset([1, 2]))
    assert read(dataset, dataset.open()) == [(1,), (2,)]


def test_an_old_style_sequence_is_iterable():
    class Old:
        def __getitem__(self, index):
            if index > 1:
                raise IndexError
            return index

    dataset = IterableDataset(Old())
    assert read(dataset, dataset.open()) == [(0,), (1,)]
