"""The original manual's chapter on importing data - arrays to HDF5, splits, ragged images.

Written anew, example by example; what the manual prints is what is asserted.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import h5py
import numpy
import pytest

from fuel.datasets.hdf5 import H5PYDataset

SPLITS = {
    "train": {"vector_features": (0, 90), "image_features": (0, 90), "targets": (0, 90)},
    "test": {"vector_features": (90, 100), "image_features": (90, 100), "targets": (90, 100)},
}


@pytest.fixture
def arrays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, numpy.ndarray]:
    """The bogus data: files on disk, and the same stacked in memory. We are in their folder."""
    monkeypatch.chdir(tmp_path)
    rng = numpy.random.RandomState(5)
    made = {
        "vector_features": rng.normal(size=(100, 10)).astype("float32"),
        "image_features": rng.randint(2, size=(100, 3, 5, 5)).astype("uint8"),
        "targets": rng.randint(10, size=(100, 1)).astype("uint8"),
    }
    for name, values in made.items():
        numpy.save(f"train_{name}.npy", values[:90])
        numpy.save(f"test_{name}.npy", values[90:])
    return made


def label(dataset: Any, *names: str) -> None:
    for dimension, name in zip(dataset.dims, names, strict=True):
        dimension.label = name


@pytest.fixture
def h5file(arrays: dict[str, numpy.ndarray]) -> Any:
    """The manual's `dataset.hdf5`, open for writing, still without splits."""
    f = h5py.File("dataset.hdf5", mode="w")
    for name, values in arrays.items():
        source = f.create_dataset(name, values.shape, dtype=values.dtype)
        source[...] = numpy.vstack(
            [numpy.load(f"train_{name}.npy"), numpy.load(f"test_{name}.npy")]
        )
    label(f["vector_features"], "batch", "feature")
    label(f["image_features"], "batch", "channel", "height", "width")
    label(f["targets"], "batch", "index")
    yield f
    if f:
        f.close()


def finish(f: Any, splits: dict[str, Any] = SPLITS) -> None:
    f.attrs["split"] = H5PYDataset.create_split_array(splits)
    f.flush()
    f.close()


def old_split_array(shape: tuple[Any, ...] = ()) -> numpy.ndarray:
    """The array that the manual builds by hand; `shape` is that of its number fields."""
    array = numpy.empty(
        6,
        dtype=numpy.dtype(
            [
                ("split", "S", 5),
                ("source", "S", 15),
                ("start", numpy.int64, *shape),
                ("stop", numpy.int64, *shape),
                ("indices", h5py.special_dtype(ref=h5py.Reference)),
                ("available", numpy.bool_, *shape),
                ("comment", "S", 1),
            ]
        ),
    )
    array[0:3]["split"] = b"train"
    array[3:6]["split"] = b"test"
    for number, name in enumerate(("vector_features", "image_features", "targets")):
        array[number:6:3]["source"] = name.encode("utf8")
    array[0:3]["start"], array[0:3]["stop"] = 0, 90
    array[3:6]["start"], array[3:6]["stop"] = 90, 100
    array[:]["indices"] = h5py.Reference()
    array[:]["available"] = True
    array[:]["comment"] = b"."
    return array


# `("start", numpy.int64, 1)`, as the manual has it, meant a plain number in NumPy's old days and
# means an array of one number today; files of both kinds exist.
@pytest.mark.parametrize("shape", [(), ((1,),)], ids=["numbers", "arrays of one number"])
def test_a_split_array_made_by_hand_is_understood(h5file: Any, shape: tuple[Any, ...]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's own, about the manual's way to write a type
        h5file.attrs["split"] = old_split_array(shape)
    h5file.flush()
    h5file.close()
    assert H5PYDataset("dataset.hdf5", which_sets=("train",)).num_examples == 90
    assert H5PYDataset("dataset.hdf5", which_sets=("test",)).num_examples == 10


def test_create_split_array_makes_the_same(h5file: Any) -> None:
    made = H5PYDataset.create_split_array(SPLITS)
    assert made.dtype.names == (
        "split",
        "source",
        "start",
        "stop",
        "indices",
        "available",
        "comment",
    )
    by_hand = {(row["split"], row["source"]): row for row in old_split_array()}
    assert len(made) == 6
    for row in made:
        other = by_hand[row["split"], row["source"]]
        for field in ("start", "stop", "available", "comment"):
            assert row[field] == other[field]


def test_splits_and_subsets_have_the_sizes_of_the_manual(h5file: Any) -> None:
    finish(h5file)

    def count(**which: Any) -> int:
        return H5PYDataset("dataset.hdf5", **which).num_examples

    assert count(which_sets=("train",)) == 90
    assert count(which_sets=("test",)) == 10
    assert count(which_sets=("train",), subset=slice(0, 80)) == 80
    assert count(which_sets=("train",), subset=slice(80, 90)) == 10
    assert count(which_sets=("train", "test")) == 100


def test_sources_and_axis_labels_come_from_the_file(
    h5file: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    finish(h5file)
    train_set = H5PYDataset("dataset.hdf5", which_sets=("train",), subset=slice(0, 80))
    print(train_set.provides_sources)
    print(train_set.axis_labels["image_features"])
    print(train_set.axis_labels["vector_features"])
    print(train_set.axis_labels["targets"])
    assert capsys.readouterr().out.splitlines() == [
        "('image_features', 'targets', 'vector_features')",
        "('batch', 'channel', 'height', 'width')",
        "('batch', 'feature')",
        "('batch', 'index')",
    ]


def test_data_is_requested_as_from_any_dataset(h5file: Any) -> None:
    finish(h5file)
    train_set = H5PYDataset("dataset.hdf5", which_sets=("train",), subset=slice(0, 80))
    handle = train_set.open()
    data = train_set.get_data(handle, slice(0, 10))
    assert str(tuple(part.shape for part in data)) == "((10, 3, 5, 5), (10, 1), (10, 10))"
    train_set.close(handle)

    only_vectors = H5PYDataset(
        "dataset.hdf5", which_sets=("train",), subset=slice(0, 80), sources=["vector_features"]
    )
    handle = only_vectors.open()
    (vectors,) = only_vectors.get_data(handle, slice(0, 10))
    assert vectors.shape == (10, 10)
    only_vectors.close(handle)


def test_only_what_was_asked_for_is_loaded_into_memory(h5file: Any) -> None:
    finish(h5file)
    dataset = H5PYDataset(
        "dataset.hdf5",
        which_sets=("train",),
        subset=slice(0, 80),
        sources=["vector_features"],
        load_in_memory=True,
    )
    (data,) = dataset.data_sources
    assert type(data) is numpy.ndarray
    assert data.shape == (80, 10)


def test_splits_need_not_be_contiguous(h5file: Any, arrays: dict[str, numpy.ndarray]) -> None:
    finish(h5file)
    with h5py.File("dataset.hdf5", mode="a") as f:
        splits = {}
        for first, split in enumerate(("train", "test")):
            f[f"{split}_indices"] = numpy.arange(first, 100, 2)
            reference = f[f"{split}_indices"].ref
            splits[split] = dict.fromkeys(arrays, (-1, -1, reference))
        f.attrs["split"] = H5PYDataset.create_split_array(splits)
    for first, split in enumerate(("train", "test")):
        dataset = H5PYDataset("dataset.hdf5", which_sets=(split,), sources=("vector_features",))
        handle = dataset.open()
        (found,) = dataset.get_data(handle, slice(0, 50))
        assert numpy.array_equal(found, arrays["vector_features"][first::2])
        dataset.close(handle)


def test_images_of_different_sizes(arrays: dict[str, numpy.ndarray]) -> None:
    rng = numpy.random.RandomState(6)
    sizes = rng.randint(3, 9, size=100)
    images = [rng.randint(256, size=(3, size, size)).astype("uint8") for size in sizes]
    with h5py.File("dataset.hdf5", mode="w") as f:
        f["vector_features"] = arrays["vector_features"]
        f["targets"] = arrays["targets"]
        label(f["vector_features"], "batch", "feature")
        label(f["targets"], "batch", "index")
        ragged = h5py.special_dtype(vlen=numpy.dtype("uint8"))
        features = f.create_dataset("image_features", (100,), dtype=ragged)
        features[...] = [image.flatten() for image in images]
        features.dims[0].label = "batch"
        shapes = f.create_dataset("image_features_shapes", (100, 3), dtype="int32")
        shapes[...] = numpy.array([image.shape for image in images])
        # `features.dims.create_scale(shapes, "shapes")` in the manual's days.
        shapes.make_scale("shapes")
        features.dims[0].attach_scale(shapes)
        names = f.create_dataset("image_features_shape_labels", (3,), dtype="S7")
        names[...] = [b"channel", b"height", b"width"]
        names.make_scale("shape_labels")
        features.dims[0].attach_scale(names)
        f.attrs["split"] = H5PYDataset.create_split_array(SPLITS)

    train_set = H5PYDataset("dataset.hdf5", which_sets=("train",), sources=("image_features",))
    labels = train_set.axis_labels["image_features"]
    assert str(labels) == "('batch', 'channel', 'height', 'width')"
    handle = train_set.open()
    (found,) = train_set.get_data(handle, slice(0, 10))
    train_set.close(handle)
    assert (type(found), str(found.dtype), found.shape) == (numpy.ndarray, "object", (10,))
    for image, original in zip(found, images, strict=False):
        assert numpy.array_equal(image, original)
