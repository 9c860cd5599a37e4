"""How much the shapes of ragged examples differ, from the scale that lists them."""

from __future__ import annotations

from typing import Any

import numpy

__all__ = ["shapes_in_words", "spread"]

#: Lists of shapes up to this are read as a whole; of longer ones, so many rows in all.
_ROWS = 2**20
_BLOCKS = 64


def spread(dataset: Any) -> dict[str, Any] | None:
    """Tell how the shapes of examples differ.

    Parameters
    ----------
    dataset : h5py.Dataset
        A source of variable length.

    Returns
    -------
    dict or None
        ``min``, ``max`` and ``mean`` for each axis, ``elements``, the number of elements in all
        examples, and ``sampled``: whether these are from a part of a very long list, and
        ``elements`` an estimate. None where the file does not say the shapes.

    """
    from fuel.datasets._h5_layout import shapes_of

    shapes = shapes_of(dataset)
    if shapes is None or shapes.ndim != 2 or not len(shapes) or shapes.dtype.kind not in "iu":
        return None
    total = len(shapes)
    step = _ROWS if total <= _ROWS else _ROWS // _BLOCKS
    starts = (
        range(0, total, step)
        if total <= _ROWS
        else [block * (total - step) // (_BLOCKS - 1) for block in range(_BLOCKS)]
    )
    seen, elements = 0, 0.0
    least = most = added = None
    for start in starts:
        block = numpy.asarray(shapes[start : start + step], dtype=numpy.int64)
        lower, upper, more = block.min(axis=0), block.max(axis=0), block.sum(axis=0, dtype=float)
        least = lower if least is None else numpy.minimum(least, lower)
        most = upper if most is None else numpy.maximum(most, upper)
        added = more if added is None else added + more
        elements += float(block.astype(numpy.float64).prod(axis=1).sum())
        seen += len(block)
    if least is None or most is None or added is None:
        return None
    return {
        "min": [int(size) for size in least],
        "max": [int(size) for size in most],
        "mean": [round(float(size) / seen, 6) for size in added],
        "elements": int(elements * total / seen),
        "sampled": seen < total,
    }


def shapes_in_words(found: dict[str, Any]) -> str:
    """Return the sizes of each axis, ``20..64`` where they differ.

    Examples
    --------
    >>> shapes_in_words({"min": [20, 3], "max": [64, 3]})
    '20..64 x 3'

    """
    pairs = zip(found["min"], found["max"], strict=True)
    return " x ".join(str(low) if low == high else f"{low}..{high}" for low, high in pairs)
