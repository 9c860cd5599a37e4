"""Locks between processes: one writer at a time, and marks that a file is being read.

A lock is a directory with a file ``lock`` in it that says who holds it. Whether it is held is
decided by a lock of the operating system on an empty file beside it (``.NAME.lock``, which
stays), so that a lock ends with the process that holds it, however that ends, and is never taken
from a process that is alive.

These functions keep the names that programs know. What is locked is up to the caller; see
`fuel.utils.cache`.
"""

from __future__ import annotations

import atexit
import glob
import logging
import os
import random
import socket
import sys
import threading
import time
from typing import Any, NamedTuple

from fuel.exceptions import StorageError

__all__ = [
    "MIN_WAIT",
    "NOT_SET",
    "TIMEOUT",
    "LockTimeoutError",
    "Unlocker",
    "get_lock",
    "get_readlock",
    "get_writelock",
    "lock",
    "refresh_lock",
    "release_lock",
    "release_readlock",
    "release_writelock",
]

log = logging.getLogger(__name__)

#: Seconds after which a lock was once taken from its holder. Kept for programs that read them;
#: neither is used any more.
TIMEOUT = 5
MIN_WAIT = 5

#: Marks an argument that was not given.
NOT_SET: Any = object()

#: Seconds between two looks at a lock that another process holds: often enough not to be
#: noticed beside the copying of a file, seldom enough not to load a file server.
_POLL_S = 0.05


class LockTimeoutError(StorageError, TimeoutError):
    """Another process held a lock for longer than the caller was ready to wait."""


class _Hold(NamedTuple):
    """A lock that this process holds."""

    system_lock: Any
    pid: int
    thread: int


#: Locks held, by the absolute path of their directory. A forked child inherits the entries but
#: not the locks, which is why each knows its process.
_held: dict[str, _Hold] = {}
#: The calls of `get_lock` that `release_lock` has to take back, one list per thread.
_calls = threading.local()


def _system_lock(path: str) -> Any:
    import filelock

    directory, name = os.path.split(path)
    return filelock.FileLock(os.path.join(directory, f".{name}.lock"), thread_local=False)


def _own_hold(path: str) -> _Hold | None:
    hold = _held.get(path)
    return hold if hold is not None and hold.pid == os.getpid() else None


def _holder(path: str) -> str:
    try:
        with open(os.path.join(path, "lock"), encoding="utf-8") as file:
            return file.read().strip() or "unknown"
    except (OSError, UnicodeDecodeError):
        return "unknown"


def refresh_lock(lock_file: str) -> str:
    """Write a new mark of ownership into the file of a lock that this process holds.

    Parameters
    ----------
    lock_file : str
        The file ``lock`` in the directory of the lock.

    Returns
    -------
    str
        The mark: the process, a random number and the host.

    """
    # Not from a seeded generator: marks of two processes must differ, and no stream may notice.
    number = random.SystemRandom().randrange(10**10)
    unique_id = f"{os.getpid()}_{number:010d}_{socket.gethostname()}"
    with open(lock_file, "w", encoding="utf-8") as file:
        file.write(unique_id + "\n")
    return unique_id


class Unlocker:
    """Removes a lock.

    Parameters
    ----------
    tmp_dir : str
        The directory of the lock.

    Attributes
    ----------
    tmp_dir : str
        As given.

    """

    def __init__(self, tmp_dir: str) -> None:
        self.tmp_dir = tmp_dir

    def unlock(self) -> None:
        """Remove the lock, unless another living process holds it.

        Nothing happens if there is no lock. A directory left by a process that died is removed.
        """
        path = os.path.abspath(self.tmp_dir)
        hold = _own_hold(path)
        if hold is not None:
            # Still locked while the marks go, so that nobody else's are removed.
            _remove_marks(path)
            del _held[path]
            hold.system_lock.release()
        elif os.path.isdir(path):
            system_lock = _system_lock(path)
            try:
                system_lock.acquire(timeout=0)
            except TimeoutError:
                return
            try:
                _remove_marks(path)
            finally:
                system_lock.release()


def _remove_marks(path: str) -> None:
    for remove, name in ((os.remove, os.path.join(path, "lock")), (os.rmdir, path)):
        try:
            remove(name)
        except OSError:
            pass  # it is not there, or somebody put a file of theirs into the directory


def lock(
    tmp_dir: str,
    timeout: float | None = NOT_SET,
    min_wait: float | None = None,
    max_wait: float | None = None,
    verbosity: int = 1,
) -> None:
    """Take a lock, waiting for the process that holds it.

    Parameters
    ----------
    tmp_dir : str
        The directory that is the lock. It is made; the directories above it too, and those stay.
    timeout : float, optional
        Seconds to wait. By default, or with None, as long as the holder lives.
    min_wait : float, optional
        Seconds between two attempts, 0.05 by default.
    max_wait : float, optional
        Has no effect; attempts used to be apart by a random time up to it.
    verbosity : int, optional
        With 0, waiting is not logged.

    Raises
    ------
    TimeoutError
        If another process or thread holds it for longer than `timeout`; a `LockTimeoutError`.
    RuntimeError
        If this thread holds it already, and would wait for itself.

    """
    path = os.path.abspath(tmp_dir)
    hold = _own_hold(path)
    if hold is not None and hold.thread == threading.get_ident():
        raise RuntimeError(f"this thread holds the lock {tmp_dir} already; use `get_lock` to nest")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    system_lock = _system_lock(path)
    poll = _POLL_S if min_wait is None else min_wait
    limit = None if timeout is NOT_SET else timeout
    try:
        try:
            system_lock.acquire(timeout=0)
        except TimeoutError:
            if verbosity > 0:
                log.info("waiting for the lock %s, held by %s", tmp_dir, _holder(path))
            system_lock.acquire(timeout=-1 if limit is None else limit, poll_interval=poll)
    except TimeoutError as error:
        raise LockTimeoutError(
            f"the lock {tmp_dir} was still held by {_holder(path)} (process, number, host) after "
            f"{limit} s; wait longer, or end that process"
        ) from error
    _held[path] = _Hold(system_lock, os.getpid(), threading.get_ident())
    try:
        os.makedirs(path, exist_ok=True)
        refresh_lock(os.path.join(path, "lock"))
    except BaseException:
        Unlocker(path).unlock()
        raise


def _own_calls() -> list[str]:
    if getattr(_calls, "pid", None) != os.getpid():
        _calls.pid, _calls.paths = os.getpid(), []
    paths: list[str] = _calls.paths
    return paths


def get_lock(lock_dir: str, **kw: Any) -> None:
    """Take a lock, or count one more use of it if this thread holds it.

    Parameters
    ----------
    lock_dir : str
        The directory that is the lock.
    **kw
        Further arguments of `lock`.

    """
    path = os.path.abspath(lock_dir)
    if path not in _own_calls():
        lock(path, **kw)
    _own_calls().append(path)


def release_lock() -> None:
    """Take back the last `get_lock` of this thread that was not taken back yet.

    Raises
    ------
    RuntimeError
        If there is none.

    """
    paths = _own_calls()
    if not paths:
        raise RuntimeError("this thread holds no lock that could be released")
    path = paths.pop()
    if path not in paths:
        Unlocker(path).unlock()


def get_writelock(filename: str) -> None:
    """Take the lock for writing a file.

    Parameters
    ----------
    filename : str
        The file; the lock is the directory ``FILENAME.writelock``.

    """
    get_lock(filename + ".writelock")


def release_writelock() -> None:
    """Release the lock that `get_writelock` took last."""
    release_lock()


def get_readlock(pid: int, path: str) -> str:
    """Mark a file as being read, until the process ends.

    Parameters
    ----------
    pid : int
        The process that reads.
    path : str
        The file; the mark is a directory ``PATH.readlock.PID.TIMESTAMP``.

    Returns
    -------
    str
        The directory.

    Notes
    -----
    Marks of processes that no longer live, which were killed, are removed.

    """
    _remove_stale_readlocks(path)
    lockdir_name = f"{path}.readlock.{pid}.{time.time_ns() // 1000}"
    os.makedirs(lockdir_name, exist_ok=True)
    atexit.register(_release_at_exit, os.getpid(), lockdir_name)
    return lockdir_name


def release_readlock(lockdir_name: str) -> None:
    """Remove the mark that `get_readlock` made.

    Parameters
    ----------
    lockdir_name : str
        The directory. Nothing happens if it is gone.

    """
    if os.path.isdir(lockdir_name):
        try:
            os.rmdir(lockdir_name)
        except OSError as error:
            log.warning("the mark %s of a reader cannot be removed: %s", lockdir_name, error)


def _release_at_exit(pid: int, lockdir_name: str) -> None:
    # A forked child that ends runs this too, but the mark is its parent's.
    if pid == os.getpid():
        release_readlock(lockdir_name)


def _remove_stale_readlocks(path: str) -> None:
    for name in glob.glob(glob.escape(path) + ".readlock.*.*"):
        pid = name.rsplit(".", 2)[1]
        if pid.isdecimal() and not _is_alive(int(pid)):
            release_readlock(name)


def _is_alive(pid: int) -> bool:
    """Tell whether there is a process of that number on this machine."""
    if not 0 < pid < 2**32:  # no system has larger numbers, and some calls take no more
        return False
    if sys.platform == "win32":
        # There, os.kill(pid, 0) would end the process.
        import ctypes

        kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        kernel.OpenProcess.restype = ctypes.c_void_p
        handle = kernel.OpenProcess(0x00100000, False, pid)  # SYNCHRONIZE
        if not handle:
            return bool(ctypes.get_last_error() == 5)  # ERROR_ACCESS_DENIED: it exists
        try:
            return bool(kernel.WaitForSingleObject(ctypes.c_void_p(handle), 0) == 0x102)
        finally:
            kernel.CloseHandle(ctypes.c_void_p(handle))
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True


@atexit.register
def _unlock_at_exit() -> None:
    """Remove the marks of locks that are still held; the locks themselves end anyway."""
    for path in list(_held):
        if _own_hold(path) is not None:
            Unlocker(path).unlock()
