"""Image transformers and their fusion where data, labels or arguments are out of the ordinary."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from fuel.datasets import IndexableDataset
from fuel.exceptions import AxisLabelsMismatchError
from fuel.schemes import SequentialExampleScheme, SequentialScheme
from fuel.streams import DataStream
from fuel.transformers import Flatten
from fuel.transformers.image import CenterCrop, Normalize, RandomErasing, RandomHorizontalFlip

IMAGES = ("batch", "channel", "height", "width")


@pytest.mark.parametrize("make", [RandomHorizontalFlip, lambda stream: CenterCrop(stream, 2)])
def test_wrong_labels_are_told_of_items_and_not_of_plans(make: Any) -> None:
    """A chain that cannot run can be explained, and an epoch without items has no errors."""
    dataset = IndexableDataset(
        {"x": numpy.zeros((4, 3, 5, 5), "u1"), "y": numpy.arange(4)},
        axis_labels={"x": IMAGES, "y": ("batch",)},
    )
    stream = make(DataStream(dataset, iteration_scheme=SequentialScheme(4, 2)))
    assert "fused: nothing" in stream.explain()
    with pytest.raises(AxisLabelsMismatchError, match="source 'y'"):
        next(stream.get_epoch_iterator())
    nothing = make(DataStream(dataset, iteration_scheme=SequentialScheme([], 2)))
    assert list(nothing.get_epoch_iterator()) == []


@pytest.mark.parametrize("scheme", [SequentialScheme(4, 2), SequentialExampleScheme(4)])
@pytest.mark.parametrize("mean", [0.5, (0.1, 0.2, 0.3)])
def test_a_flattened_image_is_none_for_the_step_above(scheme: Any, mean: Any) -> None:
    """What was fused below a step must not hide from it the shape that it is given."""
    dataset = IndexableDataset({"x": numpy.zeros((4, 3, 5, 5), "f4")})
    stream = Normalize(Flatten(DataStream(dataset, iteration_scheme=scheme)), mean, 2)
    with pytest.raises(ValueError, match="images of three axes, or two without channels"):
        next(stream.get_epoch_iterator())
    assert "fused: Flatten," in stream.explain()


@pytest.mark.parametrize("value", [300, (1, 2), "random"])
def test_erasing_refuses_a_value_whether_or_not_it_is_drawn(value: Any) -> None:
    """So an example is refused in a batch if it is refused alone, and with any seed."""
    images = numpy.zeros((4, 3, 5, 5), "i1")
    for scheme in (SequentialScheme(4, 4), SequentialExampleScheme(4)):
        stream = DataStream(IndexableDataset({"x": images}), iteration_scheme=scheme)
        with pytest.raises((TypeError, ValueError), match="source 'x'"):
            next(RandomErasing(stream, p=0, value=value).get_epoch_iterator())
