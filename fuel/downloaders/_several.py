"""Several files at a time, in threads that end when the caller is interrupted.

What is done for each file is handed in; stopping what waits for bytes is in `_settings.Run`.
"""

from __future__ import annotations

import contextvars
import queue
import threading
from collections.abc import Callable, Sequence

from fuel.downloaders._settings import Run, Stopped

__all__ = ["in_threads"]

#: How often the waiting caller looks up, in seconds: on Windows only then Ctrl-C reaches it.
_LOOK_UP_S = 0.2

#: How long threads may take to end after an interruption, in seconds. They are not waited for any
#: longer, and do not keep the process alive.
_FAREWELL_S = 2.0


def in_threads(
    tasks: Sequence[Callable[[], None]], jobs: int, run: Run
) -> list[BaseException | None]:
    """Do things, some at a time.

    Parameters
    ----------
    tasks : sequence of callable
        What to do. Each gets a copy of the caller's context variables.
    jobs : int
        How many at a time.
    run : Run
        It is stopped when the caller is interrupted.

    Returns
    -------
    list of (BaseException or None)
        What each of them raised.

    """
    results: list[BaseException | None] = [None] * len(tasks)
    todo: queue.SimpleQueue[int] = queue.SimpleQueue()
    done: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in range(len(tasks)):
        todo.put(number)

    def work() -> None:
        while True:
            try:
                number = todo.get_nowait()
            except queue.Empty:
                return
            try:
                run.check()
                tasks[number]()
            except BaseException as error:  # told by the caller's thread
                results[number] = error
            done.put(number)

    threads = [
        threading.Thread(target=contextvars.copy_context().run, args=(work,), daemon=True)
        for _ in range(min(jobs, len(tasks)))
    ]
    try:
        for thread in threads:
            thread.start()
        waiting = len(tasks)
        while waiting:
            try:
                waiting -= done.get(timeout=_LOOK_UP_S) >= 0
            except queue.Empty:
                pass
    except BaseException:
        run.stop()
        raise
    finally:
        for thread in threads:
            if thread.ident is not None:
                thread.join(_FAREWELL_S)
    for error in results:
        if error is not None and not isinstance(error, (Exception, Stopped)):
            raise error
    return results
