"""Subsets against a model: a plain, sorted list of indices."""

from __future__ import annotations

import numpy
from hypothesis import given
from hypothesis import strategies as st

from fuel.exceptions import RequestError
from fuel.utils import Subset


@st.composite
def described(draw, size=None):
    """Return (description, the indices it stands for, size of the collection)."""
    size = draw(st.integers(1, 30)) if size is None else size
    if draw(st.booleans()):
        start = draw(st.integers(0, size - 1))
        stop = draw(st.integers(start, size))
        shown = (
            None if start == 0 and draw(st.booleans()) else start,
            None if stop == size and draw(st.booleans()) else stop,
            draw(st.sampled_from([None, 1])),
        )
        return slice(*shown), list(range(start, stop)), size
    indices = draw(st.lists(st.integers(0, size - 1), max_size=12))
    form = draw(st.sampled_from([list, tuple, numpy.array]))
    return form(indices), sorted(set(indices)), size


requests = st.one_of(
    st.integers(-3, 33),
    st.lists(st.integers(-2, 33), max_size=6),
    st.lists(st.integers(0, 5), max_size=6).map(tuple),
    st.lists(st.integers(0, 8), max_size=6).map(lambda indices: numpy.array(indices, dtype=int)),
    st.lists(st.booleans(), max_size=12).map(lambda mask: numpy.array(mask, dtype=bool)),
    st.builds(
        slice,
        st.none() | st.integers(-2, 33),
        st.none() | st.integers(-2, 33),
        st.none() | st.integers(-1, 4),
    ),
)


def model_read(members, request):
    """Read from the list of members, or return None where the request is to be refused."""
    size = len(members)
    if size == 0:
        return None
    if isinstance(request, slice):
        if request == slice(None):
            return list(members)
        start, stop, step = Subset.slice_to_numerical_args(request, size)
        if min(start, stop) < 0 or step < 1 or stop > size or start >= min(size, stop):
            return None
        return members[request]
    if isinstance(request, int):
        return members[request] if 0 <= request < size else None
    if isinstance(request, numpy.ndarray) and request.dtype.kind == "b":
        if len(request) != size or not request.any():
            return None
        return [member for member, wanted in zip(members, request) if wanted]
    if len(request) == 0 or min(request) < 0 or max(request) >= size:
        return None
    return [members[index] for index in request]


@given(described())
def test_a_description_stands_for_its_indices(case):
    description, members, size = case
    subset = Subset(description, size)
    assert subset.get_list_representation() == members
    assert subset.num_examples == len(members)
    assert subset.is_empty == (not members)


@given(described(), requests, st.sampled_from(["list", "array"]), st.booleans())
def test_reading_is_indexing_the_list_of_members(case, request, kind, sort_indices):
    description, members, size = case
    collection = numpy.arange(size) * 10
    expected = model_read([member * 10 for member in members], request)
    indexable = collection if kind == "array" else collection.tolist()
    subset = Subset(description, size)
    try:
        read = subset.index_within_subset(indexable, request, sort_indices=sort_indices)
    except RequestError:
        assert expected is None
        return
    assert expected is not None
    assert isinstance(read, numpy.ndarray) or kind == "list" or isinstance(request, int)
    assert numpy.asarray(read).tolist() == expected


@given(described(size=20), described(size=20))
def test_a_sum_is_the_union(left, right):
    total = Subset(left[0], 20) + Subset(right[0], 20)
    assert total.get_list_representation() == sorted({*left[1], *right[1]})


@given(described(), st.data())
def test_a_subset_of_a_subset_is_its_part(case, data):
    description, members, size = case
    if not members:
        return
    chosen = data.draw(st.lists(st.integers(0, len(members) - 1), min_size=1))
    inner = Subset.subset_of(Subset(description, size), chosen)
    assert inner.get_list_representation() == sorted({members[index] for index in chosen})
