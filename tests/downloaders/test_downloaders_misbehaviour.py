"""Servers that misbehave: each in a sentence that says what to do, and nothing wrong is saved."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import socket
import zlib
from pathlib import Path
from typing import Any

import pytest
import requests

from fuel.downloaders import _transfer, base
from fuel.downloaders._settings import Run
from fuel.exceptions import StorageError
from fuel.manifests import DataFile

CONTENT = bytes(range(256)) * 40
PAGE = b"\n<!-- proxy -->\n<!DOCTYPE html>\n<html><p>Log in first</p></html>"
DATE = "Wed, 21 Oct 2015 07:28:00 GMT"


def fetch(directory: Path, url: str, name: str = "x.bin", **more: Any) -> bytes:
    base.default_downloader(str(directory), [url], [name], **more)
    return (directory / name).read_bytes()


def sentence(directory: Path, url: str, name: str = "x.bin", **more: Any) -> str:
    """The sentence that a failure is told in; nothing is left behind."""
    with pytest.raises((StorageError, requests.exceptions.RequestException)) as caught:
        fetch(directory, url, name, **more)
    assert os.listdir(directory) == []
    return _transfer.describe_failure(url, caught.value)


@pytest.mark.parametrize(
    "status, times, advice",
    [
        (401, 1, "wants to know who asks; get the file with a browser"),
        (403, 1, "does not give the file to programs, or not to everybody; get it with a browser"),
        (404, 1, "the file is not there (any more); give another address with `fuel-download"),
        (407, 1, "the proxy wants a name and a password"),
        (410, 1, "the file is not there (any more)"),
        (416, 1, "delete the .part file and try again"),
        (418, 1, "does not serve the file; give another address"),
        (429, 4, "asked too often; try again later, with --jobs 1"),
        (451, 1, "does not give the file"),
        (500, 4, "a fault of its own; try again later"),
        (503, 4, "a fault of its own"),
    ],
)
def test_every_status_has_its_advice(
    web: Any, tmp_path: Path, status: int, times: int, advice: str
) -> None:
    url = web.serve("/x.bin", lambda h: h.answer(status, PAGE))
    told = sentence(tmp_path, url)
    assert f"answered {status}" in told and url in told and advice in told
    assert len(web.asked) == times


def test_attempts_wait_longer_each_time_and_a_little_by_chance(
    web: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(_transfer, "RETRY_DELAYS_S", (0.5, 1.0, 2.0))
    monkeypatch.setattr(Run, "wait", lambda self, seconds: waits.append(seconds))
    url = web.serve("/x.bin", lambda h: h.answer(503))
    for _ in range(5):
        sentence(tmp_path, url)
    for number, delay_s in enumerate((0.5, 1.0, 2.0)):
        assert all(delay_s <= wait <= 1.5 * delay_s for wait in waits[number::3])
        assert len(set(waits[number::3])) > 1


@pytest.mark.parametrize("form", ["7", "Wed, 21 Oct 2015 07:28:07 GMT"])
def test_a_server_is_left_alone_as_long_as_it_asks(
    web: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(Run, "wait", lambda self, seconds: waits.append(seconds))

    def busy(handler: Any) -> None:
        handler.date_time_string = lambda: DATE
        handler.answer(429, Retry_After=form)

    url = web.serve("/x.bin", busy, lambda h: h.answer(200, CONTENT))
    assert fetch(tmp_path, url) == CONTENT
    assert waits == [7.0]


def test_a_server_that_asks_for_too_long_a_wait_is_not_asked_again(
    web: Any, tmp_path: Path
) -> None:
    url = web.serve("/x.bin", lambda h: h.answer(429, Retry_After="3600"))
    assert "try again in 3600 seconds" in sentence(tmp_path, url)
    assert len(web.asked) == 1


@pytest.mark.parametrize(
    "page, kind",
    [
        (PAGE, "text/html; charset=utf-8"),
        (PAGE, "application/octet-stream"),
        (b"\xef\xbb\xbf<HTML>", "application/zip"),
        (b"please log in", "text/html"),
        (b"", "text/html"),
    ],
)
def test_a_page_in_place_of_the_file_is_refused(
    web: Any, tmp_path: Path, page: bytes, kind: str
) -> None:
    url = web.serve("/x.bin", lambda h: h.answer(200, page, Content_Type=kind, ETag='"a"'))
    assert "sent a page (HTML) in place of x.bin" in sentence(tmp_path, url)
    assert len(web.asked) == 1


def test_files_that_are_pages_and_files_of_a_wrong_type_are_taken(web: Any, tmp_path: Path) -> None:
    url = web.serve("/x.html", lambda h: h.answer(200, PAGE, Content_Type="text/html"))
    assert fetch(tmp_path, url, "saved") == PAGE
    assert fetch(tmp_path, web.serve("/y", lambda h: h.answer(200, PAGE)), "y.htm") == PAGE
    # A checksum knows better than a careless server.
    url = web.serve("/x.csv", lambda h: h.answer(200, CONTENT, Content_Type="text/html"))
    digest = hashlib.sha256(CONTENT).hexdigest()
    assert fetch(tmp_path, url, "x.csv", checksums=[digest]) == CONTENT


def know(monkeypatch: pytest.MonkeyPatch, **facts: Any) -> None:
    """Have a manifest that knows a file."""
    known = DataFile("x.bin", **facts)
    monkeypatch.setattr("fuel.downloaders._addresses.file_at", lambda url: known)


@pytest.mark.parametrize("announced", [True, False])
@pytest.mark.parametrize("size", [len(CONTENT) - 1, len(CONTENT) + 1, 0])
def test_a_file_of_another_size_than_the_known_one_is_refused(
    web: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, announced: bool, size: int
) -> None:
    know(monkeypatch, size=size)
    length = -1 if announced else None
    url = web.serve("/x.bin", lambda h: h.answer(200, CONTENT, length=length))
    told = sentence(tmp_path, url)
    if announced:
        assert f"it has 10,240 bytes there instead of {size:,}" in told
        assert len(web.asked) == 1
    elif size < len(CONTENT):
        assert f"it has more than {size:,} bytes" in told
    else:
        assert f"ended after 10240 bytes of {size}" in told


def test_redirections_are_followed_to_another_host(web: Any, tmp_path: Path) -> None:
    there = web.serve("/there", lambda h: h.answer(200, CONTENT)).replace("127.0.0.1", "localhost")
    url = web.serve("/x.bin", lambda h: h.answer(302, Location=there))
    assert fetch(tmp_path, url) == CONTENT
    assert [path for path, _ in web.asked] == ["/x.bin", "/there"]


def test_redirections_in_a_circle_end(web: Any, tmp_path: Path) -> None:
    web.serve("/b", lambda h: h.answer(302, Location="/a"))
    url = web.serve("/a", lambda h: h.answer(302, Location="/b"))
    assert "sends from one address to the next without an end" in sentence(tmp_path, url)


def test_a_redirection_to_what_is_no_web_address_is_told(web: Any, tmp_path: Path) -> None:
    url = web.serve("/a", lambda h: h.answer(302, Location="ftp://127.0.0.1/x"))
    assert "no address of a file on the web" in sentence(tmp_path, url)


def test_a_redirection_off_the_secure_way_is_refused_before_it_is_followed(
    web: Any, secure_web: Any, certificate: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    there = web.serve("/x.bin", lambda h: h.answer(200, CONTENT))
    url = secure_web.serve("/x.bin", lambda h: h.answer(301, Location=there))
    assert "an address of https:// may not lead to one of http://" in sentence(tmp_path, url)
    assert web.asked == []
    good = secure_web.serve("/good", lambda h: h.answer(200, CONTENT))
    assert fetch(tmp_path, good) == CONTENT
    upwards = web.serve("/up", lambda h: h.answer(301, Location=good))
    assert fetch(tmp_path, upwards) == CONTENT


def test_a_certificate_that_does_not_hold_is_told(secure_web: Any, tmp_path: Path) -> None:
    url = secure_web.serve("/x.bin", lambda h: h.answer(200, CONTENT))
    told = sentence(tmp_path, url)
    assert "its certificate does not hold (self" in told
    assert "REQUESTS_CA_BUNDLE" in told and "\n" not in told
    assert secure_web.asked == []


def test_a_server_that_falls_silent_is_told(
    web: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_transfer, "TIMEOUT_S", (5.0, 0.05))
    url = web.serve("/x.bin", lambda h: h.until_the_client_leaves())
    assert "did not answer in time" in sentence(tmp_path, url)


def test_a_body_that_stops_coming_is_continued(
    web: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_transfer, "TIMEOUT_S", (5.0, 1.0))

    def stall(handler: Any) -> None:
        handler.answer(200, CONTENT[:3000], length=len(CONTENT), ETag='"v"')
        handler.until_the_client_leaves()

    url = web.serve("/x.bin", stall, lambda h: h.whole(CONTENT, ETag='"v"'))
    assert fetch(tmp_path, url) == CONTENT
    assert web.asked[1][1]["range"] == "bytes=3000-"
    assert web.asked[1][1]["if-range"] == '"v"'


def test_a_server_that_hangs_up_is_told(web: Any, tmp_path: Path) -> None:
    url = web.serve("/x.bin", lambda h: h.connection.shutdown(socket.SHUT_RDWR))
    assert "it hung up without an answer; try again later" in sentence(tmp_path, url)
    assert len(web.asked) == 2


def test_a_port_where_nothing_listens_is_told(impatient: None, tmp_path: Path) -> None:
    told = sentence(tmp_path, "http://127.0.0.1:1/x.bin")
    assert "no connection to 127.0.0.1:1: nothing listens there; try again later" in told


def test_a_name_that_nobody_knows_is_told(
    impatient: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(*arguments: Any, **options: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    told = sentence(tmp_path, "http://data.example.invalid/x.bin")
    assert "no connection to data.example.invalid: its name is not known here" in told
    assert "on the network" in told


def test_what_is_no_address_is_told(impatient: None, tmp_path: Path) -> None:
    assert "an address begins with https://" in sentence(tmp_path, "example.org/x.bin")


def test_a_proxy_is_used(web: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", web.url)
    address = "http://data.example.invalid/x.bin"
    web.pages[address] = [lambda h: h.answer(200, CONTENT)]  # only a proxy is asked like that
    assert fetch(tmp_path, address) == CONTENT
    assert web.asked[0][1]["host"] == "data.example.invalid"


def test_a_proxy_that_is_not_there_is_told(
    impatient: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    told = sentence(tmp_path, "http://data.example.invalid/x.bin")
    assert "the proxy did not lead to data.example.invalid" in told and "HTTP_PROXY" in told


@pytest.mark.parametrize("packed, encoding", [(gzip.compress, "gzip"), (zlib.compress, "deflate")])
def test_a_file_packed_for_the_way_is_unpacked(
    web: Any, tmp_path: Path, packed: Any, encoding: str
) -> None:
    body = packed(CONTENT)
    url = web.serve("/x.bin", lambda h: h.answer(200, body, Content_Encoding=encoding))
    assert fetch(tmp_path, url) == CONTENT


def test_deflate_without_a_head_is_unpacked(web: Any, tmp_path: Path) -> None:
    body = zlib.compress(CONTENT)[2:-4]
    url = web.serve("/x.bin", lambda h: h.answer(200, body, Content_Encoding="deflate"))
    assert fetch(tmp_path, url) == CONTENT


def test_a_gz_file_stays_one_though_its_server_calls_it_encoded(web: Any, tmp_path: Path) -> None:
    file = gzip.compress(CONTENT)
    url = web.serve("/x.gz", lambda h: h.answer(200, file, Content_Encoding="x-gzip"))
    assert fetch(tmp_path, url, "x.gz") == file
    twice = gzip.compress(file)
    url = web.serve("/x.gz", lambda h: h.answer(200, twice, Content_Encoding="gzip"))
    assert fetch(tmp_path, url, "x.gz") == file


def test_a_packed_body_that_breaks_off_is_fetched_from_its_start(web: Any, tmp_path: Path) -> None:
    body = gzip.compress(os.urandom(50_000))
    broken = {"length": len(body), "Content_Encoding": "gzip", "ETag": '"v"'}
    url = web.serve(
        "/x.bin",
        lambda h: h.answer(200, body[:20_000], **broken),
        lambda h: h.answer(200, body[:20_000], length=None, Content_Encoding="gzip"),
        lambda h: h.answer(200, body, **broken),
    )
    assert fetch(tmp_path, url) == gzip.decompress(body)
    assert [headers.get("range") for _, headers in web.asked] == [None, None, None]


def test_an_unknown_or_damaged_packing_is_told(web: Any, tmp_path: Path) -> None:
    url = web.serve("/x.bin", lambda h: h.answer(200, CONTENT, Content_Encoding="br"))
    assert "packed as 'br', which it was not asked for" in sentence(tmp_path, url)
    url = web.serve("/x.bin", lambda h: h.answer(200, b"\x1f\x8b?????", Content_Encoding="gzip"))
    assert "cannot be unpacked" in sentence(tmp_path, url)


def test_a_rest_that_is_packed_is_not_joined_to_a_beginning_that_is_not(
    web: Any, tmp_path: Path
) -> None:
    url = web.serve(
        "/x.bin",
        lambda h: h.answer(200, CONTENT[:3000], length=len(CONTENT), ETag='"v"'),
        lambda h: h.answer(
            206,
            gzip.compress(CONTENT)[50:],  # places in the packed form, as some servers have it
            Content_Range=f"bytes 3000-{len(CONTENT) - 1}/{len(CONTENT)}",
            Content_Encoding="gzip",
            ETag='"v"',
        ),
        lambda h: h.answer(200, CONTENT),
    )
    assert fetch(tmp_path, url) == CONTENT


def test_a_server_that_dies_every_time_brings_the_whole_file_in_the_end(
    web: Any, tmp_path: Path
) -> None:
    large = os.urandom(5 << 20)

    def dies(handler: Any) -> None:
        wanted = re.fullmatch(r"bytes=(\d+)-", handler.headers.get("Range", "bytes=0-"))
        assert wanted is not None
        start = int(wanted[1])
        place = f"bytes {start}-{len(large) - 1}/{len(large)}"
        more = {"Content_Range": place} if start else {}
        body = large[start : start + 1_200_000]
        length = len(large) - start
        handler.answer(206 if start else 200, body, length=length, ETag='"v"', **more)

    assert fetch(tmp_path, web.serve("/x.bin", dies)) == large
    assert len(web.asked) == 5
