"""Schemes that users wrote: counted, restored by skipping, their memory kept."""

from __future__ import annotations

import json
import pickle

import numpy
import pytest

from fuel.exceptions import StateDamagedError, StateError, StateMismatchError
from fuel.schemes import (
    BatchScheme,
    BatchSizeScheme,
    ConcatenatedScheme,
    IndexScheme,
    IterationScheme,
    PermutedScheme,
    RequestIterator,
    SequentialScheme,
    ShuffledScheme,
)
from fuel.schemes._base import (
    num_examples,
    num_requests,
    order_state,
    scheme_fingerprint,
    set_order_state,
    start_requests,
)
from fuel.schemes._custom import request_size


class Even(IndexScheme):
    """As in the manual: every other example."""

    def get_request_iterator(self):
        return iter(list(self.indices)[::2])


class EvenBatches(BatchScheme):
    """As in the manual, in batches, by an iterator of builtins."""

    def get_request_iterator(self):
        indices = list(self.indices)[::2]
        return map(
            list,
            [indices[i : i + self.batch_size] for i in range(0, len(indices), self.batch_size)],
        )


class Remembering(BatchScheme):
    """Keeps a generator, a counter and a shuffled list on itself, and yields lazily."""

    def __init__(self, examples, batch_size):
        super().__init__(list(range(examples)), batch_size)
        self.rng = numpy.random.RandomState(7)
        self.epochs = 0

    def get_request_iterator(self):
        self.epochs += 1
        self.last_size = self.batch_size
        self.rng.shuffle(self.indices)
        for start in range(0, len(self.indices) - self.epochs, self.batch_size):
            yield self.indices[start : start + self.batch_size]


class Wrapping(IterationScheme):
    """Asks schemes of ours, which remember in turn."""

    requests_examples = False

    def __init__(self):
        self.shuffled = ShuffledScheme(6, 2)
        self.permuted = PermutedScheme(6, 2, seed=3)

    def get_request_iterator(self):
        return iter([*self.shuffled.get_request_iterator(), *self.permuted.get_request_iterator()])


class Extending(ShuffledScheme):
    """Goes on after an order of ours."""

    def get_request_iterator(self):
        return iter([*super().get_request_iterator(), [0]])


class Duck:
    """Has no base class at all."""

    requests_examples = False

    def __init__(self):
        self.turn = 0

    def get_request_iterator(self):
        self.turn += 1
        return iter([slice(0, 3), [self.turn], (4, 5), numpy.array([6, 7])])


class Growing(BatchSizeScheme):
    """Asks for more examples each time."""

    def __init__(self):
        self.start = 1

    def get_request_iterator(self):
        self.start += 1
        return iter(range(self.start, self.start + 4))


class Describing(Growing):
    """Has words of its own for what it remembers."""

    def __init__(self):
        super().__init__()
        self.unspeakable = iter(range(100))

    def get_request_iterator(self):
        next(self.unspeakable)
        return super().get_request_iterator()

    def state_dict(self):
        return {"start": self.start}

    def load_state_dict(self, state):
        self.start = state["start"]


SCHEMES = {
    "even": lambda: Even(10),
    "even batches": lambda: EvenBatches(10, 2),
    "remembering": lambda: Remembering(10, 3),
    "wrapping": Wrapping,
    "extending": lambda: Extending(7, 3),
    "duck": Duck,
    "growing": Growing,
    "describing": Describing,
    "concatenated": lambda: ConcatenatedScheme([Remembering(7, 2), SequentialScheme(4, 3)]),
    "concatenated twice": lambda: ConcatenatedScheme([Remembering(7, 2)] * 2),
}


def plain(request):
    return request if isinstance(request, (int, slice)) else list(request)


def run(scheme, epoch):
    return [plain(request) for request in start_requests(scheme, epoch)]


@pytest.mark.parametrize("name", SCHEMES)
def test_going_on_from_every_mark_equals_going_on(name):
    reference = SCHEMES[name]()
    whole = [run(reference, epoch) for epoch in range(4)]
    for epoch in range(2):
        for done in range(len(whole[epoch]) + 1):
            scheme = SCHEMES[name]()
            order_state(scheme)
            for earlier in range(epoch):
                run(scheme, earlier)
            state = json.loads(json.dumps(order_state(scheme)))
            requests = start_requests(scheme, epoch)
            for _ in range(done):
                next(requests)
            mark = json.loads(json.dumps(requests.tell()))

            rebuilt = SCHEMES[name]()
            for target in (rebuilt, scheme):  # a new object, and the one that went on
                set_order_state(target, state)
                again = start_requests(target, epoch)
                again.seek(mark)
                assert again.position == requests.position
                assert [plain(request) for request in again] == whole[epoch][done:]
            for later in range(epoch + 1, 4):
                assert run(rebuilt, later) == whole[later]


@pytest.mark.parametrize("name", ["even", "even batches", "wrapping", "extending", "duck"])
def test_requests_pickle_where_the_user_s_iterator_does(name):
    scheme = SCHEMES[name]()
    whole = run(SCHEMES[name](), 0)
    for done in range(len(whole) + 1):
        requests = start_requests(SCHEMES[name](), 0)
        for _ in range(done):
            next(requests)
        copy = pickle.loads(pickle.dumps(requests))
        assert isinstance(copy, RequestIterator)
        assert copy.tell() == requests.tell()
        assert [plain(request) for request in copy] == whole[done:]
    assert pickle.loads(pickle.dumps(scheme)) is not scheme


def test_a_scheme_pickles_with_what_was_seen_of_it_first():
    scheme, reference = Remembering(10, 3), Remembering(10, 3)
    order_state(scheme)
    assert run(scheme, 0) == run(reference, 0)
    copy = pickle.loads(pickle.dumps(scheme))
    assert order_state(copy) == order_state(scheme)
    assert run(copy, 1) == run(reference, 1)


def test_requests_of_a_generator_say_why_they_do_not_pickle():
    requests = start_requests(Remembering(10, 3), 0)
    with pytest.raises(TypeError, match="the requests of Remembering come from a generator"):
        pickle.dumps(requests)
    with pytest.raises(TypeError, match=r"save the place with state_dict\(\)"):
        pickle.dumps(requests)


def test_the_state_holds_what_changed_and_nothing_else():
    scheme = Remembering(10, 3)
    assert order_state(scheme) is None
    run(scheme, 0)
    changes = order_state(scheme)["changes"]
    assert set(changes) == {"rng", "epochs", "indices", "last_size"}
    even = Even(100_000)
    order_state(even)
    run(even, 0)
    assert order_state(even) is None


def test_another_batch_size_is_not_overruled_by_the_state():
    scheme, other = Remembering(12, 3), Remembering(12, 4)
    order_state(scheme)
    run(scheme, 0)
    set_order_state(other, order_state(scheme))
    assert other.batch_size == 4
    flat = [index for request in run(other, 1) for index in request]
    assert flat[:9] == [index for request in run(scheme, 1) for index in request][:9]


def test_what_cannot_be_described_is_named():
    scheme = Describing()
    del type(scheme).state_dict
    try:
        order_state(scheme)
        run(scheme, 0)
        with pytest.raises(StateError, match="Describing keeps 'unspeakable'"):
            order_state(scheme)
    finally:
        Describing.state_dict = lambda self: {"start": self.start}


def test_a_scheme_that_yields_other_sizes_is_refused():
    requests = start_requests(EvenBatches(10, 2), 0)
    next(requests)
    next(requests)
    mark = requests.tell()
    assert mark == {"requests": 2, "examples": 4}
    with pytest.raises(StateMismatchError, match="2 requests for 4 examples, but EvenBatches now"):
        start_requests(EvenBatches(10, 3), 0).seek(mark)
    with pytest.raises(StateMismatchError, match="after 2 requests, but EvenBatches ends after 1"):
        start_requests(EvenBatches(4, 2), 0).seek(mark)
    with pytest.raises(StateError, match="cannot go back to 1"):
        requests.seek({"requests": 1, "examples": 2})


@pytest.mark.parametrize(
    "mark", [None, 3, {}, {"requests": 1}, {"requests": "1", "examples": 2}, [1, 2]]
)
def test_damaged_marks_are_refused(mark):
    with pytest.raises(StateDamagedError):
        start_requests(Even(10), 0).seek(mark)


@pytest.mark.parametrize("state", [3, "text", [1], {"other": 1}])
def test_damaged_states_are_refused(state):
    with pytest.raises(StateDamagedError, match="Even needs what it remembered"):
        set_order_state(Even(10), state)


@pytest.mark.parametrize(
    ("request_", "size"),
    [
        ([1, 2, 3], 3),
        ((1, 2), 2),
        (7, 7),
        (numpy.int64(7), 7),
        (slice(2, 8), 6),
        (slice(None, 8, 3), 3),
        (slice(8, 2), 0),
        (slice(2, None), 1),
        (slice(0, -1), 1),
        (numpy.arange(4), 4),
        (numpy.array([True, False, True]), 2),
        (object(), 1),
        (None, 1),
    ],
)
def test_sizes_of_requests(request_, size):
    assert request_size(request_, examples=False) == size
    assert request_size(request_, examples=True) == 1


def test_nothing_is_claimed_about_the_length_of_a_user_s_order():
    for scheme in (Even(10), EvenBatches(10, 2), Duck(), Extending(7, 3)):
        assert num_requests(scheme) is None
        assert num_examples(scheme) is None


def test_the_fingerprint_names_the_class_and_the_indices():
    assert scheme_fingerprint(EvenBatches(10, 2)) == scheme_fingerprint(EvenBatches(10, 5))
    assert scheme_fingerprint(Even(10)) == {"kind": "custom", "class": "Even", "examples": 10}
    assert scheme_fingerprint(Duck()) == {"kind": "custom", "class": "Duck"}


def test_a_subclass_that_keeps_our_order_keeps_our_abilities():
    class Seeded(ShuffledScheme):
        def __init__(self, examples, batch_size, seed):
            super().__init__(examples, batch_size, rng=numpy.random.RandomState(seed))

    scheme = Seeded(20, 4, 3)
    assert scheme_fingerprint(scheme) == scheme_fingerprint(ShuffledScheme(20, 4))
    assert num_requests(scheme) == 5
    requests = start_requests(scheme, 0)
    requests.seek(17)
    assert len(next(requests)) == 3


def test_a_user_s_subclass_may_give_the_batch_size_its_own_meaning():
    class Ranges(BatchScheme):
        def get_request_iterator(self):
            return iter([slice(*bounds) for bounds in self.batch_size])

    assert run(Ranges(10, [(0, 3), (3, 10)]), 0) == [slice(0, 3), slice(3, 10)]


def test_another_shuffler_is_called_as_it_always_was():
    class Reversing:
        def __init__(self):
            self.calls = 0

        def shuffle(self, items):
            assert type(items) is list
            self.calls += 1
            items.reverse()

    scheme = ShuffledScheme(4, 2, rng=Reversing())
    state = order_state(scheme)
    assert run(scheme, 0) == [[3, 2], [1, 0]]
    assert order_state(scheme)["rng"] == {"changes": {"calls": 1}}
    set_order_state(scheme, state)
    assert scheme.rng.calls == 0
