"""The workers of one pass, and the settings under which they work.

In this room: `Settings`, what a user chose, and `Crew`, which gives each part of a chain its pool.
Not here: how the kind of workers is chosen by measuring (`fuel.workers._choosing`).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

from fuel.plan._chain import step_names
from fuel.plan._evaluation import Evaluator, Shipment
from fuel.plan._parts import Part, uses_only_ours
from fuel.workers._choosing import ChoosingPool
from fuel.workers._failures import FailurePolicy
from fuel.workers.serial import SerialPool
from fuel.workers.threads import ThreadPool

__all__ = ["Crew", "Settings"]

_logger = logging.getLogger("fuel.workers")

#: How many items a worker may be ahead unless the user says otherwise: of batches one that is
#: evaluated and one that waits; of examples, which are small, several units.
_BATCHES_AHEAD = 2
#: Batches that are small and quickly made cost more to hand over than to make, one at a time.
_SMALL_BATCHES_AHEAD = 16
_SMALL_BYTES = 1 << 20
_QUICK_S = 0.001
_EXAMPLES_AHEAD = 32


@dataclass(frozen=True)
class Settings:
    """How parts of a chain are evaluated.

    Attributes
    ----------
    kind : str
        ``'serial'``, ``'thread'``, ``'process'`` or ``'auto'``.
    workers : int
        How many.
    prefetch : int or None
        How many items may be evaluated ahead.
    ordered : bool
        Whether items come in order.
    policy : FailurePolicy
        What is done about items that cannot be evaluated.
    restarts : int
        How often a unit may be given to another worker after one died of it.
    stall_timeout_s : float or None
        After how many seconds without anything done the stacks are shown.
    start_method : str or None
        How processes are started.
    shared_memory_bytes : int or None
        How much shared memory each process gets.

    """

    kind: str
    workers: int
    prefetch: int | None
    ordered: bool
    policy: FailurePolicy
    restarts: int
    stall_timeout_s: float | None
    start_method: str | None
    shared_memory_bytes: int | None


class Crew:
    """The workers of one pass.

    Parameters
    ----------
    settings : Settings
        How they work.
    stream : stream
        The top of the whole chain, by which its steps are named.
    purpose : str
        What they are for, for messages.

    """

    def __init__(self, settings: Settings, stream: Any, purpose: str) -> None:
        self.settings = settings
        self.stream = stream
        self.purpose = purpose
        self.policy = settings.policy
        self.ordered = settings.ordered
        self.stall_timeout_s = settings.stall_timeout_s
        self._processes: Any = None
        self._shipments: dict[int, Shipment] = {}
        self._evaluators: dict[int, Evaluator] = {}
        self._helped: dict[int, bool] = {}
        self._resting: set[int] = set()
        self.parts: list[Part] = []

    def __getstate__(self) -> dict[str, Any]:
        empty: dict[str, Any] = {"_processes": None, "_shipments": {}, "_evaluators": {}}
        return {**self.__dict__, **empty}

    def total(self, step: Any) -> int | None:
        """Return how many items a step has in an epoch, if that is known."""
        count: int | None = getattr(step, "_num_items", lambda: None)()
        return count

    def bound(self, cursor: Any) -> int:
        """Return how many items may be on their way."""
        settings = self.settings
        if settings.kind == "serial" or getattr(cursor.pool, "serial", False):
            return 1
        if settings.prefetch is not None:
            return max(1, settings.prefetch)
        if cursor.step.produces_examples:
            return _EXAMPLES_AHEAD * settings.workers
        small = 0 < cursor.item_bytes <= _SMALL_BYTES and cursor.per_item <= _QUICK_S
        return (_SMALL_BATCHES_AHEAD if small else _BATCHES_AHEAD) * settings.workers

    def shipment(self, cursor: Any) -> Shipment:
        """Return what is needed to evaluate a part."""
        number: int = cursor.number
        if number not in self._shipments:
            self._shipments[number] = Shipment(cursor.part, step_names(self.stream))
        return self._shipments[number]

    def pool(self, cursor: Any) -> Any:
        """Return the workers of a part."""
        self._resting.discard(cursor.number)
        kind = self.settings.kind
        if kind == "auto":
            return ChoosingPool(self, cursor)
        return self.pool_of(kind, cursor)

    def pool_of(self, kind: str, cursor: Any) -> Any:
        """Return the workers of a part, of a kind."""
        if kind == "serial":
            return SerialPool(self.shipment(cursor))
        if kind == "thread":
            return ThreadPool(self.shipment(cursor), self.settings.workers)
        from fuel.workers.processes import Processes

        if self._processes is None:
            settings = self.settings
            self._processes = Processes(
                settings.workers,
                settings.restarts,
                settings.shared_memory_bytes,
                settings.start_method,
                self.purpose,
            )
        return self._processes.port(self.shipment(cursor), type(cursor.step).__name__)

    def may_help(self, cursor: Any, pool: Any) -> bool:
        """Tell whether the consumer evaluates a unit itself: those wanted while processes start.

        Not where code of the user's would run: it may be meant to run elsewhere, and it may end the
        process that it runs in.
        """
        processes = getattr(pool, "processes", None)
        if processes is None or not processes.booting:
            return False
        processes.listen(0.0)  # nobody else hears that one has started, while the consumer helps
        if not processes.booting:
            return False
        if cursor.number not in self._helped:
            self._helped[cursor.number] = uses_only_ours(cursor.part)
        return self._helped[cursor.number]

    def evaluator(self, cursor: Any, by_place: bool) -> Evaluator:
        """Return what evaluates units of a part in the consumer."""
        import copy

        if cursor.number not in self._evaluators:
            self._evaluators[cursor.number] = Evaluator(self.shipment(cursor))
        evaluator = self._evaluators[cursor.number]
        if by_place:
            evaluator.order = copy.copy(cursor.schedule.order())
        return evaluator

    def rest(self, cursor: Any) -> None:
        """Let the workers go when the last of the parts has come to its end."""
        self._resting.add(cursor.number)
        pool, cursor.pool = cursor.pool, None
        if pool is not None:
            pool.close()
        if self._processes is not None and len(self._resting) >= len(self.parts):
            self._processes.let_go()

    def stalled(self, cursor: Any, pool: Any, unit: Any) -> None:
        """Show what every worker is doing."""
        _logger.warning(
            "nothing was evaluated for %.0f s while the consumer waits for ordinal %d of epoch %d "
            "(%s); what the workers are doing:\n%s",
            self.stall_timeout_s,
            unit.first,
            unit.epoch,
            self.purpose,
            pool.stacks() or "(this process evaluates)",
        )

    def close(self) -> None:
        """Let all workers go."""
        if self._processes is not None:
            self._processes.let_go()
