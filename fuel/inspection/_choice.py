"""Which examples are shown, and reading them: of a split, spread over it or drawn at random."""

from __future__ import annotations

import math
from typing import Any

import numpy

from fuel.exceptions import FuelError, StorageError
from fuel.inspection._describe import sources_in, type_of
from fuel.inspection._opening import DAMAGE
from fuel.inspection._statistics import needs_filters
from fuel.inspection._words import clean

__all__ = ["MOST_EXAMPLES", "Examples", "chosen_positions", "spread_positions"]

MOST_EXAMPLES = 400
#: So much is read at a time.
_BLOCK_BYTES = 16 * 2**20
#: Larger examples are read in every second, third, ... element of their axes.
_LARGE_ROW = 16 * 2**20
_CACHE_BYTES = 64 * 2**20
_RUNS = 8


def chosen_positions(number: int, count: int, seed: int | None) -> list[int]:
    """Choose examples.

    Parameters
    ----------
    number : int
        How many there are.
    count : int
        How many are wanted.
    seed : int or None
        Draw them at random, chosen by this; None for examples at equal distances.

    Returns
    -------
    list of int
        Places among the examples, each once.

    Examples
    --------
    >>> chosen_positions(10, 4, None)
    [0, 2, 5, 7]

    """
    count = min(count, number)
    if seed is None:
        return [place * number // count for place in range(count)]
    from fuel.kernels.permutation import Permutation

    return [int(index) for index in Permutation(seed, 0, number, "preview").block(0, count)]


def spread_positions(number: int, count: int) -> list[int]:
    """Choose many examples in a few runs, which are quicker to read than single ones."""
    if count >= number:
        return list(range(number))
    run = max(1, count // _RUNS)
    starts = [block * (number - run) // (_RUNS - 1) for block in range(_RUNS)]
    return sorted({start + k for start in starts for k in range(run)})


class Examples:
    """The examples of a split, or of a file without splits.

    Parameters
    ----------
    h5file : h5py.File
        An open file.
    path : str
        Its path.
    split : str, optional
        The split; by default the first one that has examples.

    Raises
    ------
    ValueError
        If there is no such split.

    Attributes
    ----------
    split : str or None
        The split.
    sources : dict
        Name → dataset.

    """

    def __init__(self, h5file: Any, path: str, split: str | None = None) -> None:
        from fuel.datasets._splits import read_splits
        from fuel.io.hdf5.store import Store

        try:
            told = read_splits(h5file)
        except StorageError:
            told = []
        names = list(dict.fromkeys(row.split for row in told))
        if split is not None and split not in names:
            there = f"it has {', '.join(map(clean, names))}" if names else "it has none"
            raise ValueError(f"{path} has no split {split!r}; {there}")
        self._h5file = h5file
        self._store = Store(h5file, path, _CACHE_BYTES)
        self._rows: dict[str, Any] = {}
        found = sources_in(h5file)
        if split is None and names:
            there_are = [row.split for row in told if row.available and self._count(row)]
            split = there_are[0] if there_are else names[0]
        self.split = split
        for row in told:
            if row.split == split and row.available:
                indices = h5file[row.indices] if row.indices else None
                self._rows[row.source] = (row.start, row.stop, indices)
        self.sources = {
            name: dataset
            for name, dataset in found.items()
            if dataset.shape and type_of(dataset) is not None and (not names or name in self._rows)
        }

    def _count(self, row: Any) -> int:
        try:
            return len(self._h5file[row.indices]) if row.indices else row.stop - row.start
        except DAMAGE:
            return 0

    def number(self, source: str) -> int:
        """Return how many examples there are of a source."""
        start, stop, indices = self._rows.get(source, (0, len(self.sources[source]), None))
        return max(0, stop - start) if indices is None else len(indices)

    def rows(self, source: str, positions: list[int]) -> list[int]:
        """Return the rows of examples in the file.

        Raises
        ------
        StorageError
            If the split has rows that the source has not.

        """
        start, _, indices = self._rows.get(source, (0, 0, None))
        if indices is None:
            rows = [start + place for place in positions]
        else:
            rows = [int(numpy.asarray(indices[place]).reshape(-1)[0]) for place in positions]
        length = len(self.sources[source])
        if rows and not 0 <= min(rows) <= max(rows) < length:
            raise StorageError(
                f"split {clean(str(self.split))} has rows up to {max(rows)}, but there are {length}"
            )
        return rows

    def row_bytes(self, source: str) -> int:
        """Return how large an example is, of variable length as good as can be told."""
        dataset = self.sources[source]
        size = max(1, math.prod(dataset.shape[1:]) * dataset.dtype.itemsize)
        return int(size) if not dataset.dtype.hasobject else size * 4096

    def read(self, source: str, positions: list[int], whole: bool = False) -> list[Any]:
        """Read examples.

        Parameters
        ----------
        source : str
            The source.
        positions : list of int
            Which ones.
        whole : bool, optional
            Read all of them however large they are.

        Returns
        -------
        list
            Arrays, numbers, or texts; shaped as the file says. Of a very large example only every
            second, third ... element of its longer axes.

        """
        from fuel.datasets._h5_layout import shapes_of

        dataset = self.sources[source]
        needs_filters(dataset)
        rows = self.rows(source, positions)
        if not dataset.dtype.hasobject and self.row_bytes(source) > _LARGE_ROW and not whole:
            return [self._thinned(dataset, row) for row in rows]
        step = max(1, _BLOCK_BYTES // self.row_bytes(source))
        values: list[Any] = []
        shapes = shapes_of(dataset) if dataset.dtype.hasobject else None
        for start in range(0, len(rows), step):
            block = self._take(source, rows[start : start + step])
            for row, value in zip(rows[start : start + step], block, strict=True):
                if shapes is not None and isinstance(value, numpy.ndarray):
                    value = value.reshape(tuple(int(size) for size in shapes[row]))
                values.append(value)
        return values

    def _take(self, source: str, rows: list[int]) -> Any:
        """Read rows in any order, repeated ones too."""
        different, places = numpy.unique(rows, return_inverse=True)
        block = self._store.rows(source).take(different.astype(numpy.int64))
        return [block[place] for place in places.reshape(-1).tolist()]

    def _thinned(self, dataset: Any, row: int) -> Any:
        shape = list(dataset.shape[1:])
        steps = [1] * len(shape)
        size = math.prod(shape) * dataset.dtype.itemsize
        while size > _LARGE_ROW:
            axis = max(range(len(shape)), key=lambda k: shape[k] / steps[k])
            steps[axis] *= 2
            size = math.prod(-(-n // s) for n, s in zip(shape, steps)) * dataset.dtype.itemsize
        return dataset[(row, *[slice(None, None, step) for step in steps])]


READING = (FuelError, IndexError, MemoryError, *DAMAGE)
