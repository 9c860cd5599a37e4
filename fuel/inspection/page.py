"""All that is known of a file as one page of HTML, which needs nothing else."""

from __future__ import annotations

import base64
import html
import io
from typing import Any

from fuel.inspection.preview import preview

__all__ = ["page", "size_in_words"]

_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: .5rem 0 1.5rem; }
th, td { text-align: left; padding: .25rem .9rem .25rem 0; border-bottom: 1px solid #8884;
         vertical-align: top; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
div.wide { overflow-x: auto; }
img { max-width: 100%; background: white; border: 1px solid #8884; }
code { font-size: .92em; }
p.advice { border-left: 4px solid #c80; padding-left: .8rem; }
"""


def size_in_words(size: float | None) -> str:
    """Return a number of bytes with a unit."""
    if size is None:
        return ""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def _table(heads: list[str], rows: list[list[Any]]) -> str:
    """Return a table; numbers are set to the right, everything is escaped."""
    parts = ["<div class=wide><table><thead><tr>"]
    parts += [f"<th scope=col>{html.escape(head)}</th>" for head in heads]
    parts.append("</tr></thead><tbody>")
    for row in rows:
        parts.append("<tr>")
        for cell in row:
            number = isinstance(cell, int | float) and not isinstance(cell, bool)
            text = f"{cell:,}" if isinstance(cell, int) else f"{cell:.6g}" if number else str(cell)
            kind = " class=n" if number else ""
            parts.append(f"<td{kind}>{html.escape('' if cell is None else text)}</td>")
        parts.append("</tr>")
    return "".join([*parts, "</tbody></table></div>"])


def page(
    path: str, found: dict[str, Any], stats: dict[str, Any] | None = None, **options: Any
) -> str:
    """Describe a file as HTML.

    Parameters
    ----------
    path : str
        The file.
    found : dict
        What `fuel.bin.fuel_info.describe_file` returns.
    stats : dict, optional
        What `fuel.inspection.statistics.statistics` returns.
    **options
        For `fuel.inspection.preview.preview`.

    Returns
    -------
    str
        The page.

    """
    title = html.escape(str(found["file"]))
    parts = [
        "<!doctype html><html lang=en><head><meta charset=utf-8>",
        "<meta name=viewport content='width=device-width, initial-scale=1'>",
        f"<title>{title}</title><style>{_STYLE}</style></head><body><h1>{title}</h1>",
    ]
    if found.get("command"):
        parts.append(f"<p>Made by <code>{html.escape(found['command'])}</code></p>")
    parts.append("<h2>Sources</h2>")
    parts.append(
        _table(
            ["source", "type", "shape", "axes", "stored", "filters", "size", "ratio"],
            [
                [
                    name,
                    source["dtype"] + (", variable length" if source["variable_length"] else ""),
                    " x ".join(map(str, source["shape"] or ())),
                    ", ".join(label or "?" for label in source["axis_labels"] or ()),
                    source["storage"]["layout"],
                    ", ".join(source["storage"]["filters"]),
                    size_in_words(source["storage"]["stored_bytes"]),
                    source["storage"]["ratio"],
                ]
                for name, source in found["sources"].items()
            ],
        )
    )
    for sentence in found.get("advice", []):
        parts.append(f"<p class=advice>{html.escape(sentence)}</p>")
    if found["splits"]:
        rows = [
            [split, source, part["examples"], part.get("comment", "")]
            for split, sources in found["splits"].items()
            for source, part in sources.items()
        ]
        parts += ["<h2>Splits</h2>", _table(["split", "source", "examples", "comment"], rows)]
    if stats:
        parts.append(_statistics(stats))
    parts.append(_picture(path, options))
    if found.get("provenance"):
        parts.append(_provenance(found["provenance"]))
    return "".join([*parts, "</body></html>\n"])


def _statistics(stats: dict[str, Any]) -> str:
    keys = ["count", "min", "max", "mean", "std", "nan", "inf"]
    rows = [
        [f"{name}{' (length)' if kind == 'lengths' else ''}", *[entry[kind][key] for key in keys]]
        for name, entry in stats.items()
        for kind in ("values", "lengths")
        if kind in entry
    ]
    parts = ["<h2>Statistics</h2>", _table(["source", *keys], rows)]
    for name, entry in stats.items():
        if entry.get("classes"):
            counts = [
                [split, label, count]
                for split, classes in entry["classes"].items()
                for label, count in classes.items()
            ]
            parts.append(f"<h3>Classes of {html.escape(name)}</h3>")
            parts.append(_table(["split", "class", "examples"], counts))
    return "".join(parts)


def _picture(path: str, options: dict[str, Any]) -> str:
    buffer = io.BytesIO()
    try:
        preview(path, buffer, **options)
    except ValueError as error:
        return f"<h2>Examples</h2><p>{html.escape(str(error))}</p>"
    content = base64.b64encode(buffer.getvalue()).decode("ascii")
    return (
        "<h2>Examples</h2><img alt='Some examples of the file, a part for each source' "
        f"src='data:image/png;base64,{content}'>"
    )


def _provenance(found: dict[str, Any]) -> str:
    rows = [
        [one.get("name"), one.get("size"), one.get("sha256")]
        for one in found.get("inputs", [])
        if isinstance(one, dict)
    ]
    versions = found.get("versions", {})
    told = ", ".join(f"{name} {value}" for name, value in versions.items())
    return (
        f"<h2>Origin</h2><p>Made {html.escape(str(found.get('created')))} with "
        f"{html.escape(told)}.</p>" + (_table(["input", "size", "SHA-256"], rows) if rows else "")
    )
