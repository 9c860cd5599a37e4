"""A run that is stopped anywhere goes on with any other workers, ranks and batches: all is one."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st


def _load(name: str) -> Any:
    key = f"equivalence_{name}"
    if key not in sys.modules:
        spec = importlib.util.spec_from_file_location(key, Path(__file__).with_name(f"{name}.py"))
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[key] = module
        spec.loader.exec_module(module)
    return sys.modules[key]


worlds = _load("_worlds")


def check(chain: str, count: int, parts: list[tuple[dict[str, Any], int]], last: Any) -> None:
    """Hold a life against the epoch of one process, example by example, draws and all."""
    expected, following = worlds.reference(chain, count, 2)
    parts = [*parts, (last, None)]
    found, streams = worlds.life(chain, count, parts)
    place, over = 0, False
    for (way, _), (here, ended) in zip(parts, found, strict=True):
        assert not here or not over
        whole = expected[place : place + len(here)]
        again = here[len(whole) :]
        assert here[: len(whole)] == whole
        # Only wrapping goes round, and then from the beginning of the epoch.
        assert again == [expected[n % len(expected)] for n in range(len(again))]
        assert not again or way["remainder"] == "wrap"
        place += len(whole)
        left = len(expected) - place
        if ended and not over and way["remainder"] == "drop" and way["ranks"] > 1:
            assert left < way["size"] * way["ranks"]
        elif ended and not over:
            assert not left
        over = over or ended or bool(again)
    # And the next epoch is what it would have been.
    items = [list(stream) for stream in streams]
    mine = [item for step in zip(*items, strict=True) for item in step]
    after = worlds.flat(mine, last)
    assert after[: len(following)] == following[: len(after)]
    for stream in streams:
        stream.close()


@settings(max_examples=150, deadline=None)
@given(
    worlds.chains,
    st.integers(0, 25),
    st.lists(st.tuples(worlds.ways(("serial", "thread", "auto")), st.integers(0, 4)), max_size=4),
    worlds.ways(("serial", "thread", "auto")),
)
def test_a_life_in_parts_is_one_epoch(
    chain: str, count: int, parts: list[tuple[dict[str, Any], int]], last: dict[str, Any]
) -> None:
    check(chain, count, parts, last)


@settings(max_examples=25, deadline=None)
@given(
    worlds.chains,
    st.integers(0, 25),
    st.lists(st.tuples(worlds.ways(most=2), st.integers(0, 4)), max_size=2),
    worlds.ways(("process",), 2),
)
def test_a_life_in_parts_is_one_epoch_with_processes_too(
    chain: str, count: int, parts: list[tuple[dict[str, Any], int]], last: dict[str, Any]
) -> None:
    check(chain, count, parts, last)
