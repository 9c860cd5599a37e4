"""BucketByLength: batches of like length, every example once, resumed anywhere."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuel.datasets import IndexableDataset, IterableDataset
from fuel.schemes import (
    ConstantScheme,
    PermutedExampleScheme,
    SequentialExampleScheme,
    SequentialScheme,
)
from fuel.streams import DataStream
from fuel.testing import StreamContract, assert_resumes_everywhere
from fuel.transformers import Batch, Mapping, Merge, Padding, Unpack
from fuel.transformers.sequences import BucketByLength

LENGTHS = [3, 1, 7, 0, 2, 9, 4, 4, 1, 12, 2]


def sequences(lengths: list[int]) -> list[Any]:
    return [numpy.full(length, number) for number, length in enumerate(lengths)]


def indexed(lengths: list[int], scheme: Any = None) -> DataStream:
    data = {"s": sequences(lengths), "n": numpy.arange(len(lengths))}
    scheme = SequentialExampleScheme(len(lengths)) if scheme is None else scheme
    return DataStream(IndexableDataset(data), iteration_scheme=scheme)


def iterated(lengths: list[int]) -> DataStream:
    return DataStream(IterableDataset({"s": sequences(lengths), "n": list(range(len(lengths)))}))


def permuted(lengths: list[int]) -> DataStream:
    return indexed(lengths, PermutedExampleScheme(len(lengths), seed=4))


def unpacked(lengths: list[int]) -> Unpack:
    return Unpack(indexed(lengths, SequentialScheme(len(lengths), 3)))


class Walk:
    """Data that can only be read from its beginning."""

    def __init__(self, lengths: list[int], number: int = -1) -> None:
        self.lengths = lengths
        self.number = number

    def __iter__(self) -> Walk:
        return Walk(self.lengths)

    def __next__(self) -> Any:
        self.number += 1
        if self.number >= len(self.lengths):
            raise StopIteration
        return numpy.full(self.lengths[self.number], self.number)


def walked(lengths: list[int]) -> DataStream:
    return DataStream(IterableDataset({"s": Walk(lengths), "n": list(range(len(lengths)))}))


class Counting:
    """A function that remembers how often it was called."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, data: Any) -> Any:
        self.calls += 1
        return (data[0] + 100 * self.calls, data[1])


def remembered(lengths: list[int]) -> Mapping:
    return Mapping(indexed(lengths), Counting())


def merged(lengths: list[int]) -> Merge:
    left, right = indexed(lengths), iterated(lengths)
    return Merge((left, right), ("s", "n", "t", "m"))


SOURCES: dict[str, Callable[[list[int]], Any]] = {
    "indexed": indexed,
    "iterated": iterated,
    "permuted": permuted,
    "unpacked": unpacked,
    "walked": walked,
    "remembered": remembered,
    "merged": merged,
}

WAYS: dict[str, dict[str, Any]] = {
    "buckets": {"batch_size": 2, "boundaries": (2, 5)},
    "bucket sizes": {"batch_size": (3, 2, 1), "boundaries": (2, 5)},
    "bucket tokens": {"max_tokens": 9, "too_long": "single", "boundaries": (2, 5)},
    "buckets both": {"batch_size": 2, "max_tokens": 12, "boundaries": (4,)},
    "pools": {"batch_size": 2, "pool": 2},
    "pools in order": {"batch_size": 3, "pool": 1, "shuffle": False},
    "pools of tokens": {"max_tokens": 12, "pool": 2},
    "pools both": {"batch_size": 3, "max_tokens": 12, "pool": 1},
    "pools dropped": {"batch_size": 3, "pool": 2, "partial": False},
    "buckets dropped": {"batch_size": 2, "boundaries": (2, 5), "partial": False},
}


def numbers(batches: Any) -> list[list[int]]:
    """Return which examples each batch holds."""
    return [batch[1].tolist() for batch in batches]


def joined(batches: list[list[int]]) -> list[int]:
    return [number for batch in batches for number in batch]


# -- what batches hold -----------------------------------------------------------------------------


@pytest.mark.parametrize("way", list(WAYS))
@settings(max_examples=20, deadline=None)
@given(lengths=st.lists(st.integers(0, 12), max_size=25))
def test_every_example_comes_once_in_a_batch_within_the_limits(
    way: str, lengths: list[int]
) -> None:
    options = WAYS[way]
    stream = BucketByLength(iterated(lengths), **options)
    for _ in range(2):
        found = numbers(stream)
        seen = sorted(joined(found))
        if options.get("partial", True):
            assert seen == list(range(len(lengths)))
        else:
            assert len(set(seen)) == len(seen)
            assert {len(batch) for batch in found} <= {options["batch_size"]}
        for batch in found:
            sizes = [lengths[number] for number in batch]
            limit = options.get("max_tokens")
            assert limit is None or len(sizes) == 1 or max(sizes) * len(sizes) <= limit
            buckets = {sum(size > b for b in options.get("boundaries", ())) for size in sizes}
            assert len(buckets) == 1
            most = options.get("batch_size", len(sizes))
            assert len(sizes) <= (most[buckets.pop()] if isinstance(most, tuple) else most)


def test_buckets_keep_the_order_and_the_rest_comes_by_bucket() -> None:
    stream = BucketByLength(indexed(LENGTHS), 2, (2, 5))
    assert numbers(stream) == [[1, 3], [2, 5], [0, 6], [4, 8], [10], [7], [9]]
    dropped = BucketByLength(indexed(LENGTHS), 2, (2, 5), partial=False)
    assert numbers(dropped) == [[1, 3], [2, 5], [0, 6], [4, 8]]


def test_a_boundary_is_the_greatest_length_of_its_bucket() -> None:
    assert numbers(BucketByLength(indexed([2, 3, 2, 3, 4]), 2, (2, 3))) == [[0, 2], [1, 3], [4]]


def test_an_example_that_makes_a_bucket_too_large_begins_the_next_batch() -> None:
    stream = BucketByLength(indexed([3, 3, 8, 1]), boundaries=(20,), max_tokens=10)
    assert numbers(stream) == [[0, 1], [2], [3]]


@pytest.mark.parametrize("way", [{"boundaries": (3,)}, {"pool": 1}, {"pool": 9}])
def test_empty_examples_take_up_room_as_well(way: dict[str, Any]) -> None:
    found = numbers(BucketByLength(iterated([0] * 10), max_tokens=4, **way))
    assert sorted(map(len, found)) == [2, 4, 4]


def test_pools_are_sorted_and_cut() -> None:
    stream = BucketByLength(indexed(LENGTHS), 2, pool=3, shuffle=False)
    assert numbers(stream) == [[3, 1], [4, 0], [2, 5], [8, 10], [6, 7], [9]]
    # Dropped is what came last, not what is longest.
    dropped = BucketByLength(indexed(LENGTHS), 2, pool=3, shuffle=False, partial=False)
    assert numbers(dropped) == [[3, 1], [4, 0], [2, 5], [8, 6], [7, 9]]


@settings(max_examples=25, deadline=None)
@given(lengths=st.lists(st.integers(0, 12), max_size=25), seed=st.integers(0, 99))
def test_the_batches_of_a_pool_come_in_another_order(lengths: list[int], seed: int) -> None:
    shuffled = numbers(BucketByLength(indexed(lengths), 2, pool=3, seed=seed))
    ordered = numbers(BucketByLength(indexed(lengths), 2, pool=3, shuffle=False))
    assert len(shuffled) == len(ordered)
    for start in range(0, len(ordered), 3):
        assert sorted(shuffled[start : start + 3]) == sorted(ordered[start : start + 3])


def test_the_order_depends_on_seed_epoch_and_pool_alone() -> None:
    def order(seed: int, lengths: list[int], epochs: int = 1) -> list[Any]:
        stream = BucketByLength(indexed(lengths), 1, pool=40, seed=seed)
        return [numbers(stream) for _ in range(epochs)]

    rising, other = list(range(80)), [2 * n for n in range(80)]
    first, second = order(3, rising, 2)
    assert order(3, other)[0] == first
    assert first != second
    assert order(4, rising)[0] != first
    assert [n - 40 for (n,) in first[40:]] != [n for (n,) in first[:40]]


def test_batches_are_those_of_batch_and_can_be_padded() -> None:
    data = IndexableDataset(
        {"x": numpy.arange(12.0).reshape(4, 3)}, axis_labels={"x": ("batch", "time")}
    )
    examples = DataStream(data, iteration_scheme=SequentialExampleScheme(4))
    stream = BucketByLength(examples, 2, boundaries=(5,))
    for (found,), (wanted,) in zip(stream, Batch(examples, ConstantScheme(2)), strict=True):
        assert found.dtype == wanted.dtype
        assert found.tolist() == wanted.tolist()
    assert stream.axis_labels == {"x": ("batch", "time")}
    padded = Padding(BucketByLength(indexed([3, 1, 2, 3]), 2, (2,)), mask_sources=("s",))
    assert [mask.sum(axis=1).tolist() for _, mask, _ in padded] == [[1, 2], [3, 3]]


def test_length_is_a_source_or_a_function() -> None:
    backwards = BucketByLength(indexed([3, 1, 2]), 1, pool=3, shuffle=False, length=minus)
    assert numbers(backwards) == [[0], [2], [1]]
    named = BucketByLength(indexed([3, 1, 2]), 1, pool=3, shuffle=False, length="s")
    assert numbers(named) == [[1], [2], [0]]


def minus(example: Any) -> int:
    return 10 - len(example[0])


def test_lengths_are_known_where_they_can_be() -> None:
    assert len(BucketByLength(indexed(LENGTHS), 2)) == 6
    assert len(BucketByLength(indexed(LENGTHS), 2, partial=False)) == 5
    for unknown in (WAYS["buckets"], WAYS["pools of tokens"]):
        with pytest.raises(TypeError, match="not known"):
            len(BucketByLength(indexed(LENGTHS), **unknown))
    assert len(Unpack(BucketByLength(indexed(LENGTHS), 2, (3,)))) == len(LENGTHS)


def test_addresses_travel_with_the_examples() -> None:
    stream = BucketByLength(indexed([5, 1, 5, 1]), 2, (2,))
    iterator = stream.get_epoch_iterator()
    next(iterator)
    assert iterator._run is not None
    assert iterator._run.cursor.context.ordinals.tolist() == [0, 2]


# -- resuming --------------------------------------------------------------------------------------


def _suite(way: str, source: str) -> type:
    class Suite(StreamContract):
        new_process = (way, source) == ("buckets", "iterated")
        max_state_bytes = 3000
        # A function that counts its calls goes on counting in whichever iterator asks.
        independent = source != "remembered"

        def make_stream(self) -> Any:
            return BucketByLength(SOURCES[source](LENGTHS), **WAYS[way])

    return Suite


for _way in WAYS:
    globals()["Test" + "".join(map(str.capitalize, _way.split()))] = _suite(_way, "iterated")
for _source in ("permuted", "remembered"):
    for _way in ("buckets", "pools"):
        globals()[f"Test{_source.capitalize()}{_way.capitalize()}"] = _suite(_way, _source)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    lengths=st.lists(st.integers(0, 12), max_size=14),
    way=st.sampled_from(sorted(WAYS)),
    source=st.sampled_from(sorted(SOURCES)),
)
def test_any_of_them_goes_on_from_every_place(lengths: list[int], way: str, source: str) -> None:
    if source == "unpacked" and not lengths:
        return
    assert_resumes_everywhere(
        lambda: BucketByLength(SOURCES[source](lengths), **WAYS[way]),
        new_process=False,
        start_epochs=(1,),
        epochs=1,
    )


@pytest.mark.parametrize("lengths", [[], [3], [0], [0, 0, 0, 0, 0, 0, 0]])
@pytest.mark.parametrize("way", list(WAYS))
def test_short_epochs_go_on_too(lengths: list[int], way: str) -> None:
    assert_resumes_everywhere(
        lambda: BucketByLength(permuted(lengths), **WAYS[way]), new_process=False, epochs=1
    )


def test_open_buckets_go_on_with_other_sizes() -> None:
    iterator = BucketByLength(indexed(LENGTHS), 4, (2, 5)).get_epoch_iterator()
    first = next(iterator)[1].tolist()
    state = iterator.state_dict()
    for options in ({"batch_size": 1}, {"batch_size": 9}, {"max_tokens": 12}, {"batch_size": 2}):
        other = BucketByLength(indexed(LENGTHS), boundaries=(2, 5), **options)
        other.load_state_dict(state)
        rest = numbers(other.get_epoch_iterator())
        assert sorted(first + joined(rest)) == list(range(len(LENGTHS)))
        if options == {"batch_size": 1}:
            assert all(len(batch) == 1 for batch in rest)
            assert len(numbers(other)) == len(LENGTHS)


@pytest.mark.parametrize("change", [{"batch_size": 3}, {"pool": 1}, {"shuffle": False}])
def test_a_pool_needs_the_sizes_it_was_saved_with(change: dict[str, Any]) -> None:
    from fuel.exceptions import StateMismatchError

    options = {"batch_size": 2, "pool": 2}
    state = BucketByLength(indexed(LENGTHS), **options).get_epoch_iterator().state_dict()
    with pytest.raises(StateMismatchError, match=next(iter(change))):
        BucketByLength(indexed(LENGTHS), **{**options, **change}).load_state_dict(state)


def test_the_state_does_not_grow_with_the_position() -> None:
    lengths = [1, 6, 3] * 200
    stream = BucketByLength(indexed(lengths), 4, (2, 4))
    iterator = stream.get_epoch_iterator()
    sizes = []
    for _ in iterator:
        sizes.append(len(repr(iterator.state_dict()["position"])))
    assert max(sizes) < 3 * 4 * 80
    # One that waits all the time costs no more than itself.
    rare = BucketByLength(indexed([9] + [1] * 599), 4, (2,)).get_epoch_iterator()
    for _ in range(100):
        next(rare)
    assert len(repr(rare.state_dict()["position"])) < 400


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Collects what datasets are asked for, one by one."""
    requests: list[Any] = []
    get_data = IndexableDataset.get_data

    def counting(self: Any, state: Any = None, request: Any = None) -> Any:
        requests.append(request)
        return get_data(self, state, request)

    monkeypatch.setattr(IndexableDataset, "get_data", counting)
    return requests


def test_only_what_is_in_open_buckets_is_fetched_again(asked: list[Any]) -> None:
    lengths = [9] + [1, 1, 5] * 100
    iterator = BucketByLength(indexed(lengths), 2, (2, 6)).get_epoch_iterator()
    for _ in range(100):
        next(iterator)
    last = max(asked)
    state = iterator.state_dict()
    resumed = BucketByLength(indexed(lengths), 2, (2, 6)).get_epoch_iterator()
    asked.clear()
    resumed.load_state_dict(state)
    assert len(asked) <= 3
    assert asked[0] == 0
    assert numbers(resumed) == numbers(iterator)
    assert min(asked[3:]) > last - 3


def test_a_stream_that_only_reads_on_is_read_from_the_oldest_on(asked: list[Any]) -> None:
    lengths = [1] * 200 + [9] + [1] * 100 + [2] * 100
    stream = BucketByLength(remembered(lengths), 2, (5,))
    iterator = stream.get_epoch_iterator()
    for _ in range(140):
        next(iterator)
    state = iterator.state_dict()
    resumed = BucketByLength(remembered(lengths), 2, (5,)).get_epoch_iterator()
    asked.clear()
    resumed.load_state_dict(state)
    assert asked == list(range(200, state["position"]["mark"]["count"]))
    assert len(asked) > 64
    for found, wanted in zip(resumed, iterator, strict=True):
        assert repr(found) == repr(wanted)


# -- errors on the way -----------------------------------------------------------------------------


class Failing(IndexableDataset):
    """A dataset of which one example cannot be read, until it is mended."""

    broken = True

    def get_data(self, state: Any = None, request: Any = None) -> Any:
        if Failing.broken and request == 4:
            raise OSError("not now")
        return super().get_data(state, request)


@pytest.mark.parametrize("way", ["buckets", "bucket tokens", "pools", "pools of tokens"])
def test_an_error_below_loses_nothing(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def build() -> BucketByLength:
        data = Failing({"s": sequences(LENGTHS), "n": numpy.arange(len(LENGTHS))})
        scheme = SequentialExampleScheme(len(LENGTHS))
        return BucketByLength(DataStream(data, iteration_scheme=scheme), **WAYS[way])

    monkeypatch.setattr(Failing, "broken", True)
    stream = build()
    iterator = stream.get_epoch_iterator()
    found: list[list[int]] = []
    with pytest.raises(OSError, match="not now"):
        for batch in iterator:
            found.append(batch[1].tolist())
    state = iterator.state_dict()
    monkeypatch.setattr(Failing, "broken", False)
    wanted = numbers(build())
    copy = pickle.loads(pickle.dumps(iterator))
    resumed = build()
    resumed.load_state_dict(state)
    assert found + numbers(resumed.get_epoch_iterator()) == wanted
    # Whoever goes on with the iterator itself goes on behind the example that failed.
    rest = sorted(joined(found + numbers(iterator)))
    assert rest == sorted(joined(found + numbers(copy)))
    assert set(rest) >= set(range(len(LENGTHS))) - {4}


@pytest.mark.parametrize("way", [{"boundaries": (3,)}, {}])
def test_an_example_beyond_the_budget_is_an_error_that_stays(way: dict[str, Any]) -> None:
    stream = BucketByLength(indexed([1, 1, 8, 1]), max_tokens=4, **way)
    iterator = stream.get_epoch_iterator()
    for _ in range(3):
        with pytest.raises(ValueError, match="length 8, longer than max_tokens=4.*'single'"):
            next(iterator)
    single = BucketByLength(indexed([1, 1, 8, 1]), max_tokens=4, too_long="single", **way)
    assert sorted(numbers(single)) == [[0, 1, 3], [2]]


def broken(example: Any) -> Any:
    return None if example[1] == 1 else -1 if example[1] == 2 else 1


@pytest.mark.parametrize("lengths", [[1, 1], [1, 1, 1]])
def test_lengths_must_be_numbers(lengths: list[int]) -> None:
    stream = BucketByLength(indexed(lengths), 1, length=broken)
    with pytest.raises(ValueError, match="must return a number of tokens, got"):
        next(stream.get_epoch_iterator())
    with pytest.raises(ValueError, match="'n', but got one without a length.*`length`"):
        next(BucketByLength(indexed(lengths), 1, length="n").get_epoch_iterator())


# -- arguments -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, ValueError, "neither `batch_size` nor `max_tokens`"),
        ({"batch_size": 0}, ValueError, "`batch_size`.*must be positive, got 0"),
        ({"batch_size": 2.5}, TypeError, "`batch_size`.*sequence of integers, got 2.5"),
        ({"batch_size": "ab"}, TypeError, "sequence of integers, got 'ab'"),
        ({"batch_size": (1, 2)}, ValueError, "must be one number where there are no `boundaries`"),
        ({"batch_size": (1,), "boundaries": (5,)}, ValueError, "each of the 2 buckets.*got 1"),
        ({"batch_size": ConstantScheme(2, times=3)}, ValueError, "as buckets fill.*ConstantScheme"),
        ({"batch_size": SequentialScheme(5, 2)}, ValueError, "got SequentialScheme"),
        ({"batch_size": 2, "boundaries": ()}, ValueError, "`boundaries`.*must rise"),
        ({"batch_size": 2, "boundaries": (3, 3)}, ValueError, r"must rise, got \(3, 3\)"),
        ({"batch_size": 2, "boundaries": (0, 3)}, ValueError, "`boundaries`.*positive"),
        ({"batch_size": 2, "boundaries": 7}, TypeError, "`boundaries`.*got 7"),
        ({"batch_size": 2, "boundaries": (1.5,)}, TypeError, "must be an integer, got 1.5"),
        ({"batch_size": 2, "boundaries": (5,), "pool": 3}, ValueError, "pool=3 and `boundaries`"),
        ({"batch_size": 2, "boundaries": (5,), "seed": 3}, ValueError, "seed=3 and `boundaries`"),
        ({"batch_size": 2, "boundaries": (5,), "shuffle": True}, ValueError, "shuffle=True"),
        ({"batch_size": 2, "shuffle": False, "seed": 1}, ValueError, "nothing is drawn"),
        ({"batch_size": 2, "seed": "x"}, ValueError, "`seed` must be an integer"),
        ({"batch_size": 2, "pool": 0}, ValueError, "`pool`.*positive, got 0"),
        ({"max_tokens": True}, TypeError, "`max_tokens`.*integer, got True"),
        ({"max_tokens": -1}, ValueError, "`max_tokens`.*positive, got -1"),
        ({"max_tokens": 5, "too_long": "cut"}, ValueError, "`too_long`.*'single'.*got 'cut'"),
        ({"batch_size": 5, "too_long": "single"}, ValueError, "`too_long`.*max_tokens=None"),
        ({"max_tokens": 5, "partial": False}, ValueError, "partial=False"),
        ({"batch_size": 5, "length": "q"}, TypeError, r"one of the sources \('s', 'n'\), got 'q'"),
        ({"batch_size": 5, "unknown": 1}, TypeError, "unknown"),
    ],
)
def test_arguments_are_checked(options: dict[str, Any], error: type, message: str) -> None:
    with pytest.raises(error, match=f"(?s){message}"):
        BucketByLength(indexed(LENGTHS), **options)


def test_batches_are_refused() -> None:
    with pytest.raises(ValueError, match="needs examples.*put Unpack between them"):
        BucketByLength(indexed(LENGTHS, SequentialScheme(11, 3)), 2)


def test_a_scheme_without_end_is_a_size() -> None:
    stream = BucketByLength(indexed(LENGTHS), ConstantScheme(2), (2, 5))
    assert stream.batch_size == 2
    assert stream.produces_examples is False
