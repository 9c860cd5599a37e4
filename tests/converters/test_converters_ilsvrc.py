"""ILSVRC from tiny archives in the form of the real ones; what does not belong together is told."""

from __future__ import annotations

import gzip
import io
import os
import tarfile

import h5py
import numpy
import pytest
import scipy.io
import zmq
from PIL import Image

from fuel.bin.fuel_convert import main
from fuel.config_parser import config
from fuel.converters import ilsvrc2010, ilsvrc2012
from fuel.converters._provenance import read_provenance
from fuel.datasets.imagenet import ILSVRC2010, ILSVRC2012
from fuel.exceptions import MissingInputFiles, StorageError
from fuel.schemes import PermutedScheme
from fuel.streams import DataStream
from fuel.transformers.image import RandomFixedSizeCrop

WNIDS = ["n00000001", "n00000002", "n00000003", "n00001001"]
TRAIN = {"n00000001": 3, "n00000002": 2, "n00000003": 4}


def jpeg(shade, size=(20, 16)):
    buffer = io.BytesIO()
    Image.new("RGB", size, (shade % 256, 50, 90)).save(buffer, "JPEG")
    return buffer.getvalue()


def tar_bytes(members, mode="w"):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def synsets(year):
    table = numpy.zeros(
        4,
        dtype=[
            (f"ILSVRC{year}_ID", "O"), ("WNID", "O"), ("words", "O"), ("gloss", "O"),
            ("num_children", "O"), ("children", "O"), ("wordnet_height", "O"),
            ("num_train_images", "O"),
        ],
    )  # fmt: skip
    rows = [(1, 0, []), (2, 0, []), (3, 0, []), (1001, 3, [1, 2, 1676])]
    for place, (number, count, children) in enumerate(rows):
        wnid = WNIDS[place]
        table[place] = (
            float(number), wnid, f"thing {number}", "a gloss", float(count),
            numpy.array(children, "f8"), 1.0, float(TRAIN.get(wnid, 0)),
        )  # fmt: skip
    return table


def devkit(year, truth):
    buffer = io.BytesIO()
    content = {"synsets": synsets(year)}
    if year == 2010:
        content["cost_matrix"] = numpy.eye(3, dtype="u1")
    scipy.io.savemat(buffer, content)
    folder = "devkit-1.0" if year == 2010 else "ILSVRC2012_devkit_t12"
    return tar_bytes(
        {
            f"{folder}/data/meta.mat": buffer.getvalue(),
            f"{folder}/data/ILSVRC{year}_validation_ground_truth.txt": "".join(
                f"{label}\n" for label in truth
            ).encode(),
        },
        "w:gz",
    )


def raw_files(year, folder):
    """Write all raw files, and return their contents by name."""
    classes, shade = {}, 0
    for wnid, count in TRAIN.items():
        members = {}
        for number in range(count):
            shade += 10
            content = jpeg(shade)
            members[f"{wnid}_{number}.JPEG"] = gzip.compress(content) if number == 1 else content
        classes[f"{wnid}.tar"] = tar_bytes(members)
    valid = {f"ILSVRC{year}_val_{k:08}.JPEG": jpeg(100 + k, (30, 20)) for k in (2, 1, 3)}
    test = {f"ILSVRC{year}_test_{k:08}.JPEG": jpeg(150 + k) for k in (1, 2)}
    if year == 2010:
        files = {
            "ILSVRC2010_devkit-1.0.tar.gz": devkit(year, [3, 1, 2]),
            "ILSVRC2010_images_train.tar": tar_bytes(classes),
            "ILSVRC2010_images_val.tar": tar_bytes({f"val/{n}": c for n, c in valid.items()}),
            "ILSVRC2010_images_test.tar": tar_bytes(test),
            "ILSVRC2010_test_ground_truth.txt": b"2\n3\n",
            "patch_images.tar": tar_bytes(
                {
                    "patch/train/n00000002_0.JPEG": jpeg(250),
                    "patch/val/ILSVRC2010_val_00000003.JPEG": jpeg(251),
                }
            ),
        }
    else:
        files = {
            "ILSVRC2012_devkit_t12.tar.gz": devkit(year, [3, 1, 2]),
            "ILSVRC2012_img_train.tar": tar_bytes(classes),
            "ILSVRC2012_img_val.tar": tar_bytes(valid),
            "ILSVRC2012_img_test.tar": tar_bytes(test),
        }
    os.makedirs(folder, exist_ok=True)
    for name, content in files.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)
    return files


def shade(values):
    return int(numpy.asarray(Image.open(io.BytesIO(bytes(values))))[0, 0, 0])


@pytest.fixture(params=[2010, 2012])
def year(request):
    return request.param


def convert(year, folder, output, **options):
    module = {2010: ilsvrc2010, 2012: ilsvrc2012}[year]
    return getattr(module, f"convert_ilsvrc{year}")(str(folder), str(output), **options)[0]


def test_all_of_it(tmp_path, year, monkeypatch):
    raw = tmp_path / "raw"
    raw_files(year, raw)
    monkeypatch.setattr(config, "data_path", (str(tmp_path),))
    path = convert(year, raw, tmp_path, shuffle_seed=5)
    with h5py.File(path, "r") as h5file:
        assert h5file["encoded_images"].shape == (14,)
        assert h5file["targets"].dtype == numpy.int16
        assert h5file["targets"].shape == (14 if year == 2010 else 12, 1)
        assert h5file["filenames"].dtype == "S32"
        names = [name.decode() for name in h5file["filenames"][:9, 0]]
        in_order = [f"{wnid}_{k}.JPEG" for wnid, count in TRAIN.items() for k in range(count)]
        order = numpy.random.RandomState(5).permutation(9)
        assert [names[row] for row in order] == in_order
        for name, label, image in zip(
            names, h5file["targets"][:9, 0], h5file["encoded_images"][:9], strict=True
        ):
            assert label == WNIDS.index(name[:9])
            expected = 10 * (in_order.index(name) + 1)
            if year == 2010 and name == "n00000002_0.JPEG":
                expected = 250
            assert abs(shade(image) - expected) <= 3
        assert h5file["targets"][9:12, 0].tolist() == [2, 0, 1]
        last = 251 if year == 2010 else 103
        for image, expected in zip(h5file["encoded_images"][9:12], (101, 102, last), strict=True):
            assert abs(shade(image) - expected) <= 3
        assert len(read_provenance(h5file)["inputs"]) == (6 if year == 2010 else 4)
    dataset = {2010: ILSVRC2010, 2012: ILSVRC2012}[year]
    train, test = dataset(("train",)), dataset(("test",))
    assert train.num_examples == 9 and test.num_examples == 2
    assert ("targets" in test.sources) == (year == 2010)
    stream = DataStream.default_stream(train, iteration_scheme=PermutedScheme(9, 4, seed=1))
    stream = RandomFixedSizeCrop(stream, (10, 12), which_sources=("encoded_images",))
    sizes = []
    for batch in stream.get_epoch_iterator(as_dict=True):
        for image in batch["encoded_images"]:
            assert image.shape == (3, 10, 12) and image.dtype == numpy.uint8
        sizes.append(len(batch["targets"]))
    assert sizes == [4, 4, 1]


def test_the_command_needs_no_working_directory(tmp_path, year, monkeypatch, capsys):
    raw_files(year, tmp_path / "raw")
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path)
    main([f"ilsvrc{year}", "-d", "raw", "-o", "out", "--shuffle-seed", "1"])
    assert os.listdir("out") == [f"ilsvrc{year}.hdf5"]


def test_missing_files_are_named(tmp_path, year):
    files = raw_files(year, tmp_path / "raw")
    name = sorted(files)[0]
    os.remove(tmp_path / "raw" / name)
    with pytest.raises(MissingInputFiles) as caught:
        convert(year, tmp_path / "raw", tmp_path)
    assert caught.value.filenames == [name]


def spoiled(year):
    """Return for each way to spoil the files: the name, how, and what is said of it."""
    prefix = {2010: "ILSVRC2010_images_", 2012: "ILSVRC2012_img_"}[year]
    kit = {2010: "ILSVRC2010_devkit-1.0.tar.gz", 2012: "ILSVRC2012_devkit_t12.tar.gz"}[year]
    some = {f"{wnid}.tar": tar_bytes({f"{wnid}_0.JPEG": jpeg(1)}) for wnid in list(TRAIN)[:2]}
    full = {
        f"{wnid}.tar": tar_bytes({f"{wnid}_{k}.JPEG": jpeg(1) for k in range(count)})
        for wnid, count in TRAIN.items()
    }
    page = tar_bytes({f"n00000001_{k}.JPEG": b"<html>" for k in range(3)})
    longer = tar_bytes({f"n00000003_{k}.JPEG": jpeg(1) for k in range(6)})
    cut = full["n00000001.tar"][:700]
    train, kind = f"{prefix}train.tar", r"train\.tar"
    return {
        "a class is missing": (
            train, tar_bytes(some), kind + r": it lacks n00000003\.tar, of 3 classes",
        ),
        "an unknown class": (
            train, tar_bytes({**full, "n9.tar": b""}), kind + r": n9\.tar in it is of no class",
        ),
        "no picture": (
            train, tar_bytes({**full, "n00000001.tar": page}),
            r"n00000001_0\.JPEG in n00000001\.tar in .*: it is no JPEG file: it is a web page",
        ),
        "too many": (
            train, tar_bytes({**full, "n00000003.tar": longer}),
            r"n00000003\.tar in .* has 6 pictures, and the development kit counts 4",
        ),
        "an inner archive is cut short": (
            train, tar_bytes({**full, "n00000001.tar": cut}),
            r"n00000001\.tar in .*: the archive is cut short",
        ),
        "an outer archive is cut short": (
            train, tar_bytes(full)[:3000], kind + ": the archive is cut short",
        ),
        "validation pictures are missing": (
            f"{prefix}val.tar", tar_bytes({"a.JPEG": jpeg(1)}),
            r"val\.tar: it has 1 pictures, and the ground truth has 3 entries",
        ),
        "another kit": (kit, tar_bytes({"x": b""}, "w:gz"), r"tar\.gz: it lacks .*data/meta\.mat"),
        "a page for a kit": (kit, b"<html>", "it is a web page"),
        "an odd truth": (kit, devkit(year, ["cat"]), "line 1 should be the number of a class"),
    }  # fmt: skip


@pytest.mark.parametrize("how", list(spoiled(2012)))
def test_what_is_damaged_is_named_and_nothing_is_left(tmp_path, year, how):
    raw_files(year, tmp_path / "raw")
    name, content, message = spoiled(year)[how]
    (tmp_path / "raw" / name).write_bytes(content)
    (tmp_path / "out").mkdir()
    with pytest.raises(StorageError, match=message):
        convert(year, tmp_path / "raw", tmp_path / "out")
    assert os.listdir(tmp_path / "out") == []


def test_a_patch_that_is_not_used_is_told(tmp_path):
    raw_files(2010, tmp_path / "raw")
    (tmp_path / "raw" / "patch_images.tar").write_bytes(
        tar_bytes({"patch/train/other.JPEG": jpeg(1)})
    )
    with pytest.raises(
        StorageError, match=r"patch_images\.tar: not all patch images were used: other\.JPEG"
    ):
        convert(2010, tmp_path / "raw", tmp_path)


def test_metadata(tmp_path):
    files = raw_files(2010, tmp_path)
    kit = io.BytesIO(files["ILSVRC2010_devkit-1.0.tar.gz"])
    table, cost, truth = ilsvrc2010.read_devkit(kit)
    assert table["WNID"].dtype == "S9"
    # As a byte, the last one would have become another number.
    assert table["children"].tolist() == [[-1] * 3, [-1] * 3, [-1] * 3, [1, 2, 1676]]
    assert cost.dtype == numpy.uint8 and truth.tolist() == [3, 1, 2]
    n_train, valid, test, classes = ilsvrc2010.prepare_metadata(
        str(tmp_path / "ILSVRC2010_devkit-1.0.tar.gz"),
        str(tmp_path / "ILSVRC2010_test_ground_truth.txt"),
    )
    assert (n_train, valid.tolist(), test.tolist()) == (9, [2, 0, 1], [1, 2])
    assert classes == {"n00000001": 0, "n00000002": 1, "n00000003": 2}


def test_the_functions_that_programs_use(tmp_path):
    files = raw_files(2010, tmp_path)
    train, patch = (tmp_path / name for name in ("ILSVRC2010_images_train.tar", "patch_images.tar"))
    classes = {"n00000001": 0, "n00000002": 1, "n00000003": 2}
    with pytest.raises(ValueError, match="'other'"):
        ilsvrc2010.extract_patch_images(str(patch), "other")
    patches = ilsvrc2010.extract_patch_images(io.BytesIO(files["patch_images.tar"]), "valid")
    assert list(patches) == ["ILSVRC2010_val_00000003.JPEG"]
    with tarfile.open(fileobj=io.BytesIO(files["ILSVRC2010_images_val.tar"])) as tar:
        name = "val/ILSVRC2010_val_00000003.JPEG"
        assert ilsvrc2010.load_from_tar_or_patch(tar, name, patches) == (jpeg(251), True)
        content, patched = ilsvrc2010.load_from_tar_or_patch(tar, name, {})
        assert content == jpeg(103, (30, 20)) and not patched

    context = zmq.Context()
    push, pull = context.socket(zmq.PUSH), context.socket(zmq.PULL)
    push.bind("inproc://images")
    pull.connect("inproc://images")
    try:
        ilsvrc2010.train_set_producer(push, str(train), str(patch), classes)
        ilsvrc2010.other_set_producer(
            push, "valid", str(tmp_path / "ILSVRC2010_images_val.tar"), str(patch), [2, 0, 1]
        )
        with h5py.File(tmp_path / "a.hdf5", "w") as one, h5py.File(tmp_path / "b.hdf5", "w") as two:
            for h5file in (one, two):
                ilsvrc2010.prepare_hdf5_file(h5file, 9, 3, 0)
            ilsvrc2010.image_consumer(pull, one, 9, shuffle_seed=3)
            ilsvrc2010.image_consumer(pull, one, 3, offset=9)
            ilsvrc2010.process_train_set(two, str(train), str(patch), 9, classes, 3)
            ilsvrc2010.process_other_set(
                two, "valid", str(tmp_path / "ILSVRC2010_images_val.tar"), str(patch), [2, 0, 1], 9
            )
            for source in ("targets", "filenames"):
                numpy.testing.assert_array_equal(one[source][...], two[source][...])
            for mine, theirs in zip(one["encoded_images"], two["encoded_images"], strict=True):
                numpy.testing.assert_array_equal(mine, theirs)
    finally:
        push.close(0)
        pull.close(0)
        context.term()
