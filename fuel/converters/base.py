"""Writing data sets as HDF5 files: the functions that converters are made of.

`fill_hdf5_file` writes sources and splits in the layout that `fuel.datasets.hdf5` reads,
`atomic_output` keeps an older file until the new one is whole, `check_exists` looks for the raw
files. Fetching those is in `fuel.downloaders`; the command is in `fuel.bin.fuel_convert`.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import numpy

from fuel.converters._output import atomic_output, staging_directory
from fuel.exceptions import MissingInputFiles
from fuel.utils import _progress

__all__ = [
    "MissingInputFiles",
    "atomic_output",
    "check_exists",
    "fill_hdf5_file",
    "label_axes",
    "progress_bar",
    "staging_directory",
]

_F = TypeVar("_F", bound=Callable[..., Any])


def check_exists(required_files: Iterable[str]) -> Callable[[_F], _F]:
    """Make a converter look for its input before it begins.

    Parameters
    ----------
    required_files : iterable of str
        Names of files that must be in the directory that the converter gets as its first
        argument, which must be called ``directory``.

    Returns
    -------
    callable
        A decorator for the converter, which then raises `MissingInputFiles` with the names of the
        files that are not there.

    Examples
    --------
    >>> @check_exists(required_files=["raw.txt"])
    ... def convert(directory, output_directory):
    ...     return ()
    >>> convert("nowhere", ".")
    Traceback (most recent call last):
    ...
    fuel.exceptions.MissingInputFiles: ('Required files missing', ['raw.txt'])

    """
    required = list(required_files)

    def decorate(converter: _F) -> _F:
        @functools.wraps(converter)
        def checked(directory: str, *args: Any, **kwargs: Any) -> Any:
            missing = [
                name for name in required if not os.path.isfile(os.path.join(directory, name))
            ]
            if missing:
                raise MissingInputFiles("Required files missing", missing)
            return converter(directory, *args, **kwargs)

        return checked  # type: ignore[return-value]

    return decorate


def progress_bar(
    name: str | None, maxval: int | None, prefix: str = "Converting"
) -> AbstractContextManager[_progress.ProgressBar]:
    """Show a progress bar on the standard output while a block runs.

    Parameters
    ----------
    name : str or None
        What is converted.
    maxval : int or None
        How much there is to do; None if unknown.
    prefix : str, optional
        What is done.

    Returns
    -------
    context manager
        It yields an object with ``update(i)``, where ``i`` is how much is done so far.

    """
    return _progress.progress_bar(name, maxval, prefix=prefix)


def fill_hdf5_file(h5file: Any, data: Iterable[Sequence[Any]]) -> None:
    """Write sources and their splits into an HDF5 file.

    The parts of a source are written one after the other, in the order given, and the attribute
    ``split`` says which rows belong to which split.

    Parameters
    ----------
    h5file : h5py.File
        A file open for writing.
    data : iterable of (str, str, array) or (str, str, array, str)
        Name of the split, name of the source, the data with examples along the first axis, and a
        comment. A pair of split and source that is absent is recorded as not available.

    Raises
    ------
    ValueError
        If the sources of a split differ in length, the parts of a source differ in type or in the
        shape of an example, or a pair of split and source occurs twice. Nothing is written then.

    Examples
    --------
    >>> import h5py, numpy
    >>> with h5py.File("small.hdf5", "w") as file:
    ...     fill_hdf5_file(file, (("train", "x", numpy.zeros((3, 2))),
    ...                           ("test", "x", numpy.ones((1, 2)), "all ones")))
    ...     file["x"].shape
    (4, 2)

    """
    parts: dict[str, dict[str, tuple[Any, str | None]]] = {}
    lengths: dict[str, dict[str, int]] = {}
    for split, source, values, *remark in data:
        array = values if hasattr(values, "dtype") else numpy.asarray(values)
        if split in parts.setdefault(source, {}):
            raise ValueError(
                f"source {source!r} of split {split!r} is given twice; join the two arrays, or "
                f"rename one of the splits"
            )
        parts[source][split] = (array, remark[0] if remark else None)
        lengths.setdefault(split, {})[source] = len(array)
    _check(parts, lengths)

    from fuel.datasets.hdf5 import H5PYDataset

    split_dict: dict[str, dict[str, tuple[Any, ...]]] = {split: {} for split in lengths}
    for source, of_split in parts.items():
        first = next(iter(of_split.values()))[0]
        total = sum(len(array) for array, _ in of_split.values())
        dataset = h5file.create_dataset(source, (total, *first.shape[1:]), dtype=first.dtype)
        start = 0
        for split, (array, comment) in of_split.items():
            stop = start + len(array)
            dataset[start:stop] = array
            split_dict[split][source] = (start, stop, None, comment or ".")
            start = stop
    h5file.attrs["split"] = H5PYDataset.create_split_array(split_dict)


def _check(
    parts: dict[str, dict[str, tuple[Any, str | None]]], lengths: dict[str, dict[str, int]]
) -> None:
    if not parts:
        raise ValueError("there is no data to write; give at least one (split, source, array)")
    for split, of_source in lengths.items():
        if len(set(of_source.values())) > 1:
            raise ValueError(
                f"all sources of split {split!r} must have the same number of examples, got "
                + ", ".join(f"{count} in {source!r}" for source, count in of_source.items())
            )
    for source, of_split in parts.items():
        for what, values in (
            ("type", {split: array.dtype for split, (array, _) in of_split.items()}),
            ("shape", {split: array.shape[1:] for split, (array, _) in of_split.items()}),
        ):
            if len(set(values.values())) > 1:
                raise ValueError(
                    f"all splits of source {source!r} must have examples of the same {what}, got "
                    + ", ".join(f"{value} in {split!r}" for split, value in values.items())
                )


def label_axes(dataset: Any, *labels: str) -> None:
    """Name the axes of a source.

    Parameters
    ----------
    dataset : h5py.Dataset
        The source.
    *labels : str
        One name for each of its axes, beginning with the first.

    """
    for dimension, label in enumerate(labels):
        dataset.dims[dimension].label = label
