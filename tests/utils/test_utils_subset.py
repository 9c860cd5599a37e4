"""Laws of subsets, case by case, on lists, arrays and real HDF5 files."""

from __future__ import annotations

import pickle

import h5py
import numpy
import pytest

from fuel.exceptions import RequestError
from fuel.utils import Subset, iterable_fancy_indexing


@pytest.fixture
def hdf5_rows(tmp_path):
    with h5py.File(tmp_path / "rows.hdf5", "w") as file:
        file["rows"] = numpy.arange(40).reshape(20, 2)
        yield file["rows"]


ROWS = numpy.arange(40).reshape(20, 2)


# Construction


def test_lists_are_sorted_and_unique():
    subset = Subset([7, 0, 3, 3], 10)
    assert subset.list_or_slice == [0, 3, 7]
    assert all(type(index) is int for index in subset.list_or_slice)
    assert subset.is_list and subset.num_examples == 3 and not subset.is_empty
    assert subset.original_num_examples == 10


def test_a_list_without_gaps_becomes_a_slice():
    assert Subset([4, 2, 3, 2], 10).list_or_slice == slice(2, 5, None)
    assert Subset([9], 10).list_or_slice == slice(9, 10, None)


def test_an_empty_list_stays_a_list():
    subset = Subset([], 10)
    assert subset.list_or_slice == [] and subset.is_list and subset.is_empty
    assert subset.num_examples == 0
    assert Subset.empty_subset(10).list_or_slice == []
    assert Subset.empty_subset(0).is_empty


@pytest.mark.parametrize(
    "indices",
    [
        (0, 3, 7),
        numpy.array([7, 3, 0]),
        numpy.array([0, 3, 7], dtype=numpy.uint8),
        [numpy.int64(0), numpy.int32(3), 7],
        numpy.isin(numpy.arange(10), [0, 3, 7]),
    ],
)
def test_other_forms_of_indices(indices):
    subset = Subset(indices, 10)
    assert subset.list_or_slice == [0, 3, 7]
    assert all(type(index) is int for index in subset.list_or_slice)


def test_ranges_and_empty_arrays():
    assert Subset(range(2, 5), 10).list_or_slice == slice(2, 5, None)
    assert Subset(numpy.array([]), 10).is_empty
    assert Subset(numpy.zeros(10, dtype=bool), 10).is_empty


@pytest.mark.parametrize(
    "bad",
    [
        [-1, 2],
        [3, 10],
        [0, 1.5],
        ["0"],
        [True, False],
        "012",
        None,
        {0, 1},
        numpy.array([[1]]),
        numpy.array([1.5]),
        numpy.ones(9, dtype=bool),
        slice(-1, 5),
        slice(0, -1),
        slice(0, 5, -1),
        slice(0, 5, 2),
        slice(0, 5, 0),
        slice(0, 11),
        slice(10, 10),
        slice(10, None),
        slice(5, 4),
        slice(0.0, 4),
    ],
)
def test_what_is_not_a_subset_is_refused(bad):
    with pytest.raises(ValueError):
        Subset(bad, 10)


def test_one_integer_is_not_a_subset():
    with pytest.raises(TypeError, match=r"use `\[3\]`"):
        Subset(3, 10)


@pytest.mark.parametrize(
    ("slice_", "size"),
    [
        (slice(0, 0), 0),
        (slice(3, 3), 0),
        (slice(None), 10),
        (slice(2, None), 8),
        (slice(None, 4, 1), 4),
        (slice(numpy.int64(2), numpy.int64(4)), 2),
    ],
)
def test_slices_are_kept(slice_, size):
    subset = Subset(slice_, 10)
    assert subset.list_or_slice is slice_
    assert not subset.is_list
    assert subset.num_examples == size
    assert subset.is_empty == (size == 0)
    assert len(subset.get_list_representation()) == size


def test_an_empty_collection_has_an_empty_subset():
    for slice_ in (slice(None), slice(0, 0)):
        assert Subset(slice_, 0).is_empty


# Adding


def test_only_subsets_of_one_collection_can_be_added():
    with pytest.raises(ValueError, match="10 and 11"):
        Subset([1], 10) + Subset([1], 11)
    with pytest.raises(TypeError):
        Subset([1], 10) + [2]


def test_an_empty_left_operand_gives_the_right_one():
    right = Subset([1, 3], 10)
    assert Subset([], 10) + right is right
    assert Subset(slice(0, 0), 10) + right is right


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        (slice(0, 4, 1), slice(4, 7, 1), slice(0, 7, 1)),
        (slice(4, 7), slice(0, 4), slice(0, 7, None)),
        (slice(0, 5), slice(2, 4, 1), slice(0, 5, None)),
        (slice(None, 5), slice(5, None), slice(0, 10, None)),
        (slice(0, 2), slice(4, 6), [0, 1, 4, 5]),
        (slice(0, 2), [4, 2], [0, 1, 2, 4]),
        ([0, 3], [5, 3], [0, 3, 5]),
        ([0, 3], slice(1, 3), slice(0, 4, None)),
        (slice(2, 4), [], slice(2, 4, None)),
    ],
)
def test_sums(left, right, result):
    assert (Subset(left, 10) + Subset(right, 10)).list_or_slice == result


# Translating


def test_all_of_it_is_the_description_itself():
    for description in ([0, 3, 7], slice(1, 4), []):
        subset = Subset(description, 10)
        assert subset[slice(None)] is subset.list_or_slice


def test_slices_of_slices():
    assert Subset(slice(1, 14), 16)[slice(1, 4, 2)] == slice(2, 5, 2)
    assert Subset(slice(2, None), 10)[slice(None, 3)] == slice(2, 5, 1)
    assert Subset(slice(None), 10)[slice(3, None)] == slice(3, 10, 1)


def test_slices_of_lists():
    assert Subset([0, 2, 5, 9], 10)[slice(1, 4, 2)] == [2, 9]


def test_lists_are_translated_in_the_order_given_with_repetitions():
    assert Subset(slice(1, 14), 16)[[3, 0, 3]] == [4, 1, 4]
    assert Subset([0, 2, 5], 10)[[2, 0, 2]] == [5, 0, 5]
    assert Subset([0, 2, 5], 10)[(2, 0)] == [5, 0]
    assert Subset([0, 2, 5], 10)[range(2)] == [0, 2]


def test_arrays_are_translated_to_arrays():
    for subset in (Subset([0, 2, 5], 10), Subset(slice(0, 3), 10)):
        key = numpy.array([2, 0, 2], dtype=numpy.uint8)
        result = subset[key]
        assert isinstance(result, numpy.ndarray) and result.dtype == numpy.int64
        assert result.tolist() == subset[[2, 0, 2]]
        mask = numpy.array([True, False, True])
        assert subset[mask].tolist() == subset[[0, 2]]


def test_integers_are_translated_to_integers():
    assert Subset([0, 2, 5], 10)[2] == 5
    assert Subset(slice(3, 6), 10)[numpy.int64(2)] == 5
    assert Subset(slice(3, 6), 10)[numpy.array(2)] == 5


BAD_REQUESTS = [
    [],
    (),
    numpy.array([], dtype=int),
    numpy.zeros(3, dtype=bool),
    numpy.ones(4, dtype=bool),
    numpy.array([[0]]),
    numpy.array([0.5]),
    [-1],
    [0, -1],
    [3],
    numpy.array([3]),
    -1,
    3,
    [0.0],
    ["0"],
    [[0]],
    [None],
    [True, False, True],
    "0",
    None,
    1.0,
    {0},
    slice(-1, 2),
    slice(0, -1),
    slice(0, 2, -1),
    slice(0, 2, 0),
    slice(0, 4),
    slice(3, None),
    slice(2, 2),
    slice(2, 1),
    slice("a", None),
]


@pytest.mark.parametrize("request_", BAD_REQUESTS, ids=repr)
@pytest.mark.parametrize("description", [slice(2, 5), [0, 3, 7]], ids=repr)
def test_bad_requests_are_refused(description, request_):
    subset = Subset(description, 10)
    with pytest.raises(RequestError) as caught:
        subset[request_]
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, IndexError)
    with pytest.raises(RequestError):
        subset.index_within_subset(numpy.arange(10), request_)


def test_messages_say_what_came_and_what_is_there():
    subset = Subset([0, 3, 7], 10)
    with pytest.raises(RequestError, match=r"example 5 was requested, but there are only 3"):
        subset[[0, 5]]
    with pytest.raises(RequestError, match=r"example -2 was requested; indices count from 0"):
        subset[[0, -2]]
    with pytest.raises(RequestError, match=r"slice\(0, 9, None\).*only 3 examples"):
        subset[slice(0, 9)]


def test_private_checks_that_subclasses_use():
    subset = Subset([0, 3, 7], 10)
    assert subset._list_request_sanity_check([0, 4], 5) is None
    assert subset._slice_request_sanity_check(slice(0, 5), 5) is None
    for indices in ([], [-1], [5]):
        with pytest.raises(ValueError):
            subset._list_request_sanity_check(indices, 5)
    for slice_ in (slice(-1, 2), slice(0, 6), slice(5, 6), slice(2, 2), slice(0, 2, -1)):
        with pytest.raises(ValueError):
            subset._slice_request_sanity_check(slice_, 5)


def test_subset_of():
    outer = Subset(slice(2, 8), 10)
    inner = Subset.subset_of(outer, [5, 0])
    assert inner.list_or_slice == [2, 7] and inner.original_num_examples == 10
    assert Subset.subset_of(outer, slice(1, 3)).get_list_representation() == [3, 4]
    assert Subset.subset_of(outer, slice(None)).list_or_slice == slice(2, 8)
    assert Subset.subset_of(outer, numpy.array([0, 1])).list_or_slice == slice(2, 4, None)
    for bad in ([6], slice(0, 7), []):
        with pytest.raises(ValueError):
            Subset.subset_of(outer, bad)


def test_slice_to_numerical_args():
    assert Subset.slice_to_numerical_args(slice(None), 7) == (0, 7, 1)
    assert Subset.slice_to_numerical_args(slice(2, 5, 3), 7) == (2, 5, 3)


# Reading


def test_sorted_fancy_indexing_keeps_order_and_repetitions(hdf5_rows):
    for request in ([5, 1, 9], [3, 3, 0, 3], [4], [4, 4], numpy.array([7, 2, 7])):
        expected = ROWS[list(request)]
        numpy.testing.assert_array_equal(Subset.sorted_fancy_indexing(hdf5_rows, request), expected)
        numpy.testing.assert_array_equal(Subset.sorted_fancy_indexing(ROWS, request), expected)


@pytest.mark.parametrize("description", [slice(5, 15), [0, 3, 7, 8, 9, 19]], ids=repr)
@pytest.mark.parametrize(
    "request_", [0, 5, slice(1, 4), slice(0, 6, 2), slice(None), [4, 0, 5, 4], numpy.array([2, 1])]
)
def test_on_disk_and_in_memory_agree(hdf5_rows, description, request_):
    subset = Subset(description, 20)
    expected = ROWS[subset.get_list_representation()][request_]
    for indexable in (hdf5_rows, ROWS):
        read = subset.index_within_subset(indexable, request_, sort_indices=True)
        numpy.testing.assert_array_equal(read, expected)
    as_list = subset.index_within_subset(ROWS.tolist(), request_, sort_indices=True)
    assert as_list == expected.tolist()


def test_an_unsorted_list_is_passed_to_hdf5_as_it_is_unless_sorting_is_asked_for(hdf5_rows):
    with pytest.raises(TypeError):
        Subset(slice(0, 20), 20).index_within_subset(hdf5_rows, [5, 1])


def test_any_request_into_an_empty_subset_is_refused():
    for empty in (Subset([], 10), Subset(slice(0, 0), 10)):
        for request in (0, [0], slice(None), slice(0, 1), [], numpy.array([0])):
            with pytest.raises(ValueError, match="empty subset"):
                empty.index_within_subset(numpy.arange(10), request)


def test_lists_give_a_list_of_items():
    assert Subset([0, 2], 4).index_within_subset(list("abcd"), slice(None)) == ["a", "c"]
    assert Subset([0, 2], 4).index_within_subset("abcd", 1) == "c"


def test_a_labelled_column_is_read_by_position():
    class Column:
        shape = (3,)
        iloc = None

        def __getitem__(self, index):
            assert not isinstance(index, list)
            return index * 10

    assert Subset(slice(0, 3), 3).index_within_subset(Column(), [2, 1]) == [20, 10]


def test_iterable_fancy_indexing(hdf5_rows):
    assert iterable_fancy_indexing("abc", [2, 0, 2]) == ["c", "a", "c"]
    assert iterable_fancy_indexing([1, 2, 3], slice(1, None)) == [2, 3]
    assert iterable_fancy_indexing([1, 2, 3], 1) == 2
    assert iterable_fancy_indexing(numpy.arange(5) * 2, [4, 0]).tolist() == [8, 0]
    assert iterable_fancy_indexing(hdf5_rows, [1, 3]).tolist() == [[2, 3], [6, 7]]


def test_subsets_pickle():
    subset = pickle.loads(pickle.dumps(Subset([0, 3, 7], 10)))
    assert subset.list_or_slice == [0, 3, 7] and subset.original_num_examples == 10
