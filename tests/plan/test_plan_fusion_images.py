"""Laws of fused geometry: windows, mirror images and axes are those of the steps."""

from __future__ import annotations

import io
from functools import partial
from unittest import mock

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from fuel.datasets import IndexableDataset
from fuel.plan import _decoding, _fusion
from fuel.schemes import (
    ConstantScheme,
    PermutedScheme,
    SequentialExampleScheme,
    SequentialScheme,
    ShuffledScheme,
)
from fuel.streams import DataStream
from fuel.transformers import Batch, Cast, Flatten, ScaleAndShift
from fuel.transformers.image import (
    CenterCrop,
    ImagesFromBytes,
    Normalize,
    RandomFixedSizeCrop,
    RandomHorizontalFlip,
    RandomVerticalFlip,
    Transpose,
)

EXAMPLES = 9


class Distant(IndexableDataset):
    """The same data; but what a request means is said by a class of a user's."""

    def get_data(self, state=None, request=None):
        return super().get_data(state, request)


#: Let each step do its work by itself.
step_by_step = mock.patch("fuel.plan._fusion.fuse", lambda cursor: None)


STEPS = {
    "crop": lambda s: RandomFixedSizeCrop(s, (3, 2), which_sources=("x",)),
    "center": lambda s: CenterCrop(s, (3, 4), which_sources=("x",)),
    "small": lambda s: CenterCrop(s, 2, which_sources=("x",)),
    "huge": lambda s: CenterCrop(s, 9, which_sources=("x",)),
    "mirror": lambda s: RandomHorizontalFlip(s, which_sources=("x",)),
    "turn": lambda s: RandomVerticalFlip(s, 0.3, which_sources=("x", "y")),
    "seeded": lambda s: RandomHorizontalFlip(s, seed=7, name="other"),
    "chw": lambda s: Transpose(s, (2, 0, 1), which_sources=("x",)),
    "hwc": lambda s: Transpose(s, (1, 2, 0), which_sources=("x",)),
    "odd": lambda s: Transpose(s, (0, 2, 1), which_sources=("x",)),
    "cast": lambda s: Cast(s, "float32", which_sources=("x",)),
    "scale": lambda s: ScaleAndShift(s, 1 / 255, -0.5, which_sources=("x",)),
    "normal": lambda s: Normalize(s, 0.25, 0.5, which_sources=("x",)),
    "normal channels": lambda s: Normalize(s, (0, 1, 2), (1, 2, 3), which_sources=("x",)),
    "columns": lambda s: ScaleAndShift(s, numpy.arange(1.0, 7), 0, which_sources=("x",)),
    "in order": lambda s: RandomFixedSizeCrop(
        s, (4, 4), rng=numpy.random.RandomState(1), which_sources=("x",)
    ),
    "flat": lambda s: Flatten(s, which_sources=("x",)),
}
LABELS = {
    "CHW": ("batch", "channel", "height", "width"),
    "HWC": ("batch", "height", "width", "channel"),
    "none": None,
}


def built(cls, layout, dtype, steps, scheme):
    shape = (5, 6, 3) if layout == "HWC" else (3, 5, 6)
    count = EXAMPLES * int(numpy.prod(shape))
    pixels = (numpy.arange(count) * 7 % 251).astype(dtype).reshape(EXAMPLES, *shape)
    masks = (numpy.arange(count) % 2).astype("?").reshape(EXAMPLES, *shape)
    labels = {"x": LABELS[layout], "y": LABELS[layout]} if LABELS[layout] else None
    data = cls({"x": pixels, "y": masks}, axis_labels=labels)
    stream = DataStream(data, iteration_scheme=scheme(), seed=3)
    for step in steps:
        stream = STEPS[step](stream)
    if stream.produces_examples:
        stream = Batch(stream, ConstantScheme(4))
    return stream


def evaluated(make):
    try:
        stream = make()
    except Exception as error:  # some orders of steps are refused, by both
        return [(type(error), str(error))]
    found = []
    iterator = stream.get_epoch_iterator()
    while True:
        try:
            item = next(iterator)
        except StopIteration:
            return [*found, iterator.state_dict()]
        except Exception as error:
            return [*found, (type(error), str(error))]
        found.append(
            ([(one.dtype, one.shape, one.tobytes()) for one in item], iterator.state_dict())
        )


SCHEMES = [
    lambda: SequentialScheme(EXAMPLES, 4),
    lambda: ShuffledScheme(EXAMPLES, 4, rng=numpy.random.RandomState(1)),
    lambda: PermutedScheme(EXAMPLES, 2, seed=2),
    lambda: SequentialExampleScheme(EXAMPLES),
]


@settings(max_examples=250, deadline=None)
@given(
    st.sampled_from(sorted(LABELS)),
    st.sampled_from(["u1", "f4", "i2", "f8", "?"]),
    st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=5),
    st.sampled_from(SCHEMES),
)
def test_fused_equals_unfused(layout, dtype, steps, scheme):
    with step_by_step:
        unfused = evaluated(lambda: built(Distant, layout, dtype, steps, scheme))
    for dataset in (IndexableDataset, Distant):
        assert evaluated(partial(built, dataset, layout, dtype, steps, scheme)) == unfused


def test_the_usual_augmentation_is_one_kernel():
    stream = built(IndexableDataset, "CHW", "u1", ["crop", "mirror", "scale", "cast"], SCHEMES[0])
    last = stream.explain().splitlines()[-1]
    assert "RandomFixedSizeCrop, RandomHorizontalFlip, ScaleAndShift, Cast, in one pass" in last


def files(count=10, side=40):
    """Return JPEG files of different sizes, and one PNG file."""
    random = numpy.random.RandomState(0)
    found = []
    for number in range(count):
        coarse = random.randint(0, 256, (6, 6, 3)).astype("u1")
        image = Image.fromarray(coarse).resize((side + number, side + 2 * number), 3)
        if number == 4:
            image = image.convert("L")
        out = io.BytesIO()
        if number == 5:
            image.save(out, "PNG")
        else:
            image.save(out, "JPEG", quality=80, subsampling=number % 3)
        found.append(out.getvalue())
    return found


def decoding(cls, data, scheme, steps):
    stream = DataStream(cls({"x": data, "n": numpy.arange(len(data))}), iteration_scheme=scheme())
    stream = ImagesFromBytes(stream, which_sources=("x",))
    for step in steps:
        stream = step(stream)
    return Batch(stream, ConstantScheme(4)) if stream.produces_examples else stream


CUTS = {
    "crop": [lambda s: RandomFixedSizeCrop(s, (24, 20), which_sources=("x",))],
    "crop and mirror": [
        lambda s: RandomFixedSizeCrop(s, (24, 20), which_sources=("x",)),
        lambda s: RandomHorizontalFlip(s, which_sources=("x",)),
    ],
    "center": [lambda s: CenterCrop(s, 33, which_sources=("x",))],
    "more": [
        lambda s: CenterCrop(s, (30, 31), which_sources=("x",)),
        lambda s: RandomHorizontalFlip(s, which_sources=("x",)),
        lambda s: Cast(s, "float32", which_sources=("x",)),
        lambda s: ScaleAndShift(s, 0.5, 1, which_sources=("x",)),
    ],
    "larger than some": [lambda s: CenterCrop(s, 45, which_sources=("x",))],
    "nothing": [],
}


@pytest.mark.parametrize("cuts", sorted(CUTS))
@pytest.mark.parametrize("form", ["list", "array"])
@pytest.mark.parametrize("examples", [False, True])
def test_decoding_a_window_equals_decoding_and_cropping(cuts, form, examples):
    data = files()
    if form == "array":
        data = numpy.array(data, dtype=object)
    scheme = (
        (lambda: SequentialExampleScheme(10)) if examples else (lambda: SequentialScheme(10, 4))
    )
    with step_by_step:
        unfused = list(decoding(Distant, data, scheme, CUTS[cuts]))
    for dataset in (IndexableDataset, Distant):
        fused = list(decoding(dataset, data, scheme, CUTS[cuts]))
        assert len(fused) == len(unfused) == 3
        for (images, numbers), (wanted, others) in zip(fused, unfused):
            assert numbers.tolist() == others.tolist()
            assert type(images) is type(wanted) and len(images) == len(wanted)
            for image, other in zip(images, wanted):
                assert image.dtype == other.dtype
                numpy.testing.assert_array_equal(image, other)


def test_only_the_window_is_decoded(monkeypatch):
    calls = []
    call = _decoding.DecodeKernel.__call__

    def counting(self, table, rows, context):
        calls.append(len(rows))
        return call(self, table, rows, context)

    monkeypatch.setattr(_decoding.DecodeKernel, "__call__", counting)
    list(decoding(IndexableDataset, files(), lambda: SequentialScheme(10, 4), CUTS["crop"]))
    assert calls == [4, 4, 2]


def test_a_damaged_file_is_named_by_the_step():
    data = files()
    data[6] = b"no image"
    for cls in (IndexableDataset, Distant):
        iterator = iter(decoding(cls, data, lambda: SequentialScheme(10, 4), CUTS["crop"]))
        next(iterator)
        with pytest.raises(OSError, match="cannot identify image file"):
            next(iterator)
        assert len(next(iterator)[0]) == 2


def test_images_too_small_are_named_by_the_step():
    cut = [lambda s: RandomFixedSizeCrop(s, (41, 41), which_sources=("x",))]
    errors = []
    for cls in (IndexableDataset, Distant):
        with pytest.raises(ValueError) as error:
            list(decoding(cls, files(), lambda: SequentialScheme(10, 4), cut))
        errors.append(str(error.value))
    assert errors[0] == errors[1]


def test_kernels_are_left_when_the_images_change():
    dataset = IndexableDataset({"x": numpy.zeros((4, 3, 6, 6), "u1")})
    stream = CenterCrop(DataStream(dataset, iteration_scheme=SequentialScheme(4, 2)), 4)
    iterator = iter(stream)
    assert next(iterator)[0].shape == (2, 3, 4, 4)
    dataset.indexables[0] = numpy.ones((4, 3, 5, 9), "f4")
    (images,) = next(iterator)
    assert images.dtype == "f4" and images.shape == (2, 3, 4, 4) and images.all()


def test_fused_counts_the_steps_it_does():
    dataset = IndexableDataset({"x": numpy.zeros((4, 3, 6, 6), "u1")})
    below = DataStream(dataset, iteration_scheme=SequentialScheme(4, 2))
    steps = [CenterCrop(below, 4)]
    steps.append(Cast(steps[-1], "f4"))
    assert _fusion.foreseen(below, steps) == steps
