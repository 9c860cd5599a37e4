"""Windows: where they lie, how they are drawn, and what is refused."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuel.datasets import IndexableDataset
from fuel.exceptions import AxisLabelsMismatchError
from fuel.plan import Context
from fuel.schemes import SequentialExampleScheme, SequentialScheme, ShuffledScheme
from fuel.streams import DataStream
from fuel.testing import assert_resumes_everywhere
from fuel.transformers import ExpectsAxisLabels, SourcewiseTransformer
from fuel.transformers._image import window_batch_bchw
from fuel.transformers.image import (
    CenterCrop,
    RandomFixedSizeCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
)

CHW = ("batch", "channel", "height", "width")


def numbered(count: int, height: int, width: int, dtype: str = "int64") -> Any:
    """Return images of one channel whose pixels say where they were, in both digits."""
    rows, columns = numpy.mgrid[:height, :width]
    return numpy.broadcast_to(rows * 100 + columns, (count, 1, height, width)).astype(dtype)


def stream_of(images: Any, size: int | None = None, labels: Any = CHW) -> DataStream:
    scheme: Any = SequentialExampleScheme(len(images))
    if size is not None:
        scheme = SequentialScheme(len(images), size)
    data = IndexableDataset({"x": images}, axis_labels={"x": labels} if labels else None)
    return DataStream(data, iteration_scheme=scheme)


def corners(images: Any) -> Any:
    """Return where the windows of numbered images begin."""
    found = numpy.array([image[0, 0, 0] for image in images], dtype=int).reshape(-1)
    return numpy.stack([found // 100, found % 100], axis=1)


# -- RandomFixedSizeCrop ----------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_every_window_is_a_window_of_its_image(data: Any) -> None:
    count, height, width = (data.draw(st.integers(1, 9)) for _ in range(3))
    window = (data.draw(st.integers(1, height)), data.draw(st.integers(1, width)))
    images = numbered(count, height, width)
    step = RandomFixedSizeCrop(stream_of(images, count), window, seed=data.draw(st.integers()))
    ((found,),) = list(step)
    assert found.shape == (count, 1, *window)
    for image, (top, left) in zip(found, corners(found), strict=True):
        assert 0 <= top <= height - window[0]
        assert 0 <= left <= width - window[1]
        expected = images[0, :, top : top + window[0], left : left + window[1]]
        assert numpy.array_equal(image, expected)


def test_all_places_are_equally_likely() -> None:
    step = RandomFixedSizeCrop(stream_of(numbered(6000, 6, 5), 6000), (4, 4), seed=4)
    ((found,),) = list(step)
    places, counts = numpy.unique(corners(found), axis=0, return_counts=True)
    assert places.tolist() == [[top, left] for top in range(3) for left in range(2)]
    # 1000 each; the standard deviation is 29.
    assert abs(counts - 1000).max() < 150


def test_epochs_seeds_and_names_draw_for_themselves() -> None:
    images = numbered(20, 30, 30)
    one = RandomFixedSizeCrop(stream_of(images, 20), 4, seed=1)
    ((first,),), ((second,),) = list(one), list(one)
    ((again,),) = list(RandomFixedSizeCrop(stream_of(images, 20), 4, seed=1))
    ((seeded,),) = list(RandomFixedSizeCrop(stream_of(images, 20), 4, seed=2))
    ((named,),) = list(RandomFixedSizeCrop(stream_of(images, 20), 4, seed=1, name="cut"))
    assert numpy.array_equal(first, again)
    for other in (second, seeded, named):
        assert not numpy.array_equal(first, other)


def test_one_number_is_a_square_and_a_list_a_pair() -> None:
    images = numbered(1, 8, 9)
    assert RandomFixedSizeCrop(stream_of(images), 3).window_shape == (3, 3)
    assert RandomFixedSizeCrop(stream_of(images), [3, 4]).window_shape == (3, 4)
    assert RandomFixedSizeCrop(stream_of(images), numpy.int64(3)).window_shape == (3, 3)


@pytest.mark.parametrize("size", [None, 4])
def test_a_window_of_the_size_of_the_image_is_the_image(size: int | None) -> None:
    images = numbered(4, 6, 7)
    for (found,) in RandomFixedSizeCrop(stream_of(images, size), (6, 7)):
        assert numpy.array_equal(found, images if size else images[0])


@pytest.mark.parametrize("window", [(7, 3), (3, 9), (20, 20)])
def test_a_window_too_large_is_refused_by_name_and_size(window: tuple[int, int]) -> None:
    images = numbered(2, 6, 8)
    sizes = f"{window[0]} x {window[1]}.*image.*'x' of 6 x 8.*MinimumImageDimensions"
    for rng in (None, numpy.random.RandomState(1)):
        for size, data in ((None, images), (2, images), (2, list(images))):
            step = RandomFixedSizeCrop(stream_of(data, size), window, rng=rng)
            with pytest.raises(ValueError, match=sizes):
                list(step)
    mixed = [numbered(1, 30, 30)[0], images[0]]
    with pytest.raises(ValueError, match="image 1 of a batch"):
        list(RandomFixedSizeCrop(stream_of(mixed, 2), window))


def test_what_is_no_image_is_refused() -> None:
    one = RandomFixedSizeCrop(stream_of(numbered(2, 6, 8)), (3, 3))
    many = RandomFixedSizeCrop(stream_of(numbered(2, 6, 8), 2), (3, 3))
    with pytest.raises(ValueError, match=r"\(channel, height, width\).*\(5, 6\)"):
        one.transform_source_example(numpy.empty((5, 6)), "x")
    for batch in (numpy.empty((2, 7, 6)), [numpy.empty((7, 6))], numpy.array([1, None])):
        with pytest.raises(ValueError, match="which_sources"):
            many.transform_source_batch(batch, "x")


@pytest.mark.parametrize("window", [(3,), (3, 4, 5), 0, (3, -1), ()])
def test_window_shapes_that_are_none(window: Any) -> None:
    for build in (
        lambda stream: RandomFixedSizeCrop(stream, window),
        lambda stream: CenterCrop(stream, window),
        lambda stream: RandomResizedCrop(stream, window),
    ):
        with pytest.raises(ValueError, match="got .*; give"):
            build(stream_of(numbered(1, 5, 5)))


@pytest.mark.parametrize("window", [2.5, "ab", (3, None), True])
def test_window_shapes_of_other_types(window: Any) -> None:
    with pytest.raises(TypeError, match="`window_shape` of RandomFixedSizeCrop"):
        RandomFixedSizeCrop(stream_of(numbered(1, 5, 5)), window)


def test_other_axes_are_refused_and_none_warn_once(caplog: pytest.LogCaptureFixture) -> None:
    images = numbered(4, 6, 8)
    wrong = ("batch", "height", "width", "channel")
    with pytest.raises(AxisLabelsMismatchError, match="'x'"):
        list(RandomFixedSizeCrop(stream_of(images, 2, wrong), 1))
    with caplog.at_level(logging.WARNING):
        assert len(list(RandomFixedSizeCrop(stream_of(images, 2, None), 3))) == 2
    assert len(caplog.records) == 1
    assert isinstance(RandomFixedSizeCrop(stream_of(images), 1), ExpectsAxisLabels)
    assert isinstance(RandomFixedSizeCrop(stream_of(images), 1), SourcewiseTransformer)


# -- with a generator, in order ------------------------------------------------------------------


def test_an_array_takes_one_vector_a_direction() -> None:
    images = numbered(5, 9, 12)
    step = RandomFixedSizeCrop(stream_of(images, 3), (4, 5), rng=numpy.random.RandomState(3))
    rng = numpy.random.RandomState(3)
    for (found,) in step:
        lefts = rng.randint(0, 8, size=len(found))
        tops = rng.randint(0, 6, size=len(found))
        assert corners(found).tolist() == [list(pair) for pair in zip(tops, lefts, strict=True)]


@pytest.mark.parametrize("kind", ["examples", "list"])
def test_other_images_take_two_numbers_each(kind: str) -> None:
    images = [numbered(1, 5 + size, 11 - size)[0] for size in range(6)]
    size = None if kind == "examples" else 6
    step = RandomFixedSizeCrop(stream_of(images, size), (4, 5), rng=numpy.random.RandomState(3))
    found = [item[0] for item in step]
    if size:
        assert isinstance(found[0], (list, numpy.ndarray))
        found = list(found[0])
    rng = numpy.random.RandomState(3)
    for image, window in zip(images, found, strict=True):
        top = rng.randint(0, image.shape[1] - 4 + 1)
        left = rng.randint(0, image.shape[2] - 5 + 1)
        assert numpy.array_equal(window, image[:, top : top + 4, left : left + 5])


def test_a_new_generator_draws_too() -> None:
    step = RandomFixedSizeCrop(
        stream_of(numbered(40, 9, 9), 40), 4, rng=numpy.random.default_rng(1)
    )
    ((found,),) = list(step)
    assert corners(found).min() == 0
    assert corners(found).max() == 5


def with_rng() -> Any:
    stream = DataStream(
        IndexableDataset({"x": numbered(7, 9, 9)}, axis_labels={"x": CHW}),
        iteration_scheme=ShuffledScheme(7, 2),
    )
    cropped = RandomFixedSizeCrop(stream, 4, rng=numpy.random.RandomState(7))
    return RandomHorizontalFlip(cropped)


def test_a_generator_goes_on_where_it_was() -> None:
    # The key of a legacy generator takes up some 7000 bytes, and there is one in the scheme too.
    assert_resumes_everywhere(with_rng, max_state_bytes=42000, start_epochs=(1,))


def test_a_generator_makes_it_run_in_order_and_explain_says_why() -> None:
    step = with_rng().data_stream
    assert step.elementwise is False
    assert "RandomState given as `rng`" in step.explain()
    assert "give `seed=`" in step.explain()
    step.rng = None
    assert step.elementwise is True
    assert "rng" not in step.explain()


def test_generators_are_checked() -> None:
    stream = stream_of(numbered(2, 6, 8))
    with pytest.raises(TypeError, match="`rng` of RandomFixedSizeCrop.*got 5.*`seed=`"):
        RandomFixedSizeCrop(stream, 3, rng=5)
    with pytest.raises(ValueError, match="both `rng` and `seed=3`"):
        RandomFixedSizeCrop(stream, 3, rng=numpy.random.RandomState(1), seed=3)


class Doubled(RandomFixedSizeCrop):
    """What a user may have written long ago."""

    def transform_source_example(self, source_example: Any, source_name: str) -> Any:
        return super().transform_source_example(source_example, source_name) * 2

    def transform_source_batch(self, source_batch: Any, source_name: str) -> Any:
        return super().transform_source_batch(source_batch, source_name) * 2


@pytest.mark.parametrize("size", [None, 3])
def test_a_subclass_keeps_its_say(size: int | None) -> None:
    images = numbered(7, 20, 20)
    plain = [x for (x,) in RandomFixedSizeCrop(stream_of(images, size), 4, name="cut")]
    step = Doubled(stream_of(images, size), 4, name="cut")
    assert not step.elementwise or "runs in order" in step.explain()
    for one, other in zip([x for (x,) in step], plain, strict=True):
        assert numpy.array_equal(one, other * 2)
    ordered = Doubled(stream_of(images, size), 4, rng=numpy.random.RandomState(1))
    plain_ordered = RandomFixedSizeCrop(stream_of(images, size), 4, rng=numpy.random.RandomState(1))
    for (one,), (other,) in zip(ordered, plain_ordered, strict=True):
        assert numpy.array_equal(one, other * 2)


# -- CenterCrop ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("length", "wanted", "first"),
    [(4, 2, 1), (5, 2, 2), (7, 2, 2), (3, 2, 0), (9, 4, 2), (11, 4, 4), (6, 6, 0), (2, 1, 0)],
)
def test_the_middle_is_rounded_to_the_even_number(length: int, wanted: int, first: int) -> None:
    images = numbered(2, length, 3)
    for size in (None, 2):
        found = [item[0] for item in CenterCrop(stream_of(images, size), (wanted, 3))]
        assert corners(found[0] if size else found).tolist() == [[first, 0]] * 2


def test_a_smaller_image_is_surrounded_with_zeros() -> None:
    images = numpy.ones((1, 1, 2, 3), dtype="uint8")
    ((found,),) = list(CenterCrop(stream_of(images), (5, 2)))
    assert found[0].tolist() == [[0, 0], [1, 1], [1, 1], [0, 0], [0, 0]]
    ((found,),) = list(CenterCrop(stream_of(images, 1), (2, 6)))
    assert found[0, 0].tolist() == [[0, 1, 1, 1, 0, 0]] * 2


# -- RandomResizedCrop ------------------------------------------------------------------------


def windows(make: Callable[[Any], RandomResizedCrop], height: int, width: int) -> Any:
    step = make(stream_of(numbered(1, 2, 2), 1))
    bits = Context(0, 0, 4000).bits(step, step._draws, 4000)
    return numpy.stack(step._windows(bits, height, width), axis=1)


@settings(max_examples=40, deadline=None)
@given(
    height=st.integers(1, 60),
    width=st.integers(1, 60),
    scale=st.tuples(st.floats(0.01, 1), st.floats(0.01, 1)).map(sorted),
    ratio=st.tuples(st.floats(0.2, 5), st.floats(0.2, 5)).map(sorted),
    seed=st.integers(0, 2**40),
)
def test_windows_lie_inside(height: int, width: int, scale: Any, ratio: Any, seed: int) -> None:
    step = RandomResizedCrop(stream_of(numbered(1, 2, 2), 1), 2, scale, ratio, seed=seed)
    bits = Context(0, 0, 50).bits(step, step._draws, 50)
    top, left, tall, wide = step._windows(bits, height, width)
    assert tall.min() >= 1
    assert wide.min() >= 1
    assert top.min() >= 0
    assert left.min() >= 0
    assert (top + tall).max() <= height
    assert (left + wide).max() <= width


def test_areas_and_ratios_are_within_their_bounds_and_spread_over_them() -> None:
    _, _, tall, wide = windows(lambda stream: RandomResizedCrop(stream, 8), 1000, 1000).T
    areas, ratios = tall * wide / 1e6, numpy.log(wide / tall)
    assert 0.079 < areas.min() < 0.09
    assert 0.98 < areas.max() <= 1
    bound = numpy.log(4 / 3)
    assert abs(ratios).max() < bound + 0.005
    assert ratios.min() < -0.9 * bound
    assert ratios.max() > 0.9 * bound
    # Drawn uniformly, but large windows of long shapes do not fit and are drawn again.
    assert abs(numpy.median(areas) - 0.5) < 0.06
    assert abs(ratios.mean()) < 0.02


def test_the_ratio_is_uniform_on_a_logarithmic_scale() -> None:
    def small(stream: Any) -> RandomResizedCrop:
        return RandomResizedCrop(stream, 8, scale=(0.01, 0.02), ratio=(1 / 8, 8))

    _, _, tall, wide = windows(small, 1000, 1000).T
    places = numpy.sort(numpy.log(wide / tall) / numpy.log(64) + 0.5)
    # The largest distance from the uniform distribution; 0.03 has a probability of about 0.002.
    assert abs(places - (numpy.arange(4000) + 0.5) / 4000).max() < 0.03


@pytest.mark.parametrize(
    ("size", "ratio", "expected"),
    [
        ((10, 100), (0.5, 2), (0, 40, 10, 20)),
        ((100, 10), (0.5, 2), (40, 0, 20, 10)),
        ((1, 7), (0.1, 0.2), (0, 3, 1, 1)),
    ],
)
def test_where_no_window_fits_it_is_in_the_middle(size: Any, ratio: Any, expected: Any) -> None:
    # The area of the whole image has another shape than is allowed.
    found = windows(lambda stream: RandomResizedCrop(stream, 8, (1, 1), ratio), *size)
    assert found.tolist() == [list(expected)] * 4000
    whole = windows(lambda stream: RandomResizedCrop(stream, 8, (2, 3), (0.5, 2)), 30, 40)
    assert whole.tolist() == [[0, 0, 30, 40]] * 4000


def test_a_window_is_resized_as_the_window_alone() -> None:
    from PIL import Image

    image = numpy.random.RandomState(0).randint(0, 256, (1, 40, 50)).astype("uint8")
    step = RandomResizedCrop(stream_of(image[None]), (9, 7), seed=9)
    ((found,),) = list(step)
    bits = Context(0, 0, None).bits(step, step._draws)
    top, left, tall, wide = (int(one[0]) for one in step._windows(bits[None], 40, 50))
    part = Image.fromarray(image[0, top : top + tall, left : left + wide])
    expected = numpy.asarray(part.resize((7, 9), Image.Resampling.BILINEAR))
    assert numpy.array_equal(found[0], expected)


@pytest.mark.parametrize(
    "arguments",
    [
        {"scale": (0.5, 0.2)}, {"scale": (0, 1)}, {"scale": 0.5}, {"scale": (0.1, 0.2, 0.3)},
        {"ratio": (2, 1)}, {"ratio": ("a", 1)}, {"ratio": (1, float("inf"))},
        {"interpolation": "cubic"}, {"interpolation": 3},
        {"interpolation": "lanczos", "antialias": False}, {"interpolation": {"y": "nearest"}},
    ],
)  # fmt: skip
def test_arguments_of_resized_crops_are_checked(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"`{next(iter(arguments))}.*got .*; "):
        RandomResizedCrop(stream_of(numbered(1, 5, 5)), 3, **arguments)


def test_an_image_without_pixels_is_refused() -> None:
    for images in (numpy.empty((2, 3, 0, 4)), [numpy.empty((3, 4, 0))] * 2):
        with pytest.raises(ValueError, match="RandomResizedCrop needs images with pixels"):
            RandomResizedCrop(stream_of(numbered(2, 5, 5), 2), 3).transform_source_batch(
                images, "x"
            )


# -- the original address --------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8", "int64", ">u2"])
def test_window_batch_bchw_fills_what_it_is_given(dtype: str) -> None:
    images = numpy.arange(3 * 30).reshape(3, 1, 5, 6).astype(dtype)
    for out in (
        numpy.zeros((3, 1, 2, 3), dtype),
        numpy.zeros((3, 1, 2, 6), dtype)[..., ::2],
    ):
        assert window_batch_bchw(images, [0, 3, 1], numpy.array([3, 0, 2], "int32"), out) is None
        assert out[:, 0, 0, 0].tolist() == [3, 48, 68]
        assert out[1, 0].tolist() == [[48, 49, 50], [54, 55, 56]]


def test_window_batch_bchw_checks_what_it_is_given() -> None:
    images = numbered(2, 5, 6)
    with pytest.raises(ValueError, match="shapes"):
        window_batch_bchw(images, [0, 0], [0, 0], numpy.zeros((2, 2, 2, 3), "int64"))
    with pytest.raises(ValueError, match="type"):
        window_batch_bchw(images, [0, 0], [0, 0], numpy.zeros((2, 1, 2, 3)))
    with pytest.raises(ValueError):
        window_batch_bchw(images, [0, 4], [0, 0], numpy.zeros((2, 1, 2, 3), "int64"))
