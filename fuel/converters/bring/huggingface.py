"""Converts a data set that the library `datasets` saved: ``fuel-convert huggingface PATH``.

What `save_to_disk` leaves is a folder with ``state.json``, which lists files of record batches in
Arrow's stream format, and ``dataset_info.json``, which describes the columns; several splits are
folders of that kind, listed in ``dataset_dict.json``. So PyArrow reads it (the extra ``arrow``),
and `datasets` is not needed. What becomes of the columns is told in ``_arrow``.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from fuel.converters.bring import _arrow, _common
from fuel.converters.bring.parquet import add_arrow_options
from fuel.exceptions import StorageError

__all__ = ["convert_huggingface", "fill_subparser"]

#: Columns of these kinds hold files.
_FILES = ("Image", "Audio")


def _json(path: str, given: str) -> Any:
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        raise StorageError(
            f"{given} is no data set that was saved on disk: there is no {os.path.basename(path)} "
            "in it; make it with `dataset.save_to_disk` (a folder of Parquet files is converted by "
            "`fuel-convert parquet`)"
        ) from None
    except ValueError as error:
        raise StorageError(f"{path} is damaged: {error}; save the data set again") from error


def _stream(path: str) -> Iterator[Any]:
    """Yield the record batches of a file, in small pieces."""
    arrow = _arrow.import_arrow()
    with arrow.memory_map(path) as source, arrow.ipc.open_stream(source) as reader:
        for batch in reader:
            rows = max(1, batch.num_rows)
            step = max(1, rows * _common.BATCH_BYTES // max(1, batch.nbytes))
            for start in range(0, batch.num_rows, step):
                yield batch.slice(start, step)


def _schema(path: str) -> Any:
    arrow = _arrow.import_arrow()
    try:
        with arrow.memory_map(path) as source, arrow.ipc.open_stream(source) as reader:
            return reader.schema
    except (arrow.ArrowException, OSError) as error:
        raise StorageError(
            f"{path} cannot be read: {' '.join(str(error).split())[:200]}; save the data set again"
        ) from error


def _files_of(folder: str, given: str) -> list[str]:
    """List the files of one split, which must lie in its folder."""
    state = _json(os.path.join(folder, "state.json"), given)
    try:
        names = [entry["filename"] for entry in state["_data_files"]]
        bare = all(isinstance(name, str) and os.path.basename(name) == name for name in names)
    except (KeyError, TypeError):
        names, bare = [], False
    if not bare or not names:
        raise StorageError(
            f"{os.path.join(folder, 'state.json')} lists no files of the folder; save the data set "
            "again"
        )
    if state.get("_indices_files") or state.get("_indices_data_files"):
        raise StorageError(
            f"{folder} is a selection that was saved with its indices; call `flatten_indices()` "
            "and save it again"
        )
    for name in names:
        if not os.path.isfile(os.path.join(folder, name)):
            raise StorageError(f"{folder} lacks {name}, which state.json lists; copy all of it")
    return [os.path.join(folder, name) for name in names]


def _class_names(feature: Any) -> list[str] | None:
    if isinstance(feature, dict) and feature.get("_type") == "ClassLabel":
        names = feature.get("names")
        if isinstance(names, list) and all(isinstance(name, str) for name in names):
            return names
    return None


def convert_huggingface(
    directory: str,
    output_directory: str,
    output_filename: str | None = None,
    *,
    path: str,
    columns: Sequence[str] | None = None,
    missing: str = "error",
    split: str | Mapping[str, Any] | Sequence[str] | None = None,
    seed: int = 0,
    stratify: str | None = None,
    split_by: str | None = None,
    compression: str | None = None,
) -> tuple[str, ...]:
    """Convert a data set that the library `datasets` saved on disk.

    Columns become sources as by `fuel.converters.bring.parquet.convert_parquet`. The names of a
    ``ClassLabel`` are kept as the attribute ``class_names``; an ``Image`` becomes its encoded
    bytes. Saved splits stay splits.

    Parameters
    ----------
    directory, output_directory, output_filename
        As for `fuel.converters.bring.tables.convert_csv`.
    path : str
        The folder that ``save_to_disk`` made.
    columns, missing, split, seed, stratify, split_by, compression
        As for `fuel.converters.bring.parquet.convert_parquet`.

    Returns
    -------
    tuple of str
        The path of the HDF5 file.

    Raises
    ------
    StorageError
        If the folder is not what ``save_to_disk`` makes, or damaged.
    ConfigurationError
        If PyArrow is not installed.

    """
    _arrow.import_arrow()
    top = os.path.join(directory, path)
    if not os.path.isdir(top):
        raise StorageError(
            f"there is no folder {path} (looked for in {os.path.abspath(directory)})"
        )
    folders: list[tuple[str | None, str]] = [(None, top)]
    if os.path.exists(os.path.join(top, "dataset_dict.json")):
        names = _json(os.path.join(top, "dataset_dict.json"), path).get("splits")
        if not isinstance(names, list) or any(os.path.basename(str(n)) != n for n in names):
            raise StorageError(f"{path}/dataset_dict.json lists no splits; save the data set again")
        folders = [(name, os.path.join(top, name)) for name in names]
    files = []
    inputs = []
    for label, folder in folders:
        for name in _files_of(folder, path):
            inputs.append(name)
            files.append(_arrow.ArrowFile(name, label, functools.partial(_stream, name)))
    schema = _schema(inputs[0])
    for name in inputs[1:]:
        if not _schema(name).equals(schema):
            raise StorageError(
                f"{name} has other columns than {inputs[0]}; save splits with the same columns "
                "together, others by themselves"
            )
    features = _json(os.path.join(folders[0][1], "dataset_info.json"), path).get("features") or {}
    table = _arrow.ArrowTable(
        schema,
        files,
        columns=columns or None,
        apart=split_by,
        missing=missing,
        encoded=[
            name
            for name, feature in features.items()
            if isinstance(feature, dict)
            and feature.get("_type") in _FILES
            and name in schema.names
            and _arrow.import_arrow().types.is_struct(schema.field(name).type)
        ],
    )
    for name, feature in features.items():
        classes = _class_names(feature)
        if classes is not None:
            table.attributes[_common.source_name(name)] = {"class_names": classes}
    return _common.write_table(
        table,
        output_directory,
        output_filename or f"{os.path.basename(os.path.realpath(top))}.hdf5",
        inputs=inputs,
        split=split,
        seed=seed,
        stratify=stratify,
        split_by=split_by,
        compression=compression,
    )


def fill_subparser(subparser: argparse.ArgumentParser) -> Callable[..., tuple[str, ...]]:
    """Set up the sub-command ``huggingface`` of ``fuel-convert``.

    Parameters
    ----------
    subparser : argparse.ArgumentParser
        The parser of the sub-command.

    Returns
    -------
    callable
        `convert_huggingface`.

    """
    subparser.add_argument("path", metavar="PATH", help="a folder that save_to_disk made")
    add_arrow_options(subparser)
    return convert_huggingface
