"""Shared memory without a name: nothing is left behind, whoever dies first.

A `Segment` is memory that several processes map. On Linux it is a file that lives in memory
(``memfd_create``), which is limited by memory and not by the size of ``/dev/shm``; on macOS a
POSIX segment that is unlinked as soon as it exists; on Windows a named mapping that goes with the
last process that has it. How a segment gets to another process is in `fuel.transport._passing`;
what is written into it is said by whoever made it.
"""

from __future__ import annotations

import errno
import mmap
import os
import secrets
import sys
import weakref
from collections.abc import Callable
from typing import Any

from fuel.exceptions import TransportError
from fuel.transport._passing import receive_handles, send_handles
from fuel.utils._limits import memory_left

__all__ = ["Segment", "receive_segments", "send_segments"]

#: So much must be left after a reservation, so that the process itself can go on.
_SPARE_BYTES = 16 * 2**20


class Segment:
    """Memory that several processes share.

    Made by `create` in one process and by `attach` in the others.

    Parameters
    ----------
    size_bytes : int
        Its size.
    handle : int or str
        A file descriptor, which the segment owns from now on; on Windows a name.
    name : str
        What it is for; shown in messages.
    writable : bool
        Whether this process may write.

    Attributes
    ----------
    size_bytes : int
        As given.
    name : str
        As given.
    writable : bool
        As given.

    Notes
    -----
    A new segment takes no memory before it is written to, or reserved. Where a page of a segment
    is first touched and no memory is left, the system kills the process (SIGBUS): `reserve` what
    will be written. Different threads and processes may write to different parts at once.

    Examples
    --------
    >>> import numpy
    >>> from fuel.transport.segments import Segment
    >>> segment = Segment.create(4096, "an example")
    >>> segment.reserve(0, 4096)
    >>> array = numpy.frombuffer(segment.memory, dtype="int32", count=3)
    >>> array[:] = 1, 2, 3
    >>> segment.close()
    >>> array
    array([1, 2, 3], dtype=int32)

    """

    def __init__(self, size_bytes: int, handle: int | str, name: str, writable: bool) -> None:
        self.size_bytes, self.name, self.writable = size_bytes, name, writable
        self._handle: int | str | None = handle
        if isinstance(handle, int):
            self._finalizer: Any = weakref.finalize(self, os.close, handle)
            access = mmap.ACCESS_WRITE if writable else mmap.ACCESS_READ
            options: dict[str, Any] = {"access": access}
            if sys.version_info >= (3, 13):
                options["trackfd"] = False  # or the map would hold a descriptor of its own
            try:
                self._map: Any = mmap.mmap(handle, size_bytes, **options)
            except BaseException:
                self._finalizer()
                raise
        else:
            self._finalizer = None
            self._map = mmap.mmap(-1, size_bytes, tagname=handle)  # type: ignore[call-arg,unused-ignore]

    @classmethod
    def create(cls, size_bytes: int, name_for_messages: str = "shared memory") -> Segment:
        """Make a segment.

        Parameters
        ----------
        size_bytes : int
            Its size, at least 1.
        name_for_messages : str, optional
            What it is for.

        Returns
        -------
        Segment
            A writable one, of zeros.

        Raises
        ------
        ValueError
            If the size is not positive.
        TransportError
            If the system refuses.

        """
        if size_bytes < 1:
            raise ValueError(
                f"`size_bytes` must be positive, got {size_bytes} for {name_for_messages}"
            )
        try:
            if os.name == "nt":
                return cls(size_bytes, f"fuel-{secrets.token_hex(16)}", name_for_messages, True)
            descriptor = _descriptor()
            try:
                os.ftruncate(descriptor, size_bytes)
            except BaseException:
                os.close(descriptor)
                raise
            return cls(size_bytes, descriptor, name_for_messages, True)
        except (OSError, OverflowError, ImportError) as error:
            raise TransportError(
                f"the system gave no shared memory of {size_bytes} bytes for "
                f"{name_for_messages}: {error}; use threads, or smaller batches"
            ) from error

    @classmethod
    def attach(
        cls,
        handle: int | str,
        size_bytes: int,
        *,
        writable: bool = True,
        name_for_messages: str = "shared memory",
    ) -> Segment:
        """Map a segment that another process made.

        Parameters
        ----------
        handle : int or str
            A file descriptor of this process that stands for it, which is the new object's to
            close, and is closed if there is none; on Windows what `handle` returned.
        size_bytes : int
            Its size.
        writable : bool, default True
            Whether this process may write. If not, arrays over `memory` are read-only and cannot
            be made otherwise.
        name_for_messages : str, optional
            What it is for.

        Returns
        -------
        Segment
            The same memory.

        Raises
        ------
        TransportError
            If it is smaller than that, or not there.

        """
        try:
            if isinstance(handle, int) and (found := os.fstat(handle).st_size) < size_bytes:
                os.close(handle)
                raise TransportError(
                    f"shared memory for {name_for_messages} has {found} bytes, got a request for "
                    f"{size_bytes}; the two processes do not agree"
                )
            return cls(size_bytes, handle, name_for_messages, writable)
        except (OSError, ValueError, OverflowError) as error:
            if isinstance(error, TransportError):
                raise
            raise TransportError(
                f"shared memory of {size_bytes} bytes for {name_for_messages} cannot be mapped "
                f"({error}); the process that made it may have ended"
            ) from error

    def __repr__(self) -> str:
        state = "closed" if self.closed else "writable" if self.writable else "read-only"
        return f"<Segment of {self.size_bytes} bytes for {self.name}, {state}>"

    @property
    def closed(self) -> bool:
        """bool: Whether `close` was called."""
        return self._map is None

    @property
    def memory(self) -> memoryview:
        """memoryview: All of it, as bytes; read-only where the segment is."""
        self._usable()
        view = memoryview(self._map)
        return view if self.writable else view.toreadonly()

    def reserve(self, offset: int, length: int) -> None:
        """Take the memory for a part of the segment now, so that writing to it cannot fail.

        Parameters
        ----------
        offset, length : int
            The part, in bytes. What is reserved already, or written, costs nothing again but is
            counted again when it is checked whether there is room.

        Raises
        ------
        ValueError
            If it does not lie within the segment.
        TransportError
            If so much would go beyond what the control group, or the machine, has left: taking
            it would get a process killed. Nothing was taken.
        OSError
            If the system has no room.

        Notes
        -----
        On macOS and Windows, which cannot do so for parts, only the room is checked.

        """
        handle = self._usable()
        if offset < 0 or length < 0 or offset + length > self.size_bytes:
            raise ValueError(
                f"a part must lie within the {self.size_bytes} bytes of the segment for "
                f"{self.name}, got offset {offset} and length {length}"
            )
        if not length:
            return
        left = memory_left()
        if left is not None and length + _SPARE_BYTES > left:
            raise TransportError(
                f"{self.name} needs {length} bytes of shared memory, but only {left} are left "
                f"before processes are killed for want of memory; keep fewer or smaller batches "
                f"in flight, use fewer workers, or allow more memory"
            )
        if isinstance(handle, int) and hasattr(os, "posix_fallocate") and sys.platform != "darwin":
            try:
                os.posix_fallocate(handle, offset, length)
            except OSError as error:
                if error.errno in (errno.EINVAL, errno.EOPNOTSUPP, errno.ENODEV):
                    return  # a file system that cannot reserve
                raise OSError(
                    error.errno,
                    f"{self.name} needs {length} bytes of shared memory, and the system has no "
                    f"room for them ({os.strerror(error.errno or 0)}); keep fewer or smaller "
                    f"batches in flight, or make /dev/shm larger if it is used",
                ) from error

    def fileno(self) -> int:
        """Return the file descriptor.

        Returns
        -------
        int
            It belongs to the segment: do not close it.

        Raises
        ------
        OSError
            On Windows, where there is none.

        """
        handle = self._usable()
        if isinstance(handle, str):
            raise OSError("a segment has no file descriptor on Windows; use `handle()`")
        return handle

    def handle(self) -> int | str:
        """Return what stands for the segment when it is passed on.

        Returns
        -------
        int or str
            The file descriptor, whose number means something in this process only; on Windows a
            name that every process of this user can use.

        """
        return self._usable()

    def close(self) -> None:
        """Give the segment up. Calling it twice is fine.

        Arrays over its memory stay valid: the map goes when the last of them dies. The memory
        itself goes when every process gave it up.
        """
        self._map = self._handle = None
        if self._finalizer is not None:
            self._finalizer()

    def _usable(self) -> int | str:
        if self._handle is None:
            raise ValueError(f"the segment for {self.name} was closed; make another one")
        return self._handle


def _descriptor() -> int:
    """Return a file in memory that no directory knows."""
    make: Callable[..., int] | None = getattr(os, "memfd_create", None)
    if make is not None:
        try:
            return make("fuel", getattr(os, "MFD_CLOEXEC", 1))
        except OSError as error:
            if error.errno not in (errno.ENOSYS, errno.EPERM):  # forbidden in some sandboxes
                raise
    import _posixshmem  # type: ignore[import-not-found,unused-ignore]

    for _ in range(8):
        name = f"/fuel-{secrets.token_hex(8)}"  # macOS allows 31 characters
        try:
            descriptor: int = _posixshmem.shm_open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            continue
        _posixshmem.shm_unlink(name)
        return descriptor
    raise OSError(errno.EEXIST, "no free name for shared memory was found")


def send_segments(connection: Any, segments: list[Segment]) -> None:
    """Send segments to a process that this one started.

    Parameters
    ----------
    connection : multiprocessing.connection.Connection
        An end of ``multiprocessing.Pipe(duplex=True)`` (which is a socket, except on Windows)
        that nobody else uses meanwhile.
    segments : list of Segment
        Any number. They may be closed here once the other side has said that it has them (on
        Linux and macOS at once).

    Raises
    ------
    OSError
        If the other end is gone.

    """
    send_handles(connection, [(part.handle(), part.size_bytes, part.name) for part in segments])


def receive_segments(connection: Any, count: int, *, writable: bool = False) -> list[Segment]:
    """Receive what `send_segments` sends at the other end.

    Parameters
    ----------
    connection : multiprocessing.connection.Connection
        The other end.
    count : int
        How many segments are expected.
    writable : bool, default False
        Whether this process may write to them.

    Returns
    -------
    list of Segment
        In the order in which they were sent.

    Raises
    ------
    TransportError
        If something else came.
    EOFError, OSError
        If the other end is gone.

    """
    received = receive_handles(connection, count)
    segments: list[Segment] = []
    try:
        for handle, size, name in received:
            segments.append(Segment.attach(handle, size, writable=writable, name_for_messages=name))
    except BaseException:
        for handle, _, _ in received[len(segments) + 1 :]:
            if isinstance(handle, int):
                os.close(handle)
        raise
    return segments
