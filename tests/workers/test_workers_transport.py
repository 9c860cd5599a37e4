"""What crosses between a consumer and its worker processes, and what that takes of the system."""

from __future__ import annotations

import gc
import os
import signal
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy
import pytest

from fuel.datasets import IndexableDataset
from fuel.exceptions import TransportError
from fuel.schemes import PermutedScheme, SequentialScheme
from fuel.streams import DataStream
from fuel.transformers import Mapping, Parallel
from fuel.transport.segments import Segment
from fuel.workers import _crew, _wire, close_workers

linux = pytest.mark.skipif(sys.platform != "linux", reason="/proc and /dev/shm are Linux's")


@pytest.fixture(autouse=True)
def workers_of_its_own(monkeypatch: pytest.MonkeyPatch) -> Any:
    close_workers()
    # The consumer would evaluate the first batches itself.
    monkeypatch.setattr(_crew.Crew, "may_help", lambda *arguments: False)
    yield
    close_workers()


def batches(rows: int, shape: tuple[int, ...], size: int, **settings: Any) -> Parallel:
    images = numpy.empty((rows, *shape), "u1")
    images[:] = numpy.arange(rows).reshape(rows, *(1 for _ in shape)) % 251
    dataset = IndexableDataset({"x": images, "y": numpy.arange(rows)})
    stream = DataStream(dataset, iteration_scheme=PermutedScheme(rows, size, seed=1))
    return Parallel(stream, kind="process", **{"workers": 1, **settings})


def right(parallel: Parallel) -> int:
    """Read an epoch, look at every batch, and return how many there were."""
    count = 0
    for x, y in parallel:
        assert (x.reshape(len(x), -1) == (y % 251)[:, None]).all()
        count += 1
    return count


@pytest.mark.parametrize(
    ("rows", "shape", "size"), [(1024, (3, 224, 224), 256), (25600, (28, 28), 256)]
)
def test_at_most_4_kb_a_batch_go_through_the_pipe(
    rows: int, shape: tuple[int, ...], size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    parallel = batches(rows, shape, size)
    right(parallel)  # the steps, and what they hold, have been sent
    passed: list[int] = []
    send, receive = _wire.Wire.send, _wire.Wire.receive

    def counted_send(self: Any, payload: bytes, *rest: Any) -> None:
        passed.append(len(payload))
        send(self, payload, *rest)

    def counted_receive(self: Any) -> bytes:
        payload = receive(self)
        passed.append(len(payload))
        return payload

    monkeypatch.setattr(_wire.Wire, "send", counted_send)
    monkeypatch.setattr(_wire.Wire, "receive", counted_receive)
    count = right(parallel)
    assert count == rows // size
    assert passed and sum(passed) <= 4096 * count


@linux
def test_the_number_of_descriptors_does_not_grow() -> None:
    def descriptors() -> int:
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    def passes(*, kill: bool) -> None:
        for _ in range(10):
            parallel = batches(64, (10, 100), 4, workers=2)
            iterator = parallel.get_epoch_iterator()
            next(iterator)
            if kill:
                assert parallel._crew is not None
                os.kill(parallel._crew._processes.workers[0].process.pid, signal.SIGKILL)
            assert sum(1 for _ in iterator) == 15

    passes(kill=False)
    before = descriptors()
    passes(kill=False)
    assert descriptors() == before
    kept = list(batches(64, (10, 100), 4, workers=2))  # each batch over shared memory
    assert descriptors() <= before + 1  # that of the program's own array, in its shared place
    del kept
    passes(kill=True)
    assert descriptors() == before


@linux
def test_nothing_lies_in_dev_shm() -> None:
    def used() -> tuple[set[str], int]:
        room = os.statvfs("/dev/shm")
        return set(os.listdir("/dev/shm")), (room.f_blocks - room.f_bfree) * room.f_frsize

    names, size = used()
    iterator = batches(512, (3, 224, 224), 128).get_epoch_iterator()
    kept = [next(iterator), next(iterator)]  # 38 MB, and as much again is on its way
    now, grown = used()
    assert now - names == set() and grown - size < 10 << 20
    assert len(kept[0][0]) == 128


def test_without_shared_memory_one_warning_names_the_size_and_all_arrives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    create = Segment.create.__func__  # type: ignore[attr-defined]

    def refuses(cls: Any, size: int, name: str = "shared memory") -> Any:
        if name == "the batches of a worker":
            raise TransportError("the system gave none")
        return create(cls, size, name)

    monkeypatch.setattr(Segment, "create", classmethod(refuses))
    parallel = batches(64, (30, 100), 8, workers=2)
    with pytest.warns(RuntimeWarning, match="the system gave none.*at least 1048576 bytes") as told:
        assert right(parallel) == 8
    assert len([one for one in told if one.category is RuntimeWarning]) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert right(parallel) == 8


def test_with_shared_memory_declined_everything_goes_by_the_pipe_without_a_word() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert right(batches(64, (30, 100), 8, workers=2, shared_memory_bytes=0)) == 8


def test_the_requests_of_any_order_arrive() -> None:
    rows = numpy.random.default_rng(0).integers(0, 500, 3000)
    dataset = IndexableDataset({"y": numpy.arange(500)})
    for given in (rows, rows.tolist(), range(0, 500, 7)):
        stream = DataStream(dataset, iteration_scheme=SequentialScheme(given, 900))
        found = numpy.concatenate([y for (y,) in Parallel(stream, workers=2, kind="process")])
        assert found.tolist() == list(given)


@pytest.mark.parametrize("method", [None, "spawn"])
def test_libraries_use_one_thread_unless_the_user_said_otherwise(
    method: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    monkeypatch.setenv("FUEL_TEST_LATER", "seen")  # after the fork server may have started

    def environment(data: Any) -> Any:
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "FUEL_TEST_LATER")
        return tuple(os.environ.get(name) for name in names)

    dataset = IndexableDataset({"a": numpy.arange(2)})
    stream = DataStream(dataset, iteration_scheme=SequentialScheme(2, 1))
    mapped = Mapping(stream, environment, elementwise=True)
    parallel = Parallel(mapped, workers=1, kind="process", start_method=method)
    assert list(parallel) == [("1", "3", "seen")] * 2


def test_the_reference_kernels_in_workers_give_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FUEL_KERNELS", "reference")

    def which(data: Any) -> Any:
        from fuel.kernels import memory

        return (*data, numpy.full(len(data[0]), memory._kernel.__name__.endswith("reference")))

    parallel = batches(64, (30, 100), 8, workers=2, start_method="spawn")
    mapped = Mapping(parallel.data_stream, which, elementwise=True)
    found = Parallel(mapped, workers=2, kind="process", start_method="spawn")
    for x, y, reference in found:
        assert reference.all()
        assert (x.reshape(len(x), -1) == (y % 251)[:, None]).all()
