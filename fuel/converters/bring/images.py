"""Converts folders of images: ``fuel-convert images DIR``.

Finding the files and decoding them is in ``_image_files``.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.converters.bring import _common
from fuel.converters.bring import _image_files as image_files
from fuel.converters.bring._image_files import Found
from fuel.converters.writer import SourceSpec
from fuel.exceptions import ConfigurationError, StorageError

__all__ = ["convert_images", "fill_subparser"]

_PATHS = ("path", "filename", "file", "image")
_LABELS = ("label", "class", "target", "category")
_FILES = 256


class ImageTable(_common.Table):
    """Image files with their classes."""

    def __init__(
        self,
        folder: str,
        files: list[Found],
        targets: NDArray[Any],
        classes: Sequence[str] | None,
        columns: Mapping[str, Sequence[str]],
        size: tuple[int, int] | None,
        fit: str,
        gray: bool,
    ) -> None:
        super().__init__()
        self._folder = folder
        self._files = files
        self._targets = targets
        self._columns = columns
        self._size = size
        self._fit = fit
        self._gray = gray
        self._digests: dict[str, str] = {}
        self._bytes = 0
        self.num_examples = len(files)
        runs: list[tuple[str | None, int]] = []
        for found in files:
            if runs and runs[-1][0] == found.split:
                runs[-1] = (found.split, runs[-1][1] + 1)
            else:
                runs.append((found.split, 1))
        self.parts = runs
        if size is None:
            self.images = "encoded_images"
            spec = SourceSpec((None,), "uint8", ("batch", "byte"))
        else:
            self.images = "features"
            shape = (1 if gray else 3, size[1], size[0])
            spec = SourceSpec(shape, "uint8", ("batch", "channel", "height", "width"))
        self.sources = {
            self.images: spec,
            "filenames": SourceSpec((), "str", ("batch",)),
            "targets": SourceSpec((1,), targets.dtype, ("batch", "index")),
        }
        if classes is not None:
            self.attributes["targets"] = {"class_names": list(classes)}

    def batches(self, wanted: NDArray[numpy.bool_]) -> Iterator[dict[str, Any]]:
        """Yield some of the examples; see `Table`."""
        images: list[Any] = []
        places: list[int] = []
        size = 0
        for place in numpy.flatnonzero(wanted).tolist():
            found = self._files[place]
            data = image_files.read_file(found.path)
            self._digests[found.name] = hashlib.sha256(data).hexdigest()
            self._bytes += len(data)
            if self._size is not None:
                image = self._decoded(found, data)
                size += image.nbytes
                images.append(image)
            else:
                size += len(data)
                images.append(numpy.frombuffer(data, numpy.uint8))
            places.append(place)
            if size > _common.BATCH_BYTES or len(images) == _FILES:
                yield self._batch(images, places)
                images, places, size = [], [], 0
        if images:
            yield self._batch(images, places)

    def _decoded(self, found: Found, data: bytes) -> NDArray[numpy.uint8]:
        assert self._size is not None
        try:
            return image_files.decoded(data, self._size, self._fit, self._gray)
        except (OSError, ValueError, SyntaxError) as error:
            raise StorageError(f"{found.path} cannot be decoded: {error}; mend it") from error

    def _batch(self, images: list[Any], places: list[int]) -> dict[str, Any]:
        return {
            self.images: images if self._size is None else numpy.stack(images),
            "filenames": [self._files[place].name for place in places],
            "targets": self._targets[places].reshape(-1, 1),
        }

    def values(self, column: str) -> Iterator[Sequence[Any]]:
        """Yield classes, or the values of a column of the CSV file; see `Table`."""
        if column in self._columns:
            yield self._columns[column]
        elif column == "targets":
            yield self._targets.tolist()
        else:
            raise StorageError(
                f"there is no {column!r}; there are {', '.join(['targets', *self._columns])}"
            )

    def finish(self, h5file: Any) -> None:
        """Note which files these were: their number, size, and one checksum for all."""
        digest = hashlib.sha256()
        for name, of_file in sorted(self._digests.items()):
            digest.update(f"{of_file}  {name}\n".encode())
        h5file.attrs["fuel_images"] = json.dumps(
            {
                "folder": os.path.basename(os.path.abspath(self._folder)),
                "files": len(self._digests),
                "bytes": self._bytes,
                "sha256": digest.hexdigest(),
            },
            sort_keys=True,
        )


def _from_csv(
    folder: str, path: str, given: str
) -> tuple[list[Found], list[str], dict[str, list[str]]]:
    """Read paths, labels, and what else there is, from a CSV file."""
    root = os.path.realpath(folder)
    files: list[Found] = []
    labels: list[str] = []
    columns: dict[str, list[str]] = {}
    line = 1
    try:
        with open(path, encoding="utf-8-sig", newline="") as text:
            reader = csv.reader(text, strict=True)
            header = [name.strip() for name in next(reader, [])]
            if len(header) < 2 or len(set(header)) < len(header):
                raise StorageError(
                    f"the first line of {given} must name at least two columns, for example path "
                    f"and label, each once, got {', '.join(header)!r:.80}"
                )
            names = [name.lower() for name in header]
            place = next((names.index(name) for name in _PATHS if name in names), 0)
            left = [number for number in range(len(names)) if number != place]
            label = next((names.index(name) for name in _LABELS if name in names), left[0])
            columns = {name: [] for number, name in enumerate(header) if number != place}
            line = reader.line_num + 1
            for fields in reader:
                if not fields:
                    line = reader.line_num + 1
                    continue
                if len(fields) != len(header):
                    raise StorageError(
                        f"line {line} of {given} has {len(fields)} fields where there are "
                        f"{len(header)} columns; mend it"
                    )
                files.append(_named(folder, root, fields[place], f"line {line} of {given}"))
                labels.append(fields[label].strip())
                if not labels[-1]:
                    raise StorageError(f"line {line} of {given} has no label; fill it in")
                for number, name in enumerate(header):
                    if number != place:
                        columns[name].append(fields[number].strip())
                line = reader.line_num + 1
    except UnicodeDecodeError as error:
        raise StorageError(f"{given} is not text in UTF-8 ({error}); save it as such") from error
    except csv.Error as error:
        raise StorageError(
            f"line {line} of {given} cannot be taken apart: {error}; mend it"
        ) from error
    return files, labels, columns


def _named(folder: str, root: str, name: str, where: str) -> Found:
    path = os.path.join(folder, *re.split(r"[/\\]" if os.sep == "\\" else "/", name))
    if not name or not image_files.inside(os.path.realpath(path), root):
        raise StorageError(
            f"{where} names {name!r}, which is not inside of {folder}; only what is inside is "
            "converted"
        )
    if not os.path.isfile(path):
        raise StorageError(f"{where} names {name!r}, which is no file in {folder}; mend the line")
    return Found(path, os.path.relpath(path, folder).replace(os.sep, "/"), None, None)


def _numbered(labels: Sequence[str]) -> tuple[NDArray[Any], list[str] | None]:
    """Turn labels into numbers: numbers as they are, names by their place in their order."""
    for kind in (int, float):
        try:
            numbers = numpy.array([kind(label) for label in labels])
        except (ValueError, OverflowError):
            continue
        if kind is int and numbers.dtype.kind == "i":
            low, high = int(numbers.min()), int(numbers.max())
            small = numpy.result_type(numpy.min_scalar_type(low), numpy.min_scalar_type(high))
            return numbers.astype(small), None
        if kind is float:
            return numbers.astype(numpy.float64), None
    classes = sorted(set(labels))
    places = {name: number for number, name in enumerate(classes)}
    dtype = _common.class_dtype(len(classes))
    return numpy.array([places[label] for label in labels], dtype=dtype), classes


def _without_damaged(files: list[Found], skip: bool) -> tuple[list[int], list[tuple[Found, str]]]:
    """Return the places of the files that are whole, and the others with what is wrong."""
    whole: list[int] = []
    damaged: list[tuple[Found, str]] = []
    for place, (found, problem) in enumerate(image_files.problems(files)):
        if problem is None:
            whole.append(place)
        elif skip:
            damaged.append((found, problem))
        else:
            raise StorageError(
                f"{found.path} cannot be read as an image: {problem}; mend or remove it, or leave "
                "such files out with --skip-damaged"
            )
    return whole, damaged


def convert_images(
    directory: str,
    output_directory: str,
    output_filename: str | None = None,
    *,
    folder: str,
    labels: str | None = None,
    size: str | tuple[int, int] | None = None,
    fit: str = "crop",
    gray: bool = False,
    skip_damaged: bool = False,
    split_folders: bool = False,
    split: str | Mapping[str, Any] | Sequence[str] | None = None,
    seed: int = 0,
    stratify: str | None = None,
    split_by: str | None = None,
    compression: str | None = None,
) -> tuple[str, ...]:
    """Convert a folder of images.

    The sources are ``encoded_images`` (the bytes of the files, uint8 of different lengths, which
    `fuel.transformers.image.ImagesFromBytes` decodes) or, with a size, ``features`` (uint8, axes
    batch, channel, height and width); ``targets``, of shape (examples, 1); and ``filenames``,
    relative to the folder. Names of classes are numbered in their order, by code points; the
    attribute ``class_names`` of ``targets`` lists them.

    Parameters
    ----------
    directory, output_directory, output_filename
        As for `fuel.converters.bring.tables.convert_csv`.
    folder : str
        The folder. Unless `labels` is given, it holds one folder for each class. Hidden files are
        left out.
    labels : str, optional
        A CSV file with a header and the columns ``path`` and ``label`` (or else the first two).
        Labels that are numbers are stored as they are.
    size : str or (int, int), optional
        Width and height (``'64x48'``) to decode to.
    fit : {'crop', 'pad', 'stretch'}, optional
        What to do where the proportions differ: cut off in equal parts what does not fit, add
        black, or distort.
    gray : bool, optional
        Whether to keep lightness only; one channel instead of three.
    skip_damaged : bool, optional
        Whether to leave out files that cannot be decoded, with a warning that names them, instead
        of an error.
    split_folders : bool, optional
        Whether the class folders are in folders that are named by their split.
    split, seed, stratify, split_by
        How the examples are divided into splits; see the command's help. Classes are
        ``'targets'``; other names are columns of the CSV file.
    compression : str, optional
        ``'gzip'``, ``'lzf'`` or ``'zstd'``, for decoded images.

    Returns
    -------
    tuple of str
        The path of the HDF5 file.

    Raises
    ------
    StorageError
        If a file is damaged or no image, is in no class folder, or lies outside of the folder;
        the message names it.

    """
    pixels = _size(size)
    if pixels is None and gray:
        raise ConfigurationError("--gray needs --size: encoded images are kept as they are")
    path = os.path.join(directory, folder)
    if not os.path.isdir(path):
        what = "is no folder" if os.path.exists(path) else "does not exist"
        raise StorageError(
            f"{folder} {what} (looked for in {os.path.abspath(directory)}); name a folder of images"
        )
    columns: dict[str, list[str]] = {}
    classes: list[str] | None
    inputs = []
    if labels is not None:
        if split_folders:
            raise ConfigurationError(
                "--labels says which files there are, so --split-folders has no use; name a column "
                "of splits with --split-by"
            )
        found = _common.find_inputs(directory, [labels], labelled=False)[0]
        inputs.append(found.path)
        files, names, columns = _from_csv(path, found.path, labels)
        targets, classes = _numbered(names) if names else (numpy.zeros(0, numpy.uint8), None)
    else:
        files, classes = image_files.in_class_folders(path, split_folders)
        of_class = {name: number for number, name in enumerate(classes)}
        dtype = _common.class_dtype(len(classes))
        targets = numpy.array([of_class[found.label or ""] for found in files], dtype=dtype)
        empty = sorted(set(classes) - {found.label or "" for found in files})
        if empty:
            warnings.warn(
                f"the class folders {', '.join(empty)} of {folder} hold no images; they keep their "
                "numbers",
                stacklevel=2,
            )
    whole, damaged = _without_damaged(files, skip_damaged)
    if damaged:
        warnings.warn(
            f"{len(damaged)} files are left out: "
            + "; ".join(f"{found.path} ({problem})" for found, problem in damaged),
            stacklevel=2,
        )
    table = ImageTable(
        path,
        [files[place] for place in whole],
        targets[whole],
        classes,
        {name: [values[place] for place in whole] for name, values in columns.items()},
        pixels,
        fit,
        gray,
    )
    return _common.write_table(
        table,
        output_directory,
        # A folder has no ending that would have to go.
        output_filename or f"{os.path.basename(os.path.realpath(path))}.hdf5",
        inputs=inputs,
        split=split,
        seed=seed,
        stratify=stratify,
        split_by=split_by,
        compression=compression,
    )


def _size(given: str | tuple[int, int] | None) -> tuple[int, int] | None:
    """Understand ``64x48``."""
    if given is None:
        return None
    if isinstance(given, str):
        found = re.fullmatch(r"([1-9]\d{0,4})[xX×]([1-9]\d{0,4})", given.strip())
        if found is None:
            raise ConfigurationError(
                f"--size must be width and height in pixels, such as 64x48, got {given!r}"
            )
        return int(found[1]), int(found[2])
    width, height = given
    return int(width), int(height)


def _size_argument(text: str) -> str:
    try:
        _size(text)
    except ConfigurationError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def fill_subparser(subparser: argparse.ArgumentParser) -> Callable[..., tuple[str, ...]]:
    """Set up the sub-command ``images`` of ``fuel-convert``; it returns `convert_images`.

    Parameters
    ----------
    subparser : argparse.ArgumentParser
        The parser of the sub-command.

    """
    add = subparser.add_argument
    add("folder", metavar="DIR", help="a folder with one folder of images for each class")
    add("--labels", metavar="CSV", help="take paths and labels from this file instead")
    add("--size", type=_size_argument, metavar="WxH", help="decode the images to this size")
    add(
        "--fit",
        choices=["crop", "pad", "stretch"],
        default="crop",
        help="where the proportions differ: crop, pad with black, or stretch (default: crop)",
    )
    add("--gray", action="store_true", help="keep lightness only")
    add("--skip-damaged", action="store_true", help="leave damaged files out, and list them")
    add(
        "--split-folders",
        action="store_true",
        help="the class folders are in folders named by their split: DIR/train/cat/1.jpg",
    )
    _common.add_split_options(subparser, "COLUMN")
    _common.add_options(subparser)
    return convert_images
