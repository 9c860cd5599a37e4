"""The original manual's chapter on extending - datasets, schemes, transformers of one's own.

Written anew, example by example; what the manual prints is what is asserted. The examples that
import `six` and `picklable_itertools` need the extra `compat`.
"""

from __future__ import annotations

import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy
import pytest

from fuel.datasets import IndexableDataset
from fuel.schemes import BatchScheme, IndexScheme, SequentialExampleScheme, SequentialScheme
from fuel.streams import DataStream
from fuel.transformers import (
    AgnosticSourcewiseTransformer,
    AgnosticTransformer,
    Mapping,
    Transformer,
)

EXAMPLES = "[(2, -1), (4, 1), (6, -1), (8, 1)]"
FEATURES_DOUBLED = "[(array([2, 4]), array([-1,  1])), (array([6, 8]), array([-1,  1]))]"
TARGETS_DOUBLED = "[(array([1, 2]), array([-2,  2])), (array([3, 4]), array([-2,  2]))]"
BOTH_DOUBLED = "[(array([2, 4]), array([-2,  2])), (array([6, 8]), array([-2,  2]))]"


def printed(stream: Any) -> str:
    """What the manual prints: all of an epoch, with NumPy's numbers as they were printed then."""
    items = [
        tuple(part.item() if isinstance(part, numpy.generic) else part for part in item)
        for item in stream.get_epoch_iterator()
    ]
    return str(items)


@pytest.fixture
def dataset() -> IndexableDataset:
    return IndexableDataset(
        indexables=OrderedDict(
            [("features", numpy.array([1, 2, 3, 4])), ("targets", numpy.array([-1, 1, -1, 1]))]
        )
    )


@pytest.fixture
def examples(dataset: IndexableDataset) -> DataStream:
    scheme = SequentialExampleScheme(examples=dataset.num_examples)
    return DataStream(dataset=dataset, iteration_scheme=scheme)


@pytest.fixture
def batches(dataset: IndexableDataset) -> DataStream:
    scheme = SequentialScheme(examples=dataset.num_examples, batch_size=2)
    return DataStream(dataset=dataset, iteration_scheme=scheme)


# -- datasets --------------------------------------------------------------------------------------


class NPYDataset(IndexableDataset):
    def __init__(self, source_paths: dict[str, str], **kwargs: Any) -> None:
        indexables = OrderedDict(
            [(source, numpy.load(path)) for source, path in source_paths.items()]
        )
        super(NPYDataset, self).__init__(indexables, **kwargs)  # noqa: UP008 - as it was written


def test_a_dataset_of_npy_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    numpy.save("npy_dataset_features.npy", numpy.arange(40).reshape((10, 4)))
    numpy.save("npy_dataset_targets.npy", numpy.arange(10).reshape((10, 1)))
    dataset = NPYDataset(
        OrderedDict(features="npy_dataset_features.npy", targets="npy_dataset_targets.npy")
    )
    state = dataset.open()
    print(dataset.get_data(state=state, request=[0, 1, 2, 3]))
    dataset.close(state)
    assert capsys.readouterr().out == (
        "(array([[ 0,  1,  2,  3],\n       [ 4,  5,  6,  7],\n       [ 8,  9, 10, 11],\n"
        "       [12, 13, 14, 15]]), array([[0],\n       [1],\n       [2],\n       [3]]))\n"
    )


# -- schemes ---------------------------------------------------------------------------------------


def even_schemes() -> tuple[type[IndexScheme], type[BatchScheme]]:
    itertools = pytest.importorskip("picklable_itertools", reason="needs the extra `compat`")
    extras = pytest.importorskip("picklable_itertools.extras", reason="needs the extra `compat`")

    class ExampleEvenScheme(IndexScheme):
        def get_request_iterator(self) -> Any:
            indices = list(self.indices)[::2]
            return itertools.iter_(indices)

    class BatchEvenScheme(BatchScheme):
        def get_request_iterator(self) -> Any:
            indices = list(self.indices)[::2]
            return itertools.imap(list, extras.partition_all(self.batch_size, indices))

    return ExampleEvenScheme, BatchEvenScheme


@pytest.mark.filterwarnings("ignore:pkg_resources is deprecated")
def test_schemes_over_the_even_examples() -> None:
    ExampleEvenScheme, BatchEvenScheme = even_schemes()
    assert str(list(ExampleEvenScheme(10).get_request_iterator())) == "[0, 2, 4, 6, 8]"
    assert str(list(BatchEvenScheme(10, 2).get_request_iterator())) == "[[0, 2], [4, 6], [8]]"


@pytest.mark.filterwarnings("ignore:pkg_resources is deprecated")
def test_such_schemes_drive_streams_and_resume(dataset: IndexableDataset) -> None:
    ExampleEvenScheme, BatchEvenScheme = even_schemes()
    by_example = DataStream(dataset, iteration_scheme=ExampleEvenScheme(4))
    assert by_example.produces_examples
    assert printed(by_example) == "[(1, -1), (3, -1)]"

    by_batch = DataStream(dataset, iteration_scheme=BatchEvenScheme(4, 1))
    assert not by_batch.produces_examples
    iterator = by_batch.get_epoch_iterator()
    next(iterator)
    state = iterator.state_dict()
    rest = str(list(iterator))
    again = by_batch.get_epoch_iterator()
    again.load_state_dict(state)
    assert str(list(again)) == rest == "[(array([3]), array([-1]))]"


# -- transformers ----------------------------------------------------------------------------------


class FeaturesDoubler(Transformer):
    def __init__(self, data_stream: Any, **kwargs: Any) -> None:
        super(FeaturesDoubler, self).__init__(  # noqa: UP008 - as it was written
            data_stream=data_stream,
            produces_examples=data_stream.produces_examples,
            **kwargs,
        )

    def transform_example(self, example: Any) -> Any:
        if "features" in self.sources:
            example = list(example)
            index = self.sources.index("features")
            example[index] *= 2
            example = tuple(example)
        return example

    def transform_batch(self, batch: Any) -> Any:
        if "features" in self.sources:
            batch = list(batch)
            index = self.sources.index("features")
            batch[index] *= 2
            batch = tuple(batch)
        return batch


class AgnosticFeaturesDoubler(AgnosticTransformer):
    def __init__(self, data_stream: Any, **kwargs: Any) -> None:
        super(AgnosticFeaturesDoubler, self).__init__(  # noqa: UP008 - as it was written
            data_stream=data_stream,
            produces_examples=data_stream.produces_examples,
            **kwargs,
        )

    def transform_any(self, data: Any) -> Any:
        if "features" in self.sources:
            data = list(data)
            index = self.sources.index("features")
            data[index] *= 2
            data = tuple(data)
        return data


class Doubler(AgnosticSourcewiseTransformer):
    def __init__(self, data_stream: Any, **kwargs: Any) -> None:
        super(Doubler, self).__init__(  # noqa: UP008 - as it was written
            data_stream=data_stream,
            produces_examples=data_stream.produces_examples,
            **kwargs,
        )

    def transform_any_source(self, source: Any, _: str) -> Any:
        return 2 * source


@pytest.mark.parametrize("doubler", [FeaturesDoubler, AgnosticFeaturesDoubler])
def test_features_are_doubled_in_examples_and_batches(
    doubler: Any, examples: DataStream, batches: DataStream
) -> None:
    assert printed(doubler(data_stream=examples)) == EXAMPLES
    assert printed(doubler(data_stream=batches)) == FEATURES_DOUBLED


def test_doubling_in_place_does_not_reach_the_dataset(
    dataset: IndexableDataset, batches: DataStream
) -> None:
    for _ in range(2):
        assert printed(FeaturesDoubler(data_stream=batches)) == FEATURES_DOUBLED
    assert dataset.features.tolist() == [1, 2, 3, 4]


def test_a_sourcewise_transformer_leaves_the_other_sources_alone(batches: DataStream) -> None:
    assert printed(Doubler(batches, which_sources=("targets",))) == TARGETS_DOUBLED
    assert printed(Doubler(batches, which_sources=None)) == BOTH_DOUBLED


def test_a_mapping_does_it_with_a_function(dataset: IndexableDataset, batches: DataStream) -> None:
    features_index = dataset.sources.index("features")

    def double(data: Any) -> Any:
        data = list(data)
        data[features_index] *= 2
        return tuple(data)

    assert printed(Mapping(data_stream=batches, mapping=double)) == FEATURES_DOUBLED


class OnlyBatches(Transformer):
    def __init__(self, data_stream: Any, **kwargs: Any) -> None:
        super().__init__(data_stream, produces_examples=False, **kwargs)

    def transform_batch(self, batch: Any) -> Any:
        return batch


def test_a_transformer_of_batches_refuses_a_stream_of_examples(
    examples: DataStream, batches: DataStream
) -> None:
    assert len(list(OnlyBatches(batches).get_epoch_iterator())) == 2
    with pytest.raises(NotImplementedError, match="OnlyBatches produces batches"):
        next(OnlyBatches(examples).get_epoch_iterator())


def test_an_iterator_over_user_transformers_pickles_halfway(batches: DataStream) -> None:
    iterator = Doubler(FeaturesDoubler(batches)).get_epoch_iterator()
    next(iterator)
    copy = pickle.loads(pickle.dumps(iterator))
    assert str(list(copy)) == str(list(iterator)) == "[(array([12, 16]), array([-2,  2]))]"
