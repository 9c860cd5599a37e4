"""Reading an HDF5 file for export: which splits and sources, batch by batch.

Writing other formats is done by the other modules of ``_export``.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from fuel.exceptions import ConfigurationError, StorageError

__all__ = ["Part", "Source", "Stored", "text_of"]

#: About how many bytes of examples are held at a time.
BATCH_BYTES = 4 * 2**20
#: Examples of unknown size that are read together.
_EXAMPLES = 256


@dataclass(frozen=True)
class Source:
    """A source of the file.

    Attributes
    ----------
    name : str
        Its name.
    shape : tuple of (int or None), or None
        The shape of one example; None for an axis of any length. None alone for texts.
    dtype : numpy.dtype or None
        The type of its elements; None for texts.
    labels : tuple of str
        The labels of the axes of one example, empty where there are none.
    class_names : list of str or None
        What its numbers mean.

    """

    name: str
    shape: tuple[int | None, ...]
    dtype: numpy.dtype[Any] | None
    labels: tuple[str, ...]
    class_names: list[str] | None

    @property
    def text(self) -> bool:
        """Whether examples are texts."""
        return self.dtype is None

    @property
    def ragged(self) -> bool:
        """Whether examples have different shapes."""
        return None in self.shape

    @property
    def encoded(self) -> bool:
        """Whether examples are bytes, of a file perhaps."""
        return self.shape == (None,) and self.dtype == numpy.uint8

    @property
    def single(self) -> bool:
        """Whether examples are single numbers."""
        return not self.text and not self.ragged and math.prod(s or 0 for s in self.shape) == 1


@dataclass(frozen=True)
class Part:
    """A split, or all of a file that has none (its name is then None)."""

    name: str | None
    num_examples: int


class Stored:
    """An HDF5 file that is exported.

    Parameters
    ----------
    path : str
        The file.
    splits : sequence of str or None
        The splits to read; None for all.
    sources : sequence of str or None
        The sources to read; None for all that the splits have in common.

    """

    def __init__(
        self, path: str, splits: Sequence[str] | None, sources: Sequence[str] | None
    ) -> None:
        import h5py

        from fuel.datasets._h5_layout import plain_sources
        from fuel.datasets.hdf5 import H5PYDataset

        if not os.path.isfile(path):
            raise StorageError(f"there is no file {path}; name an HDF5 file")
        if not h5py.is_hdf5(path):
            raise StorageError(f"{path} is not an HDF5 file; name one that fuel-convert made")
        self.path = path
        with h5py.File(path, "r") as h5file:
            names: list[str | None] = [None]
            if "split" in h5file.attrs:
                names = sorted(H5PYDataset.get_all_splits(h5file), key=_order(h5file))
            elif not plain_sources(h5file):
                raise StorageError(f"{path} has no sources; there is nothing to export")
            if splits is not None:
                for split in splits:
                    if split not in names:
                        there = ", ".join(name for name in names if name) or "none"
                        raise ConfigurationError(
                            f"{path} has no split {split!r}; its splits are: {there}"
                        )
                names = list(splits)
        options: dict[str, Any] = {} if sources is None else {"sources": tuple(sources)}
        self._sets = {
            name: H5PYDataset(
                path,
                None if name is None else (name,),
                **options,
            )
            for name in names
        }
        common = set.intersection(*(set(found.sources) for found in self._sets.values()))
        if not common:
            raise StorageError(f"the splits of {path} have no source in common; export one of them")
        first = next(iter(self._sets.values()))
        self._names = [name for name in first.sources if name in common]
        self.parts = [Part(name, found.num_examples) for name, found in self._sets.items()]
        with h5py.File(path, "r") as h5file:
            self.sources = [self._source(h5file, first, name) for name in self._names]

    def _source(self, h5file: Any, dataset: Any, name: str) -> Source:
        import h5py

        spec = dataset.specs[name]
        labels = (dataset.axis_labels or {}).get(name) or ()
        stored = h5file[name]
        if spec.dtype is None:
            if h5py.check_string_dtype(stored.dtype) is None or spec.shape != ():
                raise StorageError(
                    f"source {name!r} of {self.path} has elements of type {stored.dtype}, which "
                    "cannot be exported; choose others with --sources"
                )
            return Source(name, (), None, tuple(labels[1:]), None)
        if spec.dtype.kind not in "biufcS":
            raise StorageError(
                f"source {name!r} of {self.path} has elements of type {spec.dtype}, which cannot "
                "be exported; choose others with --sources"
            )
        classes = stored.attrs.get("class_names")
        if isinstance(classes, h5py.Reference) and classes:
            classes = h5file[classes].asstr()[...]
        names = None
        if classes is not None and numpy.ndim(classes) == 1:
            names = [text_of(value) for value in classes]
        shape = tuple(None if size is None else int(size) for size in spec.shape or ())
        # Written out, because h5py notes things with its types that others wonder at.
        dtype = numpy.dtype(spec.dtype.str)
        return Source(name, shape, dtype, tuple(labels[1:]), names)

    @property
    def num_examples(self) -> int:
        """How many examples there are in all."""
        return sum(part.num_examples for part in self.parts)

    def batches(self, part: Part, names: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
        """Yield the examples of a split, in their order: name of the source to array or list."""
        dataset = self._sets[part.name]
        state = dataset.open()
        try:
            start = 0
            step = self._step()
            while start < part.num_examples:
                stop = min(start + step, part.num_examples)
                found = dict(
                    zip(
                        dataset.sources,
                        dataset.get_data(state, slice(start, stop)),
                        strict=True,
                    )
                )
                chosen = self._names if names is None else names
                batch = {name: found[name] for name in chosen}
                yield batch
                start = stop
                step = self._next_step(step, batch)
        finally:
            dataset.close(state)

    def _step(self) -> int:
        """Return how many examples to read first."""
        row_bytes = 1
        for source in self.sources:
            if source.text or source.ragged:
                return 16
            assert source.dtype is not None
            row_bytes += math.prod(s or 0 for s in source.shape) * source.dtype.itemsize
        return max(1, BATCH_BYTES // row_bytes)

    def _next_step(self, step: int, batch: dict[str, Any]) -> int:
        """Return how many examples to read next, from the size of those before."""
        if not any(source.text or source.ragged for source in self.sources):
            return step
        size = 1
        for values in batch.values():
            if values.dtype == object:
                size += sum(getattr(value, "nbytes", 0) or len(value) for value in values)
            else:
                size += values.nbytes
        wanted = max(1, BATCH_BYTES * len(next(iter(batch.values()))) // size)
        return min(wanted, 4 * step, 65536)


def _order(h5file: Any) -> Any:
    """Sort splits by where they begin."""
    from fuel.datasets._splits import read_splits

    places: dict[str, int] = {}
    for place, row in enumerate(read_splits(h5file)):
        places.setdefault(row.split, place)
    return lambda name: places[name]


def text_of(value: Any) -> str:
    """Return a text as str; raises StorageError for bytes that are none."""
    if isinstance(value, str):
        return value
    try:
        return bytes(value).decode()
    except UnicodeDecodeError as error:
        raise StorageError(f"the text {value!r:.60} is not UTF-8: {error}") from error
