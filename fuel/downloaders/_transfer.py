"""One file over HTTP: checked status, bounded retries, resuming.

`transfer` writes into any binary file; it never opens, renames or verifies files (see `base` and
`_part`). The bytes of a response are read by `_body`, what can go wrong is said by `_failures`.
The function that makes requests is handed in by `base`, where programs may replace it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

from requests.exceptions import ChunkedEncodingError, ConnectionError, HTTPError, SSLError, Timeout

from fuel.downloaders._body import body, is_encoded, refuse_pages
from fuel.downloaders._failures import (
    RefusedError,
    RemoteError,
    TruncatedError,
    VersionChanged,
    describe_failure,
    header,
    host_of,
    retry_after_s,
)
from fuel.downloaders._part import PartFile
from fuel.downloaders._settings import current, current_run

__all__ = ["close", "describe_failure", "header", "request", "transfer"]

#: Seconds before an attempt is made again, in turn; progress of `_PROGRESS` bytes starts over.
#: Four attempts in a few seconds ride out a restarting server and do not try anybody's patience.
RETRY_DELAYS_S = (0.5, 1.0, 2.0)

#: A host that has not answered even once is given this many attempts: offline is usually offline.
SILENT_TRIES = 2

#: Seconds to wait for a connection, and for the next bytes.
TIMEOUT_S = (10.0, 60.0)

#: The longest wait that a server may ask for with ``Retry-After``, in seconds. Where it asks for
#: more, it is left alone, and the user told.
LONGEST_RETRY_AFTER_S = 30.0

#: Draws the jitter: many who lost one server at the same moment must not come back as one.
_dice = random.Random()

#: "OK", and the same from somebody in between.
_WHOLE_FILE = (200, 203)

_PROGRESS = 1 << 20
_TRANSIENT = (408, 425, 429, 500, 502, 503, 504)


def request(get: Callable[..., Any], url: str, **headers: str) -> Any:
    """Ask for a file, uncompressed; the response's body is not read yet."""
    # With a compressed transfer neither sizes nor ranges would be those of the file.
    sent = {"Accept-Encoding": "identity"}
    sent.update({name.replace("_", "-"): value for name, value in headers.items()})
    return get(url, stream=True, headers=sent, timeout=TIMEOUT_S, hooks={"response": _look_ahead})


def _look_ahead(response: Any, *arguments: Any, **options: Any) -> None:
    """Judge a redirection before it is followed."""
    if not response.is_redirect:
        return
    target = response.headers.get("location", "")
    if response.url.startswith("https:") and target.lower().startswith("http:"):
        close(response)
        raise RefusedError(
            f"{host_of(response.url)} sends from {response.url} to {target}, which anybody on the "
            f"way could change: an address of https:// may not lead to one of http://. If you "
            f"trust it, give it with `fuel-download --url`"
        )
    current().tell(f"{response.url} leads to {target}")


def close(response: Any) -> None:
    """Close a response (those of a stand-in for `requests` may have nothing to close)."""
    try:
        response.close()
    except AttributeError:
        pass


class _Transfer:
    """The state of one download over several attempts."""

    def __init__(self, url: str, handle: Any, get: Callable[..., Any], chunk_size: int) -> None:
        self.url, self.handle, self.get, self.chunk_size = url, handle, get, chunk_size
        self.received = 0
        self.validator: str | None = None
        self.answered = False
        self.total: int | None = None
        self.part = handle if isinstance(handle, PartFile) else None
        #: Whether bytes are here that are going to be dropped when better ones can be had.
        self.stale = False
        self.expected = self.part.expected_bytes if self.part is not None else None
        self.base = 0
        if self.part is not None:
            self.received = self.part.tell()
            self.validator = self.part.validator(url)
            if self.validator is None and not self.part.checked_later:
                self.stale, self.received = self.received > 0, 0
        else:
            self.base = _position(handle)

    @property
    def name(self) -> Any:
        """What the file is called."""
        return getattr(self.handle, "label", getattr(self.handle, "name", None))

    def rewind(self) -> None:
        """Forget the bytes received so far."""
        if self.received or self.stale:
            if self.part is not None:
                self.part.forget()
            else:
                self.handle.seek(self.base)
                self.handle.truncate()
        self.received, self.stale = 0, False
        self.total = self.validator = None

    def ask(self) -> Any:
        """Send the request; return a response whose body goes on from `received`."""
        headers = {}
        if self.received:
            headers["Range"] = f"bytes={self.received}-"
            if self.validator:
                headers["If_Range"] = self.validator
            current().tell(f"asking {self.url} for what follows byte {self.received:,}")
        else:
            current().tell(f"asking {self.url}")
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
                raise RefusedError(
                    f"{self.url} was answered with status {status}, which brings no whole file; "
                    f"check the address, or try again later"
                )
            else:
                self.rewind()
                self.total = _length(response)
            self.check_size()
            self.note_version(response, status == 206)
        except BaseException:
            close(response)
            raise
        return response

    def note_version(self, response: Any, continued: bool) -> None:
        """Remember which version of the file the bytes are going to be of."""
        etag = header(response, "etag")
        modified = header(response, "last-modified")
        if etag is not None and etag.startswith("W/"):
            etag = None
        self.validator = None if is_encoded(response) else etag or modified
        if self.part is None:
            return
        # Places in the compressed form are not places in the file.
        ranges = not is_encoded(response) and header(response, "accept-ranges") != "none"
        if continued or ranges:
            self.part.remember(modified, etag, self.url)
        else:
            self.part.remember(None)
            self.part.resumable = False
        self.part.announced_bytes = self.total or self.expected or 0

    def check_size(self) -> None:
        """Hold the announced size against the known one."""
        if None not in (self.expected, self.total) and self.total != self.expected:
            raise RefusedError(
                f"{self.url} is not the expected file: it has {self.total:,} bytes there instead "
                f"of {self.expected:,}; give another address with `fuel-download --url`"
            )

    def nothing_left(self, response: Any) -> Any:
        """Judge a 416: the part is complete, or belongs to another version."""
        close(response)
        size = re.fullmatch(r"bytes \*/(\d+)", header(response, "content-range") or "")
        if size and int(size[1]) == self.received:
            return None
        raise VersionChanged

    def check_continuation(self, response: Any) -> None:
        """Hold a 206 against what was asked for."""
        found = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+|\*)", header(response, "content-range") or "")
        if found is None or int(found[1]) != self.received or is_encoded(response):
            raise VersionChanged
        ours = self.validator or ""
        theirs = header(response, "etag" if ours.startswith('"') else "last-modified")
        if ours and theirs is not None and theirs != ours:
            raise VersionChanged  # a server that knows Range, but not If-Range
        total = None if found[3] == "*" else int(found[3])
        if self.total is not None and total != self.total:
            raise VersionChanged
        self.total = total

    def read(self, response: Any, bar: Any) -> None:
        """Write the body."""
        run = current_run()
        pieces = body(response, self.url, str(self.name or ""), self.chunk_size)
        if self.part is not None and not self.received:
            verified = self.part.checked_later
            pieces = refuse_pages(pieces, response, self.url, self.part.label, verified)
        if self.received and hasattr(bar, "start_at"):
            bar.start_at(self.received)
        for chunk in pieces:
            run.check()
            self.received += len(chunk)
            if self.expected is not None and self.received > self.expected:
                raise RefusedError(
                    f"{self.url} is not the expected file: it has more than {self.expected:,} "
                    f"bytes; give another address with `fuel-download --url`"
                )
            self.handle.write(chunk)
            bar.update(self.received)
        run.check()
        announced = self.total if self.total is not None else self.expected
        if announced is not None and self.received != announced:
            raise TruncatedError(
                f"{self.url} ended after {self.received} bytes of {announced}; the connection "
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
        Bytes read at a time where it is not known how many have arrived.
    progress : callable
        ``progress(name=, maxval=)``, a context manager giving an object with ``update(bytes)``.

    Raises
    ------
    requests.exceptions.RequestException
        If the server cannot be reached, or answers with an error.
    StorageError
        If fewer bytes came than were announced, in every attempt; if something else came than
        the file; if the disk is full.

    """
    state = _Transfer(url, handle, get, chunk_size)
    run = current_run()
    failures, restarts, mark = 0, 0, state.received
    while True:
        try:
            response = state.ask()
            if response is None:
                return
            try:
                _check_space(state)
                with progress(name=state.name, maxval=state.total) as bar, run.reading(response):
                    state.read(response, bar)
                return
            finally:
                close(response)
        except VersionChanged:
            restarts += 1
            state.rewind()
            if restarts > 2:
                raise RemoteError(
                    f"{url} keeps changing while it is downloaded; try again later"
                ) from None
        except (ConnectionError, Timeout, ChunkedEncodingError, HTTPError, TruncatedError) as error:
            run.check()
            if isinstance(error, SSLError) or not _transient(error):
                raise
            if state.received >= mark + _PROGRESS:
                failures = 0
            failures += 1
            mark = state.received
            if failures >= _tries(state) or not _can_go_back(state):
                raise
            delay_s = _delay_s(failures, error)
            current().tell(f"{describe_failure(url, error)}. Trying again in {delay_s:.1f} s")
            run.wait(delay_s)
            checked = state.part is not None and state.part.checked_later
            if state.received and not checked and state.total is None and state.validator is None:
                state.rewind()  # nothing would tell a rest of another version


def _check_space(state: _Transfer) -> None:
    """Say that the disk is too small before it is full."""
    if state.part is not None:
        run = current_run()
        others = sum(part.missing_bytes() for part in run.growing() if part is not state.part)
        state.part.check_space(others)


def _tries(state: _Transfer) -> int:
    """How many attempts are made before an address is given up."""
    if state.answered:
        return len(RETRY_DELAYS_S) + 1
    silent, host = current_run().silent_hosts, host_of(state.url)
    if host in silent:
        return 1
    silent.add(host)
    return SILENT_TRIES


def _delay_s(failures: int, error: Exception) -> float:
    """How long to wait: longer each time, never less than the server asked for."""
    delay_s = RETRY_DELAYS_S[failures - 1] * (1.0 + 0.5 * _dice.random())
    return max(delay_s, retry_after_s(getattr(error, "response", None)))


def _transient(error: Exception) -> bool:
    if isinstance(error, HTTPError):
        response = error.response
        status = getattr(response, "status_code", None)
        return status in _TRANSIENT and retry_after_s(response) <= LONGEST_RETRY_AFTER_S
    return True


def _can_go_back(state: _Transfer) -> bool:
    """Whether an attempt may be made again: nothing written yet, or the file can be rewound."""
    seekable = getattr(state.handle, "seekable", lambda: False)
    return state.received == 0 or bool(seekable())


def _length(response: Any) -> int | None:
    """The size of the body, where the server announced it."""
    text = header(response, "content-length")
    if text is None or not text.isdigit() or is_encoded(response):
        return None
    return int(text)


def _position(handle: Any) -> int:
    try:
        position = handle.tell()
    except (AttributeError, OSError):
        return 0
    return position if isinstance(position, int) else 0
