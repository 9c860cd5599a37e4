"""KMNIST; the HDF5 file is made by `fuel.converters.kmnist`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fuel.datasets.hdf5 import H5PYDataset
from fuel.transformers.defaults import uint8_pixels_to_floatX
from fuel.utils._paths import find_in_data_path

__all__ = ["KMNIST"]


class KMNIST(H5PYDataset):
    """KMNIST: 70,000 images of cursive Japanese characters, ten kinds of them.

    Sources: ``features``, uint8 of shape (n, 1, 28, 28) with the axes batch, channel, height and
    width and values from 0 to 255; ``targets``, uint8 of shape (n, 1) with the axes batch and
    index, 0 o, 1 ki, 2 su, 3 tsu, 4 na, 5 ha, 6 ma, 7 ya, 8 re, 9 wo.

    The default transformers bring the pixels to the range from 0 to 1 and to ``config.floatX``.

    Parameters
    ----------
    which_sets : tuple of str
        Any of ``"train"`` (60,000 examples) and ``"test"`` (10,000).
    **kwargs
        Further arguments of `fuel.datasets.hdf5.H5PYDataset`; ``load_in_memory`` is True by
        default.

    Raises
    ------
    OSError
        If ``kmnist.hdf5`` is not in the data path; ``fuel-download kmnist`` and
        ``fuel-convert kmnist`` make it.

    References
    ----------
    T. Clanuwat and others, "Deep learning for classical Japanese literature", arXiv:1812.01718
    (2018).

    .. versionadded:: 0.3

    """

    filename = "kmnist.hdf5"

    default_transformers = uint8_pixels_to_floatX(("features",))

    def __init__(self, which_sets: Iterable[str], **kwargs: Any) -> None:
        kwargs.setdefault("load_in_memory", True)
        super().__init__(
            file_or_path=find_in_data_path(self.filename), which_sets=which_sets, **kwargs
        )
