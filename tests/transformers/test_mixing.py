"""OneHot, MixUp, CutMix: vectors, shares, partners, rectangles, bad input."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fuel.config_parser import config
from fuel.datasets import IndexableDataset
from fuel.exceptions import AxisLabelsMismatchError
from fuel.plan import Context
from fuel.schemes import (
    ConstantScheme,
    SequentialExampleScheme,
    SequentialScheme,
    ShuffledScheme,
)
from fuel.streams import DataStream
from fuel.testing import assert_resumes_everywhere, assert_same_items
from fuel.transformers import Batch
from fuel.transformers._labels import OneHot
from fuel.transformers._mixing import CutMix, MixUp, symmetric_beta

COUNT, CLASSES = 7, 4


def data(dtype: str = "float64", labels: Any = None) -> dict[str, Any]:
    rng = numpy.random.default_rng(5)
    return {
        "features": (rng.random((COUNT, 2, 6, 5)) * 200).astype(dtype),
        "targets": rng.integers(CLASSES, size=COUNT) if labels is None else labels,
    }


def stream(size: int | None = COUNT, axis_labels: Any = None, **sources: Any) -> DataStream:
    sources = sources or data()
    dataset = IndexableDataset(sources, axis_labels=axis_labels)
    count = len(next(iter(sources.values())))
    scheme: Any = SequentialExampleScheme(count)
    if size is not None:
        scheme = SequentialScheme(count, size)
    return DataStream(dataset, iteration_scheme=scheme)


# -- OneHot -------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", ["int64", "uint8", "int8", "uint64", "column", "list", "bool"])
def test_a_one_in_the_place_of_the_class(labels: str) -> None:
    numbers = [0, 1, 1, 0] if labels == "bool" else [3, 0, 2, 2]
    given_labels: Any = numbers
    if labels == "column":
        given_labels = numpy.array(numbers)[:, None]
    elif labels != "list":
        given_labels = numpy.array(numbers, dtype=labels)
    expected = [[float(place == number) for place in range(5)] for number in numbers]
    ((found,),) = OneHot(stream(4, y=given_labels), 5)
    assert found.dtype == config.floatX and found.tolist() == expected
    singly = [vector for (vector,) in OneHot(stream(None, y=given_labels), 5, "uint8")]
    assert [one.tolist() for one in singly] == expected and singly[0].dtype == "uint8"


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "complex64"])
def test_the_type_of_the_vectors(dtype: str) -> None:
    ((found,),) = OneHot(stream(2, y=numpy.array([1, 0])), 2, dtype)
    assert found.dtype == dtype and numpy.array_equal(found, [[0, 1], [1, 0]])


def test_a_label_out_of_range_is_named_with_its_ordinal() -> None:
    for wrong in (4, -1, 2**40):
        labels = numpy.array([0, 1, 2, 3, wrong, 1])
        iterator = iter(OneHot(stream(3, y=labels), 4))
        next(iterator)
        with pytest.raises(ValueError, match=rf"label {wrong} of source 'y', ordinal 4, .*0 to 3"):
            next(iterator)
        singly = iter(OneHot(stream(None, y=labels), 4))
        for _ in range(4):
            next(singly)
        with pytest.raises(ValueError, match=rf"label {wrong} of source 'y', ordinal 4,"):
            next(singly)
    with pytest.raises(ValueError, match=f"label {2**64 - 1} "):
        list(OneHot(stream(2, y=numpy.array([0, 2**64 - 1], dtype="uint64")), 4))
    with pytest.raises(ValueError, match="label 1 .*1 classes"):
        list(OneHot(stream(2, y=numpy.array([False, True])), 1))


def test_more_classes_than_the_type_of_the_labels_can_count() -> None:
    ((found,),) = OneHot(stream(2, y=numpy.array([255, 3], dtype="uint8")), 300)
    assert found.shape == (2, 300) and found.argmax(axis=1).tolist() == [255, 3]


def test_other_labels_are_refused() -> None:
    with pytest.raises(TypeError, match=r"integers, but source 'y' has the type float64.*Cast"):
        list(OneHot(stream(2, y=numpy.array([0.0, 1.0])), 2))
    with pytest.raises(TypeError, match="integers"):
        list(OneHot(stream(2, y=numpy.array(["a", "b"])), 2))
    with pytest.raises(ValueError, match=r"one label an example.*\(2,\)"):
        list(OneHot(stream(2, y=numpy.array([[0, 1], [1, 0]])), 2))
    for wrong, error in ((0, ValueError), (2.0, TypeError), (True, TypeError)):
        with pytest.raises(error, match="num_classes"):
            OneHot(stream(2, y=numpy.array([0])), wrong)  # type: ignore[arg-type]
    for dtype in ("U3", "no", "M8[s]"):
        with pytest.raises(TypeError, match="`dtype` of OneHot"):
            OneHot(stream(2, y=numpy.array([0])), 2, dtype)


def test_labels_of_axes_and_empty_batches() -> None:
    below = stream(
        2, {"targets": ("batch", "index"), "features": ("batch", "c", "h", "w")}, **data()
    )
    step = OneHot(below, CLASSES, which_sources=("targets",))
    assert step.axis_labels["targets"] == ("batch", "class")
    assert step.axis_labels["features"] == ("batch", "c", "h", "w")
    empties: list[Any] = [numpy.zeros((0, 1), int), numpy.zeros(0), []]
    for empty in empties:
        found = step.apply((None, empty), Context(0, 0, 0))[1]
        assert found.shape == (0, CLASSES) and found.dtype == config.floatX
    singly = stream(None, {"y": ("index",)}, y=numpy.array([[1]]))
    assert OneHot(singly, 2).axis_labels["y"] == ("class",)


# -- the distribution of shares -----------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.02, 0.2, 0.5, 1.0, 1.7, 5.0, 300.0])
def test_shares_have_the_beta_distribution(alpha: float) -> None:
    step = MixUp(stream(), alpha, num_classes=CLASSES)
    shares = symmetric_beta(Context(0, 0, 20000).bits(step, 2, 20000), alpha)
    assert shares.min() >= 0 and shares.max() <= 1
    if alpha >= 0.2:  # below, most lie nearer to 0 and 1 than numbers can tell
        assert stats.kstest(shares, stats.beta(alpha, alpha).cdf).pvalue > 0.01
    assert abs(shares.mean() - 0.5) < 0.015
    assert abs(shares.var() * 4 * (2 * alpha + 1) - 1) < 0.05


def test_no_draw_gives_what_is_no_share() -> None:
    edge = [0, 1, 1 << 11, 1 << 62, 1 << 63, (1 << 63) + (1 << 62), (1 << 64) - 1]
    bits = numpy.array([(a, b) for a in edge for b in edge], dtype=numpy.uint64)
    for alpha in (1e-300, 1e-3, 0.5, 1.0, 1e3, 1e300):
        shares = symmetric_beta(bits, alpha)
        assert (shares >= 0).all() and (shares <= 1).all()


# -- MixUp --------------------------------------------------------------------------------------


def shares_of(step: Any, first: int, size: int) -> Any:
    bits = Context(0, first, size).bits(step, step._draws, size)
    return symmetric_beta(bits[:, :2], step.alpha)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_mixup_is_its_published_formula(dtype: str) -> None:
    sources = data(dtype)
    step = MixUp(stream(3, **sources), 0.7, num_classes=CLASSES, seed=2)
    at = 0
    for features, targets in step:
        size = len(features)
        shares = shares_of(step, at, size)
        assert features.dtype == dtype and targets.dtype == config.floatX
        for row in range(size):
            i, j, s = at + row, at + (row + 1) % size, shares[row]
            x = sources["features"].astype("float64")
            y = numpy.eye(CLASSES)[sources["targets"]]
            assert numpy.allclose(
                features[row], s * x[i] + (1 - s) * x[j], rtol=3e-3 if dtype == "float16" else 1e-5
            )
            assert numpy.allclose(targets[row], s * y[i] + (1 - s) * y[j])
        assert numpy.allclose(targets.sum(axis=1), 1)
        at += size


@pytest.mark.parametrize("make", [MixUp, CutMix])
def test_the_batch_size_changes_the_partner_only(make: Any) -> None:
    for first, second in ((3, 2), (4, COUNT), (1, 5)):
        bits = {}
        for size in (first, second):
            step = make(stream(size), num_classes=CLASSES, seed=1)
            bits[size] = numpy.concatenate(
                [shares_of(step, at, min(size, COUNT - at)) for at in range(0, COUNT, size)]
            )
        assert bits[first].tobytes() == bits[second].tobytes()
    # And so where the partner is the same, the result is.
    small, large = (
        [batch[0] for batch in make(stream(size), num_classes=CLASSES)] for size in (3, COUNT)
    )
    assert_same_items(list(small[0][:2]), list(large[0][:2]))
    assert_same_items(list(small[1][:2]), list(large[0][3:5]))
    assert small[0][2].tobytes() != large[0][2].tobytes()


@pytest.mark.parametrize("make", [MixUp, CutMix])
def test_a_batch_made_above_examples_is_mixed_alike(make: Any) -> None:
    expected = list(make(stream(3), num_classes=CLASSES))
    above = make(Batch(stream(None), ConstantScheme(3)), num_classes=CLASSES)
    assert_same_items(list(above), expected)


@pytest.mark.parametrize("make", [MixUp, CutMix])
def test_a_batch_of_one_and_of_none_stay(make: Any) -> None:
    sources = data()
    expected = numpy.eye(CLASSES)[sources["targets"]]
    for index, (features, targets) in enumerate(make(stream(1), num_classes=CLASSES)):
        assert_same_items([features], [sources["features"][index : index + 1]])
        assert numpy.array_equal(targets, expected[index : index + 1])
    step = make(stream(3), num_classes=CLASSES)
    empty = (sources["features"][:0], sources["targets"][:0])
    features, targets = step.apply(empty, Context(0, 0, 0))
    assert features.shape == (0, 2, 6, 5) and targets.shape == (0, CLASSES)


@pytest.mark.parametrize("make", [MixUp, CutMix])
def test_inputs_stay_as_they_are(make: Any) -> None:
    for labels in (None, numpy.random.default_rng(0).random((COUNT, CLASSES))):
        sources = data(labels=labels)
        for size in (1, COUNT):
            given_arrays = tuple(array[:size] for array in sources.values())
            before = [array.copy() for array in given_arrays]
            for array in given_arrays:
                array.flags.writeable = False
            step = make(stream(), num_classes=None if labels is not None else CLASSES)
            found = step.apply(given_arrays, Context(0, 0, size))
            assert_same_items(list(given_arrays), before)
            for array in found:
                assert not any(numpy.shares_memory(array, other) for other in given_arrays)


@pytest.mark.parametrize("make", [MixUp, CutMix])
@pytest.mark.parametrize(
    "labels",
    [
        numpy.eye(COUNT)[:, :CLASSES],
        numpy.eye(COUNT, dtype="uint8")[:, :CLASSES],
        numpy.linspace(0, 1, COUNT),
        numpy.linspace(0, 1, COUNT, dtype="float32")[:, None],
    ],
)
def test_labels_are_vectors_numbers_or_class_numbers(make: Any, labels: Any) -> None:
    step = make(stream(**data(labels=labels)), dtype="float32")
    ((_, targets),) = step
    assert targets.shape == labels.shape
    assert targets.dtype == (labels.dtype if labels.dtype.kind == "f" else "float32")
    low = numpy.minimum(labels, numpy.roll(labels, -1, axis=0)) - 1e-6
    high = numpy.maximum(labels, numpy.roll(labels, -1, axis=0)) + 1e-6
    assert (targets >= low).all() and (targets <= high).all()
    column = data(labels=numpy.arange(COUNT)[:, None] % CLASSES)
    ((_, targets),) = make(stream(**column), num_classes=CLASSES)
    assert targets.shape == (COUNT, CLASSES)


def test_which_sources_are_mixed() -> None:
    sources = {**data(), "more": numpy.arange(7.0), "words": numpy.array(list("abcdefg"))}
    step = MixUp(stream(**sources), labels=(), which_sources=("more",), seed=3)
    features, targets, more, words = next(iter(step))
    assert_same_items(
        [features, targets, words], [sources[n] for n in ("features", "targets", "words")]
    )
    shares = shares_of(step, 0, COUNT)
    assert numpy.allclose(
        more, shares * numpy.arange(7) + (1 - shares) * ((numpy.arange(7) + 1) % 7)
    )
    lists = MixUp(stream(), num_classes=CLASSES)
    raw = data()
    found = lists.apply((list(raw["features"]), list(raw["targets"])), Context(0, 0, COUNT))
    assert_same_items(list(found), list(next(iter(MixUp(stream(), num_classes=CLASSES)))))


@pytest.mark.parametrize("make", [MixUp, CutMix])
def test_mixing_refuses(make: Any) -> None:
    with pytest.raises(ValueError, match="needs batches"):
        make(stream(None), num_classes=CLASSES)
    for alpha, error in ((0, ValueError), (-1, ValueError), ("x", TypeError)):
        with pytest.raises(error, match="`alpha`"):
            make(stream(), alpha)
    with pytest.raises(ValueError, match=r"labels in 'label'.*\('features', 'targets'\)"):
        make(stream(), labels="label")
    with pytest.raises(ValueError, match="num_classes"):
        make(stream(), num_classes=0)
    with pytest.raises(ValueError, match=r"class numbers of source 'targets'.*OneHot"):
        list(make(stream()))
    with pytest.raises(ValueError, match=r"`num_classes` of .* is 3, but .* vectors of 4"):
        list(make(stream(**data(labels=numpy.eye(7, dtype=int)[:, :4])), num_classes=3))
    with pytest.raises(TypeError, match="labels that are numbers"):
        list(make(stream(**data(labels=numpy.array(list("abcdefg"))))))
    with pytest.raises(ValueError, match="label 3 of source 'targets', ordinal"):
        list(make(stream(**data(labels=numpy.array([0, 1, 2, 3, 3, 3, 3]))), num_classes=3))
    step = make(stream(), num_classes=CLASSES)
    ragged = [numpy.zeros((1, 2, 2)), numpy.zeros((1, 2, 3))]
    with pytest.raises(ValueError, match=r"equal shapes.*\(1, 2, 2\) and \(1, 2, 3\)"):
        step.apply((ragged, [0, 1]), Context(0, 0, 2))
    with pytest.raises(NotImplementedError, match="mixes all sources of a batch together"):
        step.transform_source_batch(ragged, "features")


def test_mixup_needs_floating_point_data() -> None:
    with pytest.raises(TypeError, match=r"'features' has the type uint8.*Cast"):
        list(MixUp(stream(**data("uint8")), num_classes=CLASSES))


# -- CutMix -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
@pytest.mark.parametrize("last", [False, True])
def test_cutmix_is_its_published_formula(dtype: str, last: bool) -> None:
    sources = data(dtype)
    labels = None
    if last:
        sources["features"] = numpy.moveaxis(sources["features"], 1, -1).copy()
        labels = {"features": ("batch", "height", "width", "channel"), "targets": ("batch",)}
    step = CutMix(stream(4, labels, **sources), num_classes=CLASSES, seed=7)
    if last:
        assert step.axis_labels["targets"] == ("batch", "class")
    y = numpy.eye(CLASSES)[sources["targets"]]
    at = 0
    for features, targets in step:
        size = len(features)
        bits = Context(0, at, size).bits(step, 4, size)
        shares = shares_of(step, at, size)
        for row in range(size):
            i, j = at + row, at + (row + 1) % size
            expected = sources["features"][i].copy()
            other = sources["features"][j]
            side = (1 - shares[row]) ** 0.5
            spans = []
            for number, extent in enumerate((6, 5)):
                length = int(extent * side)
                centre = (int(bits[row, 2 + number]) * extent) >> 64
                start = centre - length // 2
                spans.append(slice(max(start, 0), max(min(start + length, extent), 0)))
            where = (*spans, slice(None)) if last else (slice(None), *spans)
            expected[where] = other[where]
            assert features.dtype == dtype
            assert features[row].tobytes() == expected.tobytes()
            area = (spans[0].stop - spans[0].start) * (spans[1].stop - spans[1].start)
            share = 1 - area / 30
            assert numpy.allclose(targets[row], share * y[i] + (1 - share) * y[j])
        at += size


@settings(max_examples=40, deadline=None)
@given(height=st.integers(1, 9), width=st.integers(1, 9), alpha=st.floats(0.05, 20))
def test_the_label_says_how_much_of_the_image_is_left(
    height: int, width: int, alpha: float
) -> None:
    images = numpy.arange(5.0).reshape(5, 1, 1, 1) * numpy.ones((1, 2, height, width))
    step = CutMix(stream(5, features=images, targets=numpy.arange(5)), alpha, num_classes=5)
    ((features, targets),) = step
    for row in range(5):
        kept = (features[row] == row).mean()
        assert abs(targets[row, row] - kept) < 1e-6
        assert abs(targets[row, (row + 1) % 5] - (1 - kept)) < 1e-6


def test_cutmix_keeps_masks_with_their_images() -> None:
    images = numpy.arange(4.0).reshape(4, 1, 1, 1) * numpy.ones((1, 3, 8, 8))
    masks = images[:, 0].astype("uint8")
    step = CutMix(stream(4, features=images, masks=masks, targets=numpy.arange(4)), num_classes=4)
    ((features, mixed, _),) = step
    assert numpy.array_equal(features[:, 0], mixed) and mixed.dtype == "uint8"
    small = stream(4, features=images, masks=masks[:, :4], targets=numpy.arange(4))
    with pytest.raises(ValueError, match=r"one size in all sources, got \[\(4, 8\), \(8, 8\)\]"):
        list(CutMix(small, num_classes=4))
    with pytest.raises(ValueError, match="three axes"):
        list(CutMix(stream(2, features=numpy.zeros((2, 3)), targets=[0, 1]), num_classes=2))
    labels = {"features": ("batch", "time", "x", "y"), "targets": ("batch",)}
    with pytest.raises(AxisLabelsMismatchError):
        list(CutMix(stream(4, labels, **data()), num_classes=CLASSES))


@pytest.mark.parametrize("make", [MixUp, CutMix])
def test_they_resume_and_are_named(make: Any) -> None:
    def built(seed: int | None = None) -> Any:
        dataset = IndexableDataset(data())
        below = DataStream(dataset, iteration_scheme=ShuffledScheme(COUNT, 3))
        return make(below, num_classes=CLASSES, seed=seed)

    assert_resumes_everywhere(built, new_process=False, epochs=1)
    step = built()
    assert step.elementwise and "alpha=1.0" in repr(step) and not step.produces_examples
    with pytest.raises(ValueError, match="seed"):
        built(8).load_state_dict(step.state_dict())


def test_one_hot_resumes() -> None:
    assert_resumes_everywhere(
        lambda: OneHot(stream(3), CLASSES, which_sources=("targets",)), new_process=False, epochs=1
    )
