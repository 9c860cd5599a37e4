"""Files without splits, and sources of variable length."""

import h5py
import numpy
import pytest

from fuel.datasets import H5PYDataset
from fuel.exceptions import RequestError, StorageError
from fuel.typing import Spec


@pytest.fixture
def plain(tmp_path):
    name = str(tmp_path / "plain.hdf5")
    with h5py.File(name, "w") as file:
        file["x"] = numpy.arange(12).reshape(6, 2)
        file["group/deep/y"] = numpy.arange(6)
        file["scalar"] = 5
        file["nothing"] = h5py.Empty("f4")
        file["axis"] = numpy.arange(2)
        file["axis"].make_scale("axis")
        file["x"].dims[1].attach_scale(file["axis"])
    return name


@pytest.fixture
def ragged(tmp_path):
    """Write images of several sizes; the file also has splits if `splits` is true."""

    def write(splits=True):
        name = str(tmp_path / f"ragged{splits}.hdf5")
        rng = numpy.random.RandomState(2)
        images = [rng.randint(256, size=(3, s, s + 1)).astype("uint8") for s in [3, 5, 3, 8, 4, 4]]
        with h5py.File(name, "w") as file:
            file["targets"] = numpy.arange(6)
            source = file.create_dataset("images", (6,), dtype=h5py.vlen_dtype("uint8"))
            for row, image in enumerate(images):
                source[row] = image.ravel()
            source.dims[0].label = "batch"
            file["images_shapes"] = numpy.array([image.shape for image in images], "int32")
            file["images_shapes"].make_scale("shapes")
            source.dims[0].attach_scale(file["images_shapes"])
            file["images_labels"] = numpy.array([b"channel", b"height", b"width"], "S7")
            file["images_labels"].make_scale("shape_labels")
            source.dims[0].attach_scale(file["images_labels"])
            if splits:
                part = {"images": (1, 6), "targets": (1, 6)}
                file.attrs["split"] = H5PYDataset.create_split_array({"train": part})
        return name, images

    return write


def test_a_plain_file_gives_every_dataset_as_a_source(plain):
    for load in (False, True):
        dataset = H5PYDataset(plain, load_in_memory=load)
        assert dataset.provides_sources == ("group/deep/y", "x")
        assert dataset.which_sets is None
        assert dataset.num_examples == 6
        assert dataset.axis_labels == {"group/deep/y": None, "x": None}
        y, x = dataset.get_data(request=[5, 0])
        assert y.tolist() == [5, 0]
        assert x.tolist() == [[10, 11], [0, 1]]
    some = H5PYDataset(plain, sources=("x",), subset=[1])
    assert some.get_data(request=0)[0].tolist() == [2, 3]


def test_a_plain_file_has_no_splits(plain):
    with h5py.File(plain, "r") as file:
        assert H5PYDataset.get_all_splits(file) == ()
        assert H5PYDataset.get_all_sources(file) == ("group/deep/y", "x")
    with pytest.raises(ValueError, match="leave `which_sets` out"):
        H5PYDataset(plain, which_sets=("train",))


def test_unequal_lengths_are_listed_and_sources_chooses(plain):
    with h5py.File(plain, "a") as file:
        file["z"] = numpy.arange(7)
    with pytest.raises(ValueError, match=r"{'group/deep/y': 6, 'x': 6, 'z': 7}.*`sources`"):
        H5PYDataset(plain)
    assert H5PYDataset(plain, sources=("z",)).num_examples == 7
    assert H5PYDataset(plain, sources=("x", "group/deep/y")).num_examples == 6


def test_a_file_without_data_is_refused(tmp_path):
    with h5py.File(tmp_path / "empty.hdf5", "w") as file:
        file["scalar"] = 1
    with pytest.raises(StorageError, match="contains no dataset with examples"):
        H5PYDataset(tmp_path / "empty.hdf5")


@pytest.mark.parametrize("load", [False, True])
def test_examples_of_variable_length_get_their_shapes_back(ragged, load):
    path, images = ragged()
    train = H5PYDataset(path, ("train",), load_in_memory=load)
    assert train.vlen_sources == ("images",)
    assert train.axis_labels["images"] == ("batch", "channel", "height", "width")
    assert train.specs["images"] == Spec((None, None, None), numpy.dtype("uint8"))
    for request, rows in [
        (slice(0, 5), [1, 2, 3, 4, 5]),
        ([4, 0, 0], [5, 1, 1]),
        (numpy.array([2]), [3]),
        (slice(0, 5, 2), [1, 3, 5]),
    ]:
        batch, targets = train.get_data(request=request)
        assert type(batch) is numpy.ndarray
        assert batch.dtype == object
        assert batch.shape == (len(rows),)
        assert all(numpy.array_equal(a, images[row]) for a, row in zip(batch, rows, strict=True))
        assert targets.tolist() == rows
    example, target = train.get_data(request=2)
    assert numpy.array_equal(example, images[3])
    assert target == 3


@pytest.mark.parametrize("load", [False, True])
def test_repeated_examples_of_variable_length_are_independent(ragged, load):
    path, images = ragged()
    train = H5PYDataset(path, ("train",), sources=("images",), load_in_memory=load)
    (batch,) = train.get_data(request=[3, 1, 3])
    batch[0][...] = 0
    assert numpy.array_equal(batch[2], images[4])
    assert numpy.array_equal(train.get_data(request=[3])[0][0], images[4])


def test_variable_length_works_without_splits(ragged):
    path, images = ragged(splits=False)
    dataset = H5PYDataset(path)
    assert dataset.provides_sources == ("images", "targets")
    assert numpy.array_equal(dataset.get_data(request=0)[0], images[0])


def test_an_empty_subset_of_variable_length_loads(ragged):
    path, _ = ragged()
    dataset = H5PYDataset(path, ("train",), subset=[], load_in_memory=True)
    assert [len(data) for data in dataset.data_sources] == [0, 0]
    with pytest.raises(RequestError):
        dataset.get_data(request=[0])


def test_loaded_shapes_are_at_hand(ragged):
    path, images = ragged()
    shapes, none = H5PYDataset(path, ("train",), load_in_memory=True).source_shapes
    assert shapes.tolist() == [list(image.shape) for image in images[1:]]
    assert none is None
    assert H5PYDataset(path, ("train",)).source_shapes is None


def test_a_shape_that_does_not_fit_is_a_damaged_file(ragged):
    path, _ = ragged()
    with h5py.File(path, "a") as file:
        file["images_shapes"][3] = (3, 1, 1)
    with pytest.raises(StorageError, match="shapes of source 'images' do not fit"):
        H5PYDataset(path, ("train",)).get_data(request=slice(0, 5))


def test_a_source_of_variable_length_has_one_dimension(tmp_path):
    with h5py.File(tmp_path / "x.hdf5", "w") as file:
        file["x"] = numpy.zeros((3, 2))
        file["shapes"] = numpy.zeros((3, 2), "int32")
        file["shapes"].make_scale("shapes")
        file["x"].dims[0].attach_scale(file["shapes"])
    with pytest.raises(ValueError, match="must have one dimension"):
        H5PYDataset(tmp_path / "x.hdf5")


@pytest.mark.parametrize("load", [False, True])
def test_strings_and_lists_without_shapes_are_objects(tmp_path, load):
    path = tmp_path / "objects.hdf5"
    with h5py.File(path, "w") as file:
        file.create_dataset("words", data=["a", "bcd", "ef"], dtype=h5py.string_dtype())
        lists = file.create_dataset("lists", (3,), dtype=h5py.vlen_dtype("int32"))
        for row in range(3):
            lists[row] = numpy.arange(row + 1)
        file["fixed"] = numpy.array([b"x", b"yy", b"z"], "S2")
        file["flags"] = numpy.array([True, False, True])
    dataset = H5PYDataset(path, load_in_memory=load)
    assert dataset.specs == {
        "words": Spec((), None),
        "lists": Spec((None,), numpy.dtype("int32")),
        "fixed": Spec((), numpy.dtype("S2")),
        "flags": Spec((), numpy.dtype("bool")),
    }
    fixed, flags, lists, words = dataset.get_data(request=[2, 0, 2])
    assert fixed.tolist() == [b"z", b"x", b"z"]
    assert flags.tolist() == [True, True, True]
    assert [item.tolist() for item in lists] == [[0, 1, 2], [0], [0, 1, 2]]
    assert words.tolist() == [b"ef", b"a", b"ef"]


def test_partly_labelled_axes_keep_their_labels(plain):
    with h5py.File(plain, "a") as file:
        file["x"].dims[0].label = "batch"
    assert H5PYDataset(plain).axis_labels["x"] == ("batch", "")


@pytest.mark.parametrize("load", [False, True])
def test_a_file_whose_sources_are_empty_has_no_examples(tmp_path, load):
    with h5py.File(tmp_path / "none.hdf5", "w") as file:
        file["x"] = numpy.zeros((0, 3), "float32")
    dataset = H5PYDataset(tmp_path / "none.hdf5", load_in_memory=load)
    assert dataset.num_examples == 0
    assert dataset.specs == {"x": Spec((3,), numpy.dtype("float32"))}
    with pytest.raises(RequestError, match="is empty"):
        dataset.get_data(request=slice(None))
