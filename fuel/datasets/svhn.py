"""SVHN; its HDF5 files are made by `fuel.converters.svhn`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fuel.datasets.hdf5 import H5PYDataset
from fuel.transformers.defaults import uint8_pixels_to_floatX
from fuel.utils._paths import find_in_data_path

__all__ = ["SVHN"]


class SVHN(H5PYDataset):
    """Street View House Numbers: digits cut out of pictures of houses.

    Format 1 has whole house numbers, each picture of its own size, and the box of each digit:
    sources ``features``, uint8 of shape (3, height, width), and ``bbox_labels`` (uint8),
    ``bbox_heights``, ``bbox_widths``, ``bbox_lefts`` and ``bbox_tops`` (uint16, in pixels), each of
    shape (boxes, 1). The label of the digit 0 is 10 there, as published.

    Format 2 has single digits: ``features``, uint8 of shape (n, 3, 32, 32), and ``targets``, uint8
    of shape (n, 1) from 0 to 9. The default transformers bring the pixels of either to the range
    from 0 to 1 and to ``config.floatX``.

    Parameters
    ----------
    which_format : {1, 2}
        Which of the two.
    which_sets : tuple of str
        Any of ``"train"`` (33,402 pictures, or 73,257 digits), ``"test"`` (13,068 or 26,032) and
        ``"extra"`` (202,353 or 531,131; easier ones).
    **kwargs
        See `fuel.datasets.hdf5.H5PYDataset`; ``load_in_memory`` is False by default.

    Raises
    ------
    OSError
        If the file is not in the data path; ``fuel-download svhn 2`` and ``fuel-convert svhn 2``
        make it.

    """

    _filename = "svhn_format_{}.hdf5"

    default_transformers = uint8_pixels_to_floatX(("features",))

    def __init__(self, which_format: int, which_sets: Iterable[str], **kwargs: Any) -> None:
        self.which_format = which_format
        super().__init__(
            file_or_path=find_in_data_path(self.filename), which_sets=which_sets, **kwargs
        )

    @property
    def filename(self) -> str:
        """The name of the file in the data path."""
        return self._filename.format(self.which_format)
