"""All of a dataset, a bounded part at a time, each part read once and in the order of the file.

Whole rows are read where they are small; where rows, or the chunks that hold them, are large, they
are read in parts that do not know where a row ends.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy

__all__ = ["BLOCK_BYTES", "parts", "whole_rows"]

#: As much as is read at a time.
BLOCK_BYTES = 8 * 2**20
#: A row of chunks that is larger is read chunk by chunk.
_LARGE_SLAB = 64 * 2**20
#: How many elements of variable length are read first; how large they are is not known.
_FIRST_ROWS = 16
_MOST_ROWS = 65536


def whole_rows(dataset: Any) -> bool:
    """Tell whether `parts` yields whole rows of a dataset."""
    if not dataset.shape:
        return False
    return not dataset.chunks or _slab_bytes(dataset) <= _LARGE_SLAB


def _row_bytes(dataset: Any) -> int:
    size: int = math.prod(dataset.shape[1:]) * dataset.dtype.itemsize
    return max(1, size)


def _slab_bytes(dataset: Any) -> int:
    return int(_row_bytes(dataset) * dataset.chunks[0])


def parts(dataset: Any, rows: Any) -> Iterator[tuple[int, Any]]:
    """Yield all of a dataset.

    Parameters
    ----------
    dataset : h5py.Dataset
        The dataset.
    rows : Rows
        What reads its rows, see `fuel.io.hdf5.store.Store.rows`.

    Yields
    ------
    start : int
        The first row.
    values : ndarray
        Whole rows, if `whole_rows` says so and a row is not larger than `BLOCK_BYTES`.

    """
    if dataset.shape is None:
        return
    if dataset.shape == ():
        yield 0, numpy.asarray(dataset[()])[None]
    elif dataset.dtype.hasobject:
        yield from _varying(dataset, rows)
    elif not math.prod(dataset.shape):
        return
    elif not whole_rows(dataset):
        for place in dataset.iter_chunks():
            yield place[0].start, dataset[place]
    elif _row_bytes(dataset) > BLOCK_BYTES:
        yield from _cut_rows(dataset)
    else:
        count = max(1, BLOCK_BYTES // _row_bytes(dataset))
        if dataset.chunks:
            count = max(1, count // dataset.chunks[0]) * dataset.chunks[0]
        for start in range(0, len(dataset), count):
            yield start, rows.take(slice(start, min(start + count, len(dataset)), 1))


def _cut_rows(dataset: Any) -> Iterator[tuple[int, Any]]:
    """Cut rows along their first axes until what is left fits."""
    size, axes = dataset.dtype.itemsize, 1
    while axes < dataset.ndim and math.prod(dataset.shape[axes:]) * size > BLOCK_BYTES:
        axes += 1
    axes = min(axes, dataset.ndim)
    inner = math.prod(dataset.shape[axes:]) * size
    step = max(1, BLOCK_BYTES // max(1, inner))
    if dataset.chunks:
        step = max(step, dataset.chunks[axes - 1])
    for place in itertools.product(*map(range, dataset.shape[: axes - 1])):
        for start in range(0, dataset.shape[axes - 1], step):
            yield (place or (start,))[0], dataset[(*place, slice(start, start + step))]


def _varying(dataset: Any, rows: Any) -> Iterator[tuple[int, Any]]:
    """Read elements of variable length, so many at a time as the ones before suggest."""
    across = max(1, math.prod(dataset.shape[1:]))
    if not math.prod(dataset.shape):
        return
    start, count = 0, max(1, _FIRST_ROWS // across)
    while start < len(dataset):
        stop = min(start + count, len(dataset))
        values = rows.take(slice(start, stop, 1))
        yield start, values
        largest = max((_bytes_of(value) for value in values.reshape(-1)), default=0)
        fitting = BLOCK_BYTES // max(1, (largest + 64) * across)
        count = max(1, min(2 * count, fitting, max(1, _MOST_ROWS // across)))
        start = stop


def _bytes_of(value: Any) -> int:
    if isinstance(value, numpy.ndarray):
        return int(value.nbytes)
    return len(value) if isinstance(value, bytes | str) else 64
