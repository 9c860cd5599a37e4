"""Several sequences in one row: `Pack`.

Here: the step, what it checks, and how a row is made of pieces. Which pieces share a row is
decided in `fuel.transformers._packed_rows`; one sequence a row, padded, is `Padding`.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy

from fuel.kernels import packing
from fuel.plan import Cursor
from fuel.transformers._base import Transformer
from fuel.transformers._checks import check_integer, labels_below, need_examples, sources_below
from fuel.transformers._packed_rows import ConcatenateCursor, FirstFitCursor
from fuel.utils._owning import own_array

if TYPE_CHECKING:
    from fuel.plan import Start

__all__ = ["Pack"]

_HOW = ("first-fit", "concatenate")
_TOO_LONG = ("error", "split", "drop")
#: Rows open at a time. Of 50,000 lengths from 1 to that of a row, drawn evenly, 4 leave 12 % of the
#: rows empty, 16 leave 7 %, 64 leave 4 %; of lengths as in prose (log-normal) 16 leave 1 %.
_OPEN_ROWS = 16


class Pack(Transformer):
    """Packs sequences into rows of one length, so that little or nothing is padded.

    Parameters
    ----------
    data_stream : AbstractDataStream
        A stream of examples whose sources are all sequences: within an example of one length, and
        alike in all but the first dimension.
    length : int
        How many tokens a row has.
    how : {'first-fit', 'concatenate'}, optional
        ``'first-fit'`` (default): sequences stay whole; each goes into the first of several open
        rows that has room for it. ``'concatenate'``: all sequences of the epoch are put end to
        end, and cut into rows wherever a row is full.
    open_rows : int, optional
        For first-fit: how many rows are open at a time. Default 16. When a sequence fits into none
        of so many, the fullest is closed.
    too_long : {'error', 'split', 'drop'}, optional
        For first-fit: what becomes of a sequence longer than a row. A ValueError (default), pieces
        of the length of a row and what remains, or nothing.
    separator : number, str or dict, optional
        For concatenation: a token put behind every sequence; a dict has one for each source.
    partial : bool, optional
        For concatenation: whether the last row is padded and delivered (default), or dropped,
        unless it is full.
    value : number, str or dict, optional
        What rows are padded with; a dict has one for each source, 0 for those it leaves out.
        Default 0.
    axis_labels : dict, optional
        Default: those below, and for what is added the first label of the first source.
    name : str, optional
        As for `AbstractDataStream`.

    Attributes
    ----------
    length, how, open_rows, too_long, separator, partial, value
        As given, or the defaults; None where `how` knows no such thing.

    Raises
    ------
    ValueError
        If the stream below produces batches; if a number is not positive; if arguments of the two
        ways are mixed, or name no source.
    TypeError
        If a number is no integer, or what fills rows is no number and no text.

    Notes
    -----
    All sources below are packed alike, and two are added, named after the first: with ``tokens``
    these are ``tokens_segment_ids`` (shape ``(length,)``, int32: 1 for the first sequence of the
    row, 2 for the second, 0 for padding) and ``tokens_positions`` (int32: the place of the token
    in its sequence, as far as that is in this row; 0 for padding). A separator belongs to the
    sequence before it. Each token comes exactly once; an empty sequence has none.

    The items are examples, for `Batch` to put together. A row is addressed (in random draws of the
    steps above) by the ordinal of the sequence that its first token is from, and by the place of
    that token in it, counted from 1: no two rows begin with the same token.

    A resumed pass fetches again the sequences that are partly or wholly in rows not yet delivered.
    (Where the stream below cannot go from place to place, since a user's function below remembers
    something, it reads on from the oldest of them.)

    Examples
    --------
    >>> from fuel.datasets import IterableDataset
    >>> from fuel.streams import DataStream
    >>> tokens = DataStream(IterableDataset({'t': [[1, 2, 3], [4, 5], [6], [7, 8]]}))
    >>> packed = Pack(tokens, 4)
    >>> packed.sources
    ('t', 't_segment_ids', 't_positions')
    >>> for row in packed:
    ...     print(*(source.tolist() for source in row))
    [1, 2, 3, 6] [1, 1, 1, 2] [0, 1, 2, 0]
    [4, 5, 7, 8] [1, 1, 2, 2] [0, 1, 0, 1]
    >>> for row in Pack(tokens, 4, how='concatenate', separator=9):
    ...     print(*(source.tolist() for source in row))
    [1, 2, 3, 9] [1, 1, 1, 1] [0, 1, 2, 3]
    [4, 5, 9, 6] [1, 1, 1, 2] [0, 1, 2, 0]
    [9, 7, 8, 9] [1, 2, 2, 2] [0, 0, 1, 2]

    """

    def __init__(
        self,
        data_stream: Any,
        length: int,
        *,
        how: str = "first-fit",
        open_rows: int | None = None,
        too_long: str | None = None,
        separator: Any = None,
        partial: bool | None = None,
        value: Any = 0,
        axis_labels: Any = None,
        name: str | None = None,
    ) -> None:
        need_examples("Pack", data_stream)
        below = sources_below("Pack", data_stream)
        if not below:
            raise ValueError("Pack needs a source of sequences, got a stream without sources")
        self._added = (f"{below[0]}_segment_ids", f"{below[0]}_positions")
        taken = sorted(set(self._added) & set(below))
        if taken:
            raise ValueError(
                f"Pack adds the sources {self._added}, but the stream below has {taken} already; "
                "rename them below"
            )
        if axis_labels is None:
            axis_labels = labels_below(data_stream)
            if axis_labels is not None:
                first = axis_labels.get(below[0])
                for source in self._added:
                    axis_labels[source] = None if not first else tuple(first)[:1]
        super().__init__(data_stream, produces_examples=True, axis_labels=axis_labels, name=name)
        self.length = _positive("length", length)
        if how not in _HOW:
            raise ValueError(
                f"`how` of Pack must be one of {_HOW}, got {how!r:.80}; the first keeps sequences "
                "whole, the other fills every row"
            )
        self.how = how
        fits = how == "first-fit"
        for argument, given, belongs in (
            ("open_rows", open_rows, fits),
            ("too_long", too_long, fits),
            ("separator", separator, not fits),
            ("partial", partial, not fits),
        ):
            if given is not None and not belongs:
                raise ValueError(
                    f"Pack got {argument}={given!r:.80}, which how={how!r} knows nothing of; leave "
                    f"it out, or use how={_HOW[fits]!r}"
                )
        open_rows = _OPEN_ROWS if open_rows is None else open_rows
        self.open_rows = _positive("open_rows", open_rows) if fits else None
        if too_long is not None and too_long not in _TOO_LONG:
            raise ValueError(
                f"`too_long` of Pack must be one of {_TOO_LONG}, got {too_long!r:.80}; it says "
                "what becomes of a sequence longer than a row"
            )
        self.too_long = (too_long or "error") if fits else None
        self.partial = None if fits else partial is None or bool(partial)
        self.separator = None if separator is None else _check_fill("separator", separator, below)
        if isinstance(self.separator, dict) and len(self.separator) < len(below):
            raise ValueError(
                f"`separator` of Pack must have an entry for each of {below}, got "
                f"{self.separator!r:.80}; the sources of an example stay of one length"
            )
        self.value = _check_fill("value", value, below)

    @property  # type: ignore[misc]  # read only, since it follows from the arguments
    def sources(self) -> Any:
        """Names of what a row holds: the sources below, segment ids and positions."""
        return (*self.data_stream.sources, *self._added)

    # -- what the passes ask --------------------------------------------------------------------

    def _sequences(self, data: Any) -> tuple[Any, ...]:
        """Return the sequences of an example as arrays, of one length."""
        names = self.data_stream.sources
        arrays = []
        for source, sequence in zip(names, data, strict=False):
            try:
                array = numpy.asarray(sequence)
            except ValueError as error:
                raise ValueError(
                    f"Pack: a sequence of source {source!r} is itself ragged: {sequence!r:.80}; "
                    "only the first dimension may vary"
                ) from error
            if array.ndim == 0:
                raise ValueError(
                    f"Pack: source {source!r} must hold sequences, got {sequence!r:.80}; take "
                    "sources that are none out with FilterSources"
                )
            arrays.append(array)
        lengths = {source: len(array) for source, array in zip(names, arrays, strict=False)}
        if len(set(lengths.values())) > 1:
            raise ValueError(
                f"Pack: the sources of an example must be of one length, got {lengths}; pack "
                "sequences of different lengths in streams of their own"
            )
        return tuple(arrays)

    def _check_length(self, length: int) -> None:
        """Refuse a sequence that is too long, if it is to be refused."""
        if length > self.length and self.too_long == "error":
            raise ValueError(
                f"Pack got a sequence of length {length}, longer than a row of {self.length}; use "
                "longer rows, too_long='split' or 'drop', or how='concatenate'"
            )

    def _row(self, pieces: list[tuple[Any, int, int]]) -> tuple[Any, ...]:
        """Return a row made of pieces, padded.

        A piece is the arrays of a sequence, and from which to before which of its tokens are in
        the row.
        """
        row = []
        for number, source in enumerate(self.data_stream.sources):
            parts = [(one[number], start, stop) for one, start, stop in pieces]
            row.append(self._column(source, parts))
        return (*row, *packing.runs([stop - start for _, start, stop in pieces], self.length))

    def _column(self, source: str, pieces: list[tuple[Any, int, int]]) -> Any:
        """Return a source of a row."""
        parts, separator = [], None
        for array, start, stop in pieces:
            length = len(array)
            if stop <= length:
                parts.append(array if stop - start == length else array[start:stop])
                continue
            # One behind the last token stands a separator.
            if separator is None:
                separator = self._separator(source, pieces)
                if separator is None:
                    return self._any_column(source, pieces)
            parts += (array[start:], separator) if start else (array, separator)
        column = packing.row(parts, self.length, functools.partial(self._fill, source))
        return self._any_column(source, pieces) if column is None else column

    def _separator(self, source: str, pieces: list[tuple[Any, int, int]]) -> Any:
        """Return a separator as an array like the others; None where that has to be looked at."""
        for array, _, _ in pieces:
            if array.size:
                if self._fill(source, array.dtype) is None:
                    return None
                separator = numpy.empty((1, *array.shape[1:]), dtype=array.dtype)
                separator[...] = _of(self.separator, source, None)
                return separator
        return None

    def _fill(self, source: str, dtype: Any) -> Any:
        """Return what pads rows of numbers of one type; None where that has to be looked at."""
        if dtype.kind not in "biufc" or not dtype.isnative:
            return None
        value, separator = _of(self.value, source, 0), _of(self.separator, source, None)
        try:
            return _known_fill(value, separator, source, dtype)
        except TypeError:  # given in a form that has no hash
            return None

    def _any_column(self, source: str, pieces: list[tuple[Any, int, int]]) -> Any:
        """Return a source of a row of sequences that are not alike, or not known to be."""
        arrays = [array for array, _, _ in pieces]
        # An empty list says nothing about type and shape.
        telling = [array for array in arrays if array.size]
        telling = telling or [array for array in arrays if array.dtype != numpy.float64]
        rest = (telling or arrays)[0].shape[1:]
        for array in arrays:
            if array.shape[1:] != rest and array.shape != (0,):
                raise ValueError(
                    f"Pack: all sequences of source {source!r} must agree in all dimensions but "
                    f"the first, got shapes {(telling or arrays)[0].shape} and {array.shape}; "
                    "reshape them below"
                )
        separator = _of(self.separator, source, None)
        try:
            dtypes = {array.dtype for array in telling} or {numpy.asarray(separator).dtype}
            dtype = numpy.result_type(*dtypes)
        except TypeError as error:
            raise ValueError(
                f"Pack: sequences of source {source!r} have types that no array can hold together "
                f"({sorted({str(array.dtype) for array in telling})}); convert them below"
            ) from error
        fill, dtype = _fitting("value", _of(self.value, source, 0), source, dtype)
        if separator is not None:
            separator, dtype = _fitting("separator", separator, source, dtype)
        column = numpy.full((self.length, *rest), fill, dtype=dtype)
        end = 0
        for array, start, stop in pieces:
            begin, end = end, end + stop - start
            part = array[start:stop]
            if len(part):
                column[begin : begin + len(part)] = part
            if len(part) < stop - start:
                column[end - 1] = separator  # it stands one behind the last token
        # Arrays and lists inside an array of objects are still those of the examples.
        return own_array(column)

    # -- what it offers to the plan -------------------------------------------------------------

    def _make_cursor(self, start: Start) -> Cursor:
        return FirstFitCursor(start, self) if self.too_long else ConcatenateCursor(start, self)

    def _num_items(self) -> int | None:
        return None

    def _num_examples(self) -> int | None:
        return None

    def _why_not_elementwise(self) -> str:
        return "puts sequences together: runs in order, in this process"

    def _parameters(self) -> dict[str, Any]:
        parameters = {"length": self.length, "how": self.how, "value": self.value}
        for name in ("open_rows", "too_long", "separator", "partial"):
            if getattr(self, name) is not None:
                parameters[name] = getattr(self, name)
        return parameters


def _of(fill: Any, source: str, default: Any) -> Any:
    return fill.get(source, default) if isinstance(fill, dict) else fill


@functools.lru_cache(maxsize=64, typed=True)
def _known_fill(value: Any, separator: Any, source: str, dtype: Any) -> Any:
    """Return what pads rows of a type, after a look at whether the separator fits as well."""
    fill, _ = _fitting("value", value, source, dtype)
    if separator is not None:
        _fitting("separator", separator, source, dtype)
    return fill


def _fitting(argument: str, fill: Any, source: str, dtype: Any) -> tuple[Any, Any]:
    """Return what fills a row, and the type of a row that holds it."""
    array = numpy.asarray(fill)
    if dtype.kind == array.dtype.kind and dtype.kind in "SU":
        return fill, numpy.promote_types(dtype, array.dtype)
    fits = (dtype.kind in "SU") == (array.dtype.kind in "SU") or dtype.kind == "O"
    if fits and dtype.kind in "biu":
        try:
            with numpy.errstate(all="ignore"):
                fits = bool(array.astype(dtype) == array)
        except (OverflowError, TypeError, ValueError):
            fits = False
    if not fits:
        raise ValueError(
            f"Pack: {argument}={fill!r} does not fit into the sequences of source {source!r}, "
            f"which are of type {dtype}; give another, by source as in {{{source!r}: ...}}, or "
            "convert the sequences below"
        )
    return fill, dtype


def _positive(argument: str, value: Any) -> int:
    number = check_integer("Pack", argument, value)
    if number < 1:
        raise ValueError(f"`{argument}` of Pack must be positive, got {number}; use at least 1")
    return number


def _check_fill(argument: str, fill: Any, sources: tuple[Any, ...]) -> Any:
    if isinstance(fill, Mapping):
        unknown = sorted(set(fill) - set(sources), key=str)
        if unknown:
            raise ValueError(
                f"`{argument}` of Pack names {unknown}, but the stream below has {sources}; use "
                "their names"
            )
        return {source: _check_fill(argument, fill[source], ()) for source in fill}
    if numpy.ndim(fill) or numpy.asarray(fill).dtype.kind not in "biufcSU":
        raise TypeError(
            f"`{argument}` of Pack must be a number or a text, or a dict with one for each source, "
            f"got {fill!r:.80}"
        )
    return fill
