"""What the entries of the table of built-in data sets are made of; the table is in the package."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

__all__ = ["DataFile", "Manifest", "Table"]


@dataclass(frozen=True)
class Table:
    """The form of a text file with one example a line and commas between its fields.

    Attributes
    ----------
    rows : int
        The number of lines that are not empty.
    columns : int
        The number of fields of each line.

    """

    rows: int
    columns: int


@dataclass(frozen=True)
class DataFile:
    """A raw file.

    Attributes
    ----------
    name : str
        Its name on disk, without a directory.
    url : str or None
        Its public address; None where there is none.
    mirrors : tuple of str
        Other public addresses of the same bytes, to be tried in this order.
    size : int or None
        Its size in bytes; None where it is unknown.
    sha256 : str or None
        The SHA-256 of what the address serves, in hexadecimal. A download that differs is
        refused; None where the published file's is unknown.
    also : mapping of str to str
        SHA-256 of other known variants of the file, and what they are. They are as good.
    packaged_sha256 : str or None
        The SHA-256 of the copy in ``fuel/data``; None where the package holds none.
    table : Table or None
        The form of the file, by which a download of unknown SHA-256 is judged.

    """

    name: str
    url: str | None = None
    size: int | None = None
    sha256: str | None = None
    also: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    packaged_sha256: str | None = None
    table: Table | None = None
    mirrors: tuple[str, ...] = ()

    def accepts(self, sha256: str) -> bool:
        """Tell whether a digest is that of a known variant of the file.

        Parameters
        ----------
        sha256 : str
            A SHA-256 in hexadecimal.

        Returns
        -------
        bool
            True if it is known.

        """
        return sha256 in {self.sha256, self.packaged_sha256, *self.also}


@dataclass(frozen=True)
class Manifest:
    """A built-in data set.

    Attributes
    ----------
    name : str
        What the commands call it.
    title : str
        What it is, in a few words.
    files : tuple of DataFile
        Its raw files.
    hdf5 : str
        The name of the file that its converter writes.

    """

    name: str
    title: str
    files: tuple[DataFile, ...]
    hdf5: str

    @property
    def packaged(self) -> bool:
        """Whether the package holds a copy of every raw file."""
        return all(file.packaged_sha256 is not None for file in self.files)

    @property
    def filenames(self) -> list[str]:
        """The names of the raw files."""
        return [file.name for file in self.files]

    @property
    def urls(self) -> list[str | None]:
        """The addresses of the raw files."""
        return [file.url for file in self.files]
