"""Streams and transformers: defaults, labels, refusals and the small promises programs rely on."""

from __future__ import annotations

import logging
import pickle
from collections import OrderedDict
from typing import Any

import numpy
import pytest

from fuel.config_parser import config
from fuel.datasets import Dataset, IndexableDataset, IterableDataset
from fuel.exceptions import AxisLabelsMismatchError
from fuel.iterator import DataIterator
from fuel.schemes import ConstantScheme, SequentialExampleScheme, SequentialScheme
from fuel.streams import AbstractDataStream, DataStream
from fuel.transformers import (
    AgnosticSourcewiseTransformer,
    Batch,
    Cache,
    Cast,
    ExpectsAxisLabels,
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
    SourcewiseTransformer,
    Transformer,
    Unpack,
)
from fuel.transformers.defaults import uint8_pixels_to_floatX

LABELS = {"x": ("batch", "h", "w"), "y": ("batch",)}


def dataset() -> Any:
    data = [("x", numpy.arange(60).reshape(10, 2, 3)), ("y", -numpy.arange(10))]
    return IndexableDataset(OrderedDict(data), axis_labels=dict(LABELS))


def batches(**kwargs: Any) -> Any:
    return DataStream(dataset(), iteration_scheme=SequentialScheme(10, 4), **kwargs)


def examples(**kwargs: Any) -> Any:
    return DataStream(dataset(), iteration_scheme=SequentialExampleScheme(10), **kwargs)


@pytest.fixture
def float_x() -> Any:
    before = config.floatX if config.origin("floatX") != "not set" else "float64"
    yield
    config.floatX = before


def _same(item: Any) -> Any:
    return item


def test_axis_labels_follow_the_data() -> None:
    assert batches().axis_labels == LABELS
    single = {"x": ("h", "w"), "y": ()}
    assert examples().axis_labels == Unpack(batches()).axis_labels == single
    assert Batch(examples(), ConstantScheme(2)).axis_labels == LABELS
    flat = Flatten(batches(), which_sources=("x",)).axis_labels
    assert flat == {"x": ("batch", "feature"), "y": ("batch",)}
    assert Flatten(examples(), which_sources=("x",)).axis_labels["x"] == ("feature",)
    assert Flatten(batches(axis_labels={"x": None})).axis_labels["x"] is None
    for keeping in (
        ScaleAndShift(batches(), 1, 2),
        Cast(batches(), "float32"),
        ForceFloatX(batches()),
        Filter(batches(), _same),
        Cache(batches(), ConstantScheme(2)),
    ):
        assert keeping.axis_labels == LABELS
    merged = Merge([batches(), batches()], ("a", "b", "c", "d"))
    for dropping in (Mapping(batches(), _same), Padding(batches()), Transformer(batches()), merged):
        assert dropping.axis_labels is None
    renamed = Rename(batches(), {"x": "z"})
    assert renamed.axis_labels == {"z": LABELS["x"], "y": LABELS["y"]}
    assert FilterSources(batches(), ("y",)).axis_labels == {"y": ("batch",)}


def test_whether_examples_come_follows_from_the_scheme_or_must_be_set() -> None:
    assert (examples().produces_examples, batches().produces_examples) == (True, False)
    assert DataStream(IterableDataset([1])).produces_examples
    with pytest.raises(ValueError):
        batches().produces_examples = True
    unknown = Transformer(batches())
    with pytest.raises(ValueError, match="Transformer"):
        unknown.produces_examples
    unknown.produces_examples = False
    with pytest.raises(NotImplementedError):
        next(unknown.get_epoch_iterator())
    with pytest.raises(NotImplementedError):
        next(Transformer(batches(), produces_examples=True).get_epoch_iterator())

    class ByClass(Transformer):
        produces_examples = False

        def transform_batch(self, batch: Any) -> Any:
            return batch

    assert len(list(ByClass(batches()).get_epoch_iterator())) == 3


def test_what_cannot_work_is_refused_when_built() -> None:
    for build in (
        lambda: Cache(batches(), SequentialScheme(3, 2)),
        lambda: Batch(batches(), ConstantScheme(2)),
        lambda: Batch(examples(), SequentialExampleScheme(2)),
        lambda: Unpack(examples()),
        lambda: Padding(examples()),
        lambda: Merge([batches(), examples()], ("a", "b", "c", "d")),
        lambda: Merge([batches(), batches()], ("a",)),
        lambda: Mapping(batches(), _same, mapping_accepts=tuple),
        lambda: FilterSources(batches(), ("nothing",)),
        lambda: Rename(batches(), {"x": "z"}, on_non_existent="nothing"),
    ):
        with pytest.raises(ValueError):
            build()
    for names in ({"nothing": "z"}, {"x": "y"}, {"x": "z", "y": "z"}):
        with pytest.raises(KeyError):
            Rename(batches(), names)
    assert Rename(batches(), {"x": "y", "y": "x"}).sources == ("y", "x")
    absent = Rename(batches(), {"nothing": "y"}, on_non_existent="ignore")
    assert absent.sources == ("x", "y")


def test_requests_go_only_to_those_who_take_them() -> None:
    cache, batch = Cache(batches(), ConstantScheme(2)), Batch(examples(), ConstantScheme(2))
    mapping = Mapping(batches(), _same)
    for stream in (cache, batch, mapping):
        stream.get_epoch_iterator()
    for stream in (cache, batch):
        with pytest.raises(ValueError):
            stream.get_data()
        assert len(stream.get_data(3)[0]) == 3
    with pytest.raises(ValueError):
        mapping.get_data([1])
    assert len(cache.cache) == 2
    assert len(cache.cache[0]) == 1
    assert batches().get_data([1, 2])[1].tolist() == [-1, -2]


def test_mappings_take_tuples_or_dicts() -> None:
    def double(data: Any) -> Any:
        return {"y": data["y"], "x": data["x"] * 2}

    (x, y), *_ = Mapping(batches(), double, mapping_accepts=dict).get_epoch_iterator()
    assert (x[0, 0, 1], y[1]) == (2, -1)
    added = Mapping(
        batches(), lambda d: {"z": d["y"] * 2}, add_sources=("z",), mapping_accepts=dict
    )
    assert added.sources == ("x", "y", "z")
    assert next(added.get_epoch_iterator(as_dict=True))["z"].tolist() == [0, -2, -4, -6]
    with pytest.raises(AttributeError):
        added.sources = ("a",)


def test_sorting_keeps_arrays_arrays() -> None:
    lists, array = SortMapping(len_of_first, reverse=True)(([[1], [1, 2]], numpy.array([5, 6])))
    assert list(lists) == [[1, 2], [1]]
    assert isinstance(array, numpy.ndarray)
    assert array.tolist() == [6, 5]


def len_of_first(example: Any) -> int:
    return len(example[0])


def test_padding_masks_ragged_sources(float_x: Any) -> None:
    config.floatX = "float32"
    ragged = IterableDataset(OrderedDict([("f", [[1, 2], [3], [4, 5, 6]]), ("t", [1, 2, 3])]))
    padding = Padding(Batch(DataStream(ragged), ConstantScheme(2)), mask_sources=("f",))
    assert padding.sources == ("f", "f_mask", "t")
    f, mask, t = next(padding.get_epoch_iterator())
    assert (f.tolist(), mask.tolist(), t.tolist()) == ([[1, 2], [3, 0]], [[1, 1], [1, 0]], [1, 2])
    assert (f.dtype.kind, mask.dtype) == ("i", "float32")
    different = IterableDataset([numpy.ones((2, 3)), numpy.ones((2, 4))])
    with pytest.raises(ValueError):
        next(Padding(Batch(DataStream(different), ConstantScheme(2))).get_epoch_iterator())


def test_float_x_is_read_when_a_cast_is_built_and_whenever_it_is_forced(float_x: Any) -> None:
    config.floatX = "float64"
    pair = IndexableDataset({"a": numpy.ones(3), "b": numpy.arange(3)})
    stream = DataStream(pair, iteration_scheme=SequentialScheme(3, 3))
    cast, forced = Cast(stream, "floatX"), ForceFloatX(stream)
    config.floatX = "float32"
    assert [source.dtype for source in next(cast.get_epoch_iterator())] == ["float64", "float64"]
    a, b = next(forced.get_epoch_iterator())
    assert (a.dtype, b.dtype.kind) == ("float32", "i")


def test_default_transformers_wrap_a_stream(float_x: Any) -> None:
    config.floatX = "float32"

    class Pixels(IndexableDataset):
        default_transformers = uint8_pixels_to_floatX(("x",))

    pixels = Pixels({"x": numpy.array([[0], [255]], "uint8"), "y": numpy.arange(2)})
    scheme = SequentialScheme(2, 2)
    for stream in (
        DataStream.default_stream(pixels, iteration_scheme=scheme),
        pixels.apply_default_transformers(DataStream(pixels, iteration_scheme=scheme)),
    ):
        x, y = next(stream.get_epoch_iterator())
        assert x.tolist() == [[0.0], [1.0]]
        assert (x.dtype, y.dtype.kind) == ("float32", "i")


def test_which_sources_as_a_string_selects_by_substring() -> None:
    class PlusOne(AgnosticSourcewiseTransformer):
        def transform_any_source(self, source_data: Any, _: str) -> Any:
            return source_data + 1

    for which in ("x", ("x",), ["x"]):
        x, y = next(PlusOne(batches(), False, which).get_epoch_iterator())
        assert (x[0, 0, 0], y[0]) == (1, 0)


def test_axis_labels_are_verified_once_a_source(caplog: pytest.LogCaptureFixture) -> None:
    class Needing(SourcewiseTransformer, ExpectsAxisLabels):
        pass

    needing = Needing(batches(), False)
    for _ in range(2):
        needing.verify_axis_labels(("batch",), None, "x")
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    needing.verify_axis_labels(("batch",), ("batch",), "y")
    with pytest.raises(AxisLabelsMismatchError):
        needing.verify_axis_labels(("batch",), ("other",), "z")


class Counter(Dataset):
    """Never calls ``super().__init__``; its state is a list."""

    provides_sources = ("x", "y")
    sources = ("x", "y")
    axis_labels = None

    def __init__(self, last: int) -> None:
        self.last = last
        self.calls: list[str] = []

    def open(self) -> Any:
        self.calls.append("open")
        return [0]

    def close(self, state: Any) -> None:
        self.calls.append("close")

    def next_epoch(self, state: Any) -> Any:
        self.calls.append("next_epoch")
        return super().next_epoch(state)

    def get_data(self, state: Any = None, request: Any = None) -> Any:
        if state[0] == self.last:
            raise StopIteration
        state[0] += 1
        return state[0], -state[0]


def test_a_dataset_that_never_calls_super_is_streamed_and_pickled() -> None:
    counter = Counter(3)
    stream = DataStream(counter)
    assert counter.calls == ["open"]
    assert stream.data_state == [0]
    assert list(stream.get_epoch_iterator()) == [(1, -1), (2, -2), (3, -3)]
    assert counter.calls == ["open"]
    iterator = stream.get_epoch_iterator()
    assert counter.calls == ["open", "next_epoch", "close", "open"]
    next(iterator)
    iterator = pickle.loads(pickle.dumps(iterator))
    assert list(iterator) == [(2, -2), (3, -3)]
    stream.reset()
    assert len(list(stream.get_epoch_iterator())) == 3
    assert counter.calls.count("next_epoch") == 1


def test_classes_may_declare_what_instances_otherwise_set() -> None:
    class Squares(Dataset):
        provides_sources = ("a", "b", "c")
        _example_iteration_scheme = SequentialExampleScheme(3)

        def get_data(self, state: Any = None, request: Any = None) -> Any:
            return self.filter_sources((request, request**2, request**3))

    squares = Squares(sources=("c", "a"))
    assert squares.sources == ("c", "a")
    # The data keeps the order of `provides_sources`.
    assert list(squares.get_example_stream().get_epoch_iterator()) == [(0, 0), (1, 1), (2, 8)]
    for wrong in ((), ("d",), ("a", "d")):
        with pytest.raises(ValueError, match="unable to provide requested sources"):
            Squares(sources=wrong)

    class Undeclared(Dataset):
        def get_data(self, state: Any = None, request: Any = None) -> Any:
            return ()

    with pytest.raises(ValueError):
        Undeclared()


def test_an_iterable_dataset_has_a_state_that_pickles() -> None:
    pairs = IterableDataset(OrderedDict([("a", [1, 2]), ("b", "xy")]), sources=("b", "a"))
    assert pairs.iterables == ["xy", [1, 2]]
    state = pairs.open()
    assert pairs.get_data(state) == ("x", 1)
    copy = pickle.loads(pickle.dumps(state))
    assert pairs.get_data(copy) == pairs.get_data(state) == ("y", 2)
    with pytest.raises(StopIteration):
        pairs.get_data(copy)
    for state, request_ in ((None, None), (pairs.open(), 1)):
        with pytest.raises(ValueError):
            pairs.get_data(state, request_)
    assert numpy.isnan(IterableDataset(iter([1])).num_examples)
    for wrong in (3, {"a": [1], "b": [1, 2]}):
        with pytest.raises(ValueError):
            IterableDataset(wrong)


def test_iterators_built_by_hand_ask_the_stream() -> None:
    by_hand = DataIterator(batches(), iter([[0], [1, 2]]), as_dict=True)
    assert [item["y"].tolist() for item in by_hand] == [[0], [-1, -2]]
    assert list(DataIterator(DataStream(IterableDataset([1, 2])))) == [(1,), (2,)]


def test_the_abstract_stream_has_usable_bodies() -> None:
    class Counting(AbstractDataStream):
        sources = ("i",)
        produces_examples = True

        def get_epoch_iterator(self, **kwargs: Any) -> Any:
            self.i = 0
            return super().get_epoch_iterator(**kwargs)

        def get_data(self, request: Any = None) -> Any:
            if self.i == 3:
                raise StopIteration
            self.i += 1
            return (self.i,)

    stream = Counting()
    assert list(stream.get_epoch_iterator()) == [(1,), (2,), (3,)]
    assert list(stream.get_epoch_iterator(as_dict=True)) == [{"i": 1}, {"i": 2}, {"i": 3}]
    assert (stream.close(), stream.reset(), stream.next_epoch()) == (None, None, None)
    batches_of_it = Batch(stream, ConstantScheme(2)).get_epoch_iterator()
    assert [i.tolist() for (i,) in batches_of_it] == [[1, 2], [3]]
    epochs = stream.iterate_epochs(as_dict=True)
    assert [len(list(next(epochs))) for _ in range(2)] == [3, 3]
