"""What all image transformers keep: batches, layouts, containers, types, resuming."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuel.datasets import IndexableDataset
from fuel.plan import Context
from fuel.schemes import (
    ConstantScheme,
    SequentialExampleScheme,
    SequentialScheme,
    ShuffledExampleScheme,
    ShuffledScheme,
)
from fuel.streams import DataStream
from fuel.testing import StreamContract, assert_resumes_everywhere, assert_same_items
from fuel.transformers import Batch, Cast, ScaleAndShift, Unpack
from fuel.transformers.image import (
    CenterCrop,
    MinimumImageDimensions,
    Pad,
    Random2DRotation,
    RandomFixedSizeCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomVerticalFlip,
    Resize,
    Transpose,
)

CHW = ("batch", "channel", "height", "width")
HWC = ("batch", "height", "width", "channel")


def pixels(*shape: int, dtype: Any = "uint8", seed: int = 0) -> Any:
    """Return random pixels of any type."""
    values = numpy.random.RandomState(seed).randint(0, 256, shape)
    return (values > 127) if numpy.dtype(dtype) == bool else values.astype(dtype)


def dataset(images: Any, labels: Any = CHW, name: str = "x") -> IndexableDataset:
    return IndexableDataset({name: images}, axis_labels={name: labels} if labels else None)


def batches(images: Any, size: int = 3, labels: Any = CHW) -> DataStream:
    return DataStream(dataset(images, labels), iteration_scheme=SequentialScheme(len(images), size))


def examples(images: Any, labels: Any = CHW) -> Any:
    return DataStream(
        dataset(images, labels), iteration_scheme=SequentialExampleScheme(len(images))
    )


#: Every transformer that works with channels first and last, and its result is of one size.
STEPS: dict[str, Callable[[Any], Any]] = {
    "CenterCrop": lambda stream: CenterCrop(stream, (5, 4)),
    "CenterCrop larger": lambda stream: CenterCrop(stream, (4, 20)),
    "Resize pair": lambda stream: Resize(stream, (5, 12)),
    "Resize nearest": lambda stream: Resize(stream, (13, 4), "nearest"),
    "Resize plain": lambda stream: Resize(stream, (5, 12), "bicubic", antialias=False),
    "RandomResizedCrop": lambda stream: RandomResizedCrop(stream, (6, 5), seed=3),
    "RandomResizedCrop nearest": lambda stream: RandomResizedCrop(
        stream, 6, scale=(0.2, 0.3), interpolation="nearest"
    ),
}
#: Those whose results are of other sizes for images of other sizes.
LOOSE_STEPS: dict[str, Callable[[Any], Any]] = {
    "Resize short": lambda stream: Resize(stream, 6, max_size=9),
    "RandomHorizontalFlip": lambda stream: RandomHorizontalFlip(stream, seed=5),
    "RandomVerticalFlip": lambda stream: RandomVerticalFlip(stream, 0.4),
    "Pad": lambda stream: Pad(stream, (1, 2, 3, 0), fill=1),
    "Pad reflect": lambda stream: Pad(stream, 2, padding_mode="reflect"),
}
#: The original ones, which take channels first.
ORIGINALS: dict[str, Callable[[Any], Any]] = {
    "MinimumImageDimensions": lambda stream: MinimumImageDimensions(stream, (9, 11), "bilinear"),
    "RandomFixedSizeCrop": lambda stream: RandomFixedSizeCrop(stream, (4, 5)),
    "Random2DRotation": lambda stream: Random2DRotation(stream, 1.0),
}
NEW = {**STEPS, **LOOSE_STEPS}
ALL = {**NEW, **ORIGINALS}
DTYPES = [
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
    "float16", "float32", "float64",
]  # fmt: skip


def out(stream: Any) -> list[Any]:
    """Return the images of an epoch, one by one."""
    found = [item[0] for item in stream]
    if stream.produces_examples:
        return found
    return [image for batch in found for image in batch]


def alone(step: Any, images: Any) -> list[Any]:
    """Return what a step makes of each example by itself, with nothing fused."""
    return [step.apply((image,), Context(0, index))[0] for index, image in enumerate(images)]


@pytest.mark.parametrize("name", ALL)
def test_a_batch_is_its_examples_whatever_its_size(name: str) -> None:
    images = pixels(7, 3, 8, 10)
    expected = alone(ALL[name](examples(images)), images)
    assert_same_items(out(ALL[name](examples(images))), expected)
    together = ALL[name](batches(images)).apply((images,), Context(0, 0, 7))[0]
    assert_same_items(list(together), expected)
    for size in (1, 3, 7):
        assert_same_items(out(ALL[name](batches(images, size))), expected, f"size {size}")


@pytest.mark.parametrize("name", ALL)
def test_lists_and_object_arrays_hold_what_arrays_hold(name: str) -> None:
    images = pixels(5, 3, 8, 10)
    stream = ALL[name](batches(images, 5))
    ((expected,),) = list(stream)
    for kind in (list, tuple, as_objects):
        step = ALL[name](batches(kind(images), 5))
        found = step.transform_source_batch(kind(images), "x")
        if kind is as_objects and name != "MinimumImageDimensions":
            assert isinstance(found, numpy.ndarray)
            assert found.dtype == object
            assert found.shape == (5,)
        else:
            assert isinstance(found, list)
        assert_same_items(list(found), list(stream.transform_source_batch(images, "x")))
    assert len(expected) == 5


def as_objects(images: Any) -> Any:
    array = numpy.empty(len(images), dtype=object)
    for index, image in enumerate(images):
        array[index] = image
    return array


@pytest.mark.parametrize("name", NEW)
def test_channels_last_are_channels_first_transposed(name: str) -> None:
    images = pixels(5, 3, 8, 10)
    first = out(NEW[name](batches(images)))
    last = numpy.ascontiguousarray(images.transpose(0, 2, 3, 1))
    for make in (batches, examples):
        stream = NEW[name](make(last, labels=HWC))
        found = [image.transpose(2, 0, 1) for image in out(stream)]
        assert_same_items([image.copy() for image in found], first)
    found = [image.transpose(2, 0, 1) for image in alone(stream, last)]
    assert_same_items([image.copy() for image in found], first)
    together = NEW[name](batches(last, labels=HWC)).apply((last,), Context(0, 0, 5))[0]
    assert_same_items([image.transpose(2, 0, 1).copy() for image in together], first)


@pytest.mark.parametrize("name", NEW)
def test_grey_images_need_no_channel(name: str) -> None:
    images = pixels(5, 1, 8, 10)
    expected = [image[0] for image in out(NEW[name](batches(images)))]
    for labels in (("batch", "height", "width"), None):
        assert_same_items(out(NEW[name](batches(images[:, 0], labels=labels))), expected)
        assert_same_items(out(NEW[name](examples(images[:, 0], labels=labels))), expected)
        step = NEW[name](examples(images[:, 0], labels=labels))
        assert_same_items(alone(step, images[:, 0]), expected)
    assert_same_items(
        list(NEW[name](batches(images)).transform_source_batch(list(images[:, 0]), "x")),
        [
            image[0]
            for image in NEW[name](batches(images)).transform_source_batch(list(images), "x")
        ],
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ALL)
def test_types_are_kept(name: str, dtype: str) -> None:
    images = pixels(3, 3, 8, 10, dtype=dtype)
    for stream in (batches(images), examples(images), batches(list(images))):
        for image in out(ALL[name](stream)):
            assert image.dtype == numpy.dtype(dtype)
            assert image.flags.c_contiguous


@pytest.mark.parametrize("name", ["CenterCrop", "RandomHorizontalFlip", "Resize nearest", "Pad"])
@pytest.mark.parametrize("dtype", ["complex64", ">i4", "S3", "datetime64[s]"])
def test_what_only_moves_pixels_moves_any(name: str, dtype: str) -> None:
    numbers = numpy.arange(3 * 8 * 10).reshape(1, 3, 8, 10)
    images = numpy.arange(240).astype(dtype)[numbers]
    if name == "Pad" and dtype[0] in "Sd":
        with pytest.raises(ValueError, match="`fill` of Pad"):
            out(ALL[name](batches(images)))
        return
    (found,) = out(ALL[name](batches(images)))
    (places,) = out(ALL[name](batches(numbers)))
    expected = images.ravel()[places]
    if name == "Pad":
        left, top, right, _ = 1, 2, 3, 0
        found, expected = found[:, top:, left:-right], expected[:, top:, left:-right]
    assert numpy.array_equal(found, expected)
    assert found.dtype == images.dtype.newbyteorder("=") or found.dtype == images.dtype


@pytest.mark.parametrize("name", ALL)
def test_one_pixel_is_an_image_and_a_batch_may_be_empty(name: str) -> None:
    if name == "RandomFixedSizeCrop":
        make: Any = lambda stream: RandomFixedSizeCrop(stream, 1)  # noqa: E731
    else:
        make = ALL[name]
    image = numpy.full((1, 2, 1, 1), 7, dtype="uint8")
    if name == "Pad reflect":
        # One pixel has no other to be mirrored: it is repeated.
        assert out(make(batches(image)))[0].tolist() == [[[7] * 5] * 5] * 2
    for stream in (batches(image), examples(image), batches(list(image))):
        assert len(out(make(stream))) == 1
    step = make(batches(pixels(2, 3, 8, 10)))
    assert len(step.transform_source_batch(pixels(0, 3, 8, 10), "x")) == 0
    assert len(step.transform_source_batch([], "x")) == 0
    assert len(step.transform_source_batch(numpy.empty(0, dtype=object), "x")) == 0


@pytest.mark.parametrize("name", LOOSE_STEPS)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_images_of_different_sizes_are_each_as_if_alone(name: str, data: Any) -> None:
    sizes = data.draw(
        st.lists(st.tuples(st.integers(3, 12), st.integers(3, 12)), min_size=1, max_size=5)
    )
    images = [pixels(2, *size, seed=index) for index, size in enumerate(sizes)]
    assert_same_items(
        out(LOOSE_STEPS[name](batches(images, 2))), out(LOOSE_STEPS[name](examples(images)))
    )


@pytest.mark.parametrize("name", ALL)
def test_what_comes_out_is_the_users(name: str) -> None:
    images = pixels(4, 3, 8, 10)
    before = images.copy()
    for stream in (batches(images), examples(images), batches(list(images))):
        step = ALL[name](stream)
        for image in out(step):
            image[...] = 0
    assert numpy.array_equal(images, before)


@pytest.mark.parametrize("name", ALL)
def test_other_sources_pass_and_labels_stay(name: str) -> None:
    data = IndexableDataset(
        {"x": pixels(4, 3, 8, 10), "y": numpy.arange(4)}, axis_labels={"x": CHW, "y": ("batch",)}
    )
    stream = DataStream(data, iteration_scheme=SequentialScheme(4, 4))
    built = ALL[name](stream)
    step = type(built)(stream, **built._parameters(), which_sources=("x",))
    ((_, y),) = list(step)
    assert y.tolist() == [0, 1, 2, 3]
    assert step.axis_labels == {"x": CHW, "y": ("batch",)}
    with pytest.raises(ValueError, match="'y'"):
        list(built)


@pytest.mark.parametrize("name", NEW)
def test_unknown_axes_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="time"):
        out(NEW[name](batches(pixels(2, 3, 8, 10), labels=("batch", "time", "height", "width"))))


@pytest.mark.parametrize("name", ALL)
def test_repr_and_pickle(name: str) -> None:
    step = ALL[name](batches(pixels(4, 3, 8, 10)))
    assert type(step).__name__ in repr(step)
    assert len(pickle.dumps(step)) < 9000
    assert_same_items(list(pickle.loads(pickle.dumps(step))), list(step))


@pytest.mark.parametrize("name", ALL)
def test_they_can_be_evaluated_anywhere(name: str) -> None:
    step = ALL[name](batches(pixels(4, 3, 8, 10)))
    assert step.elementwise is True
    assert "can be evaluated for any example, anywhere" in step.explain().splitlines()[0]


def test_floats_of_the_default_transformers_pass_through_all() -> None:
    stream: Any = batches([pixels(3, 9, 7, seed=1), pixels(3, 5, 12, seed=2)], 2)
    stream = Cast(ScaleAndShift(stream, 1 / 255.0, 0), "float32")
    stream = MinimumImageDimensions(stream, (10, 10), resample="bicubic")
    stream = Random2DRotation(stream, 0.5, resample="bilinear")
    stream = RandomHorizontalFlip(RandomFixedSizeCrop(stream, 9))
    stream = CenterCrop(RandomResizedCrop(Pad(Resize(stream, 12), 1), 8), 6)
    ((images,),) = list(stream)
    assert [image.shape for image in images] == [(3, 6, 6)] * 2
    assert all(image.dtype == "float32" for image in images)
    assert all(image.min() > -0.2 and image.max() < 1.2 for image in images)


def shuffled(make: Callable[[Any], Any]) -> Any:
    return make(DataStream(dataset(pixels(7, 3, 8, 10)), iteration_scheme=ShuffledScheme(7, 3)))


def mixed(stream: Any) -> Any:
    flipped = RandomHorizontalFlip(RandomFixedSizeCrop(Unpack(stream), 6))
    return RandomResizedCrop(Batch(flipped, ConstantScheme(2)), 4)


#: One of each kind: those that draw and those that do not, of one size and of any.
NAMES = [*ORIGINALS, "CenterCrop", "Resize short", "RandomResizedCrop", "RandomHorizontalFlip"]
CONTRACTS = {**{name: ALL[name] for name in NAMES}, "mixed": mixed}


def _suite(name: str) -> type:
    class Suite(StreamContract):
        new_process = False
        max_state_bytes = 9000
        start_epochs = (1,)

        def make_stream(self) -> Any:
            return shuffled(CONTRACTS[name])

    return Suite


for _name in CONTRACTS:
    globals()["Test" + "".join(word.capitalize() for word in _name.split())] = _suite(_name)


def test_a_chain_goes_on_in_a_new_process() -> None:
    assert_resumes_everywhere(lambda: shuffled(mixed), start_epochs=(1,))


def test_sources_of_one_example_share_their_draws() -> None:
    images = pixels(6, 3, 8, 10)
    data = IndexableDataset(
        {"image": images, "mask": images[:, :1].copy()}, axis_labels={"image": CHW, "mask": CHW}
    )
    for step in ("RandomHorizontalFlip", "RandomFixedSizeCrop", "Random2DRotation"):
        stream = DataStream(data, iteration_scheme=ShuffledExampleScheme(6))
        for image, mask in ALL[step](stream):
            assert numpy.array_equal(image[:1], mask)
    stream = DataStream(data, iteration_scheme=ShuffledScheme(6, 6))
    same = RandomResizedCrop(stream, 5, interpolation="nearest", seed=2)
    ((image, mask),) = list(same)
    assert numpy.array_equal(image[:, :1], mask)
    stream = DataStream(data, iteration_scheme=ShuffledScheme(6, 6))
    filters = {"image": "bilinear", "mask": "nearest"}
    ((smooth, mask2),) = list(RandomResizedCrop(stream, 5, interpolation=filters, seed=2))
    assert numpy.array_equal(mask2, mask)
    assert not numpy.array_equal(smooth[:, :1], mask)


def test_transpose_is_among_the_steps_that_keep_pixels() -> None:
    images = pixels(4, 3, 8, 10)
    there = Transpose(batches(images), "HWC")
    assert_same_items(out(Transpose(there, "CHW")), list(images))
