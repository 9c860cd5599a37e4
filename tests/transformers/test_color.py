"""Normalize, ColorJitter, RandomGrayscale: published formulas, ranges, types, bad input."""

from __future__ import annotations

import colorsys
import itertools
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuel.datasets import IndexableDataset
from fuel.exceptions import AxisLabelsMismatchError
from fuel.plan import Context
from fuel.schemes import SequentialScheme
from fuel.streams import DataStream
from fuel.transformers._color import ColorJitter, Normalize, RandomGrayscale
from fuel.transformers._colors import ORDERS


def batches(array: Any, labels: Any = None, size: int | None = None) -> DataStream:
    dataset = IndexableDataset({"x": array}, axis_labels=labels and {"x": labels})
    return DataStream(dataset, iteration_scheme=SequentialScheme(len(array), size or len(array)))


def one(step: Any) -> Any:
    ((found,),) = step
    return found


def pixels(seed: int = 0, shape: tuple[int, ...] = (5, 3, 6, 4)) -> Any:
    return numpy.random.default_rng(seed).random(shape)


def bytes_(seed: int = 0, shape: tuple[int, ...] = (5, 3, 6, 4)) -> Any:
    return numpy.random.default_rng(seed).integers(256, size=shape).astype("uint8")


# -- Normalize ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("last", [False, True])
def test_normalize_is_its_formula_in_the_type_of_the_image(dtype: str, last: bool) -> None:
    mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    array = pixels().astype(dtype)
    labels = ("batch", "height", "width", "channel") if last else None
    given_array = numpy.moveaxis(array, 1, -1).copy() if last else array
    found = one(Normalize(batches(given_array, labels), mean, std))
    assert found.dtype == dtype and found.shape == given_array.shape
    for channel in range(3):
        scalar = array.dtype.type
        expected = (array[:, channel] + scalar(-mean[channel])) / scalar(std[channel])
        there = found[..., channel] if last else found[:, channel]
        assert there.tobytes() == expected.tobytes()


def test_normalize_takes_one_number_for_all_channels_and_images_without() -> None:
    array = pixels()
    assert numpy.array_equal(one(Normalize(batches(array), 0.5, 2)), (array - 0.5) / 2)
    assert numpy.array_equal(one(Normalize(batches(array), [0.5], (2,))), (array - 0.5) / 2)
    assert numpy.array_equal(one(Normalize(batches(array[:, 0]), 0.5, 2)), (array[:, 0] - 0.5) / 2)
    found = one(Normalize(batches(array), 0.5, (1, 2, 4)))
    assert numpy.array_equal(found[:, 2], (array[:, 2] - 0.5) / 4)


def test_normalize_by_nothing_changes_nothing() -> None:
    array = pixels().astype("float32")
    assert one(Normalize(batches(array), 0, 1)).tobytes() == array.tobytes()


@pytest.mark.parametrize(
    ("mean", "std", "error", "match"),
    [
        (0, 0, ValueError, "`std` of Normalize must be positive"),
        (0, (1, 0, 1), ValueError, "positive"),
        (0, -1, ValueError, "positive"),
        (float("nan"), 1, ValueError, "`mean` of Normalize must be finite"),
        (0, (1, float("inf")), ValueError, "`std` of Normalize must be finite"),
        ("0", 1, TypeError, "`mean` of Normalize must be a number"),
        (True, 1, TypeError, "must be a number"),
        ((), 1, ValueError, "empty"),
        ([[1]], 1, TypeError, "must be a number"),
    ],
)
def test_normalize_refuses(mean: Any, std: Any, error: Any, match: str) -> None:
    with pytest.raises(error, match=match):
        Normalize(batches(pixels()), mean, std)


def test_normalize_refuses_data_that_does_not_fit() -> None:
    with pytest.raises(TypeError, match=r"floating-point images.*'x'.*uint8.*Cast"):
        one(Normalize(batches(bytes_()), 0, 1))
    with pytest.raises(ValueError, match=r"`mean` of Normalize has 2 numbers.*3 channels"):
        one(Normalize(batches(pixels()), (0, 1), 1))
    with pytest.raises(ValueError, match=r"`std` of Normalize has 3 numbers.*1 channels"):
        one(Normalize(batches(pixels()[:, 0]), 0, (1, 2, 3)))
    with pytest.raises(ValueError, match="keeps only 0"):
        one(Normalize(batches(pixels().astype("float16")), 0, 1e-12))
    with pytest.raises(ValueError, match=r"three axes.*have 1"):
        one(Normalize(batches(pixels()[:, 0, 0]), 0, 1))
    with pytest.raises(AxisLabelsMismatchError):
        one(Normalize(batches(pixels(), ("batch", "time", "width", "channel")), 0, 1))


# -- ColorJitter --------------------------------------------------------------------------------

KINDS = ("brightness", "contrast", "saturation", "hue")


def limited(value: float, bound: float) -> float:
    return min(max(value, 0.0), bound)


def adjusted(image: Any, kind: str, factor: float, bound: float) -> Any:
    """One adjustment of an image (3, height, width), pixel by pixel, in Python's numbers."""
    _, height, width = image.shape
    luma = 0.299 * image[0] + 0.587 * image[1] + 0.114 * image[2]
    result = numpy.empty(image.shape)
    for row, column in itertools.product(range(height), range(width)):
        red, green, blue = (float(v) for v in image[:, row, column])
        if kind == "hue":
            h, s, v = colorsys.rgb_to_hsv(red / bound, green / bound, blue / bound)
            rgb = [c * bound for c in colorsys.hsv_to_rgb((h + factor) % 1.0, s, v)]
        else:
            other = {
                "brightness": 0.0,
                "contrast": float(luma.mean()),
                "saturation": float(luma[row, column]),
            }[kind]
            rgb = [limited(factor * c + (1 - factor) * other, bound) for c in (red, green, blue)]
        result[:, row, column] = rgb
    return result


@pytest.mark.parametrize(
    ("kind", "factor"),
    [
        *itertools.product(KINDS[:3], (0.0, 0.3, 1.7)),
        *itertools.product(KINDS[3:], (-0.5, -0.4, -0.01, 0.3, 0.5)),
    ],
)
def test_each_adjustment_is_its_published_formula(kind: str, factor: float) -> None:
    ranges: Any = {kind: (factor, factor)}
    array = pixels()
    found = one(ColorJitter(batches(array), **ranges))
    for image, result in zip(array, found, strict=True):
        assert numpy.allclose(result, adjusted(image, kind, factor, 1.0), atol=1e-12)
    coarse = bytes_()
    found = one(ColorJitter(batches(coarse), **ranges))
    for image, result in zip(coarse, found, strict=True):
        expected = adjusted(image, kind, factor, 255.0)
        assert abs(result - expected).max() <= 0.5 + 1e-3  # rounded to the nearest


def test_gray_black_and_white_have_no_hue_to_shift() -> None:
    array = numpy.repeat(numpy.linspace(0, 1, 8).reshape(1, 1, 2, 4), 3, axis=1)
    assert numpy.array_equal(one(ColorJitter(batches(array), hue=(0.3, 0.3))), array)


def test_primary_colours_turn_round_the_circle() -> None:
    red = numpy.zeros((1, 3, 1, 1), dtype="uint8")
    red[0, 0] = 255
    for turn, colour in ((1 / 3, (0, 255, 0)), (-1 / 3, (0, 0, 255)), (0.5, (0, 255, 255))):
        assert one(ColorJitter(batches(red), hue=(turn, turn))).ravel().tolist() == list(colour)


def test_the_whole_is_the_four_in_the_order_drawn() -> None:
    step = ColorJitter(batches(pixels()), 0.5, 0.5, 0.5, 0.5, seed=3)
    array = pixels()
    bits = Context(0, 0, 5).bits(step, 5, 5)
    factors, orders = step._adjustments(bits)
    found = one(step)
    assert len({tuple(order) for order in orders.tolist()}) > 1
    for image, result, factor, order in zip(array, found, factors, orders, strict=True):
        expected = image
        for number in order:
            expected = adjusted(expected, KINDS[number], float(factor[number]), 1.0)
        assert numpy.allclose(result, expected, atol=1e-10)


def test_factors_and_orders_are_spread_as_they_should_be() -> None:
    assert sorted(map(tuple, ORDERS.tolist())) == sorted(itertools.permutations(range(4)))
    step = ColorJitter(batches(pixels()), 0.4, (0.5, 0.75), 2, 0.1)
    assert (step.brightness, step.contrast) == ((0.6, 1.4), (0.5, 0.75))
    assert (step.saturation, step.hue) == ((0, 3), (-0.1, 0.1))
    factors, orders = step._adjustments(Context(0, 0, 4800).bits(step, 5, 4800))
    for number, (low, high) in enumerate([(0.6, 1.4), (0.5, 0.75), (0, 3), (-0.1, 0.1)]):
        column = factors[:, number]
        assert low <= column.min() and column.max() < high
        assert abs(column.mean() - (low + high) / 2) < 0.02 * (high - low)
        assert column.min() < low + 0.01 * (high - low)
        assert column.max() > high - 0.01 * (high - low)
    _, counts = numpy.unique(orders, axis=0, return_counts=True)
    assert len(counts) == 24 and counts.min() > 140 and counts.max() < 260  # 200 each
    # No draw tells anything about another.
    assert abs(numpy.corrcoef(factors.T) - numpy.eye(4)).max() < 0.06


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "float64"])
def test_no_adjustment_is_no_change(dtype: str) -> None:
    array = bytes_() if dtype == "uint8" else (pixels() * 3 - 1).astype(dtype)
    for arguments in ((), (0, 0, 0, 0), (None, (1, 1), (1, 1), (0, 0))):
        assert one(ColorJitter(batches(array), *arguments)).tobytes() == array.tobytes()


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 99), dtype=st.sampled_from(["uint8", "float32"]))
def test_results_stay_in_their_range(seed: int, dtype: str) -> None:
    array = bytes_(seed) if dtype == "uint8" else pixels(seed).astype(dtype)
    found = one(ColorJitter(batches(array), 1, 5, 5, 0.5, seed=seed))
    assert (
        found.dtype == dtype
        and found.min() >= 0
        and found.max() <= (255 if dtype == "uint8" else 1)
    )


def test_large_images_in_large_batches_are_treated_in_parts_alike() -> None:
    array = bytes_(shape=(9, 3, 210, 200))
    whole = one(ColorJitter(batches(array), 0.5, 0.5, 0.5, 0.5, seed=1))
    step = ColorJitter(batches(array, size=1), 0.5, 0.5, 0.5, 0.5, seed=1)
    assert whole.tobytes() == b"".join(batch.tobytes() for (batch,) in step)


def test_one_channel_has_brightness_and_contrast_only() -> None:
    array = pixels(shape=(3, 1, 4, 4))
    found = one(ColorJitter(batches(array), 0, (0.5, 0.5), (0, 0), (0.5, 0.5)))
    for image, result in zip(array, found, strict=True):
        assert numpy.allclose(result, 0.5 * image + 0.5 * image.mean())
    without = one(ColorJitter(batches(array[:, 0]), 0, (0.5, 0.5), (0, 0), (0.5, 0.5)))
    assert without.tobytes() == found.tobytes() and without.shape == (3, 4, 4)


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"brightness": -1}, ValueError, "`brightness` of ColorJitter must be finite and at least"),
        ({"contrast": (0.5,)}, TypeError, "`contrast` of ColorJitter must be a pair"),
        ({"contrast": (1.5, 0.5)}, ValueError, "smaller number first"),
        ({"saturation": (-0.5, 0.5)}, ValueError, "at least 0"),
        ({"saturation": "x"}, TypeError, "must be a number"),
        ({"hue": 0.6}, ValueError, "between 0 and 0.5"),
        ({"hue": (-0.6, 0)}, ValueError, "between -0.5 and 0.5"),
        ({"hue": float("nan")}, ValueError, "`hue`"),
    ],
)
def test_jitter_refuses(arguments: Any, error: Any, match: str) -> None:
    with pytest.raises(error, match=match):
        ColorJitter(batches(pixels()), **arguments)


@pytest.mark.parametrize("make", [lambda s: ColorJitter(s, 1), lambda s: RandomGrayscale(s, 1)])
def test_images_of_other_kinds_are_refused(make: Any) -> None:
    with pytest.raises(ValueError, match=r"1 or 3 channels.*'x' have 4"):
        one(make(batches(pixels(shape=(2, 4, 3, 3)))))
    with pytest.raises(TypeError, match=r"'x' has the type int64.*Cast"):
        one(make(batches(numpy.ones((2, 3, 3, 3), dtype="int64"))))
    with pytest.raises(TypeError, match="complex128"):
        one(make(batches(numpy.ones((2, 3, 3, 3), dtype=complex))))
    with pytest.raises(ValueError, match="two axes"):
        one(make(batches(pixels(), ("batch", "height", "width"))))


# -- RandomGrayscale ----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int32"])
def test_gray_is_the_luma_rounded(dtype: str) -> None:
    top = min(int(numpy.iinfo(dtype).max), 10**9)
    array = numpy.random.default_rng(0).integers(top + 1, size=(4, 3, 5, 5)).astype(dtype)
    array[0, :, 0, 0] = top
    found = one(RandomGrayscale(batches(array), 1))
    assert found.dtype == dtype
    red, green, blue = (array[:, channel].astype(object) for channel in range(3))
    expected = ((299 * red + 587 * green + 114 * blue + 500) // 1000).astype(dtype)
    for channel in range(3):
        assert numpy.array_equal(found[:, channel], expected)


def test_gray_agrees_with_pillow() -> None:
    from PIL import Image

    array = bytes_(shape=(1, 3, 64, 64))
    found = one(RandomGrayscale(batches(array), 1))[0, 0]
    theirs = numpy.asarray(Image.fromarray(numpy.moveaxis(array[0], 0, -1).copy()).convert("L"))
    # Theirs has weights of 16 bits, so it may differ where the exact value is near a half.
    assert abs(found.astype(int) - theirs).max() <= 1 and (found != theirs).mean() < 0.01


def test_gray_of_floating_point_images() -> None:
    array = pixels().astype("float32")
    found = one(RandomGrayscale(batches(array), 1))
    expected = numpy.tensordot(array.astype("float64"), [0.299, 0.587, 0.114], axes=([1], [0]))
    assert found.dtype == "float32"
    assert all(numpy.allclose(found[:, channel], expected, atol=1e-6) for channel in range(3))
    half = one(RandomGrayscale(batches(array.astype("float16")), 1))
    assert half.dtype == "float16" and numpy.allclose(half[:, 0], expected, atol=1e-3)


def test_about_so_many_become_gray_and_the_others_stay() -> None:
    array = bytes_(shape=(2000, 3, 1, 1))
    found = one(RandomGrayscale(batches(array), 0.3, seed=1))
    coloured = (found == array).all(axis=(1, 2, 3))
    grayed = (found == found[:, :1]).all(axis=(1, 2, 3))
    assert (coloured | grayed).all()
    assert 530 < grayed.sum() < 670  # 600, deviation 20
    for p, same in ((0, True), (1, False)):
        assert (one(RandomGrayscale(batches(array), p)) == array).all() == same


def test_one_channel_is_gray_already() -> None:
    array = bytes_(shape=(3, 1, 4, 4))
    assert numpy.array_equal(one(RandomGrayscale(batches(array), 1)), array)
    assert numpy.array_equal(one(RandomGrayscale(batches(array[:, 0]), 1)), array[:, 0])


@pytest.mark.parametrize("p", [-0.1, 1.1, float("nan")])
def test_grayscale_refuses_what_is_no_probability(p: float) -> None:
    with pytest.raises(ValueError, match="`p` of RandomGrayscale must be between 0 and 1"):
        RandomGrayscale(batches(pixels()), p)
