"""The lines of CSV files: taken apart by Python's `csv`, with the number of each in messages.

What the fields mean is found out in ``_columns``; the command is in `fuel.converters.bring.tables`.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, cast

from fuel.converters.bring import _common
from fuel.converters.bring._columns import looks_like_number
from fuel.exceptions import StorageError
from fuel.utils._compressed import errors, open_bytes

__all__ = ["CsvFiles"]

#: Lines that are held at a time, and characters after which a batch ends early.
_LINES = 4096
_CHARACTERS = 4 * 2**20


class CsvFiles:
    """The lines of several CSV files with the same columns."""

    def __init__(
        self,
        inputs: Sequence[_common.Input],
        header: bool,
        delimiter: str,
        quote: str,
        encoding: str,
    ) -> None:
        self.inputs = inputs
        self.header = header
        self.encoding = encoding
        self.options: dict[str, Any] = {"delimiter": delimiter, "strict": True}
        if quote:
            self.options["quotechar"] = quote
        else:
            self.options["quoting"] = csv.QUOTE_NONE
        self.names: list[str] = []

    def chunks(self) -> Iterator[tuple[int, list[int], list[list[str]]]]:
        """Yield the number of a file, numbers of lines, and their fields."""
        for number, found in enumerate(self.inputs):
            lines = self._lines(found)
            if self.header:
                self._check_header(found, next(lines, None))
            elif not self.names:
                first = next(lines, None)
                if first is None:
                    raise StorageError(f"{found.name} is empty; leave it out, or get it again")
                self.names = [f"column_{place}" for place in range(len(first[1]))]
                lines = itertools.chain([first], lines)
            yield from self._cut(number, found, lines)

    def _cut(
        self, number: int, found: _common.Input, lines: Iterator[tuple[int, list[str]]]
    ) -> Iterator[tuple[int, list[int], list[list[str]]]]:
        width = len(self.names)
        places: list[int] = []
        rows: list[list[str]] = []
        size = 0
        for line, fields in lines:
            if len(fields) != width:
                raise StorageError(
                    f"line {line} of {found.name} has {len(fields)} fields where there are "
                    f"{width} columns ({', '.join(self.names)[:80]}); mend the line, or name "
                    "another --delimiter"
                )
            places.append(line)
            rows.append(fields)
            size += sum(map(len, fields))
            if len(rows) == _LINES or size > _CHARACTERS:
                yield number, places, rows
                places, rows, size = [], [], 0
        if rows:
            yield number, places, rows

    def _lines(self, found: _common.Input) -> Iterator[tuple[int, list[str]]]:
        """Yield the lines that are not blank, with their numbers."""
        line = 0
        try:
            with io.TextIOWrapper(
                cast(Any, open_bytes(found.path)), encoding=self.encoding, newline=""
            ) as text:
                reader = csv.reader(text, **self.options)
                line = 1
                for fields in reader:
                    if fields:
                        yield line, fields
                    line = reader.line_num + 1
        except UnicodeDecodeError as error:
            raise StorageError(
                f"{found.name} is not text in the encoding {self.encoding}: {error.reason} (byte "
                f"{error.object[error.start]:#04x}, at line {line} or soon after); name another "
                "with --encoding, for example latin-1"
            ) from error
        except csv.Error as error:
            raise StorageError(
                f"line {line} of {found.name} cannot be taken apart: {error}; mend the line (is a "
                "quote not closed?), or name another --quote, or none with --quote ''"
            ) from error
        except errors() as error:
            if isinstance(error, StorageError):
                raise
            raise StorageError(
                f"{found.name} cannot be read after line {line}: {error}; check that it is whole"
            ) from error

    def _check_header(self, found: _common.Input, first: tuple[int, list[str]] | None) -> None:
        if first is None:
            raise StorageError(f"{found.name} is empty; leave it out, or get it again")
        names = [name.strip() or f"column_{place}" for place, name in enumerate(first[1])]
        if self.names:
            if names != self.names:
                raise StorageError(
                    f"{found.name} has the columns {', '.join(names)[:200]}, but "
                    f"{self.inputs[0].name} has {', '.join(self.names)[:200]}; convert files with "
                    "the same header together, others by themselves"
                )
            return
        if all(map(looks_like_number, names)):
            raise StorageError(
                f"the first line of {found.name} holds numbers, no names of columns: "
                f"{', '.join(names)[:80]}; if it is data, say so with --no-header"
            )
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise StorageError(
                f"{found.name} has several columns named {', '.join(sorted(twice))}; rename them"
            )
        self.names = names
