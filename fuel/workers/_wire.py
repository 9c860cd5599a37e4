"""The pipe between a pass and a worker, over which neither waits for the other for ever.

A worker that sends a large result waits until it is read, and reads nothing meanwhile. Whoever
sends it something large at that moment must read, or both would wait. Not here: what is said
(`fuel.workers._worker`).
"""

from __future__ import annotations

import os
import select
import socket
import struct
from collections import deque

from fuel.transport.segments import Segment, send_segments
from fuel.utils._channel import Channel, ChannelClosed

__all__ = ["Wire"]

#: What is no larger fits where the system says that there is room: it says so only if three
#: quarters of some 200 KiB are free.
_SMALL_BYTES = 16 << 10


class Wire:
    """The parent's end.

    Parameters
    ----------
    channel : Channel
        The end of the pipe.

    Attributes
    ----------
    inbox : deque of bytes
        Messages that came while something was sent.
    midway : bool
        Whether a message was begun: if nothing is being sent or received at the moment, something
        interrupted it (Ctrl-C), and nobody can know what the next bytes mean.

    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self.inbox: deque[bytes] = deque()
        self.midway = False

    def receive(self) -> bytes:
        """Return the next message; wait for it.

        Returns
        -------
        bytes
            The message.

        Raises
        ------
        ChannelClosed
            If the worker is gone.

        """
        if self.inbox:
            return self.inbox.popleft()
        self.midway = True
        try:
            payload = self._channel.recv_bytes()
        except ChannelClosed:
            self.midway = False
            raise
        self.midway = False
        return payload

    def send(self, payload: bytes, segments: list[Segment] | None = None) -> None:
        """Send a message, and the memory that goes with it.

        Parameters
        ----------
        payload : bytes
            The message.
        segments : list of Segment, optional
            The memory.

        Raises
        ------
        ChannelClosed, OSError
            If the worker is gone.

        """
        self.midway = True
        try:
            self._send(payload, segments)
        except (ChannelClosed, OSError):
            self.midway = False
            raise
        self.midway = False

    def _send(self, payload: bytes, segments: list[Segment] | None) -> None:
        self._make_room()
        if len(payload) <= _SMALL_BYTES or not hasattr(select, "poll"):
            self._channel.send_bytes(payload)
        else:
            self._send_large(payload)
        if segments is not None:
            self._make_room()
            send_segments(self._channel._connection, segments)

    def _make_room(self) -> None:
        """Wait until a small message can be sent, and take in what comes meanwhile."""
        if not hasattr(select, "poll"):
            return  # on Windows the system keeps what is sent, whatever its size
        poller = select.poll()
        poller.register(self._channel.fileno(), select.POLLIN | select.POLLOUT)
        while True:
            ((_, events),) = poller.poll()
            if events & select.POLLOUT:
                return
            # Also where the worker is gone: then this says so.
            self.inbox.append(self._channel.recv_bytes())

    def _send_large(self, payload: bytes) -> None:
        size = len(payload)
        # As `multiprocessing.connection.Connection` writes it.
        head = struct.pack("!i", size) if size <= 0x7FFFFFFF else struct.pack("!iQ", -1, size)
        with socket.socket(fileno=os.dup(self._channel.fileno())) as pipe:
            pipe.settimeout(None)  # whatever the default is, for both share the mode
            for part in (head, payload):
                left = memoryview(part)
                while left:
                    try:
                        left = left[pipe.send(left, socket.MSG_DONTWAIT) :]
                    except BlockingIOError:
                        self._make_room()

    def hang_up(self) -> None:
        """Let both sides hear that it is over; this end stays open for whoever uses it."""
        try:
            if not hasattr(socket, "AF_UNIX") or os.name == "nt":
                self._channel.close()
                return
            with socket.socket(fileno=os.dup(self._channel.fileno())) as pipe:
                pipe.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it is over already
