"""Undoing the filters of a chunk, without HDF5 and without the interpreter's lock.

In this room: `Pipeline`, the filters of a dataset in the order in which they are undone, and the
choice of a decoder for gzip among those that are installed. Filters that are not known here are
left to h5py, in ``_chunked``.

The filters' numbers and parameters are those of HDF5's registry; a chunk with gzip is one zlib
stream, with zstd one frame, with fletcher32 its data and a checksum of four bytes.
"""

from __future__ import annotations

import functools
import importlib
import threading
from collections.abc import Callable
from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.kernels.filters import fletcher32, lzf_decompress, unshuffle

__all__ = ["Damaged", "Pipeline", "gzip_decoder"]

_GZIP, _SHUFFLE, _FLETCHER32, _LZF, _ZSTD = 1, 2, 3, 32000, 32015
#: Those that cannot undo nonsense without noticing.
_NOTICING = frozenset({_GZIP, _FLETCHER32, _LZF, _ZSTD})


class Damaged(ValueError):
    """A chunk that its filters cannot be undone of."""


Decoder = Callable[[Any, int], Any]


@functools.cache
def gzip_decoder() -> tuple[str, Decoder]:
    """Return the fastest decoder of zlib streams that is installed.

    Returns
    -------
    name : str
        Its package.
    decode : callable
        Takes the stream and the size of the data, and returns the data. Checks the stream's own
        checksum; works outside of the interpreter's lock.

    """
    for name, make in (("deflate", _deflate), ("isal", _isal), ("zlib", _zlib)):
        try:
            return name, make()
        except (ImportError, AttributeError):
            continue
    raise AssertionError("zlib belongs to Python")


def _deflate() -> Decoder:
    module = importlib.import_module("deflate")
    decode: Any = module.zlib_decompress
    return lambda data, size: decode(data, size)


def _isal() -> Decoder:
    decode = importlib.import_module("isal.isal_zlib").decompress
    return lambda data, size: decode(data, bufsize=size)


def _zlib() -> Decoder:
    decode = importlib.import_module("zlib").decompress
    return lambda data, size: decode(data, bufsize=size)


@functools.cache
def _zstd_decoder() -> Decoder | None:
    try:
        decode = importlib.import_module("compression.zstd").decompress
        return lambda data, size: decode(data)
    except ImportError:
        pass
    try:
        make = importlib.import_module("zstandard").ZstdDecompressor
    except ImportError:
        return None
    # A decompressor is for one thread at a time, and takes longer to make than a chunk to decode.
    local = threading.local()

    def decode_frame(data: Any, size: int) -> Any:
        if not hasattr(local, "decompressor"):
            local.decompressor = make()
        return local.decompressor.decompress(data, max_output_size=size)

    return decode_frame


class Pipeline:
    """The filters of a dataset.

    Parameters
    ----------
    filters : list of tuple
        Number and parameters of each, in the order in which they were applied.
    size : int
        The bytes of a chunk before.

    """

    def __init__(self, filters: list[tuple[int, tuple[int, ...]]], size: int) -> None:
        self.filters = filters
        self.size = size

    @classmethod
    def of(cls, properties: Any, size: int) -> Pipeline | None:
        """Return the filters that a dataset was created with, if all can be undone here.

        Parameters
        ----------
        properties : h5py.h5p.PropDCID
            How the dataset was created.
        size : int
            The bytes of one of its chunks.

        Returns
        -------
        Pipeline or None
            None where HDF5 has to do it.

        """
        filters = []
        for number in range(properties.get_nfilters()):
            code, _, values, _ = properties.get_filter(number)
            filters.append((int(code), tuple(int(value) for value in values)))
        known = {_GZIP, _SHUFFLE, _FLETCHER32, _LZF}
        if any(code == _ZSTD for code, _ in filters) and _zstd_decoder() is not None:
            known.add(_ZSTD)
        codes = [code for code, _ in filters]
        if not set(codes) <= known:
            return None
        if codes and _NOTICING.isdisjoint(codes):
            # Chunks at the edge may have been left as they are, and nothing would tell.
            return None
        return cls(filters, size)

    def decode(self, data: Any, mask: int) -> NDArray[numpy.uint8]:
        """Undo the filters.

        Parameters
        ----------
        data : bytes-like
            A chunk as it is in the file.
        mask : int
            Bit i says that filter i was left out.

        Returns
        -------
        numpy.ndarray, shape (size,), dtype uint8
            The chunk.

        Raises
        ------
        Damaged
            If it cannot be; what else the decoders raise means the same.

        """
        for number in reversed(range(len(self.filters))):
            if mask & (1 << number):
                continue
            code, values = self.filters[number]
            if code == _FLETCHER32:
                data = _checked(data)
            elif code == _SHUFFLE:
                data = unshuffle(data, values[0] if values else 1)
            else:
                data = self._decompressed(code, data, number)
        array: NDArray[numpy.uint8] = (
            data if isinstance(data, numpy.ndarray) else numpy.frombuffer(data, dtype=numpy.uint8)
        )
        if array.nbytes != self.size:
            raise Damaged(f"a chunk has {array.nbytes} bytes instead of {self.size}")
        return array

    def _decompressed(self, code: int, data: Any, number: int) -> Any:
        # Below it, a checksum may have made the data longer.
        size = self.size + 4 * sum(1 for other, _ in self.filters[:number] if other == _FLETCHER32)
        if code == _LZF:
            return lzf_decompress(data, size)
        if code == _ZSTD:
            decode = _zstd_decoder()
            assert decode is not None
            return decode(data, size)
        return gzip_decoder()[1](data, size)


def _checked(data: Any) -> Any:
    view = memoryview(data)
    if len(view) < 4:
        raise Damaged(f"a chunk with a checksum has only {len(view)} bytes")
    content, stored = view[:-4], int.from_bytes(view[-4:], "little")
    found = fletcher32(content)
    if found != stored:
        raise Damaged(f"a chunk has the checksum {found:#x} instead of {stored:#x}")
    return content
