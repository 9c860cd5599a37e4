"""Chains that nobody wrote go on from every place of an epoch; what going on costs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuel.datasets import IndexableDataset
from fuel.schemes import (
    ConstantScheme,
    SequentialExampleScheme,
    SequentialScheme,
    ShuffledExampleScheme,
)
from fuel.streams import DataStream
from fuel.testing import assert_resumes_everywhere
from fuel.transformers import (
    Batch,
    Cache,
    Cast,
    Filter,
    FilterSources,
    Mapping,
    Merge,
    Unpack,
)


def images(count: int = 7, sources: tuple[str, ...] = ("x", "y")) -> IndexableDataset:
    data = {"x": numpy.arange(count * 4).reshape(count, 2, 2), "y": numpy.arange(count)[:, None]}
    return IndexableDataset(
        data,
        sources=sources,
        axis_labels={"x": ("batch", "height", "width"), "y": ("batch", "index")},
    )


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
    """Stack steps on a stream of a few examples; a step that does not fit is left out."""
    scheme = ShuffledExampleScheme(5) if shuffled else SequentialExampleScheme(7)
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
                kept = FilterSources(stream, stream.sources[:2])
                # A stream from which everything was filtered cannot be started again.
                filtered = any(step[0] == "Filter" for step in steps)
                policy = "shortest" if filtered or size % 2 else "cycle"
                stream = Merge((kept, other), ("a", "b", "c", "d"), on_unequal=policy)
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


MILLION = 1_000_000


def counted(scheme: Any) -> DataStream:
    data = IndexableDataset({"x": numpy.arange(2 * MILLION)})
    return DataStream(data, iteration_scheme=scheme)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Collects the numbers of examples that datasets are asked for."""
    numbers: list[int] = []
    get_data = IndexableDataset.get_data

    def counting(self: Any, state: Any = None, request: Any = None) -> Any:
        numbers.append(len(request) if isinstance(request, list) else 1)
        return get_data(self, state, request)

    monkeypatch.setattr(IndexableDataset, "get_data", counting)
    return numbers


def go_far(
    scheme_of: Callable[[], Any],
    wrap: Callable[[Any], Any],
    position: int,
    asked: list[int],
) -> int:
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
    asked.clear()
    resumed.load_state_dict(state)
    again = sum(asked)
    assert repr(next(resumed)) == repr(expected)
    assert asked
    return again


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
    scheme_of: Callable[[], Any],
    wrap: Callable[[Any], Any],
    most_again: int,
    asked: list[int],
) -> None:
    assert go_far(scheme_of, wrap, MILLION, asked) <= most_again


def even(data: Any) -> bool:
    return bool(data[0] % 2 == 0)
