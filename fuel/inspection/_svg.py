"""Curves and distributions as drawings inside a page of HTML, in the colours of the page."""

from __future__ import annotations

from html import escape

from fuel.inspection._figures import Bars, Wave
from fuel.inspection._words import number

__all__ = ["bars_svg", "wave_svg"]

_WIDTH, _WAVE_HEIGHT, _BAR_WIDTH, _BAR_HEIGHT = 900, 90, 400, 150


def _svg(width: float, height: float, told: str, parts: list[str]) -> str:
    label = escape(told, quote=True)
    return (
        f'<svg role=img aria-label="{label}" viewBox="0 0 {width:g} {height:g}">'
        f"{''.join(parts)}</svg>"
    )


def wave_svg(wave: Wave, told: str) -> str:
    """Draw a signal; ``told`` says what it is to who cannot see it."""
    low, high = min(wave.least, 0.0), max(wave.most, 0.0)
    span = (high - low) or 1.0
    parts = []
    for place, (lows, highs) in enumerate(zip(wave.low, wave.high, strict=True)):
        top = place * _WAVE_HEIGHT + 5

        def y(value: float, top: float = top) -> float:
            return top + (_WAVE_HEIGHT - 10) * (high / span - value / span)

        step = _WIDTH / max(1, len(lows) - 1)
        points = []
        for k, (least, most) in enumerate(zip(lows.tolist(), highs.tolist(), strict=True)):
            points += [f"{k * step:.1f},{y(least):.1f}", f"{k * step:.1f},{y(most):.1f}"]
        axis = f"{y(0.0):.1f}"
        parts.append(f"<line class=axis x1=0 x2={_WIDTH} y1={axis} y2={axis} />")
        parts.append(f'<polyline class=line points="{" ".join(points)}" />')
    return _svg(_WIDTH, _WAVE_HEIGHT * max(1, len(wave.low)), told, parts)


def bars_svg(bars: Bars) -> str:
    """Draw a distribution."""
    if not bars.counts:
        return ""
    most, base = max(bars.counts), _BAR_HEIGHT - 22
    step = _BAR_WIDTH / len(bars.counts)
    parts = []
    for place, count in enumerate(bars.counts):
        if count:
            tall = max(1.0, (base - 22) * count / most)
            parts.append(
                f"<rect class=mark x={place * step + step * 0.08:.1f} y={base - tall:.1f} "
                f"width={step * 0.84:.1f} height={tall:.1f}><title>{_bar(bars, place)}</title>"
                "</rect>"
            )
    parts.append(f"<line class=axis x1=0 x2={_BAR_WIDTH} y1={base} y2={base} />")
    parts.append(f"<text x={_BAR_WIDTH} y=12 text-anchor=end>up to {most:,}</text>")
    if bars.names is None:
        parts.append(f"<text x=0 y={_BAR_HEIGHT - 5}>{bars.low:.4g}</text>")
        parts.append(
            f"<text x={_BAR_WIDTH} y={_BAR_HEIGHT - 5} text-anchor=end>{bars.high:.4g}</text>"
        )
    else:
        letters = max(map(len, bars.names))
        every = next(n for n in (1, 2, 5, 10, 40) if n * step >= 8 * min(letters, 12) or n == 40)
        for place in range(0, len(bars.names), every):
            name = bars.names[place]
            short = name if len(name) <= 12 else f"{name[:10]}..."
            parts.append(
                f"<text x={(place + 0.5) * step:.1f} y={_BAR_HEIGHT - 5} text-anchor=middle>"
                f"{escape(short)}</text>"
            )
    told = f"distribution of {bars.title}, from {number(bars.low)} to {number(bars.high)}"
    return _svg(_BAR_WIDTH, _BAR_HEIGHT, told, parts)


def _bar(bars: Bars, place: int) -> str:
    if bars.names is not None:
        return escape(f"{bars.names[place]}: {bars.counts[place]:,}")
    width = (bars.high - bars.low) / len(bars.counts)
    low = bars.low + place * width
    return escape(f"{number(low)} to {number(low + width)}: {bars.counts[place]:,}")
