"""Shuffled orders that stay with a few blocks of neighbours for a while.

In this module: `BlockShuffledScheme` and its example form, for data of any kind that is read
faster if neighbours are read together. Not here: blocks that a file prescribes (`_chunk_shuffled`),
how the order is computed (`_chunk_order`), and how well it mixes (`_quality`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fuel.kernels.permutation import ALGORITHM, VERSION
from fuel.schemes._by_place import BatchesByPlace, ExamplesByPlace
from fuel.schemes._chunk_order import ChunkLayout
from fuel.schemes._chunk_shuffled import _ChunkShuffled, _positive
from fuel.schemes._digest import describe_indices
from fuel.typing import JSON

__all__ = ["BlockShuffledExampleScheme", "BlockShuffledScheme"]


class _BlockShuffled(_ChunkShuffled):
    """What the two schemes have in common."""

    block_size: int

    def _prepare_blocks(self, block_size: Any, window: Any, seed: int | None) -> None:
        indices = self.indices
        if not hasattr(indices, "__getitem__") or isinstance(indices, Mapping):
            raise TypeError(
                "`examples` must be the number of examples or a sequence of their indices, got "
                f"{indices!r:.80}; make a list of it"
            )
        self.block_size = _positive("block_size", block_size)
        if isinstance(indices, range):  # which may be longer than `len` can say
            count = max(0, -((indices.start - indices.stop) // indices.step))
        else:
            count = len(indices)
        self._prepare(ChunkLayout(count, self.block_size), window, seed)

    def _fingerprint(self) -> dict[str, JSON]:
        return {
            "kind": "block-shuffled",
            "algorithm": ALGORITHM,
            "version": VERSION,
            "seed": self.seed,
            "block_size": self.block_size,
            "window": self.window,
            **describe_indices(self.indices),
        }


class BlockShuffledScheme(_BlockShuffled, BatchesByPlace):
    """Batches of indices, shuffled within windows of blocks.

    The examples are cut into blocks of `block_size` neighbours. The blocks are put in a shuffled
    order, `window` of them are taken at a time, and the examples of these are shuffled among
    themselves; every example comes exactly once.

    Parameters
    ----------
    examples : int or sequence
        The indices to visit, or their number ``n`` for the indices 0 to ``n - 1``. Neighbours in
        the sequence make a block.
    batch_size : int
        Number of examples in a request.
    block_size : int
        How many neighbours stay together: as many as are read at once (a row group, a shard, the
        readahead of a disk).
    window : int, optional
        How many blocks are mixed. More mix better, and keep more of them in use. Default 16.
    seed : int, optional
        What the order depends on, besides the number of the epoch. The default is
        ``config.default_seed``, read when the scheme is made.
    partial : bool, optional
        Whether an epoch ends with a request for what remains, if that is less than a batch.

    Attributes
    ----------
    indices : sequence
        ``range(n)``, or the indices as they were given.
    batch_size, block_size, window, seed, partial
        As they were given.

    Raises
    ------
    ValueError
        If `batch_size`, `block_size` or `window` is not a positive integer.
    TypeError
        If `examples` is an iterable that cannot be indexed, or `seed` is not an integer.

    Notes
    -----
    The order is computed place by place, with keyed permutations (that of `PermutedScheme`), and
    takes no memory: any place of it is known at once. The incomplete last block joins one of the
    windows, chosen anew each epoch. `shuffle_quality` measures how well it mixes.

    Examples
    --------
    >>> from fuel.schemes import BlockShuffledScheme
    >>> scheme = BlockShuffledScheme(12, 4, 3, window=2, seed=1)
    >>> requests = list(scheme.get_request_iterator())
    >>> sorted(sum(requests, [])) == list(range(12))
    True
    >>> len({index // 3 for index in requests[0]})
    2

    """

    def __init__(
        self,
        examples: int | Iterable[Any],
        batch_size: int,
        block_size: int,
        window: int = 16,
        *,
        seed: int | None = None,
        partial: bool = True,
    ) -> None:
        super().__init__(examples, batch_size)
        self._prepare_blocks(block_size, window, seed)
        self.partial = partial


class BlockShuffledExampleScheme(_BlockShuffled, ExamplesByPlace):
    """Single indices, shuffled within windows of blocks.

    Parameters
    ----------
    examples, block_size, window, seed
        As for `BlockShuffledScheme`, whose order this is.

    Attributes
    ----------
    indices : sequence
        ``range(n)``, or the indices as they were given.
    block_size, window, seed
        As they were given.

    Raises
    ------
    ValueError, TypeError
        As for `BlockShuffledScheme`.

    Examples
    --------
    >>> from fuel.schemes import BlockShuffledExampleScheme
    >>> sorted(BlockShuffledExampleScheme(5, 2, seed=1).get_request_iterator())
    [0, 1, 2, 3, 4]

    """

    def __init__(
        self,
        examples: int | Iterable[Any],
        block_size: int,
        window: int = 16,
        *,
        seed: int | None = None,
    ) -> None:
        super().__init__(examples)
        self._prepare_blocks(block_size, window, seed)
