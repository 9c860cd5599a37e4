"""A small pool of threads for kernels that run without the interpreter's lock.

In this module: `run`, which spreads calls over threads, and the one limit to their number. Not
here: workers that evaluate whole steps; and OpenMP, whose threads do not survive a fork.

The limit is the number of processors that this process may use, or the environment variable
``FUEL_NUM_THREADS``, read when the limit is first asked for, or what `set_limit` says. The thread
that calls `run` takes part in the work, so that a limit of one means no other thread at all. The
pool's threads start when they are first needed, are made again in a child after a fork, and never
keep the interpreter from ending. A call from within a call runs in the thread it is in.
"""

from __future__ import annotations

import contextvars
import operator
import os
import queue
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from fuel.exceptions import ConfigurationError

__all__ = ["limit", "run", "set_limit"]

_SETTING = "FUEL_NUM_THREADS"

_chosen: int | None = None
_default: int | None = None
# The call of `run` whose jobs this thread is carrying out.
_local = threading.local()
#: Seconds between two looks at whether others are done, should an interrupt swallow the news.
_LOOK_S = 0.1


def limit() -> int:
    """Return how many threads a call may use, the calling one included.

    Returns
    -------
    int
        At least 1.

    Raises
    ------
    ConfigurationError
        If ``FUEL_NUM_THREADS`` is set to something that is not a positive integer.

    """
    global _default
    if _chosen is not None:
        return _chosen
    if _default is None:
        _default = _configured() or _processors()
    return _default


def set_limit(threads: int | None) -> None:
    """Set how many threads a call may use.

    Parameters
    ----------
    threads : int or None
        A positive integer; 1 for no threads but the calling one. None goes back to the
        environment variable, or the number of processors.

    Raises
    ------
    TypeError
        If it is not an integer.
    ValueError
        If it is not positive.

    """
    global _chosen, _default
    if threads is None:
        _chosen = _default = None
        return
    number = operator.index(threads)
    if number < 1:
        raise ValueError(
            f"`threads` must be a positive integer, got {number}; use 1 for no threads besides "
            "the calling one"
        )
    _chosen = number


def run(
    function: Callable[..., Any], jobs: Sequence[tuple[Any, ...]], threads: int | None = None
) -> list[Any]:
    """Call a function once for each job, in several threads.

    Parameters
    ----------
    function : callable
        Something that spends its time without the interpreter's lock.
    jobs : sequence of tuple
        The arguments of each call.
    threads : int, optional
        How many threads to use, the calling one included, if the limit allows it. The default is
        the limit.

    Returns
    -------
    list
        What the calls returned, in the order of the jobs.

    Raises
    ------
    ValueError
        If `threads` is not positive.
    BaseException
        What a call raised; of several, that of the first job in order. No job is begun after
        one has failed, and those that had begun have ended when the exception arrives.

    Notes
    -----
    May be called from several threads at once, which then share the pool. The jobs see the
    context variables of the caller. Ctrl-C ends the call when the jobs that have begun are done;
    a second one does not wait for them.

    Examples
    --------
    >>> from fuel.kernels import threads
    >>> threads.run(pow, [(2, 3), (3, 2), (2, 10)])
    [8, 9, 1024]

    """
    allowed = limit() if threads is None else min(operator.index(threads), limit())
    if allowed < 1:
        raise ValueError(f"`threads` must be a positive integer, got {threads}; use 1 for none")
    helpers = min(allowed, len(jobs)) - 1
    outer = getattr(_local, "busy", None)
    if helpers < 1 or (outer is not None and not outer.over):
        return [function(*job) for job in jobs]
    return _Calls(function, jobs, helpers).take_part()


class _Calls:
    """The calls of one `run`: which were begun, who takes part, what they returned.

    Ctrl-C may be raised between any two operations of the calling thread, also right after it has
    taken a lock, which nobody would then release. So there is no lock here. What threads agree on
    are queues, each operation on which is one call of the interpreter that happens or does not:
    whoever takes a job has begun it, and whoever takes a ticket takes part until he returns it.
    """

    def __init__(
        self, function: Callable[..., Any], jobs: Sequence[tuple[Any, ...]], helpers: int
    ) -> None:
        self.helpers = helpers
        self.over = False
        self._function = function
        self._jobs = jobs
        self._results: list[Any] = [None] * len(jobs)
        self._failures: list[tuple[int, BaseException]] = []
        self._waiting = deque(range(len(jobs)))
        self._tickets = deque(range(helpers))
        self._returned: deque[int] = deque()
        # Only a hint to look at once: what it says is also said by `_returned`.
        self._news: queue.SimpleQueue[None] = queue.SimpleQueue()

    @property
    def helping(self) -> int:
        """How many threads of the pool are taking part."""
        return self.helpers - len(self._tickets) - len(self._returned)

    def take_part(self) -> list[Any]:
        """Work in the calling thread until nothing is left, and collect what came of it."""
        try:
            _pool.start(self, self.helpers)  # if this is interrupted, nobody may go on alone
            self._work()
            self._close()
        except BaseException:
            self._waiting.clear()
            if not self._interrupted():  # a second time nobody is waited for
                self._close()
            raise
        finally:
            self.over = True
        if self._failures:
            try:
                raise min(self._failures, key=operator.itemgetter(0))[1]
            finally:
                self._failures.clear()  # their tracebacks refer to this frame
        return self._results

    def help(self) -> None:
        """Work in a thread of the pool, unless the call is over by now."""
        try:
            ticket = self._tickets.popleft()
        except IndexError:
            return
        try:
            self._work()
        finally:
            self._returned.append(ticket)
            self._news.put(None)

    def _work(self) -> None:
        try:
            _local.busy = self
            while True:
                try:
                    index = self._waiting.popleft()
                except IndexError:
                    return
                try:
                    self._results[index] = self._function(*self._jobs[index])
                except BaseException as error:
                    self._waiting.clear()
                    self._failures.append((index, error))
                    return
        finally:
            _local.busy = None

    def _close(self) -> None:
        """Begin nothing more, and wait for what others have begun."""
        self._waiting.clear()
        try:
            # Tickets that nobody has taken, in one step: none is lost on the way.
            self._returned.extend(iter(self._tickets.popleft, None))
        except IndexError:
            pass
        while len(self._returned) < self.helpers:
            try:
                self._news.get(timeout=_LOOK_S)
            except queue.Empty:
                pass

    def _interrupted(self) -> bool:
        return any(isinstance(error, KeyboardInterrupt) for _, error in self._failures)


class _Pool:
    """Threads that wait for calls to take part in."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: queue.SimpleQueue[tuple[contextvars.Context, _Calls]] = queue.SimpleQueue()
        self._size = 0

    def start(self, calls: _Calls, helpers: int) -> None:
        """Ask threads to take part, and start those that are missing."""
        if self._size < helpers:
            with self._lock:
                self._grow(helpers)
        for _ in range(min(helpers, self._size)):
            # A context cannot be entered by two threads at once, so that each has its own.
            self._waiting.put((contextvars.copy_context(), calls))

    def _grow(self, size: int) -> None:
        while self._size < size:
            # A daemon: at the end of the program nobody waits for threads without work.
            thread = threading.Thread(
                target=_serve,
                args=(self._waiting,),
                name=f"fuel-kernels-{self._size + 1}",
                daemon=True,
            )
            try:
                thread.start()
            except RuntimeError:
                return  # the system has no more, or the interpreter ends: those there are will do
            self._size += 1


def _serve(waiting: queue.SimpleQueue[tuple[contextvars.Context, _Calls]]) -> None:
    """Take part in one call after another."""
    while True:
        context, calls = waiting.get()
        context.run(calls.help)
        del context, calls  # which hold the arrays of the last call


def _configured() -> int | None:
    """Read the setting."""
    text = os.environ.get(_SETTING, "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit()) or len(text) > 9 or int(text) < 1:
        raise ConfigurationError(
            f"{_SETTING} must be a positive integer, got {text!r}; use 1 for no threads, or "
            "unset it for as many as there are processors"
        )
    return int(text)


def _processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "process_cpu_count"):  # from Python 3.13 on; knows of PYTHON_CPU_COUNT
        return os.process_cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


def _forget() -> None:
    """Make everything anew in a child, where the threads of the parent do not exist."""
    global _pool, _local
    _pool = _Pool()
    _local = threading.local()


_pool = _Pool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
