"""Weighted and balanced orders: pure functions of the place, with the proportions they promise."""

from __future__ import annotations

import math
from collections import Counter

import numpy
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fuel.rng import example_rng
from fuel.schemes import (
    BalancedExampleScheme,
    BalancedScheme,
    WeightedExampleScheme,
    WeightedScheme,
)
from fuel.schemes._base import num_examples, num_requests, scheme_fingerprint, start_requests

weights_given = st.lists(st.sampled_from([0, 0.5, 1, 2, 3, 100]), min_size=1, max_size=12)


def flat(requests):
    return [index for request in requests for index in request]


@settings(max_examples=150, deadline=None)
@given(weights_given, st.integers(0, 40), st.integers(1, 9), st.integers(0, 3), st.data())
def test_a_weighted_order_is_a_function_of_the_place_whatever_the_batches(
    weights, count, size, epoch, data
):
    assume(sum(weights) > 0)
    scheme = WeightedScheme(weights, size, num_examples=count, seed=3)
    whole = flat(start_requests(scheme, epoch))
    assert len(whole) == count == num_examples(scheme)
    assert num_requests(scheme) == math.ceil(count / size)
    assert all(weights[index] > 0 for index in whole)
    singly = WeightedExampleScheme(weights, num_examples=count, seed=3)
    assert list(start_requests(singly, epoch)) == whole
    place = data.draw(st.integers(0, count))
    other = WeightedScheme(weights, data.draw(st.integers(1, 9)), num_examples=count, seed=3)
    requests = start_requests(other, epoch)
    requests.seek(place)
    assert flat(requests) == whole[place:]
    requests = start_requests(singly, epoch)
    rows = requests.rows(place) if place else numpy.empty(0, int)
    assert rows.tolist() == whole[:place]


def test_a_weighted_draw_is_that_of_the_generator_with_its_address():
    weights = numpy.array([3.0, 1.0, 0.0, 4.0])
    found = list(start_requests(WeightedExampleScheme(weights, num_examples=20, seed=9), 2))
    for place, index in enumerate(found):
        raw = example_rng(9, 2, place, "fuel.schemes/weighted").bit_generator.random_raw()
        assert index == numpy.searchsorted(numpy.cumsum(weights), (raw >> 11) / 2**53 * 8, "right")


def test_weighted_draws_have_the_frequencies_of_the_weights():
    weights = numpy.array([1, 2, 3, 4])
    drawn = flat(WeightedScheme(weights, 100, num_examples=100_000, seed=1).get_request_iterator())
    counts = numpy.bincount(drawn, minlength=4)
    expected = weights / 10 * 100_000
    # Five standard deviations.
    assert (abs(counts - expected) < 5 * numpy.sqrt(expected)).all()


def test_epochs_and_seeds_of_weighted_orders_are_unrelated():
    def order(seed, epoch):
        return flat(start_requests(WeightedScheme(numpy.ones(50), 50, seed=seed), epoch))

    assert order(0, 1) != order(1, 0) != order(0, 0) != order(0, 1)


def test_a_large_table_of_weights_is_gone_to_at_once():
    scheme = WeightedScheme(numpy.ones(10**6, "f4"), 4, num_examples=10**12, seed=1)
    requests = start_requests(scheme, 0)
    requests.seek(10**11)
    assert len(next(requests)) == 4
    assert requests.skip(10**9) == 10**9


def test_the_fingerprint_of_a_weighted_order_tells_weights_apart_and_not_batches():
    one = scheme_fingerprint(WeightedScheme([1, 2], 2, seed=1))
    assert one == scheme_fingerprint(WeightedScheme([1.0, 2.0], 5, seed=1))
    assert one == scheme_fingerprint(WeightedExampleScheme([1, 2], seed=1))
    assert one != scheme_fingerprint(WeightedScheme([1, 3], 2, seed=1))
    assert one != scheme_fingerprint(WeightedScheme([1, 2], 2, seed=2))


@pytest.mark.parametrize(
    ("weights", "more", "message"),
    [
        ([1, -2], {}, "not be negative, got -2 for example 1"),
        ([1, math.nan], {}, "not be negative, got nan"),
        ([0, 0], {}, "positive, finite sum, got 0.0"),
        ([1, math.inf], {}, "positive, finite sum, got inf"),
        ([[1]], {}, r"vector of numbers.*shape \(1, 1\)"),
        (["a"], {}, "vector of numbers"),
        ([1], {"num_examples": -1}, "must not be negative, got -1"),
        ([], {"num_examples": 1}, "there are no weights"),
    ],
)
def test_weights_that_are_none_are_refused(weights, more, message):
    with pytest.raises(ValueError, match=message):
        WeightedScheme(weights, 2, **more)


labels_given = st.lists(st.integers(0, 3), min_size=0, max_size=30)


@settings(max_examples=150, deadline=None)
@given(labels_given, st.sampled_from(["over", "under"]), st.integers(1, 9), st.integers(0, 3))
def test_a_balanced_epoch_has_every_class_equally_often(labels, mode, size, epoch):
    scheme = BalancedScheme(labels, size, mode=mode, seed=4)
    order = flat(start_requests(scheme, epoch))
    sizes = Counter(labels)
    per_class = (max if mode == "over" else min)(sizes.values(), default=0)
    assert Counter(labels[index] for index in order) == dict.fromkeys(sizes, per_class), (
        "classes differ"
    )
    assert num_examples(scheme) == len(order)
    assert num_requests(scheme) == math.ceil(len(order) / size)
    for number in sizes:
        times = Counter(index for index in order if labels[index] == number)
        if mode == "under":
            assert set(times.values()) == {1}
        else:
            assert set(times) == {index for index, label in enumerate(labels) if label == number}
            assert max(times.values()) - min(times.values()) <= 1


@settings(max_examples=100, deadline=None)
@given(labels_given, st.sampled_from(["over", "under"]), st.integers(0, 2), st.data())
def test_a_balanced_order_is_gone_on_with_from_any_place_with_other_batches(
    labels, mode, epoch, data
):
    whole = flat(start_requests(BalancedScheme(labels, 4, mode=mode, seed=4), epoch))
    place = data.draw(st.integers(0, len(whole)))
    requests = start_requests(BalancedExampleScheme(labels, mode=mode, seed=4), epoch)
    requests.seek(place)
    assert list(requests) == whole[place:]
    other = start_requests(BalancedScheme(labels, 3, mode=mode, seed=4), epoch)
    other.seek(place)
    assert flat(other) == whole[place:]


def test_what_is_left_out_changes_from_epoch_to_epoch():
    labels = [0] * 5 + [1] * 1000
    scheme = BalancedScheme(labels, 10, mode="under", seed=1)
    kept = [{i for i in flat(start_requests(scheme, epoch)) if i >= 5} for epoch in range(3)]
    assert len(kept[0] | kept[1] | kept[2]) > 10


def test_labels_may_be_strings_or_a_column_but_not_codes():
    assert BalancedScheme(numpy.array([["a"], ["b"]]), 2, seed=1).classes.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="argmax"):
        BalancedScheme(numpy.eye(3), 2)
    with pytest.raises(ValueError, match="'over'.*got 'both'"):
        BalancedScheme([0, 1], 2, mode="both")
