"""What a download would do, said and not done: addresses, sizes, places, room on the disk."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from typing import Any

from requests.exceptions import RequestException

from fuel.downloaders._addresses import Wanted
from fuel.downloaders._failures import RemoteError, describe_failure
from fuel.downloaders._transfer import _length, close, request
from fuel.utils import _progress

__all__ = ["rehearse"]


def rehearse(directory: str, files: Sequence[Wanted], get: Callable[..., Any]) -> None:
    """Print what would be downloaded. Servers are asked for sizes that are unknown, no more.

    Parameters
    ----------
    directory : str
        Where the files would go.
    files : sequence of Wanted
        The files.
    get : callable
        ``requests.get``.

    """
    total, certain = 0, True
    for file in files:
        target = os.path.join(directory, file.name)
        size, remark = file.likely_size, ""
        if size is None:
            size, remark = _ask(file, get)
        total += size or 0
        certain = certain and size is not None
        print(f"{target}: {_size_text(size)}{_state(target)}{remark}")
        for number, url in enumerate(file.addresses):
            print(f"  {'else' if number else 'from'} {url}")
        checks = ["its SHA-256"] * bool(file.accepted) + ["its size"] * (file.size is not None)
        if checks:
            print(f"  to be checked by {' and '.join(checks)}")
    free = shutil.disk_usage(_existing(directory)).free
    least = "" if certain else "at least "
    print(
        f"{least}{_size_text(total)} in all; {_progress.bytes_text(free)} are free there. "
        "Nothing was written."
    )


def _size_text(size: int | None) -> str:
    return "size unknown" if size is None else f"{size:,} bytes"


def _state(target: str) -> str:
    if os.path.isfile(target):
        return ", there already"
    if os.path.isfile(target + ".part"):
        return f", {os.path.getsize(target + '.part'):,} of them here from an earlier run"
    return ""


def _existing(directory: str) -> str:
    """Return the directory, or the nearest one above it that exists."""
    directory = os.path.abspath(directory)
    while not os.path.isdir(directory) and os.path.dirname(directory) != directory:
        directory = os.path.dirname(directory)
    return directory


def _ask(file: Wanted, get: Callable[..., Any]) -> tuple[int | None, str]:
    """Ask for the size of a file, without its bytes."""
    why = ""
    for url in file.addresses:
        try:
            response = request(get, url)
            try:
                response.raise_for_status()
                return _length(response), ""
            finally:
                close(response)
        except (RequestException, RemoteError) as error:
            why = why or f" ({describe_failure(url, error)})"
    return None, why
