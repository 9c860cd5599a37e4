"""What a workload is: contenders that do the same work, and what is to be reached."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

__all__ = [
    "BEST_PEER",
    "KINDS",
    "SEED",
    "WORKLOADS",
    "Bound",
    "Contender",
    "Goal",
    "Work",
    "Workload",
    "load",
]

#: The workloads, by the names of their modules.
WORKLOADS = ("w1", "w2", "w3", "w4", "w5", "w6", "w7", "w8")

#: Every number that a workload draws comes from here.
SEED = 20261129

#: What contenders are: a bound that the hardware sets, this project, code that users write by
#: hand, another framework.
KINDS = ("limit", "fuel", "hand", "peer")

#: In a goal: whichever peer is fastest.
BEST_PEER = "best peer"


@dataclass
class Work:
    """What a contender gets: where files are, how much to do, and the data of the workload."""

    data: Path
    quick: bool
    threads: int
    given: SimpleNamespace = field(default_factory=SimpleNamespace)


@dataclass(frozen=True)
class Contender:
    """One way of doing the work.

    `build` gets the work and returns a function; a call of that function is one pass, and returns
    how many examples and how many bytes it delivered. A third value may be a dict of numbers: its
    ``"seconds"`` take the place of what the harness measures, the others are columns of the table.
    """

    name: str
    kind: str
    case: str
    lane: str
    needs: tuple[str, ...]
    environment: dict[str, str]
    build: Callable[[Work], Callable[[], tuple[Any, ...]]]


@dataclass(frozen=True)
class Goal:
    """A ratio of speeds to reach: of one contender to another, or to the best peer.

    Without a case, the names say which contenders are meant.
    """

    contender: str
    against: str
    ratio: float
    case: str = ""


@dataclass(frozen=True)
class Bound:
    """What a number of a contender must not exceed: ``"ms"``, or a column of its own."""

    contender: str
    quantity: str
    most: float
    case: str = ""


class Workload:
    """The contenders of one piece of work.

    Parameters
    ----------
    name : str
        Short name, as in tables.
    title : str
        The work, in a line.
    unit : str
        What is counted.
    one_field : bool, optional
        Whether all cases are ways to the same result, so that the best peer of one is that of all.
    timed : bool, optional
        Whether the time of a pass is what matters, and not how much is done in a second.

    """

    def __init__(
        self, name: str, title: str, unit: str, *, one_field: bool = False, timed: bool = False
    ) -> None:
        self.name = name
        self.title = title
        self.unit = unit
        self.one_field = one_field
        self.timed = timed
        self.contenders: list[Contender] = []
        self.goals: list[Goal] = []
        self.bounds: list[Bound] = []
        self.prepare: Callable[[Work], Any] = lambda work: None

    def contender(
        self,
        name: str,
        kind: str,
        *,
        case: str = "",
        lane: str = "",
        needs: tuple[str, ...] = (),
        environment: dict[str, str] | None = None,
    ) -> Callable[[Any], Any]:
        """Register the function below as a contender."""
        if kind not in KINDS:
            raise ValueError(f"`kind` must be one of {KINDS}, got {kind!r}")

        def register(build: Any) -> Any:
            self.contenders.append(
                Contender(name, kind, case, lane, needs, environment or {}, build)
            )
            return build

        return register

    def find(self, case: str, name: str) -> Contender:
        """Return a contender by its name."""
        for contender in self.contenders:
            if (contender.case, contender.name) == (case, name):
                return contender
        raise LookupError(f"{self.name} has no contender {name!r} in the case {case!r}")


def load(name: str) -> Workload:
    """Return a workload by its name; raise ValueError if there is none."""
    if name.lower() not in WORKLOADS:
        raise ValueError(f"no workload {name!r}; there are {', '.join(WORKLOADS)}")
    workload = importlib.import_module(f"workloads.{name.lower()}").WORKLOAD
    assert isinstance(workload, Workload)
    return workload
