"""Arrays over a ZeroMQ socket, in the original wire form.

A message is one frame of JSON and one raw frame for each array. The JSON is

- a list of array headers (see `fuel.transport.framing`), for data,
- ``{"stop": true}``, for the end of an epoch,
- ``{"error": {"type": ..., "message": ...}}``, for an error at the sender; the two are texts.

What arrives is data: it is checked, never unpickled, never evaluated. Connecting, waiting and
who may connect are in `fuel.server` and `fuel.streams`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy

from fuel.exceptions import TransportError, WorkerError
from fuel.transport.framing import decode_arrays, encode_arrays
from fuel.typing import JSON

if TYPE_CHECKING:
    import zmq

__all__ = ["recv_arrays", "send_arrays", "send_error"]

#: Longest text of an error, in characters; it is for people.
_LONGEST_TEXT = 10_000


def send_arrays(
    socket: zmq.Socket[bytes], arrays: Sequence[Any] | None, stop: bool = False
) -> None:
    """Send arrays, or the mark of an epoch's end.

    Parameters
    ----------
    socket : zmq.Socket
        A socket that can send.
    arrays : sequence of array_like, or None
        Arrays of any shapes and of any dtypes without Python objects. Ignored with `stop`.
    stop : bool, default False
        Send the mark of the end instead.

    Raises
    ------
    TransportError
        If an item is not such an array; nothing was sent then.

    Notes
    -----
    The arrays may be changed as soon as this returns. A message is sent whole or not at all.

    """
    if stop:
        socket.send(json.dumps({"stop": True}).encode())
        return
    if arrays is None:
        raise TransportError("there are no arrays to send, got None; use stop=True for the mark")
    if isinstance(arrays, (str, bytes, dict)) or not hasattr(arrays, "__iter__"):
        # The letters of a text, or the names in a dict, would be sent as arrays.
        raise TransportError(
            f"what is sent must be a list or tuple of arrays, got a {type(arrays).__name__}; put "
            "a single array into a tuple, and send the values of a dict in the order of the sources"
        )
    headers, buffers = encode_arrays(arrays)
    socket.send_multipart([json.dumps(headers).encode(), *buffers])


def send_error(socket: zmq.Socket[bytes], error: BaseException, flags: int = 0) -> None:
    """Tell the receiver of arrays that there will be none because of an error.

    Parameters
    ----------
    socket : zmq.Socket
        A socket that can send.
    error : BaseException
        The error. Its type's name and its text are sent; its traceback is not.
    flags : int, optional
        Flags of the socket's ``send``.

    """
    content = {"type": type(error).__name__, "message": str(error)[:_LONGEST_TEXT]}
    socket.send(json.dumps({"error": content}).encode(), flags)


def recv_arrays(socket: zmq.Socket[bytes]) -> list[numpy.ndarray[Any, Any]]:
    """Receive arrays.

    Parameters
    ----------
    socket : zmq.Socket
        A socket that can receive.

    Returns
    -------
    list of numpy.ndarray
        The arrays as they were sent. They are writable and share memory with nothing.

    Raises
    ------
    StopIteration
        If the mark of an epoch's end came.
    WorkerError
        If the sender reported an error.
    TransportError
        If what came is malformed. The socket stays usable: the message was taken off whole.

    """
    first, *frames = socket.recv_multipart(copy=False)
    header = _parse_header(bytes(first.buffer))
    if not isinstance(header, dict):
        return decode_arrays(header, [frame.buffer for frame in frames])
    if not frames and header == {"stop": True} and header["stop"] is True:
        raise StopIteration
    if not frames and set(header) == {"error"}:
        raise _reported(header["error"])
    raise TransportError(
        f"the header of a message must be a list of array headers, "
        f'{{"stop": true}} or {{"error": ...}}, got {str(header)[:200]} with {len(frames)} frames; '
        f"the sender speaks another protocol"
    )


def _parse_header(frame: bytes) -> JSON:
    try:
        return json.loads(frame)
    except (ValueError, RecursionError) as error:
        raise TransportError(
            f"the first frame of a message must be JSON, got {frame[:80]!r} "
            f"({type(error).__name__}); the sender speaks another protocol"
        ) from error


def _reported(content: JSON) -> WorkerError | TransportError:
    if isinstance(content, dict):
        kind, message = content.get("type"), content.get("message", "")
    else:
        kind, message = "an error", content
    if not isinstance(kind, str) or not isinstance(message, str):
        return TransportError(
            f"an error was reported, but its type and message must be texts, got "
            f"{str(content)[:200]}; the sender speaks another protocol"
        )
    return WorkerError(
        f"the data server failed with {kind[:200]}: {message[:_LONGEST_TEXT]} (its traceback is "
        f"in the server's log)"
    )
