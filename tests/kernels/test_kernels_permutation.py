"""The keyed permutation: a permutation, the same in every form, and a good shuffle."""

from __future__ import annotations

import importlib
import itertools
import math
import pickle
import tracemalloc

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from fuel.exceptions import RequestError
from fuel.kernels import _permutation_reference as reference
from fuel.kernels import permutation
from fuel.kernels.permutation import Permutation

try:
    compiled = importlib.import_module("fuel.kernels._permutation")
except ImportError:
    compiled = None

needs_compiled = pytest.mark.skipif(compiled is None, reason="built without a C compiler")

seeds = st.integers(-(2**70), 2**70)
sizes = st.one_of(st.integers(1, 300), st.integers(1, 2**62))


def order(seed, epoch, count, **kwargs):
    return Permutation(seed, epoch, count, **kwargs).block(0, count).tolist()


def orders(count, number, seed=0):
    """Return the orders of many epochs, shape (number, count)."""
    return numpy.array([Permutation(seed, epoch, count).block(0, count) for epoch in range(number)])


def p_value(observed, expected):
    statistic = float(((observed - expected) ** 2 / expected).sum())
    return chi2.sf(statistic, observed.size - 1)


def test_the_algorithm_is_pinned():
    assert (permutation.ALGORITHM, permutation.VERSION) == ("feistel-mix13", 1)
    assert order(0, 0, 10) == [3, 5, 6, 2, 7, 0, 9, 8, 1, 4]
    assert order(1, 0, 10) == [8, 1, 4, 3, 6, 9, 2, 7, 5, 0]
    assert order(0, 1, 10) == [1, 4, 8, 2, 5, 9, 6, 0, 3, 7]
    assert order(-(2**70), 2**40, 7) == [4, 3, 6, 2, 1, 0, 5]
    assert Permutation(1, 2, 1000).block(500, 6).tolist() == [184, 432, 685, 871, 435, 400]
    assert Permutation(1, 2, 10**9).block(123456789, 4).tolist() == [
        578024098,
        604572491,
        107109016,
        577337877,
    ]
    assert Permutation(1, 2, 2**62).block(2**62 - 3, 3).tolist() == [
        4062522420632487776,
        62152403386235776,
        2969684263970542968,
    ]
    assert order(1, 0, 10, purpose="split") == [5, 1, 8, 0, 7, 9, 3, 2, 6, 4]


@settings(deadline=None)
@given(seeds, st.integers(0, 2**40), st.integers(0, 600))
def test_every_index_comes_once(seed, epoch, count):
    assert sorted(order(seed, epoch, count)) == list(range(count))


@pytest.mark.parametrize("count", [1022, 1023, 1024, 1025, 10_000, 65_536, 100_003])
def test_every_index_comes_once_in_longer_orders(count):
    assert numpy.array_equal(
        numpy.sort(Permutation(5, 0, count).block(0, count)), numpy.arange(count)
    )


@settings(deadline=None)
@given(seeds, sizes, st.data())
def test_one_many_and_block_agree(seed, count, data):
    permuted = Permutation(seed, 3, count)
    start = data.draw(st.integers(0, count - 1))
    size = data.draw(st.integers(0, min(60, count - start)))
    block = permuted.block(start, size)
    assert block.dtype == numpy.int64
    assert [permuted.one(place) for place in range(start, start + size)] == block.tolist()
    shuffled = data.draw(st.permutations(range(size)))
    places = [start + place for place in shuffled]
    assert permuted.many(places).tolist() == block[shuffled].tolist()
    assert all(0 <= index < count for index in block.tolist())


@needs_compiled
@settings(deadline=None)
@given(seeds, sizes, st.data())
def test_the_compiled_form_equals_the_reference(seed, count, data):
    permuted = Permutation(seed, 0, count)
    arguments = (count, permuted._left, permuted._right, permuted._keys)
    places = numpy.array(
        data.draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=60)), dtype=numpy.int64
    )
    ours, theirs = numpy.empty_like(places), numpy.empty_like(places)
    compiled.permute_many(places, *arguments, ours)
    reference.permute_many(places, *arguments, theirs)
    assert ours.tolist() == theirs.tolist()
    place = int(places[0])
    assert compiled.permute_one(place, *arguments) == reference.permute_one(place, *arguments)
    size = min(40, count - place)
    ours, theirs = numpy.empty(size, numpy.int64), numpy.empty(size, numpy.int64)
    compiled.permute_block(place, *arguments, ours)
    reference.permute_block(place, *arguments, theirs)
    assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize("count", [1, 2, 5, 10, 100, 900, 1023, 1024, 1025])
def test_requests_of_every_length_give_the_same_indices(count):
    permuted = Permutation(9, 0, count)
    expected = [permuted.one(place) for place in range(count)]
    for size in (1, 2, 7, 8, 9, 31, 33, 64, 500):
        places = numpy.arange(size)[::-1] * 7 % count
        assert permuted.many(places).tolist() == [expected[place] for place in places]
        if size <= count:
            start = (count - size) // 2
            assert permuted.block(start, size).tolist() == expected[start : start + size]


@needs_compiled
@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20), sizes)
def test_both_forms_find_the_first_place_that_is_not_in_the_order(places, count):
    given = numpy.array(places, dtype=numpy.int64)
    expected = next((k for k, place in enumerate(places) if not 0 <= place < count), -1)
    assert compiled.beyond(given, count) == reference.beyond(given, count) == expected


def test_the_reference_is_the_same_for_arrays_longer_than_its_blocks():
    permuted = Permutation(1, 0, 50_000)
    out = numpy.empty(20_000, numpy.int64)
    reference.permute_block(100, 50_000, permuted._left, permuted._right, permuted._keys, out)
    assert numpy.array_equal(out, permuted.block(100, 20_000))


@pytest.mark.parametrize("count", [2, 3, 5, 7, 10, 16, 100])
def test_every_index_is_equally_likely_at_every_place(count):
    number = 2000
    found = orders(count, number)
    table = numpy.zeros((count, count))
    for place in range(count):
        table[place] = numpy.bincount(found[:, place], minlength=count)
    # Rows and columns of the table have fixed sums.
    statistic = ((table - number / count) ** 2 / (number / count)).sum()
    statistic *= (count - 1) / count
    assert 1e-3 < chi2.sf(statistic, (count - 1) ** 2) < 1 - 1e-4


@pytest.mark.parametrize("count", [3, 5, 7, 10, 16, 100])
def test_every_pair_is_equally_likely_at_adjacent_places(count):
    middle = [count // 2 - 1, count // 2]
    found = [
        Permutation(0, epoch, count).many(middle)
        for epoch in range(4000 if count < 100 else 20_000)
    ]
    codes = numpy.array(found) @ [count, 1]
    observed = numpy.bincount(codes, minlength=count * count)
    cells = ~numpy.eye(count, dtype=bool).ravel()
    assert not observed[~cells].any()
    assert p_value(observed[cells], len(found) / cells.sum()) > 1e-3


@pytest.mark.parametrize("count", [100, 1000, 100_000])
def test_adjacent_places_of_one_order_are_unrelated(count):
    parts = 10
    found = numpy.concatenate(
        [orders(count, 100_000 // count, seed) * parts // count for seed in range(2)]
    )
    bins = numpy.bincount((found[:, :-1] * parts + found[:, 1:]).ravel(), minlength=parts * parts)
    # Both are drawn without replacement, so equal parts are a little rarer.
    part = count // parts
    same = numpy.eye(parts, dtype=bool).ravel()
    pairs = found.shape[0] * (count - 1)
    expected = numpy.where(same, part * (part - 1), part * part) / (count * (count - 1)) * pairs
    assert p_value(bins, expected) > 1e-3


@pytest.mark.parametrize("count", [3, 4, 5])
def test_every_order_is_equally_likely(count):
    found = orders(count, 6000)
    codes = found @ (count ** numpy.arange(count))
    values, observed = numpy.unique(codes, return_counts=True)
    assert len(values) == math.factorial(count)
    assert p_value(observed, len(found) / len(values)) > 1e-3


@pytest.mark.parametrize("count", [9, 25])
def test_odd_and_even_orders_are_equally_likely(count):
    odd = 0
    for found in orders(count, 400).tolist():
        inversions = sum(a > b for a, b in itertools.combinations(found, 2))
        odd += inversions % 2
    assert 160 < odd < 240


def test_the_epochs_of_one_seed_and_the_seeds_of_one_epoch_are_unrelated():
    assert order(0, 1, 1000) != order(1, 0, 1000)
    for other in (Permutation(7, 1, 10_000), Permutation(8, 0, 10_000)):
        same = Permutation(7, 0, 10_000).block(0, 10_000) == other.block(0, 10_000)
        assert same.sum() < 8  # one on average


def test_the_largest_order_takes_no_memory():
    tracemalloc.start()
    try:
        permuted = Permutation(1, 0, permutation.LARGEST)
        permuted.block(2**61, 100)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100_000


def test_it_pickles_as_its_arguments():
    permuted = Permutation(2**65, 3, 1000, purpose="split")
    copy = pickle.loads(pickle.dumps(permuted))
    assert copy.many([0, 999]).tolist() == permuted.many([0, 999]).tolist()
    assert repr(copy) == f"Permutation(seed={2**65}, epoch=3, count=1000)"


def test_empty_requests_give_empty_arrays():
    assert Permutation(0, 0, 0).block(0, 0).tolist() == []
    assert Permutation(0, 0, 5).many([]).dtype == numpy.int64


def test_numpy_integers_and_any_integer_array_are_accepted():
    permuted = Permutation(numpy.int64(1), numpy.int32(0), numpy.uint64(10))
    assert (
        permuted.many(numpy.arange(10, dtype=numpy.uint8)[::-1]).tolist() == order(1, 0, 10)[::-1]
    )
    assert permuted.one(numpy.int8(3)) == order(1, 0, 10)[3]


@pytest.mark.parametrize("count", [-1, 2**62 + 1])
def test_a_number_of_examples_out_of_range_is_refused(count):
    with pytest.raises(ValueError, match=rf"from 0 to 2\*\*62, got {count}"):
        Permutation(0, 0, count)


def test_places_that_are_not_in_the_order_are_refused():
    permuted = Permutation(0, 0, 10)
    for call in (
        lambda: permuted.one(10),
        lambda: permuted.many([0, 10]),
        lambda: permuted.block(5, 6),
    ):
        with pytest.raises(RequestError, match="the places 0 to 9, got 10"):
            call()
    for call in (
        lambda: permuted.one(-1),
        lambda: permuted.many([3, -1]),
        lambda: permuted.block(-1, 2),
    ):
        with pytest.raises(RequestError, match="the places 0 to 9, got -1"):
            call()
    with pytest.raises(RequestError, match="no examples has no places, got 0"):
        Permutation(0, 0, 0).one(0)
    with pytest.raises(RequestError):
        permuted.many(numpy.array([2**64 - 1], dtype=numpy.uint64))
    for places, wrong in (([1, 2**63], 2**63), ([2**70], 2**70), ([-(2**64), 3], -(2**64))):
        with pytest.raises(RequestError, match=f"the places 0 to 9, got {wrong}"):
            permuted.many(places)


def test_places_may_lie_anywhere_in_memory():
    moved = numpy.zeros(81, "u1")[1:].view("i8")
    moved[:] = numpy.arange(10)
    assert Permutation(0, 0, 10).many(moved).tolist() == Permutation(0, 0, 10).block(0, 10).tolist()


def test_places_that_are_no_vector_of_integers_are_refused():
    permuted = Permutation(0, 0, 10)
    for places in ([0.0], [[0]], 0, [True]):
        with pytest.raises(TypeError, match="must be a vector of integers"):
            permuted.many(places)
