"""Drawing with Pillow: grids of images, curves, distributions, and lines of text."""

from __future__ import annotations

import itertools
import unicodedata
from typing import Any

import numpy
from numpy.typing import NDArray

__all__ = ["curves", "distributions", "grid", "lines", "stacked"]

_WIDTH = 960
_MARGIN = 16
_INK, _GRAY, _LIGHT, _BLUE = (30, 30, 30), (110, 110, 110), (225, 225, 225), (31, 111, 180)
_MOST_LINES = 40
_BARS = 30


def _font(size: int = 13) -> Any:
    from PIL import ImageFont

    try:
        return ImageFont.load_default(size)
    except TypeError:  # Pillow before 10.1
        return ImageFont.load_default()


def _canvas(height: int) -> tuple[Any, Any]:
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (_WIDTH, max(height, 1)), "white")
    return image, ImageDraw.Draw(image)


def _fitted(draw: Any, text: str, width: float, font: Any) -> str:
    """Shorten a text until it fits."""
    # The font that comes with Pillow has the letters of ASCII only.
    plain = unicodedata.normalize("NFKD", text)
    text = "".join(c if " " <= c <= "~" else "?" for c in plain if not unicodedata.combining(c))
    if _length(draw, text, font) <= width:
        return text
    while text and _length(draw, text + "...", font) > width:
        text = text[: -max(1, len(text) // 10)]
    return text + "..."


def _length(draw: Any, text: str, font: Any) -> float:
    return float(draw.textlength(text, font=font))


def grid(images: list[NDArray[numpy.uint8]], titles: list[str]) -> Any:
    """Draw images side by side, each with its title below."""
    from PIL import Image

    columns = min(8, max(1, len(images)))
    cell = (_WIDTH - 2 * _MARGIN) // columns
    side = min(cell - 8, 220)
    named = any(titles)
    row_height = side + (22 if named else 6)
    rows = -(-len(images) // columns)
    canvas, draw = _canvas(rows * row_height)
    font = _font(12)
    for place, pixels in enumerate(images):
        left = _MARGIN + place % columns * cell
        top = place // columns * row_height
        picture = Image.fromarray(numpy.ascontiguousarray(pixels)).convert("RGB")
        scale = side / max(picture.size)
        wide, high = picture.size
        size = (max(1, round(wide * scale)), max(1, round(high * scale)))
        # Small images keep their pixels.
        how = Image.Resampling.NEAREST if scale > 1 else Image.Resampling.LANCZOS
        canvas.paste(picture.resize(size, how), (left, top + (side - size[1]) // 2))
        if named:
            text = _fitted(draw, titles[place], cell - 8, font)
            draw.text((left, top + side + 3), text, fill=_INK, font=font)
    return canvas


def curves(examples: list[Any], titles: list[str]) -> Any:
    """Draw signals one under the other; the channels of one share its place."""
    height, shown = 64, examples[:12]
    canvas, draw = _canvas(height * len(shown))
    font, left = _font(12), 90
    for place, channels in enumerate(shown):
        top = place * height
        draw.line([(left, top + height // 2), (_WIDTH - _MARGIN, top + height // 2)], fill=_LIGHT)
        text = _fitted(draw, titles[place] or str(place), left - _MARGIN - 6, font)
        draw.text((_MARGIN, top + height // 2 - 8), text, fill=_INK, font=font)
        for channel in channels:
            _curve(draw, numpy.asarray(channel, dtype=numpy.float64), left, top + 4, height - 8)
    return canvas


def _curve(draw: Any, values: NDArray[Any], left: int, top: int, height: int) -> None:
    values = values[numpy.isfinite(values)]
    width = _WIDTH - _MARGIN - left
    if not values.size:
        return
    most = float(numpy.abs(values).max()) or 1.0
    if len(values) <= width:
        step = width / max(1, len(values) - 1)
        heights = top + height / 2 * (1 - values / most)
        points = [(left + k * step, y) for k, y in enumerate(heights.tolist())]
        draw.line(points if len(points) > 1 else points * 2, fill=_BLUE)
        return
    # What falls into a column of pixels is drawn from its smallest to its largest value.
    edges = numpy.linspace(0, len(values), min(width, len(values)) + 1).astype(int)
    for column, (start, stop) in enumerate(itertools.pairwise(edges.tolist())):
        part = values[start : max(stop, start + 1)] / most
        x = left + column * width / max(1, len(edges) - 1)
        high = top + height / 2 * (1 - float(part.max()))
        low = top + height / 2 * (1 - float(part.min()))
        draw.line([(x, high), (x, max(low, high + 1))], fill=_BLUE)


def distributions(columns: list[NDArray[Any]], names: list[str]) -> Any:
    """Draw how often which values occur."""
    across = min(4, len(columns))
    cell, height = (_WIDTH - 2 * _MARGIN) // across, 150
    canvas, draw = _canvas(-(-len(columns) // across) * height)
    font = _font(12)
    for place, (values, name) in enumerate(zip(columns, names, strict=True)):
        left = _MARGIN + place % across * cell
        top = place // across * height
        draw.text((left, top), _fitted(draw, name, cell - 16, font), fill=_INK, font=font)
        numbers = numpy.asarray(values, dtype=numpy.float64)
        numbers = numbers[numpy.isfinite(numbers)]
        if not numbers.size:
            continue
        low, high = float(numbers.min()), float(numbers.max())
        bars = _BARS
        if numpy.asarray(values).dtype.kind in "iub" and high - low < _BARS:
            bars = int(high - low) + 1
            low, high = low - 0.5, high + 0.5
        counts, _ = numpy.histogram(numbers, bars, (low, high if high > low else low + 1))
        base, room, width = top + height - 24, height - 46, cell - 24
        for bar, count in enumerate(counts.tolist()):
            x = left + bar * width / bars
            tall = room * count / max(1, int(counts.max()))
            if tall:
                gap = 1 if bars >= _BARS else 6
                right = x + max(1, width / bars - gap)
                draw.rectangle([x, base - tall, right, base], fill=_BLUE)
        draw.line([(left, base), (left + width, base)], fill=_GRAY)
        first, last = f"{numbers.min():.4g}", f"{numbers.max():.4g}"
        draw.text((left, base + 3), first, fill=_GRAY, font=font)
        end = left + width - _length(draw, last, font)
        draw.text((end, base + 3), last, fill=_GRAY, font=font)
    return canvas


def lines(texts: list[str]) -> Any:
    """Write texts one under the other, each in a line."""
    shown = texts[:_MOST_LINES]
    canvas, draw = _canvas(20 * len(shown))
    font = _font(13)
    for place, text in enumerate(shown):
        fitted = _fitted(draw, text, _WIDTH - 2 * _MARGIN, font)
        draw.text((_MARGIN, 20 * place), fitted, fill=_INK, font=font)
    return canvas


def stacked(panels: list[tuple[str, Any]]) -> Any:
    """Put panels with headings one under the other."""
    heading = 34
    height = sum(panel.height + heading for _, panel in panels) + _MARGIN
    canvas, draw = _canvas(height)
    top, font = 0, _font(16)
    for name, panel in panels:
        text = _fitted(draw, name, _WIDTH - 2 * _MARGIN, font)
        draw.text((_MARGIN, top + 9), text, fill=_INK, font=font)
        canvas.paste(panel, (0, top + heading))
        top += heading + panel.height
    return canvas
