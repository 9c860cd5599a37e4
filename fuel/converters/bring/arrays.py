"""Converts NumPy's files: ``fuel-convert npz FILE`` and ``fuel-convert npy SOURCE=FILE ...``.

``.npy`` files are mapped, the members of an ``.npz`` are read piece by piece (``_array_members``).
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, Any

import numpy
from numpy.typing import NDArray

from fuel.converters.bring import _common
from fuel.converters.bring._array_members import Member
from fuel.converters.writer import SourceSpec
from fuel.exceptions import ConfigurationError, StorageError

__all__ = ["convert_npy", "convert_npz", "fill_npy_subparser", "fill_npz_subparser"]


class ArrayTable(_common.Table):
    """Arrays of the same length, or stretches of them, as a table.

    Parameters
    ----------
    stretches : list of (str or None, dict of str to Member)
        What is put one after the other: name of the split (None for no name) and the sources.
    apart : str or None
        The source that only names splits.

    """

    def __init__(
        self, stretches: Sequence[tuple[str | None, Mapping[str, Member]]], apart: str | None
    ) -> None:
        super().__init__()
        self._stretches = stretches
        self._apart = apart
        first = stretches[0][1]
        for label, members in stretches:
            lengths = {name: member.shape[0] for name, member in members.items()}
            if len(set(lengths.values())) > 1:
                of = f" of split {label!r}" if label else ""
                raise StorageError(
                    f"the arrays{of} must have the same number of examples, got "
                    + ", ".join(f"{count} in {name!r}" for name, count in lengths.items())
                    + "; choose some with --sources, or name the splits with --split-suffixes"
                )
            if set(members) != set(first):
                raise StorageError(
                    f"split {label!r} has the sources {', '.join(members)}, but split "
                    f"{stretches[0][0]!r} has {', '.join(first)}; choose with --sources"
                )
            self.parts.append((label, next(iter(lengths.values()))))
        self.num_examples = sum(count for _, count in self.parts)
        for name in first:
            specs = [members[name].spec() for _, members in stretches]
            if any((spec.shape, spec.dtype) != (specs[0].shape, specs[0].dtype) for spec in specs):
                raise StorageError(
                    f"source {name!r} differs between the splits: "
                    + ", ".join(f"{spec.shape} {spec.dtype}" for spec in specs)
                )
            if name != apart:
                self.sources[name] = specs[0]

    def batches(self, wanted: NDArray[numpy.bool_]) -> Iterator[dict[str, Any]]:
        """Yield some of the examples; see `Table`."""
        done = 0
        for _, members in self._stretches:
            count = next(iter(members.values())).shape[0]
            here = wanted[done : done + count]
            done += count
            if here.any():
                yield from _aligned(
                    {name: members[name].rows(here) for name in self.sources}, self.sources
                )

    def values(self, column: str) -> Iterator[Sequence[Any]]:
        """Yield the values of an array; see `Table`."""
        for _, members in self._stretches:
            if column not in members:
                raise StorageError(f"there is no array {column!r}; there are {', '.join(members)}")
            member = members[column]
            if math.prod(member.shape[1:]) != 1:
                raise StorageError(
                    f"{member.name} has examples of shape {member.shape[1:]}, but one value for "
                    "each is needed here; name another"
                )
            for block in member.rows(numpy.ones(member.shape[0], numpy.bool_)):
                yield block if isinstance(block, list) else block.reshape(-1).tolist()


def _aligned(
    rows: Mapping[str, Iterator[Any]], sources: Mapping[str, SourceSpec]
) -> Iterator[dict[str, Any]]:
    """Put pieces of different lengths together."""
    waiting: dict[str, Any] = {}
    while True:
        for name, pieces in rows.items():
            if name not in waiting:
                piece = next(pieces, None)
                if piece is None:
                    return
                waiting[name] = piece
        count = min(map(len, waiting.values()))
        yield {name: piece[:count] for name, piece in waiting.items()}
        waiting = {name: piece[count:] for name, piece in waiting.items() if len(piece) > count}


def _in_archive(archive: zipfile.ZipFile, given: str) -> dict[str, Member]:
    """List the arrays of an ``.npz`` file."""
    members: dict[str, Member] = {}
    for entry in archive.infolist():
        if entry.is_dir() or not entry.filename.endswith(".npy"):
            raise StorageError(
                f"{given} holds {entry.filename!r}, which is no array; make it with numpy.savez"
            )
        name = _common.source_name(entry.filename[:-4], members)

        def open_(entry: zipfile.ZipInfo = entry) -> IO[bytes]:
            return archive.open(entry)

        members[name] = Member(f"array {name!r} of {given}", open_, entry.file_size)
    if not members:
        raise StorageError(f"{given} holds no arrays; make it with numpy.savez")
    return members


def _stretches(
    members: dict[str, Member], sources: Sequence[str] | None, suffixes: Sequence[str] | None
) -> list[tuple[str | None, Mapping[str, Member]]]:
    """Choose arrays, and tell splits by the ends of their names."""
    if suffixes is None:
        return [(None, _chosen(members, sources))]
    found: list[tuple[str | None, Mapping[str, Member]]] = []
    for suffix in suffixes:
        ending = f"_{suffix}"
        of_split = {
            name[: -len(ending)]: member
            for name, member in members.items()
            if name.endswith(ending) and len(name) > len(ending)
        }
        if not of_split:
            raise StorageError(
                f"there is no array whose name ends in {ending!r}; there are {', '.join(members)}"
            )
        found.append((suffix, _chosen(of_split, sources)))
    return found


def _chosen(members: dict[str, Member], sources: Sequence[str] | None) -> dict[str, Member]:
    for name in sources or ():
        if name not in members:
            raise StorageError(f"there is no array {name!r}; there are {', '.join(members)}")
    return members if sources is None else {name: members[name] for name in sources}


def _check_room(archive: zipfile.ZipFile, given: str, directory: str) -> None:
    """Refuse what would fill the disk: a small archive can hold any number of zeros."""
    needed = sum(entry.file_size for entry in archive.infolist())
    free = shutil.disk_usage(directory).free
    if needed > free:
        raise StorageError(
            f"{given} unpacks to {needed:,} bytes, but only {free:,} are free in "
            f"{os.path.abspath(directory)}; make room, or give another directory with -o"
        )


def convert_npz(
    directory: str,
    output_directory: str,
    output_filename: str | None = None,
    *,
    file: str,
    sources: Sequence[str] | None = None,
    split_suffixes: Sequence[str] | None = None,
    split: str | Mapping[str, Any] | Sequence[str] | None = None,
    seed: int = 0,
    stratify: str | None = None,
    split_by: str | None = None,
    compression: str | None = None,
) -> tuple[str, ...]:
    """Convert a file of `numpy.savez`.

    Each array becomes a source; its first axis is that of the examples.

    Parameters
    ----------
    directory, output_directory, output_filename
        As for `fuel.converters.bring.tables.convert_csv`.
    file : str
        The file.
    sources : sequence of str, optional
        The arrays to store; by default all.
    split_suffixes : sequence of str, optional
        Names of splits that the names of arrays end in: with ``('train', 'test')``, ``x_train``
        and ``x_test`` are the two parts of the source ``x``.
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
        If the file is damaged, an array holds Python objects, or lengths differ.

    """
    found = _common.find_inputs(directory, [file], labelled=False)[0]
    try:
        archive = zipfile.ZipFile(found.path)
    except (zipfile.BadZipFile, EOFError) as error:
        raise StorageError(
            f"{file} cannot be read as .npz: {error}; make it with numpy.savez (a single array is "
            "converted by `fuel-convert npy SOURCE=FILE`)"
        ) from error
    with archive:
        _check_room(archive, found.name, output_directory)
        stretches = _stretches(_in_archive(archive, found.name), sources, split_suffixes)
        return _common.write_table(
            ArrayTable(stretches, split_by),
            output_directory,
            _common.output_name(output_filename, [found.path]),
            inputs=[found.path],
            split=split,
            seed=seed,
            stratify=stratify,
            split_by=split_by,
            compression=compression,
        )


def convert_npy(
    directory: str,
    output_directory: str,
    output_filename: str | None = None,
    *,
    files: Sequence[str],
    split: str | Mapping[str, Any] | Sequence[str] | None = None,
    seed: int = 0,
    stratify: str | None = None,
    split_by: str | None = None,
    compression: str | None = None,
) -> tuple[str, ...]:
    """Convert files of `numpy.save`, one for each source.

    Parameters
    ----------
    directory, output_directory, output_filename
        As for `fuel.converters.bring.tables.convert_csv`.
    files : sequence of str
        The files, as ``SOURCE=FILE``; without a name the source is called like the file.
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
        If a file is damaged, an array holds Python objects, or lengths differ.

    """
    inputs = [_common.find_inputs(directory, [file])[0] for file in files]
    if not inputs:
        raise ConfigurationError("there is nothing to convert; write for example features=x.npy")
    members: dict[str, Member] = {}
    for found in inputs:
        name = found.label or os.path.splitext(os.path.basename(found.path))[0]

        def open_(path: str = found.path) -> IO[bytes]:
            return open(path, "rb")

        members[_common.source_name(name, members)] = Member(
            found.name, open_, os.path.getsize(found.path), found.path
        )
    return _common.write_table(
        ArrayTable([(None, members)], split_by),
        output_directory,
        _common.output_name(output_filename, [found.path for found in inputs]),
        inputs=[found.path for found in inputs],
        split=split,
        seed=seed,
        stratify=stratify,
        split_by=split_by,
        compression=compression,
    )


def fill_npz_subparser(subparser: argparse.ArgumentParser) -> Callable[..., tuple[str, ...]]:
    """Set up the sub-command ``npz`` of ``fuel-convert``; it returns `convert_npz`.

    Parameters
    ----------
    subparser : argparse.ArgumentParser
        The parser of the sub-command.

    """
    subparser.add_argument("file", metavar="FILE", help="a file that numpy.savez made")
    subparser.add_argument(
        "--sources",
        type=_common.names_argument,
        metavar="NAME,...",
        help="the arrays to store (default: all)",
    )
    subparser.add_argument(
        "--split-suffixes",
        type=_common.names_argument,
        metavar="NAME,...",
        help="splits that the names of arrays end in: train,test for x_train and x_test",
    )
    _common.add_split_options(subparser, "ARRAY")
    _common.add_options(subparser)
    return convert_npz


def fill_npy_subparser(subparser: argparse.ArgumentParser) -> Callable[..., tuple[str, ...]]:
    """Set up the sub-command ``npy`` of ``fuel-convert``; it returns `convert_npy`.

    Parameters
    ----------
    subparser : argparse.ArgumentParser
        The parser of the sub-command.

    """
    subparser.add_argument(
        "files", nargs="+", metavar="SOURCE=FILE", help="a file that numpy.save made"
    )
    _common.add_split_options(subparser, "SOURCE")
    _common.add_options(subparser)
    return convert_npy
