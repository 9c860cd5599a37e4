"""Arrays in ``.npy`` files, by themselves or in an archive: read by rows, in bounded memory.

What they become is told in `fuel.converters.bring.arrays`. Nothing is unpickled.
"""

from __future__ import annotations

import math
import os
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import IO, Any

import numpy
from numpy.typing import NDArray

from fuel.converters.bring import _common
from fuel.converters.writer import SourceSpec
from fuel.exceptions import StorageError

__all__ = ["Member"]


class Member:
    """An array in a file.

    Parameters
    ----------
    name : str
        What it is called, for messages.
    open_ : callable
        Opens the file at its first byte.
    size : int
        How many bytes it has.
    path : str, optional
        The file by itself, which can be mapped.

    """

    def __init__(
        self, name: str, open_: Callable[[], IO[bytes]], size: int, path: str | None = None
    ) -> None:
        self.name = name
        self._open = open_
        self._size = size
        self._path = path
        with self._reading(), open_() as file:
            self.shape, self.fortran, self.dtype = _header(name, file)
            self._offset = file.tell()
        wanted = self._offset + math.prod(self.shape) * self.dtype.itemsize
        if size != wanted or min(self.shape, default=0) < 0:
            raise StorageError(
                f"{name} should have {wanted} bytes, its header says, but has {size}; it is "
                "damaged or cut short, save it again"
            )
        if not self.shape:
            raise StorageError(
                f"{name} holds a single value, not one for each example; leave it out"
            )

    def _reading(self) -> Any:
        return _Reading(self.name)

    @property
    def text(self) -> bool:
        """Whether the elements are texts."""
        return self.dtype.kind == "U"

    def spec(self) -> SourceSpec:
        """Describe one example."""
        if not self.text:
            return SourceSpec(self.shape[1:], self.dtype.newbyteorder("="))
        if len(self.shape) > 1:
            raise StorageError(
                f"{self.name} has {len(self.shape)} axes of texts, a source of texts has one; "
                "split it into several arrays"
            )
        return SourceSpec((), "str")

    def rows(self, wanted: NDArray[numpy.bool_]) -> Iterator[Any]:
        """Yield some of the rows, piece by piece."""
        row_bytes = max(1, math.prod(self.shape[1:]) * self.dtype.itemsize)
        with ExitStack() as stack:
            array = self._mapped(stack)
            file = None if array is not None else stack.enter_context(self._open())
            with self._reading():
                if file is not None:
                    file.read(self._offset)
            step = max(1, _common.BATCH_BYTES // row_bytes)
            for start in range(0, self.shape[0], step):
                count = min(step, self.shape[0] - start)
                places = numpy.flatnonzero(wanted[start : start + count])
                if array is not None:
                    if len(places):
                        yield self._given(_common.picked(array[start : start + count], places))
                    continue
                assert file is not None
                with self._reading():
                    data = file.read(count * row_bytes)
                if math.prod(self.shape[1:]) and len(data) != count * row_bytes:
                    raise StorageError(f"{self.name} ends too early; it is damaged, save it again")
                if len(places):
                    block = numpy.frombuffer(data, self.dtype, count * math.prod(self.shape[1:]))
                    block = block.reshape(count, *self.shape[1:])
                    yield self._given(_common.picked(block, places))

    def _given(self, block: NDArray[Any]) -> Any:
        return [str(text) for text in block] if self.text else numpy.asarray(block)

    def _mapped(self, stack: ExitStack) -> Any:
        """Map the file, if it is one by itself or has to become one."""
        if not math.prod(self.shape):
            return numpy.empty(self.shape, self.dtype)
        path = self._path
        if path is None:
            if not self.fortran or len(self.shape) < 2:
                return None
            # Examples lie scattered over all of it: it is unpacked, for as long as it is read.
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="fuel-npz-"))
            path = os.path.join(folder, "array.npy")
            with self._reading(), self._open() as file, open(path, "wb") as copy:
                while block := file.read(_common.BATCH_BYTES):
                    copy.write(block)
        array = numpy.load(path, mmap_mode="r", allow_pickle=False)
        stack.callback(_unmap, array)
        return array


def _unmap(array: Any) -> None:
    """Let go of a mapped file, which some systems could not remove otherwise."""
    mapped = getattr(array, "_mmap", None)
    if mapped is not None:
        try:
            mapped.close()
        except BufferError:  # somebody still looks at it
            pass


class _Reading:
    """Turns what reading raises into an error that names the array."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, zipfile.BadZipFile | zlib.error | EOFError | NotImplementedError):
            raise StorageError(
                f"{self.name} cannot be read: {error}; the file is damaged, save it again"
            ) from error
        if isinstance(error, RuntimeError) and "password" in str(error):
            raise StorageError(f"{self.name} is encrypted; save it without a password") from error


def _header(name: str, file: IO[bytes]) -> tuple[tuple[int, ...], bool, numpy.dtype[Any]]:
    """Read what an array is like; nothing is evaluated but a literal of numbers and names."""
    form = numpy.lib.format
    try:
        version = form.read_magic(file)
        if version == (1, 0):
            shape, fortran, dtype = form.read_array_header_1_0(file)
        elif version == (2, 0):
            shape, fortran, dtype = form.read_array_header_2_0(file)
        else:
            raise ValueError(f"version {version} is not known")
    except ValueError as error:
        raise StorageError(
            f"{name} is no array as NumPy saves them: {' '.join(str(error).split())[:200]}; make "
            "it with numpy.save or numpy.savez"
        ) from error
    if dtype.hasobject:
        raise StorageError(
            f"{name} holds Python objects, which are stored as pickles, and those can run any "
            "code; save numbers or texts: ragged data as one array of values and one of lengths, "
            "or use --help of `fuel-convert parquet`"
        )
    if dtype.kind in "mMV" and dtype.names is None:
        raise StorageError(
            f"{name} has elements of type {dtype}, which HDF5 does not know; save them as "
            "integers, for example with .astype('int64')"
        )
    return shape, bool(fortran), dtype
