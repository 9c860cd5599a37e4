"""The face of the datasets that read HDF5 files; it holds no logic.

`H5PYDataset` lives in ``_h5py`` (with ``_splits``, ``_h5_layout``, ``_h5_handles`` and ``_h5_read``
below it), `PytablesDataset` in ``_pytables``. Files in this layout are written by
`fuel.converters.base.fill_hdf5_file`.
"""

from __future__ import annotations

from fuel.datasets._h5py import H5PYDataset
from fuel.datasets._pytables import PytablesDataset

__all__ = ["H5PYDataset", "PytablesDataset"]
