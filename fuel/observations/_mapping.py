"""Functions of observations: `mapobs`.

Not here: functions of the items of a stream (`fuel.transformers.Mapping`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy

from fuel.observations._access import fetch, numbers_of, numobs
from fuel.observations._storing import store
from fuel.observations._view import View, describe, rebuild

__all__ = ["MappedObs", "NamedObs", "mapobs"]

_MODES = ("auto", "never", "always")


def mapobs(f: Any, data: Any, *, batched: str = "auto") -> Any:
    """Return a container of what a function makes of each observation, when it is fetched.

    Parameters
    ----------
    f : callable, or a tuple, named tuple or dict of them
        Takes an observation or a batch, as `batched` says, which is its own: it may change it.
    data : container
        Any container.
    batched : {'auto', 'never', 'always'}, optional
        ``'auto'``: one index calls ``f(observation)``, several call ``f(batch)``: `f` is to cope
        with both. ``'never'``: `f` only ever gets an observation, and a batch is the list of its
        results. ``'always'``: `f` only ever gets a batch, and one observation is the first of a
        batch of one.

    Returns
    -------
    container
        Of as many observations. For a tuple or a named tuple of functions, one of the same form
        with a container for each function. For a dict of functions, a container whose observations
        are dicts; ``mapped['name']``, or ``mapped.name``, is the container of one function. Its
        functions get the same observation: they must not change it.

    Raises
    ------
    TypeError
        If `f` is none of these, or `data` is no container.
    ValueError
        If `batched` is anything else; when fetching, if a function that gets batches only changes
        the number of observations.

    Notes
    -----
    Nothing is kept: each time that an observation is fetched, the function is called. Pickles, and
    is safe from several threads, if functions and data are.

    Examples
    --------
    >>> import math
    >>> import numpy
    >>> from fuel.observations import getobs, mapobs
    >>> data = {"a": numpy.array([1, 2, 3]), "b": numpy.array([1, 2, 3])}
    >>> mapped = mapobs(lambda x: {"c": x["a"] + x["b"], "d": x["a"] - x["b"]}, data)
    >>> mapped[[0, 1]]
    {'c': array([2, 4]), 'd': array([0, 0])}
    >>> named = mapobs({"x": math.sqrt, "y": math.log2}, range(1, 11), batched="never")
    >>> getobs(named, 3)
    {'x': 2.0, 'y': 2.0}
    >>> getobs(named.x, [0, 3])
    [1.0, 2.0]

    """
    if batched not in _MODES:
        raise ValueError(f"`batched` must be 'auto', 'never' or 'always', got {batched!r}")
    numobs(data)
    if isinstance(f, Mapping):
        if not f or not all(isinstance(name, str) for name in f):
            raise TypeError(f"a dict of functions needs names as its keys, got {list(f)!r:.80}")
        return NamedObs({name: _function(each) for name, each in f.items()}, data, batched)
    if isinstance(f, tuple) and f:
        return rebuild(f, [MappedObs(_function(each), data, batched) for each in f])
    return MappedObs(_function(f), data, batched)


class MappedObs(View):
    """What a function makes of each observation.

    Parameters
    ----------
    function : callable
        The function.
    data : container
        The observations.
    batched : {'auto', 'never', 'always'}
        What the function gets.

    """

    def __init__(self, function: Callable[[Any], Any], data: Any, batched: str) -> None:
        self.function, self.data, self.batched = function, data, batched

    def __len__(self) -> int:
        return numobs(self.data)

    def _fetch(self, rows: Any, out: Any = None) -> Any:
        return store(_evaluate([self.function], self.data, rows, self.batched)[0], out)

    def __repr__(self) -> str:
        name = _name(self.function)
        return f"mapobs({name}, {describe(self.data)}, batched={self.batched!r})"


class NamedObs(View):
    """What each of several functions makes of each observation, by name.

    Parameters
    ----------
    functions : dict
        Maps names to functions.
    data : container
        The observations.
    batched : {'auto', 'never', 'always'}
        What the functions get.

    """

    def __init__(self, functions: dict[str, Any], data: Any, batched: str) -> None:
        self._functions, self._data, self._batched = functions, data, batched

    def __len__(self) -> int:
        return numobs(self._data)

    def _fetch(self, rows: Any, out: Any = None) -> Any:
        results = _evaluate(list(self._functions.values()), self._data, rows, self._batched)
        return store(dict(zip(self._functions, results, strict=True)), out)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, str):
            if index not in self._functions:
                raise KeyError(f"the names are {list(self._functions)}, got {index!r}")
            return MappedObs(self._functions[index], self._data, self._batched)
        return super().__getitem__(index)

    def __getattr__(self, name: str) -> Any:
        # While it is being unpickled nothing is there yet.
        if name in self.__dict__.get("_functions", ()):
            return self[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        inside = ", ".join(f"{name!r}: {_name(f)}" for name, f in self._functions.items())
        return f"mapobs({{{inside}}}, {describe(self._data)}, batched={self._batched!r})"


def _function(f: Any) -> Callable[[Any], Any]:
    if not callable(f):
        raise TypeError(
            f"mapobs needs a function, or a tuple or dict of functions, got {f!r:.80}; the "
            "function comes first, the data second"
        )
    function: Callable[[Any], Any] = f
    return function


def _name(function: Any) -> str:
    return str(getattr(function, "__qualname__", None) or type(function).__qualname__)


def _evaluate(functions: list[Any], data: Any, rows: Any, batched: str) -> list[Any]:
    """Fetch once, and call every function."""
    if isinstance(rows, int):
        if batched != "always":
            observation = fetch(data, rows)
            return [function(observation) for function in functions]
        batch = fetch(data, numpy.array([rows], dtype=numpy.int64))
        return [fetch(_batch_of(function, batch, 1), 0) for function in functions]
    if batched == "never":
        observations = [fetch(data, row) for row in numbers_of(rows)]
        return [[function(each) for each in observations] for function in functions]
    batch = fetch(data, rows)
    if batched == "auto":
        return [function(batch) for function in functions]
    return [_batch_of(function, batch, len(numbers_of(rows))) for function in functions]


def _batch_of(function: Any, batch: Any, count: int) -> Any:
    """Call a function that gets batches only."""
    result = function(batch)
    found = numobs(result)
    if found != count:
        raise ValueError(
            f"{_name(function)} was given a batch of {count} observations and returned {found}; "
            "with batched='always' it must return one for each"
        )
    return result
