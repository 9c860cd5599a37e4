"""What is in an HDF5 file: sources, their axis labels, shapes and types.

Which rows of them belong to a split is in ``_splits``; reading rows is in ``_h5_read``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

import numpy

from fuel.datasets._splits import _text, get_all_splits, get_provided_sources, read_splits
from fuel.exceptions import StorageError
from fuel.typing import Spec

__all__ = [
    "get_all_sources",
    "get_axis_labels",
    "get_vlen_sources",
    "labels_of",
    "opened_dataset",
    "plain_sources",
    "shapes_of",
    "sources_of_splits",
    "specs_of",
]


#: The HDF5 datasets that were opened in each file: opening one costs as much as reading a row.
_opened: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()


def opened_dataset(h5file: Any, name: str) -> Any:
    """Return a dataset of a file that nobody changes, opened once.

    Parameters
    ----------
    h5file : h5py.File
        A file that this package opened for reading.
    name : str
        A source.

    Returns
    -------
    h5py.Dataset
        The dataset.

    """
    known = _opened.setdefault(h5file, {})
    if name not in known or not known[name]:
        known[name] = h5file[name]
    return known[name]


def plain_sources(h5file: Any) -> tuple[str, ...]:
    """List the datasets of a file that can be sources, sorted by name.

    Parameters
    ----------
    h5file : h5py.File
        An open file.

    Returns
    -------
    tuple of str
        Every dataset with at least one axis, in any group (``'group/name'``), but for those that
        only describe an axis of another (dimension scales).

    """
    import h5py

    names = []

    def visit(name: str, thing: Any) -> None:
        if isinstance(thing, h5py.Dataset) and thing.shape and not thing.is_scale:
            names.append(name)

    h5file.visititems(visit)
    return tuple(sorted(names))


def get_all_sources(h5file: Any) -> tuple[str, ...]:
    """List the sources of a file.

    Parameters
    ----------
    h5file : h5py.File
        An open file.

    Returns
    -------
    tuple of str
        Their names, sorted: those that its splits name, without splits all datasets in it.

    """
    if "split" in h5file.attrs:
        return tuple(sorted({row.source for row in read_splits(h5file)}))
    return plain_sources(h5file)


def _present_sources(h5file: Any) -> list[str]:
    return [name for name in get_all_sources(h5file) if name in h5file]


def sources_of_splits(h5file: Any, which_sets: Iterable[str] | None) -> tuple[str, ...]:
    """List what all of the splits provide, sorted.

    Parameters
    ----------
    h5file : h5py.File
        An open file.
    which_sets : iterable of str or None
        Names of splits; None for a file that has none.

    Returns
    -------
    tuple of str
        Names of sources, at least one.

    Raises
    ------
    ValueError
        If the file has no such split, or has splits and none was named, or the splits have no
        source in common.
    StorageError
        If the file contains no data.

    """
    name, splits = h5file.filename, get_all_splits(h5file)
    if which_sets is None:
        if "split" in h5file.attrs:
            raise ValueError(
                f"{name!r} is divided into splits, so `which_sets` must say which to read; "
                f"choose one or more of {splits}, as a tuple"
            )
        sources = plain_sources(h5file)
        if not sources:
            raise StorageError(
                f"{name!r} contains no dataset with examples; the file is empty or was not "
                "finished: make it again"
            )
        return sources
    which_sets = tuple(which_sets)
    if "split" not in h5file.attrs:
        raise ValueError(
            f"{name!r} has no `split` attribute, so it has no splits {which_sets}; leave "
            "`which_sets` out to read all of it, or add the attribute with "
            "`H5PYDataset.create_split_array`"
        )
    unknown = [split for split in which_sets if split not in splits]
    if unknown or not which_sets:
        raise ValueError(
            f"`which_sets` must name splits of {name!r}, got {which_sets}; the available splits "
            f"are {splits}"
        )
    provided = {split: get_provided_sources(h5file, split) for split in which_sets}
    common = set.intersection(*map(set, provided.values()))
    if not common:
        raise ValueError(
            f"the splits {which_sets} of {name!r} have no source in common: "
            + ", ".join(f"{split!r} provides {sources}" for split, sources in provided.items())
            + "; read them one at a time"
        )
    missing = sorted(source for source in common if source not in h5file)
    if missing:
        raise StorageError(
            f"the splits of {name!r} refer to data that the file does not have: {missing}; it "
            "contains "
            f"{plain_sources(h5file)}: the file is incomplete, make it again"
        )
    return tuple(sorted(common))


def shapes_of(dataset: Any, what: str = "shapes") -> Any:
    """Return the dimension scale that describes examples of variable length, or None.

    Parameters
    ----------
    dataset : h5py.Dataset
        A source.
    what : {'shapes', 'shape_labels'}
        The scale's name.

    """
    if not dataset.shape or not len(dataset.dims[0]):
        return None
    dimension = dataset.dims[0]
    return dimension[what] if what in dimension.keys() else None  # noqa: SIM118 - no mapping


def get_vlen_sources(h5file: Any) -> tuple[str, ...]:
    """List the sources whose examples have different shapes.

    Parameters
    ----------
    h5file : h5py.File
        An open file.

    Returns
    -------
    tuple of str
        Their names, sorted.

    Raises
    ------
    ValueError
        If such a source has more than one dimension.

    """
    names = []
    for name in _present_sources(h5file):
        dataset = h5file[name]
        if shapes_of(dataset) is not None:
            if len(dataset.shape) > 1:
                raise ValueError(
                    f"source {name!r} of {h5file.filename!r} has variable length, so it must "
                    f"have one dimension, got shape {dataset.shape}; store flattened examples"
                )
            names.append(name)
    return tuple(names)


def labels_of(dataset: Any) -> list[str]:
    """Return the labels of the axes of one dataset, ``""`` where an axis has none.

    They are read as the attribute that holds them: where that is damaged, the library's own
    function for labels brings the process down.
    """
    found = dataset.attrs.get("DIMENSION_LABELS", ())
    if numpy.ndim(found) != 1:
        found = ()
    labels = [_text(label) if isinstance(label, (str, bytes)) else "" for label in found]
    return (labels + [""] * dataset.ndim)[: dataset.ndim]


def get_axis_labels(h5file: Any) -> dict[str, tuple[str, ...] | None]:
    """Read the axis labels of all sources in a file.

    Parameters
    ----------
    h5file : h5py.File
        An open file.

    Returns
    -------
    dict
        Maps the name of each source to a tuple of labels, or to None if it has none.

    """
    labels: dict[str, tuple[str, ...] | None] = {}
    for name in _present_sources(h5file):
        dataset = h5file[name]
        found = labels_of(dataset)
        inner = shapes_of(dataset, "shape_labels")
        if inner is not None:
            found += [
                label.decode("utf8") if isinstance(label, bytes) else str(label)
                for label in inner[...]
            ]
        labels[name] = tuple(found) if any(found) else None
    return labels


def specs_of(h5file: Any, sources: Iterable[str]) -> dict[str, Spec]:
    """Describe one example of each source, without reading any."""
    import h5py

    specs = {}
    for name in sources:
        dataset = h5file[name]
        shape, dtype = dataset.shape[1:], dataset.dtype
        shapes, base = shapes_of(dataset), h5py.check_vlen_dtype(dtype)
        if isinstance(base, numpy.dtype):
            # Strings of variable length are Python objects instead.
            axes = 1 if shapes is None else shapes.shape[1]
            specs[name] = Spec((*shape, *[None] * axes), base)
        else:
            specs[name] = Spec(shape, None if dtype.kind == "O" else dtype)
    return specs
