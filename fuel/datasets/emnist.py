"""EMNIST; the HDF5 file is made by `fuel.converters.emnist`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fuel.datasets.hdf5 import H5PYDataset
from fuel.transformers.defaults import uint8_pixels_to_floatX
from fuel.utils._paths import find_in_data_path

__all__ = ["EMNIST"]


class EMNIST(H5PYDataset):
    """EMNIST: 814,255 handwritten letters and digits, of which six divisions were published.

    Sources: ``features``, uint8 of shape (n, 1, 28, 28) with the axes batch, channel, height and
    width and values from 0 to 255, upright; ``targets``, uint8 of shape (n, 1) with the axes batch
    and index.

    The default transformers bring the pixels to the range from 0 to 1 and to ``config.floatX``.

    Parameters
    ----------
    which_format : {'byclass', 'bymerge', 'balanced', 'letters', 'digits', 'mnist'}
        Which division; see `fuel.converters.emnist.convert_emnist`.
    which_sets : tuple of str
        Any of ``"train"`` and ``"test"``.
    **kwargs
        Further arguments of `fuel.datasets.hdf5.H5PYDataset`; ``load_in_memory`` is True by
        default.

    Raises
    ------
    ValueError
        If there is no such division.
    OSError
        If ``emnist_FORMAT.hdf5`` is not in the data path; ``fuel-download emnist`` and
        ``fuel-convert emnist FORMAT`` make it.

    References
    ----------
    G. Cohen, S. Afshar, J. Tapson and A. van Schaik, "EMNIST: an extension of MNIST to handwritten
    letters", arXiv:1702.05373 (2017).

    .. versionadded:: 0.3

    """

    formats = ("byclass", "bymerge", "balanced", "letters", "digits", "mnist")

    default_transformers = uint8_pixels_to_floatX(("features",))

    def __init__(self, which_format: str, which_sets: Iterable[str], **kwargs: Any) -> None:
        if which_format not in self.formats:
            raise ValueError(f"EMNIST has the formats {self.formats}, got {which_format!r}")
        self.filename = f"emnist_{which_format}.hdf5"
        kwargs.setdefault("load_in_memory", True)
        path = find_in_data_path(self.filename)
        super().__init__(file_or_path=path, which_sets=which_sets, **kwargs)
