"""Draws small images with their labels on one page, for looking at what a stream delivers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy
from PIL import Image, ImageDraw, ImageFont

TILE, GAP, LABEL, TITLE = 72, 14, 20, 46  # in pixels
PAPER, INK, GREY = (250, 249, 246), (30, 30, 36), (120, 120, 128)


def contact_sheet(
    path: Path,
    title: str,
    images: Sequence[numpy.ndarray],
    labels: Sequence[object],
    columns: int,
    most_ink: int,
) -> None:
    """Write a PNG with one tile an image, its label below.

    Parameters
    ----------
    path : Path
        Where to write.
    title : str
        The line at the top.
    images : sequence of numpy.ndarray, shape (height, width)
        0 is paper, `most_ink` is ink.
    labels : sequence
        What is written below each.
    columns : int
        Tiles in a row.
    most_ink : int
        The darkest value.

    """
    rows = -(-len(images) // columns)
    size = (GAP + columns * (TILE + GAP), TITLE + rows * (TILE + LABEL + GAP))
    sheet = Image.new("RGB", size, PAPER)
    draw = ImageDraw.Draw(sheet)
    draw.text((GAP, TITLE // 2), title, fill=INK, font=font(17), anchor="lm")
    for number, (image, label) in enumerate(zip(images, labels)):
        left = GAP + number % columns * (TILE + GAP)
        top = TITLE + number // columns * (TILE + LABEL + GAP)
        ink = numpy.clip(image.astype("float64") / most_ink, 0, 1)[..., None]
        pixels = numpy.array([255, 255, 255]) * (1 - ink) + numpy.array(INK) * ink
        tile = Image.fromarray(pixels.round().astype("uint8"))
        sheet.paste(tile.resize((TILE, TILE), Image.Resampling.NEAREST), (left, top))
        draw.rectangle((left - 1, top - 1, left + TILE, top + TILE), outline=(214, 212, 206))
        middle = (left + TILE // 2, top + TILE + LABEL // 2)
        draw.text(middle, str(label), fill=GREY, font=font(14), anchor="mm")
    sheet.save(path)


def font(size: int) -> ImageFont.ImageFont | ImageFont.FreeTypeFont:
    """Pillow's own font; before Pillow 10.1 it came in one size."""
    try:
        return ImageFont.load_default(size)
    except TypeError:
        return ImageFont.load_default()
