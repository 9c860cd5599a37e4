"""Random chains of steps, for the tests of workers."""

from __future__ import annotations

from typing import Any

import numpy
from hypothesis import strategies as st

from fuel.datasets import IndexableDataset, IterableDataset
from fuel.schemes import (
    ConstantScheme,
    PermutedExampleScheme,
    PermutedScheme,
    SequentialExampleScheme,
    SequentialScheme,
    ShuffledExampleScheme,
    ShuffledScheme,
)
from fuel.streams import DataStream
from fuel.transformers import (
    Batch,
    Cast,
    Filter,
    Flatten,
    Mapping,
    Merge,
    Padding,
    ScaleAndShift,
    Unpack,
)

__all__ = ["build", "equal", "plans"]

ROWS = 23


def noisy(data: Any, rng: numpy.random.Generator) -> Any:
    """Add a draw to the first source."""
    return (data[0] + rng.integers(0, 100), *data[1:])


def doubled(data: Any) -> Any:
    """Double the first source."""
    return (data[0] * 2, *data[1:])


def odd(data: Any) -> bool:
    """Keep examples with an odd number."""
    return bool(data[1] % 2)


def _dataset(kind: str) -> Any:
    images = numpy.arange(ROWS * 12, dtype=numpy.uint8).reshape(ROWS, 3, 4)
    numbers = numpy.arange(ROWS)
    if kind == "arrays":
        return IndexableDataset({"x": images, "n": numbers})
    if kind == "lists":
        return IndexableDataset({"x": [image.astype("i4") for image in images], "n": numbers})
    words = [numpy.arange(1 + (number * 5) % 7) for number in range(ROWS)]
    return IndexableDataset({"x": words, "n": numbers})


_EXAMPLE_SCHEMES = {
    "sequential": lambda: SequentialExampleScheme(ROWS),
    "shuffled": lambda: ShuffledExampleScheme(ROWS, rng=numpy.random.RandomState(3)),
    "permuted": lambda: PermutedExampleScheme(ROWS, seed=5),
}
_BATCH_SCHEMES = {
    "sequential": lambda: SequentialScheme(ROWS, 4),
    "shuffled": lambda: ShuffledScheme(ROWS, 4, rng=numpy.random.RandomState(3)),
    "permuted": lambda: PermutedScheme(ROWS, 4, seed=5),
}

_STEPS = (
    "noisy", "doubled", "filter", "batch", "unpack", "cast", "scale", "flatten",
)  # fmt: skip


@st.composite
def plans(draw: Any) -> dict[str, Any]:
    """Draw the description of a chain."""
    return {
        "data": draw(st.sampled_from(["arrays", "lists", "ragged", "iterable"])),
        "order": draw(st.sampled_from(["sequential", "shuffled", "permuted"])),
        "batches": draw(st.booleans()),
        "size": draw(st.integers(1, 9)),
        "strictness": draw(st.sampled_from([0, 0, 1])),
        "steps": draw(st.lists(st.sampled_from(_STEPS), max_size=5)),
        "merge": draw(st.booleans()) and draw(st.booleans()),
    }


def _source(plan: dict[str, Any]) -> Any:
    if plan["data"] == "iterable":
        images = numpy.arange(ROWS * 12, dtype=numpy.uint8).reshape(ROWS, 3, 4)
        return DataStream(IterableDataset({"x": images, "n": list(range(ROWS))}), seed=7)
    schemes = _BATCH_SCHEMES if plan["batches"] else _EXAMPLE_SCHEMES
    return DataStream(_dataset(plan["data"]), iteration_scheme=schemes[plan["order"]](), seed=7)


def build(plan: dict[str, Any]) -> Any:
    """Build a chain anew."""
    stream = _chain(plan, _source(plan))
    if plan["merge"]:
        other = _chain(plan, _source({**plan, "order": "sequential"}))
        names = tuple(f"{name}{side}" for side in "ab" for name in stream.sources)
        stream = Merge((stream, other), names)
    return stream


def _chain(plan: dict[str, Any], stream: Any) -> Any:
    for step in plan["steps"]:
        ragged = plan["data"] == "ragged"
        if step == "noisy" and stream.produces_examples:
            stream = Mapping(stream, noisy)
        elif step == "doubled" and stream.produces_examples:
            stream = Mapping(stream, doubled, elementwise=True)
        elif step == "filter" and stream.produces_examples:
            stream = Filter(stream, odd)
        elif step == "batch" and stream.produces_examples:
            stream = Batch(stream, ConstantScheme(plan["size"]), strictness=plan["strictness"])
        elif step == "unpack" and not stream.produces_examples:
            stream = Unpack(stream)
        elif step == "cast" and not ragged:
            stream = Cast(stream, "float32", which_sources=("x",))
        elif step == "scale" and not ragged:
            stream = ScaleAndShift(stream, 0.5, 1.0, which_sources=("x",))
        elif step == "flatten" and not ragged:
            stream = Flatten(stream, which_sources=("x",))
    if plan["data"] == "ragged" and not stream.produces_examples:
        stream = Padding(stream, mask_sources=("x",))
    return stream


def equal(one: Any, other: Any) -> bool:
    """Tell whether two items are the same, bit for bit, types and all."""
    if type(one) is not type(other):
        return False
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, numpy.ndarray):
        if one.dtype != other.dtype or one.shape != other.shape:
            return False
        if one.dtype == object:
            return all(map(equal, one.ravel().tolist(), other.ravel().tolist()))
        return one.tobytes() == other.tobytes()
    return bool(one == other)
