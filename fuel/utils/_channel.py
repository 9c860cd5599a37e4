"""Messages between a process and a child that it started.

A `Channel` carries Python objects by pickle, so it may only connect processes that trust each
other: it is made by `fuel.utils._process`, over a pipe that nobody else can open. Data that
crosses a network is in `fuel.transport`.
"""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

__all__ = ["ENDED", "FAILED", "MISSING", "READY", "Channel", "ChannelClosed", "dumps"]

#: First bytes of the messages that are not objects. A pickle starts with 0x80, so they differ.
READY = b"R"
ENDED = b"E"
FAILED = b"F"
MISSING = b"M"


class ChannelClosed(EOFError):
    """The other end of a channel is gone, or the channel was closed."""


@contextmanager
def _by_value(modules: Iterable[str]) -> Iterator[None]:
    import sys

    import cloudpickle

    already = cloudpickle.list_registry_pickle_by_value()
    added = [sys.modules[name] for name in modules if name in sys.modules and name not in already]
    for module in added:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in added:
            cloudpickle.unregister_pickle_by_value(module)


def dumps(
    value: Any, by_value: Iterable[str] = (), buffer_callback: Callable[[Any], Any] | None = None
) -> bytes:
    """Pickle an object, with what the user's main module defines by value.

    Parameters
    ----------
    value : object
        The object.
    by_value : iterable of str, optional
        Further modules whose functions and classes travel by value, because the receiver cannot
        import them.
    buffer_callback : callable, optional
        As for `pickle.dumps`.

    Returns
    -------
    bytes
        The pickle.

    """
    import io

    buffer = io.BytesIO()
    with _by_value(by_value):
        _pickler_class()(buffer, protocol=5, buffer_callback=buffer_callback).dump(value)
    return buffer.getvalue()


@functools.cache
def _pickler_class() -> Any:
    """Return cloudpickle's pickler, with two changes.

    The names of files are kept in code that travels by value: cloudpickle leaves them out so that
    equal code has equal pickles, but a traceback needs them. And arrays keep the order of their
    bytes, which NumPy changes to that of the machine for some.
    """
    import collections
    import types

    import cloudpickle
    import numpy

    table: Any = cloudpickle.Pickler.dispatch_table
    reduce_code = table[types.CodeType]

    def reduce_with_file(code: types.CodeType) -> Any:
        make, args, *rest = reduce_code(code)
        named = (code.co_filename if _is_placeholder(part) else part for part in args)
        return (make, tuple(named), *rest)

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        dispatch_table = collections.ChainMap(
            {types.CodeType: reduce_with_file, numpy.ndarray: _reduce_array}, table
        )

    return Pickler


def _reduce_array(array: Any) -> Any:
    import numpy

    dtype = array.dtype
    if dtype.hasobject or not array.nbytes or (dtype.isnative and dtype.kind not in "mM"):
        return array.__reduce_ex__(5)
    fortran = array.flags.f_contiguous and not array.flags.c_contiguous
    flat: Any = numpy.ascontiguousarray(array.T if fortran else array).reshape(-1).view("u1")
    return _array, (pickle.PickleBuffer(flat), dtype, array.shape, "F" if fortran else "C")


def _array(content: Any, dtype: Any, shape: tuple[int, ...], order: Any) -> Any:
    import numpy

    return numpy.ndarray(shape, dtype, content, order=order)


def _is_placeholder(part: Any) -> bool:
    return isinstance(part, str) and part == "<dynamic-code>"


class Channel:
    """One end of a connection that carries objects both ways.

    One thread may send while another receives; two threads may not do the same thing at once.

    Parameters
    ----------
    connection : multiprocessing.connection.Connection
        The end of a pipe.

    """

    def __init__(self, connection: Connection[Any, Any]) -> None:
        self._connection = connection

    def send(self, value: Any) -> None:
        """Send an object.

        Parameters
        ----------
        value : object
            Anything that cloudpickle takes.

        Raises
        ------
        ChannelClosed
            If nobody is at the other end.

        """
        self.send_bytes(dumps(value))

    def send_bytes(self, payload: bytes) -> None:
        """Send what is pickled already, or one of the marks of this module with its payload.

        Parameters
        ----------
        payload : bytes
            The message.

        Raises
        ------
        ChannelClosed
            If nobody is at the other end.

        """
        try:
            self._connection.send_bytes(payload)
        except OSError as error:  # BrokenPipeError, ConnectionResetError, "handle is closed"
            raise ChannelClosed("the other end of the channel is gone") from error

    def recv_bytes(self) -> bytes:
        """Wait for a message and return it as it is.

        Returns
        -------
        bytes
            The message.

        Raises
        ------
        ChannelClosed
            If nobody is at the other end.

        """
        try:
            return self._connection.recv_bytes()
        except (EOFError, OSError) as error:
            raise ChannelClosed("the other end of the channel is gone") from error

    def recv(self) -> Any:
        """Wait for an object and return it.

        Returns
        -------
        object
            What the other end sent.

        Raises
        ------
        ChannelClosed
            If nobody is at the other end.

        """
        return pickle.loads(self.recv_bytes())

    def poll(self, timeout: float | None = 0.0) -> bool:
        """Tell whether there is something to receive.

        Parameters
        ----------
        timeout : float or None, default 0.0
            How long to wait for it, in seconds; None waits for ever.

        Returns
        -------
        bool
            True if `recv` would return, or raise, at once.

        """
        try:
            return self._connection.poll(timeout)
        except (EOFError, OSError):
            return True

    def fileno(self) -> int:
        """Return the descriptor (on Windows the handle) to wait on."""
        return self._connection.fileno()

    def close(self) -> None:
        """Close this end. Closing twice is fine."""
        self._connection.close()
