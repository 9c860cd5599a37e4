"""Dogs vs. Cats; the HDF5 file is made by `fuel.converters.dogs_vs_cats`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fuel.datasets.hdf5 import H5PYDataset
from fuel.transformers import ScaleAndShift
from fuel.utils._paths import find_in_data_path

__all__ = ["DogsVsCats"]


class DogsVsCats(H5PYDataset):
    """Dogs vs. Cats: 37,500 photographs of pets, each of its own size.

    Sources: ``image_features``, uint8 of shape (3, height, width) for each example; ``targets``,
    uint8 of shape (n, 1) with the axes batch and index, 0 for a cat and 1 for a dog. The training
    examples are in a shuffled order that is always the same, so any part of them is balanced.

    The default transformers bring the pixels to the range from 0 to 1.

    Parameters
    ----------
    which_sets : tuple of str
        Any of ``"train"`` (25,000 examples) and ``"test"`` (12,500, without ``targets``).
    **kwargs
        See `fuel.datasets.hdf5.H5PYDataset`; ``load_in_memory`` is False by default.

    Raises
    ------
    OSError
        If ``dogs_vs_cats.hdf5`` is not in the data path; ``fuel-download dogs_vs_cats`` and
        ``fuel-convert dogs_vs_cats`` make it.

    """

    filename = "dogs_vs_cats.hdf5"

    default_transformers = (
        (ScaleAndShift, [1 / 255.0, 0], {"which_sources": ("image_features",)}),
    )

    def __init__(self, which_sets: Iterable[str], **kwargs: Any) -> None:
        super().__init__(
            file_or_path=find_in_data_path(self.filename), which_sets=which_sets, **kwargs
        )
