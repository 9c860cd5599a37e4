"""What can go wrong with a download, in sentences that say what to do.

Exceptions of the `requests` package and our own; noticing what is wrong is in `_transfer` and
`_body`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from requests.exceptions import (
    ChunkedEncodingError,
    ConnectionError,
    HTTPError,
    InvalidSchema,
    InvalidURL,
    MissingSchema,
    ProxyError,
    RequestException,
    SSLError,
    Timeout,
    TooManyRedirects,
)

from fuel.exceptions import StorageError

__all__ = [
    "DownloadError",
    "RefusedError",
    "RemoteError",
    "TruncatedError",
    "VersionChanged",
    "certificate_reason",
    "describe_failure",
    "describe_failures",
    "header",
    "host_of",
    "retry_after_s",
]

#: What helps where an address does not serve the file.
_ELSEWHERE = "give another address with `fuel-download --url`, or put the file there by hand"

_NO_NAME = re.compile(
    r"NameResolutionError|Failed to resolve|getaddrinfo failed|Name or service not known"
    r"|nodename nor servname|Temporary failure in name resolution|No address associated"
)


class RemoteError(StorageError):
    """What a server sent is not what it should be; another address may do better."""


class RefusedError(RemoteError):
    """It will not be better if the same is asked for again."""


class TruncatedError(RemoteError):
    """Fewer bytes came than were announced."""


class DownloadError(StorageError, RequestException):
    """Several addresses or files failed, for the reasons that are told.

    Parameters
    ----------
    message : str
        The text.
    failures : sequence of (str, BaseException)
        The addresses, and what happened there, in turn.

    Attributes
    ----------
    failures : tuple of (str, BaseException)
        The same.

    """

    def __init__(self, message: str, failures: Sequence[tuple[str, BaseException]]) -> None:
        errors = [error for _, error in failures]
        first = next((e for e in errors if isinstance(e, RequestException)), None)
        RequestException.__init__(
            self,
            message,
            request=getattr(first, "request", None),
            response=getattr(first, "response", None),
        )
        self.failures = tuple(failures)


class VersionChanged(Exception):
    """The rest that the server offers does not continue what is here; start over."""


def header(response: Any, name: str) -> str | None:
    """Return a header of a response, whatever the case of its name."""
    for key, value in dict(response.headers).items():
        if str(key).lower() == name:
            return str(value)
    return None


def host_of(url: str) -> str:
    """Return the host of an address, or all of it where it is none."""
    try:
        return urlsplit(url).netloc.rpartition("@")[2] or url
    except ValueError:
        return url


def retry_after_s(response: Any) -> float:
    """Return the seconds that a server asks to be left alone; 0 if it does not."""
    text = header(response, "retry-after") if response is not None else None
    if not text:
        return 0.0
    if text.strip().isdigit():
        return float(text)
    try:
        now = parsedate_to_datetime(header(response, "date") or "")
        return max(0.0, (parsedate_to_datetime(text) - now).total_seconds())
    except (TypeError, ValueError):
        return 0.0


def describe_failure(url: str, error: BaseException) -> str:
    """Say in plain words why a file could not be fetched, and what to do."""
    host = host_of(url)
    if isinstance(error, StorageError):
        return str(error)
    if isinstance(error, HTTPError) and error.response is not None:
        reason = f" {error.response.reason}" if error.response.reason else ""
        answer = f"{host} answered {error.response.status_code}{reason} for {url}"
        return f"{answer}: {_advice(error.response)}"
    if isinstance(error, TooManyRedirects):
        return (
            f"{host} sends from one address to the next without an end, starting at {url}; "
            f"{_ELSEWHERE}"
        )
    if isinstance(error, ProxyError):
        return (
            f"the proxy did not lead to {host}: is the address in the variables HTTP_PROXY and "
            f"HTTPS_PROXY right? (NO_PROXY names hosts that need none.) {_cause(error)}"
        )
    if isinstance(error, SSLError):
        return (
            f"no trustworthy connection to {host}: {certificate_reason(error)}; is the clock of "
            f"this computer right? Where a proxy looks into connections, name its certificates in "
            f"the variable REQUESTS_CA_BUNDLE"
        )
    if isinstance(error, Timeout) or "timed out" in str(error):
        return f"{host} did not answer in time: is the network slow? Try again later"
    if isinstance(error, ChunkedEncodingError):
        return f"the connection to {host} broke off; try again, what is here already is kept"
    if isinstance(error, ConnectionError):
        return f"no connection to {host}: {_why_no_connection(host, str(error))}"
    if isinstance(error, (MissingSchema, InvalidURL, InvalidSchema)):
        return (
            f"{url} could not be fetched, it is no address of a file on the web ({error}); an "
            f"address begins with https:// or http://"
        )
    if isinstance(error, RequestException):
        return f"{url} could not be fetched: {error}"
    return str(error)


def describe_failures(failures: Sequence[tuple[str, BaseException]]) -> list[str]:
    """Say why a file could be had from none of its addresses; hosts that failed alike together."""
    hosts: dict[str, list[str]] = {}
    for url, error in failures:
        text, host = describe_failure(url, error), host_of(url)
        # A sentence with the whole address is about that address alone.
        alike = text if url in text else text.replace(host, "\0")
        hosts.setdefault(alike, []).append(host)
    return [
        text.replace("\0", ", ".join(dict.fromkeys(together))) for text, together in hosts.items()
    ]


def _advice(response: Any) -> str:
    """Say what to do about a status."""
    status = response.status_code
    wait_s = retry_after_s(response)
    later = f"in {wait_s:.0f} seconds" if wait_s else "later"
    if status == 401:
        return f"it wants to know who asks; get the file with a browser, or {_ELSEWHERE}"
    if status == 407:
        return "the proxy wants a name and a password (HTTPS_PROXY=http://NAME:PASSWORD@HOST:PORT)"
    if status in (403, 451):
        return (
            "it does not give the file to programs, or not to everybody; get it with a browser, "
            f"or {_ELSEWHERE}"
        )
    if status in (404, 410):
        return f"the file is not there (any more); {_ELSEWHERE}"
    if status == 416:
        return "it does not have the part that was asked for; delete the .part file and try again"
    if status == 429:
        return f"it was asked too often; try again {later}, with --jobs 1"
    if status >= 500:
        return f"it has a fault of its own; try again {later}, or {_ELSEWHERE}"
    return f"it does not serve the file; {_ELSEWHERE}"


def _why_no_connection(host: str, text: str) -> str:
    if _NO_NAME.search(text):
        return (
            "its name is not known here; is this computer on the network, and the name spelled "
            "right?"
        )
    if "refused" in text:
        return "nothing listens there; try again later, or " + _ELSEWHERE
    if "unreachable" in text:
        return "there is no way to it from here; is this computer on the network?"
    if "RemoteDisconnected" in text or "reset by peer" in text:
        return "it hung up without an answer; try again later"
    return "is this computer on the network? Try again later"


def certificate_reason(error: BaseException) -> str:
    """Say in a few words what is wrong with a certificate."""
    found = re.search(r"certificate verify failed: ([^()\[\]]+)", str(error))
    return f"its certificate does not hold ({found[1].strip()})" if found else str(error)


def _cause(error: BaseException) -> str:
    text = str(error)
    found = re.search(r"Tunnel connection failed: [^')\]]+|Connection refused", text)
    return f"It said: {found[0]}" if found else ""
