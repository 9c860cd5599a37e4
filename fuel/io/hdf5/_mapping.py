"""Files mapped into memory, read-only: which may be, and whether they still are what they were.

Whoever reads behind the end of a mapped file is killed by the system, so a file is mapped only
where nobody else's machine can cut it short unnoticed (a local disk), and its size is looked at
again and again. What is read from it is decided in the other rooms.
"""

from __future__ import annotations

import mmap
import os
import sys
import time
from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.exceptions import StorageError

__all__ = ["FileMap", "OpenFile", "is_local", "map_file", "open_same"]

#: File systems whose files are on another machine, or behind a program that may fail.
# fmt: off
_REMOTE = frozenset((
    "9p", "acfs", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "drvfs", "fuse", "fuseblk",
    "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "nfsd", "ocfs2", "orangefs", "panfs",
    "prl_fs", "pvfs2", "smb2", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs",
))
# fmt: on
#: Seconds between two looks at the size of a mapped file: a look costs as much as three rows.
_LOOK_EVERY_S = 0.05


class OpenFile:
    """A file that is open for reading, for as long as somebody has this.

    Parameters
    ----------
    path : str
        The file.
    descriptor : int
        It.

    """

    def __init__(self, path: str, descriptor: int) -> None:
        self.path = path
        self.descriptor = descriptor

    def __del__(self) -> None:
        try:
            os.close(self.descriptor)
        except OSError:
            pass


class FileMap(OpenFile):
    """A file in memory.

    Parameters
    ----------
    path : str
        The file.
    descriptor : int
        It, open for reading; closed with the map.

    Attributes
    ----------
    content : numpy.ndarray, shape (size,), dtype uint8
        Its bytes, read-only. Arrays over it keep the memory mapped as long as they live.
    size : int
        Its size in bytes when it was mapped.

    """

    def __init__(self, path: str, descriptor: int) -> None:
        super().__init__(path, descriptor)
        self.size = os.fstat(descriptor).st_size
        self.content: NDArray[numpy.uint8] = numpy.frombuffer(
            mmap.mmap(descriptor, self.size, access=mmap.ACCESS_READ), dtype=numpy.uint8
        )
        self._next_look = 0.0

    @property
    def address(self) -> int:
        """int: Where its first byte is."""
        return int(self.content.ctypes.data)

    def check(self) -> None:
        """Make sure that the file has not become shorter.

        Raises
        ------
        StorageError
            If it has.

        """
        now = time.monotonic()
        if now < self._next_look:
            return
        size = os.fstat(self.descriptor).st_size
        if size < self.size:
            raise StorageError(
                f"{self.path!r} was truncated while it was read: it had {self.size} bytes and has "
                f"{size}; restore it, and make the dataset anew (write new versions beside the old "
                "file and rename them)"
            )
        self._next_look = now + _LOOK_EVERY_S

    def has(self, first: int, size: int) -> bool:
        """Tell whether a stretch of bytes lies inside of the file."""
        return 0 <= first <= self.size and 0 <= size <= self.size - first

    def array(self, first: int, shape: tuple[int, ...], dtype: numpy.dtype[Any]) -> NDArray[Any]:
        """Return a stretch of the file as an array.

        Parameters
        ----------
        first : int
            Where it begins, in bytes.
        shape : tuple of int
            Its shape.
        dtype : numpy.dtype
            Its type.

        Returns
        -------
        numpy.ndarray
            A read-only window on the file; not aligned where the file is not.

        """
        return numpy.ndarray(shape, dtype, buffer=self.content.data, offset=first)


def open_same(path: str, handle: Any) -> OpenFile | None:
    """Open a file that HDF5 has open, if it still is under its name.

    Parameters
    ----------
    path : str
        The file.
    handle : h5py.File
        The same file.

    Returns
    -------
    OpenFile or None
        None where another file took its place, or nobody can tell.

    """
    try:
        file = OpenFile(path, os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0)))
    except OSError:
        return None
    if os.name != "posix":
        return file  # where a file that is open cannot be replaced
    try:
        ours, theirs = os.fstat(file.descriptor), os.fstat(handle.id.get_vfd_handle())
    except (OSError, NotImplementedError, RuntimeError, TypeError):
        return None
    return file if (ours.st_dev, ours.st_ino) == (theirs.st_dev, theirs.st_ino) else None


def map_file(path: str, handle: Any) -> FileMap | None:
    """Map a file that HDF5 has open, if that is safe.

    Parameters
    ----------
    path : str
        The file.
    handle : h5py.File
        The same file.

    Returns
    -------
    FileMap or None
        None where it has to be read by other means.

    """
    file = open_same(path, handle) if is_local(path) else None
    # Half of what a process can address, so that a small one keeps room for its data.
    if file is None or not 0 < os.fstat(file.descriptor).st_size <= sys.maxsize // 2:
        return None
    try:
        return FileMap(path, os.dup(file.descriptor))
    except (OSError, ValueError):
        return None


def is_local(path: str) -> bool:
    """Tell whether a file is known to lie on a disk of this machine.

    Parameters
    ----------
    path : str
        The file.

    Returns
    -------
    bool
        False also where it cannot be found out.

    """
    if os.name == "nt":
        return _is_on_fixed_drive(path)
    if sys.platform.startswith("linux"):
        kind = _linux_file_system(path)
        return kind is not None and kind.partition(".")[0] not in _REMOTE
    return False


def _is_on_fixed_drive(path: str) -> bool:
    import ctypes

    drive = os.path.splitdrive(os.path.realpath(path))[0]
    if not drive or drive.startswith("\\\\"):
        return False
    fixed, ram_disk = 3, 6
    kind: int = ctypes.windll.kernel32.GetDriveTypeW(drive + "\\")  # type: ignore[attr-defined]
    return kind in (fixed, ram_disk)


def _linux_file_system(path: str) -> str | None:
    """Return the type of the file system that a file is on."""
    try:
        device = os.stat(path).st_dev
        place = f"{os.major(device)}:{os.minor(device)}"
        real, found, longest = os.path.realpath(path), None, -1
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as mounts:
            for line in mounts:
                fields, _, rest = line.partition(" - ")
                parts = fields.split()
                point = parts[4].encode("latin-1", "surrogateescape").decode("unicode_escape")
                if parts[2] == place:
                    return rest.split()[0]
                # Some file systems (btrfs) give files another device than their mounts have.
                inside = real == point or real.startswith(point.rstrip("/") + "/")
                if inside and len(point) > longest:
                    found, longest = rest.split()[0], len(point)
        return found
    except (OSError, ValueError, IndexError):
        return None
