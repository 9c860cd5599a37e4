"""The library's own steps, subclassed the way programs did it: their insides are the user's.

Each subclass is run, pickled in the middle of an epoch, and resumed from its ``state_dict``.
"""

from __future__ import annotations

import json
import pickle
from collections import OrderedDict
from typing import Any

import numpy
import pytest

from fuel.datasets import IndexableDataset, IterableDataset
from fuel.iterator import DataIterator
from fuel.schemes import ConstantScheme, SequentialExampleScheme, SequentialScheme
from fuel.streams import DataStream
from fuel.transformers import (
    Batch,
    Cache,
    Filter,
    Mapping,
    Merge,
    Rename,
    Transformer,
    Unpack,
)


def data(examples: int = 10) -> Any:
    numbers = numpy.arange(examples)
    return IndexableDataset(OrderedDict([("x", numbers), ("y", -numbers)]))


def batches(examples: int = 10, size: int = 4) -> Any:
    return DataStream(data(examples), iteration_scheme=SequentialScheme(examples, size))


def singles(examples: int = 10) -> Any:
    return DataStream(data(examples), iteration_scheme=SequentialExampleScheme(examples))


class OwnCache(Cache):
    """Keeps, fills and empties ``cache`` by itself."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.cache = [[] for _ in self.sources]

    def get_epoch_iterator(self, **kwargs: Any) -> Any:
        self.cache = [[] for _ in self.sources]
        return super().get_epoch_iterator(**kwargs)

    def get_data(self, request: Any = None) -> Any:
        while request > len(self.cache[0]):
            try:
                self._cache()
            except StopIteration:
                break
        if not self.cache[0]:
            raise StopIteration
        result = tuple(numpy.asarray(held[:request]) for held in self.cache)
        for number, held in enumerate(self.cache):
            self.cache[number] = held[request:]
        return result

    def _cache(self) -> None:
        for held, source in zip(self.cache, next(self.child_epoch_iterator), strict=True):
            held.extend(source)


class CallingCache(OwnCache):
    """The same, but ours fetches."""

    def _cache(self) -> None:
        Cache._cache(self)


class ReversingCache(Cache):
    """Has its say in what is put into the cache."""

    def _cache(self) -> None:
        for held, source in zip(self.cache, next(self.child_epoch_iterator), strict=True):
            held.extend(source[::-1])


class ShufflingCache(Cache):
    """Lets ours fetch, and then changes all that is held."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.rng = numpy.random.RandomState(1)
        super().__init__(*args, **kwargs)

    def _cache(self) -> None:
        super()._cache()
        order = self.rng.permutation(len(self.cache[0]))
        self.cache = [[held[i] for i in order] for held in self.cache]


class OwnBatch(Batch):
    """Stacks by itself."""

    def get_data(self, request: Any = None) -> Any:
        result: list[list[Any]] = [[] for _ in self.sources]
        for number in range(request):
            try:
                example = next(self.child_epoch_iterator)
            except StopIteration:
                if number == 0:
                    raise
                break
            for held, value in zip(result, example, strict=True):
                held.append(value)
        return tuple(numpy.asarray(held) for held in result)


class TenfoldBatch(Batch):
    """Changes what ours returns."""

    def get_data(self, request: Any = None) -> Any:
        return tuple(source * 10 for source in super().get_data(request))


class OwnUnpack(Unpack):
    """Keeps the rest of a batch on itself."""

    def __init__(self, data_stream: Any) -> None:
        super().__init__(data_stream)
        self.data: list[Any] = []

    def get_data(self, request: Any = None) -> Any:
        if not self.data:
            self.data = list(zip(*next(self.child_epoch_iterator), strict=True))
        return self.data.pop(0)


class OwnMerge(Merge):
    """Reads the iterators of its streams by itself."""

    def get_data(self, request: Any = None) -> Any:
        return tuple([value for child in self.child_epoch_iterators for value in next(child)])


class OwnMapping(Mapping):
    """Calls the mapping by itself."""

    def get_data(self, request: Any = None) -> Any:
        return tuple(self.mapping(next(self.child_epoch_iterator)))


class BoundFilter(Filter):
    """Its predicate is its own method."""

    def __init__(self, data_stream: Any, most: int) -> None:
        super().__init__(data_stream, predicate=self.check)
        self.most = most

    def check(self, item: Any) -> bool:
        return bool(item[0] < self.most)


class Skipping(Transformer):
    """Lets the first items of an epoch go."""

    def __init__(self, data_stream: Any, count: int) -> None:
        super().__init__(data_stream, produces_examples=data_stream.produces_examples)
        self.count = count

    def get_epoch_iterator(self, **kwargs: Any) -> Any:
        iterator = super().get_epoch_iterator(**kwargs)
        for _ in range(self.count):
            next(self.child_epoch_iterator)
        return iterator

    def transform_example(self, example: Any) -> Any:
        return example


class LookingAhead(Transformer):
    """Adds whether an item is the last; holds one item."""

    def __init__(self, data_stream: Any) -> None:
        super().__init__(data_stream, produces_examples=True)
        self.sources = (*data_stream.sources, "last")

    def get_epoch_iterator(self, **kwargs: Any) -> Any:
        iterator = super().get_epoch_iterator(**kwargs)
        self.coming = next(self.child_epoch_iterator, None)
        return iterator

    def get_data(self, request: Any = None) -> Any:
        if self.coming is None:
            raise StopIteration
        item, self.coming = self.coming, next(self.child_epoch_iterator, None)
        return (*item, self.coming is None)


class CountingEpochs(Transformer):
    """Knows how many epochs were started."""

    def __init__(self, data_stream: Any) -> None:
        super().__init__(data_stream, produces_examples=data_stream.produces_examples)
        self.epoch = -1

    def get_epoch_iterator(self, **kwargs: Any) -> Any:
        self.epoch += 1
        return super().get_epoch_iterator(**kwargs)

    def transform_batch(self, batch: Any) -> Any:
        return (batch[0] + 100 * self.epoch, batch[1])


class PassingRequestsDown(Transformer):
    """Has the scheme itself, and hands each request to the stream below."""

    def get_data(self, request: Any = None) -> Any:
        return self.data_stream.get_data(request)


def _same(item: Any) -> Any:
    return item


BUILD = {
    "OwnCache": lambda: OwnCache(batches(), ConstantScheme(3)),
    "CallingCache": lambda: CallingCache(batches(), ConstantScheme(3)),
    "ReversingCache": lambda: ReversingCache(batches(), ConstantScheme(3)),
    "ShufflingCache": lambda: ShufflingCache(batches(), ConstantScheme(3)),
    "OwnBatch": lambda: OwnBatch(singles(), ConstantScheme(3)),
    "TenfoldBatch": lambda: TenfoldBatch(singles(), ConstantScheme(3)),
    "OwnUnpack": lambda: OwnUnpack(batches()),
    "OwnMerge": lambda: OwnMerge([batches(), batches(12)], ("a", "b", "c", "d")),
    "OwnMapping": lambda: OwnMapping(batches(), _same),
    "BoundFilter": lambda: BoundFilter(singles(), 6),
    "Skipping": lambda: Skipping(singles(), 4),
    "LookingAhead": lambda: LookingAhead(singles(5)),
    "CountingEpochs": lambda: CountingEpochs(batches()),
    "PassingRequestsDown": lambda: PassingRequestsDown(
        batches(), iteration_scheme=SequentialScheme(10, 5)
    ),
}
FIRST = {
    "OwnCache": [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]],
    "CallingCache": [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]],
    "ReversingCache": [[3, 2, 1], [0, 7, 6], [5, 4, 9], [8]],
    "OwnBatch": [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]],
    "TenfoldBatch": [[0, 10, 20], [30, 40, 50], [60, 70, 80], [90]],
    "OwnUnpack": list(range(10)),
    "OwnMerge": [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]],
    "OwnMapping": [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]],
    "BoundFilter": [0, 1, 2, 3, 4, 5],
    "Skipping": [4, 5, 6, 7, 8, 9],
    "LookingAhead": [0, 1, 2, 3, 4],
    "CountingEpochs": [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]],
    "PassingRequestsDown": [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]],
}


def plain(items: Any) -> Any:
    return [[numpy.asarray(value).tolist() for value in item] for item in items]


@pytest.mark.parametrize("name", BUILD)
def test_what_comes_is_what_the_subclass_makes(name: str) -> None:
    epoch = plain(BUILD[name]().get_epoch_iterator())
    if name in FIRST:
        assert [item[0] for item in epoch] == FIRST[name]
    else:
        assert sorted(value for item in epoch for value in item[0]) == list(range(10))
        assert [item[0] for item in epoch] != FIRST["OwnCache"]


@pytest.mark.parametrize("name", BUILD)
def test_it_goes_on_from_a_pickle_and_from_a_state(name: str) -> None:
    stream = BUILD[name]()
    whole = plain(stream.get_epoch_iterator())
    second = plain(stream.get_epoch_iterator())
    for done in range(len(whole) + 1):
        stream = BUILD[name]()
        iterator = stream.get_epoch_iterator()
        for _ in range(done):
            next(iterator)
        state = json.loads(json.dumps(iterator.state_dict()))
        again = BUILD[name]()
        loaded = again.get_epoch_iterator()
        loaded.load_state_dict(state)
        assert plain(loaded) == whole[done:]
        assert plain(again.get_epoch_iterator()) == second
        stream, iterator = pickle.loads(pickle.dumps((stream, iterator)))
        assert plain(iterator) == whole[done:]
        assert plain(stream.get_epoch_iterator()) == second


class Duck:
    """A stream that inherits nothing."""

    sources = ("x",)
    produces_examples = True
    axis_labels = None

    def get_epoch_iterator(self, as_dict: bool = False) -> Any:
        return iter([(1,), (2,), (3,)])

    def close(self) -> None:
        pass


def test_streams_that_inherit_nothing_are_read() -> None:
    assert plain(Batch(Duck(), ConstantScheme(2)).get_epoch_iterator()) == [[[1, 2]], [[3]]]
    assert list(Mapping(Duck(), _same).get_epoch_iterator()) == [(1,), (2,), (3,)]
    renamed = Rename(Duck(), {"x": "z"}).get_epoch_iterator(as_dict=True)
    assert list(renamed) == [{"z": 1}, {"z": 2}, {"z": 3}]


def test_methods_replaced_on_an_instance_are_called() -> None:
    stream = batches()
    original = stream.get_data
    stream.get_data = lambda request=None: tuple(3 * source for source in original(request))
    assert plain(stream.get_epoch_iterator())[2] == [[24, 27], [-24, -27]]


def test_parts_exchanged_between_epochs_are_used() -> None:
    stream, batch = batches(), Batch(singles(), ConstantScheme(2))
    mapping = Mapping(batches(), _same)
    stream.iteration_scheme = SequentialScheme(10, 5)
    batch.iteration_scheme = ConstantScheme(5)
    mapping.data_stream = batches(4, 2)
    assert [len(list(s.get_epoch_iterator())) for s in (stream, batch, mapping)] == [2, 2, 2]


def test_the_hooks_of_a_stream_are_called_by_those_who_call_them() -> None:
    class Noting(Transformer):
        def __init__(self, data_stream: Any) -> None:
            super().__init__(data_stream, produces_examples=True)
            self.calls: list[str] = []

        def reset(self) -> None:
            self.calls.append("reset")
            super().reset()

        def next_epoch(self) -> None:
            self.calls.append("next_epoch")
            super().next_epoch()

        def transform_example(self, example: Any) -> Any:
            return example

    stream = Noting(DataStream(IterableDataset([1, 2, 3])))
    assert next(stream.get_epoch_iterator()) == (1,)
    stream.reset()
    for _ in range(2):
        assert list(stream.get_epoch_iterator()) == [(1,), (2,), (3,)]
    # The library itself never calls `next_epoch` of a transformer.
    assert stream.calls == ["reset"]


def test_an_epoch_iterator_built_by_hand_pickles() -> None:
    stream = ByHand(batches())
    iterator = stream.get_epoch_iterator(as_dict=True)
    assert next(iterator)["x"].tolist() == [0, -1, -2, -3]
    iterator = pickle.loads(pickle.dumps(iterator))
    assert next(iterator)["x"].tolist() == [-4, -5, -6, -7]


class ByHand(Transformer):
    """Starts its epoch itself."""

    produces_examples = False

    def get_epoch_iterator(self, as_dict: bool = False) -> Any:
        self.child_epoch_iterator = self.data_stream.get_epoch_iterator()
        return DataIterator(self, None, as_dict)

    def transform_batch(self, batch: Any) -> Any:
        return tuple(-source for source in batch)
