"""Every transformer, alone and in chains, goes on from every place of an epoch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuel.datasets import IndexableDataset, IterableDataset
from fuel.schemes import (
    ConstantScheme,
    SequentialExampleScheme,
    SequentialScheme,
    ShuffledExampleScheme,
    ShuffledScheme,
)
from fuel.streams import DataStream
from fuel.testing import assert_resumes_everywhere
from fuel.transformers import (
    Batch,
    Cache,
    Cast,
    Filter,
    FilterSources,
    Flatten,
    ForceFloatX,
    Mapping,
    Merge,
    Padding,
    Rename,
    ScaleAndShift,
    SortMapping,
    Unpack,
)
from fuel.transformers.defaults import ToBytes
from fuel.transformers.sequences import NGrams, Window


def images(count: int = 7, sources: tuple[str, ...] = ("x", "y")) -> IndexableDataset:
    data = {"x": numpy.arange(count * 4).reshape(count, 2, 2), "y": numpy.arange(count)[:, None]}
    return IndexableDataset(
        data,
        sources=sources,
        axis_labels={"x": ("batch", "height", "width"), "y": ("batch", "index")},
    )


def examples(count: int = 7) -> DataStream:
    return DataStream(images(count), iteration_scheme=ShuffledExampleScheme(count))


def batches(count: int = 7, size: int = 3) -> DataStream:
    return DataStream(images(count), iteration_scheme=ShuffledScheme(count, size))


def sentences() -> DataStream:
    data = [[1, 2, 3, 4], [5], [6, 7, 8], [], [9, 10, 11]]
    return DataStream(
        IndexableDataset({"words": data}), iteration_scheme=ShuffledExampleScheme(len(data))
    )


def arrays() -> DataStream:
    return DataStream(IterableDataset([numpy.arange(n) for n in (4, 1, 3)]))


def noise(data: Any, rng: numpy.random.Generator) -> Any:
    return (data[0] + rng.random(), *data[1:])


def noise_on_list(data: Any, rng: numpy.random.Generator) -> Any:
    return (numpy.asarray(data[0]) + rng.random(), data[1])


def doubled(data: Any) -> Any:
    return (data[0] * 2, data[1])


def summed(data: Any) -> Any:
    return {"z": data["x"].sum()}


def backwards(example: Any) -> Any:
    return -example[1][0]


def some(data: Any) -> Any:
    return data[1][0] % 3


def odd(data: Any) -> Any:
    return data[1].sum() % 2


def heavy(data: Any, rng: numpy.random.Generator) -> bool:
    return bool(rng.random() < 0.6)


CASES: dict[str, Callable[[], Any]] = {
    "Mapping": lambda: Mapping(batches(), doubled),
    "Mapping dict": lambda: Mapping(examples(), summed, add_sources=("z",), mapping_accepts=dict),
    "Mapping rng": lambda: Mapping(examples(), noise),
    "Mapping rng batches": lambda: Mapping(batches(), noise, seed=5),
    "SortMapping": lambda: Mapping(batches(), SortMapping(backwards)),
    "Flatten": lambda: Flatten(batches(), which_sources=("x",)),
    "ScaleAndShift": lambda: ScaleAndShift(examples(), 2, 1),
    "Cast": lambda: Cast(examples(), "floatX"),
    "ForceFloatX": lambda: ForceFloatX(Cast(batches(), "float32")),
    "ToBytes": lambda: ToBytes(batches()),
    "Filter examples": lambda: Filter(examples(), some),
    "Filter batches": lambda: Filter(batches(), odd),
    "Filter rng": lambda: Filter(examples(), heavy),
    "Batch": lambda: Batch(examples(), ConstantScheme(3)),
    "Batch drops": lambda: Batch(examples(), ConstantScheme(3), strictness=1),
    "Batch times": lambda: Batch(examples(), ConstantScheme(2, times=2)),
    "Batch ragged": lambda: Batch(sentences(), ConstantScheme(2)),
    "Unpack": lambda: Unpack(batches()),
    "Cache smaller": lambda: Cache(batches(), ConstantScheme(2)),
    "Cache larger": lambda: Cache(batches(), ConstantScheme(5)),
    "Padding": lambda: Padding(Batch(sentences(), ConstantScheme(2))),
    "Rename": lambda: Rename(examples(), {"x": "features"}),
    "FilterSources": lambda: FilterSources(examples(), ("y",)),
    "Window": lambda: Window(1, 2, 1, True, sentences()),
    "Window arrays": lambda: Window(-1, 1, 1, True, arrays()),
    "NGrams": lambda: NGrams(1, sentences()),
    **{
        f"Merge {policy}": lambda policy=policy: Merge(
            (examples(5), Cast(examples(3), "float32"), arrays()),
            ("a", "b", "c", "d", "e"),
            on_unequal=policy,
        )
        for policy in ("shortest", "longest", "cycle")
    },
    "Merge strict": lambda: Merge(
        (batches(), batches(7, 3)), ("a", "b", "c", "d"), on_unequal="strict"
    ),
    # chains
    "batch of noise, cut": lambda: Cache(
        Batch(Mapping(examples(), noise), ConstantScheme(4)), ConstantScheme(3)
    ),
    "unpacked twice": lambda: Unpack(Batch(Unpack(batches()), ConstantScheme(2))),
    "noisy grams": lambda: Mapping(
        Batch(Mapping(NGrams(1, sentences()), noise_on_list), ConstantScheme(2)), noise
    ),
    "filtered windows of unpacked": lambda: Filter(
        Window(
            0, 1, 1, False, Unpack(Cache(Batch(sentences(), ConstantScheme(2)), ConstantScheme(3)))
        ),
        heavy,
    ),
    "merged caches": lambda: Cache(
        Merge(
            (Cache(batches(), ConstantScheme(2)), Batch(Unpack(batches(5)), ConstantScheme(2))),
            ("a", "b", "c", "d"),
            on_unequal="cycle",
        ),
        ConstantScheme(3),
    ),
}

#: A stream that starts again takes the epoch that comes next, whichever iterator asks first.
SHARED_ORDER = {"Merge cycle", "merged caches"}


@pytest.mark.parametrize("name", CASES)
def test_each_goes_on_from_every_place(name: str) -> None:
    # The key of a legacy generator takes up about 7000 bytes.
    assert_resumes_everywhere(CASES[name], new_process=False, max_state_bytes=42000)


@pytest.mark.parametrize("name", ["batch of noise, cut", "merged caches", "noisy grams"])
def test_chains_go_on_in_a_new_process(name: str) -> None:
    assert_resumes_everywhere(CASES[name], start_epochs=(1,))


@pytest.mark.parametrize("name", sorted(set(CASES) - SHARED_ORDER))
def test_iterators_of_one_stream_are_independent(name: str) -> None:
    alone = CASES[name]()
    first, second = list(alone.get_epoch_iterator()), list(alone.get_epoch_iterator())
    stream = CASES[name]()
    one, other = stream.get_epoch_iterator(), stream.get_epoch_iterator()
    ones: list[Any] = []
    others: list[Any] = []
    for _ in range(max(len(first), len(second)) + 1):
        ones += [item for item in [next(one, None)] if item is not None]
        others += [item for item in [next(other, None)] if item is not None]
    assert repr(ones) == repr(first)
    assert repr(others) == repr(second)


@pytest.mark.parametrize("name", CASES)
def test_a_known_length_is_the_length(name: str) -> None:
    stream = CASES[name]()
    try:
        length = len(stream)
    except TypeError:
        assert any(word in stream.explain() for word in ("Filter", "Window", "NGrams", "Merge"))
        return
    assert length == len(list(stream))


# -- chains that nobody wrote ----------------------------------------------------------------------


def wobble(data: Any, rng: numpy.random.Generator) -> Any:
    return tuple(numpy.asarray(column) + rng.random() for column in data)


def most(data: Any, rng: numpy.random.Generator) -> bool:
    return bool(rng.random() < 0.8)


class Remembering:
    """A function that remembers how often it was called."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, data: Any) -> Any:
        self.calls += 1
        return tuple(numpy.asarray(column) + self.calls for column in data)


def build(steps: list[tuple[str, int]], shuffled: bool) -> Any:
    """Stack steps on a stream of seven examples; a step that does not fit is left out."""
    scheme = ShuffledExampleScheme(7) if shuffled else SequentialExampleScheme(7)
    stream: Any = DataStream(images(), iteration_scheme=scheme)
    for kind, size in steps:
        if stream.produces_examples:
            if kind in ("Batch", "Unpack", "Cache"):
                stream = Batch(stream, ConstantScheme(size), strictness=size % 2)
        elif kind == "Unpack":
            stream = Unpack(stream)
        elif kind in ("Batch", "Cache"):
            stream = Cache(stream, ConstantScheme(size))
        if kind == "Mapping":
            stream = Mapping(stream, wobble)
        elif kind == "Remembering":
            stream = Mapping(stream, Remembering())
        elif kind == "Filter":
            stream = Filter(stream, most)
        elif kind == "Cast":
            stream = Cast(stream, "float32")
        elif kind == "Merge":
            other = build([step for step in steps[:1] if step[0] != "Merge"], not shuffled)
            if other.produces_examples == stream.produces_examples:
                names = ("a", "b", "c", "d", "e", "f", "g", "h")
                stream = Merge((FilterSources(stream, stream.sources[:2]), other), names[:4])
    return stream


STEPS = st.tuples(
    st.sampled_from(
        ["Batch", "Unpack", "Cache", "Mapping", "Remembering", "Filter", "Cast", "Merge"]
    ),
    st.integers(1, 5),
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=st.lists(STEPS, max_size=6), shuffled=st.booleans())
def test_any_chain_goes_on_from_every_place(steps: list[tuple[str, int]], shuffled: bool) -> None:
    assert_resumes_everywhere(
        lambda: build(steps, shuffled), new_process=False, start_epochs=(1,), epochs=1
    )


# -- what restoring costs --------------------------------------------------------------------------


class Counted(IndexableDataset):
    """Counts the examples that it is asked for."""

    asked = 0

    def get_data(self, state: Any = None, request: Any = None) -> Any:
        Counted.asked += len(request) if isinstance(request, list) else 1
        return super().get_data(state, request)


MILLION = 1_000_000


def counted(scheme: Any) -> DataStream:
    return DataStream(Counted({"x": numpy.arange(2 * MILLION)}), iteration_scheme=scheme)


def far(scheme_of: Callable[[], Any], wrap: Callable[[Any], Any], position: int) -> int:
    """Return how many examples are fetched again on resuming after a position."""
    stream = wrap(counted(scheme_of()))
    iterator = stream.get_epoch_iterator()
    next(iterator)
    # Going far by seeking: what is tested is the way back to where that led.
    source = iterator._run.cursor
    while source.children():
        source = source.children()[0]
    source.requests.seek(position)
    source.mark = source.requests.tell()
    for _ in range(3):
        expected = next(iterator)
    state = iterator.state_dict()
    expected = next(iterator)
    resumed = wrap(counted(scheme_of())).get_epoch_iterator()
    Counted.asked = 0
    resumed.load_state_dict(state)
    asked = Counted.asked
    assert repr(next(resumed)) == repr(expected)
    return asked


@pytest.mark.parametrize(
    ("scheme_of", "wrap", "most_again"),
    [
        (lambda: SequentialExampleScheme(2 * MILLION), lambda s: Batch(s, ConstantScheme(10)), 0),
        (lambda: SequentialExampleScheme(2 * MILLION), lambda s: Filter(s, even), 0),
        (lambda: SequentialScheme(2 * MILLION, 10), Unpack, 10),
        (lambda: SequentialScheme(2 * MILLION, 10), lambda s: Cache(s, ConstantScheme(3)), 10),
        (lambda: SequentialScheme(2 * MILLION, 10), lambda s: Cache(s, ConstantScheme(25)), 20),
        (
            lambda: SequentialScheme(2 * MILLION, 10),
            lambda s: Batch(Mapping(Unpack(s), wobble), ConstantScheme(4)),
            10,
        ),
    ],
    ids=["Batch", "Filter", "Unpack", "Cache smaller", "Cache larger", "chain"],
)
def test_resuming_far_into_an_epoch_fetches_again_only_what_is_held(
    scheme_of: Callable[[], Any], wrap: Callable[[Any], Any], most_again: int
) -> None:
    assert far(scheme_of, wrap, MILLION) <= most_again


def even(data: Any) -> bool:
    return bool(data[0] % 2 == 0)
