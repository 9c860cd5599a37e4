"""Objects in a list, in plain Python: what the compiled form does, more slowly.

The door, `fuel.kernels.objects`, describes and checks.
"""

from __future__ import annotations

from typing import Any

import numpy

__all__ = ["lengths", "take"]

_KNOWN = (list, tuple, str, bytes)


def take(container: Any, rows: Any) -> list[Any] | None:
    """Return the objects at some places; None if these are not all there, or the forms are others.

    Parameters
    ----------
    container : list or numpy.ndarray
        Where they are.
    rows : numpy.ndarray
        Their places.

    Returns
    -------
    list or None
        The objects.

    """
    if not isinstance(rows, numpy.ndarray) or rows.dtype != numpy.int64 or rows.ndim != 1:
        return None
    if type(container) is not list and (
        type(container) is not numpy.ndarray or container.dtype != object or container.ndim != 1
    ):
        return None
    places = rows.tolist()
    if not all(0 <= place < len(container) for place in places):
        return None
    return [container[place] for place in places]


def lengths(container: list[Any], out: Any) -> bool:
    """Write how long each object is; False if some are of no kind that is known to have a length.

    Parameters
    ----------
    container : list
        The objects.
    out : numpy.ndarray, shape (n,), dtype int64
        Where their lengths are written.

    Returns
    -------
    bool
        Whether all were written.

    """
    for number, item in enumerate(container):
        if type(item) not in _KNOWN and not (type(item) is numpy.ndarray and item.ndim):
            return False
        out[number] = len(item)
    return True
