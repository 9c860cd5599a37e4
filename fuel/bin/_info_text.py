"""What ``fuel-info`` prints for people; what it knows is found out by `fuel.inspection`.

The first lines are those of the original's ``fuel-info``, unchanged.
"""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from typing import Any

from fuel.inspection._shapes import shapes_in_words
from fuel.inspection._words import clean, count_in_words, number, size_in_words
from fuel.inspection.storage import filters_in_words, layout_in_words

__all__ = ["file_text", "show", "table"]

_NOT_AVAILABLE = "N/A"
_INDENT = "    "
_FEW_CLASSES = 30
_KEYS = ("min", "max", "mean", "std", "nan", "inf")
#: What goes to files and other programs is wrapped as for a terminal of this width, tables not.
_TEXT_WIDTH = 100


def show(text: str) -> None:
    """Print a text, in whatever letters the standard output has."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding))


def _width() -> int | None:
    """Return how wide the terminal is, None if there is none."""
    if not sys.stdout.isatty():
        return None
    return max(24, shutil.get_terminal_size().columns)


def _warned(text: str) -> str:
    """Colour a line that somebody should see, where colours are welcome."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return text if plain or not sys.stdout.isatty() else f"\x1b[33m{text}\x1b[0m"


def table(rows: list[list[str]]) -> list[str]:
    """Set rows in columns.

    Parameters
    ----------
    rows : list of list of str
        The cells.

    Returns
    -------
    list of str
        Lines. On a terminal that is too narrow, what does not fit goes to lines of its own.

    """
    columns = max(map(len, rows))
    rows = [row + [""] * (columns - len(row)) for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(columns)]
    wide = [
        (_INDENT + "  ".join(cell.ljust(size) for cell, size in zip(row, widths) if size)).rstrip()
        for row in rows
    ]
    room = _width()
    if room is None or max(map(len, wide)) <= room:
        return wide
    lines = []
    for row in rows:
        line = _INDENT
        for place, cell in enumerate(cell for cell in row if cell):
            if place and len(line) + 2 + len(cell) > room:
                lines.append(line.rstrip())
                line = 2 * _INDENT
            line += cell if not line.strip() else f"  {cell}"
        lines.append(line.rstrip())
    return lines


def _wrapped(text: str, first: str = _INDENT, rest: str = 2 * _INDENT) -> list[str]:
    return textwrap.wrap(
        text,
        _width() or _TEXT_WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _sentence(text: str) -> list[str]:
    """Return a sentence; one with a command stays in one line, so that it can be copied."""
    return [_INDENT + text] if "`" in text else _wrapped(text)


def file_text(found: dict[str, Any]) -> str:
    """Write what is known of a file.

    Parameters
    ----------
    found : dict
        What `fuel.inspection.describe` returned, and maybe ``statistics``.

    Returns
    -------
    str
        The text.

    """
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
    for problem in found["problems"]:
        lines += [_warned(line) for line in _wrapped(f"Problem: {problem}", "", _INDENT)] + [""]
    lines += _split_lines(found)
    sources = found["sources"]
    if sources:
        lines += ["Sources are", ""]
        lines += [*table([_source_row(name, source) for name, source in sources.items()]), ""]
        lines += ["They are stored", ""]
        lines += [*table([_storage_row(name, source) for name, source in sources.items()]), ""]
    else:
        lines += ["The file has no sources.", ""]
    if found["advice"]:
        lines += [_warned("For reading in any order"), ""]
        lines += [line for text in found["advice"] for line in _sentence(text)] + [""]
    elif sources:
        lines += ["The layout suits reading in any order.", ""]
    if found["remarks"]:
        lines += ["Worth knowing", ""]
        lines += [line for text in found["remarks"] for line in _sentence(text)] + [""]
    if found["provenance"]:
        lines += _origin_lines(found["provenance"])
    if "statistics" in found:
        lines += _statistics_lines(found["statistics"])
    return "\n".join(lines)


def _split_lines(found: dict[str, Any]) -> list[str]:
    if not found["splits"]:
        return ["The file defines no splits.", ""]
    rows = [row for name, parts in found["splits"].items() for row in _split_rows(name, parts)]
    lines = ["Splits are", "", *table(rows), ""]
    lacking = [
        [name, f"has no {', '.join(sources)}"]
        for name, sources in found["unavailable"].items()
        if found["splits"][name]
    ]
    if lacking:
        lines += [*table(lacking), ""]
    return lines


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
    if source["shape"] is None:
        shape = "nothing"
    else:
        shape = " x ".join(map(str, source["shape"])) or "one value"
    if source["shapes"]:
        shape += f" x ({shapes_in_words(source['shapes'])})"
    labels = ", ".join(label or "?" for label in source["axis_labels"] or ())
    kind = source["type"] + (", variable length" if source["variable_length"] else "")
    return [name, kind, shape, labels]


def _storage_row(name: str, source: dict[str, Any]) -> list[str]:
    stored = source["storage"]
    ratio = stored["ratio"]
    about = "about " if source["shapes"] and source["shapes"]["sampled"] else ""
    size = size_in_words(stored["stored_bytes"])
    return [
        name,
        clean(layout_in_words(stored)),
        filters_in_words(stored),
        f"{about}{size}" if size else "",
        f"{ratio:.2f} times smaller" if stored["compressed"] and ratio and ratio > 1.005 else "",
    ]


def _origin_lines(found: dict[str, Any]) -> list[str]:
    inputs = found.get("inputs")
    rows = [
        [
            clean(str(one.get("name"))),
            count_in_words(one["size"], "byte"),
            f"SHA-256 {clean(str(one.get('sha256')))}",
        ]
        for one in (inputs if isinstance(inputs, list) else [])
        if isinstance(one, dict) and isinstance(one.get("size"), int)
    ]
    versions = found.get("versions")
    told = ", ".join(f"{k} {v}" for k, v in versions.items()) if isinstance(versions, dict) else ""
    made = f"It was made {found.get('created')}" + (f" with {told}" if told else "")
    if not rows:
        return [*_wrapped(clean(f"{made}."), "", ""), ""]
    return [*_wrapped(clean(f"{made}, from"), "", ""), "", *table(rows), ""]


def _statistics_lines(stats: dict[str, Any]) -> list[str]:
    rows = [["", *_KEYS]]
    for name, entry in stats.items():
        kinds = {f"{name}.{f}": one["values"] for f, one in entry.get("fields", {}).items()}
        if "values" in entry:
            kinds[name + (" (magnitude)" if "of" in entry["values"] else "")] = entry["values"]
        if "lengths" in entry:
            kinds[f"{name} (length)"] = entry["lengths"]
        rows += [
            [title, *[number(one[key]) or "-" for key in _KEYS]] for title, one in kinds.items()
        ]
    lines = ["Statistics are", "", *table(rows), ""] if len(rows) > 1 else ["No statistics.", ""]
    for name, entry in stats.items():
        if "problem" in entry:
            told = f"Problem: source {name} cannot be read: {entry['problem']}"
            lines += [_warned(line) for line in _wrapped(told, "", _INDENT)] + [""]
    for name, entry in stats.items():
        for split, classes in (entry.get("classes") or {}).items():
            lines += _class_lines(name, split, classes, entry.get("class_names", {}))
    return [*lines, ""]


def _class_lines(
    name: str, split: str, classes: dict[str, int], names: dict[str, str | None]
) -> list[str]:
    if len(classes) <= _FEW_CLASSES:
        told = ", ".join(
            f"{names.get(label) or label}: {count:,}" for label, count in classes.items()
        )
    else:
        told = (
            f"{len(classes)} classes with {min(classes.values()):,} to {max(classes.values()):,} "
            "examples each (--json lists them)"
        )
    return _wrapped(f"{name} in {split}: {told}")
