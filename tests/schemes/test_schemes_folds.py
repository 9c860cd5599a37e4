"""Folds and splits: every example once, the same for the same arguments."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuel.config_parser import config
from fuel.schemes import (
    ConcatenatedScheme,
    SequentialExampleScheme,
    SequentialScheme,
    ShuffledScheme,
    cross_validation,
    shuffled_split,
)


def flat(scheme):
    requests = list(scheme.get_request_iterator())
    return requests if scheme.requests_examples else [i for request in requests for i in request]


@given(st.integers(0, 60), st.integers(1, 12))
def test_folds_divide_the_examples(count, folds):
    validated = []
    for fold, (train, valid, size) in enumerate(
        cross_validation(SequentialExampleScheme, count, folds, strict=False)
    ):
        expected = list(range(count * fold // folds, count * (fold + 1) // folds))
        assert flat(valid) == expected
        assert size == len(expected)
        assert sorted(flat(train) + expected) == list(range(count))
        assert flat(train) == sorted(flat(train))
        validated += expected
    assert validated == list(range(count))


def test_schemes_of_folds_go_through_many_epochs():
    for train, valid in cross_validation(SequentialScheme, 10, 5, batch_size=3):
        assert flat(train) == flat(train) != []
        assert flat(valid) == flat(valid) != []
        assert train.batch_size == valid.batch_size == 3


def test_arguments_go_to_both_schemes():
    for pair in cross_validation(ShuffledScheme, 10, 5, batch_size=4, sorted_indices=True):
        assert all(scheme.sorted_indices and scheme.batch_size == 4 for scheme in pair)


def test_unequal_folds_are_refused_when_the_first_is_asked_for():
    folds = cross_validation(SequentialExampleScheme, 10, 3)
    with pytest.raises(ValueError, match="10 examples cannot be divided into 3 folds"):
        next(folds)
    with pytest.raises(ValueError, match="`num_folds` must be a positive integer, got 0"):
        next(cross_validation(SequentialExampleScheme, 10, 0))


@given(
    st.integers(0, 500),
    st.lists(st.integers(1, 10), min_size=1, max_size=5),
    st.integers(-(2**70), 2**70),
)
def test_splits_divide_the_examples(count, weights, seed):
    fractions = [weight / sum(weights) for weight in weights]
    parts = shuffled_split(count, fractions, seed=seed)
    assert len(parts) == len(weights)
    assert sorted(index for part in parts for index in part) == list(range(count))
    assert all(part == sorted(part) for part in parts)
    assert all(
        abs(len(part) - fraction * count) <= 1
        for part, fraction in zip(parts, fractions, strict=True)
    )
    assert parts == shuffled_split(count, fractions, seed=seed)


def test_the_split_is_pinned_and_depends_on_the_seed():
    assert shuffled_split(10, 0.8, seed=1) == ([0, 1, 2, 3, 5, 7, 8, 9], [4, 6])
    assert shuffled_split(100, 0.5, seed=1) != shuffled_split(100, 0.5, seed=2)
    assert shuffled_split(100, 0.5) == shuffled_split(100, 0.5, seed=config.default_seed)


def test_a_single_number_is_the_share_of_the_first_of_two_parts():
    assert [len(part) for part in shuffled_split(10, 0.3)] == [3, 7]
    assert [len(part) for part in shuffled_split(10, 1)] == [10, 0]
    assert [len(part) for part in shuffled_split(10, (1.0,))] == [10]


@pytest.mark.parametrize("fractions", [1.5, -0.1, [0.5, 0.6], [0.5], [], [1.5, -0.5]])
def test_shares_that_do_not_add_up_are_refused(fractions):
    with pytest.raises(ValueError, match="shares between 0 and 1 that add up to 1, got"):
        shuffled_split(10, fractions)


def test_concatenated_schemes_agree_on_what_they_request():
    single, batch = SequentialExampleScheme(3), SequentialScheme(3, 2)
    assert ConcatenatedScheme([single, single]).requests_examples is True
    assert ConcatenatedScheme(iter([batch])).requests_examples is False
    given_ = [batch, batch]
    assert ConcatenatedScheme(given_).schemes is given_
    with pytest.raises(
        ValueError, match=r"got SequentialExampleScheme \(examples\), SequentialScheme \(batches\)"
    ):
        ConcatenatedScheme([single, batch])
    with pytest.raises(ValueError, match="got no scheme"):
        ConcatenatedScheme([])
