"""What the converters of one's own data share: the names of inputs, options, and the writing.

A converter describes its input as a `Table` (which can be read any number of times) and hands it
to `write_table`. Splits are drawn in ``_splits``.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.converters.base import progress_bar
from fuel.converters.bring import _splits
from fuel.converters.writer import HDF5Writer, SourceSpec
from fuel.exceptions import ConfigurationError, FuelError, StorageError

__all__ = [
    "Input",
    "Table",
    "add_options",
    "add_split_options",
    "class_dtype",
    "find_inputs",
    "names_argument",
    "output_name",
    "picked",
    "source_name",
    "split_argument",
    "write_table",
]

#: About how many bytes of examples are held at a time.
BATCH_BYTES = 4 * 2**20

#: More class names than this do not fit into an attribute; they get a dataset.
_MOST_IN_ATTRIBUTE = 2000


@dataclass(frozen=True)
class Input:
    """A file that is read.

    Attributes
    ----------
    path : str
        The file.
    name : str
        How the user wrote it, for messages.
    label : str or None
        What stood before the equals sign: the split, or the source, that it belongs to.

    """

    path: str
    name: str
    label: str | None = None


@dataclass
class Table:
    """Examples that can be read in their order, any number of times.

    Attributes
    ----------
    sources : dict of str to SourceSpec
        What there is.
    num_examples : int
        How many examples there are.
    parts : list of (str or None, int)
        Stretches of the input, with the name of the split that each belongs to (None where the
        user named none) and its number of examples.
    attributes : dict of str to dict
        Attributes of sources, such as ``class_names``.

    """

    sources: dict[str, SourceSpec] = field(default_factory=dict)
    num_examples: int = 0
    parts: list[tuple[str | None, int]] = field(default_factory=list)
    attributes: dict[str, dict[str, Any]] = field(default_factory=dict)

    def batches(self, wanted: NDArray[numpy.bool_]) -> Iterator[dict[str, Any]]:
        """Yield some of the examples, as batches of all sources.

        Parameters
        ----------
        wanted : numpy.ndarray, shape (num_examples,), dtype bool
            Which.

        """
        raise NotImplementedError

    def values(self, column: str) -> Iterator[Sequence[Any]]:
        """Yield the values of a column for all examples, in batches; they have to be hashable.

        Raises
        ------
        StorageError
            If there is no such column, or its values are not single ones.

        """
        raise NotImplementedError

    def finish(self, h5file: Any) -> None:
        """Add to the file what is no source."""


# -- inputs ---------------------------------------------------------------------------------------


def find_inputs(directory: str, files: Sequence[str], labelled: bool = True) -> list[Input]:
    """Find the files that a user named.

    Parameters
    ----------
    directory : str
        Where relative names begin.
    files : sequence of str
        The names; ``LABEL=NAME`` gives a label, unless there is a file of that whole name.
    labelled : bool, optional
        Whether labels are possible.

    Returns
    -------
    list of Input
        The files, in the order given.

    Raises
    ------
    StorageError
        If one does not exist, or is no file.
    ConfigurationError
        If some have a label and others have none.

    """
    inputs = []
    for given in files:
        label, name = None, os.fspath(given)
        if labelled and not os.path.exists(os.path.join(directory, name)):
            before, equals, after = name.partition("=")
            if equals and before and after and os.sep not in before:
                label, name = before, after
        path = os.path.join(directory, name)
        if not os.path.isfile(path):
            what = "is no file" if os.path.exists(path) else "does not exist"
            raise StorageError(
                f"{name} {what} (looked for in {os.path.abspath(directory)}); name a file, "
                "and the directory it is in with -d"
            )
        inputs.append(Input(path, name, label))
    if not inputs:
        raise ConfigurationError("there is nothing to convert; name at least one file")
    if len({found.label is None for found in inputs}) > 1:
        raise ConfigurationError(
            "either all files must say which split they belong to, or none, got "
            f"{', '.join(files)}; write for example train=a.csv test=b.csv"
        )
    return inputs


def output_name(given: str | None, paths: Sequence[str]) -> str:
    """Return the name of the output: the one given, or one made from those of the inputs.

    Several inputs that differ only in a number at the end (``part-00.tar``, ``part-01.tar``) give
    what they have in common, others the first name.
    """
    if given is not None:
        return given
    stems = [os.path.basename(os.path.normpath(os.path.abspath(path))) for path in paths]
    stems = [stem.split(".")[0] or stem for stem in stems]
    bare = {re.sub(r"[-_ ]*\d+$", "", stem) for stem in stems}
    stem = bare.pop() if len(stems) > 1 and len(bare) == 1 else stems[0]
    return f"{stem or stems[0]}.hdf5"


def source_name(column: str, taken: Iterable[str] = ()) -> str:
    """Return the name of the source for a column: HDF5 cuts names at slashes."""
    name = column.replace("/", "_").strip()
    if name in ("", ".", ".."):
        name = "column"
    if name in taken:
        raise StorageError(
            f"two columns would become the source {name!r} ({column!r} and another); rename one"
        )
    return name


def class_dtype(classes: int) -> numpy.dtype[Any]:
    """Return the smallest type that numbers so many classes."""
    return numpy.min_scalar_type(max(0, classes - 1))


def picked(column: Any, places: NDArray[numpy.intp]) -> Any:
    """Take some examples out of a column, an array or a list."""
    if len(places) == len(column):
        return column
    if isinstance(column, numpy.ndarray):
        return column[places]
    return [column[place] for place in places]


# -- options --------------------------------------------------------------------------------------


def split_argument(text: str) -> str:
    """Check the text of ``--split`` while the command line is read."""
    try:
        _splits.parse_split(text)
    except ConfigurationError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def names_argument(text: str) -> list[str]:
    """Take names that are separated by commas apart."""
    return [name.strip() for name in text.split(",") if name.strip()]


def add_split_options(subparser: argparse.ArgumentParser, column: str | None = "COLUMN") -> None:
    """Give a parser the options that divide the examples into splits.

    Parameters
    ----------
    subparser : argparse.ArgumentParser
        The parser.
    column : str or None
        What the splits can be named by and stratified over; None where there is no such thing.

    """
    group = subparser.add_argument_group("splits")
    group.add_argument(
        "--split",
        type=split_argument,
        metavar="NAME=FRACTION,...",
        help="draw splits at random, for example train=0.8,valid=0.1,test=0.1; or names alone, "
        "where something else says which example belongs where: the only ones that may occur, in "
        "this order (default: one split, 'all')",
    )
    group.add_argument(
        "--seed", type=int, default=0, help="another number draws other splits (default: 0)"
    )
    if column is not None:
        group.add_argument(
            "--stratify",
            metavar=column,
            help="divide the examples of each value of this alike",
        )
        group.add_argument(
            "--split-by",
            metavar=column,
            help="take the splits that the values of this name; it does not become a source",
        )


def add_options(subparser: argparse.ArgumentParser) -> None:
    """Give a parser the options that say how the file is stored."""
    group = subparser.add_argument_group("storage")
    group.add_argument(
        "--compression",
        choices=["gzip", "lzf", "zstd"],
        help="compress (default: not at all, which is read fastest)",
    )


# -- writing --------------------------------------------------------------------------------------


def divided(
    table: Table,
    split: str | Mapping[str, Any] | Sequence[str] | None,
    seed: int,
    stratify: str | None,
    split_by: str | None,
) -> _splits.Division:
    """Decide which example belongs to which split."""
    names, fractions = _splits.parse_split(split)
    labels = [label for label, _ in table.parts if label is not None]
    if fractions is not None and (split_by is not None or labels):
        what = "--split-by" if split_by is not None else "the input"
        raise ConfigurationError(
            f"{what} says which example belongs to which split, and so does --split with "
            "fractions; leave the fractions out"
        )
    if split_by is not None and labels:
        raise ConfigurationError(
            "the input says which example belongs to which split, and so does --split-by; give "
            "one of them"
        )
    if stratify is not None and fractions is None:
        raise ConfigurationError(
            "--stratify needs --split with fractions; write for example --split train=0.9,test=0.1"
        )
    if labels:
        return _splits.by_parts([(label or "", count) for label, count in table.parts], names)
    total = table.num_examples
    if split_by is not None:
        values = table.values(split_by)
        return _splits.by_values(values, total, names, f"{split_by!r}")
    if fractions is None:
        if len(names) > 1:
            raise ConfigurationError(
                f"--split names {', '.join(names)}, but nothing says which example belongs where; "
                "give fractions (train=0.8,test=0.2), or name a column with --split-by"
            )
        name = names[0] if names else _splits.EVERYTHING
        return _splits.Division((name,), numpy.zeros(total, dtype=numpy.int16))
    strata = None
    if stratify is not None:
        _, strata = _splits.codes_of(table.values(stratify), total)
    return _splits.divide(total, names, fractions, seed, strata)


def write_table(
    table: Table,
    output_directory: str,
    output_filename: str,
    *,
    inputs: Iterable[str] = (),
    split: str | Mapping[str, Any] | Sequence[str] | None = None,
    seed: int = 0,
    stratify: str | None = None,
    split_by: str | None = None,
    compression: str | None = None,
) -> tuple[str, ...]:
    """Write a table to an HDF5 file, split by split.

    Parameters
    ----------
    table : Table
        What there is.
    output_directory, output_filename : str
        Where it goes.
    inputs : iterable of str
        The raw files, to be noted in the output.
    split, seed, stratify, split_by
        The options of the splits.
    compression : str, optional
        A filter.

    Returns
    -------
    tuple of str
        The path of the file.

    Raises
    ------
    StorageError
        If there are no examples, or a split would be empty.
    ConfigurationError
        If the options contradict each other.

    """
    if not table.num_examples:
        raise StorageError("the input has no examples, so there is nothing to write; look at it")
    if not table.sources:
        raise StorageError("the input has no sources, so there is nothing to write; look at it")
    division = divided(table, split, seed, stratify, split_by)
    path = os.path.join(output_directory, output_filename)
    try:
        with (
            HDF5Writer(
                path,
                table.sources,
                sizes=division.sizes(),
                splits=division.names,
                compression=compression,
                inputs=inputs,
            ) as writer,
            progress_bar(output_filename, table.num_examples) as bar,
        ):
            done = 0
            for number, name in enumerate(division.names):
                for batch in table.batches(division.of == number):
                    writer.add(name, **batch)
                    done += len(next(iter(batch.values())))
                    bar.update(done)
            _annotate(writer, table)
    except ValueError as error:
        if isinstance(error, FuelError):
            raise
        # What the writer cannot take is in the data.
        raise StorageError(f"the input cannot be stored: {error}") from error
    return (path,)


def _annotate(writer: HDF5Writer, table: Table) -> None:
    """Write the attributes of sources, and what else belongs into the file."""
    h5file = writer._h5file
    for source, attributes in table.attributes.items():
        if source not in table.sources:
            continue
        for name, value in attributes.items():
            if not isinstance(value, str) and isinstance(value, Sequence):
                import h5py

                text = numpy.array(list(value), dtype=h5py.string_dtype())
                if len(value) > _MOST_IN_ATTRIBUTE:
                    value = h5file.create_dataset(f"{source}_{name}", data=text).ref
                else:
                    value = text
            writer.describe(source, {name: value})
    table.finish(h5file)
