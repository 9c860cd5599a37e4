"""The order of one run of a loader, which may go through the data several times.

In this room: `RunOrder`, which knows what stands at any place of a run, and the two schemes that
request it, in batches or one by one. Each of the times that a run goes through the data is an
*epoch*, with an order of its own; batches run across their borders. Nothing is kept in memory but
the number of the run. Not here: the permutation itself (`fuel.kernels.permutation`), and the
requests (`fuel.schemes._permuted`), which are those of the permuted schemes over this order.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.exceptions import RequestError
from fuel.kernels.permutation import ALGORITHM, VERSION, Permutation
from fuel.schemes._base import IterationScheme, RequestIterator
from fuel.schemes._by_place import PermutedBatches, PermutedExamples
from fuel.typing import JSON

__all__ = ["ENDLESS", "BatchOrder", "ExampleOrder", "RunOrder", "first_epoch"]

#: The number of places in a run without end: more than anybody will see, and no more than a
#: position can count.
ENDLESS = 1 << 62
#: How many places are computed at once where they are gone through. A place then takes 28 ns
#: instead of 45, and the first ones not much longer than a batch takes to be read.
_AHEAD = 2048


def first_epoch(run: int, epochs: int | None) -> int:
    """Return the number of the first epoch of a run.

    Parameters
    ----------
    run : int
        Number of the run.
    epochs : int or None
        How many epochs a run has; None for a run without end.

    Returns
    -------
    int
        Runs of a known number of epochs follow one another. A run without end begins one epoch
        after the one before it began.

    """
    return run * (1 if epochs is None else epochs)


class RunOrder:
    """The order of a run.

    Parameters
    ----------
    examples : int
        How many examples there are.
    epochs : int or None
        How many times the run goes through them; None for no end.
    seed : int or None
        The seed of a shuffled order; None for the order of the data.
    run : int
        Number of the run.

    Attributes
    ----------
    count : int
        How many places the run has.

    Notes
    -----
    A few hundred bytes, and made in microseconds, however many examples there are.

    """

    def __init__(self, examples: int, epochs: int | None, seed: int | None, run: int) -> None:
        self.examples = examples
        self.epochs = epochs
        self.seed = seed
        self.run = run
        self.first = first_epoch(run, epochs)
        times = ENDLESS // max(1, examples) if epochs is None else epochs
        self.count = min(examples * times, ENDLESS)
        # What was computed last: the permutation, the epoch and first place in it, the indices.
        # Replaced as a whole, so that threads may share an order.
        self._known: tuple[Permutation, int, int, NDArray[numpy.int64]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_known": None}

    def block(self, start: int, size: int) -> NDArray[numpy.int64]:
        """Return the indices at consecutive places.

        Parameters
        ----------
        start : int
            The first place.
        size : int
            How many places.

        Returns
        -------
        numpy.ndarray, shape (size,), dtype int64
            Indices of examples. Not to be changed: they may be handed out again.

        Raises
        ------
        RequestError
            If they are not all places in the run.

        """
        if start < 0 or size < 0 or start + size > self.count:
            raise RequestError(
                f"the run has {self.count} places, got a request for {size} from {start} on"
            )
        if not size:
            return numpy.empty(0, dtype=numpy.int64)
        epoch, place = divmod(start, self.examples)
        if place + size <= self.examples:
            return self._within(epoch, place, size)
        parts = []
        while size:
            part = min(size, self.examples - place)
            parts.append(self._within(epoch, place, part))
            epoch, place, size = epoch + 1, 0, size - part
        return numpy.concatenate(parts)

    def at(self, ordinals: Any) -> NDArray[numpy.int64]:
        """Return the indices at some places, in any order."""
        found = [self.block(int(place), 1) for place in ordinals]
        return numpy.concatenate(found) if found else numpy.empty(0, dtype=numpy.int64)

    def _within(self, epoch: int, place: int, size: int) -> NDArray[numpy.int64]:
        """Return the indices at places that all lie in one epoch."""
        if self.seed is None:
            return numpy.arange(place, place + size, dtype=numpy.int64)
        known, count = self._known, size
        if known is not None and known[1] == epoch:
            order, _, first, found = known
            offset = place - first
            if 0 <= offset <= len(found):
                if offset + size <= len(found):
                    return found[offset : offset + size]
                # The places come one after the other: more of them at once take less time each.
                count = max(size, min(_AHEAD, self.examples - place))
        else:
            assert self.seed is not None
            order = Permutation(self.seed, self.first + epoch, self.examples)
        found = order.block(place, count)
        self._known = order, epoch, place, found
        return found[:size]


class _RunScheme(IterationScheme):
    """What the two schemes have in common; the number of a stream's epoch is that of the run.

    Parameters
    ----------
    examples, epochs, seed
        As for `RunOrder`.

    """

    def __init__(self, examples: int, epochs: int | None, seed: int | None) -> None:
        self.examples = examples
        self.epochs = epochs
        self.seed = seed

    def order(self, run: int) -> RunOrder:
        """Return the order of a run.

        Parameters
        ----------
        run : int
            Its number.

        Returns
        -------
        RunOrder
            The order.

        """
        return RunOrder(self.examples, self.epochs, self.seed, run)

    @property
    def indices(self) -> range:
        """The places of a run; `PermutedBatches` takes them for indices that count up."""
        return range(self.order(0).count)

    def get_request_iterator(self) -> RequestIterator:
        """Start the first run."""
        return self._start(0)

    def _fingerprint(self) -> dict[str, JSON]:
        described: dict[str, JSON] = {"kind": "as stored", "examples": self.examples}
        if self.seed is not None:
            described["kind"] = "permuted"
            described |= {"algorithm": ALGORITHM, "version": VERSION, "seed": self.seed}
        if self.epochs != 1:
            described["epochs"] = self.epochs
        return described

    def _num_examples(self) -> int | None:
        return None if self.epochs is None and self.examples else self.order(0).count


class BatchOrder(_RunScheme):
    """Requests the order of a run in batches.

    Parameters
    ----------
    examples, epochs, seed
        As for `RunOrder`.
    batch_size : int
        How many examples a request asks for.
    partial : bool
        Whether a run may end with a shorter one.

    """

    requests_examples = False

    def __init__(
        self, examples: int, epochs: int | None, seed: int | None, batch_size: int, partial: bool
    ) -> None:
        super().__init__(examples, epochs, seed)
        self.batch_size = batch_size
        self.partial = partial

    def _start(self, epoch: int) -> RequestIterator:
        order = self.order(epoch)
        return PermutedBatches(range(order.count), order, self.batch_size, self.partial)

    def _num_requests(self) -> int | None:
        count = self._num_examples()
        if count is None:
            return None
        return -(-count // self.batch_size) if self.partial else count // self.batch_size


class ExampleOrder(_RunScheme):
    """Requests the order of a run example by example.

    Parameters
    ----------
    examples, epochs, seed
        As for `RunOrder`.

    """

    requests_examples = True

    def _start(self, epoch: int) -> RequestIterator:
        order = self.order(epoch)
        return PermutedExamples(range(order.count), order)

    def _num_requests(self) -> int | None:
        return self._num_examples()
