"""Images of other sizes: which size, which filter, which types, and what is refused."""

from __future__ import annotations

import logging
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from fuel.datasets import IndexableDataset
from fuel.exceptions import AxisLabelsMismatchError
from fuel.kernels import threads
from fuel.schemes import SequentialExampleScheme, SequentialScheme
from fuel.streams import DataStream
from fuel.transformers.image import MinimumImageDimensions, Pad, Resize

CHW = ("batch", "channel", "height", "width")
FILTERS = ["nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"]


def pixels(*shape: int, dtype: Any = "uint8") -> Any:
    return numpy.random.RandomState(0).randint(0, 256, shape).astype(dtype)


def stream_of(images: Any, size: int | None = None, labels: Any = CHW) -> DataStream:
    scheme: Any = SequentialExampleScheme(len(images))
    if size is not None:
        scheme = SequentialScheme(len(images), size)
    data = IndexableDataset({"x": images}, axis_labels={"x": labels} if labels else None)
    return DataStream(data, iteration_scheme=scheme)


def through_pillow(plane: Any, size: tuple[int, int], name: str) -> Any:
    method = Image.Resampling[name.upper()]
    return numpy.asarray(Image.fromarray(plane).resize(size[::-1], method))


# -- MinimumImageDimensions -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "minimum", "expected"),
    [
        ((4, 6), (8, 8), (8, 12)),
        ((4, 6), (4, 6), (4, 6)),
        ((4, 6), (2, 3), (4, 6)),
        ((4, 6), (5, 1), (5, 8)),
        ((6, 4), (1, 5), (8, 5)),
        ((49, 10), (1, 49), (241, 49)),
        ((1, 1), (3, 7), (7, 7)),
    ],
)
def test_small_images_are_enlarged_in_proportion(shape: Any, minimum: Any, expected: Any) -> None:
    for channels in (1, 2, 3, 4):
        step = MinimumImageDimensions(stream_of(pixels(1, channels, *shape)), minimum)
        ((found,),) = list(step)
        assert found.shape == (channels, *expected)
    step = MinimumImageDimensions(stream_of(pixels(1, *shape), labels=None), minimum)
    assert next(iter(step))[0].shape == expected


@settings(max_examples=40, deadline=None)
@given(sizes=st.tuples(*[st.integers(1, 300)] * 4))
def test_the_factor_is_the_smallest_that_is_enough(sizes: Any) -> None:
    height, width, rows, columns = sizes
    step = MinimumImageDimensions(stream_of(pixels(1, 1, 2, 2)), (rows, columns))
    found = step._size(height, width)
    assert found[0] >= max(height, rows)
    assert found[1] >= max(width, columns)
    assert found == (height, width) or found[0] == rows or found[1] == columns
    # Rounded up by less than one pixel.
    factor = max(1, rows / height, columns / width)
    assert found[0] - height * factor < 1
    assert found[1] - width * factor < 1


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_the_filter_is_really_used(name: str, dtype: str) -> None:
    images = pixels(2, 3, 7, 9, dtype=dtype)
    ((found,),) = list(MinimumImageDimensions(stream_of(images, 2), (14, 20), resample=name))
    assert isinstance(found, list)
    for image, result in zip(images, found, strict=True):
        for plane, other in zip(image, result, strict=True):
            assert numpy.array_equal(other, through_pillow(plane, (16, 20), name))


def test_filters_may_be_written_in_capitals_and_by_their_old_name() -> None:
    assert MinimumImageDimensions(stream_of(pixels(1, 1, 2, 2)), 4, "BILINEAR").resample == (
        "bilinear"
    )
    assert MinimumImageDimensions(stream_of(pixels(1, 1, 2, 2)), 4, "antialias").resample == (
        "lanczos"
    )


@pytest.mark.parametrize("name", ["notarealresamplingmode", None, 7, "affine", ("nearest",)])
def test_there_is_no_such_filter(name: Any) -> None:
    with pytest.raises(ValueError, match="must be the name of a filter, got .*'lanczos'"):
        MinimumImageDimensions(stream_of(pixels(1, 1, 2, 2)), (4, 5), resample=name)


@pytest.mark.parametrize("shape", [(4,), (2, 3, 4, 2), ()])
def test_images_have_two_or_three_axes(shape: Any) -> None:
    one = MinimumImageDimensions(stream_of(pixels(1, 1, 2, 2)), (4, 5))
    many = MinimumImageDimensions(stream_of(pixels(1, 1, 2, 2), 1), (4, 5))
    with pytest.raises(NotImplementedError, match="two or three axes"):
        one.transform_source_example(numpy.empty(shape), "x")
    with pytest.raises(NotImplementedError, match="two or three axes"):
        many.transform_source_batch([numpy.empty(shape)], "x")


def test_axes_are_checked_and_none_warn_once(caplog: pytest.LogCaptureFixture) -> None:
    wrong = ("batch", "channel", "width", "height")
    with pytest.raises(AxisLabelsMismatchError, match="'x'"):
        list(MinimumImageDimensions(stream_of(pixels(1, 1, 2, 2), 1, wrong), 4))
    with caplog.at_level(logging.WARNING):
        list(MinimumImageDimensions(stream_of(pixels(4, 1, 2, 2), 2, None), 4))
    assert len(caplog.records) == 1


# -- types ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        ("int8", -128, 127),
        ("uint16", 0, 65535),
        ("int32", -(2**31), 2**31 - 1),
        ("int64", -(2**63), 2**63 - 1),
        ("uint64", 0, 2**64 - 1),
    ],
)
def test_integers_are_held_within_their_range(dtype: str, low: int, high: int) -> None:
    image = numpy.array([[[low, low, high, high], [low, low, high, high]]], dtype=dtype)
    for antialias in (True, False):
        step = Resize(stream_of(image[None]), (5, 9), "bicubic", antialias=antialias)
        ((found,),) = list(step)
        assert found.dtype == image.dtype
        # 24 bits are right; there is an overshoot beside the edge, which is cut off.
        assert int(found.min()) - low <= (high - low) * 2.0**-23
        assert high - int(found.max()) <= (high - low) * 2.0**-23
        assert numpy.diff(found[0, 0].astype(float)).min() >= -(high - low) * 2.0**-23


def test_integers_are_rounded_and_booleans_split_in_the_middle() -> None:
    image = numpy.array([[[0, 1, 2, 3]]], dtype="int16")
    ((found,),) = list(Resize(stream_of(image[None]), (1, 2), "box"))
    assert found.tolist() == [[[0, 2]]]  # 0.5 and 2.5: a half goes to the even
    ((found,),) = list(Resize(stream_of(image[None] > 0), (1, 2), "box"))
    assert found.tolist() == [[[True, True]]]


@pytest.mark.parametrize("dtype", ["complex64", "S2", "datetime64[D]"])
def test_what_is_no_number_is_only_picked(dtype: str) -> None:
    images = pixels(1, 2, 4, 4).astype(dtype)
    with pytest.raises(TypeError, match="'bilinear' needs images of numbers.*'nearest'"):
        list(Resize(stream_of(images), 2))
    ((found,),) = list(Resize(stream_of(images), 2, "nearest"))
    assert found.dtype == images.dtype


@settings(max_examples=25, deadline=None)
@given(sizes=st.tuples(*[st.integers(1, 40)] * 4), dtype=st.sampled_from(["uint8", "float32"]))
def test_nearest_picks_the_pixels_that_pillow_picks(sizes: Any, dtype: str) -> None:
    height, width, rows, columns = sizes
    image = pixels(2, height, width, dtype=dtype)
    ((found,),) = list(Resize(stream_of(image[None]), (rows, columns), "nearest"))
    for plane, result in zip(image, found, strict=True):
        assert numpy.array_equal(result, through_pillow(plane, (rows, columns), "nearest"))


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5])
def test_channels_are_resized_each_by_itself(name: str, channels: int) -> None:
    image = pixels(11, 17, channels)
    stream = stream_of(image[None], labels=("batch", "height", "width", "channel"))
    ((found,),) = list(Resize(stream, (5, 23), name))
    for channel in range(channels):
        plane = numpy.ascontiguousarray(image[..., channel])
        assert numpy.array_equal(found[..., channel], through_pillow(plane, (5, 23), name))


# -- Resize --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "shape", "expected"),
    [
        ({"size": 20}, (40, 60), (20, 30)),
        ({"size": 20}, (60, 40), (30, 20)),
        ({"size": 20}, (37, 53), (20, 28)),
        ({"size": 20, "max_size": 25}, (40, 60), (16, 25)),
        ({"size": 20, "max_size": 30}, (60, 40), (30, 20)),
        ({"size": 2, "max_size": 3}, (1, 100), (1, 3)),
        ({"size": None, "max_size": 33}, (37, 53), (23, 33)),
        ({"size": None, "max_size": 90}, (20, 10), (90, 45)),
        ({"size": (7, 9)}, (40, 60), (7, 9)),
        ({"size": [7, 9]}, (7, 9), (7, 9)),
    ],
)
def test_sizes_follow_the_shorter_or_the_longer_side(
    arguments: Any, shape: Any, expected: Any
) -> None:
    ((found,),) = list(Resize(stream_of(pixels(1, 3, *shape)), **arguments))
    assert found.shape == (3, *expected)


def test_without_antialiasing_only_neighbours_count() -> None:
    image = numpy.zeros((1, 1, 1, 8), dtype="float32")
    image[..., 0] = 8
    ((smooth,),) = list(Resize(stream_of(image), (1, 2)))
    ((plain,),) = list(Resize(stream_of(image), (1, 2), antialias=False))
    assert smooth[0, 0, 0] > 0
    assert plain.tolist() == [[[0.0, 0.0]]]
    image = numpy.arange(4, dtype="float64").reshape(1, 1, 1, 4)
    ((found,),) = list(Resize(stream_of(image), (1, 8), antialias=False))
    assert found.tolist() == [[[0.0, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3.0]]]


@pytest.mark.parametrize("name", ["bilinear", "bicubic"])
def test_a_slope_stays_a_slope_without_antialiasing(name: str) -> None:
    image = numpy.mgrid[:12, :16].sum(axis=0).astype("float64")
    ((found,),) = list(Resize(stream_of(image[None], labels=None), (9, 11), name, antialias=False))
    rows, columns = (numpy.arange(9) + 0.5) * 12 / 9 - 0.5, (numpy.arange(11) + 0.5) * 16 / 11 - 0.5
    inner = (slice(2, -2), slice(2, -2))
    exact = numpy.add.outer(rows, columns)
    # This cubic bends a straight line a little between its points.
    assert abs(found - exact)[inner].max() < (1e-12 if name == "bilinear" else 0.1)


def test_the_cubic_without_antialiasing_is_that_of_keys() -> None:
    image = numpy.zeros((1, 1, 1, 8))
    image[..., 4] = 1
    ((found,),) = list(Resize(stream_of(image), (1, 16), "bicubic", antialias=False))
    # Its values at a distance of 1/4, 3/4, 5/4 and 7/4 for a = -3/4, as fractions of 256.
    sides = [225, 67, -27, -9]
    assert (found[0, 0, 5:13] * 256).tolist() == sides[::-1] + sides


@pytest.mark.parametrize(
    "arguments",
    [
        {"size": 0}, {"size": (3, 0)}, {"size": (1, 2, 3)}, {"size": None},
        {"max_size": 0, "size": 3}, {"max_size": 3, "size": 3}, {"max_size": 9, "size": (3, 4)},
        {"interpolation": "cubic", "size": 3}, {"interpolation": {}, "size": 3},
        {"interpolation": "box", "antialias": False, "size": 3},
    ],
)  # fmt: skip
def test_arguments_of_resize_are_checked(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"`{next(iter(arguments))}.*got .*; "):
        Resize(stream_of(pixels(1, 3, 4, 4)), **arguments)


def test_sizes_are_integers() -> None:
    for arguments in ({"size": 2.0}, {"size": "3"}, {"size": 2, "max_size": 3.5}):
        with pytest.raises(TypeError, match="of Resize must be an integer"):
            Resize(stream_of(pixels(1, 3, 4, 4)), **arguments)  # type: ignore[arg-type]


def test_an_image_without_pixels_is_refused() -> None:
    step = Resize(stream_of(pixels(1, 3, 4, 4), 1), 3)
    for images in (numpy.empty((2, 3, 0, 4)), [numpy.empty((3, 4, 0))]):
        with pytest.raises(ValueError, match="Resize needs images with pixels.*Filter"):
            step.transform_source_batch(images, "x")


def test_threads_change_nothing() -> None:
    images = pixels(9, 3, 120, 130)
    before = threads.limit()
    found = []
    try:
        for limit in (1, 3):
            threads.set_limit(limit)
            step = Resize(stream_of(images, 9), (40, 50))
            found.append(step.transform_source_batch(images, "x"))
            found.append(numpy.stack(step.transform_source_batch(list(images), "x")))
    finally:
        threads.set_limit(before)
    for other in found[1:]:
        assert numpy.array_equal(found[0], other)


# -- Pad -----------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(
    sides=st.tuples(*[st.integers(0, 5)] * 4),
    size=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    mode=st.sampled_from(["constant", "edge", "reflect", "symmetric"]),
    batched=st.booleans(),
)
def test_the_image_lies_inside_its_padding(sides: Any, size: Any, mode: str, batched: bool) -> None:
    left, top, right, bottom = sides
    images = pixels(2, 3, *size)
    step = Pad(stream_of(images, 2 if batched else None), sides, padding_mode=mode)
    found = numpy.concatenate([numpy.reshape(x, (-1, 3, *x.shape[-2:])) for (x,) in step])
    around = ((0, 0), (0, 0), (top, bottom), (left, right))
    assert numpy.array_equal(found, numpy.pad(images, around, mode=mode))  # type: ignore[call-overload]


def test_one_two_or_four_numbers() -> None:
    stream = stream_of(pixels(1, 1, 2, 2))
    assert Pad(stream, 3).padding == (3, 3, 3, 3)
    assert Pad(stream, [3]).padding == (3, 3, 3, 3)
    assert Pad(stream, (1, 2)).padding == (1, 2, 1, 2)
    assert Pad(stream, (1, 2, 3, 4)).padding == (1, 2, 3, 4)
    for wrong in ((1, 2, 3), (), (1, -1), -2):
        with pytest.raises(ValueError, match="`padding` of Pad"):
            Pad(stream, wrong)
    with pytest.raises(TypeError, match="`padding` of Pad must be an integer"):
        Pad(stream, 1.5)
    with pytest.raises(ValueError, match="`padding_mode` of Pad.*'mirror'"):
        Pad(stream, 1, padding_mode="mirror")
    with pytest.raises(ValueError, match="`fill` of Pad must be a number"):
        Pad(stream, 1, fill="black")


def test_each_channel_and_each_source_may_have_its_value() -> None:
    images = pixels(2, 2, 1, 1)
    ((found,),) = list(Pad(stream_of(images, 2), (1, 0), fill=(7, 9)))
    assert found[:, :, 0, 0].tolist() == [[7, 9]] * 2
    last = stream_of(
        images.transpose(0, 2, 3, 1).copy(), 2, ("batch", "height", "width", "channel")
    )
    ((found,),) = list(Pad(last, (1, 0), fill=(7, 9)))
    assert found[:, 0, 0].tolist() == [[7, 9]] * 2
    with pytest.raises(ValueError, match="one entry for each channel, got 3 .* with 2"):
        list(Pad(stream_of(images), 1, fill=(1, 2, 3)))
    data = IndexableDataset({"image": images, "mask": images})
    stream = DataStream(data, iteration_scheme=SequentialScheme(2, 2))
    ((image, mask),) = list(Pad(stream, 1, fill={"image": 0, "mask": 255}))
    assert (image[0, 0, 0, 0], mask[0, 0, 0, 0]) == (0, 255)
    with pytest.raises(ValueError, match=r"`fill` of Pad .*\['image', 'mask'\], got .*\['image'\]"):
        Pad(stream, 1, fill={"image": 0})


@pytest.mark.parametrize(
    ("dtype", "fill"), [("uint8", -1), ("uint8", 0.5), ("int16", float("nan")), ("float32", 1j)]
)
def test_values_that_are_none_of_the_type_are_refused(dtype: str, fill: Any) -> None:
    with pytest.raises(ValueError, match=f"`fill` of Pad must be a value.*{dtype}.*Cast"):
        list(Pad(stream_of(pixels(1, 1, 2, 2, dtype=dtype)), 1, fill=fill))


def test_floats_take_any_number() -> None:
    ((found,),) = list(Pad(stream_of(pixels(1, 1, 1, 1, dtype="float32")), (1, 0), fill=0.1))
    assert found[0, 0, 0] == numpy.float32(0.1)
