"""Ragged to dense and back: the compiled form equals the reference, and both what NumPy does."""

from __future__ import annotations

import importlib
import threading
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fuel.exceptions import RequestError
from fuel.kernels import _ragged_reference as reference
from fuel.kernels import ragged

try:
    compiled: Any = importlib.import_module("fuel.kernels._ragged")
except ImportError:
    compiled = None

needs_compiled = pytest.mark.skipif(compiled is None, reason="built without a C compiler")

NUMBERS = [*"?bBhHiIqQefdgFDG"]
OTHERS = ["S3", "U2", "M8[D]", "m8[s]", ">i4", ">f8", "O", "i4,f8"]
MASKS = ["?", "u1", "i2", "f2", "f4", "f8", "c16", ">f4", "O"]
ODD = ["like", "strided", "reversed", "swapped", "fortran", "list", "void", "other", "memmap"]

lengths = st.lists(st.integers(0, 6), min_size=1, max_size=7)
rests = st.sampled_from([(), (1,), (3,), (2, 2), (0,)])


def sequence(dtype: Any, shape: tuple[int, ...], seed: int) -> Any:
    """Return an array of arbitrary bytes, or of values where not all bytes are values."""
    dtype = numpy.dtype(dtype)
    rng = numpy.random.default_rng(seed)
    count = int(numpy.prod(shape))
    if dtype.kind in "iufc" and dtype.itemsize <= 8:
        return numpy.frombuffer(rng.bytes(count * dtype.itemsize), dtype).reshape(shape).copy()
    if dtype.kind in "SU":
        return rng.integers(0, 9, shape).astype(dtype)
    if dtype.names:
        return numpy.zeros(shape, dtype)
    return rng.integers(0, 2 if dtype.kind == "b" else 9, shape).astype(dtype)


def oddly(array: Any, how: str) -> Any:
    """Return an array of the same values that lies otherwise in memory, or is none."""
    if how == "strided":
        wide = numpy.repeat(array, 2, axis=0)
        return wide[::2]
    if how == "reversed":
        return array[::-1].copy()[::-1]
    if how == "swapped" and array.dtype.kind in "iufc":
        return array.astype(array.dtype.newbyteorder())
    if how == "fortran":
        return numpy.asfortranarray(array)
    if how == "list":
        return array.tolist()
    if how == "void":
        return numpy.array([])
    if how == "other" and array.dtype.kind in "iufb":
        return array.astype("i2" if array.dtype != "i2" else "f4")
    if how == "memmap":
        return array.view(numpy.memmap)
    return array


def same(one: Any, other: Any) -> None:
    """Two arrays, or none, are the same to the last bit."""
    if one is None or other is None:
        assert one is other
        return
    assert (one.dtype, one.shape) == (other.dtype, other.shape)
    assert one.flags.c_contiguous
    assert one.dtype.isnative == other.dtype.isnative
    if one.dtype.hasobject:
        assert one.tolist() == other.tolist()
    elif one.dtype.char in "gG":  # long doubles have bytes that say nothing
        assert numpy.array_equal(one, other, equal_nan=True)
    else:
        assert one.tobytes() == other.tobytes()


def plainly(sequences: Any, **kwargs: Any) -> Any:
    """Pad by the reference alone."""
    kernel = ragged._kernel
    ragged._kernel = reference
    try:
        return ragged.pad(sequences, **kwargs)
    finally:
        ragged._kernel = kernel


@needs_compiled
@settings(max_examples=150)
@given(
    dtype=st.sampled_from(NUMBERS * 2 + OTHERS),
    sizes=lengths,
    rest=rests,
    odd=st.lists(st.sampled_from(ODD), max_size=3),
    side=st.sampled_from(["right", "left"]),
    more=st.none() | st.integers(0, 3),
    mask=st.none() | st.sampled_from(MASKS),
    form=st.sampled_from(["list", "tuple", "objects", "reversed objects"]),
    seed=st.integers(0, 99),
)
def test_compiled_equals_reference(
    dtype: str,
    sizes: list[int],
    rest: Any,
    odd: list[str],
    side: str,
    more: int | None,
    mask: str | None,
    form: str,
    seed: int,
) -> None:
    arrays = [sequence(dtype, (size, *rest), seed + i) for i, size in enumerate(sizes)]
    given: Any = [oddly(a, h) for a, h in zip(arrays, odd, strict=False)] + arrays[len(odd) :]
    if form == "tuple":
        given = tuple(given)
    elif "objects" in form:
        objects = numpy.empty(len(given), object)
        for index, item in enumerate(given):
            objects[index] = item
        given = objects[::-1] if "reversed" in form else objects
    width = None if more is None else max(sizes) + more
    kwargs: Any = {"side": side, "width": width, "mask_dtype": mask}
    try:
        expected = plainly(given, **kwargs)
    except (ValueError, TypeError) as error:
        with pytest.raises(type(error)) as caught:
            ragged.pad(given, **kwargs)
        assert str(caught.value) == str(error)
        return
    for one, other in zip(ragged.pad(given, **kwargs), expected, strict=True):
        same(one, other)


@needs_compiled
@settings(max_examples=60)
@given(
    array=hnp.arrays(
        hnp.integer_dtypes() | hnp.floating_dtypes() | hnp.boolean_dtypes(),
        hnp.array_shapes(min_dims=2, max_dims=4, min_side=0, max_side=4),
    ),
    side=st.sampled_from(["right", "left"]),
    more=st.integers(0, 2),
)
def test_a_dense_batch_is_a_batch_of_its_rows(array: Any, side: str, more: int) -> None:
    # Without rows nothing is known of how wide they would be.
    width = (array.shape[1] if len(array) else 0) + more
    kwargs: Any = {"side": side, "width": width, "mask_dtype": "u1"}
    for one, other in zip(ragged.pad(array, **kwargs), plainly(list(array), **kwargs), strict=True):
        same(one, other)


@needs_compiled
@pytest.mark.parametrize("dtype", [*NUMBERS, "S3", "M8[D]"])
def test_arrays_that_are_alike_take_the_compiled_way(dtype: str) -> None:
    batch = [sequence(dtype, (n, 2), n) for n in (3, 0, 1)]
    rows = compiled.scan(batch)
    assert (rows.count, rows.longest, rows.shortest, rows.total) == (3, 3, 0, 4)
    assert (rows.dtype, rows.rest) == (batch[0].dtype, (2,))
    assert compiled.scan([*batch, batch[0].tolist()]) is None
    assert compiled.scan([*batch, batch[0][:, :1]]) is None
    assert compiled.scan([]) is None


@pytest.mark.parametrize("kernel", [reference, pytest.param(compiled, marks=needs_compiled)])
@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8", "c16", "G", "S3", "S5", "U2"])
@pytest.mark.parametrize("side", ["right", "left"])
def test_any_value_that_fits(kernel: Any, dtype: str, side: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(ragged, "_kernel", kernel)
    value: Any = {"S": b"ab", "U": "ab"}.get(dtype[0], 7)
    batch = [sequence(dtype, (n,), n) for n in (2, 5, 0)]
    padded, mask = ragged.pad(batch, value=value, side=side, width=9, mask_dtype="f4")
    assert mask is not None
    for row, told, array in zip(padded, mask, batch, strict=True):
        assert (row[told == 1] == array).all()
        assert (row[told == 0] == numpy.array(value, dtype)).all()
        assert told.sum() == len(array)
        assert (told == sorted(told, reverse=side == "right")).all()


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (300, "u1"),
        (-1, "u4"),
        (0.5, "i4"),
        (float("nan"), "i8"),
        (2**63, "i8"),
        (2**70, "i8"),
        (2, "?"),
        (1e300, "f4"),
        (70000, "f2"),
        (10**400, "f8"),
        (1j, "f8"),
        ("x", "f8"),
        (5, "U3"),
        ("long", "U3"),
        ("x", "S3"),
        (5, "M8[D]"),
        ("soon", "M8[D]"),
        (numpy.timedelta64(5, "D"), "M8[D]"),
        (None, "i4"),
        ([1], "i4"),
        (numpy.datetime64("2020-01-01T12"), "M8[D]"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(value: Any, dtype: str) -> None:
    with pytest.raises(ValueError, match="does not fit sequences of type"):
        ragged.pad([numpy.zeros(2, dtype), numpy.zeros(1, dtype)], value=value)


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (255, "u1", 255),
        (1.0, "i4", 1),
        (True, "i4", 1),
        (1, "?", True),
        (0.1, "f4", numpy.float32(0.1)),
        (float("inf"), "f2", numpy.inf),
        (2**64 - 1, "u8", 2**64 - 1),
        (numpy.int8(-1), "i8", -1),
        (2 + 0j, "f8", 2),
        (1j, "c8", 1j),
        ("NaT", "M8[D]", None),
        ("2020-02-03", "M8[D]", numpy.datetime64("2020-02-03")),
        ("", "U3", ""),
        (None, "O", None),
        ("any", "O", "any"),
    ],
)
def test_a_value_that_fits_is_taken(value: Any, dtype: str, expected: Any) -> None:
    filler = ragged.pad([numpy.zeros(1, dtype), numpy.zeros(0, dtype)], value=value)[0][1, 0]
    if expected is None and dtype != "O":
        assert numpy.isnat(filler)
    else:
        assert filler == expected


def test_zero_is_what_zeros_are_made_of() -> None:
    assert ragged.pad([["a"], []])[0].tolist() == [["a"], [""]]
    assert numpy.signbit(ragged.pad([[1.0], []], value=-0.0)[0][1, 0])
    assert ragged.pad([numpy.array([None])], width=2)[0].tolist() == [[None, 0]]


def test_what_is_too_long_is_named() -> None:
    with pytest.raises(ValueError, match="sequence 1 has length 3, more than the width 2; make"):
        ragged.pad([[1], [1, 2, 3]], width=2)
    with pytest.raises(ValueError, match="sequence 1 has length 3, more than the width 2"):
        ragged.pad([numpy.arange(1), numpy.arange(3)], width=2)
    assert ragged.pad([[1]], width=lambda longest: longest + 2)[0].shape == (1, 3)
    for batch in ([], [[]], [[1]]):
        with pytest.raises(ValueError, match="`width` must not be negative, got -1"):
            ragged.pad(batch, width=-1)
    with pytest.raises(TypeError, match="`width` must be an integer, got None"):
        ragged.pad([[1]], width=lambda longest: None)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"side": "middle"}, ValueError, "'right' or 'left', got 'middle'"),
        ({"side": []}, ValueError, "'right' or 'left'"),
        ({"width": 2.5}, TypeError, "must be an integer, got 2.5"),
        ({"out": numpy.zeros((1, 2))}, ValueError, r"`out` must be .* int64 and shape \(1, 2\)"),
        ({"out": [1, 2]}, ValueError, "must be an array of shape"),
        ({"mask_out": numpy.zeros((2, 2))}, ValueError, "`mask_out` must be"),
    ],
)
def test_wrong_arguments(arguments: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ragged.pad([numpy.array([1, 2], "i8")], **arguments)


@pytest.mark.parametrize("batch", [1, [1, 2], numpy.arange(3), [[[1], [2, 3]]], numpy.array(5)])
def test_what_is_no_batch_of_sequences(batch: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        ragged.pad(batch)


def test_given_memory_is_used() -> None:
    out, mask_out = numpy.full((2, 4), 9.0), numpy.full((2, 4), 9, "i2")
    padded, mask = ragged.pad([numpy.ones(3), numpy.ones(1)], out=out, mask_out=mask_out)
    assert padded is out
    assert mask is mask_out
    assert out.tolist() == [[1, 1, 1, 0], [1, 0, 0, 0]] == mask_out.tolist()
    for bad in (out[:, ::2], out[:, ::-1], out.astype("f4"), out[:, :1]):
        with pytest.raises(ValueError, match="`out` must be|more than the width"):
            ragged.pad([numpy.ones(2), numpy.ones(1)], out=bad)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="writable"):
        ragged.pad([numpy.ones(2), numpy.ones(1)], out=out)


def test_another_type_is_converted() -> None:
    padded, _ = ragged.pad([numpy.array([1.5]), numpy.array([2.5, 3])], dtype="i2", value=-1)
    assert (padded.dtype, padded.tolist()) == (numpy.int16, [[1, -1], [2, 3]])
    padded, mask = ragged.pad([numpy.array([1.5])], dtype="f2", mask_dtype="O", width=2)
    assert mask is not None
    assert (padded.dtype, mask.tolist()) == (numpy.float16, [[1, 0]])


def test_large_batches_are_the_same() -> None:
    batch = [numpy.arange(n, dtype="f4") for n in (100_000, 3, 70_000)]
    for one, other in zip(
        ragged.pad(batch, value=2, mask_dtype="i4", side="left"),
        plainly(batch, value=2, mask_dtype="i4", side="left"),
        strict=True,
    ):
        same(one, other)


def test_a_row_may_be_huge_and_another_empty() -> None:
    batch = [numpy.zeros((0, 10**6), "u1"), numpy.ones((1, 10**6), "u1")]
    padded, mask = ragged.pad(batch, mask_dtype=bool)
    assert mask is not None
    assert padded.sum(axis=(1, 2)).tolist() == [0, 10**6]
    assert mask.tolist() == [[False], [True]]


@settings(max_examples=60)
@given(
    sizes=st.lists(st.integers(0, 5), max_size=6),
    rest=rests,
    dtype=st.sampled_from(["i4", "f8", ">i2", "O"]),
    wanted=st.none() | st.lists(st.integers(0, 5), max_size=8),
    side=st.sampled_from(["right", "left"]),
)
def test_flat_values_are_lists_laid_end_to_end(
    sizes: list[int], rest: Any, dtype: str, wanted: Any, side: str
) -> None:
    rows = [sequence(dtype, (size, *rest), i) for i, size in enumerate(sizes)]
    values = numpy.concatenate([*rows, numpy.zeros((2, *rest), dtype)])  # and some that no row has
    offsets = numpy.concatenate([[0], numpy.cumsum(sizes)]).astype(int)
    if wanted is not None and any(row >= len(sizes) for row in wanted):
        with pytest.raises(RequestError):
            ragged.pad_flat(values, offsets, wanted)
        return
    chosen = rows if wanted is None else [rows[row] for row in wanted]
    got = ragged.pad_flat(values, offsets, wanted, side=side, mask_dtype=bool)
    expected = plainly(chosen, side=side, mask_dtype=bool)
    if any(row.size for row in chosen):
        for one, other in zip(got, expected, strict=True):
            same(one, other)
    assert got[0].dtype == numpy.dtype(dtype).newbyteorder("=")


@pytest.mark.parametrize(
    ("offsets", "rows", "error", "message"),
    [
        ([0, 2], [1], RequestError, "rows 0 to 0, got 1"),
        ([0, 2], [-1], RequestError, "got -1"),
        ([0], [0], RequestError, "there are no rows"),
        ([0, 9], None, ValueError, "at most 4.*got 0 and 9 around row 0"),
        ([2, 1], None, ValueError, "got 2 and 1"),
        ([-1, 1], None, ValueError, "got -1 and 1"),
        ([], None, ValueError, "one more than"),
        ([0.5, 1], None, ValueError, "vector of integers"),
        ([[0, 1]], None, ValueError, "vector of integers"),
        ([0, 1], [True], ValueError, "`rows` must be a vector of integers"),
    ],
)
def test_wrong_offsets(offsets: Any, rows: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ragged.pad_flat(numpy.arange(4), offsets, rows)
    with pytest.raises(error, match=message):
        ragged.pad_flat(numpy.arange(4, dtype=">i4"), offsets, rows)
    with pytest.raises(ValueError, match="`values` must be"):
        ragged.pad_flat(numpy.array(1), offsets, rows)


@settings(max_examples=60)
@given(
    sizes=lengths,
    rest=rests,
    dtype=st.sampled_from(["?", "i4", "f8", ">i2", "O", "U2"]),
    side=st.sampled_from(["right", "left"]),
    more=st.integers(0, 2),
)
def test_there_and_back(sizes: list[int], rest: Any, dtype: str, side: str, more: int) -> None:
    rows = [sequence(dtype, (size, *rest), i) for i, size in enumerate(sizes)]
    padded, mask = ragged.pad(rows, side=side, width=max(sizes) + more, mask_dtype="f4")
    for how in ({"lengths": sizes, "side": side}, {"mask": mask}):
        back = ragged.dense_to_ragged(padded, **how)  # type: ignore[arg-type]
        assert all(row.flags.owndata for row in back)
        for one, other in zip(back, rows, strict=True):
            assert numpy.array_equal(one, other)
        values, offsets = ragged.dense_to_flat(padded, **how)  # type: ignore[arg-type]
        assert numpy.array_equal(values, numpy.concatenate(rows))
        assert offsets.tolist() == [0, *numpy.cumsum(sizes)]
    values, offsets = ragged.join(rows)
    if any(row.size for row in rows):
        assert numpy.array_equal(values, numpy.concatenate(rows))
    assert offsets.tolist() == [0, *numpy.cumsum(sizes)]


def test_a_mask_may_have_holes() -> None:
    rows = ragged.dense_to_ragged(numpy.array([[1, 2, 3], [4, 5, 6]]), mask=[[1, 0, 1], [0, 0, 0]])
    assert [row.tolist() for row in rows] == [[1, 3], []]


def test_wrong_ways_back() -> None:
    array = numpy.zeros((2, 3))
    with pytest.raises(TypeError, match="either `lengths` or `mask`"):
        ragged.dense_to_ragged(array)
    with pytest.raises(TypeError, match="either `lengths` or `mask`"):
        ragged.dense_to_ragged(array, [1, 2], [[1, 1, 1]] * 2)
    for bad in ([1], [1, 4], [-1, 1], [1.5, 2]):
        with pytest.raises(ValueError, match="`lengths` must be"):
            ragged.dense_to_ragged(array, bad)
    with pytest.raises(ValueError, match="`mask` must have the shape"):
        ragged.dense_to_ragged(array, mask=[1, 1])
    with pytest.raises(ValueError, match="shape"):
        ragged.dense_to_ragged(numpy.zeros(3), [1, 1, 1])


def test_uniform_knows_arrays_only() -> None:
    a, b = numpy.zeros((2, 3)), numpy.zeros((2, 4))
    for kernel in (reference, compiled or reference):
        for items, expected in (
            ((a, a), True),
            ((a, a.astype("O")), True),
            ((a, b), False),
            ((a, a[0]), False),
            ((a, b, [1]), None),
            (([1], a), None),
            ((), None),
            ((numpy.array(1), numpy.array(2)), True),
        ):
            assert kernel.uniform(items) is expected
    assert ragged.uniform([a, a]) is True


def test_rows_keep_what_they_read() -> None:
    batch: list[Any] = [numpy.full(1000, n) for n in range(50)]
    rows = ragged._kernel.scan(batch)
    batch.clear()
    junk = [numpy.full(1000, -1) for _ in range(50)]
    out = numpy.empty(50_000, rows.dtype)
    rows.join(out)
    assert (out.reshape(50, 1000) == numpy.arange(50)[:, None]).all()
    assert len(junk) == 50


def test_threads_do_not_meet() -> None:
    batch = [numpy.arange(n, dtype="f8") for n in (4000, 10, 3000)]
    expected = plainly(batch, mask_dtype="f4")
    wrong: list[int] = []

    def work() -> None:
        for number in range(20):
            got = ragged.pad(batch, mask_dtype="f4")
            if not all(numpy.array_equal(a, b) for a, b in zip(got, expected, strict=True)):
                wrong.append(number)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
