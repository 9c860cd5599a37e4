"""Mixtures: exact proportions at every prefix, resumed and passed over from any place."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from itertools import islice

import numpy
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fuel.datasets import IndexableDataset, IterableDataset
from fuel.schemes import ConstantScheme, PermutedExampleScheme, PermutedScheme, SequentialScheme
from fuel.streams import DataStream, MixtureStream
from fuel.streams._proportions import Proportions, as_shares, first_beyond
from fuel.transformers import Batch, Filter, Mapping, Parallel

STOPS = ("first", "all", "cycle", "never")
shares_given = st.lists(st.integers(0, 12), min_size=1, max_size=6).filter(any)


def component(number, count, kind="permuted"):
    values = 1000 * number + numpy.arange(count)
    if kind == "iterable":
        return DataStream(IterableDataset({"x": values.tolist()}), seed=number)
    stream = DataStream(
        IndexableDataset({"x": values}),
        iteration_scheme=PermutedExampleScheme(count, seed=number),
        seed=number,
    )
    return Filter(stream, lambda data: True) if kind == "filtered" else stream


def mixture(sizes, weights, stop, kind="permuted", **more):
    streams = [component(number, size, kind) for number, size in enumerate(sizes)]
    return MixtureStream(streams, weights, stop=stop, **more)


def noisy(data, rng):
    return (float(data[0]) + rng.random(),)


def some(iterator, most=200):
    return [float(x) for (x,) in islice(iterator, most)]


# -- turns --------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(shares_given, st.integers(1, 200))
def test_every_prefix_has_the_proportions_to_less_than_one_item(shares, count):
    choices = Proportions(as_shares(shares, len(shares)))
    total = sum(shares)
    for made in range(1, count + 1):
        choices.take()
        for share, counted in zip(shares, choices.counts, strict=True):
            assert abs(counted - Fraction(made * share, total)) < 1


@settings(max_examples=200, deadline=None)
@given(shares_given, st.integers(0, 60), st.integers(0, 300))
def test_many_turns_at_once_are_those_one_by_one(shares, before, count):
    one, other = (Proportions(as_shares(shares, len(shares))) for _ in range(2))
    for choices in (one, other):
        choices.advance(before)
    last = -1
    for _ in range(count):
        last = one.take()
    assert other.advance(count) == last
    assert other.counts == one.counts
    assert Proportions(one.shares, one.counts).peek() == other.peek()


def test_many_turns_of_few_weights_take_no_time():
    choices = Proportions([7, 2, 1])
    choices.advance(10**15 + 3)
    assert choices.counts == [7 * 10**14 + 2, 2 * 10**14 + 1, 10**14]


@settings(max_examples=200, deadline=None)
@given(shares_given, st.lists(st.integers(0, 30), min_size=6, max_size=6), st.booleans())
def test_the_first_turn_too_many_is_found_without_taking_them_all(shares, lengths, every):
    shares, lengths = as_shares(shares, len(shares)), lengths[: len(shares)]
    found = first_beyond(shares, lengths, every, 10**6)
    choices = Proportions(shares)
    active = [number for number, share in enumerate(shares) if share]
    made = 0
    while True:
        beyond = [choices.counts[number] > lengths[number] for number in active]
        if all(beyond) if every else any(beyond):
            break
        choices.take()
        made += 1
    assert found == made


def test_a_length_that_takes_too_long_to_find_is_not_looked_for():
    assert first_beyond([10**9, 1], [10**12, 10**3], True, 1000) == -1
    assert first_beyond([10**9, 1], [10**12, 10**3], False, 1000) >= 10**12


def test_weights_are_taken_at_their_word():
    assert as_shares([0.7, 0.2, 0.1], 3) == [7, 2, 1]
    assert as_shares([1 / 3, 2 / 3], 2) == [1, 2]
    assert as_shares([Fraction(1, 6), 0.5], 2) == [1, 3]
    assert as_shares(numpy.array([10, 20]), 2) == [1, 2]
    tiny = as_shares([1e-12, 1], 2)
    assert Fraction(*tiny) == Fraction(1e-12)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1], "one for each of the 2 streams"),
        (1, "one for each of the 2 streams"),
        ([1, -1], "not negative, got -1"),
        ([1, float("inf")], "finite and not negative, got inf"),
        ([1, float("nan")], "finite and not negative, got nan"),
        ([0, 0], "must not all be zero"),
        ([1, "2"], "must be numbers, got '2'"),
    ],
)
def test_weights_that_are_none_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        mixture([2, 2], weights, "first")


# -- items --------------------------------------------------------------------------------------


def modelled(sizes, weights, stop, most=200):
    """Return the streams in the order in which they give items, as the documentation has it."""
    shares = as_shares(weights, len(weights))
    left, ended = list(sizes), [False] * len(sizes)
    choices, found = Proportions(shares), []
    while len(found) < most and any(choices.shares):
        index = choices.peek()
        if not left[index]:
            ended[index] = True
            if stop == "first":
                break
            if stop == "all":
                choices = Proportions(
                    [0 if end else share for share, end in zip(shares, ended, strict=True)]
                )
                continue
            if stop == "cycle" and all(
                end for end, share in zip(ended, shares, strict=True) if share
            ):
                break
            left[index] = sizes[index]
        left[index] -= 1
        choices.take()
        found.append(index)
    return found


sizes_given = st.lists(st.integers(1, 12), min_size=1, max_size=4)
kinds = st.sampled_from(["permuted", "iterable", "filtered"])


@settings(max_examples=200, deadline=None)
@given(sizes_given, st.lists(st.integers(0, 5), min_size=4, max_size=4), st.sampled_from(STOPS))
def test_an_epoch_ends_as_it_is_told_to_and_its_length_is_exact(sizes, weights, stop):
    weights = weights[: len(sizes)]
    assume(any(weights))
    stream = mixture(sizes, weights, stop)
    found = some(stream)
    assert [int(value) // 1000 for value in found] == modelled(sizes, weights, stop)
    length = stream._num_items()
    if stop == "never":
        assert length is None
    else:
        assert length in (len(found), None)
        assert length is not None or (stop == "all" and not all(weights))
    if stop in ("first", "all"):
        assert max(Counter(found).values(), default=1) == 1


def test_a_stream_begins_again_in_a_new_order_and_the_next_epoch_with_its_first():
    stream = mixture([20, 3], [1, 1], "cycle")
    first = some(stream)
    threes = [value for value in first if value >= 1000]
    rounds = [tuple(threes[n : n + 3]) for n in range(0, 18, 3)]
    assert all(sorted(one) == [1000, 1001, 1002] for one in rounds)
    assert len(set(rounds)) > 1
    alone = component(1, 3)
    for _ in range(2):
        expected = [float(x) for (x,) in alone]
        assert tuple(expected) == rounds[0]
        rounds = [tuple([value for value in some(stream) if value >= 1000][:3])]


def test_an_empty_stream_cannot_be_begun_again_and_again():
    with pytest.raises(ValueError, match="stream 1 .*it is empty; leave it out"):
        some(mixture([3, 0], [1, 1], "cycle"))
    assert some(mixture([3, 0], [1, 0], "cycle")) == some(component(0, 3))
    assert len(some(mixture([3, 0], [1, 1], "all"))) == 3


@settings(max_examples=100, deadline=None)
@given(
    sizes_given,
    st.lists(st.integers(1, 5), min_size=4, max_size=4),
    st.sampled_from(STOPS),
    kinds,
    st.integers(0, 30),
    st.integers(0, 200),
    st.booleans(),
)
def test_to_pass_over_items_is_to_have_and_drop_them(
    sizes, weights, stop, kind, first, skipped, scheduled
):
    weights = weights[: len(sizes)]
    schedule = {9: list(reversed(weights))} if scheduled else None

    def build():
        return Mapping(mixture(sizes, weights, stop, kind, schedule=schedule), noisy)

    iterator = build().get_epoch_iterator()
    items = some(build(), 240)
    assert some(iterator, first) == items[:first]
    first = min(first, len(items))
    passed = iterator._run.cursor.skip(skipped)
    assert passed == min(skipped, len(items) - first)
    rest = items[first + passed :]
    assert some(iterator, len(rest)) == rest


def test_a_place_far_away_is_reached_at_once():
    streams = [
        DataStream(
            IndexableDataset({"x": range(10)}),
            iteration_scheme=PermutedExampleScheme(10**9, seed=number),
        )
        for number in range(3)
    ]
    cursor = MixtureStream(streams, [0.5, 0.3, 0.2]).get_epoch_iterator()._run.cursor
    assert cursor.skip(10**9) == 10**9
    assert [place["at"] for place in cursor.tell()["streams"]] == [5 * 10**8, 3 * 10**8, 2 * 10**8]


@settings(max_examples=100, deadline=None)
@given(
    sizes_given,
    st.lists(st.integers(1, 5), min_size=4, max_size=4),
    st.sampled_from(STOPS),
    kinds,
    st.integers(0, 40),
    st.integers(0, 20),
)
def test_changed_weights_are_in_the_state(sizes, weights, stop, kind, place, ahead):
    weights = weights[: len(sizes)]
    other = [sum(weights) - weight + 1 for weight in weights]

    def build():
        return mixture(sizes, weights, stop, kind)

    stream = build()
    iterator = stream.get_epoch_iterator()
    before = some(iterator, place)
    if len(before) < place:
        return
    stream.set_weights(other, at=place + ahead)
    state = json.loads(json.dumps(iterator.state_dict()))
    rest = some(iterator, 100)
    resumed = build()
    resumed.load_state_dict(state)
    again = resumed.get_epoch_iterator()
    assert some(again, 100) == rest
    whole = modelled(sizes, weights, stop, place + ahead)
    if len(whole) == place + ahead and stop == "never":
        turns = Proportions(as_shares(other, len(other)))
        found = [int(value) // 1000 for value in rest[ahead:]]
        assert found == [turns.take() for _ in found]


def test_weights_change_at_an_item_of_a_schedule_and_of_this_epoch_only():
    def owners(stream):
        return "".join("ab"[int(x) // 1000] for (x,) in islice(stream, 8))

    stream = mixture([50, 50], [1, 1], "first", schedule={4: [1, 0]})
    assert owners(stream) == "ababaaaa"
    iterator = stream.get_epoch_iterator()
    stream.set_weights([0, 1])
    assert owners(iterator) == "bbbbaaaa"
    assert owners(stream) == "ababaaaa"
    iterator = stream.get_epoch_iterator()
    some(iterator, 3)
    with pytest.raises(ValueError, match="`at` is item 2, but 3 items"):
        stream.set_weights([1, 1], at=2)
    with pytest.raises(ValueError, match="must be the number of an item of the epoch.*got -1"):
        stream.set_weights([1, 1], at=-1)
    with pytest.raises(ValueError, match="none was started; give the weights, or a `schedule`"):
        mixture([5], [1], "first").set_weights([1])


def test_draws_above_are_by_the_place_in_the_mixture_and_those_below_are_as_without_it():
    below = [Mapping(component(number, 9), noisy) for number in range(2)]
    found = some(MixtureStream(below, [2, 1]))
    alone = some(Mapping(component(0, 9), noisy))
    assert [value for value in found if value < 1000] == alone[: sum(x < 1000 for x in found)]
    zeros = [
        DataStream(
            IndexableDataset({"x": numpy.zeros(8)}),
            iteration_scheme=PermutedExampleScheme(8, seed=1),
        )
        for _ in range(2)
    ]
    draws = some(Mapping(MixtureStream(zeros, [1, 1]), noisy))
    assert len(set(draws)) == len(draws) == 16
    batches = [
        DataStream(IndexableDataset({"x": numpy.zeros(8)}), iteration_scheme=SequentialScheme(8, 3))
        for _ in range(2)
    ]
    iterator = MixtureStream(batches, [1, 1]).get_epoch_iterator()
    addresses = []
    for (column,) in iterator:
        context = iterator._run.cursor.context
        addresses += [context.address(row) for row in range(len(column))]
    assert len(set(addresses)) == len(addresses) == 16


def test_workers_below_and_above_change_nothing():
    def plain():
        return [Mapping(component(number, 5), noisy) for number in range(3)]

    expected = some(MixtureStream(plain(), [3, 2, 1], stop="cycle"))
    below = [Parallel(stream, workers=1, kind="thread") for stream in plain()]
    with MixtureStream(below, [3, 2, 1], stop="cycle") as stream:
        assert some(stream) == expected
    above = Parallel(MixtureStream(plain(), [3, 2, 1], stop="cycle"), workers=2, kind="thread")
    with above:
        assert some(above) == expected


def test_batches_may_be_mixed_too():
    streams = [
        DataStream(
            IndexableDataset({"x": 100 * number + numpy.arange(7)}),
            iteration_scheme=PermutedScheme(7, 3, seed=1),
        )
        for number in range(2)
    ]
    sizes = [len(x) for (x,) in MixtureStream(streams, [1, 1], stop="all")]
    assert sizes == [3, 3, 3, 3, 1, 1]
    assert MixtureStream(streams, [1, 1], stop="all")._num_examples() is None


def test_streams_that_do_not_go_together_are_refused():
    one = component(0, 3)
    with pytest.raises(
        ValueError, match=r"stream 0 has \('x',\) and stream 1 \('y',\); use Rename"
    ):
        MixtureStream([one, DataStream(IterableDataset({"y": [1]}))], [1, 1])
    with pytest.raises(ValueError, match="stream 0 produces examples and stream 1 batches"):
        MixtureStream([one, Batch(component(1, 3), ConstantScheme(2))], [1, 1])
    with pytest.raises(ValueError, match="different streams, got one of them twice"):
        MixtureStream([one, one], [1, 1])
    with pytest.raises(ValueError, match="at least one stream"):
        MixtureStream([], [])
    with pytest.raises(TypeError, match="put even a single stream in a list"):
        MixtureStream(one, [1])
    with pytest.raises(TypeError, match="MixtureStream needs a stream, got"):
        MixtureStream([[1, 2]], [1])
    with pytest.raises(ValueError, match="`stop` of MixtureStream must be one of"):
        MixtureStream([one], [1], stop="last")
    with pytest.raises(ValueError, match="takes no requests"):
        MixtureStream([one], [1]).get_data([1])
