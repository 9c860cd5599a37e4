"""Ranks and what stands below and above them: workers, errors, what remembers, short batches."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy
import pytest

from fuel.datasets import IndexableDataset
from fuel.exceptions import StateMismatchError
from fuel.schemes import (
    ConcatenatedScheme,
    PermutedExampleScheme,
    SequentialScheme,
)
from fuel.streams import DataStream, ShardedStream
from fuel.transformers import Mapping, MultiProcessing, Parallel, Transformer


def _load(name):
    key = f"streams_{name}"
    if key not in sys.modules:
        spec = importlib.util.spec_from_file_location(key, Path(__file__).with_name(f"{name}.py"))
        module = importlib.util.module_from_spec(spec)
        sys.modules[key] = module
        spec.loader.exec_module(module)
    return sys.modules[key]


ranks = _load("_ranks")
REMAINDERS = ranks.REMAINDERS
direct = ranks.direct
expected = ranks.expected
grouped = ranks.grouped
listed = ranks.listed
source = ranks.source


def test_examples_of_other_ranks_are_not_read():
    class Counting(IndexableDataset):
        asked: list[list[int]]

        def get_data(self, state=None, request=None):
            self.asked.append(list(request))
            return super().get_data(state, request)

    dataset = Counting({"x": numpy.arange(64)})
    dataset.asked = []
    stream = DataStream(dataset, iteration_scheme=SequentialScheme(64, 4))
    assert len(list(ShardedStream(stream, rank=2, world_size=4))) == 4
    assert dataset.asked == [list(range(n, n + 4)) for n in (8, 24, 40, 56)]


def test_streams_of_examples_are_shared_one_by_one():
    def part(rank, remainder):
        return ShardedStream(
            source(7, PermutedExampleScheme(7, seed=1)),
            rank=rank,
            world_size=3,
            remainder=remainder,
        )

    epoch = [x for (x,) in source(7, PermutedExampleScheme(7, seed=1))]
    assert [[x for (x,) in part(rank, "drop")] for rank in range(3)] == [
        epoch[rank:6:3] for rank in range(3)
    ]
    padded = [[(x, bool(mask)) for x, mask in part(rank, "pad")] for rank in range(3)]
    assert padded[0][2] == (epoch[6], True)
    assert padded[1][2] == padded[2][2] == (epoch[6], False)
    wrapped = [[x for (x,) in part(rank, "wrap")][2] for rank in range(3)]
    assert wrapped == [epoch[6], epoch[0], epoch[1]]


def test_a_short_batch_in_the_middle_of_the_epoch_ends_nothing():
    scheme = ConcatenatedScheme([SequentialScheme(5, 2), SequentialScheme(range(5, 12), 2)])

    def part(rank, remainder="drop"):
        return ShardedStream(source(12, scheme), rank=rank, world_size=3, remainder=remainder)

    # Batches: 01 23 4 | 56 78 9a | b
    assert [x.tolist() for (x,) in part(2)] == [[4], [9, 10]]
    assert [x.tolist() for (x,) in part(0)] == [[0, 1], [5, 6]]
    assert [(x.tolist(), m.tolist()) for x, m in part(1, "pad")][2] == ([11, 11], [False, False])


def test_with_one_rank_it_is_the_stream_below_and_other_remainders_fill_the_last_batch():
    def part(remainder):
        stream = source(5, SequentialScheme(5, 2))
        return ShardedStream(stream, rank=0, world_size=1, remainder=remainder)

    assert listed(part("drop")) == listed(source(5, SequentialScheme(5, 2)))
    assert listed(part("pad"))[-1] == ([4, 4], [True, False])
    assert listed(part("wrap"))[-1] == ([4, 0],)
    # Resumed right before it, the size of a full batch is known still.
    for remainder in ("pad", "wrap"):
        stream = part(remainder)
        iterator = stream.get_epoch_iterator()
        assert iterator._run.cursor.skip(2) == 2
        again = part(remainder)
        again.load_state_dict(iterator.state_dict())
        assert listed(again) == listed(part(remainder))[2:]


@pytest.mark.parametrize("remainder", REMAINDERS)
def test_batches_are_as_large_as_a_function_makes_them(remainder):
    stream = source(20, SequentialScheme(20, 4))
    parts = [
        ShardedStream(
            Mapping(stream, lambda data: (data[0][::2],)),
            rank=rank,
            world_size=2,
            remainder=remainder,
        )
        for rank in range(2)
    ]
    assert [listed(part) for part in parts] == expected(range(0, 20, 2), 2, 2, remainder)
    assert parts[0]._num_examples() is None


def test_an_epoch_smaller_than_a_step_wraps_as_often_as_needed():
    def part(rank):
        stream = source(3, SequentialScheme(3, 2))
        return ShardedStream(stream, rank=rank, world_size=4, remainder="wrap")

    assert [listed(part(rank)) for rank in range(4)] == [
        [([0, 1],)],
        [([2, 0],)],
        [([1, 2],)],
        [([0, 1],)],
    ]


def test_ragged_batches_are_padded_but_not_wrapped_if_their_shapes_differ():
    rows = [numpy.arange(n % 3 + 1) for n in range(5)]

    def part(remainder):
        stream = DataStream(IndexableDataset({"x": rows}), iteration_scheme=SequentialScheme(5, 2))
        return ShardedStream(stream, rank=0, world_size=2, remainder=remainder)

    data, mask = list(part("pad"))[-1]
    assert mask.tolist() == [True, False]
    assert [row.tolist() for row in data] == [[0, 1], [0, 1]]
    assert [row.tolist() for row in list(part("wrap"))[-1][0]] == [[0, 1], [0]]


def test_an_error_on_one_rank_leaves_it_in_step_with_the_others():
    failing = {"now": True}

    def fragile(data, rng):
        if failing["now"] and 9.0 in data[0]:
            raise ArithmeticError("nine")
        return data

    def part(rank):
        stream = Mapping(source(24, SequentialScheme(24, 2)), fragile)
        return ShardedStream(stream, rank=rank, world_size=3)

    iterator = part(1).get_epoch_iterator()
    assert next(iterator)[0].tolist() == [2, 3]
    before = iterator.state_dict()
    for _ in range(2):
        with pytest.raises(ArithmeticError, match="nine"):
            next(iterator)
        assert iterator.state_dict() == before
    failing["now"] = False
    assert next(iterator)[0].tolist() == [8, 9]
    assert listed(iterator) == listed(part(1))[2:]


def test_the_sources_labels_and_explanation_tell_of_the_mask_and_the_rank():
    stream = DataStream(
        IndexableDataset({"x": numpy.arange(4)}, axis_labels={"x": ("batch",)}),
        iteration_scheme=SequentialScheme(4, 2),
    )
    part = ShardedStream(stream, rank=1, world_size=2, remainder="pad", mask_source="real")
    assert part.sources == ("x", "real")
    assert part.axis_labels == {"x": ("batch",), "real": ("batch",)}
    assert "rank 1 of 2" in part.explain()
    assert "rank=1, world_size=2" in repr(part)
    with pytest.raises(ValueError, match="source 'x' already.*mask_source"):
        ShardedStream(stream, rank=0, world_size=2, remainder="pad", mask_source="x")


def test_a_step_that_skips_examples_is_refused_with_several_ranks_above_or_below():
    def below():
        return Parallel(direct(8, 2), workers=1, kind="thread", on_error="skip")

    with pytest.raises(ValueError, match=r"Parallel skips examples.*2 ranks.*'replace' or 'raise'"):
        ShardedStream(below(), rank=0, world_size=2)
    assert len(list(ShardedStream(below(), rank=0, world_size=1))) == 4
    inner = ShardedStream(direct(8, 2), rank=0, world_size=2)
    above = Parallel(inner, workers=1, kind="thread", on_error="skip")
    with pytest.raises(ValueError, match="Parallel skips examples"):
        list(above)


def test_wrapping_what_remembers_is_refused():
    counts = []

    def counting(data):
        counts.append(1)
        return (data[0] + len(counts),)

    stream = ShardedStream(
        Mapping(source(5, SequentialScheme(5, 2)), counting),
        rank=0,
        world_size=2,
        remainder="wrap",
    )
    with pytest.raises(ValueError, match="'wrap' evaluates the first examples.*'pad' or 'drop'"):
        list(stream)


def test_padding_on_a_rank_without_an_own_batch_remembers_nothing_twice():
    def part(rank):
        counts = []

        def counting(data):
            counts.append(1)
            return (data[0] + 100 * len(counts),)

        stream = Mapping(source(5, SequentialScheme(5, 2)), counting)
        return ShardedStream(stream, rank=rank, world_size=4, remainder="pad")

    assert listed(part(2)) == [([304, 304], [True, False])]
    stream = part(3)
    assert listed(stream) == [([304, 304], [False, False])]
    assert listed(stream) == [([604, 604], [False, False])]


def test_workers_evaluate_what_is_asked_for_and_nothing_of_other_ranks():
    evaluated = []

    def noted(data):
        evaluated.append(int(data[0][0]))
        return data

    def part(rank):
        stream = Mapping(source(48, SequentialScheme(48, 2)), noted, elementwise=True)
        stream = Parallel(stream, workers=2, kind="thread", prefetch=3)
        return ShardedStream(stream, rank=rank, world_size=4)

    for rank in range(4):
        evaluated.clear()
        with part(rank) as stream:
            assert [int(x[0]) for (x,) in stream] == list(range(2 * rank, 48, 8))
        assert sorted(evaluated) == list(range(2 * rank, 48, 8))


def test_a_place_that_is_found_by_running_again_needs_as_many_ranks():
    class Doubled(Transformer):
        def get_data(self, request=None):
            (data,) = next(self.child_epoch_iterator)
            self.held = iter(())  # which no state can describe
            return (2 * data,)

    def part(world_size):
        stream = Doubled(source(24, SequentialScheme(24, 2)), produces_examples=False)
        return ShardedStream(stream, rank=0, world_size=world_size)

    iterator = part(2).get_epoch_iterator()
    next(iterator)
    state = iterator.state_dict()
    assert (state["position"]["replay"], state["position"]["ranks"]) == (1, 2)
    resumed = part(2)
    resumed.load_state_dict(state)
    assert listed(resumed) == listed(part(2))[1:]
    with pytest.raises(StateMismatchError, match="2 ranks.*and here are 3"):
        other = part(3)
        other.load_state_dict(state)
        next(iter(other))


@pytest.mark.parametrize("remainder", REMAINDERS)
def test_workers_and_another_process_above_change_nothing(remainder):
    def part():
        return ShardedStream(grouped(23, 2), rank=1, world_size=3, remainder=remainder)

    alone = part()
    epochs = [listed(alone) for _ in range(2)]
    assert epochs[0] != epochs[1]
    with Parallel(part(), workers=2, kind="thread") as stream:
        assert [listed(stream) for _ in range(2)] == epochs
    with MultiProcessing(part(), max_store=2) as stream:
        assert [listed(stream) for _ in range(2)] == epochs
