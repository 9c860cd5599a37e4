"""Opening a file that somebody wants to look at, and saying in a sentence why it cannot be."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fuel.exceptions import FuelError, StorageError

__all__ = ["in_one_line", "opened"]

#: What the system answered, within the messages of HDF5.
_REASON = re.compile(r"errno = \d+, error message = '(?P<what>[^']*)'", re.DOTALL)

#: What h5py raises where the inside of a file is damaged.
DAMAGE = (OSError, RuntimeError, KeyError, ValueError, TypeError)


def in_one_line(error: BaseException) -> str:
    """Say what an exception means."""
    reason = error.args[0] if isinstance(error, KeyError) and error.args else error
    text = " ".join(str(reason).split())
    found = _REASON.search(text)
    return found["what"] if found else text or type(error).__name__


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[Any]:
    """Open a file for a look at it.

    Parameters
    ----------
    path : path
        The file.

    Yields
    ------
    h5py.File
        The file, open for reading.

    Raises
    ------
    StorageError
        If it cannot be opened, or turns out to be damaged; the message is one sentence.

    """
    import h5py

    path = os.fspath(path)
    _look(path)
    try:
        h5file = h5py.File(path, "r")
    except OSError as error:
        raise StorageError(_why_not(path, error)) from error
    with h5file:
        try:
            yield h5file
        except FuelError:
            raise
        except (OSError, RuntimeError, KeyError, UnicodeDecodeError) as error:
            raise StorageError(f"{path} is damaged: {in_one_line(error)}; make it again") from error


def _look(path: str) -> None:
    """Refuse what is no file that may be read: HDF5 would wait for a pipe, for one."""
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise StorageError(f"there is no file {path or repr(path)}") from None
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror}") from error
    if stat.S_ISDIR(mode):
        raise StorageError(f"{path} is a directory, not an HDF5 file")
    if not stat.S_ISREG(mode):
        raise StorageError(f"{path} is a device or a pipe, not an HDF5 file")
    try:
        with open(path, "rb"):
            pass
    except OSError as error:
        raise StorageError(f"{path} may not be read: {error.strerror}") from error


def _why_not(path: str, error: OSError) -> str:
    import h5py

    text = in_one_line(error)
    if "truncated" in text:
        return f"{path} is cut short (a copy or a conversion that did not end?); make it again"
    if "lock" in text:
        return (
            f"{path} is being written by another process; wait for it, or set "
            "HDF5_USE_FILE_LOCKING=FALSE if it is not"
        )
    if not h5py.is_hdf5(path):
        return f"{path} is not an HDF5 file"
    return f"{path} cannot be read, it may be damaged: {text}"
