"""The pictures of ILSVRC, as they lie in tar archives: one at a time, checked, with their places.

The training archive holds an archive for each class; the others hold the pictures themselves.
Pictures come in the order of the archive, with their places in the order of their names, so an
archive is read once from the beginning to the end. Some were published broken and have
replacements ("patches") in an archive of their own. What the classes are is in `_imagenet_devkit`,
where pictures go in `_imagenet_writing` and `_imagenet_sockets`.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, Union

from numpy.typing import NDArray

from fuel.converters._archives import MAX_MEMBER_BYTES, Member, members
from fuel.converters._raw import RawStream, begins, damaged
from fuel.exceptions import StorageError
from fuel.kernels import jpeg

__all__ = [
    "Archive",
    "Patches",
    "Picture",
    "UnusedPatchesError",
    "check_classes",
    "check_numbers",
    "check_picture",
    "class_of",
    "each_member",
    "name_of",
    "names_in",
    "other_pictures",
    "seekable",
    "train_pictures",
]

#: A path, or a binary file that is open for reading and can go to any place.
Archive = Union[str, "os.PathLike[str]", IO[bytes]]

#: The largest picture of those published is 15 MiB.
MAX_PICTURE_BYTES = 2**26
#: Header only: what is too large to be decoded is for whoever decodes it to say.
_MAX_PIXELS = 2**30
#: All replacements are in memory together; there are a few.
_MAX_PATCH_BYTES = 2**30

_GZIP = b"\x1f\x8b"
#: One of the published pictures is a PNG file with the name of a JPEG file.
_SIGNATURES = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n")
_NUMBERED = re.compile(r"ILSVRC20\d\d_(?:val|test)_(\d{8})\.JPEG", re.IGNORECASE)
_SETS = {"train": ("train",), "valid": ("val", "valid"), "test": ("test",)}


class UnusedPatchesError(StorageError, ValueError):
    """Replacements are left over: they belong to other archives than those given."""


@dataclass(frozen=True)
class Picture:
    """A picture.

    Attributes
    ----------
    place : int
        Its number among all of the set: classes in the order of the archive, and within a class
        (or the set, if it has no archives of classes) in the order of the names.
    name : str
        What it is called, without directories.
    label : int or None
        Its class.
    content : bytes
        The JPEG file.

    """

    place: int
    name: str
    label: int | None
    content: bytes


class Patches:
    """Replacements for broken pictures of one set.

    Parameters
    ----------
    contents : dict of str to bytes
        The pictures by name, without directories.
    source : str
        Where they come from, for messages.

    """

    def __init__(self, contents: Mapping[str, bytes], source: str) -> None:
        self._contents = contents
        self._source = source
        self._used: set[str] = set()

    def take(self, name: str) -> bytes | None:
        """Return the replacement of a picture, or None."""
        content = self._contents.get(name)
        if content is not None:
            self._used.add(name)
        return content

    def check_used(self) -> None:
        """Complain if a picture to be replaced was not there."""
        left = sorted(set(self._contents) - self._used)
        if left:
            raise UnusedPatchesError(
                f"{self._source}: not all patch images were used: {_some(left)} replace pictures "
                "that are not there; get the archives again, all of the same year"
            )

    @staticmethod
    def read(archive: Archive, which_set: str, advice: str) -> dict[str, bytes]:
        """Return the replacements for a set by their names; see `extract_patch_images`."""
        if which_set not in _SETS:
            raise ValueError(f"`which_set` must be one of train, valid and test, got {which_set!r}")
        return Patches._read(archive, advice)[which_set]

    @staticmethod
    def for_all(archive: Archive, advice: str) -> dict[str, Patches]:
        """Return the replacements for each set; each picture must belong to one."""
        found = Patches._read(archive, advice, strict=True)
        name = name_of(archive)
        return {which: Patches(contents, name) for which, contents in found.items()}

    @staticmethod
    def _read(archive: Archive, advice: str, strict: bool = False) -> dict[str, dict[str, bytes]]:
        found: dict[str, dict[str, bytes]] = {which: {} for which in _SETS}
        total = 0
        for member in each_member(archive, advice, MAX_PICTURE_BYTES):
            *folders, name = member.name.split("/")
            if not name.upper().endswith((".JPEG", ".JPG")):
                continue
            folder = folders[-1] if folders else ""
            which = next((one for one, names in _SETS.items() if folder in names), None)
            if which is None:
                if strict:
                    raise damaged(
                        name_of(archive),
                        f"{member.name} in it should be in one of the folders train, val and test",
                        advice,
                    )
                continue
            total += member.size
            if total > _MAX_PATCH_BYTES:
                raise damaged(
                    name_of(archive),
                    f"its pictures are more than the {_MAX_PATCH_BYTES} bytes that are allowed",
                    advice,
                )
            found[which][name] = _content(member, advice)
        return found


def name_of(archive: Any) -> str:
    """Return what messages call an archive."""
    if isinstance(archive, (str, os.PathLike)):
        return os.fspath(archive)
    return str(getattr(archive, "name", "the archive"))


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


class _Kept(RawStream):
    """An open file that is not closed by who reads it, and that is read from its beginning."""

    def __init__(self, file: Any, name: str, advice: str) -> None:
        super().__init__(file, name, advice, random=True)
        self.seek(0)

    def close(self) -> None:
        pass


def each_member(
    archive: Archive, advice: str, max_bytes: int = MAX_MEMBER_BYTES
) -> Iterator[Member]:
    """Go through an archive; one that was open already stays so, to be gone through again."""
    name, file = name_of(archive), archive
    if not isinstance(archive, (str, os.PathLike)):
        file = _Kept(archive, name, advice)  # type: ignore[assignment] # a binary file too
    return members(file, advice, name=name, max_member_bytes=max_bytes)


def names_in(archive: Archive, advice: str) -> list[str]:
    """List the files of an archive; their content is not read.

    Parameters
    ----------
    archive : str, path or binary file object
        The archive.
    advice : str
        What to do if it is damaged.

    Returns
    -------
    list of str
        Their paths, in the order of the archive; each is there once.

    Raises
    ------
    StorageError
        If it is cut short or damaged, or has two files of a name.

    """
    names = [member.name for member in each_member(archive, advice)]
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise damaged(name_of(archive), f"it has two files called {twice}", advice)
    return names


def check_classes(
    archive: Archive, classes: Collection[str], num_train: Mapping[str, int], advice: str
) -> None:
    """See that the training archive has one archive for each class, and nothing else.

    It takes a moment, as only the headers are looked at, and an archive that is cut short is found
    out too.

    Parameters
    ----------
    archive : str, path or binary file object
        The training archive.
    classes : collection of str
        The WordNet IDs of the classes.
    num_train : dict of str to int
        How many pictures each class has.
    advice : str
        What to do if it is not so.

    Raises
    ------
    StorageError
        If it is not so.

    """
    there = [
        class_of(name, classes, name_of(archive), advice) for name in names_in(archive, advice)
    ]
    if len(set(there)) < len(there):
        twice = Counter(there).most_common(1)[0][0]
        raise damaged(name_of(archive), f"it has two archives of the class {twice}", advice)
    missing = sorted(wnid for wnid in classes if num_train.get(wnid) and wnid not in set(there))
    if missing:
        raise damaged(
            name_of(archive),
            f"it lacks {_some([wnid + '.tar' for wnid in missing])}, of {len(classes)} classes",
            advice,
        )


def class_of(path: str, classes: Collection[str], archive: str, advice: str) -> str:
    """Return the class whose archive a file in the training archive is; it must be one."""
    wnid, extension = os.path.splitext(path.rsplit("/", 1)[-1])
    if extension.lower() != ".tar":
        raise damaged(
            archive, f"it should hold a tar archive for each class, but has {path}", advice
        )
    if wnid not in classes:
        raise damaged(
            archive, f"{path} in it is of no class that the development kit knows", advice
        )
    return wnid


def train_pictures(
    archive: Archive,
    patches: Patches,
    classes: Mapping[str, int],
    advice: str,
    num_train: Mapping[str, int] | None = None,
) -> Iterator[Picture]:
    """Go through the pictures of the training archive.

    Parameters
    ----------
    archive : str, path or binary file object
        An archive of archives, one for each class, named by its WordNet ID.
    patches : Patches
        Replacements; all must be used.
    classes : dict of str to int
        The number of each class by its WordNet ID.
    advice : str
        What to do if the archive is damaged.
    num_train : dict of str to int, optional
        How many pictures each class has, if that is known.

    Yields
    ------
    Picture
        One at a time is in memory.

    Raises
    ------
    StorageError
        If an archive is damaged, has an unknown class or a wrong number of pictures, or holds
        something that is no picture.

    """
    done = 0
    for one in each_member(archive, advice):
        wnid = class_of(one.name, classes, name_of(archive), advice)
        with seekable(one) as inner:
            places = _places(names_in(inner, advice))
            expected = len(places) if num_train is None else num_train[wnid]
            if len(places) != expected:
                raise one.file.damaged(
                    f"it has {len(places)} pictures, and the development kit counts {expected}"
                )
            for name, content in _contents(inner, patches, advice):
                place = done + places[name]
                yield Picture(place, name.rsplit("/", 1)[-1], classes[wnid], content)
        done += len(places)
    patches.check_used()


@contextmanager
def seekable(member: Member) -> Iterator[Any]:
    """Open an archive in an archive so that it can be gone through twice."""
    if member.file.seekable():
        yield member.file
        return
    with tempfile.TemporaryFile() as copy:  # the archive around it is compressed
        shutil.copyfileobj(member.file, copy, 1 << 20)
        copy.seek(0)
        yield RawStream(copy, member.file.name, member.file.advice, random=True)


def other_pictures(
    archive: Archive,
    patches: Patches,
    labels: Sequence[int] | NDArray[Any] | None,
    advice: str,
    names: Sequence[str] | None = None,
) -> Iterator[Picture]:
    """Go through the pictures of an archive without archives in it.

    Parameters
    ----------
    archive : str, path or binary file object
        The archive.
    patches : Patches
        Replacements; all must be used.
    labels : sequence of int or None
        The class of each picture, in the order of their names; None where there are none.
    advice : str
        What to do if the archive is damaged.
    names : sequence of str, optional
        What `names_in` returned for it, where that was called before.

    Yields
    ------
    Picture
        One at a time is in memory.

    Raises
    ------
    StorageError
        If the archive is damaged, has a wrong number of pictures or holds something that is no
        picture.

    """
    places = _places(names_in(archive, advice) if names is None else names)
    check_numbers(archive, places, None if labels is None else len(labels), advice)
    for name, content in _contents(archive, patches, advice):
        place = places[name]
        label = None if labels is None else int(labels[place])
        yield Picture(place, name.rsplit("/", 1)[-1], label, content)
    patches.check_used()


def check_numbers(
    archive: Archive, names: Iterable[str], expected: int | None, advice: str
) -> None:
    """See that an archive has as many pictures as there are labels, numbered from 1 on.

    A picture that is missing would give its label to the next one, and so on.

    Parameters
    ----------
    archive : str, path or binary file object
        The archive.
    names : iterable of str
        The paths of its files.
    expected : int or None
        How many there should be, if that is known.
    advice : str
        What to do if it is not so.

    Raises
    ------
    StorageError
        If it is not so.

    """
    names = list(names)
    if expected is not None and len(names) != expected:
        raise damaged(
            name_of(archive),
            f"it has {len(names)} pictures, and the ground truth has {expected} entries",
            advice,
        )
    matches = [_NUMBERED.fullmatch(name.rsplit("/", 1)[-1]) for name in names]
    if not any(matches):
        return  # under other names than those published: their order is what counts
    for name, match in zip(names, matches):
        if match is None:
            raise damaged(name_of(archive), f"{name} in it is not named like the others", advice)
    numbers = {int(match[1]) for match in matches if match is not None}
    for number in range(1, len(names) + 1):
        if number not in numbers:
            raise damaged(name_of(archive), f"picture {number} of {len(names)} is missing", advice)


def _places(names: Sequence[str]) -> dict[str, int]:
    return {name: place for place, name in enumerate(sorted(names))}


def _contents(archive: Archive, patches: Patches, advice: str) -> Iterator[tuple[str, bytes]]:
    for member in each_member(archive, advice, MAX_PICTURE_BYTES):
        content = patches.take(member.name.rsplit("/", 1)[-1])
        yield member.name, _content(member, advice) if content is None else content


def _content(member: Member, advice: str) -> bytes:
    return check_picture(member.read(), member.file.name, advice)


def check_picture(content: bytes, name: str, advice: str) -> bytes:
    """Return a picture, decompressed if it was compressed with gzip, as some are.

    Its header is looked at, its pixels are not: to decode a million pictures takes hours.

    Parameters
    ----------
    content : bytes
        What the archive holds.
    name : str
        What messages call it.
    advice : str
        What to do if it is no picture.

    Returns
    -------
    bytes
        A JPEG file, or (one of those published) a PNG file.

    Raises
    ------
    StorageError
        If it is none.

    """
    if content.startswith(_GZIP):
        content = _unzipped(content, name, advice)
    if not content.startswith(_SIGNATURES):
        raise damaged(name, f"it is no JPEG file: {begins(content)}", advice)
    try:
        jpeg.sizes([content], max_pixels=_MAX_PIXELS)
    except Exception as error:  # whatever a decoder stumbles over
        raise damaged(name, f"it is a damaged JPEG file ({error})", advice) from error
    return content


def _unzipped(content: bytes, name: str, advice: str) -> bytes:
    reader = zlib.decompressobj(wbits=31)
    try:
        unzipped = reader.decompress(content, MAX_PICTURE_BYTES)
    except zlib.error as error:
        raise damaged(name, f"it is compressed with gzip and damaged ({error})", advice) from error
    if reader.unconsumed_tail:
        raise damaged(
            name, f"it unpacks to more than {MAX_PICTURE_BYTES} bytes, which is the limit", advice
        )
    if not reader.eof:
        raise damaged(name, "it is compressed with gzip and cut short", advice)
    return unzipped
