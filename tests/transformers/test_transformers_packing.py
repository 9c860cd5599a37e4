"""Pack: several sequences in a row, every token once, resumed anywhere."""

from __future__ import annotations

import pickle
from collections.abc import Callable
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
from fuel.transformers import Batch, Mapping, Unpack
from fuel.transformers.sequences import Pack, Window

LENGTHS = [3, 1, 5, 0, 2, 8, 4, 4, 1, 2, 0, 6, 7]
ROW = 8


def sequences(lengths: list[int]) -> list[Any]:
    """Return sequences of tokens that tell where they are from."""
    return [1000 * (n + 1) + numpy.arange(length) for n, length in enumerate(lengths)]


def indexed(lengths: list[int], scheme: Any = None) -> DataStream:
    tokens = sequences(lengths)
    data = {"t": tokens, "y": [-one.astype("float32") for one in tokens]}
    scheme = SequentialExampleScheme(len(lengths)) if scheme is None else scheme
    return DataStream(IndexableDataset(data), iteration_scheme=scheme)


def permuted(lengths: list[int]) -> DataStream:
    return indexed(lengths, PermutedExampleScheme(len(lengths), seed=4))


def iterated(lengths: list[int]) -> DataStream:
    tokens = [one.tolist() for one in sequences(lengths)]
    return DataStream(IterableDataset({"t": tokens}))


def unpacked(lengths: list[int]) -> Unpack:
    return Unpack(indexed(lengths, SequentialScheme(len(lengths), 3)))


class Counting:
    """A function that remembers how often it was called."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, data: Any) -> Any:
        self.calls += 1
        return (data[0] + 100_000 * self.calls, data[1])


def remembered(lengths: list[int]) -> Mapping:
    return Mapping(indexed(lengths), Counting())


SOURCES: dict[str, Callable[[list[int]], Any]] = {
    "indexed": indexed,
    "permuted": permuted,
    "iterated": iterated,
    "unpacked": unpacked,
    "remembered": remembered,
}

WAYS: dict[str, dict[str, Any]] = {
    "fit": {"too_long": "split"},
    "fit one": {"open_rows": 1, "too_long": "split"},
    "fit dropped": {"open_rows": 3, "too_long": "drop"},
    "joined": {"how": "concatenate"},
    "joined apart": {"how": "concatenate", "separator": 7},
    "joined full": {"how": "concatenate", "partial": False},
}


def pieces(row: Any) -> list[list[int]]:
    """Return the sequences that the segment ids of a row tell apart, without what pads it."""
    tokens, segments, positions = row[0], row[-2], row[-1]
    assert tokens.shape == segments.shape == positions.shape
    assert segments.dtype == positions.dtype == numpy.int32
    found = []
    for number in range(1, int(segments.max(initial=0)) + 1):
        where = numpy.flatnonzero(segments == number)
        assert where.tolist() == list(range(where[0], where[-1] + 1))
        assert positions[where].tolist() == list(range(len(where)))
        found.append(tokens[where].tolist())
    padding = segments == 0
    assert not tokens[padding].any()
    assert not positions[padding].any()
    assert not padding[: int((~padding).sum())].any()
    return found


def rows(stream: Any) -> list[list[list[int]]]:
    return [pieces(row) for row in stream]


LISTS = st.lists(st.integers(0, 20), max_size=25)


# -- what rows hold --------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(lengths=LISTS, length=st.integers(1, 12), open_rows=st.integers(1, 5))
def test_first_fit_holds_every_token_once_and_keeps_sequences_whole(
    lengths: list[int], length: int, open_rows: int
) -> None:
    stream = Pack(iterated(lengths), length, open_rows=open_rows, too_long="split")
    for _ in range(2):
        found = list(stream)
        assert all(row[0].shape == (length,) for row in found)
        parts = [part for row in found for part in pieces(row)]
        wanted = []
        for sequence in sequences(lengths):
            cuts = range(0, len(sequence), length)
            wanted += [sequence[cut : cut + length].tolist() for cut in cuts]
        assert sorted(parts) == sorted(wanted)


@settings(max_examples=40, deadline=None)
@given(lengths=LISTS, length=st.integers(1, 12), separated=st.booleans(), partial=st.booleans())
def test_concatenation_is_cut_wherever_a_row_is_full(
    lengths: list[int], length: int, separated: bool, partial: bool
) -> None:
    separator = 5 if separated else None
    stream = Pack(
        iterated(lengths), length, how="concatenate", separator=separator, partial=partial
    )
    joined: list[int] = []
    owners: list[int] = []
    for number, sequence in enumerate(sequences(lengths)):
        joined += sequence.tolist() + [5] * separated
        owners += [number] * (len(sequence) + separated)
    if not partial:
        joined = joined[: len(joined) // length * length]
    found = list(stream)
    assert [token for row in found for piece in pieces(row) for token in piece] == joined
    for index, row in enumerate(found):
        there = owners[index * length : (index + 1) * length]
        numbers = [sorted(set(there)).index(owner) + 1 for owner in there]
        assert row[1].tolist()[: len(there)] == numbers


def test_a_sequence_goes_into_the_first_row_with_room_and_the_fullest_makes_way() -> None:
    found = rows(Pack(iterated([5, 6, 2, 3, 4, 5]), 8, open_rows=2))
    lengths = [[len(piece) for piece in row] for row in found]
    # The 3 fits into neither 5+2 nor 6, and the 5 into neither 6 nor 3+4.
    assert lengths == [[5, 2], [3, 4], [6], [5]]


def test_a_row_that_is_full_comes_at_once() -> None:
    stream = Pack(iterated([3, 8, 5, 1]), 8)
    assert [[len(p) for p in row] for row in rows(stream)] == [[8], [3, 5], [1]]


def test_all_sources_are_packed_alike_with_values_of_their_own() -> None:
    stream = Pack(indexed([3, 2]), 6, value={"y": -100})
    assert stream.sources == ("t", "y", "t_segment_ids", "t_positions")
    ((tokens, targets, segments, positions),) = list(stream)
    assert tokens.tolist() == [1000, 1001, 1002, 2000, 2001, 0]
    assert targets.tolist() == [-1000, -1001, -1002, -2000, -2001, -100]
    assert (tokens.dtype, targets.dtype) == (numpy.int64, numpy.float32)
    assert segments.tolist() == [1, 1, 1, 2, 2, 0]
    assert positions.tolist() == [0, 1, 2, 0, 1, 0]


def test_steps_may_have_more_dimensions_and_texts_are_tokens() -> None:
    data = IterableDataset({"x": [numpy.ones((2, 3)), numpy.zeros((0, 3)), numpy.ones((1, 3))]})
    ((x, segments, _),) = list(Pack(DataStream(data), 4))
    assert x.shape == (4, 3)
    assert segments.tolist() == [1, 1, 2, 0]
    words = DataStream(IterableDataset({"w": [["a", "bb"], ["c"]]}))
    ((w, _, _),) = list(Pack(words, 5, how="concatenate", value="<pad>", separator="</s>"))
    assert w.tolist() == ["a", "bb", "</s>", "c", "</s>"]
    ((w, _, _),) = list(Pack(words, 4, value="<pad>"))
    assert w.tolist() == ["a", "bb", "c", "<pad>"]


def test_empty_sequences_alone_keep_the_type_of_tokens() -> None:
    stream = Pack(iterated([0, 0, 1]), 2, how="concatenate", separator=9)
    assert [row[0].tolist() for row in stream] == [[9, 9], [1000 * 3, 9]]
    assert {row[0].dtype for row in stream} == {numpy.dtype(int)}
    assert list(Pack(iterated([0, 0]), 2)) == []


def test_rows_can_be_batched() -> None:
    data = IndexableDataset({"t": sequences([2, 2, 3])}, axis_labels={"t": ("batch", "time")})
    examples = DataStream(data, iteration_scheme=SequentialExampleScheme(3))
    packed = Pack(examples, 4)
    assert packed.produces_examples is True
    assert packed.axis_labels == dict.fromkeys(packed.sources, ("time",))
    ((tokens, segments, positions),) = list(Batch(packed, ConstantScheme(5)))
    assert tokens.shape == segments.shape == positions.shape == (2, 4)


@settings(max_examples=30, deadline=None)
@given(lengths=LISTS, way=st.sampled_from(sorted(WAYS)))
def test_no_two_rows_have_the_same_address(lengths: list[int], way: str) -> None:
    for below in (iterated(lengths), Window(0, 3, 3, True, iterated(lengths))):
        if way == "joined apart" and below.sources[0] != "t":
            continue
        iterator = Pack(below, ROW, **WAYS[way]).get_epoch_iterator()
        addresses = [iterator._run.cursor.context.address() for _ in iterator]
        assert len(set(addresses)) == len(addresses)


def noise(data: Any, rng: numpy.random.Generator) -> Any:
    return (*data[:-1], data[-1] + rng.random())


def test_draws_below_are_not_disturbed() -> None:
    def noisy(data: Any, rng: numpy.random.Generator) -> Any:
        return (data[0] + rng.random(), data[1])

    below = Mapping(permuted(LENGTHS), noisy)
    alone = numpy.sort(numpy.concatenate([t for t, _ in below]))
    packed = [row[0][row[2] > 0] for row in Pack(Mapping(permuted(LENGTHS), noisy), ROW)]
    numpy.testing.assert_array_equal(numpy.sort(numpy.concatenate(packed)), alone)


# -- resuming --------------------------------------------------------------------------------------


def _suite(way: str, source: str) -> type:
    class Suite(StreamContract):
        new_process = (way, source) == ("fit", "permuted")
        independent = source != "remembered"

        def make_stream(self) -> Any:
            return Pack(SOURCES[source](LENGTHS), ROW, **WAYS[way])

    return Suite


for _way in ("fit", "fit one", "joined", "joined apart"):
    for _source in ("permuted", "iterated"):
        _name = f"Test{''.join(map(str.capitalize, _way.split()))}{_source.capitalize()}"
        globals()[_name] = _suite(_way, _source)
TestFitRemembered = _suite("fit", "remembered")


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    lengths=st.lists(st.integers(0, 18), max_size=10),
    length=st.integers(1, 9),
    way=st.sampled_from(sorted(WAYS)),
    source=st.sampled_from(sorted(SOURCES)),
)
def test_any_of_them_goes_on_from_every_place(
    lengths: list[int], length: int, way: str, source: str
) -> None:
    if source == "unpacked" and not lengths:
        return

    def build() -> Any:
        below = Pack(SOURCES[source](lengths), length, **WAYS[way])
        # Draws above show that the addresses are restored as well.
        return Mapping(below, noise)

    assert_resumes_everywhere(build, new_process=False, start_epochs=(1,), epochs=1)


@pytest.mark.parametrize("lengths", [[], [3], [0], [0, 0], [40]])
@pytest.mark.parametrize("way", list(WAYS))
def test_short_epochs_go_on_too(lengths: list[int], way: str) -> None:
    assert_resumes_everywhere(
        lambda: Pack(permuted(lengths), ROW, **WAYS[way]), new_process=False, epochs=1
    )


def test_memory_and_state_are_bounded() -> None:
    generator = numpy.random.default_rng(0)
    lengths = generator.integers(0, ROW + 1, size=600).tolist()
    for way in ("fit", "joined"):
        iterator = Pack(indexed(lengths), ROW, **WAYS[way]).get_epoch_iterator()
        largest = held = 0
        for _ in iterator:
            largest = max(largest, len(repr(iterator.state_dict()["position"])))
            held = max(held, len(iterator._run.cursor.fetched.held))
        assert held <= 16 * ROW
        assert largest < 40 * 16 * ROW


@pytest.mark.parametrize("way", ["fit", "joined"])
def test_only_what_is_in_open_rows_is_fetched_again(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    get_data = IndexableDataset.get_data

    def counting(self: Any, state: Any = None, request: Any = None) -> Any:
        asked.append(request)
        return get_data(self, state, request)

    monkeypatch.setattr(IndexableDataset, "get_data", counting)
    lengths = [6, 3, 7, 1, 5, 4] * 50
    iterator = Pack(indexed(lengths), ROW, **WAYS[way]).get_epoch_iterator()
    for _ in range(120):
        next(iterator)
    held = len(iterator._run.cursor.fetched.held)
    state = iterator.state_dict()
    resumed = Pack(indexed(lengths), ROW, **WAYS[way]).get_epoch_iterator()
    asked.clear()
    resumed.load_state_dict(state)
    assert len(asked) == held
    assert rows(resumed) == rows(iterator)


@pytest.mark.parametrize("change", [{"length": 9}, {"value": 1}, {"open_rows": 2}])
def test_other_rows_are_another_pipeline(change: dict[str, Any]) -> None:
    from fuel.exceptions import StateMismatchError

    options = {"length": ROW}
    state = Pack(indexed(LENGTHS), **options).get_epoch_iterator().state_dict()
    with pytest.raises(StateMismatchError, match=next(iter(change))):
        Pack(indexed(LENGTHS), **{**options, **change}).load_state_dict(state)


# -- errors on the way -----------------------------------------------------------------------------


class Failing(IndexableDataset):
    """A dataset of which one example cannot be read, until it is mended."""

    broken = True

    def get_data(self, state: Any = None, request: Any = None) -> Any:
        if Failing.broken and request == 4:
            raise OSError("not now")
        return super().get_data(state, request)


@pytest.mark.parametrize("way", list(WAYS))
def test_an_error_below_loses_nothing(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def build() -> Pack:
        scheme = SequentialExampleScheme(len(LENGTHS))
        data = Failing({"t": sequences(LENGTHS)})
        return Pack(DataStream(data, iteration_scheme=scheme), ROW, **WAYS[way])

    monkeypatch.setattr(Failing, "broken", True)
    iterator = build().get_epoch_iterator()
    found = []
    with pytest.raises(OSError, match="not now"):
        for row in iterator:
            found.append(pieces(row))
    state = iterator.state_dict()
    copy = pickle.loads(pickle.dumps(iterator))
    monkeypatch.setattr(Failing, "broken", False)
    resumed = build()
    resumed.load_state_dict(state)
    assert found + rows(resumed.get_epoch_iterator()) == rows(build())
    # Whoever goes on with the iterator itself goes on behind the example that failed.
    assert rows(copy) == rows(iterator)


@pytest.mark.parametrize("open_rows", [1, 4])
def test_a_sequence_that_is_too_long_is_an_error_that_stays(open_rows: int) -> None:
    iterator = Pack(iterated([4, 9, 4]), ROW, open_rows=open_rows).get_epoch_iterator()
    for _ in range(2):
        with pytest.raises(ValueError, match="length 9, longer than a row of 8.*'split'"):
            next(iterator)
    state = iterator.state_dict()
    resumed = Pack(iterated([4, 9, 4]), ROW, open_rows=open_rows).get_epoch_iterator()
    resumed.load_state_dict(state)
    with pytest.raises(ValueError, match="length 9"):
        next(resumed)
    assert rows(Pack(iterated([4, 9, 4]), ROW, too_long="drop")) == [
        [[1000, 1001, 1002, 1003], [3000, 3001, 3002, 3003]]
    ]


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ({"t": [[1, 2]], "y": [[1]]}, {}, "of one length, got {'t': 2, 'y': 1}"),
        ({"t": [5]}, {}, "'t' must hold sequences, got 5.*FilterSources"),
        ({"t": [[[1], [1, 2]]]}, {}, "itself ragged"),
        ({"t": [numpy.ones((1, 2)), numpy.ones((1, 3))]}, {}, r"\(1, 2\) and \(1, 3\); reshape"),
        ({"t": [numpy.array([1], "uint8")]}, {"value": -1}, "value=-1 does not fit.*uint8"),
        ({"t": [[1]]}, {"value": 0.5}, "value=0.5 does not fit"),
        ({"t": [[1]]}, {"value": 2**63}, "does not fit"),
        ({"t": [[1]]}, {"value": float("nan")}, "value=nan does not fit"),
        ({"t": [["a"]]}, {}, "value=0 does not fit.*<U1"),
        ({"t": [[1]]}, {"how": "concatenate", "separator": "</s>"}, "separator='</s>' does not"),
    ],
)
def test_sequences_are_checked(data: Any, options: dict[str, Any], message: str) -> None:
    stream = Pack(DataStream(IterableDataset(data)), ROW, **options)
    with pytest.raises(ValueError, match=f"(?s)Pack: .*{message}"):
        list(stream)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"length": 0}, ValueError, "`length`.*positive, got 0"),
        ({"length": 2.0}, TypeError, "`length`.*integer, got 2.0"),
        ({"how": "best-fit"}, ValueError, "`how`.*first-fit.*'best-fit'"),
        ({"open_rows": 0}, ValueError, "`open_rows`.*positive, got 0"),
        ({"too_long": "cut"}, ValueError, "`too_long`.*'drop'.*got 'cut'"),
        ({"how": "concatenate", "open_rows": 4}, ValueError, "open_rows=4.*how='first-fit'"),
        ({"how": "concatenate", "too_long": "drop"}, ValueError, "too_long='drop'"),
        ({"separator": 3}, ValueError, "separator=3.*how='concatenate'"),
        ({"partial": False}, ValueError, "partial=False.*how='concatenate'"),
        ({"value": [1]}, TypeError, r"`value`.*got \[1\]"),
        ({"value": None}, TypeError, "`value`.*got None"),
        ({"value": {"q": 1}}, ValueError, r"`value`.*\['q'\].*\('t', 'y'\)"),
        ({"how": "concatenate", "separator": {"t": 1}}, ValueError, "entry for each of"),
        ({"unknown": 1}, TypeError, "unknown"),
    ],
)
def test_arguments_are_checked(options: dict[str, Any], error: type, message: str) -> None:
    with pytest.raises(error, match=f"(?s){message}"):
        Pack(indexed(LENGTHS), **{"length": ROW, **options})


def test_streams_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="needs examples.*put Unpack between them"):
        Pack(indexed(LENGTHS, SequentialScheme(11, 3)), ROW)
    with pytest.raises(ValueError, match="'t_positions'.*already; rename"):
        Pack(DataStream(IterableDataset({"t": [[1]], "t_positions": [[1]]})), ROW)
