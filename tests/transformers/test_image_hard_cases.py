"""Image transformers and their fusion where data, labels or arguments are out of the ordinary."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from fuel.datasets import IndexableDataset
from fuel.exceptions import AxisLabelsMismatchError
from fuel.schemes import SequentialScheme
from fuel.streams import DataStream
from fuel.transformers.image import CenterCrop, RandomHorizontalFlip

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
