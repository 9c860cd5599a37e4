"""Whether another process lives, told by its number.

A process that has ended stays in the table of processes until its parent, or the first process of
a container, has asked how; it may never do so. Where the system can tell the two apart (Linux),
such a process counts as gone.
"""

from __future__ import annotations

import os
import select

__all__ = ["handle_of", "is_alive"]


def handle_of(pid: int) -> int | None:
    """Return a descriptor that becomes readable when a process ends.

    Parameters
    ----------
    pid : int
        Its number.

    Returns
    -------
    int or None
        To be closed; None where there is no such thing, or no such process.

    """
    if not hasattr(os, "pidfd_open"):
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


def is_alive(pid: int) -> bool:
    """Tell whether a process runs.

    Parameters
    ----------
    pid : int
        Its number.

    Returns
    -------
    bool
        False if there is none of that number, or it has ended.

    """
    handle = handle_of(pid)
    if handle is not None:
        try:
            poller = select.poll()
            poller.register(handle, select.POLLIN)
            return not poller.poll(0)
        finally:
            os.close(handle)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
