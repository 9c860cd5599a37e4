"""Schemes whose orders are computed place by place: what all of them have in common."""

from __future__ import annotations

import pickle
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuel.datasets import IndexableDataset
from fuel.schemes import (
    BalancedScheme,
    BlockShuffledScheme,
    ChunkShuffledScheme,
    PermutedScheme,
    WeightedScheme,
)
from fuel.streams import DataStream
from fuel.transformers import Unpack

ROWS = 23
MAKERS: dict[str, Any] = {
    "balanced": lambda size, **given: BalancedScheme(numpy.arange(ROWS) % 3, size, **given),
    "blocks": lambda size, **given: BlockShuffledScheme(ROWS, size, 4, window=2, **given),
    "chunks": lambda size, **given: ChunkShuffledScheme(ROWS, size, chunk_rows=4, **given),
    "permuted": lambda size, **given: PermutedScheme(ROWS, size, **given),
    "weighted": lambda size, **given: WeightedScheme(numpy.arange(ROWS) + 1.0, size, **given),
}


@pytest.mark.parametrize("name", list(MAKERS))
@settings(deadline=None, max_examples=25)
@given(size=st.integers(1, 30), partial=st.booleans())
def test_the_lengths_are_what_an_epoch_has(name: str, size: int, partial: bool) -> None:
    scheme = MAKERS[name](size, partial=partial, seed=1)
    dataset = IndexableDataset({"x": numpy.arange(ROWS)})
    batches = DataStream(dataset, iteration_scheme=scheme)
    assert len(batches) == len(list(batches))
    examples = Unpack(batches)
    assert len(examples) == len(list(examples))


@pytest.mark.parametrize("name", list(MAKERS))
def test_a_scheme_used_by_itself_counts_its_epochs_and_a_copy_goes_on(name: str) -> None:
    scheme = MAKERS[name](5, seed=1)
    first, second = list(scheme.get_request_iterator()), list(scheme.get_request_iterator())
    assert first != second
    again = MAKERS[name](5, seed=1)
    assert list(again.get_request_iterator()) == first
    assert list(pickle.loads(pickle.dumps(again)).get_request_iterator()) == second
    assert list(again.get_request_iterator()) == second
