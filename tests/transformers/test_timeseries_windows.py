"""SlidingWindows: which windows there are, of what, the last one, resuming, bad input."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuel.datasets import IndexableDataset, IterableDataset
from fuel.schemes import ConstantScheme, SequentialExampleScheme, SequentialScheme
from fuel.streams import DataStream
from fuel.testing import StreamContract, assert_resumes_everywhere, assert_same_items
from fuel.transformers import Batch, Mapping
from fuel.transformers.timeseries import AddNoise, SlidingWindows


def lists(*sequences: Any) -> DataStream:
    return DataStream(IterableDataset({"x": sequences}))


def stream(labels: Any = None, **sources: Any) -> DataStream:
    count = len(next(iter(sources.values())))
    return DataStream(
        IndexableDataset(sources, axis_labels=labels),
        iteration_scheme=SequentialExampleScheme(count),
    )


@given(
    total=st.integers(0, 12),
    length=st.integers(1, 5),
    step=st.integers(1, 7),
    partial=st.sampled_from(["drop", "pad", "keep"]),
)
def test_windows_are_what_the_words_say(total: int, length: int, step: int, partial: str) -> None:
    sequence = list(range(1, total + 1))
    expected, covered = [], 0
    for start in range(0, total, step):
        window = sequence[start : start + length]
        if len(window) == length:
            covered = start + length
        elif partial == "drop" or covered >= total:
            break
        else:  # the last one: it holds what no window held
            covered = total
        expected.append(window + [-1] * (length - len(window) if partial == "pad" else 0))
    for given_sequence in (sequence, numpy.array(sequence, dtype="int16")):
        slid = SlidingWindows(lists(given_sequence), length, step, partial, value=-1)
        found = [window for (window,) in slid]
        assert [list(window) for window in found] == expected
        assert all(type(window) is type(given_sequence) for window in found)
        assert all(getattr(window, "dtype", "int16") == "int16" for window in found)
        assert slid.count(total) == len(expected)


def test_tuples_stay_tuples_and_no_window_crosses_sequences() -> None:
    slid = SlidingWindows(lists((1, 2, 3), (4,), (5, 6)), 2, partial="pad")
    assert [window for (window,) in slid] == [(1, 2), (2, 3), (4, 0), (5, 6)]


@pytest.mark.parametrize("axis", [None, 1, -1, "time"])
def test_the_axis_of_time(axis: Any) -> None:
    array = numpy.arange(2 * 3 * 7).reshape(2, 3, 7).astype("float32")
    labels = {"x": ("batch", "channel", "time")}
    slid = SlidingWindows(stream(labels, x=array), 4, 3, "pad", axis=axis)
    assert slid.axis_labels == {"x": ("channel", "time")}
    found = [window for (window,) in slid]
    assert [window.shape for window in found] == [(3, 4)] * 4
    assert numpy.array_equal(found[1], array[0, :, 3:])
    without = SlidingWindows(stream(x=array), 2, axis=None)
    assert [window.shape for (window,) in without] == [(2, 7)] * 4


def test_sources_are_cut_alike_or_go_with_every_window() -> None:
    x = numpy.arange(10.0).reshape(2, 5)
    below = stream(x=x, y=-x, label=numpy.array([7, 8]))
    slid = SlidingWindows(below, 2, 2, which_sources=("x", "y"))
    assert slid.sources == ("x", "y", "label")
    found = [(a.tolist(), b.tolist(), int(c)) for a, b, c in slid]
    assert found[:2] == [([0, 1], [0, -1], 7), ([2, 3], [-2, -3], 7)]
    assert [label for _, _, label in found] == [7, 7, 8, 8]
    with pytest.raises(ValueError, match=r"ordinal 0 has \{'x': 5, 'y': 4\}"):
        list(SlidingWindows(stream(x=x, y=x[:, 1:]), 2))
    with pytest.raises(ValueError, match="must name some of the sources .* no windows at all"):
        SlidingWindows(below, 2, which_sources=())


def test_windows_do_not_share_memory() -> None:
    array = numpy.arange(12.0).reshape(2, 6)
    array.flags.writeable = False
    windows = [window for (window,) in SlidingWindows(stream(x=array), 4, 1, "keep")]
    windows[0][:] = -1
    assert windows[1].tolist() == [1, 2, 3, 4]
    assert all(window.flags.writeable for window in windows)


def test_noise_on_windows_is_addressed_by_the_window() -> None:
    def noisy(step: int, **kwargs: Any) -> list[Any]:
        slid = SlidingWindows(stream(x=numpy.zeros((2, 6))), 3, step)
        return [window for (window,) in AddNoise(slid, 1, **kwargs)]

    dense, sparse = noisy(1), noisy(3)
    assert len({window.tobytes() for window in dense}) == 8
    assert_same_items(dense[:2], sparse[:2])  # windows 0 and 1 of the first sequence
    slid = SlidingWindows(stream(x=numpy.zeros((2, 6))), 3)
    batched = AddNoise(Batch(slid, ConstantScheme(3)), 1)
    assert_same_items([one for (batch,) in batched for one in batch], dense)


CALLS: list[int] = []


def counted(data: Any) -> Any:
    CALLS.append(1)
    return data


def test_resuming_fetches_one_sequence_again() -> None:
    def built() -> SlidingWindows:
        below = Mapping(stream(x=numpy.arange(40.0).reshape(4, 10)), counted, elementwise=True)
        return SlidingWindows(below, 4, 2)

    iterator = iter(built())
    rest = [next(iterator) for _ in range(10)][9:]
    state = iterator.state_dict()  # type: ignore[attr-defined]
    rest = list(iterator)
    CALLS.clear()
    again = built()
    again.load_state_dict(state)
    restored = iter(again)
    item = next(restored)
    assert len(CALLS) == 1
    assert_same_items([item, *restored], rest)


@pytest.mark.parametrize("partial", ["drop", "pad", "keep"])
def test_it_resumes_everywhere(partial: str) -> None:
    ragged = [numpy.arange(n) for n in (5, 0, 2, 7)]
    assert_resumes_everywhere(
        lambda: SlidingWindows(DataStream(IterableDataset({"x": ragged})), 3, 2, partial),
        new_process=False,
        max_state_bytes=2000,
    )


class TestSlidingWindows(StreamContract):
    def make_stream(self) -> Any:
        return SlidingWindows(stream(x=numpy.arange(30.0).reshape(3, 10)), 4, 3, "pad")


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"length": 0}, ValueError, "`length` of SlidingWindows must be at least 1"),
        ({"length": 2.0}, TypeError, "`length` of SlidingWindows must be an integer"),
        ({"length": 2, "step": 0}, ValueError, "`step`"),
        ({"length": 2, "partial": True}, ValueError, "'drop', 'pad' or 'keep', got True"),
        ({"length": 2, "value": (1, 2)}, TypeError, "`value`"),
        ({"length": 2, "axis": 1.0}, TypeError, "`axis`"),
        ({"length": 2, "which_sources": 3}, TypeError, "`which_sources`"),
    ],
)
def test_bad_arguments(arguments: Any, error: Any, match: str) -> None:
    with pytest.raises(error, match=match):
        SlidingWindows(lists([1, 2, 3]), **arguments)


def test_batches_and_values_that_do_not_fit_are_refused() -> None:
    batches = DataStream(
        IndexableDataset({"x": numpy.zeros((4, 5))}), iteration_scheme=SequentialScheme(4, 2)
    )
    with pytest.raises(ValueError, match=r"SlidingWindows needs examples.*Unpack"):
        SlidingWindows(batches, 2)
    small = stream(x=numpy.zeros((1, 3), dtype="uint8"))
    with pytest.raises(ValueError, match="uint8 of source 'x' cannot hold"):
        list(SlidingWindows(small, 2, 2, "pad", value=0.5))
    with pytest.raises(ValueError, match="0 axes"):
        list(SlidingWindows(stream(x=numpy.zeros(3)), 2))


def test_a_state_of_other_windows_is_refused() -> None:
    state = SlidingWindows(lists([1, 2, 3]), 2).state_dict()
    for other in ({"length": 3}, {"length": 2, "step": 2}, {"length": 2, "partial": "pad"}):
        with pytest.raises(ValueError, match="another pipeline"):
            SlidingWindows(lists([1, 2, 3]), **other).load_state_dict(state)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not known"):
        len(SlidingWindows(lists([1, 2, 3]), 2))
