"""Folders of images become sources; damage, links out of the folder, and odd names."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy
import pytest
from PIL import Image

from fuel.converters.bring.images import convert_images
from fuel.datasets.hdf5 import H5PYDataset
from fuel.exceptions import ConfigurationError, StorageError


def encoded(seed: int = 0, kind: str = "PNG", size: tuple[int, int] = (9, 7)) -> bytes:
    pixels = numpy.random.default_rng(seed).integers(256, size=(size[1], size[0], 3), dtype="uint8")
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind)
    return file.getvalue()


def put(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two classes of odd names, a nested folder, and what systems leave behind."""
    root = tmp_path / "in" / "pets"
    for number, name in enumerate(("zebra fish/1.png", "zebra fish/deep/ü 2.jpg", "Äffchen/1.png")):
        put(root / name, encoded(number, "JPEG" if name.endswith("jpg") else "PNG"))
    put(root / "Äffchen" / ".hidden", b"x")
    put(root / "Äffchen" / "Thumbs.db", b"x")
    put(root / "readme.txt", b"about")
    (tmp_path / "out").mkdir()
    return root


def convert(root: Path, **options: Any) -> str:
    out = root.parent.parent / "out"
    return convert_images(str(root.parent), str(out), folder=root.name, **options)[0]


def everything(path: str, split: str = "all") -> dict[str, Any]:
    dataset = H5PYDataset(path, (split,), load_in_memory=True)
    data = dataset.get_data(request=slice(0, dataset.num_examples))
    return dict(zip(dataset.sources, data, strict=True))


def names(found: dict[str, Any]) -> list[str]:
    return [name.decode() for name in found["filenames"]]


def test_bytes_names_and_classes_are_kept(folder: Path) -> None:
    path = convert(folder)
    assert os.path.basename(path) == "pets.hdf5"
    found = everything(path)
    assert names(found) == ["zebra fish/1.png", "zebra fish/deep/ü 2.jpg", "Äffchen/1.png"]
    assert found["targets"].tolist() == [[0], [0], [1]]
    for name, data in zip(names(found), found["encoded_images"], strict=True):
        assert data.tobytes() == (folder / name).read_bytes()
    with h5py.File(path) as file:
        assert list(file["targets"].attrs["class_names"]) == ["zebra fish", "Äffchen"]
        noted = json.loads(file.attrs["fuel_images"])
    assert noted["files"] == 3 and noted["folder"] == "pets"


def test_decoding_to_a_size(folder: Path) -> None:
    put(folder / "Äffchen" / "1.png", encoded(5, size=(8, 6)))
    found = everything(convert(folder, size="8x6"))
    assert found["features"].shape == (3, 3, 6, 8) and found["features"].dtype == numpy.uint8
    exact = numpy.asarray(Image.open(folder / "Äffchen" / "1.png")).transpose(2, 0, 1)
    assert numpy.array_equal(found["features"][2], exact)
    path = convert(folder, size=(4, 4), gray=True, fit="pad")
    assert everything(path)["features"].shape == (3, 1, 4, 4)
    labels = H5PYDataset(path, ("all",)).axis_labels["features"]
    assert labels == ("batch", "channel", "height", "width")


def test_sixteen_bits_palettes_and_rotation(folder: Path) -> None:
    deep = Image.fromarray(numpy.full((6, 8), 0xABCD, numpy.uint16))
    deep.save(folder / "Äffchen" / "1.png")
    turned = Image.new("RGB", (6, 8), (255, 0, 0))
    tags = turned.getexif()
    tags[0x0112] = 6
    turned.save(folder / "zebra fish" / "1.png", exif=tags)
    Image.new("P", (8, 6), 3).save(folder / "zebra fish" / "p.gif")
    found = everything(convert(folder, size="8x6"))
    assert set(found["features"][3].reshape(-1)) == {0xAB}
    assert (found["features"][0][0] == 255).all()


def test_splits(folder: Path) -> None:
    for number in range(8):
        put(folder / "zebra fish" / f"n{number}.png", encoded())
        put(folder / "Äffchen" / f"n{number}.png", encoded())
    path = convert(folder, split="train=0.5,test=0.5", stratify="targets")
    assert numpy.bincount(everything(path, "train")["targets"][:, 0]).tolist() in ([5, 5], [5, 4])
    both = names(everything(path, "train")) + names(everything(path, "test"))
    assert len(set(both)) == len(both) == 19


def test_split_folders(folder: Path) -> None:
    top = folder.parent / "set"
    put(top / "train" / "b" / "1.png", encoded())
    put(top / "train" / "a" / "1.png", encoded())
    put(top / "test" / "b" / "1.png", encoded())
    path = convert(top, split_folders=True, split="train,test")
    assert everything(path, "train")["targets"].tolist() == [[0], [1]]
    assert everything(path, "test")["targets"].tolist() == [[1]]
    with pytest.raises(StorageError, match="names the split 'train', which is none of test"):
        convert(top, split_folders=True, split="test")


def test_labels_from_a_csv_file(folder: Path) -> None:
    table = folder.parent / "labels.csv"
    table.write_text("path,label,set\nzebra fish/1.png,b,x\nÄffchen/1.png,a,y\n", encoding="utf-8")
    path = convert(folder, labels="labels.csv", split_by="set")
    assert everything(path, "x")["targets"].tolist() == [[1]]
    assert names(everything(path, "y")) == ["Äffchen/1.png"]
    table.write_text("file,age\nzebra fish/1.png,3\nÄffchen/1.png,70\n", encoding="utf-8")
    assert everything(convert(folder, labels="labels.csv"))["targets"].tolist() == [[3], [70]]
    table.write_text("file,age\nzebra fish/1.png,3.5\n", encoding="utf-8")
    assert everything(convert(folder, labels="labels.csv"))["targets"].tolist() == [[3.5]]
    for line, said in (
        ("no.png,1", "line 2 of labels.csv names 'no.png', which is no file"),
        ("../labels.csv,1", "line 2 of labels.csv names '../labels.csv', which is not inside"),
        ("zebra fish/1.png,", "line 2 of labels.csv has no label"),
        ("zebra fish/1.png", "line 2 of labels.csv has 1 fields"),
    ):
        table.write_text(f"path,label\n{line}\n", encoding="utf-8")
        with pytest.raises(StorageError, match=said):
            convert(folder, labels="labels.csv")


@pytest.mark.parametrize("damage", ["cut.jpg", "cut.png", "text.png", "empty.jpg"])
def test_damaged_files_are_named_or_left_out(folder: Path, damage: str) -> None:
    kind = "JPEG" if damage.endswith("jpg") else "PNG"
    whole = encoded(kind=kind, size=(40, 40))
    data = {"cut": whole[: len(whole) // 2], "text": b"hello", "empty": b""}[damage.split(".")[0]]
    put(folder / "zebra fish" / damage, data)
    with pytest.raises(StorageError, match=f"{damage} cannot be read as an image"):
        convert(folder)
    assert os.listdir(folder.parent.parent / "out") == []
    with pytest.warns(UserWarning, match=f"1 files are left out: .*{damage}"):
        path = convert(folder, skip_damaged=True)
    assert names(everything(path)) == [
        "zebra fish/1.png",
        "zebra fish/deep/ü 2.jpg",
        "Äffchen/1.png",
    ]


def test_an_empty_class_keeps_its_number(folder: Path) -> None:
    (folder / "middle").mkdir()
    (folder / "a first").mkdir()
    with pytest.warns(UserWarning, match="the class folders a first, middle of pets hold no"):
        path = convert(folder)
    assert everything(path)["targets"].tolist() == [[2], [2], [3]]


def test_what_is_in_no_class_folder_is_refused(folder: Path) -> None:
    put(folder / "stray.PNG", encoded())
    with pytest.raises(StorageError, match="stray.PNG is in no class folder"):
        convert(folder)
    (folder.parent / "bare").mkdir()
    with pytest.raises(StorageError, match="bare holds no class folders"):
        convert(folder.parent / "bare")
    with pytest.raises(StorageError, match="bare holds no folders to be splits"):
        convert(folder.parent / "bare", split_folders=True)
    with pytest.raises(StorageError, match="nowhere does not exist"):
        convert(folder.parent / "nowhere")
    with pytest.raises(ConfigurationError, match="such as 64x48, got '64'"):
        convert(folder, size="64")
    with pytest.raises(ConfigurationError, match="--gray needs --size"):
        convert(folder, gray=True)


@pytest.mark.skipif(sys.platform == "win32", reason="making links needs privileges on Windows")
def test_links_that_leave_the_folder_are_refused(folder: Path) -> None:
    outside = folder.parent / "secret.png"
    put(outside, encoded())
    link = folder / "Äffchen" / "2.png"
    for target, said in (
        (outside, "outside of"),
        (outside.parent, "outside of"),
        (folder / "zebra fish", "could lead round in a circle"),
        (folder / "gone", "link to nothing"),
    ):
        link.symlink_to(target)
        with pytest.raises(StorageError, match=f"2.png is a link to .*{said}|{said}"):
            convert(folder)
        link.unlink()
    link.symlink_to(folder / "zebra fish" / "1.png")
    assert len(names(everything(convert(folder)))) == 4
    os.mkfifo(folder / "Äffchen" / "pipe")
    with pytest.raises(StorageError, match="pipe is no file but a pipe"):
        convert(folder)
