"""CIFAR-10; the HDF5 file is made by `fuel.converters.cifar10`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fuel.datasets.hdf5 import H5PYDataset
from fuel.transformers.defaults import uint8_pixels_to_floatX
from fuel.utils._paths import find_in_data_path

__all__ = ["CIFAR10"]


class CIFAR10(H5PYDataset):
    """CIFAR-10: 60,000 small colour photographs of ten kinds of things.

    Sources: ``features``, uint8 of shape (n, 3, 32, 32) with the axes batch, channel (red, green,
    blue), height and width and values from 0 to 255; ``targets``, uint8 of shape (n, 1) with the
    axes batch and index, 0 airplane, 1 automobile, 2 bird, 3 cat, 4 deer, 5 dog, 6 frog, 7 horse,
    8 ship, 9 truck.

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
        If ``cifar10.hdf5`` is not in the data path; ``fuel-download cifar10`` and
        ``fuel-convert cifar10`` make it.

    References
    ----------
    A. Krizhevsky, "Learning multiple layers of features from tiny images", technical report,
    University of Toronto (2009).

    """

    filename = "cifar10.hdf5"

    default_transformers = uint8_pixels_to_floatX(("features",))

    def __init__(self, which_sets: Iterable[str], **kwargs: Any) -> None:
        kwargs.setdefault("load_in_memory", True)
        super().__init__(
            file_or_path=find_in_data_path(self.filename), which_sets=which_sets, **kwargs
        )
