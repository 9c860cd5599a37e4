"""Elements of variable length in HDF5's global heap, in plain NumPy: the same, more slowly.

The door, `fuel.kernels.heap`, describes, and checks types; `_heap.pyx` is the compiled form with
the same functions.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

__all__ = ["find_loose", "locate", "take_arrays", "take_bytes"]

_HEAD = 16


def locate(
    file: NDArray[numpy.uint8],
    descriptors: NDArray[numpy.uint8],
    base: int,
    item: int,
    starts: NDArray[numpy.int64],
    lengths: NDArray[numpy.int64],
) -> int:
    """Write where elements are.

    Parameters
    ----------
    file, descriptors, base, item
        As for `fuel.kernels.heap.locate`.
    starts, lengths : numpy.ndarray, shape (n,), dtype int64
        What is written: where each begins and how many bytes it has; -1 and 0 where it is odd.

    Returns
    -------
    int
        How many are odd.

    """
    known: dict[int, dict[int, tuple[int, int]]] = {}
    for place, row in enumerate(descriptors):
        text = row.tobytes()
        elements, address = int.from_bytes(text[:4], "little"), int.from_bytes(text[4:12], "little")
        starts[place] = lengths[place] = 0
        if not address:
            continue
        if address not in known:
            known[address] = _collection(file, address + base)
        found = known[address].get(int.from_bytes(text[12:], "little"))
        if found is None or found[1] != elements * item:
            starts[place] = -1
        else:
            starts[place], lengths[place] = found
    return int(numpy.count_nonzero(starts < 0))


def _collection(file: NDArray[numpy.uint8], first: int) -> dict[int, tuple[int, int]]:
    """Return where the objects of a collection are, as far as they can be told."""
    found: dict[int, tuple[int, int]] = {}
    head = file[first : first + _HEAD].tobytes() if first < len(file) else b""
    end = first + int.from_bytes(head[8:], "little")
    if len(head) < _HEAD or head[:5] != b"GCOL\1" or end < first + _HEAD or end > len(file):
        return found
    at = first + _HEAD
    while end - at >= _HEAD:
        head = file[at : at + _HEAD].tobytes()
        number, length = int.from_bytes(head[:2], "little"), int.from_bytes(head[8:], "little")
        at += _HEAD
        if not number or length > end - at:
            break
        found.setdefault(number, (at, length))
        at += length + -length % 8
    return found


def find_loose(
    file: NDArray[numpy.uint8],
    starts: NDArray[numpy.int64],
    lengths: NDArray[numpy.int64],
    item: int,
) -> int:
    """Return the place of the first element that is not inside of the file, or -1.

    Parameters
    ----------
    file, starts, lengths
        As for `fuel.kernels.heap.take_arrays`.
    item : int
        What lengths have to be multiples of.

    Returns
    -------
    int
        A place in `starts`.

    """
    size = len(file)
    loose = (starts < 0) | (lengths < 0) | (lengths > size) | (starts > size - lengths)
    loose |= lengths % item != 0
    places = numpy.flatnonzero(loose)
    return int(places[0]) if len(places) else -1


def take_bytes(
    file: NDArray[numpy.uint8], starts: NDArray[numpy.int64], lengths: NDArray[numpy.int64]
) -> list[bytes] | None:
    """Return elements as bytes, or None where one is not inside of the file.

    Parameters
    ----------
    file, starts, lengths
        As for `fuel.kernels.heap.take_bytes`.

    Returns
    -------
    list of bytes, or None

    """
    if find_loose(file, starts, lengths, 1) >= 0:
        return None
    places = zip(starts.tolist(), lengths.tolist(), strict=True)
    return [file[start : start + length].tobytes() for start, length in places]


def take_arrays(
    file: NDArray[numpy.uint8],
    starts: NDArray[numpy.int64],
    lengths: NDArray[numpy.int64],
    dtype: Any,
) -> NDArray[Any] | None:
    """Return elements as a vector of vectors, or None where one is not inside of the file.

    Parameters
    ----------
    file, starts, lengths, dtype
        As for `fuel.kernels.heap.take_arrays`.

    Returns
    -------
    numpy.ndarray of object, or None

    """
    if find_loose(file, starts, lengths, dtype.itemsize) >= 0:
        return None
    found = numpy.empty(len(starts), object)
    for place, (start, length) in enumerate(zip(starts.tolist(), lengths.tolist(), strict=True)):
        element = numpy.empty(length // dtype.itemsize, dtype)
        element.view(numpy.uint8)[:] = file[start : start + length]
        found[place] = element
    return found
