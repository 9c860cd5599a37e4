"""Transformer and its kinds: what is called, what is refused, what passes through."""

from __future__ import annotations

import logging
from typing import Any

import numpy
import pytest

import fuel
from fuel import transformers
from fuel.datasets import IndexableDataset
from fuel.exceptions import AxisLabelsMismatchError
from fuel.schemes import (
    ConstantScheme,
    SequentialExampleScheme,
    SequentialScheme,
    ShuffledExampleScheme,
)
from fuel.streams import AbstractDataStream, DataStream
from fuel.transformers import (
    AgnosticSourcewiseTransformer,
    AgnosticTransformer,
    ExpectsAxisLabels,
    Mapping,
    SourcewiseTransformer,
    Transformer,
)

ORIGINAL = (
    "AgnosticSourcewiseTransformer",
    "AgnosticTransformer",
    "BackgroundProcess",
    "Batch",
    "BatchSizeScheme",
    "Cache",
    "Cast",
    "ExpectsAxisLabels",
    "Filter",
    "FilterSources",
    "Flatten",
    "ForceFloatX",
    "Mapping",
    "Merge",
    "MultiProcessing",
    "Padding",
    "Rename",
    "ScaleAndShift",
    "SortMapping",
    "SourcewiseTransformer",
    "Transformer",
    "Unpack",
    "config",
)


def stream(scheme: Any = None) -> DataStream:
    data = IndexableDataset(
        {"source1": numpy.arange(4), "source2": numpy.arange(4) * 10},
        axis_labels={"source1": ("batch",), "source2": ("batch",)},
    )
    return DataStream(data, iteration_scheme=scheme or SequentialScheme(4, 2))


def examples() -> DataStream:
    return stream(SequentialExampleScheme(4))


def test_the_original_names_are_there() -> None:
    for name in ORIGINAL:
        assert name in transformers.__all__
        assert hasattr(transformers, name)
    assert transformers.config is fuel.config


def test_a_plain_transformer_can_be_made_and_says_what_it_lacks() -> None:
    plain = Transformer(stream(), produces_examples=False)
    assert isinstance(plain, AbstractDataStream)
    assert plain.sources == ("source1", "source2")
    assert plain.axis_labels is None
    with pytest.raises(NotImplementedError, match="transform_batch"):
        next(iter(plain))
    with pytest.raises(NotImplementedError, match="transform_example"):
        next(iter(Transformer(examples(), produces_examples=True)))
    with pytest.raises(ValueError, match="produces_examples"):
        Transformer(stream()).produces_examples


def test_a_difference_in_what_is_produced_is_not_implemented_at_the_first_item() -> None:
    plain = Transformer(stream(), produces_examples=True)
    iterator = plain.get_epoch_iterator()
    with pytest.raises(NotImplementedError, match="Transformer produces examples but.*DataStream"):
        next(iterator)


def test_sources_can_be_set() -> None:
    plain = Transformer(stream(), produces_examples=False)
    plain.sources = ("a",)
    assert plain.sources == ("a",)
    assert plain.data_stream.sources == ("source1", "source2")


def test_requests_are_refused_by_get_data() -> None:
    plain = Transformer(stream(), produces_examples=False)
    plain.get_epoch_iterator()
    with pytest.raises(ValueError, match="takes no requests"):
        plain.get_data([0, 1])


def test_close_reset_and_next_epoch_are_handed_down() -> None:
    calls: list[str] = []

    class Noting(DataStream):
        def close(self) -> None:
            calls.append("close")

        def reset(self) -> None:
            calls.append("reset")

        def next_epoch(self) -> None:
            calls.append("next_epoch")

    below = Noting(IndexableDataset([1, 2]), iteration_scheme=SequentialScheme(2, 2))
    chain = Mapping(Mapping(below, lambda data: data), lambda data: data)
    calls.clear()
    chain.close(), chain.reset(), chain.next_epoch()
    assert calls == ["close", "reset", "next_epoch"]


class Both(SourcewiseTransformer):
    def transform_source_example(self, example: Any, name: str) -> Any:
        return f"{name}:{int(example)}"

    def transform_source_batch(self, batch: Any, name: str) -> Any:
        return [f"{name}:{int(example)}" for example in batch]


def test_sources_are_transformed_one_by_one() -> None:
    assert next(iter(Both(examples(), True))) == ("source1:0", "source2:0")
    assert next(iter(Both(stream(), False))) == (
        ["source1:0", "source1:1"],
        ["source2:0", "source2:10"],
    )
    chosen = next(iter(Both(examples(), True, which_sources=("source2",))))
    assert chosen == (0, "source2:0")
    assert isinstance(chosen, tuple)


def test_a_plain_string_selects_by_substring_as_it_always_did() -> None:
    assert next(iter(Both(examples(), True, which_sources=("source1")))) == ("source1:0", 0)
    assert next(iter(Both(examples(), True, which_sources="source1 and source2"))) == (
        "source1:0",
        "source2:0",
    )


def test_a_sourcewise_transformer_can_be_made_and_says_what_it_lacks() -> None:
    for produces, below in ((True, examples()), (False, stream())):
        with pytest.raises(NotImplementedError, match="source1"):
            next(iter(SourcewiseTransformer(below, produces)))


@pytest.mark.parametrize("cls", [AgnosticTransformer, AgnosticSourcewiseTransformer])
def test_agnostic_kinds_are_abstract(cls: Any) -> None:
    with pytest.raises(TypeError, match="abstract"):
        cls(stream(), False)


def test_agnostic_kinds_call_one_method_for_both() -> None:
    class Twice(AgnosticTransformer):
        def transform_any(self, data: Any) -> Any:
            return tuple(column * 2 for column in data)

    class More(AgnosticSourcewiseTransformer):
        def transform_any_source(self, data: Any, name: str) -> Any:
            return data + len(name)

    assert [int(part) for part in list(Twice(examples(), True))[1]] == [2, 20]
    assert next(iter(Twice(stream(), False)))[1].tolist() == [0, 20]
    assert next(iter(More(stream(), False, which_sources=("source2",))))[1].tolist() == [7, 17]
    assert [int(part) for part in next(iter(More(examples(), True)))] == [7, 7]


def test_a_transformer_may_count_what_it_reads() -> None:
    class Pairs(Transformer):
        def get_data(self, request: Any = None) -> Any:
            if request is not None:
                raise ValueError
            (one, _), (other, _) = next(self.child_epoch_iterator), next(self.child_epoch_iterator)
            return int(one), int(other)

    pairs = Pairs(examples(), produces_examples=True)
    assert list(pairs) == [(0, 1), (2, 3)]
    assert list(pairs.get_epoch_iterator()) == [(0, 1), (2, 3)]


def test_a_transformer_may_have_a_scheme_of_its_own() -> None:
    class Asked(Transformer):
        def get_data(self, request: Any = None) -> Any:
            return ([int(next(self.child_epoch_iterator)[0]) for _ in range(request)],)

    asked = Asked(examples(), iteration_scheme=ConstantScheme(2, times=2))
    assert asked.produces_examples is False
    assert list(asked) == [([0, 1],), ([2, 3],)]
    with pytest.raises(ValueError, match="follows from its iteration scheme"):
        Asked(examples(), produces_examples=True, iteration_scheme=ConstantScheme(2))


class Expecting(Transformer, ExpectsAxisLabels):
    pass


def test_axis_labels_are_checked_once_a_source(caplog: pytest.LogCaptureFixture) -> None:
    checker = Expecting(stream(), produces_examples=False)
    checker.verify_axis_labels(("batch", "x"), ("batch", "x"), "good")
    with pytest.raises(AxisLabelsMismatchError, match=r"\('batch', 'x'\) for source 'bad'"):
        checker.verify_axis_labels(("batch", "x"), ("batch", "y"), "bad")
    with caplog.at_level(logging.DEBUG):
        for _ in range(3):
            checker.verify_axis_labels(("batch",), None, "unknown")
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert issubclass(AxisLabelsMismatchError, ValueError)


def test_mixed_chains_explain_themselves() -> None:
    class Secret(Transformer):
        def transform_example(self, example: Any) -> Any:
            return example

    data = stream(ShuffledExampleScheme(4))
    text = Secret(data, produces_examples=True).explain()
    assert "Secret" in text
    assert "elementwise = True" in text
