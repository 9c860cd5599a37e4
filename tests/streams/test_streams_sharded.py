"""The parts of ranks: disjoint, complete, equally many, and resumed with other numbers of ranks."""

from __future__ import annotations

import json

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuel.datasets import IndexableDataset, IterableDataset
from fuel.exceptions import StateMismatchError
from fuel.schemes import (
    ConcatenatedScheme,
    ConstantScheme,
    PermutedExampleScheme,
    PermutedScheme,
    SequentialScheme,
    ShuffledExampleScheme,
    ShuffledScheme,
)
from fuel.streams import DataStream, InterleavedStream, MixtureStream, ShardedStream
from fuel.transformers import Batch, Filter, Mapping, MultiProcessing, Parallel, Transformer

REMAINDERS = ("drop", "pad", "wrap")


def noisy(data, rng):
    """Draw for each example: what it draws must not depend on the rank."""
    return (data[0] + rng.random(),)


def even(data):
    return int(data[0]) % 2 == 0


def source(count, scheme=None, first=0):
    dataset = IndexableDataset({"x": first + numpy.arange(count, dtype=float)})
    return DataStream(
        dataset, iteration_scheme=scheme or PermutedExampleScheme(count, seed=5), seed=3
    )


def direct(count, size):
    return source(count, PermutedScheme(count, size, seed=5))


def grouped(count, size):
    return Batch(Mapping(source(count), noisy), ConstantScheme(size))


def shuffled(count, size):
    return source(count, ShuffledScheme(count, size))


def filtered(count, size):
    return Batch(Filter(source(2 * count), even), ConstantScheme(size))


def mixed(count, size):
    streams = [
        Mapping(source(count + 1), noisy),
        source(count // 2 + 1, ShuffledExampleScheme(count // 2 + 1), 1000),
    ]
    return Batch(MixtureStream(streams, [2, 1], stop="cycle"), ConstantScheme(size))


def interleaved(count, size):
    streams = [source(count), source(count // 2, None, 1000)]
    return Batch(InterleavedStream(streams, block_length=2), ConstantScheme(size))


def iterated(count, size):
    stream = DataStream(IterableDataset({"x": [float(n) for n in range(count)]}), seed=3)
    return Batch(stream, ConstantScheme(size))


def threaded(count, size):
    return Parallel(grouped(count, size), workers=2, kind="thread")


CHAINS = {
    make.__name__: make
    for make in (direct, grouped, shuffled, filtered, mixed, interleaved, iterated, threaded)
}

chains = st.sampled_from(sorted(CHAINS))
numbers = st.integers(1, 5)


def ranks_of(chain, count, size, world_size, remainder):
    return [
        ShardedStream(
            CHAINS[chain](count, size), rank=rank, world_size=world_size, remainder=remainder
        )
        for rank in range(world_size)
    ]


def whole(chain, count):
    """Return the epoch as one process has it, example by example."""
    with CHAINS[chain](count, 1) as stream:
        return [float(batch[0][0]) for batch in stream]


def expected(epoch, size, world_size, remainder):
    """Return what each rank is to get in each step, as the documentation has it."""
    step = size * world_size
    values, real = list(epoch), len(epoch)
    if remainder == "drop":
        if world_size > 1:
            values = values[: real // step * step]
    elif real:
        missing = -real % step
        values += (
            [epoch[-1]] * missing
            if remainder == "pad"
            else [epoch[n % real] for n in range(missing)]
        )
    found = [[] for _ in range(world_size)]
    for number, begin in enumerate(range(0, len(values), size)):
        places = range(begin, min(len(values), begin + size))
        item = [values[place] for place in places]
        mask = [place < real for place in places]
        found[number % world_size].append((item, mask) if remainder == "pad" else (item,))
    return found


def listed(items):
    return [tuple(column.tolist() for column in item) for item in items]


@settings(max_examples=150, deadline=None)
@given(chains, st.integers(0, 23), numbers, numbers, st.sampled_from(REMAINDERS))
def test_ranks_partition_the_epoch_in_contiguous_parts_of_each_step(
    chain, count, size, world_size, remainder
):
    parts = ranks_of(chain, count, size, world_size, remainder)
    for _ in range(2):  # a second epoch begins on every rank as on one
        found = [listed(part) for part in parts]
        assert len({len(items) for items in found}) == 1
    for part in parts:
        part.close()
    assert [listed(part) for part in ranks_of(chain, count, size, world_size, remainder)] == (
        expected(whole(chain, count), size, world_size, remainder)
    )


@settings(max_examples=150, deadline=None)
@given(
    chains,
    st.integers(0, 23),
    st.tuples(numbers, numbers),
    st.tuples(numbers, numbers),
    st.tuples(st.sampled_from(REMAINDERS), st.sampled_from(["drop", "wrap"])),
    st.data(),
)
def test_any_ranks_state_goes_on_with_any_number_of_ranks_and_any_batch_size(
    chain, count, sizes, world_sizes, remainders, data
):
    remainders = remainders if remainders[0] == "pad" else (remainders[1], remainders[0])
    if "pad" in remainders:
        remainders = ("pad", "pad")  # it has one source more, which the state tells
    epoch = whole(chain, count)
    parts = ranks_of(chain, count, sizes[0], world_sizes[0], remainders[0])
    iterators = [part.get_epoch_iterator() for part in parts]
    steps = len(expected(epoch, sizes[0], world_sizes[0], remainders[0])[0])
    taken = data.draw(st.integers(0, steps))
    for iterator in iterators:
        for _ in range(taken):
            next(iterator)
    states = [json.loads(json.dumps(iterator.state_dict())) for iterator in iterators]
    assert all(state == states[0] for state in states)
    place = min(len(epoch), taken * sizes[0] * world_sizes[0])
    rest = epoch[place:]
    for part in parts:
        part.close()
    resumed = ranks_of(chain, count, sizes[1], world_sizes[1], remainders[1])
    found = []
    for part in resumed:
        part.load_state_dict(states[0])
        found.append(listed(part))
        part.close()
    after = expected(rest, sizes[1], world_sizes[1], remainders[1])
    if remainders[1] == "wrap" and rest:
        step = sizes[1] * world_sizes[1]
        values = rest + [epoch[n % len(epoch)] for n in range(-len(rest) % step)]
        after = expected(values, sizes[1], world_sizes[1], "wrap")
    assert found == after


@settings(max_examples=100, deadline=None)
@given(chains, st.integers(0, 23), numbers, numbers, st.sampled_from(REMAINDERS), st.data())
def test_to_pass_over_steps_is_to_have_and_drop_them(
    chain, count, size, world_size, remainder, data
):
    rank = data.draw(st.integers(0, world_size - 1))

    def build():
        stream = CHAINS[chain](count, size)
        return ShardedStream(stream, rank=rank, world_size=world_size, remainder=remainder)

    items = listed(build())
    skipped = data.draw(st.integers(0, len(items) + 20))
    iterator = build().get_epoch_iterator()
    first = min(len(items), data.draw(st.integers(0, 2)))
    assert listed(next(iterator) for _ in range(first)) == items[:first]
    passed = iterator._run.cursor.skip(skipped)
    assert passed == min(skipped, len(items) - first)
    assert listed(iterator) == items[first + passed :]


@settings(max_examples=100, deadline=None)
@given(chains, st.integers(0, 23), numbers, numbers, st.sampled_from(REMAINDERS))
def test_a_length_that_is_known_is_exact(chain, count, size, world_size, remainder):
    part = ShardedStream(
        CHAINS[chain](count, size), rank=0, world_size=world_size, remainder=remainder
    )
    known = part._num_items()
    items = list(part)
    assert known is None or known == len(items)
    examples = part._num_examples()
    assert examples is None or examples == sum(len(item[0]) for item in items)
    assert known is not None or chain in ("filtered", "iterated")
    part.close()


@settings(max_examples=60, deadline=None)
@given(chains, st.integers(0, 23), numbers, numbers, st.sampled_from(REMAINDERS))
def test_behind_the_end_the_state_is_the_same_too_and_any_rank_goes_on_with_the_next_epoch(
    chain, count, size, world_size, remainder
):
    parts = ranks_of(chain, count, size, world_size, remainder)
    states, following = [], []
    for part in parts:
        iterator = part.get_epoch_iterator()
        listed(iterator)
        states.append(json.loads(json.dumps(iterator.state_dict())))
        following.append(listed(part))
        part.close()
    assert all(state == states[0] for state in states)
    for part, expected_items in zip(
        ranks_of(chain, count, size, world_size, remainder), following, strict=True
    ):
        part.load_state_dict(states[-1])
        assert listed(part) == []
        assert listed(part) == expected_items
        part.close()


def test_to_wrap_leaves_the_epochs_to_come_as_they_are():
    def part():
        return ShardedStream(shuffled(10, 2), rank=2, world_size=3, remainder="wrap")

    stream = part()
    epochs = [listed(stream) for _ in range(3)]
    stream = part()
    first, second = stream.get_epoch_iterator(), stream.get_epoch_iterator()
    assert [listed(second), listed(first), listed(stream)] == [epochs[1], epochs[0], epochs[2]]


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
