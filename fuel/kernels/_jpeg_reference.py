"""The header of a JPEG file in plain Python: the twin of `fuel_jpeg_frame` in ``_jpeg.h``.

In this module: `frames`. The pixels themselves have no twin here: the compiled decoder is held
against Pillow, which takes its place where it is missing.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

__all__ = ["frames"]

#: Markers of a start of frame that `frames` knows: baseline, extended, progressive.
_USUAL = (0xC0, 0xC1, 0xC2)
#: Of the same range, but tables and a reserved one.
_TABLES = (0xC4, 0xC8, 0xCC)


def frames(images: tuple[bytes, ...], found: NDArray[Any]) -> None:
    """Write (width, height, components, whether there is an APP1 segment) of each image.

    Parameters
    ----------
    images : tuple of bytes
        Files.
    found : numpy.ndarray, shape (n, 4), dtype int64
        Filled; with zeros where a file is no JPEG with 8 bits, Huffman coding and one or three
        components, or has anything but segments before its first scan.

    """
    for number, data in enumerate(images):
        found[number] = _frame(data)


def _frame(data: bytes) -> tuple[int, int, int, int]:
    nothing = (0, 0, 0, 0)
    if len(data) < 4 or data[:2] != b"\xff\xd8":
        return nothing
    place, size, exif = 2, len(data), 0
    width = height = components = 0
    while True:
        if place >= size or data[place] != 0xFF:
            return nothing
        while place < size and data[place] == 0xFF:
            place += 1
        if size - place < 3:
            return nothing
        marker = data[place]
        place += 1
        if marker == 0xDA:
            return (width, height, components, exif) if components else nothing
        length = data[place] << 8 | data[place + 1]
        if marker < 0xC0 or 0xD0 <= marker <= 0xD9 or length < 2 or length > size - place:
            return nothing
        if marker <= 0xCF and marker not in _TABLES:
            if components or marker not in _USUAL or length < 8 or data[place + 2] != 8:
                return nothing
            height = data[place + 3] << 8 | data[place + 4]
            width = data[place + 5] << 8 | data[place + 6]
            components = data[place + 7]
            if not width or not height or components not in (1, 3):
                return nothing
        exif |= marker == 0xE1
        place += length
