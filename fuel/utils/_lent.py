"""Memory that other processes lend to this one, and what becomes of it when this one is forked.

A fork shares what was mapped as shared: the child would see its arrays change as soon as their
memory has come back to whoever lent it and is used again, and what the child writes would be seen
here. So the child makes copies of what was lent, before anything else runs there, and until it has
done so nothing is given back. In this room: `note_lender`, `may_give_back`, and `not_wanted` for
children that look at none of it. Who lends is in `fuel.workers._results`.
"""

from __future__ import annotations

import contextlib
import functools
import os
import select
import sys
import weakref
from collections.abc import Iterator
from typing import Any, Protocol

__all__ = ["may_give_back", "not_wanted", "note_lender"]

#: More is not copied: a child would take that much memory. Nothing is given back while it lives.
_MOST_BYTES = 1 << 30
#: Seconds in which a child should have made its copies, so that what is written here after the fork
#: is not seen there.
_PATIENCE_S = 2.0


class _Lender(Protocol):
    def held(self) -> list[tuple[int, int]]:
        """Return the address and the size of each piece that this process has."""


_lenders: weakref.WeakSet[Any] = weakref.WeakSet()
#: The ends of pipes whose other ends are with children that have not made their copies yet.
_waiting: list[int] = []
#: Pipes of forks that are going on, and those of children.
_begun: list[tuple[int, int]] = []
_skipped = 0


def note_lender(lender: _Lender) -> None:
    """Remember somebody who lends memory.

    Parameters
    ----------
    lender : object
        With a method ``held()``. It is not kept alive.

    """
    _lenders.add(lender)


def may_give_back() -> bool:
    """Tell whether memory may go back to whoever lent it.

    Returns
    -------
    bool
        False while a child has not made its copies.

    """
    for end in list(_waiting):
        if _closed(end, 0.0):
            with contextlib.suppress(ValueError):
                _waiting.remove(end)
                os.close(end)
    return not _waiting


def _closed(end: int, seconds: float) -> bool:
    poller = select.poll()
    poller.register(end, select.POLLIN)
    return bool(poller.poll(seconds * 1000)) and not os.read(end, 1)


@contextlib.contextmanager
def not_wanted() -> Iterator[None]:
    """Fork children that look at nothing that was lent."""
    global _skipped
    _skipped += 1
    try:
        yield
    finally:
        _skipped -= 1


def _pieces() -> list[tuple[int, int]]:
    return [piece for lender in list(_lenders) for piece in lender.held() if piece[1]]


def _before() -> None:
    if not _skipped and _lenders and _pieces():
        _library()  # loading it in the child could wait for a thread that is not there
        _begun.append(os.pipe())


def _in_parent() -> None:
    while _begun:
        ours, theirs = _begun.pop()
        os.close(theirs)
        if _closed(ours, _PATIENCE_S):
            os.close(ours)
        else:
            _waiting.append(ours)


def _in_child() -> None:
    ends = [*_waiting, *(end for pair in _begun for end in pair)]
    begun = bool(_begun)
    last = _begun[-1][1] if _begun else -1
    _waiting.clear()
    _begun.clear()
    pieces = _pieces() if begun else []
    for lender in list(_lenders):
        _lenders.discard(lender)  # what they lent is this process' own now
    if sum(size for _, size in pieces) > _MOST_BYTES:
        os.write(last, b".")  # nobody need wait
        ends.remove(last)  # closed when this process ends
    else:
        with contextlib.suppress(Exception):  # an ordinary fork, then
            _make_own(pieces)
    for end in ends:
        os.close(end)


@functools.cache
def _library() -> Any:
    import ctypes

    library = ctypes.CDLL(None)
    library.mmap.restype = ctypes.c_void_p
    number = ctypes.c_int
    library.mmap.argtypes = [
        ctypes.c_void_p, ctypes.c_size_t, number, number, number, ctypes.c_long
    ]  # fmt: skip
    return library


def _make_own(pieces: list[tuple[int, int]]) -> None:
    """Put memory of this process in the place of the pages in which pieces lie."""
    import ctypes
    import mmap

    fixed = 0x10
    for address, size in pieces:
        first = address // mmap.PAGESIZE * mmap.PAGESIZE
        length = -(-(address + size - first) // mmap.PAGESIZE) * mmap.PAGESIZE
        content = ctypes.string_at(first, length)
        access = mmap.PROT_READ | mmap.PROT_WRITE
        kind = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | fixed
        if _library().mmap(first, length, access, kind, -1, 0) == first:
            ctypes.memmove(first, content, length)


if hasattr(os, "register_at_fork") and sys.platform in ("linux", "darwin"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
