"""Adult; the HDF5 file is made by `fuel.converters.adult`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fuel.datasets.hdf5 import H5PYDataset
from fuel.utils._paths import find_in_data_path

__all__ = ["Adult"]


class Adult(H5PYDataset):
    """Adult: what a census knows of 45,222 people, and whether they earn above 50,000 dollars.

    Sources: ``features``, float64 of shape (n, 104) with the axes batch and feature (what each
    column is says `fuel.converters.adult.FEATURE_NAMES`); ``targets``, bool of shape (n, 1) with
    the axes batch and index. People of whom something is unknown are left out.

    Parameters
    ----------
    which_sets : tuple of str
        Any of ``"train"`` (30,162 examples) and ``"test"`` (15,060).
    **kwargs
        Further arguments of `fuel.datasets.hdf5.H5PYDataset`; ``load_in_memory`` is True by
        default.

    Raises
    ------
    OSError
        If ``adult.hdf5`` is not in the data path; ``fuel-download adult`` and
        ``fuel-convert adult`` make it.

    References
    ----------
    R. Kohavi, "Scaling up the accuracy of naive-Bayes classifiers: a decision-tree hybrid", KDD
    (1996).

    """

    filename = "adult.hdf5"

    def __init__(self, which_sets: Iterable[str], **kwargs: Any) -> None:
        kwargs.setdefault("load_in_memory", True)
        super().__init__(
            file_or_path=find_in_data_path(self.filename), which_sets=which_sets, **kwargs
        )
