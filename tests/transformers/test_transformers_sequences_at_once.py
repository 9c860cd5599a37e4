"""BucketByLength and Pack over many examples at once: all is as if they had come one by one."""

from __future__ import annotations

import contextlib
import itertools
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuel.datasets import IndexableDataset
from fuel.schemes import (
    ConstantScheme,
    PermutedExampleScheme,
    SequentialExampleScheme,
    ShuffledExampleScheme,
)
from fuel.streams import DataStream
from fuel.transformers import Batch, Mapping, Padding, ScaleAndShift
from fuel.transformers import _buckets as buckets
from fuel.transformers import _fetched as fetched
from fuel.transformers.sequences import BucketByLength, Pack


class OneByOne(IndexableDataset):
    """The same data; what a class of a user's reads is never fetched many at a time."""

    def get_data(self, state: Any = None, request: Any = None) -> Any:
        return super().get_data(state, request)


def tokens(example: Any) -> int:
    return len(example[0])


def noise(data: Any, rng: numpy.random.Generator) -> Any:
    return (*data, rng.random(2))


BUCKETS: dict[str, dict[str, Any]] = {
    "buckets": {"batch_size": 3, "boundaries": (2, 5)},
    "bucket sizes": {"batch_size": (3, 2, 1), "boundaries": (2, 5)},
    "bucket tokens": {"max_tokens": 9, "too_long": "single", "boundaries": (2, 5)},
    "bucket error": {"max_tokens": 11, "boundaries": (2, 5)},
    "buckets both": {"batch_size": 2, "max_tokens": 12, "boundaries": (4,)},
    "buckets dropped": {"batch_size": 2, "boundaries": (2, 5), "partial": False},
    "buckets by function": {"batch_size": 2, "boundaries": (2, 5), "length": tokens},
    "pools": {"batch_size": 2, "pool": 3},
    "pools in order": {"batch_size": 3, "pool": 2, "shuffle": False},
    "pools of tokens": {"max_tokens": 12, "pool": 3},
    "pool error": {"max_tokens": 11, "pool": 3},
    "pools single": {"max_tokens": 8, "too_long": "single", "pool": 9},
    "pools both": {"batch_size": 3, "max_tokens": 12, "pool": 2},
    "pools dropped": {"batch_size": 3, "pool": 2, "partial": False},
    "pools by function": {"max_tokens": 12, "pool": 2, "length": tokens},
}

ROWS: dict[str, dict[str, Any]] = {
    "fit": {"too_long": "split"},
    "fit one": {"open_rows": 1, "too_long": "split"},
    "fit dropped": {"open_rows": 3, "too_long": "drop"},
    "fit error": {"open_rows": 3},
    "joined": {"how": "concatenate"},
    "joined apart": {"how": "concatenate", "separator": 7},
    "joined full": {"how": "concatenate", "partial": False},
}

FORMS: dict[str, Callable[[int, int], Any]] = {
    "arrays": lambda number, length: numpy.full(length, number, "int32"),
    "matrices": lambda number, length: numpy.full((length, 2), number, "float32"),
    "types": lambda number, length: numpy.full(length, number, ("int16", "float32")[number % 2]),
    "lists": lambda number, length: [number] * length,
    "empty lists": lambda number, length: numpy.full(length, number) if length else [],
}

SCHEMES: dict[str, Callable[[int], Any]] = {
    "sequential": SequentialExampleScheme,
    "permuted": lambda count: PermutedExampleScheme(count, seed=4),
    "shuffled": lambda count: ShuffledExampleScheme(count, rng=numpy.random.RandomState(5)),
}


def build(kind: type, lengths: list[int], form: str, scheme: str, way: str, fused: bool) -> Any:
    sequences = [FORMS[form](number, length) for number, length in enumerate(lengths)]
    data: dict[str, Any] = {"s": sequences}
    if way in BUCKETS:
        data |= {"n": numpy.arange(len(lengths)), "m": numpy.eye(len(lengths), 3)}
    stream: Any = DataStream(kind(data), iteration_scheme=SCHEMES[scheme](len(lengths)))
    if way not in BUCKETS:
        return Mapping(Pack(stream, 8, **ROWS[way]), noise)
    if fused:
        stream = ScaleAndShift(stream, 2.0, 1.0, which_sources=("m",))
    return Mapping(BucketByLength(stream, **BUCKETS[way]), noise)


def told(item: Any) -> list[Any]:
    """Return an item in a form that can be compared."""
    parts = []
    for part in item:
        if part.dtype == object:
            parts.append(["objects", part.shape, [_told(one) for one in part]])
        else:
            parts.append(_told(part))
    return parts


def _told(part: Any) -> Any:
    if not isinstance(part, numpy.ndarray):
        return [type(part).__name__, part]
    return [str(part.dtype), part.shape, part.flags.writeable, part.tolist()]


def run(stream: Any, states: bool = True) -> list[Any]:
    """Return items, addresses, states and the error at the end, if there is one, of two epochs."""
    found: list[Any] = []

    def state() -> Any:
        return iterator.state_dict()["position"] if states else None

    for _ in range(2):
        iterator = stream.get_epoch_iterator()
        found.append(state())
        try:
            for item in iterator:
                context = iterator._run.cursor.context.describe()
                found.append([told(item), context, state()])
        except ValueError as error:
            found.append(repr(error))
        found.append(state())
    return found


@contextlib.contextmanager
def so_many(block: int) -> Iterator[None]:
    """Set how many examples are fetched at once; 0 for one by one, as anywhere else."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fetched, "_BLOCK", block)
        patch.setattr(buckets, "_FEW", block)
        if not block:
            patch.setattr(fetched, "numbered", lambda *_: False)
            patch.setattr(buckets, "numbered", lambda *_: False)
        yield


CASES: dict[str, Any] = {
    "lengths": st.lists(st.integers(0, 12), min_size=1, max_size=40),
    "form": st.sampled_from(sorted(FORMS)),
    "scheme": st.sampled_from(sorted(SCHEMES)),
    "way": st.sampled_from(sorted(BUCKETS) + sorted(ROWS)),
    "fused": st.booleans(),
}


@pytest.mark.parametrize("block", [1, 5, 256])
@settings(max_examples=60, deadline=None)
@given(**CASES)
def test_items_addresses_states_and_errors_are_those_of_one_by_one(
    block: int, lengths: list[int], form: str, scheme: str, way: str, fused: bool
) -> None:
    with so_many(block):
        found = run(build(IndexableDataset, lengths, form, scheme, way, fused))
    with so_many(0):
        assert found == run(build(IndexableDataset, lengths, form, scheme, way, fused))
    items = run(build(OneByOne, lengths, form, scheme, way, fused), states=False)
    assert [entry[:2] for entry in found if type(entry) is list] == [
        entry[:2] for entry in items if type(entry) is list
    ]


def rest(iterator: Any) -> list[Any]:
    """Return the items that are left, their addresses, and the error at the end."""
    found: list[Any] = []
    try:
        for item in iterator:
            found.append([told(item), iterator._run.cursor.context.describe()])
    except ValueError as error:
        found.append(repr(error))
    return found


@pytest.mark.parametrize("block", [5, 256])
@settings(max_examples=40, deadline=None)
@given(**CASES, number=st.integers(0, 30))
def test_either_goes_on_from_what_the_other_saved(
    block: int, lengths: list[int], form: str, scheme: str, way: str, fused: bool, number: int
) -> None:
    def loaded(state: Any) -> Any:
        stream = build(IndexableDataset, lengths, form, scheme, way, fused)
        stream.load_state_dict(state)
        return stream.get_epoch_iterator()

    def advanced() -> Any:
        iterator = build(IndexableDataset, lengths, form, scheme, way, fused).get_epoch_iterator()
        with contextlib.suppress(ValueError):
            for _ in itertools.islice(iterator, number):
                pass
        return iterator

    with so_many(0):
        singly = advanced()
        state = singly.state_dict()
        wanted = rest(singly)
    with so_many(block):
        at_once = advanced()
        copy = pickle.loads(pickle.dumps(at_once))
        assert at_once.state_dict() == state
        assert rest(at_once) == rest(copy) == wanted
        assert rest(loaded(state)) == wanted
        other = loaded(state)
        assert other.state_dict() == state
        with contextlib.suppress(StopIteration, ValueError):
            next(other)
        state = other.state_dict()
        left = rest(other)
    assert left == wanted[len(wanted) - len(left) :]
    with so_many(0):
        assert rest(loaded(state)) == left


# -- errors on the way -----------------------------------------------------------------------------


class Broken:
    """Looks like a sequence, and is none."""

    def __len__(self) -> int:
        raise TypeError("no length today")


@pytest.mark.parametrize("way", ["buckets", "bucket tokens", "pools", "pools of tokens"])
@pytest.mark.parametrize("block", [0, 4, 256])
def test_what_cannot_be_measured_is_told_where_it_is_and_nothing_is_lost(
    way: str, block: int
) -> None:
    sequences: list[Any] = [numpy.full(length, 1) for length in (3, 1, 2, 1, 4, 1, 2, 2, 1, 3)]
    sequences[6] = Broken()
    data = IndexableDataset({"s": sequences, "n": numpy.arange(10)})
    stream = DataStream(data, iteration_scheme=SequentialExampleScheme(10))
    with so_many(block):
        iterator = BucketByLength(stream, **BUCKETS[way]).get_epoch_iterator()
        found = []
        for _ in range(2):
            with pytest.raises(ValueError, match="without a length"):
                for batch in iterator:
                    found += batch[1].tolist()
        sequences[6] = data.indexables[0][6] = numpy.zeros(2)
        resumed = BucketByLength(stream, **BUCKETS[way])
        resumed.load_state_dict(iterator.state_dict())
        found += [number for batch in resumed.get_epoch_iterator() for number in batch[1].tolist()]
    assert sorted(found) == list(range(10))


def test_a_request_that_fails_comes_one_by_one_where_it_is() -> None:
    """An order that names an example that is not there."""
    stream = DataStream(
        IndexableDataset({"s": [numpy.zeros(2)] * 5}),
        iteration_scheme=SequentialExampleScheme([0, 1, 2, 3, 99, 4]),
    )
    for step in (BucketByLength(stream, 2, (5,)), Pack(stream, 4)):
        iterator = step.get_epoch_iterator()
        sizes = [len(item[0]) for item in itertools.islice(iterator, 2)]
        with pytest.raises(ValueError, match="99"):
            next(iterator)
        assert [len(item[0]) for item in iterator][:1] and sizes
    pools = BucketByLength(stream, 2, pool=4).get_epoch_iterator()
    with pytest.raises(ValueError, match="99"):
        next(pools)
    assert pools.state_dict()["position"]["mark"]["fetched"] == 4


# -- whose memory it is ----------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["buckets", "pools", "pools by function"])
def test_what_is_delivered_is_the_users(way: str) -> None:
    sequences = [numpy.full(length, 1) for length in (3, 1, 2, 1, 4, 5, 5)]
    rows = numpy.ones((7, 2))
    stream = DataStream(
        IndexableDataset({"s": sequences, "m": rows}), iteration_scheme=SequentialExampleScheme(7)
    )
    step = BucketByLength(stream, **BUCKETS[way])
    padded = Padding(BucketByLength(stream, **BUCKETS[way]), ("s",), mask_dtype="bool")
    wanted = sum(batch[0].sum() for batch in padded)
    for batch in step:
        for sequence in batch[0]:
            sequence += 1
        batch[1][...] = 7
    for tokens_, _, matrix in padded:
        tokens_ += 1
        matrix += 1
    assert all((sequence == 1).all() for sequence in sequences)
    assert (rows == 1).all()
    assert sum(batch[0].sum() for batch in padded) == wanted


@pytest.mark.parametrize("way", ["buckets by function", "pools by function"])
def test_what_a_function_is_shown_is_not_the_datasets(way: str) -> None:
    def careless(example: Any) -> int:
        example[0][...] = 7
        return len(example[0])

    sequences = [numpy.full(length, 1) for length in (3, 1, 2, 1, 4, 5, 5)]
    stream = DataStream(
        IndexableDataset({"s": sequences}), iteration_scheme=SequentialExampleScheme(7)
    )
    found = list(BucketByLength(stream, **{**BUCKETS[way], "length": careless}))
    assert all((sequence == 1).all() for sequence in sequences)
    assert all((one == 7).all() for (batch,) in found for one in batch)


def test_few_examples_keep_no_others_in_memory() -> None:
    """Rows of a dense array that are held long do not hold the many they were fetched with."""
    sequences = [numpy.zeros(9 if number % 50 == 0 else 1) for number in range(300)]
    data = IndexableDataset({"s": sequences, "m": numpy.ones((300, 4))})
    stream = DataStream(data, iteration_scheme=SequentialExampleScheme(300))
    iterator = BucketByLength(stream, 10, (5,)).get_epoch_iterator()
    for _ in range(27):
        next(iterator)
    held = iterator._run.cursor.fetched.held
    old = [data[1] for number, data in held.items() if number < 256]
    assert old and all(row.base is None for row in old)


def test_rows_are_batched_and_draw_by_their_addresses() -> None:
    lengths = numpy.random.default_rng(0).integers(0, 9, 700).tolist()
    for kind in (IndexableDataset, OneByOne):
        below = build(kind, lengths, "arrays", "permuted", "fit", False)
        found = [batch[-1].tolist() for batch in Batch(below, ConstantScheme(16))]
        if kind is IndexableDataset:
            wanted = found
    assert found == wanted
