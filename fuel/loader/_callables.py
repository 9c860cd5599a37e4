"""The functions that a user hands to a loader, `transform` and `collate`: refused, or called.

In this room: what is wrong with a function before it is called, and `called`, which calls it. Not
here: what it is called with (`fuel.loader._steps`).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from fuel.transformers._functions import function_name, held_generator

__all__ = ["called", "check_callable"]

_HINTS = {
    "transform": "draw from the `rng` of `f(observation, rng)`",
    "collate": "draw in a `transform`, `f(observation, rng)`",
}
_FORMS = {
    "transform": "f(observation)` or `f(observation, rng)",
    "collate": "f(observations)",
}


def check_callable(argument: str, function: Callable[..., Any], arguments: int) -> None:
    """Refuse a function that can only fail, or whose results depend on the order of evaluation.

    Parameters
    ----------
    argument : {'transform', 'collate'}
        Whose value it is.
    function : callable
        The function.
    arguments : int
        How many arguments it is called with.

    Raises
    ------
    TypeError
        If it cannot be called with so many, or does not return what it makes.
    ValueError
        If it holds a random generator.

    """
    name, form = function_name(function), _FORMS[argument]
    kind = _kind_of_code(function)
    if kind:
        raise TypeError(
            f"`{argument}` must be a function that returns its result, got {name}, {kind}; write "
            f"`{form}` with `return`"
        )
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of C, and does not tell
        signature = None
    if signature is not None:
        try:
            signature.bind(*[None] * arguments)
        except TypeError as error:
            raise TypeError(
                f"`{argument}` must be a function that can be called as `{form}`, got "
                f"{name}{signature} ({error}); fix other arguments with `functools.partial`"
            ) from None
    held = held_generator(function)
    if held is not None:
        raise ValueError(
            f"`{argument}` ({name}) holds a generator in {held}, whose draws depend on the order "
            f"of evaluation; {_HINTS[argument]}"
        )


def _kind_of_code(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    if not (inspect.isroutine(function) or isinstance(function, type)):
        function = inspect.getattr_static(type(function), "__call__", function)
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        return "an asynchronous function"
    return "a generator function" if inspect.isgeneratorfunction(function) else ""


def called(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function, and do not take what it raises for the end of the data.

    Parameters
    ----------
    function : callable
        The function.
    *arguments
        What it is called with.

    Returns
    -------
    object
        What it returns.

    Raises
    ------
    RuntimeError
        If it raises StopIteration, as from a generator.

    """
    try:
        return function(*arguments)
    except StopIteration as error:
        raise RuntimeError(
            f"{function_name(function)} raised StopIteration, which is no way to end the data; "
            "give `next` a default, or put up with what fails by `on_error`"
        ) from error
