"""Recycled memory: never shared, never lost, aligned, bounded."""

from __future__ import annotations

import copy
import gc
import itertools
import os
import pickle
import sys
import threading
import tracemalloc

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from fuel.kernels import _memory_reference as reference
from fuel.kernels import _select, memory

compiled = _select.active()["memory"] == "compiled"
needs_compiled = pytest.mark.skipif(not compiled, reason="the NumPy form recycles nothing")

dtypes = st.sampled_from(["bool", "u1", "<i2", ">i4", "f4", "f8", "c16", "S5", "U3", "V7", "M8[s]"])
lengths = st.lists(st.integers(0, 40), max_size=3)


@pytest.fixture(autouse=True)
def own_pool():
    """Begin with an empty pool, and leave it as it was."""
    before = memory.statistics()["limit_bytes"]
    gc.collect()
    memory.trim()
    yield
    memory.set_limit(before)


@settings(max_examples=60)
@given(lengths, dtypes)
def test_arrays_are_aligned_writable_and_like_numpys(shape, dtype):
    for allocate in (memory.empty, lambda *given: reference.empty(given[0], numpy.dtype(given[1]))):
        array = allocate(tuple(shape), dtype)
        expected = numpy.empty(tuple(shape), dtype)
        assert (array.shape, array.dtype) == (expected.shape, expected.dtype)
        assert not array.size or array.strides == expected.strides
        assert type(array) is numpy.ndarray
        assert array.ctypes.data % 64 == 0
        assert array.flags.c_contiguous and array.flags.writeable and array.flags.aligned
        array[...] = numpy.zeros((), dtype)
        assert array.tobytes() == bytes(array.nbytes)


class Arrays(RuleBasedStateMachine):
    """Arrays come and go in any order; those that are alive keep what was written."""

    def __init__(self):
        super().__init__()
        memory.set_limit(5000)
        self.alive = []
        self.number = 0

    @rule(size=st.integers(0, 3000), dtype=st.sampled_from(["u1", "i2", "f8"]))
    def allocate(self, size, dtype):
        array = memory.empty(size, dtype)
        self.number += 1
        array[...] = self.number % 120
        self.alive.append((array, self.number % 120))

    @rule(data=st.data())
    def keep_only_a_view(self, data):
        if self.alive:
            place = data.draw(st.integers(0, len(self.alive) - 1))
            array, value = self.alive[place]
            self.alive[place] = (array[len(array) // 2 :], value)

    @rule(data=st.data())
    def drop(self, data):
        if self.alive:
            self.alive.pop(data.draw(st.integers(0, len(self.alive) - 1)))

    @rule(limit=st.sampled_from([0, 100, 5000]))
    def change_the_limit(self, limit):
        memory.set_limit(limit)

    @rule()
    def trim(self):
        memory.trim()
        assert memory.statistics()["kept_bytes"] == 0

    @invariant()
    def contents_hold(self):
        for array, value in self.alive:
            assert (array == value).all()

    @invariant()
    def arrays_do_not_overlap(self):
        spans = sorted(
            (array.ctypes.data, array.ctypes.data + array.nbytes)
            for array, _ in self.alive
            if array.nbytes
        )
        assert all(stop <= start for (_, stop), (start, _) in itertools.pairwise(spans))

    @invariant()
    def what_is_kept_is_bounded(self):
        found = memory.statistics()
        assert found["kept_bytes"] <= found["limit_bytes"]
        assert (found["kept_bytes"] == 0) == (found["kept_blocks"] == 0)


TestArrays = Arrays.TestCase
TestArrays.settings = settings(max_examples=25, stateful_step_count=30)


@needs_compiled
def test_the_memory_of_a_dead_array_serves_the_next_of_its_size():
    address = memory.empty((100, 1000), "f4").ctypes.data
    before = memory.statistics()["recycled"]
    again = memory.empty((99, 1000), "f4")
    assert again.ctypes.data == address
    assert memory.statistics()["recycled"] == before + 1


@needs_compiled
def test_a_view_keeps_the_memory_from_being_used_again():
    array = memory.empty(1000, "i8")
    array[...] = 7
    view = array[500:].reshape(2, -1)
    other = memoryview(array)
    del array
    assert memory.statistics()["used_blocks"] >= 1
    taken = [memory.empty(1000, "i8") for _ in range(5)]
    for one in taken:
        one[...] = 0
    assert (view == 7).all() and set(other) == {7}


@needs_compiled
def test_what_is_idle_for_longest_is_given_back_first():
    memory.set_limit(330_000)
    first, second = memory.empty(200_000, "u1"), memory.empty(100_000, "u1")
    del first
    del second
    third = memory.empty(50_000, "u1")
    del third  # too much together: the first goes
    found = memory.statistics()
    assert 150_000 <= found["kept_bytes"] <= 170_000
    assert found["kept_blocks"] == 2


@needs_compiled
def test_what_is_larger_than_the_limit_is_not_kept():
    memory.set_limit(1000)
    small = memory.empty(500, "u1")
    del small
    large = memory.empty(100_000, "u1")
    del large
    assert memory.statistics()["kept_blocks"] == 1
    memory.set_limit(0)
    assert memory.statistics()["kept_blocks"] == 0


@needs_compiled
def test_every_block_is_accounted_for():
    before = memory.statistics()
    arrays = [memory.empty(size, "u1") for size in (0, 1, 64, 65, 100_000)]
    found = memory.statistics()
    assert found["used_blocks"] - before["used_blocks"] == 5
    # A block is at most an eighth larger than what was asked for, beyond the smallest.
    used = found["used_bytes"] - before["used_bytes"]
    assert sum(array.nbytes for array in arrays) <= used <= 1.125 * 100_000 + 4 * 128
    arrays.clear()
    assert memory.statistics()["used_bytes"] == before["used_bytes"]
    assert memory.trim() == memory.statistics()["kept_bytes"] + used


@needs_compiled
def test_tracemalloc_sees_living_arrays_only():
    tracemalloc.start()
    try:
        array = memory.empty(10**6, "u1")
        assert tracemalloc.get_traced_memory()[0] >= 10**6
        del array
        assert tracemalloc.get_traced_memory()[0] < 10**5
        array = memory.empty(10**6, "u1")
        assert tracemalloc.get_traced_memory()[0] >= array.nbytes  # recycled, and seen again
    finally:
        tracemalloc.stop()


def test_arrays_pickle_copy_and_pass_through_dlpack():
    array = memory.empty((3, 4), "f4")
    array[...] = numpy.arange(12).reshape(3, 4)
    for same in (pickle.loads(pickle.dumps(array)), copy.deepcopy(array), array.copy()):
        assert numpy.array_equal(same, array)
        assert not numpy.shares_memory(same, array)
    shared = numpy.from_dlpack(array)
    assert numpy.shares_memory(shared, array)
    del array
    other = memory.empty((3, 4), "f4")
    other[...] = 0
    assert shared.tolist() == numpy.arange(12.0).reshape(3, 4).tolist()


def test_arrays_and_views_may_be_frozen_for_a_while():
    array = memory.empty((4, 5), "f4")
    view = array[1:]
    for frozen in (array, view):
        frozen.flags.writeable = False
        with pytest.raises(ValueError, match="read-only"):
            frozen[0] = 1
        frozen.flags.writeable = True
        frozen[...] = 2
    del array, frozen
    owner, value = memoryview(view.base), view.copy()
    del view
    memory.empty((4, 5), "f4")[...] = 3
    assert value.tobytes() in bytes(owner)  # the memory lasts as long as who looks at it


@pytest.mark.parametrize("shape", [numpy.array([2, 3]), (numpy.int8(2), 3), [2, numpy.uint64(3)]])
def test_lengths_may_be_numpys(shape):
    assert memory.empty(shape).shape == (2, 3)


def test_structured_types_and_subarrays_work():
    array = memory.empty(4, [("a", "u1"), ("b", "f8", (2,))])
    array["b"] = 1.5
    assert array["b"].tolist() == [[1.5, 1.5]] * 4
    assert memory.empty(4, ("f4", (2, 3))).shape == (4, 2, 3)
    assert memory.empty((), "f4").shape == ()
    assert memory.empty(numpy.int64(3)).dtype == numpy.float64
    assert memory.empty([2, 3], numpy.int32).shape == (2, 3)


def test_threads_share_the_pool_and_never_a_block():
    memory.set_limit(1 << 20)
    wrong = []

    def work(number):
        held = []
        for turn in range(300):
            array = memory.empty(100 + 50 * (turn % 7), "i4")
            array[...] = number * 1000 + turn
            held.append((array, number * 1000 + turn))
            if len(held) > 5:
                first, value = held.pop(turn % 5)
                if not (first == value).all():
                    wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_both_sides_of_a_fork_go_on(fresh_python):
    printed = fresh_python(
        """if True:
        import os
        from fuel.kernels import memory
        held = memory.empty(100_000, "i4")
        held[...] = 1
        idle = [memory.empty(100_000, "i4") for _ in range(3)]
        idle.clear()
        child = os.fork()
        mark = 3 if child else 2
        other = memory.empty(100_000, "i4")
        other[...] = mark
        held += mark
        good = bool((other == mark).all() and (held == mark + 1).all())
        if not child:
            os._exit(0 if good else 1)
        print(good, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
    )
    assert printed.split() == ["True", "0"]


@pytest.mark.parametrize("dtype", [object, [("a", "O")]])
def test_types_with_references_are_refused(dtype):
    with pytest.raises(TypeError, match="references to Python objects.*use numpy.empty"):
        memory.empty(3, dtype)


@pytest.mark.parametrize("allocate", [memory.empty, reference.empty])
def test_shapes_that_cannot_be_are_refused(allocate):
    byte, double = numpy.dtype("u1"), numpy.dtype("f8")
    with pytest.raises(ValueError, match=r"no negative lengths, got \(2, -1\)"):
        allocate((2, -1), byte)
    for shape in ((sys.maxsize, 2), (2**32, 2**32, 2**32), (2**63,), (2**70, 2)):
        with pytest.raises(ValueError, match="larger than memory can be addressed"):
            allocate(shape, double)
    with pytest.raises(MemoryError):
        allocate((sys.maxsize // 4,), byte)
    with pytest.raises(ValueError):
        allocate((1,) * 70, byte)
    assert allocate((0, 5), double).size == 0


def test_arguments_of_the_wrong_type_are_refused():
    for shape in (2.5, "3", (2, None), None):
        with pytest.raises(TypeError, match="must be an integer or a sequence of integers"):
            memory.empty(shape, "u1")
    with pytest.raises(TypeError):
        memory.empty(3, "no such type")
    with pytest.raises(ValueError, match="must not be negative, got -1; 0 keeps nothing"):
        memory.set_limit(-1)
    with pytest.raises(TypeError):
        memory.set_limit(1.5)


def test_the_setting_is_read_and_checked(fresh_python):
    ask = "from fuel.kernels import memory; print(memory.statistics()['limit_bytes'])"
    assert fresh_python(ask, FUEL_BUFFER_BYTES="").strip() == str(256 << 20)
    assert fresh_python(ask, FUEL_BUFFER_BYTES="1000").strip() == "1000"
    with pytest.raises(AssertionError, match="FUEL_BUFFER_BYTES must be a number of bytes"):
        fresh_python(ask, FUEL_BUFFER_BYTES="lots")
