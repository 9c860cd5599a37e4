"""The `split` attribute of an HDF5 file: which rows of which source belong to which split.

The attribute is a one-dimensional array of a compound type, one element for every combination of a
split and a source. This room writes and reads it; what else is in a file is told by ``_h5_layout``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy

from fuel.exceptions import StorageError
from fuel.utils._subset import Subset

__all__ = [
    "SplitRow",
    "create_split_array",
    "get_all_splits",
    "get_provided_sources",
    "get_subsets",
    "read_splits",
    "rows_as_given",
]

_FIELDS = ("split", "source", "start", "stop", "indices", "available", "comment")


class SplitRow(NamedTuple):
    """One element of the attribute: what a split has of a source."""

    split: str
    source: str
    start: int
    stop: int
    indices: Any
    available: bool
    comment: str


def create_split_array(split_dict: Mapping[str, Mapping[str, Sequence[Any]]]) -> Any:
    """Make the array for a file's `split` attribute.

    Parameters
    ----------
    split_dict : dict
        Maps names of splits to dicts from names of sources to tuples: the first row, the row
        after the last, and if wanted a reference to a dataset of row numbers (which take the
        place of the first two; None for no reference), and a comment.

    Returns
    -------
    ndarray
        One-dimensional, one element for each combination of a split and a source; those
        that `split_dict` lacks are marked as not available.

    Examples
    --------
    >>> from fuel.datasets import H5PYDataset
    >>> array = H5PYDataset.create_split_array(
    ...     {'train': {'x': (0, 8), 'y': (0, 8)}, 'test': {'x': (8, 10)}})
    >>> array['source'].tolist(), array['available'].tolist()
    ([b'x', b'y', b'x', b'y'], [True, True, True, False])

    """
    import h5py

    splits = list(split_dict)
    sources = sorted({source for parts in split_dict.values() for source in parts})
    null = h5py.Reference()
    rows = []
    for split in splits:
        for source in sources:
            part = split_dict[split].get(source)
            if part is None:
                rows.append((split, source, 0, 0, null, False, ""))
                continue
            if not 2 <= len(part) <= 4:
                raise ValueError(
                    f"the part that split {split!r} has of source {source!r} must be (start, stop"
                    f"[, indices[, comment]]), got {len(part)} elements: {part!r}"
                )
            start, stop, indices, comment = (*part, None, None)[:4]
            rows.append((split, source, start, stop, indices or null, True, comment or ""))
    # Empty strings do not survive in HDF5: '.' stands for no comment.
    texts = [
        (split.encode(), source.encode(), (comment or ".").encode())
        for split, source, _, _, _, _, comment in rows
    ]
    widths = [max((len(text[column]) for text in texts), default=1) for column in range(3)]
    array = numpy.empty(
        len(rows),
        dtype=numpy.dtype(
            [
                ("split", f"S{widths[0]}"),
                ("source", f"S{widths[1]}"),
                ("start", numpy.int64),
                ("stop", numpy.int64),
                ("indices", h5py.ref_dtype),
                ("available", numpy.bool_),
                ("comment", f"S{widths[2]}"),
            ]
        ),
    )
    for place, (row, text) in enumerate(zip(rows, texts, strict=True)):
        array[place] = (text[0], text[1], *row[2:6], text[2])
    return array


def read_splits(h5file: Any) -> list[SplitRow]:
    """Read the attribute.

    Parameters
    ----------
    h5file : h5py.File
        An open file.

    Returns
    -------
    list of SplitRow
        Empty if the file has no such attribute. ``indices`` is None for a null reference.

    Raises
    ------
    StorageError
        If the attribute is not laid out as it should be.

    """
    if "split" not in h5file.attrs:
        return []
    array = numpy.asarray(h5file.attrs["split"])
    if array.dtype.names is None or not set(_FIELDS) <= set(array.dtype.names) or array.ndim != 1:
        raise StorageError(
            f"the `split` attribute of {h5file.filename!r} must be a one-dimensional array with "
            f"the fields {_FIELDS}, got {array.ndim} dimensions of type {array.dtype}; write it "
            "with `H5PYDataset.create_split_array`"
        )
    return [
        SplitRow(
            _text(row["split"]),
            _text(row["source"]),
            int(_scalar(row["start"])),
            int(_scalar(row["stop"])),
            _scalar(row["indices"]) or None,
            bool(_scalar(row["available"])),
            _text(row["comment"]),
        )
        for row in array
    ]


def _scalar(value: Any) -> Any:
    """Return the one value of a field.

    Where NumPy read the number in ``(name, type, 1)`` as a shape, the fields of files are arrays
    of one element.
    """
    if isinstance(value, numpy.ndarray):
        return value.reshape(-1)[0]
    return value


def _text(value: Any) -> str:
    value = _scalar(value)
    return value.decode("utf8") if isinstance(value, bytes) else str(value)


def get_all_splits(h5file: Any) -> tuple[str, ...]:
    """List the splits of a file.

    Parameters
    ----------
    h5file : h5py.File
        An open file.

    Returns
    -------
    tuple of str
        Their names, sorted; none if the file has no `split` attribute.

    """
    return tuple(sorted({row.split for row in read_splits(h5file)}))


def get_provided_sources(h5file: Any, split: str) -> tuple[str, ...]:
    """List the sources that are available in a split.

    Parameters
    ----------
    h5file : h5py.File
        An open file.
    split : str
        The split.

    Returns
    -------
    tuple of str
        Their names, sorted.

    """
    return tuple(
        sorted({row.source for row in read_splits(h5file) if row.split == split and row.available})
    )


def rows_as_given(rows: Any, original_num_examples: int) -> Subset:
    """Make a subset whose rows keep the order and the repetitions in which they are given.

    Parameters
    ----------
    rows : slice, list or ndarray of int64
        Existing rows.
    original_num_examples : int
        How many there are.

    Returns
    -------
    fuel.utils.Subset
        The rows; a slice if they follow one another.

    """
    if isinstance(rows, slice):
        return Subset(rows, original_num_examples)
    vector = numpy.asarray(rows, dtype=numpy.int64)
    if not len(vector):
        return Subset.empty_subset(original_num_examples)
    if bool((numpy.diff(vector) == 1).all()):
        return Subset(slice(int(vector[0]), int(vector[-1]) + 1), original_num_examples)
    subset = Subset.empty_subset(original_num_examples)
    subset.list_or_slice = vector.tolist()
    return subset


def _united(first: Subset, second: Subset) -> Subset:
    """Put the rows of one subset behind those of another."""
    rows = [
        list(range(*subset.list_or_slice.indices(subset.original_num_examples)))
        if isinstance(subset.list_or_slice, slice)
        else subset.list_or_slice
        for subset in (first, second)
    ]
    return rows_as_given(rows[0] + rows[1], first.original_num_examples)


def get_subsets(
    h5file: Any, splits: Iterable[str], sources: Iterable[str], given: bool = False
) -> list[Subset]:
    """Find the rows of some sources that belong to splits.

    Parameters
    ----------
    h5file : h5py.File
        An open file.
    splits : iterable of str
        The splits, united if there are several.
    sources : iterable of str
        The sources.
    given : bool, optional
        Whether row numbers that the file lists, and the splits, keep their order, and rows their
        repetitions; otherwise each row is there once, in the order of the file.

    Returns
    -------
    list of fuel.utils.Subset
        One for each source.

    Raises
    ------
    ValueError
        If a source is not available in a split.
    fuel.exceptions.StorageError
        If a split has rows that the file has not.

    """
    splits = tuple(splits)
    rows = {(row.split, row.source): row for row in read_splits(h5file)}
    subsets = []
    for source in sources:
        total: Subset | None = None
        for split in splits:
            row = rows.get((split, source))
            if row is None or not row.available:
                provided = get_provided_sources(h5file, split)
                raise ValueError(
                    f"source {source!r} is not available in split {split!r} of "
                    f"{h5file.filename!r}; that split provides {provided}"
                )
            subset = _subset_of(h5file, row, given)
            if total is None:
                total = subset
            else:
                total = _united(total, subset) if given else total + subset
        if total is None:
            raise ValueError("`splits` names no split; give one or more")
        subsets.append(total)
    return subsets


def _subset_of(h5file: Any, row: SplitRow, given: bool) -> Subset:
    where = f"split {row.split!r} of source {row.source!r} in {h5file.filename!r}"
    if row.source not in h5file:
        raise StorageError(
            f"{where} refers to data that the file does not have; it contains {sorted(h5file)}: "
            "the file is incomplete, make it again"
        )
    length = len(h5file[row.source])
    bounds: Any
    if row.indices is None:
        first, last, bounds = row.start, row.stop, slice(row.start, row.stop)
        legal = 0 <= first <= last <= length
    else:
        bounds = numpy.asarray(h5file[row.indices][...]).reshape(-1)
        if not len(bounds):
            return Subset.empty_subset(length)
        if bounds.dtype.kind not in "iu":
            raise StorageError(
                f"{where} takes its row numbers from {h5file[row.indices].name!r}, whose type is "
                f"{bounds.dtype}; row numbers must be integers"
            )
        first, last = int(bounds.min()), int(bounds.max()) + 1
        legal = 0 <= first <= last <= length
    if not legal:
        raise StorageError(
            f"{where} covers rows {first} to {last}, but the source has {length} rows; the file "
            "is incomplete or was written wrongly: make it again"
        )
    if first == last:
        return Subset.empty_subset(length)
    return rows_as_given(bounds, length) if given else Subset(bounds, length)
