"""Cache: the same examples in batches of another size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuel.datasets import IndexableDataset, IterableDataset
from fuel.exceptions import RequestError
from fuel.schemes import ConstantScheme, SequentialExampleScheme, SequentialScheme
from fuel.streams import DataStream
from fuel.testing import assert_resumes_everywhere
from fuel.transformers import Batch, Cache


def batches(count: int = 10, size: int = 4) -> DataStream:
    data = IndexableDataset(
        {"x": numpy.arange(count), "y": numpy.arange(count * 2.0).reshape(count, 2)},
        axis_labels={"x": ("batch",), "y": ("batch", "feature")},
    )
    return DataStream(data, iteration_scheme=SequentialScheme(count, size))


@pytest.mark.parametrize(
    ("scheme", "sizes"),
    [
        (ConstantScheme(3), [3, 3, 3, 1]),
        (ConstantScheme(4), [4, 4, 2]),
        (ConstantScheme(7), [7, 3]),
        (ConstantScheme(20), [10]),
        (ConstantScheme(3, times=2), [3, 3]),
        (ConstantScheme(3, num_examples=7), [3, 3, 1]),
    ],
)
def test_as_many_batches_are_fetched_as_a_request_needs(scheme: Any, sizes: list[int]) -> None:
    stream = Cache(batches(), scheme)
    for _ in range(2):
        found = list(stream)
        assert [len(x) for x, _ in found] == sizes
        assert numpy.concatenate([x for x, _ in found]).tolist() == list(range(sum(sizes)))
        assert all(y.shape == (len(x), 2) and y.dtype == float for x, y in found)
    assert len(stream) == len(sizes)


@given(count=st.integers(1, 20), size=st.integers(1, 6), wanted=st.integers(1, 9))
def test_nothing_is_lost_and_nothing_comes_twice(count: int, size: int, wanted: int) -> None:
    stream = Cache(batches(count, size), ConstantScheme(wanted))
    found = [x for x, _ in stream]
    assert numpy.concatenate(found).tolist() == list(range(count))
    assert [len(x) for x in found[:-1]] == [wanted] * (len(found) - 1)
    assert len(stream) == len(found)


def test_the_cache_can_be_looked_at_and_is_empty_in_a_new_epoch() -> None:
    stream = Cache(batches(), ConstantScheme(3))
    assert stream.cache == [[], []]
    iterator = stream.get_epoch_iterator()
    assert stream.cache == [[], []]
    next(iterator)
    assert [len(held) for held in stream.cache] == [1, 1]
    assert int(stream.cache[0][0]) == 3
    next(iterator)
    assert [len(held) for held in stream.cache] == [2, 2]
    stream._cache()
    assert [len(held) for held in stream.cache] == [4, 4]
    assert next(iterator)[0].tolist() == [6, 7, 8]
    other = stream.get_epoch_iterator()
    assert stream.cache == [[], []]
    assert next(other)[0].tolist() == [0, 1, 2]


def test_ragged_examples_are_cached() -> None:
    data = IterableDataset([[1], [2, 3], [4], [5, 6, 7]])
    stream = Cache(Batch(DataStream(data), ConstantScheme(2)), ConstantScheme(3))
    (first,), (rest,) = list(stream)
    assert [list(item) for item in first] == [[1], [2, 3], [4]]
    assert [list(item) for item in rest] == [[5, 6, 7]]


def test_portions_that_a_dataset_yields_are_cut() -> None:
    stream = Cache(DataStream(IterableDataset([[1, 2, 3], [4], [], [5, 6]])), ConstantScheme(2))
    assert [x.tolist() for (x,) in stream] == [[1, 2], [3, 4], [5, 6]]
    with pytest.raises(TypeError, match="not known"):
        len(stream)


def test_labels_are_kept_as_a_copy() -> None:
    stream = batches()
    cache = Cache(stream, ConstantScheme(2))
    assert cache.axis_labels == stream.axis_labels
    assert cache.axis_labels is not stream.axis_labels
    assert cache.sources == stream.sources
    assert cache.produces_examples is False


class ByHand(Cache):
    """Fills and empties the cache by itself, as the original did."""

    def get_data(self, request: Any = None) -> Any:
        if request > len(self.cache[0]):
            self._cache()
        if not self.cache[0]:
            raise StopIteration
        data = tuple(numpy.asarray(source[:request]) for source in self.cache)
        self.cache = [source[request:] for source in self.cache]
        return data


def test_a_subclass_may_fill_and_empty_the_cache_by_itself() -> None:
    def by_hand() -> ByHand:
        return ByHand(batches(), ConstantScheme(3))

    stream = by_hand()
    next(stream.get_epoch_iterator())
    # What was held in an epoch that nobody finished is not part of the next one.
    assert next(stream.get_epoch_iterator())[0].tolist() == [0, 1, 2]
    assert_resumes_everywhere(
        lambda: ByHand(batches(9, 3), ConstantScheme(2, times=4)), new_process=False
    )


@pytest.mark.parametrize("scheme", [SequentialScheme(4, 2), SequentialExampleScheme(4), None, 5])
def test_the_scheme_must_ask_for_numbers_of_examples(scheme: Any) -> None:
    with pytest.raises(ValueError, match="must be a BatchSizeScheme, got"):
        Cache(batches(), scheme)


@pytest.mark.parametrize("request_", [None, 0, -3, [0], "a"])
def test_requests_that_are_no_numbers_are_refused(request_: Any) -> None:
    stream = Cache(batches(), ConstantScheme(2))
    stream.get_epoch_iterator()
    with pytest.raises(RequestError):
        stream.get_data(request_)
    assert stream.get_data(2)[0].tolist() == [0, 1]


def test_unknown_arguments_are_type_errors() -> None:
    with pytest.raises(TypeError):
        Cache(batches(), ConstantScheme(2), unknown=1)


def test_another_size_goes_on_from_a_saved_position() -> None:
    iterator = Cache(batches(), ConstantScheme(3)).get_epoch_iterator()
    next(iterator)
    other = Cache(batches(), ConstantScheme(5))
    other.load_state_dict(iterator.state_dict())
    assert [x.tolist() for x, _ in other.get_epoch_iterator()] == [[3, 4, 5, 6, 7], [8, 9]]


def test_an_error_below_loses_nothing(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.touch()

    class Failing(IndexableDataset):
        def get_data(self, state: Any = None, request: Any = None) -> Any:
            if broken.exists() and 4 in request:
                raise OSError("not now")
            return super().get_data(state, request)

    data = Failing({"x": numpy.arange(8)})
    stream = Cache(DataStream(data, iteration_scheme=SequentialScheme(8, 2)), ConstantScheme(3))
    iterator = stream.get_epoch_iterator()
    assert next(iterator)[0].tolist() == [0, 1, 2]
    with pytest.raises(OSError, match="not now"):
        next(iterator)
    state = iterator.state_dict()
    broken.unlink()
    stream.load_state_dict(state)
    assert [x.tolist() for (x,) in stream.get_epoch_iterator()] == [[3, 4, 5], [6, 7]]
