"""Padding with another value, on the other side, to chosen widths, without masks."""

from __future__ import annotations

import pickle
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuel.datasets import IndexableDataset, IterableDataset
from fuel.exceptions import StateMismatchError
from fuel.plan._chain import elementwise
from fuel.schemes import ConstantScheme, ShuffledExampleScheme
from fuel.streams import DataStream
from fuel.testing import assert_resumes_everywhere
from fuel.transformers import Batch, Padding

WORDS = [[1, 2, 3], [4], [], [5, 6], [7, 8, 9, 10, 11]]


def batches(words: Any = WORDS, size: int = 2, **sources: Any) -> Batch:
    return Batch(DataStream(IterableDataset({"x": words, **sources})), ConstantScheme(size))


def rows(**kwargs: Any) -> Any:
    return [batch[0].tolist() for batch in Padding(batches(), **kwargs)]


def test_any_value_on_either_side() -> None:
    assert rows(value=-1) == [[[1, 2, 3], [4, -1, -1]], [[-1, -1], [5, 6]], [[7, 8, 9, 10, 11]]]
    assert rows(side="left")[0] == [[1, 2, 3], [0, 0, 4]]
    stream = Padding(batches(), value=9, side="left", mask_dtype="u1")
    x, mask = next(iter(stream))
    assert x.tolist() == [[1, 2, 3], [9, 9, 4]]
    assert mask.tolist() == [[1, 1, 1], [0, 0, 1]]
    words = batches([["a"], ["bc", "d"]])
    assert next(iter(Padding(words, value="-")))[0].tolist() == [["a", "-"], ["bc", "d"]]
    with pytest.raises(ValueError, match=r"source 'x'.*0.5 does not fit sequences of type int64"):
        rows(value=0.5)


def test_widths_are_rounded_up() -> None:
    assert [len(batch[0]) for batch in rows(multiple_of=4)] == [4, 4, 8]
    assert [len(batch[0]) for batch in rows(multiple_of=1)] == [3, 2, 5]
    (x, mask), *_ = Padding(batches([[], []]), multiple_of=8)
    assert x.shape == mask.shape == (2, 0)


def test_buckets_are_the_widths() -> None:
    assert [len(batch[0]) for batch in rows(buckets=[2, 4, 9])] == [4, 2, 9]
    assert [len(batch[0]) for batch in rows(buckets=(5,))] == [5, 5, 5]
    with pytest.raises(
        ValueError, match=r"source 'x'.*length 5 is longer than the largest of `buckets`, 4; add"
    ):
        rows(buckets=[2, 4])


def test_masks_can_be_left_out() -> None:
    stream = Padding(batches(y=[[1]] * 5), with_mask=False, mask_sources=("x",))
    assert stream.sources == ("x", "y")
    x, y = next(iter(stream))
    assert (x.tolist(), y.tolist()) == ([[1, 2, 3], [4, 0, 0]], [[1], [1]])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"side": "up"}, ValueError, "must be 'right' or 'left', got 'up'"),
        ({"multiple_of": 0}, ValueError, "at least 1, got 0"),
        ({"multiple_of": 2.0}, TypeError, "must be an integer, got 2.0"),
        ({"buckets": []}, ValueError, "rising order"),
        ({"buckets": [4, 2]}, ValueError, "rising order, got .4, 2.; sort them"),
        ({"buckets": [2, 2]}, ValueError, "rising order"),
        ({"buckets": [0]}, ValueError, "at least 1"),
        ({"buckets": 8}, TypeError, "must be a sequence of widths, got 8"),
        ({"buckets": ["8"]}, TypeError, "must be an integer"),
        ({"buckets": [8], "multiple_of": 8}, ValueError, "either `multiple_of` or `buckets`"),
    ],
)
def test_wrong_arguments(arguments: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Padding(batches(), **arguments)


def test_new_arguments_go_by_name() -> None:
    with pytest.raises(TypeError):
        Padding(batches(), ("x",), "f4", -1)  # type: ignore[misc]


def test_what_changes_values_is_in_the_state() -> None:
    def stream(**kwargs: Any) -> Padding:
        return Padding(batches(), mask_dtype="u1", **kwargs)

    state = stream().get_epoch_iterator().state_dict()
    plain = stream()._parameters()
    assert plain == {"mask_sources": ("x",), "mask_dtype": "uint8"}
    for kwargs in (
        {"value": -1},
        {"value": float("nan")},
        {"side": "left"},
        {"multiple_of": 8},
        {"buckets": (8, 16)},
        {"with_mask": False},
    ):
        other = stream(**kwargs)
        assert other._parameters() != plain
        with pytest.raises(StateMismatchError):
            other.load_state_dict(state)
    stream(value=0, side="right", with_mask=True).load_state_dict(state)


def test_it_is_a_pure_function_in_new_memory() -> None:
    stream = Padding(batches(y=[[1]] * 5), mask_sources=("x",), multiple_of=4)
    assert elementwise(stream)
    assert stream._copies_source("x")
    assert not stream._copies_source("y")
    assert [b[0].tolist() for b in pickle.loads(pickle.dumps(stream))] == [
        b[0].tolist() for b in stream
    ]
    sequence = numpy.arange(3)
    (padded,) = Padding(batches(), with_mask=False).transform_batch(([sequence],))
    padded += 1
    assert sequence.tolist() == [0, 1, 2]


def test_it_is_resumed_anywhere() -> None:
    def make() -> Padding:
        scheme = ShuffledExampleScheme(len(WORDS), rng=numpy.random.RandomState(1))
        examples = DataStream(IndexableDataset({"x": WORDS}), iteration_scheme=scheme)
        return Padding(Batch(examples, ConstantScheme(2)), value=-1, side="left", buckets=(3, 6))

    assert_resumes_everywhere(make, epochs=2)


@given(
    st.lists(st.lists(st.integers(-9, 9), max_size=5), min_size=1, max_size=6),
    st.sampled_from(["right", "left"]),
    st.sampled_from([{}, {"multiple_of": 3}, {"buckets": (2, 7)}]),
    st.booleans(),
)
def test_masks_select_what_went_in(samples: Any, side: Any, widths: Any, arrays: bool) -> None:
    given: Any = [numpy.array(sample, "i4") for sample in samples] if arrays else samples
    stream = Padding(batches(), mask_dtype=bool, value=77, side=side, **widths)
    x, mask = stream.transform_batch((given,))
    assert [row[told].tolist() for row, told in zip(x, mask, strict=True)] == samples
    assert (x[~mask] == 77).all()
    assert x.shape[1] == max(len(s) for s in samples) or widths
