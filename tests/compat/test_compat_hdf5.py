"""HDF5 files in the original's layout, written by hand, and subclasses of their dataset."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import h5py
import numpy
import pytest

from fuel.config_parser import config
from fuel.datasets import H5PYDataset
from fuel.datasets.hdf5 import PytablesDataset
from fuel.schemes import SequentialScheme, ShuffledScheme
from fuel.streams import DataStream
from fuel.utils import do_not_pickle_attributes, find_in_data_path

RNG = numpy.random.RandomState(0)
VECTORS = RNG.normal(size=(100, 10)).astype("float32")
TARGETS = RNG.randint(10, size=(100, 1)).astype("uint8")
IMAGES = [
    RNG.randint(256, size=(3, size, size)).astype("uint8") for size in RNG.randint(3, 9, size=100)
]
SOURCES = ("image_features", "targets", "vector_features")


def write(path: Path, shape: tuple[int, ...]) -> str:
    """Write what the manual's recipe writes; `shape` is that of the fields of `split`."""
    with h5py.File(path, "w") as file:
        file["vector_features"], file["targets"] = VECTORS, TARGETS
        file["vector_features"].dims[0].label = "batch"
        file["vector_features"].dims[1].label = "feature"
        file["targets"].dims[0].label = "batch"
        file["targets"].dims[1].label = "index"
        images = file.create_dataset("image_features", (100,), dtype=h5py.vlen_dtype("uint8"))
        for row, image in enumerate(IMAGES):
            images[row] = image.flatten()
        images.dims[0].label = "batch"
        scales = {
            "shapes": numpy.array([image.shape for image in IMAGES], "int32"),
            "shape_labels": numpy.array([b"channel", b"height", b"width"]),
        }
        for name, scale in scales.items():
            file[f"image_features_{name}"] = scale
            file[f"image_features_{name}"].make_scale(name)
            images.dims[0].attach_scale(file[f"image_features_{name}"])
        file["odd_rows"] = numpy.arange(1, 90, 2)
        fields = [
            ("split", "S5"),
            ("source", "S15"),
            ("start", numpy.int64, shape),
            ("stop", numpy.int64, shape),
            ("indices", h5py.ref_dtype),
            ("available", bool, shape),
            ("comment", "S1"),
        ]
        rows = numpy.empty(9, dtype=fields)
        number = 0
        for split, start, stop in (("train", 0, 90), ("test", 90, 100), ("odd", -1, -1)):
            for source in SOURCES:
                row = rows[number]
                row["split"], row["source"] = split.encode(), source.encode()
                row["start"], row["stop"] = start, stop
                row["indices"] = file["odd_rows"].ref if split == "odd" else h5py.Reference()
                row["available"] = (split, source) != ("test", "targets")
                row["comment"] = b"."
                number += 1
        file.attrs["split"] = rows
    return str(path)


@pytest.fixture(scope="module", params=[(), (1,)], ids=["scalar fields", "(1,) fields"])
def path(request: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    return write(tmp_path_factory.mktemp("hdf5") / "dataset.hdf5", request.param)


@pytest.fixture(params=[False, True], ids=["disk", "memory"])
def in_memory(request: Any) -> bool:
    loads: bool = request.param
    return loads


def test_a_split_has_its_sources_labels_and_rows(path: str, in_memory: bool) -> None:
    train = H5PYDataset(path, which_sets=("train",), load_in_memory=in_memory)
    assert train.num_examples == 90
    assert train.provides_sources == train.sources == SOURCES
    assert train.axis_labels == {
        "image_features": ("batch", "channel", "height", "width"),
        "targets": ("batch", "index"),
        "vector_features": ("batch", "feature"),
    }
    assert list(train.vlen_sources) == ["image_features"]
    handle = train.open()
    assert handle is None
    images, targets, vectors = train.get_data(handle, [5, 3, 60])
    assert images.dtype == object
    assert images.shape == (3,)
    assert all(numpy.array_equal(a, IMAGES[b]) for a, b in zip(images, [5, 3, 60], strict=True))
    assert numpy.array_equal(targets, TARGETS[[5, 3, 60]])
    assert numpy.array_equal(vectors, VECTORS[[5, 3, 60]])
    image, target, _ = train.get_data(handle, 4)
    assert numpy.array_equal(image, IMAGES[4])
    assert target.shape == (1,)
    train.close(handle)


def test_what_is_not_available_is_not_provided(path: str, in_memory: bool) -> None:
    test = H5PYDataset(path, which_sets=("test",), load_in_memory=in_memory)
    assert test.provides_sources == ("image_features", "vector_features")
    both = H5PYDataset(path, which_sets=("train", "test"), load_in_memory=in_memory)
    assert both.provides_sources == ("image_features", "vector_features")
    assert both.num_examples == 100


def test_indices_override_start_and_stop(path: str, in_memory: bool) -> None:
    sources = ("vector_features", "targets")
    odd = H5PYDataset(path, which_sets=("odd",), sources=sources, load_in_memory=in_memory)
    vectors, targets = odd.get_data(None, slice(0, 45))
    assert numpy.array_equal(vectors, VECTORS[1:90:2])
    assert numpy.array_equal(targets, TARGETS[1:90:2])
    assert numpy.array_equal(odd.get_data(None, [44, 0])[1], TARGETS[[89, 1]])


def test_a_subset_is_counted_within_the_split_and_loses_its_order(
    path: str, in_memory: bool
) -> None:
    few = H5PYDataset(
        path, ("odd",), subset=[9, 3, 3, 5], sources=("targets",), load_in_memory=in_memory
    )
    assert few.user_given_subset == [9, 3, 3, 5]
    assert numpy.array_equal(few.get_data(None, [0, 1, 2])[0], TARGETS[[7, 11, 19]])
    for wrong in ([45], slice(0, 46)):
        with pytest.raises(ValueError):
            H5PYDataset(path, ("odd",), subset=wrong, load_in_memory=in_memory).num_examples


@pytest.mark.parametrize("wrong", ["train", (1,), ("nothing",)])
def test_wrong_splits_are_value_errors(path: str, wrong: Any) -> None:
    with pytest.raises(ValueError):
        H5PYDataset(path, which_sets=wrong).num_examples


def test_it_pickles_small_and_goes_on(path: str, in_memory: bool) -> None:
    train = H5PYDataset(path, ("train",), load_in_memory=in_memory)
    stream = DataStream(train, iteration_scheme=ShuffledScheme(train.num_examples, 32))
    iterator = stream.get_epoch_iterator()
    next(iterator)
    pickled = pickle.dumps((stream, iterator))
    assert len(pickled) < 20000  # two keys of a Mersenne twister, and none of the data
    assert len(pickle.dumps(train)) < 4000
    other, again = pickle.loads(pickled)
    if not in_memory:
        assert other.dataset.data_sources is None
    for one, two in zip(iterator, again, strict=True):
        assert numpy.array_equal(one[1], two[1])


def test_the_static_functions_read_an_open_file(path: str) -> None:
    with h5py.File(path, "r") as file:
        assert set(H5PYDataset.get_all_splits(file)) == {"train", "test", "odd"}
        assert set(H5PYDataset.get_all_sources(file)) == set(SOURCES)
        assert set(H5PYDataset.get_provided_sources(file, "test")) == set(SOURCES) - {"targets"}
        assert list(H5PYDataset.get_vlen_sources(file)) == ["image_features"]
        assert H5PYDataset.get_axis_labels(file)["targets"] == ("batch", "index")
        (subset,) = H5PYDataset.get_subsets(file, ("train",), ("targets",))
        assert subset.list_or_slice == slice(0, 90)
        external = H5PYDataset(file, which_sets=("train",))
        assert external.external_file_handle is file
        state = external.open()
        external.get_data(state, [1])
        external.close(state)
        assert file["targets"].shape == (100, 1)  # still open: it is not the dataset's to close


def test_unsorted_lists_are_left_to_h5py_when_asked(path: str) -> None:
    train = H5PYDataset(path, ("train",), sort_indices=False, sources=("targets",))
    with pytest.raises(TypeError):
        train.get_data(None, [5, 3])


class FromDataPath(H5PYDataset):
    """The usual way to wrap a file of one's own."""

    filename = "dataset.hdf5"

    def __init__(self, which_sets: Any, **kwargs: Any) -> None:
        kwargs.setdefault("load_in_memory", True)
        super().__init__(
            file_or_path=find_in_data_path(self.filename), which_sets=which_sets, **kwargs
        )


class Adding(H5PYDataset):
    """Overrides how each mode reads."""

    def _out_of_memory_get_data(self, state: Any = None, request: Any = None) -> Any:
        return (*super()._out_of_memory_get_data(state, request), "disk")

    def _in_memory_get_data(self, state: Any = None, request: Any = None) -> Any:
        return (*super()._in_memory_get_data(state, request), "memory")


class RawHandle(H5PYDataset):
    """Reads the file by itself."""

    def get_data(self, state: Any = None, request: Any = None) -> Any:
        return (self._file_handle["targets"][request],)


class Next(H5PYDataset):
    """Answers another request than the one that was made."""

    def get_data(self, state: Any = None, request: Any = None) -> Any:
        return super().get_data(state, [index + 1 for index in request])


@do_not_pickle_attributes("notes")
class WithNotes(H5PYDataset):
    """Has something of its own that is loaded and not pickled."""

    def load(self) -> None:
        super().load()
        self.notes = {"loaded": True}


def test_a_subclass_finds_its_file_in_the_data_path(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(path).parent)
    config._old_data_path = getattr(config, "data_path", None)
    try:
        config.data_path = "."
        assert config.data_path[0] == "."
        train = FromDataPath(("train",))
        assert train.data_sources[1].shape == (90, 1)
        assert pickle.loads(pickle.dumps(train)).data_sources[1].shape == (90, 1)
        config.data_path = ["/nowhere", os.getcwd()]
        assert FromDataPath(("test",), load_in_memory=False).num_examples == 10
    finally:
        config.data_path = config._old_data_path
        del config._old_data_path


def test_overridden_readers_are_called(path: str, in_memory: bool) -> None:
    train = Adding(path, ("train",), load_in_memory=in_memory)
    assert train.get_data(None, [1])[-1] == ("memory" if in_memory else "disk")


def test_a_subclass_may_read_the_open_file_itself(path: str) -> None:
    train = RawHandle(path, ("train",))
    with pytest.raises(IOError):
        RawHandle(write(Path(path).parent / "other.hdf5", ()), ("train",))._file_handle
    state = train.open()
    assert numpy.array_equal(train.get_data(state, slice(0, 3))[0], TARGETS[:3])
    train.close(state)


def test_a_subclass_may_change_the_request(path: str, in_memory: bool) -> None:
    train = Next(path, ("train",), sources=("targets",), load_in_memory=in_memory)
    stream = DataStream(train, iteration_scheme=SequentialScheme(89, 3))
    assert numpy.array_equal(next(stream.get_epoch_iterator())[0], TARGETS[1:4])


def test_lazy_attributes_of_a_subclass_join_ours(path: str) -> None:
    train = WithNotes(path, ("train",))
    train.notes["more"] = 1
    again = pickle.loads(pickle.dumps(train))
    assert again.notes == {"loaded": True}
    assert again.num_examples == 90


def test_pytables_files_are_read_offset_and_renamed(tmp_path: Path) -> None:
    import tables

    path = str(tmp_path / "t.h5")
    with tables.open_file(path, "w") as file:
        group = file.create_group("/", "Data")
        file.create_array(group, "X", VECTORS)
        file.create_array(group, "y", TARGETS)
    part = PytablesDataset(path, ("X", "y"), 20, 50)
    renamed = PytablesDataset(path, ("features", "labels"), sources_in_file=("X", "y"))
    copy = pickle.loads(pickle.dumps(part))
    assert (part.num_examples, renamed.num_examples) == (30, 100)
    for dataset in (part, copy):
        vectors = dataset.get_data(request=slice(0, 10))[0]
        assert numpy.array_equal(vectors, VECTORS[20:30])
        assert numpy.array_equal(dataset.get_data(request=[3, 1])[1], TARGETS[[23, 21]])
    assert renamed.sources == ("features", "labels")
    for dataset in (part, copy, renamed):
        dataset.close_file()
