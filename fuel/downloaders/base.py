"""Fetching raw files: the functions that downloaders are made of.

`default_downloader` is all that most data sets need; `download` and `filename_from_url` are its
parts. Files grow as ``NAME.part`` beside their final name, are resumed, verified where a size or
checksum is known, and renamed. What happens on the wire is in `_transfer`, the growing file in
`_part`, one file from one of its addresses and several files at a time in `_fetch`; copies that
ship with the package are in `packaged`; which files a data set has is in `fuel.manifests`.

Requests are made through the name ``requests`` of this module, which programs may replace.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from email.message import Message
from typing import IO
from urllib.parse import urlsplit

import requests

from fuel.downloaders._addresses import addresses_given, wanted_file
from fuel.downloaders._fetch import clear_files, fetch_files
from fuel.downloaders._rehearse import rehearse
from fuel.downloaders._settings import Rehearsed, current
from fuel.downloaders._transfer import close, header, request, transfer
from fuel.exceptions import NeedURLPrefix
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
    # Where a line is printed for every file, its bar need not stay.
    leave = not current().reporting
    return _progress.progress_bar(name, maxval, prefix="Downloading", unit="B", leave=leave)


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
    if current().dry_run:
        print(f"Would make files in {directory}; what they are shows only when it is done.")
        raise Rehearsed
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
    there already and has the right checksum is not fetched again. Where `fuel.manifests` knows
    other addresses of a file, they are tried in turn. If one of several files cannot be had, the
    others still are.

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
        If a file is cut short, is not the expected one (its size, its checksum, a page in place
        of it) or does not fit onto the disk, or another process is downloading it. If several
        files or addresses fail, one error tells of them all; it is a StorageError and a
        RequestException.

    """
    urls = list(urls)
    names = _names(urls, filenames, clear)
    if checksums is not None and len(checksums) != len(urls):
        raise ValueError(
            f"`checksums` must have one entry for each of the {len(urls)} files, got "
            f"{len(checksums)}; use None where a checksum is unknown"
        )
    settings = current()
    if clear:
        clear_files(directory, names)
        return
    given = addresses_given(settings, names)
    missing = [name for url, name in zip(urls, names) if not url and name not in given]
    if url_prefix is None and missing:
        raise NeedURLPrefix(
            f"no address is known for {', '.join(missing)}; give "
            f"the address of the directory that holds it as `url_prefix`"
        )
    files = []
    for number, (url, name) in enumerate(zip(urls, names)):
        address = url or (None if url_prefix is None else f"{url_prefix}{name}")
        file = wanted_file(name, address, given.get(name, ()), settings.known.get(name))
        if checksums is not None:
            digest = checksums[number]
            accepted = frozenset({digest.lower()} if digest else ())
            file = replace(file, accepted=accepted, size=None)
        files.append(file)
    if settings.dry_run:
        rehearse(directory, files, requests.get)
        raise Rehearsed
    if not settings.quiet:
        print("Downloading " + ", ".join(names) + "\n")
    os.makedirs(directory, exist_ok=True)
    fetch_files(directory, files, settings.jobs, download, file_sha256)


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
