"""Writing one file for each example: into a tar archive, or into folders of images.

What is read is told in ``_export_read``; the ways back are `fuel.converters.bring.webdataset` and
`fuel.converters.bring.images`.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import tarfile
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.converters._export_read import Part, Source, Stored, text_of
from fuel.exceptions import StorageError

__all__ = ["image_ending", "write_images", "write_webdataset"]

_MAGIC = (
    (b"\xff\xd8\xff", "jpg"),
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"GIF8", "gif"),
    (b"BM", "bmp"),
    (b"II*\0", "tif"),
    (b"MM\0*", "tif"),
)

#: Names that mean devices on Windows, and letters that no name has there.
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
_FORBIDDEN = re.compile(r'[\x00-\x1f<>:"|?*\\/]')


def image_ending(data: bytes) -> str | None:
    """Return the usual ending of an image file, by its first bytes; None for no known image."""
    for magic, ending in _MAGIC:
        if data.startswith(magic):
            return ending
    return "webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else None


def _examples(stored: Stored, part: Part) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the examples of a split one by one, with their numbers."""
    number = 0
    for batch in stored.batches(part):
        for place in range(len(next(iter(batch.values())))):
            yield number, {name: values[place] for name, values in batch.items()}
            number += 1


# -- tar archives ---------------------------------------------------------------------------------


class _Member:
    """How a source becomes a member of an archive."""

    def __init__(self, source: Source) -> None:
        from fuel.converters.bring.webdataset import kind_of

        self.source = source
        name = source.name
        known = kind_of(name)
        if source.text:
            self.kind = "text"
            self.extension = name if known in ("text", "json") else f"{name}.txt"
        elif source.encoded:
            self.kind = "bytes"
            # What has an ending of its own keeps it, others get that of their content.
            bare = known == "bytes" and "." not in name and len(name) <= 4
            self.extension = name if bare else f"{name}.*"
        elif (
            source.single
            and source.dtype is not None
            and source.dtype.kind in "iu"
            and (
                source.class_names is not None
                or (source.shape == () and source.dtype == numpy.int64)
            )
        ):
            self.kind = "integer"
            self.extension = name if known == "integer" else f"{name}.cls"
        else:
            self.kind = "array"
            self.extension = name if known == "array" else f"{name}.npy"

    def content(self, value: Any) -> tuple[str, bytes]:
        """Return extension and content of a member."""
        if self.kind == "text":
            return self.extension, text_of(value).encode()
        if self.kind == "integer":
            return self.extension, str(int(numpy.asarray(value).reshape(-1)[0])).encode()
        if self.kind == "bytes":
            data = value.tobytes()
            ending = image_ending(data) or "bin"
            return self.extension.replace("*", ending), data
        file = io.BytesIO()
        numpy.save(file, numpy.asarray(value), allow_pickle=False)
        return self.extension, file.getvalue()


def write_webdataset(stored: Stored, path: str, compress: bool) -> None:
    """Write a tar archive of examples, as WebDataset reads it.

    Parameters
    ----------
    stored : Stored
        What to write. The source ``key`` gives the names; without one, examples are numbered. Of
        several splits all are written, with a member ``split.txt``.
    path : str
        The archive.
    compress : bool
        Whether to compress (with gzip).

    Raises
    ------
    StorageError
        If two examples have the same key, or a key is no name.

    """
    members = [_Member(source) for source in stored.sources if source.name != "key"]
    keyed = any(source.name == "key" and source.text for source in stored.sources)
    several = len(stored.parts) > 1
    if several and any(source.name == "split" for source in stored.sources):
        raise StorageError(
            "a source is called 'split', as the member of the splits is to be; export one split at "
            "a time, or leave the source out with --sources"
        )
    if not members:
        raise StorageError("there is nothing but keys to write; choose more with --sources")
    width = max(6, len(str(stored.num_examples)))
    last = None
    with ExitStack() as stack:
        raw: Any = stack.enter_context(open(path, "wb"))
        if compress:
            raw = stack.enter_context(gzip.GzipFile("", "wb", fileobj=raw, mtime=0))
        archive = stack.enter_context(
            tarfile.open(fileobj=raw, mode="w|", format=tarfile.PAX_FORMAT)
        )
        done = 0
        for part in stored.parts:
            for _, example in _examples(stored, part):
                key = _key(text_of(example["key"])) if keyed else f"{done:0{width}}"
                if key == last:
                    raise StorageError(
                        f"two examples have the key {key!r}; leave the source 'key' out with "
                        "--sources, and they are numbered"
                    )
                last = key
                for member in members:
                    _add(archive, key, *member.content(example[member.source.name]))
                if several:
                    _add(archive, key, "split.txt", str(part.name).encode())
                done += 1


def _key(key: str) -> str:
    parts = key.split("/")
    if any(part in ("", ".", "..") for part in parts) or "\0" in key or "." in parts[-1]:
        raise StorageError(
            f"the key {key!r} is no name for a member of an archive (no dots in the last part, no "
            "'..'); leave the source 'key' out with --sources, and examples are numbered"
        )
    return key


def _add(archive: tarfile.TarFile, key: str, extension: str, data: bytes) -> None:
    """Add a member that says nothing of time and owner: the same data gives the same file."""
    entry = tarfile.TarInfo(f"{key}.{extension}")
    entry.size = len(data)
    archive.addfile(entry, io.BytesIO(data))


# -- folders of images ----------------------------------------------------------------------------


def _image_source(stored: Stored) -> Source:
    """Find the source that is written as images."""
    found = [
        source
        for source in stored.sources
        if source.encoded or (source.dtype == numpy.uint8 and len(source.shape) in (2, 3))
    ]
    encoded = [source for source in found if source.encoded]
    found = encoded if len(encoded) == 1 else found
    if len(found) != 1:
        names = ", ".join(source.name for source in found) or "none"
        raise StorageError(
            f"there must be one source of images (uint8 pixels, or bytes of files), got {names}; "
            "choose it, and what else to use, with --sources"
        )
    return found[0]


def _pixels(value: NDArray[Any], source: Source) -> bytes:
    """Encode pixels as PNG."""
    from PIL import Image

    labels = source.labels
    if value.ndim == 3:
        last = labels[2:] == ("channel",) or (
            "channel" not in labels and value.shape[2] in (1, 3, 4) and value.shape[0] > 4
        )
        value = value if last else value.transpose(1, 2, 0)
        if value.shape[2] not in (1, 3, 4):
            raise StorageError(
                f"source {source.name!r} has images with {value.shape[2]} channels, where files "
                "have 1, 3 or 4; choose another format"
            )
        value = value[:, :, 0] if value.shape[2] == 1 else value
    if 0 in value.shape:
        raise StorageError(f"source {source.name!r} has an image without pixels; leave it out")
    file = io.BytesIO()
    Image.fromarray(numpy.ascontiguousarray(value)).save(file, "PNG")
    return file.getvalue()


def _safe(name: str) -> str:
    """Return a part of a path that is one on every system, and leads nowhere else."""
    name = _FORBIDDEN.sub("_", name).rstrip(" .").lstrip(".")
    return f"_{name}" if not name or _RESERVED.fullmatch(name) else name


class _Folders:
    """Where the files of images go."""

    def __init__(self, stored: Stored, folder: str) -> None:
        self.folder = folder
        self.several = len(stored.parts) > 1
        self.width = max(6, len(str(stored.num_examples)))
        by_name = {source.name: source for source in stored.sources}
        self.targets = by_name.get("targets")
        self.named = "filenames" in by_name and by_name["filenames"].text
        self.classes: list[str] | None = None
        if self.targets is not None:
            if not self.targets.single or self.targets.dtype.kind not in "iub":  # type: ignore
                raise StorageError(
                    "the targets are no classes, so there are no folders to put images into; leave "
                    "them out with --sources"
                )
            if self.targets.class_names is not None:
                self.classes = [_safe(name) for name in self.targets.class_names]
                lower = [name.lower() for name in self.classes]
                if len(set(lower)) < len(lower):
                    raise StorageError(
                        "two class names would be the same folder: "
                        + ", ".join(
                            sorted(name for name in self.classes if lower.count(name.lower()) > 1)
                        )
                    )

    def place(self, part: Part, number: int, example: dict[str, Any], ending: str) -> str:
        """Return the path of a new file."""
        parts = []
        if self.several:
            parts.append(_safe(str(part.name)))
        if self.targets is not None:
            label = int(numpy.asarray(example["targets"]).reshape(-1)[0])
            if self.classes is None:
                parts.append(str(label))
            elif 0 <= label < len(self.classes):
                parts.append(self.classes[label])
            else:
                raise StorageError(
                    f"example {number} has the class {label}, but there are names for "
                    f"{len(self.classes)} classes only; leave the targets out with --sources"
                )
        rest = [f"{number:0{self.width}}.{ending}"]
        if self.named:
            rest = [_safe(name) for name in text_of(example["filenames"]).split("/") if name]
            # What our own converter noted begins with the folders that are made anyway.
            if len(rest) > 1 and rest[0] == _safe(str(part.name)):
                rest = rest[1:]
            if len(rest) > 1 and self.targets is not None and rest[0] == parts[-1]:
                rest = rest[1:]
            stem = os.path.splitext(rest[-1])[0]
            known = os.path.splitext(rest[-1])[1].lower().lstrip(".")
            same = {"jpeg": "jpg", "jpe": "jpg", "tiff": "tif"}.get(known, known)
            if same != ending:
                rest[-1] = f"{stem}.{ending}"
        path = os.path.join(self.folder, *parts, *rest)
        if os.path.exists(path):
            stem, dot = os.path.splitext(path)
            path = f"{stem}-{number:0{self.width}}{dot}"
            if os.path.exists(path):
                raise StorageError(
                    f"two images would have the name {os.path.relpath(path, self.folder)}; leave "
                    "the source 'filenames' out with --sources, and they are numbered"
                )
        return path


def write_images(stored: Stored, folder: str, compress: bool) -> None:
    """Write image files into folders named by their class.

    Parameters
    ----------
    stored : Stored
        What to write: one source of images, and if they are there ``targets``, which name the
        folders, and ``filenames``. Of several splits each gets a folder.
    folder : str
        An empty folder.
    compress : bool
        Without meaning here: images are compressed by themselves.

    Raises
    ------
    StorageError
        If there are no images, or not one source of them; if targets are no classes.

    """
    source = _image_source(stored)
    folders = _Folders(stored, folder)
    for part in stored.parts:
        if folders.classes is not None:
            # All of them, so that their numbers stay the same on the way back.
            top = [_safe(str(part.name))] if folders.several else []
            for name in folders.classes:
                os.makedirs(os.path.join(folder, *top, name), exist_ok=True)
        for number, example in _examples(stored, part):
            value = example[source.name]
            if source.encoded:
                data = value.tobytes()
                ending = image_ending(data)
                if ending is None:
                    raise StorageError(
                        f"example {number} of source {source.name!r} is no image of a known "
                        "format; choose another with --sources"
                    )
            else:
                data, ending = _pixels(value, source), "png"
            path = folders.place(part, number, example, ending)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "xb") as file:
                file.write(data)
