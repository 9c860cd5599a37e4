"""What users wrote over our transformers, and below them, runs as it did and is resumed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

from fuel.datasets import IndexableDataset, IterableDataset
from fuel.exceptions import IteratorInvalidatedError
from fuel.schemes import ConstantScheme, ShuffledExampleScheme, ShuffledScheme
from fuel.streams import DataStream
from fuel.testing import assert_resumes_everywhere
from fuel.transformers import (
    AgnosticTransformer,
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
    Transformer,
    Unpack,
)
from fuel.transformers.defaults import ToBytes
from fuel.transformers.sequences import NGrams, Window


def images() -> IndexableDataset:
    return IndexableDataset({"x": numpy.arange(28).reshape(7, 2, 2), "y": numpy.arange(7)[:, None]})


def examples() -> DataStream:
    return DataStream(images(), iteration_scheme=ShuffledExampleScheme(7))


def batches(size: int = 3) -> DataStream:
    return DataStream(images(), iteration_scheme=ShuffledScheme(7, size))


def sentences() -> DataStream:
    data = [[1, 2, 3, 4], [5], [6, 7, 8], [], [9, 10, 11]]
    return DataStream(IndexableDataset({"words": data}), iteration_scheme=ShuffledExampleScheme(5))


def twice(data: Any) -> Any:
    return (data[0] * 2, data[1])


def noise(data: Any, rng: numpy.random.Generator) -> Any:
    return tuple(column + rng.random() for column in data)


def draw(data: Any, rng: numpy.random.Generator) -> Any:
    return (rng.random(),)


def some(data: Any) -> Any:
    return data[1][0] % 3


BUILT_IN: dict[type, Callable[[Any], Any]] = {
    Mapping: lambda cls: cls(examples(), twice),
    Flatten: lambda cls: cls(batches()),
    ScaleAndShift: lambda cls: cls(batches(), 2, 1),
    Cast: lambda cls: cls(batches(), "float32"),
    ForceFloatX: lambda cls: cls(batches()),
    Filter: lambda cls: cls(examples(), some),
    Batch: lambda cls: cls(examples(), ConstantScheme(3)),
    Unpack: lambda cls: cls(batches()),
    Cache: lambda cls: cls(batches(), ConstantScheme(2)),
    Padding: lambda cls: cls(Batch(sentences(), ConstantScheme(2))),
    Rename: lambda cls: cls(examples(), {"x": "z"}),
    FilterSources: lambda cls: cls(examples(), ("x",)),
    ToBytes: lambda cls: cls(examples()),
    Window: lambda cls: cls(0, 1, 1, True, sentences()),
    NGrams: lambda cls: cls(1, sentences()),
    Merge: lambda cls: cls((examples(), Cast(examples(), "float32")), ("a", "b", "c", "d")),
}


def old_way(cls: Any) -> Any:
    """Return a subclass as programs wrote them."""

    class Old(cls):
        def get_data(self, request=None):
            self.calls = getattr(self, "calls", 0) + 1
            return super().get_data(request)

    return Old


@pytest.mark.parametrize("cls", BUILT_IN, ids=lambda cls: cls.__name__)
def test_a_subclass_may_override_get_data_and_call_ours(cls: Any) -> None:
    plain, old = BUILT_IN[cls](cls), BUILT_IN[cls](old_way(cls))
    for _ in range(2):
        expected, found = list(plain.get_epoch_iterator()), list(old.get_epoch_iterator())
        assert repr(found) == repr(expected)
    assert old.calls >= len(expected)


@pytest.mark.parametrize("cls", BUILT_IN, ids=lambda cls: cls.__name__)
def test_such_a_subclass_is_resumed(cls: Any) -> None:
    assert_resumes_everywhere(
        lambda: BUILT_IN[cls](old_way(cls)), new_process=False, pickles=False, start_epochs=(1,)
    )


@pytest.mark.parametrize("cls", BUILT_IN, ids=lambda cls: cls.__name__)
def test_a_second_iterator_of_such_a_subclass_displaces_the_first_by_name(cls: Any) -> None:
    stream = BUILT_IN[cls](old_way(cls))
    first = stream.get_epoch_iterator()
    next(first)
    second = stream.get_epoch_iterator()
    next(second)
    with pytest.raises(IteratorInvalidatedError, match="Old"):
        next(first)
    next(second)


@pytest.mark.parametrize("cls", [Batch, Unpack, Cache, Window], ids=lambda cls: cls.__name__)
def test_draws_above_such_a_subclass_are_those_above_ours(cls: Any) -> None:
    plain = Mapping(BUILT_IN[cls](cls), draw)
    old = Mapping(BUILT_IN[cls](old_way(cls)), draw)
    assert repr(list(plain)) == repr(list(old))


# -- memory below a step that holds items ---------------------------------------------------------


class Counting(AgnosticTransformer):
    """Adds the number of items it has seen, over all epochs."""

    def __init__(self, data_stream: Any, **kwargs: Any) -> None:
        super().__init__(data_stream, data_stream.produces_examples, **kwargs)
        self.count = 0

    def transform_any(self, data: Any) -> Any:
        self.count += 1
        return tuple(numpy.asarray(column) + 100 * self.count for column in data)


class Repeating(Transformer):
    """Yields each item twice and keeps what is left on itself."""

    def __init__(self, data_stream: Any, **kwargs: Any) -> None:
        super().__init__(data_stream, data_stream.produces_examples, **kwargs)
        self.left = None

    def get_epoch_iterator(self, **kwargs: Any) -> Any:
        self.left = None
        return super().get_epoch_iterator(**kwargs)

    def get_data(self, request: Any = None) -> Any:
        if self.left is not None:
            data, self.left = self.left, None
            return data
        self.left = next(self.child_epoch_iterator)
        return self.left


class Generated(Transformer):
    """A generator function for an epoch."""

    def __init__(self, data_stream: Any, **kwargs: Any) -> None:
        super().__init__(data_stream, data_stream.produces_examples, **kwargs)

    def get_epoch_iterator(self, as_dict: bool = False) -> Any:
        for data in self.data_stream.get_epoch_iterator():
            yield data
            yield data


def drawing() -> Any:
    rng = numpy.random.RandomState(3)

    def add(data: Any) -> Any:
        return tuple(numpy.asarray(column) + rng.randint(1000) for column in data)

    return add


class Every:
    """A predicate that counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, data: Any) -> bool:
        self.calls += 1
        return self.calls % 3 != 0


REMEMBERING: dict[str, Callable[[Any], Any]] = {
    "counter": Counting,
    "leftover": Repeating,
    "generator function": Generated,
    "closure over a generator": lambda stream: Mapping(stream, drawing()),
    "counting predicate": lambda stream: Filter(stream, Every()),
}

HOLDING: dict[str, Callable[[Callable[[Any], Any]], Any]] = {
    "Unpack": lambda make: Unpack(make(batches())),
    "Cache": lambda make: Cache(make(batches()), ConstantScheme(2)),
    "Batch": lambda make: Batch(make(examples()), ConstantScheme(2)),
    "NGrams": lambda make: NGrams(1, make(sequences())),
    "Unpack, Batch, Unpack": lambda make: Unpack(Batch(Unpack(make(batches())), ConstantScheme(4))),
    "Cache, Cache": lambda make: Cache(
        Cache(make(batches()), ConstantScheme(2)), ConstantScheme(3)
    ),
    "above and below": lambda make: make(Unpack(make(batches()))),
    "Merge": lambda make: Merge(
        (make(examples()), Unpack(make(batches()))), ("a", "b", "c", "d"), on_unequal="cycle"
    ),
}


def sequences() -> DataStream:
    data = [numpy.arange(n) for n in (4, 2, 3)]
    return DataStream(IterableDataset(data))


@pytest.mark.parametrize("memory", REMEMBERING)
@pytest.mark.parametrize("holder", sorted(set(HOLDING) - {"above and below"}))
def test_what_is_held_is_fetched_again_as_it_was(holder: str, memory: str) -> None:
    assert_resumes_everywhere(
        lambda: HOLDING[holder](REMEMBERING[memory]),
        new_process=False,
        pickles=False,
        start_epochs=(1,),
    )


@pytest.mark.parametrize("memory", sorted(set(REMEMBERING) - {"generator function"}))
def test_memory_above_and_below_is_told_apart(memory: str) -> None:
    assert_resumes_everywhere(
        lambda: HOLDING["above and below"](REMEMBERING[memory]),
        new_process=False,
        pickles=False,
        start_epochs=(1,),
    )


@pytest.mark.parametrize("holder", ["Unpack", "Cache", "NGrams"])
def test_an_item_made_from_what_a_step_kept_draws_as_it_would_have(holder: str) -> None:
    # The draws of the second of two equal items are those of a child of the first's ordinal.
    assert_resumes_everywhere(
        lambda: Mapping(Repeating(HOLDING[holder](lambda stream: stream)), draw),
        new_process=False,
        pickles=False,
        start_epochs=(0,),
    )
    drawn = [item[0] for item in Mapping(Repeating(HOLDING[holder](lambda stream: stream)), draw)]
    assert len(set(drawn)) == len(drawn)
