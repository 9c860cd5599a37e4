"""Cropping: the windows that were asked for, in every layout, mirrored or not, with arithmetic."""

from __future__ import annotations

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuel.exceptions import RequestError
from fuel.kernels import _batches, arithmetic, memory
from fuel.kernels.arithmetic import Arithmetic
from fuel.kernels.crop import crop

LEVELS = sorted({0, arithmetic._kernel.BEST_LEVEL})
TYPES = ["?", "u1", "i2", "f2", "f4", "f8", "c16", "S3", "V7", ">f4", "M8[s]"]


def slowly(source, rows, tops, lefts, window, layout, to_layout, flip_width, flip_height):
    """Cut each window with the axes named, one after the other."""
    images = []
    for place, (top, left) in enumerate(zip(tops, lefts, strict=True)):
        image = source[place if rows is None else rows[place]]
        axes = {axis: number for number, axis in enumerate(layout)}
        index = [slice(None)] * image.ndim
        index[axes["H"]] = slice(top, top + window[0])
        index[axes["W"]] = slice(left, left + window[1])
        image = image[tuple(index)]
        if flip_width is not None and flip_width[place]:
            image = numpy.flip(image, axes["W"])
        if flip_height is not None and flip_height[place]:
            image = numpy.flip(image, axes["H"])
        images.append(image.transpose([axes[axis] for axis in to_layout]))
    sizes = dict(zip(layout, source.shape[1:], strict=True), H=window[0], W=window[1])
    empty = numpy.empty((0, *(sizes[axis] for axis in to_layout)), source.dtype)
    return numpy.stack(images).astype(source.dtype) if images else empty


@st.composite
def jobs(draw):
    """Any images and any windows of them."""
    layout, to_layout = draw(
        st.sampled_from(
            [("CHW", "CHW"), ("HWC", "HWC"), ("HW", "HW"), ("CHW", "HWC"), ("HWC", "CHW")]
        )
    )
    sizes = {
        "C": draw(st.sampled_from([1, 2, 3, 4, 9, 1500])),
        "H": draw(st.integers(1, 7)),
        "W": draw(st.sampled_from([1, 2, 5, 31, 64])),
    }
    if sizes["C"] > 9:
        sizes["W"] = draw(st.integers(1, 4))
    number = draw(st.integers(1, 4))
    shape = (number, *(sizes[axis] for axis in layout))
    dtype = numpy.dtype(draw(st.sampled_from(TYPES)))
    count = int(numpy.prod(shape))
    source = (numpy.arange(count) * 7 % 251).astype("u1")
    if dtype.kind in "biufcM":
        source = source.astype(dtype).reshape(shape)
    else:
        source = numpy.resize(source, count * dtype.itemsize).view(dtype).reshape(shape)
    rows = draw(st.none() | st.lists(st.integers(0, number - 1), max_size=4))
    windows = number if rows is None else len(rows)
    high, wide = draw(st.integers(0, sizes["H"])), draw(st.integers(0, sizes["W"]))
    tops = [draw(st.integers(0, sizes["H"] - high)) for _ in range(windows)]
    lefts = [draw(st.integers(0, sizes["W"] - wide)) for _ in range(windows)]
    flips = [
        draw(st.none() | st.lists(st.booleans(), min_size=windows, max_size=windows))
        for _ in range(2)
    ]
    return source, rows, tops, lefts, (high, wide), layout, to_layout, *flips


def steps_for(dtype, shape, layout, which):
    """Return steps whose operands differ from element to element, so that places matter."""
    if dtype.kind not in "biuf":
        return []
    channels = [length if axis == "C" else 1 for axis, length in zip(layout, shape, strict=True)]
    by_channel = numpy.arange(1, numpy.prod(channels) + 1, dtype="f4").reshape(channels)
    lines = [length if axis == "W" else 1 for axis, length in zip(layout, shape, strict=True)]
    by_column = numpy.arange(numpy.prod(lines), dtype="f8").reshape(lines)
    return [
        [],
        [("cast", "f4")],
        [("multiply", 1 / 127.5), ("add", -1), ("cast", "f4")],
        [("multiply", by_channel), ("add", by_channel)],
        [("add", by_column), ("multiply", by_channel), ("add", 1)],
    ][which]


@pytest.mark.parametrize("level", LEVELS)
@settings(deadline=None, max_examples=80)
@given(job=jobs(), which=st.integers(0, 4), with_output=st.booleans())
def test_windows_are_what_numpy_cuts_out(level, job, which, with_output):
    source, rows, tops, lefts, window, layout, to_layout, flip_width, flip_height = job
    expected = slowly(*job)
    steps = steps_for(source.dtype, expected.shape[1:], to_layout, which)
    chain = Arithmetic.of(source.dtype, expected.shape[1:], steps) if steps else None
    if chain is not None:
        expected = chain.reference(expected)
    out = numpy.empty(expected.shape, expected.dtype) if with_output else None
    before, arithmetic._level = arithmetic._level, level
    try:
        got = crop(
            source,
            rows,
            tops,
            lefts,
            window,
            layout=layout,
            to_layout=None if to_layout == layout else to_layout,
            flip_width=flip_width,
            flip_height=flip_height,
            arithmetic=chain,
            out=out,
        )
    finally:
        arithmetic._level = before
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    assert got.tobytes() == expected.tobytes()
    assert got.flags.c_contiguous
    assert out is None or got is out


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("layout", ["CHW", "HWC", "HW"])
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_long_lines_are_mirrored_piece_by_piece(monkeypatch, level, layout, channels):
    monkeypatch.setattr(arithmetic, "_level", level)
    sizes = {"C": channels, "H": 2, "W": 5003}
    shape = (2, *(sizes[axis] for axis in layout))
    source = numpy.arange(numpy.prod(shape), dtype="f4").reshape(shape)
    for to_layout in (layout,) if layout == "HW" else ("CHW", "HWC"):
        job = (source, [1, 0], [0, 1], [3, 0], (1, 5000), layout, to_layout, [True, False], None)
        expected = slowly(*job)
        steps = [
            ("multiply", numpy.arange(expected[0].size, dtype="f4").reshape(expected[0].shape))
        ]
        for chain in (None, Arithmetic.of("f4", expected.shape[1:], steps)):
            options = {"layout": layout, "to_layout": to_layout, "flip_width": [True, False]}
            got = crop(*job[:5], **options, arithmetic=chain)
            theirs = expected if chain is None else chain.reference(expected)
            numpy.testing.assert_array_equal(got, theirs)


@pytest.mark.parametrize("arrange", ["fortran", "backwards", "unaligned", "readonly"])
def test_it_does_not_matter_how_the_images_lie_in_memory(arrange):
    plain = numpy.arange(2 * 3 * 5 * 4, dtype="f4").reshape(2, 3, 5, 4)
    if arrange == "fortran":
        source = numpy.asfortranarray(plain)
    elif arrange == "backwards":
        source = plain[:, ::-1].copy()[:, ::-1]
    elif arrange == "unaligned":
        source = numpy.zeros(plain.nbytes + 1, "u1")[1:].view("f4").reshape(plain.shape)
        source[...] = plain
    else:
        source = numpy.frombuffer(plain.tobytes(), "f4").reshape(plain.shape)
    arguments = ([1, 0], [0, 2], [1, 0], (3, 3))
    chain = Arithmetic.of("f4", (3, 3, 3), [("multiply", 0.1)])
    for options in ({}, {"to_layout": "HWC"}, {"arithmetic": chain}):
        options["flip_width"] = [True, False]
        expected = crop(plain, *arguments, **options)
        numpy.testing.assert_array_equal(crop(source, *arguments, **options), expected)


def test_objects_are_cut_as_well():
    source = numpy.arange(12).astype(object).reshape(1, 3, 4)
    got = crop(source, None, [1], [1], (2, 2), layout="HW", flip_width=[True])
    assert got.tolist() == [[[6, 5], [10, 9]]]


@pytest.mark.parametrize("to_layout", ["CHW", "HWC"])
def test_threads_change_nothing(monkeypatch, to_layout):
    rng = numpy.random.default_rng(0)
    source = rng.integers(0, 256, (9, 12, 11, 3), "u1")
    shape = (3, 6, 5) if to_layout == "CHW" else (6, 5, 3)
    chain = Arithmetic.of("u1", shape, [("multiply", 0.1), ("cast", "f4")])
    for rows in (None, rng.integers(0, 9, 20)):
        count = 9 if rows is None else 20
        draw = rng.integers
        arguments = (source, rows, draw(0, 7, count), draw(0, 7, count), (6, 5))
        options = {"layout": "HWC", "to_layout": to_layout, "arithmetic": chain}
        options["flip_width"] = draw(0, 2, count).astype(bool)
        options["flip_height"] = draw(0, 2, count).astype(bool)
        monkeypatch.setattr(_batches, "_WORTH_A_THREAD", 1 << 30)
        alone = crop(*arguments, **options)
        monkeypatch.setattr(_batches, "_WORTH_A_THREAD", 16)
        together = crop(*arguments, **options, threads=4)
        numpy.testing.assert_array_equal(alone, together)


def test_numpy_warns_as_it_does_step_by_step():
    source = numpy.full((1, 2, 2), 3e38, "f4")
    chain = Arithmetic.of("f4", (1, 1), [("multiply", 2)])
    with pytest.warns(RuntimeWarning, match="overflow encountered in multiply"):
        crop(source, None, [0], [0], (1, 1), layout="HW", arithmetic=chain)
    chain = Arithmetic.of("f4", (1, 1), [("cast", "i4")])
    with pytest.warns(RuntimeWarning, match="invalid value encountered in cast"):
        crop(source, None, [0], [0], (1, 1), layout="HW", arithmetic=chain)


def test_a_memory_map_gives_ordinary_arrays_from_the_pool(tmp_path):
    source = numpy.memmap(tmp_path / "images", "u1", "w+", shape=(2, 4, 4, 3))
    got = crop(source, [1], [1], [1], (2, 2), layout="HWC")
    assert type(got) is numpy.ndarray
    assert got.ctypes.data % memory.ALIGNMENT == 0


IMAGES = numpy.zeros((3, 2, 5, 6), "u1")


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (([3], [0], [0], (2, 2)), {}, RequestError, "has the rows 0 to 2, got 3"),
        (
            ([0], [4], [0], (2, 2)),
            {},
            ValueError,
            "`tops` must be from 0 to 3, .* got 4 for window",
        ),
        (([0, 0], [0, -1], [0, 0], (2, 2)), {}, ValueError, "got -1 for window 1"),
        (([0], [0], [5], (2, 2)), {}, ValueError, "`lefts` must be from 0 to 4, .* got 5"),
        (([0], [0], [2**63 - 1], (2, 2)), {}, ValueError, f"got {2**63 - 1} for window 0"),
        (([0, 0], [0, 0], [1, 2**63], (2, 2)), {}, ValueError, f"got {2**63} for window 1"),
        (([0], [0], [0], (6, 2)), {}, ValueError, "6 x 2 does not fit into images of 5 x 6"),
        (([0], [0], [0], (2, 7)), {}, ValueError, "2 x 7 does not fit into images of 5 x 6"),
        (([0], [0], [0], (-1, 2)), {}, ValueError, "must be a height and a width"),
        (([0], [0, 0], [0], (2, 2)), {}, TypeError, "`tops` must be a vector of 1 integers"),
        (([0], [0], [0.0], (2, 2)), {}, TypeError, "`lefts` must be a vector of 1 integers"),
        ((None, [0], [0], (2, 2)), {}, TypeError, "`tops` must be a vector of 3 integers"),
        (([0], [0], [0], (2, 2)), {"flip_width": [1]}, TypeError, "`flip_width` must be a vector"),
        (([0], [0], [0], (2, 2)), {"flip_height": [True] * 2}, TypeError, "1 truth values"),
        (([0], [0], [0], (2, 2)), {"layout": "WHC"}, ValueError, "`layout` must be one of"),
        (([0], [0], [0], (2, 2)), {"layout": "HW"}, ValueError, "have 2 axes, and the source one"),
        (([0], [0], [0], (2, 2)), {"to_layout": "HW"}, ValueError, "must have the axes of CHW"),
        (([0], [0], [0], (2, 2)), {"to_layout": "BCHW"}, ValueError, "`to_layout` must be one"),
        (([0], [0], [0], (2, 2)), {"out": numpy.empty((1, 2, 2, 2))}, ValueError, "`out` must be"),
        (([0], [0], [0], (2, 2)), {"threads": 0}, ValueError, "`threads` must be at least 1"),
    ],
)
def test_what_cannot_be_cut_out_is_refused(arguments, options, error, message):
    with pytest.raises(error, match=message):
        crop(IMAGES, *arguments, **options)


def test_arithmetic_for_other_windows_is_refused():
    chain = Arithmetic.of("u1", (2, 3, 3), [("multiply", 0.5)])
    with pytest.raises(ValueError, match=r"of shape \(2, 3, 3\), got rows of shape \(3, 3, 2\)"):
        crop(IMAGES, [0], [0], [0], (3, 3), to_layout="HWC", arithmetic=chain)
    with pytest.raises(TypeError, match="is for uint8, got rows of float32"):
        crop(IMAGES.astype("f4"), [0], [0], [0], (3, 3), arithmetic=chain)
    with pytest.raises(TypeError, match="must be an array or a memory map, got list"):
        crop(IMAGES.tolist(), [0], [0], [0], (3, 3))


@pytest.mark.parametrize("flip", [None, [True, False]])
@pytest.mark.parametrize("to_layout", ["CHW", "HWC"])
@pytest.mark.parametrize(
    ("layout", "shape"),
    [("HWC", (4, 5, 0)), ("CHW", (0, 4, 5)), ("HWC", (0, 5, 3)), ("CHW", (3, 4, 0))],
)
def test_images_without_elements_give_windows_without_elements(layout, shape, to_layout, flip):
    source = numpy.zeros((2, *shape), "u1")
    sizes = dict(zip(layout, shape, strict=True))
    window = min(2, sizes["H"]), min(2, sizes["W"])
    sizes = dict(sizes, H=window[0], W=window[1])
    expected = tuple(sizes[axis] for axis in to_layout)
    for chain in (None, Arithmetic.of("u1", expected, [("multiply", 0.5), ("cast", "f4")])):
        got = crop(
            source,
            None,
            [0, 0],
            [0, 0],
            window,
            layout=layout,
            to_layout=to_layout,
            flip_width=flip,
            flip_height=flip,
            arithmetic=chain,
        )
        assert got.shape == (2, *expected)


@pytest.mark.parametrize("dtype", ["S2", "S4", "S8", "S16", "c8"])
def test_elements_may_begin_where_no_number_does(dtype):
    size = numpy.dtype(dtype).itemsize
    plain = (numpy.arange(2 * 3 * 40 * 3 * size) % 100 + 1).astype("u1")
    images = plain.view(dtype).reshape(2, 3, 40, 3)
    for start in (1, 2, 4):
        moved = numpy.zeros(plain.size + 8, "u1")
        moved[start : start + plain.size] = plain
        moved = moved[start : start + plain.size].view(dtype).reshape(images.shape)
        for to_layout in ("HWC", "CHW"):
            options = {"layout": "HWC", "to_layout": to_layout, "flip_width": [True, False]}
            expected = crop(images, None, [0, 1], [2, 0], (2, 38), **options)
            got = crop(moved, None, [0, 1], [2, 0], (2, 38), **options)
            assert got.tobytes() == expected.tobytes()


def test_an_output_over_the_vectors_that_are_read_is_refused():
    out = numpy.zeros((2, 2, 2, 2), "i8")
    for name in ("rows", "tops", "lefts"):
        places = {"rows": [0, 0], "tops": [0, 0], "lefts": [0, 0], name: out.ravel()[4:6]}
        with pytest.raises(ValueError, match="apart from the vectors that say what is read"):
            crop(IMAGES.astype("i8"), **places, window=(2, 2), out=out)
