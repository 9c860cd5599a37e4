"""Batches of costly examples are evaluated in pieces, and nobody can tell."""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy
import pytest
from hypothesis import given, settings

from fuel.datasets import IndexableDataset
from fuel.schemes import ConstantScheme, PermutedExampleScheme, SequentialExampleScheme
from fuel.streams import DataStream
from fuel.transformers import Batch, Cast, Mapping, Parallel
from fuel.workers import _engine


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


@pytest.fixture
def every_batch_is_costly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_engine, "COSTLY_S", 0.0)


@pytest.mark.usefixtures("every_batch_is_costly")
@pytest.mark.parametrize("kind", ["thread", "process"])
@settings(max_examples=25, deadline=None)
@given(plan=chains.plans())
def test_batches_in_pieces_are_the_batches(kind: str, plan: dict[str, Any]) -> None:
    expected = list(chains.build(plan))
    with Parallel(chains.build(plan), workers=2, kind=kind) as parallel:
        found = list(parallel)
    assert len(found) == len(expected)
    assert all(map(chains.equal, expected, found))


@pytest.mark.usefixtures("every_batch_is_costly")
def test_an_example_that_fails_in_a_piece_fails_its_batch_and_is_named() -> None:
    def fails(data: Any) -> Any:
        if data[0] == 13:
            raise LookupError("thirteen")
        return data

    def build() -> Any:
        dataset = IndexableDataset({"x": numpy.arange(40)})
        stream = DataStream(dataset, iteration_scheme=PermutedExampleScheme(40, seed=1))
        return Cast(Batch(Mapping(stream, fails, elementwise=True), ConstantScheme(8)), "float32")

    found: list[Any] = []
    expected: list[Any] = []
    for items, stream in (
        (expected, build()),
        (found, Parallel(build(), workers=2, kind="process")),
    ):
        iterator = stream.get_epoch_iterator()
        with pytest.raises(LookupError) as caught:
            items.extend(batch[0].tolist() for batch in iterator)
        items.extend(batch[0].tolist() for batch in iterator)
    assert "example 13" in " ".join(getattr(caught.value, "__notes__", []))
    assert found == expected


def test_one_slow_example_does_not_hold_up_the_others(tmp_path: Path) -> None:
    """While one example stands still, all others of its batch are evaluated."""

    def evaluates(data: Any) -> Any:
        number = int(data[0])
        if number == 25:
            # The others of this batch must come by other workers while this one waits.
            deadline = time.monotonic() + 60
            while len(list(tmp_path.iterdir())) < 7 and time.monotonic() < deadline:
                time.sleep(0.01)  # what is waited for are files of other processes
        time.sleep(0.04)  # examples have to be costly for a batch to be divided
        if 24 <= number < 32 and number != 25:
            (tmp_path / str(number)).touch()
        return (data[0], len(list(tmp_path.iterdir())), os.getpid())

    dataset = IndexableDataset({"x": numpy.arange(32)})
    stream = DataStream(dataset, iteration_scheme=SequentialExampleScheme(32))
    stream = Batch(Mapping(stream, evaluates, elementwise=True), ConstantScheme(8))
    parallel = Parallel(stream, workers=2, kind="process", prefetch=1)
    batches = list(parallel)
    assert [x for batch in batches for x in batch[0].tolist()] == list(range(32))
    slow = batches[3]
    assert slow[1][1] == 7, "the slow example saw the other seven"
