"""Views are lazy, compose, pickle, and show what they are: subsets, maps, joins, random orders."""

from __future__ import annotations

import itertools
import math
import pickle
from collections import namedtuple
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuel.config_parser import config
from fuel.exceptions import RequestError
from fuel.observations import (
    BatchView,
    ObsView,
    filterobs,
    getobs,
    groupobs,
    joinobs,
    kfolds,
    mapobs,
    numobs,
    obsview,
    randobs,
    shuffleobs,
    slidingwindow,
    splitobs,
)


class Counting:
    """A container that counts what is asked of it."""

    def __init__(self, count: int) -> None:
        self.count, self.asked = count, []

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> int:
        self.asked.append(index)
        return index


class NotHere:
    """A container whose data must not be touched."""

    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> Any:
        raise AssertionError("touched")


def double(value: Any) -> Any:
    return value * 2


def negate(value: Any) -> Any:
    return -value


CHOICES = st.one_of(
    st.lists(st.integers(0, 99)).map(lambda rows: lambda n: [row % n for row in rows] if n else []),
    st.tuples(st.integers(0, 12), st.integers(0, 12), st.integers(1, 4)).map(
        lambda t: lambda n: range(min(t[0], n), min(t[1], n), t[2])
    ),
    st.integers(1, 3).map(lambda step: lambda n: range(n - 1, -1, -step)),
    st.integers(0, 2**12 - 1).map(
        lambda bits: lambda n: numpy.array([bits >> i & 1 for i in range(n)], bool)
    ),
    st.just(lambda n: slice(None)),
)


def listed(indices: Any, count: int) -> list[int]:
    return numpy.arange(count)[numpy.asarray(indices, None if len(indices) else int)].tolist()


@settings(deadline=None)
@given(st.integers(0, 12), st.lists(CHOICES, max_size=4))
def test_views_of_views_are_indices_of_indices(count: int, choices: list[Any]) -> None:
    base = numpy.arange(100, 100 + count)
    view, expected = ObsView(base), list(range(100, 100 + count))
    for choose in choices:
        indices = choose(len(expected))
        if isinstance(indices, slice):
            expected = expected[indices]
        else:
            expected = [expected[place] for place in listed(indices, len(expected))]
        view = ObsView(view, indices)
        assert view.data is base  # never a view of a view
    assert [int(each) for each in view] == getobs(view).tolist() == expected
    assert numpy.asarray(view).tolist() == expected and len(view) == numobs(view) == len(expected)
    if expected:
        assert view[range(len(expected))].tolist() == expected
        places = [len(expected) - 1, 0]
        assert view[places].tolist() == [expected[place] for place in places]
        assert view[::2].tolist() == expected[::2]


def test_stretches_of_stretches_stay_stretches() -> None:
    outer = ObsView(range(100), range(90, 9, -4))
    for inner in (range(1, 20, 3), range(18, 0, -5), range(7, 8), range(20, -1, -2)):
        view = ObsView(outer, inner)
        assert isinstance(view.indices, range)
        assert list(view) == [90 - 4 * place for place in inner]


def test_views_of_a_structure_keep_the_structure() -> None:
    pair = namedtuple("pair", "x y")
    x, y = numpy.arange(10), list("abcdefghij")
    first, second = obsview((x, (y, x)), [3, 1])
    assert isinstance(first, ObsView) and type(second) is tuple
    assert list(first) == [3, 1] and list(second[0]) == ["d", "b"]
    named = obsview(pair(x, y), slice(0, 2))
    assert type(named) is pair and list(named.y) == ["a", "b"]
    assert getobs(obsview({"x": x, "y": y}, [9]), 0) == {"x": 9, "y": "j"}
    one = ObsView((x, y), [3, 1])
    assert len(one) == 2 and one[0] == (3, "d") and [each[1] for each in one] == ["d", "b"]


def test_views_touch_no_data_before_they_are_asked() -> None:
    data = (NotHere(), NotHere())
    for view in (
        obsview(obsview(data, [1, 2]), [0]),
        shuffleobs(data),
        splitobs(data, at=(0.2, 0.3), shuffle=True),
        kfolds(data, 3)[1],
        mapobs(double, data),
        mapobs((double, double), data),
        mapobs({"a": double}, data),
        joinobs(data, data),
        slidingwindow(data, 3),
        BatchView(data, 4),
    ):
        assert repr(view)


def test_only_what_is_asked_for_is_fetched() -> None:
    data = Counting(100)
    chain = BatchView(mapobs(double, shuffleobs(splitobs(data, at=0.5)[1]), batched="never"), 4)
    assert data.asked == []
    batch = chain[3]
    assert sorted(batch) == sorted(2 * index for index in data.asked) and len(data.asked) == 4
    data.asked.clear()
    assert joinobs(data, Counting(3))[[1, 2]] == [1, 2] == data.asked


def test_the_indices_of_a_view_are_its_own() -> None:
    indices = numpy.array([1, 2])
    view = ObsView(list("abc"), indices)
    indices[:] = 0
    assert list(view) == ["b", "c"]
    with pytest.raises(ValueError, match="read-only"):
        view.indices[0] = 0


def test_a_view_of_consecutive_observations_takes_no_memory() -> None:
    train, rest = splitobs(range(10**12), at=0.5)
    inner = ObsView(ObsView(rest, range(10**11)), slice(5, 10**10))
    assert len(pickle.dumps((train, inner))) < 500
    assert inner[0] == 10**12 // 2 + 5


@pytest.mark.parametrize("indices", [[5], [-1], range(3, 7), range(4, -2, -1), slice(0, 6)])
def test_views_cannot_be_of_what_is_not_there(indices: Any) -> None:
    for make in (obsview, ObsView):
        with pytest.raises(RequestError, match="the data has 5 examples"):
            make(range(5), indices)


@pytest.mark.parametrize("indices", [2, 1.5, numpy.int64(2), numpy.array(2)])
def test_one_index_is_no_view(indices: Any) -> None:
    with pytest.raises(ValueError, match="must be several"):
        obsview(range(5), indices)


def test_every_view_pickles() -> None:
    x, y = numpy.arange(12).reshape(6, 2), list("abcdef")
    data = {"x": x, "y": numpy.arange(6)}
    for view in (
        obsview((x, y), [2, 1]),
        shuffleobs(x, seed=3),
        mapobs(double, x),
        mapobs({"a": double, "b": negate}, data["y"]),
        joinobs(x, x),
        slidingwindow(data, 2),
        BatchView(data, 4, collate=False),
    ):
        again = pickle.loads(pickle.dumps(view))
        assert repr(again) == repr(view) and numobs(again) == numobs(view)
        assert repr(getobs(again, 1)) == repr(getobs(view, 1))
    train, _ = pickle.loads(pickle.dumps(kfolds(x, 3, shuffle=True)))[2]
    assert repr(getobs(train)) == repr(getobs(kfolds(x, 3, shuffle=True)[2][0]))


def test_a_view_shows_its_chain_and_no_data() -> None:
    data = (numpy.zeros((10, 2), "float32"), ["secret"] * 10)
    assert repr(ObsView(data, [1])) == (
        "ObsView((float32 array (10, 2), list of 10), 1 of 10 observations)"
    )
    chain = BatchView(mapobs(double, ObsView(data, [1, 2]), batched="never"), 2, collate=True)
    assert repr(chain) == (
        "BatchView(mapobs(double, ObsView((float32 array (10, 2), list of 10), 2 of 10 "
        "observations), batched='never'), batch_size=2, partial=True, collate=True)"
    )
    assert repr(slidingwindow(range(11, 31), 6)) == (
        "slidingwindow(range(11, 31), size=6, stride=1)"
    )
    assert repr(kfolds({"x": data[1]}, 5)) == "kfolds({'x': list of 10}, 5 folds)"
    assert repr(mapobs({"a": double}, (data[1],))) == (
        "mapobs({'a': double}, (list of 10,), batched='auto')"
    )


@settings(deadline=None)
@given(st.lists(st.integers(-9, 9)), st.integers(1, 4))
def test_filters_and_groups_choose_by_every_observation(values: list[int], modulus: int) -> None:
    kept = filterobs(lambda value: value % modulus == 0, values)
    assert list(kept) == [value for value in values if value % modulus == 0]
    groups = groupobs(lambda value: value % modulus, values)
    assert list(groups) == list(dict.fromkeys(value % modulus for value in values))
    for key, group in groups.items():
        assert list(group) == [value for value in values if value % modulus == key]
    assert sum(map(numobs, groups.values())) == len(values)


def test_filters_see_whole_observations_and_keep_the_structure() -> None:
    x, y = filterobs(lambda pair: pair[1] != "b", (numpy.arange(3), list("abc")))
    assert list(x) == [0, 2] and list(y) == ["a", "c"]
    groups = groupobs(lambda each: each["y"], {"x": numpy.arange(3), "y": [1, 0, 1]})
    assert list(groups[1]["x"]) == [0, 2]
    for call in (filterobs, groupobs):
        with pytest.raises(TypeError, match="function comes first"):
            call([1], double)


@settings(deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=4), st.data())
def test_joined_containers_are_one_long_one(lengths: list[int], data: st.DataObject) -> None:
    starts = numpy.cumsum([0, *lengths])
    whole = numpy.arange(2 * starts[-1]).reshape(-1, 2)
    parts = [whole[a:b] for a, b in itertools.pairwise(starts)]
    joined = joinobs(*({"x": part, "n": list(map(tuple, part.tolist()))} for part in parts))
    assert numobs(joined) == len(whole)
    if len(whole):
        rows = data.draw(st.lists(st.integers(0, len(whole) - 1), min_size=1))
        start = data.draw(st.integers(0, len(whole) - 1))
        for request in (rows, slice(start, len(whole)), slice(0, start + 1, 2), start):
            fetched = getobs(joined, request)
            numpy.testing.assert_array_equal(fetched["x"], whole[request])
            numpy.testing.assert_array_equal(fetched["n"], whole[request])
            assert isinstance(fetched["n"], tuple if isinstance(request, int) else list)
    numpy.testing.assert_array_equal(getobs(joined)["x"], whole)


def test_joined_containers_may_be_of_several_kinds() -> None:
    joined = joinobs(range(3), ["a"], mapobs(double, range(2), batched="never"))
    assert getobs(joined, [5, 3, 0]) == [2, "a", 0] and list(joined) == [0, 1, 2, "a", 0, 2]
    out = numpy.empty(2, int)
    assert getobs(joinobs(numpy.arange(2), numpy.arange(5, 7)), [3, 0], out=out) is out
    assert out.tolist() == [6, 0]
    ragged = numpy.fromiter([numpy.zeros(1), numpy.zeros(2)], object, 2)
    assert [len(each) for each in joinobs(ragged, ragged)[[3, 0]]] == [2, 1]


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        (numpy.zeros(2), numpy.zeros(2, int), "0 and 1 cannot.*type float64, one of int64"),
        ({"x": numpy.zeros((2, 3))}, {"x": numpy.zeros((2, 4))}, r"at \['x'\].*\(3,\).*\(4,\)"),
        ((numpy.zeros(2),), (numpy.zeros(2),) * 2, r"parts \[0\], one \[0, 1\]"),
        ((numpy.zeros(2),), numpy.zeros(2), "one is a tuple, one a ndarray"),
    ],
)
def test_containers_of_different_forms_are_not_joined(one: Any, other: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        joinobs(one, other)
    with pytest.raises(ValueError, match="joined containers"):
        getobs(joinobs(ObsView(one), ObsView(other)), [0, 3])


def test_nothing_is_not_joined() -> None:
    with pytest.raises(ValueError, match="at least one"):
        joinobs()


@settings(deadline=None)
@given(st.integers(1, 9), st.data())
def test_the_three_ways_of_calling_a_function_agree(count: int, data: st.DataObject) -> None:
    base = numpy.arange(2.0 * count).reshape(count, 2)
    rows = data.draw(st.lists(st.integers(0, count - 1), min_size=1))
    expected = base[rows] * 2
    for batched in ("auto", "never", "always"):
        mapped = mapobs(double, base, batched=batched)
        assert len(mapped) == count
        fetched = getobs(mapped, rows)
        assert isinstance(fetched, list) == (batched == "never")
        numpy.testing.assert_array_equal(fetched, expected)
        numpy.testing.assert_array_equal(mapped[rows[0]], expected[0])
        numpy.testing.assert_array_equal(getobs(ObsView(mapped, rows), 0), expected[0])
        twice = mapobs(negate, mapobs(double, base, batched=batched), batched="never")
        numpy.testing.assert_array_equal(twice[rows], -expected)


def test_a_function_gets_what_it_is_to_get() -> None:
    seen: list[Any] = []

    def look(value: Any) -> Any:
        seen.append(value if isinstance(value, int) else list(value))
        return value

    for batched, expected in (
        ("auto", [1, [2, 0]]),
        ("never", [1, 2, 0]),
        ("always", [[1], [2, 0]]),
    ):
        seen.clear()
        mapped = mapobs(look, [0, 1, 2], batched=batched)
        assert (mapped[1], mapped[[2, 0]]) == (1, [2, 0]) and seen == expected


def test_tuples_and_dicts_of_functions_make_containers_of_their_form() -> None:
    fs = namedtuple("fs", "x y")
    data = numpy.arange(1.0, 11.0)
    first, second = mapobs((numpy.sqrt, numpy.log), data)
    assert first[3] == 2.0 and second[0] == 0.0
    named = mapobs(fs(numpy.sqrt, numpy.log), data)
    assert getobs(named, 9) == fs(math.sqrt(10), numpy.log(10.0)) and getobs(named.x, 8) == 3.0
    columns = mapobs({"x": numpy.sqrt, "y": numpy.log}, data)
    assert numobs(columns) == len(columns) == 10
    assert columns[9] == getobs(columns, 9) == {"x": math.sqrt(10), "y": numpy.log(10.0)}
    assert columns["x"][8] == columns.x[8] == 3.0 and list(getobs(columns, [0, 3])["x"]) == [1, 2]
    with pytest.raises(KeyError, match=r"names are \['x', 'y'\], got 'z'"):
        columns["z"]
    with pytest.raises(AttributeError):
        columns.z


def test_the_functions_of_a_dict_share_one_fetch() -> None:
    data = Counting(5)
    assert mapobs({"a": double, "b": negate}, data)[3] == {"a": 6, "b": -3}
    assert data.asked == [3]


def test_functions_may_change_what_they_get() -> None:
    data = numpy.zeros((4, 2))

    def spoil(value: Any) -> Any:
        value += 1
        return value

    for batched in ("auto", "never", "always"):
        mapped = mapobs(spoil, data, batched=batched)
        mapped[0], mapped[[1, 2]]
    assert not data.any()


def test_what_cannot_be_mapped_is_refused() -> None:
    for wrong in ([1], (double, 3), {"a": 1}, {}, (), {1: double}):
        with pytest.raises(TypeError, match="function"):
            mapobs(wrong, [1])
    with pytest.raises(ValueError, match="'auto', 'never' or 'always', got 'sometimes'"):
        mapobs(double, [1], batched="sometimes")
    with pytest.raises(ValueError, match="batch of 2 observations and returned 1"):
        mapobs(lambda batch: batch[:1], [1, 2], batched="always")[[0, 1]]
    with pytest.raises(TypeError, match="container"):
        mapobs(double, 3)


@settings(deadline=None)
@given(st.integers(0, 30), st.integers())
def test_a_shuffle_is_an_order_of_its_seed(count: int, seed: int) -> None:
    x, n = shuffleobs((numpy.arange(count), range(count)), seed=seed)
    assert sorted(x) == list(range(count)) and list(x) == list(n)
    assert list(x) == list(shuffleobs(range(count), seed=seed))


def test_draws_follow_the_seed_and_nothing_global() -> None:
    numpy.random.seed(0)
    before = numpy.random.get_state()[1].tolist()
    default = list(shuffleobs(range(20)))
    assert default == list(shuffleobs(range(20), seed=config.default_seed))
    assert default != list(shuffleobs(range(20), seed=config.default_seed + 1))
    first, second = splitobs(range(20), at=0.5, shuffle=True)
    assert [*first, *second] != default  # another purpose, other luck
    assert randobs(range(10**9)) == randobs(range(10**9)) != randobs(range(10**9), seed=5)
    assert numpy.random.get_state()[1].tolist() == before
    rng, same = numpy.random.default_rng(3), numpy.random.default_rng(3)
    first, second = list(shuffleobs(range(20), rng=rng)), list(shuffleobs(range(20), rng=rng))
    assert first != second and first == list(shuffleobs(range(20), rng=same))


def test_random_observations_are_observations() -> None:
    data = {"x": numpy.arange(10), "y": [str(number) for number in range(10)]}
    rng = numpy.random.default_rng(1)
    for _ in range(20):
        one = randobs(data, rng=rng)
        assert str(one["x"]) == one["y"]
    many = randobs(data, 50, rng=rng)
    assert list(map(str, many["x"])) == many["y"] and len(set(many["y"])) > 5
    with pytest.raises(RequestError, match="empty"):
        randobs([])
    with pytest.raises(ValueError, match="positive"):
        randobs([1], 0)


def test_wrong_sources_of_luck_are_refused() -> None:
    with pytest.raises(ValueError, match="say the same thing"):
        shuffleobs([1], seed=1, rng=numpy.random.default_rng())
    with pytest.raises(TypeError, match="numpy.random.Generator"):
        shuffleobs([1], rng=numpy.random.RandomState(1))
    with pytest.raises(TypeError, match="integer"):
        randobs([1], seed="a")
