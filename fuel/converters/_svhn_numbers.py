"""Writes SVHN's format 1: pictures of house numbers in tar archives, and boxes around the digits.

The archives are compressed as a whole, and the boxes come in another order than the pictures: these
are put one behind the other into a temporary file without a name, from which they are taken in the
order of the boxes. What the output is like is told in `fuel.converters.svhn`.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.converters._archives import members
from fuel.converters._digit_struct import FIELDS, DigitStruct
from fuel.converters._pictures import MEMBER_BYTES, decode, groups
from fuel.converters.base import progress_bar
from fuel.converters.writer import HDF5Writer, SourceSpec
from fuel.exceptions import StorageError

__all__ = ["write_numbers"]

_COMMAND = "fuel-download svhn 1"
_ADVICE = f"get the archive again with `{_COMMAND}`"
_STRUCT = "digitStruct.mat"
#: So many pictures are decoded at a time, in threads.
_GROUP = 64

#: Source, type and name of the last axis of each field of a box.
_SOURCES = {
    "label": ("bbox_labels", "uint8", "index"),
    "height": ("bbox_heights", "uint16", "height"),
    "width": ("bbox_widths", "uint16", "width"),
    "left": ("bbox_lefts", "uint16", "x"),
    "top": ("bbox_tops", "uint16", "y"),
}


def write_numbers(paths: Mapping[str, str], output_path: str) -> None:
    """Convert the archives.

    Parameters
    ----------
    paths : dict of str to str
        The archive of each split.
    output_path : str
        The HDF5 file.

    Raises
    ------
    StorageError
        If an archive is damaged, or its pictures and boxes do not agree.

    """
    sources = {
        "features": SourceSpec((3, None, None), "uint8", ("batch", "channel", "height", "width"))
    }
    for name, dtype, axis in _SOURCES.values():
        sources[name] = SourceSpec((None, 1), dtype, ("batch", "bounding_box", axis))
    with HDF5Writer(
        output_path, sources, splits=tuple(paths), inputs=tuple(paths.values())
    ) as writer:
        for split, path in paths.items():
            with _Unpacked(path, os.path.dirname(os.path.realpath(output_path))) as unpacked:
                _write_split(writer, split, unpacked)


class _Unpacked:
    """The members of an archive, in temporary files, to be used in a ``with`` block.

    Parameters
    ----------
    path : str
        The archive.
    folder : str
        Where there is room for temporary files.

    """

    def __init__(self, path: str, folder: str) -> None:
        self.path = path
        self.places: dict[str, tuple[int, int]] = {}
        self._stack = ExitStack()
        # Files without a name: whatever happens, nothing is left of them.
        self._pictures, self.struct = (
            self._stack.enter_context(tempfile.TemporaryFile(dir=folder))  # noqa: SIM115
            for _ in range(2)
        )

    def __enter__(self) -> _Unpacked:
        try:
            self._unpack()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def _unpack(self) -> None:
        has_struct = False
        with progress_bar(os.path.basename(self.path), None, prefix="Unpacking") as bar:
            for number, member in enumerate(members(self.path, _ADVICE), 1):
                name = member.name.rpartition("/")[2]
                if name == _STRUCT:
                    has_struct = True
                    self.struct.seek(0)
                    self.struct.truncate()
                    shutil.copyfileobj(member.file, self.struct, 1 << 20)
                elif name.lower().endswith(".png") and not name.startswith("."):
                    if name in self.places:
                        raise self.damaged(f"{name} is in it twice")
                    if member.size > MEMBER_BYTES:
                        raise self.damaged(f"{member.name} in it has {member.size:,} bytes")
                    self.places[name] = (self._pictures.tell(), member.size)
                    self._pictures.write(member.read())
                bar.update(number)
        if not has_struct:
            raise self.damaged(f"there is no {_STRUCT} in it, which tells where the digits are")
        self.struct.seek(0)

    def read(self, name: str) -> bytes:
        """Return a picture, encoded."""
        start, size = self.places[name]
        self._pictures.seek(start)
        return self._pictures.read(size)

    def damaged(self, fact: str) -> StorageError:
        """Return the error for this archive, to be raised."""
        return StorageError(f"{self.path}: {fact}; {_ADVICE}")


def _write_split(writer: HDF5Writer, split: str, unpacked: _Unpacked) -> None:
    struct_name = f"{_STRUCT} in {unpacked.path}"
    with DigitStruct(unpacked.struct, struct_name, _ADVICE) as struct:
        if len(struct) != len(unpacked.places):
            raise unpacked.damaged(
                f"it has {len(unpacked.places)} pictures, but {_STRUCT} tells of {len(struct)}"
            )
        seen: set[str] = set()
        with progress_bar(f"SVHN, {split} split", len(struct)) as bar:
            for group in groups(struct, _GROUP):
                for name, _ in group:
                    if name not in unpacked.places or name in seen:
                        fact = "tells twice of" if name in seen else "tells of a picture"
                        raise unpacked.damaged(
                            f"{_STRUCT} in it {fact} {name!r:.80}, and the archive has "
                            f"{'one' if name in seen else 'no such picture'}"
                        )
                    seen.add(name)
                names = [name for name, _ in group]
                contents = [unpacked.read(name) for name in names]
                batch: dict[str, Any] = {
                    "features": decode(contents, names, unpacked.path, _COMMAND)
                }
                for column, field in enumerate(FIELDS):
                    source, dtype, _ = _SOURCES[field]
                    batch[source] = [
                        _checked(unpacked, name, field, boxes[:, column]).astype(dtype)[:, None]
                        for name, boxes in group
                    ]
                writer.add(split, **batch)
                bar.update(len(seen))


def _checked(
    unpacked: _Unpacked, name: str, field: str, values: NDArray[numpy.float64]
) -> NDArray[numpy.float64]:
    """Return the values of a field, if they are such as there can be."""
    if field in ("left", "top"):
        values = numpy.where(values < 0, 0, values)
    highest = 10 if field == "label" else 2**16 - 1
    fits = (values >= 0) & (values <= highest) & (values == numpy.floor(values))
    if not fits.all():
        raise unpacked.damaged(
            f"{_STRUCT} in it gives {name} a {field} of {values[~fits][0]}, where whole numbers "
            f"from 0 to {highest} are expected"
        )
    return values
