"""What the schemes of the original framework request."""

from __future__ import annotations

import random

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuel.config_parser import config
from fuel.schemes import (
    BatchScheme,
    BatchSizeScheme,
    ConstantScheme,
    IndexScheme,
    IterationScheme,
    SequentialExampleScheme,
    SequentialScheme,
    ShuffledExampleScheme,
    ShuffledScheme,
)


def epoch(scheme):
    return list(scheme.get_request_iterator())


def chunks(items, size):
    return [items[start : start + size] for start in range(0, len(items), size)]


@given(st.integers(0, 40), st.integers(1, 10))
def test_sequential_batches_are_lists_of_consecutive_indices(count, batch_size):
    requests = epoch(SequentialScheme(count, batch_size))
    assert requests == chunks(list(range(count)), batch_size)
    assert all(type(index) is int for request in requests for index in request)


@pytest.mark.parametrize(
    "examples",
    [[3, 1, 4, 1], (3, 1, 4, 1), "abcd", ["x", "y"], [(1, 2), (3, 4)], range(8, 0, -2), [1.5]],
)
def test_indices_of_any_kind_are_requested_as_they_were_given(examples):
    assert epoch(SequentialScheme(examples, 3)) == chunks(list(examples), 3)
    assert epoch(SequentialExampleScheme(examples)) == list(examples)
    assert SequentialScheme(examples, 3).indices is examples


def test_arrays_sets_and_dictionaries_are_indices_too():
    assert epoch(SequentialScheme(numpy.array([5, 6, 7]), 2)) == [[5, 6], [7]]
    assert epoch(SequentialExampleScheme({5: "a", 6: "b"})) == [5, 6]
    assert sorted(epoch(SequentialExampleScheme({5, 6}))) == [5, 6]
    rows = epoch(SequentialScheme(numpy.eye(3), 2))
    assert [len(request) for request in rows] == [2, 1]


def test_an_integer_stands_for_a_range():
    for scheme in (SequentialScheme(4, 2), SequentialScheme(numpy.int64(4), 2)):
        assert scheme.indices == range(4)
    assert next(SequentialExampleScheme(2**62).get_request_iterator()) == 0


def test_a_one_shot_iterator_is_used_up_by_an_epoch():
    for make in (SequentialExampleScheme, lambda it: ShuffledExampleScheme(it)):
        scheme = make(iter([1, 2, 3]))
        assert sorted(epoch(scheme)) == [1, 2, 3]
        assert epoch(scheme) == []
    batches = SequentialScheme(iter([1, 2, 3]), 2)
    assert epoch(batches) == [[1, 2], [3]]
    assert epoch(batches) == []


def test_an_endless_iterator_is_requested_lazily():
    def count():
        number = 0
        while True:
            yield number
            number += 1

    requests = SequentialScheme(count(), 2).get_request_iterator()
    assert [next(requests), next(requests)] == [[0, 1], [2, 3]]


def test_iterating_again_goes_on_where_it_was():
    requests = SequentialScheme(6, 2).get_request_iterator()
    assert next(requests) == [0, 1]
    assert list(requests) == [[2, 3], [4, 5]]
    assert list(requests) == []


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"num_examples": 7}, [3, 3, 1]),
        ({"num_examples": 2}, [2]),
        ({"num_examples": 6}, [3, 3]),
        ({"num_examples": 0}, []),
        ({"times": 2}, [3, 3]),
        ({"times": 0}, []),
    ],
)
def test_constant_sizes(arguments, expected):
    scheme = ConstantScheme(3, **arguments)
    assert epoch(scheme) == epoch(scheme) == expected


def test_constant_sizes_without_an_end_go_on():
    requests = ConstantScheme(3).get_request_iterator()
    assert [next(requests) for _ in range(100)] == [3] * 100


def test_constant_sizes_refuse_two_ends_and_negative_numbers():
    with pytest.raises(ValueError, match="both say when to end, got 0 and 0"):
        ConstantScheme(3, num_examples=0, times=0)
    with pytest.raises(ValueError, match="`times` must not be negative, got -1"):
        ConstantScheme(3, times=-1)
    with pytest.raises(ValueError, match="`num_examples` must not be negative, got -2"):
        ConstantScheme(3, num_examples=-2)


def test_the_kinds_of_requests():
    assert SequentialExampleScheme.requests_examples is True
    assert ShuffledExampleScheme(3).requests_examples is True
    assert SequentialScheme.requests_examples is False
    assert ConstantScheme(3).requests_examples is False
    assert issubclass(SequentialScheme, BatchScheme)
    assert issubclass(ShuffledExampleScheme, IndexScheme)
    assert issubclass(ConstantScheme, BatchSizeScheme)
    for abstract in (IterationScheme, BatchSizeScheme, BatchScheme, IndexScheme):
        assert abstract.__abstractmethods__ == {"get_request_iterator"}


def test_the_historical_shuffle():
    assert epoch(ShuffledScheme(examples=8, batch_size=4)) == [[7, 2, 1, 6], [0, 4, 3, 5]]
    assert epoch(ShuffledExampleScheme(examples=8)) == [7, 2, 1, 6, 0, 4, 3, 5]


def historical(indices, rng, epochs=3):
    """Return what the original gives: each epoch, a copy of the indices shuffled as a list."""
    found = []
    for _ in range(epochs):
        copy = list(indices)
        rng.shuffle(copy)
        found.append(copy)
    return found


@settings(deadline=None)
@given(
    st.one_of(
        st.integers(0, 200),
        st.lists(st.integers(-(2**63), 2**63 - 1)),
        st.lists(st.integers()),
        st.lists(st.one_of(st.text(), st.integers(), st.booleans())),
        st.lists(st.tuples(st.integers(), st.integers())),
    ),
    st.integers(0, 2**32 - 1),
    st.integers(1, 9),
)
def test_shuffling_consumes_a_random_state_as_for_a_list(examples, seed, batch_size):
    indices = range(examples) if isinstance(examples, int) else examples
    expected = historical(indices, numpy.random.RandomState(seed))
    single = ShuffledExampleScheme(examples, rng=numpy.random.RandomState(seed))
    batched = ShuffledScheme(examples, batch_size, rng=numpy.random.RandomState(seed))
    for order in expected:
        found = epoch(single)
        assert found == order
        assert list(map(type, found)) == list(map(type, order))
        assert epoch(batched) == chunks(order, batch_size)


@pytest.mark.parametrize(
    "indices",
    [
        range(30, 3, -2),
        range(2**63 - 5, 2**63 + 5),
        numpy.arange(20, dtype="u1"),
        numpy.arange(20, dtype=">i4")[::2],
        numpy.arange(2**63, 2**63 + 9, dtype="u8"),
        numpy.arange(6) / 2,
        numpy.array([True, False, True]),
        numpy.array(list("abcdef")),
        dict.fromkeys("abcdef"),
        [numpy.int64(3), 4, numpy.uint8(5)],
    ],
)
def test_any_container_is_shuffled_as_the_list_of_its_items(indices):
    scheme = ShuffledExampleScheme(indices, rng=numpy.random.RandomState(3))
    expected = historical(indices, numpy.random.RandomState(3))
    assert [epoch(scheme), epoch(scheme), epoch(scheme)] == expected


@pytest.mark.parametrize(
    "make",
    [
        lambda: numpy.random.RandomState(5),
        lambda: numpy.random.default_rng(5),
        lambda: numpy.random.Generator(numpy.random.MT19937(5)),
        lambda: random.Random(5),
    ],
)
def test_any_generator_shuffles_as_for_a_list(make):
    assert [epoch(s) for s in [ShuffledExampleScheme(100, rng=make())] * 3] == historical(
        range(100), make()
    )


def test_what_was_given_is_not_shuffled():
    for indices in ([5, 6, 7, 8], numpy.arange(4), ("a", "b")):
        scheme = ShuffledScheme(indices, 2)
        before = list(indices)
        epoch(scheme)
        assert scheme.indices is indices
        assert list(indices) == before


def test_indices_are_sorted_inside_each_batch_on_request():
    plain = epoch(ShuffledScheme(20, 6, rng=numpy.random.RandomState(3)))
    ordered = epoch(ShuffledScheme(20, 6, rng=numpy.random.RandomState(3), sorted_indices=True))
    assert ordered == [sorted(request) for request in plain]
    words = epoch(ShuffledScheme(["b", "c", "a"], 2, sorted_indices=True))
    assert words == [sorted(request) for request in words]


def test_every_scheme_has_a_generator_of_its_own_seeded_by_the_configuration():
    one, other = ShuffledExampleScheme(50), ShuffledExampleScheme(50)
    expected = historical(range(50), numpy.random.RandomState(config.default_seed))
    assert [epoch(one), epoch(one)] == expected[:2]
    assert [epoch(other), epoch(other), epoch(other)] == expected


def test_the_generator_and_the_sorting_are_keywords():
    with pytest.raises(TypeError):
        ShuffledScheme(3, 1, numpy.random.RandomState(1))
    with pytest.raises(TypeError):
        ShuffledExampleScheme(3, numpy.random.RandomState(1))


@pytest.mark.parametrize("batch_size", [0, -3, 2.0, None])
def test_a_batch_size_that_is_no_positive_integer_is_refused(batch_size):
    with pytest.raises(ValueError, match="`batch_size` must be a positive integer, got"):
        SequentialScheme(10, batch_size)
    with pytest.raises(ValueError, match="`batch_size` must be a positive integer, got"):
        ConstantScheme(batch_size, times=1)
    scheme = SequentialScheme(10, 2)
    scheme.batch_size = batch_size
    with pytest.raises(ValueError, match="`batch_size` must be a positive integer, got"):
        scheme.get_request_iterator()


def test_examples_that_are_neither_a_number_nor_indices_are_refused():
    for bad in (2.0, None, float("nan"), numpy.array(3)):
        with pytest.raises(TypeError, match="an integer, or an iterable of their indices, got"):
            SequentialExampleScheme(bad)
    with pytest.raises(ValueError, match="number of examples or their indices, got -1"):
        SequentialExampleScheme(-1)
