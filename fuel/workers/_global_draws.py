"""Draws from global generators inside a worker process: kept apart, and told of.

A function that draws from ``random`` or ``numpy.random`` draws in each worker from a global
generator of that worker. Were these copies of the program's, all workers would draw the same. They
are seeded apart here, and the consumer hears of it when a part draws from them, for what it gets
then depends on who evaluated what.
"""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy

__all__ = ["GlobalDraws", "warn_of_draws"]

#: In how many units of a part it is looked for: a look costs 10 microseconds.
_LOOKS = 3


class GlobalDraws:
    """The global generators of a worker process.

    Parameters
    ----------
    name : str
        The worker's, which no other has: they are seeded by it, and by what the program's would
        have drawn next.

    """

    def __init__(self, name: str) -> None:
        words = [int(word) for word in numpy.random.randint(1 << 32, size=8, dtype=numpy.uint64)]
        numpy.random.seed([*words, *name.encode()])
        random.seed(f"{random.getrandbits(64)} {name}")
        self._states = self._now()
        self._left: dict[Any, int] = {}

    @staticmethod
    def _now() -> tuple[Any, Any]:
        state: Any = numpy.random.get_state()
        return (state[1][:2].tobytes(), state[2], state[3]), random.getstate()

    def look(self, key: Any) -> str:
        """Tell whether a unit has drawn.

        Parameters
        ----------
        key : object
            Its part.

        Returns
        -------
        str
            The module whose generator it drew from, once for each part; else "".

        """
        left = self._left.get(key, _LOOKS)
        if not left:
            return ""
        before, self._states = self._states, self._now()
        drawn = [
            module
            for module, one, other in zip(
                ("numpy.random", "random"), before, self._states, strict=True
            )
            if one != other
        ]
        self._left[key] = 0 if drawn else left - 1
        return " and ".join(drawn)


#: Whether it was said already, in this program.
_told_of_draws = False


def warn_of_draws(module: str) -> None:
    """Say that a part draws from a global generator, once in a program."""
    global _told_of_draws
    if not _told_of_draws:
        _told_of_draws = True
        warnings.warn(
            f"a function that workers evaluate draws from the global generator of {module}: what "
            "it draws depends on which worker evaluates what, and is not repeated by a run that is "
            "resumed; take `rng` as the second parameter of the function, and draw from that",
            RuntimeWarning,
            stacklevel=2,
        )
