"""Where the elements of an array lie: in memory, in another array, in a file.

Arithmetic with addresses only. Who places arrays is in `fuel.workers._sharing`.
"""

from __future__ import annotations

import os
from typing import Any

import numpy

__all__ = ["InFile", "Layout", "bounds", "in_file", "root_of"]

#: So many bytes at either end of a mapped file are compared with the file of that name.
_LOOK_AT = 64


def bounds(array: Any) -> tuple[int, int]:
    """Return the lowest address of an array's elements, and the one after the highest.

    Parameters
    ----------
    array : numpy.ndarray
        Of any layout, not empty.

    Returns
    -------
    low, high : int
        Addresses in bytes.

    """
    low = array.__array_interface__["data"][0]
    high = low + array.itemsize
    for length, stride in zip(array.shape, array.strides, strict=True):
        if stride < 0:
            low += (length - 1) * stride
        else:
            high += (length - 1) * stride
    return low, high


def root_of(array: Any) -> Any:
    """Return the plain array whose memory another one is a view of, or that array itself.

    Parameters
    ----------
    array : numpy.ndarray
        Perhaps a view.

    Returns
    -------
    numpy.ndarray
        The last in the chain of bases that is exactly an ndarray of plain elements.

    """
    root = array
    while type(root.base) is numpy.ndarray and not root.base.dtype.hasobject:
        root = root.base
    return root


class Layout:
    """How an array lies in a piece of memory.

    Parameters
    ----------
    dtype : numpy.dtype
        Its type.
    shape, strides : tuple of int
        As NumPy has them.
    first : int
        Where its first element lies, from the start of the piece.

    """

    def __init__(
        self, dtype: Any, shape: tuple[int, ...], strides: tuple[int, ...], first: int
    ) -> None:
        self.dtype, self.shape, self.strides, self.first = dtype, shape, strides, first

    @classmethod
    def of(cls, array: Any, first: int) -> Layout:
        """Describe an array as it is.

        Parameters
        ----------
        array : numpy.ndarray
            The array.
        first : int
            Where its first element lies.

        Returns
        -------
        Layout
            Its layout.

        """
        return cls(array.dtype, array.shape, array.strides, first)

    @classmethod
    def packed(cls, array: Any, fortran: bool) -> Layout:
        """Describe an array as it is when its elements stand side by side.

        Parameters
        ----------
        array : numpy.ndarray
            The array.
        fortran : bool
            Whether the first axis varies fastest.

        Returns
        -------
        Layout
            The layout of such a copy.

        """
        strides, step = [], array.itemsize
        for length in array.shape if fortran else reversed(array.shape):
            strides.append(step)
            step *= length
        return cls(array.dtype, array.shape, tuple(strides if fortran else reversed(strides)), 0)

    def over(self, memory: Any) -> numpy.ndarray[Any, Any]:
        """Return the array, over a piece of memory.

        Parameters
        ----------
        memory : bytes-like
            The piece.

        Returns
        -------
        numpy.ndarray
            Read-only if the memory is.

        """
        return numpy.ndarray(self.shape, self.dtype, memory, self.first, self.strides)


class InFile:
    """A memory map of a part of a file, to be opened again.

    Parameters
    ----------
    path : str
        The file.
    mode : str
        How it is mapped, ``'r'`` or ``'r+'``.
    offset, size : int
        The part, in bytes.
    layout : Layout
        How the array lies in it.
    kind : type
        `numpy.memmap`, or `numpy.ndarray` for an array over a map.
    writable : bool
        Whether the array may be written to.

    """

    def __init__(
        self,
        path: str,
        mode: str,
        offset: int,
        size: int,
        layout: Layout,
        kind: type,
        writable: bool,
    ) -> None:
        self.path, self.mode, self.offset, self.size = path, mode, offset, size
        self.layout, self.kind, self.writable = layout, kind, writable

    def open(self) -> Any:
        """Map it.

        Returns
        -------
        numpy.memmap or numpy.ndarray
            The array.

        """
        layout = self.layout
        raw: Any = numpy.memmap(
            self.path,
            numpy.uint8,
            self.mode,
            self.offset,
            (self.size,),  # type: ignore[call-overload]
        )
        first = raw[layout.first : layout.first + layout.dtype.itemsize].view(layout.dtype)
        array: Any = numpy.lib.stride_tricks.as_strided(
            first, layout.shape, layout.strides, subok=True
        )
        if self.kind is numpy.ndarray:
            array = array.view(numpy.ndarray)
        if not self.writable:
            array.flags.writeable = False
        return array


def in_file(array: Any) -> InFile | None:
    """Return where in a file the elements of an array lie, if it is mapped from one.

    Parameters
    ----------
    array : numpy.ndarray or numpy.memmap
        Of any layout, not empty.

    Returns
    -------
    InFile or None
        None where it is not mapped from a file, or privately, or from a file that is gone.

    """
    root = array
    while isinstance(root.base, numpy.ndarray):
        root = root.base
    if not isinstance(root, numpy.memmap):
        return None
    name, mode = getattr(root, "filename", None), getattr(root, "mode", None)
    if name is None or mode not in ("r", "r+", "w+") or not root.size:
        return None
    low, high = bounds(array)
    first, last = bounds(root)
    if not first <= low <= high <= last:
        return None
    offset = root.offset + low - first
    path = os.fspath(name)
    if not isinstance(path, str) or not _is_that_file(path, root, offset, low - first, high - low):
        return None
    layout = Layout.of(array, array.__array_interface__["data"][0] - low)
    return InFile(
        path,
        "r" if mode == "r" else "r+",
        offset,
        high - low,
        layout,
        type(array),
        array.flags.writeable,
    )


def _is_that_file(path: str, root: Any, offset: int, start: int, size: int) -> bool:
    """Tell whether a file has what is mapped: another one may have taken its name."""
    mapped = root.reshape(-1, order="A").view(numpy.ndarray).view(numpy.uint8)
    look = min(size, _LOOK_AT)
    try:
        with open(path, "rb") as file:
            for place in (0, size - look):
                file.seek(offset + place)
                if file.read(look) != mapped[start + place : start + place + look].tobytes():
                    return False
    except OSError:
        return False
    return True
