"""What the columns of a CSV file hold: found out value by value, then put into arrays.

Reading the file is done by `fuel.converters.bring.tables`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy

from fuel.converters.bring._common import class_dtype
from fuel.converters.writer import SourceSpec

__all__ = ["Column", "looks_like_number"]

_INTEGER = re.compile(r"[+-]?(?:0|[1-9][0-9]*)").fullmatch
_FLOAT = re.compile(
    r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity|nan)", re.IGNORECASE
).fullmatch
#: A number with zeros in front is a code: a postcode, a telephone number.
_CODE = re.compile(r"[+-]?0[0-9]+").fullmatch

#: What stands for a missing number; in a column of text only an empty field is a missing one.
MISSING = frozenset(("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null"))

#: A text column with so many values, each on average used twice, is one of categories.
_MOST_CATEGORIES = 256
#: A target that is text is always one of categories, up to here.
_MOST_CLASSES = 65536

INTEGER, FLOAT, TEXT, CATEGORICAL = "int", "float", "str", "categorical"


def looks_like_number(text: str) -> bool:
    """Whether a field holds a number."""
    return _FLOAT(text.strip()) is not None


class Column:
    """One column: what was seen in it, and how its values become numbers.

    Parameters
    ----------
    name : str
        Its name.
    kind : str or None
        ``'str'`` or ``'categorical'`` where the user says so.
    missing : frozenset of str
        What stands for a missing value besides the usual.
    target : bool, optional
        Whether it is the one to be predicted, whose texts are categories.

    """

    def __init__(
        self, name: str, kind: str | None, missing: frozenset[str], target: bool = False
    ) -> None:
        self.name = name
        self.given = kind
        self.extra = missing
        self.target = target
        self.kind = kind or INTEGER
        self.count = 0
        self.blanks = 0
        self.first_blank: tuple[int, int] | None = None
        self.tokens = 0
        self.first_token: tuple[int, int] | None = None
        self.limit = _MOST_CLASSES if target or kind == CATEGORICAL else _MOST_CATEGORIES
        self.values: set[str] | None = set()
        self.categories: dict[str, int] = {}
        self.filled = False

    def update(self, values: Sequence[str], file: int, lines: Sequence[int]) -> None:
        """Learn from some values.

        Parameters
        ----------
        values : sequence of str
            The values.
        file : int
            Number of the file that they are from.
        lines : sequence of int
            Their lines.

        """
        values = [value.strip() for value in values]
        self.count += len(values)
        if self.values is not None:
            self.values.update(values)
            # Blanks are counted apart.
            if len(self.values) > self.limit + 1:
                self.values = None
        special = MISSING | self.extra
        if not special.isdisjoint(values):
            for value, line in zip(values, lines, strict=True):
                if value == "" or value in self.extra:
                    self.blanks += 1
                    self.first_blank = self.first_blank or (file, line)
                elif value in MISSING:
                    self.tokens += 1
                    self.first_token = self.first_token or (file, line)
            values = [value for value in values if value not in special]
        if self.kind == INTEGER and not all(map(_INTEGER, values)):
            self.kind = FLOAT
        if self.kind == INTEGER and values and max(map(len, values)) > 18:
            if any(not -(2**63) <= int(value) < 2**63 for value in values):
                self.kind = TEXT  # as a float it would be another number
        if self.kind == FLOAT and (not all(map(_FLOAT, values)) or any(map(_CODE, values))):
            self.kind = TEXT

    @property
    def numeric(self) -> bool:
        """Whether the values are numbers."""
        return self.kind in (INTEGER, FLOAT)

    @property
    def missing(self) -> int:
        """How many values are missing."""
        return self.blanks + (self.tokens if self.numeric else 0)

    @property
    def first_missing(self) -> tuple[int, int]:
        """File and line of the first missing value."""
        found = [self.first_blank, self.first_token if self.numeric else None]
        return min(place for place in found if place is not None)

    def lacks(self, value: str) -> bool:
        """Whether a field is a missing value."""
        value = value.strip()
        return value == "" or value in self.extra or (self.numeric and value in MISSING)

    def settle(self, fill: bool) -> None:
        """Decide on the type, when everything was seen.

        Parameters
        ----------
        fill : bool
            Whether missing values are replaced by NaN, or by an empty text.

        """
        self.filled = fill and self.missing > 0
        if self.kind == INTEGER and self.count == self.missing:
            self.kind = FLOAT  # nothing but missing values
        if self.filled and self.kind == INTEGER:
            self.kind = FLOAT
        if self.kind == TEXT and self.given is None and self.values is not None:
            few = 2 * len(self.values) <= self.count
            if self.target or few:
                self.kind = CATEGORICAL
        if self.kind == CATEGORICAL and self.values is not None:
            texts = {"" if value in self.extra else value for value in self.values}
            if not self.filled:
                texts.discard("")
            self.categories = {text: number for number, text in enumerate(sorted(texts))}
        if self.kind != CATEGORICAL:
            self.values = None

    @property
    def crowded(self) -> bool:
        """Whether there are too many categories."""
        return self.kind == CATEGORICAL and self.values is None

    @property
    def spec(self) -> SourceSpec:
        """What one example of the column is like."""
        if self.kind == TEXT:
            return SourceSpec((), "str", ("batch",))
        return SourceSpec((), self.dtype, ("batch",))

    @property
    def dtype(self) -> numpy.dtype[Any]:
        """The type of the numbers."""
        if self.kind == CATEGORICAL:
            return class_dtype(len(self.categories))
        return numpy.dtype("int64" if self.kind == INTEGER else "float64")

    def convert(self, values: Sequence[str]) -> Any:
        """Return values as an array, or as a list of texts."""
        if self.kind == TEXT:
            return ["" if value in self.extra else value for value in values]
        if self.kind == CATEGORICAL:
            texts = (value.strip() for value in values)
            numbers = [self.categories["" if text in self.extra else text] for text in texts]
            return numpy.array(numbers, dtype=self.dtype)
        if self.kind == INTEGER:
            return numpy.array(list(map(int, values)), dtype=numpy.int64)
        if self.filled:
            return numpy.array(
                [math.nan if self.lacks(value) else float(value) for value in values]
            )
        return numpy.array(list(map(float, values)), dtype=numpy.float64)
