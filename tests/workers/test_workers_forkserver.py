"""The fork server, which becomes worker processes, and what happens when it dies."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import numpy
import pytest

from fuel.datasets import IndexableDataset
from fuel.exceptions import WorkerError
from fuel.schemes import SequentialExampleScheme
from fuel.streams import DataStream
from fuel.transformers import Mapping, Parallel
from fuel.utils import _forkserver
from fuel.workers import close_workers

pytestmark = pytest.mark.skipif(
    not _forkserver.available(), reason="this system has no fork server"
)


@pytest.fixture(autouse=True)
def a_server_of_its_own() -> Any:
    close_workers()
    yield
    close_workers()


def whose(data: Any) -> Any:
    return int(data[0]), os.getpid(), os.getppid()


def numbers(rows: int = 40, **settings: Any) -> Parallel:
    dataset = IndexableDataset({"n": numpy.arange(rows)})
    stream = DataStream(dataset, iteration_scheme=SequentialExampleScheme(rows))
    settings = {"workers": 2, "kind": "process", "prefetch": 4, **settings}
    return Parallel(Mapping(stream, whose, elementwise=True), **settings)


def server() -> int:
    assert _forkserver._server is not None
    return int(_forkserver._server.process.pid)


def test_workers_are_children_of_one_server() -> None:
    parents = {parent for _, _, parent in numbers()}
    assert parents == {server()}
    parents |= {parent for _, _, parent in numbers(workers=3)}
    assert parents == {server()}


def test_closing_the_workers_ends_the_server_too() -> None:
    list(numbers())
    pid = server()
    close_workers()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_server_that_was_killed_between_two_passes_is_replaced() -> None:
    first = [number for number, _, _ in numbers()]
    pid = server()
    for _ in range(3):
        os.kill(server(), signal.SIGKILL)
        # Of more workers than there are, so that some have to be started.
        found = list(numbers(workers=4))
        assert [number for number, _, _ in found] == first
        close_workers()
        list(numbers())
    assert server() != pid


def test_workers_outlive_their_server_and_their_deaths_are_noticed() -> None:
    parallel = numbers(80)
    iterator = parallel.get_epoch_iterator()
    found = [next(iterator)[0] for _ in range(5)]
    os.kill(server(), signal.SIGKILL)
    found += [next(iterator)[0] for _ in range(5)]
    assert parallel._crew is not None
    os.kill(parallel._crew._processes.workers[0].process.pid, signal.SIGKILL)
    found += [number for number, _, _ in iterator]
    assert found == list(range(80))


def test_a_program_with_threads_is_not_forked_and_the_reason_is_told() -> None:
    gate = threading.Event()
    thread = threading.Thread(target=gate.wait, name="of-the-user")
    thread.start()
    try:
        with pytest.raises(WorkerError, match="threads.*of-the-user.*'forkserver' or 'spawn'"):
            next(iter(numbers(start_method="fork")))
    finally:
        gate.set()
        thread.join()
