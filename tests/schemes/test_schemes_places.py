"""Requests can be marked, pickled and gone on with at every point of an epoch."""

from __future__ import annotations

import json
import os
import pickle
import random
import subprocess
import sys

import numpy
import pytest

from fuel.exceptions import StateDamagedError, StateError, StateMismatchError
from fuel.schemes import (
    ConcatenatedScheme,
    ConstantScheme,
    PermutedExampleScheme,
    PermutedScheme,
    SequentialExampleScheme,
    SequentialScheme,
    ShuffledExampleScheme,
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


def twice(scheme):
    """Concatenate a scheme with itself."""
    return ConcatenatedScheme([scheme, scheme])


SCHEMES = {
    "sequential": lambda: SequentialScheme(11, 3),
    "sequential tuple": lambda: SequentialScheme((5, 3, 3, 8), 3),
    "sequential set": lambda: SequentialScheme({5, 3, 8}, 2),
    "sequential examples": lambda: SequentialExampleScheme(5),
    "sequential array": lambda: SequentialExampleScheme(numpy.arange(9)[::-2]),
    "one-shot": lambda: SequentialScheme(iter(range(20, 27)), 3),
    "one-shot examples": lambda: SequentialExampleScheme(iter("abcde")),
    "one-shot shuffled": lambda: ShuffledScheme(iter(range(7)), 3),
    "shuffled": lambda: ShuffledScheme(11, 3),
    "shuffled sorted": lambda: ShuffledScheme(11, 3, sorted_indices=True),
    "shuffled words": lambda: ShuffledScheme(list("abcdefg"), 3),
    "shuffled examples": lambda: ShuffledExampleScheme(7),
    "shuffled by Generator": lambda: ShuffledScheme(11, 3, rng=numpy.random.default_rng(3)),
    "shuffled by Random": lambda: ShuffledExampleScheme(7, rng=random.Random(3)),
    "permuted": lambda: PermutedScheme(11, 3, seed=2),
    "permuted complete": lambda: PermutedScheme(11, 3, seed=2, partial=False),
    "permuted indices": lambda: PermutedScheme(list("abcdefg"), 3, seed=2),
    "permuted examples": lambda: PermutedExampleScheme(7, seed=2),
    "constant": lambda: ConstantScheme(3, num_examples=11),
    "constant times": lambda: ConstantScheme(3, times=4),
    "concatenated": lambda: ConcatenatedScheme(
        [SequentialScheme(5, 3), ShuffledScheme(4, 3), PermutedScheme(7, 2, partial=False)]
    ),
    "concatenated shuffled twice": lambda: twice(ShuffledScheme(5, 3)),
    "concatenated permuted twice": lambda: twice(PermutedExampleScheme(5)),
    "concatenated nested": lambda: ConcatenatedScheme(
        [twice(ShuffledExampleScheme(4)), SequentialExampleScheme(iter(range(3)))]
    ),
}


def start(scheme, epoch):
    """Return the state before an epoch, as it comes back from a file, and its requests."""
    state = json.loads(json.dumps(order_state(scheme)))
    return state, start_requests(scheme, epoch)


@pytest.mark.parametrize("name", SCHEMES)
def test_going_on_from_every_mark_equals_going_on(name):
    reference = SCHEMES[name]()
    whole = [list(start_requests(reference, epoch)) for epoch in range(4)]
    for epoch in range(2):
        for done in range(len(whole[epoch]) + 1):
            scheme = SCHEMES[name]()
            for earlier in range(epoch):
                list(start_requests(scheme, earlier))
            state, requests = start(scheme, epoch)
            for _ in range(done):
                next(requests)
            mark = json.loads(json.dumps(requests.tell()))

            rebuilt = SCHEMES[name]()
            set_order_state(rebuilt, state)
            again = start_requests(rebuilt, epoch)
            again.seek(mark)
            assert again.position == requests.position
            assert list(again) == whole[epoch][done:]
            for later in range(epoch + 1, 4):
                assert list(start_requests(rebuilt, later)) == whole[later]


@pytest.mark.parametrize("name", SCHEMES)
def test_going_on_from_every_pickle_equals_going_on(name):
    reference = SCHEMES[name]()
    whole = [list(start_requests(reference, epoch)) for epoch in range(3)]
    for done in range(len(whole[0]) + 1):
        scheme = SCHEMES[name]()
        requests = start_requests(scheme, 0)
        for _ in range(done):
            next(requests)
        scheme, requests = pickle.loads(pickle.dumps((scheme, requests)))
        assert list(requests) == whole[0][done:]
        for later in (1, 2):
            assert list(start_requests(scheme, later)) == whole[later]


@pytest.mark.parametrize(
    "name", [name for name in SCHEMES if "one-shot" not in name and "nested" not in name]
)
def test_one_iterator_goes_back_and_forth(name):
    requests = start_requests(SCHEMES[name](), 0)
    whole, marks = [], [requests.tell()]
    for request in requests:
        whole.append(request)
        marks.append(requests.tell())
    order = list(range(len(marks)))
    for done in [*reversed(order), *order, *order[::2], *order[::-3]]:
        requests.seek(marks[done])
        assert requests.tell() == marks[done]
        following = whole[done : done + 2]
        assert [next(requests) for _ in following] == following


@pytest.mark.parametrize("name", SCHEMES)
def test_positions_count_examples(name):
    scheme = SCHEMES[name]()
    requests = start_requests(scheme, 0)
    position = 0
    assert requests.position == 0
    for request in requests:
        if scheme.requests_examples:
            position += 1
        else:
            position += request if isinstance(request, int) else len(request)
        assert requests.position == position


@pytest.mark.parametrize("name", SCHEMES)
def test_known_lengths_are_right(name):
    scheme = SCHEMES[name]()
    requests, examples = num_requests(scheme), num_examples(scheme)
    made = start_requests(scheme, 0)
    count = sum(1 for _ in made)
    assert requests in (count, None)
    assert ("one-shot" in name or "nested" in name) == (requests is None)
    if "complete" not in name and name != "concatenated":
        assert examples in (made.position, None)


@pytest.mark.parametrize(
    "make",
    [
        lambda size: SequentialScheme(20, size),
        lambda size: SequentialScheme(iter(range(20)), size),
        lambda size: ShuffledScheme(20, size),
        lambda size: PermutedScheme(20, size, seed=1),
        lambda size: ConcatenatedScheme([SequentialScheme(7, size), ShuffledScheme(13, size)]),
    ],
)
def test_a_place_goes_on_with_another_batch_size_from_that_very_example(make):
    scheme = make(3)
    state, requests = start(scheme, 0)
    done = [next(requests), next(requests)]
    other = make(5)
    assert scheme_fingerprint(other) == scheme_fingerprint(scheme)
    set_order_state(other, state)
    again = start_requests(other, 0)
    again.seek(requests.tell())
    assert next(again)[0] == next(requests)[0]
    rest = [index for request in again for index in request]
    flat = [index for request in make(20).get_request_iterator() for index in request]
    assert sum(map(len, done)) + 1 + len(rest) <= len(flat) == 20
    assert rest == flat[-len(rest) :]


def test_seeking_in_long_orders_takes_no_time_and_marks_are_short():
    for scheme in (
        SequentialScheme(2**62, 4),
        SequentialExampleScheme(2**62),
        PermutedScheme(2**62, 4),
        PermutedExampleScheme(2**62),
        ConstantScheme(4, num_examples=2**62),
        ConcatenatedScheme([PermutedScheme(2**62, 4), SequentialScheme(2**62, 4)]),
    ):
        requests = start_requests(scheme, 0)
        mark = [1, 2**61] if isinstance(scheme, ConcatenatedScheme) else 2**61
        requests.seek(mark)
        assert requests.tell() == mark
        before = requests.position
        next(requests)
        assert requests.position - before in (1, 4)
        assert len(json.dumps([requests.tell(), order_state(scheme)])) < 100
        assert len(pickle.dumps(requests)) < 1000


@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize("mark", [-1, 1000, 1.5, "3", None, True, [0], [99, 0], [-1, 0], {}])
def test_places_that_do_not_exist_are_refused(name, mark):
    requests = start_requests(SCHEMES[name](), 0)
    with pytest.raises(StateError):
        requests.seek(mark)


def test_a_one_shot_iterator_does_not_go_back():
    scheme = SequentialExampleScheme(iter(range(10)))
    requests = start_requests(scheme, 0)
    state = order_state(scheme)
    next(requests)
    next(requests)
    with pytest.raises(StateError, match="cannot go back to the saved place, 1"):
        requests.seek(1)
    with pytest.raises(StateError, match="2 indices were taken from a one-shot iterator"):
        set_order_state(scheme, state)
    short = SequentialExampleScheme(iter(range(3)))
    with pytest.raises(StateMismatchError, match=r"after 5 indices .* ended after 3"):
        start_requests(short, 0).seek(5)


@pytest.mark.parametrize(
    ("make", "state"),
    [
        (lambda: SequentialScheme(5, 2), 3),
        (lambda: SequentialScheme(iter(range(5)), 2), None),
        (lambda: SequentialScheme(iter(range(5)), 2), -1),
        (lambda: ShuffledScheme(5, 2), None),
        (lambda: ShuffledScheme(5, 2), {"rng": 3}),
        (lambda: ShuffledScheme(iter(range(5)), 2), {"rng": None}),
        (lambda: ShuffledScheme(5, 2, rng=random.Random(1)), {"rng": [1, 2]}),
        (lambda: twice(ShuffledScheme(5, 2)), [None]),
        (lambda: twice(ShuffledScheme(5, 2)), "damaged"),
    ],
)
def test_damaged_states_are_refused(make, state):
    with pytest.raises(StateDamagedError):
        set_order_state(make(), state)


def test_a_scheme_that_remembers_nothing_refuses_a_state():
    with pytest.raises(StateMismatchError, match="PermutedScheme keeps nothing"):
        set_order_state(PermutedScheme(5, 2), {"rng": 1})


def fingerprint(*args, **kwargs):
    return scheme_fingerprint(ShuffledScheme(*args, **kwargs))


def test_fingerprints_tell_orders_apart_and_nothing_else():
    assert fingerprint(10, 2) == fingerprint(10, 5) == fingerprint(list(range(10)), 3)
    assert fingerprint(numpy.arange(10), 2) == fingerprint(10, 2)
    assert fingerprint([3, 1, 2], 2) == fingerprint(numpy.array([3, 1, 2], dtype="u1"), 2)
    assert fingerprint(range(5, 9), 2) == fingerprint([5, 6, 7, 8], 2)
    different = [
        fingerprint(10, 2),
        fingerprint(11, 2),
        fingerprint([3, 1, 2], 2),
        fingerprint([3, 2, 1], 2),
        fingerprint(["3", "2", "1"], 2),
        fingerprint([(3, 2), 1], 2),
        fingerprint([2**70, 1], 2),
        fingerprint(10, 2, sorted_indices=True),
        fingerprint(10, 2, rng=numpy.random.default_rng(1)),
        scheme_fingerprint(SequentialScheme(10, 2)),
        scheme_fingerprint(PermutedScheme(10, 2, seed=1)),
        scheme_fingerprint(PermutedScheme(10, 2, seed=2)),
        scheme_fingerprint(ConstantScheme(10)),
        scheme_fingerprint(ConstantScheme(10, times=1)),
        scheme_fingerprint(twice(SequentialScheme(10, 2))),
    ]
    texts = [json.dumps(one, sort_keys=True) for one in different]
    assert len(set(texts)) == len(texts)
    assert max(map(len, texts)) < 200


def test_a_permutation_is_named_with_its_version():
    assert scheme_fingerprint(PermutedScheme(10, 3, seed=4)) == {
        "kind": "permuted",
        "algorithm": "feistel-mix13",
        "version": 1,
        "seed": 4,
        "examples": 10,
    }


def test_orders_and_fingerprints_are_the_same_in_another_process():
    program = (
        "from fuel.schemes import PermutedScheme, ShuffledScheme\n"
        "from fuel.schemes._base import scheme_fingerprint\n"
        "a = PermutedScheme(['a', 'b', (1, 'c')], 2, seed=5)\n"
        "b = ShuffledScheme(['a', 'b', (1, 'c')], 2)\n"
        "for s in (a, b):\n"
        "    print(scheme_fingerprint(s), list(s.get_request_iterator()))\n"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", program],
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1
