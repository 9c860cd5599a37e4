"""`SharedList`: texts (or bytes) end to end in one buffer, which behave like a list of them.

A list of a million strings is a million objects, each with a count of its references; a process
that only reads them writes to those counts, and so gets a copy of every page. One buffer is not
written to by reading it. Who puts lists into shared memory is in `fuel.workers._sharing`.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NoReturn

import numpy
from numpy.typing import NDArray

from fuel.exceptions import RequestError

__all__ = ["SharedList"]

#: So many items are decoded at once by an iterator, which then costs a tenth per item.
_CHUNK = 1024


class SharedList(Sequence[Any]):
    """A read-only list of texts or of bytes in one buffer.

    Parameters
    ----------
    data : bytes-like
        The items end to end, texts in UTF-8.
    offsets : numpy.ndarray, shape (n + 1,), dtype int64
        Where each begins; the last number is where the last ends.
    text : bool
        Whether the items are texts.

    Notes
    -----
    It answers as a list of the same items does, but a request to change it raises TypeError.
    Slices, sums and copies are lists. Pickled, it is a list's worth of bytes. Items are made anew
    each time they are asked for. It may be read from several threads at once.

    Examples
    --------
    >>> from fuel.utils._shared_list import SharedList
    >>> words = SharedList.of(["a", "bc", "a"])
    >>> words[1], words[-1], words[:2], "bc" in words, words == ["a", "bc", "a"]
    ('bc', 'a', ['a', 'bc'], True, True)

    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, data: Any, offsets: NDArray[numpy.int64], text: bool) -> None:
        self._data = memoryview(data).cast("B")
        self._offsets = offsets
        self._text = text
        self._length = len(offsets) - 1

    @classmethod
    def of(cls, items: list[Any]) -> SharedList:
        """Put a list into one buffer.

        Parameters
        ----------
        items : list of str, or list of bytes
            One kind only.

        Returns
        -------
        SharedList
            The same items.

        """
        text = not items or type(items[0]) is str
        offsets = measure(items)
        data = bytearray(int(offsets[-1]))
        fill(items, memoryview(data), offsets)
        return cls(bytes(data), offsets, text)

    def take(self, rows: NDArray[numpy.int64]) -> list[Any]:
        """Return several items.

        Parameters
        ----------
        rows : numpy.ndarray of int64, shape (n,)
            Their places, in any order and with repetitions.

        Returns
        -------
        list
            The items.

        Raises
        ------
        RequestError
            If there is no such place. Negative numbers do not count from the end.

        """
        if len(rows) and int(rows.view(numpy.uint64).max()) >= self._length:
            wrong = rows[(rows < 0) | (rows >= self._length)]
            raise RequestError(
                f"there are {self._length} objects, got a request for number {wrong[0]}; numbers "
                f"go from 0 to {self._length - 1}"
            )
        return self._between(self._offsets[rows].tolist(), self._offsets[rows + 1].tolist())

    def copy(self) -> list[Any]:
        """Return a list of the items.

        Returns
        -------
        list
            It can be changed.

        """
        return list(self)

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            first, last, step = key.indices(self._length)
            if step == 1:
                return self._run(first, max(first, last))
            return self.take(numpy.arange(first, last, step, dtype=numpy.int64))
        try:
            place = operator.index(key)
        except TypeError:
            raise TypeError(
                f"list indices must be integers or slices, not {type(key).__name__}"
            ) from None
        if place < 0:
            place += self._length
        if not 0 <= place < self._length:
            raise IndexError("list index out of range")
        raw = self._data[self._offsets[place] : self._offsets[place + 1]]
        return str(raw, "utf-8", "surrogatepass") if self._text else bytes(raw)

    def __iter__(self) -> Iterator[Any]:
        for first in range(0, self._length, _CHUNK):
            yield from self._run(first, min(first + _CHUNK, self._length))

    def __reversed__(self) -> Iterator[Any]:
        return (self[place] for place in range(self._length - 1, -1, -1))

    def __contains__(self, value: Any) -> bool:
        return any(item is value or item == value for item in self)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, SharedList):
            if self._text is other._text:
                return bool(
                    numpy.array_equal(self._offsets, other._offsets) and self._data == other._data
                )
            return self._length == other._length == 0
        if not isinstance(other, list):
            return NotImplemented
        return self._length == len(other) and all(map(operator.eq, self, other))

    def __lt__(self, other: Any) -> Any:
        return list(self) < list(other) if _is_list(other) else NotImplemented

    def __le__(self, other: Any) -> Any:
        return list(self) <= list(other) if _is_list(other) else NotImplemented

    def __gt__(self, other: Any) -> Any:
        return list(self) > list(other) if _is_list(other) else NotImplemented

    def __ge__(self, other: Any) -> Any:
        return list(self) >= list(other) if _is_list(other) else NotImplemented

    def __add__(self, other: Any) -> Any:
        return list(self) + list(other) if _is_list(other) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return other + list(self) if isinstance(other, list) else NotImplemented

    def __mul__(self, times: Any) -> Any:
        return list(self) * times

    __rmul__ = __mul__

    def __repr__(self) -> str:
        kind = "str" if self._text else "bytes"
        return f"<SharedList of {self._length} {kind}, read-only; list(x) makes a list of it>"

    def __reduce__(self) -> Any:
        return SharedList, (bytes(self._data), numpy.array(self._offsets), self._text)

    def _run(self, first: int, last: int) -> list[Any]:
        places = self._offsets[first : last + 1].tolist()
        return self._between(places[:-1], places[1:])

    def _between(self, starts: Iterable[int], stops: Iterable[int]) -> list[Any]:
        data = self._data
        pairs = zip(starts, stops, strict=True)
        if self._text:
            return [str(data[start:stop], "utf-8", "surrogatepass") for start, stop in pairs]
        return [bytes(data[start:stop]) for start, stop in pairs]


def measure(items: list[Any]) -> NDArray[numpy.int64]:
    """Return where each text, or each bytes, of a list begins when they lie end to end.

    Parameters
    ----------
    items : list of str, or list of bytes
        One kind only.

    Returns
    -------
    numpy.ndarray, shape (n + 1,), dtype int64
        Offsets in bytes, texts in UTF-8. The first is 0.

    """
    offsets = numpy.zeros(len(items) + 1, numpy.int64)
    for first in range(0, len(items), _CHUNK):
        chunk = items[first : first + _CHUNK]
        offsets[first + 1 : first + 1 + len(chunk)] = _lengths(chunk)
    return numpy.cumsum(offsets, out=offsets)


def _lengths(chunk: list[Any]) -> list[int]:
    if type(chunk[0]) is bytes or "".join(chunk).isascii():
        return list(map(len, chunk))
    return [len(item.encode("utf-8", "surrogatepass")) for item in chunk]


def fill(items: list[Any], memory: memoryview, offsets: NDArray[numpy.int64]) -> None:
    """Write the items of a list end to end.

    Parameters
    ----------
    items : list of str, or list of bytes
        One kind only.
    memory : memoryview
        Where to, writable bytes.
    offsets : numpy.ndarray, shape (n + 1,), dtype int64
        What `measure` returned for it.

    """
    for first in range(0, len(items), _CHUNK):
        chunk = items[first : first + _CHUNK]
        last = first + len(chunk)
        joined = (
            b"".join(chunk)
            if type(chunk[0]) is bytes
            # Each for itself: halves of a pair that stand in two texts are no pair.
            else b"".join([item.encode("utf-8", "surrogatepass") for item in chunk])
        )
        memory[int(offsets[first]) : int(offsets[last])] = joined


def _is_list(value: Any) -> bool:
    return isinstance(value, list | SharedList)


def _refusal(name: str) -> Any:
    def refuse(self: SharedList, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(
            f"this list of {self._length} items lies in memory that workers share and cannot be "
            f"changed ({name}); make one of your own with list(x)"
        )

    refuse.__name__ = name
    refuse.__doc__ = "Refuse: the memory is shared."
    return refuse


for _name in (
    *("append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"),
    *("__setitem__", "__delitem__", "__iadd__", "__imul__"),
):
    setattr(SharedList, _name, _refusal(_name))
