"""The kind of workers that is chosen by measuring, and that nothing depends on it."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

import numpy
import pytest

from fuel.datasets import IndexableDataset
from fuel.schemes import SequentialExampleScheme
from fuel.streams import DataStream
from fuel.transformers import Mapping, Parallel
from fuel.workers import _choosing, _idle, close_workers


@pytest.fixture(autouse=True)
def no_workers_left() -> Any:
    close_workers()
    yield
    close_workers()


def numbers(function: Any, rows: int = 60) -> Any:
    dataset = IndexableDataset({"x": numpy.arange(rows)})
    stream = DataStream(dataset, iteration_scheme=SequentialExampleScheme(rows))
    return Mapping(stream, function, elementwise=True)


def chosen(function: Any, caplog: pytest.LogCaptureFixture, rows: int = 60) -> str:
    with caplog.at_level(logging.DEBUG, logger="fuel.workers"):
        found = [int(item[0]) for item in Parallel(numbers(function, rows), workers=2)]
    assert found == list(range(rows))
    said = [record.getMessage() for record in caplog.records if record.name == "fuel.workers"]
    assert len(said) == 1 and "workers, for" in said[0]
    return said[0]


def test_what_is_cheap_stays_here(caplog: pytest.LogCaptureFixture) -> None:
    assert "serial workers" in chosen(lambda data: data, caplog)
    assert not _idle._idle


def test_what_waits_goes_to_threads(caplog: pytest.LogCaptureFixture) -> None:
    def waits(data: Any) -> Any:
        time.sleep(0.005)  # it is about what takes time and no processor
        return data

    said = chosen(waits, caplog)
    assert "thread workers" in said and "waiting" in said


def test_what_cannot_be_sent_goes_to_threads(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = threading.Lock()

    def locked(data: Any) -> Any:
        with lock:
            return data

    # As if it were costly, and threads gained nothing.
    monkeypatch.setattr(_choosing, "_CHEAP_S", 0.0)
    monkeypatch.setattr(_choosing, "_WAITING", 0.0)
    monkeypatch.setattr(_choosing, "_GAIN", -1.0)
    monkeypatch.setattr(_choosing, "usable_cpus", lambda: 2)
    said = chosen(locked, caplog)
    assert "thread workers" in said and "lock" in said


def test_what_keeps_the_interpreter_busy_goes_to_processes(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_choosing, "_CHEAP_S", 0.0)
    monkeypatch.setattr(_choosing, "_WAITING", 0.0)
    monkeypatch.setattr(_choosing, "_GAIN", -1.0)
    monkeypatch.setattr(_choosing, "usable_cpus", lambda: 2)
    # More than what is measured, and compared, before there is a choice.
    assert "process workers" in chosen(lambda data: data, caplog, 600)
    assert len(_idle._idle) == 2


def test_an_epoch_that_ends_before_there_is_a_choice_is_whole() -> None:
    for rows in range(8):
        found = [int(item[0]) for item in Parallel(numbers(lambda data: data, rows), workers=2)]
        assert found == list(range(rows))


def test_workers_stay_warm_after_an_early_end() -> None:
    parallel = Parallel(numbers(lambda data: data), workers=2, kind="process")
    for _ in parallel:
        break
    iterator = parallel.get_epoch_iterator()
    next(iterator)
    iterator.close()
    pids = {worker.process.pid for _, worker in _idle._idle}
    assert len(pids) == 2
    assert [int(item[0]) for item in parallel] == list(range(60))
    assert {worker.process.pid for _, worker in _idle._idle} == pids
