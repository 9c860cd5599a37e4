"""Draws by address: those of `fuel.rng`, the same in every form, and well distributed."""

from __future__ import annotations

import importlib

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import ndtri
from scipy.stats import chi2, kstest

from fuel.kernels import _draws_reference as reference
from fuel.kernels import draws
from fuel.rng import example_rng, philox_key

try:
    compiled = importlib.import_module("fuel.kernels._draws")
except ImportError:
    compiled = None

needs_compiled = pytest.mark.skipif(compiled is None, reason="built without a C compiler")

words = st.one_of(st.integers(0, 100), st.integers(0, 2**64 - 1))
raw = arrays(numpy.uint64, st.integers(0, 40), elements=words)
KEY = philox_key(3, 1, "step")


@settings(max_examples=60)
@given(
    st.integers(-(2**70), 2**70),
    st.integers(0, 2**40),
    st.lists(st.tuples(words, words), max_size=6),
    st.integers(0, 11),
)
def test_a_row_is_what_the_generator_of_its_address_draws(seed, epoch, addresses, count):
    ordinals = numpy.array([ordinal for ordinal, _ in addresses], dtype=numpy.uint64)
    numbers = numpy.array([number for _, number in addresses], dtype=numpy.uint64)
    found = draws.bits(philox_key(seed, epoch, "crop"), ordinals, numbers, count)
    assert found.shape == (len(addresses), count) and found.dtype == numpy.uint64
    for row, (ordinal, number) in zip(found, addresses):
        generator = example_rng(seed, epoch, ordinal, "crop", number).bit_generator
        assert row.tolist() == numpy.atleast_1d(generator.random_raw(count)).tolist()


def test_a_list_may_hold_words_on_both_sides_of_63_bits():
    # NumPy by itself makes floats of such a list.
    ordinals, children, key = [1, 2**63, 2**64 - 1], [2**63 - 1, 2**63, 0], [2**63, 7]
    drawn = draws.bits(key, ordinals, children, 5)
    as_words = (numpy.array(words, "u8") for words in (key, ordinals, children))
    assert numpy.array_equal(drawn, draws.bits(*as_words, 5))
    for wrong in (-1, 2**64):
        with pytest.raises(ValueError, match=f"`ordinals` must be from 0 .*, got {wrong}"):
            draws.bits(key, [2**63, wrong], None, 1)


def test_numbers_may_lie_anywhere_in_memory():
    words = numpy.random.default_rng(0).integers(0, 2**63, 50, "u8")
    moved = numpy.zeros(401, "u1")[1:].view("u8")
    moved[:] = words
    for of_them in (
        lambda given: draws.bits(KEY, given, given, 3),
        draws.uniforms,
        draws.normals,
        lambda given: draws.integers(given, 100),
        lambda given: draws.integers(words, given),
    ):
        assert numpy.array_equal(of_them(moved), of_them(words))


def test_the_draws_are_pinned():
    found = draws.bits(philox_key(1, 2, "step"), [0, 7], None, 2)
    assert found.tolist() == [
        [16081059820537432458, 5799640895451616862],
        [4144016848576984762, 5129927464174320379],
    ]
    assert draws.normals(found).tolist() == [
        [1.1347311043045951, -0.48341890742727445],
        [-0.7565905460528296, -0.5885132391948291],
    ]
    assert draws.uniforms(found).tolist() == [
        [0.871755999664802, 0.3143991629242209],
        [0.22464760350218493, 0.2780939250675426],
    ]
    assert draws.integers(found, 1000).tolist() == [[871, 314], [224, 278]]


def test_a_row_depends_on_its_own_address_alone():
    together = draws.bits(KEY, numpy.arange(100), None, 6)
    for ordinal in (0, 1, 99):
        assert draws.bits(KEY, [ordinal], None, 6)[0].tolist() == together[ordinal].tolist()
    assert draws.bits(KEY, numpy.arange(100), None, 3).tolist() == together[:, :3].tolist()
    zeros = numpy.zeros(100, numpy.uint64)
    assert draws.bits(KEY, numpy.arange(100), zeros, 6).tolist() == together.tolist()


@needs_compiled
@settings(max_examples=60)
@given(st.lists(words, min_size=1, max_size=9), st.integers(1, 9), words, words, st.booleans())
def test_the_compiled_bits_equal_the_reference(ordinals, count, key0, key1, children):
    places = numpy.array(ordinals, dtype=numpy.uint64)
    numbers = places[::-1].copy() if children else None
    ours, theirs = (numpy.empty((len(places), count), numpy.uint64) for _ in range(2))
    compiled.bits(key0, key1, places, numbers, ours)
    reference.bits(key0, key1, places, numbers, theirs)
    assert ours.tolist() == theirs.tolist()


@needs_compiled
@settings(max_examples=60)
@given(raw, st.integers(1, 2**63 - 1), st.data())
def test_the_compiled_numbers_equal_the_reference(bits, bound, data):
    several = data.draw(
        arrays(numpy.uint64, bits.shape, elements=st.integers(1, 2**63 - 1)), label="bounds"
    )
    bounds = numpy.array(bound, dtype=numpy.uint64)
    for name, dtype, more in (
        ("uniforms", numpy.float64, ()),
        ("normals", numpy.float64, ()),
        ("integers", numpy.int64, (bounds,)),
        ("integers", numpy.int64, (several,)),
    ):
        ours, theirs = numpy.empty(bits.shape, dtype), numpy.empty(bits.shape, dtype)
        getattr(compiled, name)(bits, *more, ours)
        getattr(reference, name)(bits, *more, theirs)
        assert ours.tobytes() == theirs.tobytes()


@needs_compiled
def test_the_compiled_normals_equal_the_reference_in_every_branch():
    bits = draws.bits(KEY, numpy.arange(2000), None, 50).ravel()
    bits[:2000] = numpy.arange(2000, dtype=numpy.uint64) << numpy.uint64(12)
    bits[2000:4000] = ~bits[:2000]
    bits[4000:4053] = numpy.uint64(1) << numpy.arange(53, dtype=numpy.uint64)
    ours, theirs = numpy.empty(bits.shape), numpy.empty(bits.shape)
    compiled.normals(bits, ours)
    reference.normals(bits, theirs)
    assert ours.tobytes() == theirs.tobytes()


@settings(max_examples=60)
@given(raw)
def test_the_numbers_mean_what_the_page_says(bits):
    whole = bits.tolist()
    assert draws.uniforms(bits).tolist() == [(number >> 11) / 2**53 for number in whole]
    for high in (1, 7, 10**9, 2**63 - 1):
        assert draws.integers(bits, high).tolist() == [number * high >> 64 for number in whole]


def test_normals_are_the_inverse_of_the_distribution_function():
    bits = draws.bits(KEY, numpy.arange(500), None, 40)
    bits[0] = numpy.uint64(2**63) + numpy.arange(40, dtype=numpy.uint64) * numpy.uint64(2**55)
    bits[1] = numpy.arange(40, dtype=numpy.uint64) << numpy.uint64(12)
    part = ((bits >> numpy.uint64(12)).astype(float) + 0.5) * 2.0**-52
    lower = numpy.minimum(part, 1 - part)
    expected = numpy.where(part < 0.5, 1.0, -1.0) * ndtri(lower)
    numpy.testing.assert_allclose(draws.normals(bits), expected, rtol=4e-15, atol=1e-16)
    # The two sides mirror each other.
    assert draws.normals(~bits).tolist() == (-draws.normals(bits)).tolist()


def test_the_numbers_are_distributed_as_they_should_be():
    bits = draws.bits(KEY, numpy.arange(5000), None, 4)
    assert kstest(draws.uniforms(bits).ravel(), "uniform").pvalue > 1e-3
    assert kstest(draws.normals(bits).ravel(), "norm").pvalue > 1e-3
    counted = numpy.bincount(draws.integers(bits, 50).ravel(), minlength=50)
    expected = bits.size / 50
    assert chi2.sf(((counted - expected) ** 2 / expected).sum(), 49) > 1e-3
    # Neighbours, in a row as in a column, are unrelated.
    numbers = draws.uniforms(bits) - 0.5
    for left, right in ((numbers[:, 0], numbers[:, 1]), (numbers[:-1, 0], numbers[1:, 0])):
        assert abs((left * right).mean() * 12 * len(left) ** 0.5) < 4


def test_bounds_are_broadcast():
    bits = draws.bits(KEY, numpy.arange(6), None, 2)
    heights = numpy.array([3, 100, 7, 50, 1, 9])
    found = draws.integers(bits, heights[:, numpy.newaxis])
    assert found.shape == (6, 2) and (found < heights[:, numpy.newaxis]).all()
    assert draws.integers(bits[:, 0], heights).tolist() == found[:, 0].tolist()
    assert draws.integers(bits[0, 0], heights).shape == (6,)
    assert draws.integers(bits[:, 0][::2], heights[::2]).tolist() == found[::2, 0].tolist()
    with pytest.raises(ValueError):
        draws.integers(bits, [1, 2, 3])


def test_no_draws_give_empty_arrays():
    assert draws.bits(KEY, [], None, 3).shape == (0, 3)
    assert draws.bits(KEY, [1, 2], None, 0).shape == (2, 0)
    nothing = numpy.empty((0, 3), numpy.uint64)
    for found in (draws.uniforms(nothing), draws.normals(nothing), draws.integers(nothing, 4)):
        assert found.shape == (0, 3)


@pytest.mark.parametrize("high", [0, -3, 2**63, [1, 0]])
def test_bounds_out_of_range_are_refused(high):
    with pytest.raises(ValueError, match="`high` must lie between 1 and"):
        draws.integers(numpy.zeros(2, numpy.uint64), high)


def test_arguments_of_the_wrong_type_are_refused():
    with pytest.raises(TypeError, match="`high` must be an integer"):
        draws.integers(numpy.zeros(2, numpy.uint64), 2.5)
    for call in (draws.uniforms, draws.normals, lambda bits: draws.integers(bits, 3)):
        with pytest.raises(TypeError, match="raw draws of type uint64, got int64"):
            call(numpy.zeros(2, numpy.int64))
    for ordinals in ([0.5], [[1]], 3):
        with pytest.raises(TypeError, match="`ordinals` must be a vector of integers"):
            draws.bits(KEY, ordinals, None, 1)
    with pytest.raises(ValueError, match="`ordinals` must not be negative, got -1"):
        draws.bits(KEY, [0, -1], None, 1)
    with pytest.raises(ValueError, match="an entry for each ordinal, got 1 for 2"):
        draws.bits(KEY, [0, 1], [5], 1)
    with pytest.raises(ValueError, match="`count` must not be negative, got -1"):
        draws.bits(KEY, [0], None, -1)
    with pytest.raises(ValueError, match="`key` must have two words, got 3"):
        draws.bits([1, 2, 3], [0], None, 1)
