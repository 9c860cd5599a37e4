"""Converts Dogs vs. Cats to HDF5; the files are got by `fuel.downloaders.dogs_vs_cats`."""

from __future__ import annotations

import argparse
import os
import re
import zipfile
from collections.abc import Callable, Iterable

import numpy

from fuel.converters._pictures import decode, groups, open_zip, pictures_in, read_member
from fuel.converters.base import check_exists, progress_bar
from fuel.converters.writer import HDF5Writer, SourceSpec
from fuel.exceptions import StorageError

__all__ = ["TEST", "TRAIN", "convert_dogs_vs_cats", "fill_subparser"]

#: The archive of labelled photographs.
TRAIN = "dogs_vs_cats.train.zip"
#: The archive of photographs without labels.
TEST = "dogs_vs_cats.test1.zip"

_COMMAND = "fuel-download dogs_vs_cats"
_LABELS = {"cat": 0, "dog": 1}
#: Orders the training examples; a fixed number, so that every file that was ever made agrees.
_SEED = 123522
#: So many pictures are decoded at a time, in threads.
_GROUP = 32


@check_exists(required_files=[TRAIN, TEST])
def convert_dogs_vs_cats(
    directory: str, output_directory: str, output_filename: str = "dogs_vs_cats.hdf5"
) -> tuple[str, ...]:
    """Convert Dogs vs. Cats.

    The file has two sources: ``image_features``, uint8 of shape (3, height, width) for each
    example, and ``targets``, uint8 of shape (n, 1) with the axes batch and index, 0 for a cat and
    1 for a dog. There are two splits: ``train`` (25,000 examples) and ``test`` (12,500, without
    ``targets``). The training examples are in the order of the archive shuffled by
    ``numpy.random.RandomState(123522)``, those for testing in that of their archive.

    Parameters
    ----------
    directory : str
        Where the two archives are.
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
        If an archive is not there.
    StorageError
        If an archive or a picture in it is damaged, a picture has an unexpected name, or the
        numbers in the names have gaps.

    """
    train_path, test_path = (os.path.join(directory, name) for name in (TRAIN, TEST))
    output_path = os.path.join(output_directory, output_filename)
    sources = {
        "image_features": SourceSpec(
            (3, None, None), "uint8", ("batch", "channel", "height", "width")
        ),
        "targets": SourceSpec((1,), "uint8", ("batch", "index")),
    }
    with open_zip(train_path, _COMMAND) as train, open_zip(test_path, _COMMAND) as test:
        labelled = _labelled(train)
        numpy.random.RandomState(_SEED).shuffle(labelled)  # type: ignore[arg-type]
        unlabelled = _unlabelled(test)
        total = len(labelled) + len(unlabelled)
        with (
            HDF5Writer(
                output_path, sources, splits=("train", "test"), inputs=(train_path, test_path)
            ) as writer,
            progress_bar("dogs_vs_cats", total) as bar,
        ):
            done = 0
            for pairs in groups(labelled, _GROUP):
                pictures = _pictures(train, [member for member, _ in pairs])
                targets = numpy.array([[label] for _, label in pairs], dtype="uint8")
                writer.add("train", image_features=pictures, targets=targets)
                bar.update(done := done + len(pairs))
            for members in groups(unlabelled, _GROUP):
                writer.add("test", image_features=_pictures(test, members))
                bar.update(done := done + len(members))
    return (output_path,)


def _pictures(archive: zipfile.ZipFile, members: list[zipfile.ZipInfo]) -> list[numpy.ndarray]:
    contents = [read_member(archive, member, _COMMAND) for member in members]
    names = [member.filename for member in members]
    return list(decode(contents, names, str(archive.filename), _COMMAND))


def _labelled(archive: zipfile.ZipFile) -> list[tuple[zipfile.ZipInfo, int]]:
    """Return the members with their labels, in the order of the archive."""
    found, numbers = [], {name: set[int]() for name in _LABELS}
    for member in pictures_in(archive):
        match = re.fullmatch(r"(?:.*/)?(cat|dog)\.(\d+)\.jpe?g", member.filename, re.IGNORECASE)
        if match is None:
            raise _unexpected(archive, member, "cat.0.jpg or dog.0.jpg")
        name, number = match[1].lower(), int(match[2])
        if number in numbers[name]:
            raise _twice(archive, member)
        numbers[name].add(number)
        found.append((member, _LABELS[name]))
    together = numbers["cat"] | numbers["dog"]
    if len(together) == len(found):  # numbered through; the published archive numbers each kind
        _check_gaps(archive, together, "cat.{0}.jpg or dog.{0}.jpg", 0)
    else:
        for name, of_kind in numbers.items():
            _check_gaps(archive, of_kind, name + ".{}.jpg", 0)
    return found


def _unlabelled(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    found, numbers = [], set[int]()
    for member in pictures_in(archive):
        match = re.fullmatch(r"(?:.*/)?(\d+)\.jpe?g", member.filename, re.IGNORECASE)
        if match is None:
            raise _unexpected(archive, member, "1.jpg")
        if int(match[1]) in numbers:
            raise _twice(archive, member)
        numbers.add(int(match[1]))
        found.append(member)
    _check_gaps(archive, numbers, "{}.jpg", min(1, *numbers) if numbers else 1)
    return found


def _unexpected(archive: zipfile.ZipFile, member: zipfile.ZipInfo, wanted: str) -> StorageError:
    return StorageError(
        f"{archive.filename} should hold pictures with names like {wanted}, but has "
        f"{member.filename}; take the extra file out, or get the archive again with `{_COMMAND}`"
    )


def _twice(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> StorageError:
    return StorageError(
        f"{archive.filename} has {member.filename} twice; get it again with `{_COMMAND}`"
    )


def _check_gaps(archive: zipfile.ZipFile, numbers: Iterable[int], pattern: str, first: int) -> None:
    """Look for pictures that are missing: the names are numbered without gaps."""
    for wanted, number in enumerate(sorted(numbers), first):
        if wanted != number:
            raise StorageError(
                f"{archive.filename} has no {pattern.format(wanted)}, although the numbers go on "
                f"after it; get it again with `{_COMMAND}`"
            )
    if not numbers:
        raise StorageError(f"{archive.filename} holds no pictures; get it again with `{_COMMAND}`")


def fill_subparser(subparser: argparse.ArgumentParser) -> Callable[..., tuple[str, ...]]:
    """Set up the sub-command of ``fuel-convert``; it has no options of its own.

    Parameters
    ----------
    subparser : argparse.ArgumentParser
        The parser of the sub-command.

    Returns
    -------
    callable
        `convert_dogs_vs_cats`.

    """
    return convert_dogs_vs_cats
