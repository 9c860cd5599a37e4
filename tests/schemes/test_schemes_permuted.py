"""Shuffling without memory: the order of an epoch is a function of seed and epoch."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuel.config_parser import config
from fuel.kernels.permutation import Permutation
from fuel.schemes import ConcatenatedScheme, PermutedExampleScheme, PermutedScheme
from fuel.schemes._base import order_state, start_requests


def flat(requests):
    return [index for request in requests for index in request]


@settings(deadline=None)
@given(
    st.integers(0, 700),
    st.integers(1, 300),
    st.integers(-(2**66), 2**66),
    st.integers(0, 2**33),
)
def test_batches_and_examples_follow_the_permutation(count, batch_size, seed, epoch):
    expected = Permutation(seed, epoch, count).block(0, count).tolist()
    batches = list(start_requests(PermutedScheme(count, batch_size, seed=seed), epoch))
    assert flat(batches) == expected
    assert all(len(request) == batch_size for request in batches[:-1])
    assert all(type(index) is int for index in flat(batches))
    singles = list(start_requests(PermutedExampleScheme(count, seed=seed), epoch))
    assert singles == expected
    complete = PermutedScheme(count, batch_size, seed=seed, partial=False)
    assert list(start_requests(complete, epoch)) == [
        request for request in batches if len(request) == batch_size
    ]


def test_the_order_is_pinned():
    scheme = PermutedScheme(10, 4, seed=1)
    assert list(scheme.get_request_iterator()) == [[8, 1, 4, 3], [6, 9, 2, 7], [5, 0]]
    assert list(scheme.get_request_iterator()) == [[1, 8, 7, 9], [5, 4, 2, 6], [0, 3]]


def test_epochs_are_counted_where_no_stream_does():
    scheme = PermutedExampleScheme(50, seed=1)
    alone = [list(scheme.get_request_iterator()) for _ in range(3)]
    assert alone == [list(start_requests(PermutedExampleScheme(50, seed=1), e)) for e in range(3)]
    assert len(set(map(tuple, alone))) == 3
    assert order_state(scheme) is None
    copy = pickle.loads(pickle.dumps(scheme))
    assert list(copy.get_request_iterator()) == list(start_requests(scheme, 3))


def test_starting_an_epoch_of_a_stream_leaves_the_scheme_alone():
    scheme = PermutedScheme(50, 7, seed=1)
    before = pickle.dumps(scheme)
    list(start_requests(scheme, 4))
    assert pickle.dumps(scheme) == before


@pytest.mark.parametrize("indices", [list("abcdefg"), numpy.arange(7) * 2, range(9, 2, -1)])
def test_any_sequence_of_indices_is_permuted(indices):
    places = list(PermutedExampleScheme(7, seed=5).get_request_iterator())
    expected = [indices[place] for place in places]
    for scheme in (PermutedExampleScheme(indices, seed=5), PermutedScheme(indices, 3, seed=5)):
        found = list(scheme.get_request_iterator())
        found = found if scheme.requests_examples else flat(found)
        assert found == expected
        assert not any(isinstance(index, numpy.generic) for index in found)
        assert scheme.indices is indices


def test_the_default_seed_is_read_when_the_scheme_is_made():
    assert PermutedScheme(5, 2).seed == config.default_seed
    assert PermutedExampleScheme(5, seed=numpy.int64(3)).seed == 3


def test_a_scheme_that_occurs_twice_goes_through_two_epochs():
    part = PermutedExampleScheme(20, seed=1)
    both = ConcatenatedScheme([part, part])
    epochs = [list(start_requests(both, epoch)) for epoch in range(2)]
    halves = [tuple(order[half : half + 20]) for order in epochs for half in (0, 20)]
    expected = [tuple(start_requests(part, epoch)) for epoch in range(4)]
    assert halves == expected
    assert [tuple(both.get_request_iterator()) for _ in range(2)] == [
        expected[0] + expected[1],
        expected[2] + expected[3],
    ]


def test_an_order_of_any_length_starts_and_goes_on_without_memory():
    tracemalloc.start()
    try:
        for scheme in (PermutedScheme(2**62, 100, seed=1), PermutedExampleScheme(2**62, seed=1)):
            requests = scheme.get_request_iterator()
            requests.seek(2**61)
            next(requests)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 200_000


def test_an_order_of_two_to_the_62_ends():
    requests = PermutedScheme(2**62, 4, seed=1).get_request_iterator()
    requests.seek(2**62 - 6)
    assert [len(request) for request in requests] == [4, 2]


def test_what_cannot_be_permuted_is_refused():
    for bad in (iter([1, 2]), {1, 2}, {1: 2}):
        with pytest.raises(TypeError, match="must be the number of examples or a sequence"):
            PermutedScheme(bad, 2)
    with pytest.raises(ValueError, match=r"`examples` must be at most 2\*\*62"):
        PermutedExampleScheme(2**62 + 1)
    with pytest.raises(ValueError, match=r"`examples` must be at most 2\*\*62"):
        PermutedExampleScheme(2**70)
    with pytest.raises(ValueError, match="`batch_size` must be a positive integer"):
        PermutedScheme(10, 0)
    with pytest.raises(TypeError):
        PermutedScheme(10, 2, seed=1.5)
    with pytest.raises(TypeError):
        PermutedScheme(10, 2, 1)
