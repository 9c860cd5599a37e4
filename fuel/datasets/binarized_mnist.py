"""Binarized MNIST; the HDF5 file is made by `fuel.converters.binarized_mnist`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fuel.datasets.hdf5 import H5PYDataset
from fuel.utils._paths import find_in_data_path

__all__ = ["BinarizedMNIST"]


class BinarizedMNIST(H5PYDataset):
    """MNIST in black and white, binarized once for all so that results can be compared.

    Source: ``features``, uint8 of shape (n, 1, 28, 28) with the axes batch, channel, height and
    width and the values 0 and 1. There are no targets.

    Parameters
    ----------
    which_sets : tuple of str
        Any of ``"train"`` (50,000 examples), ``"valid"`` (10,000) and ``"test"`` (10,000).
    **kwargs
        Further arguments of `fuel.datasets.hdf5.H5PYDataset`; ``load_in_memory`` is True by
        default.

    Raises
    ------
    OSError
        If ``binarized_mnist.hdf5`` is not in the data path; ``fuel-download binarized_mnist`` and
        ``fuel-convert binarized_mnist`` make it.

    References
    ----------
    H. Larochelle and I. Murray, "The neural autoregressive distribution estimator", AISTATS (2011).
    R. Salakhutdinov and I. Murray, "On the quantitative analysis of deep belief networks", ICML
    (2008).

    """

    filename = "binarized_mnist.hdf5"

    def __init__(self, which_sets: Iterable[str], **kwargs: Any) -> None:
        kwargs.setdefault("load_in_memory", True)
        super().__init__(
            file_or_path=find_in_data_path(self.filename), which_sets=which_sets, **kwargs
        )
