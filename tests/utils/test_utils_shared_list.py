"""Texts in one buffer answer as a list of them does."""

from __future__ import annotations

import io
import pickle
import random

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from fuel.datasets import IndexableDataset
from fuel.exceptions import RequestError
from fuel.schemes import ConstantScheme, SequentialExampleScheme
from fuel.streams import DataStream
from fuel.transformers import Batch
from fuel.transformers.image import ImagesFromBytes
from fuel.utils._shared_list import SharedList

# Also halves of surrogate pairs, which no file has and a list may have.
TEXTS = st.lists(st.text(st.characters(exclude_categories=()), max_size=5), max_size=30)
ITEMS = TEXTS | st.lists(st.binary(max_size=5), max_size=30)
PLACES = st.integers(-40, 40)


def outcome(function):
    """Return what a function returns, or the kind of what it raises."""
    try:
        return function()
    except Exception as error:
        return type(error)


@given(items=ITEMS, place=PLACES, stop=PLACES, step=st.sampled_from([None, 1, 2, -1, -3]))
def test_it_reads_as_a_list_does(items, place, stop, step):
    shared = SharedList.of(items)
    assert len(shared) == len(items)
    assert list(shared) == items
    assert list(reversed(shared)) == items[::-1]
    assert outcome(lambda: shared[place]) == outcome(lambda: items[place])
    assert shared[place:stop:step] == items[place:stop:step]
    assert type(shared[place:stop]) is list
    assert shared.copy() == items


@given(items=ITEMS, other=ITEMS)
def test_it_compares_and_adds_as_a_list_does(items, other):
    shared = SharedList.of(items)
    assert shared == items
    assert items == shared
    assert (shared == other) == (items == other)
    assert (shared != SharedList.of(other)) == (items != other)
    assert shared + other == items + other
    assert other + shared == other + items
    assert outcome(lambda: shared < other) == outcome(lambda: items < other)
    assert outcome(lambda: other < shared) == outcome(lambda: other < items)
    assert shared != tuple(items)


@given(items=ITEMS, wanted=st.text(max_size=2) | st.binary(max_size=2))
def test_it_searches_as_a_list_does(items, wanted):
    shared = SharedList.of(items)
    for sought in [wanted, *items[:2], None]:
        assert (sought in shared) == (sought in items)
        assert shared.count(sought) == items.count(sought)
        assert outcome(lambda: shared.index(sought)) == outcome(lambda: items.index(sought))  # noqa: B023


@given(items=ITEMS)
def test_it_survives_pickling(items):
    assert pickle.loads(pickle.dumps(SharedList.of(items))) == items


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6))
def test_long_lists_of_mixed_alphabets_read_as_they_are(seed):
    source = random.Random(seed)
    items = ["".join(source.choices("aé€😀\ud800", k=source.randrange(4))) for _ in range(3000)]
    assert list(SharedList.of(items)) == items


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.append("a"),
        lambda x: x.sort(),
        lambda x: x.pop(),
        lambda x: x.__setitem__(0, "a"),
        lambda x: x.__delitem__(0),
        lambda x: x.__iadd__(["a"]),
    ],
)
def test_to_change_it_is_refused_with_what_to_do(change):
    shared = SharedList.of(["b", "c"])
    with pytest.raises(TypeError, match=r"cannot be changed .*list\(x\)"):
        change(shared)
    assert shared == ["b", "c"]


def test_it_has_no_hash_like_a_list():
    with pytest.raises(TypeError):
        hash(SharedList.of([]))


REQUESTS = st.one_of(
    st.integers(-3, 25),
    st.lists(st.integers(-1, 20), max_size=6),
    st.builds(slice, st.integers(0, 22), st.integers(0, 22), st.sampled_from([None, 1, 3])),
)


@given(request=REQUESTS, text=st.booleans(), copy=st.booleans())
def test_a_dataset_over_it_answers_as_over_the_list(request, text, copy):
    items = [f"é{n}" if text else b"x" * n for n in range(20)]
    numbers = numpy.arange(20)
    plain, shared = (
        IndexableDataset({"x": table, "n": numbers}, copy=copy)
        for table in (items, SharedList.of(items))
    )
    assert plain.specs == shared.specs
    want, got = (outcome(lambda d=d: d.get_data(request=request)) for d in (plain, shared))
    if isinstance(want, type):
        assert got is want
        return
    assert got[0] == want[0]
    assert type(got[0]) is type(want[0])


def test_vectors_that_name_what_is_not_there_are_refused():
    shared = SharedList.of(["a", "b"])
    for wrong in (-1, 2):
        with pytest.raises(RequestError, match=f"number {wrong}"):
            shared.take(numpy.array([0, wrong]))


def test_a_stream_reads_and_decodes_from_it_as_from_the_list():
    sources = numpy.random.default_rng(0).integers(0, 256, (12, 9, 7, 3), dtype="uint8")
    pictures = []
    for pixels in sources:
        file = io.BytesIO()
        Image.fromarray(pixels).save(file, "PNG")
        pictures.append(file.getvalue())
    batches = []
    for table in (pictures, SharedList.of(pictures)):
        dataset = IndexableDataset({"image": table, "name": table})
        stream = DataStream(dataset, iteration_scheme=SequentialExampleScheme(12))
        stream = ImagesFromBytes(stream, which_sources=("image",), color_mode="RGB")
        batches.append(list(Batch(stream, ConstantScheme(5)).get_epoch_iterator()))
    for (image, name), (other_image, other_name) in zip(*batches, strict=True):
        assert image.tobytes() == other_image.tobytes()
        assert name.tobytes() == other_name.tobytes()
