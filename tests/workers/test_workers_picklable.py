"""What cannot be sent is named by the path that leads to it."""

from __future__ import annotations

import collections
import functools
import os
import re
import sqlite3
import sys
import threading

import numpy
import pytest

from fuel.datasets import IndexableDataset
from fuel.schemes import SequentialScheme
from fuel.streams import DataStream
from fuel.transformers import Mapping
from fuel.workers._picklable import check_picklable


class Foo:
    def __init__(self, **attributes):
        vars(self).update(attributes)

    def method(self, data):
        return data

    def __len__(self):
        return 3

    def __getitem__(self, key):
        return key


class Slotted:
    __slots__ = ("lock",)

    def __init__(self, lock):
        self.lock = lock


class Refusing:
    def __getstate__(self):
        raise RuntimeError("never")


class Chosen:
    """Pickles another thing than its attributes."""

    def __init__(self, part):
        self.hidden = threading.Lock()
        self.part = part

    def __reduce__(self):
        return Chosen, (self.part,)


@pytest.fixture
def database():
    connection = sqlite3.connect(":memory:")
    yield connection
    connection.close()


@pytest.fixture
def handle():
    with open(os.devnull) as file:
        yield file


def path_of(value, name="the pipeline"):
    with pytest.raises(TypeError) as caught:
        check_picklable(value, name)
    assert caught.value.__cause__ is not None
    found = re.match(
        f"{name} cannot be sent to worker processes: (.*) cannot be pickled \\(", str(caught.value)
    )
    assert found is not None
    return found[1]


def stream(indexables=None):
    dataset = IndexableDataset(numpy.arange(3) if indexables is None else indexables)
    return DataStream(dataset, iteration_scheme=SequentialScheme(3, 2))


def test_what_pickles_is_let_through():
    def local(data):
        return data

    check_picklable(Mapping(stream(), local), "the pipeline")
    check_picklable(Mapping(stream(), lambda data: data))
    check_picklable({"x": numpy.zeros(10), "y": ["a"] * 10_000})


def test_a_closure_of_a_function_in_a_mapping(database):
    db = database
    mapping = Mapping(stream(), lambda data: db.execute("select 1") and data)
    assert path_of(mapping) == "Mapping.mapping -> closure variable 'db' (sqlite3.Connection)"


def test_a_handle_in_an_object_in_a_dataset_in_a_stream(handle):
    assert path_of(stream([Foo(handle=handle)] * 3)) == (
        "DataStream.dataset -> IndexableDataset.indexables[0][0] -> Foo.handle (_io.TextIOWrapper)"
    )
    assert path_of(stream(Foo(handle=handle))) == (
        "DataStream.dataset -> IndexableDataset.indexables[0] -> Foo.handle (_io.TextIOWrapper)"
    )


@pytest.mark.parametrize(
    ("make", "path"),
    [
        (lambda c: c, "it"),
        (lambda c: {"a": [1, (2, c)]}, "['a'][1][1]"),
        (lambda c: Foo(a={"b": c}), "Foo.a['b']"),
        (lambda c: collections.deque([1, c]), "[1]"),
        (lambda c: collections.OrderedDict(a=c), "['a']"),
        (lambda c: functools.partial(print, c), "partial.args[0]"),
        (lambda c: functools.partial(print, end=c), "partial.keywords['end']"),
        (lambda c: Foo(a=c).method, "the object of method 'method' -> Foo.a"),
        (lambda c: Slotted(c), "Slotted.lock"),
        (lambda c: Chosen(c), "Chosen(argument 0)"),
        (lambda c: lambda data, door=c: data, "default of parameter 'door'"),
        (lambda c: lambda data, *, door=c: data, "default of parameter 'door'"),
        (lambda c: numpy.array([None, c]), None),
    ],
)
def test_every_way_in_is_known(make, path):
    lock = threading.Lock()
    found = path_of(make(lock))
    if path is None:
        assert found.endswith(("(_thread.lock)", "ndarray)"))
    else:
        assert found == f"{path} (_thread.lock)"


def test_a_global_of_a_function_that_travels_by_value(database):
    names = {"connection": database}
    exec("def outer(data):\n    return [(lambda: connection)() for _ in data]", names)
    names["outer"].__module__ = "__main__"
    assert path_of(names["outer"]) == "global variable 'connection' (sqlite3.Connection)"


def test_an_attribute_of_a_class_that_travels_by_value():
    class Local:
        lock = threading.Lock()

    assert path_of(Foo(a=Local())) == "Foo.a -> Local -> Local.lock (_thread.lock)"


def test_what_refuses_by_itself_is_the_culprit_and_says_why():
    with pytest.raises(TypeError, match=r"Foo.part \(.*Refusing\) .*\(RuntimeError: never\)"):
        check_picklable(Foo(part=Refusing()))


def test_standard_output_may_be_held(monkeypatch):
    monkeypatch.setattr(sys, "stdout", sys.__stdout__)
    check_picklable(Foo(log=sys.stdout))


def test_the_message_says_what_to_do():
    with pytest.raises(TypeError, match="leave it out in __getstate__, or use threads"):
        check_picklable(threading.Lock(), "the dataset")


def test_cycles_end():
    first, second = Foo(), Foo()
    first.other, second.other, second.lock = second, first, threading.Lock()
    assert path_of(first) == "Foo.other -> Foo.lock (_thread.lock)"


def test_large_data_is_not_pickled_to_find_out():
    # Ten tries of a pickle of this would need 80 GB.
    lent = numpy.broadcast_to(numpy.zeros(1), (2**30,))
    assert path_of([[[lent, [lent, threading.Lock()]]]]) == "[0][0][1][1] (_thread.lock)"
