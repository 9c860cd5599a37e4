"""Undoing the filters that HDF5 itself knows: LZF, the shuffle of bytes, the checksum of Fletcher.

What is compiled is in ``_filters.pyx`` and ``_filters.h``, the same in NumPy in
``_filters_reference``. Decompressing gzip is left to libraries. All functions may be called from
several threads at once, and run without the interpreter's lock.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.kernels._select import select

__all__ = ["fletcher32", "lzf_decompress", "unshuffle"]

_kernel: Any = select("filters")

_WRONG = {
    1: "it ends in the middle of a run",
    2: "it gives more than was expected",
    3: "a copy begins before the first byte",
    4: "it gives less than was expected",
}


def _target(out: Any, size: int) -> NDArray[numpy.uint8]:
    if out is None:
        fresh: NDArray[numpy.uint8] = numpy.empty(size, dtype=numpy.uint8)
        return fresh
    if not isinstance(out, numpy.ndarray) or not out.flags.c_contiguous or out.dtype.hasobject:
        raise ValueError(f"`out` must be an array in C order without objects, got {out!r:.80}")
    if not out.flags.writeable or out.nbytes != size:
        raise ValueError(
            f"`out` must be a writable array of {size} bytes, got {out.nbytes} bytes"
            + ("" if out.flags.writeable else ", read-only")
        )
    whole: NDArray[numpy.uint8] = out.reshape(-1).view(numpy.uint8)
    return whole


def _readable(data: Any) -> Any:
    try:
        view = memoryview(data)
    except TypeError:
        raise ValueError(f"the data must be bytes, got {type(data).__name__}") from None
    if not view.c_contiguous:
        raise ValueError("the data must be bytes in C order")
    return view


def _size(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | numpy.integer) or value < least:
        raise ValueError(f"`{name}` must be an integer of at least {least}, got {value!r}")
    return int(value)


def lzf_decompress(data: Any, size: int, out: NDArray[Any] | None = None) -> NDArray[numpy.uint8]:
    """Decompress what LZF compressed.

    Parameters
    ----------
    data : bytes-like
        The compressed bytes.
    size : int
        How many bytes come out.
    out : numpy.ndarray, optional
        What to write to: `size` bytes of any type.

    Returns
    -------
    numpy.ndarray, shape (size,), dtype uint8
        The bytes, or a window on `out`.

    Raises
    ------
    ValueError
        If the data is damaged, or gives another number of bytes; or an argument is not as it
        should be.

    Notes
    -----
    The format is that of Marc Lehmann's LibLZF, as HDF5's filter 32000 stores it.

    Examples
    --------
    >>> from fuel.kernels.filters import lzf_decompress
    >>> lzf_decompress(b'\\x00a\\x80\\x00', 7).tobytes()
    b'aaaaaaa'

    """
    view = _readable(data)
    size = _size("size", size, 0)
    target = _target(out, size)
    status, place = _kernel.lzf(view, target) if size else (0 if not view.nbytes else 2, 0)
    if status == -1:
        raise ValueError("`out` must not share memory with the data")
    if status:
        raise ValueError(
            f"the data is no LZF stream of {size} bytes: {_WRONG[status]}, at byte {place} of "
            f"{view.nbytes}"
        )
    return target


def unshuffle(data: Any, itemsize: int, out: NDArray[Any] | None = None) -> NDArray[numpy.uint8]:
    """Undo HDF5's shuffle: put the bytes of each element side by side again.

    Parameters
    ----------
    data : bytes-like
        The first bytes of all elements, then the second ones, and so on; and what is left over if
        the elements do not fill it.
    itemsize : int
        The bytes of an element.
    out : numpy.ndarray, optional
        What to write to: as many bytes.

    Returns
    -------
    numpy.ndarray, shape (bytes,), dtype uint8
        The bytes, or a window on `out`.

    Raises
    ------
    ValueError
        If an argument is not as it should be.

    Examples
    --------
    >>> from fuel.kernels.filters import unshuffle
    >>> unshuffle(b'aceBDF', 2).tobytes()
    b'aBcDeF'

    """
    view = _readable(data)
    itemsize = _size("itemsize", itemsize, 1)
    target = _target(out, view.nbytes)
    if view.nbytes and _kernel.unshuffle(view, itemsize, target) == -1:
        raise ValueError("`out` must not share memory with the data")
    return target


def fletcher32(data: Any) -> int:
    """Return the checksum that HDF5's filter of that name stores behind a chunk.

    Parameters
    ----------
    data : bytes-like
        The bytes.

    Returns
    -------
    int
        32 bits.

    Raises
    ------
    ValueError
        If it is no bytes.

    Notes
    -----
    J. G. Fletcher, "An arithmetic checksum for serial transmissions", IEEE Transactions on
    Communications 30 (1982), over 16-bit words, the first byte of each being the higher one.

    Examples
    --------
    >>> from fuel.kernels.filters import fletcher32
    >>> hex(fletcher32(b'ab'))
    '0x61626162'

    """
    view = _readable(data)
    return int(_kernel.fletcher32(view)) if view.nbytes else 0
