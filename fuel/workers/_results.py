"""Outcomes on their way from a worker process to the consumer.

What is large lies in the worker's shared memory, where it was calculated, or is copied there once;
the message says where. In this room: `Leases`, what the worker must not use again until the
consumer has let go of it; `encode`, on the worker's side; `Arrivals`, which makes arrays over the
memory on the consumer's side and notices when the last of them is gone. Not here: the message as
bytes, and the memory itself (`fuel.workers._worker`, `fuel.kernels.memory`).

An array that was handed over is the consumer's. It is handed over without a copy only if nobody in
the worker refers to it any more, and its memory comes back to the worker when the consumer's last
array over it has died. A consumer that keeps more than `lent_bytes` gets copies from then on. What
becomes of arrays when the consumer is forked is in `fuel.utils._lent`.
"""

from __future__ import annotations

import pickle
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy

from fuel.kernels import memory
from fuel.utils._channel import dumps
from fuel.utils._failure import pack_failure, unpack_failure
from fuel.utils._lent import may_give_back, note_lender
from fuel.workers._base import Failed

__all__ = ["Arrivals", "Leases", "encode", "pickled"]

#: Smaller arrays travel in the message.
_SMALLEST = 1024
#: What the message holds as it is. Exactly these types: a subclass may be one that the main module
#: defines, which travels by value.
_SIMPLE = frozenset((bool, bytes, complex, float, int, str, type(None)))


class Placed(NamedTuple):
    """An array that lies in shared memory."""

    lease: int
    offset: int
    shape: tuple[int, ...]
    dtype: Any
    transposed: bool


class Inline(NamedTuple):
    """A small array, which travels in the message."""

    content: bytes
    shape: tuple[int, ...]
    dtype: Any
    transposed: bool


class Apart(NamedTuple):
    """An object whose large parts lie in shared memory."""

    lease: int
    offset: int
    sizes: list[int]
    pickled: bytes
    #: The large parts themselves, where there was no room for them.
    inline: Any = None


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
        """Hold the memory of an array until it is released; return its number."""
        self._next += 1
        self._held[self._next] = _owner(array)
        return self._next

    def release_after(self, number: int) -> None:
        """Let all go that were added after one: what they were for is not sent."""
        self.release(list(range(number + 1, self._next + 1)))

    @property
    def last(self) -> int:
        """The number of the one that was added last."""
        return self._next

    def release(self, numbers: list[int]) -> None:
        """Let arrays go; their memory is used again."""
        for number in numbers:
            self._held.pop(number, None)

    def take(self) -> int:
        """Return how much memory was missing, and begin to count anew."""
        missing, self.missing_bytes = self.missing_bytes, 0
        return missing


def _owner(array: Any) -> Any:
    """Return what holds the memory of an array: not the array, which weak references may find."""
    owner = array.base
    while type(owner) is numpy.ndarray and type(owner.base) not in (memoryview, type(None)):
        owner = owner.base
    return owner


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
        before = leases.last
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
            leases.release_after(before)
            encoded.append(pack_failure(_unsendable(error)))
    return encoded


def pickled(token: int, seconds: float, encoded: list[Any], leases: Leases) -> bytes:
    """Turn what `encode` returned into a message.

    Parameters
    ----------
    token : int
        Of the unit.
    seconds : float
        How long it took.
    encoded : list
        What `encode` returned.
    leases : Leases
        What is noted there is let go if nothing can be sent.

    Returns
    -------
    bytes
        The message.

    """
    missing = leases.take()
    try:
        return pickle.dumps(("done", token, seconds, encoded, missing), protocol=5)
    except Exception as error:  # an array of an odd type
        leases.release(_numbers(encoded))
        failures = [pack_failure(_unsendable(error)) for _ in encoded]
        return pickle.dumps(("done", token, seconds, failures, missing), protocol=5)


def _numbers(encoded: Iterable[Any]) -> list[int]:
    """Return the leases of what was encoded."""
    return [
        column.lease
        for entry in encoded
        if type(entry) is not bytes
        for column in entry
        if isinstance(column, (Placed, Apart)) and column.lease
    ]


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
            columns[number] = _copied(column, leases)
        elif type(column) not in _SIMPLE and not _is_number(column):
            columns[number] = _object(column, leases)
    return columns


def _is_number(column: Any) -> bool:
    """Tell whether this is one of NumPy's own scalars."""
    if not isinstance(column, numpy.generic) or type(column).__module__ != "numpy":
        return False
    return column.dtype.kind in "biufcmMSU"


def _copied(column: Any, leases: Leases) -> Any:
    transposed = bool(not column.flags.c_contiguous and column.flags.f_contiguous)
    source = column.T if transposed else column
    if column.nbytes >= _SMALLEST:
        copies = [memory.empty(source.shape, source.dtype)]
        copies[0][...] = source
        place = memory.places(copies)[0]
        if place >= 0:
            lease = leases.add(copies[0])
            return Placed(lease, place, source.shape, _told(source.dtype), transposed)
        leases.missing_bytes += column.nbytes
        source = copies[0]
    return Inline(source.tobytes(), source.shape, _told(source.dtype), transposed)


def _object(value: Any, leases: Leases) -> Any:
    """Pickle an object, and place its large parts."""
    buffers: list[Any] = []

    def apart(buffer: pickle.PickleBuffer) -> bool:
        try:
            raw = buffer.raw()
        except BufferError:
            return True
        # What is read-only arrives as memory of the consumer, as all else, not as bytes.
        if raw.nbytes < _SMALLEST and not raw.readonly:
            return True
        buffers.append(raw)
        return False

    pickled = dumps(value, buffer_callback=apart)
    sizes = [raw.nbytes for raw in buffers]
    total = sum(-(-size // memory.ALIGNMENT) * memory.ALIGNMENT for size in sizes)
    if total < _SMALLEST:
        return Apart(0, 0, sizes, pickled, [bytes(raw) for raw in buffers])
    block = [memory.empty((total,), numpy.uint8)]
    offset = 0
    for raw in buffers:
        block[0][offset : offset + raw.nbytes] = numpy.frombuffer(raw, numpy.uint8)
        offset += -(-raw.nbytes // memory.ALIGNMENT) * memory.ALIGNMENT
    place = memory.places(block)[0]
    if place < 0:
        leases.missing_bytes += total
        return Apart(0, 0, sizes, pickled, [bytes(raw) for raw in buffers])
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
    lent : int
        How much the consumer has.

    Notes
    -----
    The last array of a lease may die in any thread, in the middle of anything: it only leaves its
    number in a queue.

    """

    def __init__(self, region: Any, lent_bytes: int) -> None:
        self._region = region
        self._lent_bytes = lent_bytes
        self._ended: deque[int] = deque()
        self._to_tell: list[int] = []
        self._alive: dict[int, tuple[weakref.ref[Any], int]] = {}
        self.lent = 0
        note_lender(self)

    def released(self) -> list[int]:
        """Return the leases that the worker is to be told of; each is returned once."""
        self._settle()
        if not self._to_tell or not may_give_back():
            return []
        found, self._to_tell = self._to_tell, []
        return found

    def _settle(self) -> None:
        while self._ended:
            lease = self._ended.popleft()
            _, size = self._alive.pop(lease, (None, 0))
            self.lent -= size
            self._to_tell.append(lease)

    def held(self) -> list[tuple[int, int]]:
        """Return the address and the size of each array that the consumer has."""
        found = [(reference(), size) for reference, size in list(self._alive.values())]
        return [(base.ctypes.data, size) for base, size in found if base is not None]

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
                continue
            left = deque(entry)
            try:
                columns = [self._value(left.popleft()) for _ in range(len(left))]
            except Exception as error:  # of a type whose objects cannot be made here
                self.drop([left])
                outcomes.append(Failed(_unreadable(error, origin)))
            else:
                outcomes.append(columns[0] if type(entry) is tuple else tuple(columns))
        return outcomes

    def drop(self, encoded: Iterable[Any]) -> None:
        """Give back what nobody wants any more."""
        self._ended.extend(_numbers(encoded))

    def _value(self, column: Any) -> Any:
        if type(column) is Placed:
            return self._array(column)
        if type(column) is Apart:
            if not column.lease:
                return pickle.loads(column.pickled, buffers=map(bytearray, column.inline or ()))
            return self._object(column)
        if type(column) is Inline:
            array = memory.empty(column.shape, column.dtype)
            if array.nbytes:
                array.reshape(-1).view(numpy.uint8)[:] = numpy.frombuffer(
                    column.content, numpy.uint8
                )
            return array.T if column.transposed else array
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
            self._ended.append(placed.lease)
        else:
            array = numpy.ndarray(placed.shape, dtype, base)
        return array.T if placed.transposed else array

    def _object(self, apart: Apart) -> Any:
        padded = [-(-size // memory.ALIGNMENT) * memory.ALIGNMENT for size in apart.sizes]
        base = self._lease(apart.lease, apart.offset, sum(padded))
        if base is None:
            base = numpy.frombuffer(self._region, numpy.uint8, sum(padded), apart.offset).copy()
            self._ended.append(apart.lease)
        buffers = []
        offset = 0
        for size, step in zip(apart.sizes, padded, strict=True):
            buffers.append(base[offset : offset + size])
            offset += step
        return pickle.loads(apart.pickled, buffers=buffers)

    def _lease(self, lease: int, offset: int, size: int) -> Any:
        """Return the bytes of a lease, to be held by every array over them; None to copy them."""
        self._settle()
        if self.lent + size > self._lent_bytes:
            return None
        base = numpy.frombuffer(self._region, numpy.uint8, size, offset)
        self.lent += size
        self._alive[lease] = weakref.ref(base, _end_of_lease(self._ended, lease)), size
        return base


def _end_of_lease(ended: deque[int], lease: int) -> Callable[[Any], None]:
    return lambda _: ended.append(lease)


def _unreadable(error: Exception, origin: str) -> TypeError:
    failure = TypeError(
        f"an item that {origin} evaluated cannot be made in this process ({type(error).__name__}: "
        f"{error}); let the steps give arrays, numbers, texts or other objects that can be "
        "unpickled here, or use kind='thread'"
    )
    failure.__cause__ = error
    return failure
