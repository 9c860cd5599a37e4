"""The fork server: a small process, warmed up once, that becomes our child processes by forking.

Starting an interpreter and importing NumPy takes some 200 ms; forking a process that has done so
takes 3. The server runs nothing of the user's and has one thread, so that forking it is safe
whatever threads, locks and devices the program has.

In this room: `serve`, what the server does, and `become_child`, what a process does that was
forked from it (or, where the user wants that, from the program itself). Who starts the server and
asks it is in `fuel.utils._forkserver`; what a child does then is in `fuel.utils._child`.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import struct
import sys
import time
from typing import Any

from fuel.utils._alive import handle_of, is_alive

__all__ = ["become_child", "serve"]

#: What is imported before the first child is forked: what nearly every worker needs.
_PRELOADED = (
    "numpy",
    "cloudpickle",
    "fuel.datasets.base",
    "fuel.schemes",
    "fuel.streams",
    "fuel.transformers",
    "fuel.utils._child",
    "fuel.workers._child",
)
#: Seconds between two looks at whether the program lives, where the system does not tell.
_LOOK_S = 1.0
#: Exit status of a child that could not even begin.
_STILLBORN = 83
_LENGTH = struct.Struct("!I")
_STATUS = struct.Struct("!i")


def serve(control: int, parent: int) -> None:
    """Fork a child for each request, until the program closes its end, or is gone.

    Parameters
    ----------
    control : int
        The descriptor of a Unix socket, whose other end the program has.
    parent : int
        The process id of the program: a process that it forked may hold that end open.

    """
    import gc
    import importlib

    for name in _PRELOADED:
        with contextlib.suppress(Exception):  # the child will say so, if it needs it
            importlib.import_module(name)
    gc.collect()
    gc.freeze()  # so that the children do not copy every page by looking at it
    with socket.socket(fileno=control) as channel:
        _serve(channel, parent)


def _serve(channel: socket.socket, parent: int) -> None:
    wake_read, wake_write = os.pipe()
    for end in (wake_read, wake_write):
        os.set_blocking(end, False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    children: dict[int, int] = {}
    handle = handle_of(parent)
    listening: list[Any] = [channel, wake_read, *([] if handle is None else [handle])]
    while True:
        ready, _, _ = select.select(listening, [], [], _LOOK_S if handle is None else None)
        if handle in ready or (not ready and not is_alive(parent)):
            return
        if wake_read in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(wake_read, 4096)
            _reap(children)
        if channel not in ready:
            continue
        request = _receive(channel)
        if request is None:
            return
        environment, descriptors = request
        status = descriptors[-1]
        try:
            pid = os.fork()
        except OSError:  # there are too many processes: the program hears that there is no child
            pid = -1
        if pid == 0:
            try:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                channel.close()
                ends = [wake_read, wake_write, status, *children.values()]
                for end in ends if handle is None else [*ends, handle]:
                    os.close(end)
                _become(environment, descriptors[:-1])
            finally:
                os._exit(_STILLBORN)
        for end in descriptors[:-1]:
            os.close(end)
        if pid < 0:
            os.close(status)
        else:
            children[pid] = status
        try:
            channel.sendall(_LENGTH.pack(max(pid, 0)))
        except OSError:
            return  # the program is gone
        _reap(children)


def _receive(channel: socket.socket) -> tuple[dict[str, str], list[int]] | None:
    """Return the environment and the descriptors of a new child; None at the end."""
    try:
        head, descriptors, _, _ = socket.recv_fds(channel, _LENGTH.size, 16)
        if len(head) < _LENGTH.size:
            return None
        left = _LENGTH.unpack(head)[0]
        parts: list[bytes] = []
        while left:
            part = channel.recv(min(left, 1 << 16))
            if not part:
                return None
            parts.append(part)
            left -= len(part)
    except OSError:
        return None
    return json.loads(b"".join(parts)), list(descriptors)


def _reap(children: dict[int, int]) -> None:
    """Pass on how children ended."""
    while children:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        descriptor = children.pop(pid, None)
        if descriptor is not None:
            with contextlib.suppress(OSError):  # nobody wants to know any more
                os.write(descriptor, _STATUS.pack(os.waitstatus_to_exitcode(status)))
            os.close(descriptor)


def _become(environment: dict[str, str], descriptors: list[int]) -> None:
    pipe, life, output, errors = descriptors
    os.dup2(output, 1)
    os.dup2(errors, 2)
    os.close(output)
    os.close(errors)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()  # as all other variables, that of the time zone may have changed
    for stream, number in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, stream, None) is None:  # the server was started without one
            setattr(sys, stream, open(number, "w", closefd=False))  # noqa: SIM115
    become_child(pipe, life)


def become_child(pipe: int, life: int) -> None:
    """Do what a child process does, and end.

    Parameters
    ----------
    pipe : int
        The descriptor of the child's end of the pipe to its parent.
    life : int
        A descriptor that becomes readable when the parent is gone.

    """
    from multiprocessing import connection

    code = 0
    try:
        channel: Any = connection.Connection(pipe)
        try:
            preparation = channel.recv()
        except (EOFError, OSError):
            os._exit(0)
        preparation.update(parent_handle=None, life=life)
        sys.path[:] = preparation["path"]
        from fuel.utils._child import main

        main(channel, preparation)
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    except BaseException:
        import traceback

        traceback.print_exc()
        code = 1
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        os._exit(code)
