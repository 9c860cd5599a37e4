"""What every kind of worker offers: units go in, outcomes come out, in any order.

In this room: the protocol `Pool`, and `Done`, an evaluated unit. Not here: which units there are
(`fuel.plan._schedule`), putting outcomes in order (`fuel.workers._engine`).
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from fuel.plan._evaluation import Unit

__all__ = ["Done", "Failed", "Pool"]


class Failed:
    """What stands in the place of an item that could not be evaluated.

    Parameters
    ----------
    error : BaseException
        What was raised, with its notes.

    """

    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error = error


class Done(NamedTuple):
    """An evaluated unit.

    Attributes
    ----------
    number : int
        The unit's.
    outcomes : list
        For each of its items the item, or a `Failed`.
    seconds : float
        How long its evaluation took.

    """

    number: int
    outcomes: list[Any]
    seconds: float


class Pool(Protocol):
    """Workers that evaluate the units of one pass."""

    @property
    def workers(self) -> int:
        """How many evaluate at the same time."""

    @property
    def by_place(self) -> bool:
        """Whether a unit may name a place in the order instead of its requests."""

    def submit(self, unit: Unit) -> None:
        """Take a unit, to be evaluated as soon as a worker is free."""

    def withdraw(self, number: int) -> bool:
        """Take back a unit that no worker has begun; False if one has."""

    def collect(self, timeout: float | None) -> list[Done]:
        """Return the units that are done; wait for one if there is none.

        Raises
        ------
        WorkerError
            If workers die again and again.

        """

    def cancel(self) -> None:
        """Forget all units that were submitted."""

    def stacks(self) -> str:
        """Describe what every worker is doing, for a person."""

    def close(self) -> None:
        """Let the workers go."""
