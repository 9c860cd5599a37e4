"""The name of what cannot be sent to another process.

pickle says "cannot pickle '_io.TextIOWrapper' object" and not where it is. `check_picklable` looks
for it by pickling the parts of what failed, the parts of the part that failed, and so on.
"""

from __future__ import annotations

import collections
import functools
import io
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy

from fuel.utils._channel import _pickler_class
from fuel.workers._open_files import reduce_hdf5

__all__ = ["check_picklable", "worker_pickler_class"]

#: What of h5py is opened again by its name.
_OF_HDF5 = frozenset(("Dataset", "File", "Group"))
#: Objects inside objects are followed so far.
_DEEPEST = 40
#: So many parts are tried before the search is given up: some seconds at worst.
_MOST_TRIES = 5000
#: Arrays and lists of plain things that are so long always pickle, and take long.
_LONG = 4096


def check_picklable(value: Any, name: str = "the pipeline") -> None:
    """Refuse what cannot be sent to a worker process, and say which part of it is to blame.

    Parameters
    ----------
    value : object
        What is to be sent.
    name : str, optional
        What to call it in the message.

    Raises
    ------
    TypeError
        If it cannot be pickled. The message has the path to the part that cannot, and what to do;
        the cause is the original error.

    Examples
    --------
    >>> import sqlite3
    >>> from fuel.workers._picklable import check_picklable
    >>> class Reader:
    ...     def __init__(self):
    ...         self.handles = [sqlite3.connect(":memory:")]
    >>> try:
    ...     check_picklable(Reader(), "the dataset")
    ... except TypeError as error:
    ...     print(str(error)[:74])
    the dataset cannot be sent to worker processes: Reader.handles[0] (sqlite3

    """
    error = _failure(value)
    if error is None:
        return
    path, culprit, reason = _Search().find(value, error)
    where = " -> ".join(path)
    kind = type(culprit)
    label = kind.__qualname__ if kind.__module__ == "builtins" else _dotted(kind)
    described = f"{where} ({label})" if where else f"it ({label})"
    raise TypeError(
        f"{name} cannot be sent to worker processes: {described} cannot be pickled "
        f"({type(reason).__name__}: {reason}); open it where it is used, leave it out in "
        f"__getstate__, or use threads (kind='thread'; for a DataLoader, parallel=)"
    ) from error


class _Sink:
    """A file that keeps nothing."""

    def write(self, data: Any) -> int:
        return len(data)


@functools.cache
def worker_pickler_class() -> Any:
    """Return the pickler of what is sent to workers.

    Returns
    -------
    type
        cloudpickle's, but for open text files: it would send all that is in the file.

    """
    base = _pickler_class()

    def reduce_file(file: Any) -> Any:
        if file is sys.stdout or file is sys.stderr:
            return getattr, (sys, "stdout" if file is sys.stdout else "stderr")
        raise TypeError(f"cannot pickle '{type(file).__module__}.{type(file).__name__}' object")

    class Pickler(base):  # type: ignore[misc,valid-type]
        dispatch_table = collections.ChainMap({io.TextIOWrapper: reduce_file}, base.dispatch_table)

        def reducer_override(self, value: Any) -> Any:
            kind = type(value)
            if kind.__module__.startswith("h5py.") and kind.__name__ in _OF_HDF5:
                return reduce_hdf5(value)
            return super().reducer_override(value)

    return Pickler


@functools.cache
def _trial_pickler() -> Any:
    base = worker_pickler_class()

    class Pickler(base):  # type: ignore[misc,valid-type]
        def persistent_id(self, value: Any) -> int | None:
            # Large things that pickle for certain are passed over.
            if type(value) is numpy.ndarray and not value.dtype.hasobject:
                return 0
            if type(value) is list and len(value) >= _LONG:
                return 0 if set(map(type, value)) <= {str, bytes, int, float} else None
            return None

    return Pickler


def _failure(value: Any) -> Exception | None:
    """Return what pickling an object raises."""
    try:
        _trial_pickler()(_Sink(), protocol=5).dump(value)
    except Exception as error:
        return error
    return None


class _Search:
    def __init__(self) -> None:
        self.tries = 0
        # The objects themselves, so that no identity is used twice.
        self.seen: dict[int, Any] = {}

    def find(self, value: Any, error: Exception) -> tuple[list[str], Any, Exception]:
        """Go down to the innermost part that does not pickle; return its path, it, and why."""
        path: list[str] = []
        while len(path) < _DEEPEST:
            self.seen[id(value)] = value
            found = self._failing_part(value)
            if found is None:
                break
            step, value, error = found
            if step.startswith("[") and path:
                path[-1] += step
            else:
                path.append(step)
        return path, value, error

    def _failing_part(self, value: Any) -> tuple[str, Any, Exception] | None:
        for step, part in _parts(value):
            if self.tries >= _MOST_TRIES:
                return None
            if id(part) in self.seen:
                continue
            self.tries += 1
            error = _failure(part)
            if error is not None:
                return step, part, error
        return None


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield what an object is made of, as far as pickling is concerned."""
    kind = type(value)
    if isinstance(value, dict):
        for key, item in value.items():
            yield f"[{_short(key)}]", item
            yield f"[key {_short(key)}]", key
    elif isinstance(value, list | tuple | set | frozenset):
        for number, item in enumerate(value):
            yield f"[{number}]", item
    if isinstance(value, types.FunctionType):
        yield from _parts_of_function(value)
    elif isinstance(value, types.MethodType):
        yield f"the object of method '{value.__name__}'", value.__self__
        yield f"method '{value.__name__}'", value.__func__
    elif isinstance(value, functools.partial):
        yield "partial.func", value.func
        for number, item in enumerate(value.args):
            yield f"partial.args[{number}]", item
        for name, item in value.keywords.items():
            yield f"partial.keywords[{name!r}]", item
    elif isinstance(value, type):
        for name, item in vars(value).items():
            yield f"{value.__name__}.{name}", item
    else:
        yield from _parts_of_state(value, kind)


def _parts_of_function(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield f"closure variable '{name}'", cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    defaults = function.__defaults__ or ()
    for name, item in zip(names[len(names) - len(defaults) :], defaults, strict=True):
        yield f"default of parameter '{name}'", item
    for name, item in (function.__kwdefaults__ or {}).items():
        yield f"default of parameter '{name}'", item
    for name in _names_used(function.__code__):
        if name in function.__globals__:
            yield f"global variable '{name}'", function.__globals__[name]
    for name, item in vars(function).items():
        yield f"{function.__name__}.{name}", item


def _names_used(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names_used(constant)


def _parts_of_state(value: Any, kind: type) -> Iterator[tuple[str, Any]]:
    try:
        reduced = value.__reduce_ex__(5)
    except Exception:
        return  # it says so itself: there is nothing inside to blame
    if not isinstance(reduced, tuple):
        return
    parts: list[Any] = [*reduced, None, None, None]
    arguments, state, items, pairs = parts[1:5]
    states = state if isinstance(state, tuple) and len(state) == 2 else (state,)
    for part in states:
        if isinstance(part, dict):
            for name, item in part.items():
                yield f"{kind.__name__}.{name}", item
        elif part is not None:
            yield f"state of {kind.__name__}", part
    if not isinstance(value, list | dict):  # whose contents were looked at
        for number, item in enumerate(items or ()):
            yield f"[{number}]", item
        for key, item in pairs or ():
            yield f"[{_short(key)}]", item
    # The first argument is usually the class, which travels by value if it is the main module's.
    for number, item in enumerate(arguments or ()):
        yield (item.__name__ if item is kind else f"{kind.__name__}(argument {number})"), item


def _dotted(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _short(key: Any) -> str:
    text = repr(key)
    return text if len(text) <= 40 else f"{text[:37]}..."
