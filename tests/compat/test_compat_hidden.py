"""Datasets that remember between calls, written with no thought of saved positions."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from typing import Any

import numpy
import pytest

from fuel.datasets import Dataset, IterableDataset
from fuel.schemes import ConstantScheme, SequentialScheme
from fuel.streams import DataStream
from fuel.transformers import Batch, Cache, Mapping


class Endless(Dataset):
    """Draws examples; counts its own calls to know when an epoch ends."""

    provides_sources = ("x",)

    def __init__(self) -> None:
        self.rng = numpy.random.RandomState(4)
        self.calls = 0
        super().__init__()

    def get_data(self, state: Any = None, request: Any = None) -> Any:
        self.calls += 1
        if self.calls % 6 == 0:
            raise StopIteration
        return (int(self.rng.randint(1000)),)


class WithState(Endless):
    """The same, but it also has a state."""

    def open(self) -> Any:
        return {"opened": True}


class Augmenting(Dataset):
    """Has numbered examples, a state, and noise of its own."""

    provides_sources = ("x",)

    def __init__(self) -> None:
        self.rng = numpy.random.RandomState(4)
        super().__init__()

    def open(self) -> Any:
        return [0]

    def get_data(self, state: Any = None, request: Any = None) -> Any:
        state[0] += 1
        return (numpy.array(request) * 1000 + self.rng.randint(1000) + state[0],)


def _add(data: Any) -> Any:
    return (data[0] + 1,)


BUILD: dict[str, Callable[[], Any]] = {
    "endless": lambda: DataStream(Endless()),
    "with state": lambda: DataStream(WithState()),
    "mapped": lambda: Mapping(DataStream(Endless()), _add),
    # Whatever is left over is dropped: a dataset asked beyond its end would go on.
    "batches": lambda: Batch(DataStream(Endless()), ConstantScheme(2), strictness=1),
    "numbered": lambda: DataStream(Augmenting(), iteration_scheme=SequentialScheme(10, 3)),
    "cut anew": lambda: Cache(
        DataStream(Augmenting(), iteration_scheme=SequentialScheme(10, 4)), ConstantScheme(3)
    ),
}


def plain(iterator: Any) -> Any:
    return [numpy.asarray(x).tolist() for (x,) in iterator]


@pytest.mark.parametrize("name", BUILD)
@pytest.mark.parametrize("epochs", [0, 1])
def test_it_goes_on_with_what_would_have_come(name: str, epochs: int) -> None:
    stream = BUILD[name]()
    whole = [plain(stream.get_epoch_iterator()) for _ in range(epochs + 2)][epochs:]
    assert whole[0] != whole[1]
    for done in range(len(whole[0]) + 1):
        stream = BUILD[name]()
        for _ in range(epochs):
            plain(stream.get_epoch_iterator())
        iterator = stream.get_epoch_iterator()
        for _ in range(done):
            next(iterator)
        state = json.loads(json.dumps(iterator.state_dict()))
        again = BUILD[name]()
        loaded = again.get_epoch_iterator()
        loaded.load_state_dict(state)
        assert plain(loaded) == whole[0][done:]
        assert plain(again.get_epoch_iterator()) == whole[1]
        stream, iterator = pickle.loads(pickle.dumps((stream, iterator)))
        assert plain(iterator) == whole[0][done:]
        assert plain(stream.get_epoch_iterator()) == whole[1]


class Numbers:
    """An iterable without a memory."""

    def __iter__(self) -> Any:
        return iter([3, 1, 4, 1, 5])


def test_an_iterable_of_a_users_class_is_read_up_to_the_place() -> None:
    iterator = DataStream(IterableDataset(Numbers())).get_epoch_iterator()
    assert [next(iterator), next(iterator)] == [(3,), (1,)]
    again = DataStream(IterableDataset(Numbers())).get_epoch_iterator()
    again.load_state_dict(json.loads(json.dumps(iterator.state_dict())))
    assert list(again) == [(4,), (1,), (5,)]
