"""CelebA; its HDF5 files are made by `fuel.converters.celeba`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fuel.datasets.hdf5 import H5PYDataset
from fuel.transformers.defaults import uint8_pixels_to_floatX
from fuel.utils._paths import find_in_data_path

__all__ = ["CelebA"]


class CelebA(H5PYDataset):
    """CelebFaces Attributes: 202,599 faces of celebrities, and 40 attributes of each.

    Sources: ``features``, uint8 of shape (n, 3, 218, 178), or (n, 3, 64, 64) in the format
    ``"64"``, with the axes batch, channel, height and width; ``targets``, uint8 of shape (n, 40)
    with the axes batch and target, 1 where a face has the attribute.

    The default transformers bring the pixels to the range from 0 to 1 and to ``config.floatX``.

    Parameters
    ----------
    which_format : {'aligned_cropped', '64'}
        As published, or made smaller.
    which_sets : tuple of str
        Any of ``"train"`` (162,770 examples), ``"valid"`` (19,867) and ``"test"`` (19,962).
    **kwargs
        See `fuel.datasets.hdf5.H5PYDataset`; ``load_in_memory`` is False by default.

    Raises
    ------
    OSError
        If the file is not in the data path; ``fuel-download celeba`` and ``fuel-convert celeba 64``
        make it.

    References
    ----------
    Z. Liu, P. Luo, X. Wang and X. Tang, "Deep Learning Face Attributes in the Wild", ICCV 2015.

    """

    _filename = "celeba_{}.hdf5"

    default_transformers = uint8_pixels_to_floatX(("features",))

    def __init__(self, which_format: str, which_sets: Iterable[str], **kwargs: Any) -> None:
        self.which_format = which_format
        super().__init__(
            file_or_path=find_in_data_path(self.filename), which_sets=which_sets, **kwargs
        )

    @property
    def filename(self) -> str:
        """The name of the file in the data path."""
        return self._filename.format(self.which_format)
