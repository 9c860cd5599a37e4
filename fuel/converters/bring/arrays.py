"""Converts NumPy's files: ``fuel-convert npz FILE`` and ``fuel-convert npy SOURCE=FILE ...``.

``.npy`` files are mapped, the members of an ``.npz`` are read piece by piece. Nothing is unpickled.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import IO, Any

import numpy
from numpy.typing import NDArray

from fuel.converters.bring import _common
from fuel.converters.writer import SourceSpec
from fuel.exceptions import ConfigurationError, StorageError

__all__ = ["convert_npy", "convert_npz", "fill_npy_subparser", "fill_npz_subparser"]


class _Member:
    """An array in a file.

    Parameters
    ----------
    name : str
        What it is called, for messages.
    open_ : callable
        Opens the file at its first byte.
    size : int
        How many bytes it has.
    path : str, optional
        The file by itself, which can be mapped.

    """

    def __init__(
        self, name: str, open_: Callable[[], IO[bytes]], size: int, path: str | None = None
    ) -> None:
        self.name = name
        self._open = open_
        self._size = size
        self._path = path
        with self._reading(), open_() as file:
            self.shape, self.fortran, self.dtype = _header(name, file)
            self._offset = file.tell()
        wanted = self._offset + math.prod(self.shape) * self.dtype.itemsize
        if size != wanted or min(self.shape, default=0) < 0:
            raise StorageError(
                f"{name} should have {wanted} bytes, its header says, but has {size}; it is "
                "damaged or cut short, save it again"
            )
        if not self.shape:
            raise StorageError(
                f"{name} holds a single value, not one for each example; leave it out"
            )

    def _reading(self) -> Any:
        return _Reading(self.name)

    @property
    def text(self) -> bool:
        """Whether the elements are texts."""
        return self.dtype.kind == "U"

    def spec(self) -> SourceSpec:
        """Describe one example."""
        if not self.text:
            return SourceSpec(self.shape[1:], self.dtype.newbyteorder("="))
        if len(self.shape) > 1:
            raise StorageError(
                f"{self.name} has {len(self.shape)} axes of texts, a source of texts has one; "
                "split it into several arrays"
            )
        return SourceSpec((), "str")

    def rows(self, wanted: NDArray[numpy.bool_]) -> Iterator[Any]:
        """Yield some of the rows, piece by piece."""
        row_bytes = max(1, math.prod(self.shape[1:]) * self.dtype.itemsize)
        with ExitStack() as stack:
            array = self._mapped(stack)
            file = None if array is not None else stack.enter_context(self._open())
            with self._reading():
                if file is not None:
                    file.read(self._offset)
            step = max(1, _common.BATCH_BYTES // row_bytes)
            for start in range(0, self.shape[0], step):
                count = min(step, self.shape[0] - start)
                places = numpy.flatnonzero(wanted[start : start + count])
                if array is not None:
                    if len(places):
                        yield self._given(_common.picked(array[start : start + count], places))
                    continue
                assert file is not None
                with self._reading():
                    data = file.read(count * row_bytes)
                if math.prod(self.shape[1:]) and len(data) != count * row_bytes:
                    raise StorageError(f"{self.name} ends too early; it is damaged, save it again")
                if len(places):
                    block = numpy.frombuffer(data, self.dtype, count * math.prod(self.shape[1:]))
                    block = block.reshape(count, *self.shape[1:])
                    yield self._given(_common.picked(block, places))

    def _given(self, block: NDArray[Any]) -> Any:
        return [str(text) for text in block] if self.text else numpy.asarray(block)

    def _mapped(self, stack: ExitStack) -> Any:
        """Map the file, if it is one by itself or has to become one."""
        if not math.prod(self.shape):
            return numpy.empty(self.shape, self.dtype)
        path = self._path
        if path is None:
            if not self.fortran or len(self.shape) < 2:
                return None
            # Examples lie scattered over all of it: it is unpacked, for as long as it is read.
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="fuel-npz-"))
            path = os.path.join(folder, "array.npy")
            with self._reading(), self._open() as file, open(path, "wb") as copy:
                while block := file.read(_common.BATCH_BYTES):
                    copy.write(block)
        array = numpy.load(path, mmap_mode="r", allow_pickle=False)
        stack.callback(_unmap, array)
        return array


def _unmap(array: Any) -> None:
    """Let go of a mapped file, which some systems could not remove otherwise."""
    mapped = getattr(array, "_mmap", None)
    if mapped is not None:
        try:
            mapped.close()
        except BufferError:  # somebody still looks at it
            pass


class _Reading:
    """Turns what reading raises into an error that names the array."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, zipfile.BadZipFile | zlib.error | EOFError | NotImplementedError):
            raise StorageError(
                f"{self.name} cannot be read: {error}; the file is damaged, save it again"
            ) from error
        if isinstance(error, RuntimeError) and "password" in str(error):
            raise StorageError(f"{self.name} is encrypted; save it without a password") from error


def _header(name: str, file: IO[bytes]) -> tuple[tuple[int, ...], bool, numpy.dtype[Any]]:
    """Read what an array is like; nothing is evaluated but a literal of numbers and names."""
    form = numpy.lib.format
    try:
        version = form.read_magic(file)
        if version == (1, 0):
            shape, fortran, dtype = form.read_array_header_1_0(file)
        elif version == (2, 0):
            shape, fortran, dtype = form.read_array_header_2_0(file)
        else:
            raise ValueError(f"version {version} is not known")
    except ValueError as error:
        raise StorageError(
            f"{name} is no array as NumPy saves them: {' '.join(str(error).split())[:200]}; make "
            "it with numpy.save or numpy.savez"
        ) from error
    if dtype.hasobject:
        raise StorageError(
            f"{name} holds Python objects, which are stored as pickles, and those can run any "
            "code; save numbers or texts: ragged data as one array of values and one of lengths, "
            "or use --help of `fuel-convert parquet`"
        )
    if dtype.kind in "mMV" and dtype.names is None:
        raise StorageError(
            f"{name} has elements of type {dtype}, which HDF5 does not know; save them as "
            "integers, for example with .astype('int64')"
        )
    return shape, bool(fortran), dtype


class ArrayTable(_common.Table):
    """Arrays of the same length, or stretches of them, as a table.

    Parameters
    ----------
    stretches : list of (str or None, dict of str to _Member)
        What is put one after the other: name of the split (None for no name) and the sources.
    apart : str or None
        The source that only names splits.

    """

    def __init__(
        self, stretches: Sequence[tuple[str | None, Mapping[str, _Member]]], apart: str | None
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
                raise StorageError(
                    f"there is no array {column!r}; there are {', '.join(members)}"
                )
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
        waiting = {
            name: piece[count:] for name, piece in waiting.items() if len(piece) > count
        }


def _in_archive(archive: zipfile.ZipFile, given: str) -> dict[str, _Member]:
    """List the arrays of an ``.npz`` file."""
    members = {}
    for entry in archive.infolist():
        if entry.is_dir() or not entry.filename.endswith(".npy"):
            raise StorageError(
                f"{given} holds {entry.filename!r}, which is no array; make it with numpy.savez"
            )
        name = _common.source_name(entry.filename[:-4], members)

        def open_(entry: zipfile.ZipInfo = entry) -> IO[bytes]:
            return archive.open(entry)

        members[name] = _Member(f"array {name!r} of {given}", open_, entry.file_size)
    if not members:
        raise StorageError(f"{given} holds no arrays; make it with numpy.savez")
    return members


def _stretches(
    members: dict[str, _Member], sources: Sequence[str] | None, suffixes: Sequence[str] | None
) -> list[tuple[str | None, Mapping[str, _Member]]]:
    """Choose arrays, and tell splits by the ends of their names."""
    if suffixes is None:
        return [(None, _chosen(members, sources))]
    found: list[tuple[str | None, Mapping[str, _Member]]] = []
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


def _chosen(members: dict[str, _Member], sources: Sequence[str] | None) -> dict[str, _Member]:
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
    members: dict[str, _Member] = {}
    for found in inputs:
        name = found.label or os.path.splitext(os.path.basename(found.path))[0]

        def open_(path: str = found.path) -> IO[bytes]:
            return open(path, "rb")

        members[_common.source_name(name, members)] = _Member(
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
        "--sources", type=_names, metavar="NAME,...", help="the arrays to store (default: all)"
    )
    subparser.add_argument(
        "--split-suffixes",
        type=_names,
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


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
