"""Steps that the original did not have refuse sources that are not there; its own do not ask."""

import numpy
import pytest

from fuel.datasets import IndexableDataset
from fuel.schemes import SequentialScheme
from fuel.streams import DataStream
from fuel.transformers import Cast, ScaleAndShift
from fuel.transformers.image import (
    CenterCrop,
    ColorJitter,
    Normalize,
    OneHot,
    RandomErasing,
    RandomFixedSizeCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    Resize,
    Transpose,
)
from fuel.transformers.text import Tokens
from fuel.transformers.timeseries import AddNoise, Resample, TimeMask

NEW = {
    "CenterCrop": lambda s, **k: CenterCrop(s, 2, **k),
    "ColorJitter": lambda s, **k: ColorJitter(s, 0.1, **k),
    "Normalize": lambda s, **k: Normalize(s, 0, 1, **k),
    "OneHot": lambda s, **k: OneHot(s, 2, **k),
    "RandomErasing": lambda s, **k: RandomErasing(s, **k),
    "RandomHorizontalFlip": lambda s, **k: RandomHorizontalFlip(s, **k),
    "RandomResizedCrop": lambda s, **k: RandomResizedCrop(s, 2, **k),
    "Resize": lambda s, **k: Resize(s, 2, **k),
    "Transpose": lambda s, **k: Transpose(s, (1, 2, 0), **k),
    "Tokens": lambda s, **k: Tokens(s, {"<UNK>": 0}, begin=None, end=None, **k),
    "AddNoise": lambda s, **k: AddNoise(s, 1, **k),
    "Resample": lambda s, **k: Resample(s, 2, **k),
    "TimeMask": lambda s, **k: TimeMask(s, 1, **k),
}


def images():
    pixels = numpy.zeros((4, 3, 4, 4), "f4")
    data = IndexableDataset({"image": pixels, "image2": pixels.copy(), "label": numpy.arange(4)})
    return DataStream(data, iteration_scheme=SequentialScheme(4, 2))


@pytest.mark.parametrize("name", sorted(NEW))
@pytest.mark.parametrize("which", [("images",), ["image", "nothing"], "img"])
def test_a_source_that_is_not_there_is_named(name, which):
    wrong = which if isinstance(which, str) else which[-1]
    message = f"`which_sources` of {name} names '{wrong}'.*'image', 'image2', 'label'.*correct"
    with pytest.raises(ValueError, match=message):
        NEW[name](images(), which_sources=which)


@pytest.mark.parametrize("name", ["CenterCrop", "Resize", "RandomResizedCrop", "Transpose"])
def test_a_string_is_one_name(name):
    (first, second, _), _ = NEW[name](images(), which_sources="image2")
    assert first.shape == (2, 3, 4, 4) and second.shape != first.shape


def test_the_originals_take_names_as_recipes_give_them():
    stream = ScaleAndShift(images(), 2, 0, which_sources=("features",))
    stream = RandomFixedSizeCrop(stream, 2, which_sources=("features",))
    assert next(iter(stream))[0].shape == (2, 3, 4, 4)
    # A string names every source that it contains.
    assert [
        column.dtype for column in next(iter(Cast(images(), "f8", which_sources="image2")))
    ] == [
        "f8",
        "f8",
        "i8",
    ]


def test_pixels_that_were_only_cast_are_not_made_white():
    data = IndexableDataset({"x": numpy.full((2, 3, 2, 2), 100, "u1")})
    below = DataStream(data, iteration_scheme=SequentialScheme(2, 2))
    with pytest.raises(ValueError, match=r"between 0 and 1, but source 'x' holds 100; put Scale"):
        next(iter(ColorJitter(Cast(below, "f4"), 0.2)))
