"""ServerDataStream: the batches that a server in another process, or on another machine, sends.

The server is in `fuel.server`, the form of the messages in `fuel.transport.sockets`.
"""

from __future__ import annotations

import math
import numbers
import os
import time
import weakref
from typing import TYPE_CHECKING, Any

from fuel.exceptions import ServerUnavailableError, StateError
from fuel.plan import Context, Cursor
from fuel.streams._base import AbstractDataStream
from fuel.transport.sockets import recv_arrays
from fuel.typing import JSON
from fuel.utils._ports import check_host, check_hwm, check_port

if TYPE_CHECKING:
    from fuel.plan import Start

__all__ = ["ServerDataStream"]

#: Milliseconds between the attempts to reach a server that is away: the first, and the longest
#: that they grow to.
_RETRY_MS = (100, 2000)

#: A machine that vanished (no power, no network) sends no goodbye. The systems of both machines
#: ask each other after so many seconds of silence, so often, so many times. A server that is
#: merely slow, or stopped, is answered for by its system.
_KEEPALIVE_S = {"TCP_KEEPALIVE_IDLE": 15, "TCP_KEEPALIVE_INTVL": 5, "TCP_KEEPALIVE_CNT": 3}


class ServerDataStream(AbstractDataStream):
    """Streams what a server sends.

    Parameters
    ----------
    sources : tuple of str
        Names of what the server sends, in order. The server does not tell them.
    produces_examples : bool
        Whether the server sends examples (else: batches).
    host : str, default "localhost"
        The name or the address of the server's machine.
    port : int, default 5557
        The server's TCP port.
    hwm : int, default 10
        How many items are kept here at most before they are asked for.
    axis_labels : dict, optional
        From source name to a tuple of axis labels.
    timeout : float, default 60.0
        How long to go on without a connection to a server, in seconds. A server that is
        connected may take any time to send something.

    Attributes
    ----------
    sources, host, port, hwm, timeout
        As given.

    Raises
    ------
    ValueError
        If `port` is no TCP port, `hwm` no number of items, or `timeout` no positive number.

    Notes
    -----
    The connection is made when the first item is asked for. Each client of a server gets a part
    of the items, and the mark of an epoch's end goes to one of them. What is waiting here when an
    epoch is given up comes first in the next. The stream pickles without its connection, and
    cannot say where in the data it is, because the server does not: `state_dict` raises
    `StateError`. One thread at a time may use it.

    """

    sources: Any = ()
    _connection: _Connection | None = None

    def __init__(
        self,
        sources: Any,
        produces_examples: bool,
        host: str = "localhost",
        port: int = 5557,
        hwm: int = 10,
        axis_labels: Any = None,
        *,
        timeout: float = 60.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(axis_labels=axis_labels, **kwargs)
        given: Any = timeout
        if not isinstance(given, numbers.Real) or not 0 < timeout < math.inf:
            raise ValueError(f"`timeout` must be a positive number of seconds, got {timeout!r}")
        check_host(host)
        check_port(port)
        check_hwm(hwm)
        self.sources = sources
        self.produces_examples = produces_examples
        self.host = host
        self.port = port
        self.hwm = hwm
        self.timeout = timeout

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        state.pop("_connection", None)
        return state

    @property
    def connected(self) -> bool:
        """Whether `connect` was called since the stream was made or closed."""
        connection = self._connection
        return connection is not None and connection.is_mine

    def connect(self) -> None:
        """Begin to connect; the first `get_data` does it. Does not wait for the server."""
        if not self.connected:
            # One that was made before this process was forked belongs to the other process.
            self._connection = _Connection(self.host, self.port, self.hwm)

    def get_data(self, request: Any = None) -> Any:
        """Return the next item that the server sends.

        Parameters
        ----------
        request : None
            Not allowed: the order is the server's.

        Returns
        -------
        tuple of numpy.ndarray
            One array a source. They are writable and share memory with nothing.

        Raises
        ------
        StopIteration
            At the end of an epoch.
        ServerUnavailableError
            If there was no connection to a server for `timeout` seconds.
        WorkerError
            If the server's stream failed; the message names the original type.
        TransportError
            If something else than a data server answers.
        ValueError
            If a request is given.

        """
        if request is not None:
            raise ValueError(
                f"ServerDataStream takes no requests, got {request!r:.80}; the order is decided "
                "where the server's stream is built"
            )
        self.connect()
        assert self._connection is not None
        if not self._connection.wait(self.timeout):
            self.close()
            raise ServerUnavailableError(
                f"there was no data server at {self.host}:{self.port} for {self.timeout:g} s; "
                "start one there (fuel.server.start_server), check host and port (a server is "
                "open to other machines only if its `host` says so), or allow more `timeout`"
            )
        return tuple(recv_arrays(self._connection.socket))

    def get_epoch_iterator(self, as_dict: bool = False) -> Any:
        """Start an epoch; see `AbstractDataStream.get_epoch_iterator`."""
        return super().get_epoch_iterator(as_dict=as_dict)

    def close(self) -> None:
        """Close the connection; the next `get_data` makes another. Closing twice is fine."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    # -- what it offers to the plan -------------------------------------------------------------

    def _take_over(self, other: Any) -> None:
        one, another = ((it.host, it.port, it.hwm) for it in (self, other))
        if one == another and not self.connected:
            self._connection, other._connection = other._connection, None

    def _make_cursor(self, start: Start) -> Cursor:
        return _RemoteCursor(start, self)

    def _fingerprint(self) -> dict[str, JSON]:
        raise _no_position()

    def _describe(self) -> str:
        return f"ServerDataStream({self.host}:{self.port})"


def _no_position() -> StateError:
    return StateError(
        "a ServerDataStream has no position to save: the server runs ahead of its clients and "
        "shares its items among them; save the state of the stream that the server reads, or "
        "read that stream here"
    )


class _RemoteCursor(Cursor):
    """One epoch of a server, as far as this client sees it."""

    def __init__(self, start: Start, step: ServerDataStream) -> None:
        start.take_epoch(step)
        super().__init__(start, step)
        self._draws = start.draws
        self._seen = 0

    def produce(self, request: Any) -> Any:
        data = self.step.get_data(request)
        count = None
        if not self.step.produces_examples:
            count = len(data[0]) if data and data[0].ndim else 1
        # The places in the server's epoch are not known; those here are counted instead.
        self.context = Context(self.epoch, self._seen, count, self._draws)
        self._seen += 1 if count is None else count
        return data

    def tell(self) -> JSON:
        raise _no_position()

    def seek(self, mark: JSON) -> None:
        raise _no_position()


class _Connection:
    """A socket that knows whether somebody is at the other end."""

    def __init__(self, host: str, port: int, hwm: int) -> None:
        import zmq

        self._owner = os.getpid()
        self._established = False
        self._away_since = time.monotonic()
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        # The finalizer holds the sockets: were they collected before their context, nobody could
        # close them, and the context would wait for that for ever.
        sockets: list[zmq.Socket[bytes]] = []
        self._finalizer = weakref.finalize(self, _destroy, context, sockets, self._owner)
        self.socket = context.socket(zmq.PULL)
        sockets.append(self.socket)
        self.socket.set_hwm(hwm)
        self.socket.setsockopt(zmq.RECONNECT_IVL, _RETRY_MS[0])
        self.socket.setsockopt(zmq.RECONNECT_IVL_MAX, _RETRY_MS[1])
        self.socket.setsockopt(zmq.TCP_KEEPALIVE, 1)
        for option, value in _KEEPALIVE_S.items():
            self.socket.setsockopt(getattr(zmq, option), value)
        if ":" in host.strip("[]"):
            self.socket.setsockopt(zmq.IPV6, 1)
            host = f"[{host.strip('[]')}]"
        # A mere TCP connection is no data server; one that shook hands is.
        self._monitor = self.socket.get_monitor_socket(
            zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED
        )
        sockets.append(self._monitor)
        self._poller = zmq.Poller()
        self._poller.register(self.socket, zmq.POLLIN)
        self._poller.register(self._monitor, zmq.POLLIN)
        try:
            self.socket.connect(f"tcp://{host}:{port}")
        except zmq.ZMQError as error:
            self.close()
            raise ServerUnavailableError(
                f"{host}:{port} is no address of a data server ({error.strerror}); give the name "
                "of a machine and a TCP port"
            ) from error

    @property
    def is_mine(self) -> bool:
        """Whether this process made the connection (not one that it was forked from)."""
        return self._owner == os.getpid()

    def wait(self, timeout: float) -> bool:
        """Wait for a message; give up after so many seconds without a connection."""
        while True:
            patience = None
            if not self._established:
                patience = max(0, math.ceil(1000 * (self._away_since + timeout - time.monotonic())))
            ready = dict(self._poller.poll(patience))
            if self.socket in ready:
                return True
            if self._monitor in ready:
                self._read_events()
            elif not self._established and time.monotonic() >= self._away_since + timeout:
                return False

    def _read_events(self) -> None:
        import zmq
        from zmq.utils.monitor import recv_monitor_message

        while self._monitor.poll(0):
            event = recv_monitor_message(self._monitor)["event"]
            self._established = event == zmq.EVENT_HANDSHAKE_SUCCEEDED
            if not self._established:
                self._away_since = time.monotonic()

    def close(self) -> None:
        """Close the socket and all that belongs to it."""
        self._finalizer()


def _destroy(context: Any, sockets: list[Any], owner: int) -> None:
    if os.getpid() == owner:
        for socket in sockets:
            socket.close(linger=0)
        context.term()
