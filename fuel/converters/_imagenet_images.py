"""The pictures of ILSVRC, one after the other out of their archives, with their classes.

They stay as they are, encoded. Training pictures lie in one archive for each class, all of them in
an archive; pictures that were damaged when these were made lie in an archive of patches. Where
they go is told in ``_imagenet_file``.
"""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from collections.abc import Iterator, Mapping
from typing import Any

from fuel.exceptions import StorageError
from fuel.utils.formats import tar_open

__all__ = ["extract_patch_images", "load_from_tar_or_patch", "other_images", "train_images"]

#: JPEG; and what some of the files with that ending are in truth.
_STARTS = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF8")
_FOLDERS = {"train": "train", "valid": "val", "test": "test"}
#: The largest picture of the challenge has 15 MB.
_LIMIT_BYTES = 1 << 28


def extract_patch_images(f: Any, which_set: str) -> dict[str, bytes]:
    """Read the pictures that take the place of damaged ones.

    Parameters
    ----------
    f : path or binary file object
        The archive of patches.
    which_set : {'train', 'valid', 'test'}
        For which split.

    Returns
    -------
    dict of str to bytes
        Content by base name.

    Raises
    ------
    ValueError
        If there is no such split.
    StorageError
        If the archive is damaged.

    """
    if which_set not in _FOLDERS:
        raise ValueError(f"`which_set` must be one of {tuple(_FOLDERS)}, got {which_set!r}")
    patches = {}
    for tar, info in _walk(f):
        parts = info.name.split("/")
        if info.name.endswith(".JPEG") and _FOLDERS[which_set] in parts[:-1]:
            patches[parts[-1]] = _read(tar, info, f)
    return patches


def load_from_tar_or_patch(
    tar: tarfile.TarFile, image_filename: str, patch_images: Mapping[str, bytes]
) -> tuple[bytes, bool]:
    """Read a picture, or what takes its place.

    Parameters
    ----------
    tar : tarfile.TarFile
        The archive.
    image_filename : str
        The member.
    patch_images : dict of str to bytes
        Content by base name.

    Returns
    -------
    content : bytes
        The picture; what was compressed with gzip besides is not any more.
    patched : bool
        Whether it is from the patches.

    """
    patch = patch_images.get(os.path.basename(image_filename))
    if patch is not None:
        return patch, True
    return _read(tar, tar.getmember(image_filename), tar.name), False


def train_images(
    archive: Any, patch_images: Mapping[str, bytes], wnid_map: Mapping[Any, int]
) -> Iterator[tuple[str, int, bytes]]:
    """Go through the training pictures.

    Parameters
    ----------
    archive : path or binary file object
        One archive for each class, called by its WordNet id, in an archive.
    patch_images : dict of str to bytes
        What takes the place of which pictures.
    wnid_map : dict of str to int
        The classes by WordNet id.

    Yields
    ------
    name : str
        The base name.
    label : int
        The class.
    content : bytes
        The picture.

    Raises
    ------
    StorageError
        If an archive is damaged, of no class, or holds something that is no picture; at the end,
        if a class had no archive or a patch was not used.

    """
    left, classes = set(patch_images), set(wnid_map)
    for outer, class_info in _walk(archive):
        wnid = os.path.splitext(os.path.basename(class_info.name))[0]
        key: Any = wnid if wnid in wnid_map else wnid.encode("utf8")
        if key not in wnid_map:
            raise StorageError(
                f"{class_info.name!r} in {_named(archive)} is of no class of the development kit; "
                "do the two belong to the same challenge?"
            )
        classes.discard(key)
        inner = outer.extractfile(class_info)
        for tar, info in _walk(inner, f"{class_info.name} in {_named(archive)}"):
            name = os.path.basename(info.name)
            patch = patch_images.get(name)
            left.discard(name)
            where = f"{class_info.name} in {_named(archive)}"
            content = _read(tar, info, where) if patch is None else patch
            yield name, wnid_map[key], _checked(content, name, where)
    if classes:
        raise StorageError(
            f"{_named(archive)} has no archive for {len(classes)} of the classes, "
            f"{min(map(str, classes))} among them; it was cut short or is another one: get it again"
        )
    _all_used(left)


def other_images(
    archive: Any, patch_images: Mapping[str, bytes], groundtruth: Any
) -> Iterator[tuple[str, int | None, bytes]]:
    """Go through validation or test pictures, in the order of their names.

    Parameters
    ----------
    archive : path or binary file object
        The archive.
    patch_images : dict of str to bytes
        What takes the place of which pictures.
    groundtruth : sequence of int, or None
        The class of each; None where they are secret.

    Yields
    ------
    tuple
        As of `train_images`.

    Raises
    ------
    StorageError
        If the archive is damaged, or there is not one picture for each class; at the end, if a
        patch was not used.

    """
    left = set(patch_images)
    try:
        with tar_open(archive) as tar:
            infos = sorted(
                (info for info in tar if info.isfile()),
                key=lambda info: os.path.basename(info.name),
            )
            if groundtruth is not None and len(infos) != len(groundtruth):
                raise StorageError(
                    f"{_named(archive)} has {len(infos)} pictures, but the ground truth has "
                    f"{len(groundtruth)} classes; one of the two was cut short: get both again"
                )
            for place, info in enumerate(infos):
                name = os.path.basename(info.name)
                patch = patch_images.get(name)
                left.discard(name)
                content = _read(tar, info, archive) if patch is None else patch
                label = None if groundtruth is None else int(groundtruth[place])
                yield name, label, _checked(content, name, _named(archive))
    except (tarfile.TarError, EOFError) as error:
        raise _damaged(archive, error) from error
    _all_used(left)


def _all_used(left: set[str]) -> None:
    if left:
        raise StorageError(
            f"{len(left)} pictures of the archive of patches take the place of none, {min(left)} "
            "among them; do the archives belong together?"
        )


def _walk(archive: Any, name: str | None = None) -> Iterator[tuple[tarfile.TarFile, Any]]:
    """Go through the regular files of an archive."""
    try:
        with tar_open(archive) as tar:
            for info in tar:
                if info.isfile():
                    yield tar, info
    except (tarfile.TarError, EOFError) as error:
        raise _damaged(name or archive, error) from error


def _read(tar: tarfile.TarFile, info: Any, archive: Any) -> bytes:
    if info.size > _LIMIT_BYTES:
        raise StorageError(
            f"{info.name!r} in {_named(archive)} has {info.size:,} bytes, more than any picture of "
            "the challenge"
        )
    file = tar.extractfile(info)
    assert file is not None
    try:
        content = file.read()
        if len(content) < info.size:
            raise EOFError(f"{info.name!r} is cut short")
        if content[:2] == b"\x1f\x8b":
            with gzip.open(io.BytesIO(content)) as packed:
                content = packed.read(_LIMIT_BYTES)
    except (tarfile.TarError, EOFError, OSError) as error:
        raise _damaged(archive, error) from error
    return content


def _checked(content: bytes, name: str, archive: str) -> bytes:
    if not content.startswith(_STARTS):
        raise StorageError(
            f"{name!r} in {archive} is no picture: it begins with {content[:12]!r}; get the "
            "archive again"
        )
    return content


def _named(archive: Any) -> str:
    return str(
        archive if isinstance(archive, str | os.PathLike) else getattr(archive, "name", archive)
    )


def _damaged(archive: Any, error: Exception) -> StorageError:
    return StorageError(f"{_named(archive)} is cut short or damaged: {error}; get it again")
