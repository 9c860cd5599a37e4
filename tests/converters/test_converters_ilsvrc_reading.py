"""The archives of ILSVRC: orders, patches, numbering, damage; and reading ahead of the writer."""

from __future__ import annotations

import gzip
import io
import tarfile
import threading
import zlib

import h5py
import numpy
import pytest
import scipy.io
from PIL import Image

from fuel.converters import _imagenet_archives as archives
from fuel.converters import _imagenet_devkit as devkit
from fuel.converters import _imagenet_writing as writing
from fuel.converters import ilsvrc2010
from fuel.exceptions import StorageError

ADVICE = "get it again"
CLASSES = {"n00000001": 0, "n00000002": 1}


def picture(shade, kind="JPEG"):
    out = io.BytesIO()
    Image.new("RGB", (9, 7), (shade, 0, 0)).save(out, kind)
    return out.getvalue()


def tar_bytes(members, mode="w"):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as tar:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def file(members, mode="w"):
    return io.BytesIO(tar_bytes(members, mode))


def others(archive, labels=None, patches=None, names=None):
    replaced = archives.Patches(patches or {}, "patches.tar")
    return list(archives.other_pictures(archive, replaced, labels, ADVICE, names))


def train(archive, patches=None, counts=None):
    replaced = archives.Patches(patches or {}, "patches.tar")
    return list(archives.train_pictures(archive, replaced, CLASSES, ADVICE, counts))


# A tar archive in which the pictures are in no order.
def test_places_are_those_of_the_names_whatever_the_order_of_the_archive():
    names = ["b.JPEG", "c.JPEG", "a.JPEG"]
    found = others(file([(name, picture(place)) for place, name in enumerate(names)]), [5, 6, 7])
    assert [(one.name, one.place, one.label) for one in found] == [
        ("b.JPEG", 1, 6),
        ("c.JPEG", 2, 7),
        ("a.JPEG", 0, 5),
    ]


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_places_go_on_from_class_to_class(mode):
    inner = {
        "n00000002.tar": tar_bytes([("z.JPEG", picture(1)), ("y.JPEG", picture(2))]),
        "n00000001.tar": tar_bytes([("x.JPEG", picture(3))]),
    }
    found = train(file(inner.items(), mode), counts={"n00000001": 1, "n00000002": 2})
    assert [(one.name, one.place, one.label) for one in found] == [
        ("z.JPEG", 1, 1),
        ("y.JPEG", 0, 1),
        ("x.JPEG", 2, 0),
    ]


def test_the_count_of_each_class_is_that_of_the_kit():
    inner = tar_bytes([("x.JPEG", picture(3))])
    with pytest.raises(StorageError, match=r"n00000001\.tar in .*has 1 pictures, .*counts 2"):
        train(file([("n00000001.tar", inner)]), counts={"n00000001": 2})


def test_pictures_come_as_they_are_or_out_of_gzip_or_out_of_the_patches():
    one, png, other = picture(1), picture(2, "PNG"), picture(3)
    archive = file(
        [("a.JPEG", one), ("b.JPEG", gzip.compress(one)), ("c.JPEG", png), ("d.JPEG", b"broken")]
    )
    assert [p.content for p in others(archive, patches={"d.JPEG": other})] == [one, one, png, other]


def test_an_open_file_stays_open_and_can_be_read_again():
    archive = file([("a.JPEG", picture(1))])
    assert others(archive) == others(archive)
    assert not archive.closed


NO_PICTURES = {
    "text": (b"hello", "it is no JPEG file: it begins with b'hello'"),
    "empty": (b"", "it is no JPEG file: it is empty"),
    "GIF": (picture(1, "GIF"), "it is no JPEG file: it begins with b'GIF"),
    "a JPEG without its header": (picture(1)[:30], "it is a damaged JPEG file"),
    "half a gzip": (gzip.compress(picture(1))[:60], "compressed with gzip and cut short"),
    "a broken gzip": (b"\x1f\x8b\x08" + bytes(9) + b"\xff" * 30, "with gzip and damaged"),
    "text in gzip": (gzip.compress(b"hello"), "it is no JPEG file"),
}


@pytest.mark.parametrize("case", NO_PICTURES)
def test_what_is_no_picture_is_named(case, tmp_path):
    content, fact = NO_PICTURES[case]
    path = tmp_path / "val.tar"
    path.write_bytes(tar_bytes([("val/a.JPEG", picture(1)), ("val/b.JPEG", content)]))
    with pytest.raises(StorageError) as caught:
        others(path)
    assert str(caught.value).startswith(f"val/b.JPEG in {path}: ")
    assert fact in str(caught.value) and str(caught.value).endswith("; get it again")


def test_what_unpacks_without_end_is_not_unpacked(monkeypatch):
    monkeypatch.setattr(archives, "MAX_PICTURE_BYTES", 10_000)
    packer = zlib.compressobj(9, wbits=31)
    bomb = packer.compress(picture(1) + bytes(1_000_000)) + packer.flush()
    assert len(bomb) < 10_000
    with pytest.raises(StorageError, match="unpacks to more than 10000 bytes"):
        archives.check_picture(bomb, "a.JPEG", ADVICE)


# Python's own reader takes an archive that ends between two members for a whole one.
def test_an_archive_that_ends_between_two_members_is_cut_short(tmp_path):
    path = tmp_path / "val.tar"
    whole = tar_bytes([("a.JPEG", picture(1)), ("b.JPEG", picture(2))])
    second = whole.index(b"b.JPEG")
    path.write_bytes(whole[:second])
    with tarfile.open(path) as tar:
        assert tar.getnames() == ["a.JPEG"]
    with pytest.raises(StorageError, match=r"val\.tar: the archive is cut short"):
        archives.names_in(path, ADVICE)


def test_the_numbers_in_the_names_have_no_gaps():
    def named(*numbers):
        return [f"val/ILSVRC2012_val_{number:08}.JPEG" for number in numbers]

    archives.check_numbers("val.tar", named(3, 1, 2), 3, ADVICE)
    archives.check_numbers("val.tar", ["b.JPEG", "7.JPEG"], 2, ADVICE)
    with pytest.raises(StorageError, match=r"val\.tar: picture 2 of 3 is missing"):
        archives.check_numbers("val.tar", named(1, 3, 4), 3, ADVICE)
    with pytest.raises(StorageError, match="extra is not named|extra in it is not named"):
        archives.check_numbers("val.tar", [*named(1, 2), "extra"], 3, ADVICE)
    with pytest.raises(StorageError, match="3 pictures, and the ground truth has 2 entries"):
        archives.check_numbers("val.tar", named(1, 2, 3), 2, ADVICE)


def test_names_and_classes_are_there_once():
    with pytest.raises(StorageError, match=r"two files called a\.JPEG"):
        archives.names_in(file([("a.JPEG", b"1"), ("a.JPEG", b"2")]), ADVICE)
    empty = tar_bytes([])
    counts = {"n00000001": 1, "n00000002": 1}
    twice = [("n00000001.tar", empty), ("x/n00000001.tar", empty), ("n00000002.tar", empty)]
    for members, fact in (
        (twice, "two archives of the class n00000001"),
        (twice[:1], r"it lacks n00000002\.tar, of 2 classes"),
        ([("n00000001.JPEG", b"")], r"a tar archive for each class, but has n00000001\.JPEG"),
    ):
        with pytest.raises(StorageError, match=fact):
            archives.check_classes(file(members), CLASSES, counts, ADVICE)
    # Of a group of classes there are no pictures, and no archive.
    archives.check_classes(file(twice[:1]), CLASSES, {"n00000001": 1, "n00000002": 0}, ADVICE)


def test_patches_belong_to_sets_and_all_are_used():
    one, two = picture(1), picture(2)
    archive = file(
        [("p/train/a.JPEG", one), ("p/val/b.JPEG", gzip.compress(two)), ("p/readme.txt", b"?")]
    )
    found = archives.Patches.for_all(archive, ADVICE)
    assert found["train"].take("a.JPEG") == one
    assert found["valid"].take("b.JPEG") == two
    assert found["test"].take("a.JPEG") is None
    for patches in found.values():
        patches.check_used()
    with pytest.raises(StorageError, match="not all patch images were used: a.JPEG") as caught:
        others(file([("b.JPEG", one)]), patches={"a.JPEG": one})
    assert isinstance(caught.value, ValueError)
    with pytest.raises(StorageError, match=r"p/a\.JPEG in it should be in one of the folders"):
        archives.Patches.for_all(file([("p/a.JPEG", one)]), ADVICE)


def synsets(**columns):
    count = len(columns.get("WNID", CLASSES))
    values = {
        "ILSVRC2010_ID": [1.0, 2.0],
        "WNID": list(CLASSES),
        "words": ["cat", ""],
        "gloss": ["a pet, whose café is known", "?"],
        "num_children": [0.0, 0.0],
        "children": [numpy.empty(0), numpy.array([200.0])],
        "wordnet_height": [0.0, 1.0],
        "num_train_images": [3.0, 3047.0],
        **columns,
    }
    table = numpy.zeros(count, dtype=[(name, "O") for name in values])
    for name, column in values.items():
        for place, value in enumerate(column):
            table[name][place] = value
    return table


def mat(**variables):
    out = io.BytesIO()
    scipy.io.savemat(out, variables)
    out.seek(0)
    return out


def test_the_table_of_synsets():
    found, cost = ilsvrc2010.read_metadata_mat_file(
        mat(synsets=synsets(), cost_matrix=numpy.eye(2))
    )
    assert {name: found.dtype[name].base.str for name in found.dtype.names} == {
        "ILSVRC2010_ID": "<i2",
        "WNID": "|S9",
        "words": "|S3",
        "gloss": "|S27",
        "num_children": "|i1",
        "children": "<i2",
        "wordnet_height": "|i1",
        "num_train_images": "<i2",
    }
    assert found["words"].tolist() == [b"cat", b""]
    assert found["children"].tolist() == [[-1], [200]]
    assert cost.shape == (2, 2)
    (only,), _ = ilsvrc2010.read_metadata_mat_file(
        mat(synsets=synsets()[:1], cost_matrix=numpy.eye(1))
    )
    assert only["WNID"] == b"n00000001"


DAMAGED = {
    "a number that is none": (synsets(num_train_images=["x", 2.0]), "a whole number is needed"),
    "a part of a number": (synsets(wordnet_height=[0.5, 1.0]), "a whole number is needed"),
    "a number too large": (synsets(children=[[40000.0], []]), "the number 40000 is too large"),
    "a negative count": (synsets(num_train_images=[-1.0, 2.0]), "is negative"),
    "an ID twice": (synsets(ILSVRC2010_ID=[2.0, 2.0]), "ILSVRC2010_ID 2 occurs twice"),
    "an ID of zero": (synsets(ILSVRC2010_ID=[0.0, 1.0]), "ILSVRC2010_ID 0 in it is not positive"),
    "a long WNID": (synsets(WNID=["n000000012", "n2"]), "a text of 1 to 9 bytes is needed"),
    "no structure": (numpy.zeros(3), "lack ILSVRC2010_ID, WNID"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_a_table_that_is_not_as_published_is_told(case):
    table, fact = DAMAGED[case]
    with pytest.raises(StorageError, match=fact):
        ilsvrc2010.read_metadata_mat_file(mat(synsets=table, cost_matrix=numpy.eye(2)))


def test_other_files_are_no_tables(tmp_path):
    (tmp_path / "meta.mat").write_bytes(b"<html>" * 100)
    with pytest.raises(StorageError, match=r"meta\.mat: it is no MATLAB file"):
        ilsvrc2010.read_metadata_mat_file(str(tmp_path / "meta.mat"))
    with pytest.raises(FileNotFoundError):
        ilsvrc2010.read_metadata_mat_file(str(tmp_path / "nothing.mat"))
    with pytest.raises(StorageError, match="lacks `cost_matrix`"):
        ilsvrc2010.read_metadata_mat_file(mat(synsets=synsets()))


def test_ground_truth_names_classes_only():
    assert devkit.parse_ground_truth(b"2\n\n1\r\n", "x.txt", ADVICE).tolist() == [2, 1]
    with pytest.raises(StorageError, match=r"x\.txt: line 2 should be the number of a class"):
        devkit.parse_ground_truth(b"2\n-1\n", "x.txt", ADVICE)
    # Numbers and rows need not agree, and 1001 is a group of classes.
    assert devkit.labels_of([7, 3, 1001], [3, 7, 3], "x.txt").tolist() == [1, 0, 1]
    with pytest.raises(StorageError, match="entry 2 is 1001, which is not the number of a class"):
        devkit.labels_of([7, 3, 1001], [3, 1001], "x.txt")


def some(count, size=100):
    return [archives.Picture(n, f"{n}.JPEG", n, bytes([n]) * size) for n in range(count)]


def test_reading_ahead_keeps_the_order_and_its_limit():
    produced, taken, most = [], 0, 0

    def pictures():
        for one in some(30):
            produced.append(one)
            yield one

    with writing.read_ahead(pictures(), max_bytes=350) as ahead:
        for number, one in enumerate(ahead):
            assert one.place == number
            taken += 1
            most = max(most, len(produced) - taken)
    assert taken == 30
    assert most <= 5  # four that wait, and the one that is being made


def test_an_error_in_the_thread_comes_after_what_was_before_it():
    def pictures():
        yield from some(2)
        raise StorageError("the third is damaged")

    taken = []
    with pytest.raises(StorageError, match="the third"):
        with writing.read_ahead(pictures()) as ahead:
            taken.extend(one.place for one in ahead)
    assert taken == [0, 1]


def test_the_thread_ends_when_the_writer_fails():
    closed = threading.Event()

    def pictures():
        try:
            while True:
                yield from some(10)
        finally:
            closed.set()

    with pytest.raises(ZeroDivisionError):
        with writing.read_ahead(pictures(), max_bytes=100) as ahead:
            next(ahead)
            raise ZeroDivisionError
    assert closed.is_set()
    assert not [one for one in threading.enumerate() if one.name == "fuel-reading"]


@pytest.mark.parametrize("count, fact", [(4, "4 pictures instead of 5"), (6, "more .* than the 5")])
def test_there_are_as_many_pictures_as_rows(tmp_path, count, fact):
    splits = writing.create_splits(5, 0, 0, True)
    sections = [writing.Section(lambda: iter(some(count)), 5, 1)]
    with pytest.raises(StorageError, match=fact.replace("more .* than", "more pictures than")):
        writing.convert(str(tmp_path / "x.hdf5"), "x", splits, sections, ())
    assert not list(tmp_path.iterdir())


def test_rows_in_many_blocks_are_those_of_the_permutation(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "_BLOCK_PICTURES", 7)
    splits = writing.create_splits(40, 3, 0, True)
    sections = [
        writing.Section(lambda: iter(reversed(some(40, 20))), 40, 9),
        writing.Section(lambda: iter(some(3, 20)), 3),
    ]
    writing.convert(str(tmp_path / "x.hdf5"), "x", splits, sections, ())
    order = numpy.random.RandomState(9).permutation(40)
    with h5py.File(tmp_path / "x.hdf5") as h5file:
        for place, row in [*enumerate(order.tolist()), (0, 40), (1, 41), (2, 42)]:
            assert h5file["targets"][row, 0] == place
            assert h5file["filenames"][row, 0] == f"{place}.JPEG".encode()
            assert bytes(h5file["encoded_images"][row]) == bytes([place]) * 20


def test_a_disk_that_is_too_small_is_told_at_once(tmp_path, monkeypatch):
    (tmp_path / "raw.tar").write_bytes(bytes(5000))
    usage = type("Usage", (), {"free": 1234})
    monkeypatch.setattr(writing.shutil, "disk_usage", lambda folder: usage)
    with pytest.raises(StorageError, match="about 5,000 bytes, .* 1,234 bytes are free"):
        writing.convert(str(tmp_path / "x.hdf5"), "x", {}, (), (str(tmp_path / "raw.tar"),))


def test_a_name_fits():
    assert writing.encoded_name("ILSVRC2010_test_00000001.JPEG") == b"ILSVRC2010_test_00000001.JPEG"
    with pytest.raises(StorageError, match="at most 32 characters of ASCII, got 'n{33}'"):
        writing.encoded_name("n" * 33)
