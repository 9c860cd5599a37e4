"""Interleaved streams: each item once, a few of each in turn, in the same order every time."""

from __future__ import annotations

import json
from itertools import islice

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuel.datasets import IndexableDataset, IterableDataset
from fuel.schemes import PermutedExampleScheme, SequentialScheme
from fuel.streams import DataStream, InterleavedStream


def component(number, count, iterable):
    values = 100 * number + numpy.arange(count)
    if iterable:
        return DataStream(IterableDataset({"x": values.tolist()}))
    return DataStream(
        IndexableDataset({"x": values}),
        iteration_scheme=PermutedExampleScheme(count, seed=number),
    )


def modelled(streams, cycle_length, block_length):
    """Interleave lists as the deterministic ``interleave`` does: slot by slot."""
    waiting = [list(items) for items in streams]
    slots: list = [None] * min(cycle_length, len(waiting))
    turn = given_so_far = 0
    found = []
    while waiting or any(slot is not None for slot in slots):
        slot = slots[turn]
        if slot is None and waiting:
            slot = slots[turn] = waiting.pop(0)
        if slot:
            found.append(slot.pop(0))
            given_so_far += 1
            if given_so_far < block_length:
                continue
        else:
            slots[turn] = None
        turn, given_so_far = (turn + 1) % len(slots), 0
    return found


sizes_given = st.lists(st.integers(0, 7), min_size=1, max_size=6)


@settings(max_examples=250, deadline=None)
@given(
    sizes_given,
    st.integers(1, 7),
    st.integers(1, 4),
    st.booleans(),
    st.integers(0, 40),
    st.integers(0, 50),
)
def test_turns_are_those_of_the_model_from_any_place_and_behind_any_gap(
    sizes, cycle, block, iterable, first, skipped
):
    def build():
        streams = [component(number, size, iterable) for number, size in enumerate(sizes)]
        return InterleavedStream(streams, cycle_length=cycle, block_length=block)

    lists = [
        [int(x) for (x,) in component(number, size, iterable)] for number, size in enumerate(sizes)
    ]
    expected = modelled(lists, cycle, block)
    stream = build()
    assert [int(x) for (x,) in stream] == expected
    assert stream._num_items() in ((len(expected),) if not iterable else (len(expected), None))
    iterator = build().get_epoch_iterator()
    assert [int(x) for (x,) in islice(iterator, first)] == expected[:first]
    place = min(len(expected), first)
    state = json.loads(json.dumps(iterator.state_dict()))
    passed = iterator._run.cursor.skip(skipped)
    assert passed == min(skipped, len(expected) - place)
    assert [int(x) for (x,) in iterator] == expected[place + passed :]
    resumed = build()
    resumed.load_state_dict(state)
    assert [int(x) for (x,) in resumed] == expected[place:]


def test_all_streams_take_turns_by_default():
    streams = [component(number, 2, False) for number in range(3)]
    stream = InterleavedStream(streams)
    assert (stream.cycle_length, stream.block_length) == (3, 1)
    assert [int(x) // 100 for (x,) in stream] == [0, 1, 2, 0, 1, 2]
    assert "cycle_length=3, block_length=1" in repr(stream)


def test_batches_count_their_examples():
    streams = [
        DataStream(IndexableDataset({"x": range(5)}), iteration_scheme=SequentialScheme(5, 2))
        for _ in range(2)
    ]
    stream = InterleavedStream(streams)
    assert (len(stream), stream._num_examples()) == (6, 10)


@pytest.mark.parametrize("name", ["cycle_length", "block_length"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True])
def test_lengths_must_be_positive(name, value):
    with pytest.raises(ValueError, match=f"`{name}` must be a positive integer, got {value}"):
        InterleavedStream([component(0, 2, False)], **{name: value})
