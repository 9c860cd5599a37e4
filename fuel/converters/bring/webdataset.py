"""Converts tar archives of the kind that WebDataset reads: ``fuel-convert webdataset TAR...``.

Members whose names agree up to the first dot of the last part are one example; what follows the dot
says what each is. Nothing is unpacked to the disk.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import tarfile
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from fuel.converters.bring import _common
from fuel.converters.writer import SourceSpec
from fuel.exceptions import ConfigurationError, StorageError
from fuel.utils._compressed import errors

__all__ = ["convert_webdataset", "fill_subparser", "kind_of"]

_INTEGERS = ("cls", "cls2", "class", "count", "index", "inx", "id")
_TEXTS = ("txt", "text", "transcript")

#: Examples that are held at a time.
_EXAMPLES = 512


def kind_of(extension: str) -> str:
    """Say what a member of a tar archive holds, by its extension.

    Parameters
    ----------
    extension : str
        What follows the first dot of its name, such as ``jpg`` or ``seg.png``.

    Returns
    -------
    {'integer', 'text', 'json', 'array', 'bytes'}
        The kind; whatever is not known is bytes.

    """
    last = extension.rsplit(".", 1)[-1].lower()
    if last in _INTEGERS:
        return "integer"
    if last in _TEXTS:
        return "text"
    return {"json": "json", "npy": "array"}.get(last, "bytes")


class _Member(NamedTuple):
    extension: str
    data: bytes


class _Example(NamedTuple):
    key: str
    members: list[_Member]
    place: str


def _examples(found: _common.Input) -> Iterator[_Example]:
    """Yield the examples of an archive."""
    key: str | None = None
    members: list[_Member] = []
    for name, data in _members(found):
        folder, _, last = name.rpartition("/")
        stem, dot, extension = last.partition(".")
        if not dot or not stem or not extension:
            raise StorageError(
                f"member {name!r} of {found.name} has no extension that would say what it is; "
                "name members KEY.EXTENSION, for example 0001.jpg and 0001.cls"
            )
        this = f"{folder}/{stem}" if folder else stem
        if this != key:
            if key is not None:
                yield _Example(key, members, f"example {key!r} of {found.name}")
            key, members = this, []
        if any(extension == member.extension for member in members):
            raise StorageError(f"{found.name} has two members {name!r}; make it again")
        members.append(_Member(extension, data))
    if key is not None:
        yield _Example(key, members, f"example {key!r} of {found.name}")


def _members(found: _common.Input) -> Iterator[tuple[str, bytes]]:
    """Yield names and contents of the files in an archive."""
    last = ""
    try:
        with open(found.path, "rb") as raw, _decompressed(raw) as plain:
            source: Any = _Watched(plain)
            with tarfile.open(fileobj=source, mode="r|") as archive:
                for entry in archive:
                    last = f" after {entry.name!r}"
                    if entry.isdir():
                        continue
                    if not entry.isreg():
                        raise StorageError(
                            f"member {entry.name!r} of {found.name} is a link or a device, which "
                            "is not followed; put the file itself into the archive"
                        )
                    file = archive.extractfile(entry)
                    data = file.read() if file is not None else b""
                    if len(data) != entry.size:
                        raise tarfile.ReadError("unexpected end of data")
                    yield entry.name, data
            while source.read(_common.BATCH_BYTES):
                pass
    except Exception as error:
        if isinstance(error, StorageError) or not isinstance(error, (tarfile.TarError, *errors())):
            raise
        raise StorageError(
            f"{found.name} cannot be read{last}: {error}; it is damaged or cut short, get it again"
        ) from error
    if source.tail.strip(b"\0"):
        raise StorageError(
            f"{found.name} is cut short: the end mark of a tar archive is missing{last}; get it "
            "again"
        )


def _decompressed(raw: Any) -> Any:
    """Return what an archive is without its compression, which its first bytes tell."""
    head = raw.read(6)
    raw.seek(0)
    # Imported when they are needed: some builds of Python lack one or the other.
    if head.startswith(b"\x1f\x8b"):
        import gzip

        return gzip.GzipFile(fileobj=raw)
    if head.startswith(b"BZh"):
        import bz2

        return bz2.BZ2File(raw)
    if head == b"\xfd7zXZ\0":
        import lzma

        return lzma.LZMAFile(raw)
    return contextlib.nullcontext(raw)


class _Watched:
    """A file that remembers its last bytes: `tarfile` takes a cut between members for the end."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.tail = b""

    def read(self, size: int) -> bytes:
        """Read some bytes."""
        data: bytes = self._file.read(size)
        self.tail = (self.tail + data)[-512:] if len(data) < 512 else data[-512:]
        return data


class WebTable(_common.Table):
    """Tar archives of examples."""

    def __init__(
        self,
        inputs: Sequence[_common.Input],
        extensions: Sequence[str] | None,
        missing: str,
        apart: str | None,
    ) -> None:
        super().__init__()
        self._inputs = inputs
        self._missing = missing
        self._extensions = extensions
        #: Sets of extensions that an example has, with the first such example.
        self._sets: dict[frozenset[str], str] = {}
        self._shapes: dict[str, tuple[int | None, ...]] = {}
        self._dtypes: dict[str, numpy.dtype[Any]] = {}
        self._digests = array("Q")
        counts = [self._look_at(found) for found in inputs]
        self._check_keys()
        self._name_sources(apart)
        if missing == "drop":
            counts = [sum(1 for _ in self._of(found)) for found in inputs]
        self.parts = [(found.label, count) for found, count in zip(inputs, counts, strict=True)]
        self.num_examples = sum(counts)

    def _look_at(self, found: _common.Input) -> int:
        """Learn what an archive holds; return its number of examples."""
        count = 0
        for example in _examples(found):
            count += 1
            digest = blake2b(example.key.encode("utf-8", "surrogateescape"), digest_size=8)
            self._digests.append(int.from_bytes(digest.digest(), "little"))
            names = set()
            for member in example.members:
                if self._extensions is not None and member.extension not in self._extensions:
                    continue
                names.add(member.extension)
                if kind_of(member.extension) == "array":
                    self._note(member, example)
            self._sets.setdefault(frozenset(names), example.place)
        return count

    def _note(self, member: _Member, example: _Example) -> None:
        """Note type and shape of an array."""
        values = _array(member, example)
        name = member.extension
        known = self._dtypes.setdefault(name, values.dtype)
        if known != values.dtype:
            raise StorageError(
                f"member {name!r} of {example.place} is of type {values.dtype}, but of {known} "
                "before; save all of them as one type"
            )
        shape = self._shapes.setdefault(name, values.shape)
        if len(shape) != len(values.shape):
            raise StorageError(
                f"member {name!r} of {example.place} has the shape {values.shape}, but {shape} "
                "before: the number of axes must be the same"
            )
        self._shapes[name] = tuple(
            size if size == other else None for size, other in zip(shape, values.shape, strict=True)
        )

    def _check_keys(self) -> None:
        """Make sure that the members of each example lie next to each other."""
        digests = numpy.frombuffer(self._digests, dtype=numpy.uint64)
        ordered = numpy.sort(digests)
        twice = ordered[1:][ordered[1:] == ordered[:-1]]
        self._digests = array("Q")
        if not len(twice):
            return
        seen: set[str] = set()
        for found in self._inputs:
            for example in _examples(found):
                digest = blake2b(example.key.encode("utf-8", "surrogateescape"), digest_size=8)
                if int.from_bytes(digest.digest(), "little") in twice:
                    if example.key in seen:
                        raise StorageError(
                            f"{example.place} begins a second time; put its members next to each "
                            "other (tar --sort=name), and give each example a key of its own"
                        )
                    seen.add(example.key)

    def _name_sources(self, apart: str | None) -> None:
        """Decide which extensions become which sources."""
        every = sorted(set().union(*self._sets))
        for name in self._extensions or ():
            if name not in every:
                raise StorageError(f"no example has a member {name!r}; there are {every}")
        self._source_of = {name: _stem(name) for name in every}
        for stem in set(self._source_of.values()):
            same = [name for name in every if self._source_of[name] == stem]
            together = any(len(names.intersection(same)) > 1 for names in self._sets)
            kinds = {kind_of(name) for name in same}
            if together or len(kinds) > 1 or (len(same) > 1 and kinds != {"bytes"}):
                self._source_of.update({name: name for name in same})
        self._apart = [name for name in every if apart in (name, self._source_of[name])]
        if apart is not None and not self._apart:
            raise StorageError(f"no example has a member {apart!r}; there are {every}")
        needed = set(self._source_of.values())
        if self._missing == "error":
            for names, place in self._sets.items():
                lacking = needed - {self._source_of[name] for name in names}
                if lacking:
                    raise StorageError(
                        f"{place} has no member {', '.join(sorted(lacking))}, which others have; "
                        "add it, leave such examples out with --missing drop, or choose members "
                        "with --extensions"
                    )
        self._needed = needed
        self.sources["key"] = SourceSpec((), "str", ("batch",))
        for name in every:
            if name in self._apart:
                continue
            source = self._source_of[name].replace("/", "_")
            if source == "key":
                raise StorageError("a member is called 'key', as the key of examples is; rename it")
            self.sources[source] = self._spec(name)

    def _spec(self, name: str) -> SourceSpec:
        kind = kind_of(name)
        if kind == "integer":
            return SourceSpec((), "int64", ("batch",))
        if kind in ("text", "json"):
            return SourceSpec((), "str", ("batch",))
        if kind == "array":
            return SourceSpec(self._shapes[name], self._dtypes[name])
        return SourceSpec((None,), "uint8", ("batch", "byte"))

    def _of(self, found: _common.Input) -> Iterator[_Example]:
        """Yield the examples of an archive that are stored."""
        for example in _examples(found):
            has = {self._source_of.get(member.extension) for member in example.members}
            if self._needed <= has:
                yield example
            elif self._missing != "drop":
                raise StorageError(f"{example.place} changed while it was read; start again")

    def batches(self, wanted: NDArray[numpy.bool_]) -> Iterator[dict[str, Any]]:
        """Yield some of the examples; see `Table`."""
        batch: dict[str, list[Any]] = {source: [] for source in self.sources}
        size = place = 0
        for found in self._inputs:
            for example in self._of(found):
                place += 1
                if not wanted[place - 1]:
                    continue
                batch["key"].append(_text(example.key, example))
                for member in example.members:
                    size += len(member.data)
                    name = self._source_of.get(member.extension)
                    if name is not None and member.extension not in self._apart:
                        batch[name.replace("/", "_")].append(_value(member, example))
                if size > _common.BATCH_BYTES or len(batch["key"]) == _EXAMPLES:
                    yield batch
                    batch = {source: [] for source in self.sources}
                    size = 0
        if batch["key"]:
            yield batch

    def values(self, column: str) -> Iterator[Sequence[Any]]:
        """Yield the values of a member of each example; see `Table`."""
        names = [name for name in self._source_of if column in (name, self._source_of[name])]
        if not names or kind_of(names[0]) not in ("integer", "text"):
            raise StorageError(
                f"there is no member {column!r} that would hold a number or a text; there are "
                f"{', '.join(self._source_of)}"
            )
        for found in self._inputs:
            for example in self._of(found):
                yield [
                    _value(member, example)
                    for member in example.members
                    if member.extension in names
                ]


def _stem(extension: str) -> str:
    """Return the name of the source: ``mask`` for ``mask.png``, ``jpg`` for ``jpg``."""
    return extension.rsplit(".", 1)[0]


def _array(member: _Member, example: _Example) -> NDArray[Any]:
    try:
        values = numpy.load(io.BytesIO(member.data), allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise StorageError(
            f"member {member.extension!r} of {example.place} is no array that can be read: "
            f"{error}; save numbers with numpy.save"
        ) from error
    if not isinstance(values, numpy.ndarray) or values.dtype.kind not in "biufcS":
        raise StorageError(
            f"member {member.extension!r} of {example.place} holds no numbers; save numbers with "
            "numpy.save"
        )
    return values


def _text(value: str, example: _Example) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise StorageError(f"the key of {example.place!a} is not UTF-8; rename it") from None
    return value


def _value(member: _Member, example: _Example) -> Any:
    """Return what a member holds."""
    kind = kind_of(member.extension)
    if kind == "bytes":
        return numpy.frombuffer(member.data, numpy.uint8)
    if kind == "array":
        return _array(member, example)
    what = f"member {member.extension!r} of {example.place}"
    try:
        text = member.data.decode()
        if kind == "integer":
            number = int(text)
            if not -(2**63) <= number < 2**63:
                raise ValueError("it does not fit into 64 bits")
            return number
        if kind == "json":
            json.loads(text)
    except (ValueError, RecursionError) as error:
        form = {"integer": "a whole number", "json": "JSON", "text": "text in UTF-8"}[kind]
        raise StorageError(f"{what} is not {form}: {error}; mend it") from error
    return text


def convert_webdataset(
    directory: str,
    output_directory: str,
    output_filename: str | None = None,
    *,
    files: Sequence[str],
    extensions: Sequence[str] | None = None,
    missing: str = "error",
    split: str | Mapping[str, Any] | Sequence[str] | None = None,
    seed: int = 0,
    stratify: str | None = None,
    split_by: str | None = None,
    compression: str | None = None,
) -> tuple[str, ...]:
    """Convert tar archives of examples.

    Each extension becomes a source: ``cls`` (also ``id``, ``index``, ``count``) a number, int64;
    ``txt`` and ``json`` texts; ``npy`` arrays; anything else, images for one, its bytes, uint8 of
    different lengths. Of an extension with several parts the last one only says what it is:
    ``mask.png`` becomes ``mask``. The source ``key`` has the names.

    Parameters
    ----------
    directory, output_directory, output_filename
        As for `fuel.converters.bring.tables.convert_csv`.
    files : sequence of str
        The archives, compressed or not; ``NAME=FILE`` puts one into the split ``NAME``.
    extensions : sequence of str, optional
        The extensions to store; by default all.
    missing : {'error', 'drop'}, optional
        What to do where an example lacks a member that others have: refuse the archive, or leave
        out the example.
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
        If an archive is damaged, or a member is not what its extension says; the message names the
        archive and the example.

    """
    if missing not in ("error", "drop"):
        raise ConfigurationError(f"--missing must be error or drop, got {missing!r}")
    inputs = _common.find_inputs(directory, files)
    return _common.write_table(
        WebTable(inputs, extensions or None, missing, split_by),
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
    """Set up the sub-command ``webdataset`` of ``fuel-convert``; it returns `convert_webdataset`.

    Parameters
    ----------
    subparser : argparse.ArgumentParser
        The parser of the sub-command.

    """
    add = subparser.add_argument
    add("files", nargs="+", metavar="[SPLIT=]TAR", help="a tar archive")
    add(
        "--extensions",
        type=lambda text: [name.strip().lstrip(".") for name in text.split(",") if name.strip()],
        metavar="EXT,...",
        help="the members to store (default: all)",
    )
    add(
        "--missing",
        choices=["error", "drop"],
        default="error",
        help="where a member is missing: stop, or leave the example out (default: stop)",
    )
    _common.add_split_options(subparser, "EXTENSION")
    _common.add_options(subparser)
    return convert_webdataset
