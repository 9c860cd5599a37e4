"""One file over HTTP: checked status, bounded retries, resuming.

`transfer` writes into any binary file; it never opens, renames or verifies files (see `base` and
`_part`). The function that makes requests is handed in by `base`, where programs may replace it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from requests.exceptions import (
    ChunkedEncodingError,
    ConnectionError,
    HTTPError,
    RequestException,
    SSLError,
    Timeout,
)

from fuel.downloaders._part import PartFile
from fuel.exceptions import StorageError

__all__ = ["describe_failure", "header", "request", "transfer"]

#: Seconds before an attempt is made again, in turn; progress of `_PROGRESS` bytes starts over.
#: Four attempts in 3.5 s ride out a restarting server and do not try anybody's patience.
RETRY_DELAYS_S = (0.5, 1.0, 2.0)

#: A host that has not answered even once is given this many attempts: offline is usually offline.
SILENT_TRIES = 2

#: Seconds to wait for a connection, and for the next bytes.
TIMEOUT_S = (10.0, 60.0)

#: The longest wait that a server may ask for with ``Retry-After``, in seconds.
LONGEST_RETRY_AFTER_S = 30.0

#: "OK", and the same from somebody in between.
_WHOLE_FILE = (200, 203)

_PROGRESS = 1 << 20
_TRANSIENT = (408, 425, 429, 500, 502, 503, 504)
_STAMP_EVERY = 1 << 20


class _Truncated(StorageError):
    """Fewer bytes came than were announced."""


class _VersionChanged(Exception):
    """The rest that the server offers does not continue what is here; start over."""


def header(response: Any, name: str) -> str | None:
    """Return a header of a response, whatever the case of its name."""
    for key, value in dict(response.headers).items():
        if str(key).lower() == name:
            return str(value)
    return None


def request(get: Callable[..., Any], url: str, **headers: str) -> Any:
    """Ask for a file, uncompressed; the response's body is not read yet."""
    # With a compressed transfer neither sizes nor ranges would be those of the file.
    sent = {"Accept-Encoding": "identity"}
    sent.update({name.replace("_", "-"): value for name, value in headers.items()})
    return get(url, stream=True, headers=sent, timeout=TIMEOUT_S)


def close(response: Any) -> None:
    """Close a response (those of a stand-in for `requests` may have nothing to close)."""
    try:
        response.close()
    except AttributeError:
        pass


def describe_failure(url: str, error: BaseException) -> str:
    """Say in plain words why a file could not be fetched."""
    try:
        host = urlsplit(url).netloc or url
    except ValueError:  # no address at all
        host = url
    if isinstance(error, HTTPError) and error.response is not None:
        reason = f" {error.response.reason}" if error.response.reason else ""
        return f"{host} answered {error.response.status_code}{reason} for {url}"
    if isinstance(error, SSLError):
        return f"no trustworthy connection to {host}: {error}"
    if isinstance(error, Timeout) or "timed out" in str(error):
        return f"{host} did not answer in time"
    if isinstance(error, ConnectionError):
        return f"no connection to {host}"
    if isinstance(error, ChunkedEncodingError):
        return f"the connection to {host} broke off"
    if isinstance(error, RequestException):
        return f"{url} could not be fetched: {error}"
    return str(error)


class _Transfer:
    """The state of one download over several attempts."""

    def __init__(self, url: str, handle: Any, get: Callable[..., Any], chunk_size: int) -> None:
        self.url, self.handle, self.get, self.chunk_size = url, handle, get, chunk_size
        self.received = 0
        self.validator: str | None = None
        self.answered = False
        self.total: int | None = None
        self.part = handle if isinstance(handle, PartFile) else None
        self.base = 0
        if self.part is not None:
            self.received = self.part.tell()
            self.validator = self.part.validator
            if self.validator is None and not self.part.checked_later:
                self.rewind()
        else:
            self.base = _position(handle)

    def rewind(self) -> None:
        """Forget the bytes received so far."""
        if self.received:
            self.handle.seek(self.base)
            self.handle.truncate()
        self.received = 0
        self.total = self.validator = None
        if self.part is not None:
            self.part.resumable = False

    def ask(self) -> Any:
        """Send the request; return a response whose body goes on from `received`."""
        headers = {}
        if self.received:
            headers["Range"] = f"bytes={self.received}-"
            if self.validator:
                headers["If_Range"] = self.validator
        response = request(self.get, self.url, **headers)
        try:
            self.answered = True
            status = getattr(response, "status_code", 200)
            if self.received and status == 416:
                return self.nothing_left(response)
            response.raise_for_status()
            if self.received and status == 206:
                self.check_continuation(response)
            elif isinstance(status, int) and status not in _WHOLE_FILE:
                raise StorageError(
                    f"{self.url} was answered with status {status}, which brings no whole file; "
                    f"check the address, or try again later"
                )
            else:
                self.rewind()
                self.total = _length(response)
            etag = header(response, "etag")
            modified = header(response, "last-modified")
            self.validator = etag if etag and not etag.startswith("W/") else modified
            # Within this run a rest is simply asked for; for another run bytes are kept only if
            # the server says that it would send one.
            ranges = status == 206 or header(response, "accept-ranges") == "bytes"
            if self.part is not None:
                self.part.remember(modified if ranges else None)
        except BaseException:
            close(response)
            raise
        return response

    def nothing_left(self, response: Any) -> Any:
        """Judge a 416: the part is complete, or belongs to another version."""
        close(response)
        size = re.fullmatch(r"bytes \*/(\d+)", header(response, "content-range") or "")
        if size and int(size[1]) == self.received:
            return None
        raise _VersionChanged

    def check_continuation(self, response: Any) -> None:
        """Hold a 206 against what was asked for."""
        found = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+|\*)", header(response, "content-range") or "")
        if found is None or int(found[1]) != self.received:
            raise _VersionChanged
        ours = self.validator or ""
        theirs = header(response, "etag" if ours.startswith('"') else "last-modified")
        if ours and theirs is not None and theirs != ours:
            raise _VersionChanged  # a server that knows Range, but not If-Range
        total = None if found[3] == "*" else int(found[3])
        if self.total is not None and total != self.total:
            raise _VersionChanged
        self.total = total

    def read(self, response: Any, bar: Any) -> None:
        """Write the body."""
        unstamped = 0
        for chunk in response.iter_content(self.chunk_size):
            self.handle.write(chunk)
            self.received += len(chunk)
            unstamped += len(chunk)
            if self.part is not None and unstamped >= _STAMP_EVERY:
                self.part.stamp()
                unstamped = 0
            bar.update(self.received)
        if self.total is not None and self.received != self.total:
            raise _Truncated(
                f"{self.url} ended after {self.received} bytes of {self.total}; the connection "
                f"broke off, or the file on the server is damaged: try again later"
            )


def transfer(
    url: str, handle: Any, get: Callable[..., Any], chunk_size: int, progress: Callable[..., Any]
) -> None:
    """Fetch a file and write it into an open binary file.

    Parameters
    ----------
    url : str
        The address.
    handle : binary file
        Where the bytes go, from its present position on; a `PartFile` is continued.
    get : callable
        ``requests.get``.
    chunk_size : int
        Bytes read at a time.
    progress : callable
        ``progress(name=, maxval=)``, a context manager giving an object with ``update(bytes)``.

    Raises
    ------
    requests.exceptions.RequestException
        If the server cannot be reached, or answers with an error.
    StorageError
        If fewer bytes came than were announced, in every attempt.

    """
    state = _Transfer(url, handle, get, chunk_size)
    failures, restarts, mark = 0, 0, state.received
    while True:
        try:
            response = state.ask()
            if response is None:
                return
            try:
                name = getattr(handle, "label", getattr(handle, "name", None))
                with progress(name=name, maxval=state.total) as bar:
                    state.read(response, bar)
                return
            finally:
                close(response)
        except _VersionChanged:
            restarts += 1
            state.rewind()
            if restarts > 2:
                raise StorageError(
                    f"{url} keeps changing while it is downloaded; try again later"
                ) from None
        except (ConnectionError, Timeout, ChunkedEncodingError, HTTPError, _Truncated) as error:
            if isinstance(error, SSLError) or not _transient(error):
                raise
            if state.received >= mark + _PROGRESS:
                failures = 0
            failures += 1
            mark = state.received
            tries = len(RETRY_DELAYS_S) + 1 if state.answered else SILENT_TRIES
            if failures >= tries or not _can_go_back(state):
                raise
            time.sleep(max(RETRY_DELAYS_S[failures - 1], _retry_after(error)))
            if state.total is None and state.validator is None:
                state.rewind()  # nothing would tell a rest of another version


def _transient(error: Exception) -> bool:
    if isinstance(error, HTTPError):
        return getattr(error.response, "status_code", None) in _TRANSIENT
    return True


def _can_go_back(state: _Transfer) -> bool:
    """Whether an attempt may be made again: nothing written yet, or the file can be rewound."""
    seekable = getattr(state.handle, "seekable", lambda: False)
    return state.received == 0 or bool(seekable())


def _retry_after(error: Exception) -> float:
    """Seconds that the server asked us to wait, within reason."""
    response = getattr(error, "response", None)
    text = header(response, "retry-after") if response is not None else None
    seconds = float(text) if text and text.isdigit() else 0.0
    return min(seconds, LONGEST_RETRY_AFTER_S)


def _length(response: Any) -> int | None:
    """The size of the body, where the server announced it."""
    text = header(response, "content-length")
    if text is None or not text.isdigit() or header(response, "content-encoding"):
        return None
    return int(text)


def _position(handle: Any) -> int:
    try:
        position = handle.tell()
    except (AttributeError, OSError):
        return 0
    return position if isinstance(position, int) else 0
