"""Rows out of chunks that lie anywhere in memory: what makes a batch of a chunked data set.

In this module, the door to the kernel: `gather_tiles` and `fetch`, which copy, and `missing`, which
says what is not there yet. A chunk is known by its address; who calls keeps it alive. Not here: how
chunks are found, decoded and kept (`fuel.io.hdf5`), and rows of one array (`fuel.kernels.gather`).

The rows of a data set are divided into rows of chunks, `chunk_rows` each; side by side in each of
these lie `tiles` chunks, and a row of the data set is put together from parts of a row of each.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.exceptions import RequestError
from fuel.kernels._integers import in_order, vector_of
from fuel.kernels._select import select

__all__ = ["fetch", "gather_tiles", "missing"]

_kernel = select("chunks")
_gather = _kernel.gather
_fetch = _kernel.fetch
_missing = _kernel.missing

#: From this number on, addresses are not there (see `_chunks.h`).
_ABSENT = -3


def gather_tiles(
    pointers: NDArray[numpy.int64],
    rows: NDArray[numpy.int64],
    chunk_rows: int,
    tiles: int,
    runs: NDArray[numpy.int64],
    chunk_row_bytes: int,
    out: NDArray[Any],
    places: NDArray[numpy.int64] | None = None,
) -> None:
    """Copy rows out of chunks into a batch.

    Parameters
    ----------
    pointers : numpy.ndarray, shape (chunks * tiles,), dtype int64
        The address of each decoded chunk, row of chunks after row of chunks; 0 for one that is not
        there. Each other must be that of ``chunk_rows * chunk_row_bytes`` bytes, which stay there
        during the call: that cannot be checked.
    rows : numpy.ndarray, shape (n,), dtype int64
        Row ``r`` lies in row ``r // chunk_rows`` of chunks, at place ``r % chunk_rows``.
    chunk_rows : int
        How many rows a chunk has.
    tiles : int
        How many chunks lie side by side.
    runs : numpy.ndarray, shape (k, 4), dtype int64
        The copies that make a row: number of the tile, offset in its row, offset in the row of the
        batch, and size, the latter three in bytes.
    chunk_row_bytes : int
        How long a row of one chunk is.
    out : numpy.ndarray, shape (n, ...)
        The batch: any type without objects, in C order, writable.
    places : numpy.ndarray, shape (n,), dtype int64, optional
        Where in `out`, which may then have any number of rows, each goes; by default one after the
        other.

    Raises
    ------
    RequestError
        If there is no such row.
    TypeError
        If an argument is of another type.
    ValueError
        If a chunk that is needed is not there, if a copy would go beyond a row, or if `out` cannot
        take the rows. Then nothing was written.

    Notes
    -----
    May be called from any thread; the interpreter's lock is free meanwhile. Nobody may change the
    vectors at that time. In vectors of int64 in C order nothing is looked at in Python.

    Examples
    --------
    >>> import numpy
    >>> from fuel.kernels.chunks import gather_tiles
    >>> first, second = numpy.arange(4, dtype="u1"), numpy.arange(4, 8, dtype="u1")
    >>> pointers = numpy.array([first.ctypes.data, second.ctypes.data])
    >>> whole = numpy.array([[0, 0, 0, 2]])  # rows of two bytes, two in a chunk
    >>> batch = numpy.empty((3, 2), dtype="u1")
    >>> gather_tiles(pointers, numpy.array([3, 0, 1]), 2, 1, whole, 2, batch)
    >>> batch.tolist()
    [[6, 7], [0, 1], [2, 3]]

    """
    done = _gather(pointers, rows, chunk_rows, tiles, runs, chunk_row_bytes, out, places)
    if not done:
        return
    rows = _checked(pointers, rows, chunk_rows, tiles, None)
    runs, places = _checked_copies(
        (pointers, rows), chunk_rows, tiles, runs, chunk_row_bytes, out, places
    )
    if _gather(pointers, rows, chunk_rows, tiles, runs, chunk_row_bytes, out, places):
        raise _not_there(pointers, rows, chunk_rows, tiles)


def fetch(
    pointers: NDArray[numpy.int64],
    rows: NDArray[numpy.int64],
    chunk_rows: int,
    tiles: int,
    runs: NDArray[numpy.int64],
    chunk_row_bytes: int,
    out: NDArray[Any],
    places: NDArray[numpy.int64] | None = None,
    touched: NDArray[numpy.uint8] | None = None,
) -> int:
    """Copy rows out of chunks if all of the chunks are there, and note which are used.

    Parameters
    ----------
    pointers, rows, chunk_rows, tiles, runs, chunk_row_bytes, out, places
        As for `gather_tiles`.
    touched : numpy.ndarray, shape (chunks,), dtype uint8, optional
        Becomes 1 at each row of chunks that is needed, there or not.

    Returns
    -------
    int
        0 if the rows were copied. Otherwise how many of them are in chunks that are not there, and
        nothing was copied; `missing` says which chunks these are.

    Raises
    ------
    RequestError, TypeError, ValueError
        As for `gather_tiles`, but not for a chunk that is not there.

    Notes
    -----
    As for `gather_tiles`. In one call, what `missing` and `gather_tiles` do in two.

    """
    absent: int = _fetch(
        pointers, rows, chunk_rows, tiles, runs, chunk_row_bytes, out, places, touched
    )
    if absent >= 0:
        return absent
    rows = _checked(pointers, rows, chunk_rows, tiles, touched)
    runs, places = _checked_copies(
        (pointers, rows, touched), chunk_rows, tiles, runs, chunk_row_bytes, out, places
    )
    absent = _fetch(pointers, rows, chunk_rows, tiles, runs, chunk_row_bytes, out, places, touched)
    assert absent >= 0
    return absent


def missing(
    pointers: NDArray[numpy.int64],
    rows: NDArray[numpy.int64],
    chunk_rows: int,
    tiles: int,
    touched: NDArray[numpy.uint8] | None = None,
) -> NDArray[numpy.int64]:
    """Say which chunks rows need that are not there, and note which are used.

    Parameters
    ----------
    pointers, rows, chunk_rows, tiles
        As for `gather_tiles`.
    touched : numpy.ndarray, shape (chunks,), dtype uint8, optional
        Becomes 1 at each row of chunks that is needed, there or not.

    Returns
    -------
    numpy.ndarray, shape (m,), dtype int64
        The rows of chunks of which at least one chunk is not there, each once, ascending.

    Raises
    ------
    RequestError
        If there is no such row.
    TypeError, ValueError
        If an argument is of another type or form.

    Notes
    -----
    As for `gather_tiles`.

    Examples
    --------
    >>> import numpy
    >>> from fuel.kernels.chunks import missing
    >>> missing(numpy.array([0, 4096, 0]), numpy.array([25, 3, 10, 21]), 10, 1)
    array([0, 2])

    """
    found: NDArray[numpy.int64] | None = _missing(pointers, rows, chunk_rows, tiles, touched)
    if found is None:
        rows = _checked(pointers, rows, chunk_rows, tiles, touched)
        found = _missing(pointers, rows, chunk_rows, tiles, touched)
        assert found is not None
    return found


def _checked(pointers: Any, rows: Any, chunk_rows: int, tiles: int, touched: Any) -> Any:
    """Return row numbers as the kernel reads them, or say what is wrong."""
    if chunk_rows < 1 or tiles < 1:
        raise ValueError(
            f"chunks must have rows and there must be some side by side, got {chunk_rows} rows and "
            f"{tiles} tiles; see the shape of the chunks"
        )
    if not _is_ready(pointers, numpy.int64, 1):
        raise TypeError(
            f"`pointers` must be an aligned vector of int64 in C order, got {_described(pointers)}"
        )
    if len(pointers) % tiles:
        raise ValueError(
            f"`pointers` must have {tiles} addresses for each row of chunks, got {len(pointers)} "
            "in all; put 0 where a chunk is not there"
        )
    chunks = len(pointers) // tiles
    if touched is not None:
        if not _is_ready(touched, numpy.uint8, 1) or not touched.flags.writeable:
            raise TypeError(
                f"`touched` must be a writable vector of uint8, got {_described(touched)}"
            )
        if len(touched) < chunks:
            raise ValueError(
                f"`touched` must have one element for each of {chunks} rows of chunks, got "
                f"{len(touched)}"
            )
    vector = _numbers("rows", rows)
    for extreme in (vector.min(), vector.max()) if len(vector) else ():
        if extreme < 0 or int(extreme) // chunk_rows >= chunks:
            raise RequestError(
                f"there are {chunks} rows of chunks of {chunk_rows} rows each, got a request for "
                f"row {extreme}; ask for rows that are there"
            )
    return in_order(vector, numpy.int64)


def _checked_copies(
    read: tuple[Any, ...],
    chunk_rows: int,
    tiles: int,
    runs: Any,
    chunk_row_bytes: int,
    out: Any,
    places: Any,
) -> tuple[Any, Any]:
    """Return runs and places as the kernel reads them, or say what is wrong."""
    if not isinstance(out, numpy.ndarray) or not out.ndim or out.dtype.hasobject:
        raise TypeError(
            f"`out` must be an array with rows and without objects, got {_described(out)}"
        )
    if not (out.flags.c_contiguous and out.flags.writeable):
        raise ValueError(
            "`out` must be writable and in C order, got an array that is not; "
            "fuel.kernels.memory.empty makes one"
        )
    if places is not None:
        places = _numbers("places", places)
        if len(places) and not (places.min() >= 0 and int(places.max()) < len(out)):
            raise ValueError(
                f"`places` must be from 0 to {len(out) - 1}, the rows of `out`, got "
                f"{places.min()} to {places.max()}"
            )
        places = in_order(places, numpy.int64)
    expected = len(read[1])
    if (len(out) if places is None else len(places)) != expected:
        got = f"{len(out)} rows in `out`" if places is None else f"{len(places)} `places`"
        raise ValueError(f"there must be as many places as rows, {expected}, got {got}")
    if chunk_row_bytes < 0 or chunk_row_bytes * chunk_rows >= 2**63:
        raise ValueError(f"`chunk_row_bytes` must be the size of a row, got {chunk_row_bytes}")
    if not isinstance(runs, numpy.ndarray) or runs.dtype.kind not in "iu":
        raise TypeError(f"`runs` must be an array of int64, got {_described(runs)}")
    if runs.ndim != 2 or runs.shape[1] != 4:
        raise ValueError(f"`runs` must have shape (k, 4), got {runs.shape}")
    runs = in_order(runs, numpy.int64)
    wide = int(numpy.prod(out.shape[1:], dtype=numpy.int64)) * out.dtype.itemsize
    for tile, inside, outside, size in runs.tolist():
        if (
            not 0 <= tile < tiles
            or size < 0
            or not 0 <= inside <= chunk_row_bytes - size
            or not 0 <= outside <= wide - size
        ):
            raise ValueError(
                f"each of `runs` must stay within {tiles} tiles, {chunk_row_bytes} bytes of a "
                f"chunk's row and {wide} bytes of a row of `out`, got {size} bytes of tile {tile} "
                f"from {inside} to {outside}"
            )
    if any(v is not None and numpy.may_share_memory(out, v) for v in (*read, runs, places)):
        raise ValueError(
            "`out` must be apart from the vectors that say what is read, got arrays that overlap; "
            "copy one"
        )
    return runs, places


def _is_ready(value: Any, dtype: Any, axes: int) -> bool:
    if not isinstance(value, numpy.ndarray) or value.dtype != dtype or value.ndim != axes:
        return False
    return value.flags.c_contiguous and value.flags.aligned


def _numbers(name: str, values: Any) -> NDArray[Any]:
    found = vector_of(values)
    if found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
        raise TypeError(f"`{name}` must be a vector of integers, got {_described(values)}")
    return found


def _described(value: Any) -> str:
    if isinstance(value, numpy.ndarray):
        return f"shape {value.shape}, dtype {value.dtype}"
    return type(value).__name__


def _not_there(pointers: Any, rows: Any, chunk_rows: int, tiles: int) -> ValueError:
    numbers = rows // chunk_rows
    absent = (pointers.reshape(-1, tiles)[numbers] == 0).any(axis=1)
    return ValueError(
        f"row {rows[absent][0]} is in row {numbers[absent][0]} of chunks, which is not there; read "
        "what `missing` names before"
    )
