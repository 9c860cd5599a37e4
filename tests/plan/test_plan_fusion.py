"""Laws of fusion: a chain done by kernels gives what its steps give one after the other."""

from __future__ import annotations

import pickle
import warnings
from unittest import mock

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuel.datasets import IndexableDataset
from fuel.exceptions import RequestError
from fuel.plan import _fusion, _passes
from fuel.schemes import (
    ConstantScheme,
    PermutedExampleScheme,
    PermutedScheme,
    SequentialExampleScheme,
    SequentialScheme,
    ShuffledExampleScheme,
    ShuffledScheme,
)
from fuel.streams import DataStream
from fuel.transformers import (
    Batch,
    Cast,
    FilterSources,
    Flatten,
    ForceFloatX,
    Mapping,
    Rename,
    ScaleAndShift,
)

DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", ">f4", ">i2"]
EXAMPLES = 7


class Distant(IndexableDataset):
    """The same data; but what a request means is said by a class of a user's."""

    def get_data(self, state=None, request=None):
        return super().get_data(state, request)


#: Let each step do its work by itself.
step_by_step = mock.patch("fuel.plan._fusion.fuse", lambda cursor: None)


def data_of(dtype, shape, seed):
    raw = numpy.random.RandomState(seed).bytes(
        EXAMPLES * int(numpy.prod(shape)) * numpy.dtype(dtype).itemsize
    )
    if dtype == "?":
        return (numpy.frombuffer(raw, "u1") % 2).astype("?").reshape((EXAMPLES, *shape))
    return numpy.frombuffer(raw, dtype).reshape((EXAMPLES, *shape)).copy()


@st.composite
def operands(draw, shape):
    kind = draw(st.sampled_from(["int", "float", "numpy", "array", "channel", "leading", "list"]))
    number = draw(st.sampled_from([0, 1, 2, -1, 0.5, 1 / 255, -3.75, 1e30, 255]))
    if kind == "int":
        return int(number) if abs(number) < 1000 else 3
    if kind == "float":
        return float(number)
    dtype = draw(st.sampled_from(["f4", "f8", "i2", "f2"]))
    value = number if abs(number) < 1000 else 2
    if kind == "numpy":
        return numpy.dtype(dtype).type(value)
    if kind == "array" or not shape:
        return numpy.full((), value, dtype)
    if kind == "list":
        return [value] * shape[-1]
    counting = numpy.arange(1, 1 + int(numpy.prod(shape)), dtype=dtype) * numpy.dtype(dtype).type(2)
    if kind == "channel":
        return counting[: shape[0]].reshape((shape[0],) + (1,) * (len(shape) - 1))
    return counting.reshape((1, *shape))


@st.composite
def chains(draw):
    """Return (functions that wrap a stream, in order) for a row shape."""
    dtype = draw(st.sampled_from(DTYPES))
    shape = draw(st.sampled_from([(), (1,), (5,), (2, 3), (3, 2, 2), (1, 2, 1, 3)]))
    which = st.sampled_from([None, ("x",), ("y",), ("x", "y")])
    steps = []
    for _ in range(draw(st.integers(1, 4))):
        kind = draw(
            st.sampled_from(
                ["scale", "scale", "cast", "cast", "flatten", "float", "filter", "name"]
            )
        )
        chosen = draw(which)
        if kind == "scale":
            scale, shift = draw(operands(shape)), draw(operands(shape))
            steps.append((ScaleAndShift, (scale, shift), {"which_sources": chosen}))
        elif kind == "cast":
            to = draw(st.sampled_from(["u1", "i4", "i8", "f4", "f8", "f2", "c16", ">f8", "?"]))
            steps.append((Cast, (to,), {"which_sources": chosen}))
        elif kind == "flatten":
            steps.append((Flatten, (), {"which_sources": chosen}))
        elif kind == "float":
            steps.append((ForceFloatX, (), {"which_sources": chosen}))
        elif kind == "filter":
            steps.append((FilterSources, (("x",),), {}))
        else:
            steps.append((Rename, ({"x": "x"},), {"on_non_existent": "ignore"}))
    return dtype, shape, steps


SCHEMES = {
    "sequential": lambda n: SequentialScheme(n, 3),
    "shuffled": lambda n: ShuffledScheme(n, 3, rng=numpy.random.RandomState(4)),
    "sorted": lambda n: ShuffledScheme(n, 3, rng=numpy.random.RandomState(4), sorted_indices=True),
    "permuted": lambda n: PermutedScheme(n, 2, seed=3),
    "list": lambda n: SequentialScheme([4, 4, 0, 6, 1], 2),
    "array": lambda n: SequentialScheme(numpy.array([3, 1, 1], "i4"), 2),
    "examples": lambda n: SequentialExampleScheme(n),
    "shuffled examples": lambda n: ShuffledExampleScheme(n, rng=numpy.random.RandomState(5)),
    "permuted examples": lambda n: PermutedExampleScheme(n, seed=3),
}


def built(cls, dtype, shape, steps, scheme, strictness):
    sources = {"x": data_of(dtype, shape, 1), "y": data_of("u1", (2, 2), 2)}
    stream = DataStream(cls(sources), iteration_scheme=SCHEMES[scheme](EXAMPLES))
    for step, arguments, named in steps:
        stream = step(stream, *arguments, **named)
    if strictness is not None and stream.produces_examples:
        stream = Batch(stream, ConstantScheme(3), strictness)
    return stream


def evaluated(stream):
    """Return the items of two epochs, each with the place behind it; or the error, and warnings."""
    found = []
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(2):
            iterator = stream.get_epoch_iterator()
            while True:
                try:
                    item = next(iterator)
                except StopIteration:
                    found.append((None, iterator.state_dict()))
                    break
                except Exception as error:
                    found.append((type(error), str(error)))
                    break
                found.append((item, iterator.state_dict()))
    return found, {warning.category for warning in said}


def assert_same(one, other):
    assert type(one) is type(other)
    if isinstance(one, tuple):
        assert len(one) == len(other)
        for a, b in zip(one, other):
            assert_same(a, b)
    elif isinstance(one, (numpy.ndarray, numpy.generic)):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        if one.dtype == object:
            assert_same(tuple(one.tolist()), tuple(other.tolist()))
        elif one.dtype.kind in "fc":
            numpy.testing.assert_array_equal(one, other)
            if one.dtype.kind == "f":  # zeros have signs
                finite = ~numpy.isnan(one)
                assert (numpy.signbit(one) == numpy.signbit(other))[finite].all()
        else:
            assert one.tobytes() == other.tobytes()
    else:
        assert one == other


@settings(max_examples=300, deadline=None)
@given(chains(), st.sampled_from(sorted(SCHEMES)), st.sampled_from([None, 0, 1, 2]))
def test_fused_equals_unfused(chain, scheme, strictness):
    with step_by_step:
        unfused, said_unfused = evaluated(built(Distant, *chain, scheme, strictness))
    for dataset in (IndexableDataset, Distant):
        fused, said = evaluated(built(dataset, *chain, scheme, strictness))
        assert len(fused) == len(unfused)
        for (item, state), (wanted, state_wanted) in zip(fused, unfused):
            assert_same(item, wanted)
            assert state == state_wanted
        assert said == said_unfused


def images(**kwargs):
    pixels = numpy.arange(7 * 3 * 2 * 2, dtype="u1").reshape(7, 3, 2, 2)
    return IndexableDataset({"x": pixels, "y": numpy.arange(7)}, **kwargs)


def counted(monkeypatch):
    """Count the calls of kernels for a whole item."""
    calls = []
    item = _fusion.Fused.item

    def counting(self):
        calls.append(self.count)
        return item(self)

    monkeypatch.setattr(_fusion.Fused, "item", counting)
    return calls


def test_the_chain_that_everybody_writes_is_fused(monkeypatch):
    calls = counted(monkeypatch)
    stream = DataStream(images(), iteration_scheme=ShuffledScheme(7, 4))
    stream = Cast(ScaleAndShift(stream, 1 / 255.0, 0, which_sources=("x",)), "float32")
    list(stream)
    assert calls == [2, 2, 2]
    assert "fused: ScaleAndShift, Cast, in one pass over the rows of DataStream" in stream.explain()


def test_a_subclass_that_overrides_a_method_is_not_fused(monkeypatch):
    class Louder(ScaleAndShift):
        def transform_any_source(self, source_data, source_name):
            return super().transform_any_source(source_data, source_name) * 2

    calls = counted(monkeypatch)
    below = DataStream(images(), iteration_scheme=SequentialScheme(7, 7))
    stream = Louder(below, 1.0, 0, which_sources=("x",))
    (item,) = list(stream)
    numpy.testing.assert_array_equal(item[0], below.dataset.x * 2.0)
    assert calls == []
    assert "fused: nothing" in stream.explain()


def test_a_step_above_what_cannot_be_fused_still_runs(monkeypatch):
    calls = counted(monkeypatch)

    class Odd(Cast):
        def transform_any_source(self, source_data, source_name):
            return source_data + 1

    below = DataStream(images(), iteration_scheme=SequentialScheme(7, 7))
    stream = ScaleAndShift(Odd(ScaleAndShift(below, 2, 0), "u1"), 1, 1)
    (item,) = list(stream)
    numpy.testing.assert_array_equal(item[1], numpy.arange(7) * 2 + 2)
    assert set(calls) == {1}


def test_attributes_changed_in_mid_epoch_count_from_the_next_item():
    stream = ScaleAndShift(DataStream(images(), iteration_scheme=SequentialScheme(7, 2)), 2, 0)
    iterator = stream.get_epoch_iterator()
    numpy.testing.assert_array_equal(next(iterator)[1], [0, 2])
    stream.scale = 10
    numpy.testing.assert_array_equal(next(iterator)[1], [20, 30])


def test_data_changed_in_mid_epoch_is_seen():
    dataset = images()
    stream = ScaleAndShift(DataStream(dataset, iteration_scheme=SequentialScheme(7, 2)), 2, 0)
    iterator = stream.get_epoch_iterator()
    next(iterator)
    dataset.indexables[1][:] = 5
    numpy.testing.assert_array_equal(next(iterator)[1], [10, 10])
    dataset.indexables[1] = numpy.full(7, 0.5)
    numpy.testing.assert_array_equal(next(iterator)[1], [1.0, 1.0])


@pytest.mark.parametrize("rows", [[0, 7], [-1, 0], [0, True], [2**70], [0.5]])
def test_requests_that_cannot_be_answered_are_worded_by_the_dataset(rows):
    fused = ScaleAndShift(DataStream(images(), iteration_scheme=SequentialScheme(rows, 2)), 2, 0)
    plain = DataStream(images(), iteration_scheme=SequentialScheme(rows, 2))
    with pytest.raises(ValueError) as error:
        next(fused.get_epoch_iterator())
    with pytest.raises(ValueError) as wanted:
        plain.dataset.get_data(None, rows)
    assert str(error.value) == str(wanted.value)


def test_an_empty_dataset_says_so():
    empty = IndexableDataset({"x": numpy.zeros((0, 2), "u1")})
    stream = Cast(DataStream(empty, iteration_scheme=SequentialScheme([0], 1)), "f4")
    with pytest.raises(RequestError, match="is empty"):
        next(iter(stream))


def test_what_is_handed_out_is_not_the_dataset_s():
    dataset = images()
    before = dataset.x.copy()
    for scheme in (SequentialScheme(7, 3), SequentialExampleScheme(7)):
        for item in Flatten(DataStream(dataset, iteration_scheme=scheme)):
            item[0][...] = 99
    numpy.testing.assert_array_equal(dataset.x, before)


def test_a_fused_pass_pickles_in_mid_epoch():
    stream = Cast(DataStream(images(), iteration_scheme=ShuffledScheme(7, 2)), "f4")
    iterator = stream.get_epoch_iterator()
    next(iterator)
    copy = pickle.loads(pickle.dumps(iterator))
    for item, other in zip(iterator, copy, strict=True):
        assert_same(item, other)


def test_ragged_examples_batched_at_once_are_the_users_own():
    rows = [numpy.arange(n) for n in (1, 2, 3, 3)]
    for container in (rows, None):
        if container is None:
            container = numpy.empty(4, object)
            container[:] = rows
        below = DataStream(
            IndexableDataset({"x": container}), iteration_scheme=SequentialExampleScheme(4)
        )
        ragged, dense = list(Batch(below, ConstantScheme(2)))
        assert ragged[0].dtype == object and dense[0].shape == (2, 3)
        ragged[0][0][:] = 99
        dense[0][:] = 99
        assert [row.tolist() for row in rows] == [[0], [0, 1], [0, 1, 2], [0, 1, 2]]


def test_a_vector_of_an_example_is_the_users_own():
    kept = numpy.arange(6).reshape(2, 3)
    below = DataStream(images(), iteration_scheme=SequentialExampleScheme(7))
    stream = Mapping(below, lambda data: (kept, numpy.arange(2)))
    stream = Flatten(ScaleAndShift(stream, 2, 0, which_sources=("y",)), which_sources=("x",))
    for vector, _ in stream:
        vector[:] = 99
    assert kept.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_items_whose_form_changes_are_calculated_with_rightly():
    def changing(data):
        (number,) = data[1]
        return numpy.full((1, 2 + number % 2), number, ["u1", "f4", "i8"][number % 3]), data[1]

    below = DataStream(images(), iteration_scheme=SequentialScheme(7, 1))
    stream = Cast(ScaleAndShift(Mapping(below, changing), 0.1, 1, which_sources=("x",)), "f4")
    with step_by_step:
        wanted = list(stream)
    for item, other in zip(stream, wanted, strict=True):
        assert_same(item, other)


def test_steps_above_a_users_function_are_one_pass(monkeypatch):
    done = []
    columns = _passes.OnePass._columns

    def counting(self, data, context):
        done.append(self.count)
        return columns(self, data, context)

    monkeypatch.setattr(_passes.OnePass, "_columns", counting)
    below = DataStream(images(), iteration_scheme=SequentialScheme(7, 4))
    stream = Cast(ScaleAndShift(Mapping(below, lambda data: data), 2, 1), "f4")
    list(stream)
    assert done == [2, 2]
    told = stream.explain().splitlines()
    assert [line.count("in one pass with its neighbours") for line in told] == [1, 1, 0, 0, 0]
