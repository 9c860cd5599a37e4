"""One batch of a run, made again beside everything that is going on.

Not here: runs that users iterate over (`fuel.loader._iterator`).
"""

from __future__ import annotations

import operator
from typing import Any

from fuel.exceptions import RequestError
from fuel.loader._iterator import LoaderIterator
from fuel.loader._places import read_state
from fuel.loader._plan import Plan
from fuel.typing import JSON

__all__ = ["rebuilt"]


def rebuilt(plan: Plan, state: JSON, number: int) -> Any:
    """Return a batch of the run that a state was saved in.

    Parameters
    ----------
    plan : Plan
        What the loader does. The batch comes out of a chain of its own, without workers.
    state : dict
        A state of the run.
    number : int
        Number of the batch, from the beginning of the run.

    Returns
    -------
    object
        The batch.

    Raises
    ------
    RequestError
        If there is no such batch.

    """
    run, place, total = read_state(plan, state)["run"], operator.index(number), plan.items()
    items = plan.begin_at(plan.build(serial=True), run)
    iterator = LoaderIterator(_Nobody(plan), items, run)
    if total is None or place != total:
        iterator.seek(place)
        for batch in iterator:
            return batch
    raise RequestError(f"the run has {iterator.delivered} items, got a request for item {number}")


class _Nobody:
    """Stands for the loader behind an iterator that no user sees."""

    failures = None

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def _left(self, iterator: Any) -> None:
        """Forget the iterator."""

    def _returned(self, iterator: Any) -> None:
        """Know nothing of it."""
