"""Gathering: the rows that were asked for, from any array, into any array; and nothing else."""

from __future__ import annotations

import importlib
import threading

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from fuel.exceptions import RequestError
from fuel.kernels import _batches, _gather_reference, memory
from fuel.kernels.arithmetic import Arithmetic
from fuel.kernels.gather import gather, read_rows

try:
    compiled = importlib.import_module("fuel.kernels._gather")
except ImportError:
    compiled = None

needs_compiled = pytest.mark.skipif(compiled is None, reason="built without a C compiler")

FORMS = [
    pytest.param(_gather_reference, id="reference"),
    pytest.param(compiled, id="compiled", marks=needs_compiled),
]
SCALE = (("multiply", 0.5), ("add", 1), ("cast", "float32"))


def vector(*rows):
    return numpy.array(rows, numpy.int64)


dtypes = st.one_of(
    arrays.scalar_dtypes(),
    arrays.array_dtypes(max_size=2),
    st.sampled_from(["g", "c16", "S3", "U2", "V5", ">f4", "<M8[ms]", "O"]).map(numpy.dtype),
)


@settings(deadline=None, max_examples=80)
@given(
    dtype=dtypes,
    shape=arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5),
    count=st.integers(0, 5),
    data=st.data(),
)
def test_rows_of_any_type_and_shape_are_copied(dtype, shape, count, data):
    bytes_of = numpy.random.default_rng(0).integers(0, 256, 1 << 14, "u1").tobytes()
    source = numpy.zeros((count, *shape), dtype)
    if not dtype.hasobject and dtype.kind != "U":
        filled = numpy.frombuffer(bytes_of, "u1")[: source.nbytes]
        if filled.size == source.nbytes and source.size and dtype.itemsize:
            source = filled.view(dtype).reshape(source.shape)
    number = data.draw(st.integers(0, 6)) if count else 0
    rows = [data.draw(st.integers(0, count - 1)) for _ in range(number)]
    expected = source[vector(*rows)]
    for given_rows in (vector(*rows), rows):
        got = gather(source, given_rows)
        assert got.dtype == expected.dtype
        assert got.shape == expected.shape
        assert got.tobytes() == expected.tobytes()
        assert type(got) is numpy.ndarray
        assert not numpy.may_share_memory(got, source)


def views():
    """The same rows, as they may lie in memory."""
    plain = numpy.arange(60, dtype="f4").reshape(5, 3, 4)
    yield "plain", plain
    yield "fortran", numpy.asfortranarray(plain)
    yield "backwards", plain[::-1].copy()[::-1]
    yield "spread", numpy.repeat(plain, 2, axis=0)[::2]
    yield "inner", numpy.repeat(plain, 2, axis=2)[:, :, ::2]
    yield "swapped", plain.astype(">f4")
    yield "readonly", numpy.frombuffer(plain.tobytes(), "f4").reshape(plain.shape)
    unaligned = numpy.zeros(plain.nbytes + 1, "u1")[1:].view("f4").reshape(plain.shape)
    unaligned[...] = plain
    yield "unaligned", unaligned
    yield "alone", plain[2:3]


@pytest.mark.parametrize(("name", "source"), list(views()), ids=lambda value: str(value)[:9])
def test_it_does_not_matter_how_the_rows_lie_in_memory(name, source):
    rows = vector(0) if name == "alone" else vector(4, 0, 2, 2)
    chain = Arithmetic.of(source.dtype, source.shape[1:], SCALE)
    for got, expected in (
        (gather(source, rows), source[rows]),
        (gather(source, rows, chain), chain.reference(source[rows])),
    ):
        assert got.dtype == expected.dtype
        assert got.flags.c_contiguous
        numpy.testing.assert_array_equal(got, expected)


def test_a_memory_map_gives_ordinary_arrays(tmp_path):
    source = numpy.memmap(tmp_path / "rows", "u1", "w+", shape=(5, 3))
    source[:] = numpy.arange(15).reshape(5, 3)
    rows = vector(4, 1)
    chain = Arithmetic.of("u1", (3,), SCALE)
    for got in (gather(source, rows), gather(source[:, ::-1], rows), gather(source, rows, chain)):
        assert type(got) is numpy.ndarray
    assert gather(source, rows).tolist() == [[12, 13, 14], [3, 4, 5]]


def test_an_empty_request_gives_no_rows():
    source = numpy.ones((3, 2), "u1")
    chain = Arithmetic.of("u1", (2,), SCALE)
    assert gather(source, []).shape == gather(source[:0], vector()).shape == (0, 2)
    assert gather(source, [], chain).dtype == "f4"
    assert gather(numpy.ones(3), vector(), out=numpy.empty(0)).shape == (0,)


def test_the_memory_is_that_of_the_pool():
    got = gather(numpy.ones((3, 20), "u1"), vector(1, 2))
    assert got.ctypes.data % memory.ALIGNMENT == 0
    assert got.flags.writeable


@pytest.mark.parametrize("steps", [(), SCALE, (("multiply", 2), ("add", 3), ("multiply", 0.1))])
@pytest.mark.parametrize("number", [1, 2, 3, 1000])
def test_threads_and_outputs_change_nothing(monkeypatch, steps, number):
    monkeypatch.setattr(_batches, "_WORTH_A_THREAD", 64)
    rng = numpy.random.default_rng(0)
    source = rng.integers(0, 256, (50, 7, 5), "u1")
    rows = rng.integers(0, 50, 37)
    chain = Arithmetic.of("u1", (7, 5), steps)
    expected = chain.reference(source[rows])
    out = numpy.empty(expected.shape, expected.dtype)
    numpy.testing.assert_array_equal(gather(source, rows, chain, threads=number), expected)
    assert gather(source, rows, chain, out=out, threads=number) is out
    numpy.testing.assert_array_equal(out, expected)


def test_a_warning_in_a_thread_is_that_of_the_caller(monkeypatch):
    monkeypatch.setattr(_batches, "_WORTH_A_THREAD", 4)
    source = numpy.full((4, 5), 3e38, "f4")
    chain = Arithmetic.of("f4", (5,), [("multiply", 2)])
    with pytest.warns(RuntimeWarning, match="overflow"):
        gather(source, vector(0, 1, 2, 3), chain, threads=3)
    with numpy.errstate(over="ignore"):
        assert numpy.isinf(gather(source, vector(0, 1, 2, 3), chain, threads=3)).all()


def test_many_threads_may_gather_at_once():
    source = numpy.random.default_rng(0).integers(0, 256, (500, 300), "u1")
    chain = Arithmetic.of("u1", (300,), SCALE)
    failures = []

    def work(seed):
        for _ in range(30):
            rows = numpy.random.default_rng(seed).integers(0, 500, 64)
            if not numpy.array_equal(gather(source, rows, chain), chain.reference(source[rows])):
                failures.append(seed)

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures


@pytest.mark.parametrize("rows", [[3], [0, -1], [2**70], [0, 1, 2, 10**12], [-(2**63)], [1, 2**63]])
@pytest.mark.parametrize("as_array", [False, True])
def test_a_row_that_is_not_there_is_named(rows, as_array):
    wrong = next(row for row in rows if not 0 <= row < 3)
    if as_array and wrong >= 2**63:
        return  # no vector of integers holds it
    given_rows = vector(*rows) if as_array else rows
    for out in (None, numpy.empty((len(rows), 2), "u1")):
        with pytest.raises(RequestError, match=rf"has the rows 0 to 2, got {wrong}"):
            gather(numpy.ones((3, 2), "u1"), given_rows, out=out)


def test_unsigned_rows_do_not_wrap():
    with pytest.raises(RequestError, match=f"got {2**64 - 1}"):
        gather(numpy.ones(3), numpy.array([0, 2**64 - 1], "u8"))
    assert gather(numpy.arange(3), numpy.array([2, 0], "u8")).tolist() == [2, 0]
    assert gather(numpy.arange(3), numpy.array([2, 0], "i1")).tolist() == [2, 0]
    assert gather(numpy.arange(3), numpy.array([2, 0], ">i8")).tolist() == [2, 0]
    assert gather(numpy.arange(3), numpy.array([2, 9, 0], "i8")[::2]).tolist() == [2, 0]


def test_a_source_without_rows_has_none():
    with pytest.raises(RequestError, match="has no rows, got 0"):
        gather(numpy.ones((0, 2)), [0])


@pytest.mark.parametrize("rows", [[0.0], [True], numpy.ones(3, bool), [[0]], numpy.int64(0), "0"])
def test_what_is_no_vector_of_rows_is_refused(rows):
    with pytest.raises(TypeError, match="`rows` must be a vector of integers"):
        gather(numpy.ones((3, 2)), rows)


def test_what_is_no_array_is_refused():
    for source in ([1, 2], numpy.ma.ones(3), numpy.float64(1)):
        with pytest.raises(TypeError, match="`source` must be an array or a memory map"):
            gather(source, [0])
    with pytest.raises(ValueError, match="must have rows"):
        gather(numpy.array(1.0), [0])


def test_arithmetic_for_other_rows_is_refused():
    chain = Arithmetic.of("u1", (2,), SCALE)
    with pytest.raises(TypeError, match="is for uint8, got rows of int8"):
        gather(numpy.ones((3, 2), "i1"), [0], chain)
    with pytest.raises(ValueError, match=r"of shape \(2,\), got rows of shape \(3,\)"):
        gather(numpy.ones((3, 3), "u1"), [0], chain)
    with pytest.raises(TypeError, match="must be an Arithmetic, got list"):
        gather(numpy.ones((3, 2), "u1"), [0], list(SCALE))


def test_an_output_that_cannot_take_the_result_is_refused():
    source, rows = numpy.ones((4, 3), "f4"), vector(0, 1)
    frozen = numpy.empty((2, 3), "f4")
    frozen.flags.writeable = False
    for out, message in (
        (numpy.empty((2, 3), "f8"), "must be an array of shape"),
        (numpy.empty((3, 2), "f4"), "must be an array of shape"),
        (numpy.empty((2, 3), ">f4"), "must be an array of shape"),
        ([[0, 0, 0], [0, 0, 0]], "got list"),
        (numpy.empty((3, 2), "f4").T, "writable, aligned and in C order"),
        (frozen, "writable, aligned and in C order"),
        (source[2:], "must be apart from `source`"),
    ):
        with pytest.raises(ValueError, match=message):
            gather(source, rows, out=out)
    assert (source == 1).all()
    with pytest.raises(ValueError, match="`threads` must be at least 1, got 0"):
        gather(source, rows, threads=0)


def test_an_output_over_the_rows_that_are_read_is_refused():
    source = numpy.arange(8).reshape(4, 2)
    out = numpy.full((4, 2), 3)
    with pytest.raises(ValueError, match="apart from the vectors that say what is read"):
        gather(source, out.ravel()[2:6], out=out)
    assert (out == 3).all()


@pytest.mark.parametrize("width", [1, 2, 4, 8, 16])
def test_bytes_may_begin_anywhere(width):
    memory_of_all = numpy.arange(101, dtype="u1")
    for start in (0, 1, 2, 3, 5):
        source = memory_of_all[start : start + 80].reshape(-1, width)
        rows = numpy.arange(len(source))[::-1].copy()
        expected = source[::-1].tolist()
        assert gather(source, rows).tolist() == expected
        out = numpy.zeros(101, "u1")[start : start + 80].reshape(-1, width)
        assert gather(source, rows, out=out).tolist() == expected


@pytest.mark.parametrize("kernel", FORMS)
def test_a_list_of_plain_integers_is_read(kernel):
    class Mine(int):
        pass

    assert kernel.read_rows([], 0).shape == (0,)
    read = kernel.read_rows([0, 2, 1, 2], 3)
    assert (read.dtype, read.tolist()) == (numpy.dtype("i8"), [0, 2, 1, 2])
    assert kernel.read_rows([2**62], 2**63 - 1).tolist() == [2**62]
    for odd in (3, -1, True, 1.0, numpy.int64(1), Mine(1), "1", None, 2**63, -(2**63), 2**200):
        assert kernel.read_rows([0, odd, 1], 3) is None


@needs_compiled
@settings(deadline=None, max_examples=60)
@given(rows=st.lists(st.integers(-3, 9), max_size=30), limit=st.integers(0, 9))
def test_the_compiled_form_equals_the_reference(rows, limit):
    numbers = vector(*rows)
    place = compiled.find_outside(numbers, limit)
    assert place == _gather_reference.find_outside(numbers, limit)
    read = compiled.read_rows(rows, limit)
    assert (read is None) == (place >= 0) == (_gather_reference.read_rows(rows, limit) is None)
    assert read is None or read.tolist() == rows == read_rows(rows, limit).tolist()
    if read is not None and rows:
        source = numpy.arange(limit * 3, dtype="i2").reshape(limit, 3)
        ours, theirs = numpy.empty((2, len(rows), 3), "i2")
        assert compiled.fill(source, numbers, None, ours) == 0
        assert _gather_reference.fill(source, numbers, None, theirs) == 0
        assert ours.tolist() == theirs.tolist()
