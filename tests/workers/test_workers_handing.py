"""Items of a stream that is read in order, handed to worker processes."""

from __future__ import annotations

import threading
from typing import Any

import numpy
import pytest

from fuel.datasets import IterableDataset
from fuel.streams import DataStream
from fuel.transformers import Filter, Mapping, Parallel
from fuel.utils._channel import Channel
from fuel.workers import close_workers


@pytest.fixture(autouse=True)
def no_workers_left() -> Any:
    yield
    close_workers()


class Point:
    """A class that a worker cannot import."""

    def __init__(self, x: int) -> None:
        self.x = x


def iterated(items: Any, function: Any) -> Any:
    stream = DataStream(IterableDataset(items))
    return Mapping(stream, function, elementwise=True)


def test_large_items_go_through_memory_and_not_through_the_pipe(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent: list[int] = []
    send = Channel.send_bytes

    def counted(self: Channel, payload: bytes) -> None:
        sent.append(len(payload))
        send(self, payload)

    images = [numpy.full((300, 1000), number, dtype=numpy.uint8) for number in range(12)]

    def brighter(data: Any) -> Any:
        return (data[0] + numpy.uint8(1),)

    parallel = Parallel(iterated(images, brighter), workers=2, kind="process", prefetch=4)
    iterator = parallel.get_epoch_iterator()
    next(iterator)  # the steps themselves have been sent
    monkeypatch.setattr(Channel, "send_bytes", counted)
    for number, item in enumerate(iterator, start=1):
        assert (item[0] == number + 1).all()
    assert sent and max(sent) <= 4096


def test_what_a_worker_keeps_of_an_item_does_not_change() -> None:
    kept: list[Any] = []

    def keeps(data: Any) -> Any:
        kept.append(data[0])
        return ([int(one[0]) for one in kept],)

    arrays = [numpy.full(5000, number) for number in range(20)]
    for item in Parallel(iterated(arrays, keeps), workers=1, kind="process", prefetch=2):
        assert item[0] == list(range(len(item[0])))


def test_items_of_classes_that_workers_cannot_import_arrive() -> None:
    def doubled(data: Any) -> Any:
        return (data[0].x * 2,)

    points = [Point(number) for number in range(9)]
    found = [item[0] for item in Parallel(iterated(points, doubled), workers=2, kind="process")]
    assert found == [2 * number for number in range(9)]


def test_an_item_that_cannot_be_sent_is_an_error_in_its_place() -> None:
    def same(data: Any) -> Any:
        return data

    items: list[Any] = [1, 2, threading.Lock(), 4]
    iterator = Parallel(iterated(items, same), workers=1, kind="process").get_epoch_iterator()
    assert [next(iterator)[0], next(iterator)[0]] == [1, 2]
    with pytest.raises(TypeError, match="kind='thread'"):
        next(iterator)
    assert next(iterator)[0] == 4


def test_items_behind_a_filter_are_evaluated_elsewhere() -> None:
    import os

    def even(data: Any) -> bool:
        return data[0] % 2 == 0

    def where(data: Any) -> Any:
        return (data[0], os.getpid())

    stream = Filter(DataStream(IterableDataset(list(range(30)))), even)
    parallel = Parallel(Mapping(stream, where, elementwise=True), workers=2, kind="process")
    found = list(parallel)
    assert [number for number, _ in found] == list(range(0, 30, 2))
    assert os.getpid() not in {pid for _, pid in found}


@pytest.mark.parametrize("kind", ["thread", "process"])
def test_the_place_before_the_first_item_is_the_beginning_however_far_was_read(kind: str) -> None:
    def fails(data: Any) -> Any:
        if data[0] == 0:
            raise LookupError("zero")
        return data

    parallel = Parallel(iterated(list(range(9)), fails), workers=2, kind=kind)
    iterator = parallel.get_epoch_iterator()
    with pytest.raises(LookupError):
        next(iterator)
    state = iterator.state_dict()
    parallel.close()
    resumed = iterated(list(range(9)), fails)
    resumed.load_state_dict(state)
    with pytest.raises(LookupError):
        next(iter(resumed))
