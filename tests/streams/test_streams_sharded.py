"""The parts of ranks: disjoint, complete, equally many, and resumed with other numbers of ranks."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from fuel.streams import ShardedStream


def _load(name):
    key = f"streams_{name}"
    if key not in sys.modules:
        spec = importlib.util.spec_from_file_location(key, Path(__file__).with_name(f"{name}.py"))
        module = importlib.util.module_from_spec(spec)
        sys.modules[key] = module
        spec.loader.exec_module(module)
    return sys.modules[key]


ranks = _load("_ranks")
CHAINS = ranks.CHAINS
REMAINDERS = ranks.REMAINDERS
expected = ranks.expected
listed = ranks.listed
ranks_of = ranks.ranks_of
shuffled = ranks.shuffled
whole = ranks.whole

chains = st.sampled_from(sorted(CHAINS))
numbers = st.integers(1, 5)


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
    assert known is not None or chain in ("filtered", "iterated", "old")
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
