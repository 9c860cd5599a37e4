"""A picture of some examples of a file, as PNG."""

from __future__ import annotations

import os
from typing import Any

from fuel.inspection._choice import MOST_EXAMPLES, Examples
from fuel.inspection._figures import Section, sections
from fuel.inspection._opening import opened
from fuel.inspection._words import clean, count_in_words

__all__ = ["figures", "preview"]


def preview(
    path: str | os.PathLike[str],
    output: Any,
    *,
    split: str | None = None,
    count: int | None = None,
    seed: int | None = None,
) -> None:
    """Draw some examples of a file.

    Images are drawn side by side with their labels (and decoded if they are the content of image
    files), signals as curves, texts as lines, other numbers as distributions. Which is which is
    told by the labels of the axes; without labels, by the shape.

    Parameters
    ----------
    path : path
        The file.
    output : path or file
        Where the picture goes, as PNG. A file of that name is replaced when the new one is whole.
    split : str, optional
        From which split; by default the first one that has examples.
    count : int, optional
        How many examples of each source, at most 400; by default 24 images, 8 signals or 12
        texts.
    seed : int, optional
        Draw examples at random, chosen by this; by default they are spread evenly.

    Raises
    ------
    fuel.exceptions.StorageError
        If the file cannot be read.
    ValueError
        If there is no such split, nothing to draw, or `count` is out of range.

    Examples
    --------
    >>> import h5py, numpy
    >>> from fuel.inspection import preview
    >>> with h5py.File("images.hdf5", "w") as h5file:
    ...     h5file["features"] = numpy.zeros((5, 1, 8, 8), "uint8")
    >>> preview("images.hdf5", "images.png", count=3)

    """
    from fuel.inspection._drawing import draw

    told, found = figures(path, split, count, seed)
    if all(section.figure is None for section in found):
        reasons = "; ".join(f"{section.source}: {section.note}" for section in found)
        reasons = f": {reasons}" if reasons else ", it has no sources"
        raise ValueError(f"there is nothing to draw in {os.fspath(path)}{reasons}")
    image = draw(clean(os.path.basename(path)), told, found)
    if hasattr(output, "write"):
        image.save(output, "PNG")
        return
    from fuel.converters.base import atomic_output

    with atomic_output(os.fspath(output)) as part, open(part, "wb") as file:
        image.save(file, "PNG")


def figures(
    path: str | os.PathLike[str], split: str | None, count: int | None, seed: int | None
) -> tuple[str, list[Section]]:
    """Return in words which examples are shown, and the figures of all sources."""
    if count is not None and not 1 <= count <= MOST_EXAMPLES:
        raise ValueError(f"`count` must be from 1 to {MOST_EXAMPLES}, got {count}")
    with opened(path) as h5file:
        examples = Examples(h5file, os.fspath(path), split)
        found = sections(examples, count, seed)
        total = max((examples.number(name) for name in examples.sources), default=0)
        split = examples.split
    how = "spread evenly" if seed is None else f"drawn at random, seed {seed}"
    some = "some" if count is None else f"{count:,}"
    shown = count_in_words(total, "example")
    if total > (count or 1):
        shown = f"{some} of {shown}, {how}"
    return (f"split {clean(split)}: {shown}" if split is not None else shown), found
