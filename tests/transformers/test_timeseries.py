"""AddNoise, TimeMask, FrequencyMask, Resample: distributions, places, formulas, bad input."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import signal, stats

from fuel.datasets import IndexableDataset
from fuel.exceptions import AxisLabelsMismatchError
from fuel.plan import Context
from fuel.schemes import SequentialExampleScheme, SequentialScheme
from fuel.streams import DataStream
from fuel.transformers.timeseries import AddNoise, FrequencyMask, Resample, TimeMask


def batches(array: Any, labels: Any = None, size: int | None = None) -> DataStream:
    dataset = IndexableDataset({"x": array}, axis_labels=labels and {"x": labels})
    return DataStream(dataset, iteration_scheme=SequentialScheme(len(array), size or len(array)))


def singly(array: Any, labels: Any = None) -> DataStream:
    dataset = IndexableDataset({"x": array}, axis_labels=labels and {"x": labels})
    return DataStream(dataset, iteration_scheme=SequentialExampleScheme(len(array)))


def one(step: Any) -> Any:
    ((found,),) = step
    return found


# -- AddNoise -----------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0.25, 3])
def test_noise_has_the_distribution_it_says(scale: float) -> None:
    zeros = numpy.zeros((50, 400))
    normal = one(AddNoise(batches(zeros), scale, seed=1))
    assert stats.kstest(normal.ravel() / scale, "norm").pvalue > 0.01
    uniform = one(AddNoise(batches(zeros), scale, "uniform", seed=1))
    assert -scale <= uniform.min() and uniform.max() < scale
    assert stats.kstest((uniform.ravel() / scale + 1) / 2, "uniform").pvalue > 0.01
    for noise in (normal, uniform):
        assert len(numpy.unique(noise)) == noise.size  # no two elements share it
        assert abs(numpy.corrcoef(noise) - numpy.eye(50)).max() < 0.25


def test_noise_is_added_in_the_type_of_the_data() -> None:
    array = numpy.random.default_rng(0).random((4, 6)).astype("float32")
    noise = one(AddNoise(batches(numpy.zeros((4, 6))), 0.1))
    found = one(AddNoise(batches(array), 0.1))
    assert found.tobytes() == (array + noise.astype("float32")).tobytes()


def test_no_noise_is_no_change_and_features_may_differ() -> None:
    array = numpy.random.default_rng(0).random((4, 6, 3)).astype("float32")
    for distribution in ("normal", "uniform"):
        assert one(AddNoise(batches(array), 0, distribution)).tobytes() == array.tobytes()
        found = one(AddNoise(batches(array), [0, 1, 0], distribution))
        assert numpy.array_equal(found[..., ::2], array[..., ::2])
        assert (found[..., 1] != array[..., 1]).all()
    scales = numpy.array([1.0, 2.0])
    step = AddNoise(batches(numpy.zeros((2, 2))), scales)
    scales[:] = 0  # a later change is no part of the step
    assert (one(step) != 0).all()


def test_numbers_and_sources_that_are_not_chosen() -> None:
    step = AddNoise(singly(numpy.zeros(5)), 1, which_sources=())
    assert [float(x) for (x,) in step] == [0.0] * 5
    assert len({float(x) for (x,) in AddNoise(singly(numpy.zeros(5)), 1)}) == 5


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ((-1,), ValueError, "`scale` of AddNoise must be finite and at least 0"),
        ((float("inf"),), ValueError, "`scale`"),
        (([1, -1],), ValueError, "`scale` of AddNoise must be finite and not negative"),
        (([float("nan")],), ValueError, "finite"),
        ((["a"],), TypeError, "`scale`"),
        (("1",), TypeError, "`scale` of AddNoise must be a number"),
        ((1, "gauss"), ValueError, "'normal' or 'uniform', got 'gauss'"),
    ],
)
def test_noise_refuses(arguments: Any, error: Any, match: str) -> None:
    with pytest.raises(error, match=match):
        AddNoise(batches(numpy.zeros((2, 2))), *arguments)


def test_noise_refuses_data_that_does_not_fit() -> None:
    with pytest.raises(TypeError, match=r"'x' has the type int64.*Cast"):
        one(AddNoise(batches(numpy.zeros((2, 2), dtype="int64")), 1))
    for wrong in ([1, 2, 3], [[1], [2]]):
        with pytest.raises(ValueError, match=r"`scale` of AddNoise has the shape.*'x'"):
            one(AddNoise(batches(numpy.zeros((2, 2))), wrong))


# -- masks --------------------------------------------------------------------------------------


def spans(changed: Any) -> list[tuple[int, int]]:
    """Start and width of what is true in each row; checks that it is one run."""
    found = []
    for row in changed:
        places = numpy.flatnonzero(row)
        found.append((int(places[0]), len(places)) if len(places) else (0, 0))
        assert not len(places) or places[-1] - places[0] + 1 == len(places)
    return found


def test_widths_and_places_are_uniform() -> None:
    found = spans(one(TimeMask(batches(numpy.ones((6000, 20))), 5, seed=1)) == 0)
    widths = numpy.bincount([width for _, width in found])
    assert len(widths) == 6 and widths.min() > 880 and widths.max() < 1120  # 1000 each
    starts = numpy.bincount([start for start, width in found if width == 5])
    assert len(starts) == 16 and starts.min() > 35  # 62 each


def test_the_masks_are_the_formula_of_the_draws() -> None:
    step = TimeMask(batches(numpy.ones((9, 20))), 6, 3, seed=4)
    bits = Context(0, 0, 9).bits(step, 6, 9)
    expected = numpy.ones((9, 20))
    for row in range(9):
        for mask in range(3):
            width = (int(bits[row, 2 * mask]) * 7) >> 64
            start = (int(bits[row, 2 * mask + 1]) * (20 - width + 1)) >> 64
            expected[row, start : start + width] = 0
    assert numpy.array_equal(one(step), expected)


@settings(max_examples=40, deadline=None)
@given(
    length=st.integers(0, 9),
    width=st.integers(0, 12),
    masks=st.integers(0, 3),
    share=st.floats(0, 1),
    dtype=st.sampled_from(["int16", "float32", "bool", "complex64"]),
)
def test_masks_stay_inside_and_within_their_limits(
    length: int, width: int, masks: int, share: float, dtype: str
) -> None:
    array = numpy.ones((5, length, 2), dtype=dtype)
    found = one(TimeMask(batches(array), width, masks, max_share=share))
    assert found.shape == array.shape and found.dtype == dtype
    masked = found[:, :, 0] == 0
    assert numpy.array_equal(masked, found[:, :, 1] == 0)  # all frequencies
    assert masked.sum(axis=1).max() <= masks * min(width, int(share * length))


def test_which_axis_is_masked() -> None:
    array = numpy.ones((4, 6, 8, 10))

    def axis(step: Any) -> int:
        found = one(step)
        rows = [(found == found.take([0], axis=a)).all() for a in (1, 2, 3)]
        return 1 + rows.index(False)

    labels = ("batch", "channel", "frequency", "time")
    for make, default, labelled in ((TimeMask, 1, 3), (FrequencyMask, 3, 2)):
        assert axis(make(batches(array), 5, seed=2)) == default
        assert axis(make(batches(array, labels), 5, seed=2)) == labelled
        assert axis(make(batches(array, labels), 5, axis=0, seed=2)) == 1
        assert axis(make(batches(array, labels), 5, axis=-1, seed=2)) == 3
        assert axis(make(batches(array, labels), 5, axis="channel", seed=2)) == 1
        assert axis(make(batches(array, ("batch", "a", "b", "c")), 5, seed=2)) == default
        with pytest.raises(AxisLabelsMismatchError, match=r"axis 'no'.*'frequency', 'time'"):
            one(make(batches(array, labels), 5, axis="no"))
        with pytest.raises(ValueError, match="needs axis 3 of the examples.*3 axes"):
            one(make(batches(array), 5, axis=3))
        assert make(batches(array), 5, axis=2)._parameters()["axis"] == 2
    assert axis(FrequencyMask(batches(array, ("batch", "time", "feature", "z")), 5, seed=2)) == 2
    with pytest.raises(ValueError, match=r"0 axes.*which_sources"):
        list(TimeMask(singly(numpy.ones(3)), 2))


def test_masks_do_nothing_without_width_or_number() -> None:
    array = numpy.random.default_rng(0).random((4, 9))
    for arguments in ((0,), (5, 0), (5, 1, 0, 0.0)):
        assert one(TimeMask(batches(array), *arguments)).tobytes() == array.tobytes()


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"max_width": -1}, ValueError, "`max_width` of TimeMask must not be negative"),
        ({"max_width": 1.5}, TypeError, "`max_width` of TimeMask must be an integer"),
        ({"max_width": 1, "num_masks": -1}, ValueError, "`num_masks`"),
        ({"max_width": 1, "value": (1, 2)}, TypeError, "`value` of TimeMask must be one number"),
        ({"max_width": 1, "value": "a"}, TypeError, "`value`"),
        ({"max_width": 1, "max_share": 1.5}, ValueError, "`max_share`"),
        ({"max_width": 1, "axis": 0.5}, TypeError, "`axis` of TimeMask must be an integer"),
    ],
)
def test_masks_refuse(arguments: Any, error: Any, match: str) -> None:
    with pytest.raises(error, match=match):
        TimeMask(batches(numpy.ones((2, 2))), **arguments)


def test_masks_refuse_values_that_the_type_cannot_hold() -> None:
    with pytest.raises(ValueError, match="uint8 of source 'x' cannot hold"):
        one(TimeMask(batches(numpy.ones((2, 2), dtype="uint8")), 1, value=-1))
    with pytest.raises(TypeError, match="needs numbers"):
        one(TimeMask(batches(numpy.array([["a"], ["b"]])), 1))


# -- Resample -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int16", "bool"])
@pytest.mark.parametrize(("up", "down"), [(3, 2), (1, 4), (160, 441), (7, 1)])
def test_resampling_is_scipy_s(dtype: str, up: int, down: int) -> None:
    array = (numpy.random.default_rng(0).random((3, 90, 2)) * 50).astype(dtype)
    found = one(Resample(batches(array), up, down))
    work = array if array.dtype.kind in "fc" else array.astype("float64")
    expected = signal.resample_poly(work, up, down, axis=1)
    assert found.dtype == work.dtype
    assert found.shape == (3, math.ceil(90 * up / down), 2) == expected.shape
    assert found.tobytes() == expected.astype(work.dtype).tobytes()
    assert found.flags.c_contiguous


def test_a_sine_stays_a_sine() -> None:
    wave = numpy.sin(2 * numpy.pi * 50 * numpy.arange(4410) / 44100)[None]
    found = one(Resample(batches(wave), rate_in=44100, rate_out=16000))
    expected = numpy.sin(2 * numpy.pi * 50 * numpy.arange(1600) / 16000)
    assert abs(found[0, 100:-100] - expected[100:-100]).max() < 2e-3
    half = one(Resample(batches(wave.astype("float16")), 2, 1))
    assert half.dtype == "float16" and half.shape == (1, 8820)


def test_rates_in_lowest_terms() -> None:
    below = batches(numpy.zeros((2, 4)))
    for arguments, expected in (
        ({"rate_in": 44100, "rate_out": 16000}, (160, 441)),
        ({"rate_in": 8000.0, "rate_out": 16000.0}, (2, 1)),
        ({"rate_in": 0.1, "rate_out": 0.3}, (3, 1)),
        ({"rate_in": numpy.float32(0.5), "rate_out": 2}, (4, 1)),
        ({"up": 6, "down": 4}, (3, 2)),
        ({}, (1, 1)),
    ):
        step = Resample(below, **arguments)
        assert (step.up, step.down) == expected


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex128"])
def test_equal_rates_change_nothing(dtype: str) -> None:
    array = numpy.random.default_rng(0).random((3, 9)).astype(dtype)
    assert one(Resample(batches(array), rate_in=5, rate_out=5)).tobytes() == array.tobytes()


def test_any_length_and_any_axis() -> None:
    for length in (0, 1, 2, 7):
        (item,) = Resample(singly(numpy.zeros((1, length))), 3, 2)
        assert item[0].shape == (math.ceil(length * 3 / 2),)
    array = numpy.random.default_rng(0).random((2, 3, 8))
    labelled = one(Resample(batches(array, ("batch", "channel", "time")), 1, 2))
    assert labelled.shape == (2, 3, 4)
    assert numpy.array_equal(one(Resample(batches(array), 1, 2, axis=-1)), labelled)
    assert numpy.array_equal(one(Resample(batches(array), 1, 2, axis=1)), labelled)
    assert one(Resample(batches(array[:, :0]), 1, 2, axis=1)).shape == (2, 0, 4)


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"up": 0}, ValueError, "`up` of Resample must be positive"),
        ({"down": -1}, ValueError, "`down`"),
        ({"up": 1.5}, TypeError, "`up` of Resample must be an integer"),
        ({"rate_in": 5}, ValueError, "both `rate_in` and `rate_out`"),
        ({"up": 2, "rate_in": 5, "rate_out": 5}, ValueError, "both `rate_in` and `rate_out`"),
        ({"rate_in": 0, "rate_out": 5}, ValueError, "`rate_in` of Resample must be positive"),
        ({"rate_in": "5", "rate_out": 5}, TypeError, "`rate_in`"),
        ({"rate_in": 44100.123, "rate_out": 5}, ValueError, "too long for a filter"),
    ],
)
def test_resample_refuses(arguments: Any, error: Any, match: str) -> None:
    with pytest.raises(error, match=match):
        Resample(batches(numpy.zeros((2, 4))), **arguments)


def test_resample_refuses_what_is_no_number() -> None:
    with pytest.raises(TypeError, match="Resample needs numbers"):
        one(Resample(batches(numpy.array([["a"], ["b"]])), 2))
    with pytest.raises(ValueError, match="0 axes"):
        list(Resample(singly(numpy.zeros(3)), 2))


def test_scipy_is_imported_when_it_is_used() -> None:
    code = (
        "import sys, fuel.transformers.timeseries;"
        "sys.exit(any(name.split('.')[0] == 'scipy' for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0
