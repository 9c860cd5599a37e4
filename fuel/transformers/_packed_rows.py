"""The passes of `Pack`: which pieces of which sequences share a row.

What a row is made of pieces is in `fuel.transformers._packing`.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from fuel.plan import Cursor
from fuel.transformers._fetched import Example, Fetched
from fuel.typing import JSON

if TYPE_CHECKING:
    from fuel.plan import Start
    from fuel.transformers._packing import Pack

__all__ = ["ConcatenateCursor", "FirstFitCursor", "Piece"]


class Piece(NamedTuple):
    """Some tokens of a sequence: from `start` to before `stop`; a separator stands behind all."""

    example: Example
    start: int
    stop: int


class _Row:
    """An open row: its pieces, and for how many more tokens there is room."""

    def __init__(self, room: int) -> None:
        self.pieces: list[Piece] = []
        self.room = room


class FirstFitCursor(Cursor):
    """The pass of a `Pack` by first-fit.

    Attributes
    ----------
    rows : list of _Row
        The open rows, the one opened first first.
    waiting : Example or None
        The sequence fetched last, while it or a part of it is in no row.
    used : int
        How many tokens of that were delivered.

    Notes
    -----
    The open rows can be made again of the sequences in them alone. For each of those, in the order
    in which they came, the rows still open that were passed over had no room then; they hold the
    same sequences when it is placed again, so that it is placed in the same row.

    """

    step: Pack
    child: Cursor

    def __init__(self, start: Start, step: Pack) -> None:
        self.child = start.child(step.data_stream)
        super().__init__(start, step)
        self.fetched = Fetched(self.child, step.data_stream)
        self._empty()

    def _empty(self) -> None:
        self.rows: list[_Row] = []
        self.waiting: Example | None = None
        self.used = 0

    def produce(self, request: Any) -> Any:
        """Return the next row that is full, or has to make way, or at the end is left."""
        step = self.step
        while True:
            for row in self.rows:
                if not row.room:
                    return self._close(row)
            if self.waiting is None:
                try:
                    self.waiting, self.used = self.fetched.take(), 0
                except StopIteration:
                    if not self.rows:
                        raise
                    return self._close(self.rows[0])
            example = self.waiting
            total = self._length(example)
            step._check_length(total)
            if total - self.used >= step.length and (
                step.too_long == "split" or total == step.length
            ):
                return self._deliver_part(example, total)
            if total == self.used or (total > step.length and step.too_long == "drop"):
                self.fetched.let_go(example)
            elif not self._place(Piece(example, self.used, total)):
                # The fullest: closing the oldest leaves a third more of the rows empty.
                return self._close(min(self.rows, key=lambda row: row.room))
            self.waiting = None

    def _length(self, example: Example) -> int:
        """Return the length of a sequence, which is made into arrays for good."""
        example.data = self.step._sequences(example.data)
        return len(example.data[0])

    def _place(self, piece: Piece) -> bool:
        """Put a piece into a row; tell whether there was one."""
        size = piece.stop - piece.start
        for row in self.rows:
            if row.room >= size:
                break
        else:
            if len(self.rows) >= (self.step.open_rows or 1):
                return False
            row = _Row(self.step.length)
            self.rows.append(row)
        row.pieces.append(piece)
        row.room -= size
        return True

    def _deliver_part(self, example: Example, total: int) -> Any:
        """Return a row that a single piece fills."""
        pieces = [Piece(example, self.used, self.used + self.step.length)]
        row = self.step._row(pieces)
        self.context = self.step._address(pieces)
        self.used += self.step.length
        if self.used == total:
            self.fetched.let_go(example)
            self.waiting = None
        return row

    def _close(self, row: _Row) -> Any:
        item = self.step._row(row.pieces)
        self.context = self.step._address(row.pieces)
        for piece in row.pieces:
            self.fetched.let_go(piece.example)
        self.rows.remove(row)
        return item

    def tell(self) -> JSON:
        """Describe the sequences held; which row each is in follows from their order."""
        used = None if self.waiting is None else self.used
        return {"held": self.fetched.tell(), "used": used}

    def seek(self, mark: JSON) -> None:
        """Fetch again what was held, and place it as before."""
        self._empty()
        examples = self.fetched.seek(mark["held"])
        if mark["used"] is not None:
            self.waiting, self.used = examples.pop(), mark["used"]
        for example in examples:
            total = self._length(example)
            # What fills whole rows was delivered at once.
            self._place(Piece(example, total // self.step.length * self.step.length, total))


class ConcatenateCursor(Cursor):
    """The pass of a `Pack` that puts sequences end to end.

    Attributes
    ----------
    parts : deque of Example
        The sequences of which something is left.
    waiting : deque of Example
        Fetched, and not yet among them: one that an error kept out, or all on resuming.
    used : int
        How many tokens of the first were delivered.
    left : int
        How many tokens there are to deliver in `parts`.

    """

    step: Pack
    child: Cursor

    def __init__(self, start: Start, step: Pack) -> None:
        self.child = start.child(step.data_stream)
        super().__init__(start, step)
        self.fetched = Fetched(self.child, step.data_stream)
        self._empty()

    def _empty(self) -> None:
        self.parts: deque[Example] = deque()
        self.waiting: deque[Example] = deque()
        self.used = 0
        self.left = 0

    def produce(self, request: Any) -> Any:
        """Return the next row."""
        step = self.step
        while self.left < step.length:
            if not self.waiting:
                try:
                    self.waiting.append(self.fetched.take())
                except StopIteration:
                    if self.left and step.partial:
                        break
                    self._empty()
                    self.fetched.held.clear()
                    raise
            example = self.waiting[0]
            example.data = step._sequences(example.data)
            self.waiting.popleft()
            length = self._length(example)
            if length:
                self.parts.append(example)
                self.left += length
            else:
                self.fetched.let_go(example)
        pieces = self._cut()
        row = step._row(pieces)
        self.context = step._address(pieces)
        self._use(pieces)
        return row

    def _length(self, example: Example) -> int:
        """Return how many tokens a sequence takes up, its separator included."""
        return len(example.data[0]) + (self.step.separator is not None)

    def _cut(self) -> list[Piece]:
        """Return the pieces of the next row."""
        pieces: list[Piece] = []
        start, room = self.used, self.step.length
        for example in self.parts:
            stop = min(self._length(example), start + room)
            pieces.append(Piece(example, start, stop))
            room -= stop - start
            start = 0
            if not room:
                break
        return pieces

    def _use(self, pieces: list[Piece]) -> None:
        for example, start, stop in pieces:
            self.left -= stop - start
            self.used = stop
            if stop == self._length(example):
                self.fetched.let_go(example)
                self.parts.popleft()
                self.used = 0

    def tell(self) -> JSON:
        """Describe the sequences held, and how much of the first was used."""
        return {"held": self.fetched.tell(), "used": self.used}

    def seek(self, mark: JSON) -> None:
        """Fetch again what was held."""
        self._empty()
        self.waiting.extend(self.fetched.seek(mark["held"]))
        self.used = mark["used"]
        self.left = -self.used
