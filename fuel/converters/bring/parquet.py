"""Converts Parquet files: ``fuel-convert parquet FILE...`` (needs PyArrow, the extra ``arrow``).

What becomes of the columns is told in ``_arrow``.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from fuel.converters.bring import _arrow, _common
from fuel.exceptions import StorageError

__all__ = ["add_arrow_options", "convert_parquet", "fill_subparser"]


def _opened(found: _common.Input) -> Any:
    arrow = _arrow.import_arrow()
    try:
        return arrow.parquet.ParquetFile(found.path)
    except (arrow.ArrowException, OSError) as error:
        raise StorageError(
            f"{found.name} cannot be read as Parquet: {' '.join(str(error).split())[:200]}; get it "
            "again, or write it again"
        ) from error


def _batches(found: _common.Input, columns: Sequence[str] | None) -> Iterator[Any]:
    with _opened(found) as file:
        metadata = file.metadata
        held = sum(
            metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups)
        )
        row_bytes = max(1, held // max(1, metadata.num_rows))
        rows = min(65536, max(1, _common.BATCH_BYTES // row_bytes))
        yield from file.iter_batches(rows, columns=columns)


def convert_parquet(
    directory: str,
    output_directory: str,
    output_filename: str | None = None,
    *,
    files: Sequence[str],
    columns: Sequence[str] | None = None,
    missing: str = "error",
    split: str | Mapping[str, Any] | Sequence[str] | None = None,
    seed: int = 0,
    stratify: str | None = None,
    split_by: str | None = None,
    compression: str | None = None,
) -> tuple[str, ...]:
    """Convert Parquet files.

    Each column becomes a source: numbers as they are, texts as texts, bytes as uint8 of different
    lengths, lists as arrays (of different lengths, or of one length if the list has a fixed size),
    times and dates as integers in their own unit, decimals as float64. The fields of a structure
    are sources of their own, ``column.field``.

    Parameters
    ----------
    directory, output_directory, output_filename
        As for `fuel.converters.bring.tables.convert_csv`.
    files : sequence of str
        The files, with the same columns; ``NAME=FILE`` puts a file into the split ``NAME``.
    columns : sequence of str, optional
        The columns to store; by default all.
    missing : {'error', 'nan', 'drop'}, optional
        What to do where a value is missing: refuse the file; store NaN (for integers, whose type
        becomes float64, too; in other columns an empty text or list); leave out the row.
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
        If a file cannot be read, or a column has no form in HDF5; the message names file and row.
    ConfigurationError
        If PyArrow is not installed.

    """
    _arrow.import_arrow()
    inputs = _common.find_inputs(directory, files)
    schema = None
    counts = []
    for found in inputs:
        with _opened(found) as file:
            counts.append(file.metadata.num_rows)
            if schema is None:
                schema = file.schema_arrow
            elif not file.schema_arrow.equals(schema):
                raise StorageError(
                    f"{found.name} has other columns than {inputs[0].name}: "
                    f"{_described(file.schema_arrow)} instead of {_described(schema)}; convert "
                    "files with the same columns together, others by themselves"
                )
    top = None
    if columns:
        wanted = [*columns, *([split_by] if split_by else []), *([stratify] if stratify else [])]
        top = [name for name in wanted if schema is not None and name in schema.names]
        if len(top) < len(wanted):
            top = None  # fields of structures, or mistakes, which are told below
    table = _arrow.ArrowTable(
        schema,
        [
            _arrow.ArrowFile(found.name, found.label, functools.partial(_batches, found, top))
            for found in inputs
        ],
        columns=columns or None,
        apart=split_by,
        missing=missing,
        counts=counts,
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


def _described(schema: Any) -> str:
    return ", ".join(f"{field.name} ({field.type})" for field in schema)[:200]


def add_arrow_options(subparser: argparse.ArgumentParser) -> None:
    """Give a parser the options of everything that is made of columns of Arrow."""
    subparser.add_argument(
        "--columns",
        type=_common.names_argument,
        metavar="NAME,...",
        help="the columns to store (default: all)",
    )
    subparser.add_argument(
        "--missing",
        choices=["error", "nan", "drop"],
        default="error",
        help="where a value is missing: stop, store NaN, or leave the row out (default: stop)",
    )
    _common.add_split_options(subparser)
    _common.add_options(subparser)


def fill_subparser(subparser: argparse.ArgumentParser) -> Callable[..., tuple[str, ...]]:
    """Set up the sub-command ``parquet`` of ``fuel-convert``; it returns `convert_parquet`.

    Parameters
    ----------
    subparser : argparse.ArgumentParser
        The parser of the sub-command.

    """
    subparser.add_argument("files", nargs="+", metavar="[SPLIT=]FILE", help="a Parquet file")
    add_arrow_options(subparser)
    return convert_parquet
