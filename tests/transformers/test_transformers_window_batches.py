"""Window and NGrams over batches: what they give one by one, at the same addresses."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuel.datasets import IndexableDataset, IterableDataset
from fuel.plan import Context
from fuel.plan._chain import elementwise
from fuel.schemes import ConstantScheme, SequentialScheme, ShuffledExampleScheme
from fuel.streams import DataStream
from fuel.testing import assert_resumes_everywhere
from fuel.transformers import Batch, Mapping, Padding, Unpack
from fuel.transformers._windows import _children
from fuel.transformers.sequences import NGrams, Window

WORDS = [[1, 2, 3, 4, 5], [6, 7], [8, 9, 10], [], [11, 12, 13, 14]]


def sentences(words: Any = WORDS, **kwargs: Any) -> DataStream:
    return DataStream(IterableDataset({"words": words}), **kwargs)


def batches(words: Any = WORDS, size: int = 2) -> Batch:
    return Batch(sentences(words), ConstantScheme(size))


def test_a_batch_of_sequences_becomes_one_of_windows() -> None:
    stream = NGrams(2, batches())
    assert stream.sources == ("words", "targets")
    assert stream.produces_examples is False
    assert stream.axis_labels is None
    assert not elementwise(stream)
    got = [(features.tolist(), targets.tolist()) for features, targets in stream]
    assert got == [
        ([[1, 2], [2, 3], [3, 4]], [3, 4, 5]),
        ([[8, 9]], [10]),
        ([[11, 12], [12, 13]], [13, 14]),
    ]
    assert NGrams(2, batches(), "next").sources == ("words", "next")


def test_too_short_sequences_give_empty_arrays() -> None:
    ((features, targets),) = NGrams(3, batches([[1], [2, 3]]))
    assert (features.shape, targets.shape) == ((0, 3), (0,))
    assert features.dtype == targets.dtype == numpy.dtype(int)


def test_dense_batches_and_further_dimensions() -> None:
    frames = numpy.arange(24).reshape(2, 4, 3)
    stream = DataStream(IndexableDataset({"x": frames}), iteration_scheme=SequentialScheme(2, 2))
    ((features, targets),) = NGrams(2, stream)
    assert (features.shape, targets.shape) == ((4, 2, 3), (4, 3))
    assert numpy.array_equal(targets[1], frames[0, 3])
    ((features, targets),) = Window(-1, 1, 2, True, stream)
    assert (features.shape, targets.shape) == ((6, 1, 3), (6, 2, 3))


def test_the_number_of_batches_is_known() -> None:
    data = IndexableDataset({"x": numpy.zeros((5, 4))})
    stream = NGrams(2, DataStream(data, iteration_scheme=SequentialScheme(5, 2)))
    assert len(stream) == 3 == len(list(stream))
    assert stream._num_examples() is None


@settings(max_examples=60)
@given(
    words=st.lists(st.lists(st.integers(0, 99), max_size=7), min_size=1, max_size=6),
    offset=st.integers(-3, 3),
    source=st.integers(0, 3),
    target=st.integers(0, 3),
    overlapping=st.booleans(),
    arrays=st.booleans(),
)
def test_they_are_the_windows_one_by_one(
    words: Any, offset: int, source: int, target: int, overlapping: bool, arrays: bool
) -> None:
    data = [numpy.array(word, "i8") for word in words] if arrays else words
    arguments = (offset, source, target, overlapping)
    singly = [
        tuple(numpy.asarray(part).tolist() for part in pair)
        for pair in Window(*arguments, sentences(data))
    ]
    windows = Window(*arguments, batches(data, 3))
    assert [tuple(part.tolist() for part in pair) for pair in Unpack(windows)] == singly


def test_each_window_draws_as_it_would_alone() -> None:
    def draw(data: Any, rng: Any) -> Any:
        return (rng.random(),)

    def draws(stream: Any) -> list[float]:
        return [value for (value,) in Mapping(stream, draw, seed=3, name="draw")]

    alone = draws(NGrams(1, sentences()))
    assert len(set(alone)) == len(alone) == 10
    for size in (1, 2, 5):
        assert draws(Unpack(NGrams(1, batches(size=size)))) == alone


@settings(max_examples=30)
@given(
    counts=st.lists(st.integers(0, 4), max_size=5),
    kind=st.sampled_from(["first", "ordinals", "numbers", "one", "short"]),
)
def test_contexts_are_those_of_children(counts: list[int], kind: str) -> None:
    size = len(counts)
    numbers = numpy.array([0, 5, 2**64 - 1, 0, 2**63][:size], numpy.uint64)
    context = {
        "first": Context(2, 7, size),
        "ordinals": Context(2, ordinals=numpy.arange(size) * 3),
        "numbers": Context(2, ordinals=numpy.arange(size) * 3, numbers=numbers),
        "one": Context(2, 7, numbers=4),
        "short": Context(2, 7, max(size - 1, 0)),
    }[kind]
    got = _children(context, numpy.array(counts, int))
    expected = []
    for index, count in enumerate(counts):
        ordinal, number = context.address(index)
        parent = Context(2, ordinal, numbers=number or None)
        expected += [parent.child(n).address() for n in range(1, count + 1)]
    assert [got.address(index) for index in range(len(expected))] == expected
    assert got.is_batch
    assert got.epoch == 2
    assert len(got.ordinals) == len(expected)
    described = Context.described(got.describe(), None)
    assert [described.address(index) for index in range(len(expected))] == expected


@pytest.mark.parametrize("nested", [False, True])
def test_it_is_resumed_anywhere(nested: bool) -> None:
    def make() -> Any:
        scheme = ShuffledExampleScheme(len(WORDS), rng=numpy.random.RandomState(1))
        examples = DataStream(IndexableDataset({"x": WORDS}), iteration_scheme=scheme)
        stream = NGrams(1, Batch(examples, ConstantScheme(2)))
        return Batch(Unpack(stream), ConstantScheme(3)) if nested else stream

    assert_resumes_everywhere(make, epochs=2)


def test_a_subclass_that_says_where_windows_are_needs_examples() -> None:
    class Short(Window):
        def _get_end_index(self) -> Any:
            return super()._get_end_index() + 2

    class Doubled(NGrams):
        def _windows(self, sequence: Any, index: int, target: int) -> Any:
            return super()._windows(sequence * 2, index, target)

    with pytest.raises(ValueError, match="Short needs examples of 'words'"):
        Short(0, 1, 1, True, batches())
    with pytest.raises(ValueError, match="Doubled needs examples of 'words'"):
        Doubled(2, batches())


def test_a_subclass_may_transform_batches_itself() -> None:
    class Doubled(NGrams):
        def transform_batch(self, batch: Any) -> Any:
            features, targets = super().transform_batch(batch)
            return features * 2, targets

    features, targets = next(iter(Doubled(2, batches())))
    assert (features.tolist()[0], targets.tolist()[0]) == ([2, 4], 3)


def test_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match=r"one source, but the Padding below has \('words', 'w"):
        NGrams(2, Padding(batches()))
    with pytest.raises(ValueError, match="NGrams cannot cut.*source 'words'.*must hold sequences"):
        list(NGrams(2, batches(["abc", "de"])))
    stream = NGrams(2, batches())
    stream.get_epoch_iterator()
    with pytest.raises(ValueError, match="takes no requests"):
        stream.get_data(3)
    assert [part.tolist() for part in stream.get_data()][1] == [3, 4, 5]
