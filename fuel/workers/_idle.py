"""Workers that wait for work: kept warm from epoch to epoch and from loader to loader.

A worker belongs to one pass at a time (it is leased), and comes back here when the pass is over.
Whoever asks next gets it, if it was started under the same circumstances.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import weakref
from typing import Any

from fuel.utils._forkserver import close_server
from fuel.utils._process import assigned_settings, end_together
from fuel.workers._worker import Worker

__all__ = ["close_workers", "lease", "put_back"]

_lock = threading.RLock()
_idle: list[tuple[Any, Worker]] = []
_all: weakref.WeakSet[Worker] = weakref.WeakSet()
#: So many workers are kept that nobody asked for last; of loaders with different settings.
_MOST_IDLE = 16


def _circumstances() -> Any:
    """Return what a process was started with, and would not notice if it changed."""
    try:
        directory = os.getcwd()
    except OSError:  # it was removed
        directory = None
    return os.getpid(), assigned_settings(), list(sys.path), directory, dict(os.environ)


def lease(count: int, region_bytes: int | None, start_method: str | None) -> list[Worker]:
    """Take workers that nobody else has; missing ones are started.

    Parameters
    ----------
    count : int
        How many.
    region_bytes : int or None
        How much shared memory each has; None for the default.
    start_method : str or None
        How new ones are started.

    Returns
    -------
    list of Worker
        They go back by `put_back`, or are closed.

    """
    now = _circumstances()
    found: list[Worker] = []
    with _lock:
        for entry in list(_idle):
            circumstances, worker = entry
            if circumstances[0] != now[0]:
                _idle.remove(entry)  # of the process that this one was forked from
                continue
            if circumstances != now or not worker.process.alive:
                # Nobody will ask for it any more: what it was started with is not coming back.
                _idle.remove(entry)
                worker.close(patient=False)
                continue
            fits = (worker.region_bytes, worker.start_method) == (region_bytes, start_method)
            if fits and len(found) < count:
                _idle.remove(entry)
                found.append(worker)
    try:
        while len(found) < count:
            worker = Worker(count, region_bytes, start_method)
            worker.circumstances = now
            found.append(worker)
            with _lock:
                _all.add(worker)
        for worker in found:
            worker.thread = threading.get_ident()
    except BaseException:
        for worker in found:
            put_back(worker)
        raise
    return found


def put_back(worker: Worker) -> None:
    """Take a worker back."""
    circumstances = worker.circumstances
    if worker.process.closed:
        return
    if worker.wire.midway or worker.dismissed:
        worker.close(patient=False)  # nothing that it says can be understood any more
        return
    if circumstances != _circumstances() or not worker.process.alive:
        worker.close()
        return
    with _lock:
        _idle.append((circumstances, worker))
        like = (worker.region_bytes, worker.start_method)
        others = [one for one in _idle if (one[1].region_bytes, one[1].start_method) != like]
        while len(others) > _MOST_IDLE:
            _idle.remove(others[0])
            others.pop(0)[1].close()


def close_workers() -> None:
    """End all worker processes, those at work as well.

    A pass whose workers were ended gets new ones when its next item is asked for. Workers end by
    themselves with the program; this is for whoever wants their memory back earlier.

    Notes
    -----
    May be called from any thread, and twice.

    """
    with _lock:
        idle = [worker for _, worker in _idle]
        _idle.clear()
        workers = {id(worker): worker for worker in [*idle, *list(_all)]}
    mine = [one for one in workers.values() if one.process.is_mine and not one.process.closed]
    for worker in mine:
        # A pass of another thread may be listening to it, and hears of it so.
        worker.dismiss()
    end_together([worker.process for worker in mine])
    for worker in mine:
        if worker in idle or worker.thread == threading.get_ident():
            worker.close()
    close_server()


def _forget() -> None:
    """In a process that was forked: another thread may have held the lock."""
    global _lock
    _lock = threading.RLock()
    _idle.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
# So that this runs first at the end of the program, and all workers are waited for together.
weakref.finalize(_all, int)
atexit.register(close_workers)
