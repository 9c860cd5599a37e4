"""Converts CelebA to HDF5; the files are got by `fuel.downloaders.celeba`."""

from __future__ import annotations

import argparse
import os
import zipfile
from collections.abc import Callable, Iterator

import numpy
from numpy.typing import NDArray

from fuel.converters._pictures import decode, groups, open_zip, pictures_in, read_member
from fuel.converters.base import check_exists, progress_bar
from fuel.converters.writer import HDF5Writer, SourceSpec
from fuel.exceptions import StorageError

__all__ = [
    "ATTRIBUTES_FILE",
    "DATASET_FILES",
    "IMAGE_FILE",
    "NUM_EXAMPLES",
    "OUTPUT_FILENAME",
    "TRAIN_STOP",
    "VALID_STOP",
    "convert_celeba",
    "convert_celeba_64",
    "convert_celeba_aligned_cropped",
    "fill_subparser",
]

#: The archive of pictures.
IMAGE_FILE = "img_align_celeba.zip"
#: The table of attributes.
ATTRIBUTES_FILE = "list_attr_celeba.txt"
#: Both.
DATASET_FILES = [IMAGE_FILE, ATTRIBUTES_FILE]

#: How many examples there are. This and the two below are looked at when a file is converted.
NUM_EXAMPLES = 202599
#: How many of them, from the first, are for training.
TRAIN_STOP = 162770
#: Where those for validation end; the rest is for testing.
VALID_STOP = 182637

#: The name of the file with the pictures as they are.
OUTPUT_FILENAME = "celeba_aligned_cropped.hdf5"

_COMMAND = "fuel-download celeba"
_ATTRIBUTES = 40
_HEIGHT, _WIDTH = 218, 178
#: Of the small pictures: first the width becomes 64 and the height 78, which keeps the proportions,
#: then 7 rows at the top and at the bottom are cut off.
_SIDE, _HEIGHT_BEFORE_CUT = 64, 78
#: So many pictures are decoded at a time, in threads.
_GROUP = 128

_Reshape = Callable[[NDArray[numpy.uint8]], NDArray[numpy.uint8]]


@check_exists(required_files=DATASET_FILES)
def convert_celeba_aligned_cropped(
    directory: str, output_directory: str, output_filename: str = OUTPUT_FILENAME
) -> tuple[str, ...]:
    """Convert CelebA with its pictures as they were published.

    The file has two sources: ``features``, uint8 of shape (202599, 3, 218, 178) with the axes
    batch, channel, height and width, and ``targets``, uint8 of shape (202599, 40) with the axes
    batch and target: 1 where a face has the attribute, 0 where it has not. There are three splits,
    the publishers' own: ``train`` (162,770 examples), ``valid`` (19,867) and ``test`` (19,962).

    Parameters
    ----------
    directory : str
        Where ``img_align_celeba.zip`` and ``list_attr_celeba.txt`` are.
    output_directory : str
        Where the HDF5 file goes; it must exist.
    output_filename : str, optional
        The name of the HDF5 file.

    Returns
    -------
    tuple of str
        The path of the HDF5 file.

    Raises
    ------
    MissingInputFiles
        If one of the two files is not there.
    StorageError
        If one of them is damaged or something else, or they do not agree.

    """
    return _convert(directory, output_directory, output_filename, (_HEIGHT, _WIDTH), _as_it_is)


@check_exists(required_files=DATASET_FILES)
def convert_celeba_64(
    directory: str, output_directory: str, output_filename: str = "celeba_64.hdf5"
) -> tuple[str, ...]:
    """Convert CelebA with pictures of 64 x 64 pixels.

    They are resampled to 64 columns and 78 rows with Pillow's Lanczos filter, of which the middle
    64 rows are kept. All else is as in `convert_celeba_aligned_cropped`.

    Parameters
    ----------
    directory, output_directory
        As for `convert_celeba_aligned_cropped`.
    output_filename : str, optional
        The name of the HDF5 file.

    Returns
    -------
    tuple of str
        The path of the HDF5 file.

    Raises
    ------
    OSError, MissingInputFiles
        As for `convert_celeba_aligned_cropped`.

    """
    return _convert(directory, output_directory, output_filename, (_SIDE, _SIDE), _made_small)


def convert_celeba(
    which_format: str,
    directory: str,
    output_directory: str,
    output_filename: str | None = None,
) -> tuple[str, ...]:
    """Convert CelebA.

    Parameters
    ----------
    which_format : {'aligned_cropped', '64'}
        As published, or made smaller; see `convert_celeba_aligned_cropped` and
        `convert_celeba_64`.
    directory : str
        Where the raw files are.
    output_directory : str
        Where the HDF5 file goes; it must exist.
    output_filename : str, optional
        The name of the HDF5 file, by default ``celeba_FORMAT.hdf5``.

    Returns
    -------
    tuple of str
        The path of the HDF5 file.

    Raises
    ------
    ValueError
        If there is no such format.
    OSError, MissingInputFiles
        As for `convert_celeba_aligned_cropped`.

    """
    if which_format not in ("aligned_cropped", "64"):
        raise ValueError(
            f"CelebA format needs to be either 'aligned_cropped' or '64', got {which_format!r}"
        )
    if not output_filename:
        output_filename = f"celeba_{which_format}.hdf5"
    if which_format == "aligned_cropped":
        return convert_celeba_aligned_cropped(directory, output_directory, output_filename)
    return convert_celeba_64(directory, output_directory, output_filename)


def _as_it_is(picture: NDArray[numpy.uint8]) -> NDArray[numpy.uint8]:
    return picture


def _made_small(picture: NDArray[numpy.uint8]) -> NDArray[numpy.uint8]:
    from PIL import Image

    image = Image.fromarray(numpy.ascontiguousarray(picture.transpose(1, 2, 0)))
    small = numpy.asarray(
        image.resize((_SIDE, _HEIGHT_BEFORE_CUT), Image.Resampling.LANCZOS), dtype="uint8"
    )
    cut = (_HEIGHT_BEFORE_CUT - _SIDE) // 2
    return small[cut : cut + _SIDE].transpose(2, 0, 1)


def _convert(
    directory: str,
    output_directory: str,
    output_filename: str,
    size: tuple[int, int],
    reshape: _Reshape,
) -> tuple[str, ...]:
    images_path, table_path = (os.path.join(directory, name) for name in DATASET_FILES)
    output_path = os.path.join(output_directory, output_filename)
    names, targets = _read_attributes(table_path)
    stops = [min(stop, NUM_EXAMPLES) for stop in (TRAIN_STOP, VALID_STOP, NUM_EXAMPLES)]
    bounds = dict(zip(("train", "valid", "test"), zip((0, *stops), stops)))
    sources = {
        "features": SourceSpec((3, *size), "uint8", ("batch", "channel", "height", "width")),
        "targets": SourceSpec((_ATTRIBUTES,), "uint8", ("batch", "target")),
    }
    with open_zip(images_path, _COMMAND) as archive:
        members = _members(archive, names, table_path)
        with (
            HDF5Writer(
                output_path,
                sources,
                sizes={split: stop - start for split, (start, stop) in bounds.items()},
                splits=tuple(bounds),
                inputs=(images_path, table_path),
            ) as writer,
            progress_bar(output_filename, NUM_EXAMPLES) as bar,
        ):
            for split, (start, stop) in bounds.items():
                for rows in groups(range(start, stop), _GROUP):
                    pictures = _pictures(archive, [members[row] for row in rows], reshape)
                    writer.add(
                        split,
                        features=numpy.stack(list(pictures)),
                        targets=targets[rows[0] : rows[-1] + 1],
                    )
                    bar.update(rows[-1] + 1)
    return (output_path,)


def _pictures(
    archive: zipfile.ZipFile, members: list[zipfile.ZipInfo], reshape: _Reshape
) -> Iterator[NDArray[numpy.uint8]]:
    path = str(archive.filename)
    contents = [read_member(archive, member, _COMMAND) for member in members]
    pictures = decode(contents, [member.filename for member in members], path, _COMMAND)
    for member, picture in zip(members, pictures):
        if picture.shape[1:] != (_HEIGHT, _WIDTH):
            raise StorageError(
                f"{member.filename} in {path} should have {_WIDTH} x {_HEIGHT} pixels, but has "
                f"{picture.shape[2]} x {picture.shape[1]}; get the archive of the aligned and "
                f"cropped pictures with `{_COMMAND}`"
            )
        yield reshape(picture)


def _members(archive: zipfile.ZipFile, names: list[str], table_path: str) -> list[zipfile.ZipInfo]:
    """Find the pictures that the table names, and nothing else, in the archive."""
    found: dict[str, zipfile.ZipInfo] = {}
    for member in pictures_in(archive):
        name = member.filename.rpartition("/")[2]
        if name in found:
            raise StorageError(
                f"{archive.filename} has {name} twice; get it again with `{_COMMAND}`"
            )
        found[name] = member
    missing = [name for name in names if name not in found]
    if missing:
        raise StorageError(
            f"{archive.filename} lacks {len(missing)} of the {len(names)} pictures that "
            f"{table_path} names, {missing[0]} for one; get both again with `{_COMMAND}`"
        )
    if len(found) > len(names):
        extra = next(iter(found.keys() - set(names)))
        raise StorageError(
            f"{archive.filename} has {len(found)} pictures, {found[extra].filename} for one, where "
            f"{table_path} names {len(names)}; get both again with `{_COMMAND}`"
        )
    return [found[name] for name in names]


def _read_attributes(path: str) -> tuple[list[str], NDArray[numpy.uint8]]:
    """Return the names of the pictures, and their attributes, uint8 of shape (n, 40)."""
    names: dict[str, int] = {}
    targets = numpy.empty((NUM_EXAMPLES, _ATTRIBUTES), dtype="uint8")
    announced = ""
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            if number <= 2:
                if line.lstrip().startswith("<"):
                    raise _not_understood(path, number, line, "a table of attributes, not a page")
                announced = announced or line.strip()
                continue
            if not line.strip():
                continue
            name, *values = line.split()
            if len(values) != _ATTRIBUTES or not set(values) <= {"1", "-1"}:
                wanted = f"the name of a picture and {_ATTRIBUTES} times 1 or -1"
                raise _not_understood(path, number, line, wanted)
            if name in names:
                raise _not_understood(
                    path, number, line, f"another picture than line {names[name]}"
                )
            if len(names) < NUM_EXAMPLES:
                targets[len(names)] = (numpy.array(values, dtype="int64") + 1) // 2
            names[name] = number
    if len(names) != NUM_EXAMPLES or (announced.isdigit() and int(announced) != NUM_EXAMPLES):
        raise StorageError(
            f"{path} has {len(names)} examples (its first line says {announced[:20]!r}) where "
            f"CelebA has {NUM_EXAMPLES}; get it again with `{_COMMAND}`"
        )
    return list(names), targets


def _not_understood(path: str, number: int, line: str, wanted: str) -> StorageError:
    return StorageError(
        f"line {number} of {path} should be {wanted}, but it is {line[:60].strip()!r}; get the "
        f"file again with `{_COMMAND}`"
    )


def fill_subparser(subparser: argparse.ArgumentParser) -> Callable[..., tuple[str, ...]]:
    """Give the sub-command of ``fuel-convert`` its argument, the format.

    Parameters
    ----------
    subparser : argparse.ArgumentParser
        The parser of the sub-command.

    Returns
    -------
    callable
        `convert_celeba`.

    """
    subparser.add_argument(
        "which_format",
        choices=("aligned_cropped", "64"),
        help="aligned_cropped: pictures of 178 x 218 pixels, as published; 64: of 64 x 64",
    )
    return convert_celeba
