"""Downloads against a real HTTP server on the loopback interface, well-behaved and otherwise."""

from __future__ import annotations

import hashlib
import io
import os
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import requests

from fuel.downloaders import _transfer, base
from fuel.downloaders._part import PartFile
from fuel.exceptions import NeedURLPrefix, StorageError

CONTENT = bytes(range(256)) * 40
SHA256 = hashlib.sha256(CONTENT).hexdigest()
DATE = "Wed, 21 Oct 2015 07:28:00 GMT"
OTHER_DATE = "Thu, 22 Oct 2015 07:28:00 GMT"


@dataclass
class Server:
    """What the server does, in turn: the last behaviour is repeated."""

    url: str
    behaviours: list[Callable[[Handler], None]] = field(default_factory=list)
    requests: list[dict[str, str]] = field(default_factory=list)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    script: Server

    def do_GET(self) -> None:
        self.script.requests.append({k.lower(): v for k, v in self.headers.items()})
        behaviours = self.script.behaviours
        behaviour = behaviours.pop(0) if len(behaviours) > 1 else behaviours[0]
        self.close_connection = True
        behaviour(self)

    def log_message(self, *arguments: object) -> None:
        pass

    def answer(self, status: int, body: bytes, length: int | None = -1, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if length is not None:
            self.send_header("Content-Length", str(len(body) if length == -1 else length))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(_transfer, "RETRY_DELAYS_S", (0.0, 0.0, 0.0))
    handler = type("ScriptedHandler", (Handler,), {})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        handler.script = Server(f"http://127.0.0.1:{running.server_port}/data/file.bin")
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield handler.script
        running.shutdown()
        thread.join()


def whole(handler: Handler, date: str = DATE, body: bytes = CONTENT) -> None:
    """Answers a range if it is asked for and `If-Range` allows it."""
    wanted = re.fullmatch(r"bytes=(\d+)-", handler.headers.get("Range", ""))
    if wanted and handler.headers.get("If-Range", date) == date:
        start = int(wanted[1])
        if start >= len(body):
            return handler.answer(416, b"", Content_Range=f"bytes */{len(body)}")
        handler.answer(
            206,
            body[start:],
            Content_Range=f"bytes {start}-{len(body) - 1}/{len(body)}",
            Last_Modified=date,
        )
    else:
        handler.answer(200, body, Last_Modified=date, Accept_Ranges="bytes")
    return None


def broken_off(handler: Handler) -> None:
    handler.answer(
        200, CONTENT[:3072], length=len(CONTENT), Last_Modified=DATE, Accept_Ranges="bytes"
    )


def broken_off_without_ranges(handler: Handler) -> None:
    handler.answer(200, CONTENT[:3072], length=len(CONTENT))


def changed(handler: Handler) -> None:
    whole(handler, OTHER_DATE, CONTENT[::-1])


def status(code: int, **headers: str) -> Callable[[Handler], None]:
    return lambda handler: handler.answer(code, b"<html>sorry</html>", **headers)


def fetch(server: Server, directory: Path, **arguments: object) -> Path:
    base.default_downloader(str(directory), [server.url], ["x.bin"], **arguments)  # type: ignore
    return directory / "x.bin"


def names(directory: Path) -> list[str]:
    return sorted(os.listdir(directory))


def test_a_file_is_fetched_whole_and_uncompressed(server: Server, tmp_path: Path) -> None:
    server.behaviours = [whole]
    assert fetch(server, tmp_path / "made" / "here").read_bytes() == CONTENT
    assert server.requests[0]["accept-encoding"] == "identity"
    assert names(tmp_path / "made" / "here") == ["x.bin"]


def test_an_error_page_is_never_saved_and_an_older_file_stays(
    server: Server, tmp_path: Path
) -> None:
    (tmp_path / "x.bin").write_bytes(b"older")
    server.behaviours = [status(404)]
    with pytest.raises(requests.exceptions.HTTPError, match="404"):
        fetch(server, tmp_path)
    assert len(server.requests) == 1
    assert names(tmp_path) == ["x.bin"]
    assert (tmp_path / "x.bin").read_bytes() == b"older"


def test_a_busy_server_is_asked_again(server: Server, tmp_path: Path) -> None:
    server.behaviours = [status(500), status(503, Retry_After="0"), whole]
    assert fetch(server, tmp_path).read_bytes() == CONTENT
    assert len(server.requests) == 3


def test_retries_are_bounded(server: Server, tmp_path: Path) -> None:
    server.behaviours = [status(500)]
    with pytest.raises(requests.exceptions.HTTPError):
        fetch(server, tmp_path)
    assert len(server.requests) == 4
    assert names(tmp_path) == []


def test_a_body_that_breaks_off_is_continued_in_the_same_run(
    server: Server, tmp_path: Path
) -> None:
    server.behaviours = [broken_off, whole]
    assert fetch(server, tmp_path).read_bytes() == CONTENT
    assert server.requests[1]["range"] == "bytes=3072-"
    assert server.requests[1]["if-range"] == DATE


def test_a_server_without_ranges_sends_all_again(server: Server, tmp_path: Path) -> None:
    server.behaviours = [broken_off_without_ranges, lambda h: h.answer(200, CONTENT)]
    assert fetch(server, tmp_path).read_bytes() == CONTENT


def test_a_body_that_always_breaks_off_is_an_error_and_is_kept_if_it_can_be_resumed(
    server: Server, tmp_path: Path
) -> None:
    server.behaviours = [broken_off]
    with pytest.raises((StorageError, requests.exceptions.RequestException)):
        fetch(server, tmp_path)
    assert names(tmp_path) == ["x.bin.part"]


def test_what_cannot_be_resumed_is_not_kept(server: Server, tmp_path: Path) -> None:
    server.behaviours = [broken_off_without_ranges]
    with pytest.raises((StorageError, requests.exceptions.RequestException)):
        fetch(server, tmp_path)
    assert names(tmp_path) == []


def interrupted(server: Server, directory: Path) -> None:
    server.behaviours = [broken_off]
    with pytest.raises((StorageError, requests.exceptions.RequestException)):
        fetch(server, directory)
    assert (directory / "x.bin.part").stat().st_size == 3072
    server.requests.clear()


def test_another_run_goes_on_where_one_stopped(server: Server, tmp_path: Path) -> None:
    interrupted(server, tmp_path)
    server.behaviours = [whole]
    assert fetch(server, tmp_path).read_bytes() == CONTENT
    assert [request["range"] for request in server.requests] == ["bytes=3072-"]
    assert names(tmp_path) == ["x.bin"]


def test_a_file_that_changed_meanwhile_is_fetched_from_its_start(
    server: Server, tmp_path: Path
) -> None:
    interrupted(server, tmp_path)
    server.behaviours = [changed]
    assert fetch(server, tmp_path).read_bytes() == CONTENT[::-1]


def test_a_server_that_ignores_if_range_does_not_mix_two_versions(
    server: Server, tmp_path: Path
) -> None:
    def careless(handler: Handler) -> None:
        if "Range" in handler.headers:
            handler.answer(
                206,
                CONTENT[::-1][3072:],
                Content_Range=f"bytes 3072-{len(CONTENT) - 1}/{len(CONTENT)}",
                Last_Modified=OTHER_DATE,
            )
        else:
            changed(handler)

    interrupted(server, tmp_path)
    server.behaviours = [careless]
    assert fetch(server, tmp_path).read_bytes() == CONTENT[::-1]


def test_a_part_that_is_complete_already_only_gets_its_name(server: Server, tmp_path: Path) -> None:
    interrupted(server, tmp_path)
    part = tmp_path / "x.bin.part"
    stamp = part.stat().st_mtime_ns
    part.write_bytes(CONTENT)
    os.utime(part, ns=(stamp, stamp))
    server.behaviours = [whole]
    assert fetch(server, tmp_path).read_bytes() == CONTENT
    assert len(server.requests) == 1


def test_a_part_of_unknown_version_is_continued_only_with_a_checksum(
    server: Server, tmp_path: Path
) -> None:
    server.behaviours = [whole]
    for checksums, expected in ((None, [None]), ([SHA256], ["bytes=500-"])):
        server.requests.clear()
        part = tmp_path / "x.bin.part"
        part.write_bytes(CONTENT[:500])
        os.utime(part, ns=(1_500_000_000_000_000_001,) * 2)
        (tmp_path / "x.bin").unlink(missing_ok=True)
        assert fetch(server, tmp_path, checksums=checksums).read_bytes() == CONTENT
        assert [request.get("range") for request in server.requests] == expected


def test_a_damaged_part_is_replaced_when_the_checksum_shows_it(
    server: Server, tmp_path: Path
) -> None:
    (tmp_path / "x.bin.part").write_bytes(b"?" * 500)
    server.behaviours = [whole]
    assert fetch(server, tmp_path, checksums=[SHA256]).read_bytes() == CONTENT
    assert len(server.requests) == 2


def test_a_wrong_checksum_is_refused_by_name_and_nothing_is_left(
    server: Server, tmp_path: Path
) -> None:
    server.behaviours = [changed]
    with pytest.raises(StorageError, match=f"not the expected file.*{SHA256}"):
        fetch(server, tmp_path, checksums=[SHA256.upper()])
    assert names(tmp_path) == []


def test_a_file_that_is_whole_already_is_not_fetched_again(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.bin").write_bytes(CONTENT)
    fetch(server, tmp_path, checksums=[SHA256])
    assert server.requests == []
    assert "there already" in capsys.readouterr().out


def test_a_body_without_an_announced_length_is_taken_as_it_is(
    server: Server, tmp_path: Path
) -> None:
    server.behaviours = [lambda handler: handler.answer(200, CONTENT, length=None)]
    assert fetch(server, tmp_path).read_bytes() == CONTENT


def test_two_downloads_of_one_file_do_not_mix(server: Server, tmp_path: Path) -> None:
    first = PartFile(str(tmp_path / "x.bin"))
    first.write(b"mine")
    server.behaviours = [whole]
    with pytest.raises(StorageError, match="another process"):
        fetch(server, tmp_path)
    assert (tmp_path / "x.bin.part").read_bytes() == b"mine"
    first.commit()
    assert fetch(server, tmp_path).read_bytes() == CONTENT


def test_an_interruption_keeps_what_can_be_resumed(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupting(base._progress.ProgressBar):
        def update(self, value: int) -> None:
            if value >= 2048:
                raise KeyboardInterrupt

    monkeypatch.setattr(base._progress, "ProgressBar", Interrupting)
    server.behaviours = [whole]
    with pytest.raises(KeyboardInterrupt):
        fetch(server, tmp_path)
    monkeypatch.undo()
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    kept = (tmp_path / "x.bin.part").read_bytes()
    assert len(kept) >= 2048 and CONTENT.startswith(kept)
    assert fetch(server, tmp_path).read_bytes() == CONTENT
    assert server.requests[-1]["range"] == f"bytes={len(kept)}-"


def test_download_appends_at_the_position_of_any_binary_file(server: Server) -> None:
    server.behaviours = [broken_off, whole]
    memory = io.BytesIO()
    memory.write(b"head")
    base.download(server.url, memory)
    assert memory.getvalue() == b"head" + CONTENT


def test_the_name_of_a_file_is_the_servers_or_the_addresss(server: Server) -> None:
    for disposition, expected in [
        (None, "file.bin"),
        ("attachment; filename=plain.txt", "plain.txt"),
        ('attachment; filename="quoted name.txt"', "quoted name.txt"),
        ("attachment; filename*=UTF-8''na%C3%AFve.txt", "naïve.txt"),
        ('attachment; filename="../../etc/passwd"', "passwd"),
        ('attachment; filename="..\\\\..\\\\evil.exe"', "evil.exe"),
        ('attachment; filename="C:evil"', "C_evil"),
        ('attachment; filename=".."', ""),
        ("attachment", "file.bin"),
    ]:
        headers = {} if disposition is None else {"Content_Disposition": disposition}
        server.behaviours = [status(200, **headers)]
        assert base.filename_from_url(server.url) == expected


def test_a_missing_name_is_asked_for_and_cannot_leave_the_directory(
    server: Server, tmp_path: Path
) -> None:
    server.behaviours = [
        lambda h: h.answer(200, CONTENT, Content_Disposition='attachment; filename="../../up"')
    ]
    filenames: list[str | None] = [None]
    inside = tmp_path / "inside"
    base.default_downloader(str(inside), [server.url], filenames)
    assert names(inside) == ["up"]
    assert names(tmp_path) == ["inside"]
    assert filenames == [None]  # the caller's list is not edited


def test_no_name_at_all_is_an_error(server: Server, tmp_path: Path) -> None:
    server.behaviours = [status(200)]
    root = server.url.removesuffix("data/file.bin")
    with pytest.raises(ValueError, match="no filename available for URL"):
        base.default_downloader(str(tmp_path), [root], [None])


def test_a_prefix_completes_addresses_that_are_none(server: Server, tmp_path: Path) -> None:
    server.behaviours = [whole]
    prefix = server.url.removesuffix("file.bin")
    base.default_downloader(str(tmp_path), [None], ["file.bin"], url_prefix=prefix)
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_without_a_prefix_nothing_is_begun(tmp_path: Path) -> None:
    with pytest.raises(NeedURLPrefix, match="second"):
        base.default_downloader(str(tmp_path / "d"), ["http://x.invalid/a", None], ["a", "second"])
    assert names(tmp_path) == []


def test_an_unreachable_server_is_an_error_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(_transfer, "RETRY_DELAYS_S", (0.0, 0.0, 0.0))
    with pytest.raises(requests.exceptions.ConnectionError):
        base.default_downloader(str(tmp_path), ["http://127.0.0.1:1/a"], ["a"])
    assert names(tmp_path) == []


@pytest.mark.parametrize("code", [204, 206, 302])
def test_a_status_that_brings_no_whole_file_saves_nothing(
    server: Server, tmp_path: Path, code: int
) -> None:
    # A part that nobody asked for, nothing at all, and a redirection to nowhere.
    server.behaviours.append(status(code, Content_Range=f"bytes 0-17/{len(CONTENT)}"))
    with pytest.raises(StorageError, match=f"answered with status {code}, which brings no whole"):
        fetch(server, tmp_path)
    assert names(tmp_path) == []


def test_an_address_that_is_none_is_described() -> None:
    error = requests.exceptions.InvalidURL("Failed to parse: '[::1'")
    assert _transfer.describe_failure("http://[::1", error).startswith("http://[::1 could not be")
