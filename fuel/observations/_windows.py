"""Windows of adjacent observations: `slidingwindow`.

Not here: windows over the sequences of a stream (`fuel.transformers.timeseries`,
`fuel.transformers.sequences`).
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import numpy

from fuel.observations._access import fetch, is_numeric, numbers_of, numobs
from fuel.observations._obsview import ObsView
from fuel.observations._storing import store
from fuel.observations._view import View, describe, rebuild

__all__ = ["Windows", "slidingwindow"]


def slidingwindow(data: Any, size: int, *, stride: int = 1) -> Any:
    """Return a container of windows, each of some adjacent observations.

    Parameters
    ----------
    data : container
        Any container.
    size : int
        How many observations a window has, at most as many as there are.
    stride : int, optional
        How many observations after a window the next one begins.

    Returns
    -------
    container
        Window i is the batch of the observations from ``i * stride`` to ``i * stride + size - 1``.
        Only whole windows count: observations at the end may be in none. Several windows are an
        array of shape ``(n, size, ...)`` where the data is an array of numbers, each in a structure
        of such arrays, and else a list of windows.

    Raises
    ------
    ValueError
        If `size` or `stride` is not positive, or `size` larger than the data.
    TypeError
        If `data` is no container, or a number no integer.

    Notes
    -----
    Copies nothing before a window is fetched. Pickles, and is safe from several threads, if the
    data is.

    Examples
    --------
    >>> import numpy
    >>> from fuel.observations import slidingwindow
    >>> windows = slidingwindow(numpy.arange(11, 31), 6, stride=3)
    >>> for window in windows:
    ...     print(window)
    [11 12 13 14 15 16]
    [14 15 16 17 18 19]
    [17 18 19 20 21 22]
    [20 21 22 23 24 25]
    [23 24 25 26 27 28]
    >>> windows[[0, 4]].shape
    (2, 6)

    """
    count, width, step = numobs(data), operator.index(size), operator.index(stride)
    if not 1 <= width <= count:
        raise ValueError(
            f"`size` must be from 1 to the number of observations, {count}, got {width}"
        )
    if step < 1:
        raise ValueError(f"`stride` must be a positive integer, got {step}")
    return Windows(data, width, step)


class Windows(View):
    """Windows of adjacent observations.

    Parameters
    ----------
    data : container
        The observations.
    size : int
        How many a window has.
    stride : int
        How many are between the beginnings of two windows.

    """

    def __init__(self, data: Any, size: int, stride: int) -> None:
        self.data, self.size, self.stride = data, size, stride

    def __len__(self) -> int:
        return (numobs(self.data) - self.size) // self.stride + 1

    def _fetch(self, rows: Any, out: Any = None) -> Any:
        if isinstance(rows, int):
            start = rows * self.stride
            return fetch(self.data, slice(start, start + self.size, 1), out)
        inside = self.data.data if isinstance(self.data, ObsView) else self.data
        if not is_numeric(inside):
            return store([self._fetch(row) for row in numbers_of(rows)], out)
        starts = numpy.array(numbers_of(rows), dtype=numpy.int64) * self.stride
        within = (starts[:, None] + numpy.arange(self.size)).reshape(-1)
        return store(_divide(fetch(self.data, within), len(starts), self.size), out)

    def __repr__(self) -> str:
        return f"slidingwindow({describe(self.data)}, size={self.size}, stride={self.stride})"


def _divide(batch: Any, count: int, size: int) -> Any:
    """Give every array of a batch one more axis."""
    if isinstance(batch, (tuple, Mapping)):
        parts = batch.values() if isinstance(batch, Mapping) else batch
        return rebuild(batch, [_divide(part, count, size) for part in parts])
    return batch.reshape(count, size, *batch.shape[1:])
