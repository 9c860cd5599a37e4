"""Batch and Unpack: what is put together comes apart again, and nothing is lost on the way."""

from __future__ import annotations

import pickle
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuel.datasets import IndexableDataset, IterableDataset
from fuel.exceptions import RequestError
from fuel.schemes import (
    BatchSizeScheme,
    ConstantScheme,
    SequentialExampleScheme,
    SequentialScheme,
    ShuffledExampleScheme,
)
from fuel.streams import DataStream
from fuel.transformers import Batch, Mapping, Unpack


def examples(count: int = 7) -> DataStream:
    data = IndexableDataset(
        {"x": numpy.arange(count * 2).reshape(count, 2), "y": numpy.arange(count)},
        axis_labels={"x": ("batch", "feature"), "y": None},
    )
    return DataStream(data, iteration_scheme=SequentialExampleScheme(count))


def batches(count: int = 7, size: int = 3) -> DataStream:
    stream = examples(count)
    return DataStream(stream.dataset, iteration_scheme=SequentialScheme(count, size))


def listed(values: Any) -> DataStream:
    return DataStream(IterableDataset(values))


# -- Batch ----------------------------------------------------------------------------------------


def test_batches_are_arrays_source_by_source() -> None:
    stream = Batch(examples(), ConstantScheme(3))
    first, second, last = list(stream)
    assert [array.shape for array in first] == [(3, 2), (3,)]
    assert second[0].tolist() == [[6, 7], [8, 9], [10, 11]]
    assert last[1].tolist() == [6]
    assert stream.sources == ("x", "y")
    assert stream.produces_examples is False


@pytest.mark.parametrize(
    ("strictness", "scheme", "sizes"),
    [
        (0, ConstantScheme(3), [3, 3, 1]),
        (1, ConstantScheme(3), [3, 3]),
        (0, ConstantScheme(3, times=2), [3, 3]),
        (0, ConstantScheme(3, num_examples=5), [3, 2]),
        (2, ConstantScheme(3, num_examples=5), [3, 2]),
        (2, ConstantScheme(7), [7]),
        (0, ConstantScheme(9), [7]),
        (1, ConstantScheme(9), []),
        (0, ConstantScheme(4, num_examples=9), [4, 3]),
        (1, ConstantScheme(4, num_examples=9), [4]),
        (0, ConstantScheme(2, times=9), [2, 2, 2, 1]),
    ],
)
def test_the_last_batch(strictness: int, scheme: Any, sizes: list[int]) -> None:
    stream = Batch(examples(), scheme, strictness=strictness)
    for _ in range(2):
        assert [len(y) for _, y in stream] == sizes
    assert len(stream) == len(sizes)
    assert stream._num_examples() == sum(sizes)


@given(
    count=st.integers(1, 12),
    size=st.integers(1, 6),
    limit=st.none() | st.integers(1, 15),
    times=st.none() | st.integers(1, 6),
    strictness=st.integers(0, 1),
)
def test_its_length_is_exact(
    count: int, size: int, limit: int | None, times: int | None, strictness: int
) -> None:
    if limit is not None and times is not None:
        times = None
    stream = Batch(examples(count), ConstantScheme(size, limit, times), strictness)
    found = list(stream)
    assert len(stream) == len(found)
    assert stream._num_examples() == sum(len(y) for _, y in found)


def test_strictness_two_raises_and_loses_nothing_silently() -> None:
    stream = Batch(examples(), ConstantScheme(3), strictness=2)
    iterator = stream.get_epoch_iterator()
    next(iterator), next(iterator)
    state = iterator.state_dict()
    for _ in range(2):
        with pytest.raises(ValueError, match="asked for 3 examples, but only 1 are left"):
            next(iterator)
    assert iterator.state_dict()["position"]["mark"]["own"] == state["position"]["mark"]["own"]
    again = Batch(examples(), ConstantScheme(3), strictness=2)
    again.load_state_dict(iterator.state_dict())
    with pytest.raises(ValueError, match="only 1 are left"):
        next(again.get_epoch_iterator())
    stream.strictness = 0
    assert next(iterator)[1].tolist() == [6]
    with pytest.raises(TypeError, match="not known"):
        len(again)


def test_after_an_error_in_the_middle_of_a_batch_it_goes_on_with_what_it_has() -> None:
    failing = {4}

    def check(data: Any) -> Any:
        if int(data[1]) in failing:
            failing.clear()
            raise RuntimeError("once")
        return data

    def make() -> Any:
        return Batch(Mapping(examples(), check, elementwise=True), ConstantScheme(3))

    iterator = make().get_epoch_iterator()
    assert next(iterator)[1].tolist() == [0, 1, 2]
    with pytest.raises(RuntimeError, match="once"):
        next(iterator)
    state = iterator.state_dict()
    copy = make()
    copy.load_state_dict(state)
    # The example that failed is passed over, as by every step; those before it are not lost.
    assert next(iterator)[1].tolist() == [3, 5, 6]
    assert next(copy.get_epoch_iterator())[1].tolist() == [3, 4, 5]


class Counting:
    """Remembers how many examples it has seen."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, data: Any) -> Any:
        self.calls += 1
        return (data[0], data[1] + 100 * self.calls)


def test_examples_held_at_an_error_are_fetched_again_as_they_were() -> None:
    def make(strictness: int) -> Any:
        return Batch(Mapping(examples(5), Counting()), ConstantScheme(3), strictness=strictness)

    iterator = make(2).get_epoch_iterator()
    assert next(iterator)[1].tolist() == [100, 201, 302]
    with pytest.raises(ValueError, match="only 2 are left"):
        next(iterator)
    lenient = make(0)
    lenient.load_state_dict(iterator.state_dict())
    assert next(lenient.get_epoch_iterator())[1].tolist() == [403, 504]
    assert next(lenient.get_epoch_iterator())[1].tolist() == [600, 701, 802]


def test_another_batch_size_goes_on_from_a_saved_position() -> None:
    iterator = Batch(examples(), ConstantScheme(3)).get_epoch_iterator()
    next(iterator)
    other = Batch(examples(), ConstantScheme(2))
    other.load_state_dict(iterator.state_dict())
    assert [y.tolist() for _, y in other.get_epoch_iterator()] == [[3, 4], [5, 6]]
    assert [y.tolist() for _, y in other.get_epoch_iterator()] == [[0, 1], [2, 3], [4, 5], [6]]


def test_labels_get_the_batch_in_front() -> None:
    stream = examples()
    assert Batch(stream, ConstantScheme(2)).axis_labels == {"x": ("batch", "feature"), "y": None}
    assert stream.axis_labels == {"x": ("feature",), "y": None}
    assert Batch(listed([1]), ConstantScheme(2)).axis_labels is None
    assert Batch(stream, ConstantScheme(2), axis_labels={}).axis_labels == {}


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([[1, 2], [3]], "O"),
        ([numpy.zeros((2, 2)), numpy.zeros((2, 3))], "O"),
        ([numpy.zeros(2), numpy.zeros((2, 3))], "O"),
        ([[[1], [2, 3]], [[1], [2, 3]]], "O"),
        (["a", "bcd"], "U"),
        ([b"ab", b"abc"], "S"),
        ([b"ab\0", b"abc"], "O"),
        ([1, 2.5], "f"),
        ([None, 3], "O"),
        ([{"a": 1}, {}], "O"),
        ([True, False], "b"),
    ],
)
def test_types_are_numpys_and_ragged_examples_become_objects(values: Any, kind: str) -> None:
    (batch,) = next(iter(Batch(listed(values), ConstantScheme(2))))
    assert (batch.dtype.kind, len(batch)) == (kind, 2)
    if kind == "O":
        assert batch.shape[0] == 2
        for found, value in zip(batch, values, strict=True):
            numpy.testing.assert_equal(found, value)
    else:
        assert batch.tolist() == values


def test_the_same_array_is_not_handed_out_twice() -> None:
    data = numpy.zeros(3)
    stream = Batch(listed([data]), ConstantScheme(1))
    batch = next(iter(stream))[0]
    batch += 1
    assert data.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Batch(batches(), ConstantScheme(2)), "Batch needs examples of 'x', 'y'.*Unpack"),
        (lambda: Batch(examples(), SequentialExampleScheme(3)), "must request batches"),
        (lambda: Batch(examples(), None), "must request batches"),
        (lambda: Batch(examples(), SequentialScheme(6, 3)), r"ConstantScheme\(3\)"),
        (lambda: Batch(examples(), ConstantScheme(2), strictness=3), "`strictness` of Batch"),
        (lambda: Batch(examples(), ConstantScheme(2), produces_examples=False), "follows from"),
        (lambda: Unpack(examples()), "Unpack needs batches of 'x', 'y'.*Batch"),
    ],
)
def test_what_does_not_fit_is_refused_at_construction(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("cls", [Batch, Unpack])
def test_unknown_arguments_are_type_errors(cls: Any) -> None:
    arguments = (examples(), ConstantScheme(2)) if cls is Batch else (batches(),)
    with pytest.raises(TypeError):
        cls(*arguments, unknown=1)


class Asking(BatchSizeScheme):
    def __init__(self, *requests: Any) -> None:
        self.requests = requests

    def get_request_iterator(self) -> Any:
        return iter(self.requests)


@pytest.mark.parametrize("request_", [0, -1, [1, 2], None, "3", 1.5, True])
def test_requests_that_are_no_numbers_of_examples_are_refused(request_: Any) -> None:
    stream = Batch(examples(), Asking(request_))
    with pytest.raises(RequestError):
        next(stream.get_epoch_iterator())
    with pytest.raises(ValueError):
        stream.get_data(request_)


def test_sizes_may_vary_and_numpys_integers_count() -> None:
    stream = Batch(examples(), Asking(1, numpy.int64(2), 3))
    assert [len(y) for _, y in stream] == [1, 2, 3]
    with pytest.raises(TypeError):
        len(stream)


def test_get_data_answers_a_request() -> None:
    stream = Batch(examples(), ConstantScheme(3))
    stream.get_epoch_iterator()
    assert stream.get_data(2)[1].tolist() == [0, 1]
    assert stream.get_data(4)[1].tolist() == [2, 3, 4, 5]


# -- Unpack ---------------------------------------------------------------------------------------


def test_unpack_undoes_batch() -> None:
    stream = Unpack(Batch(examples(), ConstantScheme(3)))
    assert stream.produces_examples is True
    found = list(stream)
    for (x, y), (x0, y0) in zip(found, examples(), strict=True):
        assert (x.tolist(), int(y)) == (x0.tolist(), int(y0))
    assert len(stream) == 7
    assert len(Unpack(batches())) == 7


def test_unpack_drops_the_first_label() -> None:
    stream = batches()
    assert Unpack(stream).axis_labels == {"x": ("feature",), "y": None}
    assert stream.axis_labels == {"x": ("batch", "feature"), "y": None}
    assert Unpack(stream, axis_labels=None).axis_labels is None


def test_unpack_takes_lists_and_passes_over_empty_batches() -> None:
    def odd_only(data: Any) -> Any:
        keep = data[1] % 4 == 3
        return data[0][keep].tolist(), [str(y) for y in data[1][keep]]

    assert list(Unpack(Mapping(batches(8, 2), odd_only))) == [([6, 7], "3"), ([14, 15], "7")]


def test_unpack_stops_at_the_shortest_source() -> None:
    uneven = Mapping(batches(4, 4), lambda data: (data[0], data[1][:2]))
    assert len(list(Unpack(uneven))) == 2


def test_an_unpacked_epoch_pickles_in_the_middle_of_a_batch() -> None:
    iterator = Unpack(batches()).get_epoch_iterator()
    for _ in range(4):
        next(iterator)
    copy = pickle.loads(pickle.dumps(iterator))
    assert [int(y) for _, y in copy] == [int(y) for _, y in iterator] == [4, 5, 6]


def test_a_new_epoch_does_not_begin_with_the_rest_of_the_last() -> None:
    stream = Unpack(batches())
    next(stream.get_epoch_iterator())
    assert int(next(stream.get_epoch_iterator())[1]) == 0


def test_shuffled_examples_survive_batching() -> None:
    data = IndexableDataset({"x": numpy.arange(20)})
    direct = DataStream(data, iteration_scheme=ShuffledExampleScheme(20))
    batched = DataStream(data, iteration_scheme=ShuffledExampleScheme(20))
    through = Unpack(Batch(batched, ConstantScheme(6)))
    for _ in range(2):
        assert [int(x) for (x,) in through] == [int(x) for (x,) in direct]
