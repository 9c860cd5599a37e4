"""Image files in folders: finding them, and looking at whether they are whole.

What becomes of them is in `fuel.converters.bring.images`.
"""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from fuel.exceptions import StorageError

__all__ = ["Found", "decoded", "in_class_folders", "inside", "problems", "read_file"]

#: Left by systems, not by people.
_SYSTEM_FILES = ("thumbs.db", "desktop.ini")

_ENDINGS = (".jpg", ".jpeg", ".png", ".gif", ".bmp", ".webp", ".tif", ".tiff", ".ppm", ".pgm")

#: Files that are looked at together.
_AHEAD = 64


class Found(NamedTuple):
    """An image file: where it is, its name relative to the folder, its class, its split."""

    path: str
    name: str
    label: str | None
    split: str | None


def _shown(name: str) -> str:
    """Write a name so that it can be printed."""
    return name.encode("utf-8", "backslashreplace").decode()


def _check_name(name: str) -> None:
    try:
        name.encode()
    except UnicodeEncodeError:
        raise StorageError(
            f"the name {_shown(name)} is not text in UTF-8, so it cannot be stored; rename it"
        ) from None


def _entries(path: str, root: str) -> list[os.DirEntry[str]]:
    """List a folder, sorted by name, without what systems leave there."""
    with os.scandir(path) as entries:
        found = [
            entry
            for entry in entries
            if not entry.name.startswith(".")
            and not entry.name.endswith(".part")
            and entry.name.lower() not in _SYSTEM_FILES
        ]
    for entry in found:
        _check_name(entry.name)
        _check_link(entry.path, root)
    return sorted(found, key=lambda entry: entry.name)


def _check_link(path: str, root: str) -> None:
    """Refuse a link that leads out of the folder, to another folder, or nowhere."""
    if not os.path.islink(path):
        return
    target = os.path.realpath(path)
    if not inside(target, root):
        raise StorageError(
            f"{path} is a link to {target}, outside of {root}; only what is inside is converted: "
            "copy it there, or remove the link"
        )
    if not os.path.isfile(target):
        what = "a folder, and could lead round in a circle" if os.path.isdir(target) else "nothing"
        raise StorageError(f"{path} is a link to {what}; remove it")


def inside(path: str, root: str) -> bool:
    """Whether a resolved path lies in a resolved folder."""
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def in_class_folders(directory: str, split_folders: bool) -> tuple[list[Found], list[str]]:
    """Find the files in folders that are named by their class.

    Parameters
    ----------
    directory : str
        The folder of the class folders.
    split_folders : bool
        Whether these are in folders that are named by their split.

    Returns
    -------
    files : list of Found
        In the order of split, class and name, folders within those of the classes included.
    classes : list of str
        All classes, sorted.

    Raises
    ------
    StorageError
        If there are no classes, an image is in no class folder, or there is a link out of it.

    """
    root = os.path.realpath(directory)
    splits: list[tuple[str | None, str]] = [(None, directory)]
    if split_folders:
        splits = [(entry.name, entry.path) for entry in _folders(directory, directory, root)]
        if not splits:
            raise StorageError(
                f"{directory} holds no folders to be splits; put the class folders into folders "
                "such as train and test, or leave --split-folders out"
            )
    files: list[Found] = []
    classes: set[str] = set()
    for split, folder in splits:
        of_split = _folders(folder, directory, root)
        if not of_split:
            raise StorageError(
                f"{folder} holds no class folders; put the images of each class into a folder "
                "named by it, or name a CSV file of paths and classes with --labels"
            )
        for entry in of_split:
            classes.add(entry.name)
            files += [
                Found(
                    path, os.path.relpath(path, directory).replace(os.sep, "/"), entry.name, split
                )
                for path in _files(entry.path, root)
            ]
    return files, sorted(classes)


def _folders(path: str, top: str, root: str) -> list[os.DirEntry[str]]:
    """List the folders in a folder, in which there must be no images."""
    folders = []
    for entry in _entries(path, root):
        if entry.is_dir():
            folders.append(entry)
        elif entry.name.lower().endswith(_ENDINGS):
            raise StorageError(
                f"{entry.path} is in no class folder; move it into one, or name a CSV file of "
                "paths and classes with --labels"
            )
    return folders


def _files(path: str, root: str) -> Iterator[str]:
    """Yield the files in a folder and those below it, by name."""
    for entry in _entries(path, root):
        if entry.is_dir():
            yield from _files(entry.path, root)
        else:
            check_regular(entry.path)
            yield entry.path


def check_regular(path: str) -> None:
    """Refuse what is no file: reading from a pipe would wait for ever."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise StorageError(f"{path} is no file but a pipe or a device; remove it")


def read_file(path: str) -> bytes:
    """Read a file."""
    with open(path, "rb") as file:
        return file.read()


def _opened(data: bytes) -> Any:
    from PIL import Image

    return Image.open(io.BytesIO(data))


def problem_of(path: str) -> str | None:
    """Return what is wrong with an image file, or None."""
    try:
        image = _opened(read_file(path))
        # JPEG is decoded at an eighth of its size, which reads all of it nonetheless.
        image.draft(None, (1, 1))
        image.load()
    except Exception as error:  # decoders of damaged files raise whatever comes to hand
        if isinstance(error, MemoryError):
            raise
        text = " ".join(str(error).split())
        if type(error).__name__ == "UnidentifiedImageError":
            text = "it is no image of a known format"
        return text or type(error).__name__
    return None


def problems(files: list[Found]) -> Iterator[tuple[Found, str | None]]:
    """Look at files, several at a time; yield each with what is wrong with it (None: nothing)."""
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        for start in range(0, len(files), _AHEAD):
            part = files[start : start + _AHEAD]
            yield from zip(part, pool.map(problem_of, [found.path for found in part]), strict=True)


def decoded(data: bytes, size: tuple[int, int], fit: str, gray: bool) -> NDArray[numpy.uint8]:
    """Decode an image to a fixed size.

    Parameters
    ----------
    data : bytes
        The file.
    size : (int, int)
        Width and height.
    fit : {'crop', 'pad', 'stretch'}
        What to do where the proportions differ: cut off, in equal parts, what does not fit; add
        black; or distort.
    gray : bool
        Whether to keep lightness only.

    Returns
    -------
    numpy.ndarray, shape (3 or 1, height, width), dtype uint8
        The pixels, upright as the camera noted it.

    """
    from PIL import Image, ImageOps

    image = _opened(data)
    if image.format == "JPEG" and fit != "pad":
        # Decoding at a half, a quarter ... of the size, never below twice the one that is wanted.
        image.draft(None, (2 * size[0], 2 * size[1]))
    image = ImageOps.exif_transpose(image)
    if image.mode.startswith("I;16") or image.mode == "I":
        values = numpy.asarray(image)
        image = Image.fromarray((values >> 8).clip(0, 255).astype(numpy.uint8))
    image = image.convert("L" if gray else "RGB")
    if fit == "crop":
        image = ImageOps.fit(image, size, Image.Resampling.BILINEAR)
    elif fit == "pad":
        image = ImageOps.pad(image, size, Image.Resampling.BILINEAR)
    else:
        image = image.resize(size, Image.Resampling.BILINEAR)
    pixels = numpy.asarray(image, dtype=numpy.uint8)
    return pixels[numpy.newaxis] if gray else numpy.ascontiguousarray(pixels.transpose(2, 0, 1))
