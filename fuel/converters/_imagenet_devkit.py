"""The development kits of ILSVRC: what the classes are, and what the validation set shows.

A kit is a tar archive with ``meta.mat``, a MATLAB file whose structure array ``synsets`` describes
the sets of synonyms of WordNet (the classes first, then what is above them), and a text with one
number for each picture of the validation set. Pictures are the business of `_imagenet_archives`.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import IO, Any

import numpy
from numpy.typing import NDArray

from fuel.converters._archives import members
from fuel.converters._raw import damaged

__all__ = ["Kit", "labels_of", "parse_ground_truth", "read_files", "read_mat", "synsets_of"]

#: The classes have the numbers up to this one; synsets with larger numbers are groups of them.
NUM_CLASSES = 1000

#: The largest of these files that was published is some 0.6 MiB, unpacked.
_MAX_FILE_BYTES = 64 * 2**20

_NUMBERS = ("num_children", "wordnet_height", "num_train_images")


@dataclass(frozen=True)
class Kit:
    """What a conversion needs to know of a development kit.

    Attributes
    ----------
    num_train : dict of str to int
        For each class, by its WordNet ID, how many training pictures there are.
    classes : dict of str to int
        The number of each class, from 0 on, by its WordNet ID.
    valid : numpy.ndarray, int16
        The class of each picture of the validation set.

    """

    num_train: Mapping[str, int]
    classes: Mapping[str, int]
    valid: NDArray[numpy.int16]

    @classmethod
    def of(cls, synsets: NDArray[Any], ids: str, raw_valid: Iterable[int], name: str) -> Kit:
        """Make one of the table of synsets and the numbers of the validation set."""
        counts = synsets["num_train_images"].tolist()
        classes = {
            wnid.decode("utf8"): place
            for place, (number, wnid) in enumerate(zip(synsets[ids], synsets["WNID"]))
            if number <= NUM_CLASSES
        }
        return cls(
            num_train={wnid: counts[place] for wnid, place in classes.items()},
            classes=classes,
            valid=labels_of(synsets[ids], raw_valid, name),
        )


def read_files(
    archive: str | os.PathLike[str] | IO[bytes], wanted: Iterable[str], advice: str
) -> list[bytes]:
    """Return the content of some files of an archive.

    Parameters
    ----------
    archive : str, path or binary file object
        The archive.
    wanted : iterable of str
        Their paths in it.
    advice : str
        What to do if one is not there, or the archive is damaged.

    Returns
    -------
    list of bytes
        One for each path.

    Raises
    ------
    StorageError
        If a file is missing, or the archive damaged.

    """
    wanted = list(wanted)
    found: dict[str, bytes] = {}
    for member in members(
        archive, advice, max_member_bytes=_MAX_FILE_BYTES, max_total_bytes=16 * _MAX_FILE_BYTES
    ):
        if member.name in wanted:
            found[member.name] = member.read()
    missing = [path for path in wanted if path not in found]
    if missing:
        raise damaged(_name(archive), f"it lacks {' and '.join(missing)}", advice)
    return [found[path] for path in wanted]


def _name(file: Any) -> str:
    if isinstance(file, (str, os.PathLike)):
        return os.fspath(file)
    return str(getattr(file, "name", "the file"))


def read_mat(
    meta_mat: str | os.PathLike[str] | IO[bytes] | bytes, advice: str, name: str | None = None
) -> tuple[dict[str, Any], str]:
    """Read a MATLAB file.

    Parameters
    ----------
    meta_mat : str, path, binary file object or bytes
        The file.
    advice : str
        What to do if it is damaged.
    name : str, optional
        What messages call it.

    Returns
    -------
    dict and str
        Its variables, and what messages call it.

    Raises
    ------
    StorageError
        If it is no MATLAB file of version 4 to 7, or damaged.

    """
    from scipy.io import loadmat

    if isinstance(meta_mat, bytes):
        meta_mat = io.BytesIO(meta_mat)
    elif isinstance(meta_mat, (str, os.PathLike)):
        os.stat(meta_mat)  # a file that is not there is no damaged one
    name = name or _name(meta_mat)
    try:
        return loadmat(meta_mat, squeeze_me=True), name
    except Exception as error:  # whatever the parser stumbles over
        raise damaged(
            name, f"it is no MATLAB file that can be read ({type(error).__name__}: {error})", advice
        ) from error


def synsets_of(variables: Mapping[str, Any], ids: str, name: str, advice: str) -> NDArray[Any]:
    """Return the table of synsets of a development kit.

    Parameters
    ----------
    variables : dict
        The variables of ``meta.mat``.
    ids : str
        The name of the field with the numbers of the synsets.
    name, advice : str
        The file, and what to do if it is damaged; for messages.

    Returns
    -------
    numpy.ndarray
        One element for each synset, with the fields `ids` (int16), ``WNID`` (S9), ``words``,
        ``gloss`` (texts in UTF-8), ``num_children`` (int8, or int16 if one has more than 127),
        ``children`` (int16, filled up with -1), ``wordnet_height`` (int8) and
        ``num_train_images`` (int16).

    Raises
    ------
    StorageError
        If a field is missing, or a value is not what it should be.

    """
    raw = numpy.atleast_1d(variables.get("synsets", numpy.empty(0)))
    fields = (ids, "WNID", "words", "gloss", "children", *_NUMBERS)
    missing = [field for field in fields if field not in (raw.dtype.names or ())]
    if missing:
        raise damaged(name, f"its `synsets` lack {', '.join(missing)}", advice)
    if not raw.size:
        raise damaged(name, "it describes no synsets", advice)
    columns: dict[str, NDArray[Any]] = {}
    try:
        columns[ids] = _integers(raw[ids], "int16")
        columns["WNID"] = _texts(raw["WNID"], 9)
        for field in ("words", "gloss"):
            columns[field] = _texts(raw[field])
        columns["num_children"] = _integers(raw["num_children"], "int8", "int16")
        columns["children"] = _children(raw["children"])
        columns["wordnet_height"] = _integers(raw["wordnet_height"], "int8")
        columns["num_train_images"] = _integers(raw["num_train_images"], "int16")
    except (TypeError, ValueError, OverflowError) as error:
        raise damaged(name, f"its `synsets` are not as published ({error})", advice) from error
    if columns[ids].min() < 1:
        raise damaged(name, f"{ids} {columns[ids].min()} in it is not positive", advice)
    for field in (ids, "WNID"):
        values, counts = numpy.unique(columns[field], return_counts=True)
        if len(values) < len(raw):
            raise damaged(name, f"{field} {values[counts > 1][0]} occurs twice in it", advice)
    if columns["num_train_images"].min() < 0:
        raise damaged(name, "a number of training images in it is negative", advice)
    order = (ids, "WNID", "words", "gloss", "num_children", "children", *_NUMBERS[1:])
    table = numpy.empty(
        raw.size,
        [(field, columns[field].dtype, columns[field].shape[1:]) for field in order],
    )
    for field in order:
        table[field] = columns[field]
    return table


def _integers(values: Iterable[Any], *dtypes: str) -> NDArray[Any]:
    """Return numbers in the first of some types that has them all."""
    numbers = numpy.array([_integer(value) for value in values], dtype="int64")
    for dtype in dtypes:
        limits = numpy.iinfo(dtype)
        if not numbers.size or (limits.min <= numbers.min() and numbers.max() <= limits.max):
            return numbers.astype(dtype)
    raise ValueError(f"the number {numbers[abs(numbers).argmax()]} is too large")


def _integer(value: Any) -> int:
    array = numpy.asarray(value)
    if array.size != 1 or array.dtype.kind not in "iuf" or int(array.item()) != array.item():
        raise ValueError(f"a whole number is needed, got {value!r:.60}")
    return int(array.item())


def _texts(values: Iterable[Any], size: int | None = None) -> NDArray[Any]:
    encoded = []
    for value in values:
        array = numpy.asarray(value)
        if array.size and array.dtype.kind != "U":
            raise ValueError(f"a text is needed, got {value!r:.60}")
        encoded.append(str(array.item()).encode() if array.size == 1 else b"")
        if size is not None and not 0 < len(encoded[-1]) <= size:
            raise ValueError(f"a text of 1 to {size} bytes is needed, got {value!r:.60}")
    return numpy.array(encoded, dtype=f"S{size or max(1, *map(len, encoded), 0)}")


def _children(values: Iterable[Any]) -> NDArray[Any]:
    lists = [_integers(numpy.atleast_1d(value).ravel(), "int16") for value in values]
    table = numpy.full((len(lists), max(map(len, lists))), -1, dtype="int16")
    for row, children in zip(table, lists):
        row[: len(children)] = children
    return table


def parse_ground_truth(content: bytes, name: str, advice: str) -> NDArray[numpy.int16]:
    """Read a text with the number of a synset in each line.

    Parameters
    ----------
    content : bytes
        The text.
    name, advice : str
        The file, and what to do if it is damaged; for messages.

    Returns
    -------
    numpy.ndarray, int16
        The numbers.

    Raises
    ------
    StorageError
        If a line is none.

    """
    numbers = []
    for number, line in enumerate(content.splitlines(), 1):
        if not line.strip():
            continue
        if not line.strip().isdigit() or len(line.strip()) > 4:
            raise damaged(
                name, f"line {number} should be the number of a class, got {line[:40]!r}", advice
            )
        numbers.append(int(line))
    return numpy.array(numbers, dtype="int16")


def labels_of(ids: Iterable[int], raw: Iterable[int], name: str) -> NDArray[numpy.int16]:
    """Return the classes that numbers of synsets stand for.

    Parameters
    ----------
    ids : iterable of int
        The numbers of the synsets in the order of their table.
    raw : iterable of int
        What is to be looked up.
    name : str
        Where it comes from, for messages.

    Returns
    -------
    numpy.ndarray, int16
        The classes, from 0 on.

    Raises
    ------
    StorageError
        If a number is not that of a class.

    """
    classes = {int(one): place for place, one in enumerate(ids) if one <= NUM_CLASSES}
    labels = []
    for place, number in enumerate(raw, 1):
        if int(number) not in classes:
            raise damaged(
                name,
                f"entry {place} is {number}, which is not the number of a class",
                "get it and the development kit again, of the same year",
            )
        labels.append(classes[int(number)])
    return numpy.array(labels, dtype="int16")
