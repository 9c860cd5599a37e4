"""MNIST; the HDF5 file is made by `fuel.converters.mnist`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fuel.datasets.hdf5 import H5PYDataset
from fuel.transformers.defaults import uint8_pixels_to_floatX
from fuel.utils._paths import find_in_data_path

__all__ = ["MNIST"]


class MNIST(H5PYDataset):
    """MNIST: 70,000 images of handwritten digits, and which digit each is.

    Sources: ``features``, uint8 of shape (n, 1, 28, 28) with the axes batch, channel, height and
    width and values from 0 to 255; ``targets``, uint8 of shape (n, 1) with the axes batch and
    index, the digit.

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
        If ``mnist.hdf5`` is not in the data path; ``fuel-download mnist`` and
        ``fuel-convert mnist`` make it.

    References
    ----------
    Y. LeCun, L. Bottou, Y. Bengio and P. Haffner, "Gradient-based learning applied to document
    recognition", Proceedings of the IEEE 86 (1998) 2278-2324.

    """

    filename = "mnist.hdf5"

    default_transformers = uint8_pixels_to_floatX(("features",))

    def __init__(self, which_sets: Iterable[str], **kwargs: Any) -> None:
        kwargs.setdefault("load_in_memory", True)
        super().__init__(
            file_or_path=find_in_data_path(self.filename), which_sets=which_sets, **kwargs
        )
