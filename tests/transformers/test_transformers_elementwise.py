"""Flatten, ScaleAndShift, Cast and ForceFloatX: their values, types, labels and mistakes."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fuel.config_parser import config
from fuel.datasets import IndexableDataset
from fuel.exceptions import StateMismatchError
from fuel.schemes import SequentialExampleScheme, SequentialScheme
from fuel.streams import DataStream
from fuel.transformers import Cast, Flatten, ForceFloatX, Mapping, ScaleAndShift
from fuel.transformers.defaults import ToBytes, uint8_pixels_to_floatX

LABELS = {"x": ("batch", "height", "width"), "y": ("batch", "index"), "z": None}


def dataset() -> IndexableDataset:
    return IndexableDataset(
        {
            "x": numpy.arange(24).reshape(4, 2, 3),
            "y": numpy.arange(4.0)[:, None],
            "z": numpy.zeros(4),
        },
        axis_labels=LABELS,
    )


def batches() -> DataStream:
    return DataStream(dataset(), iteration_scheme=SequentialScheme(4, 3))


def examples() -> DataStream:
    return DataStream(dataset(), iteration_scheme=SequentialExampleScheme(4))


def ragged() -> DataStream:
    images = numpy.empty(2, dtype=object)
    images[:] = [numpy.arange(4).reshape(2, 2), numpy.arange(6).reshape(2, 3)]
    return DataStream(IndexableDataset({"x": images}), iteration_scheme=SequentialScheme(2, 2))


def lists() -> Any:
    return Mapping(ragged(), lambda data: ([image.tolist() for image in data[0]],))


def test_flatten_makes_a_matrix_of_a_batch_and_a_vector_of_an_example() -> None:
    assert [tuple(a.shape for a in item) for item in Flatten(batches())] == [
        ((3, 6), (3, 1), (3, 1)),
        ((1, 6), (1, 1), (1, 1)),
    ]
    assert [a.shape for a in next(iter(Flatten(examples())))] == [(6,), (1,), (1,)]
    assert next(iter(Flatten(examples())))[0].tolist() == [0, 1, 2, 3, 4, 5]


def test_flatten_takes_lists_and_leaves_other_sources_alone() -> None:
    stream = Flatten(batches(), which_sources=("y",))
    assert next(iter(stream))[0].shape == (3, 2, 3)
    given_lists = Mapping(batches(), lambda data: (data[0].tolist(), *data[1:]))
    assert next(iter(Flatten(given_lists)))[0].shape == (3, 6)


def test_flatten_infers_labels() -> None:
    assert Flatten(batches()).axis_labels == {
        "x": ("batch", "feature"),
        "y": ("batch", "feature"),
        "z": None,
    }
    assert Flatten(examples()).axis_labels["x"] == ("feature",)
    chosen = Flatten(batches(), which_sources=("x",)).axis_labels
    assert chosen == {"x": ("batch", "feature"), "y": ("batch", "index"), "z": None}
    assert Flatten(batches(), axis_labels={"x": ("a",)}).axis_labels == {"x": ("a",)}
    without = DataStream(IndexableDataset(numpy.zeros(3)), iteration_scheme=SequentialScheme(3, 3))
    assert Flatten(without).axis_labels is None


def test_flatten_keeps_a_batch_without_examples() -> None:
    stream = Mapping(batches(), lambda data: (data[0][:0], data[1], data[2]))
    assert next(iter(Flatten(stream)))[0].shape == (0, 6)


@pytest.mark.parametrize("make", [ragged, lists])
def test_examples_of_unequal_shapes_are_treated_one_by_one(make: Any) -> None:
    (flat,) = next(iter(Flatten(make())))
    assert [image.tolist() for image in flat] == [[0, 1, 2, 3], [0, 1, 2, 3, 4, 5]]
    (scaled,) = next(iter(ScaleAndShift(make(), 2, 1)))
    assert scaled.dtype == object
    assert scaled[0].tolist() == [[1, 3], [5, 7]]
    (cast,) = next(iter(Cast(make(), "float32")))
    assert [(image.dtype.name, image.shape) for image in cast] == [
        ("float32", (2, 2)),
        ("float32", (2, 3)),
    ]


def test_scale_comes_before_shift() -> None:
    x, y, _ = next(iter(ScaleAndShift(batches(), 0.5, 1, which_sources=("x", "z"))))
    assert x[0].tolist() == [[1.0, 1.5, 2.0], [2.5, 3.0, 3.5]]
    assert y[1] == 1.0
    numbers = Mapping(examples(), lambda data: (int(data[0][0, 1]), [1, 2], 0))
    assert [numpy.asarray(a).tolist() for a in next(iter(ScaleAndShift(numbers, 3, 1)))] == [
        4,
        [4, 7],
        1,
    ]


@given(
    array=hnp.arrays(
        st.sampled_from(["f8", "f4", "i4", "u1"]), hnp.array_shapes(max_dims=3, max_side=4)
    ),
    scale=st.integers(-3, 3) | st.floats(-3, 3),
    shift=st.integers(-3, 3),
)
def test_scaling_is_numpys_arithmetic(array: Any, scale: Any, shift: Any) -> None:
    stream = ScaleAndShift(examples(), scale, shift)
    with numpy.errstate(all="ignore"):
        try:
            expected = array * scale + shift
        except OverflowError:
            return
        found = stream.transform_any_source(array, "x")
    assert found.dtype == expected.dtype
    numpy.testing.assert_array_equal(found, expected)


def test_cast_changes_the_type() -> None:
    x, y, _ = next(iter(Cast(batches(), "float32", which_sources=("x",))))
    assert (x.dtype, y.dtype) == (numpy.float32, numpy.float64)
    assert next(iter(Cast(examples(), numpy.uint8)))[1].dtype == numpy.uint8
    assert Cast(batches(), "float32").dtype == "float32"


def test_floatx_is_read_at_construction_by_cast_and_at_each_call_by_force() -> None:
    with config.override(floatX="float32"):
        cast = Cast(batches(), "floatX")
    force = ForceFloatX(batches())
    assert cast.dtype == "float32"
    assert next(iter(cast))[0].dtype == numpy.float32
    assert next(iter(force))[1].dtype == numpy.float64
    with config.override(floatX="float32"):
        x, y, z = next(iter(force))
    assert (x.dtype.kind, y.dtype, z.dtype) == ("i", numpy.float32, numpy.float32)


def test_force_leaves_what_is_no_array_of_floats() -> None:
    with config.override(floatX="float32"):
        force = ForceFloatX(examples())
        for item in ([1.5], 1.5, "text", numpy.arange(3), numpy.float64(1.0)):
            assert force.transform_any_source(item, "x") is item


@pytest.mark.parametrize("bad", ["float33", object(), "nonsense"])
def test_what_is_no_type_is_refused_at_construction(bad: Any) -> None:
    with pytest.raises(TypeError):
        Cast(batches(), bad)


def test_what_cannot_be_cast_is_numpys_error() -> None:
    words = Mapping(batches(), lambda data: (["a", "b", "c"], *data[1:]))
    with pytest.raises(ValueError, match="could not convert"):
        next(iter(Cast(words, "float32", which_sources=("x",))))


@pytest.mark.parametrize(
    "build",
    [
        lambda s, **kw: ScaleAndShift(s, 1, 0, **kw),
        lambda s, **kw: Cast(s, "float32", **kw),
        lambda s, **kw: ForceFloatX(s, **kw),
        lambda s, **kw: Flatten(s, **kw),
    ],
)
def test_what_all_have_in_common(build: Any) -> None:
    stream = batches()
    before = dict(stream.axis_labels)
    built = build(stream, which_sources=("x"))  # a string, as programs pass it
    assert built.which_sources == "x"
    assert next(iter(built))[1].dtype == numpy.float64
    assert built.sources == stream.sources
    assert built.produces_examples is False
    built.axis_labels["x"] = ("changed",)
    assert stream.axis_labels == before
    assert isinstance(next(iter(built)), tuple)
    assert len(built) == 2
    assert "can be evaluated for any example" in built.explain()
    with pytest.raises(TypeError):
        build(stream, unknown=1)
    with pytest.raises(ValueError, match="takes no requests"):
        built.get_data([0])
    # A source that is not there is no error: recipes name sources that were not asked for.
    assert len(list(build(stream, which_sources=("features",)))) == 2


def test_kept_labels_are_kept() -> None:
    for built in (ScaleAndShift(batches(), 1, 0), Cast(batches(), "f4"), ForceFloatX(batches())):
        assert built.axis_labels == LABELS


def test_a_parameter_that_changes_values_is_part_of_the_state() -> None:
    state = ScaleAndShift(batches(), 2, 0).state_dict()
    ScaleAndShift(batches(), 2, 0).load_state_dict(state)
    with pytest.raises(StateMismatchError, match="scale: saved 2, here 3"):
        ScaleAndShift(batches(), 3, 0).load_state_dict(state)
    with pytest.raises(StateMismatchError, match="dtype"):
        Cast(batches(), "float32").load_state_dict(Cast(batches(), "float64").state_dict())


# -- recipes --------------------------------------------------------------------------------------


def test_pixels_become_numbers_between_zero_and_one() -> None:
    (scale, scale_args, scale_kw), (cast, cast_args, cast_kw) = uint8_pixels_to_floatX(("x",))
    assert (scale, scale_args, scale_kw) == (
        ScaleAndShift,
        [1 / 255.0, 0],
        {"which_sources": ("x",)},
    )
    assert (cast, cast_args, cast_kw) == (Cast, ["floatX"], {"which_sources": ("x",)})
    data = IndexableDataset({"x": numpy.array([[0, 255]], dtype="uint8")})
    data.default_transformers = uint8_pixels_to_floatX(("x",))
    with config.override(floatX="float32"):
        stream = DataStream.default_stream(data, iteration_scheme=SequentialScheme(1, 1))
    (x,) = next(iter(stream))
    assert (x.dtype, x.tolist()) == (numpy.float32, [[0.0, 1.0]])


def test_to_bytes_makes_byte_strings_and_labels_without_touching_the_streams() -> None:
    data = IndexableDataset(
        {"x": numpy.array([[1, 2], [3, 0]], dtype="uint8"), "y": numpy.arange(2)},
        axis_labels={"x": ("batch", "pixel"), "y": ("batch",)},
    )
    stream = DataStream(data, iteration_scheme=SequentialScheme(2, 2))
    packed = ToBytes(stream, which_sources=("x",))
    x, y = next(iter(packed))
    assert x == [b"\x01\x02", b"\x03\x00"]
    assert y.tolist() == [0, 1]
    assert packed.axis_labels == {"x": ("batch", "bytes"), "y": ("batch",)}
    assert stream.axis_labels == data.axis_labels
    single = ToBytes(DataStream(data, iteration_scheme=SequentialExampleScheme(2)))
    assert next(iter(single)) == (b"\x01\x02", numpy.int64(0).tobytes())
    assert single.axis_labels == {"x": ("bytes",), "y": ("bytes",)}
    assert next(iter(ToBytes(single)))[0] == b"\x01\x02"
