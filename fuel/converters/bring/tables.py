"""Converts CSV files: ``fuel-convert csv FILE...``.

The lines are read by ``_csv_lines``; what the columns hold is found out in ``_columns``.
Parquet is in `fuel.converters.bring.parquet`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.converters.bring import _common
from fuel.converters.bring._columns import CATEGORICAL, FLOAT, TEXT, Column
from fuel.converters.bring._csv_lines import CsvFiles
from fuel.converters.writer import SourceSpec
from fuel.exceptions import ConfigurationError, StorageError
from fuel.utils._lines import text_encoding

__all__ = ["convert_csv", "fill_subparser"]


class CsvTable(_common.Table):
    """CSV files, of which everything is known but the values."""

    def __init__(
        self,
        files: CsvFiles,
        *,
        columns: Sequence[str] | None,
        target: str | None,
        features: bool,
        kinds: Mapping[str, str],
        missing: str,
        tokens: frozenset[str],
        apart: str | None,
    ) -> None:
        super().__init__()
        self.files = files
        self.missing = missing
        self._keep: NDArray[numpy.bool_] | None = None
        found: list[Column] | None = None
        counts = [0] * len(files.inputs)
        for number, lines, rows in files.chunks():
            if found is None:
                found = self._choose(columns, target, kinds, tokens, apart)
            counts[number] += len(rows)
            values = list(zip(*rows, strict=True))
            for column in found:
                column.update(values[files.names.index(column.name)], number, lines)
        self.columns = found or []
        self.places = [files.names.index(column.name) for column in self.columns]
        for column in self.columns:
            self._settle(column)
        if missing == "drop" and any(column.missing for column in self.columns):
            counts = self._drop(sum(counts))
        self.num_examples = sum(counts)
        self.parts = [
            (given.label, count) for given, count in zip(files.inputs, counts, strict=True)
        ]
        self._name_sources(target, features)

    def _choose(
        self,
        columns: Sequence[str] | None,
        target: str | None,
        kinds: Mapping[str, str],
        tokens: frozenset[str],
        apart: str | None,
    ) -> list[Column]:
        names = self.files.names
        chosen = names if columns is None else [*columns]
        if target is not None and target not in chosen:
            chosen = [*chosen, target]
        for name in [*chosen, *kinds, *([apart] if apart else [])]:
            self._check_name(name)
        return [
            Column(name, kinds.get(name), tokens, name == target)
            for name in names
            if name in chosen and name != apart
        ]

    def _check_name(self, name: str) -> None:
        if name not in self.files.names:
            raise StorageError(
                f"{self.files.inputs[0].name} has no column {name!r}; it has "
                f"{', '.join(self.files.names)[:300]}"
            )

    def _settle(self, column: Column) -> None:
        column.settle(self.missing == "nan")
        if column.crowded:
            raise StorageError(
                f"column {column.name!r} has more than {column.limit} different texts, too many "
                f"for categories; store it as it is with --text {column.name}, or as no target"
            )
        if column.missing and self.missing == "error":
            number, line = column.first_missing
            raise StorageError(
                f"line {line} of {self.files.inputs[number].name} has no value in column "
                f"{column.name!r} (missing in {column.missing} lines); fill it in, store NaN with "
                "--missing nan, or leave such lines out with --missing drop"
            )

    def _drop(self, total: int) -> list[int]:
        """Find out which lines are whole; return how many of each file are."""
        self._keep = keep = numpy.ones(total, dtype=numpy.bool_)
        counts = [0] * len(self.files.inputs)
        done = 0
        lacking = [
            (column, place)
            for column, place in zip(self.columns, self.places, strict=True)
            if column.missing
        ]
        for number, _, rows in self.files.chunks():
            for place, fields in enumerate(rows, done):
                if any(column.lacks(fields[where]) for column, where in lacking):
                    keep[place] = False
            counts[number] += int(keep[done : done + len(rows)].sum())
            done += len(rows)
        return counts

    def _name_sources(self, target: str | None, features: bool) -> None:
        #: Which columns each source is made of.
        self.made_of: dict[str, list[int]] = {}
        if features:
            matrix = [
                place
                for place, column in enumerate(self.columns)
                if column.numeric and column.name != target
            ]
            if not matrix:
                raise StorageError(
                    f"{self.files.inputs[0].name} has no column of numbers to make features of; "
                    "leave --features out"
                )
            self.made_of["features"] = matrix
            kind = "int64" if not any(self.columns[p].kind == FLOAT for p in matrix) else "float64"
            self.sources["features"] = SourceSpec((len(matrix),), kind, ("batch", "feature"))
            self.attributes["features"] = {
                "feature_names": [self.columns[place].name for place in matrix]
            }
        for place, column in enumerate(self.columns):
            if column.name == target:
                name = _common.source_name("targets", self.made_of)
                if column.kind == TEXT:
                    self.sources[name] = column.spec
                else:
                    self.sources[name] = SourceSpec((1,), column.dtype, ("batch", "index"))
            elif features and column.numeric:
                continue
            else:
                name = _common.source_name(column.name, self.made_of)
                self.sources[name] = column.spec
            self.made_of[name] = [place]
            if column.kind == CATEGORICAL:
                self.attributes[name] = {"class_names": list(column.categories)}

    def _kept(self) -> Iterator[list[list[str]]]:
        """Yield the lines that are not dropped."""
        done = 0
        for _, _, rows in self.files.chunks():
            if self._keep is not None:
                whole = self._keep[done : done + len(rows)]
                done += len(rows)
                rows = _common.picked(rows, numpy.flatnonzero(whole))
            if rows:
                yield rows

    def batches(self, wanted: NDArray[numpy.bool_]) -> Iterator[dict[str, Any]]:
        """Yield some of the examples; see `Table`."""
        done = 0
        for rows in self._kept():
            places = numpy.flatnonzero(wanted[done : done + len(rows)])
            done += len(rows)
            if not len(places):
                continue
            values = list(zip(*_common.picked(rows, places), strict=True))
            found = [
                column.convert(values[place])
                for column, place in zip(self.columns, self.places, strict=True)
            ]
            batch = {}
            for name, made_of in self.made_of.items():
                spec = self.sources[name]
                if name in self.attributes and "feature_names" in self.attributes[name]:
                    batch[name] = numpy.stack([found[p] for p in made_of], 1).astype(spec.dtype)
                else:
                    batch[name] = found[made_of[0]]
                    if spec.shape == (1,):
                        batch[name] = batch[name].reshape(-1, 1)
            yield batch

    def values(self, column: str) -> Iterator[Sequence[Any]]:
        """Yield the fields of a column; see `Table`."""
        made_of = self.made_of.get(column, [])
        if column not in self.files.names and len(made_of) == 1:
            column = self.columns[made_of[0]].name
        self._check_name(column)
        place = self.files.names.index(column)
        for rows in self._kept():
            yield [fields[place].strip() for fields in rows]


def convert_csv(
    directory: str,
    output_directory: str,
    output_filename: str | None = None,
    *,
    files: Sequence[str],
    header: bool = True,
    delimiter: str | None = None,
    quote: str = '"',
    encoding: str = "utf-8-sig",
    columns: Sequence[str] | None = None,
    target: str | None = None,
    features: bool = False,
    text: Sequence[str] = (),
    categorical: Sequence[str] = (),
    missing: str = "error",
    missing_value: Sequence[str] = (),
    split: str | Mapping[str, Any] | Sequence[str] | None = None,
    seed: int = 0,
    stratify: str | None = None,
    split_by: str | None = None,
    compression: str | None = None,
) -> tuple[str, ...]:
    """Convert CSV files.

    Each column becomes a source of its name. A column of whole numbers is stored as int64, one of
    numbers as float64; one of few texts (at most 256, each used twice on average) as numbers from
    0 on, in the order of the texts, which the attribute ``class_names`` of the source lists; any
    other as text. Numbers with zeros in front, such as postcodes, are texts.

    Parameters
    ----------
    directory : str
        Where relative names begin.
    output_directory : str
        Where the HDF5 file goes; it must exist.
    output_filename : str, optional
        Its name; by default that of the first input.
    files : sequence of str
        The files, with the same header; ``NAME=FILE`` puts a file into the split ``NAME``.
        Compressed ones (``.gz``, ``.bz2``, ``.xz``) are read as they are.
    header : bool, optional
        Whether the first line of each holds the names of the columns; otherwise these are
        ``column_0`` and so on.
    delimiter : str, optional
        What separates fields; by default a comma, for ``.tsv`` and ``.tab`` a tabulator.
    quote : str, optional
        What fields are put in that have a delimiter or a newline in them; empty for nothing.
    encoding : str, optional
        Of the files.
    columns : sequence of str, optional
        The columns to store; by default all.
    target : str, optional
        The column that becomes the source ``targets``, of shape (examples, 1).
    features : bool, optional
        Whether all other columns of numbers become one matrix, the source ``features``, whose
        attribute ``feature_names`` lists them.
    text, categorical : sequence of str, optional
        Columns that are stored as text, or as numbers of categories, whatever is in them.
    missing : {'error', 'nan', 'drop'}, optional
        What to do where a value is missing: refuse the file; store NaN (an empty text, in columns
        of texts); leave out the line.
    missing_value : sequence of str, optional
        What stands for a missing value, besides an empty field and, among numbers, ``NA``,
        ``N/A``, ``NaN`` and ``NULL``.
    split, seed, stratify, split_by
        How the examples are divided into splits; see the command's help.
    compression : str, optional
        ``'gzip'``, ``'lzf'`` or ``'zstd'``.

    Returns
    -------
    tuple of str
        The path of the HDF5 file.

    Raises
    ------
    StorageError
        If a file cannot be read; the message names the file and the line.
    ConfigurationError
        If the options contradict each other.

    """
    inputs = _common.find_inputs(directory, files)
    if delimiter is None:
        stem = inputs[0].path.lower()
        delimiter = "\t" if any(f"{end}." in f"{stem}." for end in (".tsv", ".tab")) else ","
    delimiter = {"\\t": "\t", "tab": "\t"}.get(delimiter, delimiter)
    for what, value in (("--delimiter", delimiter), ("--quote", quote or '"')):
        if len(value) != 1:
            raise ConfigurationError(f"{what} must be one character, got {value!r}")
    if missing not in ("error", "nan", "drop"):
        raise ConfigurationError(f"--missing must be error, nan or drop, got {missing!r}")
    try:
        text_encoding(encoding)
    except LookupError as error:
        raise ConfigurationError(str(error)) from None
    table = CsvTable(
        CsvFiles(inputs, header, delimiter, quote, encoding),
        columns=columns or None,
        target=target,
        features=features,
        kinds={**dict.fromkeys(text, TEXT), **dict.fromkeys(categorical, CATEGORICAL)},
        missing=missing,
        tokens=frozenset(missing_value),
        apart=split_by,
    )
    return _common.write_table(
        table,
        output_directory,
        _common.output_name(output_filename, [found.path for found in inputs]),
        inputs=[found.path for found in inputs],
        split=split,
        seed=seed,
        stratify=stratify,
        split_by=split_by,
        compression=compression,
    )


def fill_subparser(subparser: argparse.ArgumentParser) -> Callable[..., tuple[str, ...]]:
    """Set up the sub-command ``csv`` of ``fuel-convert``.

    Parameters
    ----------
    subparser : argparse.ArgumentParser
        The parser of the sub-command.

    Returns
    -------
    callable
        `convert_csv`.

    """
    add = subparser.add_argument
    add("files", nargs="+", metavar="[SPLIT=]FILE", help="a CSV file")
    add("--no-header", dest="header", action="store_false", help="the first line is data")
    add("--delimiter", help="what separates fields (default: a comma; for .tsv a tabulator)")
    add("--quote", default='"', help="what fields are quoted with; '' for nothing")
    add("--encoding", default="utf-8-sig", help="of the files (default: utf-8)")
    add(
        "--columns",
        type=_common.names_argument,
        metavar="NAME,...",
        help="the columns to store (default: all)",
    )
    add("--target", metavar="COLUMN", help="the column that becomes the source 'targets'")
    add(
        "--features",
        action="store_true",
        help="put all other columns of numbers into one matrix, the source 'features'",
    )
    add(
        "--text",
        type=_common.names_argument,
        default=(),
        metavar="NAME,...",
        help="columns stored as text",
    )
    add(
        "--categorical",
        type=_common.names_argument,
        default=(),
        metavar="NAME,...",
        help="columns stored as numbers of categories",
    )
    add(
        "--missing",
        choices=["error", "nan", "drop"],
        default="error",
        help="where a value is missing: stop, store NaN, or leave the line out (default: stop)",
    )
    add(
        "--missing-value",
        action="append",
        default=[],
        metavar="TEXT",
        help="what stands for a missing value, besides nothing and NA; may be repeated",
    )
    _common.add_split_options(subparser)
    _common.add_options(subparser)
    return convert_csv
