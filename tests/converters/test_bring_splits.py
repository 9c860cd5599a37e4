"""Splits are exact, complete, disjoint, repeatable, and wrong ones are refused in plain words."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fuel.converters.bring import _splits
from fuel.exceptions import ConfigurationError, StorageError


def shares(numbers: list[int]) -> tuple[Fraction, ...]:
    return tuple(Fraction(number, sum(numbers)) for number in numbers)


@given(
    st.integers(1, 400), st.lists(st.integers(1, 20), min_size=1, max_size=5), st.integers(-9, 9)
)
@settings(max_examples=60, deadline=None)
def test_fractions_are_shared_out_exactly(total: int, numbers: list[int], seed: int) -> None:
    fractions = shares(numbers)
    sizes = _splits.sizes_of(total, fractions)
    assert sum(sizes) == total
    assert all(abs(size - total * share) < 1 for size, share in zip(sizes, fractions, strict=True))
    if 0 in sizes:
        return
    names = tuple(f"s{number}" for number in range(len(numbers)))
    division = _splits.divide(total, names, fractions, seed)
    assert list(division.sizes().values()) == sizes
    assert len(division.of) == total and set(division.of) <= set(range(len(names)))


@given(
    st.lists(st.integers(1, 30), min_size=1, max_size=8),
    st.lists(st.integers(1, 9), min_size=2, max_size=4),
    st.integers(0, 5),
)
@example([10, 18, 29, 20], [2, 9, 2, 7], 0)  # sharing out class by class alone misses this
@settings(max_examples=80, deadline=None)
def test_each_class_is_divided_alike_and_the_totals_stay(
    counts: list[int], numbers: list[int], seed: int
) -> None:
    fractions = shares(numbers)
    strata = numpy.random.default_rng(seed).permutation(
        numpy.repeat(numpy.arange(len(counts)), counts)
    )
    total = len(strata)
    if 0 in _splits.sizes_of(total, fractions):
        return
    names = tuple("abcd"[: len(numbers)])
    try:
        division = _splits.divide(total, names, fractions, seed, strata)
    except StorageError:
        return  # a split that no class has enough examples for
    for stratum, count in enumerate(counts):
        of_class = numpy.bincount(division.of[strata == stratum], minlength=len(names))
        assert of_class.sum() == count
        assert all(abs(n - count * f) < 1 for n, f in zip(of_class, fractions, strict=True))
    assert list(division.sizes().values()) == _splits.sizes_of(total, fractions)


def test_the_draw_is_pinned_on_every_platform() -> None:
    fractions = (Fraction(1, 2), Fraction(1, 2))
    of = _splits.divide(16, ("a", "b"), fractions, 0).of
    assert "".join(map(str, of)) == PINNED
    other = _splits.divide(16, ("a", "b"), fractions, 1).of
    assert not numpy.array_equal(of, other)


PINNED = "1000101100001111"


def test_largest_remainders_favour_the_first_of_equals() -> None:
    thirds = (Fraction(1, 3),) * 3
    assert _splits.sizes_of(10, thirds) == [4, 3, 3]
    assert _splits.sizes_of(11, thirds) == [4, 4, 3]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("train=0.8,test=0.1", "must sum to 1, got 'train=0.8,test=0.1', which sum to 0.9"),
        ("train=1.5,test=-0.5", "above 0 and at most 1, got 1.5"),
        ("train=0,test=1", "above 0 and at most 1, got 0"),
        ("train=x,test=1", "must be a number"),
        ("train=0.5,test", "must be a number"),
        ("train=nan,test=1", "must be a number"),
        ("a=0.5,a=0.5", "must be named once"),
        ("=1", "must have a name"),
        ("", "must have a name"),
    ],
)
def test_wrong_splits_are_refused(text: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        _splits.parse_split(text)


def test_decimal_fractions_and_thirds_sum_to_one() -> None:
    names, fractions = _splits.parse_split("train=0.7, valid=0.2, test=0.1")
    assert names == ("train", "valid", "test") and sum(fractions or ()) == 1
    assert _splits.parse_split("a=1/3,b=2/3")[1] == (Fraction(1, 3), Fraction(2, 3))
    assert _splits.parse_split("train,test") == (("train", "test"), None)


def test_a_split_that_would_be_empty_is_refused() -> None:
    with pytest.raises(StorageError, match="split 'test' would be empty: 0.01 of 3 examples"):
        _splits.divide(3, ("train", "test"), (Fraction(99, 100), Fraction(1, 100)), 0)


def test_values_name_splits_in_the_order_of_appearance_or_the_one_asked_for() -> None:
    values = [["b", "a"], ["b"]]
    assert _splits.by_values(values, 3, (), "'set'").names == ("b", "a")
    division = _splits.by_values(values, 3, ("a", "b"), "'set'")
    assert division.names == ("a", "b") and Counter(division.of.tolist()) == {1: 2, 0: 1}
    with pytest.raises(StorageError, match="names the split 'b', which is none of a"):
        _splits.by_values(values, 3, ("a",), "'set'")
    with pytest.raises(StorageError, match="split 'c' would be empty"):
        _splits.by_values(values, 3, ("a", "b", "c"), "'set'")
    with pytest.raises(StorageError, match="must name a split for every example"):
        _splits.by_values([["a", ""]], 2, (), "'set'")
    with pytest.raises(StorageError, match="more than 1000 different values"):
        _splits.by_values([list(range(1001))], 1001, (), "'id'")
