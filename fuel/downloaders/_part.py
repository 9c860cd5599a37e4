"""The file that a download grows in: ``NAME.part`` beside its target.

It is locked while it is written, so that two downloads never mix their bytes, and it remembers
across runs which version of the remote file its bytes belong to. That memory is its modification
time, set to the ``Last-Modified`` of the server (as `wget` and `curl -R` do for whole files): no
second file is needed, and a time that nobody set has a fraction of a second, or is no version that
the server has, so the download starts again. Talking to the server is in `_transfer`.
"""

from __future__ import annotations

import errno
import io
import os
from email.utils import formatdate, parsedate_to_datetime
from typing import Any

from fuel.exceptions import StorageError

__all__ = ["PartFile"]

# Where the lock is placed on Windows, whose locks are mandatory: far behind any data.
_LOCK_OFFSET = 2**62

# How the systems say that somebody else holds a lock.
_HELD = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK)


class PartFile(io.FileIO):
    """A file being downloaded, open for writing at its end.

    Not safe to share between threads. Another process, or another object, that opens the part of
    the same target meanwhile gets an error.

    Parameters
    ----------
    target : str
        The final name of the file.
    checked_later : bool, optional
        See below.

    Attributes
    ----------
    target : str
        The final name.
    path : str
        ``target`` and ``.part``.
    label : str
        The last component of ``target``.
    validator : str or None
        The HTTP date of the version that the bytes found at the start belong to; None if there
        are none or their version is unknown.
    checked_later : bool
        Whether the whole file is held against a checksum in the end, so that bytes of unknown
        version may be continued.
    resumable : bool
        Whether another run could go on where this one stopped.

    Raises
    ------
    StorageError
        If another process is downloading the same file, or there is something of that name that
        is no file.

    """

    def __init__(self, target: str, checked_later: bool = False) -> None:
        if os.path.exists(target) and not os.path.isfile(target):
            # To give the new file its name would remove what others use: a device, a pipe.
            raise StorageError(
                f"{target} cannot be written: there is something of that name that is no file; "
                "give the name of a file"
            )
        self.target = target
        self.path = target + ".part"
        self.label = os.path.basename(target)
        self.resumable = False
        self.checked_later = checked_later
        self._modified: int | None = None
        while True:
            super().__init__(self.path, "r+", opener=_open)
            try:
                _lock(self.fileno())
            except OSError as error:
                if error.errno not in _HELD:
                    break  # a file system without locks: two downloads at once are up to the user
                self.close()
                raise StorageError(
                    f"{self.path} is being written by another process; wait for that download of "
                    f"{self.label} to end, or stop it"
                ) from error
            if self._is_current():
                break
            self.close()  # its former owner finished and renamed it between our two steps
        found = os.fstat(self.fileno())
        self.validator: str | None = None
        if found.st_size and found.st_mtime_ns % 10**9 == 0:
            self.validator = formatdate(found.st_mtime_ns // 10**9, usegmt=True)
        self.seek(0, os.SEEK_END)

    def _is_current(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self.fileno()), os.stat(self.path))
        except FileNotFoundError:
            return False

    def write(self, data: Any) -> int:
        """Write all of the data (an unbuffered file may take a part of it)."""
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[super().write(rest) or 0 :]
        except OSError as error:
            error.filename = self.path  # the system says why, but not where
            raise
        return len(data)

    def remember(self, last_modified: str | None) -> None:
        """Note the version that the bytes belong to.

        Parameters
        ----------
        last_modified : str or None
            The ``Last-Modified`` of the response; None (or nonsense) makes the bytes useless to
            another run.

        """
        self._modified = None
        self.resumable = False
        try:
            if last_modified:
                self._modified = int(parsedate_to_datetime(last_modified).timestamp())
                self.resumable = True
        except (TypeError, ValueError, OverflowError):
            pass
        self.stamp()

    def stamp(self) -> None:
        """Write the version into the file's modification time (writing data changed it)."""
        if self._modified is not None and os.path.exists(self.path):
            os.utime(self.path, (self._modified, self._modified))

    def commit(self) -> None:
        """Give the file its final name."""
        os.fsync(self.fileno())
        if os.name == "nt":
            self.close()  # Windows does not rename open files; elsewhere the lock is kept so long
        os.replace(self.path, self.target)
        self.close()

    def give_up(self) -> None:
        """Stop: keep what another run can go on from, remove the file otherwise."""
        keep = self.resumable and not self.closed and os.fstat(self.fileno()).st_size > 0
        if not keep and os.name != "nt":
            self._remove()
        self.close()
        if keep:
            self.stamp()
        elif os.name == "nt":
            self._remove()

    def _remove(self) -> None:
        try:
            os.remove(self.path)
        except FileNotFoundError:
            pass


def _open(path: str, flags: int) -> int:
    """Open for reading and writing, and create if need be, without truncating."""
    return os.open(path, flags | os.O_CREAT, 0o666)


def _lock(descriptor: int) -> None:
    """Lock an open file until it is closed; OSError if another holds it."""
    try:
        import fcntl
    except ImportError:
        import msvcrt

        os.lseek(descriptor, _LOCK_OFFSET, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        os.lseek(descriptor, 0, os.SEEK_SET)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
