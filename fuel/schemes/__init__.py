"""Iteration schemes: which examples are visited, and in what order.

A scheme makes *requests*, one after the other, for an epoch: an index (an *example* scheme), a
list of indices, or a number of examples (both *batch* schemes). It knows nothing of the data.

========================  ==========================================================
``_base``                 the abstract schemes; how the package talks to any scheme
``_sequential``           `SequentialScheme`, `SequentialExampleScheme`, `ConstantScheme`
``_shuffled``             `ShuffledScheme`, `ShuffledExampleScheme`: as the original
``_by_place``             what schemes have in common whose orders are computed place by place
``_permuted``             `PermutedScheme`, `PermutedExampleScheme`: no memory, no delay
``_chunk_shuffled``       `ChunkShuffledScheme`, `ChunkShuffledExampleScheme`: for chunked files
``_chunk_order``          the order that these have
``_block_shuffled``       `BlockShuffledScheme`, `BlockShuffledExampleScheme`: the same for any data
``_weighted``             `WeightedScheme`, `WeightedExampleScheme`: with replacement
``_balanced``             `BalancedScheme`, `BalancedExampleScheme`: every class equally often
``_quality``              `shuffle_quality`
``_concatenated``         `ConcatenatedScheme`
``_folds``                `cross_validation`, `shuffled_split`
``_requests``             the iterators that the schemes return
``_custom``               the same for schemes that users write
``_hidden``               what such schemes remember from one epoch to the next
``_digest``               short descriptions of lists of indices
``_rng_state``            the state of what a user shuffles with
========================  ==========================================================
"""

from fuel.schemes._balanced import BalancedExampleScheme, BalancedScheme
from fuel.schemes._base import (
    BatchScheme,
    BatchSizeScheme,
    IndexScheme,
    IterationScheme,
    RequestIterator,
)
from fuel.schemes._block_shuffled import BlockShuffledExampleScheme, BlockShuffledScheme
from fuel.schemes._chunk_order import ChunkLayout
from fuel.schemes._chunk_shuffled import ChunkShuffledExampleScheme, ChunkShuffledScheme
from fuel.schemes._concatenated import ConcatenatedScheme
from fuel.schemes._folds import cross_validation, shuffled_split
from fuel.schemes._permuted import PermutedExampleScheme, PermutedScheme
from fuel.schemes._quality import ShuffleQuality, shuffle_quality
from fuel.schemes._sequential import ConstantScheme, SequentialExampleScheme, SequentialScheme
from fuel.schemes._shuffled import ShuffledExampleScheme, ShuffledScheme
from fuel.schemes._weighted import WeightedExampleScheme, WeightedScheme

__all__ = [
    "BalancedExampleScheme",
    "BalancedScheme",
    "BatchScheme",
    "BatchSizeScheme",
    "BlockShuffledExampleScheme",
    "BlockShuffledScheme",
    "ChunkLayout",
    "ChunkShuffledExampleScheme",
    "ChunkShuffledScheme",
    "ConcatenatedScheme",
    "ConstantScheme",
    "IndexScheme",
    "IterationScheme",
    "PermutedExampleScheme",
    "PermutedScheme",
    "RequestIterator",
    "SequentialExampleScheme",
    "SequentialScheme",
    "ShuffleQuality",
    "ShuffledExampleScheme",
    "ShuffledScheme",
    "WeightedExampleScheme",
    "WeightedScheme",
    "cross_validation",
    "shuffle_quality",
    "shuffled_split",
]
