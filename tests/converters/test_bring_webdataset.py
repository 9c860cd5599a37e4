"""Tar archives of examples become sources; missing members and damage are named."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from pathlib import Path
from typing import Any

import numpy
import pytest

from fuel.converters.bring.webdataset import convert_webdataset
from fuel.datasets.hdf5 import H5PYDataset
from fuel.exceptions import StorageError


def archive(path: Path, members: list[tuple[str, bytes]], mode: Any = "w") -> None:
    with tarfile.open(path, mode) as tar:
        for name, data in members:
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))


def saved(values: Any) -> bytes:
    file = io.BytesIO()
    numpy.save(file, numpy.asarray(values))
    return file.getvalue()


def convert(folder: Path, *files: str, **options: Any) -> str:
    return convert_webdataset(
        str(folder), str(folder), "out.hdf5", files=files or ("a.tar",), **options
    )[0]


def everything(path: str, split: str = "all") -> dict[str, Any]:
    dataset = H5PYDataset(path, (split,), load_in_memory=True)
    data = dataset.get_data(request=slice(0, dataset.num_examples))
    return dict(zip(dataset.sources, data, strict=True))


def members(count: int) -> list[tuple[str, bytes]]:
    found = []
    for n in range(count):
        found += [
            (f"dir/{n:03}.jpg", b"\xff\xd8\xff%d" % n),
            (f"dir/{n:03}.cls", b"%d\n" % (n % 3)),
            (f"dir/{n:03}.json", b'{"n": %d}' % n),
            (f"dir/{n:03}.mask.png", b"\x89PNG%d" % n),
            (f"dir/{n:03}.v.npy", saved(numpy.full((n % 2 + 1, 2), n, "float32"))),
            (f"dir/{n:03}.txt", f"näme {n}".encode()),
        ]
    return found


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2"])
def test_extensions_become_sources(tmp_path: Path, mode: str) -> None:
    archive(tmp_path / "a.tar", members(5), mode)
    found = everything(convert(tmp_path))
    assert sorted(found) == ["cls", "jpg", "json", "key", "mask", "txt", "v"]
    assert found["cls"].tolist() == [0, 1, 2, 0, 1] and found["cls"].dtype == numpy.int64
    assert found["jpg"][4].tobytes() == b"\xff\xd8\xff4"
    assert found["v"][1].tolist() == [[1, 1], [1, 1]] and found["v"][0].dtype == numpy.float32
    assert found["txt"][2].decode() == "näme 2" and found["json"][3] == b'{"n": 3}'
    assert found["key"].tolist() == [b"dir/%03d" % n for n in range(5)]


def test_several_archives_and_splits(tmp_path: Path) -> None:
    archive(tmp_path / "a.tar", members(6))
    archive(tmp_path / "b.tar", [(f"other/{n}.cls", b"1") for n in range(3)])
    path = convert(tmp_path, "train=a.tar", "test=b.tar", extensions=["cls"])
    assert len(everything(path, "train")["cls"]) == 6 and len(everything(path, "test")["cls"]) == 3
    path = convert(tmp_path, split_by="cls", extensions=["cls", "txt"])
    assert everything(path, "2")["key"].tolist() == [b"dir/002", b"dir/005"]
    path = convert(tmp_path, split="a=0.5,b=0.5", stratify="cls")
    assert sorted(everything(path, "a")["cls"]) == [0, 1, 2]


def test_missing_members_are_named_or_their_examples_left_out(tmp_path: Path) -> None:
    some = members(4)
    del some[6 + 1]  # dir/001.cls
    archive(tmp_path / "a.tar", some)
    with pytest.raises(StorageError, match="example 'dir/001' of a.tar has no member cls, which"):
        convert(tmp_path)
    found = everything(convert(tmp_path, missing="drop"))
    assert found["key"].tolist() == [b"dir/000", b"dir/002", b"dir/003"]


@pytest.mark.parametrize(
    ("some", "said"),
    [
        ([("1.cls", b"x")], "member 'cls' of example '1' of a.tar is not a whole number"),
        ([("1.cls", b"9" * 30)], "is not a whole number: it does not fit"),
        ([("1.json", b"{")], "is not JSON"),
        ([("1.txt", b"\xff")], "is not text in UTF-8"),
        ([("1.npy", b"x")], "is no array that can be read"),
        ([("1.npy", saved([1, "a", 2][:1])), ("2.npy", saved([1.5]))], "but of int64 before"),
        ([("1.npy", saved([1])), ("2.npy", saved([[1]]))], "number of axes must be the same"),
        ([("readme", b"")], "member 'readme' of a.tar has no extension"),
        ([("1.cls", b"1"), ("1.cls", b"1")], "two members '1.cls'"),
        ([("1.cls", b"1"), ("2.cls", b"1"), ("1.txt", b"a")], "begins a second time"),
        ([], "has no examples"),
    ],
)
def test_what_is_wrong_is_told_and_leaves_nothing(
    tmp_path: Path, some: list[tuple[str, bytes]], said: str
) -> None:
    archive(tmp_path / "a.tar", some)
    with pytest.raises(StorageError, match=said):
        convert(tmp_path)
    assert os.listdir(tmp_path) == ["a.tar"]


class Bomb:
    def __reduce__(self) -> Any:
        return os.mkdir, ("exploded",)


def test_pickled_arrays_and_links_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    archive(tmp_path / "a.tar", [("1.npy", saved(numpy.array([Bomb()])))])
    with pytest.raises(StorageError, match="is no array that can be read"):
        convert(tmp_path)
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        link = tarfile.TarInfo("1.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    with pytest.raises(StorageError, match="is a link or a device"):
        convert(tmp_path)
    # A name that leads elsewhere is only a key: nothing is unpacked.
    archive(tmp_path / "a.tar", [("../../1.cls", b"1")])
    assert everything(convert(tmp_path))["key"].tolist() == [b"../../1"]
    assert sorted(os.listdir(tmp_path)) == ["a.tar", "out.hdf5"]


@pytest.mark.parametrize("compressed", [False, True])
def test_an_archive_that_is_cut_short_is_refused_wherever_it_ends(
    tmp_path: Path, compressed: bool
) -> None:
    archive(tmp_path / "a.tar", [(f"{n}.bin", os.urandom(600)) for n in range(4)])
    whole = (tmp_path / "a.tar").read_bytes()
    if compressed:
        whole = gzip.compress(whole)
    # Within a member, at the end of one, within a header.
    ends = [700, 1536, 1600, 2 * 1536, 2 * 1536 + 100, 4 * 1536]
    for end in [len(whole) * n // 9 for n in range(1, 9)] if compressed else ends:
        (tmp_path / "a.tar").write_bytes(whole[:end])
        with pytest.raises(StorageError, match=r"a\.tar .*(cut short|damaged)"):
            convert(tmp_path)
    for rubbish in (b"", b"no tar" * 200):
        (tmp_path / "a.tar").write_bytes(rubbish)
        with pytest.raises(StorageError, match=r"a\.tar"):
            convert(tmp_path)
