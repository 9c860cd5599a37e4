"""Some of the observations of a container, in some order: `obsview`, `ObsView`, and who chooses.

In this module: also `filterobs` and `groupobs`, which choose by looking at every observation. Not
here: random choices (``_drawing``), splits (``_splitting``, ``_folds``).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy

from fuel.observations._access import fetch, numobs
from fuel.observations._indices import Indices, as_indices, compose, frozen, select
from fuel.observations._view import View, describe, rebuild

__all__ = ["ObsView", "filterobs", "groupobs", "obsview", "view_of"]


class ObsView(View):
    """Some observations of a container, in some order, without a copy of any.

    Parameters
    ----------
    data : container
        Any container; also a tuple or a dict of containers, which then count as one.
    indices : slice, list, tuple, range or array, optional
        Which observations, in any order and with repetitions, or one bool for each. All by default.

    Attributes
    ----------
    data : container
        What it is a view of. A view of an `ObsView` is one of that view's data.
    indices : range or numpy.ndarray, dtype int64
        Which observations of `data`, read-only.

    Raises
    ------
    fuel.exceptions.RequestError
        If an index is negative or out of range.
    ValueError
        If the indices are of an unsuitable type.

    See Also
    --------
    obsview : The same for each container of a tuple or a dict.

    Notes
    -----
    ``len(view)`` is the number of observations, ``view[i]`` an observation, ``view[[i, j]]`` and
    ``view[i:j]`` a batch; iteration goes over observations. ``numpy.asarray(view)`` is all of a
    view of an array. Pickles if the data does; safe from several threads if the data is.

    Examples
    --------
    >>> import numpy
    >>> from fuel.observations import ObsView
    >>> view = ObsView((numpy.arange(10), list("abcdefghij")), range(4, 10))
    >>> len(view), view[0] == (4, "e"), view[[5, 1]]
    (6, True, (array([9, 5]), ['j', 'f']))
    >>> ObsView(view, [1, 1, 0])
    ObsView((int64 array (10,), list of 10), 3 of 10 observations)

    """

    data: Any
    indices: Indices

    def __init__(self, data: Any, indices: Any = None) -> None:
        self._set(data, as_indices(indices, numobs(data)))

    def _set(self, data: Any, indices: Indices) -> None:
        if type(data) is ObsView:
            data, indices = data.data, compose(data.indices, indices)
        self.data, self.indices = data, indices

    def __len__(self) -> int:
        return len(self.indices)

    def _fetch(self, rows: Any, out: Any = None) -> Any:
        return fetch(self.data, select(self.indices, rows), out)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if copy is False:
            raise ValueError("a view gathers what it is a view of; do not ask for `copy=False`")
        return numpy.asarray(self._fetch(slice(0, len(self), 1)), dtype=dtype)

    def __repr__(self) -> str:
        total = numobs(self.data)
        return f"ObsView({describe(self.data)}, {len(self)} of {total} observations)"


def obsview(data: Any, indices: Any = None) -> Any:
    """Return a lazy view of some observations.

    Parameters
    ----------
    data : container
        Any container.
    indices : slice, list, tuple, range or array, optional
        Which observations, in any order and with repetitions, or one bool for each. All by default.

    Returns
    -------
    ObsView, or a tuple, named tuple or dict of them
        For a tuple, a named tuple or a dict, one of the same structure with a view of each
        container, so that ``x, y = obsview((x, y), indices)``. Use `ObsView` for a single view of
        all of them.

    Raises
    ------
    fuel.exceptions.RequestError
        If an index is negative or out of range.
    ValueError
        If the indices are of an unsuitable type, or the containers have different lengths.
    TypeError
        If `data` is no container.

    Notes
    -----
    Copies nothing but the indices. A view of a view holds composed indices and the data, so that
    views of views are as quick as views.

    Examples
    --------
    >>> import numpy
    >>> from fuel.observations import getobs, obsview
    >>> x, y = obsview((numpy.arange(10) ** 2, list("abcdefghij")), [7, 2])
    >>> print(x[0], y[0])
    49 h
    >>> getobs(x)
    array([49,  4])

    """
    return view_of(data, as_indices(indices, numobs(data)))


def view_of(data: Any, indices: Indices) -> Any:
    """Return what `obsview` does, for indices that are checked already.

    Parameters
    ----------
    data : container
        Any container.
    indices : range or numpy.ndarray, dtype int64
        Which observations.

    Returns
    -------
    ObsView, or a tuple, named tuple or dict of them
        As for `obsview`.

    """
    if isinstance(data, (tuple, Mapping)):
        parts = data.values() if isinstance(data, Mapping) else data
        return rebuild(data, [view_of(part, indices) for part in parts])
    view = ObsView.__new__(ObsView)
    view._set(data, indices)
    return view


def filterobs(f: Callable[[Any], Any], data: Any) -> Any:
    """Return a view of the observations for which a function is true.

    Parameters
    ----------
    f : callable
        Takes one observation.
    data : container
        Any container. Every observation is fetched once, now.

    Returns
    -------
    ObsView, or a tuple, named tuple or dict of them
        As for `obsview`; it may have no observation.

    Raises
    ------
    TypeError
        If `f` cannot be called.

    Examples
    --------
    >>> from fuel.observations import filterobs, numobs
    >>> large = filterobs(lambda x: x > 5, range(1, 11))
    >>> numobs(large), list(large)
    (5, [6, 7, 8, 9, 10])

    """
    _need_function("filterobs", f)
    chosen = [place for place in range(numobs(data)) if f(fetch(data, place))]
    return view_of(data, frozen(numpy.array(chosen, dtype=numpy.int64)))


def groupobs(f: Callable[[Any], Hashable], data: Any) -> dict[Any, Any]:
    """Divide observations by what a function says of them.

    Parameters
    ----------
    f : callable
        Takes one observation, and returns something that can be a key of a dict.
    data : container
        Any container. Every observation is fetched once, now.

    Returns
    -------
    dict
        For each value of `f`, in the order of their first appearance, a view of its observations,
        as `obsview` makes it.

    Raises
    ------
    TypeError
        If `f` cannot be called, or what it returns cannot be a key.

    Examples
    --------
    >>> from fuel.observations import groupobs
    >>> groups = groupobs(lambda x: x > 0, range(-10, 11))
    >>> {positive: len(group) for positive, group in groups.items()}
    {False: 11, True: 10}

    """
    _need_function("groupobs", f)
    groups: dict[Any, list[int]] = {}
    for place in range(numobs(data)):
        groups.setdefault(f(fetch(data, place)), []).append(place)
    return {key: view_of(data, frozen(numpy.array(rows))) for key, rows in groups.items()}


def _need_function(name: str, f: Any) -> None:
    if not callable(f):
        raise TypeError(
            f"{name} needs a function of one observation, got {f!r:.80}; the function comes first, "
            "the data second"
        )
