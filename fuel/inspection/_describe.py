"""What a file is made of: sources, how they are stored, splits, where it comes from.

No data is read, but for the lists of shapes of ragged examples (of very long lists a part).
"""

from __future__ import annotations

import os
import shlex
import subprocess
from typing import Any

from fuel.exceptions import StorageError
from fuel.inspection._opening import DAMAGE, in_one_line, opened
from fuel.inspection._shapes import spread
from fuel.inspection._words import clean, type_in_words
from fuel.inspection.storage import random_reading, storage_of

__all__ = ["describe", "described", "sources_in", "type_of"]


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Say what is in an HDF5 file, without looking at its data.

    Parameters
    ----------
    path : path
        The file; any HDF5 file, of whatever program.

    Returns
    -------
    dict
        Plain JSON. ``file``, its name; ``size_bytes``; ``format``, which program's conventions it
        follows, as far as they are known here; ``user_block_bytes``, what precedes the HDF5 part.

        ``command``, ``versions`` and ``provenance``: what made it, None where it does not say.

        ``splits``: name → source → ``examples``, and ``start`` and ``stop`` or the number of
        ``indices``, and a ``comment`` if there is one; ``unavailable``: split → the sources that it
        lacks.

        ``sources``: name → ``shape``, ``dtype`` (NumPy's name), ``type`` (in words), ``labels``
        of enumerations (name → number), ``variable_length``, ``axis_labels``, ``sizes`` (smallest
        and largest size of each axis that varies), ``shapes`` (see ``fuel.inspection._shapes``),
        ``chunks``, ``compression``, ``storage`` (see `fuel.inspection.storage.storage_of`) and
        ``random_reading`` (see `fuel.inspection.storage.random_reading`).

        ``advice``: sentences on what is in the way of reading in any order, and the command that
        mends it; ``remarks``: what else there is to know; ``problems``: what is wrong.

    Raises
    ------
    fuel.exceptions.StorageError
        If the file is missing, cut short, damaged, or not HDF5.

    Examples
    --------
    >>> import h5py
    >>> from fuel.inspection import describe
    >>> with h5py.File("numbers.hdf5", "w") as h5file:
    ...     h5file["x"] = [1.0, 2.0, 3.0]
    >>> found = describe("numbers.hdf5")
    >>> found["sources"]["x"]["shape"], found["sources"]["x"]["storage"]["layout"]
    ([3], 'contiguous')
    >>> found["advice"]
    []

    """
    with opened(path) as h5file:
        return described(h5file, os.fspath(path))


def described(h5file: Any, path: str) -> dict[str, Any]:
    """Do the work of `describe` on an open file."""
    from fuel.converters._provenance import read_provenance

    problems: list[str] = []
    splits, lacking = _splits(h5file, problems)
    sources: dict[str, dict[str, Any]] = {}
    for name, dataset in sources_in(h5file, problems).items():
        try:
            found = sources[clean(name)] = _source(dataset)
            for file in _missing(found["storage"]["files"], path):
                problems.append(f"source {clean(name)} takes data from {file}, which is not there")
        except DAMAGE as error:
            problems.append(f"source {clean(name)} cannot be described: {in_one_line(error)}")
    _check_lengths(splits, sources, problems)
    return {
        "file": clean(os.path.basename(path)),
        "size_bytes": os.path.getsize(path),
        "format": _format(h5file, path),
        "user_block_bytes": int(h5file.userblock_size),
        "command": _attribute(h5file, "fuel_convert_command"),
        "versions": {
            "H5PYDataset": _attribute(h5file, "h5py_interface_version"),
            "fuel.converters": _attribute(h5file, "fuel_convert_version"),
        },
        "provenance": read_provenance(h5file),
        "splits": splits,
        "unavailable": lacking,
        "sources": sources,
        "advice": _advice(sources, path),
        "remarks": [
            f"source {name}: {remark}"
            for name, source in sources.items()
            for remark in source["random_reading"]["remarks"]
        ],
        "problems": problems,
    }


def _attribute(h5file: Any, name: str) -> str | None:
    try:
        value = h5file.attrs.get(name)
    except DAMAGE:
        return None
    if isinstance(value, bytes):
        value = value.decode("utf8", "replace")
    return None if value is None else clean(str(value))


def _format(h5file: Any, path: str) -> str | None:
    if "split" in h5file.attrs:
        return "Fuel"
    if "PYTABLES_FORMAT_VERSION" in h5file.attrs:
        return "PyTables"
    if "_NCProperties" in h5file.attrs:
        return "netCDF-4"
    if h5file.userblock_size:
        with open(path, "rb") as file:
            if file.read(10) == b"MATLAB 7.3":
                return "MATLAB 7.3"
    return None


def type_of(dataset: Any) -> Any:
    """Return the type of a dataset's elements, None if NumPy has nothing like it."""
    try:
        return dataset.dtype
    except TypeError:
        return None


def sources_in(h5file: Any, problems: list[str] | None = None) -> dict[str, Any]:
    """Find the datasets of a file.

    Parameters
    ----------
    h5file : h5py.File
        An open file.
    problems : list of str, optional
        Gets a sentence for each thing that cannot be opened.

    Returns
    -------
    dict
        Name → dataset, sorted by name, from every group; a name that is no text is bytes.
        Dimension scales, which describe an axis of another dataset, and lists of the rows of
        splits are left out.

    """
    import h5py

    from fuel.datasets._splits import read_splits

    try:
        rows = read_splits(h5file)
    except (StorageError, ValueError):
        rows = []
    names: list[str] = []
    h5file.visit(names.append)
    # A split may name what only a link leads to.
    wanted = [row.source for row in rows if row.source in h5file]
    numbers, found = set(), {}
    for row in rows:
        try:
            if row.indices:
                numbers.add(h5file[row.indices].name)
        except DAMAGE:
            continue  # told with the splits
    for name in dict.fromkeys([*names, *wanted]):
        try:
            thing = h5file[name]
        except DAMAGE as error:
            if problems is not None:
                problems.append(f"{clean(name)} cannot be opened: {in_one_line(error)}")
            continue
        if isinstance(thing, h5py.Dataset) and not thing.is_scale and thing.name not in numbers:
            found[name] = thing
    return {name: found[name] for name in sorted(found, key=clean)}


def _source(dataset: Any) -> dict[str, Any]:
    import h5py

    from fuel.datasets._h5_layout import labels_of, shapes_of

    dtype = type_of(dataset)
    element = None if dtype is None else h5py.check_vlen_dtype(dtype)
    varying = element is not None and element not in (str, bytes)
    text = dtype is not None and h5py.check_string_dtype(dtype) is not None
    labels = labels_of(dataset) if dataset.shape is not None else []
    shapes = spread(dataset) if varying else None
    if shapes is not None:
        told = shapes_of(dataset, "shape_labels")
        inner = [_text(label) for label in told[...]] if told is not None and told.shape else []
        labels += (inner + [""] * len(shapes["min"]))[: len(shapes["min"])]
    names = h5py.check_enum_dtype(dtype) if dtype is not None else None
    stored = storage_of(dataset, shapes["elements"] if shapes else None)
    words = type_in_words(numpy_type(element) if varying else dtype)
    return {
        "shape": list(dataset.shape) if dataset.shape is not None else None,
        "dtype": None if dtype is None else str(element if varying else "text" if text else dtype),
        "type": words,
        "labels": {clean(n): int(v) for n, v in names.items()} if names else None,
        "variable_length": varying,
        "axis_labels": [clean(label) for label in labels] if any(labels) else None,
        "sizes": [list(pair) for pair in zip(shapes["min"], shapes["max"])] if shapes else None,
        "shapes": shapes,
        "chunks": stored["chunks"],
        "compression": dataset.compression,
        "storage": stored,
        "random_reading": random_reading(dataset, stored),
    }


def numpy_type(element: Any) -> Any:
    """Return the type of the elements of examples of variable length."""
    import numpy

    return numpy.dtype(element)


def _text(value: Any) -> str:
    return value.decode("utf8", "replace") if isinstance(value, bytes) else str(value)


def _splits(
    h5file: Any, problems: list[str]
) -> tuple[dict[str, dict[str, Any]], dict[str, list[str]]]:
    from fuel.datasets._splits import read_splits

    splits: dict[str, dict[str, Any]] = {}
    lacking: dict[str, list[str]] = {}
    if "split" not in h5file.attrs:
        return splits, lacking
    try:
        rows = read_splits(h5file)
    except (StorageError, *DAMAGE) as error:
        problems.append(in_one_line(error))
        return splits, lacking
    for row in rows:
        split, source = clean(row.split), clean(row.source)
        sources = splits.setdefault(split, {})
        if not row.available:
            lacking.setdefault(split, []).append(source)
            continue
        part: dict[str, Any] = {"start": int(row.start), "stop": int(row.stop)}
        where = f"split {split} of source {source}"
        if row.indices:
            try:
                part = {"indices": len(h5file[row.indices])}
            except DAMAGE as error:
                problems.append(f"{where} has no list of its rows: {in_one_line(error)}")
                part = {"indices": 0}
        part["examples"] = part["indices"] if row.indices else part["stop"] - part["start"]
        if row.comment not in ("", "."):
            part["comment"] = clean(row.comment)
        sources[source] = part
        if row.source not in h5file:
            problems.append(f"{where} refers to data that the file does not have")
        elif not row.indices:
            length = (getattr(h5file[row.source], "shape", None) or (0,))[0]
            if not 0 <= row.start <= row.stop <= length:
                problems.append(
                    f"{where} covers rows {row.start} to {row.stop}, but there are {length}"
                )
    return splits, lacking


def _missing(files: list[str], path: str) -> list[str]:
    """Return those of other files that are neither beside the file nor in this directory."""
    folder = os.path.dirname(path)
    return [
        clean(name)
        for name in files
        if name != "."
        and "%" not in name  # stands for many files
        and not any(os.path.exists(place) for place in (os.path.join(folder, name), name))
    ]


def _check_lengths(
    splits: dict[str, dict[str, Any]], sources: dict[str, dict[str, Any]], problems: list[str]
) -> None:
    """Notice sources that do not go together."""
    for split, parts in splits.items():
        counts = {source: part["examples"] for source, part in parts.items()}
        if len(set(counts.values())) > 1:
            told = ", ".join(f"{count:,} of {source}" for source, count in counts.items())
            problems.append(f"split {split} has unequal numbers of examples: {told}")


def _advice(sources: dict[str, dict[str, Any]], path: str) -> list[str]:
    found = [
        f"source {name}: {source['random_reading']['reason']}"
        for name, source in sources.items()
        if not source["random_reading"]["suitable"]
    ]
    if found:
        stem = os.path.splitext(path)[0]
        found.append(f"`{_repack(path, f'{stem}-fast.hdf5')}` rewrites it for random reading")
    return found


def _repack(path: str, output: str) -> str:
    """Return the command, fit for the shell."""
    names = [os.path.join(os.curdir, n) if n.startswith("-") else n for n in (path, output)]
    words = ["fuel-convert", "repack", *names]
    return clean(subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words))
