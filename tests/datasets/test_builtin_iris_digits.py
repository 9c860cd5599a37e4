"""The two data sets that ship with the package, from their HDF5 files to batches."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path

import numpy
import pytest

import fuel.datasets
from fuel.config_parser import config
from fuel.converters.digits import convert_digits
from fuel.converters.iris import convert_iris
from fuel.datasets.digits import Digits
from fuel.datasets.hdf5 import H5PYDataset
from fuel.datasets.iris import Iris
from fuel.downloaders.packaged import take_packaged
from fuel.manifests import MANIFESTS
from fuel.schemes import SequentialScheme, ShuffledScheme
from fuel.streams import DataStream


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("data")
    for name, convert in (("iris", convert_iris), ("digits", convert_digits)):
        take_packaged(MANIFESTS[name], str(directory))
        convert(str(directory), str(directory))
    return directory


@pytest.fixture
def data_path(converted: Path) -> Iterator[Path]:
    with config.override(data_path=[str(converted)], floatX="float32"):
        yield converted


@pytest.mark.usefixtures("data_path")
def test_iris_has_one_split_in_memory() -> None:
    dataset = Iris(("all",))
    assert isinstance(dataset, H5PYDataset)
    assert dataset.load_in_memory
    assert (dataset.num_examples, dataset.sources) == (150, ("features", "targets"))
    assert dataset.axis_labels["features"] == ("batch", "feature")
    assert dataset.axis_labels["targets"] == ("batch", "index")
    handle = dataset.open()
    features, targets = dataset.get_data(handle, slice(0, 10))
    dataset.close(handle)
    assert (features.shape, features.dtype) == ((10, 4), numpy.dtype("float32"))
    assert (targets.shape, targets.dtype) == ((10, 1), numpy.dtype("uint8"))
    numpy.testing.assert_array_equal(
        features[0], numpy.array([5.1, 3.5, 1.4, 0.2], dtype="float32")
    )


@pytest.mark.usefixtures("data_path")
@pytest.mark.parametrize("cls", [Iris, Digits])
def test_arguments_reach_the_dataset(cls: type[H5PYDataset]) -> None:
    split = ("all",) if cls is Iris else ("train",)
    dataset = cls(split, load_in_memory=False, sources=("targets",), subset=slice(3, 9))
    assert not dataset.load_in_memory
    assert (dataset.num_examples, dataset.sources) == (6, ("targets",))
    with pytest.raises(ValueError, match="nosuch"):
        cls(("nosuch",))


@pytest.mark.usefixtures("data_path")
def test_digits_have_two_splits() -> None:
    train, test, both = Digits(("train",)), Digits(("test",)), Digits(("train", "test"))
    assert (train.num_examples, test.num_examples, both.num_examples) == (1442, 355, 1797)
    assert train.axis_labels["features"] == ("batch", "channel", "height", "width")
    features, targets = test.get_data(None, slice(0, 355))
    assert (features.shape, features.dtype) == ((355, 1, 8, 8), numpy.dtype("uint8"))
    assert (targets.shape, targets.dtype) == ((355, 1), numpy.dtype("uint8"))


@pytest.mark.usefixtures("data_path")
def test_the_default_stream_of_digits_scales_pixels_to_one() -> None:
    dataset = Digits(("train",))
    scheme = ShuffledScheme(dataset.num_examples, 100, rng=numpy.random.RandomState(1))
    batches = list(DataStream.default_stream(dataset, iteration_scheme=scheme).get_epoch_iterator())
    features = numpy.concatenate([batch[0] for batch in batches])
    assert features.dtype == numpy.dtype("float32")
    assert (features.min(), features.max()) == (0.0, 1.0)
    assert set(numpy.unique(features)) <= {numpy.float32(grey / 16) for grey in range(17)}
    assert batches[0][1].dtype == numpy.dtype("uint8")


@pytest.mark.usefixtures("data_path")
def test_iris_streams_as_it_is_by_default() -> None:
    stream = DataStream.default_stream(Iris(("all",)), iteration_scheme=SequentialScheme(150, 50))
    targets = [batch[1] for batch in stream.get_epoch_iterator()]
    assert [numpy.unique(part).tolist() for part in targets] == [[0], [1], [2]]


@pytest.mark.usefixtures("data_path")
@pytest.mark.parametrize("cls, split", [(Iris, "all"), (Digits, "test")])
def test_a_pickle_holds_no_data(cls: type[H5PYDataset], split: str) -> None:
    dataset = cls((split,))
    pickled = pickle.dumps(dataset)
    assert len(pickled) < 5000
    again = pickle.loads(pickled)
    for ours, theirs in zip(again.get_data(None, [3, 1]), dataset.get_data(None, [3, 1])):
        numpy.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("cls, name", [(Iris, "iris"), (Digits, "digits")])
def test_a_missing_file_says_how_to_make_it(
    cls: type[H5PYDataset], name: str, tmp_path: Path
) -> None:
    with config.override(data_path=[str(tmp_path)]):
        with pytest.raises(IOError, match=f"{name}.hdf5 not found in Fuel's data path") as caught:
            cls(("all",))
    assert f"fuel-download {name}" in str(caught.value)
    assert f"fuel-convert {name}" in str(caught.value)


def test_both_are_found_in_the_face() -> None:
    assert fuel.datasets.Iris is Iris
    assert fuel.datasets.Digits is Digits
