"""Batches and windows: views of them, stacking, padding, and the way back."""

from __future__ import annotations

import importlib.util
import warnings
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuel.observations import (
    BatchView,
    ObsView,
    batch,
    batchseq,
    getobs,
    mapobs,
    numobs,
    slidingwindow,
    unbatch,
)


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


shared = load("_containers")
plain = shared.plain
Point = namedtuple("Point", "x y")


@settings(deadline=None)
@given(st.data(), st.integers(1, 12), st.booleans())
def test_batches_cover_the_data_in_order(data: st.DataObject, size: int, partial: bool) -> None:
    container = data.draw(shared.containers())
    count = numobs(container)
    size = min(size, count)
    view = BatchView(container, size, partial=partial)
    starts = range(0, count if partial else count // size * size, size)
    expected = [plain(getobs(container, slice(i, min(i + size, count)))) for i in starts]
    assert plain(list(view)) == expected and len(view) == numobs(view) == len(starts)
    assert plain(view[range(len(view))]) == expected
    assert plain(view[len(view) - 1]) == expected[-1]


@settings(deadline=None)
@given(st.data())
def test_collate_decides_what_becomes_of_the_observations(data: st.DataObject) -> None:
    container = data.draw(shared.containers(min_size=2))
    whole = plain([getobs(container, i) for i in range(2)])
    assert plain(BatchView(container, 2, collate=False)[0]) == whole
    assert plain(BatchView(container, 2, collate=lambda found: {"n": found})[0]) == {"n": whole}


def arrays_of(count: int) -> Any:
    columns = st.sampled_from(["vector", "table", "strided"])
    return st.one_of(
        columns.map(lambda kind: shared.column(kind, count)),
        st.lists(columns.map(lambda kind: shared.column(kind, count)), min_size=1).map(tuple),
    )


@settings(deadline=None)
@given(st.data(), st.integers(1, 9))
def test_collated_batches_are_what_is_fetched_at_once(data: st.DataObject, count: int) -> None:
    container = data.draw(arrays_of(count))
    size = data.draw(st.integers(1, count))
    at_once = getobs(container, range(size))
    for view in (container, ObsView(container), mapobs(lambda each: each, container)):
        stacked = BatchView(view, size, collate=True)[0]
        assert repr(stacked) == repr(at_once)
    assert repr(batch(unbatch(at_once))) == repr(at_once)


def test_a_batch_larger_than_the_data_is_noticed() -> None:
    with pytest.warns(UserWarning, match="`batch_size` is 4, but there are 3") as caught:
        view = BatchView([1, 2, 3], 4)
    assert caught[0].filename == __file__ and list(view) == [[1, 2, 3]]
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("default")
        for _ in range(3):
            BatchView([1, 2, 3], 4)
    assert len(seen) == 1
    with pytest.raises(ValueError, match="partial=False, got 4 for 3 observations"):
        BatchView([1, 2, 3], 4, partial=False)
    assert list(BatchView([], 4)) == []


def test_arguments_of_a_batch_view_are_checked() -> None:
    for size in (0, -1):
        with pytest.raises(ValueError, match=f"positive integer, got {size}"):
            BatchView([1], size)
    for size in (1.0, True, "1", None):
        with pytest.raises(TypeError, match="positive integer"):
            BatchView([1], size)
    with pytest.raises(TypeError, match="`collate` must be None, False, True or a function"):
        BatchView([1], 1, collate="stack")


def test_batches_can_be_fetched_into_arrays() -> None:
    out = numpy.empty((2, 3))
    data = numpy.arange(12.0).reshape(4, 3)
    for view in (BatchView(data, 2), BatchView(mapobs(lambda x: x, data), 2, collate=True)):
        out[:] = 0
        assert getobs(view, 1, out=out) is out and out.tolist() == data[2:].tolist()


@settings(deadline=None)
@given(st.data())
def test_windows_are_slices_of_the_data(data: st.DataObject) -> None:
    container = data.draw(shared.containers())
    count = numobs(container)
    size, stride = data.draw(st.integers(1, count)), data.draw(st.integers(1, 5))
    windows = slidingwindow(container, size, stride=stride)
    starts = range(0, count - size + 1, stride)
    expected = [plain(getobs(container, slice(start, start + size))) for start in starts]
    assert plain(list(windows)) == expected and len(windows) == len(starts)
    rows = data.draw(st.lists(st.integers(0, len(starts) - 1), min_size=1))
    several = plain(windows[rows])
    if isinstance(several, list):
        assert several == [expected[row] for row in rows]
    else:
        assert several == shared.transposed([expected[row] for row in rows])


def test_several_windows_of_arrays_are_one_array() -> None:
    data = numpy.arange(20).reshape(10, 2)
    expected = numpy.lib.stride_tricks.sliding_window_view(data, 4, axis=0).swapaxes(1, 2)
    windows = slidingwindow({"x": data}, 4)
    numpy.testing.assert_array_equal(windows[range(7)]["x"], expected)
    over_view = slidingwindow(ObsView(data, range(9, -1, -1)), 4)
    numpy.testing.assert_array_equal(over_view[[0]][0], data[9:5:-1])
    whole = windows[[0, 1]]["x"]
    whole[...] = 0
    assert data.any()
    stacked = BatchView(slidingwindow(list("abcdef"), 2), 2)[0]
    assert stacked == [["a", "b"], ["b", "c"]]


@pytest.mark.parametrize(("size", "stride"), [(0, 1), (11, 1), (2, 0), (-1, 1)])
def test_windows_that_cannot_be_are_refused(size: int, stride: int) -> None:
    with pytest.raises(ValueError, match="`size` must be|`stride` must be"):
        slidingwindow(range(10), size, stride=stride)


def test_stacking_follows_the_structure() -> None:
    first = {"p": Point(numpy.zeros(2), (1, "a")), "n": [1, 2]}
    second = {"p": Point(numpy.ones(2), (2, "bb")), "n": [3, 4]}
    stacked = batch(each for each in (first, second))
    assert type(stacked["p"]) is Point
    assert stacked["p"].x.tolist() == [[0, 0], [1, 1]] and stacked["n"].tolist() == [[1, 2], [3, 4]]
    assert stacked["p"].y[0].tolist() == [1, 2] and stacked["p"].y[1] == ["a", "bb"]
    assert plain(unbatch(stacked)) == plain([first, second])
    assert batch([numpy.uint8(1), numpy.uint8(2)]).dtype == numpy.uint8
    assert batch([[], []]).shape == (2, 0)
    assert batch([None, None]) == [None, None]


def test_a_stack_is_aligned_and_its_own() -> None:
    arrays = [numpy.arange(3), numpy.arange(3)]
    stacked = batch(arrays)
    assert stacked.ctypes.data % 64 == 0
    stacked[...] = 9
    assert arrays[0].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("observations", "where", "one", "other", "places"),
    [
        ([numpy.zeros(2), numpy.zeros(3)], "", "(2,)", "(3,)", (0, 1)),
        ([[1, 2], [1, 2], [1]], "", "(2,)", "(1,)", (0, 2)),
        ([{"a": (1, [1])}, {"a": (1, [1, 2])}], " at ['a'][1]", "(1,)", "(2,)", (0, 1)),
        ([Point(1, numpy.zeros((1, 2))), Point(1, 1)], " at .y", "(1, 2)", "()", (0, 1)),
    ],
)
def test_shapes_that_differ_are_shown_with_what_to_do(
    observations: Any, where: str, one: str, other: str, places: tuple[int, int]
) -> None:
    with pytest.raises(ValueError) as caught:
        batch(observations)
    message = str(caught.value)
    assert message == (
        f"observations must have one shape to be stacked{where}, got {one} in observation "
        f"{places[0]} and {other} in observation {places[1]}; use `batchseq` or the transformer "
        "`Padding` to pad them, or collate=False to keep them apart"
    )


def test_a_batch_view_names_the_observations_of_the_data() -> None:
    view = BatchView([{"x": [0] * (1 + number // 5)} for number in range(8)], 3, collate=True)
    with pytest.raises(
        ValueError, match=r"at \['x'\], got \(1,\) in observation 3 and \(2,\).* 5;"
    ):
        view[1]


@pytest.mark.parametrize(
    ("observations", "message"),
    [
        ([], "at least one"),
        ([{"a": 1}, {"b": 1}], r"keys \['a'\] in observation 0.*keys \['b'\] in observation 1"),
        ([(1, 2), (1,)], "a tuple of 2 in observation 0 and a tuple of 1"),
        ([(1, 2), 3], "a tuple of 2 in observation 0 and int"),
        ([1, "a"], "int in observation 0 and str in observation 1"),
        (["a", numpy.zeros(2)], "str in observation 0 and ndarray"),
    ],
)
def test_structures_that_differ_are_shown(observations: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        batch(observations)


@settings(deadline=None)
@given(
    st.lists(st.lists(st.integers(-9, 9), max_size=6), min_size=1, max_size=5), st.integers(-3, 3)
)
def test_sequences_are_padded_and_turned(sequences: list[list[int]], pad: int) -> None:
    longest = max(map(len, sequences))
    expected = [[s[t] if t < len(s) else pad for s in sequences] for t in range(longest)]
    assert plain(batchseq(sequences, pad)) == expected
    arrays = [numpy.array(sequence, "int8") for sequence in sequences]
    found = batchseq(arrays, pad)
    assert plain(found) == expected and all(each.dtype == "int8" for each in found)
    texts = [[str(each) for each in sequence] for sequence in sequences]
    assert batchseq(texts, "-") == [
        [s[t] if t < len(s) else "-" for s in texts] for t in range(longest)
    ]


def test_sequences_of_arrays_are_padded_along_time_only() -> None:
    found = batchseq([numpy.ones((3, 2)), numpy.full((1, 2), 2.0), []], pad=-1)
    assert [each.tolist() for each in found] == [
        [[1, 1], [2, 2], [-1, -1]],
        [[1, 1], [-1, -1], [-1, -1]],
        [[1, 1], [-1, -1], [-1, -1]],
    ]
    assert numpy.isnan(batchseq([[1.0], []], numpy.nan)[0][1])
    assert batchseq([numpy.zeros(1, "float32"), []], 0.1)[0][1] == numpy.float32(0.1)
    with pytest.raises(ValueError, match=r"\(2,\) in sequence 0 and \(3,\) in sequence 1"):
        batchseq([numpy.ones((3, 2)), numpy.ones((1, 3))])
    with pytest.raises(ValueError, match="at least one"):
        batchseq([])
    with pytest.raises(ValueError, match="needs sequences, got 3 as number 1"):
        batchseq([[1], 3])


@pytest.mark.parametrize("pad", [-1, 300, 0.5, float("nan"), 1j, "x", None, [0]])
def test_what_pads_has_to_fit(pad: Any) -> None:
    with pytest.raises(ValueError, match="`pad` must be a number of the sequences' type, uint8"):
        batchseq([numpy.zeros(2, "uint8"), numpy.zeros(1, "uint8")], pad)
