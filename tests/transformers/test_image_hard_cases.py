"""Image transformers and their fusion where data, labels or arguments are out of the ordinary."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import fuel.transformers
from fuel.datasets import IndexableDataset
from fuel.exceptions import AxisLabelsMismatchError
from fuel.plan._chain import BEHAVIOUR
from fuel.schemes import SequentialExampleScheme, SequentialScheme
from fuel.streams import DataStream
from fuel.transformers import Flatten, Transformer
from fuel.transformers.image import (
    CenterCrop,
    CutMix,
    MixUp,
    Normalize,
    OneHot,
    Pad,
    RandomErasing,
    RandomFixedSizeCrop,
    RandomHorizontalFlip,
    Resize,
    Transpose,
)
from fuel.transformers.timeseries import AddNoise

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


def kinds_below(kind: type) -> Iterator[type]:
    for one in kind.__subclasses__():
        yield one
        yield from kinds_below(one)


def test_no_transformer_of_ours_loses_that_it_is_elementwise() -> None:
    """A class that overrides what is declared to be elementwise has to declare it once more."""
    for module in pkgutil.iter_modules(fuel.transformers.__path__):
        importlib.import_module(f"fuel.transformers.{module.name}")
    lost = []
    for kind in kinds_below(Transformer):
        if kind.__module__.startswith("fuel.") and kind.elementwise:  # type: ignore[attr-defined]
            for cls in kind.__mro__:
                if "elementwise" in vars(cls):
                    break
                lost += [(kind.__name__, name) for name in BEHAVIOUR if name in vars(cls)]
    assert lost == []


def test_steps_that_erase_and_mix_can_be_evaluated_anywhere() -> None:
    dataset = IndexableDataset(
        {"x": numpy.zeros((4, 3, 5, 5), "f4"), "targets": numpy.zeros((4, 2), "f4")}
    )
    stream: Any = DataStream(dataset, iteration_scheme=SequentialScheme(4, 2))
    for step in (MixUp, CutMix, RandomErasing):
        stream = step(stream, which_sources=("x",))
        assert "can be evaluated for any example, anywhere" in stream.explain().splitlines()[0]


class Labelled(numpy.ndarray):
    """An array with something of its user's."""


MOVES: dict[str, Any] = {
    "crop": lambda stream: RandomFixedSizeCrop(stream, (3, 2)),
    "center": lambda stream: CenterCrop(stream, 3),
    "flip": lambda stream: RandomHorizontalFlip(stream),
    "pad": lambda stream: Pad(stream, 1, padding_mode="reflect"),
    "resize": lambda stream: Resize(stream, 3),
    "transpose": lambda stream: Transpose(stream, (1, 2, 0)),
}


@pytest.mark.parametrize("view", [Labelled, numpy.recarray])
@pytest.mark.parametrize("name", MOVES)
def test_batches_of_other_kinds_of_arrays_are_what_their_images_are(name: str, view: Any) -> None:
    images = numpy.random.default_rng(0).random((4, 3, 5, 6)).astype("f4").view(view)
    dataset = IndexableDataset({"x": images})
    batches = MOVES[name](DataStream(dataset, iteration_scheme=SequentialScheme(4, 4)))
    examples = MOVES[name](DataStream(dataset, iteration_scheme=SequentialExampleScheme(4)))
    ((batch,),) = batches.get_epoch_iterator()
    for got, (expected,) in zip(batch, examples.get_epoch_iterator(), strict=True):
        numpy.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("step", [MixUp, CutMix])
def test_images_of_one_size_are_mixed_wherever_they_come_from(step: Any) -> None:
    images = numpy.random.default_rng(0).random((4, 3, 5, 6)).astype("f4")
    objects = numpy.empty(4, dtype=object)
    objects[:] = list(images)
    mixed = []
    for values in (images, objects, list(images)):
        dataset = IndexableDataset({"x": values, "targets": numpy.arange(4)})
        stream = step(DataStream(dataset, iteration_scheme=SequentialScheme(4, 4)), num_classes=4)
        mixed.append(next(stream.get_epoch_iterator()))
    for batch, labels in mixed[1:]:
        numpy.testing.assert_array_equal(batch, mixed[0][0], strict=True)
        numpy.testing.assert_array_equal(labels, mixed[0][1], strict=True)


class Negative:
    def transform_source_batch(self, source_batch: Any, source_name: str) -> Any:
        return -super().transform_source_batch(source_batch, source_name)  # type: ignore[misc]

    def transform_source_example(self, source_example: Any, source_name: str) -> Any:
        return -super().transform_source_example(source_example, source_name)  # type: ignore[misc]


class Erased(Negative, RandomErasing):
    pass


class Noisy(Negative, AddNoise):
    pass


class Encoded(Negative, OneHot):
    pass


@pytest.mark.parametrize("scheme", [SequentialScheme(8, 3), SequentialExampleScheme(8)])
@pytest.mark.parametrize(
    ("plain", "own", "source", "arguments"),
    [
        (RandomErasing, Erased, "x", {"seed": 3, "name": "step"}),
        (AddNoise, Noisy, "x", {"seed": 3, "name": "step", "scale": 1.0}),
        (OneHot, Encoded, "y", {"num_classes": 8}),
    ],
)
def test_a_subclass_is_asked_and_its_base_draws_by_address(
    plain: Any, own: Any, source: str, arguments: Any, scheme: Any
) -> None:
    images = numpy.random.default_rng(0).random((8, 3, 5, 6))
    dataset = IndexableDataset({"x": images, "y": numpy.arange(8)})
    items = []
    for kind in (plain, own):
        stream = DataStream(dataset, iteration_scheme=scheme)
        items.append(list(kind(stream, which_sources=(source,), **arguments)))
    column = ("x", "y").index(source)
    for wanted, got in zip(*items, strict=True):
        numpy.testing.assert_array_equal(got[column], -wanted[column])


def test_a_subclass_is_told_the_ordinal_of_a_wrong_label() -> None:
    dataset = IndexableDataset({"y": numpy.array([0, 1, 0, 7])})
    stream = Encoded(DataStream(dataset, iteration_scheme=SequentialScheme(4, 2)), num_classes=2)
    with pytest.raises(ValueError, match="label 7 of source 'y', ordinal 3,"):
        list(stream)
