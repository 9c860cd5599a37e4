"""Reading IDX files, the form of MNIST and its relatives, a batch at a time.

Two zero bytes, one for the type and one for the number of axes; the length of each axis as 32 bits,
the most significant byte first; the elements, in the same byte order. Files that are compressed
with gzip are decompressed on the way. What is in them is the business of `_idx_images`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import IO, Any

import numpy
from numpy.typing import NDArray

from fuel.converters._raw import RawStream, begins, open_raw
from fuel.exceptions import StorageError

__all__ = ["IdxError", "IdxReader"]

#: The type that each code stands for.
_TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}

# No stream of deflate grows to more than so many times its size, nor do headers weigh much.
_MAX_RATIO = 1032
_SLACK_BYTES = 4096


class IdxError(StorageError, ValueError):
    """A file is not the IDX file that was expected."""


class IdxReader:
    """An IDX file, open for reading.

    Parameters
    ----------
    file : str, path or binary file object
        The file; it is closed with the reader.
    magic : int, optional
        What its first four bytes must be, as a number; 2051 for images of bytes, 2049 for labels.
    name : str, optional
        What messages call it; by default its path.
    advice : str, optional
        What messages tell to do if it is damaged.
    packed_bytes : int, optional
        How large it is, if ``file`` is a file object; its header cannot announce more than that
        can unpack to.

    Attributes
    ----------
    shape : tuple of int
        The lengths of the axes.
    dtype : numpy.dtype
        The type of the elements, in the machine's byte order.
    name : str
        What messages call the file.

    Raises
    ------
    OSError
        If it cannot be opened.
    IdxError
        If it is not such a file, or announces more than it can hold.

    Examples
    --------
    >>> import io
    >>> IdxReader(io.BytesIO(bytes([0, 0, 8, 1, 0, 0, 0, 2, 5, 6])), name="labels").read()
    array([5, 6], dtype=uint8)

    """

    def __init__(
        self,
        file: str | os.PathLike[str] | IO[bytes] | RawStream,
        magic: int | None = None,
        *,
        name: str | None = None,
        advice: str = "get the file again",
        packed_bytes: int | None = None,
    ) -> None:
        if isinstance(file, (str, os.PathLike)):
            packed_bytes = os.path.getsize(file)
        self._stream = open_raw(file, advice, name=name)
        self.name = self._stream.name
        self._advice = advice
        self._rows_read = 0
        try:
            self._read_header(magic, packed_bytes)
        except BaseException:
            self.close()
            raise

    def error(self, fact: str) -> IdxError:
        """Return the error that says what is wrong with this file, to be raised."""
        return IdxError(f"{self.name}: {fact}; {self._advice}")

    def _read_header(self, magic: int | None, packed_bytes: int | None) -> None:
        head = self._stream.read(4)
        found = int.from_bytes(head, "big")
        if magic is not None and (len(head) < 4 or found != magic):
            raise self.error(
                f"wrong magic number: an IDX file of this kind begins with {magic}, but here "
                + (f"it is {found} ({begins(head)})" if len(head) == 4 else begins(head))
            )
        if len(head) < 4 or head[:2] != b"\0\0" or head[2] not in _TYPES or head[3] == 0:
            raise self.error(f"it is not an IDX file: {begins(head)}")
        axes = head[3]
        lengths = self._stream.read(4 * axes)
        if len(lengths) < 4 * axes:
            raise self.error("it is cut short in its header")
        self.shape: tuple[int, ...] = tuple(numpy.frombuffer(lengths, ">u4").tolist())
        self._stored = numpy.dtype(_TYPES[head[2]])
        self.dtype = self._stored.newbyteorder("=")
        self._row_bytes = self._stored.itemsize
        for length in self.shape[1:]:
            self._row_bytes *= length
        payload = self.shape[0] * self._row_bytes
        # Whoever believes the header makes room for it.
        if packed_bytes is not None and payload > packed_bytes * _MAX_RATIO + _SLACK_BYTES:
            raise self.error(
                f"its header announces {payload} bytes, more than a file of {packed_bytes} bytes "
                "can unpack to"
            )
        # One byte more is looked for, to see that nothing follows.
        self._stream.max_bytes = self._stream.tell() + payload + 1

    def __len__(self) -> int:
        return self.shape[0]

    def __enter__(self) -> IdxReader:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._stream.close()

    def batches(self, rows: int) -> Iterator[NDArray[Any]]:
        """Read what is left, a batch at a time.

        Parameters
        ----------
        rows : int
            How many rows (along the first axis) to read at a time; the last batch may have fewer.

        Yields
        ------
        ndarray
            The rows, of type `dtype`; the caller's own.

        Raises
        ------
        StorageError
            If the file is cut short or damaged.
        IdxError
            If it holds less or more than its header says.

        """
        while self._rows_read < len(self):
            count = min(rows, len(self) - self._rows_read)
            content = self._stream.read(count * self._row_bytes)
            if len(content) < count * self._row_bytes:
                whole = self._rows_read + len(content) // self._row_bytes
                raise self.error(
                    f"it is cut short: its header announces {len(self)} examples, and {whole} are "
                    "there"
                )
            self._rows_read += count
            batch = numpy.frombuffer(content, self._stored).reshape(count, *self.shape[1:])
            yield batch.astype(self.dtype)
        # This also makes gzip look at its checksum.
        if self._stream.read(1):
            raise self.error(
                f"it holds more than the {len(self)} examples that its header announces"
            )

    def read(self) -> NDArray[Any]:
        """Read all of it; see `batches` for the errors.

        Returns
        -------
        ndarray
            Of the shape and type that the header says.

        """
        parts = list(self.batches(max(1, (1 << 24) // max(1, self._row_bytes))))
        empty = numpy.empty((0, *self.shape[1:]), self.dtype)
        return numpy.concatenate([empty, *parts])
