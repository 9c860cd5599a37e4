"""Undoing the filters that HDF5 has of its own: LZF, the shuffle of bytes, and Fletcher's checksum.

In this module, the door to the kernel: `lzf_decompress`, `unshuffle` and `fletcher32`. They take
chunks as they are in the file. Not here: gzip and Zstandard, for which there are packages, and
which filters a data set has (`fuel.io.hdf5`).
"""

from __future__ import annotations

import operator
from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.kernels import memory
from fuel.kernels._select import select

__all__ = ["fletcher32", "lzf_decompress", "unshuffle"]

_kernel = select("filters")
_lzf = _kernel.lzf
_unshuffle = _kernel.unshuffle
_fletcher32 = _kernel.fletcher32
_BYTE = numpy.dtype(numpy.uint8)

_WRONG = {
    1: "they end in the middle of a run at byte {place}",
    2: "they hold more than the {size} bytes expected (at byte {place})",
    3: "byte {place} refers to what would be before the beginning",
    4: "they hold fewer than the {size} bytes expected",
}


def lzf_decompress(data: Any, size: int, out: NDArray[Any] | None = None) -> NDArray[Any]:
    """Return what LZF made smaller.

    Parameters
    ----------
    data : bytes-like
        What LZF made of it: a chunk as it is in the file.
    size : int
        How many bytes it had before.
    out : numpy.ndarray, optional
        Where it goes: any type without objects, `size` bytes in all, in C order, writable. By
        default a new array from `fuel.kernels.memory`.

    Returns
    -------
    numpy.ndarray, shape (size,), dtype uint8
        Or `out` if that was given.

    Raises
    ------
    TypeError
        If `data` is not bytes.
    ValueError
        If the data are damaged or are of another size, or if `out` cannot take them. What `out`
        holds then is arbitrary.

    Notes
    -----
    May be called from any thread; the interpreter's lock is free meanwhile. Written after the
    description of the format: a byte below 32 is followed by one more literal bytes than it says,
    any other is a length and a distance back.

    Examples
    --------
    >>> from fuel.kernels.filters import lzf_decompress
    >>> lzf_decompress(bytes([1, 97, 98, 0b10000000, 1]), 8).tobytes()
    b'abababab'

    """
    size = operator.index(size)
    target = _target(size, out)
    status, place = _lzf(data, target)
    if status > 0:
        wrong = _WRONG[status].format(place=place, size=size)
        raise ValueError(
            f"{memoryview(data).nbytes} bytes of LZF are damaged: {wrong}; read the chunk again, "
            "or get the file again"
        )
    if status:
        raise _overlap()
    return target if out is None else out


def unshuffle(data: Any, itemsize: int, out: NDArray[Any] | None = None) -> NDArray[Any]:
    """Return elements whose bytes were shuffled: all first bytes, then all second ones, and so on.

    Parameters
    ----------
    data : bytes-like
        The bytes, shuffled. Those at the end that are no whole element were left as they are.
    itemsize : int
        The bytes of an element.
    out : numpy.ndarray, optional
        Where they go: any type without objects, as many bytes as `data`, in C order, writable. By
        default a new array from `fuel.kernels.memory`.

    Returns
    -------
    numpy.ndarray, shape (n,), dtype uint8
        Or `out` if that was given.

    Raises
    ------
    TypeError
        If `data` is not bytes.
    ValueError
        If `itemsize` is less than 1, or if `out` cannot take the bytes.

    Notes
    -----
    May be called from any thread; the interpreter's lock is free meanwhile.

    Examples
    --------
    >>> from fuel.kernels.filters import unshuffle
    >>> unshuffle(b"adgbehcfi!", 3).tobytes()
    b'abcdefghi!'

    """
    itemsize = operator.index(itemsize)
    if itemsize < 1:
        raise ValueError(f"`itemsize` must be at least 1, got {itemsize}")
    size = memoryview(data).nbytes
    target = _target(size, out)
    # An element larger than all of them makes no difference: nothing was shuffled.
    status = _unshuffle(data, min(itemsize, size + 1), target)
    if status:
        raise _overlap()
    return target if out is None else out


def fletcher32(data: Any) -> int:
    """Return the checksum that HDF5 puts behind a chunk.

    Parameters
    ----------
    data : bytes-like
        The chunk without it.

    Returns
    -------
    int
        From 0 to 2**32 - 1; in the file it stands in four bytes, the lowest first.

    Raises
    ------
    TypeError
        If `data` is not bytes.

    Notes
    -----
    May be called from any thread; the interpreter's lock is free meanwhile. The checksum is that of
    J. G. Fletcher (1982, An arithmetic checksum for serial transmissions) of words of 16 bits, high
    byte first, a single byte at the end being a high one.

    Examples
    --------
    >>> from fuel.kernels.filters import fletcher32
    >>> hex(fletcher32(b"abcdef"))
    '0x50562a2d'

    """
    found: int = _fletcher32(data)
    return found


def _target(size: int, out: Any) -> NDArray[Any]:
    """Return where bytes go, or say why they cannot."""
    if out is None:
        if size < 0:
            raise ValueError(f"`size` must not be negative, got {size}")
        return memory.empty((size,), _BYTE)
    if not isinstance(out, numpy.ndarray) or out.dtype.hasobject:
        got = out.dtype if isinstance(out, numpy.ndarray) else type(out).__name__
        raise TypeError(f"`out` must be an array without objects, got {got}")
    if out.nbytes != size:
        raise ValueError(f"`out` must have {size} bytes, got {out.nbytes}; make it as large")
    if not (out.flags.c_contiguous and out.flags.writeable):
        raise ValueError(
            "`out` must be writable and in C order, got an array that is not; "
            "fuel.kernels.memory.empty makes one"
        )
    return out.reshape(-1).view(_BYTE) if size else numpy.empty(0, _BYTE)


def _overlap() -> ValueError:
    return ValueError("`out` must be apart from `data`, got bytes that overlap; copy one")
