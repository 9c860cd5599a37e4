"""Figures as pixels, with Pillow: what `fuel.inspection.preview` writes."""

from __future__ import annotations

import functools
import unicodedata
from typing import Any

from fuel.inspection._figures import Bars, Histograms, Lines, Pictures, Section, Wave, Waves
from fuel.inspection._words import number

__all__ = ["draw"]

_WIDTH, _MARGIN, _GAP = 1200, 28, 12
_INSIDE = _WIDTH - 2 * _MARGIN
_INK, _GRAY, _LIGHT = (28, 28, 32), (105, 105, 112), (222, 222, 228)
_BLUE, _EMPTY = (31, 111, 180), (240, 240, 243)
_TEXT, _SMALL, _HEADING, _TITLE = 15, 13, 19, 24
_LINE = 20
_LARGEST_SIDE, _SMALLEST_SIDE = 256, 88
_MOST_CAPTION_LINES = 4
_MOST_TEXT_LINES = 3
_WAVE_HEIGHT = 84
_BAR_HEIGHT, _BAR_COLUMNS = 210, 3
#: Fonts with more than the letters of ASCII, where the system has one.
_FONTS = ("DejaVuSans.ttf", "NotoSans-Regular.ttf", "Arial Unicode.ttf", "arial.ttf")
_LEFT = 190


@functools.cache
def _font(size: int, plain: bool = True) -> Any:
    """Return Pillow's own font, or one with more letters (None if there is none)."""
    from PIL import ImageFont

    if plain:
        try:
            return ImageFont.load_default(size)
        except TypeError:  # Pillow before 10.1
            return ImageFont.load_default()
    for name in _FONTS:
        try:
            return ImageFont.truetype(name, size)
        except (OSError, ImportError):
            continue
    return None


class _Canvas:
    """An image that grows downwards."""

    def __init__(self) -> None:
        self._parts: list[tuple[int, Any]] = []
        self.top = _MARGIN

    def part(self, height: int) -> Any:
        """Return a strip of the full width to draw on, below what is there."""
        from PIL import Image

        image = Image.new("RGB", (_WIDTH, max(1, height)), "white")
        self._parts.append((self.top, image))
        self.top += image.height
        return image

    def image(self) -> Any:
        """Return the whole."""
        from PIL import Image

        whole = Image.new("RGB", (_WIDTH, self.top + _MARGIN), "white")
        for top, part in self._parts:
            whole.paste(part, (0, top))
        return whole


class _Pen:
    """Draws on a strip."""

    def __init__(self, image: Any) -> None:
        from PIL import ImageDraw

        self.image = image
        self.draw = ImageDraw.Draw(image)

    def length(self, text: str, size: int) -> float:
        """Return how wide a text becomes."""
        shown, font = _writable(text, size)
        return float(self.draw.textlength(shown, font=font))

    def fitted(self, text: str, width: float, size: int) -> str:
        """Shorten a text until it fits."""
        if self.length(text, size) <= width:
            return text
        low, high = 0, len(text)
        while low < high:
            middle = (low + high + 1) // 2
            if self.length(text[:middle] + "...", size) <= width:
                low = middle
            else:
                high = middle - 1
        return text[:low].rstrip() + "..."

    def text(
        self, place: tuple[float, float], text: str, width: float, size: int = _TEXT, **how: Any
    ) -> None:
        """Write a text, shortened to fit; ``right=True`` sets it to the right of its place."""
        text = self.fitted(text, width, size)
        shown, font = _writable(text, size)
        x, y = place
        side = how.get("side", "left")
        if side != "left":
            x -= self.draw.textlength(shown, font=font) / (1 if side == "right" else 2)
        self.draw.text((x, y), shown, fill=how.get("fill", _INK), font=font)

    def wrapped(self, text: str, width: float, size: int, most: int) -> list[str]:
        """Cut a text into lines."""
        lines: list[str] = []
        words = text.split(" ")
        while words and len(lines) < most:
            if len(lines) == most - 1:
                lines.append(self.fitted(" ".join(words), width, size))
                break
            line = words.pop(0)
            while words and self.length(f"{line} {words[0]}", size) <= width:
                line += f" {words.pop(0)}"
            if self.length(line, size) > width:
                # One word that is too long for a line.
                cut = len(self.fitted(line, width, size)) - 3
                words.insert(0, line[max(1, cut) :])
                line = line[: max(1, cut)]
            lines.append(line)
        return lines


def _writable(text: str, size: int) -> tuple[str, Any]:
    """Return a text in letters that a font has, and the font."""
    if text.isascii():
        return text, _font(size)
    wide = _font(size, False)
    if wide is not None:
        return text, wide
    # The font that comes with Pillow has the letters of ASCII only.
    plain = unicodedata.normalize("NFKD", text)
    letters = [c if c.isascii() else "?" for c in plain if not unicodedata.combining(c)]
    return "".join(letters), _font(size)


def draw(title: str, subtitle: str, sections: list[Section]) -> Any:
    """Draw figures one under the other.

    Parameters
    ----------
    title, subtitle : str
        What stands above them.
    sections : list of Section
        The figures.

    Returns
    -------
    PIL.Image.Image
        The picture.

    """
    canvas = _Canvas()
    pen = _Pen(canvas.part(66))
    pen.text((_MARGIN, 0), title, _INSIDE, _TITLE)
    pen.text((_MARGIN, 34), subtitle, _INSIDE, fill=_GRAY)
    for section in sections:
        _heading(canvas, section)
        figure = section.figure
        if isinstance(figure, Pictures):
            _pictures(canvas, figure)
        elif isinstance(figure, Waves):
            _waves(canvas, figure)
        elif isinstance(figure, Histograms):
            _histograms(canvas, figure, section.source)
        elif isinstance(figure, Lines):
            _lines(canvas, figure)
    return canvas.image()


def _heading(canvas: _Canvas, section: Section) -> None:
    pen = _Pen(canvas.part(46))
    pen.draw.line([(_MARGIN, 6), (_WIDTH - _MARGIN, 6)], fill=_LIGHT)
    name = pen.fitted(section.source, _INSIDE * 0.6, _HEADING)
    pen.text((_MARGIN, 14), name, _INSIDE, _HEADING)
    left = _MARGIN + pen.length(name, _HEADING) + 16
    pen.text((left, 18), section.note, _WIDTH - _MARGIN - left, _SMALL, fill=_GRAY)


def _columns(count: int) -> int:
    """Return how many images go side by side: few large ones, or many small ones."""
    most = _INSIDE // (_SMALLEST_SIDE + _GAP)
    least = -(-_INSIDE // (_LARGEST_SIDE + _GAP))
    wanted = next(n for n in range(1, most + 1) if n == most or n * -(-n * 2 // 3) >= count)
    return max(least, wanted)


def _scaled(image: Any, side: int) -> Any:
    from PIL import Image

    longest = max(image.size)
    if longest <= side:
        # Small images keep their pixels, all of one size.
        factor = side // longest
        return image.resize((image.width * factor, image.height * factor), Image.Resampling.NEAREST)
    size = (max(1, image.width * side // longest), max(1, image.height * side // longest))
    return image.resize(size, Image.Resampling.LANCZOS)


def _pictures(canvas: _Canvas, figure: Pictures) -> None:
    columns = _columns(len(figure.images))
    cell = _INSIDE // columns
    side = min(cell - _GAP, _LARGEST_SIDE)
    for start in range(0, len(figure.images), columns):
        places = range(start, min(start + columns, len(figure.images)))
        images = {k: _scaled(figure.images[k], side) for k in places if figure.images[k]}
        tall = max((image.height for image in images.values()), default=side // 2)
        captions = {k: figure.captions[k].split("\n")[:_MOST_CAPTION_LINES] for k in places}
        captions = {k: [line for line in lines if line] for k, lines in captions.items()}
        most = max(len(lines) for lines in captions.values())
        pen = _Pen(canvas.part(tall + 6 + (most + 1) * _LINE + 6))
        for k in places:
            left = _MARGIN + (k - start) * cell
            if k in images:
                pen.image.paste(images[k], (left, tall - images[k].height))
            else:
                pen.draw.rectangle([left, 0, left + side, tall - 1], fill=_EMPTY, outline=_LIGHT)
                lines = pen.wrapped(figure.faults[k], side - 12, _SMALL, 4)
                for place, told in enumerate(lines):
                    pen.text((left + 6, 6 + 17 * place), told, side - 12, _SMALL, fill=_GRAY)
            top = tall + 5
            for line in captions[k]:
                pen.text((left, top), line, cell - 8)
                top += _LINE
            pen.text((left, top), f"row {figure.rows[k]}", cell - 8, _SMALL, fill=_GRAY)


def _waves(canvas: _Canvas, figure: Waves) -> None:
    for wave, caption, row in zip(figure.waves, figure.captions, figure.rows, strict=True):
        lines = [line for line in caption.split("\n") if line][:2]
        height = _WAVE_HEIGHT * max(1, len(wave.low))
        pen = _Pen(canvas.part(height + 10))
        top = 4
        for line in lines:
            pen.text((_MARGIN, top), line, _LEFT - 20)
            top += _LINE
        for told in (
            f"row {row}, {wave.length:,} values",
            f"{number(wave.least)} to {number(wave.most)}",
        ):
            pen.text((_MARGIN, top), told, _LEFT - 20, _SMALL, fill=_GRAY)
            top += 17
        for place in range(len(wave.low)):
            _wave(pen, wave, place, place * _WAVE_HEIGHT)


def _wave(pen: _Pen, wave: Wave, place: int, top: int) -> None:
    left, width, height = _LEFT + _MARGIN, _INSIDE - _LEFT, _WAVE_HEIGHT - 12
    low, high = min(wave.least, 0.0), max(wave.most, 0.0)
    span = (high - low) or 1.0

    def y(value: float) -> float:
        return top + 6 + height * (high / span - value / span)

    pen.draw.line([(left, y(0.0)), (left + width, y(0.0))], fill=_LIGHT)
    lows, highs = wave.low[place].tolist(), wave.high[place].tolist()
    step = width / max(1, len(lows) - 1)
    previous = None
    for k, (least, most) in enumerate(zip(lows, highs, strict=True)):
        x = left + k * step
        # Without gaps where columns of the signal are a little wider than pixels.
        right = min(x + step, left + width) if step < 2 else x
        pen.draw.rectangle([x, y(most), right, y(least)], fill=_BLUE)
        here = (x, y((least + most) / 2))
        if previous is not None:
            pen.draw.line([previous, here], fill=_BLUE)
        previous = here


def _histograms(canvas: _Canvas, figure: Histograms, source: str) -> None:
    columns = min(_BAR_COLUMNS, len(figure.bars))
    cell = _INSIDE // _BAR_COLUMNS
    if columns == 1:
        cell = min(_INSIDE, max(cell, 90 * len(figure.bars[0].counts)))
    for start in range(0, len(figure.bars), columns):
        pen = _Pen(canvas.part(_BAR_HEIGHT))
        for place, bars in enumerate(figure.bars[start : start + columns]):
            title = "" if bars.title == source else bars.title
            _bars(pen, bars, title, _MARGIN + place * cell, cell - 24)


def _bars(pen: _Pen, bars: Bars, title: str, left: int, width: int) -> None:
    most = max(bars.counts, default=0)
    told = f"up to {most:,}"
    room = width - pen.length(told, _SMALL) - 12
    pen.text((left, 0), title, room)
    if not bars.counts:
        return
    pen.text((left + width, 2), told, width, _SMALL, fill=_GRAY, side="right")
    base, room = _BAR_HEIGHT - 36, _BAR_HEIGHT - 36 - 30
    step = width / len(bars.counts)
    gap = 1 if step < 8 else step * 0.15
    for place, count in enumerate(bars.counts):
        if count:
            x = left + place * step
            tall = max(1, room * count / most)
            box = [x + gap / 2, base - tall, max(x + step - gap / 2 - 1, x + gap / 2), base]
            pen.draw.rectangle(box, fill=_BLUE)
    pen.draw.line([(left, base), (left + width, base)], fill=_GRAY)
    if bars.names is None:
        ends = (f"{bars.low:.4g}", f"{bars.high:.4g}")
        pen.text((left, base + 5), ends[0], width / 2, _SMALL, fill=_GRAY)
        pen.text((left + width, base + 5), ends[1], width / 2, _SMALL, fill=_GRAY, side="right")
        return
    # As many names as fit beside each other.
    widest = max(pen.length(name, _SMALL) for name in bars.names) + 8
    every = 1 if widest <= step else 2 if widest <= 2 * step else 5
    for place in range(0, len(bars.names), every):
        middle = left + (place + 0.5) * step
        name = bars.names[place]
        pen.text((middle, base + 5), name, step * every - 4, _SMALL, fill=_GRAY, side="middle")


def _lines(canvas: _Canvas, figure: Lines) -> None:
    for text, caption, row in zip(figure.texts, figure.captions, figure.rows, strict=True):
        probe = _Pen(canvas.part(1))
        lines = probe.wrapped(text, _INSIDE - _LEFT, _TEXT, _MOST_TEXT_LINES)
        names = [line for line in caption.split("\n") if line][:_MOST_TEXT_LINES]
        pen = _Pen(canvas.part(_LINE * max(len(lines), 1 + len(names)) + 6))
        pen.text((_MARGIN, 1), f"row {row}", _LEFT - 20, _SMALL, fill=_GRAY)
        for place, name in enumerate(names):
            pen.text((_MARGIN, _LINE * (place + 1)), name, _LEFT - 20, _SMALL)
        for place, line in enumerate(lines):
            pen.text((_MARGIN + _LEFT, _LINE * place), line, _INSIDE - _LEFT)
