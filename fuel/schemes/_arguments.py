"""What schemes are given: indices, batch sizes, saved places; checked, and told what is wrong.

What a scheme is, is in `fuel.schemes._base`.
"""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy

from fuel.exceptions import StateMismatchError
from fuel.typing import JSON

__all__ = ["as_indices", "check_batch_size", "check_place", "known_length", "short"]


def as_indices(examples: Any) -> Any:
    """Return the indices that the argument `examples` stands for."""
    if isinstance(examples, Integral) and not isinstance(examples, bool):
        if examples < 0:
            raise ValueError(
                f"`examples` must be the number of examples or their indices, got {examples}"
            )
        return range(int(examples))
    if not isinstance(examples, Iterable) or (
        isinstance(examples, numpy.ndarray) and examples.ndim == 0
    ):
        raise TypeError(
            "`examples` must be the number of examples, an integer, or an iterable of their "
            f"indices, got {examples!r}"
        )
    return examples


def check_batch_size(batch_size: Any) -> int:
    """Return a batch size as an int, or say what is wrong with it."""
    if not isinstance(batch_size, Integral) or isinstance(batch_size, bool) or batch_size < 1:
        raise ValueError(
            f"`batch_size` must be a positive integer, got {batch_size!r}; use 1 for batches "
            "of one example"
        )
    return int(batch_size)


def check_place(mark: JSON, length: int | None, what: str) -> int:
    """Return a mark that counts examples as an int, or say why it has no place in the order."""
    if type(mark) is not int or mark < 0 or (length is not None and mark > length):
        has = "an unknown number of" if length is None else length
        raise StateMismatchError(
            f"the saved place is {short(mark)}, but this order ({what}) has {has} examples; "
            "rebuild the scheme that the state is from"
        )
    return mark


def known_length(indices: Any) -> int | None:
    """Return how many indices there are, if that is known before visiting them."""
    try:
        return len(indices)
    except TypeError:
        return None
    except OverflowError:  # a range may be longer than `len` can say
        return int((indices.stop - indices.start) // indices.step)


def short(state: JSON) -> str:
    """Return a representation that fits into a message."""
    text = repr(state)
    return text if len(text) <= 80 else f"{text[:77]}..."
