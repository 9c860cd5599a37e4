"""Mirrors, addresses of the user, several files at a time, rehearsals, and full disks."""

from __future__ import annotations

import _thread
import errno
import hashlib
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests

from fuel.downloaders import _part, base
from fuel.downloaders._part import PartFile
from fuel.downloaders._settings import Rehearsed, Run, Settings, Stopped, using
from fuel.downloaders._several import in_threads
from fuel.exceptions import NeedURLPrefix, StorageError
from fuel.manifests import DataFile

CONTENT = bytes(range(256)) * 40
OTHER = CONTENT[::-1]
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def sends(body: bytes) -> Callable[[Any], None]:
    date = "Wed, 21 Oct 2015 07:28:00 GMT"
    return lambda handler: handler.whole(body, ETag='"v"', Last_Modified=date)


def fails(status: int) -> Callable[[Any], None]:
    return lambda handler: handler.answer(status, b"<html>sorry</html>")


def breaks_off(handler: Any) -> None:
    date = "Wed, 21 Oct 2015 07:28:00 GMT"
    handler.answer(200, CONTENT[:3000], length=len(CONTENT), ETag='"v"', Last_Modified=date)


@pytest.fixture
def know(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """`know(url, mirrors=...)`: have a manifest that knows a file."""
    files: dict[str, DataFile] = {}
    monkeypatch.setattr("fuel.downloaders._addresses.file_at", files.get)

    def add(url: str, **facts: Any) -> None:
        files[url] = DataFile("x.bin", url, **facts)

    return add


def fetch(directory: Path, url: str | None, **settings: Any) -> bytes:
    with using(Settings(**settings)):
        base.default_downloader(str(directory), [url], ["x.bin"])
    return (directory / "x.bin").read_bytes()


def paths(web: Any) -> list[str]:
    return [path for path, _ in web.asked]


def test_mirrors_are_tried_in_their_order(web: Any, know: Any, tmp_path: Path) -> None:
    first = web.serve("/dead", fails(404))
    mirrors = (
        web.serve("/page", lambda h: h.answer(200, b"<html>moved</html>")),
        web.serve("/other", sends(OTHER)),
        web.serve("/good", sends(CONTENT)),
        web.serve("/never", sends(CONTENT)),
    )
    know(first, mirrors=mirrors, size=len(CONTENT), sha256=SHA256)
    assert fetch(tmp_path, first) == CONTENT
    assert paths(web) == ["/dead", "/page", "/other", "/good"]
    assert os.listdir(tmp_path) == ["x.bin"]


def test_when_no_mirror_helps_each_reason_is_told(web: Any, know: Any, tmp_path: Path) -> None:
    first = web.serve("/dead", fails(404))
    know(first, mirrors=(web.serve("/other", sends(OTHER)),), sha256=SHA256)
    with pytest.raises(StorageError, match="none of its 2 addresses") as caught:
        fetch(tmp_path, first)
    assert isinstance(caught.value, requests.exceptions.RequestException)
    assert caught.value.response is not None and caught.value.response.status_code == 404
    assert "answered 404" in str(caught.value) and "SHA-256" in str(caught.value)
    assert os.listdir(tmp_path) == []


def test_hosts_and_files_that_fail_alike_are_told_together(
    impatient: None, know: Any, tmp_path: Path
) -> None:
    names = ["a", "b"]
    for name in names:
        know(f"http://127.0.0.1:1/{name}", mirrors=(f"http://127.0.0.1:2/{name}",))
    with pytest.raises(StorageError) as caught:
        base.default_downloader(
            str(tmp_path), [f"http://127.0.0.1:1/{name}" for name in names], names
        )
    lines = str(caught.value).splitlines()
    assert lines[0] == "2 of 2 files could not be downloaded:"
    assert lines[1].startswith("  a, b: no connection to 127.0.0.1:1, 127.0.0.1:2: nothing listens")
    assert len(lines) == 2


def test_a_mirror_goes_on_where_another_broke_off_if_a_checksum_watches(
    web: Any, know: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fuel.downloaders._transfer.RETRY_DELAYS_S", ())
    first = web.serve("/dies", breaks_off)
    mirror = web.serve("/good", lambda h: h.whole(CONTENT, ETag='"theirs"'))
    know(first, mirrors=(mirror,), sha256=SHA256)
    assert fetch(tmp_path, first) == CONTENT
    assert web.asked[-1][1]["range"] == "bytes=3000-"
    assert "if-range" not in web.asked[-1][1]


def test_without_a_checksum_two_mirrors_are_never_joined(
    web: Any, know: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fuel.downloaders._transfer.RETRY_DELAYS_S", ())
    first = web.serve("/dies", breaks_off)
    know(first, mirrors=(web.serve("/good", sends(OTHER)),), size=len(CONTENT))
    assert fetch(tmp_path, first) == OTHER
    assert "range" not in web.asked[-1][1]


@pytest.mark.parametrize("named", [True, False])
def test_the_users_address_takes_the_place_of_the_known_ones_and_is_verified(
    web: Any, know: Any, tmp_path: Path, named: bool
) -> None:
    known = web.serve("/known", sends(CONTENT))
    know(known, mirrors=(known,), size=len(CONTENT), sha256=SHA256)
    good, bad = web.serve("/mine?x=y", sends(CONTENT)), web.serve("/bad", sends(OTHER))
    name = "x.bin" if named else None
    assert fetch(tmp_path, known, addresses=((name, bad), (name, good))) == CONTENT
    assert paths(web) == ["/bad", "/mine?x=y"]
    os.remove(tmp_path / "x.bin")
    with pytest.raises(StorageError, match="not the expected file"):
        fetch(tmp_path, known, addresses=((name, bad),))


def test_the_users_addresses_find_their_files(web: Any, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        web.serve(f"/dir/{name}", sends(name.encode()))
    here = web.url + "/dir/"
    for addresses in (((None, here),), ((None, here + "b"), ("c", here + "c"), ("a", here + "a"))):
        with using(Settings(addresses=addresses)):
            base.default_downloader(str(tmp_path), [None, None, None], ["a", "b", "c"])
        for name in ("a", "b", "c"):
            assert (tmp_path / name).read_bytes() == name.encode()
            os.remove(tmp_path / name)


@pytest.mark.parametrize(
    "address, message",
    [
        ((None, "https://x.invalid/z"), "which of the files is at https://x.invalid/z"),
        (("z", "https://x.invalid/a"), "there is no file 'z' in this data set; its files are a, b"),
    ],
)
def test_an_address_for_nothing_is_refused_before_anything_is_done(
    tmp_path: Path, address: Any, message: str
) -> None:
    with using(Settings(addresses=(address,))), pytest.raises(ValueError, match=message):
        base.default_downloader(str(tmp_path / "d"), ["http://x.invalid/a"] * 2, ["a", "b"])
    with using(Settings(addresses=(("a", "https://x.invalid/a"),))):
        with pytest.raises(NeedURLPrefix, match="known for b;"):
            base.default_downloader(str(tmp_path / "d"), [None, None], ["a", "b"])
    assert os.listdir(tmp_path) == []


def test_files_are_fetched_at_the_same_time(web: Any, tmp_path: Path) -> None:
    meeting = threading.Barrier(3, timeout=60)  # nobody is answered before three have asked

    def together(handler: Any) -> None:
        meeting.wait()
        handler.answer(200, handler.path.encode())

    names = ["a", "b", "c"]
    urls = [web.serve(f"/{name}", together) for name in names]
    with using(Settings(jobs=3)):
        base.default_downloader(str(tmp_path), urls, names)
    assert [(tmp_path / name).read_text() for name in names] == ["/a", "/b", "/c"]


def test_an_interruption_of_the_caller_ends_what_waits_in_threads() -> None:
    run = Run(several=True)
    ended = threading.Event()

    def wait() -> None:
        try:
            run.wait(60)
        except Stopped:
            ended.set()
            raise

    with pytest.raises(KeyboardInterrupt):
        in_threads([wait, _thread.interrupt_main, wait], 2, run)
    assert ended.is_set()
    with pytest.raises(Stopped):
        run.check()


@pytest.mark.parametrize("jobs", [1, 2, 16])
def test_files_that_fail_are_named_and_the_others_are_finished(
    web: Any, tmp_path: Path, jobs: int
) -> None:
    pages = {"a": fails(404), "b": sends(CONTENT), "c": breaks_off, "d": sends(OTHER)}
    urls = [web.serve(f"/{name}", behaviour) for name, behaviour in pages.items()]
    with using(Settings(jobs=jobs)), pytest.raises(StorageError) as caught:
        base.default_downloader(str(tmp_path), urls, list(pages))
    assert isinstance(caught.value, requests.exceptions.RequestException)
    told = str(caught.value)
    assert told.startswith("2 of 4 files could not be downloaded:\n  a: ")
    assert "answered 404" in told and "\n  c: " in told
    assert told.endswith("\nThe other 2 are here, and whole.")
    assert sorted(os.listdir(tmp_path)) == ["b", "c.part", "d"]
    assert (tmp_path / "b").read_bytes() == CONTENT
    web.serve("/a", sends(b"a"))
    web.serve("/c", sends(CONTENT))
    with using(Settings(jobs=jobs)):
        base.default_downloader(str(tmp_path), urls, list(pages))
    assert (tmp_path / "c").read_bytes() == CONTENT
    assert any(path == "/c" and "range" in headers for path, headers in web.asked)


@pytest.fixture
def attributes(tmp_path: Path) -> None:
    """Skips a test where files cannot have attributes, which keep an ETag."""
    probe = tmp_path / "probe"
    probe.touch()
    try:
        os.setxattr(probe, "user.fuel.probe", b"")
    except (AttributeError, OSError):
        pytest.skip("this system or file system keeps no extended attributes with a file")
    finally:
        probe.unlink()


def test_another_run_goes_on_by_an_etag_alone(web: Any, tmp_path: Path, attributes: None) -> None:
    broken = {"length": len(CONTENT), "ETag": '"v"'}
    url = web.serve("/x.bin", lambda h: h.answer(200, CONTENT[:3000], **broken))
    with pytest.raises((StorageError, requests.exceptions.RequestException)):
        fetch(tmp_path, url)
    part = tmp_path / "x.bin.part"
    assert part.read_bytes() == CONTENT[:3000]
    assert json.loads(os.getxattr(part, "user.fuel.version"))["etag"] == '"v"'
    web.asked.clear()
    web.serve("/x.bin", sends(CONTENT))
    assert fetch(tmp_path, url) == CONTENT
    assert [headers["if-range"] for _, headers in web.asked] == ['"v"']
    assert os.listxattr(tmp_path / "x.bin") == []


def test_a_part_outlives_a_run_without_a_network(web: Any, tmp_path: Path) -> None:
    version = {"Last_Modified": "Wed, 21 Oct 2015 07:28:00 GMT"}
    url = web.serve("/x.bin", lambda h: h.answer(200, CONTENT[:3000], length=9999, **version))
    for address in (url, "http://127.0.0.1:1/x.bin", url):
        with pytest.raises((StorageError, requests.exceptions.RequestException)):
            fetch(tmp_path, url, addresses=((None, address),))
        assert os.listdir(tmp_path) == ["x.bin.part"]


def test_a_disk_that_is_too_small_is_told_before_it_is_full(
    web: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.bin").write_bytes(b"older")
    monkeypatch.setattr(_part, "free_bytes", lambda path: 10_000)
    url = web.serve("/x.bin", sends(CONTENT))
    with pytest.raises(StorageError, match="does not fit: 10,000 bytes are free on its disk, 10,2"):
        fetch(tmp_path, url)
    assert (tmp_path / "x.bin").read_bytes() == b"older"
    monkeypatch.setattr(_part, "free_bytes", lambda path: 10_240)
    assert fetch(tmp_path, url) == CONTENT


def test_what_other_files_are_going_to_need_is_counted(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(_part, "free_bytes", lambda path: 1000)
    part = PartFile(str(tmp_path / "x"))
    part.write(b"1" * 300)
    part.announced_bytes = 1000
    assert part.missing_bytes() == 700
    part.check_space(300)
    with pytest.raises(StorageError, match="beside those that are being downloaded with it"):
        part.check_space(301)
    part.give_up()


def test_a_disk_that_fills_up_is_told_and_what_is_there_is_kept(
    web: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = PartFile._write_some

    def full(part: PartFile, data: memoryview) -> int:
        if part.tell() >= 3000:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return good(part, data[: 3000 - part.tell()])

    monkeypatch.setattr(PartFile, "_write_some", full)
    modified = {"Last_Modified": "Wed, 21 Oct 2015 07:28:00 GMT"}
    url = web.serve("/x.bin", lambda h: h.whole(CONTENT, **modified))
    with pytest.raises(StorageError, match=r"x.bin.part could not grow: .* 7,240 more bytes are"):
        fetch(tmp_path, url)
    assert len(web.asked) == 1  # a full disk is not mended by another attempt
    assert (tmp_path / "x.bin.part").read_bytes() == CONTENT[:3000]
    monkeypatch.setattr(PartFile, "_write_some", good)
    assert fetch(tmp_path, url) == CONTENT
    assert web.asked[-1][1]["range"] == "bytes=3000-"


def test_a_rehearsal_tells_everything_and_writes_nothing(
    web: Any, know: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = "http://x.invalid/x.bin"
    know(known, mirrors=("http://y.invalid/x.bin",), size=4321, sha256=SHA256)
    urls = [known, web.serve("/b", sends(CONTENT)), web.serve("/c", fails(404))]
    with using(Settings(dry_run=True)), pytest.raises(Rehearsed):
        base.default_downloader(str(tmp_path / "d"), urls, ["x.bin", "b", "c"])
    out = capsys.readouterr().out.splitlines()
    assert out[:4] == [
        f"{tmp_path / 'd' / 'x.bin'}: 4,321 bytes",
        "  from http://x.invalid/x.bin",
        "  else http://y.invalid/x.bin",
        "  to be checked by its SHA-256 and its size",
    ]
    assert out[4] == f"{tmp_path / 'd' / 'b'}: 10,240 bytes"
    assert out[6].startswith(f"{tmp_path / 'd' / 'c'}: size unknown (127.0.0.1")
    assert out[-1].startswith("at least 14,561 bytes in all; ")
    assert out[-1].endswith("are free there. Nothing was written.")
    assert os.listdir(tmp_path) == []
