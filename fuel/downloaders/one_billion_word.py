"""Downloads the One Billion Word benchmark and unpacks it where `OneBillionWord` looks for it.

There is nothing to convert: `fuel.datasets.billion` reads the unpacked text.
"""

from __future__ import annotations

import argparse
import gzip
import os
import re
import shutil
import tarfile
import zlib
from collections.abc import Callable
from typing import IO

from fuel.downloaders._part import PartFile
from fuel.downloaders.base import default_downloader, progress_bar
from fuel.exceptions import StorageError
from fuel.manifests import MANIFESTS

__all__ = ["download_one_billion_word", "fill_subparser", "unpack"]

_FOLDER = "1-billion-word"

#: What is taken out of the archive; everything else stays in it.
_WANTED = re.compile(
    r"(?:.*/)?"
    r"(training-monolingual\.tokenized\.shuffled/news\.en-\d{5}-of-\d{5}"
    r"|heldout-monolingual\.tokenized\.shuffled/news\.en\.heldout-\d{5}-of-\d{5})"
)

#: More than twice the text that was published: beyond that it is another archive.
_LIMIT_BYTES = 10 * 2**30


def download_one_billion_word(
    directory: str, clear: bool = False, unpack_only: bool = False
) -> None:
    """Download the corpus and unpack it, or delete both.

    Parameters
    ----------
    directory : str
        Where the archive goes (1.8 GB), and beside it the folder ``1-billion-word`` (4.2 GB);
        a directory of the data path, for `fuel.datasets.OneBillionWord` to find it.
    clear : bool, optional
        Delete the archive and the unpacked text instead.
    unpack_only : bool, optional
        Unpack the archive that is there already.

    Raises
    ------
    OSError
        If the archive cannot be had, is damaged, or is another one.

    """
    manifest = MANIFESTS["one_billion_word"]
    path = os.path.join(directory, manifest.filenames[0])
    if clear or not unpack_only:
        default_downloader(
            directory=directory, urls=manifest.urls, filenames=manifest.filenames, clear=clear
        )
    if clear:
        shutil.rmtree(os.path.join(directory, _FOLDER), ignore_errors=True)
        return
    names = unpack(path, directory)
    print(f"Unpacked {len(names)} files into {os.path.join(directory, _FOLDER)}")


def unpack(path: str, directory: str) -> list[str]:
    """Take the text out of the archive.

    Parameters
    ----------
    path : str
        The archive.
    directory : str
        Where the folder ``1-billion-word`` goes. Files in it are replaced, each when the new one
        is whole.

    Returns
    -------
    list of str
        The paths of the files, in the order of the archive.

    Raises
    ------
    StorageError
        If it is no such archive, is cut short or damaged, or holds more than 10 GiB.

    Notes
    -----
    Only plain files with the names of the corpus are taken, and their places are made of these
    names: whatever else an archive holds, nothing is written outside of the folder.

    """
    paths: list[str] = []
    left = _LIMIT_BYTES
    try:
        with (
            open(path, "rb") as raw,
            gzip.GzipFile(fileobj=raw) as unzipped,
            tarfile.open(fileobj=unzipped, mode="r|") as archive,
            progress_bar(f"{os.path.basename(path)} (unpacking)", os.path.getsize(path)) as bar,
        ):
            for member in archive:
                bar.update(raw.tell())
                found = _WANTED.fullmatch(member.name)
                if found is None or not member.isreg():
                    continue
                left -= member.size
                if left < 0:
                    raise StorageError(
                        f"{path} holds more than {_LIMIT_BYTES:,} bytes of text, which the corpus "
                        f"does not; get it again with `fuel-download one_billion_word`"
                    )
                target = os.path.join(directory, _FOLDER, *found[1].split("/"))
                content = archive.extractfile(member)
                assert content is not None
                _write(content, target)
                paths.append(target)
            while unzipped.read(1 << 20):
                pass  # to its end, where the checksum is
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise StorageError(
            f"{path} is cut short or damaged ({error}); get it again with "
            f"`fuel-download one_billion_word`"
        ) from error
    if not paths:
        raise StorageError(
            f"{path} has none of the files of the corpus; get it again with "
            f"`fuel-download one_billion_word`"
        )
    return paths


def _write(content: IO[bytes], target: str) -> None:
    os.makedirs(os.path.dirname(target), exist_ok=True)
    part = PartFile(target)
    try:
        part.seek(0)
        part.truncate()
        shutil.copyfileobj(content, part, 1 << 20)
        part.commit()
    finally:
        if not part.closed:
            part.give_up()


def fill_subparser(subparser: argparse.ArgumentParser) -> Callable[..., None]:
    """Give the sub-command of ``fuel-download`` its option.

    Parameters
    ----------
    subparser : argparse.ArgumentParser
        The parser of the sub-command.

    Returns
    -------
    callable
        `download_one_billion_word`.

    """
    subparser.add_argument(
        "--unpack-only", action="store_true", help="unpack the archive that is there already"
    )
    return download_one_billion_word
