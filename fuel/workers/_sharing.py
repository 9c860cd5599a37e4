"""An object as a pickle and shared memory: what is large is placed once, however many map it.

`dumps_shared` takes an object apart: plain arrays, and long lists of texts or bytes, go into
segments, a memory map of a file travels as the name of the file, the rest is a pickle.
`loads_shared` puts it together over the same memory. What was placed for one pipeline is used
again for the next, while the array lives and as long as its elements are the same.

In the other process arrays are **read-only**: they are the memory of all workers, and a step that
changed them would change what the others read. Lists arrive as a
`fuel.utils._shared_list.SharedList`. How segments get there is in `fuel.transport.segments`; where
in a file, or in another array, the elements of an array lie is in `fuel.workers._places`.
"""

from __future__ import annotations

import functools
import io
import os
import pickle
import threading
import weakref
from collections.abc import Iterable, Sequence
from typing import Any

import numpy

from fuel.transport.segments import Segment, receive_segments, send_segments
from fuel.utils._channel import _by_value
from fuel.utils._shared_list import SharedList, fill, measure
from fuel.workers._picklable import worker_pickler_class
from fuel.workers._places import InFile, Layout, bounds, in_file, root_of

__all__ = ["dumps_shared", "loads_shared", "receive_segments", "send_segments"]

#: Smaller arrays are copied: a place in a segment costs 100 microseconds to make and to map.
_SMALLEST_BYTES = 64 * 1024
#: Shorter lists are copied, unless their items are large (files in memory, long texts).
_SHORTEST_LIST = 4096
_SMALLEST_LIST_BYTES = 2**20
#: Larger arrays have a segment each, which goes with them; smaller ones of a pipeline share one.
_OWN_SEGMENT_BYTES = 64 * 2**20
#: At most so many segments of their own for a pipeline; each costs a file descriptor in each
#: process, of which many systems allow 256.
_MOST_SEGMENTS = 32
#: Places begin at multiples of this: what vector instructions and DLPack like.
_ALIGNMENT = 64
#: Compared and written so many bytes at a time, to stay within the processor's cache.
_CHUNK_BYTES = 1 << 18

_KINDS = frozenset("biufcSUVmM?")


class _Place:
    """Where the bytes of one array are, in one of the segments."""

    def __init__(self, segment: Any, offset: int) -> None:
        self.segment, self.offset = segment, offset
        #: Whether the array could not be written to when it was placed.
        self.frozen = False


#: Which arrays have been placed, by identity. An entry goes with its array.
_placed: dict[int, tuple[weakref.ref[Any], _Place]] = {}
# A reference that dies may run its callback in the middle of anything, also in this module.
_lock = threading.RLock()


def dumps_shared(value: Any, by_value: Iterable[str] = ()) -> tuple[bytes, list[Segment]]:
    """Take an object apart into a pickle and shared memory.

    Parameters
    ----------
    value : object
        Anything that cloudpickle takes.
    by_value : iterable of str, optional
        Modules whose functions and classes travel by value, see `fuel.utils._channel.dumps`.

    Returns
    -------
    payload : bytes
        For `loads_shared`.
    segments : list of Segment
        The memory that goes with it. Other pipelines may use the same segments: drop them, but do
        not close them.

    Raises
    ------
    TransportError
        If memory is short.
    Exception
        What pickling raises; `fuel.workers._picklable.check_picklable` finds out where.

    Notes
    -----
    Placed are arrays of exactly the type ``numpy.ndarray`` from 64 KiB on, without Python objects,
    and lists of ``str``, or of ``bytes``, and nothing else, of which there are 4096 or more or
    which hold a million characters or more. A view of an array that holds
    at least half of it shares its place. A `numpy.memmap` (and a view of one) is opened again by
    the name of its file, in the same mode, where the file is still the one that is mapped;
    ``mode='c'`` is private to this process and travels as an array. Changes that are made to an
    array after this call do not arrive. An array that was placed before is compared with what was
    placed, at the speed of the memory; one that is read-only, as is all that it is a view of, is
    not. May be called from several threads at once.

    """
    laid = _Layer()
    buffer = io.BytesIO()
    with _by_value(by_value):
        _sharing_pickler()(buffer, laid).dump(value)
    table, segments = laid.place()
    return pickle.dumps(table, protocol=5) + buffer.getvalue(), segments


def loads_shared(payload: bytes, segments: Sequence[Segment]) -> Any:
    """Put together what `dumps_shared` took apart.

    Parameters
    ----------
    payload : bytes
        The pickle.
    segments : sequence of Segment
        The memory, in the same order, of this process. They may be closed afterwards.

    Returns
    -------
    object
        The object. Arrays that were placed are read-only, and so is each `SharedList` that came
        from a list. What was one array before is one array.

    """
    stream = io.BytesIO(payload)
    table = pickle.load(stream)
    return _Unpickler(stream, table, segments).load()


class _Layer:
    """What one object holds that is placed: gathered first, laid out when all is known."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        # Keeps what was numbered alive, so that an identity stands for one object.
        self._things: list[Any] = []
        self._entries: list[Any] = []

    def number(self, value: Any) -> int | None:
        """Return the number of an object that is to be placed; None for all others."""
        kind = type(value)
        if kind is list:
            if not _is_long(value):
                return None
        elif kind is not numpy.ndarray and kind is not numpy.memmap:
            return None
        known = self._numbers.get(id(value))
        if known is not None:
            return known
        entry = _list_entry(value) if kind is list else _array_entry(value)
        if entry is None:
            return None
        number = self._numbers[id(value)] = len(self._entries)
        self._things.append(value)
        self._entries.append(entry)
        return number

    def place(self) -> tuple[list[Any], list[Segment]]:
        """Write what is not in any segment yet; return what is where."""
        segments: list[Segment] = []
        with _lock:
            homes: dict[int, _Place] = {}
            waiting: list[_Content] = []
            for entry in self._entries:
                content = entry[0]
                if not isinstance(content, _Content) or content.key in homes:
                    continue
                home = content.known()
                if home is None:
                    waiting.append(content)
                    homes[content.key] = _Place(None, 0)
                else:
                    homes[content.key] = home
            _write(waiting, homes)
            table = []
            for content, *rest in self._entries:
                if isinstance(content, _Content):
                    home = homes[content.key]
                    if home.segment not in segments:
                        segments.append(home.segment)
                    table.append((segments.index(home.segment), home.offset, *rest))
                else:
                    table.append((content, *rest))
        return table, segments


class _Content:
    """Bytes that need a place: those of an array, or of a list."""

    def __init__(self, source: Any) -> None:
        self.source = source
        self.key = id(source)
        self.offsets = measure(source) if type(source) is list else None
        self.head = 0 if self.offsets is None else self.offsets.nbytes
        tail = source.nbytes if self.offsets is None else int(self.offsets[-1])
        self.nbytes = max(1, self.head + tail)

    def known(self) -> _Place | None:
        """Return where an array was placed before, if its elements are still the same."""
        reference, place = _placed.get(self.key, (None, None))
        if reference is None or reference() is not self.source or place is None:
            return None
        if place.segment.closed:
            return None
        if not (place.frozen and _frozen(self.source)) and not _same(self.source, place):
            return None
        return place

    def write(self, place: _Place) -> None:
        """Write the bytes."""
        memory = place.segment.memory[place.offset : place.offset + self.nbytes]
        if self.offsets is not None:
            numpy.frombuffer(memory, numpy.int64, len(self.offsets))[:] = self.offsets
            fill(self.source, memory[self.head :], self.offsets)
            return
        _over(self.source, place)[...] = self.source
        key, place.frozen = self.key, _frozen(self.source)
        _placed[key] = weakref.ref(self.source, lambda gone: _forget(key, gone)), place


def _forget(key: int, reference: Any) -> None:
    with _lock:
        if key in _placed and _placed[key][0] is reference:
            del _placed[key]


def _over(array: Any, place: _Place) -> Any:
    """Return an array over the place of another: its shape, and its order as far as it has one."""
    fortran = array.flags.f_contiguous and not array.flags.c_contiguous
    return numpy.ndarray(
        array.shape,
        array.dtype,
        place.segment.memory,
        place.offset,
        order="F" if fortran else "C",
    )


def _same(array: Any, place: _Place) -> bool:
    """Tell whether what was placed is what an array holds now, bit by bit."""
    copy = _over(array, place)
    if array.flags.c_contiguous or array.flags.f_contiguous:
        return _same_bytes(array, copy, "C" if array.flags.c_contiguous else "F")
    return all(_same_bytes(ours, theirs, "C") for ours, theirs in zip(array, copy, strict=True))


def _same_bytes(array: Any, copy: Any, order: Any) -> bool:
    ours, theirs = (part.reshape(-1, order=order).view(numpy.uint8) for part in (array, copy))
    compare = _comparer()
    if compare is not None:
        return bool(compare(ours.ctypes.data, theirs.ctypes.data, len(ours)) == 0)
    return all(
        numpy.array_equal(ours[first : first + _CHUNK_BYTES], theirs[first : first + _CHUNK_BYTES])
        for first in range(0, len(ours), _CHUNK_BYTES)
    )


@functools.cache
def _comparer() -> Any:
    """Return the C library's ``memcmp``, which is as quick as the memory, or None."""
    import ctypes

    try:
        library = ctypes.cdll.msvcrt if os.name == "nt" else ctypes.CDLL(None)
        compare = library.memcmp
    except (OSError, AttributeError):
        return None
    compare.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
    compare.restype = ctypes.c_int
    return compare


def _frozen(array: Any) -> bool:
    """Tell whether nobody can have changed an array: neither it nor what it is a view of."""
    while isinstance(array, numpy.ndarray):
        if array.flags.writeable:
            return False
        array = array.base
    return array is None


def _write(waiting: list[_Content], homes: dict[int, _Place]) -> None:
    alone = sorted(
        (content for content in waiting if content.nbytes >= _OWN_SEGMENT_BYTES),
        key=lambda content: -content.nbytes,
    )[:_MOST_SEGMENTS]
    own = {content.key for content in alone}
    together = [content for content in waiting if content.key not in own]
    for group in [[content] for content in alone] + ([together] if together else []):
        offsets, size = [], 0
        for content in group:
            offsets.append(size)
            size += -(-content.nbytes // _ALIGNMENT) * _ALIGNMENT
        segment = Segment.create(size, "the data of a pipeline")
        segment.reserve(0, size)
        for content, offset in zip(group, offsets, strict=True):
            home = homes[content.key]
            home.segment, home.offset = segment, offset
            content.write(home)


def _is_long(value: list[Any]) -> bool:
    if len(value) >= _SHORTEST_LIST:
        return True
    # The usual list is told by its first item.
    return (
        bool(value)
        and type(value[0]) in (str, bytes)
        and all(type(item) in (str, bytes) for item in value)
        and sum(map(len, value)) >= _SMALLEST_LIST_BYTES
    )


def _list_entry(value: list[Any]) -> Any:
    kinds = set(map(type, value))
    if kinds != {str} and kinds != {bytes}:
        return None
    content = _Content(value)
    return content, "list", len(value), content.nbytes, kinds == {str}


def _array_entry(value: Any) -> Any:
    if value.dtype.hasobject or value.dtype.kind not in _KINDS or not value.nbytes:
        return None
    place = in_file(value)
    if place is not None:
        return place, "file"
    if value.nbytes < _SMALLEST_BYTES:
        return None
    root = root_of(value)
    low, high = bounds(value)
    first, last = bounds(root)
    whole = root.flags.c_contiguous or root.flags.f_contiguous
    if root is not value and whole and first <= low <= high <= last:
        if 2 * value.nbytes >= root.nbytes:
            layout = Layout.of(value, value.__array_interface__["data"][0] - first)
            return _Content(root), "array", layout
    fortran = value.flags.f_contiguous and not value.flags.c_contiguous
    return _Content(value), "array", Layout.packed(value, fortran)


class _Unpickler(pickle.Unpickler):
    """Builds each thing that was placed once."""

    def __init__(self, stream: Any, table: list[Any], segments: Sequence[Segment]) -> None:
        super().__init__(stream)
        self._table, self._segments = table, segments
        self._made: dict[int, Any] = {}

    def persistent_load(self, pid: Any) -> Any:
        if pid not in self._made:
            self._made[pid] = self._make(*self._table[pid])
        return self._made[pid]

    def _make(self, where: Any, *rest: Any) -> Any:
        if isinstance(where, InFile):
            return where.open()
        offset, kind, *parts = rest
        memory = self._segments[where].memory.toreadonly()[offset:]
        if kind == "array":
            return parts[0].over(memory)
        length, nbytes, text = parts
        offsets = numpy.frombuffer(memory, numpy.int64, length + 1)
        return SharedList(memory[offsets.nbytes : nbytes], offsets, text)


def _sharing_pickler() -> Any:
    """Return a maker of picklers that leave out what a `_Layer` numbers."""
    base = worker_pickler_class()

    class Pickler(base):  # type: ignore[misc,valid-type]
        def __init__(self, stream: Any, layer: _Layer) -> None:
            super().__init__(stream, protocol=5)
            self._number = layer.number

        def persistent_id(self, value: Any) -> int | None:
            return self._number(value)

    return Pickler
