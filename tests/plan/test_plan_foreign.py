"""Steps that users wrote the old way run as they always did, and resume all the same."""

from __future__ import annotations

import numpy
import pytest

from fuel.datasets import IndexableDataset, IterableDataset
from fuel.exceptions import IteratorInvalidatedError, StateError
from fuel.iterator import DataIterator
from fuel.schemes import (
    IterationScheme,
    PermutedScheme,
    SequentialExampleScheme,
    SequentialScheme,
    ShuffledExampleScheme,
    ShuffledScheme,
)
from fuel.streams import AbstractDataStream, DataStream
from fuel.testing import StreamContract, assert_resumes_everywhere
from fuel.transformers import AgnosticTransformer, Transformer


def batches(examples=10, size=3):
    dataset = IndexableDataset({"x": numpy.arange(examples), "y": numpy.arange(examples) * 2.0})
    return DataStream(dataset, iteration_scheme=ShuffledScheme(examples, size))


def single(examples=7):
    dataset = IndexableDataset({"x": numpy.arange(examples), "y": numpy.arange(examples) * 2.0})
    return DataStream(dataset, iteration_scheme=ShuffledExampleScheme(examples))


class Counting(AgnosticTransformer):
    """Adds how many items it has seen, over all epochs."""

    def __init__(self, data_stream, **kwargs):
        super().__init__(data_stream, data_stream.produces_examples, **kwargs)
        self.count = 0

    def transform_any(self, data):
        self.count += 1
        return tuple(column + self.count for column in data)


class Noisy(AgnosticTransformer):
    """Draws from a generator of its own."""

    def __init__(self, data_stream, **kwargs):
        super().__init__(data_stream, data_stream.produces_examples, **kwargs)
        self.rng = numpy.random.RandomState(5)
        self.other = numpy.random.default_rng(6)

    def transform_any(self, data):
        return tuple(column + self.rng.uniform() + self.other.normal() for column in data)


class PairUp(Transformer):
    """Joins two items to one, in ``get_data``, as programs did."""

    def __init__(self, data_stream, **kwargs):
        super().__init__(data_stream, produces_examples=True, **kwargs)

    def get_data(self, request=None):
        if request is not None:
            raise ValueError
        first = next(self.child_epoch_iterator)
        second = next(self.child_epoch_iterator)
        return tuple(numpy.array(pair) for pair in zip(first, second, strict=True))


class Repeating(Transformer):
    """Yields each item twice, remembering the last one on itself as an array."""

    def __init__(self, data_stream, **kwargs):
        super().__init__(data_stream, data_stream.produces_examples, **kwargs)

    def get_epoch_iterator(self, **kwargs):
        self.last = None
        return super().get_epoch_iterator(**kwargs)

    def get_data(self, request=None):
        if self.last is not None:
            data, self.last = self.last, None
            return data
        self.last = next(self.child_epoch_iterator)
        return self.last


class Objects(Transformer):
    """Holds objects that no JSON can hold, but nothing from one epoch to the next."""

    def __init__(self, data_stream, **kwargs):
        super().__init__(data_stream, data_stream.produces_examples, **kwargs)
        self.held = []

    def get_epoch_iterator(self, **kwargs):
        self.held = []
        return super().get_epoch_iterator(**kwargs)

    def get_data(self, request=None):
        while len(self.held) < 2:
            self.held.append((object(), next(self.child_epoch_iterator)))
        return self.held.pop(0)[1]


class OwnLoop(AbstractDataStream):
    """A source of its own, with a scheme."""

    sources = ("n",)

    def __init__(self):
        super().__init__(iteration_scheme=ShuffledExampleScheme(6))

    def get_data(self, request=None):
        return (request * 10,)

    def get_epoch_iterator(self, **kwargs):
        return super().get_epoch_iterator(**kwargs)


class Generated(Transformer):
    """A generator function for an epoch."""

    def __init__(self, data_stream, **kwargs):
        super().__init__(data_stream, data_stream.produces_examples, **kwargs)

    def get_epoch_iterator(self, as_dict=False):
        for data in self.data_stream.get_epoch_iterator():
            yield data
            yield data


class Negate(AgnosticTransformer):
    elementwise = True

    def __init__(self, data_stream, **kwargs):
        super().__init__(data_stream, data_stream.produces_examples, **kwargs)

    def transform_any(self, data):
        return tuple(-column for column in data)


class Drawing(Transformer):
    elementwise = True

    def __init__(self, data_stream, **kwargs):
        super().__init__(data_stream, data_stream.produces_examples, **kwargs)

    def apply(self, data, context):
        return tuple(column + context.rng(self).uniform() for column in data)


class TestCounting(StreamContract):
    independent = False
    max_state_bytes = None

    def make_stream(self):
        return Counting(batches())


class TestNoisy(StreamContract):
    independent = False
    max_state_bytes = None

    def make_stream(self):
        return Noisy(Negate(batches()))


class TestPairUp(StreamContract):
    independent = False
    max_state_bytes = None

    def make_stream(self):
        return PairUp(single())


class TestRepeating(StreamContract):
    independent = False
    max_state_bytes = None

    def make_stream(self):
        return Negate(Repeating(batches()))


class TestObjects(StreamContract):
    independent = False
    max_state_bytes = None

    def make_stream(self):
        return Negate(Objects(batches()))

    def test_it_resumes_everywhere(self):
        # Plain objects have no pickles that are equal, but the state needs none of them.
        assert_resumes_everywhere(self.make_stream)


class TestOwnLoop(StreamContract):
    independent = False
    max_state_bytes = None

    def make_stream(self):
        return OwnLoop()


class TestDrawing(StreamContract):
    max_state_bytes = None

    def make_stream(self):
        return Negate(Drawing(batches()))


def test_a_generator_function_in_the_middle_of_a_chain_is_resumed_by_running_it_again():
    assert_resumes_everywhere(lambda: Negate(Generated(single())), pickles=False)


def test_a_second_iterator_of_an_old_style_step_makes_the_first_raise_naming_the_class():
    stream = Negate(PairUp(single()))
    one = stream.get_epoch_iterator()
    next(one)
    other = stream.get_epoch_iterator()
    with pytest.raises(IteratorInvalidatedError, match="PairUp"):
        next(one)
    assert len(list(other)) == 3


def test_old_style_iterators_built_directly_work_and_say_why_they_have_no_state():
    class Direct(AbstractDataStream):
        sources = ("n",)

        def get_data(self, request=None):
            return (request,)

        def get_epoch_iterator(self, as_dict=False):
            return DataIterator(self, self.iteration_scheme.get_request_iterator(), as_dict)

    stream = Direct(iteration_scheme=SequentialExampleScheme(3))
    assert list(stream.get_epoch_iterator(as_dict=True)) == [{"n": 0}, {"n": 1}, {"n": 2}]
    with pytest.raises(StateError, match="super"):
        stream.get_epoch_iterator().state_dict()


def test_old_style_assignment_of_the_child_iterator_works():
    class Old(Transformer):
        def get_epoch_iterator(self, as_dict=False):
            self.child_epoch_iterator = self.data_stream.get_epoch_iterator()
            return DataIterator(self, None, as_dict)

        def transform_example(self, example):
            return tuple(-column for column in example)

    stream = Old(single(4), produces_examples=True)
    assert sorted(int(x) for x, _ in stream.get_epoch_iterator()) == [-3, -2, -1, 0]
    assert len(list(stream.get_epoch_iterator())) == 4


def test_get_data_may_be_called_beside_the_iterator():
    dataset = IndexableDataset({"x": numpy.arange(6)})
    stream = Negate(DataStream(dataset, iteration_scheme=SequentialExampleScheme(6)))
    iterator = stream.get_epoch_iterator()
    assert next(iterator) == (0,)
    assert stream.get_data() == (-1,)
    assert next(iterator) == (-2,)


def test_get_data_works_when_the_iterator_was_not_kept():
    dataset = IndexableDataset({"x": numpy.arange(3)})
    stream = Negate(DataStream(dataset, iteration_scheme=SequentialExampleScheme(3)))
    stream.get_epoch_iterator()
    assert [stream.get_data()[0] for _ in range(3)] == [0, -1, -2]
    with pytest.raises(StopIteration):
        stream.get_data()


def test_get_data_before_an_epoch_says_what_to_do():
    with pytest.raises(IteratorInvalidatedError, match="get_epoch_iterator"):
        Negate(single()).get_data()
    with pytest.raises(ValueError, match="takes no requests"):
        Negate(single()).get_data([0])


def test_a_memory_that_cannot_be_written_is_refused_by_name():
    class Keeper(Counting):
        def transform_any(self, data):
            self.kept = [*getattr(self, "kept", []), object()]
            return data

    stream = Keeper(batches())
    for _ in stream:
        pass
    iterator = stream.get_epoch_iterator()
    next(iterator)
    with pytest.raises(StateError, match=r"Keeper keeps 'kept'.*step_state"):
        iterator.state_dict()


def test_a_step_may_describe_its_own_memory():
    class Described(Counting):
        def step_state(self):
            return {"seen": self.count}

        def load_step_state(self, state):
            self.count = state["seen"]

    assert_resumes_everywhere(lambda: Described(batches()), pickles=False)
    stream = Described(batches())
    iterator = stream.get_epoch_iterator()
    next(iterator)
    assert iterator.state_dict()["position"]["memory"] == {"Described": {"own": {"seen": 1}}}


def test_declaring_elementwise_while_holding_a_generator_is_refused_by_name():
    class Wrong(Noisy):
        elementwise = True

    with pytest.raises(ValueError, match=r"Wrong.*RandomState.*'rng'"):
        Wrong(batches()).explain()


def test_an_override_ends_what_its_base_declared():
    class Impure(Negate):
        def transform_any(self, data):
            return data

    class Same(Negate):
        pass

    assert "elementwise: can be evaluated" in Same(batches()).explain()
    assert "elementwise: can be evaluated" not in Impure(batches()).explain()


def test_the_generator_of_a_users_dataset_is_resumed():
    class Noisier(IndexableDataset):
        def __init__(self):
            super().__init__({"x": numpy.arange(5)})
            self.rng = numpy.random.RandomState(1)

        def get_data(self, state=None, request=None):
            return tuple(column + self.rng.uniform() for column in super().get_data(state, request))

    assert_resumes_everywhere(
        lambda: DataStream(Noisier(), iteration_scheme=SequentialScheme(5, 2))
    )


def test_what_a_dataset_counts_or_keeps_at_hand_is_left_alone():
    calls = []

    class Keeping(IndexableDataset):
        shared = 0

        def __init__(self):
            super().__init__({"x": numpy.arange(50)})
            self.calls = 0
            self.kept = {}

        def get_data(self, state=None, request=None):
            calls.append(request)
            type(self).shared += 1
            self.calls += 1
            self.kept[tuple(request)] = object()
            return super().get_data(state, request)

    def make():
        return DataStream(Keeping(), iteration_scheme=PermutedScheme(50, 2, seed=1))

    iterator = make().get_epoch_iterator()
    for _ in range(20):
        next(iterator)
    state = iterator.state_dict()
    resumed = make()
    other = resumed.get_epoch_iterator()
    other.load_state_dict(state)
    assert (len(calls), Keeping.shared, resumed.dataset.calls) == (20, 20, 0)
    numpy.testing.assert_array_equal(next(other)[0], next(iterator)[0])
    assert (Keeping.shared, resumed.dataset.calls) == (22, 1)


def test_a_users_scheme_with_a_generator_is_resumed():
    class Bootstrap(IterationScheme):
        requests_examples = False

        def __init__(self):
            self.rng = numpy.random.RandomState(3)

        def get_request_iterator(self):
            return iter([self.rng.randint(5, size=n).tolist() for n in (2, 3, 1)])

    assert_resumes_everywhere(
        lambda: DataStream(IndexableDataset({"x": numpy.arange(5)}), iteration_scheme=Bootstrap())
    )


def test_iterable_sources_are_resumed():
    assert_resumes_everywhere(
        lambda: Negate(DataStream(IterableDataset({"x": list(range(5)), "y": [0.5] * 5})))
    )


class Shifted(DataStream):
    """A stream over a dataset whose ``get_data`` a user wrote."""

    def get_data(self, request=None):
        return tuple(column + 100 for column in super().get_data(request))


class TestShifted(StreamContract):
    independent = False
    max_state_bytes = None

    def make_stream(self):
        dataset = IndexableDataset({"x": numpy.arange(7)})
        return Shifted(dataset, iteration_scheme=ShuffledScheme(7, 2))


class TestShiftedIterable(StreamContract):
    independent = False
    max_state_bytes = None

    def make_stream(self):
        return Shifted(IterableDataset({"x": list(range(5))}))


def test_a_scheme_that_cannot_be_described_can_still_be_run():
    class Cycling(IterationScheme):
        requests_examples = True

        def __init__(self):
            self.iterator = (n % 5 for n in range(100))

        def get_request_iterator(self):
            return iter([next(self.iterator) for _ in range(3)])

    dataset = IndexableDataset({"x": numpy.arange(5)})
    stream = DataStream(dataset, iteration_scheme=Cycling())
    assert [[int(x) for (x,) in stream] for _ in range(3)] == [[0, 1, 2], [3, 4, 0], [1, 2, 3]]
    with pytest.raises(StateError, match="Cycling keeps 'iterator'"):
        stream.state_dict()
