"""Containers of all kinds, drawn by Hypothesis, and what a plain loop finds in them."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy
from hypothesis import strategies as st

from fuel.datasets import IndexableDataset

Pair = namedtuple("Pair", ["x", "y"])


class Squares:
    """Nothing but a length and `[]`."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> int:
        if type(index) is not int:
            raise AssertionError(f"one at a time, got {index!r}")
        return index * index


class AtOnce(Squares):
    """Can answer for a whole batch."""

    def __getitems__(self, indices: list[int]) -> Any:
        assert type(indices) is list and indices
        return numpy.array(indices) ** 2


def column(kind: str, count: int) -> Any:
    """A container of one column."""
    rng = numpy.random.default_rng(count)
    return {
        "vector": rng.integers(0, 99, count),
        "table": rng.random((count, 3)).astype("float32"),
        "big": rng.integers(0, 99, (count, 2)).astype(">i4"),
        "strided": rng.random((count, 4))[:, ::2],
        "texts": numpy.array([f"t{number}" for number in range(count)]),
        "objects": numpy.fromiter((numpy.arange(i % 3) for i in range(count)), object, count),
        "list": [[number, number + 1] for number in range(count)],
        "words": ["w" * number for number in range(count)],
        "range": range(3, 3 + 2 * count, 2),
        "squares": Squares(count),
        "at once": AtOnce(count),
        "dataset": IndexableDataset({"a": rng.random((count, 2)), "b": list(range(count))}),
    }[kind]


KINDS = [
    "vector",
    "table",
    "big",
    "strided",
    "texts",
    "objects",
    "list",
    "words",
    "range",
    "squares",
    "at once",
    "dataset",
]


@st.composite
def containers(draw: st.DrawFn, min_size: int = 1, max_size: int = 12) -> Any:
    """A container of any kind, possibly a structure of others."""
    count = draw(st.integers(min_size, max_size))
    columns = st.sampled_from(KINDS).map(lambda kind: column(kind, count))
    inner = st.recursive(
        columns,
        lambda parts: st.one_of(
            st.lists(parts, min_size=1, max_size=3).map(tuple),
            st.tuples(parts, parts).map(lambda pair: Pair(*pair)),
            st.dictionaries(st.sampled_from("abc"), parts, min_size=1),
        ),
        max_leaves=4,
    )
    return draw(inner)


def plain(value: Any) -> Any:
    """Whatever was fetched, as lists, tuples and dicts that can be compared."""
    if isinstance(value, numpy.ndarray):
        return plain(value.tolist())
    if isinstance(value, numpy.generic):
        return value.item()
    if isinstance(value, list):
        return [plain(each) for each in value]
    if hasattr(value, "_fields"):
        return type(value)(*map(plain, value))
    if isinstance(value, tuple):
        return tuple(plain(each) for each in value)
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return value


def transposed(observations: list[Any]) -> Any:
    """A batch made of observations one by one, in plain form."""
    first = observations[0]
    if hasattr(first, "_fields"):
        return type(first)(*(transposed([o[i] for o in observations]) for i in range(len(first))))
    if isinstance(first, tuple):
        return tuple(transposed([o[i] for o in observations]) for i in range(len(first)))
    if isinstance(first, dict):
        return {key: transposed([o[key] for o in observations]) for key in first}
    return plain(observations)
