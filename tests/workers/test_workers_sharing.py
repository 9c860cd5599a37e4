"""An object taken apart and put together is the same, over memory that is there once."""

from __future__ import annotations

import gc
import os
import pickle
import sys
import threading

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuel.datasets import IndexableDataset
from fuel.schemes import ShuffledScheme
from fuel.streams import DataStream
from fuel.utils._process import ChildProcess
from fuel.utils._shared_list import SharedList
from fuel.workers import _sharing
from fuel.workers._sharing import dumps_shared, loads_shared, receive_segments, send_segments

TIMEOUT = 60.0


def through(value):
    return loads_shared(*dumps_shared(value))


def numbers(*shape, dtype="float64"):
    return numpy.random.default_rng(5).integers(0, 100, shape).astype(dtype)


def same(first, second):
    return (
        first.dtype == second.dtype
        and first.shape == second.shape
        and first.tobytes() == second.tobytes()
    )


DTYPES = ["u1", ">i4", "f2", "c16", "?", "U7", "S9", "M8[s]", "i4,f8", "V8"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_of_every_plain_type_arrive_as_they_are(dtype):
    array = numpy.zeros(70_000, dtype)
    array.view("u1")[:: array.itemsize] = 1
    payload, segments = dumps_shared(array)
    arrived = loads_shared(payload, segments)
    assert len(segments) == 1
    assert len(payload) < 2000
    assert same(array, arrived)
    assert not arrived.flags.writeable


LAYOUTS = {
    "C": lambda x: x,
    "Fortran": numpy.asfortranarray,
    "transposed": lambda x: x.T,
    "every other": lambda x: x[::2],
    "backwards": lambda x: x[::-1, ::-1],
    "columns": lambda x: x[:, 10:40],
    "repeated": lambda x: numpy.broadcast_to(x[:1], x.shape),
    "a tail": lambda x: x[10:],
    "a small part": lambda x: x[5:190:2],
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_layout_arrives_with_its_elements_and_its_order(layout):
    array = LAYOUTS[layout](numbers(500, 300))
    arrived = through(array)
    assert same(array, arrived)
    if array.flags.c_contiguous or array.flags.f_contiguous:
        assert arrived.flags.c_contiguous == array.flags.c_contiguous
        assert arrived.flags.f_contiguous == array.flags.f_contiguous


def test_what_is_small_or_no_plain_array_travels_in_the_pickle():
    class Odd(numpy.ndarray):
        pass

    values = [
        numpy.arange(10),
        numpy.array([None] * 20_000),
        numpy.zeros(10**6).view(Odd),
        numpy.ma.masked_array(numpy.zeros(10)),
        numpy.zeros((0, 10**6)),
        list(range(10_000)),
        ["a"] * 5000 + [None],
        ["a"] * 4095,
    ]
    for value in values:
        payload, segments = dumps_shared(value)
        arrived = loads_shared(payload, segments)
        assert type(arrived) is type(value)
        assert (numpy.asarray(arrived) == numpy.asarray(value)).all()
        # Of the subclass the base is plain, and its own business.
        assert segments == [] or type(value) is Odd


def test_what_was_one_thing_is_one_thing():
    array, words = numbers(100, 100), ["word"] * 5000
    arrived = through({"a": array, "b": [array, words], "c": words})
    assert arrived["a"] is arrived["b"][0]
    assert arrived["b"][1] is arrived["c"]


def test_views_of_one_array_share_its_place():
    array = numbers(1000, 1000)
    payload, segments = dumps_shared([array[10:], array, array[:-5].T])
    assert [part.size_bytes for part in segments] == [array.nbytes]
    tail, whole, turned = loads_shared(payload, segments)
    assert numpy.shares_memory(tail, whole)
    assert numpy.shares_memory(turned, whole)
    assert same(tail, array[10:])
    assert same(turned, array[:-5].T)


def test_a_small_view_does_not_take_the_whole_with_it():
    _, segments = dumps_shared(numbers(1000, 1000)[:100])
    assert [part.size_bytes for part in segments] == [100 * 1000 * 8]


def test_many_arrays_take_few_segments():
    _, segments = dumps_shared([numbers(100, 100 + n) for n in range(300)])
    assert len(segments) == 1


def test_a_large_array_has_a_segment_of_its_own():
    large, small = numpy.ones(2**23), numpy.ones(2**14)
    _, segments = dumps_shared([small, large])
    assert sorted(part.size_bytes for part in segments) == [small.nbytes, large.nbytes]


def test_an_array_is_placed_once_for_all_pipelines():
    array = numbers(200, 200)
    (first,) = dumps_shared([array])[1]
    (second,) = dumps_shared({"other": array})[1]
    assert first is second


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_array_that_was_changed_is_placed_anew(layout):
    array = numbers(500, 300)
    view = LAYOUTS[layout](array)
    dumps_shared(view)
    array[5, 15] += 1
    array[0, 15] += 1
    assert same(through(view), view)


def test_what_nobody_can_change_is_not_compared(monkeypatch):
    array = numbers(200, 200)
    array.flags.writeable = False
    view = array[:150]
    segments = dumps_shared([array, view])[1]
    monkeypatch.setattr(_sharing, "_same", lambda *parts: pytest.fail("it was compared"))
    assert dumps_shared([view])[1] == segments
    array.flags.writeable = True
    monkeypatch.undo()
    array[3, 3] += 1
    assert same(through(array), array)


def test_without_the_c_library_changes_are_seen_too(monkeypatch):
    monkeypatch.setattr(_sharing, "_comparer", lambda: None)
    array = numbers(500, 300)
    first = dumps_shared(array)[1]
    assert dumps_shared(array)[1] == first
    array[-1, -1] += 1
    assert same(through(array), array)


def test_a_place_goes_with_its_array():
    gc.collect()
    before = set(_sharing._placed)
    array = numbers(200, 200)
    _, segments = dumps_shared(array)
    assert set(_sharing._placed) - before == {id(array)}
    del array
    gc.collect()
    assert set(_sharing._placed) <= before
    assert not segments[0].closed  # whoever holds it still may


def test_several_threads_may_do_so_at_once():
    arrays = [numbers(200, 200 + n) for n in range(5)]
    wrong = []

    def work():
        for _ in range(10):
            wrong.extend(
                number
                for number, (a, b) in enumerate(zip(through(arrays), arrays, strict=True))
                if not same(a, b)
            )

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@settings(max_examples=25, deadline=None)
@given(
    kind=st.sampled_from([str, bytes]),
    some=st.lists(st.text(st.characters(exclude_categories=()), max_size=6), min_size=1),
)
def test_long_lists_arrive_as_lists_that_cannot_be_changed(kind, some):
    items = some if kind is str else [part.encode("utf-8", "surrogatepass") for part in some]
    items = (items * 5000)[:5000]
    arrived = through({"x": items})["x"]
    assert type(arrived) is SharedList
    assert arrived == items
    with pytest.raises(TypeError, match="cannot be changed"):
        arrived.append(items[0])


@pytest.mark.parametrize("part", ["é", b"x"])
def test_short_lists_of_what_is_long_are_placed(part):
    files = [part * n for n in range(300_000, 300_005)]
    payload, segments = dumps_shared({"files": files})
    assert len(payload) < 2000
    assert loads_shared(payload, segments)["files"] == files
    mixed = [*files, part.encode() if isinstance(part, str) else part.decode()]
    assert type(through(mixed)) is list
    assert type(through(files[:3])) is list


def test_subclasses_of_lists_and_texts_stay_what_they_are():
    class Words(list):
        pass

    class Word(str):
        __slots__ = ()

    assert type(through(Words(["a"] * 5000))) is Words
    assert type(through([Word("a")] * 5000)[0]) is Word


def test_functions_of_the_caller_travel_with_what_they_close_over():
    array = numbers(100, 100)

    def local(n):
        return array[n].sum()

    payload, segments = dumps_shared(local)
    assert len(segments) == 1
    assert loads_shared(payload, segments)(3) == local(3)


@pytest.mark.parametrize("mode", ["r", "r+", "w+"])
@pytest.mark.parametrize(
    "part", [lambda x: x, lambda x: x[10:], lambda x: x[::-2], lambda x: x.T, numpy.asarray]
)
def test_a_memory_map_is_opened_again(tmp_path, mode, part):
    path = tmp_path / "numbers.bin"
    array = numbers(300, 400, dtype="int32")
    path.write_bytes(b"head" * 3 + array.tobytes())
    mapped = numpy.memmap(path, "int32", mode, offset=12, shape=array.shape)
    if mode == "w+":
        mapped[:] = array
    payload, segments = dumps_shared(part(mapped))
    assert segments == []
    assert len(payload) < 2000
    arrived = loads_shared(payload, segments)
    assert type(arrived) is type(part(mapped))
    assert same(arrived, part(array))
    assert arrived.flags.writeable == (mode != "r")
    if mode != "r":
        mapped[200, 200] = -7
        assert same(arrived, part(mapped))


def test_a_private_map_and_one_of_a_file_that_is_gone_travel_as_data(tmp_path):
    path = tmp_path / "numbers.bin"
    array = numbers(300, 400)
    for mode in ("c", "r"):
        path.write_bytes(array.tobytes())
        mapped = numpy.memmap(path, "float64", mode, shape=array.shape)
        if mode == "c":
            mapped[0, 0] = 12345.0
        else:
            path.unlink()
            path.write_bytes(bytes(array.nbytes))  # another file of that name
        payload, segments = dumps_shared(mapped)
        assert len(segments) == 1
        assert same(loads_shared(payload, segments), numpy.asarray(mapped))


def test_a_stream_over_shared_memory_yields_what_it_did():
    data = {"x": numbers(6000, 40), "text": [f"é{n}" for n in range(6000)]}
    stream = DataStream(IndexableDataset(data), iteration_scheme=ShuffledScheme(6000, 128))
    arrived = through(stream)
    for want, got in zip(stream.get_epoch_iterator(), arrived.get_epoch_iterator(), strict=True):
        assert all(
            same(a, b) if isinstance(a, numpy.ndarray) else a == b
            for a, b in zip(want, got, strict=True)
        )
        assert [type(part) for part in want] == [type(part) for part in got]


def test_what_cannot_be_pickled_raises_what_pickle_raises():
    with pytest.raises((TypeError, pickle.PicklingError)):
        dumps_shared(threading.Lock())


def proportional_size():
    with open("/proc/self/smaps_rollup") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("Pss:"))


def read_all(channel, payload, count):
    segments = receive_segments(channel._connection, count)
    # What is only loaded for this, not the data.
    loads_shared(*dumps_shared([numpy.zeros(2**14), ["a"] * 5000]))
    channel.send(proportional_size())
    data = loads_shared(payload, segments)
    del segments
    total = float(data["x"].sum())
    length = sum(map(len, data["words"]))
    gc.collect()
    channel.send((total, length))
    channel.recv()  # all have read
    channel.send(proportional_size())
    channel.recv()  # all have looked


@pytest.mark.skipif(not os.path.exists("/proc/self/smaps_rollup"), reason="Linux says so")
def test_what_four_workers_read_is_in_memory_once():
    words = [f"the word number {n}" for n in range(200_000)]
    data = {"x": numpy.arange(2**23, dtype="float64"), "words": words}
    payload, segments = dumps_shared(data)
    copy = sum(part.size_bytes for part in segments)
    assert copy > data["x"].nbytes + sum(map(len, words))
    assert len(payload) < 4000
    children = [ChildProcess(read_all, (payload, len(segments))) for _ in range(4)]
    try:
        for child in children:
            while not child._ready:
                child.poll(1.0)
            send_segments(child._channel._connection, segments)
        before = [child.recv(TIMEOUT) for child in children]
        expected = (float(data["x"].sum()), sum(map(len, words)))
        assert [child.recv(TIMEOUT) for child in children] == [expected] * 4
        for child in children:
            child.send("go on")
        after = [child.recv(TIMEOUT) for child in children]
        for child in children:
            child.send("go on")
    finally:
        for child in children:
            child.close()
    assert sum(after) < 1.2 * copy + sum(before)


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_descriptors_do_not_grow_with_pipelines():
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    array = numbers(300, 300)
    for _ in range(30):
        through([array, numbers(100, 100)])
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= before + 2  # of the one array that still lives
