"""JPEG files that look like photographs to a decoder: gradients, waves, edges and noise."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy
from harness.registry import SEED

__all__ = ["jpeg_files"]


def jpeg_files(folder: Path, count: int) -> list[Path]:
    """Return so many files of about 500 by 375 pixels, 50 to 100 KB each; made where missing."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{number:05d}.jpg" for number in range(count)]
    for number, path in enumerate(paths):
        if not path.exists():
            beside = path.with_suffix(".part")
            beside.write_bytes(_photograph(number))
            beside.replace(path)
    return paths


def _photograph(number: int) -> bytes:
    from PIL import Image

    rng = numpy.random.default_rng([SEED, number])
    width, height = int(rng.integers(480, 521)), int(rng.integers(360, 391))
    coarse = Image.fromarray(rng.integers(0, 256, (12, 16, 3), dtype=numpy.uint8))
    smooth = coarse.resize((width, height), Image.Resampling.BICUBIC)
    pixels: Any = 0.6 * numpy.asarray(smooth, numpy.float32)
    down, across = numpy.mgrid[0:height, 0:width].astype(numpy.float32)
    pixels += (
        60 * numpy.sin(across / rng.uniform(4, 40))[..., None] + (40 * down / height)[..., None]
    )
    pixels += rng.normal(0, 9, (height, width, 1)) + rng.normal(0, 4, (height, width, 3))
    file = io.BytesIO()
    image = Image.fromarray(numpy.clip(pixels, 0, 255).astype(numpy.uint8))
    image.save(file, "JPEG", quality=85)
    return file.getvalue()
