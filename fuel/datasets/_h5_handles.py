"""Open HDF5 files of this process: shared between datasets, counted, closed when nobody is left.

A handle belongs to the process that opened it. After a fork the child starts with an empty table;
it keeps the parent's handles from being closed (closing would drop a file lock that both share),
and never reads through them. What the files mean is in ``_h5_layout``; nothing here is pickled.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from fuel.exceptions import FuelError, StorageError
from fuel.utils._paths import DataFileNotFoundError

__all__ = ["HandleTable", "References", "noticing_damage", "open_hdf5", "opening_error"]

#: Real path, device, file number, driver: a file that was replaced under its name is another one.
_Key: TypeAlias = tuple[Any, ...]


def open_hdf5(path: str, driver: str | None = None) -> Any:
    """Open an HDF5 file for reading.

    Parameters
    ----------
    path : str
        The file.
    driver : str, optional
        An HDF5 file driver, see `h5py.File`.

    Returns
    -------
    h5py.File
        The open file.

    Raises
    ------
    StorageError
        If it cannot be opened; the message says why, as far as can be found out, and what to do.

    """
    import h5py

    try:
        return h5py.File(path, "r", driver=driver)
    except OSError as error:
        raise opening_error(path, error) from error


def opening_error(path: str, error: Exception) -> StorageError:
    """Say what is wrong with a file that HDF5 refused, and what to do about it.

    Parameters
    ----------
    path : str
        The file.
    error : Exception
        What opening it raised.

    Returns
    -------
    StorageError
        To be raised; a FileNotFoundError too, where there is no such file.

    """
    there = os.path.exists(path) or _is_behind_a_closed_door(path)
    kind = StorageError if there else DataFileNotFoundError
    return kind(f"{path!r} cannot be opened: {_diagnose(path, error)}")


def _is_behind_a_closed_door(path: str) -> bool:
    """Tell whether nobody can say if there is such a file, for want of permissions."""
    try:
        os.stat(path)
    except PermissionError:
        return True
    except (OSError, ValueError):
        pass
    return False


@contextmanager
def noticing_damage(path: str) -> Iterator[None]:
    """Turn what h5py raises where the inside of a file is damaged into a StorageError.

    Parameters
    ----------
    path : str
        The file, for the message.

    """
    try:
        yield
    except FuelError:
        raise
    except IndexError as error:
        raise StorageError(
            f"{path!r} has fewer rows than it had: {error}; it was replaced or changed, so make "
            "the dataset anew"
        ) from error
    except (OSError, RuntimeError, KeyError, UnicodeDecodeError) as error:
        reason = error.args[0] if isinstance(error, KeyError) and error.args else error
        raise StorageError(f"{path!r} is damaged: {reason}; make it again") from error


def _diagnose(path: str, error: Exception) -> str:
    everything = str(error)
    # PyTables gives the whole trace through the library: its innermost entry is the last one.
    lines = [line.strip() for line in everything.partition("End of HDF5")[0].splitlines()]
    reason = next(line for line in [*reversed(lines), "no reason was given"] if line)
    if _is_behind_a_closed_door(path):
        return "a directory on the way to it may not be entered; change its permissions"
    if not os.path.exists(path):
        return (
            "there is no such file; check the path (relative paths start at "
            f"{os.getcwd()!r}), or set the `path` of the dataset if the file was moved"
        )
    if os.path.isdir(path):
        return "it is a directory; give the path of the HDF5 file inside"
    if not os.access(path, os.R_OK):
        return "permission to read it is missing; change its permissions or its owner"
    if "truncated file" in everything:
        return (
            "the file is truncated, so copying, downloading or writing it was cut short "
            f"({reason}); make it again"
        )
    if "signature not found" in everything:
        with open(path, "rb") as file:
            start = file.read(16)
        return (
            f"it is not an HDF5 file (it begins with {start!r} and has "
            f"{os.path.getsize(path)} bytes); convert the data first, or check the path"
        )
    if "unable to lock" in everything or "already open" in everything:
        return (
            f"it is open for writing elsewhere ({reason}); close it there, or set the "
            "environment variable HDF5_USE_FILE_LOCKING=FALSE if the file system has no locks"
        )
    return f"{reason}; the file may be damaged: make it again"


@dataclass
class _Entry:
    """One open file."""

    path: str
    handle: Any
    count: int = 0


@dataclass
class HandleTable:
    """The open files of one process.

    Attributes
    ----------
    ref_counts : defaultdict
        Maps a path, as the dataset has it, to the number of references to it.
    handles : dict
        Maps such a path to the open file.

    Notes
    -----
    References may be given back by the garbage collector, at any moment and in any thread, even
    while this very table is being changed. They are therefore put into a queue, which
    whoever holds the lock empties.

    """

    ref_counts: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    handles: dict[str, Any] = field(default_factory=dict)
    _entries: dict[_Key, _Entry] = field(default_factory=dict)
    _returned: deque[tuple[_Key, int]] = field(default_factory=deque)
    _inherited: list[Any] = field(default_factory=list)
    _pid: int = field(default_factory=os.getpid)
    _lock: Any = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        """Start anew in a child process."""
        self._inherited.extend(entry.handle for entry in self._entries.values())
        self._entries.clear()
        self._returned.clear()
        self.ref_counts.clear()
        self.handles.clear()
        # The thread that held it does not exist here.
        self._lock = threading.Lock()
        self._pid = os.getpid()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            with self._lock:
                self._settle()
                yield
        finally:
            self._try_to_settle()

    def _settle(self) -> None:
        """Take references out of the queue; the lock is held."""
        while self._returned:
            key, count = self._returned.popleft()
            entry = self._entries.get(key)
            if entry is None:
                continue
            entry.count -= count
            self.ref_counts[entry.path] -= count
            if entry.count <= 0:
                del self._entries[key]
                if self.handles.get(entry.path) is entry.handle:
                    del self.handles[entry.path]
                if self.ref_counts[entry.path] <= 0:
                    del self.ref_counts[entry.path]
                entry.handle.close()

    def _try_to_settle(self) -> None:
        # Something may be queued between the last look and the release: look again until not.
        while self._returned and self._lock.acquire(blocking=False):
            try:
                self._settle()
            finally:
                self._lock.release()

    def acquire(self, path: str, real_path: str, driver: str | None) -> tuple[_Key, Any]:
        """Open a file, or share it if it is open.

        Parameters
        ----------
        path : str
            The file as its dataset calls it.
        real_path : str
            The file to open: `path`, or a copy of it that is nearer.
        driver : str or None
            An HDF5 file driver.

        Returns
        -------
        key : tuple
            What to `give_back`, once.
        handle : h5py.File
            The open file, until then.

        """
        key = _key(real_path, driver)
        with self._locked():
            entry = self._entries.get(key)
            if entry is None:
                entry = self._entries[key] = _Entry(path, open_hdf5(real_path, driver))
            elif not entry.handle:
                # Somebody closed our handle behind our back.
                entry.handle = open_hdf5(real_path, driver)
            entry.count += 1
            self.ref_counts[entry.path] += 1
            self.handles[entry.path] = entry.handle
            return key, entry.handle

    def give_back(self, key: _Key, count: int = 1) -> None:
        """Give back references; the last one closes the file. May be called at any time."""
        self._returned.append((key, count))
        self._try_to_settle()


def _key(path: str, driver: str | None) -> _Key:
    try:
        status = os.stat(path)
    except OSError:
        return (os.path.realpath(path), 0, 0, driver)
    return (os.path.realpath(path), status.st_dev, status.st_ino, driver)


class References:
    """The references of one dataset to its file: given back when the dataset is collected.

    A copy of the dataset, pickled or not, starts with none; so does a forked child.

    Parameters
    ----------
    table : HandleTable
        Where the files are.
    owner : object
        The dataset.

    """

    def __init__(self, table: HandleTable, owner: Any) -> None:
        self.table = table
        self.owner = weakref.ref(owner)
        self.pid = os.getpid()
        self.key: _Key | None = None
        self.handle: Any = None
        self.count = 0
        # Whether one of them was taken by reading without opening, so that nobody will close it.
        self.implicit = False
        self._finalizer: Any = None
        self._lock = threading.Lock()

    def valid_for(self, owner: Any) -> bool:
        """Whether these are the owner's references, in this process."""
        return self.owner() is owner and self.pid == os.getpid()

    def add(self, path: str, real_path: str, driver: str | None, implicit: bool = False) -> None:
        """Take a reference.

        Parameters
        ----------
        path, real_path, driver
            See `HandleTable.acquire`.
        implicit : bool, optional
            Whether it is taken by reading without opening: there is one such at most, and the
            next one that is not implicit takes its place.

        """
        with self._lock:
            if self.count and (not self.handle or _key(real_path, driver) != self.key):
                # Closed behind our back; or another path was set, or another file put there.
                self._remove(self.count)
            if implicit and self.count:
                # Another thread was quicker.
                return
            if self.implicit:
                self.implicit = False
                return
            self.key, self.handle = self.table.acquire(path, real_path, driver)
            self.count += 1
            self.implicit = implicit
            self._register()

    def remove(self) -> None:
        """Give back a reference, if there is one."""
        with self._lock:
            if self.count:
                self._remove(1)

    def _remove(self, count: int) -> None:
        assert self.key is not None
        self.count, self.implicit = self.count - count, False
        if not self.count:
            self.handle = None
        self._register()
        self.table.give_back(self.key, count)

    def _register(self) -> None:
        """Have the present number of references given back when the dataset is collected."""
        if self._finalizer is not None:
            self._finalizer.detach()
            self._finalizer = None
        if self.count and self.key is not None:
            self._finalizer = weakref.finalize(
                self, _give_back, self.table, self.key, self.count, self.pid
            )

    def __reduce__(self) -> Any:
        return (_no_references, ())


def _give_back(table: HandleTable, key: _Key, count: int, pid: int) -> None:
    if pid == os.getpid():
        table.give_back(key, count)


def _no_references() -> None:
    """Stand for the references of an unpickled dataset: it has none yet."""
