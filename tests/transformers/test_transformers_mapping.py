"""Mapping, SortMapping and Filter: what a function is given, may return, and may not be."""

from __future__ import annotations

import functools
import pickle
from typing import Any

import numpy
import pytest

from fuel.config_parser import config
from fuel.datasets import IndexableDataset, IterableDataset
from fuel.exceptions import StateMismatchError
from fuel.rng import example_rng
from fuel.schemes import (
    ConstantScheme,
    SequentialExampleScheme,
    SequentialScheme,
    ShuffledExampleScheme,
)
from fuel.streams import DataStream
from fuel.transformers import Batch, Filter, Mapping, SortMapping, Unpack


def dataset() -> IndexableDataset:
    return IndexableDataset(
        {"x": numpy.arange(6), "y": numpy.arange(6) * 10},
        axis_labels={"x": ("batch",), "y": ("batch",)},
    )


def examples() -> DataStream:
    return DataStream(dataset(), iteration_scheme=SequentialExampleScheme(6))


def batches(size: int = 4) -> DataStream:
    return DataStream(dataset(), iteration_scheme=SequentialScheme(6, size))


def add(data: Any, rng: numpy.random.Generator) -> Any:
    return (data[0] + rng.random(),)


# -- the original behaviour -----------------------------------------------------------------------


def test_a_function_gets_the_tuple_and_its_result_is_the_item() -> None:
    stream = Mapping(batches(), lambda data: (data[0] + 1, data[1].sum()))
    (x, total), (rest, _) = list(stream)
    assert x.tolist() == [1, 2, 3, 4]
    assert total == 60
    assert rest.tolist() == [5, 6]
    assert stream.sources == ("x", "y")
    assert not stream.produces_examples
    assert stream.axis_labels is None


def test_added_sources_are_appended() -> None:
    stream = Mapping(examples(), lambda data: (data[0] + data[1],), add_sources=("sum",))
    assert stream.sources == ("x", "y", "sum")
    assert [tuple(map(int, item)) for item in stream][:2] == [(0, 0, 0), (1, 10, 11)]
    assert next(stream.get_epoch_iterator(as_dict=True)) == {"x": 0, "y": 0, "sum": 0}


def test_a_single_name_may_be_added_without_a_tuple_and_a_list_returned() -> None:
    stream = Mapping(examples(), lambda data: [data[0]], add_sources="again")
    assert stream.sources == ("x", "y", "again")
    assert len(next(iter(stream))) == 3


def test_a_dict_is_ordered_by_source() -> None:
    def swap(data: Any) -> Any:
        assert list(data) == ["x", "y"]
        return {"y": data["x"], "x": data["y"], "unused": None}

    stream = Mapping(examples(), swap, mapping_accepts=dict)
    assert [tuple(map(int, item)) for item in stream][1] == (10, 1)


def test_a_dict_may_add_sources() -> None:
    stream = Mapping(
        examples(), lambda d: {"b": d["x"], "a": 7}, add_sources=("a", "b"), mapping_accepts=dict
    )
    assert [tuple(map(int, item)) for item in stream][1] == (1, 10, 7, 1)


def test_sources_are_read_only() -> None:
    stream = Mapping(examples(), abs)
    with pytest.raises(AttributeError):
        stream.sources = ("z",)


def test_what_it_accepts_must_be_list_or_dict() -> None:
    with pytest.raises(ValueError, match="mapping_accepts"):
        Mapping(examples(), abs, mapping_accepts=tuple)


def test_requests_are_refused() -> None:
    stream = Mapping(examples(), lambda data: data)
    stream.get_epoch_iterator()
    with pytest.raises(ValueError, match="Mapping takes no requests"):
        stream.get_data([0, 1])


def test_unknown_arguments_are_type_errors() -> None:
    with pytest.raises(TypeError):
        Mapping(examples(), abs, which_sources=("x",))  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="callable"):
        Mapping(examples(), 5)  # type: ignore[arg-type]


def test_axis_labels_are_only_those_given() -> None:
    assert Mapping(examples(), abs, axis_labels={"x": ("z",)}).axis_labels == {"x": ("z",)}


@pytest.mark.parametrize("result", [(1, 2), (), 5, numpy.zeros(1)])
def test_a_wrong_number_of_added_results_names_function_and_sources(result: Any) -> None:
    def wrong(data: Any) -> Any:
        return result

    stream = Mapping(examples(), wrong, add_sources=("z",))
    with pytest.raises(ValueError, match=r"wrong must return .*\('z',\)"):
        next(iter(stream))


@pytest.mark.parametrize("result", [{"x": 1}, 5, (1, 2, 3)])
def test_a_missing_source_names_function_and_sources(result: Any) -> None:
    def wrong(data: Any) -> Any:
        return result

    with pytest.raises(ValueError, match=r"wrong must return a dict with the keys \['x', 'y'\]"):
        next(iter(Mapping(examples(), wrong, mapping_accepts=dict)))


# -- functions that draw --------------------------------------------------------------------------


def test_a_function_that_takes_rng_draws_by_ordinal_and_name() -> None:
    stream = Mapping(examples(), add)
    for epoch in range(2):
        for ordinal, (value,) in enumerate(stream):
            step = "Mapping(add)"
            expected = example_rng(config.default_seed, epoch, ordinal, step).random()
            assert value == ordinal + expected


def test_a_batch_draws_by_its_first_ordinal() -> None:
    stream = Mapping(batches(), add, seed=9, name="jitter")
    values = [x for (x,) in stream]
    for first, x in zip((0, 4), values, strict=True):
        noise = example_rng(9, 0, first, "jitter").random()
        assert x.tolist() == (numpy.arange(first, min(first + 4, 6)) + noise).tolist()


def test_draws_travel_with_the_example_through_reshaping_steps() -> None:
    direct = [value for (value,) in Mapping(examples(), add)]
    through = Unpack(Batch(examples(), ConstantScheme(4)))
    assert [value for (value,) in Mapping(through, add)] == direct
    shuffled = DataStream(dataset(), iteration_scheme=ShuffledExampleScheme(6))
    noise = [float(v % 1) for (v,) in Mapping(shuffled, add)]
    assert noise == pytest.approx([float(v % 1) for v in direct])


class Method:
    def add(self, data: Any, rng: Any) -> Any:
        return (rng.random(),)

    def __call__(self, data: Any, rng: Any) -> Any:
        return (rng.random(),)


def _keyword(data: Any, *, rng: Any = None) -> Any:
    return (0.5,) if rng is None else (0.0,)


def _default(data: Any, rng: Any = None) -> Any:
    return (0.5,) if rng is None else (0.0,)


def _other(data: Any, generator: Any = None) -> Any:
    return (0.5,)


@pytest.mark.parametrize("function", [Method().add, Method(), functools.partial(add)])
def test_rng_is_recognised_in_methods_callables_and_partials(function: Any) -> None:
    values = [value for (value,) in Mapping(examples(), function)]
    assert len({float(value % 1) for value in values}) == 6


@pytest.mark.parametrize("function", [_keyword, _default, _other])
def test_no_other_parameter_is_taken_for_it(function: Any) -> None:
    assert [value for (value,) in Mapping(examples(), function)] == [0.5] * 6


@pytest.mark.parametrize("function", [tuple, numpy.negative, sum])
def test_builtins_and_ufuncs_are_called_with_the_data_alone(function: Any) -> None:
    assert len(list(Mapping(examples(), function))) == 6


@pytest.mark.parametrize("cls", [Mapping, Filter])
def test_a_seed_needs_a_function_that_draws(cls: Any) -> None:
    with pytest.raises(ValueError, match="_default does not draw"):
        cls(examples(), _default, seed=3)


def test_a_state_of_another_seed_is_refused() -> None:
    state = Mapping(examples(), add, seed=1).get_epoch_iterator().state_dict()
    with pytest.raises(StateMismatchError, match="seed: saved 1, here 2"):
        Mapping(examples(), add, seed=2).load_state_dict(state)


# -- what is elementwise --------------------------------------------------------------------------


def test_elementwise_is_implied_by_rng_or_declared() -> None:
    assert Mapping(examples(), add).elementwise
    assert not Mapping(examples(), abs).elementwise
    assert Mapping(examples(), abs, elementwise=True).elementwise
    assert "elementwise=True" in Mapping(examples(), abs).explain()
    assert "can be evaluated for any example" in Mapping(examples(), add).explain()


def closing_over() -> Any:
    rng = numpy.random.RandomState(1)
    return lambda data: (rng.rand(),)


class Keeping:
    def __init__(self) -> None:
        self.rng = numpy.random.default_rng(1)

    def __call__(self, data: Any) -> Any:
        return (self.rng.random(),)

    def method(self, data: Any) -> Any:
        return (self.rng.random(),)


def with_default(data: Any, generator: Any = numpy.random.RandomState(2)) -> Any:  # noqa: B008
    return (generator.rand(),)


def drawing_twice(data: Any, rng: Any, other: Any = numpy.random.RandomState(2)) -> Any:  # noqa: B008
    return (rng.random() + other.rand(),)


@pytest.mark.parametrize(
    ("function", "where"),
    [
        (closing_over(), "'rng'"),
        (Keeping(), "'rng'"),
        (Keeping().method, "'__self__.rng'"),
        (with_default, "'generator'"),
        (functools.partial(_other, generator=numpy.random.RandomState(1)), "keywords"),
    ],
)
def test_declaring_it_with_a_generator_in_hand_is_refused_by_name(
    function: Any, where: str
) -> None:
    with pytest.raises(ValueError, match=where):
        Mapping(examples(), function, elementwise=True)
    Mapping(examples(), function)  # as it always was
    stream = Mapping(examples(), function)
    with pytest.raises(ValueError, match=where):
        stream.elementwise = True


@pytest.mark.parametrize("cls", [Mapping, Filter])
def test_a_function_that_takes_rng_may_hold_no_other(cls: Any) -> None:
    with pytest.raises(ValueError, match="'other'"):
        cls(examples(), drawing_twice)


# -- SortMapping ----------------------------------------------------------------------------------


def test_sorting_keeps_types_and_is_stable() -> None:
    batch = (numpy.array([3, 1, 2, 1], dtype="int8"), ["c", "a", "b", "A"])
    x, names = SortMapping(lambda example: example[0])(batch)
    assert x.dtype == numpy.int8
    assert x.tolist() == [1, 1, 2, 3]
    assert names == ["a", "A", "b", "c"]
    x, names = SortMapping(lambda example: example[0], reverse=True)(batch)
    assert x.tolist() == [3, 2, 1, 1]
    assert names == ["c", "b", "a", "A"]


def test_ragged_batches_are_sorted() -> None:
    data = IterableDataset([[3, 3, 3], [1], [2, 2]])
    stream = Mapping(
        Batch(DataStream(data), ConstantScheme(3)), SortMapping(lambda example: len(example[0]))
    )
    (batch,) = next(iter(stream))
    assert [list(item) for item in batch] == [[1], [2, 2], [3, 3, 3]]
    images = numpy.empty(2, dtype=object)
    images[0], images[1] = numpy.zeros((3, 3)), numpy.zeros((2, 2))
    (found,) = SortMapping(lambda example: example[0].size)((images,))
    assert [image.shape for image in found] == [(2, 2), (3, 3)]


def test_an_empty_batch_stays_empty() -> None:
    x, names = SortMapping(lambda example: example[0])((numpy.zeros(0, "f4"), []))
    assert (x.dtype, x.shape, names) == (numpy.float32, (0,), [])


def first(example: Any) -> Any:
    return example[0]


def test_it_pickles_with_its_key() -> None:
    copy = pickle.loads(pickle.dumps(SortMapping(first, reverse=True)))
    assert copy(([1, 2],)) == ([2, 1],)


# -- Filter ---------------------------------------------------------------------------------------


def test_filter_keeps_what_the_predicate_is_true_for() -> None:
    assert [int(x) for x, _ in Filter(examples(), lambda data: data[0] % 2)] == [1, 3, 5]
    kept = list(Filter(batches(2), lambda data: data[0].sum() > 1))
    assert [x.tolist() for x, _ in kept] == [[2, 3], [4, 5]]


def test_filter_keeps_sources_and_labels_and_gives_dicts() -> None:
    stream = Filter(examples(), lambda data: data[0] == 4)
    assert stream.sources == ("x", "y")
    assert stream.axis_labels == examples().axis_labels
    assert stream.axis_labels is not stream.data_stream.axis_labels
    assert list(stream.get_epoch_iterator(as_dict=True)) == [{"x": 4, "y": 40}]


def test_filter_may_drop_everything() -> None:
    assert list(Filter(examples(), lambda data: False)) == []


def test_a_predicate_may_draw() -> None:
    def keep(data: Any, rng: Any) -> bool:
        return bool(rng.random() < 0.5)

    stream = Filter(examples(), keep, seed=4)
    drawn = [example_rng(4, 0, ordinal, "Filter").random() for ordinal in range(6)]
    assert [int(x) for x, _ in stream] == [n for n, value in enumerate(drawn) if value < 0.5]


def test_an_array_as_verdict_is_numpys_error() -> None:
    with pytest.raises(ValueError, match="ambiguous"):
        next(iter(Filter(batches(), lambda data: data[0] > 1)))


def test_the_length_of_a_filtered_stream_is_not_known() -> None:
    with pytest.raises(TypeError, match="not known"):
        len(Filter(examples(), lambda data: True))
    assert len(Mapping(batches(), lambda data: data)) == 2


def test_reprs_name_the_function() -> None:
    assert "add" in repr(Mapping(examples(), add))
    assert "first" in repr(Filter(examples(), first))
