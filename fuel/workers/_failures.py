"""What is done about an example that cannot be evaluated.

In this room: `FailurePolicy`, the user's choice with its bounds; `FailureReport`, what happened;
`Failures`, which applies the one and writes the other during a pass. Not here: where errors come
from and how they are worded (`fuel.workers._blame`).
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from fuel.exceptions import TooManyFailuresError
from fuel.workers._blame import note

__all__ = ["Failure", "FailurePolicy", "FailureReport", "Failures", "as_policy"]

Action = Literal["raise", "skip", "replace"]
_ACTIONS = ("raise", "skip", "replace")
#: How many failures a report lists; all are counted.
_LISTED = 10_000


@dataclass(frozen=True)
class Failure:
    """An item that could not be evaluated.

    Attributes
    ----------
    epoch : int
        Number of the epoch.
    ordinal : int
        Its place in the order of the epoch (of a batch, that of its first example).
    example : object
        What the scheme asked for: the index of the example, or a list of them. None where the
        items of a stream are handed on.
    error : BaseException
        What was raised.
    action : str
        What was done: ``'skip'``, ``'replace'`` or ``'substitute'`` (by what a function returned).

    """

    epoch: int
    ordinal: int
    example: Any
    error: BaseException
    action: str = ""


@dataclass(frozen=True)
class FailurePolicy:
    """What to do about items that cannot be evaluated, and for how long to put up with them.

    Parameters
    ----------
    action : {'raise', 'skip', 'replace'} or callable
        ``'raise'`` hands the error to the consumer. ``'skip'`` leaves the item out; batches above
        are filled with the items after it. ``'replace'`` puts another example in its place, chosen
        by the seed, the epoch and the ordinal that failed alone. A function is called with a
        `Failure` and returns one of these words, or a tuple to be used in the item's place.
    max_count : int, optional
        How many failures an epoch may have. Default: no bound.
    max_fraction : float, optional
        Which part of the epoch's items, of those that were reached if their number is not known,
        may fail. Default: no bound.
    max_consecutive : int, default 100
        How many items one after the other may fail, so that a pipeline in which everything fails
        ends with an error and not with an empty epoch. None for no bound.

    Raises
    ------
    ValueError
        If an argument is none of these.

    Notes
    -----
    The bounds count per epoch, and from where a pass was resumed. What is done about an item
    depends on the item alone, never on who evaluated it. The function runs in the consumer's
    process, in order.

    """

    action: Action | Callable[[Failure], Any] = "raise"
    max_count: int | None = None
    max_fraction: float | None = None
    max_consecutive: int | None = 100

    def __post_init__(self) -> None:
        if not callable(self.action) and self.action not in _ACTIONS:
            raise ValueError(
                "`on_error` must be 'raise', 'skip', 'replace', a function that is called with a "
                f"Failure, or a FailurePolicy, got {self.action!r:.80}"
            )
        for name in ("max_count", "max_consecutive"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not _is_count(value)):
                raise ValueError(
                    f"`{name}` must be an integer from 0 on, or None for none, got {value!r:.80}"
                )
        share = self.max_fraction
        if share is not None and not (isinstance(share, numbers.Real) and 0 <= share <= 1):
            raise ValueError(
                f"`max_fraction` must be a number from 0 to 1, got {self.max_fraction!r:.80}; 0.01 "
                "allows one item in a hundred to fail"
            )

    @property
    def may_skip(self) -> bool:
        """Whether items may be left out."""
        return self.action == "skip" or callable(self.action)


def _is_count(value: Any) -> bool:
    return hasattr(value, "__index__") and value.__index__() >= 0


def as_policy(on_error: Any) -> FailurePolicy:
    """Return what a user gave as `on_error` as a policy."""
    return on_error if isinstance(on_error, FailurePolicy) else FailurePolicy(on_error)


@dataclass
class FailureReport:
    """The failures of an epoch.

    Attributes
    ----------
    count : int
        How many there were.
    failures : list of Failure
        The first 10,000 of them, in order.

    """

    count: int = 0
    failures: list[Failure] = field(default_factory=list)

    @property
    def ordinals(self) -> list[int]:
        """The places in the epoch of the failures that are listed."""
        return [failure.ordinal for failure in self.failures]

    def __str__(self) -> str:
        lines = [f"{self.count} failed"]
        for one in self.failures:
            lines.append(
                f"  ordinal {one.ordinal} (example {one.example!r:.60}): {one.action}; "
                f"{type(one.error).__name__}: {one.error!s:.200}"
            )
        if self.count > len(self.failures):
            lines.append(f"  and {self.count - len(self.failures)} more")
        return "\n".join(lines)


class Failures:
    """Applies a policy during a pass.

    Parameters
    ----------
    policy : FailurePolicy
        The policy.
    total : int or None
        How many items the epoch has, if that is known.

    """

    def __init__(self, policy: FailurePolicy, total: int | None) -> None:
        self.policy = policy
        self.total = total
        self.report = FailureReport()
        self.consecutive = 0
        self.reached = 0

    def succeeded(self) -> None:
        """Note an item without an error."""
        self.reached += 1
        self.consecutive = 0

    def decide(self, failure: Failure) -> Any:
        """Return ``'skip'``, ``'replace'``, or a tuple to use in the item's place.

        Raises
        ------
        BaseException
            The error itself, where that was chosen.
        TooManyFailuresError
            If a bound is passed; its cause is the error.

        """
        self.reached += 1
        action: Any = self.policy.action
        if callable(action):
            action = action(failure)
            if not isinstance(action, tuple) and action not in _ACTIONS:
                note(
                    failure.error,
                    f"the function given as `on_error` returned {action!r:.80}; it must return "
                    "'raise', 'skip', 'replace', or a tuple to use in the item's place",
                )
                action = "raise"
        if isinstance(action, str) and action == "raise":
            raise failure.error
        self.report.count += 1
        self.consecutive += 1
        word = action if isinstance(action, str) else "substitute"
        if len(self.report.failures) < _LISTED:
            self.report.failures.append(
                Failure(failure.epoch, failure.ordinal, failure.example, failure.error, word)
            )
        self._check(failure)
        return action

    def _check(self, failure: Failure) -> None:
        policy, count = self.policy, self.report.count
        passed = ""
        if policy.max_count is not None and count > policy.max_count:
            passed = f"`max_count` is {policy.max_count}"
        elif policy.max_consecutive is not None and self.consecutive > policy.max_consecutive:
            passed = f"{self.consecutive} one after the other; max_consecutive is "
            passed += str(policy.max_consecutive)
        elif policy.max_fraction is not None:
            of = self.reached if self.total is None else self.total
            # At the beginning of an epoch of unknown length one failure is a large part of it.
            if count > policy.max_fraction * (of if self.total is not None else max(of, 100)):
                passed = f"of {of} items; `max_fraction` is {policy.max_fraction}"
        if passed:
            raise TooManyFailuresError(
                f"{count} items of epoch {failure.epoch} failed ({passed}), the last at ordinal "
                f"{failure.ordinal} with {type(failure.error).__name__}: {failure.error}; look at "
                "the report of failures, mend the data, or raise the bound"
            ) from failure.error
