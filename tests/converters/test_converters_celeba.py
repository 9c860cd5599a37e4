"""CelebA from raw files made here: JPEG files in a zip archive, and the table of attributes."""

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
from fuel.converters import celeba
from fuel.converters.base import MissingInputFiles
from fuel.datasets import CelebA, H5PYDataset
from fuel.exceptions import StorageError
from fuel.schemes import SequentialScheme
from fuel.streams import DataStream

COUNT = 9
NAMES = [f"{number:06d}.jpg" for number in range(1, COUNT + 1)]


def jpeg(number, size=(178, 218), mode="RGB"):
    rng = numpy.random.RandomState(number)
    rough = rng.randint(0, 256, (7, 6, 3)).astype("uint8")
    out = io.BytesIO()
    Image.fromarray(rough).resize(size).convert(mode).save(out, "JPEG")
    return out.getvalue()


PICTURES = [jpeg(number) for number in range(COUNT)]


def attributes():
    return numpy.random.RandomState(5).choice([-1, 1], (COUNT, 40))


def table_lines():
    names = " ".join(f"Attribute_{number}" for number in range(40))
    lines = [str(COUNT), names + " "]
    for name, row in zip(NAMES, attributes(), strict=True):
        # The published table pads its columns.
        lines.append(f"{name} " + " ".join(f"{value:2d}" for value in row))
    return lines


def write_zip(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("img_align_celeba/", "")
        for name, content in members.items():
            archive.writestr(f"img_align_celeba/{name}", content)


@pytest.fixture
def raw(tmp_path, monkeypatch):
    monkeypatch.setattr(celeba, "NUM_EXAMPLES", COUNT)
    monkeypatch.setattr(celeba, "TRAIN_STOP", 5)
    monkeypatch.setattr(celeba, "VALID_STOP", 7)
    folder = tmp_path / "raw"
    folder.mkdir()
    (folder / celeba.ATTRIBUTES_FILE).write_text("\n".join(table_lines()) + "\n")
    # The order of the archive is of no importance.
    write_zip(folder / celeba.IMAGE_FILE, dict(zip(NAMES[::-1], PICTURES[::-1], strict=True)))
    return folder


def decoded(number):
    return numpy.asarray(Image.open(io.BytesIO(PICTURES[number])))


def test_the_numbers_are_those_of_the_publishers():
    assert celeba.NUM_EXAMPLES == 202599
    assert celeba.TRAIN_STOP == 162770
    assert celeba.VALID_STOP - celeba.TRAIN_STOP == 19867
    assert celeba.NUM_EXAMPLES - celeba.VALID_STOP == 19962
    assert celeba.OUTPUT_FILENAME == "celeba_aligned_cropped.hdf5"
    assert celeba.DATASET_FILES == ["img_align_celeba.zip", "list_attr_celeba.txt"]


def test_pictures_stay_as_they_are(raw, tmp_path):
    paths = celeba.convert_celeba("aligned_cropped", str(raw), str(tmp_path))
    assert paths == (str(tmp_path / "celeba_aligned_cropped.hdf5"),)
    assert sorted(os.listdir(tmp_path)) == ["celeba_aligned_cropped.hdf5", "raw"]
    with h5py.File(paths[0]) as file:
        features, targets = file["features"], file["targets"]
        assert (features.shape, features.dtype) == ((COUNT, 3, 218, 178), numpy.uint8)
        assert (targets.shape, targets.dtype) == ((COUNT, 40), numpy.uint8)
        for number in range(COUNT):
            numpy.testing.assert_array_equal(features[number], decoded(number).transpose(2, 0, 1))
        numpy.testing.assert_array_equal(targets, (attributes() + 1) // 2)
        assert H5PYDataset.get_axis_labels(file) == {
            "features": ("batch", "channel", "height", "width"),
            "targets": ("batch", "target"),
        }
    counts = [H5PYDataset(paths[0], (split,)).num_examples for split in ("train", "valid", "test")]
    assert counts == [5, 2, 2]


def test_small_pictures_are_the_middle_of_resampled_ones(raw, tmp_path):
    (path,) = celeba.convert_celeba("64", str(raw), str(tmp_path))
    assert os.path.basename(path) == "celeba_64.hdf5"
    with h5py.File(path) as file:
        features = file["features"][...]
    assert features.shape == (COUNT, 3, 64, 64)
    for number in range(COUNT):
        small = Image.fromarray(decoded(number)).resize((64, 78), Image.Resampling.LANCZOS)
        expected = numpy.asarray(small)[7:71].transpose(2, 0, 1)
        numpy.testing.assert_array_equal(features[number], expected)


def test_the_default_stream_is_scaled(raw, tmp_path):
    celeba.convert_celeba("64", str(raw), str(tmp_path))
    with config.override(data_path=[str(tmp_path)], floatX="float32"):
        dataset = CelebA("64", ("valid",))
        assert not dataset.load_in_memory
        stream = DataStream.default_stream(dataset, iteration_scheme=SequentialScheme(2, 2))
        (batch,) = stream.get_epoch_iterator(as_dict=True)
    assert batch["features"].dtype == numpy.float32
    assert batch["features"].min() >= 0 and batch["features"].max() <= 1
    numpy.testing.assert_array_equal(batch["targets"], (attributes()[5:7] + 1) // 2)


def test_fewer_examples_than_the_splits_have_fill_the_first(raw, tmp_path, monkeypatch):
    monkeypatch.setattr(celeba, "TRAIN_STOP", 162770)
    monkeypatch.setattr(celeba, "VALID_STOP", 182637)
    (path,) = celeba.convert_celeba("64", str(raw), str(tmp_path))
    assert H5PYDataset(path, ("train",)).num_examples == COUNT
    with h5py.File(path) as file:
        assert H5PYDataset.get_all_splits(file) == ("test", "train", "valid")


def changed(number, line):
    lines = table_lines()
    lines[number - 1 :] = [line, *lines[number:]] if line is not None else []
    return "\n".join(lines)


TABLES = {
    "a web page": ("<!DOCTYPE html>\n<html>\n404", r"line 1 of .*attr_celeba\.txt .* not a page"),
    "a page after a blank": ("\n <html>\n404", r"line 2 of .*attr_celeba\.txt .* not a page"),
    "a short line": (changed(5, NAMES[2] + " 1 -1"), "line 5 of .* 40 times 1 or -1"),
    "another number": (changed(4, NAMES[1] + " 2" * 40), "line 4 of .* 40 times 1 or -1"),
    "a picture twice": (
        changed(6, NAMES[1] + " 1" * 40),
        "line 6 of .* another picture than line 4",
    ),
    "cut short": (changed(9, None), "has 6 examples .* where CelebA has 9"),
    "another count": (changed(1, "8"), "has 9 examples .*'8'.* where CelebA has 9"),
    "more lines": (
        "\n".join([*table_lines(), "000010.jpg" + " 1" * 40]),
        "has 10 examples .* where CelebA has 9",
    ),
    "nothing": ("", "has 0 examples"),
}


@pytest.mark.parametrize("case", TABLES)
def test_a_table_that_is_something_else_is_told_with_its_line(raw, tmp_path, case):
    text, message = TABLES[case]
    (raw / celeba.ATTRIBUTES_FILE).write_text(text)
    with pytest.raises(StorageError, match=message) as caught:
        celeba.convert_celeba_64(str(raw), str(tmp_path))
    assert str(raw / celeba.ATTRIBUTES_FILE) in str(caught.value)
    assert "`fuel-download celeba`" in str(caught.value)
    assert os.listdir(tmp_path) == ["raw"]


def with_member(name, content):
    return dict(zip(NAMES, PICTURES, strict=True)) | {name: content}


ARCHIVES = {
    "a damaged picture": (
        with_member(NAMES[3], PICTURES[3][:400]),
        r"000004\.jpg in .* is damaged, or no picture",
    ),
    "no picture": (with_member(NAMES[4], b"<html>"), r"000005\.jpg in .* is damaged, or no pict"),
    "another size": (
        with_member(NAMES[4], jpeg(4, (218, 178))),
        r"000005\.jpg in .* should have 178 x 218 pixels, but has 218 x 178",
    ),
    "a missing picture": (
        {name: PICTURES[0] for name in NAMES if name != NAMES[6]},
        r"lacks 1 of the 9 pictures that .*, 000007\.jpg for one",
    ),
    "an extra picture": (
        with_member("000010.jpg", PICTURES[0]),
        r"has 10 pictures, img_align_celeba/000010\.jpg for one, where .* names 9",
    ),
    "a picture twice": (with_member("again/000001.jpg", PICTURES[0]), r"has 000001\.jpg twice"),
}


@pytest.mark.parametrize("case", ARCHIVES)
def test_what_is_wrong_in_the_archive_is_named_and_an_older_file_stays(raw, tmp_path, case):
    members, message = ARCHIVES[case]
    write_zip(raw / celeba.IMAGE_FILE, members)
    (tmp_path / "celeba_64.hdf5").write_bytes(b"older")
    with pytest.raises(StorageError, match=message) as caught:
        celeba.convert_celeba("64", str(raw), str(tmp_path))
    assert str(raw / celeba.IMAGE_FILE) in str(caught.value)
    assert sorted(os.listdir(tmp_path)) == ["celeba_64.hdf5", "raw"]
    assert (tmp_path / "celeba_64.hdf5").read_bytes() == b"older"


def test_files_that_systems_leave_in_archives_are_passed_over(raw, tmp_path):
    more = with_member(".DS_Store", b"...")
    with zipfile.ZipFile(raw / celeba.IMAGE_FILE, "w") as archive:
        for name, content in more.items():
            archive.writestr(f"img_align_celeba/{name}", content)
        archive.writestr("__MACOSX/img_align_celeba/._000001.jpg", b"...")
    celeba.convert_celeba("64", str(raw), str(tmp_path))


@pytest.mark.parametrize("keep", [0, 100, -1])
def test_an_archive_cut_short_is_told(raw, tmp_path, keep):
    path = raw / celeba.IMAGE_FILE
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(StorageError, match=r"img_align_celeba\.zip is no zip archive, or is cut"):
        celeba.convert_celeba("aligned_cropped", str(raw), str(tmp_path))
    assert os.listdir(tmp_path) == ["raw"]


def test_a_flipped_byte_names_the_member(raw, tmp_path):
    path = raw / celeba.IMAGE_FILE
    content = bytearray(path.read_bytes())
    place = content.index(PICTURES[2]) + len(PICTURES[2]) // 2
    content[place] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(StorageError, match=r"000003\.jpg in .* is damaged \(Bad CRC"):
        celeba.convert_celeba("64", str(raw), str(tmp_path))


def test_a_picture_that_would_unpack_to_far_too_much_is_refused(raw, tmp_path):
    with zipfile.ZipFile(raw / celeba.IMAGE_FILE, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in NAMES:
            archive.writestr(name, bytes(65 * 2**20) if name == NAMES[8] else PICTURES[0])
    with pytest.raises(StorageError, match=r"000009\.jpg in .* has 68,157,440 bytes"):
        celeba.convert_celeba("64", str(raw), str(tmp_path))


def test_missing_files_are_named(tmp_path):
    for convert in (celeba.convert_celeba_64, celeba.convert_celeba_aligned_cropped):
        with pytest.raises(MissingInputFiles) as caught:
            convert(str(tmp_path), str(tmp_path))
        assert caught.value.filenames == celeba.DATASET_FILES


def test_the_choice_calls_the_functions_of_the_module(monkeypatch):
    calls = []
    for which in ("aligned_cropped", "64"):
        monkeypatch.setattr(celeba, f"convert_celeba_{which}", lambda *args: calls.append(args))
    celeba.convert_celeba("aligned_cropped", "here", "there")
    celeba.convert_celeba("64", "here", "there", "name.hdf5")
    assert calls == [
        ("here", "there", "celeba_aligned_cropped.hdf5"),
        ("here", "there", "name.hdf5"),
    ]
    with pytest.raises(ValueError, match="either 'aligned_cropped' or '64', got 64"):
        celeba.convert_celeba(64, "here", "there")


def test_the_command_takes_the_format():
    parser = argparse.ArgumentParser()
    assert celeba.fill_subparser(parser) is celeba.convert_celeba
    assert vars(parser.parse_args(["64"])) == {"which_format": "64"}
