"""What a loader is to deliver, in a few lines of NumPy: the model that the tests compare with."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy

from fuel.kernels.permutation import Permutation


class Pair(NamedTuple):
    """A named tuple of two."""

    image: Any
    label: Any


class Squares:
    """A container that only knows single indices."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        return (numpy.array([index, index * index]), f"number {index}")


class AtOnce(Squares):
    """A container that is asked for a whole batch at once."""

    def __getitems__(self, indices: list[int]) -> list[Any]:
        assert all(type(index) is int for index in indices)
        return [self[index] for index in indices]


def arrays(count: int) -> tuple[Any, Any]:
    """Two arrays with as many rows, no two of which are alike."""
    images = numpy.arange(count * 6, dtype=numpy.float32).reshape(count, 2, 3)
    return images, numpy.arange(count, dtype=numpy.int64) * 10


def container(kind: str, count: int) -> Any:
    """Data of a kind."""
    images, labels = arrays(count)
    names = [f"name {index}" for index in range(count)]
    kinds = {
        "array": images,
        "vector": labels,
        "list": names,
        "tuple": (images, names),
        "named": Pair(images, labels),
        "dict": {"image": images, "name": names},
        "nested": {"both": (images, labels), "name": names},
        "texts": numpy.array([f"n{index}" for index in range(count)] or ["x"])[:count],
        "objects": numpy.fromiter([(i, "x") for i in range(count)], dtype=object, count=count),
        "object": Squares(count),
        "at once": AtOnce(count),
        "range": range(count),
    }
    return kinds[kind]


KINDS = [
    "array",
    "vector",
    "list",
    "tuple",
    "named",
    "dict",
    "nested",
    "texts",
    "objects",
    "object",
    "at once",
    "range",
]


def order(count: int, seed: int | None, epochs: range) -> list[int]:
    """The indices of several epochs, one after the other."""
    found: list[int] = []
    for epoch in epochs:
        if seed is None:
            found += range(count)
        else:
            found += Permutation(seed, epoch, count).block(0, count).tolist()
    return found


def cut(indices: list[int], batch_size: int, partial: bool) -> list[list[int]]:
    """The indices in batches."""
    batches = [indices[k : k + batch_size] for k in range(0, len(indices), batch_size)]
    return batches if partial else [batch for batch in batches if len(batch) == batch_size]


def one(data: Any, index: int) -> Any:
    """One observation."""
    if isinstance(data, dict):
        return {key: one(part, index) for key, part in data.items()}
    if isinstance(data, Pair):
        return Pair(*[one(part, index) for part in data])
    if isinstance(data, tuple):
        return tuple([one(part, index) for part in data])
    return data[index]


def many(data: Any, indices: list[int]) -> Any:
    """A batch."""
    if isinstance(data, dict):
        return {key: many(part, indices) for key, part in data.items()}
    if isinstance(data, Pair):
        return Pair(*[many(part, indices) for part in data])
    if isinstance(data, tuple):
        return tuple([many(part, indices) for part in data])
    if isinstance(data, numpy.ndarray):
        return data[indices]
    return [data[index] for index in indices]


def same(one_side: Any, other: Any) -> bool:
    """Whether two items are equal in values, types and structure."""
    if type(one_side) is not type(other):
        return False
    if isinstance(one_side, dict):
        keys = list(one_side) == list(other)
        return keys and all(same(one_side[key], other[key]) for key in one_side)
    if isinstance(one_side, (tuple, list)):
        pairs = zip(one_side, other, strict=False)
        return len(one_side) == len(other) and all(same(*pair) for pair in pairs)
    if isinstance(one_side, numpy.ndarray):
        alike = one_side.dtype == other.dtype and one_side.shape == other.shape
        return alike and one_side.tolist() == other.tolist()
    return bool(one_side == other)
