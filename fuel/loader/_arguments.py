"""The arguments of a loader, checked one by one and against each other.

In this room: `Arguments`, plain data. Not here: what is made of them (`fuel.loader._plan`).
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy

__all__ = ["Arguments"]

#: More than anybody will see; the places of a run are to be counted in 64 bits.
_MOST_EPOCHS = 1 << 31
_METHODS = (None, "forkserver", "spawn", "fork")
_NUMBERS = (int, float, numpy.number)
_PARALLEL = (
    "`parallel` must be False, True (as many threads as usable processors) or a number of threads"
)
#: What to do about an argument that is no integer.
_ADVICE = {
    "batch_size": "a negative one gives single observations",
    "num_workers": "0 loads in this process",
    "num_epochs": "None goes on without end",
    "seed": "None takes `config.default_seed`",
    "prefetch": "None takes the default, two batches for each worker",
    "restarts": "0 gives up when the first worker dies",
    "shared_memory_bytes": "0 uses none, and None as much as is needed",
}


@dataclass(frozen=True)
class Arguments:
    """What a loader was asked for; see `fuel.DataLoader` for the meaning of each.

    Attributes
    ----------
    batch_size : int or None
        None for items one by one.
    as_they_come : bool
        Whether the items of a stream are handed on, batches or not.
    threads, processes : int
        How many workers; at most one of them is not 0.
    executor : dict
        Further arguments of `fuel.transformers.Parallel`.

    """

    batch_size: int | None
    as_they_come: bool
    shuffle: bool
    partial: bool
    collate: Any
    buffer: bool
    seed: int
    seed_given: bool
    transform: Any
    num_epochs: int | None
    as_dict: bool
    replay: bool
    threads: int
    processes: int
    executor: dict[str, Any]

    @classmethod
    def checked(
        cls,
        *,
        batch_size: Any,
        shuffle: Any,
        partial: Any,
        collate: Any,
        parallel: Any,
        num_workers: Any,
        buffer: Any,
        seed: Any,
        transform: Any,
        num_epochs: Any,
        as_dict: Any,
        replay: Any,
        executor: dict[str, Any],
    ) -> Arguments:
        """Check what the user wrote.

        Returns
        -------
        Arguments
            In one form.

        Raises
        ------
        TypeError
            If an argument is of no type that it can have.
        ValueError
            If its value is none that it can have, or two contradict each other.

        """
        size = None if batch_size is None else _integer("batch_size", batch_size)
        if size == 0:
            raise ValueError(
                "`batch_size` must be a number of examples, got 0; a negative one gives single "
                "observations"
            )
        size = None if size is not None and size < 0 else size
        for name, value in (
            ("shuffle", shuffle),
            ("partial", partial),
            ("buffer", buffer),
            ("as_dict", as_dict),
            ("replay", replay),
        ):
            if not isinstance(value, (bool, numpy.bool_)):
                raise TypeError(f"`{name}` must be True or False, got {value!r:.80}")
        if isinstance(collate, numpy.bool_):
            collate = bool(collate)
        if not (collate is None or isinstance(collate, bool) or callable(collate)):
            raise TypeError(
                "`collate` must be None (one request for the whole batch), False (a list of "
                f"observations), True (stacked) or a function of that list, got {collate!r:.80}"
            )
        if size is None and collate not in (None, False):
            raise ValueError(
                f"`collate` puts the observations of a batch together, but batch_size="
                f"{batch_size} gives them one by one; give a positive `batch_size`, or use "
                "`transform`"
            )
        threads = _threads(parallel)
        processes = _integer("num_workers", num_workers)
        if processes < 0:
            raise ValueError(
                f"`num_workers` must be 0 (none) or a number of processes, got {num_workers}"
            )
        if threads and processes:
            raise ValueError(
                f"`parallel` (threads) and `num_workers` (processes) exclude each other, got "
                f"parallel={parallel} and num_workers={num_workers}; use one of them"
            )
        if buffer and processes:
            raise ValueError(
                f"`buffer=True` reuses arrays of this process, got num_workers={num_workers}; "
                "leave one of them out (workers reuse their memory by themselves)"
            )
        if executor["prefetch"] is not None and not threads and not processes:
            raise ValueError(
                f"`prefetch` is how far workers run ahead, got {executor['prefetch']!r} without "
                "workers; give `num_workers` or `parallel`"
            )
        if transform is not None and not callable(transform):
            raise TypeError(
                f"`transform` must be a function of one observation, got {transform!r:.80}; write "
                "`f(observation)` or `f(observation, rng)`"
            )
        epochs = None if num_epochs is None else _integer("num_epochs", num_epochs)
        if epochs is not None and not 0 < epochs <= _MOST_EPOCHS:
            raise ValueError(
                f"`num_epochs` must be a positive number, or None for no end, got {num_epochs}"
            )
        _check_executor(executor)
        return cls(
            batch_size=size,
            as_they_come=batch_size is None,
            shuffle=bool(shuffle),
            partial=bool(partial),
            collate=collate,
            buffer=bool(buffer),
            seed=_seed(seed),
            seed_given=seed is not None,
            transform=transform,
            num_epochs=epochs,
            as_dict=bool(as_dict),
            replay=bool(replay),
            threads=threads,
            processes=processes,
            executor=executor,
        )

    @property
    def needs_executor(self) -> bool:
        """Whether something has to be done about workers or failures."""
        return bool(self.threads or self.processes or self.handles_errors)

    @property
    def handles_errors(self) -> bool:
        """Whether examples that fail are put up with."""
        return not _raises(self.executor["on_error"])

    @property
    def may_skip(self) -> bool:
        """Whether examples may be left out, so that nobody knows how many there will be."""
        on_error = self.executor["on_error"]
        action = getattr(on_error, "action", on_error)
        return action not in ("raise", "replace")


def _raises(on_error: Any) -> bool:
    return bool(getattr(on_error, "action", on_error) == "raise")


def _threads(parallel: Any) -> int:
    if parallel is True or (isinstance(parallel, numpy.bool_) and parallel):
        from fuel.utils._limits import usable_cpus

        return usable_cpus()
    if parallel is False:
        return 0
    try:
        threads = operator.index(parallel)
    except TypeError:
        raise TypeError(f"{_PARALLEL}, got {parallel!r:.80}") from None
    if threads < 0:
        raise ValueError(f"{_PARALLEL}, got {parallel}")
    return threads


def _integer(name: str, value: Any) -> int:
    try:
        if isinstance(value, (bool, numpy.bool_)):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise TypeError(
            f"`{name}` must be an integer, got {value!r:.80}; {_ADVICE[name]}"
        ) from None


def _check_executor(executor: dict[str, Any]) -> None:
    """Check what is for workers; without any it changes nothing, but is to be right all the same.

    Numbers out of range are left to `fuel.transformers.Parallel`, but for those that it would
    never see.
    """
    for name, least in (("prefetch", 1), ("restarts", 0), ("shared_memory_bytes", 0)):
        value = executor[name]
        if value is None and name != "restarts":
            continue
        number = _integer(name, value)
        if number < least:
            raise ValueError(
                f"`{name}` must be an integer from {least} on, got {value}; {_ADVICE[name]}"
            )
    if not isinstance(executor["ordered"], (bool, numpy.bool_)):
        raise TypeError(f"`ordered` must be True or False, got {executor['ordered']!r:.80}")
    seconds = executor["stall_timeout_s"]
    if seconds is not None:
        if isinstance(seconds, (bool, numpy.bool_)) or not isinstance(seconds, _NUMBERS):
            raise TypeError(
                f"`stall_timeout_s` must be a number of seconds, got {seconds!r:.80}; None "
                "switches the watch off"
            )
        if not seconds > 0:
            raise ValueError(
                f"`stall_timeout_s` must be a positive number of seconds, got {seconds!r}; None "
                "switches the watch off"
            )
    if executor["start_method"] not in _METHODS:
        raise ValueError(
            "`start_method` must be 'forkserver', 'spawn', 'fork' or None (the first that this "
            f"system has), got {executor['start_method']!r:.80}"
        )


def _seed(seed: Any) -> int:
    if seed is None:
        from fuel.config_parser import config

        return int(config.default_seed)
    return _integer("seed", seed)
