"""Child processes that are forked: from the fork server, or from the program itself.

In this room: `forkserver_child` and `fork_child`, which give a process and its ends, and the
objects that stand for such processes, with the methods of `subprocess.Popen` that are used of it.
What the server and the children do is in `fuel.utils._forked`.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import warnings
import weakref
from collections import deque
from typing import Protocol

from fuel.exceptions import WorkerError
from fuel.utils._alive import is_alive
from fuel.utils._lent import not_wanted

__all__ = ["available", "close_server", "fork_child", "forkserver_child"]

_BOOTSTRAP = """\
import sys
sys.path[:] = [entry for entry in sys.path if entry]
import json, os, signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
control = int(sys.argv[1])
os.set_inheritable(control, False)
sys.path[:] = json.loads(sys.argv[2])
from fuel.utils._forked import serve
serve(control, int(sys.argv[3]))
"""

_LENGTH = struct.Struct("!I")
_STATUS = struct.Struct("!i")
#: What is said of a child that never was.
_STILLBORN = 83
#: Seconds that the server may take to answer; at first it imports NumPy and the package.
_PATIENCE_S = 60.0

_lock = threading.RLock()
_server: _Server | None = None
_served: weakref.WeakSet[Served] = weakref.WeakSet()


class Closable(Protocol):
    """What can be closed, twice."""

    def close(self) -> None:
        """Close it."""


def available() -> bool:
    """Tell whether this system has what a fork server needs."""
    return hasattr(os, "fork") and hasattr(socket, "send_fds") and sys.platform != "darwin"


class _Server:
    """The fork server of this process."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [
                    *(*command, "-c", _BOOTSTRAP),
                    *(str(theirs.fileno()), json.dumps(_path()), str(os.getpid())),
                ],
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env=environment,
            )
        self.control = ours
        self.owner = os.getpid()
        self.silent = False  # it has not answered in time, and what it says next is late
        self._unanswered: deque[Served] = deque()
        ours.settimeout(_PATIENCE_S)
        self._finalizer = weakref.finalize(self, _end, self.process, ours, self.owner)

    def fork(self, environment: dict[str, str], descriptors: list[int], status: int) -> Served:
        """Ask for a child that has these descriptors; it is there when its id is asked for."""
        payload = json.dumps(environment).encode()
        socket.send_fds(self.control, [_LENGTH.pack(len(payload))], descriptors)
        self.control.sendall(payload)
        child = Served(self, status)
        self._unanswered.append(child)
        return child

    def answer(self, child: Served) -> None:
        """Wait for the id of a child, and of those that were asked for before it."""
        with _lock:
            while child.known is None:
                first = self._unanswered[0]
                first.known = 0 if self.silent else self._read()
                self._unanswered.popleft()

    def _read(self) -> int:
        """Return the next id; 0 if the server is gone."""
        answer = b""
        try:
            while len(answer) < _LENGTH.size:
                part = self.control.recv(_LENGTH.size - len(answer))
                if not part:
                    return 0
                answer += part
        except OSError:
            self.silent = True
            return 0
        return int(_LENGTH.unpack(answer)[0])

    def close(self) -> None:
        """End the server; its children live on."""
        self._finalizer()


def _path() -> list[str]:
    return [entry for entry in sys.path if isinstance(entry, str)]


def _end(process: subprocess.Popen[bytes], control: socket.socket, owner: int) -> None:
    control.close()
    if os.getpid() != owner:
        process.returncode = 0  # not ours to wait for
        return
    try:
        process.wait(1.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def close_server() -> None:
    """End the fork server, if there is one."""
    global _server
    with _lock:
        server, _server = _server, None
        if server is not None:
            server.close()


def forkserver_child(
    command: list[str], environment: dict[str, str], pipe: int, life: int
) -> Served:
    """Have the fork server fork a child.

    Parameters
    ----------
    command : list of str
        How an interpreter is started, for the server itself.
    environment : dict
        The environment of the child.
    pipe, life : int
        Descriptors for the child; see `fuel.utils._forked.become_child`.

    Returns
    -------
    Served
        The process.

    Raises
    ------
    WorkerError
        If the server cannot be started.

    """
    global _server
    with _lock:
        for attempt in range(2):
            if _server is not None and _server.owner != os.getpid():
                _server.close()  # the server of the process that this one was forked from
                _server = None
            if _server is not None and _server.silent:
                _server.close()
                _server = None
            try:
                if _server is None:
                    _server = _Server(command, environment)
                status_read, status_write = os.pipe()
                try:
                    output, errors = _output(1), _output(2)
                    try:
                        return _server.fork(
                            environment, [pipe, life, output, errors, status_write], status_read
                        )
                    finally:
                        os.close(output)
                        os.close(errors)
                except BaseException:
                    os.close(status_read)
                    raise
                finally:
                    os.close(status_write)
            except OSError as error:
                if _server is not None:
                    _server.close()
                    _server = None
                if attempt:
                    raise WorkerError(f"the fork server cannot be started: {error}") from error
            except BaseException:
                # Halfway through a conversation with the server nobody can go on with it.
                if _server is not None:
                    _server.close()
                    _server = None
                raise
    raise AssertionError("unreachable")


def _output(number: int) -> int:
    """Return a copy of a standard descriptor, of the null device where there is none."""
    try:
        return os.dup(number)
    except OSError:
        return os.open(os.devnull, os.O_RDWR)


class _Signalled:
    """A process that is not a child of `subprocess`."""

    args = ("a forked process",)
    pid: int
    returncode: int | None = None

    def poll(self) -> int | None:
        """Return how it ended, None while it runs."""
        raise NotImplementedError

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it has ended."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while self.poll() is None:
            left = 0.1 if deadline is None else deadline - time.monotonic()
            if left <= 0:
                raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
            self._pause(min(left, 0.1))
        assert self.returncode is not None
        return self.returncode

    def _pause(self, seconds: float) -> None:
        raise NotImplementedError

    def send_signal(self, number: int) -> None:
        """Send a signal, if it still runs."""
        if self.poll() is None and self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)


class Served(_Signalled):
    """A child of the fork server, which tells how it ended.

    Parameters
    ----------
    server : _Server
        Who forks it.
    status : int
        The descriptor on which the server will tell; it is closed here.

    Attributes
    ----------
    known : int or None
        Its id, once the server has told it; 0 if it never will.

    """

    def __init__(self, server: _Server, status: int) -> None:
        self.known: int | None = None
        self._server = server
        self._status = status
        # Two threads that ask at once would both read what is told once.
        self._lock = threading.RLock()
        self._finalizer = weakref.finalize(self, os.close, status)
        _served.add(self)

    def close_status(self) -> None:
        """Hear no more of it."""
        self._finalizer()

    @property
    def pid(self) -> int:  # type: ignore[override]
        """Its id; 0 if the server was gone before it told it."""
        if self.known is None:
            self._server.answer(self)
        assert self.known is not None
        return self.known

    def poll(self) -> int | None:
        """Return how it ended, None while it runs."""
        with self._lock:
            return self._poll()

    def _poll(self) -> int | None:
        if self.returncode is None and _readable(self._status, 0.0):
            told = os.read(self._status, _STATUS.size)
            if len(told) == _STATUS.size:
                self.returncode = _STATUS.unpack(told)[0]
                self._finalizer()
            elif not self.pid:
                self.returncode = _STILLBORN
                self._finalizer()
            elif not is_alive(self.pid):
                # The server was killed; nobody knows how the child ended.
                self.returncode = -signal.SIGKILL
                self._finalizer()
        return self.returncode

    def _pause(self, seconds: float) -> None:
        if _readable(self._status, seconds) and self.poll() is None:
            time.sleep(min(seconds, 0.01))  # the server is gone, and the child is not


def _readable(descriptor: int, seconds: float) -> bool:
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    return bool(poller.poll(seconds * 1000))


class Forked(_Signalled):
    """A child that was forked from this process.

    Parameters
    ----------
    pid : int
        Its id.

    """

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def poll(self) -> int | None:
        """Return how it ended, None while it runs."""
        if self.returncode is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:
                self.returncode = 0  # somebody else waited for it
            else:
                if pid:
                    self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def _pause(self, seconds: float) -> None:
        time.sleep(min(seconds, 0.005))  # a child's end cannot be waited for with a limit


def fork_child(environment: dict[str, str], pipe: int, life: int, ours: list[Closable]) -> Forked:
    """Fork this process.

    Parameters
    ----------
    environment : dict
        The environment of the child.
    pipe, life : int
        Descriptors for the child; see `fuel.utils._forked.become_child`.
    ours : list
        What the child must close: the ends that this process has of pipes to others.

    Returns
    -------
    Forked
        The process.

    Raises
    ------
    WorkerError
        If this process has threads, or has used a GPU: neither survives a fork.

    """
    reason = _why_not_fork()
    if reason:
        raise WorkerError(
            f"this process cannot be forked: {reason}; use start_method='forkserver' or 'spawn'"
        )
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    with _lock, not_wanted(), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # what threads there are do no harm
        pid = os.fork()
    if pid == 0:
        try:
            from fuel.utils._forked import become_child

            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            for end in ours:
                end.close()  # by the objects, which would close the same numbers again one day
            for child in list(_served):
                child.close_status()
            if _server is not None:
                _server.control.close()
            os.environ.update(environment)
            become_child(pipe, life)
        finally:
            os._exit(83)
    return Forked(pid)


def _why_not_fork() -> str:
    others = [
        one.name
        for one in threading.enumerate()
        # The kernels' own threads are made again after a fork, locks and all.
        if one is not threading.current_thread() and not one.name.startswith("fuel-kernels-")
    ]
    if others:
        return (
            f"it has other threads ({', '.join(others[:4])}), whose locks would stay locked in "
            "the child"
        )
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    if cuda is not None and getattr(cuda, "is_initialized", lambda: False)():
        return "it has used CUDA, which a forked process cannot use"
    return ""


def _forget() -> None:
    """In a process that was forked: another thread may have held the lock."""
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
