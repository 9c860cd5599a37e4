"""The usual requests take a short cut, which lets nothing pass that the long way refuses."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuel.datasets import IndexableDataset
from fuel.datasets._requests import normalise
from fuel.exceptions import RequestError

LENGTH = 6


@given(st.lists(st.integers(-3, 9) | st.sampled_from([2**63, -(2**63), 2**64]), min_size=1))
def test_lists_are_legal_exactly_if_every_index_is(indices: list[int]) -> None:
    wrong = [index for index in indices if not 0 <= index < LENGTH]
    if wrong:
        with pytest.raises(RequestError, match=f"for example {wrong[0]};"):
            normalise(indices, LENGTH)
    else:
        rows = normalise(indices, LENGTH)
        assert isinstance(rows, numpy.ndarray)
        assert rows.dtype == numpy.int64
        assert rows.tolist() == indices


@given(
    st.lists(st.integers(0, LENGTH - 1), min_size=1),
    st.sampled_from([True, False, numpy.True_]),
    st.integers(0, 20),
)
def test_a_bool_among_indices_is_refused_wherever_it_stands(
    indices: list[Any], odd: Any, place: int
) -> None:
    indices.insert(place % (len(indices) + 1), odd)
    with pytest.raises(ValueError, match="cannot answer a request of type list"):
        normalise(indices, LENGTH)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "i8", "u8", ">i8"])
@pytest.mark.parametrize("wrong", [None, 6, 100])
def test_arrays_of_all_kinds_of_integers(dtype: str, wrong: int | None) -> None:
    rows = numpy.array([0, 5, 2] + ([] if wrong is None else [wrong]), dtype)
    for request in (rows, rows[::-1]):
        if wrong is None:
            assert normalise(request, LENGTH).tolist() == request.tolist()  # type: ignore[union-attr]
        else:
            with pytest.raises(RequestError, match=f"for example {wrong};"):
                normalise(request, LENGTH)


@pytest.mark.parametrize("bad", [-1, 6, 2**64, -(2**64)])
def test_single_indices_are_checked(bad: int) -> None:
    assert normalise(5, LENGTH) == 5
    with pytest.raises(RequestError, match=f"for example {bad};"):
        normalise(bad, LENGTH)
    for odd in (True, False, numpy.True_, 1.0, "1"):
        with pytest.raises(ValueError, match="cannot answer"):
            normalise(odd, LENGTH)


def test_a_masked_index_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot answer"):
        normalise(numpy.ma.array([1, 2], mask=[False, True]), LENGTH)


def test_a_container_that_changed_its_length_is_noticed() -> None:
    words, numbers = ["a", "b"], [1, 2]
    dataset = IndexableDataset({"x": words, "y": numbers})
    for container in (words, numbers):
        container.append(3)  # type: ignore[attr-defined]
        if len(words) != len(numbers):
            with pytest.raises(ValueError, match=r"same length, got \[2, 3\]; one of them"):
                dataset.get_data(request=0)
    assert dataset.num_examples == 3
    assert dataset.get_data(request=2) == (3, 3)
