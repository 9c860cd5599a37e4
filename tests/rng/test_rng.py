"""Addressed generators: same address, same draws; another address, independent draws."""

from __future__ import annotations

import itertools
import pickle
import sys

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from fuel.rng import GeneratorPool, example_rng, philox_key

seeds = st.integers(-(2**70), 2**70)
words = st.integers(0, 2**64 - 1)
epochs = st.integers(0, 2**40)


def raw(generator, count=4):
    return generator.bit_generator.random_raw(count).tolist()


def test_keys_and_draws_are_pinned():
    assert [hex(word) for word in philox_key(0, 0, "step").tolist()] == [
        "0x148e11f6fcae5a4e",
        "0x78dfa966589849f2",
    ]
    assert [hex(word) for word in philox_key(-(2**70), 3, "Größe").tolist()] == [
        "0x1fcc01083c9bc49f",
        "0x98964dab8c555e0e",
    ]
    assert [hex(word) for word in raw(example_rng(1, 2, 3, "crop"))] == [
        "0x681c50f1855d2fe0",
        "0x2741b8d6f583d64a",
        "0xdf128df2d18c4ab3",
        "0x6b73fc6ddef92338",
    ]
    assert [hex(word) for word in raw(example_rng(1, 2, 2**64 - 1, "crop", number=5), 2)] == [
        "0xbba3f73a02d7a52d",
        "0xcff7759151a99cf9",
    ]


@settings(max_examples=100, deadline=None)
@given(seeds, st.lists(st.tuples(epochs, words, words), min_size=1, max_size=6), st.text())
def test_a_pool_draws_what_single_generators_draw(seed, addresses, step):
    pool = GeneratorPool(seed, step)
    for epoch, ordinal, number in addresses:
        expected = example_rng(seed, epoch, ordinal, step, number)
        generator = pool.rng(epoch, ordinal, number)
        # 32-bit draws leave half a word behind, which the next example must not see
        assert generator.integers(2**32, dtype="u4") == expected.integers(2**32, dtype="u4")
        assert generator.random() == expected.random()
        assert generator.standard_normal() == expected.standard_normal()


def test_draws_do_not_depend_on_the_examples_visited_before():
    pool = GeneratorPool(3, "step")
    forward = [raw(pool.rng(0, ordinal)) for ordinal in range(20)]
    backward = [raw(pool.rng(0, ordinal)) for ordinal in reversed(range(20))]
    assert forward == backward[::-1]


def test_a_generator_that_is_kept_is_not_disturbed():
    pool = GeneratorPool(3, "step")
    kept = [pool.rng(0, ordinal) for ordinal in range(5)]
    assert len({id(generator) for generator in kept}) == 5
    assert [raw(generator) for generator in kept] == [
        raw(example_rng(3, 0, ordinal, "step")) for ordinal in range(5)
    ]


def test_a_generator_that_is_let_go_is_used_again():
    pool = GeneratorPool(3, "step")
    first = id(pool.rng(0, 0))
    assert id(pool.rng(0, 1)) == first


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((0, 1, 0, "s", 0), (1, 0, 0, "s", 0)),
        ((1, 23, 0, "s", 0), (12, 3, 0, "s", 0)),
        ((0, 0, 0, "s", 1), (0, 0, 1, "s", 0)),
        ((0, 0, 0, "1|s", 0), (0, 1, 0, "s", 0)),
        ((5, 0, 0, "s", 0), (-5, 0, 0, "s", 0)),
        ((0, 0, 0, "s", 0), (2**64, 0, 0, "s", 0)),
        ((0, 0, 0, "", 0), (0, 0, 0, "\0", 0)),
    ],
)
def test_neighbouring_addresses_share_no_draw(one, other):
    assert not set(raw(example_rng(*one), 64)) & set(raw(example_rng(*other), 64))


def test_no_two_addresses_of_a_grid_share_a_draw():
    drawn = []
    for seed, epoch, ordinal, step, number in itertools.product(
        range(4), range(4), range(4), ("a", "b", "a2"), range(3)
    ):
        drawn += raw(example_rng(seed, epoch, ordinal, step, number), 8)
    assert len(set(drawn)) == len(drawn)


def _vary(name):
    """Return the first draw in the unit interval of 4000 generators that differ in one thing."""
    address = {"seed": 1, "epoch": 2, "ordinal": 3, "step": "step", "number": 0}
    drawn = []
    for value in range(4000):
        address[name] = f"step{value}" if name == "step" else value
        drawn.append(example_rng(**address).random())
    return numpy.array(drawn)


@pytest.mark.parametrize("name", ["seed", "epoch", "ordinal", "step", "number"])
def test_first_draws_along_each_coordinate_are_uniform_and_independent(name):
    drawn = _vary(name)
    cells = 20
    counts = numpy.bincount((drawn * cells).astype(int), minlength=cells)
    statistic = ((counts - 200) ** 2 / 200).sum()
    assert chi2.sf(statistic, cells - 1) > 1e-3
    pairs = numpy.bincount((drawn[:-1] * 8).astype(int) * 8 + (drawn[1:] * 8).astype(int))
    expected = (len(drawn) - 1) / 64
    assert chi2.sf(((pairs - expected) ** 2 / expected).sum(), 63) > 1e-3


def test_numpy_integers_are_as_good_as_ints():
    expected = raw(example_rng(1, 2, 3, "s", 4))
    for kind in (numpy.int64, numpy.uint8, numpy.int32):
        assert raw(example_rng(kind(1), kind(2), kind(3), "s", kind(4))) == expected
        assert raw(GeneratorPool(kind(1), "s").rng(kind(2), kind(3), kind(4))) == expected
    largest = numpy.uint64(2**64 - 1)
    assert raw(GeneratorPool(1, "s").rng(0, largest)) == raw(example_rng(1, 0, 2**64 - 1, "s"))


def test_a_pool_pickles_as_its_seed_and_step():
    pool = GeneratorPool(2**80, "step")
    expected = raw(pool.rng(1, 7))
    text = pickle.dumps(pool)
    assert len(text) < 200
    assert raw(pickle.loads(text).rng(1, 7)) == expected
    assert repr(pool) == f"GeneratorPool(seed={2**80}, step='step')"


def test_global_generators_are_left_alone():
    before = numpy.random.get_state()[1].tolist()
    raw(GeneratorPool(1, "s").rng(0, 0))
    assert numpy.random.get_state()[1].tolist() == before


@pytest.mark.parametrize("bad", [-1, 2**64])
@pytest.mark.parametrize("name", ["ordinal", "number"])
def test_places_outside_64_bits_are_refused(bad, name):
    place = {"ordinal": 0, "number": 0, name: bad}
    message = f"`{name}` must lie between 0 and 2\\*\\*64 - 1, got {bad}"
    with pytest.raises(ValueError, match=message):
        example_rng(0, 0, step="s", **place)
    pool = GeneratorPool(0, "s")
    with pytest.raises(ValueError, match=message):
        pool.rng(0, **place)
    assert raw(pool.rng(0, 1)) == raw(example_rng(0, 0, 1, "s"))


def test_what_is_not_an_integer_is_named():
    with pytest.raises(TypeError, match=r"`seed` must be an integer, got 1\.5"):
        GeneratorPool(1.5, "s")
    with pytest.raises(TypeError, match="`epoch` must be an integer, got None"):
        example_rng(0, None, 0, "s")
    with pytest.raises(TypeError, match=r"`ordinal` must be an integer, got 1\.0"):
        GeneratorPool(0, "s").rng(0, 1.0)
    with pytest.raises(TypeError, match="`step` must be the name of a step, a string, got 3"):
        example_rng(0, 0, 0, 3)


def test_seeds_may_be_longer_than_decimal_conversion_allows():
    limit = sys.get_int_max_str_digits() if hasattr(sys, "get_int_max_str_digits") else 4300
    huge = 10 ** (limit + 10)
    assert raw(example_rng(huge, 0, 0, "s")) != raw(example_rng(huge + 1, 0, 0, "s"))
