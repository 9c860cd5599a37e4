"""Orders shuffled by a generator that is consumed epoch after epoch.

In this module: `ShuffledScheme` and `ShuffledExampleScheme`, whose order is that of the original
framework for the same generator: each epoch shuffles a copy of the indices once. The copy takes
memory for every example. Not here: shuffling that needs none (`_permuted`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy

from fuel.config_parser import config
from fuel.exceptions import StateDamagedError
from fuel.schemes._base import BatchScheme, IndexScheme, RequestIterator, is_custom
from fuel.schemes._digest import describe_indices
from fuel.schemes._requests import SequenceBatches, SequenceExamples, one_shot
from fuel.schemes._rng_state import rng_kind, rng_state, set_rng_state
from fuel.typing import JSON

__all__ = ["ShuffledExampleScheme", "ShuffledScheme"]


class _Shuffled:
    """What the two shuffled schemes have in common."""

    indices: Any
    rng: Any

    def _generator(self, rng: Any) -> Any:
        """Return what shuffles, or say what is wrong with it."""
        if rng is None:
            return numpy.random.RandomState(config.default_seed)
        # A user's subclass may draw by other means than `shuffle`.
        if not callable(getattr(rng, "shuffle", None)) and not is_custom(self):
            raise TypeError(
                f"`rng` of {type(self).__name__} must have a method `shuffle`, got {rng!r:.80}; "
                "for a seed write numpy.random.RandomState(seed)"
            )
        return rng

    def _shuffle(self) -> Any:
        """Return a shuffled copy of the indices."""
        source = one_shot(self)
        indices = self.indices if source is None else list(source)
        # A RandomState permutes an array of integers exactly as it does a list of them, in a
        # fraction of the time; other generators do not.
        copy = _as_vector(indices) if type(self.rng) is numpy.random.RandomState else None
        if copy is None:
            copy = list(indices)
        self.rng.shuffle(copy)
        return copy

    def _order_state(self) -> JSON:
        source = one_shot(self)
        state = {"rng": rng_state(self.rng)}
        return state if source is None else {**state, "taken": source.taken}

    def _set_order_state(self, state: JSON) -> None:
        source = one_shot(self)
        wanted = {"rng"} if source is None else {"rng", "taken"}
        if not isinstance(state, dict) or set(state) != wanted:
            got = sorted(state) if isinstance(state, dict) else type(state).__name__
            raise StateDamagedError(
                f"the state of a shuffled order holds {sorted(wanted)}, got {got}; use the "
                "state as it was written, with a scheme of the same kind of indices"
            )
        if source is not None:
            source.advance(state["taken"])
        set_rng_state(self.rng, state["rng"])

    def _fingerprint(self) -> dict[str, JSON]:
        described = {
            "kind": "shuffled",
            "rng": rng_kind(self.rng),
            **describe_indices(self.indices),
        }
        if getattr(self, "sorted_indices", False):
            described["sorted"] = True
        return described


class ShuffledScheme(_Shuffled, BatchScheme):
    """Batches of indices in shuffled order.

    Parameters
    ----------
    examples : int or iterable
        The indices to visit, or their number ``n`` for the indices 0 to ``n - 1``. A one-shot
        iterator is used up by the first epoch.
    batch_size : int
        Number of examples in a request. The last one of an epoch may have fewer.
    rng : numpy.random.RandomState, optional
        What shuffles: anything with a method ``shuffle``. The default is a RandomState of its
        own for each scheme, seeded with ``config.default_seed``.
    sorted_indices : bool, optional
        Whether to sort the indices in each request, for data that is read faster in order.

    Attributes
    ----------
    indices : iterable
        The indices as they were given, not shuffled.
    rng, sorted_indices
        As they were given.

    Raises
    ------
    TypeError
        If `rng` has no method ``shuffle``.

    Notes
    -----
    Each epoch consumes the generator for one shuffle of all indices, so that its order differs
    from the one before. `PermutedScheme` needs neither memory nor time to begin an epoch, and
    its saved state is a few bytes instead of the generator's.

    Examples
    --------
    >>> from fuel.schemes import ShuffledScheme
    >>> list(ShuffledScheme(8, 4).get_request_iterator())
    [[7, 2, 1, 6], [0, 4, 3, 5]]

    """

    def __init__(
        self,
        examples: int | Iterable[Any],
        batch_size: int,
        *,
        rng: Any = None,
        sorted_indices: bool = False,
    ) -> None:
        super().__init__(examples, batch_size)
        self.rng = self._generator(rng)
        self.sorted_indices = sorted_indices

    def get_request_iterator(self) -> RequestIterator:
        """Start an epoch, and consume the generator for it.

        Returns
        -------
        RequestIterator
            Lists of indices.

        """
        return self._start(0)

    def _start(self, epoch: int) -> RequestIterator:
        return SequenceBatches(self._shuffle(), self.batch_size, bool(self.sorted_indices))


class ShuffledExampleScheme(_Shuffled, IndexScheme):
    """Single indices in shuffled order.

    Parameters
    ----------
    examples : int or iterable
        The indices to visit, or their number ``n`` for the indices 0 to ``n - 1``. A one-shot
        iterator is used up by the first epoch.
    rng : numpy.random.RandomState, optional
        What shuffles: anything with a method ``shuffle``. The default is a RandomState of its
        own for each scheme, seeded with ``config.default_seed``.

    Attributes
    ----------
    indices : iterable
        The indices as they were given, not shuffled.
    rng : object
        As it was given.

    Examples
    --------
    >>> from fuel.schemes import ShuffledExampleScheme
    >>> list(ShuffledExampleScheme(8).get_request_iterator())
    [7, 2, 1, 6, 0, 4, 3, 5]

    """

    def __init__(self, examples: int | Iterable[Any], *, rng: Any = None) -> None:
        super().__init__(examples)
        self.rng = self._generator(rng)

    def get_request_iterator(self) -> RequestIterator:
        """Start an epoch, and consume the generator for it.

        Returns
        -------
        RequestIterator
            Indices.

        """
        return self._start(0)

    def _start(self, epoch: int) -> RequestIterator:
        return SequenceExamples(self._shuffle())


def _as_vector(indices: Any) -> Any:
    """Return a new int64 array of the indices, None if not all are integers that fit."""
    if isinstance(indices, numpy.ndarray):
        if indices.ndim == 1 and numpy.can_cast(indices.dtype, numpy.int64):
            return indices.astype(numpy.int64) if indices.dtype.kind in "iu" else None
        return None
    try:
        if isinstance(indices, range):
            numpy.array([indices.start, indices.stop], dtype=numpy.int64)  # which arange wraps
            return numpy.arange(indices.start, indices.stop, indices.step, dtype=numpy.int64)
        if not isinstance(indices, (list, tuple)):
            indices = list(indices)
        for kind in set(map(type, indices)):
            if kind is bool or not issubclass(kind, (int, numpy.integer)):
                return None
        return numpy.array(indices, dtype=numpy.int64)
    except OverflowError:
        return None
