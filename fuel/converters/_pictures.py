"""Pictures in archives: taking them out, and decoding them; what is damaged is named.

Shared by the converters of photographs. What becomes of the pixels is theirs to say.
"""

from __future__ import annotations

import itertools
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import numpy
from numpy.typing import NDArray

from fuel.exceptions import StorageError
from fuel.kernels.jpeg import decode_many

__all__ = ["decode", "groups", "open_zip", "pictures_in", "read_member"]

_T = TypeVar("_T")

#: What a member of an archive of photographs may hold; the largest of those published has 0.3 MiB.
MEMBER_BYTES = 64 * 2**20
#: The largest picture: more than ten times any of those published, and 48 MiB decoded.
MAX_PIXELS = 2**24


def groups(values: Iterable[_T], size: int) -> Iterator[list[_T]]:
    """Yield lists of so many values, the last one maybe shorter."""
    iterator = iter(values)
    while group := list(itertools.islice(iterator, size)):
        yield group


def open_zip(path: str, command: str) -> zipfile.ZipFile:
    """Open a zip archive.

    Parameters
    ----------
    path : str
        The archive.
    command : str
        What gets it again, for the message.

    Returns
    -------
    zipfile.ZipFile
        The archive, open for reading.

    Raises
    ------
    StorageError
        If it is none, or is cut short (the list of its members is at its end).

    """
    try:
        return zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        raise StorageError(
            f"{path} is no zip archive, or is cut short ({error}); get it again with `{command}`"
        ) from error


def pictures_in(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return the members that are files and not hidden (systems add those), in their order."""
    found = []
    for member in archive.infolist():
        parts = member.filename.split("/")
        hidden = "__MACOSX" in parts[:-1] or parts[-1].startswith(".") or parts[-1] == "Thumbs.db"
        if not member.is_dir() and not hidden:
            found.append(member)
    return found


def read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, command: str) -> bytes:
    """Return what a member of a zip archive holds.

    Raises
    ------
    StorageError
        If it is damaged, encrypted or far too large.

    """
    if member.file_size > MEMBER_BYTES:
        raise StorageError(
            f"{member.filename} in {archive.filename} has {member.file_size:,} bytes, and a "
            f"picture of this data set at most {MEMBER_BYTES:,}; get the archive again with "
            f"`{command}`"
        )
    try:
        return archive.read(member)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise StorageError(
            f"{member.filename} in {archive.filename} is damaged ({error}); get the archive again "
            f"with `{command}`"
        ) from error


def decode(
    contents: Sequence[bytes], names: Sequence[str], path: str, command: str
) -> list[NDArray[numpy.uint8]]:
    """Decode pictures.

    Parameters
    ----------
    contents : sequence of bytes
        The encoded pictures.
    names : sequence of str
        What they are called in the archive.
    path : str
        The archive.
    command : str
        What gets it again.

    Returns
    -------
    list of numpy.ndarray, each uint8 of shape (3, height, width)
        Red, green and blue.

    Raises
    ------
    StorageError
        If one of them is damaged, or no picture; the message names it.

    """
    from PIL.Image import DecompressionBombError

    problems = (OSError, ValueError, SyntaxError, DecompressionBombError)
    try:
        return decode_many(contents, max_pixels=MAX_PIXELS)
    except problems as error:
        if len(contents) == 1:
            raise StorageError(
                f"{names[0]} in {path} is damaged, or no picture ({error}); get the archive again "
                f"with `{command}`"
            ) from error
    # Once more, one at a time: the first that fails is the one to name.
    return [decode([one], [name], path, command)[0] for one, name in zip(contents, names)]
