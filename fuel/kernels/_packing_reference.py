"""Sequences in a row, in plain NumPy.

The door, `fuel.kernels.packing`, describes and checks; `_packing.pyx` is the compiled form.
"""

from __future__ import annotations

from typing import Any

import numpy

__all__ = ["runs", "scan"]


def scan(sequences: Any) -> None:
    """Return None: rows are read by the compiled form alone; NumPy itself puts them together.

    Parameters
    ----------
    sequences : list
        The sequences.

    """


def runs(lengths: list[int], numbers: Any, places: Any) -> None:
    """Write for each place of a row which sequence it is in, counted from 1, and where in that.

    Parameters
    ----------
    lengths : list of int
        Of the sequences in the row; together no more than its width.
    numbers, places : numpy.ndarray, shape (width,), dtype int32
        Where both are written; 0 behind all sequences.

    """
    counts = numpy.array(lengths, dtype=numpy.int32)
    ends = counts.cumsum(dtype=numpy.int32)
    total = int(ends[-1]) if len(ends) else 0
    numbers[:total] = numpy.arange(1, len(counts) + 1, dtype=numpy.int32).repeat(counts)
    places[:total] = numpy.arange(total, dtype=numpy.int32)
    places[:total] -= (ends - counts).repeat(counts)
    numbers[total:] = 0
    places[total:] = 0
