"""The server and its client: real sockets, the server in a process of its own."""

from __future__ import annotations

import gc
import logging
import os
import pickle
import signal
import socket as sockets
import subprocess
import sys
import threading
from pathlib import Path

import numpy
import pytest
import zmq

import fuel
from fuel.datasets import IndexableDataset
from fuel.exceptions import ServerUnavailableError, StateError, TransportError, WorkerError
from fuel.schemes import SequentialScheme
from fuel.server import start_server
from fuel.streams import DataStream, ServerDataStream
from fuel.transformers import Mapping, MultiProcessing
from fuel.utils._process import ChildProcess

TIMEOUT = 30.0

#: Without the compiled kernels, so that nothing is said about missing ones.
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": str(Path(fuel.__file__).parent.parent),
    "FUEL_KERNELS": "reference",
}
SOURCES = ("features", "targets")


def source(function=None):
    dataset = IndexableDataset(
        {"features": numpy.arange(14.0).reshape(7, 2), "targets": numpy.arange(7, dtype="u1")}
    )
    stream = DataStream(dataset, iteration_scheme=SequentialScheme(7, 3))
    return stream if function is None else Mapping(stream, function)


class _Tell(logging.Handler):
    def __init__(self, channel):
        super().__init__()
        self.channel = channel

    def emit(self, record):
        self.channel.send(record.getMessage())


def serve(channel, stream, port, hwm, options):
    logger = logging.getLogger("fuel.server")
    logger.setLevel("INFO")
    logger.addHandler(_Tell(channel))
    start_server(stream, port, hwm, **options)


@pytest.fixture
def server():
    """Start servers in other processes: `server(stream)` gives (process, port, first words)."""
    running = []

    def start(stream, port=0, hwm=10, **options):
        child = ChildProcess(serve, (stream, port, hwm, options), name="server")
        running.append(child)
        said = child.recv(TIMEOUT)
        return child, int(said.split(",")[0].rsplit(":", 1)[1]), said

    yield start
    for child in running:
        child.close(patient=False)


@pytest.fixture(scope="module")
def running():
    """The port of a server that tests share which do not mind where in an epoch it is."""
    child = ChildProcess(serve, (source(), 0, 10, {}), name="shared server")
    yield int(child.recv(TIMEOUT).split(",")[0].rsplit(":", 1)[1])
    child.close(patient=False)


@pytest.fixture
def client():
    """Connect streams, and close them at the end: `client(port)`."""
    made = []

    def connect(port, **options):
        made.append(ServerDataStream(SOURCES, False, port=port, **{"timeout": TIMEOUT, **options}))
        return made[-1]

    yield connect
    for stream in made:
        stream.close()


def fetch(get_data):
    """Return the next item of a server that is in the middle of something."""
    while True:
        try:
            return get_data()
        except StopIteration:
            pass


def lists(epoch):
    return [tuple(part.tolist() for part in item) for item in epoch]


def test_epochs_arrive_as_the_stream_yields_them(server, client):
    _, port, _ = server(source())
    stream = client(port)
    expected = lists(source().get_epoch_iterator())
    for _ in range(3):
        epoch = list(stream.get_epoch_iterator())
        assert lists(epoch) == expected
        assert [part.dtype.str for part in epoch[0]] == ["<f8", "|u1"]
    assert set(next(stream.get_epoch_iterator(as_dict=True))) == set(SOURCES)


def test_the_address_is_logged_with_what_opens_it(server):
    _, port, said = server(source())
    assert said.startswith(f"serving on tcp://127.0.0.1:{port}")
    assert 'host="0.0.0.0"' in said
    _, _, said = server(source(), host="*")
    assert "no authentication" in said


def test_the_port_is_the_one_that_was_asked_for(server, client):
    with sockets.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free = probe.getsockname()[1]
    _, port, _ = server(source(), free)
    assert port == free
    with pytest.raises(zmq.ZMQError, match="choose a free port"):
        start_server(source(), port)


def test_a_failing_stream_ends_the_server_and_reaches_the_client(server, client):
    def fail(data):
        raise KeyError("third shelf")

    child, port, _ = server(source(fail))
    with pytest.raises(WorkerError, match="KeyError: 'third shelf'"):
        client(port).get_data()
    with pytest.raises(KeyError):  # and the server raises it, after its log
        while True:
            child.recv(TIMEOUT)


def test_an_item_that_cannot_be_sent_reaches_the_client(server, client):
    _, port, _ = server(source(lambda data: ([[1], [2, 3]],)))
    with pytest.raises(WorkerError, match=r"TransportError.*Padding"):
        client(port).get_data()


def test_items_made_before_the_failure_arrive_first(server, client):
    def fail(data):
        if data[1][0] == 6:
            raise KeyError
        return data

    _, port, _ = server(source(fail))
    stream = client(port)
    assert [stream.get_data()[1].tolist() for _ in range(2)] == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(WorkerError):
        stream.get_data()


def test_without_a_server_the_client_gives_up_and_may_try_again(server, client):
    with sockets.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    stream = client(port, timeout=0.2)
    with pytest.raises(ServerUnavailableError, match=rf"localhost:{port} for 0.2 s"):
        stream.get_data()
    assert not stream.connected
    server(source(), port)
    stream.timeout = TIMEOUT
    assert stream.get_data()[1].tolist() == [0, 1, 2]


def test_something_else_that_listens_is_no_server(client):
    with sockets.create_server(("127.0.0.1", 0)) as other:
        stream = client(other.getsockname()[1], timeout=0.3)
        with pytest.raises(ServerUnavailableError):
            stream.get_data()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signals to end a process with")
def test_a_server_that_dies_is_noticed_after_what_it_sent(server, client):
    child, port, _ = server(source(), hwm=1)
    stream = client(port, timeout=0.3, hwm=1)
    stream.get_data()
    os.kill(child.pid, signal.SIGKILL)
    with pytest.raises(ServerUnavailableError):
        for _ in range(100_000):
            fetch(stream.get_data)


def test_a_server_that_is_slow_but_alive_is_waited_for(server, client):
    import time

    _, port, _ = server(source(lambda data: time.sleep(0.6) or data))
    stream = client(port, timeout=0.2)
    stream.timeout = TIMEOUT
    stream.connect()
    stream.get_data()  # connected from here on
    stream.timeout = 0.2
    assert stream.get_data()[1].tolist() == [3, 4, 5]


def test_a_server_that_comes_back_in_time_is_found_again(server, client):
    first, port, _ = server(source())
    stream = client(port)
    stream.get_data()
    first.close(patient=False)
    server(source(lambda data: (data[0], data[1] + 100)), port)
    while True:
        _, targets = fetch(stream.get_data)
        if targets[0] >= 100:
            break
    assert targets.tolist() == [100, 101, 102]


def test_it_pickles_without_its_connection_as_often_as_one_likes(running, client):
    port = running
    stream = client(port)
    list(stream.get_epoch_iterator())
    copy = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(stream))))
    assert stream.connected
    assert not copy.connected
    stream.close()
    assert len(fetch(copy.get_data)) == 2
    copy.close()

    def first():
        # Anew each time: an iterator that met the end of an epoch stays at it.
        iterator = pickle.loads(pickle.dumps(stream.get_epoch_iterator()))
        try:
            return next(iterator)
        finally:
            iterator.data_stream.close()

    assert len(fetch(first)) == 2


def test_it_closes_and_can_be_used_again(running, client):
    port = running
    stream = client(port)
    stream.close()  # before it was used
    for _ in range(2):
        list(stream.get_epoch_iterator())
        assert stream.connected
        stream.close()
        stream.close()
        assert not stream.connected
    with stream:
        stream.connect()
    assert not stream.connected


def test_a_connection_that_is_forgotten_is_closed(running):
    stream = ServerDataStream(SOURCES, False, port=running, timeout=TIMEOUT)
    list(stream.get_epoch_iterator())
    socket = stream._connection.socket
    del stream
    gc.collect()
    assert socket.closed


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this platform")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_process_makes_a_connection_of_its_own(running, client):
    stream = client(running)
    assert len(fetch(stream.get_data)) == 2
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            assert not stream.connected
            status = len(fetch(stream.get_data)) - 2
        finally:
            os._exit(status)
    assert os.waitpid(pid, 0)[1] == 0
    assert len(fetch(stream.get_data)) == 2


def test_its_state_cannot_be_saved_and_says_why():
    stream = ServerDataStream(SOURCES, False)
    for one in (stream, stream.get_epoch_iterator(), Mapping(stream, lambda data: data)):
        with pytest.raises(StateError, match="the server runs ahead"):
            one.state_dict()


def test_arguments_are_those_of_the_original_and_checked():
    stream = ServerDataStream(("a",), True, "example.org", 1234, 5, {"a": ("x",)})
    assert (stream.sources, stream.produces_examples) == (("a",), True)
    assert (stream.host, stream.port, stream.hwm) == ("example.org", 1234, 5)
    assert stream.axis_labels == {"a": ("x",)}
    assert "example.org:1234" in repr(stream)
    with pytest.raises(TypeError):
        len(stream)
    with pytest.raises(ValueError, match="takes no requests"):
        stream.get_data(4)
    for timeout in (0, -1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="timeout"):
            ServerDataStream(("a",), True, timeout=timeout)
    with pytest.raises(ServerUnavailableError, match="no address"):
        ServerDataStream(("a",), True, host="no host at all").get_data()


def test_what_is_no_message_is_a_transport_error(client):
    with zmq.Context() as context, context.socket(zmq.PUSH) as push:
        push.linger = 0
        port = push.bind_to_random_port("tcp://127.0.0.1")
        stream = client(port)
        stream.connect()
        push.send(b"hello")
        with pytest.raises(TransportError, match="another protocol"):
            stream.get_data()


SCRIPT = """
import logging, sys
logging.basicConfig(level="INFO", format="%(message)s", stream=sys.stdout)
import numpy
from fuel.datasets import IterableDataset
from fuel.server import start_server
from fuel.streams import DataStream
start_server(DataStream(IterableDataset([numpy.ones(3)])), port=0)
"""


@pytest.mark.skipif(os.name == "nt", reason="these are signals of POSIX systems")
def test_ctrl_c_stops_a_server_that_waits_for_clients(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-u", "-c", SCRIPT],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
        start_new_session=True,
    )
    assert process.stdout.readline().startswith("serving on")
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=TIMEOUT)
    assert out.endswith("the server has stopped\n")
    assert err.rstrip().endswith("KeyboardInterrupt")
    assert err.count("Traceback") == 1


def test_two_threads_may_each_have_a_client(running, client):
    port = running
    counts = []

    def read(stream):
        for _ in range(20):
            try:
                counts.append(len(stream.get_data()))
            except StopIteration:
                counts.append(2)

    threads = [threading.Thread(target=read, args=(client(port),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT)
    assert counts == [2] * 40


def test_a_client_in_another_process_keeps_its_connection_from_epoch_to_epoch(server):
    _, port, _ = server(source())
    remote = ServerDataStream(SOURCES, False, port=port, timeout=TIMEOUT)
    with MultiProcessing(remote, 2) as stream:
        for _ in range(4):
            targets = [batch[1].tolist() for batch in stream.get_epoch_iterator()]
            assert targets == [[0, 1, 2], [3, 4, 5], [6]]
