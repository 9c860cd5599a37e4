"""ImageNet challenges; the HDF5 files are made by `fuel.converters.ilsvrc2010` and ``ilsvrc2012``.

The classes were never among the names of `fuel.datasets`: they are imported from here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fuel.datasets.hdf5 import H5PYDataset
from fuel.transformers.defaults import rgb_images_from_encoded_bytes
from fuel.utils._paths import find_in_data_path

__all__ = ["ILSVRC2010", "ILSVRC2012"]


class ILSVRC2010(H5PYDataset):
    """The ImageNet challenge of 2010: 1.5 million photographs of 1000 classes.

    Sources: ``encoded_images``, for each example the bytes of a JPEG file, uint8; ``targets``,
    int16 of shape (n, 1) with the axes batch and index, the class from 0 to 999; ``filenames``,
    byte strings of shape (n, 1). The training examples are in a shuffled order.

    The default transformers decode the images: uint8 of shape (3, height, width), each of its own
    size, red, green and blue. Crop or resize them before they are put into one array.

    Parameters
    ----------
    which_sets : tuple of str
        Any of ``"train"`` (1,261,406 examples), ``"valid"`` (50,000) and ``"test"`` (150,000).
    **kwargs
        See `fuel.datasets.hdf5.H5PYDataset`; ``load_in_memory`` is False by default.

    Raises
    ------
    OSError
        If ``ilsvrc2010.hdf5`` is not in the data path; ``fuel-download ilsvrc2010`` and
        ``fuel-convert ilsvrc2010`` make it.

    References
    ----------
    O. Russakovsky et al., "ImageNet Large Scale Visual Recognition Challenge", International
    Journal of Computer Vision 115 (2015) 211-252.

    """

    filename = "ilsvrc2010.hdf5"

    default_transformers = rgb_images_from_encoded_bytes(which_sources=("encoded_images",))

    def __init__(self, which_sets: Iterable[str], **kwargs: Any) -> None:
        kwargs.setdefault("load_in_memory", False)
        super().__init__(
            file_or_path=find_in_data_path(self.filename), which_sets=which_sets, **kwargs
        )


class ILSVRC2012(H5PYDataset):
    """The ImageNet challenge of 2012: 1.4 million photographs of 1000 classes.

    Sources, order and default transformers are those of `ILSVRC2010`.

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
        If ``ilsvrc2012.hdf5`` is not in the data path; ``fuel-download ilsvrc2012`` and
        ``fuel-convert ilsvrc2012`` make it.

    """

    filename = "ilsvrc2012.hdf5"

    default_transformers = rgb_images_from_encoded_bytes(which_sources=("encoded_images",))

    def __init__(self, which_sets: Iterable[str], **kwargs: Any) -> None:
        kwargs.setdefault("load_in_memory", False)
        super().__init__(
            file_or_path=find_in_data_path(self.filename), which_sets=which_sets, **kwargs
        )
