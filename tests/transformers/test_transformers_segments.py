"""Segments: chunks of padded sequences, in order, with a flag that says what goes on."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuel.datasets import IndexableDataset, IterableDataset
from fuel.schemes import (
    ConstantScheme,
    PermutedExampleScheme,
    SequentialExampleScheme,
    SequentialScheme,
)
from fuel.streams import DataStream
from fuel.testing import StreamContract, assert_resumes_everywhere
from fuel.transformers import Batch, Mapping, Padding, Unpack
from fuel.transformers.sequences import BucketByLength, Segments, Window

LENGTHS = [3, 1, 7, 0, 2, 9, 4, 4]


def padded(lengths: list[int], size: int = 3, scheme: Any = None) -> Padding:
    """Return batches (x, x_mask, n) of sequences that tell where they are from."""
    data = {
        "x": [1000 * (n + 1) + numpy.arange(length) for n, length in enumerate(lengths)],
        "n": numpy.arange(len(lengths)),
    }
    scheme = PermutedExampleScheme(len(lengths), seed=2) if scheme is None else scheme
    examples = DataStream(IndexableDataset(data), iteration_scheme=scheme)
    batches = Batch(examples, ConstantScheme(size))
    return Padding(batches, mask_sources=("x",), mask_dtype="uint8")


def labelled(labels: tuple[str, ...], shape: tuple[int, ...]) -> DataStream:
    data = IndexableDataset(
        {"x": numpy.arange(numpy.prod(shape)).reshape(shape), "w": numpy.ones((shape[0], 9))},
        axis_labels={"x": labels, "w": ("batch", "feature")},
    )
    return DataStream(data, iteration_scheme=SequentialScheme(shape[0], 2))


# -- what chunks hold ------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 12), min_size=1, max_size=10),
    size=st.integers(1, 4),
    length=st.integers(1, 6),
    pad=st.booleans(),
)
def test_chunks_put_together_are_the_batches(
    lengths: list[int], size: int, length: int, pad: bool
) -> None:
    stream = Segments(padded(lengths, size), length, pad=pad, value=7)
    assert stream.sources == ("x", "x_mask", "n", "continues")
    for _ in range(2):
        found: list[list[Any]] = []
        for chunk in stream:
            x, mask, numbers, flag = chunk
            assert x.shape == mask.shape
            assert x.shape[1] == length or (not pad and x.shape[1] < length)
            assert flag.shape == numbers.shape == (len(x),)
            assert flag.dtype == bool
            assert flag.all() or not flag.any()
            if flag.any():
                assert numbers.tolist() == found[-1][-1][2].tolist()
                found[-1].append(chunk)
            else:
                found.append([chunk])
        batches = list(padded(lengths, size)) if not pad else None
        if pad:
            for chunks in found:
                x = numpy.concatenate([chunk[0] for chunk in chunks], axis=1)
                mask = numpy.concatenate([chunk[1] for chunk in chunks], axis=1)
                longest = max(lengths[number] for number in chunks[0][2])
                assert not mask[:, longest:].any()
                assert (x[:, longest:] == 7).all()
                assert mask.sum(axis=1).tolist() == [lengths[n] for n in chunks[0][2]]
            return
        again = [
            [numpy.concatenate([chunk[source] for chunk in chunks], axis=1) for source in (0, 1)]
            for chunks in found
        ]
    # The second epoch of this stream is the second of the other one.
    other = padded(lengths, size)
    list(other)
    for (x, mask), batch in zip(again, other, strict=True):
        assert x.dtype == batch[0].dtype
        assert mask.dtype == batch[1].dtype
        numpy.testing.assert_array_equal(x, batch[0])
        numpy.testing.assert_array_equal(mask, batch[1])
    assert batches is not None


def test_time_is_where_the_labels_say() -> None:
    chunks = list(Segments(labelled(("batch", "feature", "time"), (2, 3, 5)), 2))
    assert [x.shape for x, _, _ in chunks] == [(2, 3, 2), (2, 3, 2), (2, 3, 1)]
    assert all(w.shape == (2, 9) for _, w, _ in chunks)
    whole = numpy.concatenate([x for x, _, _ in chunks], axis=2)
    assert whole.ravel().tolist() == list(range(30))
    stream = Segments(labelled(("batch", "time"), (2, 5)), 5)
    assert stream.axis_labels == {
        "x": ("batch", "time"),
        "w": ("batch", "feature"),
        "continues": ("batch",),
    }


def test_time_may_be_the_first_axis() -> None:
    def swapped(batch: Any) -> Any:
        return (batch[0].T, batch[1])

    below = Mapping(
        labelled(("batch", "time"), (4, 5)), swapped, axis_labels={"x": ("time", "batch"), "w": ()}
    )
    chunks = list(Segments(below, 3))
    assert [(x.shape, flag.tolist()) for x, _, flag in chunks] == [
        ((3, 2), [False, False]),
        ((2, 2), [True, True]),
    ] * 2


def test_sources_can_be_named() -> None:
    data = IndexableDataset({"x": numpy.ones((2, 6)), "w": numpy.ones((2, 4))})
    below = DataStream(data, iteration_scheme=SequentialScheme(2, 2))
    with pytest.raises(ValueError, match="equally many steps, got {'x': 6, 'w': 4}.*which_sources"):
        list(Segments(below, 3))
    chunks = list(Segments(below, 3, which_sources=("x",), flag="go on"))
    assert [(x.shape, w.shape) for x, w, _ in chunks] == [((2, 3), (2, 4))] * 2
    assert Segments(below, 3, which_sources="x", flag="go on").sources == ("x", "w", "go on")


def test_changing_a_chunk_changes_no_other() -> None:
    found = []
    for x, mask, numbers, flag in Segments(padded([4, 4]), 2):
        found.append((x.copy(), numbers.copy()))
        for array in (x, mask, numbers, flag):
            assert array.flags.c_contiguous and array.base is None
            array[...] = 0
    assert found[1][0].all()
    assert sorted(found[1][1].tolist()) == [0, 1]


def test_batches_of_nothing_give_one_chunk() -> None:
    (chunk,) = list(Segments(padded([0, 0]), 2))
    assert chunk[0].shape == (2, 0)
    assert chunk[3].tolist() == [False, False]
    (chunk,) = list(Segments(padded([0, 0]), 2, pad=True))
    assert chunk[0].shape == (2, 2)
    assert not chunk[1].any()


def test_batches_in_lists_are_cut_and_numbers_repeated() -> None:
    data = IterableDataset({"x": [[[1, 2, 3], [4, 5, 6]]], "y": [[7, 8]], "z": ["ab"]})
    below = DataStream(data)
    below = Mapping(below, lambda data: data)
    below.produces_examples = False
    chunks = list(Segments(below, 2))
    assert [x.tolist() for x, _, _, _ in chunks] == [[[1, 2], [4, 5]], [[3], [6]]]
    assert [(y, z) for _, y, z, _ in chunks] == [([7, 8], "ab")] * 2


def test_addresses_of_chunks_differ() -> None:
    sentences = DataStream(IterableDataset({"x": [list(range(n)) for n in LENGTHS]}))
    windows = Batch(Window(0, 3, 3, True, sentences), ConstantScheme(3))
    for below in (padded(LENGTHS), Padding(windows)):
        iterator = Segments(below, 2, which_sources=("x",)).get_epoch_iterator()
        addresses: list[Any] = []
        for chunk in iterator:
            context = iterator._run.cursor.context
            assert len(context.ordinals) == len(chunk[-1])
            addresses += [context.address(index) for index in range(len(chunk[-1]))]
        assert len(set(addresses)) == len(addresses)


# -- resuming --------------------------------------------------------------------------------------


def noise(data: Any, rng: numpy.random.Generator) -> Any:
    return (data[0] + rng.random(), *data[1:])


class TestSegments(StreamContract):
    def make_stream(self) -> Any:
        return Mapping(Segments(padded(LENGTHS), 2), noise)


class TestPaddedSegments(StreamContract):
    new_process = False

    def make_stream(self) -> Any:
        scheme = SequentialExampleScheme(len(LENGTHS))
        return Segments(padded(LENGTHS, 2, scheme), 3, pad=True)


class TestSegmentsOfBuckets(StreamContract):
    new_process = False
    max_state_bytes = 3000

    def make_stream(self) -> Any:
        data = IterableDataset({"x": [list(range(length)) for length in LENGTHS]})
        return Segments(Padding(BucketByLength(DataStream(data), 2, pool=2)), 2)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    lengths=st.lists(st.integers(0, 9), max_size=8),
    size=st.integers(1, 3),
    length=st.integers(1, 4),
    pad=st.booleans(),
)
def test_they_go_on_from_every_place(lengths: list[int], size: int, length: int, pad: bool) -> None:
    assert_resumes_everywhere(
        lambda: Mapping(Segments(padded(lengths, size), length, pad=pad), noise),
        new_process=False,
        start_epochs=(1,),
        epochs=1,
    )


def test_at_most_one_batch_is_fetched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    get_data = IndexableDataset.get_data

    def counting(self: Any, state: Any = None, request: Any = None) -> Any:
        asked.append(request)
        return get_data(self, state, request)

    monkeypatch.setattr(IndexableDataset, "get_data", counting)

    def build() -> Segments:
        data = IndexableDataset({"x": numpy.arange(600).reshape(100, 6)})
        return Segments(DataStream(data, iteration_scheme=SequentialScheme(100, 4)), 2)

    iterator = build().get_epoch_iterator()
    for _ in range(50):
        next(iterator)
    resumed = build().get_epoch_iterator()
    state = iterator.state_dict()
    asked.clear()
    resumed.load_state_dict(state)
    assert len(asked) <= 1
    for found, wanted in zip(resumed, iterator, strict=True):
        assert repr(found) == repr(wanted)


# -- errors ----------------------------------------------------------------------------------------


def test_an_error_below_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing(IndexableDataset):
        broken = True

        def get_data(self, state: Any = None, request: Any = None) -> Any:
            if Failing.broken and 2 in list(request):
                raise OSError("not now")
            return super().get_data(state, request)

    def build() -> Segments:
        data = Failing({"x": numpy.arange(24).reshape(6, 4)})
        return Segments(DataStream(data, iteration_scheme=SequentialScheme(6, 2)), 3)

    iterator = build().get_epoch_iterator()
    found = [next(iterator), next(iterator)]
    with pytest.raises(OSError, match="not now"):
        next(iterator)
    state = iterator.state_dict()
    Failing.broken = False
    resumed = build()
    resumed.load_state_dict(state)
    found += list(resumed.get_epoch_iterator())
    assert repr(found) == repr(list(build()))


@pytest.mark.parametrize(
    ("below", "options", "message"),
    [
        (lambda: padded([3, 2]).data_stream, {}, "'x' as an array with time.*put Padding below"),
        (lambda: padded([3, 2]), {"which_sources": ("n",)}, "'n' as an array.*which_sources"),
        (lambda: labelled(("batch", "width"), (2, 3)), {}, "no time axis.*which_sources"),
        (lambda: padded([3, 2]), {"pad": True, "value": 0.5, "length": 2}, "value=0.5 does not"),
    ],
)
def test_batches_are_checked_again_and_again(
    below: Any, options: dict[str, Any], message: str
) -> None:
    iterator = Segments(below(), **{"length": 4, **options}).get_epoch_iterator()
    if "pad" in options:
        next(iterator)
    for _ in range(2):
        with pytest.raises(ValueError, match=f"(?s){message}"):
            next(iterator)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"length": 0}, ValueError, "`length`.*positive, got 0"),
        ({"length": "2"}, TypeError, "`length`.*integer, got '2'"),
        ({"flag": "x_mask"}, ValueError, "'x_mask'.*`flag`"),
        ({"flag": 3}, TypeError, "`flag`.*got 3"),
        ({"value": "a"}, TypeError, "`value`.*number, got 'a'"),
        ({"value": None}, TypeError, "`value`.*got None"),
        ({"which_sources": ()}, ValueError, r"`which_sources`.*got \(\)"),
        ({"which_sources": ("q",)}, ValueError, r"`which_sources`.*\('q',\)"),
        ({"which_sources": 3}, TypeError, "`which_sources`.*got 3"),
        ({"unknown": 1}, TypeError, "unknown"),
    ],
)
def test_arguments_are_checked(options: dict[str, Any], error: type, message: str) -> None:
    with pytest.raises(error, match=f"(?s){message}"):
        Segments(padded(LENGTHS), **{"length": 2, **options})


def test_examples_are_refused() -> None:
    with pytest.raises(ValueError, match="needs batches.*put Batch between them"):
        Segments(Unpack(padded(LENGTHS)), 2)
