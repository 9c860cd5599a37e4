"""File descriptors from one process to another, over the socket that connects them.

``multiprocessing.Pipe(duplex=True)`` is a pair of Unix sockets, and such a socket can carry
descriptors beside its bytes. On Windows names travel instead. What the descriptors stand for is in
`fuel.transport.segments`.
"""

from __future__ import annotations

import json
import os
import socket
from typing import Any

from fuel.exceptions import TransportError

__all__ = ["receive_handles", "send_handles"]

#: Linux lets 253 descriptors travel beside one message.
_AT_ONCE = 200


def send_handles(connection: Any, handles: list[tuple[int | str, int, str]]) -> None:
    """Send descriptors (or names), each with a size and a word for messages.

    Parameters
    ----------
    connection : multiprocessing.connection.Connection
        One end of a pipe.
    handles : list of tuple
        Handle, size in bytes, name for messages.

    """
    connection.send_bytes(
        json.dumps(
            [
                [handle if isinstance(handle, str) else None, size, name]
                for handle, size, name in handles
            ]
        ).encode()
    )
    descriptors = [handle for handle, _, _ in handles if isinstance(handle, int)]
    if descriptors:
        with _socket(connection) as channel:
            for first in range(0, len(descriptors), _AT_ONCE):
                # At least one byte has to travel with them.
                socket.send_fds(channel, [b"."], descriptors[first : first + _AT_ONCE])


def receive_handles(connection: Any, count: int) -> list[tuple[int | str, int, str]]:
    """Receive what `send_handles` sends.

    Parameters
    ----------
    connection : multiprocessing.connection.Connection
        The other end of the pipe.
    count : int
        How many are expected.

    Returns
    -------
    list of tuple
        Handle, size in bytes, name for messages. The descriptors are the caller's to close.

    Raises
    ------
    TransportError
        If something else came.
    EOFError, OSError
        If the other end is gone.

    """
    message = connection.recv_bytes()
    try:
        listed = [(handle, int(size), str(name)) for handle, size, name in json.loads(message)]
    except (ValueError, TypeError) as error:
        raise TransportError(
            f"a list of shared memory was expected, got {message[:80]!r}; the two processes do "
            f"not agree"
        ) from error
    expected = sum(handle is None for handle, _, _ in listed)
    descriptors: list[int] = []
    try:
        if expected:
            with _socket(connection) as channel:
                while len(descriptors) < expected:
                    descriptors += _receive(channel, min(_AT_ONCE, expected - len(descriptors)))
        if len(listed) != count:
            raise TransportError(
                f"{count} segments of shared memory were expected, got {len(listed)}; the two "
                f"processes do not agree"
            )
    except BaseException:
        for descriptor in descriptors:
            os.close(descriptor)
        raise
    waiting = iter(descriptors)
    return [
        (next(waiting) if handle is None else handle, size, name) for handle, size, name in listed
    ]


def _receive(channel: socket.socket, number: int) -> list[int]:
    close_on_exec = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
    mark, descriptors, flags, _ = socket.recv_fds(channel, 1, number, close_on_exec)
    if not close_on_exec:
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
    if not mark:
        raise EOFError("the other end of the pipe is gone")
    if len(descriptors) != number or flags & getattr(socket, "MSG_CTRUNC", 0):
        for descriptor in descriptors:
            os.close(descriptor)
        raise TransportError(
            f"{number} file descriptors were expected, got {len(descriptors)}; this process may "
            f"have too many open (see `ulimit -n`)"
        )
    return list(descriptors)


def _socket(connection: Any) -> socket.socket:
    """Return another hold on the socket of a connection, for one exchange."""
    number = os.dup(connection.fileno())
    try:
        channel = socket.socket(fileno=number)
    except BaseException:
        os.close(number)
        raise
    channel.settimeout(None)  # whatever socket.setdefaulttimeout says, for both share the mode
    return channel
