"""Statistics of the sources of a file, in one pass and bounded memory."""

from __future__ import annotations

import math
from typing import Any

import numpy
from numpy.typing import NDArray

__all__ = ["Moments", "statistics"]

_BLOCK_BYTES = 8 * 2**20
#: More classes than this are only counted.
_MOST_CLASSES = 1000


class Moments:
    """Count, smallest, largest, mean and standard deviation of numbers that come in parts.

    Parts are joined by the formulas of Chan, Golub and LeVeque ("Updating formulae and a pairwise
    algorithm for computing sample variances", 1979), which do not lose digits where the mean is
    large.

    Attributes
    ----------
    count, missing, infinite : int
        How many numbers there were, those aside that are not a number or infinite.

    """

    def __init__(self) -> None:
        self.count = self.missing = self.infinite = 0
        self.smallest, self.largest = math.inf, -math.inf
        self.mean = self._squares = 0.0

    def add(self, values: NDArray[Any]) -> None:
        """Take more numbers into account."""
        values = numpy.asarray(values).reshape(-1)
        if values.dtype.kind == "c":
            values = numpy.abs(values)
        if values.dtype.kind == "f":
            finite = numpy.isfinite(values)
            if not finite.all():
                self.missing += int(numpy.isnan(values).sum())
                self.infinite += int(numpy.isinf(values).sum())
                values = values[finite]
        count = len(values)
        if not count:
            return
        self.smallest = min(self.smallest, float(values.min()))
        self.largest = max(self.largest, float(values.max()))
        exact = values.astype(numpy.float64)
        mean = float(exact.mean())
        squares = float(numpy.square(exact - mean).sum())
        total = self.count + count
        away = mean - self.mean
        self.mean += away * count / total
        self._squares += squares + away * away * self.count * count / total
        self.count = total

    def summary(self) -> dict[str, Any]:
        """Return the numbers as plain JSON; None where there were none."""
        known = self.count > 0
        return {
            "count": self.count,
            "min": self.smallest if known else None,
            "max": self.largest if known else None,
            "mean": self.mean if known else None,
            "std": math.sqrt(self._squares / self.count) if known else None,
            "nan": self.missing,
            "inf": self.infinite,
        }


def statistics(path: str) -> dict[str, Any]:
    """Look at all of the data in a file.

    Parameters
    ----------
    path : str
        The file.

    Returns
    -------
    dict
        For each source the ``values`` (``count``, ``min``, ``max``, ``mean``, ``std``, ``nan``,
        ``inf``) or, of texts and examples of different shapes, the ``lengths``; and, for whole
        numbers of one value an example, ``classes``: split → class → examples.

    Raises
    ------
    fuel.exceptions.StorageError
        If the file cannot be read.

    """
    from fuel.datasets import _h5_layout, _splits
    from fuel.datasets._h5_handles import noticing_damage, open_hdf5
    from fuel.io.hdf5.store import Store

    found: dict[str, Any] = {}
    with open_hdf5(path) as h5file, noticing_damage(path):
        store = Store(h5file, path)
        parts = _parts(h5file, _splits)
        for name in _h5_layout.get_all_sources(h5file):
            if name in h5file:
                found[name] = _of_source(store, h5file[name], name, parts)
    return found


def _parts(h5file: Any, splits: Any) -> dict[str, dict[str, Any]]:
    """Return for each source and split the rows that belong to it."""
    from fuel.datasets._h5_read import part_of

    parts: dict[str, dict[str, Any]] = {}
    for row in splits.read_splits(h5file):
        if row.available and row.source in h5file:
            (subset,) = splits.get_subsets(h5file, [row.split], [row.source], True)
            parts.setdefault(row.source, {})[row.split] = part_of(subset)
    return parts


def _of_source(
    store: Any, dataset: Any, name: str, parts: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    values, lengths = Moments(), Moments()
    ragged = dataset.dtype.hasobject
    size = max(1, _BLOCK_BYTES // max(1, _row_bytes(dataset)))
    single = dataset.dtype.kind in "iub" and math.prod(dataset.shape[1:]) == 1
    labels: list[NDArray[Any]] = []
    rows = store.rows(name)
    for start in range(0, len(dataset), size):
        block = rows.take(slice(start, min(start + size, len(dataset)), 1))
        if ragged:
            for element in block.reshape(-1):
                lengths.add(numpy.array([len(element)]))
                if isinstance(element, numpy.ndarray) and element.dtype.kind in "biufc":
                    values.add(element)
        elif block.dtype.kind in "biufc":
            values.add(block)
            if single:
                labels.append(block.reshape(-1).astype(numpy.int64))
    found: dict[str, Any] = {}
    if values.count or values.missing or values.infinite:
        found["values"] = values.summary()
    if ragged:
        found["lengths"] = lengths.summary()
    if labels:
        found["classes"] = _classes(numpy.concatenate(labels), parts.get(name, {}))
    return found


def _row_bytes(dataset: Any) -> int:
    if dataset.dtype.hasobject:
        return 64 * 1024
    size: int = math.prod(dataset.shape[1:]) * dataset.dtype.itemsize
    return size


def _classes(labels: NDArray[Any], parts: dict[str, Any]) -> dict[str, dict[str, int]] | None:
    """Count the examples of each class in each split; None where there are too many classes."""
    if len(numpy.unique(labels)) > _MOST_CLASSES:
        return None
    found = {}
    for split, part in (parts or {"all": slice(None)}).items():
        classes, counts = numpy.unique(labels[part], return_counts=True)
        found[split] = {str(c): int(n) for c, n in zip(classes, counts, strict=True)}
    return found
