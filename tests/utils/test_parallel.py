"""`producer_consumer`: messages arrive, and no way of ending makes anybody wait."""

from __future__ import annotations

import os
import socket as sockets

import pytest
import zmq

from fuel.exceptions import WorkerError
from fuel.utils.parallel import producer_consumer


def send_numbers(socket, count=50):
    for number in range(count):
        socket.send_pyobj(number)


def receive_numbers(socket, count=50):
    return [socket.recv_pyobj() for _ in range(count)]


def send_some_and_fail(socket):
    send_numbers(socket, 10)
    raise KeyError("one broken image")


def receive_for_ever(socket):
    while True:
        socket.recv()


def poll_for_ever(socket):
    poller = zmq.Poller()
    poller.register(socket, zmq.POLLIN)
    while True:
        poller.poll()
        socket.recv_multipart(zmq.NOBLOCK)


def free_port():
    with sockets.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def endpoints(socket):
    return socket.get_string(zmq.LAST_ENDPOINT), receive_numbers(socket)


def test_messages_arrive_in_order_and_the_result_is_the_consumers():
    assert producer_consumer(send_numbers, receive_numbers) == list(range(50))


def test_the_port_is_the_one_that_was_asked_for():
    port = free_port()
    endpoint, numbers = producer_consumer(send_numbers, endpoints, port=port)
    assert endpoint == f"tcp://127.0.0.1:{port}"
    assert numbers == list(range(50))


def test_the_address_is_used():
    endpoint, numbers = producer_consumer(send_numbers, endpoints, addr="tcp://*")
    assert endpoint.startswith("tcp://0.0.0.0:")
    assert numbers == list(range(50))


@pytest.mark.skipif(os.name == "nt", reason="ipc addresses are files of POSIX systems")
def test_an_address_without_a_port_is_used_as_it_is(tmp_path):
    address = f"ipc://{tmp_path}/socket"
    endpoint, _ = producer_consumer(send_numbers, endpoints, addr=address)
    assert endpoint == address


def test_a_given_context_is_used_and_left_open():
    with zmq.Context() as context:
        found = producer_consumer(send_numbers, lambda s: s.context is context, context=context)
        assert found
        assert not context.closed


def test_a_port_that_is_taken_is_refused():
    with sockets.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(zmq.ZMQError, match="choose another port"):
            producer_consumer(send_numbers, receive_numbers, port=other.getsockname()[1])


def test_an_address_inside_this_process_is_refused():
    with pytest.raises(ValueError, match="another process"):
        producer_consumer(send_numbers, receive_numbers, addr="inproc://here")


def test_parts_of_a_message_stay_together():
    def produce(socket):
        socket.send_pyobj(("name.jpg", 3), zmq.SNDMORE)
        socket.send(b"picture")

    def consume(socket):
        return socket.recv_pyobj(zmq.SNDMORE), socket.recv()

    assert producer_consumer(produce, consume) == (("name.jpg", 3), b"picture")


@pytest.mark.parametrize("consume", [receive_for_ever, poll_for_ever])
def test_an_exception_of_the_producer_interrupts_the_consumer(consume):
    with pytest.raises(KeyError, match="one broken image") as caught:
        producer_consumer(send_some_and_fail, consume)
    assert "send_some_and_fail" in str(caught.value.__cause__)


def test_a_producer_that_dies_interrupts_the_consumer():
    with pytest.raises(WorkerError, match="exited with code 3"):
        producer_consumer(lambda socket: os._exit(3), receive_for_ever)


def test_a_consumer_that_waits_for_more_than_is_sent_is_told():
    with pytest.raises(WorkerError, match="waits for another message"):
        producer_consumer(send_numbers, receive_for_ever)


def test_a_failure_after_the_last_message_is_not_lost():
    def check_at_the_end(socket):
        send_numbers(socket)
        raise ValueError("a patch image was not used")

    with pytest.raises(ValueError, match="was not used"):
        producer_consumer(check_at_the_end, receive_numbers)


def test_a_consumer_may_stop_early():
    def send_for_ever(socket):
        while True:
            socket.send_pyobj(0)

    assert producer_consumer(send_for_ever, lambda socket: socket.recv_pyobj()) == 0


def test_an_exception_of_the_consumer_is_raised():
    with pytest.raises(ZeroDivisionError):
        producer_consumer(send_numbers, lambda socket: 1 / 0)


def test_messages_sent_by_a_producer_that_closed_its_socket_arrive():
    def close_it(socket):
        send_numbers(socket)
        socket.close()

    assert producer_consumer(close_it, receive_numbers) == list(range(50))
