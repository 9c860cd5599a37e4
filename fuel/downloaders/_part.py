"""The file that a download grows in: ``NAME.part`` beside its target.

It is locked while it is written, so that two downloads never mix their bytes, and it remembers
across runs which version of the remote file its bytes belong to: no second file is needed. Where
the file system keeps extended attributes, the memory is one of these (address, ``ETag``,
``Last-Modified``). Elsewhere it is the modification time, set to the ``Last-Modified`` of the
server (as `wget` and `curl -R` do for whole files): a time that nobody set has a fraction of a
second, or is no version that the server has, so the download starts again. Talking to the server
is in `_transfer`.
"""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
from email.utils import formatdate, parsedate_to_datetime
from typing import Any

from fuel.exceptions import StorageError

__all__ = ["PartFile", "free_bytes"]

# Where the lock is placed on Windows, whose locks are mandatory: far behind any data.
_LOCK_OFFSET = 2**62

#: The extended attribute that tells which version the bytes belong to.
_ATTRIBUTE = "user.fuel.version"

_FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))

# How the systems say that somebody else holds a lock.
_HELD = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK)


class PartFile(io.FileIO):
    """A file being downloaded, open for writing at its end.

    Not safe to share between threads, but for `missing_bytes`. Another process, or another object,
    that opens the part of the same target meanwhile gets an error.

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
    checked_later : bool
        Whether the whole file is held against a checksum in the end, so that bytes of unknown
        version may be continued.
    expected_bytes : int or None
        The size that the whole file has to have, if it is known.
    announced_bytes : int
        The size that it is going to have, as far as is known by now.
    present_bytes : int
        The size that it has.
    written_bytes : int
        How much was written here, by this object.
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
        self.expected_bytes: int | None = None
        self.announced_bytes = 0
        self.written_bytes = 0
        self._modified: int | None = None
        self._attributed = False
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
        self.present_bytes = os.fstat(self.fileno()).st_size
        self._version = self._remembered()
        self.resumable = self.present_bytes > 0 and (bool(self._version) or checked_later)
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
                written = self._write_some(rest)
                self.present_bytes += written
                self.written_bytes += written
                rest = rest[written:]
        except OSError as error:
            if error.errno in _FULL:
                raise StorageError(self._say_full(f"{self.path} could not grow")) from error
            error.filename = self.path  # the system says why, but not where
            raise
        if not self._attributed:
            self.stamp()  # whatever may end this process, the next one knows the version
        return len(data)

    def _write_some(self, data: memoryview) -> int:
        return super().write(data) or 0

    def check_space(self, others_bytes: int = 0) -> None:
        """Make sure that what is announced fits onto the disk.

        Parameters
        ----------
        others_bytes : int, optional
            What other files that grow at the same time are going to need.

        Raises
        ------
        StorageError
            If it does not.

        """
        if self.missing_bytes() + others_bytes > free_bytes(self.path):
            beside = " (beside those that are being downloaded with it)" if others_bytes else ""
            raise StorageError(self._say_full(f"{self.target} does not fit{beside}"))

    def missing_bytes(self) -> int:
        """Return how many bytes are still to come, as far as is known; any thread may ask."""
        return max(0, self.announced_bytes - self.present_bytes)

    def _say_full(self, what: str) -> str:
        need = f", {self.missing_bytes():,} more bytes are needed" if self.announced_bytes else ""
        free = free_bytes(self.path)
        return (
            f"{what}: {free:,} bytes are free on its disk{need}; make room and try again (what is "
            f"here already is used then), or choose another directory"
        )

    def _remembered(self) -> dict[str, str]:
        """Return what is known of the version of the bytes that are here."""
        found = os.fstat(self.fileno())
        if not found.st_size:
            return {}
        try:
            memory = json.loads(os.getxattr(self.fileno(), _ATTRIBUTE))  # type: ignore[attr-defined,unused-ignore]
            if isinstance(memory, dict):
                return {str(key): str(value) for key, value in memory.items()}
        except (AttributeError, OSError, ValueError):
            pass
        if found.st_mtime_ns % 10**9 == 0:
            return {"last-modified": formatdate(found.st_mtime_ns // 10**9, usegmt=True)}
        return {}

    def validator(self, url: str) -> str | None:
        """Return what an address called the version of the bytes that are here.

        Parameters
        ----------
        url : str
            The address.

        Returns
        -------
        str or None
            A strong ``ETag`` or a ``Last-Modified``. None where nothing is known, where the bytes
            are of another address, and where a checksum tells in the end what they are worth.

        """
        known = self._version.get("url")
        if known != url and (known is not None or self.checked_later):
            return None
        return self._version.get("etag") or self._version.get("last-modified")

    def remember(
        self, last_modified: str | None, etag: str | None = None, url: str | None = None
    ) -> None:
        """Note the version that the bytes belong to.

        Parameters
        ----------
        last_modified : str or None
            The ``Last-Modified`` of the response; nonsense counts as None.
        etag : str or None, optional
            Its ``ETag``, if that is a strong one. With neither, the bytes are useless to another
            run, unless a checksum tells in the end whether they were right.
        url : str or None, optional
            The address.

        """
        self._modified = None
        try:
            if last_modified:
                self._modified = int(parsedate_to_datetime(last_modified).timestamp())
        except (TypeError, ValueError, OverflowError):
            last_modified = None
        known = {"url": url, "etag": etag, "last-modified": last_modified}
        self._version = {key: value for key, value in known.items() if value}
        self._attributed = self._write_attribute()
        lasting = self._modified is not None or (self._attributed and etag is not None)
        self.resumable = lasting or self.checked_later
        self.stamp()

    def _write_attribute(self) -> bool:
        """Write the version beside the data; tell whether that is possible here."""
        try:
            memory = json.dumps(self._version).encode()
            os.setxattr(self.fileno(), _ATTRIBUTE, memory)  # type: ignore[attr-defined,unused-ignore]
        except (AttributeError, OSError):
            return False
        return True

    def forget(self) -> None:
        """Drop the bytes that are here."""
        self.seek(0)
        self.truncate()
        self.present_bytes = 0
        self.resumable = False
        self._modified = None
        self._version = {}
        if self._attributed:
            self._attributed = self._write_attribute()

    def stamp(self) -> None:
        """Write the version into the file's modification time (writing data changed it)."""
        if self._modified is not None and os.path.exists(self.path):
            os.utime(self.path, (self._modified, self._modified))

    def commit(self) -> None:
        """Give the file its final name."""
        try:
            os.removexattr(self.fileno(), _ATTRIBUTE)  # type: ignore[attr-defined,unused-ignore]
        except (AttributeError, OSError):
            pass
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


def free_bytes(path: str) -> int:
    """Return how much may still be written to the disk that a file is on."""
    return shutil.disk_usage(os.path.dirname(os.path.abspath(path))).free


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
