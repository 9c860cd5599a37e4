"""Rows of a dataset through HDF5's own selection of elements: the last resort, for every layout.

HDF5 reads a list of rows only in increasing order and without repetitions, and takes a long time
to find them; whatever is understood better is read in the other rooms.
"""

from __future__ import annotations

from typing import Any

import numpy

from fuel.exceptions import StorageError
from fuel.utils._owning import own_array

__all__ = ["SelectedRows", "read_rows"]


def read_rows(dataset: Any, rows: Any, sort: bool = True) -> Any:
    """Read rows of an HDF5 dataset.

    Parameters
    ----------
    dataset : h5py.Dataset
        What to read from.
    rows : int, slice or ndarray of int64
        Existing rows.
    sort : bool, optional
        Whether to read an array of rows in increasing order, each once, and put them in the
        order asked for afterwards. Otherwise the array goes to h5py as it is.

    Returns
    -------
    ndarray, or one item for an int
        The rows, in memory of their own.

    Raises
    ------
    TypeError
        If the rows are not increasing and `sort` is False.
    StorageError
        If the file cannot deliver them.

    """
    try:
        if isinstance(rows, slice):
            return _whole(dataset[rows], range(rows.start, rows.stop, rows.step or 1))
        if not isinstance(rows, numpy.ndarray):
            return dataset[rows]
        if not len(rows):
            return dataset[0:0]
        if not sort:
            return dataset[rows]
        if len(rows) == 1 or bool((rows[1:] > rows[:-1]).all()):
            return _read_increasing(dataset, rows)
        unique, places = numpy.unique(rows, return_inverse=True)
        # Repeated examples of variable length get memory of their own, too.
        return own_array(_read_increasing(dataset, unique)[places.reshape(-1)])
    except OSError as error:
        raise StorageError(
            f"{dataset.file.filename!r} does not deliver rows of {dataset.name!r}: {error}; the "
            "file is damaged or its compression filter is not installed: make it again, or "
            "install the filter (hdf5plugin)"
        ) from error


def _read_increasing(dataset: Any, rows: Any) -> Any:
    first, last = int(rows[0]), int(rows[-1])
    if last - first + 1 == len(rows):
        # Rows without gaps: one read, where a list would be one per row.
        return _whole(dataset[first : last + 1], rows)
    return dataset[rows]


def _whole(data: Any, rows: Any) -> Any:
    """Return what was read for a slice, of which h5py silently drops what is not there."""
    if len(data) < len(rows):
        raise IndexError(f"{len(data)} of {len(rows)} rows from {rows[0]} on are there")
    return data


class SelectedRows:
    """A dataset that HDF5 reads.

    Parameters
    ----------
    dataset : h5py.Dataset
        The dataset.

    """

    #: Of an array over all rows, where there is one.
    table: Any = None

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def take(self, rows: Any) -> Any:
        """Return rows; see `read_rows`."""
        return read_rows(self.dataset, rows)
