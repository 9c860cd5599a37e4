"""Results of a workload as a picture: a bar for each contender, in SVG."""

from __future__ import annotations

from typing import Any
from xml.sax.saxutils import escape

from harness.report import rows_of

__all__ = ["picture"]

_COLOURS = {"limit": "#9aa0a6", "fuel": "#d9480f", "hand": "#74a57f", "peer": "#4c78a8"}
_LABELS, _BARS, _NUMBERS, _LINE = 430, 420, 110, 22


def picture(result: dict[str, Any]) -> str:
    """Return an SVG document: bars in the order of the table, longer is faster."""
    parts: list[str] = []
    y = 30
    parts.append(_text(10, 20, f"{result['workload']}: {result['title']}", "bold"))
    for case, rows in rows_of(result):
        if case:
            y += _LINE
            parts.append(_text(10, y, case, "bold"))
        y += 8
        fastest = max(row["per_second"] for row in rows)
        for row in rows:
            width = max(1.0, _BARS * row["per_second"] / fastest)
            parts.append(
                f'<rect x="{_LABELS}" y="{y}" width="{width:.1f}" height="{_LINE - 6}" '
                f'fill="{_COLOURS[row["kind"]]}"/>'
            )
            parts.append(_text(_LABELS - 8, y + 13, row["contender"], anchor="end"))
            number = f"{row['per_second']:,.0f}/s"
            if result.get("timed"):
                number = f"{row['seconds'] * 1e3:.3g} ms"
            parts.append(_text(_LABELS + width + 6, y + 13, number))
            y += _LINE
    y += 10
    x = 10
    for kind, colour in _COLOURS.items():
        parts.append(f'<rect x="{x}" y="{y}" width="12" height="12" fill="{colour}"/>')
        parts.append(_text(x + 18, y + 11, kind))
        x += 90
    width, height = _LABELS + _BARS + _NUMBERS, y + 30
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}">\n'
        f'<rect width="{width}" height="{height}" fill="white"/>\n{body}\n</svg>\n'
    )


def _text(x: float, y: float, text: str, weight: str = "normal", anchor: str = "start") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-family="sans-serif" font-size="12" '
        f'font-weight="{weight}" text-anchor="{anchor}">{escape(text)}</text>'
    )
