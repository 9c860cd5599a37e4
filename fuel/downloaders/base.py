"""Fetching raw files: the functions that downloaders are made of.

`default_downloader` is all that most data sets need; `download` and `filename_from_url` are its
parts. Files grow as ``NAME.part`` beside their final name, are resumed, verified where a checksum
is known, and renamed. What happens on the wire is in `_transfer`, the growing file in `_part`,
copies that ship with the package in `packaged`; which files a data set has is in `fuel.manifests`.

Requests are made through the name ``requests`` of this module, which programs may replace.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from email.message import Message
from typing import IO
from urllib.parse import urlsplit

import requests

from fuel.downloaders._part import PartFile
from fuel.downloaders._transfer import close, header, request, transfer
from fuel.exceptions import NeedURLPrefix, StorageError
from fuel.manifests import file_at
from fuel.utils import _progress

__all__ = [
    "NeedURLPrefix",
    "default_downloader",
    "download",
    "ensure_directory_exists",
    "file_sha256",
    "filename_from_url",
    "progress_bar",
]


def progress_bar(
    name: str | None, maxval: int | None
) -> AbstractContextManager[_progress.ProgressBar]:
    """Show a progress bar for a download while a block runs.

    Parameters
    ----------
    name : str or None
        The name of the file.
    maxval : int or None
        Its size in bytes; None if unknown.

    Returns
    -------
    context manager
        It yields an object with ``update(bytes_so_far)``.

    """
    return _progress.progress_bar(name, maxval, prefix="Downloading", unit="B")


def filename_from_url(url: str, path: str | None = None) -> str:
    """Ask a server what the file at an address is called.

    Parameters
    ----------
    url : str
        The address.
    path : str, optional
        Not used; kept for programs that pass it.

    Returns
    -------
    str
        The name in the response's ``Content-Disposition``, else the last component of the
        address; never with a directory, and empty if there is neither.

    Raises
    ------
    requests.exceptions.RequestException
        If the server cannot be reached or answers with an error.

    """
    response = request(requests.get, url)
    try:
        response.raise_for_status()
        disposition = header(response, "content-disposition")
    finally:
        close(response)
    name = None
    if disposition is not None:
        message = Message()
        message["Content-Disposition"] = disposition
        name = message.get_filename()
    return _bare_name(name) if name else _name_in(url)


def _name_in(url: str) -> str:
    """Return the last component of the path of an address."""
    return _bare_name(urlsplit(url).path)


def _bare_name(name: str) -> str:
    """Drop from a name that a server chose whatever could lead out of a directory."""
    name = re.split(r"[/\\]", name)[-1]
    name = re.sub(r'[\x00-\x1f<>:"|?*]', "_", name).strip()
    return "" if name in ("", ".", "..") else name


def download(url: str, file_handle: IO[bytes], chunk_size: int = 1024) -> None:
    """Fetch a file and write it into an open one, with a progress bar.

    An attempt that fails for a passing reason (the connection, a server that is busy) is repeated
    a few times, going on where it stopped if the server can do so; the waits add up to 3.5
    seconds, or more if the server asks for it.

    Parameters
    ----------
    url : str
        The address.
    file_handle : binary file
        Where the bytes go, from its present position on. Its ``name``, if it has one, names the
        progress bar.
    chunk_size : int, optional
        Bytes read at a time.

    Raises
    ------
    requests.exceptions.RequestException
        If the server cannot be reached, or answers with an error status.
    StorageError
        If fewer bytes came than were announced.

    """
    transfer(url, file_handle, requests.get, chunk_size, progress_bar)


def ensure_directory_exists(directory: str) -> None:
    """Make a directory and its parents, unless it is there.

    Parameters
    ----------
    directory : str
        Its path.

    Raises
    ------
    OSError
        If a file is in the way, or it cannot be made.

    """
    os.makedirs(directory, exist_ok=True)


def file_sha256(path: str) -> str:
    """Return the SHA-256 of a file.

    Parameters
    ----------
    path : str
        The file.

    Returns
    -------
    str
        64 hexadecimal digits.

    """
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def default_downloader(
    directory: str,
    urls: Sequence[str | None],
    filenames: Sequence[str | None],
    url_prefix: str | None = None,
    clear: bool = False,
    *,
    checksums: Sequence[str | None] | None = None,
) -> None:
    """Download files into a directory, or delete them from it.

    A file grows as ``NAME.part`` and gets its final name when it is whole, so an older one stays
    until then. A download that was interrupted is resumed if the server can do so. A file that is
    there already and has the right checksum is not fetched again.

    Parameters
    ----------
    directory : str
        Where the files go; made if it is not there.
    urls : sequence of (str or None)
        Their addresses; None stands for ``url_prefix`` followed by the name.
    filenames : sequence of (str or None)
        Their names; None asks the server. The list is not changed.
    url_prefix : str, optional
        What the addresses that are None begin with.
    clear : bool, optional
        Delete the files, finished or not, instead. The network is needed only for names that are
        None.
    checksums : sequence of (str or None), optional
        The SHA-256 of each file, None where it is unknown. By default those that
        `fuel.manifests` has for the addresses.

    Raises
    ------
    NeedURLPrefix
        If an address is None and there is no prefix.
    ValueError
        If a file has no name, or the sequences differ in length.
    requests.exceptions.RequestException
        If a server cannot be reached or answers with an error.
    StorageError
        If a file is cut short or its checksum is wrong, or another process is downloading it.

    """
    urls = list(urls)
    names = _names(urls, filenames, clear)
    if checksums is not None and len(checksums) != len(urls):
        raise ValueError(
            f"`checksums` must have one entry for each of the {len(urls)} files, got "
            f"{len(checksums)}; use None where a checksum is unknown"
        )
    if clear:
        for name in names:
            for path in (os.path.join(directory, name), os.path.join(directory, name + ".part")):
                if os.path.isfile(path):
                    os.remove(path)
        return
    if url_prefix is None and not all(urls):
        raise NeedURLPrefix(
            f"no address is known for {', '.join(n for u, n in zip(urls, names) if not u)}; give "
            f"the address of the directory that holds it as `url_prefix`"
        )
    print("Downloading " + ", ".join(names) + "\n")
    ensure_directory_exists(directory)
    for number, (url, name) in enumerate(zip(urls, names)):
        address = url or f"{url_prefix}{name}"
        accepted = _accepted(address, None if checksums is None else (checksums[number],))
        _download_one(address, os.path.join(directory, name), accepted)


def _names(urls: Sequence[str | None], filenames: Sequence[str | None], clear: bool) -> list[str]:
    """Complete the names of the files; the caller's list stays as it is."""
    if len(urls) != len(filenames):
        raise ValueError(
            f"`urls` and `filenames` must be of equal length, got {len(urls)} and "
            f"{len(filenames)}; use None for a name that the server knows"
        )
    names = []
    for url, name in zip(urls, filenames):
        if not name and url:
            try:
                name = filename_from_url(url)
            except requests.exceptions.RequestException:
                name = _name_in(url)
                if not clear or not name:
                    raise
        if not name:
            raise ValueError(f"no filename available for URL {url!r}; give one in `filenames`")
        names.append(name)
    return names


def _accepted(url: str, given: tuple[str | None] | None) -> set[str]:
    """Return the SHA-256 that a file may have; empty if unknown."""
    if given is not None:
        return {digest.lower() for digest in given if digest}
    known = file_at(url)
    if known is None or known.sha256 is None:
        return set()
    return {known.sha256, *known.also}


def _download_one(url: str, target: str, accepted: set[str]) -> None:
    if accepted and os.path.isfile(target) and file_sha256(target) in accepted:
        print(f"{os.path.basename(target)} is there already, and whole.")
        return
    part = PartFile(target, checked_later=bool(accepted))
    try:
        resumed = part.tell() > 0
        download(url, part)
        if accepted and resumed and file_sha256(part.path) not in accepted:
            part.seek(0)  # what was here before may have been the wrong half
            part.truncate()
            download(url, part)
        if accepted and (found := file_sha256(part.path)) not in accepted:
            part.resumable = False
            raise StorageError(
                f"{url} is not the expected file: its SHA-256 is {found}, not "
                f"{' or '.join(sorted(accepted))}; it was changed there or on the way. Nothing "
                f"was saved: try again, or get the file from elsewhere"
            )
        part.commit()
    finally:
        if not part.closed:
            part.give_up()
