"""Windows of a batch: all of them, none across two sequences, the same in both forms."""

from __future__ import annotations

import importlib
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuel.kernels import _windows_reference as reference
from fuel.kernels import windows as door
from fuel.kernels.windows import windows, windows_together

try:
    compiled: Any = importlib.import_module("fuel.kernels._windows")
except ImportError:
    compiled = None

needs_compiled = pytest.mark.skipif(compiled is None, reason="built without a C compiler")
KERNELS = [reference, pytest.param(compiled, marks=needs_compiled)]
DTYPES = ["?", "i1", "u2", "i4", "f2", "f8", "c16", "G", "S3", "M8[D]", ">i4", "O", "i4,f8"]


@pytest.mark.parametrize("kernel", KERNELS)
@settings(max_examples=80)
@given(
    dtype=st.sampled_from(DTYPES),
    sizes=st.lists(st.integers(0, 9), min_size=1, max_size=6),
    rest=st.sampled_from([(), (1,), (3,), (2, 2), (0,)]),
    parts=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), min_size=1, max_size=3),
    step=st.integers(1, 4) | st.just(2**60),
    strided=st.booleans(),
)
def test_they_are_what_slices_are(
    kernel: Any, dtype: str, sizes: Any, rest: Any, parts: Any, step: int, strided: bool
) -> None:
    rng = numpy.random.default_rng(len(sizes))
    rows = [numpy.zeros((size, *rest), dtype) for size in sizes]
    if numpy.dtype(dtype).names is None:
        rows = [rng.integers(0, 9, row.shape).astype(dtype) for row in rows]
    if strided:
        rows = [numpy.repeat(row, 2, axis=0)[::2] for row in rows]
    before, door._kernel = door._kernel, kernel
    try:
        values, counts = windows_together(rows, parts, step)
    finally:
        door._kernel = before
    reach = max(offset + width for offset, width in parts)
    places = [list(range(0, len(row) - reach + 1, step)) for row in rows]
    assert counts.tolist() == [len(place) for place in places]
    assert counts.dtype == numpy.int64
    for (offset, width), got in zip(parts, values, strict=True):
        expected = [
            row[start + offset : start + offset + width]
            for row, place in zip(rows, places, strict=True)
            for start in place
        ]
        assert got.shape == (len(expected), width, *rest)
        assert got.dtype == numpy.dtype(dtype).newbyteorder("=")
        assert all(numpy.array_equal(a, b) for a, b in zip(got, expected, strict=True))


@pytest.mark.parametrize("kernel", KERNELS)
def test_batches_of_all_forms(kernel: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(door, "_kernel", kernel)
    dense = numpy.arange(12).reshape(2, 6)
    for batch in (dense, list(dense), dense.tolist(), tuple(dense), iter(dense)):
        values, counts = windows(batch, 3, step=2, offset=1)
        assert values.tolist() == [[1, 2, 3], [3, 4, 5], [7, 8, 9], [9, 10, 11]]
        assert counts.tolist() == [2, 2]
    images = numpy.arange(24).reshape(2, 3, 4)
    assert windows(images, 2)[0].tolist() == [
        image[s : s + 2].tolist() for image in images for s in (0, 1)
    ]


@pytest.mark.parametrize("kernel", KERNELS)
def test_without_windows_the_type_is_still_known(kernel: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(door, "_kernel", kernel)
    values, counts = windows([numpy.zeros((1, 2), "f4"), numpy.zeros((0, 2), "f4")], 5)
    assert (values.shape, values.dtype, counts.tolist()) == ((0, 5, 2), numpy.float32, [0, 0])
    values, counts = windows([], 2)
    assert (values.shape, counts.shape) == ((0, 2), (0,))


@pytest.mark.parametrize("kernel", KERNELS)
def test_long_sequences(kernel: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(door, "_kernel", kernel)
    line = numpy.arange(3000, dtype="i2")
    values, counts = windows([line, line[:2]], 90)
    assert numpy.array_equal(values, numpy.lib.stride_tricks.sliding_window_view(line, 90))
    assert counts.tolist() == [2911, 0]


def test_windows_are_copies() -> None:
    line = numpy.arange(5)
    values, _ = windows([line], 2)
    values += 100
    assert line.tolist() == [0, 1, 2, 3, 4]
    assert values.tolist() == [[100, 101], [101, 102], [102, 103], [103, 104]]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((-1,), ValueError, "`width` must be from 0"),
        ((1, 0), ValueError, "`step` must be from 1"),
        ((1, 1, -1), ValueError, "`offset` must be from 0"),
        ((1, 1, 2**80), ValueError, "`offset` must be"),
        ((1.5,), TypeError, "`width` must be an integer, got 1.5"),
    ],
)
def test_wrong_arguments(arguments: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        windows([[1, 2]], *arguments)


@pytest.mark.parametrize("batch", [3, [1, 2], [[1], [[2]]], [[[1], [2, 3]]]])
def test_what_is_no_batch_of_sequences(batch: Any) -> None:
    with pytest.raises(ValueError, match="sequence"):
        windows(batch, 1)
