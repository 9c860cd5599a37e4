"""Serve the batches of a stream to processes on this or other machines.

`start_server` runs a stream in its own process and pushes what it yields through a ZeroMQ socket;
`fuel.streams.ServerDataStream` is the other end.

- `fuel.server._serve`: the server;
- `fuel.transport.sockets`: what the messages look like.
"""

from __future__ import annotations

from fuel.server._serve import start_server
from fuel.transport.sockets import recv_arrays, send_arrays

__all__ = ["recv_arrays", "send_arrays", "start_server"]
