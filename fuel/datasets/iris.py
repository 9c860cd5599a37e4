"""Iris; the HDF5 file is made by `fuel.converters.iris`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fuel.datasets.hdf5 import H5PYDataset
from fuel.utils._paths import find_in_data_path

__all__ = ["Iris"]


class Iris(H5PYDataset):
    """Iris: four lengths of 150 flowers, and their species.

    Sources: ``features``, float32 of shape (150, 4) with the axes batch and feature (sepal length
    and width, petal length and width, in centimetres); ``targets``, uint8 of shape (150, 1) with
    the axes batch and index (0 setosa, 1 versicolor, 2 virginica). The values are those of the UCI
    Machine Learning Repository, which differ from Fisher's paper in the 35th and 38th example.

    Parameters
    ----------
    which_sets : tuple of str
        ``("all",)``: the one split there is.
    **kwargs
        Further arguments of `fuel.datasets.hdf5.H5PYDataset`; ``load_in_memory`` is True by
        default.

    Raises
    ------
    OSError
        If ``iris.hdf5`` is not in the data path; ``fuel-download iris`` and ``fuel-convert iris``
        make it.

    References
    ----------
    R. A. Fisher, "The use of multiple measurements in taxonomic problems", Annals of Eugenics 7
    (1936) 179-188.

    """

    filename = "iris.hdf5"

    def __init__(self, which_sets: Iterable[str], **kwargs: Any) -> None:
        kwargs.setdefault("load_in_memory", True)
        super().__init__(
            file_or_path=find_in_data_path(self.filename), which_sets=which_sets, **kwargs
        )
