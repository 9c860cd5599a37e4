"""Count, range, mean and spread of numbers that come in parts; numbers of examples of classes."""

from __future__ import annotations

import math
from typing import Any

import numpy
from numpy.typing import NDArray

__all__ = ["Classes", "Moments"]

#: So many numbers are looked at together: what is computed of them stays in the processor's cache.
_PIECE = 1 << 16
#: Squares of numbers with a larger exponent (of 2) do not fit, nor those with a smaller one.
_LARGE_EXPONENT = 400
#: More classes than this are no classes.
_MOST_CLASSES = 1000


class Moments:
    """Count, smallest, largest, mean and standard deviation of numbers that come in parts.

    Parts are joined by the formulas of Chan, Golub and LeVeque ("Updating formulae and a pairwise
    algorithm for computing sample variances", Stanford University STAN-CS-79-773, 1979), which do
    not lose digits where the mean is large. Numbers whose squares would not fit are scaled by a
    power of two. What is not a number or infinite is counted and left out.

    Attributes
    ----------
    count, missing, infinite : int
        How many numbers there were, those aside that are not a number or infinite.

    Examples
    --------
    >>> import numpy
    >>> from fuel.inspection._moments import Moments
    >>> moments = Moments()
    >>> for part in (numpy.array([1, 2]), numpy.array([3, 6])):
    ...     moments.add(part)
    >>> moments.summary()["mean"], moments.summary()["max"]
    (3.0, 6)

    """

    def __init__(self) -> None:
        self.count = self.missing = self.infinite = 0
        self.smallest: float | None = None
        self.largest: float | None = None
        self._mean = self._squares = 0.0
        # Mean and squares are of the numbers divided by two to this power.
        self._exponent: int | None = None

    def add(self, values: Any) -> None:
        """Take more numbers into account.

        Parameters
        ----------
        values : ndarray
            Numbers of any shape; of complex ones the magnitude is taken.

        """
        values = numpy.asarray(values).reshape(-1)
        for start in range(0, len(values), _PIECE):
            piece = values[start : start + _PIECE]
            if piece.dtype.kind == "c":
                piece = numpy.abs(piece)
            if piece.dtype.kind == "f":
                piece = self._finite(piece)
            if len(piece):
                self._add(piece)

    def _finite(self, piece: NDArray[Any]) -> NDArray[Any]:
        finite = numpy.isfinite(piece)
        if bool(finite.all()):
            return piece
        missing = int(numpy.count_nonzero(numpy.isnan(piece)))
        self.missing += missing
        self.infinite += len(piece) - int(numpy.count_nonzero(finite)) - missing
        kept: NDArray[Any] = piece[finite]
        return kept

    def _add(self, piece: NDArray[Any]) -> None:
        whole = piece.dtype.kind in "iub"
        low, high = piece.min(), piece.max()
        low, high = (int(low), int(high)) if whole else (float(low), float(high))
        self.smallest = low if self.smallest is None else min(self.smallest, low)
        self.largest = high if self.largest is None else max(self.largest, high)
        exact = piece.astype(numpy.float64)
        exponent = self._scaled(float(max(abs(low), abs(high))))
        if exponent:
            exact = numpy.ldexp(exact, -exponent)
        mean = float(exact.mean())
        exact -= mean
        squares = float(numpy.dot(exact, exact))
        total = self.count + len(piece)
        away = mean - self._mean
        self._mean += away * len(piece) / total
        self._squares += squares + away * away * self.count * len(piece) / total
        self.count = total

    def _scaled(self, peak: float) -> int:
        """Return the power of two by which numbers are divided, after bringing the sums to it."""
        if peak == 0.0 or math.isinf(peak):
            return self._exponent or 0
        exponent = math.frexp(peak)[1]
        wanted = exponent if abs(exponent) > _LARGE_EXPONENT else 0
        if self._exponent is None:
            self._exponent = wanted
        elif wanted > self._exponent:
            shift = self._exponent - wanted
            self._mean = math.ldexp(self._mean, shift)
            self._squares = math.ldexp(self._squares, 2 * shift)
            self._exponent = wanted
        return self._exponent

    def summary(self) -> dict[str, Any]:
        """Return the numbers as plain JSON; None where there are none.

        Returns
        -------
        dict
            ``count``, ``min``, ``max``, ``mean``, ``std`` (of all, divided by their number),
            ``nan`` and ``inf``.

        """
        mean = std = None
        if self.count:
            mean = _times(self._mean, self._exponent or 0)
            std = _times(math.sqrt(max(0.0, self._squares) / self.count), self._exponent or 0)
        return {
            "count": self.count,
            "min": _told(self.smallest),
            "max": _told(self.largest),
            "mean": mean,
            "std": std,
            "nan": self.missing,
            "inf": self.infinite,
        }


def _times(value: float, exponent: int) -> float | None:
    try:
        return _told(math.ldexp(value, exponent))
    except OverflowError:
        return None


def _told(value: float | None) -> float | None:
    """Return a number that JSON can tell."""
    return value if value is None or math.isfinite(value) else None


class Classes:
    """How many examples of each class there are in each split.

    Parameters
    ----------
    splits : dict
        Name → rows that belong to it: a slice, or one bit for each row of the source.

    """

    def __init__(self, splits: dict[str, Any]) -> None:
        self._splits = splits
        self._counts: dict[str, dict[int, int]] | None = {name: {} for name in splits}

    def add(self, start: int, values: Any) -> None:
        """Count more rows.

        Parameters
        ----------
        start : int
            The first row.
        values : ndarray
            One whole number a row.

        """
        if self._counts is None:
            return
        values = values.reshape(-1)
        stop = start + len(values)
        for name, rows in self._splits.items():
            if isinstance(rows, slice):
                part = values[max(rows.start - start, 0) : max(min(rows.stop, stop) - start, 0)]
            else:
                first = start // 8
                bits = numpy.unpackbits(rows[first : -(-stop // 8)], bitorder="little")
                part = values[bits[start - 8 * first : stop - 8 * first].astype(bool)]
            counts = self._counts[name]
            for value, count in zip(*(found.tolist() for found in _unique(part)), strict=True):
                counts[int(value)] = counts.get(int(value), 0) + count
            if len(counts) > _MOST_CLASSES:
                self._counts = None
                return

    def summary(self) -> dict[str, dict[str, int]] | None:
        """Return split → class → examples; None if there are too many classes to be classes."""
        if self._counts is None:
            return None
        return {
            split: {str(value): counts[value] for value in sorted(counts)}
            for split, counts in self._counts.items()
        }


def _unique(part: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    if part.dtype.itemsize == 1 and part.dtype.kind in "ub":
        counts = numpy.bincount(part, minlength=1)
        (classes,) = numpy.nonzero(counts)
        return classes, counts[classes]
    return numpy.unique(part, return_counts=True)
