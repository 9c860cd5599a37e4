"""What runs inside a child process that `fuel.utils._process` started.

The child never imports the user's main module. It receives its interpreter's settings (the
search path, the directory, the settings of the package, the states of the global generators) and
then one function with its arguments, runs it, and reports how it ended. It exits when the parent
is gone, whatever it is doing.
"""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import sys
import threading
from typing import TYPE_CHECKING, Any

from fuel.utils._alive import handle_of, is_alive
from fuel.utils._channel import ENDED, FAILED, MISSING, READY, Channel, ChannelClosed
from fuel.utils._failure import pack_failure

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

__all__ = ["main"]

#: Exit status of a child that noticed that its parent is gone. Nobody is there to read it.
_ORPHANED = 82

#: Seconds between two looks at the parent's id. The pipe tells at once in all cases but one: a
#: process that the parent forked holds the pipe's other end open. (On Linux its handle tells.)
_PARENT_CHECK_S = 1.0


def main(connection: Connection[Any, Any], preparation: dict[str, Any]) -> None:
    """Serve the parent: receive a function, run it, report how it ended.

    Parameters
    ----------
    connection : multiprocessing.connection.Connection
        The child's end of the pipe.
    preparation : dict
        What `fuel.utils._process` sent first; plain types only.

    """
    _watch_parent(preparation)
    _prepare(preparation)
    # That the NumPy forms of the kernels are in use was said by the parent.
    logging.getLogger("fuel.kernels").setLevel(logging.ERROR)
    channel = Channel(connection)
    try:
        target, args = _receive_target(channel)
        channel.send_bytes(READY)
        target(channel, *args)
        channel.send_bytes(ENDED)
    except ChannelClosed:
        # The parent closed its end, which is how it says that the work is no longer wanted.
        pass
    except BaseException as error:
        with contextlib.suppress(ChannelClosed):
            channel.send_bytes(FAILED + pack_failure(error))
    finally:
        channel.close()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()


def _prepare(preparation: dict[str, Any]) -> None:
    import faulthandler

    with contextlib.suppress(Exception):  # no usable standard error, nothing to print on
        faulthandler.enable()
    for stream in (sys.stdout, sys.stderr):
        # What the user's code prints is not lost if the child is ended from outside.
        with contextlib.suppress(Exception):
            stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    sys.argv[:] = preparation["argv"]
    if preparation["directory"] is not None:
        with contextlib.suppress(OSError):  # removed meanwhile: the parent could not use it either
            os.chdir(preparation["directory"])


def _receive_target(channel: Channel) -> tuple[Any, tuple[Any, ...]]:
    """Receive the function, asking for modules by value that cannot be imported here."""
    asked: set[str] = set()
    while True:
        payload = channel.recv_bytes()
        try:
            settings, states, target, args = pickle.loads(payload)
        except ModuleNotFoundError as error:
            # A module that the parent loaded from a place that is not on the search path, as test
            # runners and `runpy` do.
            if error.name is None or error.name in asked:
                raise
            asked.add(error.name)
            channel.send_bytes(MISSING + error.name.encode())
            continue
        _apply_settings(settings)
        _apply_states(states)
        return target, args


def _apply_settings(settings: dict[str, Any]) -> None:
    from fuel.config_parser import config

    for key, value in settings.items():
        setattr(config, key, value)


def _apply_states(states: dict[str, Any]) -> None:
    if "random" in states:
        import random

        random.setstate(states["random"])
    if "numpy" in states:
        import numpy

        numpy.random.set_state(states["numpy"])


def _watch_parent(preparation: dict[str, Any]) -> None:
    watch = _watch_windows if os.name == "nt" else _watch_posix
    if sys.platform == "linux":
        _end_with_parent(preparation["life"])
    threading.Thread(
        target=watch, args=(preparation,), name="fuel-parent-watch", daemon=True
    ).start()


def _watch_posix(preparation: dict[str, Any]) -> None:
    from multiprocessing.connection import wait

    life = preparation["life"]
    parent = os.getppid()
    # Started through a launcher, or by the fork server, the parent's id is not that of the process
    # that sent the work.
    compare = parent == preparation["parent"]
    handle = None if compare else handle_of(preparation["parent"])
    ends = [life] if handle is None else [life, handle]
    while not wait(ends, _PARENT_CHECK_S):
        if compare and os.getppid() != parent:
            break
        if not compare and handle is None and not is_alive(preparation["parent"]):
            break
    os._exit(_ORPHANED)


def _end_with_parent(life: int) -> None:
    """Have the system end this process when the pipe closes, even if the interpreter is locked."""
    import fcntl
    import signal

    with contextlib.suppress(AttributeError, OSError, ValueError):
        signal.signal(signal.SIGIO, signal.SIG_DFL)  # which ends a process
        fcntl.fcntl(life, fcntl.F_SETOWN, os.getpid())
        flags = fcntl.fcntl(life, fcntl.F_GETFL)
        fcntl.fcntl(life, fcntl.F_SETFL, flags | os.O_ASYNC)  # type: ignore[attr-defined,unused-ignore]


def _watch_windows(preparation: dict[str, Any]) -> None:
    from multiprocessing.connection import wait

    wait([preparation["parent_handle"]])
    os._exit(_ORPHANED)
