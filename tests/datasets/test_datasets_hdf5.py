"""The laws of `H5PYDataset`: the manual's file, splits, subsets, loading."""

import h5py
import numpy
import pytest

from fuel.datasets import H5PYDataset
from fuel.exceptions import RequestError, StorageError
from fuel.schemes import SequentialScheme
from fuel.streams import DataStream
from fuel.typing import Spec

SPLITS = {
    "train": {"vectors": (0, 90), "images": (0, 90), "targets": (0, 90)},
    "test": {"vectors": (90, 100), "images": (90, 100)},
    "extra": {"images": (20, 30), "targets": (20, 30)},
}


@pytest.fixture
def data():
    rng = numpy.random.RandomState(1)
    return {
        "vectors": rng.normal(size=(100, 10)).astype("float32"),
        "images": rng.randint(256, size=(100, 3, 5, 5)).astype("uint8"),
        "targets": rng.randint(10, size=(100, 1)).astype("uint8"),
    }


@pytest.fixture
def path(tmp_path, data):
    name = str(tmp_path / "dataset.hdf5")
    labels = {
        "vectors": ("batch", "feature"),
        "images": ("batch", "channel", "height", "width"),
        "targets": ("batch", "index"),
    }
    with h5py.File(name, "w") as file:
        for source, values in data.items():
            file[source] = values
            for dimension, label in zip(file[source].dims, labels[source], strict=True):
                dimension.label = label
        file.attrs["split"] = H5PYDataset.create_split_array(SPLITS)
    return name


def old_recipe(field_shape, strings):
    """Build the split array by hand, the way the manual shows it first."""
    text = (lambda n: f"S{n}") if strings == "S" else (lambda n: h5py.string_dtype())
    array = numpy.empty(
        6,
        dtype=[
            ("split", text(5)),
            ("source", text(15)),
            ("start", numpy.int64, *field_shape),
            ("stop", numpy.int64, *field_shape),
            ("indices", h5py.special_dtype(ref=h5py.Reference)),
            ("available", numpy.bool_, *field_shape),
            ("comment", text(1)),
        ],
    )
    encode = str.encode if strings == "S" else str
    array[0:3]["split"] = encode("train")
    array[3:6]["split"] = encode("test")
    for offset, source in enumerate(("vectors", "images", "targets")):
        array[offset:6:3]["source"] = encode(source)
    array[0:3]["start"], array[0:3]["stop"] = 0, 90
    array[3:6]["start"], array[3:6]["stop"] = 90, 100
    array[:]["indices"] = h5py.Reference()
    array[:]["available"] = True
    array[:]["comment"] = encode(".")
    return array


@pytest.mark.parametrize("strings", ["S", "str"])
@pytest.mark.parametrize("field_shape", [(), ((1,),)])
def test_split_arrays_of_every_age_are_read(path, data, field_shape, strings):
    with h5py.File(path, "a") as file:
        file.attrs["split"] = old_recipe(field_shape, strings)
    test = H5PYDataset(path, which_sets=("test",))
    assert test.provides_sources == ("images", "targets", "vectors")
    assert test.num_examples == 10
    images, targets, vectors = test.get_data(request=slice(0, 10))
    assert numpy.array_equal(vectors, data["vectors"][90:])
    assert numpy.array_equal(images, data["images"][90:])
    assert numpy.array_equal(targets, data["targets"][90:])


def test_the_manual_plays_with_a_file(path, data):
    train = H5PYDataset(path, which_sets=("train",))
    assert train.num_examples == 90
    assert H5PYDataset(path, which_sets=("test",)).num_examples == 10
    assert H5PYDataset(path, which_sets=("train",), subset=slice(0, 80)).num_examples == 80
    valid = H5PYDataset(path, which_sets=("train",), subset=slice(80, 90))
    assert valid.num_examples == 10
    assert train.provides_sources == ("images", "targets", "vectors")
    assert train.axis_labels["images"] == ("batch", "channel", "height", "width")
    assert train.axis_labels["targets"] == ("batch", "index")
    handle = train.open()
    assert handle is None
    shapes = [part.shape for part in train.get_data(handle, slice(0, 10))]
    assert shapes == [(10, 3, 5, 5), (10, 1), (10, 10)]
    train.close(handle)
    some = H5PYDataset(path, which_sets=("train",), subset=slice(0, 80), sources=["vectors"])
    handle = some.open()
    (vectors,) = some.get_data(handle, slice(0, 10))
    assert numpy.array_equal(vectors, data["vectors"][:10])
    some.close(handle)
    # Nothing holds the file any more: it can be written again.
    with h5py.File(path, "w"):
        pass


def test_the_manual_loads_in_memory(path, data):
    dataset = H5PYDataset(
        path, ("train",), subset=slice(0, 80), sources=["vectors"], load_in_memory=True
    )
    (vectors,) = dataset.data_sources
    assert type(vectors) is numpy.ndarray
    assert numpy.array_equal(vectors, data["vectors"][:80])
    assert dataset.open() is None
    for arguments in ({}, {"state": 1, "request": [0]}):
        with pytest.raises(ValueError, match="needs a request, and no state"):
            dataset.get_data(**arguments)


def test_the_manual_splits_by_row_numbers(path, data):
    with h5py.File(path, "a") as file:
        file["even"] = numpy.arange(0, 100, 2)
        file["odd"] = numpy.arange(1, 100, 2)
        file.attrs["split"] = H5PYDataset.create_split_array(
            {
                name: {"vectors": (-1, -1, file[rows].ref), "images": (-1, -1, file[rows].ref)}
                for name, rows in (("train", "even"), ("test", "odd"))
            }
        )
    for name, first in (("train", 0), ("test", 1)):
        for load in (False, True):
            dataset = H5PYDataset(path, (name,), sources=("vectors",), load_in_memory=load)
            (vectors,) = dataset.get_data(None, slice(0, 50))
            assert numpy.array_equal(vectors, data["vectors"][first::2])
    assert dataset.provides_sources == ("images", "vectors")
    both = H5PYDataset(path, ("train", "test"))
    assert both.num_examples == 100


def test_the_split_array_has_the_fields_of_the_layout():
    array = H5PYDataset.create_split_array(
        {"a": {"x": (0, 3), "long name": (1, 2, None, "why")}, "b": {"x": (3, 4)}}
    )
    assert array.dtype.names == (
        "split", "source", "start", "stop", "indices", "available", "comment",
    )  # fmt: skip
    rows = [(row[0], row[1], row[2], row[3], row[5], row[6]) for row in array.tolist()]
    assert rows == [
        (b"a", b"long name", 1, 2, True, b"why"),
        (b"a", b"x", 0, 3, True, b"."),
        (b"b", b"long name", 0, 0, False, b"."),
        (b"b", b"x", 3, 4, True, b"."),
    ]
    assert not any(array["indices"])
    with pytest.raises(ValueError, match=r"must be \(start, stop"):
        H5PYDataset.create_split_array({"a": {"x": (1,)}})


def test_the_static_questions_are_answered_in_order(path):
    with h5py.File(path, "r") as file:
        assert H5PYDataset.get_all_splits(file) == ("extra", "test", "train")
        assert H5PYDataset.get_all_sources(file) == ("images", "targets", "vectors")
        assert H5PYDataset.get_provided_sources(file, "test") == ("images", "vectors")
        assert H5PYDataset.get_vlen_sources(file) == ()
        assert H5PYDataset.get_axis_labels(file)["vectors"] == ("batch", "feature")
        images, targets = H5PYDataset.get_subsets(file, ("train", "extra"), ("images", "targets"))
        assert images.list_or_slice == targets.list_or_slice == slice(0, 90, None)
        with pytest.raises(ValueError, match="'targets' is not available in split 'test'"):
            H5PYDataset.get_subsets(file, ("test",), ("targets",))


def test_interface_version_is_that_of_the_layout():
    assert H5PYDataset.interface_version == "0.3"


@pytest.mark.parametrize("which_sets", ["train", ("train", 1), (b"train",), 5])
def test_which_sets_must_be_a_tuple_of_names(path, which_sets):
    with pytest.raises(ValueError, match=r"write \('train',\)"):
        H5PYDataset(path, which_sets)


@pytest.mark.parametrize("which_sets", [("nothing",), ("train", "nothing"), ()])
def test_unknown_splits_are_refused_with_those_available(path, which_sets):
    with pytest.raises(ValueError, match=r"available splits are \('extra', 'test', 'train'\)"):
        H5PYDataset(path, which_sets)


def test_a_file_with_splits_wants_one_named(path):
    with pytest.raises(ValueError, match=r"choose one or more of \('extra', 'test', 'train'\)"):
        H5PYDataset(path)


def test_several_splits_give_the_sources_they_have_in_common(path, data):
    both = H5PYDataset(path, ("test", "train"))
    assert both.provides_sources == ("images", "vectors")
    assert both.num_examples == 100
    images, _ = both.get_data(request=[95, 3])
    assert numpy.array_equal(images, data["images"][[95, 3]])
    mixed = H5PYDataset(path, ("extra", "test"), load_in_memory=True)
    assert mixed.num_examples == 20
    assert numpy.array_equal(
        mixed.get_data(request=slice(0, 20))[0],
        data["images"][20:30].tolist() + data["images"][90:].tolist(),
    )


def test_splits_without_a_common_source_are_refused_with_what_each_has(path):
    with h5py.File(path, "a") as file:
        file.attrs["split"] = H5PYDataset.create_split_array(
            {"a": {"images": (0, 3)}, "b": {"targets": (0, 3)}, "c": {"targets": (0, 3)}}
        )
    with pytest.raises(
        ValueError, match=r"'a' provides \('images',\), 'b' provides \('targets',\)"
    ):
        H5PYDataset(path, ("a", "b", "c"))


def test_sources_fix_the_order_of_what_is_returned(path, data):
    for load in (False, True):
        dataset = H5PYDataset(path, ("train",), sources=("vectors", "images"), load_in_memory=load)
        vectors, images = dataset.get_data(request=[5])
        assert numpy.array_equal(vectors, data["vectors"][[5]])
        assert numpy.array_equal(images, data["images"][[5]])
        dataset.sources = ("targets",)
        assert numpy.array_equal(dataset.get_data(request=[5])[0], data["targets"][[5]])


def test_sources_that_the_splits_lack_are_refused(path):
    with pytest.raises(ValueError, match="unable to provide requested sources"):
        H5PYDataset(path, ("test",), sources=("targets",))


@pytest.mark.parametrize("load", [False, True])
@pytest.mark.parametrize(
    ("subset", "rows"),
    [
        (None, list(range(90, 100))),
        (slice(2, 5), [92, 93, 94]),
        (slice(0, 9, 4), [90, 94, 98]),
        ([4, 0, 2, 2], [90, 92, 94]),
        ((3,), [93]),
        (range(5, 8), [95, 96, 97]),
        (numpy.array([7, 1]), [91, 97]),
        (numpy.arange(10) % 5 == 0, [90, 95]),
        ([], []),
        (numpy.array([], dtype=int), []),
        (range(0), []),
    ],
)
def test_a_subset_counts_within_its_split(path, data, subset, rows, load):
    dataset = H5PYDataset(path, ("test",), subset=subset, load_in_memory=load)
    assert dataset.num_examples == len(rows)
    if rows:
        _, vectors = dataset.get_data(request=slice(None))
        assert numpy.array_equal(vectors, data["vectors"][rows])
    else:
        with pytest.raises(RequestError, match="is empty"):
            dataset.get_data(request=slice(None))


@pytest.mark.parametrize(
    "subset", [slice(0, 11), [10], [-1], slice(-3, None), range(5, 15), slice(10, 12)]
)
def test_a_subset_never_leaves_its_split(path, subset):
    with pytest.raises(ValueError, match="the data that `subset` chooses from has 10 examples"):
        H5PYDataset(path, ("test",), subset=subset)


@pytest.mark.parametrize("subset", [3, "ab", 1.5])
def test_a_subset_must_be_a_slice_or_a_list(path, subset):
    with pytest.raises(ValueError, match=r"subset|chooses from"):
        H5PYDataset(path, ("test",), subset=subset)


def test_the_subset_given_is_kept(path):
    assert H5PYDataset(path, ("test",)).user_given_subset == slice(None)
    assert H5PYDataset(path, ("test",), subset=[4, 0]).user_given_subset == [4, 0]


def test_unequal_lengths_of_a_split_are_refused_with_each(path):
    with h5py.File(path, "a") as file:
        file.attrs["split"] = H5PYDataset.create_split_array(
            {"a": {"images": (0, 3), "targets": (0, 4)}}
        )
    with pytest.raises(ValueError, match=r"got {'images': 3, 'targets': 4}"):
        H5PYDataset(path, ("a",))
    assert H5PYDataset(path, ("a",), sources=("targets",)).num_examples == 4


def test_counting_examples_reads_no_data(path, monkeypatch):
    class Counting(H5PYDataset):
        loads = 0

        def load(self):
            type(self).loads += 1
            super().load()

    dataset = Counting(path, ("train",), load_in_memory=True)
    assert Counting.loads == 1
    dataset.data_sources = None
    dataset.subsets = None
    assert dataset.num_examples == 90
    assert dataset.specs["targets"] == Spec((1,), numpy.dtype("uint8"))
    assert "90 examples" in repr(dataset)
    assert Counting.loads == 1
    assert len(dataset.data_sources[0]) == 90
    assert Counting.loads == 2


def test_counting_before_the_file_is_known_says_so(path):
    class Early(H5PYDataset):
        def __init__(self):
            _ = self.num_examples

    with pytest.raises(AttributeError, match="does not know its file yet"):
        Early()


def test_specs_are_known_before_reading(path):
    dataset = H5PYDataset(path, ("train",), sources=("vectors", "images"))
    assert dataset.specs == {
        "vectors": Spec((10,), numpy.dtype("float32")),
        "images": Spec((3, 5, 5), numpy.dtype("uint8")),
    }
    assert repr(dataset) == (
        "<H5PYDataset: 90 examples; sources: vectors (10,) float32, images (3, 5, 5) uint8>"
    )


def test_axis_labels_can_be_given(path):
    dataset = H5PYDataset(path, ("train",), axis_labels={"images": ("batch",)})
    assert dataset.axis_labels == {"images": ("batch",)}
    assert dataset.default_axis_labels["targets"] == ("batch", "index")


def test_the_example_scheme_visits_all_in_order(path):
    dataset = H5PYDataset(path, ("test",))
    assert list(dataset.example_iteration_scheme.get_request_iterator()) == list(range(10))
    dataset.example_iteration_scheme = "mine"
    assert dataset.example_iteration_scheme == "mine"


def test_a_core_file_in_memory_can_be_given(data):
    with h5py.File("nowhere.hdf5", "w", driver="core", backing_store=False) as file:
        file["vectors"] = data["vectors"]
        dataset = H5PYDataset(file)
        assert numpy.array_equal(dataset.get_data(request=[7])[0], data["vectors"][[7]])
        assert dataset.external_file_handle is file
        dataset.close(dataset.open())
        assert file


def test_a_driver_can_be_chosen(path, data):
    dataset = H5PYDataset(path, ("test",), driver="core")
    dataset.open()
    assert dataset._file_handle.driver == "core"
    assert numpy.array_equal(dataset.get_data(request=[7])[1], data["vectors"][[97]])
    dataset.close(None)


def test_subclasses_may_override_the_private_methods(path):
    calls = []

    class Mine(H5PYDataset):
        def _out_of_memory_open(self):
            calls.append("open")
            return super()._out_of_memory_open()

        def _out_of_memory_close(self):
            calls.append("close")
            super()._out_of_memory_close()

        def _out_of_memory_get_data(self, state=None, request=None):
            calls.append(self._file_handle["vectors"].shape)
            return super()._out_of_memory_get_data(state, request)

        def _in_memory_get_data(self, state=None, request=None):
            return ("memory", self.in_memory_subset.num_examples)

    dataset = Mine(path, ("test",))
    state = dataset.open()
    dataset.get_data(state, [1])
    dataset.close(state)
    assert calls == ["open", (100, 10), "close"]
    assert Mine(path, ("test",), load_in_memory=True).get_data(None, [1]) == ("memory", 10)


@pytest.mark.parametrize("load", [False, True])
def test_a_stream_asks_the_private_methods_of_subclasses(path, load):
    class Mine(H5PYDataset):
        def _out_of_memory_get_data(self, state=None, request=None):
            return ("disk",) * 2

        def _in_memory_get_data(self, state=None, request=None):
            return ("memory",) * 2

    dataset = Mine(path, ("test",), load_in_memory=load)
    scheme = SequentialScheme(dataset.num_examples, 5)
    stream = DataStream(dataset, iteration_scheme=scheme)
    expected = ("memory" if load else "disk",) * 2
    assert list(stream.get_epoch_iterator()) == [expected] * 2


def test_a_handle_is_only_there_while_open(path):
    dataset = H5PYDataset(path, ("test",))
    with pytest.raises(IOError, match="is not open"):
        _ = dataset._file_handle
    assert issubclass(StorageError, IOError)
