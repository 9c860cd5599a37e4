"""Another example in the place of one that cannot be evaluated.

Which one depends on the seed, the epoch and the ordinal that failed alone, so that it is the same
whoever evaluates, however many ranks there are, and after a resume.
"""

from __future__ import annotations

import copy
import hashlib
from typing import Any

from fuel.plan._evaluation import Unit
from fuel.plan._schedule import Planned
from fuel.schemes._by_place import PermutedExamples
from fuel.schemes._requests import SequenceExamples
from fuel.workers._base import Failed
from fuel.workers._blame import note
from fuel.workers._failures import Failure

__all__ = ["can_replace", "replacement"]

#: How many examples are tried in the place of one; they may have failed for the same reason.
_ATTEMPTS = 10


def can_replace(requests: Any) -> bool:
    """Tell whether an order has places that can be reached in any order."""
    return isinstance(requests, (PermutedExamples, SequenceExamples))


def replacement(cursor: Any, failure: Failure) -> Any:
    """Evaluate another example in the place of one that failed.

    Parameters
    ----------
    cursor : ExecutorCursor
        The pass.
    failure : Failure
        What failed.

    Returns
    -------
    tuple
        The item. Its draws are those of the place in which it stands.

    Raises
    ------
    BaseException
        The error of the item that failed, if no other could be evaluated either, or there is no
        way to choose one.

    """
    schedule = cursor.schedule
    requests: Any = None if schedule.part.given else schedule.requests
    total = cursor.failures.total
    if not can_replace(requests) or not total:
        note(
            failure.error,
            "no other example can be put in its place: that needs single examples of an order in "
            "which any place can be reached at once, such as SequentialExampleScheme, "
            "ShuffledExampleScheme or PermutedExampleScheme; use on_error='skip'",
        )
        raise failure.error
    order: Any = copy.copy(requests)
    seed = int(schedule.part.source._effective_seed())
    for attempt in range(_ATTEMPTS):
        order.seek(_place(seed, failure, attempt, total))
        unit = Unit(schedule.number, failure.epoch, failure.ordinal, 1, [next(order)])
        schedule.number += 1
        outcome = cursor.evaluate_now(Planned(unit, [], None))
        if not isinstance(outcome, Failed):
            return outcome
    note(failure.error, f"{_ATTEMPTS} other examples were tried in its place, and failed as well")
    raise failure.error


def _place(seed: int, failure: Failure, attempt: int, total: int) -> int:
    text = f"fuel/replace/1/{seed}/{failure.epoch}/{failure.ordinal}/{attempt}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=16).digest(), "little") % total
