"""What users' objects remember is found, written down and put back, or refused by name."""

from __future__ import annotations

import collections
import json

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuel.exceptions import StateError
from fuel.state.hidden import Memory, capture, restore

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text("abc", max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text("ab/", max_size=3) | st.integers(), inner, max_size=3)
    ),
    max_leaves=8,
)


class Thing:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)


def moved(before, after):
    """Return `before` after it was brought into the state of `after`."""
    first, copy = Thing(**before), Thing(**before)
    memory = Memory(first)
    first.__dict__.clear()
    first.__dict__.update(after)
    changes = json.loads(json.dumps(memory.changes(first)))
    Memory(copy).apply(copy, changes)
    return copy.__dict__


attributes = st.dictionaries(st.sampled_from("abc"), values)


@given(attributes, attributes)
def test_plain_attributes_come_back_with_their_types(before, after):
    found = moved(before, after)
    assert found == after
    assert {k: type(v) for k, v in found.items()} == {k: type(v) for k, v in after.items()}


@pytest.mark.parametrize(
    "value",
    [
        numpy.arange(5, dtype="i2"),
        numpy.array([0.1, float("inf")]),
        numpy.float32(0.25),
        numpy.array(["2020-01-01"], dtype="M8[D]"),
        collections.deque([1, 2]),
        collections.Counter("aab"),
        {1, 2, 3},
        float("nan"),
    ],
)
def test_small_arrays_and_containers_come_back(value):
    found = moved({}, {"a": value})["a"]
    assert type(found) is type(value)
    numpy.testing.assert_equal(found, value)


def test_generators_are_put_back_in_place():
    rng = numpy.random.RandomState(1)
    one = Thing(rng=rng)
    memory = Memory(one)
    assert memory.changes(one) == {}
    rng.uniform()
    changes = memory.changes(one)
    expected = rng.uniform()
    memory.apply(one, changes)
    assert one.rng is rng
    assert rng.uniform() == expected


def test_the_memory_of_closures_defaults_and_globals_is_found():
    count = 0
    rng = numpy.random.default_rng(1)

    def function(data, seen=numpy.random.RandomState(2)):  # noqa: B008
        nonlocal count
        count += 1
        return count + rng.random() + seen.uniform()

    memory = Memory(function)
    function(0)
    changes = memory.changes(function)
    assert len(changes) == 3
    expected = function(0)
    memory.apply(function, changes)
    assert function(0) == expected


def test_attributes_of_attributes_are_found():
    outer = Thing(inner=Thing(count=0))
    memory = Memory(outer)
    outer.inner.count = 4
    changes = memory.changes(outer)
    assert list(changes) == ["inner/count"]
    other = Thing(inner=Thing(count=0))
    memory.apply(other, changes)
    assert other.inner.count == 4


def test_cycles_end():
    one = Thing()
    one.self = one
    one.other = Thing(back=one)
    assert Memory(one).changes(one) == {}


def test_what_cannot_be_written_is_no_matter_while_it_does_not_change():
    one = Thing(big=numpy.zeros(1000), thing=object(), file=open(__file__, "rb"))  # noqa: SIM115
    with one.file:
        memory = Memory(one)
        one.count = 1
        assert list(memory.changes(one)) == ["count"]
        one.file.read(1)
        with pytest.raises(StateError, match="'file'"):
            memory.changes(one)


@pytest.mark.parametrize("change", ["array", "list", "iterator"])
def test_what_changed_and_cannot_be_written_is_refused_by_name(change):
    one = Thing(array=numpy.zeros(1000), list=[], iterator=iter([1, 2, 3]))
    memory = Memory(one)
    assert memory.changes(one) == {}
    if change == "array":
        one.array[7] = 1
    elif change == "list":
        one.list.append(object())
    else:
        next(one.iterator)
    with pytest.raises(StateError, match=rf"Thing keeps '{change}'.*state_dict"):
        memory.changes(one)


def test_an_object_may_describe_itself():
    class Own:
        n = 0

        def state_dict(self):
            return {"n": self.n}

        def load_state_dict(self, state):
            self.n = state["n"]

    one, other = Own(), Own()
    one.n = 3
    restore(other, capture(one))
    assert other.n == 3


def test_long_containers_are_compared_without_being_walked():
    one = Thing(words={str(n): n for n in range(5000)}, numbers=list(range(5000)))
    memory = Memory(one)
    assert memory.changes(one) == {}
    one.numbers[17] = 0
    with pytest.raises(StateError, match="'numbers'"):
        memory.changes(one)
