"""Worker processes that die, refuse, fail or hang: real processes, real signals."""

from __future__ import annotations

import logging
import os
import signal
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

import numpy
import pytest

from fuel.datasets import IndexableDataset
from fuel.exceptions import WorkerError
from fuel.schemes import ConstantScheme, PermutedExampleScheme, SequentialExampleScheme
from fuel.streams import DataStream
from fuel.transformers import Batch, Cast, Mapping, Parallel
from fuel.workers import _idle, close_workers

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no signals to kill with")
ROWS = 64


@pytest.fixture(autouse=True)
def no_workers_left() -> Any:
    yield
    close_workers()


def numbers(function: Any, order: Any = None, rows: int = ROWS) -> Any:
    dataset = IndexableDataset({"x": numpy.arange(rows)})
    stream = DataStream(dataset, iteration_scheme=order or SequentialExampleScheme(rows))
    return Mapping(stream, function, elementwise=True)


def same(data: Any) -> Any:
    return data


def pids(parallel: Parallel) -> list[int]:
    assert parallel._crew is not None
    processes = parallel._crew._processes
    return [] if processes is None else [worker.process.pid for worker in processes.workers]


def test_killed_workers_are_replaced_and_the_output_is_the_same() -> None:
    def slow(data: Any) -> Any:
        deadline = time.perf_counter() + 0.001
        while time.perf_counter() < deadline:
            pass
        return data

    def build() -> Any:
        return Batch(numbers(slow, PermutedExampleScheme(400, seed=1), 400), ConstantScheme(4))

    serial, parallel = build(), Parallel(build(), workers=2, kind="process")
    generator = numpy.random.default_rng(0)
    kills = 0
    for _ in range(4):
        expected = [batch[0].tolist() for batch in serial]
        found: list[Any] = []
        for number, batch in enumerate(parallel):
            found.append(batch[0].tolist())
            if number % 4 == 1:
                there = pids(parallel)
                os.kill(there[int(generator.integers(len(there)))], signal.SIGKILL)
                kills += 1
        assert found == expected
    assert kills == 100
    parallel.close()


@pytest.mark.parametrize("restarts", [0, 2])
def test_examples_that_kill_workers_end_with_an_error_that_names_them(
    restarts: int, tmp_path: Path
) -> None:
    log = tmp_path / "deaths"

    def deadly(data: Any) -> Any:
        if data[0] == 21:
            with log.open("a") as file:
                file.write("x")
            os.kill(os.getpid(), signal.SIGKILL)
        return data

    parallel = Parallel(numbers(deadly), workers=2, kind="process", restarts=restarts, prefetch=4)
    found: list[int] = []
    began = time.monotonic()
    with pytest.raises(WorkerError) as caught:
        for item in parallel:
            found.append(int(item[0]))
            began = time.monotonic()
    assert time.monotonic() - began < 20  # not for ever; how quick is measured elsewhere
    assert found == list(range(len(found))) and len(found) <= 21
    text = str(caught.value)
    assert "SIGKILL" in text and "worker process" in text and "Parallel over Mapping" in text
    assert "ordinal" in text and f"`restarts`={restarts}" in text
    assert len(log.read_text()) == restarts + 1


def test_what_kills_a_worker_by_exit_is_told_with_its_code() -> None:
    def leaves(data: Any) -> Any:
        os._exit(7)

    with pytest.raises(WorkerError, match="exited with code 7"):
        list(Parallel(numbers(leaves), workers=1, kind="process", restarts=0))


def test_a_death_is_noticed_from_the_sentinel_not_from_a_timeout() -> None:
    # A worker that is stopped cannot speak, and one that is killed need not: both kinds of silence
    # look the same but for the end of its pipe.
    def waits(data: Any) -> Any:
        time.sleep(30)  # what is waited for here is the signal
        return data

    parallel = Parallel(numbers(waits), workers=1, kind="process", restarts=0)
    iterator = parallel.get_epoch_iterator()
    timer: list[Any] = []

    def kill() -> None:
        while not pids(parallel):
            time.sleep(0.01)  # until there is somebody to kill
        while not any(w.pending for w in parallel._crew._processes.workers):  # type: ignore[union-attr]
            time.sleep(0.01)
        timer.append(time.monotonic())
        os.kill(pids(parallel)[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(WorkerError, match="SIGKILL"):
        next(iterator)
    killer.join()
    assert time.monotonic() - timer[0] < 10


@pytest.mark.parametrize("kind", ["serial", "thread", "process"])
def test_an_error_keeps_its_type_its_traceback_and_says_where_it_was(kind: str) -> None:
    class Odd(Exception):
        pass

    def fails(data: Any) -> Any:
        if data[0] == 13:
            raise LookupError("thirteen")
        return data

    order = PermutedExampleScheme(ROWS, seed=2)
    position = [int(item[0]) for item in numbers(same, order)].index(13)
    stream = numbers(fails, PermutedExampleScheme(ROWS, seed=2))
    parallel = Parallel(stream, workers=2, kind=kind, on_error="raise")
    if kind == "serial":
        parallel = Parallel(stream, workers=0, on_error=_again)
    iterator = parallel.get_epoch_iterator()
    found: list[int] = []
    with pytest.raises(LookupError, match="thirteen") as caught:
        for item in iterator:
            found.append(int(item[0]))
    assert len(found) == position
    notes = " ".join(getattr(caught.value, "__notes__", []))
    assert "fails" in notes and f"ordinal {position}" in notes and "example 13" in notes
    if kind != "serial":
        assert f"worker {kind}" in notes
    if kind == "process":
        assert "in fails" in str(caught.value.__cause__)
    # The next item is the one behind it, as it is without workers.
    assert len(list(iterator)) == ROWS - position - 1


def _again(failure: Any) -> str:
    return "raise"


def test_errors_in_a_batch_name_the_example() -> None:
    def fails(data: Any) -> Any:
        if data[0] == 13:
            raise LookupError("thirteen")
        return data

    stream = Cast(Batch(numbers(fails), ConstantScheme(5)), "float32")
    parallel = Parallel(stream, workers=2, kind="process")
    iterator = parallel.get_epoch_iterator()
    assert [next(iterator)[0].tolist() for _ in range(2)] == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
    with pytest.raises(LookupError) as caught:
        next(iterator)
    assert "ordinal 13 (example 13)" in " ".join(getattr(caught.value, "__notes__", []))
    serial = Cast(Batch(numbers(fails), ConstantScheme(5)), "float32").get_epoch_iterator()
    next(serial), next(serial)
    with pytest.raises(LookupError):
        next(serial)
    assert [batch[0].tolist() for batch in iterator] == [batch[0].tolist() for batch in serial]


def test_what_cannot_be_pickled_is_named_before_any_process_starts() -> None:
    connection = sqlite3.connect(":memory:")

    def looks(data: Any) -> Any:
        return (connection.execute("select 1").fetchone()[0],)

    close_workers()
    parallel = Parallel(numbers(looks), workers=2, kind="process")
    with pytest.raises(TypeError, match=r"connection.*sqlite3\.Connection"):
        next(iter(parallel))
    assert not _idle._idle and not pids(parallel)
    connection.close()


def test_items_that_cannot_be_sent_are_an_error_with_advice() -> None:
    def locks(data: Any) -> Any:
        return (threading.Lock(),)

    with pytest.raises(TypeError, match="kind='thread'"):
        next(iter(Parallel(numbers(locks), workers=1, kind="process")))


@pytest.mark.parametrize("kind", ["thread", "process"])
def test_a_stall_shows_the_stacks_of_the_workers(
    kind: str, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"

    def stands_still(data: Any) -> Any:
        while not gate.exists():
            time.sleep(0.01)  # held up until the log has been written
        return data

    class Opens(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "stands_still" in record.getMessage():
                gate.touch()

    handler = Opens()
    logging.getLogger("fuel.workers").addHandler(handler)
    try:
        with caplog.at_level(logging.WARNING, logger="fuel.workers"):
            parallel = Parallel(
                numbers(stands_still, rows=4), workers=2, kind=kind, stall_timeout_s=0.5
            )
            assert len(list(parallel)) == 4
    finally:
        logging.getLogger("fuel.workers").removeHandler(handler)
    assert "stands_still" in caplog.text and "ordinal 0 of epoch 0" in caplog.text
    assert f"worker {kind}" in caplog.text


def test_workers_are_kept_warm_and_leased_to_one_pass_at_a_time() -> None:
    def who(data: Any) -> Any:
        return (os.getpid(),)

    first = Parallel(numbers(who), workers=2, kind="process")
    one = {item[0] for item in first}
    two = {item[0] for item in Parallel(numbers(who), workers=2, kind="process")}
    assert os.getpid() not in one | two
    assert two <= set(pids_of_idle()) and one <= set(pids_of_idle())
    a = Parallel(numbers(who), workers=1, kind="process", prefetch=2).get_epoch_iterator()
    b = Parallel(numbers(who), workers=1, kind="process", prefetch=2).get_epoch_iterator()
    pairs = [(next(a)[0], next(b)[0]) for _ in range(20)]
    assert len({x for x, _ in pairs}) == 1 and len({y for _, y in pairs}) == 1
    assert pairs[0][0] != pairs[0][1]


def pids_of_idle() -> list[int]:
    return [worker.process.pid for _, worker in _idle._idle]


def test_an_epoch_without_examples_starts_no_process() -> None:
    close_workers()
    dataset = IndexableDataset({"x": numpy.zeros((0, 2))})
    stream = DataStream(dataset, iteration_scheme=SequentialExampleScheme(0))
    parallel = Parallel(Mapping(stream, same, elementwise=True), workers=2, kind="process")
    assert list(parallel) == []
    assert not pids_of_idle() and not pids(parallel)


def test_a_pass_goes_on_after_all_workers_were_closed() -> None:
    parallel = Parallel(numbers(same), workers=2, kind="process", restarts=0)
    iterator = parallel.get_epoch_iterator()
    found = [int(next(iterator)[0]) for _ in range(5)]
    close_workers()
    found += [int(item[0]) for item in iterator]
    assert found == list(range(ROWS))
