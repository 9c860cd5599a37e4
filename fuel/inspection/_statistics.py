"""Statistics of the sources of a file, in one pass and bounded memory.

Splits that list their rows cost one bit for each row of a source; everything else is a few numbers
for each source and class.
"""

from __future__ import annotations

import math
import os
from typing import Any

import numpy

from fuel.exceptions import FuelError
from fuel.inspection._blocks import parts, whole_rows
from fuel.inspection._describe import sources_in, type_of
from fuel.inspection._moments import Classes, Moments
from fuel.inspection._opening import DAMAGE, in_one_line, opened
from fuel.inspection._words import clean

__all__ = ["class_names", "needs_filters", "statistics"]

_CACHE_BYTES = 64 * 2**20
_INDEX_ROWS = 1 << 20
#: The filters that hdf5plugin has.
_PLUGIN_FILTERS = frozenset({32001, 32004, 32008, 32013, 32015, 32026, 307, 32017, 32018, 32019})


def statistics(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Look at all of the data in a file, once.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    dict
        Plain JSON: for each source

        - ``values``: ``count``, ``min``, ``max``, ``mean``, ``std`` of its finite numbers, and the
          numbers of ``nan`` and ``inf``; of complex numbers the magnitude is taken (``of``)
        - ``lengths``: the same of the lengths of texts, in bytes, and of examples of different
          shapes, in elements
        - ``classes``: for whole numbers, one an example: split → class → examples; None where
          there are more than 1000 of them; and ``class_names``, if the file tells them
        - ``fields``: for compound types: field → ``values``
        - ``problem``: why the rest is missing, if a source cannot be read

    Raises
    ------
    fuel.exceptions.StorageError
        If the file cannot be read.

    Examples
    --------
    >>> import h5py
    >>> from fuel.inspection import statistics
    >>> with h5py.File("numbers.hdf5", "w") as h5file:
    ...     h5file["y"] = [0, 1, 1]
    >>> found = statistics("numbers.hdf5")
    >>> found["y"]["values"]["max"], found["y"]["classes"]
    (1, {'all': {'0': 1, '1': 2}})

    """
    from fuel.io.hdf5.store import Store

    path = os.fspath(path)
    found: dict[str, Any] = {}
    with opened(path) as h5file:
        store = Store(h5file, path, _CACHE_BYTES)
        for name, dataset in sources_in(h5file).items():
            entry = found[clean(name)] = {}
            try:
                needs_filters(dataset)
                _look(h5file, store, name, dataset, entry)
            except (FuelError, IndexError, *DAMAGE) as error:
                entry["problem"] = in_one_line(error)
    return found


def needs_filters(dataset: Any) -> None:
    """Load the filters that a dataset needs, if they are installed."""
    properties = dataset.id.get_create_plist()
    codes = {properties.get_filter(number)[0] for number in range(properties.get_nfilters())}
    if codes & _PLUGIN_FILTERS:
        try:
            import hdf5plugin  # noqa: F401 - registers the filters
        except ImportError:
            raise ValueError(
                f"it needs filter {min(codes & _PLUGIN_FILTERS)} of HDF5, which is not installed; "
                "`pip install hdf5plugin`"
            ) from None


def class_names(dataset: Any) -> dict[int, str]:
    """Return the names of classes that a source tells: by its type, or an attribute."""
    import h5py

    dtype = type_of(dataset)
    names = None if dtype is None else h5py.check_enum_dtype(dtype)
    if names:
        return {int(value): clean(name) for name, value in names.items()}
    try:
        told = dataset.attrs.get("class_names")
    except DAMAGE:
        return {}
    if told is None or isinstance(told, str | bytes) or numpy.ndim(told) != 1:
        return {}
    return {
        number: clean(name.decode("utf8", "replace") if isinstance(name, bytes) else str(name))
        for number, name in enumerate(numpy.asarray(told).tolist())
    }


def _look(h5file: Any, store: Any, name: str, dataset: Any, entry: dict[str, Any]) -> None:
    dtype = type_of(dataset)
    if dtype is None or dataset.shape is None:
        return
    values, lengths = Moments(), Moments()
    fields: dict[str, Moments] = {}
    classes = None
    single = dtype.kind in "iub" and math.prod(dataset.shape[1:]) == 1
    if single and dataset.shape and whole_rows(dataset):
        classes = Classes(_rows_of_splits(h5file, name, len(dataset)))
    rows = store.rows(name) if dataset.shape else None
    for start, block in parts(dataset, rows):
        if dtype.hasobject:
            _add_objects(block, values, lengths)
        elif dtype.kind == "S":
            lengths.add(numpy.char.str_len(block))
        elif dtype.kind in "biufc":
            values.add(block)
            if classes is not None:
                classes.add(start, block)
        elif dtype.names is not None:
            _add_fields(block, "", fields)
    if values.count or values.missing or values.infinite:
        entry["values"] = values.summary()
        if dtype.kind == "c":
            entry["values"]["of"] = "magnitude"
    if lengths.count:
        entry["lengths"] = lengths.summary()
    if fields:
        entry["fields"] = {field: {"values": m.summary()} for field, m in fields.items()}
    if classes is not None:
        entry["classes"] = classes.summary()
        names = class_names(dataset)
        if names and entry["classes"] is not None:
            seen = {int(label) for counts in entry["classes"].values() for label in counts}
            entry["class_names"] = {str(label): names.get(label) for label in sorted(seen)}


def _add_objects(block: Any, values: Moments, lengths: Moments) -> None:
    sizes = []
    for element in block.reshape(-1):
        if isinstance(element, str):
            sizes.append(len(element.encode("utf8", "surrogateescape")))
        elif isinstance(element, bytes | numpy.ndarray):
            sizes.append(len(element) if isinstance(element, bytes) else element.size)
            if isinstance(element, numpy.ndarray) and element.dtype.kind in "biufc":
                values.add(element)
    lengths.add(numpy.array(sizes, dtype=numpy.int64))


def _add_fields(block: Any, prefix: str, fields: dict[str, Moments]) -> None:
    for name in block.dtype.names:
        column, label = block[name], f"{prefix}{clean(name)}"
        if column.dtype.names is not None:
            _add_fields(column, f"{label}.", fields)
        elif column.dtype.kind in "biufc":
            fields.setdefault(label, Moments()).add(column)


def _rows_of_splits(h5file: Any, name: str, length: int) -> dict[str, Any]:
    """Return which rows of a source belong to which split."""
    from fuel.datasets._splits import read_splits

    try:
        told = read_splits(h5file)
    except (FuelError, *DAMAGE):
        told = []  # told with the splits
    found: dict[str, Any] = {}
    for row in told:
        if row.source != name or not row.available:
            continue
        if not row.indices:
            found[clean(row.split)] = slice(max(row.start, 0), max(min(row.stop, length), 0))
            continue
        bits = numpy.zeros(-(-length // 8), dtype=numpy.uint8)
        numbers = h5file[row.indices]
        for start in range(0, len(numbers), _INDEX_ROWS):
            part = numpy.asarray(numbers[start : start + _INDEX_ROWS]).reshape(-1)
            part = part[(part >= 0) & (part < length)].astype(numpy.int64)
            numpy.bitwise_or.at(bits, part >> 3, (1 << (part & 7)).astype(numpy.uint8))
        found[clean(row.split)] = bits
    return found or {"all": slice(0, length)}
