"""How well an order of chunks mixes: the table and the picture of the documentation.

The worst that can be: a file whose examples are sorted by label. With each order the labels of a
batch have some mean; how much these means vary from batch to batch is compared with a full
shuffle. Run it with ``python benchmarks/mixing.py docs/explanation/mixing.svg``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy

from fuel.schemes import ChunkShuffledScheme, PermutedScheme

COUNT, LABELS, CHUNK, BATCH, EPOCHS = 51_200, 10, 128, 256, 40
WINDOWS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 400)


def spread(scheme) -> float:
    """Return the standard deviation of the mean label of a batch."""
    labels = numpy.arange(COUNT) * LABELS // COUNT
    means = [
        labels[request].mean()
        for _ in range(EPOCHS)
        for request in map(numpy.array, scheme.get_request_iterator())
    ]
    return float(numpy.std(means))


def same_chunk(scheme) -> float:
    """Return how often the next example comes from the same chunk."""
    order = numpy.concatenate([numpy.array(r) for r in scheme.get_request_iterator()]) // CHUNK
    return float((order[1:] == order[:-1]).mean())


def picture(ratios: list[float]) -> str:
    """Draw the ratio of spreads over the window, both on a logarithmic scale."""
    width, height, left, top = 560, 300, 60, 20
    x = [left + (width - left - 20) * numpy.log2(w) / numpy.log2(512) for w in WINDOWS]
    y = [top + (height - top - 50) * (1 - numpy.log2(max(r, 1)) / 4) for r in ratios]
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12" role="img" '
        'aria-label="Spread of batch means over the window, compared with a full shuffle">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for power in range(5):
        level = top + (height - top - 50) * (1 - power / 4)
        parts.append(
            f'<line x1="{left}" x2="{width - 20}" y1="{level:.1f}" y2="{level:.1f}" '
            f'stroke="#dddddd"/><text x="{left - 8}" y="{level + 4:.1f}" '
            f'text-anchor="end">{2**power}x</text>'
        )
    for place, window in zip(x, WINDOWS, strict=True):
        parts.append(
            f'<text x="{place:.1f}" y="{height - 32}" text-anchor="middle">{window}</text>'
        )
    parts.append(f'<polyline points="{points}" fill="none" stroke="#1f6fb4" stroke-width="2"/>')
    parts += [
        f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3.5" fill="#1f6fb4"/>'
        for a, b in zip(x, y, strict=True)
    ]
    parts.append(
        f'<text x="{(left + width) / 2}" y="{height - 10}" text-anchor="middle">'
        "window, in chunks</text></svg>"
    )
    return "\n".join(parts) + "\n"


def main() -> None:
    """Print the table, and write the picture."""
    full = spread(PermutedScheme(COUNT, BATCH, seed=1))
    ratios = []
    print("| window | next example from the same chunk | spread of batch means, sorted file |")
    print("| ---: | ---: | ---: |")
    for window in WINDOWS:
        scheme = ChunkShuffledScheme(COUNT, BATCH, window=window, chunk_rows=CHUNK, seed=1)
        ratios.append(spread(scheme) / full)
        print(f"| {window} | {same_chunk(scheme):.2%} | {ratios[-1]:.2f}x |")
    permuted = PermutedScheme(COUNT, BATCH, seed=1)
    print(f"| full shuffle | {same_chunk(permuted):.2%} | 1x |")
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(picture(ratios), encoding="utf-8")


if __name__ == "__main__":
    main()
