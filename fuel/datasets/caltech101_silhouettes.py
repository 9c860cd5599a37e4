"""Caltech-101 Silhouettes; the HDF5 file is made by `fuel.converters.caltech101_silhouettes`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fuel.datasets.hdf5 import H5PYDataset
from fuel.utils._paths import find_in_data_path

__all__ = ["CalTech101Silhouettes"]


class CalTech101Silhouettes(H5PYDataset):
    """Caltech-101 Silhouettes: the outlines of 101 kinds of things, and which they are.

    Sources: ``features``, uint8 of shape (n, 1, size, size) with the axes batch, channel, height
    and width and the values 0 and 1 (as published: swap height and width to look at a picture);
    ``targets``, uint8 of shape (n, 1) with the axes batch and index, from 1 to 101.

    Parameters
    ----------
    which_sets : tuple of str
        Any of ``"train"``, ``"valid"`` and ``"test"``.
    size : {28, 16}, optional
        How many pixels high and wide the images are.
    **kwargs
        Further arguments of `fuel.datasets.hdf5.H5PYDataset`; ``load_in_memory`` is True by
        default.

    Raises
    ------
    ValueError
        If there is no such size.
    OSError
        If ``caltech101_silhouettesSIZE.hdf5`` is not in the data path; `fuel-download` and
        `fuel-convert`, each with ``caltech101_silhouettes SIZE``, make it.

    References
    ----------
    B. M. Marlin, K. Swersky, B. Chen and N. de Freitas, "Inductive principles for restricted
    Boltzmann machine learning", AISTATS (2010).

    """

    def __init__(self, which_sets: Iterable[str], size: int = 28, **kwargs: Any) -> None:
        kwargs.setdefault("load_in_memory", True)
        if size not in (16, 28):
            raise ValueError(f"the silhouettes have a size of 16 or 28, got {size!r}")
        self.filename = f"caltech101_silhouettes{size}.hdf5"
        super().__init__(
            file_or_path=find_in_data_path(self.filename), which_sets=which_sets, **kwargs
        )
