"""Fashion-MNIST; the HDF5 file is made by `fuel.converters.fashion_mnist`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fuel.datasets.hdf5 import H5PYDataset
from fuel.transformers.defaults import uint8_pixels_to_floatX
from fuel.utils._paths import find_in_data_path

__all__ = ["FashionMNIST"]


class FashionMNIST(H5PYDataset):
    """Fashion-MNIST: 70,000 grey pictures of clothes, and what they are.

    Sources: ``features``, uint8 of shape (n, 1, 28, 28) with the axes batch, channel, height and
    width and values from 0 to 255; ``targets``, uint8 of shape (n, 1) with the axes batch and
    index, 0 T-shirt or top, 1 trousers, 2 pullover, 3 dress, 4 coat, 5 sandal, 6 shirt, 7 sneaker,
    8 bag, 9 ankle boot.

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
        If ``fashion_mnist.hdf5`` is not in the data path; ``fuel-download fashion_mnist`` and
        ``fuel-convert fashion_mnist`` make it.

    References
    ----------
    H. Xiao, K. Rasul and R. Vollgraf, "Fashion-MNIST: a novel image dataset for benchmarking
    machine learning algorithms", arXiv:1708.07747 (2017).

    .. versionadded:: 0.3

    """

    filename = "fashion_mnist.hdf5"

    default_transformers = uint8_pixels_to_floatX(("features",))

    def __init__(self, which_sets: Iterable[str], **kwargs: Any) -> None:
        kwargs.setdefault("load_in_memory", True)
        super().__init__(
            file_or_path=find_in_data_path(self.filename), which_sets=which_sets, **kwargs
        )
