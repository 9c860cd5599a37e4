"""Splits and folds are partitions; balanced classes are balanced."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuel.observations import (
    getobs,
    kfolds,
    leavepout,
    numobs,
    obsview,
    oversample,
    splitobs,
    timeseries_kfolds,
    undersample,
)

SHARES = st.lists(st.integers(0, 100), min_size=1, max_size=4).filter(lambda s: sum(s) <= 100)
LABELS = st.lists(st.sampled_from("abcd"), max_size=60)


@settings(deadline=None)
@given(st.integers(0, 60), SHARES, st.booleans(), st.integers(0, 9))
def test_a_split_is_a_partition_with_the_shares_asked_for(
    count: int, percent: list[int], shuffle: bool, seed: int
) -> None:
    at = tuple(share / 100 for share in percent)
    parts = splitobs(range(count), at=at, shuffle=shuffle, seed=seed if shuffle else None)
    assert len(parts) == len(at) + 1
    together = [each for part in parts for each in part]
    assert sorted(together) == list(range(count))
    assert shuffle or together == list(range(count))
    for part, share in zip(parts, (*at, 1 - sum(at)), strict=True):
        assert abs(len(part) - share * count) <= 1 + 1e-9
    indices = splitobs(count, at=at, shuffle=shuffle, seed=seed if shuffle else None)
    assert [list(part) for part in indices] == [list(part) for part in parts]


@settings(deadline=None)
@given(LABELS, SHARES, st.booleans())
def test_a_stratified_split_keeps_the_proportions_of_every_class(
    labels: list[str], percent: list[int], shuffle: bool
) -> None:
    at = tuple(share / 100 for share in percent)
    count = len(labels)
    parts = splitobs(range(count), at=at, shuffle=shuffle, stratified=labels)
    assert sorted(each for part in parts for each in part) == list(range(count))
    counts = Counter(labels)
    for part, share in zip(parts, (*at, 1 - sum(at)), strict=True):
        found = Counter(labels[each] for each in part)
        for label, number in counts.items():
            assert abs(found[label] - share * number) < 1 - 1e-12 or share * number == found[label]
        assert abs(len(part) - share * count) <= 2
        assert shuffle or list(part) == sorted(part)
    for form in (numpy.array(labels, "U1"), tuple(labels), obsview(labels)):
        same = splitobs(count, at=at, shuffle=shuffle, stratified=form)
        assert [list(part) for part in same] == [list(part) for part in parts]


def test_many_classes_of_one_observation_are_divided_fairly() -> None:
    first, second = splitobs(100, at=0.5, stratified=list(range(100)))
    assert len(first) == len(second) == 50


def test_shares_are_taken_as_they_are_written() -> None:
    assert [len(part) for part in splitobs(100, at=0.29)] == [29, 71]
    assert [len(part) for part in splitobs(30, at=(0.7, 0.2, 0.1))] == [21, 6, 3, 0]
    assert [len(part) for part in splitobs(9, at=(1 / 3, 1 / 3))] == [3, 3, 3]
    assert [len(part) for part in splitobs(10, at=(3, 2))] == [3, 2, 5]
    assert [len(part) for part in splitobs(10, at=numpy.array([0.5, 0.2]))] == [5, 2, 3]
    assert [len(part) for part in splitobs(10**12, at=1e-6)] == [10**6, 10**12 - 10**6]


@pytest.mark.parametrize(
    "at", [1.5, -0.1, (0.7, 0.4), 11, (), float("nan"), float("inf"), (0.5, 6)]
)
def test_shares_that_cannot_be_are_refused(at: Any) -> None:
    with pytest.raises(ValueError, match="shares between 0 and 1"):
        splitobs(10, at=at)


@pytest.mark.parametrize("at", ["0.7", True, None, [None]])
def test_shares_are_numbers(at: Any) -> None:
    with pytest.raises(TypeError, match="a share"):
        splitobs(10, at=at)


def check_folds(pairs: Any, count: int) -> list[list[int]]:
    folds = []
    for train, validation in pairs:
        assert sorted([*train, *validation]) == list(range(count))
        folds.append(list(validation))
    assert sorted(each for fold in folds for each in fold) == list(range(count))
    return folds


@settings(deadline=None)
@given(st.integers(2, 40), st.data())
def test_each_observation_is_validated_on_once(count: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(2, count))
    shuffle = data.draw(st.booleans())
    pairs = kfolds(range(count), k, shuffle=shuffle, seed=1)
    folds = check_folds(pairs, count)
    sizes = [len(fold) for fold in folds]
    assert len(pairs) == len(sizes) == k and max(sizes) - min(sizes) <= 1
    assert sizes == sorted(sizes, reverse=True)
    if not shuffle:
        assert [each for fold in folds for each in fold] == list(range(count))
        assert all(list(train) == sorted(train) for train, _ in pairs)
    train, validation = kfolds(count, k, shuffle=shuffle, seed=1)
    assert [list(each) for each in validation] == folds
    assert [list(each) for each in train] == [list(each) for each, _ in pairs]


@settings(deadline=None)
@given(st.lists(st.sampled_from("abc"), min_size=2, max_size=40), st.booleans(), st.data())
def test_stratified_folds_have_equal_shares_of_every_class(
    labels: list[str], shuffle: bool, data: st.DataObject
) -> None:
    k = data.draw(st.integers(2, len(labels)))
    folds = check_folds(
        kfolds(range(len(labels)), k, shuffle=shuffle, stratified=labels), len(labels)
    )
    for label in [None, *set(labels)]:
        counts = [sum(label in (None, labels[each]) for each in fold) for fold in folds]
        assert max(counts) - min(counts) <= 1
    assert shuffle or all(fold == sorted(fold) for fold in folds)


@settings(deadline=None)
@given(st.integers(2, 40), st.data())
def test_leaving_out_p_makes_folds_of_p_or_a_little_more(count: int, data: st.DataObject) -> None:
    p = data.draw(st.integers(1, count // 2))
    folds = check_folds(leavepout(range(count), p), count)
    assert len(folds) == count // p and all(len(fold) >= p for fold in folds)
    if count % p == 0:
        assert {len(fold) for fold in folds} == {p}
    assert [list(each) for each in leavepout(count, p)[1]] == folds


@settings(deadline=None)
@given(st.integers(2, 60), st.integers(1, 6), st.integers(0, 5), st.integers(1, 20))
def test_folds_of_a_time_series_never_look_ahead(count: int, k: int, gap: int, most: int) -> None:
    size = count // (k + 1)
    if not size or count - k * size - gap < 1:
        with pytest.raises(ValueError, match="too few"):
            timeseries_kfolds(range(count), k, gap=gap)
        return
    pairs = timeseries_kfolds(range(count), k, gap=gap, max_train=most)
    assert len(pairs) == k
    validated: list[int] = []
    for train, validation in pairs:
        before = list(range(validation[0] - gap))
        assert list(train) == before[-most:] and len(train)
        assert list(validation) == list(range(validation[0], validation[0] + size))
        validated += validation
    assert validated == list(range(count - k * size, count))
    train, validation = timeseries_kfolds(count, k, gap=gap, max_train=most)
    assert [list(each) for each in train] == [list(each) for each, _ in pairs]
    whole = timeseries_kfolds(range(count), k)
    assert all(list(train) == list(range(validation[0])) for train, validation in whole)


def test_folds_keep_structures_and_are_made_when_asked_for() -> None:
    data = {"x": numpy.arange(10), "y": list("abcdefghij")}
    pairs = kfolds(data, 5)
    train, validation = pairs[4]
    assert getobs(validation)["y"] == ["i", "j"] and numobs(train) == 8
    assert len(pairs[[0, 1]]) == 2
    many = leavepout(range(20_000))  # all of its indices at once would be 3 GB
    assert len(many) == 20_000 and list(many[19_999][1]) == [19_999]


def test_numbers_of_folds_that_cannot_be_are_refused() -> None:
    for k in (0, 1, 11):
        with pytest.raises(ValueError, match=f"2 to the number of observations, 10, got {k}"):
            kfolds(range(10), k)
    for p in (0, 6):
        with pytest.raises(ValueError, match="half"):
            leavepout(range(10), p)
    for wrong in ({"k": 0}, {"gap": -1}, {"max_train": 0}):
        with pytest.raises(ValueError, match=f"`{next(iter(wrong))}` must be"):
            timeseries_kfolds(range(10), **wrong)
    with pytest.raises(ValueError, match="not be negative"):
        kfolds(-3)


@settings(deadline=None)
@given(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=30),
    st.integers(0, 10),
    st.booleans(),
    st.integers(0, 5),
)
def test_oversampling_repeats_evenly_until_the_fraction_is_met(
    labels: list[str], tenths: int, shuffle: bool, seed: int
) -> None:
    numbers = numpy.arange(len(labels))
    x, y = oversample(numbers, labels, tenths / 10, shuffle, seed=seed)
    assert [labels[each] for each in x] == list(y)
    before, after = Counter(labels), Counter(y)
    wanted = -(-max(before.values()) * tenths // 10)
    assert after == {label: max(number, wanted) for label, number in before.items()}
    times = Counter(x)
    for label in before:
        repeated = [times[each] for each in numbers if labels[each] == label]
        assert min(repeated) >= 1 and max(repeated) - min(repeated) <= 1
    if not shuffle:
        assert list(x)[: len(labels)] == list(range(len(labels)))
        assert list(y)[len(labels) :] == sorted(list(y)[len(labels) :])
    again = oversample((numbers, labels), fraction=tenths / 10, shuffle=shuffle, seed=seed)
    assert list(again[0]) == list(x) and list(again[1]) == list(y)


@settings(deadline=None)
@given(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=30),
    st.integers(1, 10),
    st.booleans(),
    st.integers(0, 5),
)
def test_undersampling_leaves_out_until_the_fraction_is_met(
    labels: list[str], tenths: int, shuffle: bool, seed: int
) -> None:
    x, y = undersample(range(len(labels)), labels, tenths / 10, shuffle, seed=seed)
    assert [labels[each] for each in x] == list(y) and len(set(x)) == len(x)
    before = Counter(labels)
    most = min(before.values()) * 10 // tenths
    assert Counter(y) == {label: min(number, most) for label, number in before.items()}
    assert shuffle or list(x) == sorted(x)


def test_labels_are_one_for_each_observation() -> None:
    for call in (
        lambda labels: splitobs(range(3), stratified=labels),
        lambda labels: kfolds(range(3), 2, stratified=labels),
        lambda labels: oversample(range(3), labels),
        lambda labels: undersample(range(3), labels),
    ):
        with pytest.raises(ValueError, match="one label for each of the 3 observations, got 2"):
            call([0, 1])
        with pytest.raises(ValueError, match=r"array of shape \(3, 2\); use numpy.argmax"):
            call(numpy.zeros((3, 2)))
    for call in (oversample, undersample):
        with pytest.raises(ValueError, match="needs labels"):
            call({"x": [1, 2]})
        with pytest.raises(ValueError, match="between 0 and 1, got 2"):
            call([1], [1], 2)
    with pytest.raises(ValueError, match="more than 0"):
        undersample([1], [1], 0)


def test_labels_of_any_kind_will_do() -> None:
    for labels in ([None, "a", None], [(1, 2), (3,), (1, 2)], numpy.array([0.5, 1.5, 0.5])):
        x, _ = undersample([10, 11, 12], labels, shuffle=False)
        assert len(x) == 2 and 11 in list(x)
