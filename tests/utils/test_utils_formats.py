"""Laws of opening compressed files and archives."""

from __future__ import annotations

import gzip
import io
import tarfile

import pytest

from fuel.utils.formats import open_, tar_open

TEXT = "première ligne\nzweite Zeile mit Ä\n"


@pytest.fixture(params=["text.txt", "text.txt.gz"])
def path(request, tmp_path):
    path = tmp_path / request.param
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(TEXT.encode("utf-8")))
    else:
        path.write_bytes(TEXT.encode("utf-8"))
    return path


def test_text_is_text_whether_compressed_or_not(path):
    for name in (str(path), path):
        with open_(name, encoding="utf-8") as file:
            assert list(file) == TEXT.splitlines(keepends=True)
    with open_(str(path), "rt", "utf-8") as file:
        assert file.read() == TEXT


def test_the_encoding_is_obeyed(path):
    with open_(str(path), encoding="latin-1") as file:
        assert file.read() == TEXT.encode("utf-8").decode("latin-1")
    with open_(str(path), encoding="ascii") as file, pytest.raises(UnicodeDecodeError):
        file.read()


def test_binary_is_binary(path):
    with open_(str(path), "rb") as file:
        assert file.read() == TEXT.encode("utf-8")
    with pytest.raises(ValueError):
        open_(str(path), "rb", encoding="utf-8")


def test_what_is_written_is_read_back(path):
    with open_(str(path), "w", encoding="utf-8") as file:
        file.write("neu: ß")
    with open_(str(path), encoding="utf-8") as file:
        assert file.read() == "neu: ß"


@pytest.fixture(params=["w", "w:gz"])
def archive(request, tmp_path):
    (tmp_path / "inner.txt").write_text("inside")
    path = tmp_path / "archive.tar"
    with tarfile.open(path, request.param) as tar:
        tar.add(tmp_path / "inner.txt", "inner.txt")
    return path


def test_archives_open_by_name_path_and_file(archive):
    with tar_open(str(archive)) as tar:
        assert tar.getnames() == ["inner.txt"]
    with tar_open(archive) as tar:
        assert tar.extractfile("inner.txt").read() == b"inside"
    with archive.open("rb") as file, tar_open(file) as tar:
        assert isinstance(tar, tarfile.TarFile)
        assert tar.getnames() == ["inner.txt"]


def test_extracting_stays_inside_and_warns_of_nothing(archive, tmp_path):
    target = tmp_path / "target"
    with tar_open(archive) as tar:
        tar.extractall(target)
    assert (target / "inner.txt").read_text() == "inside"


@pytest.mark.skipif(
    not hasattr(tarfile, "data_filter"), reason="this Python has no filters for extraction"
)
def test_an_archive_cannot_write_elsewhere(tmp_path):
    path = tmp_path / "bad.tar"
    with tarfile.open(path, "w") as tar:
        info = tarfile.TarInfo("../outside.txt")
        info.size = 3
        tar.addfile(info, io.BytesIO(b"bad"))
    (tmp_path / "target").mkdir()
    with tar_open(path) as tar, pytest.raises(tarfile.FilterError):
        tar.extractall(tmp_path / "target")
    assert not (tmp_path / "outside.txt").exists()


def test_what_is_not_an_archive_is_named(tmp_path):
    path = tmp_path / "page.tar"
    path.write_text("<html>404</html>")
    with pytest.raises(tarfile.ReadError, match=r"page\.tar is not a tar archive.*again"):
        tar_open(str(path))
    with path.open("rb") as file, pytest.raises(tarfile.ReadError, match=r"page\.tar"):
        tar_open(file)
    with pytest.raises(FileNotFoundError):
        tar_open(str(tmp_path / "missing.tar"))
