"""The bytes of a response, as they arrive: undoing compression, noticing pages in place of files.

Which response, and what becomes of the bytes, is in `_transfer`.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import urlsplit

from requests.exceptions import ChunkedEncodingError, ReadTimeout, SSLError

from fuel.downloaders._failures import RefusedError, TruncatedError, header, host_of

__all__ = ["body", "is_encoded", "refuse_pages"]

#: The most that is read at a time, in bytes; what has arrived is handed on at once.
_MOST = 1 << 18

#: How many bytes tell a page from a file.
_SNIFFED = 512

_PAGE = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:(?:<!--.*?-->|<\?xml[^>]*>)\s*)*"
    rb"<(?:!doctype\s+html|html|head|body|script|meta|title)\b",
    re.IGNORECASE | re.DOTALL,
)
_PAGES = (".html", ".htm", ".xhtml", ".shtml")
_GZIP_NAMES = (".gz", ".tgz", ".svgz")


def is_encoded(response: Any) -> bool:
    """Tell whether the bytes on the wire are not those of the file."""
    return (header(response, "content-encoding") or "identity").strip().lower() != "identity"


def body(response: Any, url: str, name: str, chunk_size: int) -> Iterator[bytes]:
    """Yield the bytes of a file.

    Parameters
    ----------
    response : requests.Response
        The response, its body unread.
    url : str
        Where it came from, for messages.
    name : str
        The name of the file.
    chunk_size : int
        Bytes to read at a time where it is not known how many have arrived.

    Yields
    ------
    bytes
        Not empty.

    Raises
    ------
    requests.exceptions.RequestException
        If the connection breaks.
    RefusedError
        If the server packed the file in a way that it was not asked for.
    TruncatedError
        If the packed form breaks off.

    """
    if not is_encoded(response):
        yield from _wire(response, chunk_size)
        return
    encoding = (header(response, "content-encoding") or "").strip().lower()
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise RefusedError(
            f"{host_of(url)} sends {url} packed as {encoding!r}, which it was not asked for; give "
            f"another address with `fuel-download --url`"
        )
    if not _is_wire(response):
        yield from _wire(response, chunk_size)  # a stand-in unpacks by itself
        return
    wire = _wire(response, chunk_size)
    if encoding != "deflate" and name.lower().endswith(_GZIP_NAMES):
        wire, packed_twice = _look_inside(wire)
        if not packed_twice:
            # Servers call what *is* a .gz file "gzip-encoded"; unpacked, it would be another file.
            yield from wire
            return
    yield from _unpack(wire, url)


def _is_wire(response: Any) -> bool:
    """Tell whether a response is a real one, not a stand-in of a program or a test."""
    from urllib3.response import HTTPResponse

    return isinstance(getattr(response, "raw", None), HTTPResponse)


def _wire(response: Any, chunk_size: int) -> Iterator[bytes]:
    """Yield what comes over the connection, as it is and as soon as it is there."""
    from urllib3.exceptions import ProtocolError, ReadTimeoutError
    from urllib3.exceptions import SSLError as WireSSLError

    if not _is_wire(response):
        pieces = response.iter_content(chunk_size)
    elif hasattr(response.raw, "read1"):
        pieces = iter(lambda: response.raw.read1(_MOST, decode_content=False), b"")
    else:
        pieces = response.raw.stream(chunk_size, decode_content=False)
    try:
        for piece in pieces:
            if not piece:
                return
            yield piece
    except ProtocolError as error:
        raise ChunkedEncodingError(error, request=response.request) from error
    except ReadTimeoutError as error:
        raise ReadTimeout(error, request=response.request) from error
    except WireSSLError as error:
        raise SSLError(error, request=response.request) from error


def _look_inside(wire: Iterator[bytes]) -> tuple[Iterator[bytes], bool]:
    """Tell whether there is gzip inside of gzip; the iterator returned still has every byte."""
    seen: list[bytes] = []
    inside = b""
    unpacker = zlib.decompressobj(31)
    for piece in wire:
        seen.append(piece)
        try:
            inside += unpacker.decompress(piece, 2 - len(inside))
        except zlib.error:
            break
        if len(inside) >= 2 or unpacker.eof:
            break

    def everything() -> Iterator[bytes]:
        yield from seen
        yield from wire

    return everything(), inside[:2] == b"\x1f\x8b"


def _unpack(wire: Iterable[bytes], url: str) -> Iterator[bytes]:
    unpacker = zlib.decompressobj(47)
    started = False
    try:
        for piece in wire:
            if not started and piece[0] & 0x0F != 8 and piece[:2] != b"\x1f\x8b":
                unpacker = zlib.decompressobj(-15)  # "deflate" without its head, as some send it
            started = True
            while piece and not unpacker.eof:
                found = unpacker.decompress(piece, _MOST)
                piece = unpacker.unconsumed_tail
                if found:
                    yield found
    except zlib.error as error:
        raise RefusedError(
            f"what {host_of(url)} sent for {url} cannot be unpacked ({error}); try again later"
        ) from error
    if not unpacker.eof:
        raise TruncatedError(f"{url} broke off before its end; try again later")


def refuse_pages(
    pieces: Iterator[bytes], response: Any, url: str, name: str, verified: bool
) -> Iterator[bytes]:
    """Pass the bytes of a file on, unless they are a page for people.

    Parameters
    ----------
    pieces : iterator of bytes
        The bytes from the start of the file.
    response : requests.Response
        Where they are from.
    url : str
        The address that was asked.
    name : str
        The name of the file.
    verified : bool
        Whether a checksum decides in the end, so that a wrong ``Content-Type`` does not matter.

    Yields
    ------
    bytes
        The same.

    Raises
    ------
    RefusedError
        If they are HTML, by what the server says or by the looks of it, and the file is not.

    """
    asked = os.path.splitext(urlsplit(url).path)[1].lower()
    if os.path.splitext(name)[1].lower() in _PAGES or asked in _PAGES:
        yield from pieces
        return
    head = b""
    for piece in pieces:
        head += piece
        if len(head) >= _SNIFFED:
            break
    kind = (header(response, "content-type") or "").partition(";")[0].strip().lower()
    said = kind in ("text/html", "application/xhtml+xml") and not verified
    if said or _PAGE.match(head):
        raise RefusedError(
            f"{host_of(url)} sent a page (HTML) in place of {name} for {url}; it may want you to "
            f"log in or to agree to something: get the file with a browser, or give another "
            f"address with `fuel-download --url`"
        )
    if head:
        yield head
    yield from pieces
