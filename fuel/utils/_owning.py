"""Data that nobody else holds: `own` copies what an item would share with where it came from.

What it comes from are the containers of data sets (`fuel.datasets`), and batches that were fetched
at once (`fuel.transformers`).
"""

from __future__ import annotations

from typing import Any

import numpy

__all__ = ["own", "own_array"]

#: numpy.void is one element of a structured array, and a window on it.
_WINDOWS = (numpy.ndarray, numpy.void)
#: What has nothing inside that could be shared.
_LEAVES = frozenset({int, float, complex, bool, str, bytes, type(None)})


def own(value: Any) -> Any:
    """Return an item that shares no array and no list with the container it was taken from.

    Parameters
    ----------
    value : object
        An item of a container.

    Returns
    -------
    object
        A copy of an array, or of a list, with the arrays and lists in it (unless it begins and
        ends with numbers or texts: then there are none); anything else as it is.

    """
    if isinstance(value, _WINDOWS):
        return own_array(value.copy())
    if type(value) is list:
        # A list of words or of numbers is the usual case; a look at each of them takes longer than
        # the copy.
        flat = not value or (type(value[0]) in _LEAVES and type(value[-1]) in _LEAVES)
        return value.copy() if flat else list(map(own, value))
    return value


def own_array(fresh: Any) -> Any:
    """Finish an array that already has memory of its own.

    Parameters
    ----------
    fresh : numpy.ndarray or numpy.void
        The array; if it holds objects, they may still be shared.

    Returns
    -------
    numpy.ndarray or numpy.void
        The same, no longer a memory map, with copies of the arrays and lists in it.

    """
    if isinstance(fresh, numpy.memmap):
        # Not mapped any more: the subclass only remembers where its data came from.
        fresh = fresh.view(numpy.ndarray)
    if isinstance(fresh, numpy.ndarray) and fresh.dtype.kind == "O":
        if fresh.ndim == 1:  # the usual case, in a loop that is quick
            for index, item in enumerate(fresh.tolist()):
                if isinstance(item, (numpy.ndarray, list)):
                    fresh[index] = own(item)
            return fresh
        for position in numpy.ndindex(fresh.shape):
            item = fresh[position]
            if isinstance(item, (numpy.ndarray, list)):
                fresh[position] = own(item)
    return fresh
