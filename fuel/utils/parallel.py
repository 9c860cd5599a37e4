"""One process produces messages, this one consumes them.

`producer_consumer` connects the two with a ZeroMQ socket. Streams that are produced in another
process are in `fuel.transformers` (``MultiProcessing``).
"""

from __future__ import annotations

import contextlib
import functools
import secrets
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from fuel.exceptions import WorkerError
from fuel.utils._ports import check_port
from fuel.utils._process import ChildProcess

if TYPE_CHECKING:
    import zmq

    from fuel.utils._channel import Channel

__all__ = ["producer_consumer"]

_T = TypeVar("_T")

#: Seconds that a producer gets to return, or to fail, after the consumer has returned. A producer
#: that checks at its end that all was used does so right after its last message.
_FAREWELL_S = 1.0

#: Seconds that the last messages of a producer which closed its socket itself get to arrive.
_ARRIVAL_S = 5.0


def producer_consumer(
    producer: Callable[[zmq.Socket[bytes]], Any],
    consumer: Callable[[zmq.Socket[bytes]], _T],
    addr: str = "tcp://127.0.0.1",
    port: int | None = None,
    context: zmq.Context[zmq.Socket[bytes]] | None = None,
) -> _T:
    """Run a producer in a process of its own and a consumer here, joined by a socket.

    Parameters
    ----------
    producer : callable
        Called in the other process with a PUSH socket. It may be a lambda, a closure, or defined
        in the main module.
    consumer : callable
        Called here with a PULL socket, which receives what the producer sends.
    addr : str, default "tcp://127.0.0.1"
        The transport and interface to use. An ``ipc://`` address is used as it is.
    port : int, optional
        The TCP port. By default a free one.
    context : zmq.Context, optional
        Where the PULL socket is made. By default a context of its own.

    Returns
    -------
    object
        What the consumer returned. The producer is ended then, wherever it is.

    Raises
    ------
    Exception
        What the producer raised, with its traceback as the cause, or what the consumer raised.
    WorkerError
        If the producer died, or returned while the consumer waits for more.
    ValueError
        If `addr` cannot be reached from another process, or `port` is no TCP port.

    Notes
    -----
    However the producer ends, a consumer that waits for a message is interrupted: each receiving
    call of the socket raises then.

    Examples
    --------
    >>> producer_consumer(lambda s: s.send_pyobj(6), lambda s: s.recv_pyobj() * 7)
    42

    """
    import zmq

    if addr.startswith("inproc:"):
        raise ValueError(
            f"`addr` must be reachable from another process, got {addr!r}; use tcp://127.0.0.1"
        )
    if port is not None:
        check_port(port)
    token = secrets.token_bytes(32)
    own_context = None if context is not None else zmq.Context()
    socket = _watched_socket_class()(context or own_context, zmq.PULL)
    child: ChildProcess | None = None
    try:
        socket.linger = 0
        endpoint = _bind(socket, addr, port)
        child = ChildProcess(_produce, (producer, endpoint, token), name="producer")
        end = _End(child, endpoint, token)
        socket.expect(end)
        result = consumer(socket)
        end.raise_failure()
        return result
    finally:
        if child is not None:
            child.close(patient=False)
            end.join()
        socket.close()
        if own_context is not None:
            own_context.term()


def _bind(socket: Any, addr: str, port: int | None) -> str:
    """Bind, and return the address that a process on this machine connects to."""
    import zmq

    if addr.startswith("tcp://"):
        if "[" in addr:
            socket.setsockopt(zmq.IPV6, 1)
        address = f"{addr}:{'*' if port is None else port}"
    else:
        address = addr
    try:
        socket.bind(address)
    except zmq.ZMQError as error:
        raise zmq.ZMQError(
            error.errno, f"cannot listen on {address} ({error.strerror}); choose another port"
        ) from error
    endpoint = str(socket.get_string(zmq.LAST_ENDPOINT))
    return endpoint.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")


def _produce(channel: Channel, producer: Callable[[Any], Any], endpoint: str, token: bytes) -> None:
    """Run the producer, in its process."""
    import zmq

    context = zmq.Context()
    socket = _connect(context, endpoint)
    try:
        producer(socket)
        # Behind everything that was sent, in the same queue.
        if socket.closed:
            socket = _connect(context, endpoint)
            channel.send("closed")
        socket.send(token)
        socket.close()
        context.term()  # waits until all of it has left
    finally:
        context.destroy(linger=0)


def _connect(context: Any, endpoint: str) -> Any:
    import zmq

    socket = context.socket(zmq.PUSH)
    if "[" in endpoint:
        socket.setsockopt(zmq.IPV6, 1)
    socket.connect(endpoint)
    return socket


@functools.cache
def _watched_socket_class() -> Any:
    """Return the class of the consumer's socket, made when zmq is first needed."""
    import zmq

    class WatchedSocket(zmq.Socket[bytes]):
        """A PULL socket whose receiving calls raise once the producer has ended."""

        _end: _End | None = None
        _ended = False

        def expect(self, end: _End) -> None:
            self._end = end

        def recv(self, flags: int = 0, copy: bool = True, track: bool = False) -> Any:
            # All other ways to receive are built on this one.
            while True:
                if self._ended and self._end is not None:
                    self._end.reached(self)
                part: Any = super().recv(flags, copy=copy, track=track)
                if self._end is None or len(part) != len(self._end.token):
                    return part
                if (part if copy else part.bytes) != self._end.token:
                    return part
                self._ended = True

    return WatchedSocket


class _End:
    """Waits for the producer's end, and says how it was.

    The producer's last message is a token that nobody else knows. If the producer cannot send
    it, because it failed or died, it is sent from here: so the end is a message like any other,
    and whatever the consumer waits with is woken by it.
    """

    def __init__(self, child: ChildProcess, endpoint: str, token: bytes) -> None:
        self.token = token
        self.in_order = True
        self.failure: BaseException | None = None
        self._child = child
        self._endpoint = endpoint
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="fuel-producer", daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        try:
            while True:
                self.in_order = self._child.recv() != "closed"
        except EOFError:
            pass  # it returned
        except BaseException as error:
            self.failure = error
        self._over.set()
        if self.failure is not None and not self._child.closed:
            self._wake()

    def _wake(self) -> None:
        import zmq

        context: Any = zmq.Context()
        socket = _connect(context, self._endpoint)
        socket.linger = int(_ARRIVAL_S * 1000)
        with contextlib.suppress(zmq.ZMQError):
            socket.send(self.token, zmq.NOBLOCK)
        socket.close()
        context.term()

    def reached(self, socket: zmq.Socket[bytes]) -> None:
        """Raise in the consumer, which received the token; return if more messages may come."""
        self._over.wait(_ARRIVAL_S)
        if self.failure is None and not self.in_order:
            # The producer closed its socket, so the token came by another way than the rest.
            if socket.poll(int(_ARRIVAL_S * 1000)):
                return
        raise self.failure or WorkerError(
            "the producer has returned, but the consumer waits for another message; let the "
            "consumer stop after the last one, or the producer send more"
        )

    def raise_failure(self) -> None:
        """Raise the producer's failure, if it failed, after the consumer has returned."""
        self._over.wait(_FAREWELL_S)
        if self.failure is not None:
            raise self.failure

    def join(self) -> None:
        """Wait for the watching thread, once the child was closed."""
        self._thread.join(_ARRIVAL_S)
