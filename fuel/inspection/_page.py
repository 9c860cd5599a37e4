"""All that is known of a file as one page of HTML, which needs nothing else.

What comes from the file is escaped, and the page forbids the reader's browser to run or load
anything, so that a hostile file has nothing to gain. Curves and distributions are drawings in the
page's own colours, images are PNGs inside it.
"""

from __future__ import annotations

import base64
import io
import os
from html import escape
from typing import Any

from fuel.inspection._describe import described
from fuel.inspection._figures import Histograms, Lines, Pictures, Section, Waves
from fuel.inspection._opening import opened
from fuel.inspection._preview import figures
from fuel.inspection._shapes import shapes_in_words
from fuel.inspection._svg import bars_svg, wave_svg
from fuel.inspection._words import number, size_in_words
from fuel.inspection.storage import filters_in_words, layout_in_words

__all__ = ["html", "page"]

_STYLE = """
:root { color-scheme: light dark; --ink: #1c1c20; --soft: #5d5d66; --line: #d5d5dc;
  --ground: #fff; --blue: #1f6fb4; --warn: #a85b00; --card: #f5f5f8; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8ec; --soft: #a6a6b0; --line: #3c3c44;
  --ground: #17171a; --blue: #6db3ee; --warn: #f0a94a; --card: #222227; } }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 0 auto;
  padding: 1.5rem 1rem 4rem; color: var(--ink); background: var(--ground); }
h1 { overflow-wrap: anywhere; } h2 { margin-top: 2.5rem; } h3 { margin: 2rem 0 .4rem; }
code { font-size: .92em; overflow-wrap: anywhere; }
p.note, span.note, figcaption span { color: var(--soft); font-size: .88em; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: .5rem 0 1rem; }
th, td { text-align: left; padding: .3rem 1.1rem .3rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
th.n, td.n { text-align: right; font-variant-numeric: tabular-nums; }
p.warn { border-left: 4px solid var(--warn); padding-left: .8rem; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(8.5rem, 1fr)); gap: 1rem; }
.bars { display: grid; grid-template-columns: repeat(auto-fill, minmax(19rem, 1fr)); gap: 1.5rem; }
figure { margin: 0; } .grid img { width: 100%; image-rendering: auto; display: block;
  background: #fff; border: 1px solid var(--line); }
.grid img.pixels { image-rendering: pixelated; }
figcaption { white-space: pre-line; overflow-wrap: anywhere; font-size: .92em; }
.fault { padding: 2rem .6rem; background: var(--card); border: 1px solid var(--line);
  text-align: center; color: var(--soft); }
svg { width: 100%; height: auto; display: block; } svg .mark { fill: var(--blue); }
svg .line { stroke: var(--blue); fill: none; } svg .axis { stroke: var(--line); }
svg text { fill: var(--soft); font: 13px system-ui, sans-serif; }
ol.texts { list-style: none; padding: 0; } ol.texts li { padding: .5rem 0;
  border-bottom: 1px solid var(--line); overflow-wrap: anywhere; white-space: pre-wrap; }
"""
_SMALL_IMAGE = 128
#: Classes beyond this stand in a list that opens.
_FEW_CLASSES = 20


def html(
    path: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    stats: bool | dict[str, Any] = False,
    split: str | None = None,
    count: int | None = None,
    seed: int | None = None,
) -> None:
    """Write all that is known of a file into one page of HTML.

    Parameters
    ----------
    path : path
        The file.
    output : path
        The page; a file of that name is replaced when the new one is whole.
    stats : bool or dict, optional
        Whether to look at all of the data for statistics; or what
        `fuel.inspection.statistics` returned.
    split, count, seed
        Which examples are shown, see `fuel.inspection.preview`.

    Raises
    ------
    fuel.exceptions.StorageError
        If the file cannot be read.
    ValueError
        If there is no such split, or `count` is out of range.

    """
    from fuel.converters.base import atomic_output

    path = os.fspath(path)
    with opened(path) as h5file:
        found = described(h5file, path)
    if isinstance(stats, bool):
        from fuel.inspection._statistics import statistics

        stats = statistics(path) if stats else {}
    told, sections = figures(path, split, count, seed)
    text = page(found, stats, told, sections)
    with atomic_output(os.fspath(output)) as part, open(part, "w", encoding="utf-8") as file:
        file.write(text)


def page(found: dict[str, Any], stats: dict[str, Any], told: str, sections: list[Section]) -> str:
    """Return the page of a file."""
    title = escape(found["file"])
    parts = [
        "<!doctype html>\n<html lang=en><head><meta charset=utf-8>",
        "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; img-src data:; "
        "style-src 'unsafe-inline'\">",
        "<meta name=viewport content='width=device-width, initial-scale=1'>",
        f"<title>{title}</title>\n<style>{_STYLE}</style></head>\n<body><main><h1>{title}</h1>",
        _origin(found),
        *(f"<p class=warn>Problem: {_marked(text)}</p>" for text in found["problems"]),
        "<h2>Sources</h2>",
        _sources(found["sources"]),
    ]
    if found["sources"] and not found["advice"]:
        parts.append("<p>The layout suits reading in any order.</p>")
    parts += [f"<p class=warn>{_marked(text)}</p>" for text in found["advice"]]
    parts += [f"<p class=note>{_marked(text)}</p>" for text in found["remarks"]]
    parts.append(_splits(found))
    if any(section.figure is not None for section in sections):
        parts.append(f"<h2>Examples</h2><p class=note>{escape(told)}</p>")
        parts += [_section(section) for section in sections]
    if stats:
        parts.append(_statistics(stats))
    parts.append(_inputs(found))
    return "\n".join([*filter(None, parts), "</main></body></html>\n"])


def _marked(text: str) -> str:
    """Return a sentence, with what is between back quotes as code."""
    pieces = escape(text, quote=True).split("`")
    if len(pieces) != 3:
        return "`".join(pieces)
    return f"{pieces[0]}<code>{pieces[1]}</code>{pieces[2]}"


def _table(caption: str, heads: list[str], rows: list[list[Any]]) -> str:
    """Return a table; numbers are set to the right, columns without content are left out."""
    if not rows:
        return ""
    kept = [k for k in range(len(heads)) if any(row[k] not in ("", None) for row in rows)]
    numeric = {k for k in kept if all(isinstance(row[k], int | float | None) for row in rows)}
    parts = [f"<div class=wide><table aria-label='{escape(caption, quote=True)}'><thead><tr>"]
    parts += [f"<th scope=col{' class=n' * (k in numeric)}>{escape(heads[k])}</th>" for k in kept]
    parts.append("</tr></thead><tbody>")
    for row in rows:
        parts.append("<tr>")
        for k in kept:
            cell = row[k]
            text = f"{cell:,}" if isinstance(cell, int) else str(cell)
            text = number(cell) if isinstance(cell, float) else "" if cell is None else text
            parts.append(f"<td{' class=n' * (k in numeric)}>{escape(text)}</td>")
        parts.append("</tr>")
    return "".join([*parts, "</tbody></table></div>"])


def _origin(found: dict[str, Any]) -> str:
    told = [size_in_words(found["size_bytes"])]
    if found["format"]:
        told.append(f"written in the manner of {escape(found['format'])}")
    if found["command"]:
        told.append(f"made by <code>{escape(found['command'])}</code>")
    return f"<p>{', '.join(told)}</p>"


def _sources(sources: dict[str, Any]) -> str:
    rows = []
    for name, source in sources.items():
        shape = (
            " x ".join(map(str, source["shape"] or ())) if source["shape"] != [] else "one value"
        )
        if source["shapes"]:
            shape += f" x ({shapes_in_words(source['shapes'])})"
        stored = source["storage"]
        rows.append(
            [
                name,
                source["type"],
                shape,
                ", ".join(label or "?" for label in source["axis_labels"] or ()),
                layout_in_words(stored),
                filters_in_words(stored),
                size_in_words(stored["stored_bytes"]),
                f"{stored['ratio']:.2f}" if stored["compressed"] and stored["ratio"] else "",
            ]
        )
    heads = ["source", "type", "shape", "axes", "stored", "filters", "size", "times smaller"]
    return _table("Sources", heads, rows) or "<p>The file has no sources.</p>"


def _splits(found: dict[str, Any]) -> str:
    if not found["splits"]:
        return "<p>The file defines no splits.</p>"
    rows = []
    for split, sources in found["splits"].items():
        for source, part in sources.items():
            where = "by index" if "indices" in part else f"rows {part['start']} to {part['stop']}"
            rows.append([split, source, part["examples"], where, part.get("comment", "")])
        for source in found["unavailable"].get(split, ()):
            rows.append([split, source, None, "not available", ""])
    return "<h2>Splits</h2>" + _table(
        "Splits", ["split", "source", "examples", "rows", "comment"], rows
    )


def _section(section: Section) -> str:
    name, figure = escape(section.source), section.figure
    parts = [f"<section><h3>{name}</h3>"]
    if section.note:
        parts.append(f"<p class=note>{escape(section.note)}</p>")
    if isinstance(figure, Pictures):
        cells = [_picture(section.source, figure, k) for k in range(len(figure.images))]
        parts.append(f"<div class=grid>{''.join(cells)}</div>")
    elif isinstance(figure, Waves):
        for wave, caption, row in zip(figure.waves, figure.captions, figure.rows, strict=True):
            told = f"row {row}, {wave.length:,} values, {number(wave.least)} to {number(wave.most)}"
            drawn = wave_svg(wave, f"curve of {section.source}, {told}")
            parts.append(f"<figure>{drawn}{_caption(caption, told)}</figure>")
    elif isinstance(figure, Histograms):
        drawn = "".join(
            f"<figure>{_bar_title(bars.title, section.source)}{bars_svg(bars)}</figure>"
            for bars in figure.bars
        )
        parts.append(f"<div class=bars>{drawn}</div>")
    elif isinstance(figure, Lines):
        lines = []
        for text, caption, row in zip(figure.texts, figure.captions, figure.rows, strict=True):
            told = ", ".join(filter(None, [f"row {row}", *caption.split("\n")]))
            lines.append(f"<li><span class=note>{escape(told)}</span>\n{escape(text)}</li>")
        parts.append(f"<ol class=texts>{''.join(lines)}</ol>")
    return "".join([*parts, "</section>"])


def _bar_title(title: str, source: str) -> str:
    return "" if title == source else f"<figcaption>{escape(title)}</figcaption>"


def _caption(caption: str, told: str) -> str:
    text = f"{escape(caption)}\n" if caption else ""
    return f"<figcaption>{text}<span>{escape(told)}</span></figcaption>"


def _picture(source: str, figure: Pictures, place: int) -> str:
    caption, row, image = figure.captions[place], figure.rows[place], figure.images[place]
    shown = _caption(caption, f"row {row}")
    if image is None:
        return f"<figure><div class=fault>{escape(figure.faults[place])}</div>{shown}</figure>"
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    content = base64.b64encode(buffer.getvalue()).decode("ascii")
    alt = ", ".join(filter(None, [f"{source}, row {row}", *caption.split("\n")]))
    kind = " class=pixels" if max(image.size) < _SMALL_IMAGE else ""
    return (
        f'<figure><img{kind} alt="{escape(alt, quote=True)}" width={image.width} '
        f'height={image.height} src="data:image/png;base64,{content}">{shown}</figure>'
    )


def _statistics(stats: dict[str, Any]) -> str:
    keys = ["count", "min", "max", "mean", "std", "nan", "inf"]
    rows = []
    for name, entry in stats.items():
        kinds = {f"{name}.{f}": one["values"] for f, one in entry.get("fields", {}).items()}
        if "values" in entry:
            kinds[name + (" (magnitude)" if "of" in entry["values"] else "")] = entry["values"]
        if "lengths" in entry:
            kinds[f"{name} (length)"] = entry["lengths"]
        rows += [[title, *[one[key] for key in keys]] for title, one in kinds.items()]
    parts = ["<h2>Statistics</h2>", _table("Statistics", ["source", *keys], rows)]
    for name, entry in stats.items():
        if "problem" in entry:
            told = f"Problem: {name}: {entry['problem']}"
            parts.append(f"<p class=warn>{escape(told)}</p>")
        if entry.get("classes"):
            parts.append(_classes(name, entry["classes"], entry.get("class_names", {})))
    return "\n".join(filter(None, parts))


def _classes(name: str, classes: dict[str, dict[str, int]], names: dict[str, str]) -> str:
    splits = list(classes)
    labels = list(dict.fromkeys(label for counts in classes.values() for label in counts))
    rows: list[list[Any]] = [
        [label, names.get(label), *[classes[s].get(label, 0) for s in splits]] for label in labels
    ]
    table = _table(f"Classes of {name}", ["class", "name", *splits], rows)
    heading = f"<h3>Classes of {escape(name)}</h3>"
    if len(labels) <= _FEW_CLASSES:
        return heading + table
    return f"{heading}<details><summary>{len(labels):,} classes</summary>{table}</details>"


def _inputs(found: dict[str, Any]) -> str:
    made = found["provenance"]
    if not made:
        return ""
    versions = made.get("versions")
    told = ", ".join(f"{k} {v}" for k, v in versions.items()) if isinstance(versions, dict) else ""
    inputs = made.get("inputs")
    rows = [
        [str(one.get("name")), one.get("size"), str(one.get("sha256"))]
        for one in (inputs if isinstance(inputs, list) else [])
        if isinstance(one, dict)
    ]
    return (
        f"<h2>Origin</h2><p>Made {escape(str(made.get('created')))}"
        f"{f' with {escape(told)}' if told else ''}.</p>"
        + _table("Raw files", ["input", "bytes", "SHA-256"], rows)
    )
