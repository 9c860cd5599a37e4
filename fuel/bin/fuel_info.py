"""``fuel-info``: what is in an HDF5 file, and which settings are in force.

Reading the layout is done by `fuel.datasets`, looking up settings by `fuel.config_parser`.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import shlex
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy

from fuel.bin import _common
from fuel.config_parser import config, configuration_file
from fuel.exceptions import FuelError
from fuel.version import version

__all__ = ["describe_file", "main"]

_NOT_AVAILABLE = "N/A"


def main(args: Sequence[str] | None = None) -> None:
    """Run ``fuel-info``.

    Parameters
    ----------
    args : sequence of str, optional
        The arguments; by default those of the process.

    Raises
    ------
    SystemExit
        With exit code 1 if the file is missing, damaged or no HDF5 file, 2 after wrong usage.

    """
    _common.run("fuel-info", _info, args)


def _info(arguments: list[str]) -> int:
    parser = _common.make_parser(
        "fuel-info", "Show how an HDF5 file was made and what is in it, or the settings of Fuel."
    )
    parser.add_argument("filename", nargs="?", help="an HDF5 file")
    parser.add_argument(
        "--config", action="store_true", help="show every setting, and where its value is from"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--stats", action="store_true", help="look at all of the data: ranges, means, classes"
    )
    parser.add_argument("--preview", metavar="PNG", help="draw some examples into this file")
    parser.add_argument("--html", metavar="HTML", help="write all of it into this page")
    parser.add_argument("--split", help="of which split examples are drawn")
    parser.add_argument("--count", type=int, default=24, help="how many (default: %(default)s)")
    parser.add_argument("--seed", type=int, help="draw examples at random, chosen by this")
    options = parser.parse_args(arguments)
    if (options.filename is None) != options.config:
        parser.error("name an HDF5 file, or ask for the settings with --config")
    if options.config:
        found = describe_settings()
        print(json.dumps(found, indent=2, default=str) if options.json else _settings_text(found))
    else:
        found = describe_file(options.filename)
        if options.stats:
            from fuel.inspection.statistics import statistics

            found["statistics"] = statistics(options.filename)
        print(json.dumps(found, indent=2) if options.json else _file_text(found))
        _write_pictures(options, found)
    return 0


def _write_pictures(options: Any, found: dict[str, Any]) -> None:
    """Write the picture and the page that were asked for."""
    chosen = {"split": options.split, "count": options.count, "seed": options.seed}
    try:
        if options.preview:
            from fuel.inspection.preview import preview

            preview(options.filename, options.preview, **chosen)
        if options.html:
            from fuel.converters._output import atomic_output
            from fuel.inspection.page import page

            text = page(options.filename, found, found.get("statistics"), **chosen)
            with atomic_output(options.html) as part, open(part, "w", encoding="utf-8") as file:
                file.write(text)
    except ValueError as error:
        raise _common.UserError(str(error), _common.USAGE) from error


def describe_file(path: str) -> dict[str, Any]:
    """Say what is in an HDF5 file.

    Parameters
    ----------
    path : str
        The file.

    Returns
    -------
    dict
        ``file``; ``command`` and ``versions`` (None where the file was not made by
        ``fuel-convert``); ``splits``: name → source → rows; ``sources``: name → ``shape``,
        ``dtype``, ``axis_labels`` and ``storage`` (see `fuel.inspection.storage`); ``advice``:
        sentences on what is in the way of reading it in any order; ``provenance``: what made it,
        from what. Plain JSON.

    Raises
    ------
    OSError
        If the file is missing, cut short, damaged, or not HDF5.

    """
    import h5py

    try:
        os.stat(path)
    except (FileNotFoundError, ValueError):
        raise _common.UserError(f"there is no file {path or repr(path)}") from None
    if os.path.isdir(path):
        raise _common.UserError(f"{path} is a directory, not an HDF5 file")
    with open(path, "rb"):
        pass  # a file that may not be read is told by the system's own words
    try:
        h5file = h5py.File(path, "r")
    except OSError as error:
        raise _common.UserError(_why_not(path, error)) from error
    with h5file:
        try:
            return {
                "file": os.path.basename(path),
                "command": _attribute(h5file, "fuel_convert_command"),
                "versions": {
                    "H5PYDataset": _attribute(h5file, "h5py_interface_version"),
                    "fuel.converters": _attribute(h5file, "fuel_convert_version"),
                },
                "splits": _splits(h5file),
                "sources": _sources(h5file),
                "advice": _advice(h5file, path),
                "provenance": _provenance(h5file),
            }
        except (OSError, RuntimeError, KeyError, ValueError) as error:
            if isinstance(error, FuelError):
                raise
            raise _common.UserError(f"{path} is damaged: {_common.plain(error)}") from error


def _why_not(path: str, error: OSError) -> str:
    import h5py

    text = _common.plain(error)
    if "truncated" in text:
        return f"{path} is cut short (a copy or a conversion that did not end?); make it again"
    if "lock" in text:
        return f"{path} is being written by another process"
    if not h5py.is_hdf5(path):
        return f"{path} is not an HDF5 file"
    return f"{path} cannot be read, it may be damaged: {text}"


def _attribute(h5file: Any, name: str) -> str | None:
    value = h5file.attrs.get(name)
    if isinstance(value, bytes):
        return value.decode("utf8", "replace")
    return None if value is None else str(value)


def _provenance(h5file: Any) -> dict[str, Any] | None:
    from fuel.converters._provenance import read_provenance

    return read_provenance(h5file)


def _advice(h5file: Any, path: str) -> list[str]:
    """Say what is in the way of reading the file in any order, and what to do about it."""
    from fuel.datasets._h5_layout import get_all_sources
    from fuel.inspection.storage import advice, storage_of

    found = []
    for name in get_all_sources(h5file):
        if name in h5file:
            what = advice(h5file[name], storage_of(h5file[name]))
            if what is not None:
                found.append(f"source {name}: {what}")
    if found:
        command = shlex.join(
            ["fuel-convert", "repack", path, f"{os.path.splitext(path)[0]}-fast.hdf5"]
        )
        found.append(f"`{command}` rewrites it for random reading")
    return found


def _splits(h5file: Any) -> dict[str, dict[str, Any]]:
    from fuel.datasets._splits import read_splits

    splits: dict[str, dict[str, Any]] = {}
    if "split" not in h5file.attrs:
        return splits
    for row in read_splits(h5file):
        sources = splits.setdefault(row.split, {})
        if not row.available:
            continue
        part: dict[str, Any] = {"start": int(row.start), "stop": int(row.stop)}
        if row.indices:
            part = {"indices": len(h5file[row.indices])}
        part["examples"] = part["indices"] if row.indices else part["stop"] - part["start"]
        if row.comment not in ("", "."):
            part["comment"] = row.comment
        sources[row.source] = part
    return splits


def _sources(h5file: Any) -> dict[str, dict[str, Any]]:
    import h5py

    from fuel.datasets._h5_layout import labels_of
    from fuel.datasets._splits import read_splits
    from fuel.inspection.storage import storage_of

    found: dict[str, dict[str, Any]] = {}
    # Lists of the rows of splits are told with the splits.
    numbers = {h5file[row.indices].name for row in read_splits(h5file) if row.indices}

    def visit(name: str, thing: Any) -> None:
        if not isinstance(thing, h5py.Dataset) or thing.is_scale or thing.name in numbers:
            return
        element = h5py.check_vlen_dtype(thing.dtype)
        labels = labels_of(thing) if thing.shape is not None else []
        varying = element is not None and element not in (str, bytes)
        text = h5py.check_string_dtype(thing.dtype)
        found[name] = {
            "shape": list(thing.shape) if thing.shape is not None else None,
            "dtype": str(element) if varying else "text" if text is not None else str(thing.dtype),
            "variable_length": varying,
            "axis_labels": labels if any(labels) else None,
            "chunks": list(thing.chunks) if thing.chunks else None,
            "compression": thing.compression,
            "storage": storage_of(thing),
            "sizes": _sizes(thing) if varying else None,
        }

    h5file.visititems(visit)
    return dict(sorted(found.items()))


def _sizes(dataset: Any) -> list[list[int]] | None:
    """Return the smallest and the largest size of each axis of examples of different shapes."""
    from fuel.datasets._h5_layout import shapes_of

    shapes = shapes_of(dataset)
    if shapes is None or not len(shapes) or shapes.ndim != 2:
        return None
    smallest = largest = shapes[0]
    for start in range(0, len(shapes), 1 << 20):
        block = shapes[start : start + (1 << 20)]
        smallest = numpy.minimum(smallest, block.min(axis=0))
        largest = numpy.maximum(largest, block.max(axis=0))
    return [[int(low), int(high)] for low, high in zip(smallest, largest, strict=True)]


def _file_text(found: dict[str, Any]) -> str:
    title = f"Metadata for {found['file']}"
    versions = {name: value or _NOT_AVAILABLE for name, value in found["versions"].items()}
    lines = [
        "",
        title,
        "=" * len(title),
        "",
        "The command used to generate this file is",
        "",
        f"    {found['command'] or _NOT_AVAILABLE}",
        "",
        "Relevant versions are",
        "",
        f"    H5PYDataset     {versions['H5PYDataset']}",
        f"    fuel.converters {versions['fuel.converters']}",
        "",
    ]
    if found["splits"]:
        rows = [row for name, parts in found["splits"].items() for row in _split_rows(name, parts)]
        lines += ["Splits are", "", *_table(rows), ""]
    else:
        lines += ["The file defines no splits.", ""]
    if found["sources"]:
        rows = [_source_row(name, source) for name, source in found["sources"].items()]
        lines += ["Sources are", "", *_table(rows), ""]
    else:
        lines += ["The file has no sources.", ""]
    if found["sources"]:
        lines += ["They are stored", "", *_table(_storage_rows(found["sources"])), ""]
    if found["advice"]:
        lines += ["For reading in any order", ""]
        lines += [f"    {sentence}" for sentence in found["advice"]] + [""]
    elif found["sources"]:
        lines += ["The layout suits reading in any order.", ""]
    if found["provenance"]:
        lines += _origin_lines(found["provenance"])
    if "statistics" in found:
        lines += _statistics_lines(found["statistics"])
    return "\n".join(lines)


def _split_rows(name: str, parts: dict[str, Any]) -> list[list[str]]:
    """One row for the sources of a split that take the same rows of the file."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for source, part in parts.items():
        rows = "by index" if "indices" in part else f"rows {part['start']} to {part['stop']}"
        key = (f"{part['examples']} examples", rows, part.get("comment", ""))
        groups.setdefault(key, []).append(source)
    if not groups:
        return [[name, "no sources"]]
    return [[name, *key[:2], ", ".join(s), key[2]] for key, s in groups.items()]


def _source_row(name: str, source: dict[str, Any]) -> list[str]:
    shape = "" if source["shape"] is None else " x ".join(map(str, source["shape"])) or "one value"
    labels = ", ".join(label or "?" for label in source["axis_labels"] or ())
    stored = source["compression"] or ("chunked" if source["chunks"] else "")
    kind = source["dtype"] + (", variable length" if source["variable_length"] else "")
    return [name, kind, shape, labels, stored]


def _storage_rows(sources: dict[str, Any]) -> list[list[str]]:
    from fuel.inspection.page import size_in_words

    rows = []
    for name, source in sources.items():
        stored = source["storage"]
        layout = stored["layout"]
        if stored["chunks"]:
            layout = f"chunks of {' x '.join(map(str, stored['chunks']))}"
        ratio = stored["ratio"]
        sizes = source["sizes"]
        spread = (
            "" if not sizes else " x ".join(f"{a}..{b}" if a != b else str(a) for a, b in sizes)
        )
        rows.append(
            [
                name,
                layout,
                ", ".join(stored["filters"]),
                size_in_words(stored["stored_bytes"]),
                f"{ratio:.2f} times smaller" if ratio and ratio > 1.005 else "",
                f"sizes {spread}" if spread else "",
            ]
        )
    return rows


def _origin_lines(found: dict[str, Any]) -> list[str]:
    inputs = [one for one in found.get("inputs", []) if isinstance(one, dict)]
    rows = [
        [str(one.get("name")), f"{one.get('size'):,} bytes", f"SHA-256 {one.get('sha256')}"]
        for one in inputs
        if isinstance(one.get("size"), int)
    ]
    versions = found.get("versions")
    told = ", ".join(f"{k} {v}" for k, v in versions.items()) if isinstance(versions, dict) else ""
    made = f"It was made {found.get('created')}" + (f" with {told}" if told else "")
    if not rows:
        return [f"{made}.", ""]
    return [f"{made}, from", "", *_table(rows), ""]


def _statistics_lines(stats: dict[str, Any]) -> list[str]:
    keys = ("min", "max", "mean", "std", "nan", "inf")
    rows = [["", *keys]]
    for name, entry in stats.items():
        for kind in ("values", "lengths"):
            if kind in entry:
                title = name if kind == "values" else f"{name} (length)"
                shown = [entry[kind][key] for key in keys]
                rows.append([title, *["" if one is None else f"{one:.6g}" for one in shown]])
    lines = ["Statistics are", "", *_table(rows), ""]
    for name, entry in stats.items():
        for split, classes in (entry.get("classes") or {}).items():
            told = ", ".join(f"{label}: {count:,}" for label, count in classes.items())
            lines += textwrap.wrap(
                f"{name} in {split}: {told}", 96, initial_indent="    ", subsequent_indent="      "
            )
    return [*lines, ""]


def _table(rows: list[list[str]]) -> list[str]:
    columns = max(map(len, rows))
    rows = [row + [""] * (columns - len(row)) for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(columns)]
    return [
        (
            "    " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths) if width)
        ).rstrip()
        for row in rows
    ]


def describe_settings() -> dict[str, Any]:
    """Say which settings are in force, and what the package runs on.

    Returns
    -------
    dict
        ``version``, ``configuration_file``, ``kernels`` (topic → ``"compiled"``, ``"reference"``,
        or what is wrong) and ``settings`` (name → value, origin, environment variable, error).

    """
    path = configuration_file()
    return {
        "version": version,
        "configuration_file": {"path": path, "exists": os.path.exists(path)},
        "kernels": _kernels(),
        "settings": {
            line.key: {
                "value": line.value,
                "origin": line.origin,
                "environment_variable": line.env_var,
                "error": line.error,
            }
            for line in config.describe()
        },
    }


def _kernels() -> dict[str, str]:
    import fuel.kernels
    from fuel.kernels._select import active

    problems = {}
    for module in pkgutil.iter_modules(fuel.kernels.__path__):
        if not module.name.startswith("_"):
            try:
                importlib.import_module(f"fuel.kernels.{module.name}")
            except FuelError as error:
                problems[module.name] = str(error)
    return {**active(), **problems}


def _settings_text(found: dict[str, Any]) -> str:
    file = found["configuration_file"]
    lines = [
        f"Fuel {found['version']}",
        "",
        f"Configuration file: {file['path']}{'' if file['exists'] else ' (there is none)'}",
        "",
        "Settings are",
        "",
        *_table([_setting_row(name, line) for name, line in found["settings"].items()]),
        "",
        "Kernels are",
        "",
        *_table([[topic, form] for topic, form in found["kernels"].items()] or [["none"]]),
        "",
    ]
    # A damaged file is the same error for every setting.
    for error in dict.fromkeys(line["error"] for line in found["settings"].values()):
        if error:
            lines += [f"Problem: {' '.join(error.split())}", ""]
    return "\n".join(lines)


def _setting_row(name: str, line: dict[str, Any]) -> list[str]:
    value = "(unusable)" if line["error"] else repr(line["value"])
    if not line["error"] and line["origin"] == "not set":
        value = "(not set)"
    hint = line["environment_variable"] or ""
    return [name, value, line["origin"], f"(variable {hint})" if hint else ""]


if __name__ == "__main__":
    main()
