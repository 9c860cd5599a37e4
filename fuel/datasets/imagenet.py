"""ILSVRC2010 and ILSVRC2012; their HDF5 files are made by the converters of the same names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fuel.datasets.hdf5 import H5PYDataset
from fuel.transformers.defaults import rgb_images_from_encoded_bytes
from fuel.utils._paths import find_in_data_path

__all__ = ["ILSVRC2010", "ILSVRC2012"]


class _ImageNet(H5PYDataset):
    """What the two have in common."""

    filename: str
    default_transformers = rgb_images_from_encoded_bytes(("encoded_images",))

    def __init__(self, which_sets: Iterable[str], **kwargs: Any) -> None:
        kwargs.setdefault("load_in_memory", False)
        super().__init__(
            file_or_path=find_in_data_path(self.filename), which_sets=which_sets, **kwargs
        )


class ILSVRC2010(_ImageNet):
    """ILSVRC2010: 1.5 million photographs of 1,000 classes.

    Sources: ``encoded_images``, the files as uint8 of variable length; ``targets``, int16 of shape
    (n, 1), from 0 to 999; ``filenames``, texts of at most 32 bytes, of shape (n, 1). The default
    transformers decode the files to uint8 of shape (3, height, width).

    Parameters
    ----------
    which_sets : tuple of str
        Any of ``"train"`` (1,261,406 examples), ``"valid"`` (50,000) and ``"test"`` (150,000).
    **kwargs
        See `fuel.datasets.hdf5.H5PYDataset`; ``load_in_memory`` is False by default.

    Raises
    ------
    OSError
        If ``ilsvrc2010.hdf5`` is not in the data path; ``fuel-convert ilsvrc2010`` makes it.

    """

    filename = "ilsvrc2010.hdf5"


class ILSVRC2012(_ImageNet):
    """ILSVRC2012: 1.4 million photographs of 1,000 classes.

    Sources: ``encoded_images``, the files as uint8 of variable length; ``targets``, int16 of shape
    (n, 1), from 0 to 999; ``filenames``, texts of at most 32 bytes, of shape (n, 1). The default
    transformers decode the files to uint8 of shape (3, height, width).

    Parameters
    ----------
    which_sets : tuple of str
        Any of ``"train"`` (1,281,167 examples), ``"valid"`` (50,000) and ``"test"`` (100,000,
        without ``targets``).
    **kwargs
        See `fuel.datasets.hdf5.H5PYDataset`; ``load_in_memory`` is False by default.

    Raises
    ------
    OSError
        If ``ilsvrc2012.hdf5`` is not in the data path; ``fuel-convert ilsvrc2012`` makes it.

    """

    filename = "ilsvrc2012.hdf5"
