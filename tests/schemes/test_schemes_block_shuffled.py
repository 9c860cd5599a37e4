"""Block-window shuffles, and the measure of how well an order mixes."""

from __future__ import annotations

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuel.schemes import (
    BlockShuffledExampleScheme,
    BlockShuffledScheme,
    ConstantScheme,
    PermutedScheme,
    SequentialScheme,
    ShuffledScheme,
    shuffle_quality,
)
from fuel.schemes._base import num_requests, scheme_fingerprint, start_requests


def flat(requests):
    return [index for request in requests for index in request]


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 60),
    st.integers(1, 9),
    st.integers(1, 9),
    st.integers(1, 4),
    st.integers(0, 2),
    st.data(),
)
def test_every_example_comes_once_wherever_one_begins(count, size, block, window, epoch, data):
    examples = [f"e{index}" for index in range(count)] if data.draw(st.booleans()) else count
    scheme = BlockShuffledScheme(examples, size, block, window, seed=3)
    whole = flat(start_requests(scheme, epoch))
    assert sorted(whole) == sorted(scheme.indices)
    assert num_requests(scheme) == -(-count // size)
    place = data.draw(st.integers(0, count))
    singly = start_requests(BlockShuffledExampleScheme(examples, block, window, seed=3), epoch)
    singly.seek(place)
    assert list(singly) == whole[place:]


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 60), st.integers(1, 9), st.integers(1, 4))
def test_few_blocks_are_open_at_once(count, block, window):
    order = flat(start_requests(BlockShuffledScheme(count, 7, block, window, seed=3), 0))
    blocks = [index // block for index in order]
    last = {number: place for place, number in enumerate(blocks)}
    opened, most = set(), 0
    for place, number in enumerate(blocks):
        opened.add(number)
        most = max(most, len(opened))
        if last[number] == place:
            opened.discard(number)
    assert most <= window + 1  # the incomplete last block is a guest


def test_the_fingerprint_tells_blocks_apart_and_not_batches():
    one = scheme_fingerprint(BlockShuffledScheme(20, 2, 5, 2, seed=1))
    assert one == scheme_fingerprint(BlockShuffledScheme(20, 7, 5, 2, seed=1))
    assert one == scheme_fingerprint(BlockShuffledExampleScheme(20, 5, 2, seed=1))
    assert one != scheme_fingerprint(BlockShuffledScheme(20, 2, 4, 2, seed=1))
    assert one != scheme_fingerprint(BlockShuffledScheme(20, 2, 5, 3, seed=1))


def test_blocks_must_be_possible():
    with pytest.raises(ValueError, match="`block_size` must be a positive integer, got 0"):
        BlockShuffledScheme(10, 2, 0)
    with pytest.raises(ValueError, match="`window` must be a positive integer, got 0"):
        BlockShuffledScheme(10, 2, 2, 0)
    with pytest.raises(TypeError, match="make a list of it"):
        BlockShuffledScheme(iter([1]), 2, 2)


def test_a_full_shuffle_has_a_spread_of_one_and_an_order_in_sequence_the_square_root():
    full = numpy.mean(
        [shuffle_quality(PermutedScheme(12800, 128, seed=s)).spread for s in range(9)]
    )
    assert 0.9 < full < 1.1
    straight = shuffle_quality(SequentialScheme(12800, 128))
    assert straight.spread == pytest.approx(128**0.5, rel=0.02)
    assert straight.neighbours == 1
    assert straight.quality == pytest.approx(1 / straight.spread)


def test_larger_windows_mix_better():
    found = [
        shuffle_quality(BlockShuffledScheme(25600, 128, 64, window, seed=1)).quality
        for window in (1, 4, 16, 64, 400)
    ]
    assert found == sorted(found)
    assert found[0] < 0.2 < 0.8 < found[-1]
    # As the documentation of chunk orders has it.
    spreads = [
        shuffle_quality(BlockShuffledScheme(25600, 128, 64, 16, seed=seed)).spread
        for seed in range(12)
    ]
    assert numpy.mean(spreads) == pytest.approx((1 + 128 / 16) ** 0.5, rel=0.2)


def test_the_measure_leaves_a_scheme_as_it_was():
    scheme, twin = ShuffledScheme(1000, 10), ShuffledScheme(1000, 10)
    shuffle_quality(scheme)
    assert list(scheme.get_request_iterator()) == list(twin.get_request_iterator())


def test_the_measure_takes_an_order_as_an_array_and_looks_at_a_part_of_a_long_one():
    order = numpy.random.default_rng(0).permutation(20_000)
    assert 0.8 < shuffle_quality(order).spread < 1.2
    assert shuffle_quality(numpy.arange(100), batch_size=10).neighbours == 1
    assert 0.8 < shuffle_quality(PermutedScheme(2**40, 1024, seed=1)).spread < 1.2


def test_the_measure_refuses_what_is_no_order():
    with pytest.raises(ValueError, match="two whole batches"):
        shuffle_quality(numpy.arange(10), batch_size=10)
    with pytest.raises(ValueError, match="must consist of integers"):
        shuffle_quality(["a", "b"])
    with pytest.raises(ValueError, match="`batch_size` must be a positive integer, got 0"):
        shuffle_quality([1, 2], batch_size=0)
    assert shuffle_quality(ConstantScheme(1, num_examples=64)).spread == 1
