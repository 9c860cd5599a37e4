"""Files that are compressed, by the ends of their names: reading them as bytes, and packing bytes.

Used for text (`fuel.utils._lines`, `fuel.utils.vocabulary`). The original `open_` of
`fuel.utils.formats`, which knows ``.gz`` alone, is left as it was.
"""

from __future__ import annotations

import importlib
import os
import sys
import zlib
from typing import Any, Protocol

from fuel.exceptions import StorageError
from fuel.utils._paths import DataFileNotFoundError

__all__ = ["BytesFile", "compression", "errors", "open_bytes", "pack", "unreadable"]

#: The module of each format, the class that reads it, and the name of its error.
_FORMATS = {
    ".gz": ("gzip", "GzipFile", "BadGzipFile"),
    ".bz2": ("bz2", "BZ2File", ""),
    ".xz": ("lzma", "LZMAFile", "LZMAError"),
    ".lzma": ("lzma", "LZMAFile", "LZMAError"),
    ".zst": ("compression.zstd", "ZstdFile", "ZstdError"),
}


class BytesFile(Protocol):
    """What `open_bytes` returns."""

    def read1(self, size: int, /) -> bytes:
        """Return up to so many bytes, those that come first; none at the end."""
        ...

    def read(self, size: int = -1, /) -> bytes:
        """Return so many bytes, fewer only at the end."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...


def compression(path: str) -> str | None:
    """Return the ending of a file's name that says how it is compressed.

    Parameters
    ----------
    path : str
        The name of a file.

    Returns
    -------
    str or None
        Such as ``".gz"``, in lower case; None for a file that is not compressed.

    """
    ending = os.path.splitext(path)[1].lower()
    return ending if ending in _FORMATS else None


def errors() -> tuple[type[Exception], ...]:
    """Return what reading a file may raise: the formats have no error in common."""
    found: list[type[Exception]] = [OSError, EOFError, zlib.error]
    for module, _, name in _FORMATS.values():
        if name and module in sys.modules:
            found.append(getattr(sys.modules[module], name))
    return tuple(found)


def unreadable(path: str, where: str, error: Exception) -> StorageError:
    """Return the error that says that a file cannot be read.

    Parameters
    ----------
    path : str
        Its name.
    where : str
        How far reading came, such as ``" after line 7"``, or nothing.
    error : Exception
        What was raised.

    Returns
    -------
    StorageError
        Also a `FileNotFoundError` if there is no such file.

    """
    kind = DataFileNotFoundError if isinstance(error, FileNotFoundError) else StorageError
    hint = "check that the file is there, complete and readable"
    if compression(path) is not None and not isinstance(error, FileNotFoundError):
        hint += "; if it is damaged, get or compress it again"
    return kind(f"{path!r} cannot be read{where}: {error}; {hint}")


def _module(path: str, ending: str) -> Any:
    try:
        return importlib.import_module(_FORMATS[ending][0])
    except ImportError as error:
        what = "Python 3.14 or newer" if ending == ".zst" else "a Python built with this module"
        raise StorageError(
            f"{path!r} is compressed in a way that this Python does not know ({error}); use {what},"
            " or compress the file with gzip"
        ) from error


def open_bytes(path: str) -> BytesFile:
    """Open a file for reading, decompressed if it is compressed.

    Parameters
    ----------
    path : str
        Its name; one that ends in ``.gz``, ``.bz2``, ``.xz``, ``.lzma`` or (from Python 3.14 on)
        ``.zst`` is decompressed.

    Returns
    -------
    binary file object
        Reading from it may raise what `errors` names.

    Raises
    ------
    OSError
        If it cannot be opened.

    """
    ending = compression(path)
    if ending is None:
        return open(path, "rb")
    file: BytesFile = getattr(_module(path, ending), _FORMATS[ending][1])(path, "rb")
    return file


def pack(path: str, content: bytes) -> bytes:
    """Return bytes as they are to be written to a file of a name.

    Parameters
    ----------
    path : str
        The name of the file, which says how it is compressed.
    content : bytes
        What is in it.

    Returns
    -------
    bytes
        The same for the same content: no time is written.

    """
    ending = compression(path)
    if ending is None:
        return content
    module = _module(path, ending)
    if ending == ".gz":
        packed: bytes = module.compress(content, mtime=0)
    elif ending == ".lzma":
        packed = module.compress(content, format=module.FORMAT_ALONE)
    else:
        packed = module.compress(content)
    return packed
