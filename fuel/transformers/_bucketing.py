"""Batches of sequences of like length: `BucketByLength`.

Padding is in `fuel.transformers._padding`; putting several sequences into one row, so that
nothing is padded, in `fuel.transformers._packing`.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy

from fuel.plan import Cursor
from fuel.schemes import ConstantScheme
from fuel.transformers._base import Transformer, _count
from fuel.transformers._buckets import BucketCursor, PoolCursor
from fuel.transformers._checks import check_integer, labels_below, need_examples, sources_below
from fuel.transformers._functions import function_name
from fuel.transformers._holding import told
from fuel.typing import JSON

if TYPE_CHECKING:
    from fuel.plan import Start

__all__ = ["BucketByLength"]

#: How many batches are sorted at a time unless the user says otherwise: as torchtext did.
_POOL = 100


class BucketByLength(Transformer):
    """Makes batches of examples of like length, so that padding them wastes little.

    There are two ways. With `boundaries`, every example is put into the bucket of its length, and
    a bucket that is full becomes a batch. Without, a pool of many examples is read, sorted by
    length and cut into batches, which are delivered in random order.

    Parameters
    ----------
    data_stream : AbstractDataStream
        A stream of examples.
    batch_size : int, sequence of int or ConstantScheme, optional
        How many examples a batch has; with `boundaries`, perhaps another number for each bucket.
        It may be left out where `max_tokens` is given.
    boundaries : sequence of int, optional
        The greatest length in each bucket, rising: ``(10, 20)`` makes buckets for 0 to 10, 11 to
        20, and 21 and more.
    length : callable or str, optional
        How long an example is: a function of the example (a tuple, one entry a source), or the
        name of the source whose ``len`` counts. Default: the first source.
    max_tokens : int, optional
        The greatest size of a padded batch: its longest length times its number of examples.
    too_long : {'error', 'single'}, optional
        What becomes of an example that alone exceeds `max_tokens`: a ValueError (default), or a
        batch of its own.
    pool : int, optional
        How many batches are sorted at a time: `pool` times `batch_size` examples, or as many as
        have `pool` times `max_tokens` tokens, whichever is reached first. Default 100.
    shuffle : bool, optional
        Whether the batches of a pool come in random order (default) or from short to long.
    partial : bool, optional
        Whether batches smaller than `batch_size` at the end of the epoch are delivered. Default
        True. False needs `batch_size` without `max_tokens`.
    axis_labels : dict, optional
        Default: those below with ``'batch'`` in front.
    name, seed
        As for `AbstractDataStream`; the seed is that of the order within pools.

    Attributes
    ----------
    batch_size, boundaries, length, max_tokens, too_long, pool, shuffle, partial
        As given, or the defaults.

    Raises
    ------
    ValueError
        If the stream below produces batches; if neither `batch_size` nor `max_tokens` is given;
        if sizes or boundaries are not positive or do not rise; if arguments of the two ways are
        mixed.
    TypeError
        If a number is no integer, or `length` is neither a function nor a source.

    Notes
    -----
    Each example comes exactly once in an epoch, unless ``partial=False``; what a bucket still
    holds at the end comes in the order of the buckets. Batches are made as by `Batch`. Examples of
    one length keep their order. The order of the batches in a pool depends on the seed, the name of
    the step, the epoch and the number of the pool alone.

    A resumed pass with `boundaries` fetches again the examples in the open buckets, and can go on
    with other batch sizes. (Where the stream below cannot go from place to place, since a user's
    function below remembers something, it reads on from the oldest of them.) A resumed pass over
    pools fetches its pool again, and needs the sizes it was saved with.

    TensorFlow's boundaries name the smallest length that a bucket does *not* hold; ours the
    greatest that it does, so that batches can be padded to them.

    Examples
    --------
    >>> from fuel.datasets import IterableDataset
    >>> from fuel.streams import DataStream
    >>> words = DataStream(IterableDataset({'w': ['a', 'bbb', 'c', 'dddd', 'ee', 'fff']}))
    >>> [batch[0].tolist() for batch in BucketByLength(words, 2, boundaries=(2,))]
    [['a', 'c'], ['bbb', 'dddd'], ['ee'], ['fff']]
    >>> [batch[0].tolist() for batch in BucketByLength(words, 2, shuffle=False)]
    [['a', 'c'], ['ee', 'bbb'], ['fff', 'dddd']]
    >>> [batch[0].tolist() for batch in BucketByLength(words, max_tokens=6, shuffle=False)]
    [['a', 'c', 'ee'], ['bbb', 'fff'], ['dddd']]

    """

    def __init__(
        self,
        data_stream: Any,
        batch_size: Any = None,
        boundaries: Any = None,
        *,
        length: Any = None,
        max_tokens: int | None = None,
        too_long: str | None = None,
        pool: int | None = None,
        shuffle: bool | None = None,
        partial: bool = True,
        axis_labels: Any = None,
        name: str | None = None,
        seed: int | None = None,
    ) -> None:
        need_examples("BucketByLength", data_stream)
        labels = labels_below(data_stream) if axis_labels is None else axis_labels
        if axis_labels is None and labels is not None:
            for source, names in labels.items():
                labels[source] = None if names is None else ("batch", *names)
        super().__init__(
            data_stream, produces_examples=False, axis_labels=labels, name=name, seed=seed
        )
        self.boundaries = None if boundaries is None else _check_boundaries(boundaries)
        self.batch_size = _check_sizes(batch_size, self.boundaries)
        self.max_tokens = None if max_tokens is None else _positive("max_tokens", max_tokens)
        if batch_size is None and max_tokens is None:
            raise ValueError(
                "BucketByLength needs to know how large batches are, got neither `batch_size` nor "
                "`max_tokens`; give a number of examples, or of tokens, or both"
            )
        self.too_long = "error" if too_long is None else too_long
        if self.too_long not in ("error", "single") or (too_long and max_tokens is None):
            raise ValueError(
                "`too_long` of BucketByLength must be 'error' or 'single', for a `max_tokens` that "
                f"an example may exceed, got {too_long!r:.80} with max_tokens={max_tokens!r}"
            )
        for argument, value in (("pool", pool), ("shuffle", shuffle), ("seed", seed)):
            if boundaries is not None and value is not None:
                raise ValueError(
                    f"BucketByLength got {argument}={value!r:.80} and `boundaries`, but with "
                    "boundaries nothing is pooled and nothing drawn; leave out one of them"
                )
        self.pool = _POOL if pool is None else _positive("pool", pool)
        self.shuffle = (shuffle is None or bool(shuffle)) and boundaries is None
        if seed is not None and not self.shuffle:
            raise ValueError(
                f"BucketByLength got seed={seed!r:.80} and shuffle=False, but then nothing is "
                "drawn; leave out one of them"
            )
        self.partial = bool(partial)
        if not partial and (batch_size is None or max_tokens is not None):
            raise ValueError(
                "BucketByLength got partial=False, but batches that are cut by `max_tokens` are "
                "of no certain size; give `batch_size` alone, or leave out `partial`"
            )
        self.length, self._measured = _check_length(length, data_stream)

    # -- what is asked of one example, and of several -------------------------------------------

    def _measure(self, data: Any) -> int:
        """Return how long an example is."""
        try:
            if callable(self.length):
                length = self.length(data)
            else:
                length = len(data[self._measured])
        except TypeError as error:
            if callable(self.length):
                raise
            source = self.data_stream.sources[self._measured]
            raise ValueError(
                f"BucketByLength measures the sequences of source {source!r}, but got one "
                f"without a length ({error}); name another source in `length`, or give a function"
            ) from error
        try:
            number = operator.index(length)
        except TypeError:
            number = -1
        if number < 0:
            raise ValueError(
                f"the `length` of BucketByLength must return a number of tokens, got "
                f"{length!r:.80}; return a non-negative integer"
            )
        length = number
        if self.max_tokens is not None and length > self.max_tokens and self.too_long == "error":
            raise ValueError(
                f"BucketByLength got an example of length {length}, longer than max_tokens="
                f"{self.max_tokens}; filter such examples out below, raise `max_tokens`, or give "
                "them batches of their own with too_long='single'"
            )
        return int(length)

    def _fits(self, count: int, longest: int, bucket: int = 0) -> bool:
        """Tell whether so many examples, padded to the longest, are within the limits."""
        size = self.batch_size[bucket] if isinstance(self.batch_size, tuple) else self.batch_size
        if count == 1:
            return True
        if size is not None and count > size:
            return False
        # Empty sequences count as well, or there would be no end of them.
        return self.max_tokens is None or count * max(longest, 1) <= self.max_tokens

    def _cut(self, lengths: list[int]) -> list[list[int]]:
        """Return which examples of a pool make up which batch, from short to long."""
        order = numpy.argsort(numpy.array(lengths, dtype=numpy.int64), kind="stable").tolist()
        ends = []
        if self.max_tokens is None:
            ends = list(range(self.batch_size, len(order), self.batch_size))
        else:
            most = len(order) if self.batch_size is None else self.batch_size
            size, limit = 0, self.max_tokens
            for place, index in enumerate(order):
                size += 1
                # As `_fits` has it: this one is the longest so far.
                if size > 1 and (size > most or size * (lengths[index] or 1) > limit):
                    ends.append(place)
                    size = 1
        return [order[start:end] for start, end in pairwise([0, *ends, len(order)]) if end > start]

    # -- what it offers to the plan -------------------------------------------------------------

    def _make_cursor(self, start: Start) -> Cursor:
        return PoolCursor(start, self) if self.boundaries is None else BucketCursor(start, self)

    def _num_items(self) -> int | None:
        there = _count(self.data_stream, "_num_items")
        if there is None or self.boundaries is not None or self.max_tokens is not None:
            return None
        size: int = self.batch_size
        return -(-there // size) if self.partial else there // size

    def _num_examples(self) -> int | None:
        there = _count(self.data_stream, "_num_items")
        if there is None or self.partial:
            return there
        return None if self.boundaries is not None else there - there % self.batch_size

    def _functions(self) -> list[Any]:
        return [self.length] if callable(self.length) else []

    def _why_not_elementwise(self) -> str:
        return "puts examples together by length: runs in order, in this process"

    def _parameters(self) -> dict[str, Any]:
        length = self.length
        named = {
            "batch_size": self.batch_size,
            "boundaries": self.boundaries,
            "max_tokens": self.max_tokens,
            "length": function_name(length) if callable(length) else length,
        }
        parameters = {key: value for key, value in named.items() if value is not None}
        if self.boundaries is None:
            parameters |= {"pool": self.pool, "shuffle": self.shuffle}
        if self.too_long != "error":
            parameters["too_long"] = self.too_long
        if not self.partial:
            parameters["partial"] = False
        return parameters

    def _fingerprint(self) -> dict[str, JSON]:
        described = super()._fingerprint()
        described.pop("partial", None)
        if self.boundaries is not None:
            # Open buckets can be filled up to any size; only which bucket is whose must remain.
            for key in ("batch_size", "max_tokens", "too_long"):
                described.pop(key, None)
        elif self.shuffle:
            described["seed"] = self._effective_seed()
        return described


def _positive(argument: str, value: Any) -> int:
    number = check_integer("BucketByLength", argument, value)
    if number < 1:
        raise ValueError(
            f"`{argument}` of BucketByLength must be positive, got {number}; give 1 or more, or "
            "leave it out"
        )
    return number


def _numbers(argument: str, values: Any) -> tuple[int, ...]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        kind = "an integer, or " if argument == "batch_size" else ""
        raise TypeError(
            f"`{argument}` of BucketByLength must be {kind}a sequence of integers, got "
            f"{values!r:.80}; write for example {32 if kind else (10, 20, 40)}"
        )
    return tuple(_positive(argument, value) for value in values)


def _check_boundaries(boundaries: Any) -> tuple[int, ...]:
    numbers = _numbers("boundaries", boundaries)
    if not numbers or any(one >= other for one, other in pairwise(numbers)):
        raise ValueError(
            f"`boundaries` of BucketByLength must rise, got {numbers}; give the greatest length of "
            "each bucket, the smallest first, without a last one for all longer examples"
        )
    return numbers


def _check_sizes(batch_size: Any, boundaries: tuple[int, ...] | None) -> Any:
    """Return the batch size as an int, as a tuple with one for each bucket, or None."""
    if batch_size is None:
        return None
    if hasattr(batch_size, "get_request_iterator"):
        if type(batch_size) is not ConstantScheme or not (
            batch_size.times is None and batch_size.num_examples is None
        ):
            raise ValueError(
                "BucketByLength makes batches as buckets fill, not when a scheme asks for them, "
                f"got {told(batch_size)}; give a number, or ConstantScheme(batch_size) without an "
                "end"
            )
        batch_size = batch_size.batch_size
    if hasattr(batch_size, "__index__") and not numpy.ndim(batch_size):
        return _positive("batch_size", batch_size)
    sizes = _numbers("batch_size", batch_size)
    if boundaries is None:
        raise ValueError(
            f"`batch_size` of BucketByLength must be one number where there are no `boundaries`, "
            f"got {sizes}; give one, or the `boundaries` of the buckets"
        )
    buckets = len(boundaries) + 1
    if len(sizes) != buckets:
        raise ValueError(
            f"`batch_size` of BucketByLength must be one number, or one for each of the {buckets} "
            f"buckets that `boundaries` make, got {len(sizes)}: {sizes}; the last one is for "
            "examples longer than all boundaries"
        )
    return sizes


def _check_length(length: Any, data_stream: Any) -> tuple[Any, int]:
    """Return what measures examples as given, and which source it is if it is one."""
    sources = sources_below("BucketByLength", data_stream)
    if length is None or callable(length):
        return length, 0
    if length not in sources:
        raise TypeError(
            f"`length` of BucketByLength must be a function of an example or one of the sources "
            f"{sources}, got {length!r:.80}; name the source whose `len` counts"
        )
    return length, sources.index(length)
