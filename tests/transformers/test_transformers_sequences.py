"""Window and NGrams: which windows, of what, and where they end."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuel.datasets import IterableDataset
from fuel.schemes import ConstantScheme
from fuel.streams import DataStream
from fuel.transformers import Batch, Mapping
from fuel.transformers.sequences import NGrams, Window


def sentences(*data: Any) -> DataStream:
    return DataStream(IterableDataset({"words": data or ([1, 2, 3, 4, 5], [6, 7], [8, 9, 10])}))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((0, 2, 2, True), [([1, 2], [1, 2]), ([2, 3], [2, 3]), ([3, 4], [3, 4])]),
        ((1, 2, 2, True), [([1, 2], [2, 3]), ([2, 3], [3, 4])]),
        ((0, 2, 1, False), [([1, 2], [3]), ([2, 3], [4])]),
        ((1, 1, 2, False), [([1], [3, 4])]),
        ((-1, 2, 1, True), [([2, 3], [1]), ([3, 4], [2])]),
        ((-3, 2, 1, False), [([2, 3], [1]), ([3, 4], [2])]),
        ((-2, 1, 1, True), [([3], [1]), ([4], [2])]),
        ((0, 4, 4, True), [([1, 2, 3, 4], [1, 2, 3, 4])]),
        ((0, 5, 1, True), []),
        ((4, 1, 1, True), []),
    ],
)
def test_windows_move_by_one_and_stay_inside(arguments: Any, expected: Any) -> None:
    assert list(Window(*arguments, sentences([1, 2, 3, 4]))) == expected


@given(
    length=st.integers(0, 9),
    offset=st.integers(-4, 4),
    source=st.integers(1, 4),
    target=st.integers(1, 4),
    overlapping=st.booleans(),
)
def test_they_are_all_pairs_that_fit(
    length: int, offset: int, source: int, target: int, overlapping: bool
) -> None:
    words = list(range(length))
    expected = []
    for index in range(length):
        start = index + offset + (0 if overlapping else source)
        if start >= 0 and index + source <= length and start + target <= length:
            expected.append((words[index : index + source], words[start : start + target]))
    assert list(Window(offset, source, target, overlapping, sentences(words))) == expected


def test_no_window_crosses_two_sequences() -> None:
    stream = NGrams(2, sentences())
    assert list(stream) == [([1, 2], 3), ([2, 3], 4), ([3, 4], 5), ([8, 9], 10)]
    assert stream.sources == ("words", "targets")
    assert NGrams(2, sentences(), "next").sources == ("words", "next")
    assert NGrams(2, sentences(), target_source="next").sources == ("words", "next")
    assert stream.produces_examples is True
    assert stream.axis_labels is None


def test_the_place_does_not_survive_into_the_next_epoch() -> None:
    stream = NGrams(2, sentences())
    iterator = stream.get_epoch_iterator()
    next(iterator), next(iterator)
    assert next(stream.get_epoch_iterator()) == ([1, 2], 3)
    assert next(iterator) == ([3, 4], 5)


def test_windows_of_arrays_do_not_share_memory() -> None:
    iterator = iter(Window(1, 3, 3, True, sentences(numpy.arange(6))))
    source, target = next(iterator)
    source += 100
    target += 100
    assert [part.tolist() for part in next(iterator)] == [[1, 2, 3], [2, 3, 4]]


def test_grams_of_arrays_strings_and_tuples() -> None:
    (features, target), *_ = NGrams(2, sentences(numpy.arange(3)))
    assert (features.tolist(), int(target)) == ([0, 1], 2)
    assert list(NGrams(2, sentences("abc"))) == [("ab", "c")]
    assert list(NGrams(1, sentences((1, 2)))) == [((1,), 2)]


def test_each_window_draws_for_itself() -> None:
    def draw(data: Any, rng: Any) -> Any:
        return (rng.random(), 0)

    drawn = [value for value, _ in Mapping(NGrams(1, sentences()), draw)]
    assert len(set(drawn)) == 7
    batched = Batch(Mapping(NGrams(1, sentences()), draw), ConstantScheme(3))
    assert numpy.concatenate([batch[0] for batch in batched]).tolist() == drawn


@pytest.mark.parametrize("cls", [Window, NGrams])
def test_what_does_not_fit_is_refused_at_construction(cls: Any) -> None:
    arguments: Any = (0, 1, 1, True) if cls is Window else (1,)
    two = DataStream(IterableDataset({"a": [[1]], "b": [[2]]}))
    with pytest.raises(ValueError, match=r"one source, but the DataStream below has \('a', 'b'\)"):
        cls(*arguments, two)
    with pytest.raises(TypeError):
        cls(*arguments, sentences(), unknown=1)
    stream = cls(*arguments, sentences())
    stream.get_epoch_iterator()
    with pytest.raises(ValueError, match="takes no requests"):
        stream.get_data(3)
    with pytest.raises(TypeError, match="not known"):
        len(stream)


@pytest.mark.parametrize("windows", [(-1, 1), (1, -2)])
def test_negative_windows_are_refused(windows: Any) -> None:
    with pytest.raises(ValueError, match="must not be negative"):
        Window(0, *windows, True, sentences())
