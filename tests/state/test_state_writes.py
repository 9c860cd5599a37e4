"""Variables around functions: which are only written to, and so belong to who reads them."""

from __future__ import annotations

import collections

import numpy
import pytest

from fuel.datasets import IndexableDataset
from fuel.schemes import SequentialScheme
from fuel.state._writes import only_written
from fuel.streams import DataStream
from fuel.transformers import Mapping


def logs(log):
    def function(data):
        log.append(data)
        return data

    return function


def logs_in_a_lambda(log):
    return lambda data: (log.append(len(data)), data)[1]


def counts(log):
    def function(data):
        nonlocal log
        log += 1
        return data

    return function


def counts_in_a_place(log):
    def function(data):
        log[0] += 1
        return data

    return function


def counts_by_key(log):
    def function(data):
        log["calls"] += 1
        return data

    return function


def notes_the_last(log):
    def function(data):
        nonlocal log
        log = 5
        return data

    return function


def returns_it(log):
    def function(data):
        log.append(data)
        return log

    return function


def measures_it(log):
    def function(data):
        log.append(len(log))
        return data

    return function


def reads_the_count(log):
    def function(data):
        nonlocal log
        log += 1
        return data + log

    return function


def reads_the_place(log):
    def function(data):
        log[0] += 1
        return data + log[0]

    return function


def takes_from_it(log):
    return lambda data: log.pop()


def keeps_the_method(log):
    def function(data):
        method = log.append
        return method.__self__

    return function


def reads_within(log):
    def function(data):
        log.append(data)
        return [one for one in data if one in log]

    return function


def reads_in_a_function(log):
    def function(data):
        log.append(data)
        return (lambda: len(log))()

    return function


def one_of_two(log, other):
    def function(data):
        log[0] += other
        other.append(log)
        return data

    return function


WRITTEN = [
    (logs, []),
    (logs, collections.deque()),
    (logs_in_a_lambda, []),
    (counts, 0),
    (counts_in_a_place, [0]),
    (counts_by_key, {"calls": 0}),
    (counts_by_key, collections.Counter()),
    (notes_the_last, 0),
]
READ = [
    (returns_it, []),
    (measures_it, []),
    (reads_the_count, 0),
    (reads_the_place, [0]),
    (takes_from_it, []),
    (keeps_the_method, []),
    (reads_within, []),
    (reads_in_a_function, []),
]


@pytest.mark.parametrize(("make", "value"), WRITTEN)
def test_what_is_only_written_is_told(make, value):
    assert only_written(make(value), "log", value)


@pytest.mark.parametrize(("make", "value"), READ)
def test_what_may_be_read_is_not_taken_for_a_log(make, value):
    assert not only_written(make(value), "log", value)


def test_a_value_that_goes_into_another_is_read():
    assert not only_written(one_of_two([0], [1]), "log", [0])
    assert not only_written(one_of_two([0], [1]), "other", [1])


def test_types_of_unknown_methods_are_not_taken_for_logs():
    class Remembering(list):
        pass

    assert not only_written(logs(Remembering()), "log", Remembering())
    array = numpy.zeros(1)
    assert not only_written(counts_in_a_place(array), "log", array)


def test_loading_a_state_leaves_logs_alone():
    log, calls = [], [0]

    def function(data):
        log.append(data)  # arrays, which would make each state longer than the one before
        calls[0] += 1
        return (2 * data[0],)

    def make():
        dataset = IndexableDataset({"x": numpy.arange(20)})
        return Mapping(DataStream(dataset, iteration_scheme=SequentialScheme(20, 2)), function)

    iterator = make().get_epoch_iterator()
    next(iterator)
    state = iterator.state_dict()
    rest = list(iterator)
    again = make().get_epoch_iterator()
    again.load_state_dict(state)
    assert (len(log), calls) == (10, [10])
    numpy.testing.assert_array_equal(list(again), rest)
    assert (len(log), calls) == (19, [19])
