"""Start a child process, talk to it, and be sure that it ends.

`ChildProcess` runs a function in a new interpreter. It has its own entry point: the user's main
module is never imported by the child, so scripts without ``if __name__ == "__main__"``,
notebooks and interactive sessions work, and ``multiprocessing.set_start_method`` makes no
difference. What the main module defines travels by value (cloudpickle).

The parent hears of everything that happens: an exception in the child is raised here with its
type and its traceback, a child that dies is noticed at once. The child ends with `close`, with
garbage collection, with the parent's exit, and with the parent's death.

How the interpreter is started and ended is in `fuel.utils._launch`, what runs inside the child in
`fuel.utils._child`, the messages are in `fuel.utils._channel`.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import time
import weakref
from collections.abc import Callable
from typing import Any

from fuel.exceptions import WorkerError
from fuel.utils._channel import ENDED, FAILED, MISSING, READY, ChannelClosed, dumps
from fuel.utils._failure import unpack_failure
from fuel.utils._launch import GRACE_S, launch, preparation, stop, uninterrupted

__all__ = ["ChildProcess", "assigned_settings", "end_together"]

#: Seconds between two looks at whether the child lives. A dead child closes the pipe, which is
#: noticed at once; only if a process that *it* started holds the pipe open does this matter.
_LOOK_S = 0.25

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
    start_method : {'spawn', 'forkserver', 'fork', None}, default 'spawn'
        How it is started, see `fuel.utils._launch.launch`.
    single_threaded : bool, default False
        Whether libraries for numbers are kept to one thread in the child.

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
        start_method: str | None = "spawn",
        single_threaded: bool = False,
    ) -> None:
        self.name = name
        self._work = (assigned_settings(), _generator_states(), target, args)
        self._by_value: set[str] = set()
        self._outcome: BaseException | None = None
        payload = self._dumps(self._work)
        self._owner = os.getpid()
        self._ready = False
        with uninterrupted():
            self._process, self._channel, life, spare = launch(name, start_method, single_threaded)
            self._finalizer = weakref.finalize(
                self, stop, self._process, self._channel, (life, spare), self._owner
            )
        # The child's end must stay open until the child has it (on Windows it copies it).
        self._spare = spare
        try:
            self._channel.send_bytes(preparation())
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
    def pid(self) -> int:
        """The process id of the child."""
        number: int = self._process.pid
        return number

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
        return self._outcome is not None or self._look(deadline) is not None

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

    def booted(self) -> None:
        """Note that the child has said that it runs; for who reads its messages himself."""
        self._ready = True
        self._work = ()  # type: ignore[assignment]
        self._release_spare()

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

    def _look(self, deadline: float | None) -> str | None:
        """Wait until there is a "message", or the child has "ended"; None if the time is over."""
        while True:
            wait = _LOOK_S
            if deadline is not None:
                wait = max(0.0, min(wait, deadline - time.monotonic()))
            if self._channel.poll(wait):
                return "message"
            if self._process.poll() is not None:
                # What it sent last may have come between the two looks.
                return "message" if self._channel.poll(0) else "ended"
            if deadline is not None and time.monotonic() >= deadline:
                return None

    def _message(self, deadline: float | None) -> bytes:
        """Return the next message, or raise how the child ended."""
        if self._outcome is not None:
            raise self._outcome
        news = self._look(deadline)
        if news is None:
            raise TimeoutError(f"{self.origin} sent nothing in the time allowed; it is running")
        try:
            if news == "ended":
                raise ChannelClosed
            message = self._channel.recv_bytes()
        except ChannelClosed:
            self._outcome = self._death()
            raise self._outcome from None
        if message.startswith(FAILED):
            self._outcome = WorkerError(f"{self.origin} has ended with an exception, raised before")
            raise unpack_failure(message[1:], self.origin)
        if message == ENDED:
            self._outcome = EOFError(f"{self.origin} has finished")
            raise self._outcome
        return message

    def _death(self) -> WorkerError:
        # The pipe closes a moment before the system knows the exit status.
        if not self.join(GRACE_S):
            self._process.kill()
            self.join(GRACE_S)
        code = self._process.returncode
        if code is None:
            how = "no longer answers, and does not end although it was killed"
            hint = "it waits for a disk or a network file system; look at what it reads from"
        elif code < 0:
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


def end_together(children: list[ChildProcess]) -> None:
    """Wait until children that know that they are not wanted have ended, or see to it.

    Parameters
    ----------
    children : list of ChildProcess
        Processes whose channel was closed, or hung up. They get a moment, all together, to end by
        themselves; then they are asked to, and at last they are made to.

    """
    left = [child for child in children if child.is_mine and not child.closed]
    for ask in ("", "terminate", "kill"):
        for child in left:
            if ask:
                getattr(child._process, ask)()
        deadline = time.monotonic() + GRACE_S
        left = [child for child in left if not child.join(max(0.0, deadline - time.monotonic()))]


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
