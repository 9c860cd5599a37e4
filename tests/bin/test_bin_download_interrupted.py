"""``fuel-download`` as a real process that is interrupted or killed: the next run goes on."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONTENT = bytes(range(256)) * 4096
STOP = 300_000
DATE = "Wed, 21 Oct 2015 07:28:00 GMT"

PLUGIN = """
from fuel.downloaders.base import default_downloader
def fill_subparser(subparser):
    names = {names!r}
    subparser.set_defaults(urls=["{url}/" + name for name in names], filenames=names)
    return default_downloader
all_downloaders = (("theirs", fill_subparser),)
"""

pytestmark = pytest.mark.skipif(
    os.name == "nt", reason="Windows has no signal that is like Ctrl-C to a child"
)


class Handler(BaseHTTPRequestHandler):
    """Sends the first part of a file and falls silent, while `stalling` is set."""

    asked: list[tuple[str, str | None]]
    stalling: threading.Event

    def do_GET(self) -> None:
        self.asked.append((self.path, self.headers.get("Range")))
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        start = int(wanted[1]) if wanted and self.headers["If-Range"] in ('"v"', DATE) else 0
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}")
        self.send_header("Content-Length", str(len(CONTENT) - start))
        self.send_header("Last-Modified", DATE)
        self.end_headers()
        stalls = self.stalling.is_set() and not self.path.endswith("quick")
        self.wfile.write(CONTENT[start : STOP if stalls else None])
        if stalls:
            self.connection.settimeout(60)
            self.connection.recv(1)  # until the client leaves

    def log_message(self, *arguments: object) -> None:
        pass


class Setting:
    """A server, and a directory in which its files are a data set."""

    def __init__(self, directory: Path, handler: type[Handler], url: str) -> None:
        self.directory, self.handler, self.url = directory, handler, url
        self.out = directory / "out"

    def offer(self, *names: str) -> None:
        self.names = names
        text = PLUGIN.format(names=list(names), url=self.url)
        (self.directory / "their_downloads.py").write_text(text)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        variables = {
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(self.directory)]),
            "FUEL_EXTRA_DOWNLOADERS": "their_downloads",
            "NO_PROXY": "127.0.0.1",
        }
        return subprocess.Popen(
            [sys.executable, "-m", "fuel.bin.fuel_download", "theirs", "-d", str(self.out)]
            + list(arguments),
            env={**os.environ, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_for(self, process: subprocess.Popen[str], *names: str) -> None:
        """Wait until so much of some files is on the disk that the server is silent."""
        pause = threading.Event()
        parts = [self.out / f"{name}.part" for name in names]
        while not all(part.exists() and part.stat().st_size >= STOP for part in parts) or (
            "quick" in self.names and not (self.out / "quick").exists()
        ):
            assert process.poll() is None, process.communicate()
            pause.wait(0.01)

    def finish(self) -> str:
        self.handler.stalling.clear()
        self.handler.asked.clear()
        process = self.start()
        out, error = process.communicate(timeout=60)
        assert (process.returncode, error) == (0, ""), error
        return out


@pytest.fixture
def setting(tmp_path: Path) -> Iterator[Setting]:
    handler = type("ThisHandler", (Handler,), {"asked": [], "stalling": threading.Event()})
    handler.stalling.set()
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        server.handle_error = lambda *arguments: None  # type: ignore[method-assign]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield Setting(tmp_path, handler, f"http://127.0.0.1:{server.server_port}")
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_killed_download_is_continued(setting: Setting, jobs: str) -> None:
    setting.offer("a", "b")
    process = setting.start("--jobs", jobs)
    begun = ["a", "b"][: int(jobs)]
    setting.wait_for(process, *begun)
    process.kill()
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    assert sorted(os.listdir(setting.out)) == [f"{name}.part" for name in begun]
    out = setting.finish()
    assert f"a: 1,048,576 bytes ({STOP:,} of them were here) from 127.0.0.1" in out
    expected = {("/a", f"bytes={STOP}-"), ("/b", f"bytes={STOP}-" if jobs == "2" else None)}
    assert set(setting.handler.asked) == expected
    assert sorted(os.listdir(setting.out)) == ["a", "b"]
    assert (setting.out / "a").read_bytes() == (setting.out / "b").read_bytes() == CONTENT


@pytest.mark.parametrize("jobs", ["1", "3"])
def test_ctrl_c_ends_all_files_at_once_and_the_next_run_goes_on(
    setting: Setting, jobs: str
) -> None:
    setting.offer("quick", "a", "b")
    process = setting.start("--jobs", jobs)
    setting.wait_for(process, *["a", "b"][: 1 if jobs == "1" else 2])
    process.send_signal(signal.SIGINT)
    error = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert error == "\nfuel-download: interrupted\n"
    left = ["a.part", "b.part"] if jobs == "3" else ["a.part"]
    assert sorted(os.listdir(setting.out)) == [*left, "quick"]
    setting.finish()
    assert sorted(os.listdir(setting.out)) == ["a", "b", "quick"]
    assert ("/a", f"bytes={STOP}-") in setting.handler.asked
    assert (setting.out / "a").read_bytes() == (setting.out / "b").read_bytes() == CONTENT
