"""A short description of an explicit list of indices, for the fingerprints of orders.

In this module: `describe_indices`. Not here: the fingerprint as a whole, which each scheme
gives of itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import numpy

from fuel.typing import JSON

__all__ = ["describe_indices"]


def describe_indices(indices: Any) -> dict[str, JSON]:
    """Describe indices by their number, and by a digest unless they are 0, 1, 2, ...

    Parameters
    ----------
    indices : iterable
        The indices of a scheme.

    Returns
    -------
    dict
        ``examples`` (None where the number is unknown) and, for other indices than the first
        so many, ``indices``: a digest, or the bounds of a range. The same indices give the same
        description whatever container they are in, in every process.

    """
    if isinstance(indices, range):
        count = max(0, -((indices.start - indices.stop) // indices.step))
        if count == 0 or (indices.start == 0 and indices.step == 1):
            return {"examples": count}
        if indices.step == 1:
            return {"examples": count, "indices": f"{indices[0]}..{indices[-1]}"}
    elif isinstance(indices, Iterator) or not hasattr(indices, "__len__"):
        return {"examples": None}
    array = _as_integers(indices)
    if array is None:
        digest = blake2b(digest_size=8)
        items = list(indices)
        for item in items:
            digest.update(f"{_text(item)};".encode("utf-8", "surrogatepass"))
        return {"examples": len(items), "indices": digest.hexdigest()}
    if not len(array):
        return {"examples": 0}
    first, last = int(array[0]), int(array[-1])
    if last - first == len(array) - 1 and bool((numpy.diff(array) == 1).all()):
        if first == 0:
            return {"examples": len(array)}
        return {"examples": len(array), "indices": f"{first}..{last}"}
    digest = blake2b(array.astype("<i8").tobytes(), digest_size=8)
    return {"examples": len(array), "indices": digest.hexdigest()}


def _as_integers(indices: Any) -> Any:
    """Return a vector of int64, None where the indices are anything but such integers."""
    if isinstance(indices, numpy.ndarray):
        array = indices
    elif isinstance(indices, range) or all(
        issubclass(kind, (int, numpy.integer)) for kind in set(map(type, indices))
    ):
        try:
            array = numpy.array(list(indices), dtype=numpy.int64)
        except OverflowError:
            return None
    else:
        return None
    if array.ndim != 1 or not numpy.can_cast(array.dtype, numpy.int64):
        return None
    return array.astype(numpy.int64)


def _text(item: Any) -> str:
    """Write an index so that it reads the same in every process."""
    if isinstance(item, numpy.generic):
        item = item.item()
    if isinstance(item, (tuple, list)):
        return f"({','.join(map(_text, item))})"
    if item is None or isinstance(item, (str, bytes, int, float, complex)):
        return repr(item)
    if isinstance(item, slice):
        return f"slice({item.start!r},{item.stop!r},{item.step!r})"
    return type(item).__qualname__
