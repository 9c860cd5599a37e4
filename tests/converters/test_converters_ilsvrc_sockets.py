"""The functions of the ILSVRC converters that programs call: names, arguments, what they do."""

from __future__ import annotations

import argparse
import inspect
import io
import os
import tarfile

import h5py
import numpy
import pytest
import zmq
from PIL import Image

from fuel.config_parser import config
from fuel.converters import ilsvrc2010, ilsvrc2012
from fuel.downloaders import ilsvrc2010 as download2010
from fuel.downloaders import ilsvrc2012 as download2012
from fuel.downloaders.base import default_downloader
from fuel.exceptions import NeedURLPrefix, StorageError, WorkerError

CLASSES = {"n00000001": 0, "n00000002": 1}


def jpeg(shade):
    out = io.BytesIO()
    Image.new("RGB", (9, 7), (shade, 0, 0)).save(out, "JPEG")
    return out.getvalue()


def write_tar(path, members):
    with tarfile.open(path, "w") as tar:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return str(path)


@pytest.fixture
def raw(tmp_path):
    """Make a training archive, whose pictures are in no order, and one of other pictures."""
    classes = []
    for wnid, numbers in (("n00000002", (3, 1)), ("n00000001", (2, 4, 0))):
        inner = [(f"{wnid}_{n}.JPEG", jpeg(10 * n)) for n in numbers]
        write_tar(tmp_path / wnid, inner)
        classes.append((f"{wnid}.tar", (tmp_path / wnid).read_bytes()))
    train = write_tar(tmp_path / "train.tar", classes)
    other = write_tar(tmp_path / "val.tar", [(f"v/{n}.JPEG", jpeg(n)) for n in (2, 0, 1)])
    patch = write_tar(
        tmp_path / "patch.tar",
        [("patch_images/train/n00000001_2.JPEG", jpeg(77)), ("patch_images/val/1.JPEG", jpeg(88))],
    )
    return train, other, patch


class Socket:
    """What the functions use of a socket."""

    def __init__(self):
        self.sent = []
        self.flags = []

    def send_pyobj(self, value, flags=0):
        self.flags.append(flags)
        self.sent.append(value)

    def send(self, content, flags=0):
        self.flags.append(flags)
        self.sent.append(content)

    def recv_pyobj(self, flags=0):
        assert flags == zmq.SNDMORE
        return self.sent.pop(0)

    def recv(self):
        return self.sent.pop(0)


TRAIN = [
    ("n00000002_1.JPEG", 1, 10),
    ("n00000002_3.JPEG", 1, 30),
    ("n00000001_0.JPEG", 0, 0),
    ("n00000001_2.JPEG", 0, 77),
    ("n00000001_4.JPEG", 0, 40),
]
OTHER = [("0.JPEG", 5, 0), ("1.JPEG", 6, 88), ("2.JPEG", 7, 2)]


def messages(rows):
    return [part for name, label, shade in rows for part in ((name, label), jpeg(shade))]


def test_producers_send_names_with_classes_and_pictures(raw):
    train, other, patch = raw
    socket = Socket()
    ilsvrc2010.train_set_producer(socket, train, patch, CLASSES)
    assert socket.sent == messages(TRAIN)
    assert socket.flags == [zmq.SNDMORE, 0] * 5
    socket = Socket()
    ilsvrc2010.other_set_producer(socket, "valid", other, patch, [5, 6, 7])
    assert socket.sent == messages(OTHER)


def test_producers_take_open_files(raw):
    with open(raw[0], "rb") as train, open(raw[1], "rb") as other, open(raw[2], "rb") as patch:
        socket = Socket()
        ilsvrc2010.train_set_producer(socket, train, patch, CLASSES)
        ilsvrc2010.other_set_producer(socket, "valid", other, patch, iter([5, 6, 7]))
    assert socket.sent == messages(TRAIN) + messages(OTHER)


def test_producers_complain_of_patches_that_are_left(raw):
    train, other, patch = raw
    with ilsvrc2012.create_temp_tar() as empty:
        ilsvrc2010.train_set_producer(Socket(), train, empty, CLASSES)
        with pytest.raises(ValueError, match=r"not all patch images were used: .*_2\.JPEG"):
            ilsvrc2010.train_set_producer(
                Socket(), write_tar(train + "2", [("n00000001.tar", b"\0" * 1024)]), patch, CLASSES
            )
    with pytest.raises(ValueError, match=r"not all patch images were used: 1\.JPEG"):
        ilsvrc2010.other_set_producer(
            Socket(), "valid", write_tar(other + "2", [("0.JPEG", jpeg(1))]), patch, [1]
        )
    with pytest.raises(StorageError, match="3 pictures, and the ground truth has 2 entries"):
        ilsvrc2010.other_set_producer(Socket(), "valid", other, patch, [1, 2])


class H5File(dict):
    """What `prepare_hdf5_file` may use of a file."""

    def __init__(self):
        self.attrs = {}

    def create_dataset(self, name, shape, dtype):
        axes = [argparse.Namespace(label="") for _ in shape]
        self[name] = argparse.Namespace(shape=shape, dtype=numpy.dtype(dtype), dims=axes)


@pytest.mark.parametrize("module, rows", [(ilsvrc2010, 15), (ilsvrc2012, 12)])
def test_a_file_is_prepared(module, rows):
    file = H5File()
    module.prepare_hdf5_file(file, 10, 2, 3)
    assert {name: one.shape for name, one in file.items()} == {
        "encoded_images": (15,),
        "targets": (rows, 1),
        "filenames": (15, 1),
    }
    assert h5py.check_vlen_dtype(file["encoded_images"].dtype) == numpy.uint8
    assert (file["targets"].dtype, file["filenames"].dtype) == (numpy.dtype("i2"), "S32")
    labels = {name: [axis.label for axis in one.dims] for name, one in file.items()}
    assert labels["encoded_images"] == ["batch"]
    assert labels["targets"] == labels["filenames"] == ["batch", "index"]
    splits = {}
    for row in file.attrs["split"]:
        if row["available"]:
            of = splits.setdefault(row["split"].decode(), {})
            of[row["source"].decode()] = (int(row["start"]), int(row["stop"]))
    assert splits == module.create_splits(10, 2, 3)
    sources = {"encoded_images", "targets", "filenames"}
    assert set(splits["train"]) == set(splits["valid"]) == sources
    assert set(splits["test"]) == (sources if rows == 15 else sources - {"targets"})
    assert set(splits["test"].values()) == {(12, 15)}


def test_the_consumer_writes_a_permutation_from_an_offset_on():
    rows = 8
    file = {name: {} for name in ("encoded_images", "targets", "filenames")}
    socket = Socket()
    socket.sent = messages([*TRAIN, ("x.JPEG", None, 9)])
    ilsvrc2010.image_consumer(socket, file, 5, shuffle_seed=3, offset=rows)
    order = numpy.random.RandomState(3).permutation(5) + rows
    for row, (name, label, shade) in zip(order.tolist(), TRAIN, strict=True):
        assert file["filenames"][row] == name.encode()
        assert file["targets"][row] == label
        assert file["encoded_images"][row].tobytes() == jpeg(shade)
    ilsvrc2010.image_consumer(socket, file, 1)
    assert file["filenames"][0] == b"x.JPEG" and 0 not in file["targets"]


def test_a_process_reads_and_this_one_writes(raw, tmp_path):
    train, other, patch = raw
    with h5py.File(tmp_path / "x.hdf5", "w") as file:
        ilsvrc2010.prepare_hdf5_file(file, 5, 3, 0)
        ilsvrc2010.process_train_set(file, train, patch, 5, CLASSES, 3)
        ilsvrc2010.process_other_set(file, "valid", other, patch, [5, 6, 7], 5)
        order = [*numpy.random.RandomState(3).permutation(5).tolist(), 5, 6, 7]
        for row, (name, label, shade) in zip(order, [*TRAIN, *OTHER], strict=True):
            assert file["filenames"][row, 0] == name.encode()
            assert file["targets"][row, 0] == label
            assert file["encoded_images"][row].tobytes() == jpeg(shade)
        with pytest.raises(WorkerError, match="consumer waits for another"):
            ilsvrc2010.process_train_set(file, train, patch, 6, CLASSES)
        with pytest.raises(StorageError, match=r"n00000002\.tar in it is of no class"):
            ilsvrc2010.process_train_set(file, train, patch, 5, {"n00000001": 0})


def test_the_functions_have_the_arguments_they_had():
    def arguments(function):
        return list(inspect.signature(function).parameters)

    common = ["directory", "output_directory", "output_filename", "shuffle_seed"]
    assert arguments(ilsvrc2010.convert_ilsvrc2010) == common
    assert arguments(ilsvrc2012.convert_ilsvrc2012) == common
    for name, expected in {
        "prepare_metadata": ["devkit_archive", "test_groundtruth_path"],
        "create_splits": ["n_train", "n_valid", "n_test"],
        "prepare_hdf5_file": ["hdf5_file", "n_train", "n_valid", "n_test"],
        "process_train_set": [
            "hdf5_file", "train_archive", "patch_archive", "n_train", "wnid_map", "shuffle_seed",
        ],
        "train_set_producer": ["socket", "train_archive", "patch_archive", "wnid_map"],
        "image_consumer": ["socket", "hdf5_file", "num_expected", "shuffle_seed", "offset"],
        "process_other_set": [
            "hdf5_file", "which_set", "image_archive", "patch_archive", "groundtruth", "offset",
        ],
        "other_set_producer": [
            "socket", "which_set", "image_archive", "patch_archive", "groundtruth",
        ],
        "load_from_tar_or_patch": ["tar", "image_filename", "patch_images"],
        "read_devkit": ["f"],
        "read_metadata_mat_file": ["meta_mat"],
        "extract_patch_images": ["f", "which_set"],
    }.items():  # fmt: skip
        assert arguments(getattr(ilsvrc2010, name)) == expected, name
    assert arguments(ilsvrc2012.prepare_metadata) == ["devkit_archive"]
    assert arguments(ilsvrc2012.create_splits) == ["n_train", "n_valid", "n_test"]
    assert arguments(ilsvrc2012.create_temp_tar) == []


def test_an_empty_archive_is_made_for_a_block():
    with ilsvrc2012.create_temp_tar() as path:
        with tarfile.open(path) as tar:
            assert tar.getnames() == []
        assert ilsvrc2010.extract_patch_images(path, "train") == {}
    assert not os.path.exists(path)


@pytest.mark.parametrize("module", [ilsvrc2010, ilsvrc2012])
def test_the_seed_is_an_option_and_the_setting_otherwise(module):
    year = module.__name__[-4:]
    parser = argparse.ArgumentParser()
    assert module.fill_subparser(parser) is getattr(module, f"convert_ilsvrc{year}")
    assert parser.parse_args(["--shuffle-seed", "7"]).shuffle_seed == 7
    # None: the setting counts when it is converted, not when the module was imported.
    assert parser.parse_args([]).shuffle_seed is None
    assert isinstance(config.default_seed, int)


@pytest.mark.parametrize(
    "module, names, public",
    [
        (download2010, ilsvrc2010.ALL_FILES, ilsvrc2010.PUBLIC_FILES),
        (download2012, ilsvrc2012.ALL_FILES, ()),
    ],
)
def test_downloaders_know_the_files_of_the_converters(module, names, public, tmp_path):
    parser = argparse.ArgumentParser()
    assert module.fill_subparser(parser) is default_downloader
    options = parser.parse_args(["-P", "http://127.0.0.1/"])
    assert options.url_prefix == "http://127.0.0.1/"
    assert sorted(options.filenames) == sorted(names)
    known = {name for name, url in zip(options.filenames, options.urls, strict=True) if url}
    assert known == set(public)
    assert None not in options.filenames  # so that --clear needs no network
    with pytest.raises(NeedURLPrefix):
        default_downloader(str(tmp_path), options.urls, options.filenames)
    assert download2010.IMAGE_TARS == ilsvrc2010.IMAGE_TARS
    assert download2012.ALL_FILES == ilsvrc2012.ALL_FILES
