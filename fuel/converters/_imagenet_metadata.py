"""The development kits of ILSVRC: which classes there are, and what is in the pictures.

A kit is a tar archive compressed with gzip that holds ``data/meta.mat`` and the ground truth of the
validation pictures. The pictures are read in ``_imagenet_images``.
"""

from __future__ import annotations

import io
import os
from typing import IO, Any

import numpy
from numpy.typing import NDArray

from fuel.exceptions import StorageError
from fuel.utils.formats import tar_open

__all__ = ["CLASSES", "read_ground_truth", "read_kit", "read_synsets", "wnids_of"]

#: The classes of the challenge are the first so many synsets.
CLASSES = 1000

_LIMIT_BYTES = 1 << 28


def read_kit(file: Any, year: int, folder: str) -> tuple[bytes, NDArray[numpy.int16]]:
    """Read a development kit.

    Parameters
    ----------
    file : path or binary file object
        The archive.
    year : int
        2010 or 2012.
    folder : str
        The folder in the archive.

    Returns
    -------
    meta : bytes
        The content of ``meta.mat``.
    ground_truth : numpy.ndarray, shape (n,), dtype int16
        The classes of the validation pictures, as in the kit: from 1 on.

    Raises
    ------
    StorageError
        If something is missing or damaged.

    """
    import tarfile

    name = getattr(file, "name", file)
    try:
        with tar_open(file) as tar:
            meta = _content(tar, f"{folder}/data/meta.mat", name)
            truth = f"{folder}/data/ILSVRC{year}_validation_ground_truth.txt"
            return meta, read_ground_truth(io.BytesIO(_content(tar, truth, name)))
    except (tarfile.TarError, EOFError, OSError) as error:
        if isinstance(error, FileNotFoundError | StorageError):
            raise
        raise StorageError(
            f"the development kit {name} is damaged: {error}; get it again"
        ) from error


def _content(tar: Any, member: str, name: Any) -> bytes:
    try:
        info = tar.getmember(member)
    except KeyError:
        raise StorageError(
            f"the development kit {name} has no {member}; is it the kit of this challenge?"
        ) from None
    if not info.isfile() or info.size > _LIMIT_BYTES:
        raise StorageError(f"{member} in the development kit {name} is no file of a sensible size")
    content: bytes = tar.extractfile(info).read()
    return content


def read_ground_truth(file: str | IO[bytes]) -> NDArray[numpy.int16]:
    """Read a class from each line.

    Parameters
    ----------
    file : path or binary file object
        Whole numbers from 1 on, one a line.

    Returns
    -------
    numpy.ndarray, shape (n,), dtype int16
        The numbers.

    Raises
    ------
    StorageError
        If a line is something else.

    """
    if isinstance(file, str | os.PathLike):
        with open(file, "rb") as opened:
            return read_ground_truth(opened)
    name, values = getattr(file, "name", "the ground truth of the development kit"), []
    for number, line in enumerate(file, 1):
        text = line.strip()
        if not text:
            continue
        if not text.isdigit() or not 1 <= int(text) <= CLASSES:
            raise StorageError(
                f"line {number} of {name} should be a class from 1 to {CLASSES}, but it is "
                f"{text[:60]!r}; get it again"
            )
        values.append(int(text))
    return numpy.array(values, dtype=numpy.int16)


def read_synsets(meta: Any, year: int) -> tuple[NDArray[Any], Any]:
    """Read the table of synsets.

    Parameters
    ----------
    meta : path or binary file object
        A file of MATLAB with the variable ``synsets``.
    year : int
        2010 or 2012.

    Returns
    -------
    synsets : numpy.ndarray of a structured type
        ``ILSVRC<year>_ID``, ``WNID``, ``words``, ``gloss``, ``num_children``, ``children`` (filled
        up with -1), ``wordnet_height`` and ``num_train_images``.
    cost_matrix : numpy.ndarray or None
        That of 2010.

    Raises
    ------
    StorageError
        If it is something else.

    """
    import scipy.io

    key = f"ILSVRC{year}_ID"
    try:
        mat = scipy.io.loadmat(meta, squeeze_me=True)
        raw = numpy.atleast_1d(mat["synsets"])
        children = [numpy.atleast_1d(value).astype(numpy.int16) for value in raw["children"]]
        texts = {
            name: [str(value).encode("utf8") for value in raw[name]]
            for name in ("WNID", "words", "gloss")
        }
        most = max(1, max(map(len, children)))
        synsets = numpy.empty(
            len(raw),
            dtype=[
                (key, numpy.int16),
                ("WNID", "S9"),
                ("words", f"S{max(1, max(map(len, texts['words'])))}"),
                ("gloss", f"S{max(1, max(map(len, texts['gloss'])))}"),
                ("num_children", numpy.int16),
                ("children", numpy.int16, (most,)),
                ("wordnet_height", numpy.uint8),
                ("num_train_images", numpy.uint16),
            ],
        )
        for name in (key, "num_children", "wordnet_height", "num_train_images"):
            synsets[name] = [int(value) for value in raw[name]]
        for name, values in texts.items():
            synsets[name] = values
        for place, row in enumerate(children):
            synsets["children"][place] = numpy.pad(row, (0, most - len(row)), constant_values=-1)
    except Exception as error:  # whatever scipy makes of other files
        raise StorageError(
            f"meta.mat of the development kit does not hold the synsets of ILSVRC{year}: "
            f"{type(error).__name__}: {error}; get the kit again"
        ) from error
    cost = mat.get("cost_matrix")
    return synsets, None if cost is None else numpy.atleast_2d(cost).astype(numpy.uint8)


def wnids_of(synsets: NDArray[Any], year: int) -> tuple[dict[str, int], int]:
    """Say which class each WordNet id is, and how many training pictures there are.

    Parameters
    ----------
    synsets : numpy.ndarray
        What `read_synsets` returned.
    year : int
        2010 or 2012.

    Returns
    -------
    classes : dict of str to int
        From 0 on.
    count : int
        The training pictures of all of them.

    """
    chosen = synsets[synsets[f"ILSVRC{year}_ID"] <= CLASSES]
    classes = {
        wnid.decode("ascii"): int(number) - 1
        for wnid, number in zip(chosen["WNID"], chosen[f"ILSVRC{year}_ID"], strict=True)
    }
    return classes, int(chosen["num_train_images"].astype(int).sum())
