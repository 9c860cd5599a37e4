"""What all steps on colours, rectangles and recordings keep: batches, inputs, kinds, resuming."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuel.datasets import IndexableDataset
from fuel.plan import Context
from fuel.schemes import (
    ConstantScheme,
    SequentialExampleScheme,
    SequentialScheme,
    ShuffledExampleScheme,
    ShuffledScheme,
)
from fuel.streams import DataStream
from fuel.testing import assert_resumes_everywhere, assert_same_items
from fuel.transformers import Batch, Unpack
from fuel.transformers._color import ColorJitter, Normalize, RandomGrayscale
from fuel.transformers._erasing import RandomErasing
from fuel.transformers._labels import OneHot
from fuel.transformers.timeseries import (
    AddNoise,
    FrequencyMask,
    Resample,
    SlidingWindows,
    TimeMask,
)

COUNT = 7


def images(dtype: str = "float32", last: bool = False) -> Any:
    values = numpy.random.default_rng(3).random((COUNT, 3, 9, 7))
    array = (values * (255 if dtype == "uint8" else 1)).astype(dtype)
    return numpy.ascontiguousarray(numpy.moveaxis(array, 1, -1)) if last else array


def labels_of(last: bool) -> tuple[str, ...]:
    if last:
        return ("batch", "height", "width", "channel")
    return ("batch", "channel", "height", "width")


def recordings() -> Any:
    return numpy.random.default_rng(4).standard_normal((COUNT, 30, 5)).astype("float32")


Step = Callable[[Any], Any]

IMAGES: dict[str, Step] = {
    "Normalize": lambda s: Normalize(s, (0.1, 0.5, 0.9), (0.5, 0.25, 2)),
    "Normalize alike": lambda s: Normalize(s, 0.5, 0.25),
    "ColorJitter": lambda s: ColorJitter(s, 0.4, 0.4, 0.4, 0.2, seed=1),
    "ColorJitter contrast": lambda s: ColorJitter(s, contrast=(0.2, 3), seed=1),
    "RandomGrayscale": lambda s: RandomGrayscale(s, 0.5, seed=1),
    "RandomErasing": lambda s: RandomErasing(s, 0.7, value=(0.25, 0.5, 1), seed=1),
    "RandomErasing random": lambda s: RandomErasing(s, 0.7, value="random", seed=1),
}
TIMES: dict[str, Step] = {
    "AddNoise": lambda s: AddNoise(s, 0.5, seed=1),
    "AddNoise uniform": lambda s: AddNoise(s, [0, 1, 2, 3, 4], "uniform", seed=1),
    "TimeMask": lambda s: TimeMask(s, 9, 2, seed=1),
    "FrequencyMask": lambda s: FrequencyMask(s, 3, value=-1, seed=1),
    "Resample": lambda s: Resample(s, 3, 2),
    "Resample rates": lambda s: Resample(s, rate_in=3, rate_out=2),
}
ALL = {**IMAGES, **TIMES}


def data_for(name: str) -> Any:
    return images() if name in IMAGES else recordings()


def stream(array: Any, size: int | None = None, labels: Any = None, **more: Any) -> DataStream:
    dataset = IndexableDataset(
        {"x": array, **more}, axis_labels=None if labels is None else {"x": labels}
    )
    scheme: Any = SequentialExampleScheme(len(array))
    if size is not None:
        scheme = SequentialScheme(len(array), size)
    return DataStream(dataset, iteration_scheme=scheme)


def examples(step: Any) -> list[Any]:
    """The first source, example by example."""
    if step.produces_examples:
        return [item[0] for item in step]
    return [one for item in step for one in item[0]]


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("size", [1, 3, COUNT])
def test_a_batch_is_its_examples(name: str, size: int) -> None:
    array = data_for(name)
    one_by_one = examples(ALL[name](stream(array)))
    assert_same_items(examples(ALL[name](stream(array, size))), one_by_one)
    # The step above, the same, when the batch is made above it, and taken apart below it.
    assert_same_items(examples(Batch(ALL[name](stream(array)), ConstantScheme(size))), one_by_one)
    assert_same_items(examples(ALL[name](Unpack(stream(array, size)))), one_by_one)


@pytest.mark.parametrize("name", IMAGES)
def test_channels_last_is_channels_first_turned(name: str) -> None:
    first = examples(IMAGES[name](stream(images(), 4, labels_of(False))))
    step = IMAGES[name](stream(images(last=True), 4, labels_of(True)))
    assert step.axis_labels == {"x": labels_of(True)}
    last = examples(step)
    assert {one.shape for one in last} == {(9, 7, 3)}
    if name == "RandomErasing random":
        return  # draws its values in the order of memory
    assert_same_items([numpy.moveaxis(one, -1, 0).copy() for one in last], first)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("kind", ["list", "object array"])
def test_a_list_stays_a_list_and_lengths_may_differ(name: str, kind: str) -> None:
    array = data_for(name)
    axis = 2 if name in IMAGES else 1
    ragged = [one.take(range(5 + index), axis - 1) for index, one in enumerate(array[:3])]
    alike = [one.copy() for one in array[:3]]
    for three in (ragged, alike):
        batch: Any = list(three)
        if kind == "object array":
            batch = numpy.empty(3, dtype=object)
            batch[:] = [None] * 3
            for index, one in enumerate(three):
                batch[index] = one
        step = ALL[name](stream(array, 3))
        (found,) = step.apply((batch,), Context(0, 0, 3))
        assert type(found) is type(batch)
        if kind == "object array":
            assert found.dtype == object and found.shape == (3,)
        below = stream(array)
        expected = [
            ALL[name](below).apply((one,), Context(0, index))[0] for index, one in enumerate(three)
        ]
        assert_same_items(list(found), expected)


@pytest.mark.parametrize("name", ALL)
def test_what_comes_in_stays_as_it_is(name: str) -> None:
    array = data_for(name)
    before = array.copy()
    array.flags.writeable = False  # as the memory behind a data set may be
    step = ALL[name](stream(array, COUNT))
    (found,) = step.apply((array,), Context(0, 0, COUNT))
    assert array.tobytes() == before.tobytes()
    assert found.flags.writeable and not numpy.shares_memory(found, array)
    one = ALL[name](stream(array)).apply((array[0],), Context(0, 0))[0]
    assert one.flags.writeable and not numpy.shares_memory(one, array)
    listed = step.apply((list(array),), Context(0, 0, COUNT))[0]
    assert not any(numpy.shares_memory(one, array) for one in listed)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("how", ["strided", "swapped", "fortran"])
def test_the_memory_of_the_input_does_not_matter(name: str, how: str) -> None:
    array = data_for(name)
    other = {
        "strided": numpy.repeat(array, 2, axis=-1)[..., ::2],
        "swapped": array.astype(array.dtype.newbyteorder()),
        "fortran": numpy.asfortranarray(array),
    }[how]
    step = ALL[name](stream(array, COUNT))
    expected = step.apply((array,), Context(0, 0, COUNT))[0]
    found = step.apply((other,), Context(0, 0, COUNT))[0]
    assert found.dtype == expected.dtype
    assert_same_items([found.astype(expected.dtype.newbyteorder("="))], [expected])


@pytest.mark.parametrize("name", ALL)
def test_types_are_kept(name: str) -> None:
    for dtype in ("float16", "float32", "float64"):
        array = data_for(name).astype(dtype)
        for found in (examples(ALL[name](stream(array))), *ALL[name](stream(array, 4))):
            assert found[0].dtype == dtype


@pytest.mark.parametrize("name", ALL)
def test_a_batch_without_examples(name: str) -> None:
    array = data_for(name)
    step = ALL[name](stream(array, 3))
    (found,) = step.apply((array[:0],), Context(0, 0, 0))
    whole = step.apply((array,), Context(0, 0, COUNT))[0]
    assert found.shape == (0, *whole.shape[1:]) and found.dtype == whole.dtype
    assert step.apply(([],), Context(0, 0, 0))[0] == []


@pytest.mark.parametrize("name", ALL)
def test_only_the_chosen_sources_change(name: str) -> None:
    array = data_for(name)
    step = ALL[name](stream(array, 3, y=array))
    first = next(iter(step))
    assert all(part.shape[0] == 3 for part in first)
    step.which_sources = ("y",)
    x, y = next(iter(step))
    assert_same_items([x], [array[:3]])
    assert y.tobytes() != array[:3].tobytes()
    assert step._parameters()["which_sources"] == ("y",)


@pytest.mark.parametrize("name", [name for name in ALL if name[:4] in ("Colo", "Rand", "Time")])
def test_sources_of_an_example_share_its_draws(name: str) -> None:
    array = data_for(name)
    for x, y in ALL[name](stream(array, 3, y=array)):
        assert_same_items([x], [y])


def test_but_not_their_noise() -> None:
    array = numpy.zeros((4, 10))
    ((x, y),) = AddNoise(stream(array, 4, y=array), 1)
    assert not (x == y).any()
    for x, y in AddNoise(stream(array, y=array), 1):
        assert not (x == y).any()


@pytest.mark.parametrize("name", [name for name in ALL if name[:4] not in ("Norm", "Resa")])
def test_draws_depend_on_seed_epoch_and_name(name: str) -> None:
    array = data_for(name)

    def made(**changes: Any) -> Any:
        step = ALL[name](stream(array, COUNT))
        for key, value in changes.items():
            setattr(step, key, value)
        return step

    step = made()
    first, second = ([b[0].tobytes() for b in step] for _ in range(2))
    assert first != second
    assert [b[0].tobytes() for b in made()] == first
    assert [b[0].tobytes() for b in made(_step_seed=2)] != first
    assert [b[0].tobytes() for b in made(_step_name="another")] != first
    assert [b[0].tobytes() for b in pickle.loads(pickle.dumps(made_top(array, name)))] == first


def made_top(array: Any, name: str) -> Any:
    step = ALL[name](stream(array, COUNT))
    step.__dict__.pop("_live", None)
    return step


@settings(max_examples=20, deadline=None)
@given(name=st.sampled_from(sorted(ALL)), sizes=st.lists(st.integers(1, 4), min_size=1))
def test_any_cutting_into_batches_gives_the_same(name: str, sizes: list[int]) -> None:
    array = data_for(name)
    step = ALL[name](stream(array, 3))
    expected = step.apply((array,), Context(0, 0, COUNT))[0]
    at = 0
    for size in sizes:
        part = array[at : at + size]
        found = step.apply((part,), Context(0, at, len(part)))[0]
        assert_same_items([found], [expected[at : at + size]])
        at = min(at + size, COUNT)


def shuffled(array: Any, size: int | None) -> DataStream:
    scheme: Any = ShuffledExampleScheme(len(array))
    if size is not None:
        scheme = ShuffledScheme(len(array), size)
    return DataStream(IndexableDataset({"x": array}), iteration_scheme=scheme)


@pytest.mark.parametrize("number", range(len(ALL)))
def test_they_resume_everywhere(number: int) -> None:
    name, size = list(ALL)[number], None if number % 2 else 3
    assert_resumes_everywhere(
        lambda: ALL[name](shuffled(data_for(name)[:4], size)), new_process=False, epochs=1
    )


def test_windows_resume_everywhere() -> None:
    assert_resumes_everywhere(
        lambda: AddNoise(SlidingWindows(shuffled(recordings()[:2], None), 12, 9, "pad"), 1),
        epochs=1,
    )


@pytest.mark.parametrize("name", [name for name in ALL if name[:4] not in ("Norm", "Resa")])
def test_a_state_of_another_seed_is_refused(name: str) -> None:
    array = data_for(name)
    state = ALL[name](stream(array, 3)).state_dict()
    other = ALL[name](stream(array, 3))
    other._step_seed = 5
    with pytest.raises(ValueError, match="seed"):
        other.load_state_dict(state)


@pytest.mark.parametrize("name", ALL)
def test_a_direct_call_is_the_first_example_of_the_first_epoch(name: str) -> None:
    array = data_for(name)
    first = examples(ALL[name](stream(array, COUNT)))
    step = ALL[name](stream(array, COUNT))
    assert_same_items(list(step.transform_source_batch(array, "x")), first)
    assert_same_items([step.transform_source_example(array[0], "x")], first[:1])


def test_all_are_elementwise_and_say_what_they_are() -> None:
    more: dict[str, Step] = {"OneHot": lambda s: OneHot(s, 3)}
    for name, make in {**ALL, **more}.items():
        step = make(stream(data_for(name)))
        assert step.elementwise is True
        assert name.split()[0] in repr(step)
        assert step._parameters()
