"""Laws of objects in lists: those at the places, themselves; compiled and plain form agree."""

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuel.exceptions import RequestError
from fuel.kernels import _objects_reference, objects

THINGS = [object(), "a", None, 3, b"x", numpy.arange(2), [1], 2.5]


def array_of(things):
    array = numpy.empty(len(things), object)
    for index, thing in enumerate(things):
        array[index] = thing
    return array


@given(st.lists(st.integers(0, 7), max_size=40), st.sampled_from(["list", "array", "strided"]))
def test_the_objects_themselves_are_returned(places, form):
    things = THINGS
    container = things if form == "list" else array_of(things)
    if form == "strided":
        container = array_of([thing for thing in things for _ in "ab"])[::2]
    rows = numpy.array(places, dtype=numpy.int64)
    found = objects.take(container, rows)
    assert type(found) is list and len(found) == len(places)
    assert all(one is things[place] for one, place in zip(found, places))
    plain = _objects_reference.take(container, rows)
    assert all(one is other for one, other in zip(found, plain, strict=True))
    strided = numpy.repeat(rows, 2)[::2]
    assert all(one is other for one, other in zip(found, objects.take(container, strided)))


def test_slots_that_nothing_was_put_into_hold_none():
    assert objects.take(numpy.empty(3, object), numpy.array([2, 0])) == [None, None]


@pytest.mark.parametrize("container", [THINGS, array_of(THINGS)])
@pytest.mark.parametrize("row", [8, -1, 2**62, -(2**63)])
def test_a_place_that_is_not_there_is_refused(container, row):
    with pytest.raises(RequestError, match=f"8 objects, got a request for number {row}; .* 0 to 7"):
        objects.take(container, numpy.array([0, row]))


@pytest.mark.parametrize("rows", [[0], numpy.array([0], "i4"), numpy.array([[0]]), (0,), 0])
def test_rows_of_another_form_are_refused(rows):
    with pytest.raises(TypeError, match="vector of int64"):
        objects.take(THINGS, rows)


@pytest.mark.parametrize("container", [(1, 2), numpy.arange(3), array_of(THINGS).reshape(2, 4)])
def test_containers_of_another_form_are_refused(container):
    with pytest.raises(TypeError, match="a list or a vector of objects"):
        objects.take(container, numpy.array([0]))


def test_every_object_is_counted():
    import sys

    thing = object()
    before = sys.getrefcount(thing)
    found = objects.take([thing], numpy.zeros(1000, numpy.int64))
    assert sys.getrefcount(thing) == before + 1000
    del found
    assert sys.getrefcount(thing) == before


class Longer(list):
    """Says that it is longer than it is."""

    def __len__(self):
        return 100


SEQUENCES = st.one_of(
    st.integers(0, 5).map(numpy.zeros),
    st.tuples(st.integers(0, 5), st.integers(0, 2)).map(numpy.zeros),
    st.lists(st.integers(), max_size=4),
    st.lists(st.integers(), max_size=4).map(tuple),
    st.text(max_size=4),
    st.binary(max_size=4),
)
UNKNOWN = st.sampled_from([3, None, numpy.zeros(()), numpy.int64(1), Longer([1]), {1: 2}, range(3)])


@given(st.lists(SEQUENCES, max_size=40), st.none() | UNKNOWN.map(lambda thing: [thing]), st.data())
def test_lengths_are_what_len_says(sequences, unknown, data):
    if unknown is not None:
        sequences.insert(data.draw(st.integers(0, len(sequences))), unknown[0])
    found = objects.lengths(sequences)
    out = numpy.empty(len(sequences), numpy.int64)
    assert _objects_reference.lengths(sequences, out) is (unknown is None)
    if unknown is not None:
        assert found is None
        return
    assert found.dtype == numpy.int64
    assert found.tolist() == out.tolist() == [len(sequence) for sequence in sequences]


def test_lengths_of_a_dense_array_are_those_of_its_rows():
    assert objects.lengths(numpy.zeros((3, 2, 5))).tolist() == [2, 2, 2]
    assert objects.lengths(numpy.zeros(3)) is None
    assert objects.lengths((1, 2)) is None
    assert objects.lengths([]).tolist() == []


def test_a_collection_of_garbage_may_change_the_container():
    import gc

    class Clears:
        def __init__(self, container):
            self.container, self.me = container, self

        def __del__(self):
            self.container.clear()
            self.container.append("new")

    places = numpy.array([40, 0] * 20)
    before = gc.get_threshold()
    gc.collect()
    try:
        for threshold in range(1, 12):
            container = [[number] for number in range(50)]
            Clears(container)  # refers to itself, so that only a collection ends it
            gc.set_threshold(threshold)
            try:
                found = objects.take(container, places)
            except RequestError as error:
                assert "there are 1 objects, got a request for number 40" in str(error)
            else:
                assert found == [[40], [0]] * 20
            gc.set_threshold(*before)
            gc.collect()
    finally:
        gc.set_threshold(*before)
