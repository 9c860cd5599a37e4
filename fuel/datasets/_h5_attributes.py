"""The attributes of `H5PYDataset` that are loaded when needed, and left out of pickles.

Each is loaded on its own: asking for the number of examples must not read the data. How they are
loaded is in ``_h5py``.
"""

from __future__ import annotations

import os
from typing import Any

from fuel.datasets._dataset import Dataset
from fuel.utils._pickling import do_not_pickle_attributes
from fuel.utils._subset import Subset

__all__ = ["LazyAttributes"]


@do_not_pickle_attributes(
    "data_sources", "external_file_handle", "source_shapes", "in_memory_subset", "subsets"
)
class _NotPickled(Dataset):
    """Keeps them out of pickles; subclasses that are decorated too add to the list.

    The properties that the decorator makes are replaced below.
    """

    def load(self) -> None:
        raise NotImplementedError


class LazyAttributes(_NotPickled):
    """What `H5PYDataset` can have from its file at any time."""

    load_in_memory: bool

    @property
    def num_examples(self) -> int:
        """int: The number of examples; finding it out reads no data."""
        return self.subsets[0].num_examples

    def _load_subsets(self) -> None:
        raise NotImplementedError

    @property
    def data_sources(self) -> list[Any] | None:
        """list of ndarray or None: The data, if it is kept in memory, in the order of `sources`."""
        state = self.__dict__
        if self.load_in_memory and (
            state.get("_data_sources") is None or state.get("_loaded_sources") != self.sources
        ):
            self.load()
        return state.get("_data_sources")

    @data_sources.setter
    def data_sources(self, value: list[Any] | None) -> None:
        self._data_sources = value
        self._loaded_sources = self.sources

    @property
    def source_shapes(self) -> list[Any] | None:
        """list or None: If kept in memory, the shapes of the examples of each vlen source."""
        if self.load_in_memory and self.__dict__.get("_source_shapes") is None:
            self.load()
        shapes: list[Any] | None = self.__dict__.get("_source_shapes")
        return shapes

    @source_shapes.setter
    def source_shapes(self, value: list[Any] | None) -> None:
        self._source_shapes = value

    @property
    def in_memory_subset(self) -> Subset:
        """Subset: All of the rows of `data_sources`."""
        if self.__dict__.get("_in_memory_subset") is None:
            self._in_memory_subset = Subset(slice(None), self.num_examples)
        return self._in_memory_subset

    @in_memory_subset.setter
    def in_memory_subset(self, value: Subset) -> None:
        self._in_memory_subset = value

    @property
    def subsets(self) -> list[Subset]:
        """list of Subset: The rows of the file that are ours, for each of `sources`."""
        state = self.__dict__
        if state.get("_subsets") is None or state.get("_subset_sources") != self.sources:
            self._load_subsets()
        subsets: list[Subset] = state["_subsets"]
        return subsets

    @subsets.setter
    def subsets(self, value: list[Subset]) -> None:
        self._subsets = value
        self._subset_sources = self.sources

    @property
    def external_file_handle(self) -> Any:
        """h5py.File or None: The open file that the dataset was made from, if it was."""
        return self.__dict__.get("_external_file_handle")

    @external_file_handle.setter
    def external_file_handle(self, value: Any) -> None:
        self._external_file_handle = value
        self._external_pid = os.getpid()
