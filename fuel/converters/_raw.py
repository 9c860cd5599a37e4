"""Reading bytes that come from elsewhere: errors that name the file, and limits.

`RawStream` reads a file or a part of one and turns what libraries raise for damaged data into a
`StorageError` that says which file, what is wrong with it and what to do; `open_raw` opens one,
decompressed if it is compressed with gzip. What is inside is read by `_archives`, `_idx` and the
converters.
"""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import zipfile
import zlib
from typing import IO, Any

from fuel.exceptions import StorageError

__all__ = ["DAMAGE", "RawStream", "begins", "damaged", "open_raw"]

#: What the standard library raises for damaged data.
DAMAGE = (EOFError, zlib.error, gzip.BadGzipFile, tarfile.TarError, zipfile.BadZipFile)

_GZIP = b"\x1f\x8b"

_BLOCK_BYTES = 1 << 20


def damaged(name: str, fact: str, advice: str) -> StorageError:
    """Return the error for raw data that is not what it should be.

    Parameters
    ----------
    name : str
        The file.
    fact : str
        What is wrong with it.
    advice : str
        What to do, such as "get it again with `fuel-download mnist`".

    Returns
    -------
    StorageError
        To be raised.

    """
    return StorageError(f"{name}: {fact}; {advice}")


def begins(content: bytes) -> str:
    """Say what the beginning of a file looks like, so that an error page is recognised."""
    if not content:
        return "it is empty"
    text = content[:200].lstrip().lower()
    if text.startswith((b"<!doctype", b"<html", b"<?xml")):
        return f"it is a web page that begins with {content[:40]!r}"
    return f"it begins with {content[:16]!r}"


class RawStream(io.BufferedIOBase):
    """A binary file that is read forwards, with a limit and with errors that name it.

    Parameters
    ----------
    file : binary file object
        What is read. It is closed with the stream.
    name : str
        What messages call it.
    advice : str
        What messages tell to do if it is damaged.
    max_bytes : int, optional
        How many bytes may be read, skipped ones included.
    random : bool, optional
        Whether ``file`` can go to any place at once. Otherwise going forwards reads what is
        between, and it can go backwards by one byte only (as `tarfile` does).

    Notes
    -----
    Not for several threads at once.

    """

    def __init__(
        self,
        file: Any,
        name: str,
        advice: str,
        max_bytes: int | None = None,
        *,
        random: bool = False,
    ) -> None:
        self.name = name
        self.advice = advice
        self.max_bytes = max_bytes
        #: The most bytes that one call of `read` may ask for; None for any number.
        self.max_read_bytes: int | None = None
        self._file = file
        self._random = random
        self._position = 0
        self._last = b""
        self._again = b""

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def seekable(self) -> bool:
        """Tell whether it can go to any place."""
        return self._random

    def tell(self) -> int:
        """Return how many bytes are before the next one."""
        return self._position

    def damaged(self, fact: str) -> StorageError:
        """Return the error for this file, to be raised."""
        return damaged(self.name, fact, self.advice)

    def read(self, size: int | None = -1, /) -> bytes:
        """Return so many bytes, or all that are left; fewer only at the end.

        Raises
        ------
        StorageError
            If the file is damaged, or more would be read than is allowed.

        """
        if size is None or size < 0:
            return b"".join(iter(lambda: self.read(_BLOCK_BYTES), b""))
        if self.max_read_bytes is not None and size > self.max_read_bytes:
            raise self.damaged(
                f"a header of it claims {size} bytes, more than the {self.max_read_bytes} that are "
                "sensible"
            )
        content = self._again[:size]
        if content:
            self._again = b""
        if len(content) < size:
            try:
                content += self._file.read(size - len(content))
            except DAMAGE as error:
                raise self._translated(error) from error
        self._advance(len(content))
        self._last = content[-1:] or self._last
        return content

    read1 = read

    def _translated(self, error: Exception) -> StorageError:
        cut = isinstance(error, EOFError) or "unexpected end of data" in str(error)
        return self.damaged("it is cut short" if cut else f"it is damaged ({error})")

    def _advance(self, count: int) -> None:
        self._position += count
        if self.max_bytes is not None and self._position > self.max_bytes:
            raise self.damaged(
                f"it unpacks to more than {self.max_bytes} bytes, which is the limit for it"
            )

    def readinto(self, buffer: Any, /) -> int:
        """Fill a buffer as far as there are bytes; return how many."""
        view = memoryview(buffer).cast("B")
        content = self.read(len(view))
        view[: len(content)] = content
        return len(content)

    def read_exactly(self, size: int, what: str) -> bytes:
        """Return so many bytes.

        Raises
        ------
        StorageError
            If there are fewer; it says of what.

        """
        content = self.read(size)
        if len(content) < size:
            raise self.damaged(
                f"it is cut short: {what} should be {size} bytes, and {len(content)} are there"
            )
        return content

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Go to a place; see the class for which can be reached."""
        if self._random:
            self._position = self._file.seek(offset, whence)
            self._again = b""
            return self._position
        if whence == os.SEEK_CUR:
            offset += self._position
        elif whence != os.SEEK_SET:
            raise io.UnsupportedOperation(f"the end of {self.name} is not known before it is read")
        if offset == self._position - 1 and self._last and not self._again:
            self._again = self._last
            self._position = offset
        elif offset < self._position:
            raise io.UnsupportedOperation(f"{self.name} can be read forwards only")
        while self._position < offset and self.read(min(_BLOCK_BYTES, offset - self._position)):
            pass
        return self._position

    def close(self) -> None:
        """Close it and the file below."""
        if not self.closed:
            self._file.close()
        super().close()


def open_raw(
    file: str | os.PathLike[str] | IO[bytes] | RawStream,
    advice: str,
    *,
    name: str | None = None,
    max_bytes: int | None = None,
) -> RawStream:
    """Open a raw file; one that is compressed with gzip is decompressed, whatever its name.

    Parameters
    ----------
    file : str, path or binary file object
        The file. A file object is closed with the stream.
    advice : str
        What messages tell to do if it is damaged.
    name : str, optional
        What messages call it; by default its path.
    max_bytes : int, optional
        How many bytes may be read from it if it is compressed.

    Returns
    -------
    RawStream
        At the beginning of the content.

    Raises
    ------
    OSError
        If it cannot be opened.

    Examples
    --------
    >>> import gzip
    >>> stream = open_raw(io.BytesIO(gzip.compress(b"abc")), "get it again", name="x.gz")
    >>> stream.read()
    b'abc'

    """
    opened: Any
    if isinstance(file, (str, os.PathLike)):
        name = os.fspath(file) if name is None else name
        opened, random = open(file, "rb"), True  # noqa: SIM115 - closed by the stream
    else:
        name = str(getattr(file, "name", "the file")) if name is None else name
        opened, random = file, file.seekable()
    stream = RawStream(opened, name, advice, random=random)
    try:
        head = stream.read(len(_GZIP))
        if random:
            stream.seek(0)
        else:
            stream = RawStream(_Joined(head, stream), name, advice)
        if head != _GZIP:
            return stream
        return RawStream(_Unzipped(stream), name, advice, max_bytes)
    except BaseException:
        opened.close()
        raise


class _Joined(io.BufferedIOBase):
    """Bytes that were read already, and the file that they came from."""

    def __init__(self, head: bytes, file: RawStream) -> None:
        self._head = head
        self._file = file

    def read(self, size: int | None = -1, /) -> bytes:
        if not self._head:
            return self._file.read(-1 if size is None else size)
        size = -1 if size is None else size
        head = self._head if size < 0 else self._head[:size]
        self._head = self._head[len(head) :]
        return head + self._file.read(size if size < 0 else size - len(head))

    def close(self) -> None:
        self._file.close()
        super().close()


class _Unzipped(gzip.GzipFile):
    """A gzip stream that closes the file below it too."""

    def __init__(self, file: RawStream) -> None:
        self._below = file
        super().__init__(fileobj=file, mode="rb")  # type: ignore[arg-type]

    def close(self) -> None:
        super().close()
        self._below.close()
