"""Start an interpreter that runs our own entry point, and end it.

The function that it runs, and what is said to it, are in `fuel.utils._process`; what it does with
that is in `fuel.utils._child`.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
import threading
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fuel.exceptions import WorkerError
from fuel.utils._channel import Channel

if TYPE_CHECKING:
    import subprocess

__all__ = ["GRACE_S", "launch", "preparation", "stop", "uninterrupted"]

#: Seconds that a child gets to end by itself when it is closed, and again after it was asked to.
#: An idle child needs some 20 ms; a child that needs longer is busy with what nobody wants.
GRACE_S = 1.0

# Kept free of anything outside the standard library: the search path comes with the first
# message. The empty entry that `-c` puts first would let files of the current directory hide
# modules of the standard library.
_BOOTSTRAP = """\
import sys
sys.path[:] = [entry for entry in sys.path if entry]
import os, signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
if hasattr(signal, "pthread_sigmask"):
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
from multiprocessing import connection
parent = None
if os.name == "nt":
    import _winapi
    from multiprocessing import reduction
    parent = _winapi.OpenProcess(0x100000 | _winapi.PROCESS_DUP_HANDLE, False, int(sys.argv[2]))
    pipe = connection.PipeConnection(reduction.duplicate(int(sys.argv[1]), source_process=parent))
else:
    pipe = connection.Connection(int(sys.argv[1]))
    os.set_inheritable(pipe.fileno(), False)
    os.set_inheritable(int(sys.argv[3]), False)
try:
    preparation = pipe.recv()
except (EOFError, OSError):
    raise SystemExit(0)
preparation.update(parent_handle=parent, life=int(sys.argv[3]))
sys.path[:] = preparation["path"]
from fuel.utils._child import main
main(pipe, preparation)
"""


def preparation() -> bytes:
    """Return the first message to an interpreter: what it needs before it can import us."""
    try:
        directory: str | None = os.getcwd()
    except OSError:  # it was removed
        directory = None
    return pickle.dumps(
        {
            "path": [entry for entry in sys.path if isinstance(entry, str)],
            "argv": list(getattr(sys, "argv", [""])),
            "directory": directory,
            "parent": os.getpid(),
        }
    )


#: What keeps libraries from using all processors in each of several workers. What the user has
#: set is left alone.
_ONE_THREAD = (
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "OPENCV_FOR_THREADS_NUM",
    "VECLIB_MAXIMUM_THREADS",
)


#: Our ends of the pipes to children, which a child that is forked from this process must not hold.
_ends: weakref.WeakSet[Any] = weakref.WeakSet()


def _environment(single_threaded: bool) -> dict[str, str]:
    limits = dict.fromkeys(_ONE_THREAD, "1") if single_threaded else {}
    return {**limits, **os.environ}


def launch(
    name: str, method: str | None = "spawn", single_threaded: bool = False
) -> tuple[Any, Channel, Any, Any]:
    """Start a process that runs our entry point.

    Parameters
    ----------
    name : str
        What it is for, for messages.
    method : {'spawn', 'forkserver', 'fork', None}
        A new interpreter, or a fork: of the fork server (see `fuel.utils._forked`) or of this
        process. None: of the server, where there can be one.
    single_threaded : bool
        Whether libraries for numbers are kept to one thread.

    Returns
    -------
    process : subprocess.Popen or the like
        The process.
    channel : Channel
        Our end of the pipe.
    life, spare : object
        Two things to close later.

    """
    from fuel.utils import _forkserver

    if method is None:
        method = "forkserver" if _forkserver.available() else "spawn"
    if method == "spawn":
        return _spawn(name, _environment(single_threaded))
    if not hasattr(os, "fork") or (method == "forkserver" and not _forkserver.available()):
        raise WorkerError(
            f"no process can be started ({name}): this system has no {method!r}; use "
            "start_method='spawn', or leave it out"
        )
    return _fork(name, method, _environment(single_threaded))


def _fork(name: str, method: str, environment: dict[str, str]) -> tuple[Any, Channel, Any, Any]:
    from multiprocessing import Pipe

    from fuel.utils import _forkserver

    ours, theirs = Pipe(duplex=True)
    life_read, life_write = os.pipe()
    life, channel = _Descriptor(life_write), Channel(ours)
    try:
        process: Any
        if method == "fork":
            process = _forkserver.fork_child(
                environment, theirs.fileno(), life_read, [channel, life, *_ends]
            )
        else:
            process = _forkserver.forkserver_child(
                _interpreter(name), environment, theirs.fileno(), life_read
            )
    except BaseException as error:
        channel.close()
        life.close()
        if isinstance(error, OSError):
            raise WorkerError(f"no process can be started ({name}): {error}") from error
        raise
    finally:
        theirs.close()
        os.close(life_read)
    _ends.update((channel, life))
    return process, channel, life, theirs


def _interpreter(name: str) -> list[str]:
    from multiprocessing.spawn import get_executable

    executable = get_executable()
    if not executable:
        raise WorkerError(
            f"no process can be started ({name}): Python does not know its own executable; set "
            f"it with multiprocessing.set_executable"
        )
    return [os.fsdecode(executable), *_interpreter_flags()]


def _spawn(name: str, environment: dict[str, str]) -> tuple[Any, Channel, Any, Any]:
    """Start an interpreter; return it, our end of the pipe, and two things to close later."""
    import subprocess
    from multiprocessing import Pipe

    command = _interpreter(name)
    ours, theirs = Pipe(duplex=True)
    options: dict[str, Any] = {"stdin": subprocess.DEVNULL, "env": environment}
    life_read, life_write = os.pipe()
    try:
        command += ["-c", _BOOTSTRAP]
        command += [str(theirs.fileno()), str(os.getpid()), str(life_read)]
        if os.name == "nt":
            # A new group does not get Ctrl-C.
            options["creationflags"] = subprocess.CREATE_NEW_PROCESS_GROUP  # type: ignore[attr-defined]
            base = getattr(sys, "_base_executable", command[0])
            if command[0] == sys.executable != base:
                # In a virtual environment this is a launcher, which would be the process that we
                # end while the real one goes on; the variable makes the real one use the
                # environment (as the standard library's own spawn does).
                options["env"] = {**environment, "__PYVENV_LAUNCHER__": sys.executable}
                command[0] = base
        else:
            options["pass_fds"] = (theirs.fileno(), life_read)
        process = subprocess.Popen(command, **options)
    except BaseException as error:
        for end in (ours, theirs):
            end.close()
        os.close(life_write)
        if isinstance(error, OSError):
            raise WorkerError(f"no process can be started ({name}): {error}") from error
        raise
    finally:
        os.close(life_read)
    if os.name != "nt":
        theirs.close()
    channel, life = Channel(ours), _Descriptor(life_write)
    _ends.update((channel, life))
    return process, channel, life, theirs


def _interpreter_flags() -> list[str]:
    from multiprocessing.util import _args_from_interpreter_flags  # type: ignore[attr-defined]

    flags: list[str] = _args_from_interpreter_flags()
    return flags


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C back for a moment, in this thread and in a process that it starts meanwhile.

    Here, so that a process that was started is known before anything can be raised. In the
    process, because a blocked signal stays blocked until it has chosen to ignore it.
    """
    with _noted_only():
        if not hasattr(signal, "pthread_sigmask"):
            yield
            return
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _noted_only() -> Iterator[None]:
    """Note Ctrl-C, and pass it on at the end, if this is the thread that handles it.

    Blocking it here is not enough: the system hands it to any thread that does not block it, such
    as one of a library for linear algebra, and Python handles it in the main thread all the same.
    """
    handler = signal.getsignal(signal.SIGINT)
    # A handler that was not set from Python could not be put back.
    if (
        threading.current_thread() is not threading.main_thread()
        or handler is None
        or handler == signal.SIG_IGN
    ):
        yield
        return
    noted: list[int] = []
    try:
        signal.signal(signal.SIGINT, lambda number, frame: noted.append(number))
    except ValueError:  # the main thread of an embedded interpreter
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if noted:
            signal.raise_signal(signal.SIGINT)


class _Descriptor:
    """A file descriptor that is closed once."""

    def __init__(self, number: int) -> None:
        self._number: int | None = number

    def close(self) -> None:
        number, self._number = self._number, None
        if number is not None:
            os.close(number)


def stop(process: subprocess.Popen[bytes], channel: Channel, ends: Any, owner: int) -> None:
    """End a child in bounded time. A function of its own: it must not hold the object."""
    channel.close()
    try:
        if os.getpid() != owner:
            process.returncode = 0  # not ours to wait for, nor to warn about
        elif not _exits(process):
            process.terminate()
            if not _exits(process):
                process.kill()
                # One that waits for a disk or a network file system ends when that answers.
                _exits(process)
    except BaseException:
        process.kill()  # interrupted while waiting: leave nothing behind all the same
        _exits(process)
        raise
    finally:
        for end in ends:
            end.close()


def _exits(process: subprocess.Popen[bytes]) -> bool:
    import subprocess

    try:
        process.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        return False
    return True
