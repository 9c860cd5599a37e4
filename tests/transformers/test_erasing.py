"""RandomErasing: where rectangles are, how large, what is in them, bad input."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuel.datasets import IndexableDataset
from fuel.plan import Context
from fuel.schemes import SequentialScheme
from fuel.streams import DataStream
from fuel.transformers._erasing import RandomErasing


def batches(array: Any, labels: Any = None, size: int | None = None) -> DataStream:
    dataset = IndexableDataset({"x": array}, axis_labels=labels and {"x": labels})
    return DataStream(dataset, iteration_scheme=SequentialScheme(len(array), size or len(array)))


def one(step: Any) -> Any:
    ((found,),) = step
    return found


def boxes(changed: Any) -> list[tuple[int, int, int, int]]:
    """Top, left, height and width of what is true in each (height, width); checks its shape."""
    found = []
    for mask in changed:
        rows, columns = numpy.flatnonzero(mask.any(1)), numpy.flatnonzero(mask.any(0))
        if not len(rows):
            found.append((0, 0, 0, 0))
            continue
        box = (rows[0], columns[0], rows[-1] - rows[0] + 1, columns[-1] - columns[0] + 1)
        assert mask.sum() == box[2] * box[3], "not a full rectangle"
        found.append((int(box[0]), int(box[1]), int(box[2]), int(box[3])))
    return found


def test_a_rectangle_of_the_published_size_anywhere_inside() -> None:
    array = numpy.ones((3000, 1, 40, 30), dtype="uint8")
    step = RandomErasing(batches(array), seed=1)
    found = boxes(one(step)[:, 0] == 0)
    erased = [box for box in found if box[2]]
    assert 1400 < len(erased) < 1600  # p = 0.5, deviation 27
    areas = numpy.array([h * w for _, _, h, w in erased]) / 1200
    assert 0.01 < areas.min() < 0.03 and 0.31 < areas.max() < 0.36
    assert abs(areas.mean() - 0.175) < 0.01  # uniform from 0.02 to 0.33
    ratios = numpy.array([h / w for _, _, h, w in erased if h * w > 150])
    assert ratios.min() > 0.25 and ratios.max() < 3.9
    tops = [top / (40 - h) for top, _, h, _ in erased if h < 30]
    lefts = [left / (30 - w) for _, left, _, w in erased if w < 20]
    for places in (tops, lefts):
        assert min(places) == 0 and max(places) == 1 and abs(numpy.mean(places) - 0.5) < 0.03


def test_the_sizes_are_the_formula_of_the_draws() -> None:
    step = RandomErasing(batches(numpy.ones((1, 1, 4, 4))), p=1, scale=(0.1, 0.7), ratio=(0.5, 2.5))
    bits = Context(0, 0, 200).bits(step, step._draws, 200)
    tops, lefts, heights, widths = step._rectangles(bits, 20, 30)
    for row in range(200):
        u = [int(b) >> 11 for b in bits[row]]
        for attempt in range(10):
            area = (0.1 + 0.6 * u[1 + attempt] / 2**53) * 600
            ratio = 0.5 + 2 * u[11 + attempt] / 2**53
            h, w = round((area * ratio) ** 0.5), round((area / ratio) ** 0.5)
            if h <= 20 and w <= 30:
                break
        else:
            raise AssertionError("none of ten fits: choose other ranges for this test")
        expected = ((int(bits[row, 21]) * (21 - h)) >> 64, (int(bits[row, 22]) * (31 - w)) >> 64)
        assert (tops[row], lefts[row], heights[row], widths[row]) == (*expected, h, w)


@settings(max_examples=40, deadline=None)
@given(
    height=st.integers(1, 9),
    width=st.integers(1, 9),
    low=st.floats(0, 1),
    more=st.floats(0, 1),
    flat=st.floats(0.01, 1),
    steep=st.floats(1, 50),
)
def test_it_never_leaves_the_image(
    height: int, width: int, low: float, more: float, flat: float, steep: float
) -> None:
    array = numpy.zeros((6, 2, height, width))
    scale = (low, low + (1 - low) * more)
    step = RandomErasing(batches(array), 1, scale, (flat, steep), value=1)
    tops, lefts, heights, widths = step._rectangles(
        Context(0, 0, 6).bits(step, step._draws, 6), height, width
    )
    assert (tops >= 0).all() and (lefts >= 0).all()
    assert (tops + heights <= height).all() and (lefts + widths <= width).all()
    found = one(step)
    assert (found[:, 0] == found[:, 1]).all()  # all channels
    assert (found.sum(axis=(1, 2, 3)) == 2 * heights * widths).all()


def test_one_too_large_is_cut_to_the_image() -> None:
    array = numpy.ones((4, 1, 5, 50))
    found = boxes(one(RandomErasing(batches(array), 1, (1, 1), (10, 10)))[:, 0] == 0)
    assert [(top, height, width) for top, _, height, width in found] == [(0, 5, 5)] * 4
    assert not one(RandomErasing(batches(numpy.ones((4, 1, 5, 5))), 1, (1, 1), (1, 1))).any()


def test_nothing_is_erased_by_no_area_or_no_probability() -> None:
    array = numpy.random.default_rng(0).random((20, 3, 8, 8))
    assert one(RandomErasing(batches(array), 0)).tobytes() == array.tobytes()
    assert one(RandomErasing(batches(array), 1, (0, 0))).tobytes() == array.tobytes()
    empty = numpy.ones((3, 3, 0, 4))
    assert one(RandomErasing(batches(empty), 1, value="random")).shape == empty.shape


@pytest.mark.parametrize("last", [False, True])
def test_a_value_for_every_channel(last: bool) -> None:
    array = numpy.zeros((10, 3, 8, 8), dtype="uint8")
    labels = None
    if last:
        array, labels = numpy.moveaxis(array, 1, -1), ("batch", "height", "width", "channel")
    found = one(RandomErasing(batches(array, labels), 1, value=(1, 2, 255)))
    planes = numpy.moveaxis(found, -1, 1) if last else found
    for channel, value in enumerate((1, 2, 255)):
        assert set(numpy.unique(planes[:, channel])) == {0, value}
    assert boxes(planes[:, 0] > 0) == boxes(planes[:, 2] > 0)


def test_random_values_are_normal_or_all_of_the_type() -> None:
    array = numpy.full((40, 3, 32, 32), 77.0, dtype="float32")
    found = one(RandomErasing(batches(array), 1, (0.3, 0.5), (1, 1), "random", seed=1))
    values = found[found != 77]
    assert found.dtype == "float32" and len(values) > 30000
    assert abs(values.mean()) < 0.02 and abs(values.std() - 1) < 0.02
    assert len(numpy.unique(values)) > 0.99 * len(values)  # no two pixels alike
    zeros = numpy.zeros((40, 3, 32, 32), dtype="uint8")
    values = one(RandomErasing(batches(zeros), 1, (1, 1), (1, 1), "random"))
    counts = numpy.bincount(values.ravel(), minlength=256)  # 480 each
    assert counts.min() > 380 and counts.max() < 580
    flags = one(RandomErasing(batches(zeros > 0), 1, (1, 1), (1, 1), "random"))
    assert flags.dtype == bool and 0.48 < flags.mean() < 0.52


def test_random_values_are_draws_of_their_own() -> None:
    step = RandomErasing(batches(numpy.zeros((3, 1, 4, 4), "uint8")), 1, (1, 1), (1, 1), "random")
    found = one(step)
    for index in range(3):
        # Behind those that said whether, how large and where.
        behind = Context(0, index).bits(step, step._draws + 16)[step._draws :]
        assert found[index].ravel().tolist() == [int(draw) >> 56 for draw in behind]


def test_an_image_and_its_mask_are_erased_at_one_place() -> None:
    data = {"x": numpy.ones((20, 3, 8, 9)), "y": numpy.ones((20, 1, 8, 9), dtype="uint8")}
    stream = DataStream(IndexableDataset(data), iteration_scheme=SequentialScheme(20, 20))
    ((x, y),) = RandomErasing(stream)
    assert numpy.array_equal(x[:, 0] == 0, y[:, 0] == 0) and (y == 0).any()


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"p": 2}, ValueError, "`p` of RandomErasing must be between 0 and 1"),
        ({"p": "x"}, TypeError, "`p` of RandomErasing must be a number"),
        ({"scale": 0.5}, TypeError, "`scale` of RandomErasing must be a pair"),
        ({"scale": (0.5, 0.1)}, ValueError, "smaller number first"),
        ({"scale": (0.5, 1.1)}, ValueError, "between 0 and 1"),
        ({"ratio": (0, 1)}, ValueError, "`ratio` of RandomErasing must be positive"),
        ({"ratio": (-1, 1)}, ValueError, "`ratio`"),
        ({"value": "noise"}, ValueError, "'random', got 'noise'"),
        ({"value": None}, TypeError, "`value` of RandomErasing must be a number or a sequence"),
        ({"value": [[1]]}, TypeError, "`value`"),
        ({"value": []}, TypeError, "`value`"),
    ],
)
def test_bad_arguments(arguments: Any, error: Any, match: str) -> None:
    with pytest.raises(error, match=match):
        RandomErasing(batches(numpy.ones((1, 1, 4, 4))), **arguments)


@pytest.mark.parametrize(
    ("dtype", "value", "error", "match"),
    [
        ("uint8", 0.5, ValueError, "uint8 of source 'x' cannot hold"),
        ("uint8", 256, ValueError, "cannot hold"),
        ("uint8", -1, ValueError, "cannot hold"),
        ("bool", 2, ValueError, "cannot hold"),
        ("float32", 1j, ValueError, "cannot hold"),
        ("float32", (1, 2), ValueError, r"has 2 numbers.*3 channels"),
        ("int16", "random", TypeError, "int16; give a number"),
        ("U1", 0, TypeError, "needs numbers"),
    ],
)
def test_values_that_do_not_fit(dtype: str, value: Any, error: Any, match: str) -> None:
    with pytest.raises(error, match=match):
        one(RandomErasing(batches(numpy.ones((4, 3, 4, 4)).astype(dtype)), 1, (1, 1), value=value))


def test_a_value_of_the_type_s_own_range_fits() -> None:
    for dtype, value in (("int8", -128), ("uint64", 2**64 - 1), ("float16", float("nan"))):
        array = numpy.ones((2, 1, 2, 2), dtype=dtype)
        found = one(RandomErasing(batches(array), 1, (1, 1), (1, 1), value))
        assert found.dtype == dtype
        assert numpy.array_equal(found, numpy.full_like(array, value), equal_nan=dtype == "float16")
