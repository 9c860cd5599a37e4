"""What is known of a function that a user hands over: its name, its draws, its hidden generators.

Used by `fuel.transformers._mapping`.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Iterator
from typing import Any

from fuel.state import is_generator

__all__ = ["check_function", "function_name", "held_generator", "need_function", "takes_rng"]

#: How deep objects inside objects are looked into for generators.
_DEPTH = 4


def function_name(function: Any) -> str:
    """Return the qualified name of a function, or of the class of a callable object.

    Parameters
    ----------
    function : callable
        The function.

    Returns
    -------
    str
        For a partial, the name of the function inside it.

    """
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__qualname__", None) or type(function).__qualname__)


def need_function(step: str, function: Any) -> None:
    """Refuse what cannot be called.

    Parameters
    ----------
    step : str
        The name of the transformer, for messages.
    function : object
        What it was given.

    Raises
    ------
    TypeError
        If it cannot be called.

    """
    if not callable(function):
        raise TypeError(
            f"{step} needs a function, got {function!r:.80}; pass a callable that takes an item, a "
            "tuple with one entry a source"
        )


def takes_rng(function: Any) -> bool:
    """Tell whether a function is to be called with a generator as its second argument.

    Parameters
    ----------
    function : callable
        The function.

    Returns
    -------
    bool
        True if its second positional parameter is called ``rng`` and has no default. A function
        whose signature is not known (many of those written in C) takes none.

    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    positional = [parameter for parameter in parameters if parameter.kind in kinds]
    return (
        len(positional) > 1
        and positional[1].name == "rng"
        and positional[1].default is inspect.Parameter.empty
    )


def _inside(obj: Any) -> Iterator[tuple[str, Any]]:
    """Yield what an object refers to, where a generator may hide."""
    if isinstance(obj, functools.partial):
        yield "func", obj.func
        yield "args", obj.args
        yield "keywords", obj.keywords
    elif isinstance(obj, types.MethodType):
        yield "__self__", obj.__self__
        yield "__func__", obj.__func__
    elif isinstance(obj, types.FunctionType):
        for name, cell in zip(obj.__code__.co_freevars, obj.__closure__ or (), strict=False):
            try:
                yield name, cell.cell_contents
            except ValueError:  # not assigned yet
                continue
        names = list(inspect.signature(obj, follow_wrapped=False).parameters)
        count = len(obj.__defaults__ or ())
        arguments = names[: obj.__code__.co_argcount][-count:] if count else []
        yield from zip(arguments, obj.__defaults__ or (), strict=False)
        yield from (obj.__kwdefaults__ or {}).items()
        for name in obj.__code__.co_names:
            if is_generator(obj.__globals__.get(name)):
                yield name, obj.__globals__[name]
    elif isinstance(obj, (list, tuple)):
        yield from ((f"[{number}]", item) for number, item in enumerate(obj))
    elif isinstance(obj, dict):
        yield from ((f"[{key!r}]", item) for key, item in obj.items())
    elif isinstance(obj, (type, types.ModuleType)) or hasattr(obj, "get_epoch_iterator"):
        return
    yield from list(getattr(obj, "__dict__", {}).items())


def held_generator(function: Any) -> str | None:
    """Look for a random generator that a function keeps.

    Parameters
    ----------
    function : callable
        A function, method, partial or callable object.

    Returns
    -------
    str or None
        Where it keeps one (closure, default, attribute, global), with its type; None if nowhere.

    """
    seen = {id(function)}
    level: list[tuple[str, Any]] = [("", function)]
    for _ in range(_DEPTH):
        following: list[tuple[str, Any]] = []
        for path, obj in level:
            for name, value in _inside(obj):
                here = f"{path}{name}" if name.startswith("[") or not path else f"{path}.{name}"
                if is_generator(value):
                    return f"{here!r} (a {type(value).__name__})"
                if id(value) not in seen:
                    seen.add(id(value))
                    following.append((here, value))
        level = following
    return None


def check_function(
    step: str, function: Any, seed: int | None, *, draws: bool, elementwise: bool
) -> None:
    """Refuse what contradicts itself: a seed without draws, an independence that is none.

    Parameters
    ----------
    step : str
        The name of the transformer, for messages.
    function : callable
        The user's function.
    seed : int or None
        The seed given to the step.
    draws : bool
        Whether the function takes ``rng``.
    elementwise : bool
        Whether the step is declared to depend on one item alone.

    Raises
    ------
    ValueError
        If there is a contradiction.

    """
    name = function_name(function)
    if seed is not None and not draws:
        raise ValueError(
            f"{step} got seed={seed}, but {name} does not draw: its second positional parameter "
            "is not `rng` without a default; write `def f(data, rng)`, or leave out `seed`"
        )
    if draws or elementwise:
        held = held_generator(function)
        if held is not None:
            reason = "takes `rng`" if draws else "is declared `elementwise=True`"
            raise ValueError(
                f"{name} {reason} but holds a generator in {held}, whose draws depend on the "
                "order of evaluation; draw from the `rng` that is handed in as second argument"
            )
