"""Small things that programs import from here, and the one function that warns about age."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["buffer_", "remember_cwd", "warn_deprecated"]

#: The name under which programs that also ran on Python 2 looked for a view of memory.
buffer_ = memoryview


@contextmanager
def remember_cwd() -> Iterator[None]:
    """Come back to the present working directory at the end of a ``with`` block.

    Yields
    ------
    None

    Notes
    -----
    The working directory belongs to the process: all threads see it change.

    Examples
    --------
    >>> import os
    >>> before = os.getcwd()
    >>> with remember_cwd():
    ...     os.chdir(os.path.expanduser("~"))
    >>> os.getcwd() == before
    True

    """
    directory = os.getcwd()
    try:
        yield
    finally:
        os.chdir(directory)


def warn_deprecated(what: str, instead: str, removal: str, stacklevel: int = 2) -> None:
    """Warn that something will go away.

    Parameters
    ----------
    what : str
        What is out of date, as the subject of a sentence.
    instead : str
        What to do, as a sentence without its stop.
    removal : str
        The version that will no longer have it.
    stacklevel : int, optional
        As for `warnings.warn`, counted from the caller: 2, the default, is who called it.

    """
    warnings.warn(
        f"{what} is deprecated and will be removed in version {removal}; {instead}",
        FutureWarning,
        stacklevel=stacklevel + 1,
    )
