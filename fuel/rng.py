"""Random generators with an address: the same (seed, epoch, example, step) gives the same draws.

In this module: `example_rng`, which builds one generator; `GeneratorPool`, which does the same
for many examples at little cost; `philox_key`, which says how the address becomes a key.
Not here: the order of examples (`fuel.schemes`, `fuel.kernels.permutation`) and the saving of
generators that users pass in (`fuel.state`).

A generator is *addressed*, never *consumed*: what an example draws does not depend on which
examples were visited before it, on the batch it is part of, or on the worker that evaluates it.

The generator is Philox-4x64-10 [1]_ as NumPy has it, whose output is a function of a 128-bit key
and a 256-bit counter. The key is the BLAKE2b digest of (version of this scheme, seed, step,
epoch); the counter's words, lowest first, are (0, number, ordinal, 0), so that the draws of an
example walk through the lowest word and meet those of no other example.

References
----------
.. [1] J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw. "Parallel random numbers: as easy as
   1, 2, 3". SC'11, 2011.

"""

from __future__ import annotations

import operator
import sys
from hashlib import blake2b
from typing import Any

import numpy
from numpy.typing import NDArray

__all__ = ["GeneratorPool", "example_rng", "philox_key"]

# Hashed into every key: another way of making keys or counters must have another tag, so that
# draws can be told apart by it.
_VERSION = b"fuel.rng/1"

# The size of one word of the counter.
_WORD = 1 << 64


def philox_key(seed: int, epoch: int, step: str) -> NDArray[numpy.uint64]:
    """Return the key of the generators of one step in one epoch.

    Parameters
    ----------
    seed : int
        Any integer, negative or large as it may be.
    epoch : int
        Number of the epoch. It is hashed together with the seed, never added to it: seed 0,
        epoch 1 has nothing in common with seed 1, epoch 0.
    step : str
        Name of the step that draws.

    Returns
    -------
    numpy.ndarray, shape (2,), dtype uint64
        The key of a Philox-4x64 generator.

    Raises
    ------
    TypeError
        If `seed` or `epoch` is not an integer or `step` is not a string.

    """
    if not isinstance(step, str):
        raise TypeError(f"`step` must be the name of a step, a string, got {step!r}")
    # Hexadecimal, because decimal conversion of huge integers is limited by the interpreter;
    # the only free text comes last, so that no two addresses are written the same way.
    address = f"{_integer('seed', seed):x}|{_integer('epoch', epoch):x}|{step}"
    digest = blake2b(
        address.encode("utf-8", "surrogatepass"), digest_size=16, person=_VERSION
    ).digest()
    return numpy.frombuffer(digest, dtype="<u8").astype(numpy.uint64)


def example_rng(
    seed: int, epoch: int, ordinal: int, step: str, number: int = 0
) -> numpy.random.Generator:
    """Return the generator that a step uses for one example.

    Parameters
    ----------
    seed : int
        Any integer.
    epoch : int
        Number of the epoch.
    ordinal : int
        Place of the example in the order of the epoch, from 0 to 2**64 - 1.
    step : str
        Name of the step that draws.
    number : int, optional
        Number of the child, where several items are made from one example.

    Returns
    -------
    numpy.random.Generator
        A new generator. Equal arguments give equal draws on every platform (as far as the same
        version of NumPy draws the same numbers from the same bits); any difference in them gives
        independent draws.

    Raises
    ------
    TypeError
        If `step` is not a string, or another argument is not an integer.
    ValueError
        If `ordinal` or `number` does not fit into 64 bits without a sign.

    Notes
    -----
    Safe to call from any thread. For many examples of one step, `GeneratorPool` gives the same
    draws at a fraction of the cost.

    Examples
    --------
    >>> from fuel.rng import example_rng
    >>> a = example_rng(seed=1, epoch=0, ordinal=7, step="crop").integers(100, size=5)
    >>> b = example_rng(seed=1, epoch=0, ordinal=7, step="crop").integers(100, size=5)
    >>> bool((a == b).all())
    True

    """
    return _generator(philox_key(seed, epoch, step), _words(ordinal, number))


class GeneratorPool:
    """The generators of one step, one example at a time, at little cost.

    Parameters
    ----------
    seed : int
        Any integer.
    step : str
        Name of the step that draws.

    Notes
    -----
    The pool sets the position of one generator again and again instead of building a new one.
    It does so only while nobody else holds that generator: one that is kept by the caller is
    left alone, and goes on as if it had come from `example_rng`.

    A pool belongs to one thread. It pickles as its seed and step.

    Examples
    --------
    >>> from fuel.rng import GeneratorPool, example_rng
    >>> pool = GeneratorPool(seed=1, step="crop")
    >>> bool(pool.rng(0, 7).random() == example_rng(1, 0, 7, "crop").random())
    True

    """

    def __init__(self, seed: int, step: str) -> None:
        self.seed = _integer("seed", seed)
        self.step = step
        self._epoch: int | None = None
        self._key = philox_key(self.seed, 0, step)
        self._counter = numpy.zeros(4, dtype=numpy.uint64)
        self._state: dict[str, Any] = {
            "bit_generator": "Philox",
            "state": {"counter": self._counter, "key": self._key},
            "buffer": numpy.zeros(4, dtype=numpy.uint64),
            "buffer_pos": 4,  # the buffer is used up: the next draw makes a new block
            "has_uint32": 0,
            "uinteger": 0,
        }
        self._generator = _generator(self._key, [0, 0, 0, 0])
        # Measured rather than written down: how many references there are to a generator that
        # only the pool holds depends on the version of the interpreter.
        self._unshared = sys.getrefcount(self._generator)

    def rng(self, epoch: int, ordinal: int, number: int = 0) -> numpy.random.Generator:
        """Return the generator for one example.

        Parameters
        ----------
        epoch : int
            Number of the epoch.
        ordinal : int
            Place of the example in the order of the epoch, from 0 to 2**64 - 1.
        number : int, optional
            Number of the child, where several items are made from one example.

        Returns
        -------
        numpy.random.Generator
            A generator at the beginning of the draws of that example, equal to
            ``example_rng(seed, epoch, ordinal, step, number)``.

        Raises
        ------
        TypeError
            If an argument is not an integer.
        ValueError
            If `ordinal` or `number` does not fit into 64 bits without a sign.

        """
        if epoch != self._epoch:
            self._key[:] = philox_key(self.seed, epoch, self.step)
            self._epoch = operator.index(epoch)
        counter = self._counter
        if type(ordinal) is type(number) is int and 0 <= ordinal < _WORD and 0 <= number < _WORD:
            counter[1] = number
            counter[2] = ordinal
        else:  # NumPy's integers come this way, and mistakes, which are named here
            counter[:] = _words(ordinal, number)
        if sys.getrefcount(self._generator) > self._unshared:
            self._generator = _generator(self._key, counter.tolist())
        else:
            self._generator.bit_generator.state = self._state
        return self._generator

    def __reduce__(self) -> tuple[type[GeneratorPool], tuple[int, str]]:
        return type(self), (self.seed, self.step)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(seed={self.seed!r}, step={self.step!r})"


def _generator(key: NDArray[numpy.uint64], counter: list[int]) -> numpy.random.Generator:
    """Build a generator with a key at a counter."""
    words = numpy.array(counter, dtype=numpy.uint64)
    return numpy.random.Generator(numpy.random.Philox(key=key, counter=words))


def _integer(name: str, value: int) -> int:
    """Return a plain int, or say which argument is none."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"`{name}` must be an integer, got {value!r}") from None


def _words(ordinal: int, number: int) -> list[int]:
    """Return the words of the counter, lowest first."""
    words = [0, _integer("number", number), _integer("ordinal", ordinal), 0]
    for name, word in zip(("number", "ordinal"), words[1:3], strict=True):
        if not 0 <= word < _WORD:
            raise ValueError(f"`{name}` must lie between 0 and 2**64 - 1, got {word}")
    return words
