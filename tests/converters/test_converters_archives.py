"""Archives are read without extracting them, and nothing in them is believed."""

from __future__ import annotations

import gzip
import io
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from fuel.converters._archives import members
from fuel.converters._raw import open_raw
from fuel.exceptions import StorageError

ADVICE = "get it again with `fuel-download x`"

FILES = {"a/one.bin": b"1" * 700, "a/empty": b"", "two": bytes(range(256)) * 4, "last": b"\0" * 512}


def tar_bytes(files: dict[str, bytes], *infos: tarfile.TarInfo) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        folder = tarfile.TarInfo("./a")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        for info in infos:
            archive.addfile(info)
    return out.getvalue()


def zip_bytes(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/", b"")
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


MAKERS: dict[str, Callable[[dict[str, bytes]], bytes]] = {
    "tar": tar_bytes,
    "tar.gz": lambda files: gzip.compress(tar_bytes(files)),
    "zip": zip_bytes,
}


@pytest.fixture(params=list(MAKERS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def write(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "archive.bin"
    path.write_bytes(content)
    return path


def test_files_come_in_order_whatever_the_kind(kind: str, tmp_path: Path) -> None:
    path = write(tmp_path, MAKERS[kind](FILES))
    assert [(one.name, one.size, one.read()) for one in members(path, ADVICE)] == [
        (name, len(content), content) for name, content in FILES.items()
    ]
    # Nothing need be read, nor all of it.
    assert [one.name for one in members(path, ADVICE)] == list(FILES)
    assert [one.file.read(5) for one in members(path, ADVICE)] == [
        content[:5] for content in FILES.values()
    ]
    assert os.listdir(tmp_path) == ["archive.bin"]


def test_an_archive_in_an_archive_is_read_through(kind: str, tmp_path: Path) -> None:
    inner = {"inner.tar": tar_bytes(FILES), "inner.tgz": gzip.compress(tar_bytes(FILES))}
    path = write(tmp_path, MAKERS[kind](inner))
    for member in members(path, ADVICE):
        found = {one.name: one.read() for one in members(member.file, ADVICE, name=member.name)}
        assert found == FILES


def test_a_member_compressed_by_itself_is_decompressed(kind: str, tmp_path: Path) -> None:
    path = write(tmp_path, MAKERS[kind]({"x.gz": gzip.compress(b"hello" * 1000)}))
    for member in members(path, ADVICE):
        assert open_raw(member.file, ADVICE).read() == b"hello" * 1000


def test_every_cut_is_noticed(kind: str, tmp_path: Path) -> None:
    content = MAKERS[kind](FILES)
    # The end of a tar archive is padded to 10 KiB; only its first block of zeros matters.
    end = 512 * (1 + 2 + 1 + 3 + 2) if kind == "tar" else len(content) - 1
    for stop in {0, 1, 100, 512, 600, 1024, 1500, 2048, 2600, end - 512, end - 1, end}:
        if 0 <= stop < (len(content) if kind != "tar" else end + 1):
            path = write(tmp_path, content[:stop])
            with pytest.raises(StorageError, match=r"archive\.bin.*fuel-download x"):
                for member in members(path, ADVICE):
                    member.read()
            with pytest.raises(StorageError, match=r"archive\.bin"):
                list(members(path, ADVICE))


def test_flipped_bits_in_compressed_archives_are_noticed(tmp_path: Path) -> None:
    for kind in ("tar.gz", "zip"):
        content = bytearray(MAKERS[kind]({"x": os.urandom(5000)}))
        content[2500] ^= 255
        with pytest.raises(StorageError, match=r"archive\.bin.*(damaged|cut short)"):
            for member in members(write(tmp_path, bytes(content)), ADVICE):
                member.read()


def test_a_damaged_header_is_not_the_end(tmp_path: Path) -> None:
    content = bytearray(tar_bytes({"x": b"1", "y": b"2"}))
    content[3 * 512] ^= 1  # the name of the second file, which the checksum covers
    with pytest.raises(StorageError, match=r"archive\.bin: the archive is damaged .*at byte 1536"):
        list(members(write(tmp_path, bytes(content)), ADVICE))


@pytest.mark.parametrize("content", [b"", b"<!DOCTYPE html><html>Not found", b"\x89HDF\r\n" * 200])
def test_what_is_no_archive_is_said_to_be_none(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"not a tar or zip archive|cut short") as caught:
        list(members(write(tmp_path, content), ADVICE))
    if b"html" in content:
        assert "<!DOCTYPE" in str(caught.value)
    with pytest.raises(StorageError, match=r"archive\.bin"):
        list(members(write(tmp_path, gzip.compress(content)), ADVICE))


@pytest.mark.parametrize(
    "name", ["/etc/x", "../x", "a/../../x", "..", "C:/x", "c:x", "..\\x", "\\x", "a\\..\\..\\x"]
)
def test_names_that_lead_out_are_refused(kind: str, name: str, tmp_path: Path) -> None:
    path = write(tmp_path, MAKERS[kind]({name: b"evil"}))
    with pytest.raises(StorageError, match=r"leads out of the directory"):
        list(members(path, ADVICE))


@pytest.mark.parametrize(
    "kind_of",
    [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE],
)
def test_links_and_devices_are_refused(kind_of: bytes, tmp_path: Path) -> None:
    info = tarfile.TarInfo("x")
    info.type, info.linkname = kind_of, "/etc/passwd"
    with pytest.raises(StorageError, match=r"'x' in it is a .* not accepted"):
        list(members(write(tmp_path, tar_bytes({}, info)), ADVICE))


def test_a_sparse_file_is_refused(tmp_path: Path) -> None:
    info = tarfile.TarInfo("x")
    info.pax_headers = {
        "GNU.sparse.major": "0",
        "GNU.sparse.minor": "1",
        "GNU.sparse.map": "0,0",
        "GNU.sparse.size": str(1 << 60),
    }
    with pytest.raises(StorageError, match="sparse|more than"):
        list(members(write(tmp_path, tar_bytes({}, info)), ADVICE))


def test_a_link_or_a_secret_in_a_zip_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "archive.bin"
    with zipfile.ZipFile(path, "w") as archive:
        info = zipfile.ZipInfo("x")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(StorageError, match="a link or a device"):
        list(members(path, ADVICE))
    content = bytearray(zip_bytes({"x": b"1"}))
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.rindex(mark) + place] |= 1
    with pytest.raises(StorageError, match="encrypted"):
        list(members(write(tmp_path, bytes(content)), ADVICE))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("x", b"1")
    with pytest.raises(StorageError, match=r"a method \(14\)"):
        list(members(path, ADVICE))


def test_bombs_are_refused_with_the_limit(kind: str, tmp_path: Path) -> None:
    path = write(tmp_path, MAKERS[kind]({"a": b"\0" * 200_000, "b": b"\0" * 200_000}))
    assert path.stat().st_size < 4000 or kind == "tar"
    with pytest.raises(StorageError, match=r"200000 bytes, more than the 100000"):
        list(members(path, ADVICE, max_member_bytes=100_000))
    if kind != "tar":
        with pytest.raises(StorageError, match=r"300000"):
            list(members(path, ADVICE, max_total_bytes=300_000))


def test_a_header_that_claims_gigabytes_allocates_nothing(tmp_path: Path) -> None:
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 1 << 34
    header = info.tobuf(tarfile.GNU_FORMAT)
    for content in (header, gzip.compress(header + b"\0" * 5_000_000)):
        with pytest.raises(StorageError, match=r"a header of it claims 17179869184 bytes"):
            list(members(write(tmp_path, content), ADVICE))


def test_a_size_that_a_zip_archive_hides_does_not_get_past_the_limit(tmp_path: Path) -> None:
    content = bytearray(zip_bytes({"x": b"\0" * 100_000}))
    for mark, place in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        start = content.rindex(mark) + place
        content[start : start + 4] = (100).to_bytes(4, "little")
    with pytest.raises(StorageError, match="damaged"):
        for member in members(write(tmp_path, bytes(content)), ADVICE, max_member_bytes=1000):
            member.read()


def test_a_gzip_archive_goes_back_by_a_byte_without_beginning_again(tmp_path: Path) -> None:
    # Whole blocks: the reader of tar goes back one byte to see whether there are so many.
    files = {str(number): bytes([number]) * 512 * 300 for number in range(20)}
    path = write(tmp_path, gzip.compress(tar_bytes(files)))
    found = {}
    for member in members(path, ADVICE):
        found[member.name] = member.read()
        with pytest.raises(OSError, match="forwards only"):
            member.file.seek(0)
    assert found == files


def test_the_limit_of_a_single_file_is_said() -> None:
    packed = io.BytesIO(gzip.compress(b"\0" * 10_000_000))
    stream = open_raw(packed, ADVICE, name="x.gz", max_bytes=1_000_000)
    with pytest.raises(StorageError, match=r"x\.gz: it unpacks to more than 1000000 bytes"):
        stream.seek(9_000_000)
    assert stream.tell() < 3_000_000
    stream.close()
    assert packed.closed
