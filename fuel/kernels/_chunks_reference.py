"""Rows out of decoded chunks in plain NumPy: what the compiled form does, more slowly.

The door, `fuel.kernels.chunks`, describes and explains; `_chunks.pyx` is the compiled form with
the same functions.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy
from numpy.typing import NDArray

__all__ = ["fetch", "gather", "missing"]

_ODD, _ABSENT = -1, -3


def gather(
    pointers: Any,
    rows: Any,
    chunk_rows: int,
    tiles: int,
    runs: Any,
    chunk_row_bytes: int,
    out: Any,
    places: Any,
) -> int:
    """Copy rows out of chunks.

    Parameters
    ----------
    pointers, rows, chunk_rows, tiles, runs, chunk_row_bytes, out, places
        As for `fuel.kernels.chunks.gather_tiles`.

    Returns
    -------
    int
        0 if that was done, a negative number where the door has to look.

    """
    if not _fits(pointers, rows, chunk_rows, tiles, None):
        return _ODD
    if not _has_room(rows, chunk_rows, tiles, runs, chunk_row_bytes, out, places):
        return _ODD
    vectors = [pointers, rows, runs] + ([] if places is None else [places])
    if any(numpy.may_share_memory(out, vector) for vector in vectors):
        return _ODD
    return _copy(pointers, rows, chunk_rows, tiles, runs, chunk_row_bytes, out, places)


def fetch(
    pointers: Any,
    rows: Any,
    chunk_rows: int,
    tiles: int,
    runs: Any,
    chunk_row_bytes: int,
    out: Any,
    places: Any,
    touched: Any,
) -> int:
    """Copy rows out of chunks if all of them are there.

    Parameters
    ----------
    pointers, rows, chunk_rows, tiles, runs, chunk_row_bytes, out, places, touched
        As for `fuel.kernels.chunks.fetch`.

    Returns
    -------
    int
        How many rows are in chunks that are not there, 0 if all were copied; a negative number
        where the door has to look.

    """
    if not _fits(pointers, rows, chunk_rows, tiles, touched):
        return _ODD
    if not _has_room(rows, chunk_rows, tiles, runs, chunk_row_bytes, out, places):
        return _ODD
    vectors = [pointers, rows, runs, places, touched]
    if any(vector is not None and numpy.may_share_memory(out, vector) for vector in vectors):
        return _ODD
    numbers = rows // chunk_rows
    if touched is not None:
        touched[numbers] = 1
    absent = (pointers.reshape(-1, tiles)[numbers] == 0).any(axis=1)
    if absent.any():
        return int(numpy.count_nonzero(absent))
    return _copy(pointers, rows, chunk_rows, tiles, runs, chunk_row_bytes, out, places)


def missing(
    pointers: Any, rows: Any, chunk_rows: int, tiles: int, touched: Any
) -> NDArray[numpy.int64] | None:
    """Return the rows of chunks that are needed and not there.

    Parameters
    ----------
    pointers, rows, chunk_rows, tiles, touched
        As for `fuel.kernels.chunks.missing`.

    Returns
    -------
    numpy.ndarray of int64, or None
        None where the door has to look.

    """
    if not _fits(pointers, rows, chunk_rows, tiles, touched):
        return None
    needed = numpy.unique(rows // chunk_rows)
    if touched is not None:
        touched[needed] = 1
    absent = (pointers.reshape(-1, tiles)[needed] == 0).any(axis=1)
    return numpy.asarray(needed[absent], dtype=numpy.int64)


def _is_vector(value: Any, dtype: Any) -> bool:
    return isinstance(value, numpy.ndarray) and value.dtype == dtype and value.ndim == 1


def _fits(pointers: Any, rows: Any, chunk_rows: int, tiles: int, touched: Any) -> bool:
    if not (_is_vector(pointers, numpy.int64) and _is_vector(rows, numpy.int64)):
        return False
    if chunk_rows < 1 or tiles < 1 or len(pointers) % tiles:
        return False
    chunks = len(pointers) // tiles
    if touched is not None and not (
        _is_vector(touched, numpy.uint8) and touched.flags.writeable and len(touched) >= chunks
    ):
        return False
    return not len(rows) or bool(rows.min() >= 0 and int(rows.max()) // chunk_rows < chunks)


def _row_bytes(out: NDArray[Any]) -> int:
    return int(numpy.prod(out.shape[1:], dtype=numpy.int64)) * out.dtype.itemsize


def _has_room(
    rows: Any, chunk_rows: int, tiles: int, runs: Any, chunk_row_bytes: int, out: Any, places: Any
) -> bool:
    if not isinstance(runs, numpy.ndarray) or runs.dtype != numpy.int64 or runs.ndim != 2:
        return False
    if runs.shape[1] != 4 or not isinstance(out, numpy.ndarray) or not out.ndim:
        return False
    if not (out.flags.c_contiguous and out.flags.writeable) or out.dtype.hasobject:
        return False
    if chunk_row_bytes < 0 or chunk_row_bytes * chunk_rows >= 2**63:
        return False
    if places is None:
        if len(out) != len(rows):
            return False
    elif not _is_vector(places, numpy.int64) or len(places) != len(rows):
        return False
    elif len(places) and not (places.min() >= 0 and places.max() < len(out)):
        return False
    wide = _row_bytes(out)
    return all(
        0 <= tile < tiles
        and 0 <= size <= min(chunk_row_bytes, wide)
        and 0 <= inside <= chunk_row_bytes - size
        and 0 <= outside <= wide - size
        for tile, inside, outside, size in runs.tolist()
    )


def _copy(
    pointers: Any,
    rows: Any,
    chunk_rows: int,
    tiles: int,
    runs: Any,
    chunk_row_bytes: int,
    out: Any,
    places: Any,
) -> int:
    numbers, within = numpy.divmod(rows, chunk_rows)
    used = numpy.unique(runs[:, 0])
    if len(rows) and (pointers.reshape(-1, tiles)[numbers][:, used] == 0).any():
        return _ABSENT
    # As bytes, whatever they are; without a view where there are none.
    if not out.nbytes:
        return 0
    table = out.reshape(-1).view(numpy.uint8).reshape(len(out), -1)
    steps = zip(
        numbers.tolist(),
        within.tolist(),
        range(len(rows)) if places is None else places.tolist(),
        strict=True,
    )
    for number, row, place in steps:
        for tile, inside, outside, size in runs.tolist():
            if size:
                address = int(pointers[number * tiles + tile]) + row * chunk_row_bytes + inside
                data = ctypes.string_at(address, size)
                table[place, outside : outside + size] = numpy.frombuffer(data, numpy.uint8)
    return 0
