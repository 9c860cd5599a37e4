"""The server: one stream, one socket, epoch after epoch."""

from __future__ import annotations

import contextlib
import logging
import time
from typing import TYPE_CHECKING, Any, NoReturn

from fuel.transport.sockets import send_arrays, send_error
from fuel.typing import StreamLike
from fuel.utils._ports import check_host, check_hwm, check_port

if TYPE_CHECKING:
    import zmq

__all__ = ["start_server"]

logger = logging.getLogger("fuel.server")

#: Milliseconds that data already handed to the socket gets to leave when the server ends.
_LINGER_MS = 2000

#: Seconds that a client gets to take the report of an error.
_REPORT_S = 10.0


def start_server(
    data_stream: StreamLike,
    port: int = 5557,
    hwm: int = 10,
    *,
    host: str = "127.0.0.1",
) -> NoReturn:
    """Serve a stream: all its epochs, one after the other, each followed by a mark of its end.

    Several clients share what is served: each item goes to one of them.

    Parameters
    ----------
    data_stream : stream
        What to serve. Its items must be tuples of arrays without Python objects.
    port : int, default 5557
        The TCP port. 0 takes a free one, which is logged.
    hwm : int, default 10
        How many items wait for a client at most. They take up memory here, and as many again at
        the client.
    host : str, default "127.0.0.1"
        The address to listen on. By default only this machine can connect; ``"0.0.0.0"`` (or
        ``"*"``) lets everybody in who can reach the machine. There is no authentication and
        no encryption: do that in networks that you trust.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C, after the socket was closed.
    ValueError
        If `data_stream` is no stream, `host` no address, `port` no TCP port, or `hwm` no number
        of items.
    zmq.ZMQError
        If the port is taken or the address is not one of this machine.
    Exception
        What the stream raises, after the client was told.

    Notes
    -----
    Never returns. Logs to ``fuel.server`` and leaves the configuration of logging to the program.

    """
    import zmq

    check_host(host)
    check_port(port, lowest=0)
    check_hwm(hwm)
    if not hasattr(data_stream, "get_epoch_iterator"):
        raise ValueError(
            f"`data_stream` must be a stream, got {data_stream!r:.80}; make one of a dataset with "
            "DataStream(dataset, iteration_scheme=...)"
        )
    context = zmq.Context()
    socket: zmq.Socket[bytes] = context.socket(zmq.PUSH)
    try:
        socket.linger = _LINGER_MS
        socket.set_hwm(hwm)
        address = _bind(socket, host, port)
        logger.info("serving on %s%s", address, _advice(host))
        _serve(socket, data_stream)
    finally:
        socket.close()
        context.term()  # returns after _LINGER_MS at the latest
        logger.info("the server has stopped")


def _bind(socket: zmq.Socket[bytes], host: str, port: int) -> str:
    import zmq

    if ":" in host.strip("[]"):
        socket.setsockopt(zmq.IPV6, 1)
        host = f"[{host.strip('[]')}]"
    try:
        socket.bind(f"tcp://{host}:{port or '*'}")
    except zmq.ZMQError as error:
        raise zmq.ZMQError(
            error.errno,
            f"cannot listen on {host}:{port} ({error.strerror}); choose a free port, and an "
            f"address of this machine",
        ) from error
    return str(socket.get_string(zmq.LAST_ENDPOINT))


def _advice(host: str) -> str:
    if host in ("127.0.0.1", "localhost", "::1", "[::1]"):
        return (
            ", reachable from this machine only; to open it to others (there is no "
            'authentication), pass host="0.0.0.0"'
        )
    return ", reachable from other machines; there is no authentication and no encryption"


def _serve(socket: zmq.Socket[bytes], data_stream: StreamLike) -> NoReturn:
    epoch = 0
    try:
        while True:
            for data in data_stream.get_epoch_iterator():
                send_arrays(socket, data)
            send_arrays(socket, None, stop=True)
            epoch += 1
            logger.debug("epoch %d has ended", epoch)
    except KeyboardInterrupt:
        logger.info("interrupted in epoch %d", epoch)
        raise
    except Exception as error:
        logger.exception("the stream failed in epoch %d; the client is told", epoch)
        _report(socket, error)
        raise


def _report(socket: zmq.Socket[bytes], error: Any) -> None:
    """Tell the client, who may first have to take the items that wait for it."""
    import zmq

    deadline = time.monotonic() + _REPORT_S
    with contextlib.suppress(zmq.ZMQError):
        while not socket.poll(100, zmq.POLLOUT):
            if time.monotonic() > deadline:
                logger.warning("no client took the report of the error")
                return
        send_error(socket, error, zmq.NOBLOCK)
        # As long again for the report to leave; the client may be busy with an item.
        socket.linger = int(_REPORT_S * 1000)
