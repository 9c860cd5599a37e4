"""The face of the three general classes of datasets; it holds no logic.

`Dataset` lives in ``_dataset``, `IterableDataset` in ``_iterable``, `IndexableDataset` in
``_indexable``. Files are read by the classes of `fuel.datasets.hdf5` and `fuel.datasets.text`.
"""

from __future__ import annotations

from fuel.datasets._dataset import Dataset
from fuel.datasets._indexable import IndexableDataset
from fuel.datasets._iterable import IterableDataset

__all__ = ["Dataset", "IndexableDataset", "IterableDataset"]
