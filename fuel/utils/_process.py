"""Start a child process, talk to it, and be sure that it ends.

`ChildProcess` runs a function in a new interpreter. It has its own entry point: the user's main
module is never imported by the child, so scripts without ``if __name__ == "__main__"``,
notebooks and interactive sessions work, and ``multiprocessing.set_start_method`` makes no
difference. What the main module defines travels by value (cloudpickle).

The parent hears of everything that happens: an exception in the child is raised here with its
type and its traceback, a child that dies is noticed at once. The child ends with `close`, with
garbage collection, with the parent's exit, and with the parent's death.

What runs inside the child is in `fuel.utils._child`, the messages in `fuel.utils._channel`.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import time
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fuel.exceptions import WorkerError
from fuel.utils._channel import ENDED, FAILED, MISSING, READY, Channel, ChannelClosed, dumps
from fuel.utils._failure import unpack_failure

if TYPE_CHECKING:
    import subprocess

__all__ = ["ChildProcess", "assigned_settings"]

#: Seconds that a child gets to end by itself when it is closed, and again after it was asked to.
#: An idle child needs some 20 ms; a child that needs longer is busy with what nobody wants.
_GRACE_S = 1.0

#: Seconds between two looks at whether the child lives. A dead child closes the pipe, which is
#: noticed at once; only if a process that *it* started holds the pipe open does this matter.
_LOOK_S = 0.25

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
preparation = pipe.recv()
preparation.update(parent_handle=parent, life=int(sys.argv[3]))
sys.path[:] = preparation["path"]
from fuel.utils._child import main
main(pipe, preparation)
"""

_HINTS = {
    "SIGKILL": "systems do this when memory runs out: keep fewer or smaller batches in flight",
    "SIGTERM": "somebody or something asked it to stop",
    "SIGINT": "somebody or something asked it to stop",
    "SIGSEGV": "compiled code crashed; standard error has the Python lines that called it",
    "SIGBUS": "compiled code crashed, or a file that is mapped into memory became shorter",
    "SIGABRT": "compiled code gave up; standard error has the reason",
    "SIGFPE": "compiled code crashed; standard error has the Python lines that called it",
    "SIGILL": "compiled code was built for another processor",
}


class ChildProcess:
    """A function that runs in a process of its own.

    The function is called as ``target(channel, *args)`` in the child, where `channel` has
    ``send``, ``recv`` and ``poll`` (see `fuel.utils._channel.Channel`). When this end is closed,
    the child's next call on the channel raises ``ChannelClosed``, which it should let out.

    Parameters
    ----------
    target : callable
        What to run. It and its arguments are pickled with cloudpickle, so lambdas and what the
        main module defines are fine.
    args : tuple, optional
        Further arguments of `target`.
    name : str, default "worker"
        What the child is for; shown in messages.

    Attributes
    ----------
    name : str
        As given.
    pid : int
        The process id of the child.

    Raises
    ------
    TypeError
        If `target` or `args` cannot be pickled.
    WorkerError
        If no process can be started.

    Notes
    -----
    The child starts while the constructor returns; the first `send` or `recv` waits for it.
    The child gets a copy of this process' global generators (``random``, ``numpy.random``) and of
    the settings that were assigned on `fuel.config`, as a forked process would. It ignores
    Ctrl-C: this process decides. An object belongs to the process that made it; in a process
    forked from that one it can only be closed. One thread may send while another receives.

    """

    def __init__(
        self,
        target: Callable[..., Any],
        args: tuple[Any, ...] = (),
        *,
        name: str = "worker",
    ) -> None:
        self.name = name
        self._work = (assigned_settings(), _generator_states(), target, args)
        self._by_value: set[str] = set()
        self._outcome: BaseException | None = None
        payload = self._dumps(self._work)
        self._process, self._channel, life, spare = _launch(name)
        self.pid: int = self._process.pid
        self._owner = os.getpid()
        self._ready = False
        # The child's end must stay open until the child has it (on Windows it copies it).
        self._spare = spare
        self._finalizer = weakref.finalize(
            self, _stop, self._process, self._channel, (life, spare), self._owner
        )
        try:
            self._channel.send_bytes(_preparation())
            self._channel.send_bytes(payload)
        except ChannelClosed:
            pass  # it died at once; the first recv says so
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        state = "closed" if self.closed else "running" if self.alive else "ended"
        return f"<ChildProcess {self.pid} ({self.name}), {state}>"

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return not self._finalizer.alive

    @property
    def alive(self) -> bool:
        """Whether the child runs, as far as this process can tell."""
        return self.is_mine and not self.closed and self._process.poll() is None

    @property
    def is_mine(self) -> bool:
        """Whether this process started the child (not one that it was forked from)."""
        return self._owner == os.getpid()

    @property
    def exitcode(self) -> int | None:
        """The child's exit status, the negative number of the signal that ended it, or None."""
        return self._process.poll() if self.is_mine else None

    @property
    def origin(self) -> str:
        """The child in words, for messages."""
        return f"worker process {self.pid} ({self.name})"

    def send(self, value: Any) -> None:
        """Send an object to the child.

        If the child is gone, nothing happens here: the next `recv` returns what the child still
        sent and then says how it ended, so that nothing is reported out of order.

        Parameters
        ----------
        value : object
            Anything that cloudpickle takes.

        Raises
        ------
        TypeError
            If it cannot be pickled.
        WorkerError
            If this object was closed, or the child could not start.

        """
        self._usable()
        payload = self._dumps(value)
        self._wait_until_ready()
        try:
            self._channel.send_bytes(payload)
        except ChannelClosed:
            pass

    def recv(self, timeout: float | None = None) -> Any:
        """Wait for an object that the child sends.

        Parameters
        ----------
        timeout : float, optional
            How long to wait, in seconds. By default as long as the child lives.

        Returns
        -------
        object
            What the child sent.

        Raises
        ------
        EOFError
            If the child's function returned and everything it sent was received.
        TimeoutError
            If nothing came in time.
        WorkerError
            If the child died, or this object was closed.
        BaseException
            What the child's function raised, with the child's traceback as its cause.

        """
        self._usable()
        deadline = None if timeout is None else time.monotonic() + timeout
        self._wait_until_ready(deadline)
        return pickle.loads(self._message(deadline))

    def poll(self, timeout: float = 0.0) -> bool:
        """Tell whether `recv` would return, or raise, at once.

        Parameters
        ----------
        timeout : float, default 0.0
            How long to wait for it, in seconds.

        Returns
        -------
        bool
            Whether there is news from the child.

        """
        self._usable()
        deadline = time.monotonic() + timeout
        try:
            self._wait_until_ready(deadline)
        except TimeoutError:
            return False
        except BaseException:
            return True
        return self._outcome is not None or self._look(deadline)

    def fileno(self) -> int:
        """Return the descriptor (on Windows the handle) that becomes readable with news."""
        return self._channel.fileno()

    def join(self, timeout: float) -> bool:
        """Wait for the child to exit.

        Parameters
        ----------
        timeout : float
            How long to wait, in seconds.

        Returns
        -------
        bool
            Whether it has exited.

        """
        import subprocess

        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            return False
        return True

    def close(self, *, patient: bool = True) -> None:
        """End the child and release everything. Takes a bounded time; calling it twice is fine.

        Parameters
        ----------
        patient : bool, default True
            Whether the child gets a moment to notice that its channel was closed, before it is
            asked to stop by other means. Not worth it for a child that does not look.

        """
        if not patient and self.alive:
            self._process.terminate()
        self._work = ()  # type: ignore[assignment]
        self._finalizer()

    def _usable(self) -> None:
        if not self.is_mine:
            raise WorkerError(
                f"{self.origin} belongs to process {self._owner}, from which this process "
                f"({os.getpid()}) was forked; start another one here"
            )
        if self.closed:
            raise WorkerError(f"{self.origin} was closed; start another one")

    def _dumps(self, value: Any) -> bytes:
        try:
            return dumps(value, self._by_value)
        except Exception as error:
            raise TypeError(
                f"a process ({self.name}) needs a copy of its work, but part of it cannot be "
                f"pickled ({type(error).__name__}: {error}); open files, locks, sockets and "
                f"generators in the process that uses them, or leave them out in __getstate__"
            ) from error

    def _wait_until_ready(self, deadline: float | None = None) -> None:
        while not self._ready:
            message = self._message(deadline)
            if message.startswith(MISSING):
                self._by_value.add(message[1:].decode())
                try:
                    self._channel.send_bytes(self._dumps(self._work))
                except ChannelClosed:
                    continue  # the next look says how it ended
            elif message.startswith(READY):
                self._ready = True
        self._work = ()  # type: ignore[assignment]
        self._release_spare()

    def _release_spare(self) -> None:
        if self._spare is not None:
            self._spare.close()
            self._spare = None

    def _look(self, deadline: float | None) -> bool:
        """Wait until there is news or the time is over; tell which."""
        while True:
            wait = _LOOK_S
            if deadline is not None:
                wait = max(0.0, min(wait, deadline - time.monotonic()))
            if self._channel.poll(wait):
                return True
            if self._process.poll() is not None:
                return True
            if deadline is not None and time.monotonic() >= deadline:
                return False

    def _message(self, deadline: float | None) -> bytes:
        """Return the next message, or raise how the child ended."""
        if self._outcome is not None:
            raise self._outcome
        if not self._look(deadline):
            raise TimeoutError(f"{self.origin} sent nothing in the time allowed; it is running")
        if self._channel.poll(0):
            try:
                message = self._channel.recv_bytes()
            except ChannelClosed:
                self._outcome = self._death()
                raise self._outcome from None
        else:
            self._outcome = self._death()
            raise self._outcome
        if message.startswith(FAILED):
            self._outcome = WorkerError(f"{self.origin} has ended with an exception, raised before")
            raise unpack_failure(message[1:], self.origin)
        if message == ENDED:
            self._outcome = EOFError(f"{self.origin} has finished")
            raise self._outcome
        return message

    def _death(self) -> WorkerError:
        # The pipe closes a moment before the system knows the exit status.
        if not self.join(_GRACE_S):
            self._process.kill()
            self._process.wait()
        code = self._process.returncode
        if code < 0:
            try:
                number = signal.Signals(-code).name
            except ValueError:
                number = f"number {-code}"
            how = f"was ended by signal {-code} ({number})"
            hint = _HINTS.get(number, "look at its last lines on standard error")
        else:
            how = f"exited with code {code}"
            hint = "something in it called os._exit, or the interpreter could not start"
        return WorkerError(f"{self.origin} {how} before its work was done; {hint}")


def assigned_settings() -> dict[str, Any]:
    """Return the settings that the program assigned; the environment passes by itself."""
    from fuel.config_parser import config

    return {
        setting.key: setting.value
        for setting in config.describe()
        if setting.origin == "assignment" and setting.error is None
    }


def _generator_states() -> dict[str, Any]:
    """Return the states of the global generators, for user functions that draw from them."""
    states: dict[str, Any] = {}
    if "random" in sys.modules:
        states["random"] = sys.modules["random"].getstate()
    if "numpy.random" in sys.modules:
        states["numpy"] = sys.modules["numpy.random"].get_state()
    return states


def _preparation() -> bytes:
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


def _launch(name: str) -> tuple[subprocess.Popen[bytes], Channel, Any, Any]:
    """Start an interpreter; return it, our end of the pipe, and two things to close later."""
    import subprocess
    from multiprocessing import Pipe
    from multiprocessing.spawn import get_executable

    executable = get_executable()
    if not executable:
        raise WorkerError(
            f"no process can be started ({name}): Python does not know its own executable; set "
            f"it with multiprocessing.set_executable"
        )
    ours, theirs = Pipe(duplex=True)
    options: dict[str, Any] = {"stdin": subprocess.DEVNULL}
    life_read, life_write = os.pipe()
    try:
        command = [os.fsdecode(executable), *_interpreter_flags(), "-c", _BOOTSTRAP]
        command += [str(theirs.fileno()), str(os.getpid()), str(life_read)]
        if os.name == "nt":
            # A new group does not get Ctrl-C.
            options["creationflags"] = subprocess.CREATE_NEW_PROCESS_GROUP  # type: ignore[attr-defined]
            base = getattr(sys, "_base_executable", command[0])
            if command[0] == sys.executable != base:
                # In a virtual environment this is a launcher, which would be the process that we
                # end while the real one goes on; the variable makes the real one use the
                # environment (as the standard library's own spawn does).
                options["env"] = {**os.environ, "__PYVENV_LAUNCHER__": sys.executable}
                command[0] = base
        else:
            options["pass_fds"] = (theirs.fileno(), life_read)
        process = _popen_without_interrupts(command, options)
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
    return process, Channel(ours), _Descriptor(life_write), theirs


def _interpreter_flags() -> list[str]:
    from multiprocessing.util import _args_from_interpreter_flags  # type: ignore[attr-defined]

    flags: list[str] = _args_from_interpreter_flags()
    return flags


def _popen_without_interrupts(
    command: list[str], options: dict[str, Any]
) -> subprocess.Popen[bytes]:
    """Start a process in which Ctrl-C has no effect from its first instruction."""
    import subprocess

    if not hasattr(signal, "pthread_sigmask"):
        return subprocess.Popen(command, **options)
    # A blocked signal stays blocked in the child until it has chosen to ignore it.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        return subprocess.Popen(command, **options)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Descriptor:
    """A file descriptor that is closed once."""

    def __init__(self, number: int) -> None:
        self._number: int | None = number

    def close(self) -> None:
        number, self._number = self._number, None
        if number is not None:
            os.close(number)


def _stop(process: subprocess.Popen[bytes], channel: Channel, ends: Any, owner: int) -> None:
    """End a child in bounded time. A function of its own: it must not hold the object."""
    import subprocess

    channel.close()
    try:
        if os.getpid() != owner:
            process.returncode = 0  # not ours to wait for, nor to warn about
            return
        for stop in (None, process.terminate, process.kill):
            if stop is not None:
                stop()
            try:
                process.wait(_GRACE_S if stop is not process.kill else None)
                return
            except subprocess.TimeoutExpired:
                continue
    except BaseException:
        process.kill()  # interrupted while waiting: leave nothing behind all the same
        process.wait()
        raise
    finally:
        for end in ends:
            end.close()
