"""Handwritten digits; the HDF5 file is made by `fuel.converters.digits`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fuel.datasets.hdf5 import H5PYDataset
from fuel.transformers import Cast, ScaleAndShift
from fuel.utils._paths import find_in_data_path

__all__ = ["Digits"]

_IMAGES = {"which_sources": ("features",)}


class Digits(H5PYDataset):
    """Handwritten digits: 1,797 images of 8 x 8 pixels, and what they show.

    Sources: ``features``, uint8 of shape (n, 1, 8, 8) with the axes batch, channel, height and
    width and values from 0 to 16 (how much ink); ``targets``, uint8 of shape (n, 1) with the axes
    batch and index. A fifth of the examples of each digit is for testing; the same 13 people wrote
    both splits, so the accuracy on ``test`` says little about the digits of strangers.

    The default transformers bring the pixels to the range from 0 to 1 and to ``config.floatX``.

    Parameters
    ----------
    which_sets : tuple of str
        Any of ``"train"`` (1,442 examples) and ``"test"`` (355).
    **kwargs
        Further arguments of `fuel.datasets.hdf5.H5PYDataset`; ``load_in_memory`` is True by
        default.

    Raises
    ------
    OSError
        If ``digits.hdf5`` is not in the data path; ``fuel-download digits`` and
        ``fuel-convert digits`` make it.

    References
    ----------
    E. Alpaydin and C. Kaynak, "Cascading Classifiers", Kybernetika 34 (1998) 369-374.

    .. versionadded:: 0.3

    """

    filename = "digits.hdf5"

    default_transformers = (
        (ScaleAndShift, [1 / 16.0, 0], _IMAGES),
        (Cast, ["floatX"], _IMAGES),
    )

    def __init__(self, which_sets: Iterable[str], **kwargs: Any) -> None:
        kwargs.setdefault("load_in_memory", True)
        super().__init__(
            file_or_path=find_in_data_path(self.filename), which_sets=which_sets, **kwargs
        )
