"""Draws from global generators in worker processes: not the same in all of them, and told of."""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy
import pytest

from fuel.datasets import IndexableDataset
from fuel.schemes import SequentialExampleScheme
from fuel.streams import DataStream
from fuel.transformers import Mapping, Parallel
from fuel.workers import _global_draws, close_workers


@pytest.fixture(autouse=True)
def nothing_was_told(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(_global_draws, "_told_of_draws", False)
    yield
    close_workers()


def drawn(function: Any, rows: int = 8) -> list[Any]:
    dataset = IndexableDataset({"x": numpy.arange(rows)})
    stream = DataStream(dataset, iteration_scheme=SequentialExampleScheme(rows))
    # Every item goes to a process of its own: two workers with a unit each at a time.
    parallel = Parallel(
        Mapping(stream, function, elementwise=True), workers=2, kind="process", prefetch=2
    )
    return [item[0] for item in parallel]


@pytest.mark.parametrize(
    ("module", "draw"),
    [
        ("numpy.random", lambda data: (float(numpy.random.random()),)),
        ("random", lambda data: (random.random(),)),
    ],
)
def test_workers_draw_different_numbers_and_the_program_hears_of_it_once(
    module: str, draw: Any
) -> None:
    before = numpy.random.get_state()[1].copy(), random.getstate()
    with pytest.warns(RuntimeWarning, match=f"generator of {module}.*take `rng`"):
        found = drawn(draw)
    assert len(set(found)) == len(found)
    # Neither generator of the program was moved.
    assert (numpy.random.get_state()[1] == before[0]).all() and random.getstate() == before[1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawn(draw)


def test_who_draws_from_rng_or_not_at_all_is_not_accused() -> None:
    def addressed(data: Any, rng: numpy.random.Generator) -> Any:
        return (rng.random(),)

    dataset = IndexableDataset({"x": numpy.arange(8)})
    stream = DataStream(dataset, iteration_scheme=SequentialExampleScheme(8))
    expected = [item[0] for item in Mapping(stream, addressed)]
    dataset = IndexableDataset({"x": numpy.arange(8)})
    stream = DataStream(dataset, iteration_scheme=SequentialExampleScheme(8))
    parallel = Parallel(Mapping(stream, addressed), workers=2, kind="process")
    assert [item[0] for item in parallel] == expected
