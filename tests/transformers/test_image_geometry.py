"""Images mirrored and turned, and their axes exchanged."""

from __future__ import annotations

import math
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from scipy.stats import binom

from fuel.datasets import IndexableDataset
from fuel.exceptions import AxisLabelsMismatchError
from fuel.plan import Context
from fuel.schemes import SequentialExampleScheme, SequentialScheme
from fuel.streams import DataStream
from fuel.testing import assert_resumes_everywhere
from fuel.transformers import ExpectsAxisLabels, SourcewiseTransformer
from fuel.transformers.image import (
    Random2DRotation,
    RandomHorizontalFlip,
    RandomVerticalFlip,
    Transpose,
)

CHW = ("batch", "channel", "height", "width")
HWC = ("batch", "height", "width", "channel")


def pixels(*shape: int, dtype: Any = "uint8") -> Any:
    return numpy.random.RandomState(0).randint(0, 256, shape).astype(dtype)


def stream_of(images: Any, size: int | None = None, labels: Any = CHW) -> DataStream:
    scheme: Any = SequentialExampleScheme(len(images))
    if size is not None:
        scheme = SequentialScheme(len(images), size)
    data = IndexableDataset({"x": images}, axis_labels={"x": labels} if labels else None)
    return DataStream(data, iteration_scheme=scheme)


# -- flips ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "axis"), [(RandomHorizontalFlip, -1), (RandomVerticalFlip, -2)])
def test_always_and_never(kind: Any, axis: int) -> None:
    images = pixels(4, 3, 5, 6)
    for size in (None, 4):
        data = images if size else images[:1]
        ((always,),) = list(kind(stream_of(data, size), 1))
        ((never,),) = list(kind(stream_of(data, size), 0.0))
        assert numpy.array_equal(always, numpy.flip(images if size else images[0], axis))
        assert numpy.array_equal(never, images if size else images[0])


@pytest.mark.parametrize("kind", [RandomHorizontalFlip, RandomVerticalFlip])
@settings(max_examples=20, deadline=None)
@given(
    shape=st.tuples(*[st.integers(1, 6)] * 4), p=st.floats(0, 1), seed=st.integers(0, 9),
    last=st.booleans(),
)  # fmt: skip
def test_mirrored_twice_is_as_before(kind: Any, shape: Any, p: float, seed: int, last: Any) -> None:
    images = pixels(*shape)
    stream = stream_of(images, 3, HWC if last else CHW)
    # The same name and seed: the same images are mirrored.
    once = kind(stream, p, seed=seed)
    found = numpy.concatenate([x for (x,) in once])
    twice = kind(stream_of(found, 3, HWC if last else CHW), p, seed=seed)
    assert numpy.array_equal(numpy.concatenate([x for (x,) in twice]), images)


@pytest.mark.parametrize("p", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("seed", [0, 1])
def test_as_many_are_mirrored_as_the_probability_says(p: float, seed: int) -> None:
    images = numpy.tile(numpy.array([0, 1], dtype="uint8"), (3000, 1, 1, 1))
    ((found,),) = list(RandomHorizontalFlip(stream_of(images, 3000), p, seed=seed))
    count = int((found[:, 0, 0, 0] == 1).sum())
    assert binom.ppf(1e-4, 3000, p) <= count <= binom.ppf(1 - 1e-4, 3000, p)


def test_the_two_flips_draw_for_themselves() -> None:
    images = numpy.arange(4, dtype="uint8").reshape(1, 1, 2, 2).repeat(400, 0)
    step = RandomVerticalFlip(RandomHorizontalFlip(stream_of(images, 400)))
    ((found,),) = list(step)
    counts = numpy.bincount(found[:, 0, 0, 0], minlength=4)
    assert binom.ppf(1e-4, 400, 0.25) <= counts.min()
    assert counts.max() <= binom.ppf(1 - 1e-4, 400, 0.25)


@pytest.mark.parametrize("p", [-0.1, 1.1, float("nan"), "0.5", None, True])
@pytest.mark.parametrize("kind", [RandomHorizontalFlip, RandomVerticalFlip])
def test_probabilities_lie_between_0_and_1(kind: Any, p: Any) -> None:
    with pytest.raises(ValueError, match=f"`p` of {kind.__name__} must be a probability"):
        kind(stream_of(pixels(1, 1, 2, 2)), p)


# -- Random2DRotation -------------------------------------------------------------------------


def turned(image: Any, angle: float, resample: str = "nearest") -> Any:
    """Turn every channel with Pillow."""
    method = Image.Resampling[resample.upper()]
    planes = [Image.fromarray(plane).rotate(angle, resample=method) for plane in image]
    return numpy.stack([numpy.asarray(plane) for plane in planes])


@pytest.mark.parametrize("dtype", ["uint8", "int32", "float32"])
@pytest.mark.parametrize("size", [(7, 7), (5, 12), (40, 33), (1, 1)])
def test_nearest_is_pixel_for_pixel_pillows(dtype: str, size: tuple[int, int]) -> None:
    images = pixels(12, 3, *size, dtype=dtype)
    rng = numpy.random.RandomState(123)
    step = Random2DRotation(stream_of(images), rng=numpy.random.RandomState(123))
    for image, (found,) in zip(images, step, strict=True):
        assert numpy.array_equal(found, turned(image, rng.uniform(-180, 180)))


@pytest.mark.parametrize("kind", ["array", "list", "objects"])
def test_a_batch_takes_one_vector(kind: str) -> None:
    images = pixels(5, 3, 8, 9)
    rng = numpy.random.RandomState(5)
    step = Random2DRotation(stream_of(images, 5), math.pi / 4, rng=numpy.random.RandomState(5))
    batch: Any = images
    if kind != "array":
        batch = list(images)
    if kind == "objects":
        batch = numpy.empty(5, dtype=object)
        batch[:] = list(images)
    found = step.transform_source_batch(batch, "x")
    assert type(found) is type(batch)
    assert getattr(found, "dtype", None) == getattr(batch, "dtype", None)
    for image, angle, result in zip(images, rng.uniform(-45, 45, 5), found, strict=True):
        assert numpy.array_equal(result, turned(image, angle))


@pytest.mark.parametrize("resample", ["bilinear", "bicubic"])
def test_other_filters_are_pillows_too(resample: str) -> None:
    images = pixels(3, 3, 9, 11)
    rng = numpy.random.RandomState(8)
    for dtype in ("uint8", "float32", "uint16"):
        step = Random2DRotation(
            stream_of(images.astype(dtype), 3), resample=resample, rng=numpy.random.RandomState(8)
        )
        ((found,),) = list(step)
        rng.seed(8)
        for image, angle, result in zip(images, rng.uniform(-180, 180, 3), found, strict=True):
            plain = image if dtype == "uint8" else image.astype("float32")
            expected = turned(plain, angle, resample)
            if dtype == "uint16":
                expected = numpy.rint(expected).clip(0, 65535)
            assert result.dtype == dtype
            assert numpy.array_equal(result, expected)


def test_every_type_is_turned_alike() -> None:
    images = pixels(4, 2, 8, 8)
    ((expected,),) = list(Random2DRotation(stream_of(images, 4)))
    for dtype in ("int64", "float16", "complex128", "bool", "uint64", ">i2"):
        ((found,),) = list(Random2DRotation(stream_of(images.astype(dtype), 4)))
        assert found.dtype == numpy.dtype(dtype)
        assert numpy.array_equal(found, expected.astype(dtype))


def test_angles_are_spread_over_both_directions() -> None:
    step = Random2DRotation(stream_of(pixels(1, 1, 2, 2), 1), math.radians(30))
    angles = numpy.sort(step._angles(Context(0, 0, 4000).bits(step, 1, 4000)))
    # The largest distance from the uniform distribution; 0.03 has a probability of about 0.002.
    assert abs((angles + 30) / 60 - (numpy.arange(4000) + 0.5) / 4000).max() < 0.03


@pytest.mark.parametrize("maximum", [0, -1, 0.0, 3.1416, float("nan"), None, "1"])
def test_the_largest_angle_is_at_most_half_a_turn(maximum: Any) -> None:
    with pytest.raises(ValueError, match="`maximum_rotation` of Random2DRotation.*math.radians"):
        Random2DRotation(stream_of(pixels(1, 1, 2, 2)), maximum_rotation=maximum)


def test_what_cannot_be_turned_is_refused() -> None:
    stream = stream_of(pixels(1, 1, 2, 2), 1)
    for name in ("nonexisting", "lanczos"):
        with pytest.raises(ValueError, match="`resample` of Random2DRotation"):
            Random2DRotation(stream, resample=name)
    with pytest.raises(TypeError, match="`rng` of Random2DRotation"):
        Random2DRotation(stream, rng="abc")
    step = Random2DRotation(stream)
    for batch in (numpy.empty((2, 7, 6)), [numpy.empty((7, 6))], numpy.array([1, None])):
        with pytest.raises(ValueError, match="which_sources"):
            step.transform_source_batch(batch, "x")
    one = Random2DRotation(stream_of(pixels(1, 1, 2, 2)))
    with pytest.raises(ValueError, match=r"\(5, 6\)"):
        one.transform_source_example(numpy.empty((5, 6)), "x")
    with pytest.raises(TypeError, match="'bilinear' needs images of numbers"):
        list(Random2DRotation(stream_of(pixels(1, 1, 2, 2, dtype="S1")), resample="bilinear"))
    with pytest.raises(AxisLabelsMismatchError):
        list(Random2DRotation(stream_of(pixels(1, 1, 2, 2), 1, HWC)))
    assert isinstance(step, ExpectsAxisLabels)
    assert isinstance(step, SourcewiseTransformer)


def with_rng() -> Any:
    return Random2DRotation(stream_of(pixels(7, 1, 6, 6), 2), rng=numpy.random.RandomState(7))


def test_a_generator_goes_on_where_it_was() -> None:
    assert_resumes_everywhere(with_rng, new_process=False, start_epochs=(1,))
    assert "given as `rng`" in with_rng().explain()


# -- Transpose -----------------------------------------------------------------------------------


def test_layouts_and_permutations_and_their_labels() -> None:
    images = pixels(4, 3, 5, 6)
    for axes in ("HWC", (1, 2, 0), [1, 2, -3]):
        for size in (None, 4):
            step = Transpose(stream_of(images, size), axes)
            assert step.axis_labels["x"] == (HWC if size else HWC[1:])
            found = [item[0] for item in step]
            expected = images.transpose(0, 2, 3, 1)
            assert numpy.array_equal(found[0] if size else numpy.stack(found), expected)
            assert found[0].flags.c_contiguous
    step = Transpose(stream_of(images, 4), "CHW")
    assert numpy.array_equal(next(iter(step))[0], images)


def test_lists_and_object_arrays_and_labels_unknown() -> None:
    images = [pixels(3, 5, size) for size in (4, 6)]
    step = Transpose(stream_of(images, 2, None), (2, 0, 1))
    assert not (step.axis_labels or {}).get("x")
    found = step.transform_source_batch(images, "x")
    assert isinstance(found, list)
    objects = numpy.empty(2, dtype=object)
    objects[:] = images
    again = step.transform_source_batch(objects, "x")
    assert again.dtype == object
    for image, one, other in zip(images, found, again, strict=True):
        assert numpy.array_equal(one, image.transpose(2, 0, 1))
        assert numpy.array_equal(other, one)


def test_what_is_no_permutation_is_refused() -> None:
    stream = stream_of(pixels(1, 1, 2, 2))
    for axes in ("WHC", (0, 0, 1), (1, 2, 3), (), None, 3):
        with pytest.raises(ValueError, match="`axes` of Transpose must be"):
            Transpose(stream, axes)
    with pytest.raises(TypeError, match="`axes` of Transpose"):
        Transpose(stream, (0, 1.5))
    with pytest.raises(ValueError, match="leave the axis of the batch out"):
        Transpose(stream_of(pixels(1, 1, 2, 2), 1), (0, 2, 3, 1))
    with pytest.raises(ValueError, match="axis labels are not known; give the permutation"):
        Transpose(stream_of(pixels(1, 1, 2, 2), labels=None), "HWC")
    with pytest.raises(AxisLabelsMismatchError, match="no channels"):
        Transpose(stream_of(pixels(1, 2, 2), labels=("batch", "height", "width")), "HWC")
    with pytest.raises(AxisLabelsMismatchError, match="not those of images"):
        Transpose(stream_of(pixels(1, 2, 2), labels=("batch", "time", "width")), "HWC")
    with pytest.raises(ValueError, match=r"3 axes, got one of source 'x' with the shape \(2, 2\)"):
        list(Transpose(stream_of(pixels(1, 2, 2), labels=None), (0, 1, 2)))


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", ">f8", "complex128", "S3"])
@pytest.mark.parametrize("size", [(3, 90, 80), (17, 31, 40), (1, 128, 129), (90, 80)])
def test_large_images_move_as_small_ones_do(dtype: str, size: tuple[int, ...]) -> None:
    # Small images are moved by NumPy, large ones by a kernel.
    images = pixels(2, *size).astype(dtype)
    labels = CHW if len(size) == 3 else ("batch", "height", "width")
    for data, batch in ((images, 2), (list(images), 2), (images, None), (images[..., ::-1], 2)):
        stream = stream_of(data, batch, labels)
        plain = numpy.asarray(data)
        for kind, axis in ((RandomHorizontalFlip, -1), (RandomVerticalFlip, -2)):
            found = [x for (x,) in kind(stream, 1)]
            assert numpy.array_equal(
                numpy.stack(found).reshape(plain.shape), numpy.flip(plain, axis)
            )
        if len(size) == 3:
            for axes in ((1, 2, 0), (2, 0, 1), (0, 2, 1)):
                found = [x for (x,) in Transpose(stream, axes)]
                expected = plain.transpose(0, *(axis + 1 for axis in axes))
                assert numpy.array_equal(numpy.stack(found).reshape(expected.shape), expected)
                assert numpy.asarray(found[0]).dtype.kind == images.dtype.kind
