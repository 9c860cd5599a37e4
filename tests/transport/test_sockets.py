"""Arrays over real sockets: the original wire form, marks, errors, and damage."""

from __future__ import annotations

import json

import numpy
import pytest
import zmq

from fuel.exceptions import TransportError, WorkerError
from fuel.server import recv_arrays, send_arrays
from fuel.transport.sockets import send_error


@pytest.fixture
def pair():
    with (
        zmq.Context() as context,
        context.socket(zmq.PUSH) as push,
        context.socket(zmq.PULL) as pull,
    ):
        push.linger = 0
        port = push.bind_to_random_port("tcp://127.0.0.1")
        pull.connect(f"tcp://127.0.0.1:{port}")
        yield push, pull


def test_arrays_arrive_as_they_left(pair):
    push, pull = pair
    arrays = [
        numpy.arange(6.0).reshape(2, 3).T,
        numpy.array(5, "i2"),
        numpy.zeros((0, 4), "M8[s]"),
        numpy.arange(10)[::2],
    ]
    send_arrays(push, arrays)
    came = recv_arrays(pull)
    for one, sent in zip(came, arrays, strict=True):
        assert (one.dtype, one.shape) == (sent.dtype, sent.shape)
        numpy.testing.assert_array_equal(one, sent)
        assert one.flags.writeable


@pytest.mark.parametrize("arrays", ["abc", b"abc", {"a": numpy.ones(2)}, 5])
def test_what_is_no_sequence_of_arrays_is_refused(pair, arrays):
    push, pull = pair
    with pytest.raises(TransportError, match="list or tuple of arrays"):
        send_arrays(push, arrays)
    assert not pull.poll(0)


def test_no_arrays_are_a_whole_message(pair):
    push, pull = pair
    send_arrays(push, [])
    send_arrays(push, [numpy.ones(1)])
    assert recv_arrays(pull) == []
    assert recv_arrays(pull)[0].tolist() == [1.0]


def test_the_wire_form_is_the_original_one(pair):
    push, pull = pair
    array = numpy.arange(4, dtype="<f4").reshape(2, 2)
    send_arrays(push, [array, array.T])
    header, first, second = pull.recv_multipart()
    assert json.loads(header) == [
        {"descr": "<f4", "fortran_order": False, "shape": [2, 2]},
        {"descr": "<f4", "fortran_order": True, "shape": [2, 2]},
    ]
    assert first == second == array.tobytes()
    send_arrays(push, None, stop=True)
    assert json.loads(pull.recv()) == {"stop": True}
    assert not pull.getsockopt(zmq.RCVMORE)


def test_a_message_of_an_original_sender_is_understood(pair):
    push, pull = pair
    arrays = [numpy.arange(3), numpy.ones((2, 2), order="F")]
    push.send_json([numpy.lib.format.header_data_from_array_1_0(a) for a in arrays], zmq.SNDMORE)
    push.send(arrays[0], zmq.SNDMORE)
    push.send(arrays[1].T)
    for one, sent in zip(recv_arrays(pull), arrays, strict=True):
        numpy.testing.assert_array_equal(one, sent)


def test_the_mark_of_the_end_is_a_stop_iteration(pair):
    push, pull = pair
    send_arrays(push, None, stop=True)
    with pytest.raises(StopIteration):
        recv_arrays(pull)


def test_an_error_of_the_sender_is_named(pair):
    push, pull = pair
    send_error(push, ZeroDivisionError("by nothing"))
    with pytest.raises(WorkerError, match="ZeroDivisionError: by nothing"):
        recv_arrays(pull)
    push.send_json({"error": "in words"})
    with pytest.raises(WorkerError, match="in words"):
        recv_arrays(pull)


def test_nothing_is_sent_if_a_part_cannot_be(pair):
    push, pull = pair
    for bad in ([numpy.ones(2), numpy.array([{}])], [numpy.ones(1), [[1], [2, 3]]], None):
        with pytest.raises(TransportError):
            send_arrays(push, bad)
    send_arrays(push, [numpy.zeros(1)])
    assert [a.tolist() for a in recv_arrays(pull)] == [[0.0]]  # the first thing that came


def test_an_array_may_be_changed_once_it_was_sent(pair):
    push, pull = pair
    array = numpy.zeros(300_000)
    send_arrays(push, [array])
    array[:] = 1
    assert not recv_arrays(pull)[0].any()


GOOD = {"descr": "<i4", "fortran_order": False, "shape": [1]}


@pytest.mark.parametrize(
    "frames",
    [
        [b""],
        [b"not JSON"],
        [b"\xff\xfe"],
        [b"[" * 100_000],
        [b"1" * 10_000],
        [b"NaN"],
        [b"null"],
        [b'"stop"'],
        [b"{}"],
        [b'{"stop": false}'],
        [b'{"stop": 1}'],
        [b'{"stop": true, "more": 1}'],
        [b'{"stop": true}', b"data"],
        [b'{"error": {"type": 1, "message": []}}'],
        [b'{"error": {}}'],
        [b'{"error": "x"}', b"data"],
        [json.dumps([GOOD]).encode()],
        [json.dumps([GOOD]).encode(), b"123"],
        [json.dumps([GOOD]).encode(), b"1234", b"5678"],
        [json.dumps([GOOD, GOOD]).encode(), b"1234"],
        [b"\x80\x04cos\nsystem\n", b""],
    ],
    ids=lambda frames: str(frames[0][:30]),
)
def test_damage_is_refused_and_the_next_message_is_read(pair, frames):
    push, pull = pair
    push.send_multipart(frames)
    send_arrays(push, [numpy.arange(2)])
    with pytest.raises(TransportError):
        recv_arrays(pull)
    assert recv_arrays(pull)[0].tolist() == [0, 1]
