"""The files of a data set: each from one of its addresses, verified; several at a time.

What happens on the wire is in `_transfer`, the growing file in `_part`, threads in `_several`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from requests.exceptions import RequestException

from fuel.downloaders._addresses import Wanted
from fuel.downloaders._failures import (
    DownloadError,
    RefusedError,
    RemoteError,
    describe_failure,
    describe_failures,
    host_of,
)
from fuel.downloaders._part import PartFile
from fuel.downloaders._settings import Run, current, current_run, running
from fuel.downloaders._several import in_threads
from fuel.utils import _progress

__all__ = ["clear_files", "fetch_files"]

Download = Callable[[str, Any], None]
Digest = Callable[[str], str]


def clear_files(directory: str, names: Sequence[str]) -> None:
    """Delete files, finished or not."""
    for name in names:
        for path in (os.path.join(directory, name), os.path.join(directory, name + ".part")):
            if os.path.isfile(path):
                os.remove(path)


def fetch_files(
    directory: str, files: Sequence[Wanted], jobs: int, download: Download, digest: Digest
) -> None:
    """Download files; if some cannot be had, get the others, and tell.

    Parameters
    ----------
    directory : str
        Where they go.
    files : sequence of Wanted
        The files.
    jobs : int
        How many at a time.
    download : callable
        ``download(url, part)`` of `base`, which programs may replace.
    digest : callable
        ``file_sha256`` of `base`.

    """
    several = jobs > 1 and len(files) > 1
    run = Run(several)
    tasks = [partial(_fetch_one, directory, file, download, digest) for file in files]
    with running(run):
        if several:
            try:
                errors = in_threads(tasks, jobs, run)
            finally:
                for part in run.growing():  # of threads that did not come to an end
                    part.give_up()
        else:
            errors = [_outcome(task) for task in tasks]
    failed = [(file, error) for file, error in zip(files, errors) if error is not None]
    if len(files) == 1 and failed:
        raise failed[0][1]
    if failed:
        raise _of_all_files(failed, len(files)) from failed[0][1]


def _of_all_files(failed: Sequence[tuple[Wanted, BaseException]], count: int) -> DownloadError:
    """Return the error that tells which files could not be had, those alike together."""
    names: dict[tuple[str, ...], list[str]] = {}
    failures: list[tuple[str, BaseException]] = []
    for file, error in failed:
        found = error.failures if isinstance(error, DownloadError) else ()
        these = list(found) or [((*file.addresses, file.name)[0], error)]
        failures += these
        names.setdefault(tuple(describe_failures(these)), []).append(file.name)
    lines = [f"{len(failed)} of {count} files could not be downloaded:"]
    for reasons, together in names.items():
        lines.append(f"  {', '.join(together)}: {reasons[0]}")
        lines += [f"    {reason}" for reason in reasons[1:]]
    if len(failed) < count:
        lines.append(f"The other {count - len(failed)} are here, and whole.")
    return DownloadError("\n".join(lines), failures)


def _outcome(task: Callable[[], None]) -> Exception | None:
    try:
        task()
    except Exception as error:
        return error
    return None


def _fetch_one(directory: str, file: Wanted, download: Download, digest: Digest) -> None:
    """Download a file from the first of its addresses that gives the right bytes."""
    target = os.path.join(directory, file.name)
    settings = current()
    if file.accepted and os.path.isfile(target) and digest(target) in file.accepted:
        _progress.say(f"{file.name} is there already, and whole.")
        return
    part = PartFile(target, checked_later=bool(file.accepted))
    part.expected_bytes = file.size
    run = current_run()
    run.add(part)
    started = time.monotonic()
    failures: list[tuple[str, Exception]] = []
    try:
        for url in file.addresses:
            try:
                _from_one_address(url, file, part, download, digest)
                size = part.present_bytes
                part.commit()
                break
            except (RequestException, RemoteError) as error:
                failures.append((url, error))
                if len(failures) < len(file.addresses):
                    settings.tell(f"{describe_failure(url, error)}. Trying another address")
        else:
            raise _of_all_addresses(file, failures)
    finally:
        if not part.closed:
            part.give_up()
        run.remove(part)
    if settings.reporting:
        elapsed = max(time.monotonic() - started, 1e-3)
        kept_bytes = max(0, size - part.written_bytes)
        kept = f" ({kept_bytes:,} of them were here)" if kept_bytes else ""
        speed = _progress.bytes_text(part.written_bytes / elapsed)
        _progress.say(
            f"{file.name}: {size:,} bytes{kept} from {host_of(url)}, {elapsed:.1f} s, {speed}/s"
        )


def _of_all_addresses(file: Wanted, failures: list[tuple[str, Exception]]) -> Exception:
    """Return the error that tells why a file could be had from nowhere."""
    if len(failures) == 1:
        return failures[0][1]
    lines = [f"{file.name} could be had from none of its {len(failures)} addresses:"]
    lines += [f"  {reason}" for reason in describe_failures(failures)]
    return DownloadError("\n".join(lines), failures)


def _from_one_address(
    url: str, file: Wanted, part: PartFile, download: Download, digest: Digest
) -> None:
    resumed = part.tell() > 0
    try:
        download(url, part)
    except RefusedError:
        # Bytes of another file, or of none: what was here before may be good for another address.
        if not resumed:
            part.forget()
        raise
    if not file.accepted:
        return
    found = digest(part.path)
    if found not in file.accepted and resumed:
        part.forget()  # what was here before may have been the wrong half
        download(url, part)
        found = digest(part.path)
    if found not in file.accepted:
        part.forget()
        raise RefusedError(
            f"{url} is not the expected file: its SHA-256 is {found}, not "
            f"{' or '.join(sorted(file.accepted))}; it was changed there or on the way. Nothing "
            f"was saved: try again, or give another address with `fuel-download --url`"
        )
