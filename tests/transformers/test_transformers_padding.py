"""Padding: zeros behind every sequence, a mask right after every source."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuel.config_parser import config
from fuel.datasets import IndexableDataset, IterableDataset
from fuel.schemes import ConstantScheme, SequentialExampleScheme, SequentialScheme
from fuel.streams import DataStream
from fuel.transformers import Batch, Mapping, Padding


def padded(samples: Any, **kwargs: Any) -> Any:
    """Return the single batch of some samples, padded."""
    stream = DataStream(IterableDataset({"x": [None]}))
    batch = Mapping(Batch(stream, ConstantScheme(1)), lambda data: (samples,))
    return next(iter(Padding(batch, **kwargs)))


def test_sources_are_padded_and_followed_by_their_masks() -> None:
    data = IterableDataset({"x": [[1], [2, 3]], "y": [[4, 5, 6], []], "z": ["a", "b"]})
    batch = Batch(DataStream(data, axis_labels={"x": ("t",)}), ConstantScheme(2))
    stream = Padding(batch, mask_sources=("x", "y"))
    assert stream.sources == ("x", "x_mask", "y", "y_mask", "z")
    assert stream.axis_labels is None
    assert stream.produces_examples is False
    x, x_mask, y, y_mask, z = next(iter(stream))
    assert x.tolist() == [[1, 0], [2, 3]]
    assert x_mask.tolist() == [[1, 0], [1, 1]]
    assert y.tolist() == [[4, 5, 6], [0, 0, 0]]
    assert y_mask.tolist() == [[1, 1, 1], [0, 0, 0]]
    assert z.tolist() == ["a", "b"]
    assert Padding(batch).mask_sources == ("x", "y", "z")
    with pytest.raises(AttributeError):
        stream.sources = ("x",)


def test_the_type_is_that_of_all_samples() -> None:
    assert padded([[1], [2.5, 3.5]])[0].tolist() == [[1.0, 0.0], [2.5, 3.5]]
    assert padded([numpy.ones(1, "f4"), numpy.ones(2, "f4")])[0].dtype == numpy.float32
    assert padded([numpy.ones(1, "u1"), numpy.ones(2, "i2")])[0].dtype == numpy.int16
    assert padded([[], [1, 2]])[0].tolist() == [[0, 0], [1, 2]]
    assert padded([[], [1, 2]])[0].dtype.kind == "i"
    assert padded([["a"], ["bcd", "e"]])[0].tolist() == [["a", ""], ["bcd", "e"]]
    assert padded([[True], [False, True]])[0].dtype == bool


def test_further_dimensions_must_agree() -> None:
    array, mask = padded([numpy.ones((1, 2)), numpy.ones((3, 2))])
    assert array.shape == (2, 3, 2)
    assert mask.shape == (2, 3)
    with pytest.raises(ValueError, match=r"source 'x'.*\(1, 2\) and \(3, 4\)"):
        padded([numpy.ones((1, 2)), numpy.ones((3, 4))])
    with pytest.raises(ValueError, match=r"\(2,\) and \(3, 4\)"):
        padded([numpy.ones(2), numpy.ones((3, 4))])


def test_empty_sequences_first_last_and_only() -> None:
    array, mask = padded([[], numpy.ones((2, 3))])
    assert array.shape == (2, 2, 3)
    assert mask.tolist() == [[0, 0], [1, 1]]
    array, mask = padded([[], []])
    assert (array.shape, mask.shape) == ((2, 0), (2, 0))
    array, mask = padded([])
    assert (array.shape, mask.shape) == ((0, 0), (0, 0))


def test_the_masks_type_is_floatx_at_each_call_or_what_was_given() -> None:
    assert padded([[1]])[1].dtype == numpy.float64
    data = IndexableDataset({"x": numpy.arange(4).reshape(2, 2)})
    stream = Padding(DataStream(data, iteration_scheme=SequentialScheme(2, 2)))
    with config.override(floatX="float32"):
        assert stream.mask_dtype == "float32"
        assert next(iter(stream))[1].dtype == numpy.float32
    assert padded([[1]], mask_dtype="uint8")[1].dtype == numpy.uint8
    stream.mask_dtype = bool
    assert next(iter(stream))[1].dtype == bool


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ([1, 2], "must hold sequences, got 1"),
        ([[[1], [2, 3]]], "itself ragged"),
        ([[1], [numpy.datetime64("2020-01-01")]], "types that no array can hold"),
    ],
)
def test_what_cannot_be_padded_names_the_source(samples: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"source 'x'.*{message}"):
        padded(samples)


def test_what_does_not_fit_is_refused_at_construction() -> None:
    data = IndexableDataset({"x": numpy.zeros((3, 2))})
    examples = DataStream(data, iteration_scheme=SequentialExampleScheme(3))
    with pytest.raises(ValueError, match="Padding needs batches of 'x'"):
        Padding(examples)
    batches = DataStream(data, iteration_scheme=SequentialScheme(3, 3))
    with pytest.raises(TypeError):
        Padding(batches, mask_dtype="nonsense")
    with pytest.raises(TypeError):
        Padding(batches, unknown=1)
    assert len(Padding(batches)) == 1


def test_equal_lengths_are_copied_not_shared() -> None:
    source = numpy.ones((2, 2))
    array, _ = padded(source)
    array += 1
    assert source.tolist() == [[1, 1], [1, 1]]


@given(st.lists(st.lists(st.integers(-9, 9), max_size=5), min_size=1, max_size=6))
def test_masks_select_what_went_in(samples: list[list[int]]) -> None:
    array, mask = padded(samples)
    assert [row[chosen == 1].tolist() for row, chosen in zip(array, mask, strict=True)] == samples
    assert not array[mask == 0].any()
