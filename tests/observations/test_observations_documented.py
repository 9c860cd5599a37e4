"""The documented examples of MLUtils: counted from 0, observations along the first axis."""

from __future__ import annotations

import math
from collections import namedtuple

import numpy

from fuel.observations import (
    BatchView,
    ObsView,
    batch,
    batchseq,
    filterobs,
    getobs,
    groupobs,
    joinobs,
    kfolds,
    leavepout,
    mapobs,
    numobs,
    obsview,
    oversample,
    shuffleobs,
    slidingwindow,
    splitobs,
    unbatch,
    undersample,
)

Named = namedtuple("Named", "x n")


def test_how_many_observations() -> None:
    x, y = numpy.zeros((100, 10)), list("abcde") * 20
    assert numobs(x) == len(x) == 100
    assert numobs(Named(x, y)) == 100
    assert getobs(Named(x, y), range(5)).x.shape == (5, 10)


def test_a_number_is_split_into_ranges() -> None:
    assert splitobs(100, at=0.7) == (range(70), range(70, 100))
    assert splitobs(100, at=(0.1, 0.4)) == (range(10), range(10, 50), range(50, 100))


def test_a_table_is_split() -> None:
    first, second = splitobs(numpy.arange(1, 101).reshape(100, 1), at=0.7)
    assert getobs(first).ravel().tolist() == list(range(1, 71))
    assert getobs(second).ravel().tolist() == list(range(71, 101))


def test_named_columns_are_split_in_three() -> None:
    parts = splitobs(Named(numpy.ones((10, 2)), range(1, 11)), at=(0.5, 0.3))
    assert [getobs(part.x).shape for part in parts] == [(5, 2), (3, 2), (2, 2)]
    assert [list(part.n) for part in parts] == [[1, 2, 3, 4, 5], [6, 7, 8], [9, 10]]


def test_a_pair_is_split_in_the_same_random_order() -> None:
    pair = (numpy.arange(1.0, 101.0).reshape(100, 1), range(101, 201))
    _, test = splitobs(pair, at=0.7, shuffle=True)
    assert (getobs(test[0]).ravel() + 100).tolist() == getobs(test[1])


def test_a_stratified_split() -> None:
    labels = [0, 0, 0, 0, 1, 1, 1, 1, 1, 1]
    first, second = splitobs(range(1, 11), at=0.5, stratified=labels)
    assert (list(first), list(second)) == ([1, 2, 5, 6, 7], [3, 4, 8, 9, 10])


def test_folds_of_a_number() -> None:
    train, validation = kfolds(10, 5)
    assert [list(each) for each in train] == [
        [2, 3, 4, 5, 6, 7, 8, 9],
        [0, 1, 4, 5, 6, 7, 8, 9],
        [0, 1, 2, 3, 6, 7, 8, 9],
        [0, 1, 2, 3, 4, 5, 8, 9],
        [0, 1, 2, 3, 4, 5, 6, 7],
    ]
    assert validation == [range(2), range(2, 4), range(4, 6), range(6, 8), range(8, 10)]


def test_folds_of_data_differ_by_one() -> None:
    x = numpy.zeros((103, 2))
    pairs = list(kfolds(x, k=10))
    assert [numobs(validation) for _, validation in pairs] == [11] * 3 + [10] * 7
    assert all(numobs(train) + numobs(validation) == 103 for train, validation in pairs)
    assert [numobs(validation) for _, validation in leavepout(x, p=2)] == [3] + [2] * 50


def test_the_tour_from_shuffling_to_batches() -> None:
    x, y = numpy.random.default_rng(0).random((150, 4)), numpy.arange(150)
    xs, ys = shuffleobs((x, y))
    cv_data, test_data = splitobs((xs, ys), at=0.85)
    assert (numobs(cv_data), numobs(test_data)) == (128, 22)
    seen = 0
    for train, validation in kfolds(cv_data, k=10):
        train = mapobs(lambda pair: (pair[0] + 0.1, pair[1]), train)
        for features, targets in BatchView(train, batch_size=5):
            assert numpy.array_equal(features, x[targets] + 0.1)
        seen += numobs(validation)
    assert seen == 128
    assert isinstance(xs, ObsView) and xs.data is x and cv_data[0].data is x


def test_functions_of_named_columns() -> None:
    data = {"a": numpy.array([1, 2, 3]), "b": numpy.array([1, 2, 3])}
    mapped = mapobs(lambda x: {"c": x["a"] + x["b"], "d": x["a"] - x["b"]}, data)
    assert mapped[0] == {"c": 2, "d": 0}
    assert {key: part.tolist() for key, part in mapped[range(2)].items()} == {
        "c": [2, 4],
        "d": [0, 0],
    }


def test_named_functions() -> None:
    named = mapobs({"x": math.sqrt, "y": math.log}, range(1, 11))
    assert getobs(named, 9) == {"x": math.sqrt(10), "y": math.log(10)}
    assert getobs(named.x, 9) == math.sqrt(10)


def test_filtering_joining_grouping() -> None:
    data = range(1, 11)
    assert numobs(data) == 10 and numobs(filterobs(lambda x: x > 5, data)) == 5
    assert getobs(joinobs(range(1, 11), range(11, 21)), 14) == 15
    groups = groupobs(lambda x: x > 0, range(-10, 11))
    assert len(groups) == 2


def test_balancing() -> None:
    x, y = numpy.random.default_rng(1).random((6, 3)), list("abbbba")
    x_bal, y_bal = oversample(x, y)
    assert getobs(x_bal).shape == (8, 3) and numobs(y_bal) == 8
    assert sum(label == "a" for label in y_bal) == sum(label == "b" for label in y_bal) == 4
    x_bal, y_bal = undersample(x, y)
    assert getobs(x_bal).shape == (4, 3) and numobs(y_bal) == 4
    assert sum(label == "a" for label in y_bal) == sum(label == "b" for label in y_bal) == 2


def test_windows() -> None:
    windows = slidingwindow(range(11, 31), 6)
    assert windows[0] == list(range(11, 17)) and windows[1] == list(range(12, 18))
    strided = slidingwindow(range(11, 31), 6, stride=3)
    assert [window[0] for window in strided] == [11, 14, 17, 20, 23]
    assert [window[-1] for window in strided] == [16, 19, 22, 25, 28]


def test_batches_of_a_table() -> None:
    x, y = numpy.zeros((150, 4)), ["setosa"] * 150
    batches = BatchView(x, batch_size=30)
    assert len(batches) == 5 and batches[0].shape == (30, 4)
    for features, labels in BatchView((x, y), batch_size=20, partial=False):
        assert features.shape == (20, 4) and len(labels) == 20
    assert BatchView(["a", "bb", "ccc", "dddd"], 2, collate="".join)[0] == "abb"


def test_batching_and_back() -> None:
    assert batch([[1, 2, 3], [4, 5, 6]]).tolist() == [[1, 2, 3], [4, 5, 6]]
    stacked = batch([Named([1, 2], [3, 4]), Named([5, 6], [7, 8])])
    assert stacked.x.tolist() == [[1, 2], [5, 6]] and stacked.n.tolist() == [[3, 4], [7, 8]]
    table = numpy.array([[1, 2], [3, 4], [5, 6], [7, 8]])
    assert [each.tolist() for each in unbatch(table)] == [[1, 2], [3, 4], [5, 6], [7, 8]]


def test_sequences() -> None:
    assert [each.tolist() for each in batchseq([[1, 2, 3], [4, 5]], 0)] == [[1, 4], [2, 5], [3, 0]]


def test_views() -> None:
    x = numpy.arange(20).reshape(10, 2)
    view = obsview(obsview(x, range(5, 10)), [4, 0])
    assert view.data is x and getobs(view).tolist() == [[18, 19], [10, 11]]
