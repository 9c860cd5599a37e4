"""Rename and FilterSources: names, labels and order."""

from __future__ import annotations

import logging
from typing import Any

import numpy
import pytest

from fuel.datasets import IndexableDataset
from fuel.schemes import SequentialExampleScheme, SequentialScheme
from fuel.streams import DataStream
from fuel.transformers import FilterSources, Flatten, Mapping, Rename


def stream(examples: bool = False) -> DataStream:
    data = IndexableDataset(
        {"x": numpy.arange(3), "y": numpy.arange(3) * 10, "z": numpy.arange(3) * 100},
        axis_labels={"x": ("batch",), "y": ("batch",)},
    )
    scheme = SequentialExampleScheme(3) if examples else SequentialScheme(3, 2)
    return DataStream(data, iteration_scheme=scheme)


# -- Rename ---------------------------------------------------------------------------------------


def test_names_change_and_data_does_not() -> None:
    renamed = Rename(stream(True), {"x": "features", "z": "targets"})
    assert renamed.sources == ("features", "y", "targets")
    assert [tuple(map(int, item)) for item in renamed] == [(0, 0, 0), (1, 10, 100), (2, 20, 200)]
    assert renamed.produces_examples is True
    assert Rename(stream(), {"x": "a"}).produces_examples is False
    assert list(renamed.get_epoch_iterator(as_dict=True))[1] == {
        "features": 1,
        "y": 10,
        "targets": 100,
    }


def test_labels_are_renamed_in_a_copy() -> None:
    below = stream()
    renamed = Rename(below, {"x": "y", "y": "x"})
    assert renamed.sources == ("y", "x", "z")
    below.axis_labels["x"] = ("other",)
    assert renamed.axis_labels == {"y": ("batch",), "x": ("batch",)}
    assert Rename(below, {"x": "a"}, axis_labels={"a": ("b",)}).axis_labels == {"a": ("b",)}


def test_labels_of_what_is_no_source_stay_unless_the_name_is_taken() -> None:
    narrow = DataStream(
        IndexableDataset({"x": numpy.zeros(2)}, axis_labels={"x": ("batch",), "q": ("old",)}),
        iteration_scheme=SequentialScheme(2, 2),
    )
    assert Rename(narrow, {"x": "q"}).axis_labels == {"q": ("batch",)}
    assert Rename(narrow, {"x": "p"}).axis_labels == {"p": ("batch",), "q": ("old",)}


def test_an_unknown_name_is_treated_as_asked(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(KeyError, match=r"'nope' is no source of the DataStream below.*'x'"):
        Rename(stream(), {"nope": "a"})
    with caplog.at_level(logging.DEBUG, logger="fuel.transformers"):
        assert Rename(stream(), {"nope": "x"}, on_non_existent="warn").sources == ("x", "y", "z")
        Rename(stream(), {"nope": "x"}, on_non_existent="ignore")
    assert [record.levelname for record in caplog.records] == ["WARNING", "DEBUG"]


@pytest.mark.parametrize("names", [{"x": "y"}, {"x": "a", "y": "a"}, {"x": "z", "y": "x"}])
def test_two_sources_cannot_get_one_name(names: Any) -> None:
    with pytest.raises(KeyError, match="would both be called"):
        Rename(stream(), names)


def test_swapping_and_rotating_is_allowed() -> None:
    assert Rename(stream(), {"x": "y", "y": "z", "z": "x"}).sources == ("y", "z", "x")


def test_a_bad_option_is_refused() -> None:
    with pytest.raises(ValueError, match="'raise', 'warn' or 'ignore', got 'explode'"):
        Rename(stream(), {}, on_non_existent="explode")
    with pytest.raises(TypeError):
        Rename(stream(), {}, unknown=1)


def test_steps_above_see_the_new_names() -> None:
    above = Mapping(Rename(stream(), {"x": "a"}), lambda d: d, mapping_accepts=dict)
    assert above.sources == ("a", "y", "z")
    assert Flatten(Rename(stream(), {"x": "a"}), which_sources=("a",)).axis_labels["a"] == (
        "batch",
        "feature",
    )


# -- FilterSources --------------------------------------------------------------------------------


def test_chosen_sources_are_kept_in_the_streams_order() -> None:
    kept = FilterSources(stream(True), ("z", "x"))
    assert kept.sources == ("x", "z")
    items = list(kept)
    assert all(isinstance(item, tuple) for item in items)
    assert [tuple(map(int, item)) for item in items] == [(0, 0), (1, 100), (2, 200)]
    assert len(kept) == 3


def test_labels_are_filtered_in_a_copy() -> None:
    below = stream()
    assert FilterSources(below, ("y", "z")).axis_labels == {"y": ("batch",)}
    assert below.axis_labels == {"x": ("batch",), "y": ("batch",)}


def test_lists_and_single_names_are_taken() -> None:
    assert FilterSources(stream(), ["y"]).sources == ("y",)
    assert FilterSources(stream(), "y").sources == ("y",)
    long = Rename(stream(), {"y": "targets"})
    assert FilterSources(long, "targets").sources == ("targets",)


def test_unknown_sources_are_named() -> None:
    with pytest.raises(ValueError, match=r"cannot keep \['nope'\].*\('x', 'y', 'z'\)"):
        FilterSources(stream(), ("x", "nope"))
    with pytest.raises(TypeError):
        FilterSources(stream(), ("x",), unknown=1)


@pytest.mark.parametrize(
    "build", [lambda s: Rename(s, {"x": "a"}), lambda s: FilterSources(s, ("x",))]
)
def test_both_are_elementwise_and_take_no_requests(build: Any) -> None:
    built = build(stream())
    assert "can be evaluated for any example" in built.explain()
    with pytest.raises(ValueError, match="takes no requests"):
        built.get_data([1])
