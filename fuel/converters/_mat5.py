"""Reads arrays of numbers from MATLAB files of version 5 to 7.2, a part at a time.

`scipy.io.loadmat` reads the same files, but an array as a whole; the largest of SVHN is 1.6 GB. The
layout is that of "MAT-File Format" (The MathWorks, 1999 and later): a header of 128 bytes, then
elements, each a type, a number of bytes and content; an array is an element that holds elements
(flags, dimensions, name, values), and is compressed as a whole or not at all. Files of version 7.3
are HDF5; see `_digit_struct`.
"""

from __future__ import annotations

import math
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

import numpy
from numpy.typing import NDArray

from fuel.converters._raw import RawStream, begins, damaged

__all__ = ["MatArray", "find_arrays"]

_HEADER_BYTES = 128
_MATRIX, _COMPRESSED = 14, 15
#: Types of elements that hold numbers.
_TYPES = {
    1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8",
}  # fmt: skip
#: Classes of arrays of numbers: double, single, then the integers.
_CLASSES = range(6, 16)
_COMPLEX = 0x0800
#: What describes an array is short; a file that claims more is damaged.
_MAX_DESCRIPTION_BYTES = 1 << 12


class _Borrowed:
    """A file that stays open when a stream over it is done with."""

    def __init__(self, file: IO[bytes]) -> None:
        self.read, self.seek = file.read, file.seek

    def close(self) -> None:
        pass


class _Inflated:
    """A compressed element, decompressed as it is read."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file = file
        self._left = size
        self._state = zlib.decompressobj()

    def read(self, size: int) -> bytes:
        parts = []
        while size > 0 and not self._state.eof:
            data = self._state.unconsumed_tail
            if not data:
                data = self._file.read(min(1 << 16, self._left))
                if not data:
                    raise EOFError
                self._left -= len(data)
            parts.append(self._state.decompress(data, size))
            size -= len(parts[-1])
        return b"".join(parts)

    def close(self) -> None:
        pass


@dataclass(frozen=True)
class MatArray:
    """An array in a file.

    Attributes
    ----------
    path, advice : str
        The file, and what messages tell to do if it is damaged.
    name : str
        What the array is called.
    shape : tuple of int
        Its shape, as MATLAB has it.
    dtype : numpy.dtype
        The type of its values as they are stored, which may be smaller than that of the array.

    """

    path: str
    advice: str
    name: str
    shape: tuple[int, ...]
    dtype: numpy.dtype[Any]
    _place: int
    _size: int | None
    _start: int

    def blocks(self, count: int) -> Iterator[NDArray[Any]]:
        """Go through the array along its last axis.

        Parameters
        ----------
        count : int
            So many indices of the last axis at a time.

        Yields
        ------
        numpy.ndarray
            Of shape (`count` or fewer, ..., second axis, first axis): the axes are reversed, since
            MATLAB has the first index vary fastest.

        Raises
        ------
        StorageError
            If the file is cut short or damaged.

        """
        *rest, total = self.shape
        row_bytes = math.prod(rest) * self.dtype.itemsize
        with open(self.path, "rb") as file:
            stream = _content(file, self.path, self.advice, self._place, self._size)
            stream.seek(self._start + stream.tell())
            for start in range(0, total, count):
                rows = min(count, total - start)
                content = stream.read_exactly(rows * row_bytes, f"a part of {self.name!r}")
                yield numpy.frombuffer(content, self.dtype).reshape(rows, *reversed(rest))
            if self._size is not None:
                stream.read(8)  # to the checksum


def _content(file: IO[bytes], path: str, advice: str, place: int, size: int | None) -> RawStream:
    """Return the content of an element, decompressed if `size` (of what is compressed) is given."""
    file.seek(place)
    if size is None:
        stream = RawStream(_Borrowed(file), path, advice, random=True)
        stream.seek(place)
        return stream
    return RawStream(_Inflated(file, size), path, advice)


def find_arrays(path: str, advice: str) -> dict[str, MatArray]:
    """Find the arrays of numbers in a file.

    Parameters
    ----------
    path : str
        The file.
    advice : str
        What messages tell to do if it is damaged.

    Returns
    -------
    dict of str to MatArray
        The arrays by name, but for complex, sparse and other ones; their values are not read yet.

    Raises
    ------
    StorageError
        If it is no such file, or is cut short.

    """
    found = {}
    end = os.path.getsize(path)
    with open(path, "rb") as file:
        header = file.read(_HEADER_BYTES)
        order = {b"IM": "<", b"MI": ">"}.get(header[126:128])
        if order is None or header[125 if order == "<" else 124] != 1:
            kind = "one of version 7.3" if header[124:126] == b"\x00\x02" else begins(header)
            raise damaged(path, f"it is no MATLAB file of version 5 ({kind})", advice)
        place = _HEADER_BYTES
        while place < end:
            kind_number, size, short = _tag(_content(file, path, advice, place, None), order)
            if short is not None or place + 8 + size > end:
                raise damaged(
                    path,
                    f"it is cut short: an element should go to byte {place + 8 + size}, and the "
                    f"file has {end}",
                    advice,
                )
            if kind_number in (_MATRIX, _COMPRESSED):
                array = _describe(file, path, advice, order, place + 8, kind_number, size)
                if array is not None:
                    found[array.name] = array
            place += 8 + size
    return found


def _tag(stream: RawStream, order: str) -> tuple[int, int, bytes | None]:
    """Read the tag of an element: its type, its size, and its content if that is in the tag."""
    head = stream.read_exactly(8, "the tag of an element")
    first, size = (int(value) for value in numpy.frombuffer(head, order + "u4"))
    if first >> 16:
        return first & 0xFFFF, first >> 16, head[4:]
    return first, size, None


def _small(stream: RawStream, order: str) -> NDArray[Any]:
    """Read an element that is known to be short."""
    kind, size, short = _tag(stream, order)
    if kind not in _TYPES or size > (4 if short is not None else _MAX_DESCRIPTION_BYTES):
        raise stream.damaged(f"the description of an array has type {kind} and {size} bytes")
    if short is None:
        short = stream.read_exactly(-(-size // 8) * 8, "the description of an array")
    try:
        return numpy.frombuffer(short[:size], order + _TYPES[kind])
    except ValueError:
        raise stream.damaged(f"{size} bytes are no whole values of type {kind}") from None


def _describe(
    file: IO[bytes], path: str, advice: str, order: str, place: int, kind: int, size: int
) -> MatArray | None:
    """Read what an array is like; None if it is not one of numbers."""
    packed = size if kind == _COMPRESSED else None
    stream = _content(file, path, advice, place, packed)
    before = stream.tell()
    if packed is not None:
        kind, size, _ = _tag(stream, order)
        if kind != _MATRIX:
            return None
    flags, dimensions, name = (_small(stream, order) for _ in range(3))
    if len(flags) != 2 or len(dimensions) < 2 or (dimensions < 0).any():
        raise stream.damaged("the description of an array in it makes no sense")
    if int(flags[0]) & 0xFF not in _CLASSES or int(flags[0]) & _COMPLEX:
        return None
    text = name.tobytes().decode("latin-1")
    shape = tuple(int(value) for value in dimensions)
    start = stream.tell() - before
    value_kind, value_bytes, short = _tag(stream, order)
    start += 4 if short is not None else 8  # short values are in the tag itself
    if value_kind not in _TYPES:
        raise stream.damaged(f"the values of {text!r} in it have the unknown type {value_kind}")
    dtype = numpy.dtype(order + _TYPES[value_kind])
    if math.prod(shape) * dtype.itemsize != value_bytes:
        raise stream.damaged(f"{text!r} in it has the shape {shape}, but {value_bytes} bytes")
    return MatArray(path, advice, text, shape, dtype, place, packed, start)
