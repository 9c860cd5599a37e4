"""The passes of `Pack`: which pieces of which sequences share a row.

What a row is made of pieces is in `fuel.transformers._packing`. Where the stream below can hand
over many sequences at once, they are measured at once as well; the rows, the addresses and the
states are those that come of fetching them one by one.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy

from fuel.kernels import objects
from fuel.plan import Cursor
from fuel.transformers._fetched import Fetched
from fuel.typing import JSON
from fuel.utils._overrides import overridden

if TYPE_CHECKING:
    from fuel.plan import Start
    from fuel.transformers._packing import Pack

__all__ = ["ConcatenateCursor", "FirstFitCursor", "Piece"]

#: Some tokens of a sequence: its number, from which to before which; a separator stands behind all.
Piece = tuple[int, int, int]


class _PackCursor(Cursor):
    """What both passes of a `Pack` share: the sequences held, and rows made of them.

    Attributes
    ----------
    fetched : Fetched
        The sequences held.
    lengths : list of int
        Those of the sequences that are fetched ahead, where they are arrays of one length in all
        sources; else empty.

    """

    step: Pack
    child: Cursor

    def __init__(self, start: Start, step: Pack) -> None:
        self.child = start.child(step.data_stream)
        super().__init__(start, step)
        self.fetched = Fetched(self.child, step.data_stream)
        self.lengths: list[int] = []
        self._empty()

    def _empty(self) -> None:
        raise NotImplementedError

    def _look_ahead(self) -> None:
        """Fetch many sequences when those ahead are used up, and measure them if possible."""
        fetched = self.fetched
        if fetched.index < len(fetched.ahead):
            return
        self.lengths = []
        columns = fetched.look_ahead()
        if columns is None or overridden(self.step, "_sequences"):
            return
        lengths = objects.lengths(columns[0])
        if lengths is None:
            return
        for column in columns:
            if type(column) is list and not _all_arrays(column):
                return
            others = objects.lengths(column)
            if others is None or not numpy.array_equal(others, lengths):
                return  # one by one it is told what is wrong
        self.lengths = lengths.tolist()

    def _arrays(self, number: int) -> Any:
        """Return a sequence, which is made into arrays for good."""
        held = self.fetched.held
        data = held[number] = self.step._sequences(held[number])
        return data

    def _finish(self, pieces: list[Piece]) -> Any:
        """Return a row made of pieces; its address is where its first token stands."""
        held = self.fetched.held
        row = self.step._row([(held[number], start, stop) for number, start, stop in pieces])
        number, start, _ = pieces[0]
        self.context = self.fetched.context(number).child(start + 1)
        return row


class FirstFitCursor(_PackCursor):
    """The pass of a `Pack` by first-fit.

    Attributes
    ----------
    rows : list of list of Piece
        What is in the open rows, the one opened first first.
    rooms : list of int
        For how many more tokens there is room in each.
    waiting : int or None
        The number of the sequence taken last, while it or a part of it is in no row.
    used : int
        How many tokens of that were delivered.
    total : int or None
        How long it is, once it is known to be arrays.

    Notes
    -----
    The open rows can be made again of the sequences in them alone. For each of those, in the order
    in which they came, the rows still open that were passed over had no room then; they hold the
    same sequences when it is placed again, so that it is placed in the same row.

    """

    def _empty(self) -> None:
        self.rows: list[list[Piece]] = []
        self.rooms: list[int] = []
        self.waiting: int | None = None
        self.used = 0
        self.total: int | None = None
        self.lengths = []

    def produce(self, request: Any) -> Any:
        """Return the next row that is full, or has to make way, or at the end is left."""
        step = self.step
        while True:
            if 0 in self.rooms:
                return self._close(self.rooms.index(0))
            if self.waiting is None:
                self._look_ahead()
                if self.lengths and self._fill():
                    continue
                try:
                    self.waiting = self.fetched.take()
                except StopIteration:
                    if not self.rows:
                        raise
                    return self._close(0)
                self.used, self.total = 0, None
            number = self.waiting
            if self.total is None:
                self.total = len(self._arrays(number)[0])
            total = self.total
            step._check_length(total)
            if total - self.used >= step.length and (
                step.too_long == "split" or total == step.length
            ):
                return self._deliver_part(number, total)
            if total == self.used or (total > step.length and step.too_long == "drop"):
                self.fetched.let_go([number])
            elif not self._place((number, self.used, total)):
                # The fullest: closing the oldest leaves a third more of the rows empty.
                return self._close(self.rooms.index(min(self.rooms)))
            self.waiting = None

    def _fill(self) -> bool:
        """Place sequences that are ahead until a row is full, or one finds no row: it is `waiting`.

        One that is as long as a row or longer is left to be taken.

        Returns
        -------
        bool
            Whether any were taken.

        """
        fetched, rows, rooms, lengths = self.fetched, self.rows, self.rooms, self.lengths
        length, most = self.step.length, self.step.open_rows or 1
        start, stop, offset = fetched.index, len(lengths), fetched.count - fetched.index
        index, empty = start, []
        while index < stop:
            size = lengths[index]
            if size >= length:
                break
            if not size:
                empty.append(offset + index)
                index += 1
                continue
            for place, room in enumerate(rooms):  # noqa: B007
                if room >= size:
                    break
            else:
                place, room = len(rows), length
                if place >= most:
                    self.waiting, self.used, self.total = offset + index, 0, size
                    index += 1
                    break
                rows.append([])
                rooms.append(length)
            rows[place].append((offset + index, 0, size))
            rooms[place] = room - size
            index += 1
            if room == size:
                break
        if index == start:
            return False
        fetched.take_ahead(index - start)
        fetched.let_go(empty)
        return True

    def _place(self, piece: Piece) -> bool:
        """Put a piece into a row; tell whether there was one."""
        _, start, stop = piece
        size = stop - start
        for place, room in enumerate(self.rooms):  # noqa: B007
            if room >= size:
                break
        else:
            place = len(self.rows)
            if place >= (self.step.open_rows or 1):
                return False
            self.rows.append([])
            self.rooms.append(self.step.length)
        self.rows[place].append(piece)
        self.rooms[place] -= size
        return True

    def _deliver_part(self, number: int, total: int) -> Any:
        """Return a row that a single piece fills."""
        row = self._finish([(number, self.used, self.used + self.step.length)])
        self.used += self.step.length
        if self.used == total:
            self.fetched.let_go([number])
            self.waiting = None
        return row

    def _close(self, place: int) -> Any:
        pieces = self.rows[place]
        item = self._finish(pieces)
        self.fetched.let_go([number for number, _, _ in pieces])
        del self.rows[place], self.rooms[place]
        return item

    def tell(self) -> JSON:
        """Describe the sequences held; which row each is in follows from their order."""
        used = None if self.waiting is None else self.used
        return {"held": self.fetched.tell(), "used": used}

    def seek(self, mark: JSON) -> None:
        """Fetch again what was held, and place it as before."""
        self._empty()
        numbers = self.fetched.seek(mark["held"])
        if mark["used"] is not None:
            self.waiting, self.used = numbers.pop(), mark["used"]
        for number in numbers:
            total = len(self._arrays(number)[0])
            # What fills whole rows was delivered at once.
            self._place((number, total // self.step.length * self.step.length, total))


class ConcatenateCursor(_PackCursor):
    """The pass of a `Pack` that puts sequences end to end.

    Attributes
    ----------
    parts : deque of tuple of int
        The sequences of which something is left: the number of each, and how many tokens it takes
        up, its separator included.
    waiting : deque of int
        Taken, and not yet among them: one that an error kept out, or all on resuming.
    used : int
        How many tokens of the first were delivered.
    left : int
        How many tokens there are to deliver in `parts`.

    """

    def _empty(self) -> None:
        self.parts: deque[tuple[int, int]] = deque()
        self.waiting: deque[int] = deque()
        self.used = 0
        self.left = 0
        self.lengths = []

    def produce(self, request: Any) -> Any:
        """Return the next row."""
        step = self.step
        more = int(step.separator is not None)
        while self.left < step.length:
            if not self.waiting:
                self._look_ahead()
                if self.lengths:
                    self._fill(more)
                    continue
                try:
                    self.waiting.append(self.fetched.take())
                except StopIteration:
                    if self.left and step.partial:
                        break
                    self._empty()
                    self.fetched.clear()
                    raise
            length = len(self._arrays(self.waiting[0])[0]) + more
            number = self.waiting.popleft()
            if length:
                self.parts.append((number, length))
                self.left += length
            else:
                self.fetched.let_go([number])
        pieces = self._cut()
        row = self._finish(pieces)
        self._use(pieces)
        return row

    def _fill(self, more: int) -> None:
        """Add sequences that are ahead, until there are enough for a row."""
        fetched, parts, lengths = self.fetched, self.parts, self.lengths
        start, stop, offset = fetched.index, len(lengths), fetched.count - fetched.index
        index, empty = start, []
        left, wanted = self.left, self.step.length
        while index < stop and left < wanted:
            length = lengths[index] + more
            if length:
                parts.append((offset + index, length))
                left += length
            else:
                empty.append(offset + index)
            index += 1
        self.left = left
        fetched.take_ahead(index - start)
        fetched.let_go(empty)

    def _cut(self) -> list[Piece]:
        """Return the pieces of the next row."""
        pieces: list[Piece] = []
        start, room = self.used, self.step.length
        for number, length in self.parts:
            stop = min(length, start + room)
            pieces.append((number, start, stop))
            room -= stop - start
            start = 0
            if not room:
                break
        return pieces

    def _use(self, pieces: list[Piece]) -> None:
        used_up = []
        for number, start, stop in pieces:
            self.left -= stop - start
            self.used = stop
            if stop == self.parts[0][1]:
                used_up.append(number)
                self.parts.popleft()
                self.used = 0
        self.fetched.let_go(used_up)

    def tell(self) -> JSON:
        """Describe the sequences held, and how much of the first was used."""
        return {"held": self.fetched.tell(), "used": self.used}

    def seek(self, mark: JSON) -> None:
        """Fetch again what was held."""
        self._empty()
        self.waiting.extend(self.fetched.seek(mark["held"]))
        self.used = mark["used"]
        self.left = -self.used


def _all_arrays(column: list[Any]) -> bool:
    """Tell whether all are plain arrays that hold numbers or texts, and no objects."""
    ndarray = numpy.ndarray
    return all(type(one) is ndarray and not one.dtype.hasobject for one in column)
