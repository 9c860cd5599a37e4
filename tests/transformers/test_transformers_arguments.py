"""What a transformer cannot work with is refused when it is built, by a sentence that helps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

from fuel.datasets import IndexableDataset, IterableDataset
from fuel.schemes import ConstantScheme, SequentialExampleScheme, SequentialScheme
from fuel.streams import DataStream
from fuel.transformers import (
    Batch,
    Cache,
    Cast,
    Filter,
    FilterSources,
    Flatten,
    ForceFloatX,
    Mapping,
    Merge,
    MultiProcessing,
    Padding,
    Rename,
    ScaleAndShift,
    SortMapping,
    SourcewiseTransformer,
    Transformer,
    Unpack,
)
from fuel.transformers.defaults import ToBytes
from fuel.transformers.sequences import NGrams, Window


def dataset() -> IndexableDataset:
    return IndexableDataset({"x": numpy.arange(6.0).reshape(3, 2), "y": numpy.arange(3)})


def examples() -> DataStream:
    return DataStream(dataset(), iteration_scheme=SequentialExampleScheme(3))


def batches() -> DataStream:
    return DataStream(dataset(), iteration_scheme=SequentialScheme(3, 2))


def sentences() -> DataStream:
    return DataStream(IterableDataset({"words": [[1, 2, 3], [4, 5]]}))


OVER: dict[str, Callable[[Any], Any]] = {
    "Transformer": Transformer,
    "SourcewiseTransformer": lambda stream: SourcewiseTransformer(stream, True),
    "Mapping": lambda stream: Mapping(stream, abs),
    "Flatten": Flatten,
    "ScaleAndShift": lambda stream: ScaleAndShift(stream, 1, 2),
    "Cast": lambda stream: Cast(stream, "float32"),
    "ForceFloatX": ForceFloatX,
    "Filter": lambda stream: Filter(stream, all),
    "Cache": lambda stream: Cache(stream, ConstantScheme(2)),
    "Batch": lambda stream: Batch(stream, ConstantScheme(2)),
    "Unpack": Unpack,
    "Padding": Padding,
    "Merge": lambda stream: Merge([stream], ("x", "y")),
    "MultiProcessing": MultiProcessing,
    "Rename": lambda stream: Rename(stream, {"x": "z"}),
    "FilterSources": lambda stream: FilterSources(stream, ("x",)),
    "ToBytes": ToBytes,
    "Window": lambda stream: Window(0, 1, 1, False, stream),
    "NGrams": lambda stream: NGrams(2, stream),
}
#: They say neither what comes out nor how.
BARE = {"Transformer", "SourcewiseTransformer"}


@pytest.mark.parametrize("name", OVER)
@pytest.mark.parametrize("bad", [None, 3, "data", [1, 2], DataStream], ids=repr)
def test_what_is_no_stream_is_refused(name: str, bad: Any) -> None:
    with pytest.raises(TypeError, match=rf"{name} needs a stream, got .*; pass "):
        OVER[name](bad)


@pytest.mark.parametrize("name", OVER)
def test_a_dataset_is_to_be_wrapped(name: str) -> None:
    with pytest.raises(TypeError, match=rf"{name} needs a stream, got .*wrap the dataset"):
        OVER[name](dataset())


class Duck:
    """A stream that never heard of ours."""

    sources: Any = ("x",)
    produces_examples: Any = True

    def get_epoch_iterator(self, as_dict: bool = False) -> Any:
        return iter([([1, 2, 3],), ([4, 5, 6],)])


class BatchDuck(Duck):
    produces_examples = False

    def get_epoch_iterator(self, as_dict: bool = False) -> Any:
        return iter([([[1, 2], [3]],), ([[4, 5]],)])


@pytest.mark.parametrize("name", sorted(set(OVER) - BARE - {"MultiProcessing"}))
def test_what_behaves_like_a_stream_is_one(name: str) -> None:
    duck = BatchDuck() if name in ("Cache", "Unpack", "Padding") else Duck()
    if name == "Mapping":
        built = Mapping(duck, tuple)
    elif name == "Merge":
        built = Merge([duck], ("x",))
    else:
        built = OVER[name](duck)
    assert len(list(built.get_epoch_iterator())) > 0


@pytest.mark.parametrize("name", sorted(set(OVER) - BARE))
def test_a_stream_that_tells_nothing_is_refused_with_what_it_lacks(name: str) -> None:
    class Silent:
        def get_epoch_iterator(self, as_dict: bool = False) -> Any:
            return iter([])

    if name == "Cache":  # it needs neither
        Cache(Silent(), ConstantScheme(1))
        return
    with pytest.raises(TypeError, match=r"needs a stream (with `produces_ex|that names its `sou)"):
        OVER[name](Silent())


def test_a_class_may_set_its_stream_up_later() -> None:
    class Late(Transformer):
        def __init__(self) -> None:
            super().__init__(None, produces_examples=True)

        def transform_example(self, example: Any) -> Any:
            return example

    late = Late()
    with pytest.raises(TypeError, match="Late needs a stream, got None"):
        late.get_epoch_iterator()
    late.data_stream = examples()
    assert len(list(late)) == 3


BAD: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "Merge of a string": (lambda: Merge("a", ("x",)), TypeError, r"Merge needs a list .*'a'"),
    "Merge of a stream": (lambda: Merge(examples(), ("x",)), TypeError, "single stream in a list"),
    "Merge of a number": (lambda: Merge(3, ("x",)), TypeError, "Merge needs a list or tuple"),
    "Merge of strings": (lambda: Merge(["a"], ("x",)), TypeError, "Merge needs a stream, got 'a'"),
    "Merge of nothing": (lambda: Merge([], ()), ValueError, "at least one stream"),
    "Merge without names": (lambda: Merge([examples()], None), TypeError, r"`sources` of .*None"),
    "Merge, a number": (lambda: Merge([examples()], 3), TypeError, r"`sources` of Merge .*got 3"),
    "Merge, odd names": (lambda: Merge([examples()], ([], {})), TypeError, r"got \[\] among"),
    "Merge, too few": (lambda: Merge([examples()], ("x",)), ValueError, "one name for each of"),
    "Batch, 3": (lambda: Batch(examples(), 3), ValueError, r"scheme of Batch .*got 3; use .*Const"),
    "Batch, class": (lambda: Batch(examples(), ConstantScheme), ValueError, "scheme of Batch"),
    "Batch, None": (lambda: Batch(examples(), None), ValueError, "must request batches"),
    "Cache, 3": (lambda: Cache(batches(), 3), ValueError, r"scheme of Cache .*got 3; use .*Const"),
    "strictness 3": (lambda: Batch(examples(), ConstantScheme(2), 3), ValueError, "got 3"),
    "strictness -1": (lambda: Batch(examples(), ConstantScheme(2), -1), ValueError, "got -1"),
    "strictness '1'": (lambda: Batch(examples(), ConstantScheme(2), "1"), ValueError, "got '1'"),
    "Rename, list": (lambda: Rename(examples(), []), TypeError, r"`names` of Rename .*got \[\]"),
    "Rename to odd": (lambda: Rename(examples(), {"x": []}), TypeError, r"got \[\] among"),
    "FilterSources, 3": (lambda: FilterSources(examples(), 3), TypeError, "`sources` of Filter"),
    "FilterSources, None": (lambda: FilterSources(examples(), None), TypeError, "got None"),
    "FilterSources, []": (lambda: FilterSources(examples(), []), ValueError, "at least one source"),
    "FilterSources, odd": (lambda: FilterSources(examples(), [[]]), TypeError, r"got \[\] among"),
    "which_sources 3": (lambda: Cast(batches(), "f4", which_sources=3), TypeError, "`which_sour"),
    "which_sources bytes": (lambda: Flatten(batches(), which_sources=b"x"), TypeError, "`which_so"),
    "ToBytes, which": (
        lambda: ToBytes(batches(), which_sources=3),
        TypeError,
        "`which_sources` of",
    ),
    "mask_sources 3": (lambda: Padding(batches(), 3), TypeError, "`mask_sources` of Padding"),
    "mask_dtype": (
        lambda: Padding(batches(), None, "floaty"),
        TypeError,
        "`mask_dtype` of Padding",
    ),
    "add_sources 3": (lambda: Mapping(examples(), abs, 3), TypeError, "`add_sources` of Mapping"),
    "Cast, -1": (lambda: Cast(batches(), -1), TypeError, r"`dtype` of Cast .*got -1"),
    "Cast, unknown": (lambda: Cast(batches(), "floaty"), TypeError, r"`dtype` of Cast .*'floaty'"),
    "Mapping, None": (lambda: Mapping(examples(), None), TypeError, "Mapping needs a function"),
    "Mapping, 3": (lambda: Mapping(examples(), 3), TypeError, "Mapping needs a function, got 3"),
    "Filter, None": (lambda: Filter(examples(), None), TypeError, "Filter needs a function"),
    "SortMapping, None": (lambda: SortMapping(None), TypeError, "SortMapping needs a function"),
    "scale '2'": (lambda: ScaleAndShift(batches(), "2", 0), TypeError, r"`scale` .*got '2'"),
    "scale None": (lambda: ScaleAndShift(batches(), None, 0), TypeError, r"`scale` .*got None"),
    "scale list": (lambda: ScaleAndShift(batches(), ["2"], 0), TypeError, r"`scale` .*got \['2'\]"),
    "shift dict": (lambda: ScaleAndShift(batches(), 1, {}), TypeError, r"`shift` .*got \{\}"),
    "shift ragged": (lambda: ScaleAndShift(batches(), 1, [[1], [1, 2]]), TypeError, "`shift` of"),
    "Window, offset": (lambda: Window(0.5, 1, 1, True, sentences()), TypeError, "`offset` of Wind"),
    "Window, float": (lambda: Window(0, 1.0, 1, True, sentences()), TypeError, "`source_window` "),
    "Window, string": (lambda: Window(0, 1, "1", True, sentences()), TypeError, "`target_window` "),
    "Window, bool": (lambda: Window(0, True, 1, True, sentences()), TypeError, "`source_window` "),
    "Window, negative": (
        lambda: Window(0, 1, -1, True, sentences()),
        ValueError,
        "not be negative",
    ),
    "Window, name": (lambda: Window(0, 1, 1, True, sentences(), []), TypeError, "`target_source`"),
    "NGrams, swapped": (lambda: NGrams(sentences(), 2), TypeError, "`ngram_order` of NGrams"),
    "max_store -1": (lambda: MultiProcessing(batches(), -1), ValueError, "`max_store` must be"),
    "axis_labels 3": (lambda: DataStream(dataset(), axis_labels=3), TypeError, "`axis_labels` of"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_argument_is_refused_when_the_step_is_built(case: str) -> None:
    build, error, message = BAD[case]
    with pytest.raises(error, match=message) as caught:
        build()
    assert not isinstance(caught.value, AttributeError)


def test_a_string_chooses_the_sources_that_it_contains() -> None:
    stream = ScaleAndShift(batches(), 2, 0, which_sources="x")
    x, y = next(stream.get_epoch_iterator())
    assert x.tolist() == [[0, 2], [4, 6]]
    assert y.tolist() == [0, 1]
    assert Padding(BatchDuck(), mask_sources="x, y").sources == ("x", "x_mask")


def test_names_may_come_from_a_one_shot_iterator() -> None:
    assert FilterSources(examples(), iter("y")).sources == ("y",)
    added = Mapping(examples(), lambda data: data, add_sources=iter("ab"))
    assert added.sources == added.sources == ("x", "y", "a", "b")
    cast = Cast(batches(), "int8", which_sources=(name for name in "x"))
    assert [tuple(str(column.dtype) for column in item) for item in cast] == [("int8", "int64")] * 2
    flat = Flatten(batches(), which_sources=iter("x"))
    assert len(next(flat.get_epoch_iterator())) == 2
    assert flat.which_sources == ("x",)


def test_a_users_class_may_give_arguments_its_own_meaning() -> None:
    class Numbered(SourcewiseTransformer):
        def transform_example(self, example: Any) -> Any:
            return example[self.which_sources]

    assert list(Numbered(examples(), True, which_sources=1)) == [0, 1, 2]

    class Own(Mapping):
        def apply(self, data: Any, context: Any) -> Any:
            return data[1:]

    assert list(Own(examples(), None)) == [(0,), (1,), (2,)]

    class Strings(ScaleAndShift):
        def transform_any_source(self, source_data: Any, source_name: str) -> Any:
            return f"{self.scale}{source_data}{self.shift}"

    assert next(Strings(examples(), "<", ">", which_sources="y").get_epoch_iterator())[1] == "<0>"


@pytest.mark.parametrize("scale", [2, 2.5, numpy.float32(2), numpy.arange(2), [1, 2], True, 1j])
def test_numbers_and_arrays_scale(scale: Any) -> None:
    stream = ScaleAndShift(batches(), scale, scale, which_sources=("x",))
    x = next(stream.get_epoch_iterator())[0]
    numpy.testing.assert_array_equal(
        x, numpy.arange(4.0).reshape(2, 2) * numpy.asarray(scale) + numpy.asarray(scale)
    )


def test_max_store_0_leaves_the_number_to_the_transformer() -> None:
    with MultiProcessing(batches(), max_store=0) as ahead:
        assert ahead.max_store == 0
        assert [y.tolist() for _, y in ahead] == [[0, 1], [2]]
