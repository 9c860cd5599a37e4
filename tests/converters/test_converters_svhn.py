"""SVHN from raw files made here: MATLAB 7.3 and PNG in tar archives, MATLAB 5 arrays."""

from __future__ import annotations

import argparse
import io
import os
import tarfile
from pathlib import Path

import h5py
import numpy
import pytest
import scipy.io
from PIL import Image

from fuel.config_parser import config
from fuel.converters import svhn
from fuel.converters._digit_struct import DigitStruct
from fuel.converters._mat5 import find_arrays
from fuel.converters.base import MissingInputFiles
from fuel.datasets import SVHN, H5PYDataset
from fuel.exceptions import StorageError
from fuel.schemes import SequentialScheme
from fuel.streams import DataStream

FIELDS = ("height", "left", "top", "width", "label")
#: For each split its pictures: name, (height, width), boxes of the fields above.
NUMBERS = {
    "train": [
        ("1.png", (9, 12), [(5, 1, 2, 3, 10)]),
        ("2.png", (7, 8), [(6, 0, 1, 2, 3), (6, 3, 1, 2, 7)]),
        ("3.png", (11, 6), [(300, 2, 4, 1, 9)]),
    ],
    "test": [
        ("1.png", (5, 6), [(1, 2, 3, 4, 5)]),
        ("2.png", (6, 5), [(4, -1, -2, 2, 1), (1, 2, 3, 4, 2), (2, 2, 2, 2, 2)]),
        ("3.png", (8, 8), [(3, 3, 3, 3, 10)]),
    ],
    "extra": [("1.png", (4, 4), [(1, 1, 1, 1, 1)])],
}


def pixels(split, name, size):
    seed = sum(map(ord, split + name))
    return numpy.random.RandomState(seed).randint(0, 256, (*size, 3)).astype("uint8")


def png(array):
    out = io.BytesIO()
    Image.fromarray(array).save(out, "PNG")
    return out.getvalue()


def digit_struct(pictures):
    """Write the structure in the way of MATLAB 7.3: references to everything."""
    out = io.BytesIO()
    with h5py.File(out, "w", userblock_size=512) as file:
        refs = file.create_group("#refs#")
        count = iter(range(10**6))

        def kept(data):
            return refs.create_dataset(f"r{next(count)}", data=data).ref

        group = file.create_group("digitStruct")
        names = group.create_dataset("name", (len(pictures), 1), h5py.ref_dtype)
        boxes = group.create_dataset("bbox", (len(pictures), 1), h5py.ref_dtype)
        for number, (name, _, of_picture) in enumerate(pictures):
            names[number, 0] = kept(numpy.array([[ord(c)] for c in name], dtype="uint16"))
            box = refs.create_group(f"r{next(count)}")
            for place, field in enumerate(FIELDS):
                values = [float(one[place]) for one in of_picture]
                if len(values) == 1:
                    box[field] = numpy.array([values])
                else:
                    column = box.create_dataset(field, (len(values), 1), h5py.ref_dtype)
                    for row, value in enumerate(values):
                        column[row, 0] = kept(numpy.array([[value]]))
            boxes[number, 0] = box.ref
    return out.getvalue()


def members_of(split, pictures):
    """Return the members of an archive; the order is not that of the boxes, as in the original."""
    found = {f"{split}/{n}": png(pixels(split, n, size)) for n, size, _ in reversed(pictures)}
    found[f"{split}/digitStruct.mat"] = digit_struct(pictures)
    return found


def write_tar(path, members):
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


@pytest.fixture
def numbers(tmp_path):
    raw = tmp_path / "raw"
    raw.mkdir()
    for split, pictures in NUMBERS.items():
        write_tar(raw / f"{split}.tar.gz", members_of(split, pictures))
    return raw


def digits_of(split):
    count = {"train": 13, "test": 5, "extra": 1100}[split]
    rng = numpy.random.RandomState(count)
    features = rng.randint(0, 256, (32, 32, 3, count)).astype("uint8")
    return features, (numpy.arange(count) % 10 + 1).astype("uint8")[:, None]


@pytest.fixture(params=[True, False], ids=["compressed", "plain"])
def digits(tmp_path, request):
    raw = tmp_path / "raw"
    raw.mkdir()
    for split in NUMBERS:
        features, targets = digits_of(split)
        path = raw / f"{split}_32x32.mat"
        scipy.io.savemat(path, {"X": features, "y": targets}, do_compression=request.param)
    return raw


def test_whole_numbers_keep_pictures_boxes_and_order(numbers, tmp_path):
    paths = svhn.convert_svhn(1, str(numbers), str(tmp_path))
    assert paths == (str(tmp_path / "svhn_format_1.hdf5"),)
    assert sorted(os.listdir(tmp_path)) == ["raw", "svhn_format_1.hdf5"]
    with h5py.File(paths[0]) as file:
        assert H5PYDataset.get_all_splits(file) == ("extra", "test", "train")
        labels = H5PYDataset.get_axis_labels(file)
    assert labels == {
        "features": ("batch", "channel", "height", "width"),
        "bbox_labels": ("batch", "bounding_box", "index"),
        "bbox_heights": ("batch", "bounding_box", "height"),
        "bbox_widths": ("batch", "bounding_box", "width"),
        "bbox_lefts": ("batch", "bounding_box", "x"),
        "bbox_tops": ("batch", "bounding_box", "y"),
    }
    for split, pictures in NUMBERS.items():
        dataset = H5PYDataset(paths[0], (split,))
        assert dataset.num_examples == len(pictures)
        batch = dict(
            zip(dataset.sources, dataset.get_data(request=slice(0, len(pictures))), strict=True)
        )
        for row, (name, size, boxes) in enumerate(pictures):
            picture = batch["features"][row]
            assert picture.dtype == numpy.uint8
            numpy.testing.assert_array_equal(picture, pixels(split, name, size).transpose(2, 0, 1))
            for place, field in enumerate(FIELDS):
                values = batch[f"bbox_{field}s"][row]
                assert values.dtype == (numpy.uint8 if field == "label" else numpy.uint16)
                # What begins outside of a picture cannot be told by numbers without a sign.
                assert values.tolist() == [[max(box[place], 0)] for box in boxes]


def test_the_default_stream_of_whole_numbers_takes_ragged_batches(numbers, tmp_path):
    svhn.convert_svhn_format_1(str(numbers), str(tmp_path))
    with config.override(data_path=[str(tmp_path)], floatX="float32"):
        stream = DataStream.default_stream(
            SVHN(1, ("test",), subset=slice(3)), iteration_scheme=SequentialScheme(3, 3)
        )
        (batch,) = stream.get_epoch_iterator(as_dict=True)
    for (name, size, boxes), picture, labels in zip(
        NUMBERS["test"], batch["features"], batch["bbox_labels"], strict=True
    ):
        assert picture.dtype == numpy.float32
        numpy.testing.assert_allclose(
            picture, pixels("test", name, size).transpose(2, 0, 1) / 255, rtol=1e-6
        )
        assert labels[:, 0].tolist() == [box[-1] for box in boxes]


def without(name):
    return lambda members: members.pop(name)


def with_more(name, content):
    return lambda members: members.__setitem__(name, content)


DAMAGED_MEMBERS = {
    "no digitStruct": (without("test/digitStruct.mat"), r"no digitStruct\.mat in it"),
    "a picture missing": (without("test/2.png"), r"has 2 pictures, but digitStruct.mat tells of 3"),
    "an extra picture": (
        with_more("test/4.png", png(numpy.zeros((2, 2, 3), "uint8"))),
        r"has 4 pictures, but digitStruct.mat tells of 3",
    ),
    "another name": (
        lambda members: members.__setitem__("test/5.png", members.pop("test/2.png")),
        r"tells of a picture '2\.png', and the archive has no such",
    ),
    "a damaged picture": (with_more("test/2.png", b"\x89PNG\r\n\x1a\nrest"), r"2\.png in .* damag"),
    "no MATLAB file": (with_more("test/digitStruct.mat", b"<html>"), "is no MATLAB 7.3 file"),
    "an older MATLAB file": (
        with_more("test/digitStruct.mat", b"MATLAB 5.0 MAT-file".ljust(4096)),
        "is no MATLAB 7.3 file",
    ),
    "a name twice": (
        with_more("test/digitStruct.mat", digit_struct([NUMBERS["test"][0]] * 3)),
        r"tells twice of '1\.png'",
    ),
    "a label too high": (
        with_more(
            "test/digitStruct.mat",
            digit_struct([*NUMBERS["test"][:2], ("3.png", None, [(1, 1, 1, 1, 11)])]),
        ),
        r"gives 3\.png a label of 11",
    ),
    "half a pixel": (
        with_more(
            "test/digitStruct.mat",
            digit_struct([*NUMBERS["test"][:2], ("3.png", None, [(1.5, 1, 1, 1, 1)])]),
        ),
        r"gives 3\.png a height of 1\.5",
    ),
}


@pytest.mark.parametrize("case", DAMAGED_MEMBERS)
def test_what_is_wrong_in_an_archive_of_numbers_is_told(numbers, tmp_path, case):
    spoil, message = DAMAGED_MEMBERS[case]
    members = members_of("test", NUMBERS["test"])
    spoil(members)
    write_tar(numbers / "test.tar.gz", members)
    (tmp_path / "svhn_format_1.hdf5").write_bytes(b"older")
    with pytest.raises(StorageError, match=message) as caught:
        svhn.convert_svhn_format_1(str(numbers), str(tmp_path))
    assert str(numbers / "test.tar.gz") in str(caught.value)
    assert "`fuel-download svhn 1`" in str(caught.value)
    assert sorted(os.listdir(tmp_path)) == ["raw", "svhn_format_1.hdf5"]
    assert (tmp_path / "svhn_format_1.hdf5").read_bytes() == b"older"


def test_boxes_whose_fields_differ_in_length_are_named(numbers, tmp_path):
    content = io.BytesIO(digit_struct(NUMBERS["test"]))
    with h5py.File(content, "r+") as file:
        box = file[file["digitStruct/bbox"][1, 0]]
        del box["left"]
        box["left"] = numpy.array([[1.0]])
    members = members_of("test", NUMBERS["test"])
    members["test/digitStruct.mat"] = content.getvalue()
    write_tar(numbers / "test.tar.gz", members)
    with pytest.raises(StorageError, match="element 2 cannot be read .*'left': 1"):
        svhn.convert_svhn_format_1(str(numbers), str(tmp_path))


@pytest.mark.parametrize("keep", [0, 10, 0.5, -1])
def test_an_archive_of_numbers_cut_short_is_told(numbers, tmp_path, keep):
    path = numbers / "extra.tar.gz"
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * keep) if 0 < keep < 1 else keep])
    with pytest.raises(StorageError, match=r"extra\.tar\.gz"):
        svhn.convert_svhn_format_1(str(numbers), str(tmp_path))
    assert os.listdir(tmp_path) == ["raw"]


def test_a_web_page_is_no_archive(numbers, tmp_path):
    (numbers / "train.tar.gz").write_bytes(b"<!DOCTYPE html><html>404</html>" * 30)
    with pytest.raises(StorageError, match=r"train\.tar\.gz.*web page"):
        svhn.convert_svhn_format_1(str(numbers), str(tmp_path))


def test_digits_are_transposed_and_ten_is_zero(digits, tmp_path):
    paths = svhn.convert_svhn(2, str(digits), str(tmp_path), None)
    assert paths == (str(tmp_path / "svhn_format_2.hdf5"),)
    with h5py.File(paths[0]) as file:
        assert H5PYDataset.get_all_splits(file) == ("extra", "test", "train")
        assert H5PYDataset.get_axis_labels(file) == {
            "features": ("batch", "channel", "height", "width"),
            "targets": ("batch", "index"),
        }
    for split in NUMBERS:
        raw, labels = digits_of(split)
        dataset = H5PYDataset(paths[0], (split,))
        features, targets = dataset.get_data(request=slice(0, len(labels)))
        numpy.testing.assert_array_equal(features, raw.transpose(3, 2, 0, 1))
        numpy.testing.assert_array_equal(targets, labels % 10)
        assert (features.dtype, targets.dtype) == ("uint8", "uint8")


def test_the_default_stream_of_digits_is_scaled(digits, tmp_path):
    svhn.convert_svhn_format_2(str(digits), str(tmp_path))
    with config.override(data_path=[str(tmp_path)], floatX="float64"):
        dataset = SVHN(2, ("test", "train"))
        assert dataset.num_examples == 18
        stream = DataStream.default_stream(dataset, iteration_scheme=SequentialScheme(18, 5))
        features = numpy.concatenate([batch[0] for batch in stream.get_epoch_iterator()])
    expected = digits_of("train")[0].transpose(3, 2, 0, 1) / 255
    numpy.testing.assert_allclose(features[:13], expected)


def test_labels_may_be_of_any_type_and_a_file_of_one_digit(digits, tmp_path):
    features = numpy.full((32, 32, 3, 1), 7, "uint8")
    scipy.io.savemat(digits / "test_32x32.mat", {"y": numpy.array([[10.0]]), "X": features[..., 0]})
    (path,) = svhn.convert_svhn_format_2(str(digits), str(tmp_path))
    with h5py.File(path) as file:
        assert file["features"].shape == (13 + 1 + 1100, 3, 32, 32)
        assert file["targets"][13, 0] == 0


DAMAGED_ARRAYS = {
    "no X": ({"y": [[1]]}, "no array 'X' in it"),
    "no y": ({"X": numpy.zeros((32, 32, 3, 2), "uint8")}, "no array 'y' in it"),
    "a wrong shape": (
        {"X": numpy.zeros((28, 28, 3, 2), "uint8"), "y": [[1], [2]]},
        r"should be uint8 of shape \(32, 32, 3, n\), and is uint8 of shape \(28, 28, 3, 2\)",
    ),
    "a wrong type": ({"X": numpy.zeros((32, 32, 3, 2)) + 0.5, "y": [[1], [2]]}, "is float64"),
    "a wrong count": (
        {"X": numpy.zeros((32, 32, 3, 2), "uint8"), "y": [[1], [2], [3]]},
        r"has 2 pictures, but 'y' has the shape \(3, 1\)",
    ),
    "a wrong label": (
        {"X": numpy.zeros((32, 32, 3, 2), "uint8"), "y": [[1], [11]]},
        "label 2 of 2 .* is 11",
    ),
}


@pytest.mark.parametrize("case", DAMAGED_ARRAYS)
def test_arrays_that_are_not_those_of_svhn_are_told(digits, tmp_path, case):
    arrays, message = DAMAGED_ARRAYS[case]
    scipy.io.savemat(digits / "test_32x32.mat", arrays)
    with pytest.raises(StorageError, match=message) as caught:
        svhn.convert_svhn_format_2(str(digits), str(tmp_path))
    assert str(digits / "test_32x32.mat") in str(caught.value)
    assert "`fuel-download svhn 2`" in str(caught.value)
    assert os.listdir(tmp_path) == ["raw"]


@pytest.mark.parametrize("keep", [0, 100, 130, 200, 0.5, -1])
def test_a_file_of_digits_cut_short_is_told(digits, tmp_path, keep):
    path = digits / "extra_32x32.mat"
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * keep) if 0 < keep < 1 else keep])
    with pytest.raises(StorageError, match=r"extra_32x32\.mat"):
        svhn.convert_svhn_format_2(str(digits), str(tmp_path))
    assert os.listdir(tmp_path) == ["raw"]


@pytest.mark.parametrize("place", [0.5, -1], ids=["in the middle", "in the last checksum"])
def test_a_flipped_byte_in_a_compressed_file_is_noticed(digits, tmp_path, place):
    path = digits / "train_32x32.mat"
    features, targets = digits_of("train")
    scipy.io.savemat(path, {"X": features, "y": targets}, do_compression=True)
    content = bytearray(path.read_bytes())
    content[-1 if place < 0 else int(len(content) * place)] ^= 0x55
    path.write_bytes(content)
    with pytest.raises(StorageError, match=r"train_32x32\.mat: it is damaged"):
        svhn.convert_svhn_format_2(str(digits), str(tmp_path))


@pytest.mark.parametrize(
    "content, fact",
    [
        (b"<html>no such file</html>" * 20, "web page"),
        (b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + bytes(500), "version 7.3"),
        (b"", "it is empty"),
    ],
)
def test_what_is_no_mat_file_is_told(digits, tmp_path, content, fact):
    (digits / "train_32x32.mat").write_bytes(content)
    with pytest.raises(StorageError, match=f"train_32x32.mat: it is no MATLAB file .*{fact}"):
        svhn.convert_svhn_format_2(str(digits), str(tmp_path))


@pytest.mark.parametrize("compressed", [True, False])
def test_the_reader_agrees_with_scipy_on_all_kinds_of_arrays(tmp_path, compressed):
    rng = numpy.random.RandomState(3)
    arrays = {
        f"{kind}{''.join(map(str, shape))}": rng.randint(0, 100, shape).astype(kind)
        for kind in ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8")
        for shape in ((1, 1), (1, 3), (5, 2), (2, 3, 4), (3, 0))
    }
    others = {"text": "abc", "complex": numpy.array([[1j]]), "struct": {"a": 1}}
    path = str(tmp_path / "all.mat")
    scipy.io.savemat(path, {**arrays, **others}, do_compression=compressed)
    found = find_arrays(path, "make it again")
    expected = scipy.io.loadmat(path)
    assert set(found) == set(arrays)
    for name, array in found.items():
        assert array.shape == expected[name].shape
        blocks = [block.T for block in array.blocks(2)]
        assert all(block.shape[-1] <= 2 for block in blocks)
        if blocks:
            numpy.testing.assert_array_equal(numpy.concatenate(blocks, -1), expected[name])


def test_missing_files_are_named(tmp_path):
    for which, names in ((1, svhn.FORMAT_1_FILES), (2, svhn.FORMAT_2_FILES)):
        with pytest.raises(MissingInputFiles) as caught:
            svhn.convert_svhn(which, str(tmp_path), str(tmp_path))
        assert caught.value.filenames == names


def test_the_choice_calls_the_functions_of_the_module(monkeypatch):
    calls = []
    for which in (1, 2):
        monkeypatch.setattr(svhn, f"convert_svhn_format_{which}", lambda *args: calls.append(args))
    svhn.convert_svhn(1, "here", "there")
    svhn.convert_svhn(2, "here", "there", "name.hdf5")
    assert calls == [("here", "there", "svhn_format_1.hdf5"), ("here", "there", "name.hdf5")]
    with pytest.raises(ValueError, match="either 1 or 2, got 3"):
        svhn.convert_svhn(3, "here", "there")


def test_the_command_takes_the_format():
    parser = argparse.ArgumentParser()
    assert svhn.fill_subparser(parser) is svhn.convert_svhn
    assert vars(parser.parse_args(["2"])) == {"which_format": 2}


def test_the_cache_of_descriptions_is_bounded():
    with DigitStruct(io.BytesIO(digit_struct(NUMBERS["test"])), "x", "make it again") as struct:
        settings = struct._file.id.get_mdc_config()
        assert settings.max_size == 2**20
        assert [name for name, _ in struct] == ["1.png", "2.png", "3.png"]


def test_the_file_tells_its_inputs(digits, tmp_path: Path):
    (path,) = svhn.convert_svhn_format_2(str(digits), str(tmp_path), "named.hdf5")
    assert os.path.basename(path) == "named.hdf5"
    with h5py.File(path) as file:
        told = str(file.attrs["fuel_provenance"])
    assert all(name in told for name in svhn.FORMAT_2_FILES)
