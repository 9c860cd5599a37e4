"""Which steps go together into one kernel call.

In this room: `fusible`, which tells whether a step says what it does, and `joined`, which joins
what steps say for as long as that goes. Not here: what a source goes through
(`fuel.plan._kernels`), and when the kernels are called (`fuel.plan._fusion`, `fuel.plan._passes`).
"""

from __future__ import annotations

from typing import Any

from fuel.plan._chain import BEHAVIOUR, elementwise
from fuel.plan._kernels import Kernel
from fuel.utils._overrides import overridden

__all__ = ["attributes", "fusible", "fusible_steps", "joined"]


def fusible(step: Any) -> bool:
    """Tell whether a step may say what it does: whether its behaviour is ours, untouched.

    Parameters
    ----------
    step : stream
        A step that makes one item of each.

    Returns
    -------
    bool
        Whether it can be asked for its operations.

    """
    return (
        (hasattr(step, "_operations") or hasattr(step, "_columns"))
        and not overridden(step, "_operations", "_columns", *BEHAVIOUR)
        and elementwise(step)
        and step.produces_examples == step.data_stream.produces_examples
    )


def fusible_steps(steps: list[Any]) -> list[Any]:
    """Return the steps, from the source up, that may say what they do.

    Parameters
    ----------
    steps : list of stream
        The steps above a source, lowest first.

    Returns
    -------
    list of stream
        Those at the beginning whose behaviour is ours, untouched.

    """
    found: list[Any] = []
    for step in steps:
        if not fusible(step):
            break
        found.append(step)
    return found


def joined(
    sources: Any, tables: list[Any], steps: list[Any], examples: bool
) -> tuple[list[Any], int]:
    """Join the longest run of steps that kernels can do.

    Parameters
    ----------
    sources : tuple of str
        The names of the sources.
    tables : list
        What each source is read from.
    steps : list of stream
        The steps above the source, lowest first.
    examples : bool
        Whether the stream is one of examples.

    Returns
    -------
    kernels : list of Kernel
        One a source of the uppermost of the steps that they do.
    count : int
        How many of the steps they do.

    """
    kernels: list[Any] = [Kernel(column, table, examples) for column, table in enumerate(tables)]
    complete, count = kernels, 0
    for number, step in enumerate(steps):
        chosen = getattr(step, "_columns", None)
        if chosen is not None:
            kernels = [kernels[column] for column in chosen(sources)]
            sources = tuple(step.sources)
        else:
            extended = []
            for source, kernel in zip(sources, kernels, strict=True):
                try:
                    operations = step._operations(source, kernel.dtype, kernel.result)
                except Exception:
                    operations = None  # the step says it of the first item, if there is one
                longer = None if operations is None else kernel.extended(operations)
                if longer is None:
                    return complete, count
                extended.append(longer)
            kernels = extended
        if all(kernel.complete for kernel in kernels):
            complete, count = kernels, number + 1
    return complete, count


def attributes(step: Any) -> list[Any]:
    """Return what a step is given by: what it holds, and a setting that it reads."""
    return [*vars(step).values(), step._setting]
