"""Shuffled orders for data that is stored in chunks: `ChunkShuffledScheme` and its example form.

To read one example out of a compressed file its whole chunk has to be decompressed. An order that
goes on with other examples of the same few chunks needs each chunk once; how that mixes is told in
the documentation. The order itself is computed in ``_chunk_order``.
"""

from __future__ import annotations

import operator
from typing import Any

from fuel.config_parser import config
from fuel.kernels.permutation import ALGORITHM, VERSION
from fuel.schemes._by_place import BatchesByPlace, ExamplesByPlace
from fuel.schemes._chunk_order import ChunkLayout, ChunkOrder
from fuel.schemes._digest import describe_indices
from fuel.typing import JSON

__all__ = ["ChunkShuffledExampleScheme", "ChunkShuffledScheme"]


def _layout_of(data: Any, chunk_rows: int | None) -> ChunkLayout:
    if isinstance(data, ChunkLayout):
        return data
    if hasattr(data, "example_chunks"):
        layout: ChunkLayout = data.example_chunks()
        if chunk_rows is None:
            return layout
        return ChunkLayout(
            layout.count, _positive("chunk_rows", chunk_rows), layout.first, layout.numbers
        )
    count = getattr(data, "num_examples", data)
    if chunk_rows is None:
        raise ValueError(
            "`chunk_rows` must be given where the data does not know its chunks, got "
            f"{data!r:.80}; say how many examples lie together, or give an H5PYDataset"
        )
    try:
        return ChunkLayout(operator.index(count), _positive("chunk_rows", chunk_rows))
    except TypeError:
        raise TypeError(
            f"`dataset` must be a dataset or a number of examples, got {data!r:.80}"
        ) from None


def _positive(name: str, value: Any) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = 0
    if number < 1 or isinstance(value, bool):
        raise ValueError(f"`{name}` must be a positive integer, got {value!r}")
    return number


class _ChunkShuffled:
    """What the two schemes have in common."""

    layout: ChunkLayout
    window: int
    seed: int
    indices: Any

    def _prepare(self, layout: ChunkLayout, window: Any, seed: int | None) -> None:
        self.layout = layout
        self.window = _positive("window", window)
        self.seed = operator.index(config.default_seed if seed is None else seed)

    def _order(self, epoch: int) -> ChunkOrder:
        return ChunkOrder(self.seed, epoch, self.layout, self.window)

    def _places(self) -> int:
        return self.layout.count

    def _fingerprint(self) -> dict[str, JSON]:
        layout = self.layout
        return {
            "kind": "chunk-shuffled",
            "algorithm": ALGORITHM,
            "version": VERSION,
            "seed": self.seed,
            "window": self.window,
            "chunk_rows": layout.rows,
            "first": layout.first,
            "numbers": None if layout.numbers is None else describe_indices(layout.numbers),
            **describe_indices(self.indices),
        }


class ChunkShuffledScheme(_ChunkShuffled, BatchesByPlace):
    """Batches of indices in a shuffled order that reads each chunk of a file once.

    The chunks of the file are put in a shuffled order, `window` of them are taken at a time, and
    the examples of these are shuffled among themselves; every example comes exactly once. A batch
    thus mixes examples from up to `window` places of the file, and decompressing takes no longer
    than for reading the file from front to end, if the decompressed chunks of a window fit into
    the dataset's ``chunk_cache_bytes``.

    Parameters
    ----------
    dataset : H5PYDataset, ChunkLayout or int
        The dataset, whose chunks are looked up once, now; or the number of examples.
    batch_size : int
        Number of examples in a request.
    window : int, optional
        How many chunks are mixed. More mix better and need more memory. The default of 16 makes
        one of sixteen neighbours in a batch come from the same chunk.
    seed : int, optional
        What the order depends on, besides the number of the epoch. The default is
        ``config.default_seed``, read when the scheme is made.
    partial : bool, optional
        Whether an epoch ends with a request for what remains, if that is less than a batch.
    chunk_rows : int, optional
        How many examples a chunk has; by default the dataset says it.

    Attributes
    ----------
    layout : ChunkLayout
        What is stored together.
    batch_size, window, seed, partial
        As they were given.

    Raises
    ------
    ValueError
        If `window`, `batch_size` or `chunk_rows` is not a positive integer, or `chunk_rows` is
        missing where the data does not know it.

    Notes
    -----
    The order depends on the seed, the epoch, the layout and the window alone, never on a cache or
    on who reads. It is computed place by place (each permutation is the one of `PermutedScheme`),
    so that going to any place takes no time; over a subset that is a list, the chunks' sizes are
    kept. It can be pickled, and used by several threads with an iterator each.

    Examples
    --------
    >>> from fuel.schemes import ChunkShuffledScheme
    >>> scheme = ChunkShuffledScheme(12, 4, window=2, chunk_rows=3, seed=1)
    >>> requests = list(scheme.get_request_iterator())
    >>> sorted(sum(requests, [])) == list(range(12))
    True
    >>> len({index // 3 for index in requests[0]})
    2

    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int,
        *,
        window: int = 16,
        seed: int | None = None,
        partial: bool = True,
        chunk_rows: int | None = None,
    ) -> None:
        layout = _layout_of(dataset, chunk_rows)
        super().__init__(layout.count, batch_size)
        self._prepare(layout, window, seed)
        self.partial = partial


class ChunkShuffledExampleScheme(_ChunkShuffled, ExamplesByPlace):
    """Single indices in a shuffled order that reads each chunk of a file once.

    Parameters
    ----------
    dataset, window, seed, chunk_rows
        See `ChunkShuffledScheme`, whose order this is.

    Attributes
    ----------
    layout : ChunkLayout
        What is stored together.
    window, seed
        As they were given.

    Raises
    ------
    ValueError
        If `window` or `chunk_rows` is not a positive integer, or `chunk_rows` is missing where
        the data does not know it.

    Examples
    --------
    >>> from fuel.schemes import ChunkShuffledExampleScheme
    >>> scheme = ChunkShuffledExampleScheme(5, chunk_rows=2, seed=1)
    >>> sorted(scheme.get_request_iterator())
    [0, 1, 2, 3, 4]

    """

    def __init__(
        self,
        dataset: Any,
        *,
        window: int = 16,
        seed: int | None = None,
        chunk_rows: int | None = None,
    ) -> None:
        layout = _layout_of(dataset, chunk_rows)
        super().__init__(layout.count)
        self._prepare(layout, window, seed)
