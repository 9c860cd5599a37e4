"""HDF5 datasets that a program opened itself, opened again by its workers.

A dataset of a file that is open for reading travels as the name of the file and its own, as a map
of memory does. What is open for writing does not: a worker would read a file that changes.
"""

from __future__ import annotations

import functools
import os
from typing import Any

__all__ = ["opened_again", "reduce_hdf5"]


def reduce_hdf5(thing: Any) -> Any:
    """Say how a dataset, group or file of h5py is made again elsewhere.

    Parameters
    ----------
    thing : h5py.Dataset, h5py.Group or h5py.File
        It.

    Returns
    -------
    tuple
        As `object.__reduce__` has it.

    Raises
    ------
    TypeError
        If its file is closed, open for writing, or not on a disk.

    """
    kind = f"h5py.{type(thing).__name__}"
    if not thing:
        raise TypeError(f"cannot pickle an {kind} whose file was closed")
    file = thing.file
    if file.mode != "r":
        raise TypeError(
            f"cannot pickle an {kind} of a file that is open for writing ({file.filename}); open "
            "it with mode 'r', or use fuel.datasets.H5PYDataset"
        )
    if file.driver not in ("sec2", "stdio", "windows") or not os.path.isfile(file.filename):
        raise TypeError(
            f"cannot pickle an {kind} of a file that is not on a disk (driver {file.driver!r})"
        )
    if thing.name is None:
        raise TypeError(f"cannot pickle an {kind} that has no name in its file")
    return opened_again, (os.path.abspath(file.filename), thing.name)


@functools.lru_cache(maxsize=64)
def _file(path: str, process: int) -> Any:
    import h5py

    return h5py.File(path, "r")


def opened_again(path: str, name: str) -> Any:
    """Return a dataset or group of a file; the file stays open.

    Parameters
    ----------
    path, name : str
        The file, and what is in it.

    Returns
    -------
    h5py.Dataset, h5py.Group or h5py.File
        It.

    """
    file = _file(path, os.getpid())
    return file if name == "/" else file[name]
