"""The type of a batch does not depend on how many examples it has."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fuel.datasets import IndexableDataset, IterableDataset
from fuel.schemes import ConstantScheme, SequentialExampleScheme, SequentialScheme
from fuel.streams import DataStream
from fuel.transformers import Batch, Cache, Cast, Mapping, Padding, SortMapping
from fuel.transformers._stacking import stack

PADDED = numpy.dtype(
    {"names": ["a", "b"], "formats": [">i4", "u1"], "offsets": [0, 8], "itemsize": 16}
)
TYPES = [">i4", "<i4", ">f8", ">U3", "<U3", ">M8[D]", "?", "S2", ">c8", [("a", ">i4")], PADDED]


@given(
    dtype=st.one_of(
        hnp.scalar_dtypes(), st.just(numpy.dtype(object)), hnp.array_dtypes(allow_subarrays=False)
    ),
    shape=hnp.array_shapes(min_dims=0, max_dims=2, min_side=1, max_side=2),
    number=st.integers(2, 5),
)
def test_one_example_has_the_type_of_several(dtype: Any, shape: Any, number: int) -> None:
    row = numpy.zeros(shape, dtype)
    alone, several = stack([row]), stack([row] * number)
    assert alone.dtype == several.dtype
    assert alone.dtype.isnative
    assert alone.shape == (1, *shape)
    assert several.shape == (number, *shape)
    assert (alone[0] == row).all()


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("shape", [(5,), (5, 2)], ids=str)
def test_batches_of_all_sizes_have_one_type(dtype: Any, shape: Any) -> None:
    dataset = IndexableDataset(numpy.zeros(shape, dtype))
    found = set()
    for size in (1, 2, 4, 5):  # the last batch of 2 and of 4 has one example
        examples = DataStream(dataset, iteration_scheme=SequentialExampleScheme(5))
        portions = DataStream(dataset, iteration_scheme=SequentialScheme(5, 3))
        for stream in (
            Batch(examples, ConstantScheme(size)),
            Cache(portions, ConstantScheme(size)),
        ):
            for (batch,) in stream:
                found.add((batch.dtype.str, str(batch.dtype), batch.dtype.isnative))
    assert len(found) == 1
    assert next(iter(found))[2]


def test_rows_of_objects_stay_rows_of_objects() -> None:
    row = numpy.empty(2, object)
    row[:] = [[1, 2], numpy.arange(2, dtype=">i4")]
    for number in (1, 2, 3):
        batch = stack([row] * number)
        assert (batch.shape, batch.dtype) == ((number, 2), numpy.dtype(object))
        assert batch[0, 1] is row[1]


@pytest.mark.parametrize("dtype", [">i4", ">f8"])
def test_padding_is_native_for_one_sequence_too(dtype: str) -> None:
    words = [numpy.ones(2, dtype), numpy.ones(3, dtype), numpy.ones(1, dtype)]
    stream = Padding(Batch(DataStream(IterableDataset(words)), ConstantScheme(2)))
    types = {batch.dtype for batch, _ in stream}
    assert types == {numpy.dtype(dtype).newbyteorder("=")}


def test_sorting_keeps_the_type_of_arrays() -> None:
    for number in (1, 2):
        batch = (numpy.arange(number, dtype=">i4")[::-1],)
        (ordered,) = SortMapping(key=lambda example: example[0])(batch)
        assert ordered.dtype == ">i4"
        assert ordered.tolist() == list(range(number))


def test_a_cast_asks_for_what_comes_out() -> None:
    stream = DataStream(
        IndexableDataset(numpy.arange(3, dtype=">i4")), iteration_scheme=SequentialScheme(3, 2)
    )
    assert {batch.dtype.str for (batch,) in Cast(Mapping(stream, tuple), ">f4")} == {">f4"}
