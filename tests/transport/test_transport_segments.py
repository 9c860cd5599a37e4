"""Shared memory: what one process writes another reads, and nothing is left behind."""

from __future__ import annotations

import gc
import os
import sys

import numpy
import pytest

from fuel.exceptions import TransportError
from fuel.transport import segments as module
from fuel.transport.segments import Segment, receive_segments, send_segments
from fuel.utils._process import ChildProcess

posix = pytest.mark.skipif(os.name == "nt", reason="file descriptors are POSIX")
linux = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
TIMEOUT = 30.0


def descriptors():
    return sorted(os.listdir("/proc/self/fd"))


def read_back(channel, count, writable):
    attached = receive_segments(channel._connection, count, writable=writable)
    channel.send([bytes(part.memory[:8]) for part in attached])
    channel.send([(part.size_bytes, part.name, part.memory.readonly) for part in attached])
    if writable:
        for part in attached:
            part.memory[:3] = b"you"
    channel.send("written")


@pytest.mark.parametrize("count", [0, 1, 3, 450])
@pytest.mark.parametrize("writable", [False, True])
def test_a_child_reads_what_was_written_and_writes_if_it_may(count, writable):
    parts = [Segment.create(100 + n, f"part {n}") for n in range(count)]
    for number, part in enumerate(parts):
        part.memory[:8] = number.to_bytes(8, "little")
    child = ChildProcess(read_back, (count, writable))
    try:
        # The child asks for nothing before this, so the pipe is free.
        while not child._ready:
            child.poll(1.0)
        send_segments(child._channel._connection, parts)
        assert child.recv(TIMEOUT) == [n.to_bytes(8, "little") for n in range(count)]
        assert child.recv(TIMEOUT) == [(100 + n, f"part {n}", not writable) for n in range(count)]
        assert child.recv(TIMEOUT) == "written"
        if writable:
            assert all(bytes(part.memory[:3]) == b"you" for part in parts)
    finally:
        child.close()


def test_arrays_outlive_the_segment_they_lie_in():
    segment = Segment.create(8 * 100)
    array = numpy.frombuffer(segment.memory, "int64")
    array[:] = numpy.arange(100)
    segment.close()
    segment.close()
    gc.collect()
    assert array.tolist() == list(range(100))
    with pytest.raises(ValueError, match="was closed"):
        _ = segment.memory


@linux
def test_nothing_is_left_when_the_last_array_is_gone():
    before = descriptors()
    for _ in range(50):
        segment = Segment.create(2**20)
        segment.reserve(0, 2**20)
        array = numpy.frombuffer(segment.memory, "uint8")
        del segment
        assert array[0] == 0
    del array
    gc.collect()
    assert descriptors() == before


@linux
def test_it_takes_memory_when_it_is_reserved_and_not_before():
    segment = Segment.create(2**40, "more than the machine has")
    assert os.fstat(segment.fileno()).st_blocks == 0
    segment.reserve(2**30, 2**20)
    assert os.fstat(segment.fileno()).st_blocks * 512 == 2**20
    with pytest.raises(TransportError, match=f"more than the machine has needs {2**39} bytes"):
        segment.reserve(0, 2**39)


@linux
def test_lack_of_room_is_an_error_of_the_reservation(monkeypatch):
    def full(descriptor, offset, length):
        raise OSError(28, "No space left on device")

    segment = Segment.create(4096, "batches")
    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match="batches needs 4096 bytes of shared memory"):
        segment.reserve(0, 4096)


def test_a_reservation_beyond_what_the_control_group_has_left_is_refused(monkeypatch):
    segment = Segment.create(2**20, "batches")
    monkeypatch.setattr(module, "memory_left", lambda: 2**20)
    with pytest.raises(TransportError, match=f"batches needs {2**20} bytes .* only {2**20} are"):
        segment.reserve(0, 2**20)
    monkeypatch.setattr(module, "memory_left", lambda: None)
    segment.reserve(0, 2**20)


@pytest.mark.parametrize(("offset", "length"), [(-1, 1), (0, 101), (100, 1), (0, -1)])
def test_only_parts_of_the_segment_can_be_reserved(offset, length):
    with pytest.raises(ValueError, match="must lie within the 100 bytes"):
        Segment.create(100).reserve(offset, length)


@posix
def test_without_memfd_it_is_an_unlinked_posix_segment(monkeypatch):
    monkeypatch.delattr(os, "memfd_create", raising=False)
    before = os.listdir("/dev/shm") if os.path.isdir("/dev/shm") else []
    segment = Segment.create(1000)
    segment.reserve(0, 1000)
    segment.memory[:4] = b"word"
    other = Segment.attach(os.dup(segment.fileno()), 1000, writable=False)
    assert bytes(other.memory[:4]) == b"word"
    assert before == (os.listdir("/dev/shm") if os.path.isdir("/dev/shm") else [])


@posix
def test_a_read_only_segment_gives_arrays_that_cannot_be_made_writable():
    segment = Segment.create(64)
    other = Segment.attach(os.dup(segment.fileno()), 64, writable=False)
    array = numpy.frombuffer(other.memory, "uint8")
    with pytest.raises(ValueError, match="WRITEABLE"):
        array.flags.writeable = True


@posix
def test_a_segment_that_is_smaller_than_was_said_is_refused():
    segment = Segment.create(64)
    number = os.dup(segment.fileno())
    with pytest.raises(TransportError, match="has 64 bytes, got a request for 65"):
        Segment.attach(number, 65)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(number)


@linux
def test_what_cannot_be_mapped_leaves_nothing_open():
    before = descriptors()
    with pytest.raises(TransportError, match=f"{2**62} bytes for the impossible"):
        Segment.create(2**62, "the impossible")
    assert descriptors() == before


@posix
def test_descriptors_are_not_inherited_by_other_programs():
    assert not os.get_inheritable(Segment.create(64).fileno())


@pytest.mark.parametrize("size", [0, -5])
def test_a_size_must_be_positive(size):
    with pytest.raises(ValueError, match=f"must be positive, got {size}"):
        Segment.create(size)
