"""Every scheme of the package under the suite of schemes."""

from __future__ import annotations

import numpy
import pytest

import fuel.schemes
from fuel.schemes import (
    BalancedExampleScheme,
    BalancedScheme,
    BatchScheme,
    BlockShuffledExampleScheme,
    BlockShuffledScheme,
    ChunkLayout,
    ChunkShuffledExampleScheme,
    ChunkShuffledScheme,
    ConcatenatedScheme,
    ConstantScheme,
    IndexScheme,
    PermutedExampleScheme,
    PermutedScheme,
    SequentialExampleScheme,
    SequentialScheme,
    ShuffledExampleScheme,
    ShuffledScheme,
    WeightedExampleScheme,
    WeightedScheme,
    cross_validation,
)
from fuel.testing import SchemeContract

MAKERS = {
    "sequential": lambda: SequentialScheme(10, 3),
    "sequential of a list": lambda: SequentialScheme([4, 2, 9], 2),
    "sequential of nothing": lambda: SequentialScheme(0, 3),
    "sequential of an array": lambda: SequentialScheme(numpy.arange(5), 2),
    "sequential examples": lambda: SequentialExampleScheme(7),
    "shuffled": lambda: ShuffledScheme(10, 3),
    "shuffled, sorted": lambda: ShuffledScheme(10, 3, sorted_indices=True),
    "shuffled by a generator": lambda: ShuffledScheme(10, 3, rng=numpy.random.default_rng(4)),
    "shuffled names": lambda: ShuffledScheme(["a", "b", "c", "d"], 3),
    "shuffled examples": lambda: ShuffledExampleScheme(7),
    "permuted": lambda: PermutedScheme(10, 3, seed=2),
    "permuted, whole batches": lambda: PermutedScheme(10, 3, seed=2, partial=False),
    "permuted, huge": lambda: PermutedScheme(2**62, 3, seed=2),
    "permuted examples": lambda: PermutedExampleScheme(7, seed=2),
    "chunk shuffled": lambda: ChunkShuffledScheme(23, 3, window=2, chunk_rows=4, seed=2),
    "chunk shuffled, whole batches": lambda: ChunkShuffledScheme(
        ChunkLayout(23, 4, 3), 3, window=3, seed=2, partial=False
    ),
    "chunk shuffled, of a list": lambda: ChunkShuffledScheme(
        ChunkLayout(6, 4, 0, numpy.array([9, 1, 0, 3, 8, 20])), 4, window=2, seed=2
    ),
    "chunk shuffled examples": lambda: ChunkShuffledExampleScheme(7, chunk_rows=2, seed=2),
    "block shuffled": lambda: BlockShuffledScheme(23, 3, 4, window=2, seed=2),
    "block shuffled, of names": lambda: BlockShuffledScheme(
        list("abcdefg"), 2, 2, window=2, seed=2, partial=False
    ),
    "block shuffled, huge": lambda: BlockShuffledScheme(2**60, 3, 2**20, seed=2),
    "block shuffled examples": lambda: BlockShuffledExampleScheme(7, 2, seed=2),
    "weighted": lambda: WeightedScheme([1, 0, 2.5, 3], 3, num_examples=10, seed=2),
    "weighted, whole batches": lambda: WeightedScheme(
        numpy.arange(5), 3, num_examples=10, seed=2, partial=False
    ),
    "weighted, of nothing": lambda: WeightedScheme([], 3),
    "weighted examples": lambda: WeightedExampleScheme([1, 0, 2.5, 3], seed=2),
    "balanced": lambda: BalancedScheme([0, 1, 1, 1, 2, 1], 5, seed=2),
    "balanced, fewer": lambda: BalancedScheme(
        ["a", "b", "b", "a", "b"], 3, mode="under", seed=2, partial=False
    ),
    "balanced examples": lambda: BalancedExampleScheme([0, 1, 1], seed=2),
    "constant, examples": lambda: ConstantScheme(3, num_examples=8),
    "constant, times": lambda: ConstantScheme(3, times=4),
    "constant, endless": lambda: ConstantScheme(3),
    "concatenated": lambda: ConcatenatedScheme(
        [SequentialScheme(4, 3), ShuffledScheme(5, 2), PermutedScheme(6, 4, seed=1)]
    ),
    "concatenated examples": lambda: ConcatenatedScheme(
        [ShuffledExampleScheme(3), ShuffledExampleScheme(3)]
    ),
    "a fold": lambda: next(cross_validation(SequentialScheme, 10, 5, batch_size=3))[0],
    "a shuffled fold": lambda: next(cross_validation(ShuffledExampleScheme, 10, 5))[1],
}


@pytest.fixture(params=list(MAKERS))
def maker(request):
    return MAKERS[request.param]


class TestEveryScheme(SchemeContract):
    at_most = 8

    @pytest.fixture(autouse=True)
    def _choose(self, maker):
        self.make_scheme = maker


def test_every_public_scheme_is_under_the_suite():
    made = {type(make()) for make in MAKERS.values()}
    abstract = {
        fuel.schemes.IterationScheme,
        fuel.schemes.BatchSizeScheme,
        BatchScheme,
        IndexScheme,
    }
    public = {
        value
        for name in fuel.schemes.__all__
        for value in [getattr(fuel.schemes, name)]
        if isinstance(value, type) and issubclass(value, fuel.schemes.IterationScheme)
    }
    assert public - abstract <= made
