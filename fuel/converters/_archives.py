"""Reading tar (also compressed with gzip) and zip archives without extracting anything.

Archives come from the network, so nothing in them is believed: names that lead out of a directory,
links, devices and sparse files are refused, sizes are limited before anything is read, and an
archive that is cut short or damaged is an error that names it. Opening single files is in `_raw`.
"""

from __future__ import annotations

import os
import re
import stat
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import IO, Any

from fuel.converters._raw import DAMAGE, RawStream, begins, damaged, open_raw
from fuel.exceptions import StorageError

__all__ = ["MAX_MEMBER_BYTES", "MAX_TOTAL_BYTES", "Member", "find", "members"]

#: How large a member may be, unless the caller says otherwise.
MAX_MEMBER_BYTES = 1 << 30

#: How large a compressed archive may be when it is unpacked, unless the caller says otherwise.
MAX_TOTAL_BYTES = 1 << 36

# Long names and extended headers are read at once; a path is far shorter.
_MAX_HEADER_BYTES = 1 << 20

_ZIP = (b"PK\x03\x04", b"PK\x05\x06")


@dataclass(frozen=True)
class Member:
    """A regular file in an archive.

    Attributes
    ----------
    name : str
        Its path in the archive, with ``/`` between the components and never out of it.
    size : int
        Its size in bytes.
    file : RawStream
        Its content, to be read before the next member is asked for. Read forwards; it can go
        back only where the archive is a tar file that is not compressed.

    """

    name: str
    size: int
    file: RawStream

    def read(self) -> bytes:
        """Return its whole content.

        Returns
        -------
        bytes
            `size` of them.

        Raises
        ------
        StorageError
            If it is cut short or damaged.

        """
        content = self.file.read(self.size)
        if len(content) < self.size:
            raise self.file.damaged(
                f"it is cut short: {self.size} bytes are announced, {len(content)} are there"
            )
        self.file.read(1)  # the end: checksums are looked at there
        return content


def members(
    archive: str | os.PathLike[str] | IO[bytes] | RawStream,
    advice: str,
    *,
    name: str | None = None,
    max_member_bytes: int = MAX_MEMBER_BYTES,
    max_total_bytes: int = MAX_TOTAL_BYTES,
) -> Iterator[Member]:
    """Go through the regular files of an archive, in its order.

    What kind of archive it is (tar, tar compressed with gzip, zip) is told by its content.
    Directories are passed over. One member is in memory at a time, and only if its content is
    asked for. Whoever goes through to the end knows that the archive is whole.

    Parameters
    ----------
    archive : str, path, binary file object or RawStream
        The archive. The ``file`` of a `Member` will do, for archives in archives; a zip archive
        must be able to go to any place. It is closed at the end.
    advice : str
        What messages tell to do if it is damaged.
    name : str, optional
        What messages call it; by default its path.
    max_member_bytes : int, optional
        How large a member may be.
    max_total_bytes : int, optional
        How many bytes a compressed archive may unpack to.

    Yields
    ------
    Member
        A file.

    Raises
    ------
    StorageError
        If the archive is cut short, damaged or none at all, if a limit is exceeded, or if it
        holds what it should not: absolute names, ``..``, links, devices, sparse or encrypted
        files.
    OSError
        If it cannot be opened.

    Examples
    --------
    >>> import zipfile
    >>> with zipfile.ZipFile("small.zip", "w") as file:
    ...     file.writestr("a/b.txt", "text")
    >>> [(member.name, member.read()) for member in members("small.zip", "get it again")]
    [('a/b.txt', b'text')]

    """
    stream = open_raw(archive, advice, name=name, max_bytes=max_total_bytes)
    try:
        if stream.seekable():
            head = stream.read(512)
            stream.seek(0)
            if head.startswith(_ZIP):
                yield from _zip_members(stream, max_member_bytes, max_total_bytes)
                return
        yield from _tar_members(stream, max_member_bytes)
    finally:
        stream.close()


@contextmanager
def find(
    archive: str | os.PathLike[str] | IO[bytes] | RawStream, member: str, advice: str, **kwargs: Any
) -> Iterator[Member]:
    """Open one file of an archive for a block.

    Parameters
    ----------
    archive : str, path, binary file object or RawStream
        The archive; what comes after the member is not looked at.
    member : str
        The path of the file in it.
    advice : str
        What messages tell to do if it is damaged.
    **kwargs
        The limits of `members`.

    Yields
    ------
    Member
        The file.

    Raises
    ------
    StorageError
        If there is no such file, and see `members`.

    """
    with closing(members(archive, advice, **kwargs)) as found:  # type: ignore[type-var]
        for one in found:
            if one.name == member:
                yield one
                return
    raise damaged(
        kwargs.get("name") or os.fspath(archive),  # type: ignore[arg-type]
        f"it lacks {member}",
        advice,
    )


class _StrictHeader(tarfile.TarInfo):
    """A header of a tar archive; one that is damaged or not there is an error, not the end."""

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> Any:
        try:
            return super().fromtarfile(archive)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]
            raise
        except tarfile.EmptyHeaderError as error:  # type: ignore[attr-defined]
            raise tarfile.ReadError("unexpected end of data: no end mark") from error
        except tarfile.TruncatedHeaderError as error:  # type: ignore[attr-defined]
            raise tarfile.ReadError("unexpected end of data: half a header") from error
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(f"{error} at byte {archive.offset}") from error


def _tar_members(stream: RawStream, max_member_bytes: int) -> Iterator[Member]:
    stream.max_read_bytes = _MAX_HEADER_BYTES
    archive = None
    while True:
        try:
            if archive is None:
                archive = tarfile.TarFile(
                    fileobj=stream,  # type: ignore[arg-type]
                    tarinfo=_StrictHeader,
                    encoding="utf-8",
                )
            info = archive.next()
            archive.members.clear()  # type: ignore[attr-defined] # it would keep all headers
        except DAMAGE as error:
            if archive is None:
                raise _no_archive(stream) from error
            raise _cut_or_damaged(stream, error) from error
        if info is None:
            break
        if info.isdir():
            continue
        _check_tar(stream, info)
        path = _checked_name(stream, info.name)
        _check_size(stream, path, info.size, max_member_bytes)
        content = archive.extractfile(info)
        assert content is not None  # it is a regular file
        stream.max_read_bytes = None
        yield Member(path, info.size, _part(stream, content, path, stream.seekable()))
        stream.max_read_bytes = _MAX_HEADER_BYTES
    stream.max_read_bytes = None
    while stream.read(1 << 20):  # to the checksum of gzip
        pass


def _part(stream: RawStream, content: IO[bytes], path: str, random: bool) -> RawStream:
    return RawStream(content, f"{path} in {stream.name}", stream.advice, random=random)


def _no_archive(stream: RawStream) -> StorageError:
    """Say that a file is no archive at all; what it begins with often tells why."""
    looks = ""
    if stream.seekable():
        stream.seek(0)
        stream.max_read_bytes = None
        looks = f": {begins(stream.read(200))}"
    return stream.damaged(f"it is not a tar or zip archive, or cut short early{looks}")


def _cut_or_damaged(stream: RawStream, error: Exception) -> StorageError:
    if isinstance(error, EOFError) or "unexpected end of data" in str(error):
        return stream.damaged(f"the archive is cut short ({error})")
    return stream.damaged(f"the archive is damaged ({error})")


def _check_tar(stream: RawStream, info: tarfile.TarInfo) -> None:
    what = None
    if info.issym() or info.islnk():
        what = f"a link to {info.linkname!r}"
    elif info.issparse():
        what = "a sparse file"
    elif not info.isreg():
        what = "a device, a pipe or something unknown"
    if what is not None:
        raise stream.damaged(f"{info.name!r} in it is {what}, which is not accepted")


def _zip_members(
    stream: RawStream, max_member_bytes: int, max_total_bytes: int
) -> Iterator[Member]:
    try:
        archive = zipfile.ZipFile(stream)  # type: ignore[arg-type]
    except (*DAMAGE, NotImplementedError) as error:
        raise stream.damaged(f"the archive is cut short or damaged ({error})") from error
    with archive:
        total = sum(info.file_size for info in archive.infolist())
        if total > max_total_bytes:
            raise stream.damaged(
                f"it unpacks to {total} bytes, more than the {max_total_bytes} that are allowed"
            )
        for info in archive.infolist():
            if info.is_dir():
                continue
            path = _checked_name(stream, info.filename)
            _check_zip(stream, info)
            _check_size(stream, path, info.file_size, max_member_bytes)
            try:
                content = archive.open(info)
            except (*DAMAGE, NotImplementedError) as error:
                raise damaged(
                    f"{path} in {stream.name}", f"it is damaged ({error})", stream.advice
                ) from error
            with _part(stream, content, path, False) as part:
                yield Member(path, info.file_size, part)


def _check_zip(stream: RawStream, info: zipfile.ZipInfo) -> None:
    kind = stat.S_IFMT(info.external_attr >> 16)
    what = None
    if kind not in (0, stat.S_IFREG):
        what = "a link or a device"
    elif info.flag_bits & 1:
        what = "encrypted"
    elif info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        what = f"compressed by a method ({info.compress_type}) other than deflation"
    if what is not None:
        raise stream.damaged(f"{info.filename!r} in it is {what}, which is not accepted")


def _checked_name(stream: RawStream, name: str) -> str:
    """Return the name of a member; it must stay inside a directory on every platform."""
    parts = re.split(r"[/\\]", name)
    if name.startswith(("/", "\\")) or re.match(r"[A-Za-z]:", name) or ".." in parts:
        raise stream.damaged(f"{name!r} in it leads out of the directory, which is not accepted")
    kept = [part for part in parts if part not in ("", ".")]
    if not kept or "\0" in name:
        raise stream.damaged(f"{name!r} in it is no name of a file")
    return "/".join(kept)


def _check_size(stream: RawStream, path: str, size: int, limit: int) -> None:
    if size > limit:
        raise stream.damaged(
            f"{path!r} in it is {size} bytes, more than the {limit} that are allowed"
        )
