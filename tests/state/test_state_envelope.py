"""A saved state is plain JSON, and what is wrong with one is said by name."""

from __future__ import annotations

import json
import random
import warnings

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuel.datasets import IndexableDataset
from fuel.exceptions import (
    StateDamagedError,
    StateError,
    StateMismatchError,
    StateVersionError,
)
from fuel.schemes import PermutedScheme, SequentialScheme, ShuffledScheme
from fuel.state import (
    check_state,
    compare_fingerprints,
    digest,
    generator_state,
    make_state,
    plain,
    set_generator_state,
)
from fuel.state._envelope import FORMAT_VERSION, _checksum
from fuel.streams import DataStream


def stream(examples=10, scheme=None):
    dataset = IndexableDataset({"x": numpy.arange(examples)})
    return DataStream(dataset, iteration_scheme=scheme or SequentialScheme(examples, 3))


def saved(**kwargs):
    iterator = stream(**kwargs).get_epoch_iterator()
    next(iterator)
    return json.loads(json.dumps(iterator.state_dict()))


def test_a_state_survives_json_unchanged():
    state = stream().get_epoch_iterator().state_dict()
    assert json.loads(json.dumps(state)) == state


def test_a_state_says_who_wrote_it():
    state = saved()
    assert state["format"] == "fuel.state"
    assert state["version"] == FORMAT_VERSION
    assert state["numpy"] == numpy.__version__


@pytest.mark.parametrize("bad", [None, 3, "state", [], {}, {"format": "other"}])
def test_what_is_not_a_state_is_refused(bad):
    with pytest.raises(StateDamagedError, match="fuel.state"):
        stream().load_state_dict(bad)


def test_a_state_of_a_newer_version_is_refused_by_name():
    state = saved()
    state["version"] = FORMAT_VERSION + 1
    state["fuel"] = "9.9"
    with pytest.raises(StateVersionError, match=r"version 2 .*fuel 9\.9.*upgrade"):
        stream().load_state_dict(state)


@pytest.mark.parametrize("key", ["delivered", "position", "origin", "fingerprint", "epoch"])
def test_a_state_with_a_part_missing_is_refused_as_damaged(key):
    state = saved()
    del state[key]
    with pytest.raises(StateDamagedError, match="checksum"):
        stream().load_state_dict(state)


@given(st.data())
def test_any_single_alteration_is_noticed(data):
    state = saved()
    key = data.draw(st.sampled_from(sorted(set(state) - {"checksum", "version"})))
    state[key] = data.draw(st.sampled_from(["altered", -1, {"mark": 1}, []]))
    with pytest.raises(StateError):
        stream().load_state_dict(state)


@pytest.mark.parametrize("position", [{}, {"mark": "three"}, {"mark": {"own": 1}}, {"replay": "x"}])
def test_a_state_that_is_whole_but_nonsense_is_refused_as_damaged(position):
    state = saved()
    state["position"] = position
    state["checksum"] = _checksum({k: v for k, v in state.items() if k != "checksum"})
    with pytest.raises(StateError):
        stream().get_epoch_iterator().load_state_dict(state)


def test_another_number_of_examples_is_refused_with_both_sides():
    with pytest.raises(StateMismatchError, match=r"examples: saved 10, here 12"):
        stream(12).load_state_dict(saved())


def test_another_order_is_refused_with_both_sides():
    with pytest.raises(StateMismatchError, match=r"order.*sequential.*shuffled"):
        stream(scheme=ShuffledScheme(10, 3)).load_state_dict(saved())
    with pytest.raises(StateMismatchError, match=r"seed: saved 1, here 2"):
        stream(scheme=PermutedScheme(10, 3, seed=2)).load_state_dict(
            saved(scheme=PermutedScheme(10, 3, seed=1))
        )


def test_another_batch_size_goes_on_at_the_very_next_example():
    resumed = stream(scheme=SequentialScheme(10, 2))
    resumed.load_state_dict(saved())
    assert [x.tolist() for (x,) in resumed] == [[3, 4], [5, 6], [7, 8], [9]]
    assert [x.tolist() for (x,) in resumed][0] == [0, 1]


def test_after_a_refusal_the_stream_is_as_it_was():
    one = stream()
    with pytest.raises(StateMismatchError):
        one.load_state_dict(saved(examples=12))
    assert len(list(one)) == 4


def test_a_state_from_before_the_first_epoch_begins_the_first_epoch():
    one, other = (stream(scheme=ShuffledScheme(10, 3)) for _ in range(2))
    state = json.loads(json.dumps(one.state_dict()))
    expected = [[x.tolist() for (x,) in one] for _ in range(2)]
    for _ in other:
        pass
    other.load_state_dict(state)
    assert [[x.tolist() for (x,) in other] for _ in range(2)] == expected
    third = stream(scheme=ShuffledScheme(10, 3))
    iterator = third.get_epoch_iterator()
    next(iterator)
    iterator.load_state_dict(state)
    assert [x.tolist() for (x,) in iterator] == expected[0]


def test_the_stream_has_the_state_of_the_iterator_started_last():
    one = stream()
    first = one.get_epoch_iterator()
    next(first)
    second = one.get_epoch_iterator()
    assert one.state_dict() == second.state_dict() != first.state_dict()
    assert second.state_dict()["epoch"] == 1


def test_a_loaded_state_is_the_state_until_the_next_iterator_starts():
    one = stream()
    state = saved()
    one.load_state_dict(state)
    assert one.state_dict() == state
    assert next(one.get_epoch_iterator())[0].tolist() == [3, 4, 5]


def test_the_state_is_kept_when_a_loop_is_left():
    one = stream()
    for number, _ in enumerate(one):
        if number == 1:
            break
    other = stream()
    other.load_state_dict(one.state_dict())
    assert next(iter(other))[0].tolist() == [6, 7, 8]


def test_numpys_version_matters_only_where_functions_draw():
    state = make_state({"a": 1}, position=0)
    state["numpy"] = "0.1"
    state["checksum"] = _checksum({k: v for k, v in state.items() if k != "checksum"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_state(state, {"a": 1})
    with pytest.warns(UserWarning, match="NumPy 0.1"):
        check_state(state, {"a": 1}, draws=True)


def test_a_state_that_is_not_json_is_an_error_that_says_so():
    with pytest.raises(StateError, match="plain JSON"):
        make_state({}, position=object())
    with pytest.raises(StateError, match="plain JSON"):
        make_state({}, position=float("nan"))


@pytest.mark.parametrize(
    "make",
    [
        lambda: numpy.random.RandomState(3),
        lambda: numpy.random.default_rng(3),
        lambda: numpy.random.Generator(numpy.random.MT19937(3)),
        lambda: numpy.random.Generator(numpy.random.Philox(3)),
        lambda: random.Random(3),
    ],
)
def test_generators_are_described_and_put_back(make):
    rng = make()
    draw = rng.random if not isinstance(rng, numpy.random.RandomState) else rng.random_sample
    draw()
    state = json.loads(json.dumps(generator_state(rng)))
    expected = [draw() for _ in range(700)]
    other = make()
    set_generator_state(other, state)
    again = other.random if not isinstance(rng, numpy.random.RandomState) else other.random_sample
    assert [again() for _ in range(700)] == expected


def test_a_generator_of_another_kind_is_refused():
    state = generator_state(numpy.random.RandomState(1))
    with pytest.raises(StateMismatchError, match="RandomState.*Generator"):
        set_generator_state(numpy.random.default_rng(1), state)
    philox = generator_state(numpy.random.Generator(numpy.random.Philox(1)))
    with pytest.raises(StateMismatchError, match="Philox.*PCG64"):
        set_generator_state(numpy.random.default_rng(1), philox)
    for damaged in (None, {}, {"generator": "RandomState", "state": {"state": 3}}):
        with pytest.raises(StateDamagedError):
            set_generator_state(numpy.random.RandomState(1), damaged)


def test_fingerprints_are_compared_place_by_place():
    assert compare_fingerprints({"a": 1}, {"a": 1}) == []
    assert compare_fingerprints({"a": 1, "b": 2}, {"a": 3}) == [
        "a: saved 1, here 3",
        "b: saved 2, here it is missing",
    ]
    assert compare_fingerprints({}, {"c": 1}) == ["c: saved without it, here 1"]
    assert compare_fingerprints(
        {"steps": [{"step": "Cast"}]}, {"steps": [{"step": "Cast"}, {"step": "Batch"}]}
    ) == ["steps: saved ['Cast'], here ['Cast', 'Batch']"]


def test_parameters_are_shown_plainly_and_large_ones_by_digest():
    assert plain(numpy.float32(0.5)) == 0.5
    assert plain(float("nan")) == "nan"
    assert plain(numpy.dtype("f4")) == "<f4"
    assert plain(numpy.arange(3)) == {"dtype": "<i8", "values": [0, 1, 2]}
    large = plain(numpy.arange(100))
    assert large["digest"] == digest(numpy.arange(100)) != digest(numpy.arange(1, 101))
    assert plain({1: (None, True)}) == {"1": [None, True]}
