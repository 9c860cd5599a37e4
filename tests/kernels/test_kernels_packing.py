"""Laws of sequences in a row: NumPy's own way of putting them there gives the same."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuel.kernels import _packing_reference, packing
from fuel.kernels import _ragged_reference as plain


def zero(dtype: Any) -> int:
    return 0


@given(st.lists(st.integers(0, 9), max_size=12), st.integers(0, 5))
def test_runs_number_the_places(lengths: list[int], rest: int) -> None:
    width = sum(lengths) + rest
    numbers, places = packing.runs(lengths, width)
    assert numbers.dtype == places.dtype == numpy.int32
    wanted = [number for number, length in enumerate(lengths, 1) for _ in range(length)]
    assert numbers.tolist() == wanted + [0] * rest
    assert places.tolist() == [i for length in lengths for i in range(length)] + [0] * rest
    others = numpy.full(width, 9, "int32"), numpy.full(width, 9, "int32")
    _packing_reference.runs(lengths, *others)
    assert [one.tolist() for one in others] == [numbers.tolist(), places.tolist()]


@given(
    st.lists(st.integers(0, 9), max_size=12),
    st.integers(0, 5),
    st.sampled_from(["uint8", "int32", "float64", "complex64", "bool"]),
    st.sampled_from([(), (2,), (2, 0)]),
    st.integers(0, 1),
)
def test_a_row_holds_the_sequences_and_padding(
    lengths: list[int], rest: int, dtype: str, shape: Any, value: int
) -> None:
    sequences = [numpy.full((n, *shape), i % 2, dtype) for i, n in enumerate(lengths)]
    sequences = [one if len(one) else numpy.zeros(0) for one in sequences]
    width = sum(lengths) + rest
    asked = []
    found = packing.row(sequences, width, lambda type_: (asked.append(type_), value)[1])
    if found is None:
        assert not sum(lengths) or 0 in shape or packing._kernel is _packing_reference
        return
    assert asked == [numpy.dtype(dtype)]
    wanted = numpy.full((width, *shape), value, dtype)
    plain.scan([one for one in sequences if len(one)]).join(wanted[: sum(lengths)])
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    numpy.testing.assert_array_equal(found, wanted)
    assert all(not numpy.shares_memory(found, one) for one in sequences)


@pytest.mark.parametrize(
    "sequences",
    [
        [],
        [[1, 2]],
        [numpy.zeros(0)],
        [numpy.zeros(2), numpy.zeros(2, "f4")],
        [numpy.zeros((2, 2)), numpy.zeros((2, 3))],
        [numpy.zeros(4)[::2]],
        [numpy.array([None, 1])],
        [numpy.zeros(2, ">f8" if numpy.little_endian else "<f8")],
    ],
)
def test_what_is_not_alike_is_left_to_numpy(sequences: Any) -> None:
    assert packing.row(sequences, 9, zero) is None


def test_who_does_not_know_what_to_pad_with_gets_nothing() -> None:
    assert packing.row([numpy.zeros(2)], 9, lambda dtype: None) is None


def test_what_does_not_fit_is_refused() -> None:
    if packing._kernel is not _packing_reference:
        with pytest.raises(ValueError, match="5 elements together, more than the row of 4"):
            packing.row([numpy.zeros(3), numpy.zeros(2)], 4, zero)
    for lengths in ([3, 2], [5, -1]):
        with pytest.raises(ValueError, match="together at most 4"):
            packing.runs(lengths, 4)
