"""Exceptions on their way from one process to another.

An exception leaves a process as bytes and arrives as the same type, with the traceback that it
had where it was raised as its ``__cause__``: Python prints that first, so the reader sees where
it really happened. What cannot be rebuilt arrives as a `fuel.exceptions.WorkerError` with the
text of the original. The processes themselves are in `fuel.utils._process`.
"""

from __future__ import annotations

import pickle
import traceback
from typing import Any

from fuel.exceptions import WorkerError

__all__ = ["WorkerTraceback", "pack_failure", "unpack_failure"]


class WorkerTraceback(Exception):
    """The traceback that an exception had in the process in which it was raised.

    Parameters
    ----------
    text : str
        The traceback, as Python would have printed it there.
    origin : str, optional
        The process, in words.

    """

    def __init__(self, text: str, origin: str = "another process") -> None:
        super().__init__(text, origin)
        self.text = text
        self.origin = origin

    def __str__(self) -> str:
        return f'\n"""in {self.origin}:\n{self.text.rstrip()}\n"""'


def pack_failure(error: BaseException) -> bytes:
    """Write an exception down for another process.

    Parameters
    ----------
    error : BaseException
        The exception, as it was caught.

    Returns
    -------
    bytes
        What `unpack_failure` takes. Never fails, whatever the exception holds.

    """
    try:
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    except BaseException as failure:  # a broken __str__ or __repr__ of the user's
        text = f"{type(error).__qualname__} (it could not be printed: {type(failure).__qualname__})"
    kind = f"{type(error).__module__}.{type(error).__qualname__}"
    return pickle.dumps((kind.removeprefix("builtins."), text, _pickled(error)))


def unpack_failure(payload: bytes, origin: str) -> BaseException:
    """Rebuild an exception that another process wrote down.

    Parameters
    ----------
    payload : bytes
        What `pack_failure` returned in a process that this one trusts.
    origin : str
        That process in words, such as ``"worker process 4711 (MultiProcessing)"``.

    Returns
    -------
    BaseException
        The exception, to be raised. Its ``__cause__`` is a `WorkerTraceback`.

    """
    kind, text, pickled = pickle.loads(payload)
    error: BaseException | None = None
    if pickled is not None:
        try:
            error = _rebuild(pickled)
        except Exception:  # its class is not importable here; the text below is what remains
            error = None
    if error is None:
        error = WorkerError(
            f"{origin} failed with {kind}, which cannot be pickled and is shown as text below"
        )
    error.__cause__ = WorkerTraceback(text, origin)
    return error


def _pickled(error: BaseException) -> bytes | None:
    """Return the exception in the first form that survives being unpickled, if any does."""
    import cloudpickle

    # An exception whose __init__ does not take its own `args` pickles and then fails to unpickle
    # (a well-known trap); such a one is built without __init__ instead.
    attempts: tuple[Any, ...] = (error, (type(error), error.args, error.__dict__))
    for attempt in attempts:
        try:
            pickled: bytes = cloudpickle.dumps(attempt, protocol=5)
            rebuilt = _rebuild(pickled)
            if type(rebuilt) is type(error):
                str(rebuilt)  # half an exception is worse than its text
                return pickled
        except Exception:  # any failure means: try the next form
            continue
    return None


def _rebuild(pickled: bytes) -> BaseException | None:
    content = pickle.loads(pickled)
    if isinstance(content, tuple):
        cls, args, attributes = content
        error: BaseException = cls.__new__(cls, *args)
        error.args = args
        error.__dict__.update(attributes)
        return error
    return content if isinstance(content, BaseException) else None
