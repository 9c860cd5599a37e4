"""CIFAR-100; the HDF5 file is made by `fuel.converters.cifar100`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fuel.datasets.hdf5 import H5PYDataset
from fuel.transformers.defaults import uint8_pixels_to_floatX
from fuel.utils._paths import find_in_data_path

__all__ = ["CIFAR100"]


class CIFAR100(H5PYDataset):
    """CIFAR-100: 60,000 small colour photographs of a hundred kinds of things.

    Sources: ``features``, uint8 of shape (n, 3, 32, 32) with the axes batch, channel (red, green,
    blue), height and width and values from 0 to 255; ``fine_labels`` (which of the 100 kinds) and
    ``coarse_labels`` (which of the 20 groups of five kinds), uint8 of shape (n, 1) with the axes
    batch and index.

    The default transformers bring the pixels to the range from 0 to 1 and to ``config.floatX``.

    Parameters
    ----------
    which_sets : tuple of str
        Any of ``"train"`` (50,000 examples) and ``"test"`` (10,000).
    **kwargs
        Further arguments of `fuel.datasets.hdf5.H5PYDataset`; ``load_in_memory`` is True by
        default.

    Raises
    ------
    OSError
        If ``cifar100.hdf5`` is not in the data path; ``fuel-download cifar100`` and
        ``fuel-convert cifar100`` make it.

    References
    ----------
    A. Krizhevsky, "Learning multiple layers of features from tiny images", technical report,
    University of Toronto (2009).

    """

    filename = "cifar100.hdf5"

    default_transformers = uint8_pixels_to_floatX(("features",))

    def __init__(self, which_sets: Iterable[str], **kwargs: Any) -> None:
        kwargs.setdefault("load_in_memory", True)
        super().__init__(
            file_or_path=find_in_data_path(self.filename), which_sets=which_sets, **kwargs
        )
