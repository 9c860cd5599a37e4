"""Containers one after the other: `joinobs`.

Not here: mixtures by weights, which are streams (`fuel.streams`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy

from fuel.kernels import memory
from fuel.observations._access import fetch, numobs
from fuel.observations._storing import store
from fuel.observations._view import View, describe, rebuild

__all__ = ["JoinedObs", "joinobs"]


def joinobs(*datas: Any) -> Any:
    """Return a container with the observations of several containers, one after the other.

    Parameters
    ----------
    *datas : containers
        At least one. Arrays in them must agree in type and in the shape of an observation.

    Returns
    -------
    container
        Its first observations are those of the first container, and so on. A batch is put together
        from one batch of each container that it touches.

    Raises
    ------
    ValueError
        If there are no containers, or their arrays or structures differ.
    TypeError
        If one is no container.

    Notes
    -----
    Copies nothing. Pickles, and is safe from several threads, if the containers are.

    Examples
    --------
    >>> from fuel.observations import getobs, joinobs
    >>> joined = joinobs(range(1, 11), range(11, 21))
    >>> len(joined), getobs(joined, 14), getobs(joined, [19, 0])
    (20, 15, [20, 1])

    """
    if not datas:
        raise ValueError("joinobs needs at least one container, got none")
    lengths = [numobs(data) for data in datas]
    for number, data in enumerate(datas[1:], start=1):
        difference = _difference(datas[0], data, "")
        if difference:
            raise ValueError(f"containers 0 and {number} cannot be joined: {difference}")
    return JoinedObs(datas, lengths)


class JoinedObs(View):
    """The observations of several containers, one after the other.

    Parameters
    ----------
    datas : tuple of containers
        They agree in structure.
    lengths : list of int
        How many observations each has.

    """

    def __init__(self, datas: tuple[Any, ...], lengths: list[int]) -> None:
        self.datas = datas
        #: Number of the first observation of each, and of the one after the last.
        self.bounds = numpy.cumsum([0, *lengths], dtype=numpy.int64)

    def __len__(self) -> int:
        return int(self.bounds[-1])

    def _fetch(self, rows: Any, out: Any = None) -> Any:
        if isinstance(rows, int):
            part, place = self._locate(rows)
            return fetch(self.datas[part], place, out)
        if isinstance(rows, slice):
            if rows.stop <= rows.start:
                return fetch(self.datas[0], slice(0, 0, 1), out)
            part, place = self._locate(rows.start)
            if rows.stop <= self.bounds[part + 1]:
                stop = place + rows.stop - rows.start
                return fetch(self.datas[part], slice(place, stop, rows.step), out)
            rows = numpy.arange(rows.start, rows.stop, rows.step, dtype=numpy.int64)
        if not len(rows):
            return fetch(self.datas[0], rows, out)
        parts = numpy.searchsorted(self.bounds, rows, side="right") - 1
        touched = numpy.unique(parts).tolist()
        if len(touched) == 1:
            return fetch(self.datas[touched[0]], rows - self.bounds[touched[0]], out)
        places = [numpy.flatnonzero(parts == part) for part in touched]
        pieces = [
            fetch(self.datas[part], rows[chosen] - self.bounds[part])
            for part, chosen in zip(touched, places, strict=True)
        ]
        return store(_combine(pieces, places, len(rows)), out)

    def _locate(self, row: int) -> tuple[int, int]:
        part = int(numpy.searchsorted(self.bounds, row, side="right")) - 1
        return part, row - int(self.bounds[part])

    def __repr__(self) -> str:
        return f"joinobs({', '.join(map(describe, self.datas))})"


def _combine(pieces: list[Any], places: list[Any], count: int) -> Any:
    """Put batches together: the rows of piece i are to be at places[i]."""
    first = pieces[0]
    if isinstance(first, (tuple, Mapping)):
        mapped = isinstance(first, Mapping)
        keys = list(first) if mapped else range(len(first))
        for piece in pieces[1:]:
            # Of some containers it is not known before what they give.
            kind = Mapping if mapped else tuple
            there = list(piece) if mapped else range(len(piece))
            if not isinstance(piece, kind) or set(there) != set(keys):
                raise ValueError(
                    f"joined containers must give batches of one structure, got {first!r:.80} and "
                    f"{piece!r:.80}"
                )
        return rebuild(first, [_combine([p[key] for p in pieces], places, count) for key in keys])
    if all(isinstance(piece, numpy.ndarray) for piece in pieces):
        for piece in pieces[1:]:
            difference = _difference(first, piece, "")
            if difference:
                raise ValueError(f"joined containers must give batches of one form: {difference}")
        shape = (count, *first.shape[1:])
        new: Any = numpy.empty if first.dtype.hasobject else memory.empty
        batch = new(shape, first.dtype)
        for piece, chosen in zip(pieces, places, strict=True):
            batch[chosen] = piece
        return batch
    observations: list[Any] = [None] * count
    for piece, chosen in zip(pieces, places, strict=True):
        for place, observation in zip(chosen.tolist(), piece, strict=True):
            observations[place] = observation
    return observations


def _difference(one: Any, other: Any, path: str) -> str:
    """Say in which way two containers cannot be joined, in no words if they can."""
    if isinstance(one, (tuple, Mapping)) or isinstance(other, (tuple, Mapping)):
        if any(not isinstance(each, (tuple, Mapping, numpy.ndarray)) for each in (one, other)):
            return ""  # a view, say, whose observations may well have that structure
        mapped = isinstance(one, Mapping), isinstance(other, Mapping)
        arrays = isinstance(one, numpy.ndarray) or isinstance(other, numpy.ndarray)
        if mapped[0] != mapped[1] or arrays:
            return f"{_where(path)}one is a {type(one).__name__}, one a {type(other).__name__}"
        keys = [list(each) if mapped[0] else list(range(len(each))) for each in (one, other)]
        if set(keys[0]) != set(keys[1]):
            return f"{_where(path)}one has the parts {keys[0]}, one {keys[1]}"
        found = (_difference(one[key], other[key], f"{path}[{key!r}]") for key in keys[0])
        return next((each for each in found if each), "")
    if isinstance(one, numpy.ndarray) and isinstance(other, numpy.ndarray):
        if one.dtype != other.dtype:
            return f"{_where(path)}one is of type {one.dtype}, one of {other.dtype}; cast one"
        if one.shape[1:] != other.shape[1:]:
            return (
                f"{_where(path)}an observation has shape {one.shape[1:]} in one and "
                f"{other.shape[1:]} in the other; make them alike (mapobs)"
            )
    return ""


def _where(path: str) -> str:
    return f"at {path}, " if path else ""
