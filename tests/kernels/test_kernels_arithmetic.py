"""Chains of arithmetic: NumPy's results bit for bit, its warnings, and what is left to it."""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import warnings

import numpy
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from fuel.exceptions import ConfigurationError
from fuel.kernels import arithmetic
from fuel.kernels._arithmetic_steps import CODES
from fuel.kernels.arithmetic import Arithmetic
from fuel.kernels.gather import gather

TYPES = [numpy.dtype(f"{kind}{size}" if kind != "b" else "?") for kind, size in CODES]
LEVELS = sorted({0, arithmetic._kernel.BEST_LEVEL})

compiled = arithmetic._kernel.Program is not None
needs_compiled = pytest.mark.skipif(not compiled, reason="the NumPy form runs: nothing is compiled")


@contextlib.contextmanager
def instructions(level):
    """Compile chains for a set of instructions."""
    before, arithmetic._level = arithmetic._level, level
    try:
        yield
    finally:
        arithmetic._level = before


def bits(array):
    """Return what must be equal: all bits, but of those of a NaN only that it is one."""
    if array.dtype.kind == "f":
        whole = array.view(f"u{array.itemsize}").copy()
        whole[numpy.isnan(array)] = 0x7E00
        return whole
    return array


def said(function, *arguments):
    """Return a result, and the warnings that came with it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(*arguments)
    return result, [str(warning.message) for warning in caught]


def assert_same(chain, source, rows):
    """Gathering with a chain is gathering, and then each step in NumPy."""
    theirs, expected = said(lambda: chain.reference(source[rows]))
    ours, got = said(lambda: gather(source, rows, chain))
    assert ours.dtype == theirs.dtype == chain.dtype
    assert ours.shape == theirs.shape
    numpy.testing.assert_array_equal(bits(ours), bits(theirs))
    assert got == expected


def sources(dtype, shape):
    """Rows of all that a type can be: special values, any bits, and everyday numbers."""
    everyday = st.integers(0, 1) if dtype.kind == "b" else st.integers(0, 100)
    elements = everyday.map(dtype.type)
    if dtype.kind == "f":
        elements = st.one_of(
            elements, st.floats(-200, 200).map(dtype.type), arrays.from_dtype(dtype)
        )
    elif dtype.kind != "b":
        elements = st.one_of(elements, arrays.from_dtype(dtype))
    return arrays.arrays(dtype, (4, *shape), elements=elements)


@st.composite
def operands(draw, shape):
    """What stands beside a batch: numbers of Python, of NumPy, and arrays that fit."""
    number = st.one_of(
        st.integers(-3, 300),
        st.floats(-3, 3),
        st.sampled_from([0.1, 1 / 255, -0.0, 1e30, 1e-40, float("inf"), float("nan"), True]),
    )
    if draw(st.booleans()):
        return draw(number)
    dtype = draw(st.sampled_from(TYPES))
    values = st.integers(0, 1 if dtype.kind == "b" else 9).map(dtype.type)
    if dtype.kind == "f":
        values = st.one_of(values, st.floats(-2, 2).map(dtype.type), arrays.from_dtype(dtype))
    extents = [length if draw(st.booleans()) else 1 for length in shape]
    extents = tuple(extents[draw(st.integers(0, len(extents))) :])
    array = draw(arrays.arrays(dtype, extents, elements=values))
    return array if array.ndim or draw(st.booleans()) else array[()]


@st.composite
def chains(draw, shape):
    kinds = st.sampled_from(["multiply", "add", "divide", "cast"])
    steps = []
    for kind in draw(st.lists(kinds, max_size=4)):
        steps.append(
            (kind, draw(st.sampled_from(TYPES)) if kind == "cast" else draw(operands(shape)))
        )
    return steps


shapes = st.one_of(
    st.sampled_from([(), (1,), (3, 4, 4), (2, 40), (0,), (3, 0)]),
    arrays.array_shapes(max_dims=3, max_side=6),
)


@pytest.mark.parametrize("level", LEVELS)
@settings(deadline=None, max_examples=80)
@given(data=st.data())
def test_every_chain_gives_what_numpy_gives(level, data):
    shape = data.draw(shapes)
    dtype = data.draw(st.sampled_from(TYPES))
    with instructions(level):
        chain = Arithmetic.of(dtype, shape, data.draw(chains(shape)))
    assume(chain is not None)
    source = data.draw(sources(dtype, shape))
    rows = numpy.array(data.draw(st.lists(st.integers(0, 3), max_size=5)), numpy.int64)
    assert_same(chain, source, rows)


def typical(dtype, shape):
    """Chains that people write, for each form that there is."""
    rng = numpy.random.default_rng(0)
    single, double = rng.normal(size=shape).astype("f4"), rng.normal(size=shape)
    channel = rng.normal(size=(shape[0], 1, 1))
    yield [("cast", "float32"), ("multiply", 1 / 255), ("add", -0.5)]
    yield [("cast", "float32"), ("add", 3), ("multiply", channel.astype("f4"))]
    yield [("multiply", single), ("add", single[0]), ("cast", "float32")]
    yield [("multiply", 1 / 255), ("cast", "float32")]
    yield [("multiply", 1 / 127.5), ("add", -1.0), ("cast", "float32")]
    yield [("multiply", channel), ("add", channel), ("cast", "float32")]
    yield [("add", -channel), ("divide", numpy.abs(channel) + 0.5), ("cast", "float32")]
    yield [("multiply", double), ("add", double[0]), ("cast", "float32")]
    yield [("multiply", double[0]), ("add", double[0])]
    yield [("multiply", double[:, :1]), ("add", 1)]
    yield [("add", channel)]
    yield [("divide", 255)]
    yield [("divide", 255), ("add", -channel), ("divide", channel), ("cast", "float32")]
    yield [("multiply", 3), ("add", 7)]
    yield [("cast", "float16"), ("multiply", 0.1), ("add", 0.3)]
    yield [("cast", "float32")]
    yield [("cast", "int16"), ("multiply", numpy.arange(shape[-1], dtype="i2"))]
    yield [("cast", "bool"), ("cast", "float32"), ("add", 0.25)]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("shape", [(3, 5, 7), (2, 40, 33)], ids=str)
def test_the_chains_that_people_write_give_what_numpy_gives(level, dtype, shape):
    rng = numpy.random.default_rng(1)
    source = (rng.integers(0, 2 if dtype.kind == "b" else 127, (6, *shape))).astype(dtype)
    if dtype.itemsize == 1 and dtype.kind != "b":
        source.ravel()[:256] = numpy.arange(256, dtype="u1").view(dtype)[: source.size]
    for steps in typical(dtype, shape):
        with instructions(level):
            chain = Arithmetic.of(dtype, shape, steps)
        assert chain is not None
        assert_same(chain, source, numpy.array([5, 0, 3, 3], numpy.int64))


@needs_compiled
def test_each_chain_takes_the_form_that_is_meant_for_it():
    def form(dtype, *steps, level=LEVELS[-1], shape=(3, 32, 32)):
        with instructions(level):
            return Arithmetic.of(dtype, shape, steps)._program.form

    channel, cast = numpy.full((3, 1, 1), 0.37), ("cast", "float32")
    assert form("u1") == "copy"
    assert form("u1", ("cast", "uint8")) == "copy"
    assert form("u1", cast) == "chain"
    assert form("u1", cast, ("multiply", 0.1), ("add", 0.2)) == "multiply_add"
    assert form("u1", ("multiply", channel.astype("f4")), ("add", channel.astype("f4"))) == (
        "multiply_add"
    )
    assert form("u1", ("multiply", 1 / 255), ("add", -0.5), cast) == "split"
    assert form("i1", ("multiply", channel), ("add", -channel), cast) == "split"
    assert form("u1", ("divide", 255), ("add", -channel), ("divide", channel), cast) == "split"
    assert form("u1", ("divide", 255)) == "add_divide"
    assert form("u1", ("cast", "float16"), ("multiply", 0.1)) == "table"
    assert form("u2", ("multiply", 0.1), ("add", 0.2), cast) == "multiply_add"
    assert form("f4", ("add", 0.1), ("multiply", 0.2)) == "add_multiply"
    assert form("f4", ("add", channel), ("divide", channel)) == "add_divide"
    assert form("f4", ("add", 0.1), ("divide", 0.2), ("add", 0.1)) == "chain"
    assert form("i4", ("multiply", 3), ("add", 4)) == "chain"


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_zeros_keep_their_signs(level, dtype):
    source = numpy.array([[0.0, -0.0, 1.0, -1.0]], dtype)
    for kind in ("multiply", "add", "divide"):
        for operand in (3, -3, 0.0, -0.0, 1, -1):
            if (kind, operand) != ("divide", 0):
                with instructions(level):
                    chain = Arithmetic.of(dtype, (4,), [(kind, operand)])
                assert_same(chain, source, numpy.array([0]))


@needs_compiled
@pytest.mark.parametrize("level", LEVELS)
def test_a_byte_whose_two_parts_are_not_exact_takes_another_form(level):
    # A scale and a shift that cancel: what remains has nothing to do with single precision.
    steps = [("multiply", 0.1), ("add", -0.5 * (1 + 2**-52)), ("cast", "float32")]
    with instructions(level):
        chain = Arithmetic.of("u1", (256,), steps)
    assert chain._program.form in ("multiply_add", "table")
    assert_same(chain, numpy.arange(256, dtype="u1")[None], numpy.array([0]))


@pytest.mark.parametrize("level", LEVELS)
def test_every_half_and_what_becomes_a_half(level):
    halves = numpy.arange(65536, dtype="u2").view("f2").reshape(1, -1)
    with numpy.errstate(all="ignore"):
        near = halves[0].astype("f4")
        odd = numpy.random.default_rng(0).integers(0, 2**32, 40_000, "u4").view("f4")
        beyond = numpy.linspace(-70_000, 70_000, 4001, dtype="f4")
        singles = numpy.concatenate([near, numpy.nextafter(near, numpy.float32(1e9)), odd, beyond])
        between = (near[:-1].astype("f8") + near[1:].astype("f8")) / 2
        doubles = [between, numpy.nextafter(between, -9e9), between * (1 + 2**-40)]
        doubles = numpy.concatenate([singles.astype("f8"), *doubles])
    with instructions(level):
        for source, step in (
            (halves, ("cast", "f4")),
            (halves, ("cast", "f8")),
            (halves, ("cast", "?")),
            (halves, ("cast", "i2")),
            (halves, ("multiply", 1.1)),
            (halves, ("divide", numpy.float16(3))),
            (singles[None], ("cast", "f2")),
            (doubles[None], ("cast", "f2")),
        ):
            with numpy.errstate(all="ignore"):
                for wish in ("ignore", "warn"):
                    numpy.seterr(over=wish, under=wish)
                    chain = Arithmetic.of(source.dtype, source.shape[1:], [step])
                    assert_same(chain, source, numpy.array([0]))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("dtype", "values", "steps", "message"),
    [
        ("f4", [1, 3e38], [("multiply", 2.0)], "overflow encountered in multiply"),
        ("f4", [1, 3e38], [("add", 3e38)], "overflow encountered in add"),
        ("f8", [1, 1e300], [("cast", "f4")], "overflow encountered in cast"),
        ("f8", [1, 1e300], [("multiply", 2), ("cast", "f4")], "overflow encountered in cast"),
        ("f4", [1, numpy.inf], [("add", -numpy.inf)], "invalid value encountered in add"),
        ("f4", [1, 0], [("multiply", numpy.inf)], "invalid value encountered in multiply"),
        ("u1", [1, 0], [("multiply", numpy.inf)], "invalid value encountered in multiply"),
        ("f8", [1, numpy.nan], [("cast", "i4")], "invalid value encountered in cast"),
        ("f2", [1, 60000], [("multiply", 2)], "overflow encountered in multiply"),
        ("u2", [1, 65535], [("cast", "f2")], "overflow encountered in cast"),
    ],
)
def test_numpy_warns_as_it_does_step_by_step(level, dtype, values, steps, message):
    source = numpy.array(values, dtype)[None]
    with instructions(level):
        chain = Arithmetic.of(dtype, (2,), steps)
    rows = numpy.array([0])
    assert_same(chain, source, rows)
    with pytest.warns(RuntimeWarning, match=message):
        gather(source, rows, chain)
    with numpy.errstate(over="raise", invalid="raise"), pytest.raises(FloatingPointError):
        gather(source, rows, chain)
    with numpy.errstate(all="ignore"):
        assert_same(chain, source, rows)


def test_numbers_too_small_are_reported_to_those_who_ask():
    chain = Arithmetic.of("f4", (1,), [("multiply", 1e-30)])
    source, rows = numpy.array([[1e-20]], "f4"), numpy.array([0])
    assert gather(source, rows, chain)[0, 0] == 0
    with numpy.errstate(under="raise"), pytest.raises(FloatingPointError, match="underflow"):
        gather(source, rows, chain)


@pytest.mark.parametrize("target", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_the_ends_of_an_integer_type_are_told_apart(dtype, target):
    ends = numpy.iinfo(target)
    near = [float(end) + delta for end in (ends.min, ends.max) for delta in (-1, -0.9, 0, 0.9, 1)]
    with numpy.errstate(over="ignore"):
        values = numpy.array([*near, 0.5, -0.5, -1.0, 65504, -65504], dtype)
    values = numpy.concatenate(
        [values, numpy.nextafter(values, values.dtype.type(0)), values[::-1]]
    )
    chain = Arithmetic.of(dtype, (), [("cast", target)])
    for place in range(len(values)):  # one by one, so that one out of range hides no other
        assert_same(chain, values, numpy.array([place]))


def test_the_types_are_numpys():
    def result(dtype, *steps):
        return Arithmetic.of(dtype, (3,), steps).dtype

    assert result("u1", ("multiply", 0.5)) == "f8"
    assert result("f4", ("multiply", 0.5)) == "f4"
    assert result("u1", ("multiply", numpy.float32(0.5))) == "f4"
    assert result("u2", ("add", numpy.zeros(3, "f2"))) == "f4"
    assert result("i2", ("divide", 2)) == "f8"
    assert result("f2", ("divide", 2)) == "f2"
    assert result("?", ("multiply", 3)) == (numpy.ones(1, bool) * 3).dtype
    assert (
        result("f4", ("multiply", numpy.array(0.5)))
        == (numpy.ones(1, "f4") * numpy.array(0.5)).dtype
    )
    assert result("u1", ("multiply", [1, 2, 3])) == "i8"


@pytest.mark.parametrize(
    ("dtype", "shape", "steps"),
    [
        ("f4", (3,), [("multiply", numpy.ones((2, 3)))]),  # varies from row to row
        ("f4", (3,), [("multiply", numpy.ones((1, 1, 3)))]),  # another axis
        ("f4", (1,), [("multiply", numpy.ones(3))]),  # a longer row
        ("f4", (1,), [("multiply", numpy.ones(0))]),
        ("f4", (3,), [("multiply", numpy.ones(2))]),
        ("f4", (3,), [("multiply", [[1], [2, 3]])]),
        ("?", (3,), [("multiply", True)]),  # logic
        ("?", (3,), [("add", numpy.ones(3, bool))]),
        ("f4", (3,), [("multiply", 1j)]),
        ("c8", (3,), [("multiply", 2)]),
        ("f4", (3,), [("cast", "c8")]),
        ("f4", (3,), [("cast", "S3")]),
        ("f4", (3,), [("cast", ">f4")]),
        ("f4", (3,), [("cast", "O")]),
        ("g", (3,), [("multiply", 2)]),
        ("f4", (3,), [("multiply", numpy.ones(3, "g"))]),
        ("M8[s]", (3,), [("add", 1)]),
        ("i8", (3,), [("add", numpy.timedelta64(1, "s"))]),
        ("f4", (3,), [("multiply", "2")]),
        ("f4", (3,), [("multiply", None)]),
        ("f4", (3,), [("multiply", numpy.ma.array([1.0, 2.0, 3.0]))]),
        ("f4", (3,), [("divide", 0)]),
        ("f4", (3,), [("multiply", numpy.array([1, 2, "a"], object))]),
        ("O", (3,), []),
        ("S0", (3,), []),
    ],
)
def test_what_is_no_chain_is_left_to_numpy(dtype, shape, steps):
    assert Arithmetic.of(dtype, shape, steps) is None


@pytest.mark.parametrize("dtype", ["c8", "c16", "M8[s]", "S3", ">i4", [("a", "i4"), ("b", "f8")]])
def test_without_steps_every_type_without_objects_is_copied(dtype):
    chain = Arithmetic.of(dtype, (2,), [])
    assert chain.dtype == chain.input == numpy.dtype(dtype)
    source = numpy.arange(6).astype(numpy.dtype(dtype), casting="unsafe").reshape(3, 2)
    got = gather(source, numpy.array([2, 0]), chain)
    assert got.dtype == source.dtype
    assert got.tolist() == source[[2, 0]].tolist()


def test_operands_are_read_when_the_chain_is_made():
    factor = numpy.ones(2, "f4")
    chain = Arithmetic.of("f4", (2,), [("multiply", factor)])
    factor[:] = 7
    source = numpy.ones((1, 2), "f4")
    assert gather(source, numpy.array([0]), chain).tolist() == [[1, 1]]
    assert chain.reference(source).tolist() == [[1, 1]]


def test_a_step_of_another_name_is_refused():
    with pytest.raises(ValueError, match="'multiply', 'add', 'divide' and 'cast', got 'power'"):
        Arithmetic.of("f4", (2,), [("power", 2)])


def test_it_pickles_as_what_it_was_made_of():
    chain = Arithmetic.of("u1", (2,), [("multiply", numpy.array([0.5, 2])), ("cast", "float32")])
    copy = pickle.loads(pickle.dumps(chain))
    source = numpy.array([[3, 4]], "u1")
    assert gather(source, numpy.array([0]), copy).tolist() == [[1.5, 8.0]]
    assert repr(copy) == "<Arithmetic of (2,) uint8 to float32: multiply, cast>"


def test_the_setting_is_read_and_checked(monkeypatch):
    monkeypatch.setenv("FUEL_KERNELS_SIMD", "baseline")
    assert arithmetic._configured() == 0
    monkeypatch.setenv("FUEL_KERNELS_SIMD", "fast")
    with pytest.raises(ConfigurationError, match="must be 'baseline', got 'fast'"):
        arithmetic._configured()


def test_the_numpy_form_does_the_same():
    code = (
        "import numpy\n"
        "from fuel.kernels.arithmetic import Arithmetic\n"
        "from fuel.kernels.gather import gather\n"
        "from fuel.kernels.crop import crop\n"
        "chain = Arithmetic.of('u1', (1, 2), [('multiply', 0.5), ('cast', 'float32')])\n"
        "images = numpy.arange(8, dtype='u1').reshape(4, 1, 2)\n"
        "print(gather(images, [2, 0], chain).tolist(), gather(images, [3]).tolist())\n"
        "print(crop(images, [1], [0], [0], (1, 2), layout='HW', arithmetic=chain).tolist())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "FUEL_KERNELS": "reference"},
    )
    assert done.stdout.split("\n")[:2] == [
        "[[[2.0, 2.5]], [[0.0, 0.5]]] [[[6, 7]]]",
        "[[[1.0, 1.5]]]",
    ]


@pytest.mark.parametrize("level", LEVELS)
def test_any_byte_but_zero_is_true(level):
    # Views and files may hold truth values that NumPy itself would have written as 1.
    source = numpy.array([[0, 1, 2, 255] * 10], "u1").view(bool)
    for steps in (
        [("multiply", 0.5)],
        [("multiply", 0.5), ("add", numpy.arange(40.0)), ("cast", "f4")],
        [("add", numpy.float32(1)), ("divide", numpy.float32(3))],
        [("add", 1.0), ("multiply", 2.0), ("add", 1.0)],
        [("add", numpy.int8(1))],
        *([("cast", dtype)] for dtype in TYPES if dtype.kind != "b"),
    ):
        with instructions(level):
            assert_same(Arithmetic.of(bool, (40,), steps), source, numpy.array([0]))
