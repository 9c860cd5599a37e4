"""Whatever the kind and the number of workers: the items, and the positions, of a serial run."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuel.transformers import Parallel


def _load(name: str) -> Any:
    key = f"workers_{name}"
    if key not in sys.modules:
        spec = importlib.util.spec_from_file_location(key, Path(__file__).with_name(f"{name}.py"))
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[key] = module
        spec.loader.exec_module(module)
    return sys.modules[key]


chains = _load("_chains")
build, equal, plans = chains.build, chains.equal, chains.plans

KINDS = ("serial", "thread", "process", "auto")


def forms(plan: dict[str, Any], kind: str, workers: int, prefetch: Any) -> Any:
    return Parallel(build(plan), workers=workers, kind=kind, prefetch=prefetch)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None)
@given(
    plan=plans(),
    workers=st.integers(1, 3),
    prefetch=st.sampled_from([None, 1, 7]),
)
def test_items_of_two_epochs_are_those_of_a_serial_run(
    kind: str, plan: dict[str, Any], workers: int, prefetch: Any
) -> None:
    serial, parallel = build(plan), forms(plan, kind, workers, prefetch)
    with parallel:
        for _ in range(2):
            expected, found = list(serial), list(parallel)
            assert len(expected) == len(found)
            assert all(map(equal, expected, found))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25, deadline=None)
@given(plan=plans(), data=st.data())
def test_positions_are_those_of_a_serial_run_and_resume_with_any_other_workers(
    kind: str, plan: dict[str, Any], data: Any
) -> None:
    serial = build(plan)
    items = list(serial)
    place = data.draw(st.integers(0, len(items)))
    parallel = forms(plan, kind, data.draw(st.integers(1, 3)), None)
    iterator, reference = parallel.get_epoch_iterator(), build(plan).get_epoch_iterator()
    for _ in range(place):
        next(iterator)
        next(reference)
    state = json.loads(json.dumps(iterator.state_dict()))
    assert state == json.loads(json.dumps(reference.state_dict()))
    parallel.close()

    other = forms(plan, data.draw(st.sampled_from(KINDS)), data.draw(st.integers(1, 3)), None)
    other.load_state_dict(state)
    plain = build(plan)
    plain.load_state_dict(state)
    for resumed in (other, plain):
        rest = list(resumed)
        assert len(rest) == len(items) - place
        assert all(map(equal, rest, items[place:]))
        following, expected = list(resumed), list(serial_again(plan))
        assert all(map(equal, following, expected)) and len(following) == len(expected)
    other.close()


def serial_again(plan: dict[str, Any]) -> list[Any]:
    """Return the second epoch."""
    stream = build(plan)
    list(stream)
    return list(stream)


@pytest.mark.parametrize("kind", ["thread", "process"])
@settings(max_examples=25, deadline=None)
@given(plan=plans(), data=st.data())
def test_without_order_every_item_comes_once_and_resumes(
    kind: str, plan: dict[str, Any], data: Any
) -> None:
    expected = list(build(plan))
    parallel = Parallel(build(plan), workers=2, kind=kind, ordered=False)
    iterator = parallel.get_epoch_iterator()
    place = data.draw(st.integers(0, len(expected)))
    found = [next(iterator) for _ in range(place)]
    state = json.loads(json.dumps(iterator.state_dict()))
    parallel.close()
    resumed = Parallel(build(plan), workers=2, kind=kind, ordered=False)
    resumed.load_state_dict(state)
    found += list(resumed)
    resumed.close()
    if plan["merge"] or set(plan["steps"]) & {"filter", "unpack"} or plan["strictness"]:
        return  # steps in this process group or pair what comes in another order
    left = list(expected)
    for item in found:
        match = next((one for one in left if equal(one, item)), None)
        if match is None and "batch" in plan["steps"]:
            return  # batches are made here of examples in another order
        assert match is not None
        left = [one for one in left if one is not match]
    assert not left


@pytest.mark.parametrize("kind", ["thread", "process"])
@settings(max_examples=25, deadline=None)
@given(plan=plans(), data=st.data())
def test_skipping_is_passing_over(kind: str, plan: dict[str, Any], data: Any) -> None:
    expected = list(build(plan))
    with Parallel(build(plan), workers=2, kind=kind) as parallel:
        iterator = parallel.get_epoch_iterator()
        cursor = iterator._run.cursor
        found: list[Any] = []
        place = 0
        while place < len(expected):
            if data.draw(st.booleans()):
                count = data.draw(st.integers(0, 5))
                there = min(count, len(expected) - place)
                assert cursor.skip(count) == there
                place += there
            else:
                found.append((place, next(iterator)))
                place += 1
        assert all(equal(item, expected[number]) for number, item in found)
        with pytest.raises(StopIteration):
            next(iterator)
