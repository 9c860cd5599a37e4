"""Names, ordinals, independence, and what restoring costs."""

from __future__ import annotations

import json
import pickle

import numpy
import pytest

from fuel.config_parser import config
from fuel.datasets import IndexableDataset
from fuel.plan import Context, prefix, step_names, walk
from fuel.rng import example_rng
from fuel.schemes import ConstantScheme, PermutedExampleScheme, PermutedScheme, SequentialScheme
from fuel.streams import DataStream
from fuel.transformers import Batch, Cast, Filter, Mapping, ScaleAndShift, Transformer, Unpack


class Counted(IndexableDataset):
    """Counts how often it was read; the count is no part of the data."""

    def __init__(self, examples=12):
        super().__init__({"x": numpy.arange(examples)})

    calls = 0

    def get_data(self, state=None, request=None):
        type(self).calls += 1
        return super().get_data(state, request)


class Endless:
    """A dataset of 2**62 examples, each its own index."""

    sources = ("x",)
    axis_labels = None
    num_examples = 2**62
    calls = 0

    def open(self):
        return None

    def close(self, state):
        return None

    reset = next_epoch = lambda self, state: None

    def get_data(self, state=None, request=None):
        type(self).calls += 1
        return (numpy.asarray(request, dtype=numpy.int64),)


class Draw(Transformer):
    """Adds a draw for each example."""

    elementwise = True

    def __init__(self, data_stream, **kwargs):
        super().__init__(data_stream, data_stream.produces_examples, **kwargs)

    def apply(self, data, context):
        (x,) = data
        if self.produces_examples:
            return (x + context.rng(self).uniform(),)
        return (numpy.array([n + context.rng(self, i).uniform() for i, n in enumerate(x)]),)


def source(size=3, examples=12, **kwargs):
    dataset = IndexableDataset({"x": numpy.arange(examples)})
    return DataStream(dataset, iteration_scheme=SequentialScheme(examples, size), **kwargs)


def values(stream):
    return numpy.concatenate([numpy.atleast_1d(x) for (x,) in stream]).tolist()


def test_steps_are_named_by_class_function_or_user_and_counted_from_the_source():
    def double(data):
        return data

    stream = Cast(Mapping(Cast(Draw(source(), name="noise"), "f4"), double), "f8")
    names = step_names(stream)
    assert [names[id(step)] for step in walk(stream)] == [
        "DataStream",
        "noise",
        "Cast",
        "Mapping(test_steps_are_named_by_class_function_or_user_and_counted_from_the_source"
        ".<locals>.double)",
        "Cast#2",
    ]
    for name in names.values():
        assert name in stream.explain()


def test_a_step_of_another_name_changes_no_draw():
    plain = values(Draw(source()))
    assert values(Draw(ScaleAndShift(source(), 1, 0))) == plain
    assert values(Draw(Draw(source(), name="other"))) != plain
    assert values(Draw(source(), name="other")) != plain


def test_draws_depend_on_the_ordinal_and_not_on_the_batch_size():
    assert values(Draw(source(3))) == values(Draw(source(5))) == values(Draw(source(100)))
    examples = Draw(Unpack(source(4)))
    assert values(Batch(examples, ConstantScheme(7))) == values(Draw(source(3)))


def test_draws_are_those_of_the_published_address():
    seed = config.default_seed
    expected = [n + example_rng(seed, 0, n, "Draw").uniform() for n in range(12)]
    assert values(Draw(source())) == expected


def test_the_seed_is_the_steps_else_the_streams_else_the_settings():
    own = values(Draw(source(), seed=7))
    assert own == values(Draw(source(seed=3), seed=7))
    assert own == values(Draw(source(seed=7)))
    assert own != values(Draw(source()))
    with config.override(default_seed=7):
        assert own == values(Draw(source()))


def test_seed_and_epoch_are_not_added():
    def epochs(seed):
        stream = Draw(source(seed=seed))
        return [values(stream) for _ in range(3)]

    found = [tuple(one) for seed in range(3) for one in epochs(seed)]
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("bad", [1.5, "one", True, numpy.array([1])])
def test_a_seed_that_is_no_integer_is_refused(bad):
    with pytest.raises(ValueError, match="seed"):
        source(seed=bad)


def test_ordinals_travel_through_reshaping_steps():
    seen = []

    class Look(Transformer):
        def __init__(self, data_stream):
            super().__init__(data_stream, data_stream.produces_examples)

        def apply(self, data, context):
            seen.append((context.epoch, numpy.atleast_1d(context.ordinals).tolist()))
            return data

    stream = Look(Batch(Filter(Unpack(source(5)), lambda data: data[0] % 3), ConstantScheme(3)))
    for _ in range(2):
        for (x,) in stream:
            assert seen[-1][1] == x.tolist()
    assert [epoch for epoch, _ in seen] == [0, 0, 0, 1, 1, 1]


def test_children_of_one_ordinal_have_addresses_of_their_own():
    top = Context(0, 5)
    addresses = {top.child(i).child(j).address() for i in range(20) for j in range(20)}
    addresses |= {top.child(i).address() for i in range(20)}
    assert all(ordinal == 5 for ordinal, _ in addresses)
    assert len(addresses) >= 20 * 20


def test_two_iterators_take_the_next_epochs_and_do_not_disturb_each_other():
    stream = DataStream(Counted(), iteration_scheme=PermutedScheme(12, 5, seed=1))
    one, other = stream.get_epoch_iterator(), stream.get_epoch_iterator()
    mixed = [(next(one)[0].tolist(), next(other)[0].tolist()) for _ in range(3)]
    fresh = DataStream(Counted(), iteration_scheme=PermutedScheme(12, 5, seed=1))
    assert [x for x, _ in mixed] == [x.tolist() for (x,) in fresh]
    assert [x for _, x in mixed] == [x.tolist() for (x,) in fresh]


def test_the_prefix_is_the_elementwise_steps_right_above_the_source():
    stream = Cast(Filter(ScaleAndShift(source(), 2, 0), lambda data: True), "f4")
    below, ahead, rest = prefix(stream)
    assert [type(step).__name__ for step in (below, *ahead)] == ["DataStream", "ScaleAndShift"]
    assert [type(step).__name__ for step in rest] == ["Filter", "Cast"]


def far(stream, place):
    """Return the state of a stream's iterator a long way into its epoch."""
    iterator = stream.get_epoch_iterator()
    state = iterator.state_dict()
    requests = iterator._run.cursor
    while requests.child is not None:
        requests = requests.child
    requests.requests.seek(place)
    requests.mark = requests.requests.tell()
    del state
    return iterator


@pytest.mark.parametrize("batch", [1, 256])
def test_restoring_a_million_examples_in_reads_nothing_where_nothing_buffers(batch):
    def make():
        scheme = (
            PermutedScheme(2**62, batch, seed=3)
            if batch > 1
            else PermutedExampleScheme(2**62, seed=3)
        )
        return Cast(ScaleAndShift(DataStream(Endless(), iteration_scheme=scheme), 2, 1), "f8")

    iterator = far(make(), 10**6)
    state = json.loads(json.dumps(iterator.state_dict()))
    assert len(json.dumps(state)) < 2048
    resumed = make().get_epoch_iterator()
    before = Endless.calls
    resumed.load_state_dict(state)
    unpickled = pickle.loads(pickle.dumps(iterator))
    assert Endless.calls == before
    expected = next(iterator)[0]
    numpy.testing.assert_array_equal(next(resumed)[0], expected)
    numpy.testing.assert_array_equal(next(unpickled)[0], expected)


def test_restoring_a_million_examples_in_reads_again_only_what_a_buffer_holds():
    def make():
        scheme = PermutedScheme(2**62, 10, seed=3)
        stream = Unpack(DataStream(Endless(), iteration_scheme=scheme))
        return Batch(stream, ConstantScheme(4))

    iterator = far(make(), 10**6)
    for _ in range(3):
        next(iterator)
    state = json.loads(json.dumps(iterator.state_dict()))
    assert len(json.dumps(state)) < 2048
    resumed = make().get_epoch_iterator()
    before = Endless.calls
    resumed.load_state_dict(state)
    expected = next(iterator)[0]
    calls = Endless.calls
    numpy.testing.assert_array_equal(next(resumed)[0], expected)
    assert calls - before <= 1
    assert Endless.calls - before <= 2


def test_an_error_leaves_the_position_behind_the_last_item_delivered():
    class Fails(IndexableDataset):
        def get_data(self, state=None, request=None):
            if 4 in request:
                raise OSError("unreadable")
            return super().get_data(state, request)

    dataset = Fails({"x": numpy.arange(8)})
    stream = DataStream(dataset, iteration_scheme=SequentialScheme(8, 2))
    iterator = stream.get_epoch_iterator()
    next(iterator), next(iterator)
    with pytest.raises(OSError, match="unreadable"):
        next(iterator)
    healthy = DataStream(
        IndexableDataset({"x": numpy.arange(8)}), iteration_scheme=SequentialScheme(8, 2)
    )
    healthy.load_state_dict(iterator.state_dict())
    assert next(iter(healthy))[0].tolist() == [4, 5]


def test_no_global_generator_is_read_or_written():
    state = numpy.random.get_state()[1].copy()
    for _ in Draw(DataStream(Counted(), iteration_scheme=PermutedScheme(12, 5))):
        pass
    numpy.testing.assert_array_equal(numpy.random.get_state()[1], state)
    numpy.random.seed(1)
    one = values(Draw(source()))
    numpy.random.seed(2)
    assert values(Draw(source())) == one


def test_a_stream_is_true_and_its_length_exact_or_an_error():
    assert bool(source())
    assert len(source()) == 4
    with pytest.raises(TypeError, match="not known"):
        len(Filter(source(), lambda data: True))
    assert len(Batch(Unpack(source()), ConstantScheme(5))) == 3
