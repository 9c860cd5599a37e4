"""The original manual's tour - datasets, schemes, streams, transformers - prints what it printed.

Written anew, example by example; the numbers are the manual's, which made its toy data with
NumPy's `RandomState(1234)`.
"""

from __future__ import annotations

import pickle
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

from fuel.config_parser import config
from fuel.datasets import IndexableDataset, IterableDataset
from fuel.schemes import (
    SequentialExampleScheme,
    SequentialScheme,
    ShuffledExampleScheme,
    ShuffledScheme,
)
from fuel.streams import DataStream
from fuel.transformers import Cast, Flatten, ScaleAndShift

AXES = OrderedDict(features=("batch", "height", "width"), targets=("batch", "index"))
IMAGES = [
    [[47, 211], [38, 53]],
    [[204, 116], [152, 249]],
    [[143, 177], [23, 233]],
    [[154, 30], [171, 158]],
    [[236, 124], [26, 118]],
    [[186, 120], [112, 220]],
    [[69, 80], [201, 127]],
    [[246, 254], [175, 50]],
]
LABELS = [0, 3, 0, 1, 2, 2, 2, 3]


@pytest.fixture(autouse=True)
def default_seed() -> Iterator[None]:
    # The manual relies on the default; nothing else in the tests does.
    assert config.default_seed == 1
    yield


@pytest.fixture
def toy() -> OrderedDict[str, Any]:
    rng = numpy.random.RandomState(1234)
    features = rng.randint(256, size=(8, 2, 2))
    targets = rng.randint(4, size=(8, 1))
    return OrderedDict([("features", features), ("targets", targets)])


@pytest.fixture
def dataset(toy: OrderedDict[str, Any]) -> IndexableDataset:
    return IndexableDataset(indexables=toy, axis_labels=AXES)


def shapes(data: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(part.shape for part in data)


def test_the_toy_data_is_that_of_the_manual(toy: OrderedDict[str, Any]) -> None:
    assert toy["features"].tolist() == IMAGES
    assert toy["targets"][:, 0].tolist() == LABELS


def test_an_iterable_dataset_says_what_it_has(
    toy: OrderedDict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    dataset = IterableDataset(iterables=toy, axis_labels=AXES)
    print(f"Provided sources are {dataset.provides_sources}.")
    print(f"Sources are {dataset.sources}.")
    print(f"Dataset contains {dataset.num_examples} examples.")
    assert capsys.readouterr().out.splitlines() == [
        "Provided sources are ('features', 'targets').",
        "Sources are ('features', 'targets').",
        "Dataset contains 8 examples.",
    ]
    # Printed as Python prints it, which differs between versions; it is what was given.
    assert dataset.axis_labels == AXES
    assert isinstance(dataset.axis_labels, OrderedDict)


def test_an_iterable_dataset_hands_out_one_example_after_the_other(
    toy: OrderedDict[str, Any],
) -> None:
    dataset = IterableDataset(iterables=toy, axis_labels=AXES)
    state = dataset.open()
    assert type(state).__name__ != "zip"  # which cannot be pickled from Python 3.14 on
    seen = []
    while True:
        try:
            image, target = dataset.get_data(state=state)
        except StopIteration:
            break
        seen.append((image.tolist(), target.tolist()))
    assert seen == [(image, [label]) for image, label in zip(IMAGES, LABELS, strict=True)]

    state = dataset.reset(state=state)
    first = dataset.get_data(state=state)
    assert str(first) == "(array([[ 47, 211],\n       [ 38,  53]]), array([0]))"
    assert dataset.close(state=state) is None


def test_the_state_of_an_iterable_dataset_pickles_halfway(toy: OrderedDict[str, Any]) -> None:
    dataset = IterableDataset(iterables=toy)
    state = dataset.open()
    dataset.get_data(state)
    copy = pickle.loads(pickle.dumps(state))
    assert dataset.get_data(copy)[0].tolist() == dataset.get_data(state)[0].tolist() == IMAGES[1]


def test_an_indexable_dataset_answers_requests_without_a_state(
    dataset: IndexableDataset, capsys: pytest.CaptureFixture[str]
) -> None:
    state = dataset.open()
    print(f"State is {state}.")
    print(dataset.get_data(state=state, request=[0, 1]))
    dataset.close(state=state)
    assert capsys.readouterr().out == (
        "State is None.\n"
        "(array([[[ 47, 211],\n        [ 38,  53]],\n\n"
        "       [[204, 116],\n        [152, 249]]]), array([[0],\n       [3]]))\n"
    )


def test_a_dataset_can_be_restricted_to_some_sources(toy: OrderedDict[str, Any]) -> None:
    dataset = IndexableDataset(indexables=toy, axis_labels=AXES, sources=("features",))
    assert str(dataset.provides_sources) == "('features', 'targets')"
    assert str(dataset.sources) == "('features',)"
    data = dataset.get_data(state=dataset.open(), request=[0, 1])
    assert str(data) == (
        "(array([[[ 47, 211],\n        [ 38,  53]],\n\n       [[204, 116],\n        [152, 249]]]),)"
    )


def test_the_schemes_make_the_requests_of_the_manual(capsys: pytest.CaptureFixture[str]) -> None:
    for scheme in (
        SequentialScheme(examples=8, batch_size=4),
        ShuffledScheme(examples=8, batch_size=4),
        SequentialExampleScheme(examples=8),
        ShuffledExampleScheme(examples=8),
    ):
        print(list(scheme.get_request_iterator()))
    assert capsys.readouterr().out.splitlines() == [
        "[[0, 1, 2, 3], [4, 5, 6, 7]]",
        "[[7, 2, 1, 6], [0, 4, 3, 5]]",
        "[0, 1, 2, 3, 4, 5, 6, 7]",
        "[7, 2, 1, 6, 0, 4, 3, 5]",
    ]


def test_a_scheme_visits_a_dataset(dataset: IndexableDataset) -> None:
    state = dataset.open()
    scheme = ShuffledScheme(examples=dataset.num_examples, batch_size=4)
    visited = [
        shapes(dataset.get_data(state=state, request=request))
        for request in scheme.get_request_iterator()
    ]
    dataset.close(state)
    assert visited == [((4, 2, 2), (4, 1))] * 2


def test_a_stream_does_all_that_by_itself(dataset: IndexableDataset) -> None:
    scheme = ShuffledScheme(examples=dataset.num_examples, batch_size=4)
    stream = DataStream(dataset=dataset, iteration_scheme=scheme)
    assert [shapes(data) for data in stream.get_epoch_iterator()] == [((4, 2, 2), (4, 1))] * 2


STANDARDIZED = [
    [
        [[0.18530572, -1.54479571], [0.42249705, 0.24111545]],
        [[-1.30760439, 0.98059429], [-1.43317627, -1.2238898]],
        [[1.46892937, 1.58054882], [0.47830677, -1.2657471]],
        [[0.63178351, -0.28907693], [-0.40069638, 1.10616617]],
    ],
    [
        [[1.32940506, -0.2332672], [-1.60060544, -0.31698179]],
        [[0.03182898, 0.50621164], [-1.64246273, 1.28754777]],
        [[0.88292727, -0.34488665], [0.15740086, 1.51078666]],
        [[-1.00065091, -0.84717417], [0.84106998, -0.19140991]],
    ],
]


def test_standardized_images_are_those_of_the_manual(
    toy: OrderedDict[str, Any], dataset: IndexableDataset
) -> None:
    # In the manual this is the third pass over one scheme; the order of each is another one.
    scheme = ShuffledScheme(examples=dataset.num_examples, batch_size=4)
    stream = DataStream(dataset=dataset, iteration_scheme=scheme)
    list(scheme.get_request_iterator())
    list(stream.get_epoch_iterator())
    scale = 1.0 / toy["features"].std()
    shift = -scale * toy["features"].mean()
    standardized = ScaleAndShift(
        data_stream=stream, scale=scale, shift=shift, which_sources=("features",)
    )
    batches = list(standardized.get_epoch_iterator())
    assert [numpy.round(batch[0], 8).tolist() for batch in batches] == STANDARDIZED
    assert [batch[1][:, 0].tolist() for batch in batches] == [[1, 0, 3, 2], [2, 0, 3, 2]]
    text = str(batches[0])
    assert text.startswith("(array([[[ 0.18530572, -1.54479571],\n        [ 0.42249705,  0.24111")

    in_float32 = Cast(data_stream=standardized, dtype="float32", which_sources=("features",))
    for features, targets in in_float32.get_epoch_iterator():
        assert features.dtype == numpy.float32
        assert targets.dtype == toy["targets"].dtype


def test_the_chain_can_be_written_as_one_expression(
    toy: OrderedDict[str, Any], dataset: IndexableDataset
) -> None:
    scale = 1.0 / toy["features"].std()
    shift = -scale * toy["features"].mean()
    scheme = ShuffledScheme(examples=dataset.num_examples, batch_size=4)
    stream = Cast(
        ScaleAndShift(
            DataStream(dataset=dataset, iteration_scheme=scheme),
            scale=scale,
            shift=shift,
            which_sources=("features",),
        ),
        dtype="float32",
        which_sources=("features",),
    )
    features = numpy.concatenate([batch[0] for batch in stream.get_epoch_iterator()])
    assert features.dtype == numpy.float32
    assert abs(features.mean()) < 1e-6
    assert abs(features.std() - 1) < 1e-6


def test_flatten_makes_a_matrix_of_a_batch_and_a_vector_of_an_example(
    dataset: IndexableDataset,
) -> None:
    batches = DataStream(dataset, iteration_scheme=SequentialScheme(8, 4))
    examples = DataStream(dataset, iteration_scheme=SequentialExampleScheme(8))
    flat_batch = next(Flatten(batches, which_sources=("features",)).get_epoch_iterator())
    flat_example = next(Flatten(examples, which_sources=("features",)).get_epoch_iterator())
    assert shapes(flat_batch) == ((4, 4), (4, 1))
    assert shapes(flat_example) == ((4,), (1,))
