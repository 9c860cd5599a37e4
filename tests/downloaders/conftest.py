"""A web server on the loopback interface that does what a test tells it, address by address."""

from __future__ import annotations

import re
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from fuel.downloaders import _transfer

DATE = "Wed, 21 Oct 2015 07:28:00 GMT"

# Self-signed, for 127.0.0.1 and a hundred years; it guards nothing.
CERTIFICATE = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgYqqYSJGxXq5J+hPm
4dVPEai4cHh8dQJcP1j4DwG1/TyhRANCAARi3g8jgNtiZA4i/RRpCM0Do/HhWTYp
xZLEThb2+5T2C9zcCd2lpvzV3r2oEGb6FxRBmIWQimg17qoMOC/PeM6c
-----END PRIVATE KEY-----
-----BEGIN CERTIFICATE-----
MIIBkTCCATagAwIBAgIUATX3PBiyLJ+5AuyRjtcqRcUor6wwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJMTI3LjAuMC4xMCAXDTI2MTEzMDA2MzAxMVoYDzIxMjYxMTA2
MDYzMDExWjAUMRIwEAYDVQQDDAkxMjcuMC4wLjEwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARi3g8jgNtiZA4i/RRpCM0Do/HhWTYpxZLEThb2+5T2C9zcCd2lpvzV
3r2oEGb6FxRBmIWQimg17qoMOC/PeM6co2QwYjAdBgNVHQ4EFgQU6vE3Jl7bWGtW
bFfEFVpLaKC6oiUwHwYDVR0jBBgwFoAU6vE3Jl7bWGtWbFfEFVpLaKC6oiUwDwYD
VR0TAQH/BAUwAwEB/zAPBgNVHREECDAGhwR/AAABMAoGCCqGSM49BAMCA0kAMEYC
IQC34YsXDECX02d/VyhzkSt29MXBdMxMo0mQYChvhiI6TwIhAKGButtUUpW8cR6s
HKKzM2Xs3XRHgBgvgZHHQ+/D5R5v
-----END CERTIFICATE-----
"""


class Handler(BaseHTTPRequestHandler):
    """What a behaviour is given: it answers one request."""

    protocol_version = "HTTP/1.1"
    web: Web

    def do_GET(self) -> None:
        with self.web.lock:
            self.web.asked.append((self.path, {k.lower(): v for k, v in self.headers.items()}))
            turns = self.web.pages[self.path]
            behaviour = turns.pop(0) if len(turns) > 1 else turns[0]
        self.close_connection = True
        behaviour(self)

    def log_message(self, *arguments: object) -> None:
        pass

    def answer(self, status: int, body: bytes = b"", length: int | None = -1, **more: str) -> None:
        """Send a response; ``length=None`` announces none."""
        self.send_response(status)
        for name, value in more.items():
            self.send_header(name.replace("_", "-"), value)
        if length is not None:
            self.send_header("Content-Length", str(len(body) if length == -1 else length))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def whole(self, body: bytes, **more: str) -> None:
        """Send a file, or the rest of it that is asked for."""
        version = {k: v for k, v in more.items() if k in ("ETag", "Last_Modified")}
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if wanted and self.headers.get("If-Range") in (None, *version.values()):
            start = int(wanted[1])
            place = f"bytes {start}-{len(body) - 1}/{len(body)}"
            self.answer(206, body[start:], Content_Range=place, **more)
        else:
            self.answer(200, body, Accept_Ranges="bytes", **more)

    def until_the_client_leaves(self) -> None:
        """Send nothing more, and end when nobody waits any longer."""
        self.connection.settimeout(60)
        try:
            self.connection.recv(1)
        except OSError:
            pass


Behaviour = Callable[[Handler], None]


@dataclass
class Web:
    """The pages of the server, and what it was asked; the last behaviour of a page stays."""

    url: str
    pages: dict[str, list[Behaviour]] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def serve(self, path: str, *behaviours: Behaviour) -> str:
        """Have a page; return its address."""
        self.pages[path] = list(behaviours)
        return self.url + path


@contextmanager
def running_server(certificate: Path | None = None) -> Iterator[Web]:
    handler = type("ScriptedHandler", (Handler,), {})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
            server.handle_error = lambda *arguments: None  # type: ignore[method-assign]
        scheme = "http" if certificate is None else "https"
        handler.web = Web(f"{scheme}://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield handler.web
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing waits between attempts, and no proxy of whoever runs the tests is used."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setattr(_transfer, "RETRY_DELAYS_S", (0.0, 0.0, 0.0))


@pytest.fixture
def web(impatient: None) -> Iterator[Web]:
    with running_server() as found:
        yield found


@pytest.fixture
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("certificate") / "self-signed.pem"
    path.write_text(CERTIFICATE)
    return path


@pytest.fixture
def secure_web(impatient: None, certificate: Path) -> Iterator[Web]:
    with running_server(certificate) as found:
        yield found
