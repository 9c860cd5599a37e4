"""Converts Iris to HDF5; what it is and where it comes from is told in `fuel/data/README.md`."""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable

import numpy

from fuel.converters.base import atomic_output, fill_hdf5_file, label_axes
from fuel.exceptions import StorageError
from fuel.manifests import MANIFESTS

__all__ = ["convert_iris", "fill_subparser"]

#: The classes, numbered as in the original converter.
CLASSES = {"Iris-setosa": 0, "Iris-versicolor": 1, "Iris-virginica": 2}

_EXPECTED = 150


def convert_iris(
    directory: str, output_directory: str, output_filename: str = "iris.hdf5"
) -> tuple[str, ...]:
    """Convert the Iris data set.

    The file has one split, ``all``, and two sources: ``features``, float32 of shape (150, 4) with
    the axes batch and feature (sepal length and width, petal length and width, in centimetres),
    and ``targets``, uint8 of shape (150, 1) with the axes batch and index (0 setosa, 1 versicolor,
    2 virginica).

    Parameters
    ----------
    directory : str
        Where ``iris.data`` is.
    output_directory : str
        Where the HDF5 file goes; it must exist.
    output_filename : str, optional
        The name of the HDF5 file.

    Returns
    -------
    tuple of str
        The path of the HDF5 file.

    Raises
    ------
    OSError
        If ``iris.data`` is not there, or a line of it is not understood.

    """
    import h5py

    features, targets = _read(os.path.join(directory, MANIFESTS["iris"].files[0].name))
    output_path = os.path.join(output_directory, output_filename)
    with atomic_output(output_path) as part, h5py.File(part, mode="w") as h5file:
        fill_hdf5_file(h5file, (("all", "features", features), ("all", "targets", targets)))
        label_axes(h5file["features"], "batch", "feature")
        label_axes(h5file["targets"], "batch", "index")
    return (output_path,)


def _read(path: str) -> tuple[numpy.ndarray, numpy.ndarray]:
    features, targets = [], []
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            *values, name = line.strip().split(",")
            try:
                if len(values) != 4:
                    raise ValueError
                features.append([float(value) for value in values])
                targets.append([CLASSES[name]])
            except (ValueError, KeyError):
                raise StorageError(
                    f"line {number} of {path} should be four numbers and the name of a species, "
                    f"separated by commas, but it is {line[:60].rstrip()!r}; get the file again "
                    f"with `fuel-download iris`"
                ) from None
    if not features:
        raise StorageError(f"{path} is empty; get it again with `fuel-download iris`")
    if len(features) != _EXPECTED:
        warnings.warn(
            f"{path} has {len(features)} examples where Iris has {_EXPECTED}; it may have been cut "
            f"short",
            stacklevel=3,
        )
    return numpy.array(features, dtype="float32"), numpy.array(targets, dtype="uint8")


def fill_subparser(subparser: argparse.ArgumentParser) -> Callable[..., tuple[str, ...]]:
    """Set up the sub-command of ``fuel-convert``; it has no options of its own.

    Parameters
    ----------
    subparser : argparse.ArgumentParser
        The parser of the sub-command.

    Returns
    -------
    callable
        `convert_iris`.

    """
    return convert_iris
