"""What travels beside the data: the epoch, the ordinals, and where generators come from."""

from __future__ import annotations

from typing import Any

import numpy

from fuel.kernels.draws import bits as raw_bits
from fuel.plan._chain import step_names
from fuel.rng import GeneratorPool, philox_key
from fuel.typing import JSON

__all__ = ["Context", "Draws"]


class Draws:
    """The generators of all steps of one chain, each addressed and none consumed.

    Parameters
    ----------
    stream : stream
        The top of the chain; steps are named from it.

    Notes
    -----
    Not shared between threads: a pass has its own.

    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._pools: dict[int, GeneratorPool] = {}
        self._keys: dict[int, tuple[int, Any]] = {}

    @property
    def stream(self) -> Any:
        """The top of the chain."""
        return self._stream

    def __getstate__(self) -> dict[str, Any]:
        # Pools are keyed by identity and can be made again.
        return {"_stream": self._stream, "_pools": {}, "_keys": {}}

    def pool(self, step: Any) -> GeneratorPool:
        """Return the generators of a step.

        Parameters
        ----------
        step : stream
            A step of the chain.

        Returns
        -------
        GeneratorPool
            Addressed by (epoch, ordinal, number); the seed and the name of the step are fixed.

        """
        pool = self._pools.get(id(step))
        if pool is None:
            pool = GeneratorPool(step._effective_seed(), self._name(step))
            self._pools[id(step)] = pool
        return pool

    def key(self, step: Any, epoch: int) -> Any:
        """Return the key of a step's draws in an epoch.

        Parameters
        ----------
        step : stream
            A step of the chain.
        epoch : int
            Number of the epoch.

        Returns
        -------
        numpy.ndarray, shape (2,), dtype uint64
            For `fuel.kernels.draws.bits`.

        """
        known = self._keys.get(id(step))
        if known is None or known[0] != epoch:
            known = epoch, philox_key(step._effective_seed(), epoch, self._name(step))
            self._keys[id(step)] = known
        return known[1]

    def _name(self, step: Any) -> str:
        name = step_names(self._stream).get(id(step))
        return step_names(step)[id(step)] if name is None else name


class Context:
    """Where in the epoch an item stands.

    Parameters
    ----------
    epoch : int
        Number of the epoch, from 0.
    first : int
        Ordinal of the example, or of the first example of the batch.
    count : int, optional
        Number of examples, for a batch of consecutive ordinals; None for one example.
    draws : Draws, optional
        Where generators come from.
    ordinals : array_like of int, optional
        The ordinals of a batch, where they are not consecutive.
    numbers : int or array_like of int, optional
        The number of the item among those that came from the same ordinal (the third n-gram of a
        sentence); None where there is one item an ordinal.
    collected : bool, optional
        Whether a batch of consecutive ordinals was put together from examples, so that it is
        described as any such batch is.

    """

    __slots__ = ("_collected", "_count", "_first", "_ordinals", "draws", "epoch", "numbers")

    def __init__(
        self,
        epoch: int,
        first: int = 0,
        count: int | None = None,
        draws: Draws | None = None,
        *,
        ordinals: Any = None,
        numbers: Any = None,
        collected: bool = False,
    ) -> None:
        self.epoch = epoch
        self._collected = collected
        self.draws = draws
        self._first = first
        self._count = count
        self._ordinals = None if ordinals is None else numpy.asarray(ordinals, dtype=numpy.int64)
        self.numbers = numbers

    def __getstate__(self) -> tuple[Any, ...]:
        # Written out for pickle's protocols 0 and 1, which know nothing of slots.
        return tuple(getattr(self, name) for name in Context.__slots__)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        for name, value in zip(Context.__slots__, state, strict=True):
            setattr(self, name, value)

    @property
    def ordinals(self) -> Any:
        """The ordinal of the example (int), or those of the batch (int64 array, shape (n,))."""
        if self._ordinals is not None:
            return self._ordinals
        if self._count is None:
            return self._first
        self._ordinals = numpy.arange(self._first, self._first + self._count, dtype=numpy.int64)
        return self._ordinals

    @property
    def is_batch(self) -> bool:
        """Whether the item is a batch."""
        return self._count is not None or self._ordinals is not None

    def address(self, index: int = 0) -> tuple[int, int]:
        """Return (ordinal, number) of one example.

        Parameters
        ----------
        index : int, optional
            Its place in the batch; 0 for an item that is one example.

        Returns
        -------
        tuple of int
            The place in the epoch, and the number among those of that place. A place beyond the
            batch counts on from its first ordinal by number, so that it is still unique.

        """
        numbers = self.numbers
        if self._ordinals is not None:
            size = len(self._ordinals)
            if index >= size:
                return (int(self._ordinals[0]) if size else self._first, index)
            number = 0 if numbers is None else int(numbers[index])
            return int(self._ordinals[index]), number
        if self._count is None:
            return self._first, (0 if numbers is None else int(numbers)) + index
        return (self._first + index, 0) if index < self._count else (self._first, index)

    def one(self, index: int) -> Context:
        """Return the context of one example of a batch.

        Parameters
        ----------
        index : int
            Its place in the batch.

        Returns
        -------
        Context
            That of an example.

        """
        ordinal, number = self.address(index)
        return Context(self.epoch, ordinal, None, self.draws, numbers=number or None)

    def child(self, number: int) -> Context:
        """Return the context of one of several items made from this one.

        Parameters
        ----------
        number : int
            Its number among them, from 0.

        Returns
        -------
        Context
            The same ordinal, with the number; numbers of nested children do not collide.

        """
        ordinal, above = self.address()
        return Context(
            self.epoch, ordinal, None, self.draws, numbers=_nested(above, number) or None
        )

    @classmethod
    def gather(cls, contexts: list[Context]) -> Context:
        """Return the context of a batch made of examples.

        Parameters
        ----------
        contexts : list of Context
            Those of the examples; at least one.

        Returns
        -------
        Context
            With a vector of ordinals.

        """
        first = contexts[0]
        addresses = [context.address() for context in contexts]
        numbers = [number for _, number in addresses]
        return cls(
            first.epoch,
            addresses[0][0],
            None,
            first.draws,
            ordinals=[ordinal for ordinal, _ in addresses],
            numbers=numpy.array(numbers, dtype=numpy.uint64) if any(numbers) else None,
        )

    def over(self, draws: Draws | None) -> Context:
        """Return the same context, with its generators from elsewhere."""
        twin = Context.__new__(Context)
        twin.__setstate__(self.__getstate__())
        twin.draws = draws
        return twin

    def describe(self) -> JSON:
        """Return the context as plain JSON; ordinals that follow each other as ranges."""
        described: dict[str, JSON] = {"epoch": self.epoch, "first": self._first}
        if self._count is not None and not self._collected:
            described["count"] = self._count
        elif self._count is not None:
            described["ranges"] = [[self._first], [self._count]]
        elif self._ordinals is not None:
            ordinals = self._ordinals
            starts = numpy.flatnonzero(numpy.diff(ordinals, prepend=ordinals[:1] - 2) != 1)
            lengths = numpy.diff(starts, append=len(ordinals))
            described["ranges"] = [ordinals[starts].tolist(), lengths.tolist()]
        if self.numbers is not None:
            described["numbers"] = numpy.asarray(self.numbers).tolist()
        return described

    @classmethod
    def described(cls, described: JSON, draws: Draws | None) -> Context:
        """Return the context that `describe` described.

        Parameters
        ----------
        described : dict
            The description.
        draws : Draws or None
            Where generators come from.

        Returns
        -------
        Context
            An equal one.

        """
        ordinals: Any = None
        numbers = described.get("numbers")
        if "ranges" in described:
            parts = [numpy.arange(s, s + n) for s, n in zip(*described["ranges"], strict=True)]
            ordinals = numpy.concatenate(parts) if parts else []
        if isinstance(numbers, list):
            numbers = numpy.array(numbers, dtype=numpy.uint64)
        return cls(
            described["epoch"],
            described["first"],
            described.get("count"),
            draws,
            ordinals=ordinals,
            numbers=numbers,
        )

    def rng(self, step: Any, index: int = 0) -> numpy.random.Generator:
        """Return the generator of one example for a step.

        Its draws depend on the seed, the name of the step, the epoch and the ordinal alone.

        Parameters
        ----------
        step : stream
            The step that draws.
        index : int, optional
            The place of the example in the batch; 0 for an item that is one example.

        Returns
        -------
        numpy.random.Generator
            Valid until the step asks for its next one: it is reset, not built anew.

        """
        draws = self.draws
        if draws is None:
            draws = self.draws = Draws(step)
        ordinal, number = self.address(index)
        return draws.pool(step).rng(self.epoch, ordinal, number)

    def bits(self, step: Any, count: int, size: int | None = None) -> Any:
        """Return raw draws for a step.

        They are what the generators of `rng` draw from: row i of a batch are the first raw draws
        of ``rng(step, i)``.

        Parameters
        ----------
        step : stream
            The step that draws.
        count : int
            How many draws of 64 bits for each example.
        size : int, optional
            The number of examples in the batch; None for an item that is one example.

        Returns
        -------
        numpy.ndarray, shape (count,) or (size, count), dtype uint64
            Depends on the seed, the name of the step, the epoch and the ordinals alone.

        """
        draws = self.draws
        if draws is None:
            draws = self.draws = Draws(step)
        key = draws.key(step, self.epoch)
        if size is None:
            ordinal, number = self.address()
            ordinals = numpy.array([ordinal], dtype=numpy.int64)
            numbers = numpy.array([number], dtype=numpy.uint64) if number else None
            return raw_bits(key, ordinals, numbers, count)[0]
        if self._ordinals is None and self._count is not None and size <= self._count:
            ordinals = numpy.arange(self._first, self._first + size, dtype=numpy.int64)
            return raw_bits(key, ordinals, None, count)
        if self._ordinals is not None and size <= len(self._ordinals):
            numbers = self.numbers
            if numbers is not None:
                numbers = numpy.asarray(numbers, dtype=numpy.uint64)[:size]
            return raw_bits(key, self._ordinals[:size], numbers, count)
        addresses = [self.address(index) for index in range(size)]
        ordinals = numpy.array([ordinal for ordinal, _ in addresses], dtype=numpy.int64)
        numbers = numpy.array([number for _, number in addresses], dtype=numpy.uint64)
        return raw_bits(key, ordinals, numbers, count)


def _nested(above: int, number: int) -> int:
    """Combine the numbers of two levels; a single level keeps its own number."""
    if above == 0:
        return number
    mixed = (above * 0x9E3779B97F4A7C15 + number + 1) & 0xFFFFFFFFFFFFFFFF
    mixed ^= mixed >> 29
    return (mixed * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
