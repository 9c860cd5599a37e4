"""Converts Adult to HDF5; the files are got by `fuel.downloaders.adult`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy
from numpy.typing import ArrayLike, NDArray

from fuel.converters._lines import numbered_lines, remark_on_count
from fuel.converters._raw import damaged
from fuel.converters.base import progress_bar
from fuel.converters.writer import HDF5Writer, SourceSpec

__all__ = ["FEATURE_NAMES", "convert_adult", "convert_to_one_hot", "fill_subparser"]

# The variables in the order of the files; those with values are categorical. The values are those
# that the documentation of the data set lists, sorted as text. Never-worked is not among them:
# everybody of whom it is said lacks an occupation, and so is left out.
_TABLE = {
    "age": "",
    "workclass": (
        "Federal-gov Local-gov Private Self-emp-inc Self-emp-not-inc State-gov Without-pay"
    ),
    "fnlwgt": "",
    "education": (
        "10th 11th 12th 1st-4th 5th-6th 7th-8th 9th Assoc-acdm Assoc-voc Bachelors Doctorate "
        "HS-grad Masters Preschool Prof-school Some-college"
    ),
    "education-num": "",
    "marital-status": (
        "Divorced Married-AF-spouse Married-civ-spouse Married-spouse-absent Never-married "
        "Separated Widowed"
    ),
    "occupation": (
        "Adm-clerical Armed-Forces Craft-repair Exec-managerial Farming-fishing "
        "Handlers-cleaners Machine-op-inspct Other-service Priv-house-serv Prof-specialty "
        "Protective-serv Sales Tech-support Transport-moving"
    ),
    "relationship": "Husband Not-in-family Other-relative Own-child Unmarried Wife",
    "race": "Amer-Indian-Eskimo Asian-Pac-Islander Black Other White",
    "sex": "Female Male",
    "capital-gain": "",
    "capital-loss": "",
    "hours-per-week": "",
    "native-country": (
        "Cambodia Canada China Columbia Cuba Dominican-Republic Ecuador El-Salvador England France "
        "Germany Greece Guatemala Haiti Holand-Netherlands Honduras Hong Hungary India Iran "
        "Ireland Italy Jamaica Japan Laos Mexico Nicaragua Outlying-US(Guam-USVI-etc) Peru "
        "Philippines Poland Portugal Puerto-Rico Scotland South Taiwan Thailand Trinadad&Tobago "
        "United-States Vietnam Yugoslavia"
    ),
}

_VARIABLES = {variable: tuple(values.split()) for variable, values in _TABLE.items()}

#: What each of the 104 columns of ``features`` is: the name of a number, or ``variable=value``.
FEATURE_NAMES: tuple[str, ...] = tuple(
    name
    for variable, values in _VARIABLES.items()
    for name in ([f"{variable}={value}" for value in values] or [variable])
)

_FILES = {"train": "adult.data", "test": "adult.test"}
_PUBLISHED = {"train": 32561, "test": 16281}
_ADVICE = "get it again with `fuel-download adult`"
_BATCH = 1024


def convert_adult(
    directory: str, output_directory: str, output_filename: str = "adult.hdf5"
) -> tuple[str, ...]:
    """Convert Adult: what is known of people of a census, and whether they earn above 50,000.

    The file has two sources: ``features``, float64 of shape (n, 104) with the axes batch and
    feature, and ``targets``, bool of shape (n, 1) with the axes batch and index, true for an
    income above 50,000 dollars; and two splits, ``train`` (30,162 examples) and ``test`` (15,060).
    People of whom something is unknown (``?``) are left out: 2,399 of 32,561 and 1,221 of 16,281.
    A comment in the file says how many, and a warning is logged where the raw files have not the
    published length.

    The columns of ``features`` are named in `FEATURE_NAMES`: the variables in the order of the raw
    files; a categorical one has a column for each of its values, sorted, with a 1 in the column
    of its value and 0 in the others. They are the same for both splits, and whatever is in the
    files.

    Parameters
    ----------
    directory : str
        Where ``adult.data`` and ``adult.test`` are.
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
    OSError
        If a file is not there.
    StorageError
        If a line is not understood, or there is none.

    """
    paths = {split: os.path.join(directory, name) for split, name in _FILES.items()}
    for path in paths.values():
        os.stat(path)
    output_path = os.path.join(output_directory, output_filename)
    sources = {
        "features": SourceSpec((len(FEATURE_NAMES),), "float64", ("batch", "feature")),
        "targets": SourceSpec((1,), "bool", ("batch", "index")),
    }
    done = 0
    with (
        HDF5Writer(output_path, sources, splits=paths, inputs=paths.values()) as writer,
        progress_bar("adult", sum(_PUBLISHED.values())) as bar,
    ):
        for split, path in paths.items():
            count = 0
            for features, targets, lines in _batches(path):
                if len(features):
                    writer.add(split, features=features, targets=targets)
                count += lines
                bar.update(done + count)
            done += count
            kept = writer.num_examples[split]
            if not kept:
                raise damaged(path, f"none of its {count} examples is complete", _ADVICE)
            remark_on_count(path, count, _PUBLISHED[split])
            remark = f"{count - kept} of {count} examples with unknown values are left out"
            for source in sources:
                writer.comment(split, source, remark)
    return (output_path,)


def _batches(path: str) -> Iterator[tuple[NDArray[Any], NDArray[Any], int]]:
    """Yield features and targets, and how many lines they come from."""
    rows: list[list[str]] = []
    places: list[int] = []
    count = 0
    for number, line in numbered_lines(path):
        if line.startswith(b"|"):  # a remark at the top of the test file
            continue
        fields = [field.strip() for field in line.decode("utf-8", "replace").split(",")]
        if len(fields) != len(_VARIABLES) + 1:
            raise damaged(
                path,
                f"line {number} should have {len(_VARIABLES) + 1} fields with commas between "
                f"them, but it is {line[:60]!r}",
                _ADVICE,
            )
        count += 1
        if "?" not in fields:
            rows.append(fields)
            places.append(number)
        if len(rows) == _BATCH:
            yield (*_encode(path, rows, places), count)
            rows, places, count = [], [], 0
    yield (*_encode(path, rows, places), count)


def _encode(
    path: str, rows: list[list[str]], places: list[int]
) -> tuple[NDArray[Any], NDArray[Any]]:
    if not rows:
        return numpy.empty((0, len(FEATURE_NAMES))), numpy.empty((0, 1), bool)
    *columns, incomes = zip(*rows, strict=True)
    pieces = []
    for (variable, values), column in zip(_VARIABLES.items(), columns, strict=True):
        if values:
            order = {value: place for place, value in enumerate(values)}
            numbers = _translate(path, places, column, variable, lambda text: order[text])  # noqa: B023
            pieces.append(numpy.eye(len(values))[numpy.array(numbers)])
        else:
            numbers = _translate(path, places, column, variable, _finite)
            pieces.append(numpy.array(numbers, dtype="float64")[:, None])
    # In the test file a full stop follows.
    known = {"<=50K": False, "<=50K.": False, ">50K": True, ">50K.": True}
    targets = _translate(path, places, incomes, "income", lambda text: known[text])
    return numpy.concatenate(pieces, axis=1), numpy.array(targets, dtype=bool)[:, None]


def _finite(text: str) -> float:
    value = float(text)
    if not numpy.isfinite(value):
        raise ValueError
    return value


def _translate(
    path: str,
    places: list[int],
    column: tuple[str, ...],
    variable: str,
    translate: Callable[[str], float],
) -> list[float]:
    found = []
    for number, text in zip(places, column, strict=True):
        try:
            found.append(translate(text))
        except (KeyError, ValueError):
            raise damaged(
                path, f"line {number} has the unknown {variable} {text[:40]!r}", _ADVICE
            ) from None
    return found


def convert_to_one_hot(y: ArrayLike) -> NDArray[numpy.float64]:
    """Give each number a row with a 1 in the column of that number, and 0 elsewhere.

    Parameters
    ----------
    y : array-like of int
        The numbers, from 0; at least one.

    Returns
    -------
    ndarray
        float64, of shape (numbers, largest number + 1).

    Raises
    ------
    ValueError
        If there is no number, or one is negative.

    Examples
    --------
    >>> convert_to_one_hot([0, 2])
    array([[1., 0., 0.],
           [0., 0., 1.]])

    """
    numbers = numpy.asarray(y, dtype="int64")
    if numbers.ndim != 1 or not len(numbers) or numbers.min() < 0:
        raise ValueError(f"`y` must be a list of numbers from 0, at least one, got {y!r:.60}")
    one_hot = numpy.zeros((len(numbers), int(numbers.max()) + 1))
    one_hot[numpy.arange(len(numbers)), numbers] = 1
    return one_hot


def fill_subparser(subparser: argparse.ArgumentParser) -> Callable[..., tuple[str, ...]]:
    """Set up the sub-command of ``fuel-convert``; it has no options of its own.

    Parameters
    ----------
    subparser : argparse.ArgumentParser
        The parser of the sub-command.

    Returns
    -------
    callable
        `convert_adult`.

    """
    return convert_adult
