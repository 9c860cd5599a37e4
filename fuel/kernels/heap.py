"""Elements of variable length in HDF5's global heap, straight from the bytes of the file.

In this module, the door to the kernel: `locate` finds them, `take_bytes` and `take_arrays` copy
them out. Whatever does not look as the format says is reported, not read: who calls then asks HDF5.
Not here: how files are mapped and descriptors are read (`fuel.io.hdf5`).

In the data set itself stands for each element a descriptor: how many elements of the basic type it
has, which collection of the heap it is in, and its number there. (HDF5 File Format Specification,
"Global Heap" and "Variable-length types".)
"""

from __future__ import annotations

import operator
from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.kernels._integers import in_order
from fuel.kernels._select import select

__all__ = ["locate", "take_arrays", "take_bytes"]

_kernel = select("heap")
_BYTE = numpy.dtype(numpy.uint8)


def locate(
    file: NDArray[numpy.uint8],
    descriptors: NDArray[numpy.uint8],
    base: int = 0,
    itemsize: int = 1,
) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64], bool]:
    """Find elements in the heap.

    Parameters
    ----------
    file : numpy.ndarray, shape (size,), dtype uint8
        All bytes of the file, for example a memory map.
    descriptors : numpy.ndarray, shape (n, 16), dtype uint8
        As they are in the data set: four bytes that say how many there are of the basic type, eight
        for the address of the collection, four for the number in it, each with its low byte first.
    base : int, optional
        Where in the file addresses count from: the size of the user block.
    itemsize : int, optional
        The bytes of the basic type: 1 for strings. What is in the heap has to have as many bytes as
        this makes.

    Returns
    -------
    starts : numpy.ndarray, shape (n,), dtype int64
        Where in `file` each begins. 0 for one that is empty because it was never written, and -1
        for one that is not as the format says: outside of the file, not in its collection, of
        another size.
    lengths : numpy.ndarray, shape (n,), dtype int64
        How many bytes each has; 0 for those just named.
    good : bool
        Whether no element is odd.

    Raises
    ------
    TypeError
        If `file` or `descriptors` is another kind of array.
    ValueError
        If `descriptors` has another shape, `base` is negative or `itemsize` less than 1.

    Notes
    -----
    May be called from any thread; the interpreter's lock is free meanwhile. Objects of a collection
    can only be found one after the other: each collection is gone through once a call, so that many
    elements at once are cheaper, in whatever order they are.

    Examples
    --------
    >>> import numpy
    >>> from fuel.kernels.heap import locate, take_bytes
    >>> collection = b"GCOL\\1\\0\\0\\0" + (40).to_bytes(8, "little")
    >>> word = (1).to_bytes(8, "little") + (5).to_bytes(8, "little") + b"hello\\0\\0\\0"
    >>> file = numpy.frombuffer(bytes(8) + collection + word, "u1")
    >>> descriptor = (5).to_bytes(4, "little") + (8).to_bytes(8, "little") + b"\\1\\0\\0\\0"
    >>> starts, lengths, good = locate(file, numpy.frombuffer(descriptor, "u1").reshape(1, 16))
    >>> take_bytes(file, starts, lengths), good
    ([b'hello'], True)

    """
    file = _checked_file(file)
    if not isinstance(descriptors, numpy.ndarray) or descriptors.dtype != _BYTE:
        raise TypeError(f"`descriptors` must be an array of uint8, got {_described(descriptors)}")
    if descriptors.ndim != 2 or descriptors.shape[1] != 16:
        raise ValueError(f"`descriptors` must have shape (n, 16), got {descriptors.shape}")
    base, itemsize = operator.index(base), operator.index(itemsize)
    if base < 0 or itemsize < 1:
        raise ValueError(
            f"`base` must not be negative and `itemsize` at least 1, got {base} and {itemsize}"
        )
    count = len(descriptors)
    starts, lengths = numpy.empty(count, numpy.int64), numpy.empty(count, numpy.int64)
    odd = _kernel.locate(
        file, in_order(descriptors, _BYTE), min(base, 2**63), min(itemsize, 2**62), starts, lengths
    )
    return starts, lengths, not odd


def take_bytes(
    file: NDArray[numpy.uint8], starts: NDArray[numpy.int64], lengths: NDArray[numpy.int64]
) -> list[bytes]:
    """Copy elements out of the file as bytes.

    Parameters
    ----------
    file : numpy.ndarray, shape (size,), dtype uint8
        All bytes of the file.
    starts, lengths : numpy.ndarray, shape (n,), dtype int64
        Where each begins and how many bytes it has: what `locate` found.

    Returns
    -------
    list of bytes, length n

    Raises
    ------
    TypeError
        If an argument is another kind of array.
    ValueError
        If an element is not inside of the file.

    Notes
    -----
    May be called from any thread; the interpreter's lock is free while bytes are copied.

    """
    file = _checked_file(file)
    starts, lengths = _checked_places(starts, lengths)
    found: list[bytes] | None = _kernel.take_bytes(file, starts, lengths)
    if found is None:
        raise _outside(file, starts, lengths, 1)
    return found


def take_arrays(
    file: NDArray[numpy.uint8],
    starts: NDArray[numpy.int64],
    lengths: NDArray[numpy.int64],
    dtype: Any,
) -> NDArray[Any]:
    """Copy elements out of the file as vectors.

    Parameters
    ----------
    file : numpy.ndarray, shape (size,), dtype uint8
        All bytes of the file.
    starts, lengths : numpy.ndarray, shape (n,), dtype int64
        Where each begins and how many bytes it has: what `locate` found.
    dtype : data-type
        The basic type as it is in the file, in its order of bytes; without objects.

    Returns
    -------
    numpy.ndarray, shape (n,), dtype object
        A vector for each, all of them with memory of their own.

    Raises
    ------
    TypeError
        If an argument is another kind of array, or elements of `dtype` cannot be in a file.
    ValueError
        If an element is not inside of the file, or is no whole number of elements of `dtype`.

    Notes
    -----
    May be called from any thread; the interpreter's lock is free while bytes are copied.

    """
    file = _checked_file(file)
    starts, lengths = _checked_places(starts, lengths)
    dtype = numpy.dtype(dtype)
    if dtype.hasobject or not dtype.itemsize or dtype.subdtype is not None:
        raise TypeError(
            f"`dtype` must be a type of some bytes, without objects or axes, got {dtype}"
        )
    found: NDArray[Any] | None = _kernel.take_arrays(file, starts, lengths, dtype)
    if found is None:
        raise _outside(file, starts, lengths, dtype.itemsize)
    return found


def _checked_file(file: Any) -> Any:
    if isinstance(file, numpy.ndarray) and file.dtype == _BYTE and file.ndim == 1:
        if file.flags.c_contiguous:
            return file
    raise TypeError(
        f"`file` must be a vector of uint8 in C order, got {_described(file)}; numpy.frombuffer "
        "makes one of a map"
    )


def _checked_places(starts: Any, lengths: Any) -> tuple[Any, Any]:
    for name, vector in (("starts", starts), ("lengths", lengths)):
        if not isinstance(vector, numpy.ndarray) or vector.dtype != numpy.int64 or vector.ndim != 1:
            raise TypeError(f"`{name}` must be a vector of int64, got {_described(vector)}")
    if len(starts) != len(lengths):
        raise ValueError(
            f"there must be as many `lengths` as `starts`, {len(starts)}, got {len(lengths)}"
        )
    return in_order(starts, numpy.int64), in_order(lengths, numpy.int64)


def _described(value: Any) -> str:
    if isinstance(value, numpy.ndarray):
        return f"shape {value.shape}, dtype {value.dtype}"
    return type(value).__name__


def _outside(file: Any, starts: Any, lengths: Any, item: int) -> ValueError:
    place = _kernel.find_loose(file, starts, lengths, item)
    return ValueError(
        f"elements must be inside of the {len(file)} bytes of the file and of whole items of "
        f"{item} bytes, got {lengths[place]} bytes from {starts[place]} on at place {place}; read "
        "it through h5py"
    )
