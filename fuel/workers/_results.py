"""Outcomes on their way from a worker process to the consumer.

What is large lies in the worker's shared memory, where it was calculated, or is copied there once;
the message says where. In this room: `Leases`, what the worker must not use again until the
consumer has let go of it; `encode`, on the worker's side; `Arrivals`, which makes arrays over the
memory on the consumer's side and notices when the last of them is gone. Not here: the message as
bytes, and the memory itself (`fuel.workers._worker`, `fuel.kernels.memory`).

An array that was handed over is the consumer's. It is handed over without a copy only if nobody in
the worker refers to it any more, and its memory comes back to the worker when the consumer's last
array over it has died. A consumer that keeps more than `lent_bytes` gets copies from then on.
"""

from __future__ import annotations

import pickle
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy

from fuel.kernels import memory
from fuel.utils._failure import pack_failure, unpack_failure
from fuel.workers._base import Failed

__all__ = ["Arrivals", "Leases", "encode"]

#: Smaller arrays travel in the message.
_SMALLEST = 1024


class Placed(NamedTuple):
    """An array that lies in shared memory."""

    lease: int
    offset: int
    shape: tuple[int, ...]
    dtype: Any
    transposed: bool


class Apart(NamedTuple):
    """An object whose large parts lie in shared memory."""

    lease: int
    offset: int
    sizes: list[int]
    pickled: bytes


class Leases:
    """The arrays in the region that the consumer has.

    Attributes
    ----------
    missing_bytes : int
        How much memory there was no room for, since the last look.

    """

    def __init__(self) -> None:
        self._held: dict[int, Any] = {}
        self._next = 0
        self.missing_bytes = 0

    def add(self, array: Any) -> int:
        """Hold an array until it is released; return its number."""
        self._next += 1
        self._held[self._next] = array
        return self._next

    def release(self, numbers: list[int]) -> None:
        """Let arrays go; their memory is used again."""
        for number in numbers:
            self._held.pop(number, None)

    def take(self) -> int:
        """Return how much memory was missing, and begin to count anew."""
        missing, self.missing_bytes = self.missing_bytes, 0
        return missing


def encode(outcomes: list[Any], leases: Leases) -> list[Any]:
    """Turn outcomes into what is sent.

    Parameters
    ----------
    outcomes : list
        Items and `Failed`; emptied, so that nothing here refers to the arrays any more.
    leases : Leases
        What the consumer gets is noted there.

    Returns
    -------
    list
        One entry an outcome, for `Arrivals.decode`.

    """
    encoded: list[Any] = []
    for number in range(len(outcomes)):
        outcome, outcomes[number] = outcomes[number], None
        try:
            if isinstance(outcome, Failed):
                encoded.append(pack_failure(outcome.error))
            elif type(outcome) is tuple:
                columns = list(outcome)
                del outcome
                encoded.append(_columns(columns, leases))
            else:
                encoded.append((_object(outcome, leases),))
        except Exception as error:
            encoded.append(pack_failure(_unsendable(error)))
    return encoded


def _unsendable(error: Exception) -> TypeError:
    return TypeError(
        f"an item that a worker evaluated cannot be sent to the consumer ({type(error).__name__}: "
        f"{error}); let the steps give arrays, numbers, texts or other objects that can be "
        "pickled, or use kind='thread'"
    )


def _columns(columns: list[Any], leases: Leases) -> list[Any]:
    places = memory.places(columns)
    for number, place in enumerate(places):
        column = columns[number]
        if place >= 0:
            columns[number] = Placed(
                leases.add(column), place, column.shape, _told(column.dtype), False
            )
        elif type(column) is numpy.ndarray and not column.dtype.hasobject:
            if column.nbytes >= _SMALLEST:
                columns[number] = _copied(column, leases)
        elif not isinstance(column, (str, bytes, int, float, numpy.generic)):
            columns[number] = _object(column, leases)
    return columns


def _copied(column: Any, leases: Leases) -> Any:
    transposed = not column.flags.c_contiguous and column.flags.f_contiguous
    source = column.T if transposed else column
    copies = [memory.empty(source.shape, source.dtype)]
    copies[0][...] = source
    place = memory.places(copies)[0]
    if place < 0:
        leases.missing_bytes += column.nbytes
        return column
    return Placed(leases.add(copies[0]), place, source.shape, _told(source.dtype), bool(transposed))


def _object(value: Any, leases: Leases) -> Any:
    """Pickle an object, and place its large parts."""
    buffers: list[Any] = []

    def apart(buffer: pickle.PickleBuffer) -> bool:
        try:
            raw = buffer.raw()
        except BufferError:
            return True
        if raw.nbytes < _SMALLEST:
            return True
        buffers.append(raw)
        return False

    import cloudpickle

    pickled = cloudpickle.dumps(value, protocol=5, buffer_callback=apart)
    sizes = [raw.nbytes for raw in buffers]
    total = sum(-(-size // memory.ALIGNMENT) * memory.ALIGNMENT for size in sizes)
    if not total:
        return Apart(0, 0, [], pickled)
    block = [memory.empty((total,), numpy.uint8)]
    offset = 0
    for raw in buffers:
        block[0][offset : offset + raw.nbytes] = numpy.frombuffer(raw, numpy.uint8)
        offset += -(-raw.nbytes // memory.ALIGNMENT) * memory.ALIGNMENT
    place = memory.places(block)[0]
    if place < 0:
        leases.missing_bytes += total
        return Apart(0, 0, [], cloudpickle.dumps(value, protocol=5))
    return Apart(leases.add(block[0]), place, sizes, pickled)


def _told(dtype: numpy.dtype[Any]) -> Any:
    return dtype.str if dtype.names is None and dtype.metadata is None and _plain(dtype) else dtype


def _plain(dtype: numpy.dtype[Any]) -> bool:
    return dtype.subdtype is None and dtype.kind in "biufcmMSU"


class Arrivals:
    """Makes arrays of what a worker sends.

    Parameters
    ----------
    region : buffer or None
        The worker's shared memory; None if it has none.
    lent_bytes : int
        How much of it the consumer may have without a copy.

    Attributes
    ----------
    released : deque of int
        The leases that the worker is to be told of.

    Notes
    -----
    The last array of a lease may die in any thread, in the middle of anything.

    """

    def __init__(self, region: Any, lent_bytes: int) -> None:
        self._region = region
        self._lent_bytes = lent_bytes
        self.released: deque[int] = deque()
        self._alive: dict[int, tuple[weakref.ref[Any], int]] = {}
        self.lent = 0

    def decode(self, encoded: list[Any], origin: str) -> list[Any]:
        """Return what `encode` was given.

        Parameters
        ----------
        encoded : list
            What arrived.
        origin : str
            The worker in words.

        Returns
        -------
        list
            Items and `Failed`.

        """
        outcomes: list[Any] = []
        for entry in encoded:
            if type(entry) is bytes:
                outcomes.append(Failed(unpack_failure(entry, origin)))
            elif type(entry) is tuple:
                outcomes.append(self._value(entry[0]))
            else:
                outcomes.append(tuple([self._value(column) for column in entry]))
        return outcomes

    def drop(self, encoded: list[Any]) -> None:
        """Give back what nobody wants any more."""
        for entry in encoded:
            if type(entry) is not bytes:
                for column in entry:
                    if isinstance(column, (Placed, Apart)) and column.lease:
                        self.released.append(column.lease)

    def _value(self, column: Any) -> Any:
        if type(column) is Placed:
            return self._array(column)
        if type(column) is Apart:
            if not column.lease:
                return pickle.loads(column.pickled)
            return self._object(column)
        return column

    def _array(self, placed: Placed) -> Any:
        dtype = numpy.dtype(placed.dtype)
        size = dtype.itemsize
        for length in placed.shape:
            size *= length
        base = self._lease(placed.lease, placed.offset, size)
        if base is None:
            array = memory.empty(placed.shape, dtype)
            array[...] = numpy.ndarray(placed.shape, dtype, self._region, placed.offset)
            self.released.append(placed.lease)
        else:
            array = numpy.ndarray(placed.shape, dtype, base)
        return array.T if placed.transposed else array

    def _object(self, apart: Apart) -> Any:
        padded = [-(-size // memory.ALIGNMENT) * memory.ALIGNMENT for size in apart.sizes]
        base = self._lease(apart.lease, apart.offset, sum(padded))
        if base is None:
            base = numpy.frombuffer(self._region, numpy.uint8, sum(padded), apart.offset).copy()
            self.released.append(apart.lease)
        buffers = []
        offset = 0
        for size, step in zip(apart.sizes, padded, strict=True):
            buffers.append(base[offset : offset + size])
            offset += step
        return pickle.loads(apart.pickled, buffers=buffers)

    def _lease(self, lease: int, offset: int, size: int) -> Any:
        """Return the bytes of a lease, to be held by every array over them; None to copy them."""
        if self.lent + size > self._lent_bytes:
            return None
        base = numpy.frombuffer(self._region, numpy.uint8, size, offset)
        self.lent += size
        self._alive[lease] = weakref.ref(base, _end_of_lease(weakref.ref(self), lease)), size
        return base

    def _ended(self, lease: int) -> None:
        entry = self._alive.pop(lease, None)
        if entry is not None:
            self.lent -= entry[1]
            self.released.append(lease)


def _end_of_lease(owner: weakref.ref[Any], lease: int) -> Callable[[Any], None]:
    def ended(_: Any) -> None:
        arrivals = owner()
        if arrivals is not None:
            arrivals._ended(lease)

    return ended
