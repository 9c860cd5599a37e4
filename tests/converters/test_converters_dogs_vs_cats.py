"""Dogs vs. Cats from raw files made here: JPEG files in zip archives."""

from __future__ import annotations

import argparse
import io
import os
import zipfile

import h5py
import numpy
import pytest
from PIL import Image

from fuel.config_parser import config
from fuel.converters import dogs_vs_cats
from fuel.converters.base import MissingInputFiles
from fuel.datasets import DogsVsCats, H5PYDataset
from fuel.exceptions import StorageError
from fuel.schemes import SequentialScheme
from fuel.streams import DataStream


def jpeg(number, mode="RGB"):
    rng = numpy.random.RandomState(number)
    array = rng.randint(0, 256, (4 + number % 5, 6 + number % 3, 3)).astype("uint8")
    out = io.BytesIO()
    Image.fromarray(array).convert(mode).save(out, "JPEG")
    return out.getvalue()


#: In the order of the archive, which is that of texts: cat.0, cat.1, cat.10, cat.11, cat.2 ...
TRAIN = {
    f"train/{kind}.{number}.jpg": jpeg(number + 50 * (kind == "dog"))
    for kind in ("cat", "dog")
    for number in sorted(range(20), key=str)
}
TEST = {f"test1/{number}.jpg": jpeg(100 + number) for number in sorted(range(1, 8), key=str)}


def write_zip(path, members, folder):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(folder, "")
        for name, content in members.items():
            archive.writestr(name, content)


@pytest.fixture
def raw(tmp_path):
    folder = tmp_path / "raw"
    folder.mkdir()
    write_zip(folder / dogs_vs_cats.TRAIN, TRAIN, "train/")
    write_zip(folder / dogs_vs_cats.TEST, TEST, "test1/")
    return folder


def decoded(content):
    return numpy.asarray(Image.open(io.BytesIO(content)).convert("RGB")).transpose(2, 0, 1)


def test_the_training_order_is_the_shuffled_order_of_the_archive(raw, tmp_path):
    paths = dogs_vs_cats.convert_dogs_vs_cats(str(raw), str(tmp_path))
    assert paths == (str(tmp_path / "dogs_vs_cats.hdf5"),)
    assert sorted(os.listdir(tmp_path)) == ["dogs_vs_cats.hdf5", "raw"]
    names = list(TRAIN)
    numpy.random.RandomState(123522).shuffle(names)
    dataset = H5PYDataset(paths[0], ("train",))
    assert dataset.sources == ("image_features", "targets")
    pictures, targets = dataset.get_data(request=slice(0, 40))
    assert (targets.shape, targets.dtype) == ((40, 1), numpy.uint8)
    assert targets[:, 0].tolist() == [int("dog" in name) for name in names]
    for name, picture in zip(names, pictures, strict=True):
        assert picture.dtype == numpy.uint8
        numpy.testing.assert_array_equal(picture, decoded(TRAIN[name]))


def test_those_for_testing_have_no_targets_and_keep_their_order(raw, tmp_path):
    (path,) = dogs_vs_cats.convert_dogs_vs_cats(str(raw), str(tmp_path), "pets.hdf5")
    assert os.path.basename(path) == "pets.hdf5"
    dataset = H5PYDataset(path, ("test",))
    assert dataset.sources == ("image_features",)
    (pictures,) = dataset.get_data(request=slice(0, 7))
    for content, picture in zip(TEST.values(), pictures, strict=True):
        numpy.testing.assert_array_equal(picture, decoded(content))
    with h5py.File(path) as file:
        assert file["targets"].shape == (40, 1)
        assert H5PYDataset.get_axis_labels(file) == {
            "image_features": ("batch", "channel", "height", "width"),
            "targets": ("batch", "index"),
        }


def test_the_default_stream_is_scaled(raw, tmp_path):
    dogs_vs_cats.convert_dogs_vs_cats(str(raw), str(tmp_path))
    with config.override(data_path=[str(tmp_path)]):
        dataset = DogsVsCats(("train",), subset=slice(0, 10))
        assert not dataset.load_in_memory
        stream = DataStream.default_stream(dataset, iteration_scheme=SequentialScheme(10, 4))
        batches = list(stream.get_epoch_iterator(as_dict=True))
    plain = dataset.get_data(request=slice(0, 10))[0]
    scaled = [picture for batch in batches for picture in batch["image_features"]]
    for ours, theirs in zip(scaled, plain, strict=True):
        numpy.testing.assert_allclose(ours, theirs / 255.0)


def test_pictures_of_one_channel_become_red_green_and_blue(raw, tmp_path):
    grey = jpeg(3, "L")
    write_zip(raw / dogs_vs_cats.TEST, {"test1/1.jpg": grey}, "test1/")
    (path,) = dogs_vs_cats.convert_dogs_vs_cats(str(raw), str(tmp_path))
    (picture,) = H5PYDataset(path, ("test",)).get_data(request=0)
    numpy.testing.assert_array_equal(picture, decoded(grey))
    assert len(picture) == 3


def test_pictures_may_be_numbered_through(raw, tmp_path):
    members = {f"train/{'cat' if n % 2 else 'dog'}.{n}.jpg": jpeg(n) for n in range(6)}
    write_zip(raw / dogs_vs_cats.TRAIN, members, "train/")
    (path,) = dogs_vs_cats.convert_dogs_vs_cats(str(raw), str(tmp_path))
    assert H5PYDataset(path, ("train",)).num_examples == 6


def spoiled(members, **changes):
    result = dict(members)
    for name, content in changes.pop("set", {}).items():
        result[name] = content
    for name in changes.pop("drop", ()):
        del result[name]
    return result


CASES = {
    "a missing cat": (
        dogs_vs_cats.TRAIN,
        spoiled(TRAIN, drop=["train/cat.7.jpg"]),
        r"train\.zip has no cat\.7\.jpg, although",
    ),
    "a missing picture for testing": (
        dogs_vs_cats.TEST,
        spoiled(TEST, drop=["test1/3.jpg"]),
        r"test1\.zip has no 3\.jpg, although",
    ),
    "an extra picture": (
        dogs_vs_cats.TRAIN,
        spoiled(TRAIN, set={"train/cow.0.jpg": b""}),
        r"names like cat\.0\.jpg or dog\.0\.jpg, but has train/cow\.0\.jpg",
    ),
    "an extra file": (
        dogs_vs_cats.TEST,
        spoiled(TEST, set={"test1/readme.txt": b""}),
        r"names like 1\.jpg, but has test1/readme\.txt",
    ),
    "a picture twice": (
        dogs_vs_cats.TRAIN,
        spoiled(TRAIN, set={"train/more/dog.3.jpg": b""}),
        r"has train/more/dog\.3\.jpg twice",
    ),
    "no pictures": (dogs_vs_cats.TEST, {}, r"test1\.zip holds no pictures"),
    "a damaged picture": (
        dogs_vs_cats.TRAIN,
        spoiled(TRAIN, set={"train/dog.3.jpg": TRAIN["train/dog.3.jpg"][:300]}),
        r"train/dog\.3\.jpg in .* is damaged, or no picture",
    ),
    "no picture": (
        dogs_vs_cats.TEST,
        spoiled(TEST, set={"test1/2.jpg": b"<html>"}),
        r"test1/2\.jpg in .* is damaged, or no picture",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_wrong_in_an_archive_is_named_and_an_older_file_stays(raw, tmp_path, case):
    archive, members, message = CASES[case]
    write_zip(raw / archive, members, archive.split(".")[1] + "/")
    (tmp_path / "dogs_vs_cats.hdf5").write_bytes(b"older")
    with pytest.raises(StorageError, match=message) as caught:
        dogs_vs_cats.convert_dogs_vs_cats(str(raw), str(tmp_path))
    assert str(raw / archive) in str(caught.value)
    assert "`fuel-download dogs_vs_cats`" in str(caught.value)
    assert sorted(os.listdir(tmp_path)) == ["dogs_vs_cats.hdf5", "raw"]
    assert (tmp_path / "dogs_vs_cats.hdf5").read_bytes() == b"older"


@pytest.mark.parametrize("name", [dogs_vs_cats.TRAIN, dogs_vs_cats.TEST])
def test_an_archive_cut_short_is_told(raw, tmp_path, name):
    path = raw / name
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(StorageError, match="is no zip archive, or is cut short"):
        dogs_vs_cats.convert_dogs_vs_cats(str(raw), str(tmp_path))


def test_missing_files_are_named(tmp_path):
    with pytest.raises(MissingInputFiles) as caught:
        dogs_vs_cats.convert_dogs_vs_cats(str(tmp_path), str(tmp_path))
    assert caught.value.filenames == ["dogs_vs_cats.train.zip", "dogs_vs_cats.test1.zip"]


def test_the_command_has_no_options():
    parser = argparse.ArgumentParser()
    assert dogs_vs_cats.fill_subparser(parser) is dogs_vs_cats.convert_dogs_vs_cats
    assert vars(parser.parse_args([])) == {}
