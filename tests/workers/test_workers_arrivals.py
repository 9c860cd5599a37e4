"""What arrives from worker processes is what was evaluated, and belongs to the consumer."""

from __future__ import annotations

import collections
import dataclasses
import gc
import multiprocessing
import os
import random
import signal
import threading
import warnings
import weakref
from typing import Any

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuel.datasets import IndexableDataset
from fuel.schemes import ConstantScheme, SequentialExampleScheme, SequentialScheme
from fuel.streams import DataStream
from fuel.transformers import Batch, Mapping, Parallel
from fuel.workers import close_workers

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs signals and forks")
REGION = 8 << 20


@pytest.fixture(autouse=True, scope="module")
def no_workers_left() -> Any:
    yield
    close_workers()


def examples(function: Any, rows: int = 24, **settings: Any) -> Parallel:
    dataset = IndexableDataset({"n": numpy.arange(rows)})
    stream = DataStream(dataset, iteration_scheme=SequentialExampleScheme(rows))
    settings = {"workers": 2, "kind": "process", "shared_memory_bytes": REGION, **settings}
    return Parallel(Mapping(stream, function, elementwise=True), **settings)


def filled(data: Any) -> Any:
    number = int(data[0])
    return numpy.full(100_000, number, "u1"), numpy.full((40, 50), number, "f4")


@pytest.mark.filterwarnings("ignore:the shared memory of:RuntimeWarning")
def test_a_consumer_that_keeps_everything_keeps_what_it_got() -> None:
    parallel = examples(filled, 100)
    kept: list[Any] = []
    for epoch in range(4):  # 40 MB, of two regions of 8
        for number, (large, small) in enumerate(parallel):
            assert large.flags.writeable and small.flags.writeable
            assert (large == number).all() and (small == number).all()
            large += epoch + 1
            kept.append((epoch, number, large, small[3:, ::2]))
    for epoch, number, large, view in kept:
        assert (large == number + epoch + 1).all() and (view == number).all()


@pytest.mark.filterwarnings("ignore:the shared memory of:RuntimeWarning")
def test_columns_may_be_dropped_by_another_thread_in_any_order() -> None:
    generator = random.Random(5)
    kept: list[Any] = []
    lock = threading.Lock()
    stop = threading.Event()

    def drops() -> None:
        while not stop.is_set():
            with lock:
                if len(kept) > 20:
                    number, array = kept.pop(generator.randrange(len(kept)))
                    assert (array == number).all()
                    del array

    thread = threading.Thread(target=drops)
    thread.start()
    try:
        parallel = examples(filled, 100)
        for _ in range(4):
            for number, columns in enumerate(parallel):
                with lock:
                    kept.append((number, columns[generator.randrange(2)]))
    finally:
        stop.set()
        thread.join()
    assert all((array == number).all() for number, array in kept)


def _cached(data: Any, cache: dict[str, Any] = {}) -> Any:  # noqa: B006
    from fuel.kernels import memory

    if not cache:
        cache["array"] = memory.empty((5000,), "u1")
        cache["array"][:] = 1
        cache["tuple"] = (memory.empty((6000,), "u1"),)
        cache["tuple"][0][:] = 2
        cache["weak"] = None
    alive = cache["weak"]() if cache["weak"] is not None else None
    seen = (
        bool((cache["array"] == 1).all()),
        bool((cache["tuple"][0] == 2).all()),
        alive is None,
    )
    fresh = memory.empty((7000,), "u1")
    fresh[:] = int(data[0])
    cache["weak"] = weakref.ref(fresh)
    return (cache["array"], cache["array"][10:], fresh, *cache["tuple"], *seen)


def _tuple(data: Any, cache: list[Any] = []) -> Any:  # noqa: B006
    if not cache:
        cache.append((numpy.full(9000, 3), {"deep": numpy.full(9000, 4)}))
    assert (cache[0][0] == 3).all() and (cache[0][1]["deep"] == 4).all()
    return cache[0]


def test_what_a_worker_keeps_and_what_the_consumer_gets_are_two() -> None:
    for number, item in enumerate(examples(_cached, workers=1)):
        arrays, seen = item[:4], item[4:]
        assert seen == (True, True, True)
        assert [int(array[0]) for array in arrays] == [1, 1, number, 2]
        assert all((array == array[0]).all() for array in arrays)
        for array in arrays:
            array[:] = 99
    for array, deep in examples(_tuple, workers=1):
        assert (array == 3).all() and (deep["deep"] == 4).all()
        array[:] = 99
        deep["deep"][:] = 99


def test_a_data_set_that_is_not_copied_is_not_changed_by_the_consumer() -> None:
    images = numpy.arange(12 * 3000).reshape(12, 3000)
    dataset = IndexableDataset({"x": images, "y": images[:, ::2]})
    stream = DataStream(dataset, iteration_scheme=SequentialScheme(12, 4))
    parallel = Parallel(stream, workers=1, kind="process")
    for _ in range(3):
        for number, (x, y) in enumerate(parallel):
            numpy.testing.assert_array_equal(x, images[number * 4 : number * 4 + 4])
            numpy.testing.assert_array_equal(y, images[number * 4 : number * 4 + 4, ::2])
            x[:], y[:] = -1, -1
    assert images.min() == 0


@pytest.mark.parametrize("how", ["killed", "closed"])
def test_arrays_outlive_their_workers(how: str) -> None:
    parallel = examples(filled, 60)
    iterator = parallel.get_epoch_iterator()
    kept = [next(iterator) for _ in range(10)]
    if how == "killed":
        assert parallel._crew is not None
        for worker in parallel._crew._processes.workers:
            os.kill(worker.process.pid, signal.SIGKILL)
    else:
        close_workers()
    kept += list(iterator)
    gc.collect()
    for number, (large, small) in enumerate(kept):
        assert (large == number).all() and (small == number).all()
        large += 1
        assert large[5] == number + 1


def test_arrays_in_a_forked_process_are_its_own() -> None:
    # As a program does that has a forked process draw a picture of a batch while it goes on.
    parallel = examples(filled, 100, workers=1)
    iterator = parallel.get_epoch_iterator()
    kept = [next(iterator) for _ in range(3)]
    ready, go = os.pipe(), os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads
        child = os.fork()
    if not child:
        code = 1
        try:
            kept[1][0][:] = 77
            os.write(ready[1], b".")
            os.read(go[0], 1)
            right = [(kept[0][0] == 0).all(), (kept[1][0] == 77).all(), (kept[2][1] == 2).all()]
            code = 0 if all(right) else 2
        finally:
            os._exit(code)
    assert os.read(ready[0], 1) == b"."
    assert (kept[1][0] == 1).all()
    kept[2][1][:] = 5
    kept.clear()
    for number, (large, _) in enumerate(iterator, 3):
        assert (large == number).all()
    os.write(go[1], b".")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    for end in (*ready, *go):
        os.close(end)


# -- types and shapes ---------------------------------------------------------------------------

Pair = collections.namedtuple("Pair", "left right")


@dataclasses.dataclass
class Thing:
    content: Any

    def __eq__(self, other: object) -> bool:
        return type(other) is Thing and alike(self.content, other.content)


def alike(one: Any, other: Any) -> bool:
    """Tell whether two things are the same, bit for bit."""
    if type(one) is not type(other):
        return False
    if isinstance(one, numpy.ma.MaskedArray):
        return alike(one.data.view(numpy.ndarray), other.data.view(numpy.ndarray)) and alike(
            numpy.ma.getmaskarray(one), numpy.ma.getmaskarray(other)
        )
    if isinstance(one, numpy.ndarray):
        if one.dtype.kind in "mM" and other.dtype.kind == one.dtype.kind:
            # NumPy itself pickles times in the order of the machine.
            one, other = (part.astype(part.dtype.newbyteorder("=")) for part in (one, other))
        if one.dtype != other.dtype or one.shape != other.shape:
            return False
        if one.dtype.hasobject:
            return all(map(alike, one.ravel().tolist(), other.ravel().tolist()))
        if one.dtype.names is not None:
            return all(alike(one[name], other[name]) for name in one.dtype.names)
        return one.tobytes() == other.tobytes()
    if isinstance(one, dict):
        return list(one) == list(other) and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, numpy.generic):
        return one.dtype == other.dtype and one.tobytes() == other.tobytes()
    return bool(one == other)


DTYPES = [
    "?", "i1", "<i2", ">i4", "u8", "f2", ">f4", "f8", "g", "c8", ">c16", "S3", "S1500", "U2", ">U4",
    "M8[ns]", ">M8[D]", "m8[s]", "V7", "S0",
    [("a", "u1"), ("b", ">f8", (2, 3))],
    {"names": ["a", "b"], "formats": ["u1", "f8"], "offsets": [0, 8], "itemsize": 24},
    {"names": ["a"], "formats": ["f4"], "titles": ["of a"]},
]  # fmt: skip


@st.composite
def arrays(draw: Any) -> Any:
    dtype = numpy.dtype(draw(st.sampled_from(DTYPES)))
    shape = draw(
        st.one_of(
            st.just(()),
            st.lists(st.sampled_from([0, 1, 2, 3, 40]), min_size=1, max_size=3).map(tuple),
            st.sampled_from([(2000,), (60, 60), (3, 0, 5), (1, 1200, 2)]),
        )
    )
    size = int(numpy.prod(shape, dtype=int)) * dtype.itemsize
    content = numpy.random.default_rng(draw(st.integers(0, 9))).bytes(size)
    if dtype.kind in "US":
        content = bytes(byte % 3 * 30 + 34 if not at % 4 else 0 for at, byte in enumerate(content))
        dtype = dtype.newbyteorder("<")
    if dtype.kind == "b":
        content = bytes(byte % 2 for byte in content)
    array = numpy.ndarray(shape, dtype, bytearray(content) if content else bytearray(1))
    form = draw(st.sampled_from(["C", "F", "reversed", "strided", "broadcast", "read-only"]))
    if form == "F":
        array = numpy.asfortranarray(array) if array.ndim else array
    elif form == "reversed":
        array = array[(slice(None, None, -1),) * array.ndim]
    elif form == "strided" and array.ndim:
        array = array[..., ::2]
    elif form == "broadcast":
        array = numpy.broadcast_to(array, (2, *array.shape))
    elif form == "read-only":
        array.flags.writeable = False
    return array


def ragged(parts: list[Any]) -> Any:
    array = numpy.empty(len(parts), object)
    for number, part in enumerate(parts):
        array[number] = part
    return array


values = st.recursive(
    arrays()
    | st.sampled_from(
        [None, True, 3, -(1 << 90), 2.5, 1j, "text", "t" * 3000, b"b", b"b" * 3000, frozenset((1,))]
    )
    | st.builds(numpy.float32, st.integers(0, 9))
    | st.sampled_from([numpy.datetime64("2020-01-01"), numpy.str_("s"), numpy.bytes_(b"s")])
    | st.builds(lambda size: numpy.ma.masked_less(numpy.arange(size), 7), st.sampled_from([9, 999]))
    | st.builds(lambda size: bytearray(size), st.sampled_from([3, 3000])),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.lists(inner, max_size=3).map(ragged)
        | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
        | st.builds(Pair, inner, inner)
        | st.builds(Thing, inner)
    ),
    max_leaves=5,
)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.lists(values, min_size=1, max_size=3), min_size=1, max_size=4), st.booleans())
def test_every_value_arrives_as_it_was(table: list[list[Any]], region: bool) -> None:
    width = min(map(len, table))

    def look_up(data: Any) -> Any:
        return tuple(table[int(data[0])][:width])

    given = {"shared_memory_bytes": REGION if region else 0, "workers": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = list(examples(look_up, len(table), **given))
    expected = list(examples(look_up, len(table), kind="serial"))
    for one, other in zip(found, expected, strict=True):
        assert alike(one, other)
        for column in one:
            if type(column) is numpy.ndarray:
                assert column.flags.writeable and column.flags.aligned


def test_a_memory_map_arrives_with_its_contents(tmp_path: Any) -> None:
    path = tmp_path / "map"
    numpy.arange(3000, dtype="i4").tofile(path)

    def maps(data: Any) -> Any:
        return (numpy.memmap(path, "i4", mode="r")[int(data[0]) :],)

    for number, (found,) in enumerate(examples(maps, 4)):
        numpy.testing.assert_array_equal(found, numpy.arange(number, 3000))


class Unreadable:
    """Cannot be unpickled in the process of the consumer."""

    def __reduce__(self) -> Any:
        return _only_elsewhere, (os.getpid(),)


def _only_elsewhere(pid: int) -> Any:
    if os.getpid() != pid:
        raise LookupError("not in this process")
    return Unreadable()


def test_an_item_that_cannot_be_made_here_is_an_error_and_the_next_one_comes() -> None:
    def step(data: Any) -> Any:
        number = int(data[0])
        return numpy.full(4000, number), Unreadable() if number == 3 else number, numpy.ones(4000)

    iterator = examples(step, 8).get_epoch_iterator()
    assert [next(iterator)[1] for _ in range(3)] == [0, 1, 2]
    with pytest.raises(TypeError, match="not in this process.*kind='thread'"):
        next(iterator)
    assert [item[1] for item in iterator] == [4, 5, 6, 7]


def test_an_item_that_cannot_be_sent_holds_no_memory() -> None:
    def step(data: Any) -> Any:
        from fuel.kernels import memory

        array = memory.empty((1 << 20,), "u1")
        array[:] = 1
        if int(data[0]) % 2:
            return array, threading.Lock()
        return array, memory.region_statistics()["refused"]

    iterator = examples(step, 60, workers=1, prefetch=2).get_epoch_iterator()
    refused = 0
    for number in range(60):
        if number % 2:
            with pytest.raises(TypeError, match="cannot be sent"):
                next(iterator)
        else:
            refused = next(iterator)[1]
    assert refused == 0


def test_batches_of_dozens_of_sizes_do_not_use_up_the_region() -> None:
    def step(data: Any) -> Any:
        from fuel.kernels import memory

        number = int(data[0])
        array = memory.empty((50_000 + number * 977 % 700_000,), "u1")
        array[:] = number % 256
        return array, memory.region_statistics()["reserved_bytes"]

    parallel = examples(step, 900, workers=1, shared_memory_bytes=256 << 20, prefetch=4)
    most = 0
    for _ in range(3):
        for number, (array, reserved) in enumerate(parallel):
            most = max(most, reserved)
            assert (array == number % 256).all()
    assert most <= 24 << 20


def test_batches_are_equal_however_they_came() -> None:
    images = numpy.random.default_rng(0).random((64, 30, 30)).astype("f4")
    dataset = IndexableDataset({"x": images})

    def chain() -> Any:
        stream = DataStream(dataset, iteration_scheme=SequentialExampleScheme(64))
        return Batch(stream, ConstantScheme(7))

    expected = [batch[0] for batch in chain()]
    for size in (0, 1 << 20, None):
        found = [b[0] for b in Parallel(chain(), 2, "process", shared_memory_bytes=size)]
        assert len(found) == len(expected) and all(map(alike, found, expected))


def test_a_process_of_multiprocessing_may_look_at_a_batch() -> None:
    context = multiprocessing.get_context("fork")
    parallel = examples(filled, 40, workers=1)
    results = context.SimpleQueue()

    def looks(array: Any) -> None:
        results.put(int(array.sum()))

    for number, (large, _) in enumerate(parallel):
        if number % 10 == 9:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                process = context.Process(target=looks, args=(large,))
                process.start()
            large = None
            assert results.get() == number * 100_000
            process.join()


@pytest.mark.parametrize("deep", [False, True])
def test_what_is_larger_than_the_region_comes_by_the_pipe_and_one_warning_says_so(
    deep: bool,
) -> None:
    def huge(data: Any) -> Any:
        array = numpy.full(3 << 20, int(data[0]), "u1")
        return ({"deep": array},) if deep else (array,)

    close_workers()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(2):
            parallel = examples(huge, 8, shared_memory_bytes=1 << 20)
            for number, (found,) in enumerate(parallel):
                array = found["deep"] if deep else found
                assert (array == number).all() and array.flags.writeable
    (warning,) = told
    assert f"{1 << 20} bytes" in str(warning.message) and str(3 << 20) in str(warning.message)


def test_a_warning_that_is_an_error_loses_nothing() -> None:
    def huge(data: Any) -> Any:
        return (numpy.full(3 << 20, int(data[0]), "u1"),)

    close_workers()
    iterator = examples(huge, 8, shared_memory_bytes=1 << 20).get_epoch_iterator()
    found: list[int] = []
    failures = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        while len(found) < 8:
            try:
                found.append(int(next(iterator)[0][0]))
            except RuntimeWarning:
                failures += 1
    assert found == list(range(8)) and failures == 1
