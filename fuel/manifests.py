"""What each built-in data set consists of: one table, plain data.

Data set name → its raw files (name, address, size, SHA-256) and the HDF5 file made from them.
Downloaders and converters both read this table, so neither needs the other. Fetching is in
`fuel.downloaders`, converting in `fuel.converters`; the files marked as packaged are in
`fuel/data`, with a README on where they come from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

__all__ = ["MANIFESTS", "DataFile", "Manifest", "Table", "file_at"]

_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/"


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


_IRIS_UCI = "6f608b71a7317216319b4d27b4d9bc84e6abd734eda7872b71a458569e2656c0"

#: Every built-in data set, by name.
MANIFESTS: Mapping[str, Manifest] = MappingProxyType(
    {
        "digits": Manifest(
            name="digits",
            title="UCI handwritten digits, 1,797 images of 8 x 8 pixels",
            files=(
                DataFile(
                    name="optdigits.tes",
                    url=_UCI + "optdigits/optdigits.tes",
                    size=264712,
                    packaged_sha256=(
                        "6ebb3d2fee246a4e99363262ddf8a00a3c41bee6014c373ed9d9216ba7f651b8"
                    ),
                    table=Table(rows=1797, columns=65),
                ),
            ),
            hdf5="digits.hdf5",
        ),
        "iris": Manifest(
            name="iris",
            title="Iris plants, 150 flowers of three species",
            files=(
                DataFile(
                    name="iris.data",
                    url=_UCI + "iris/iris.data",
                    size=4551,
                    sha256=_IRIS_UCI,
                    also=MappingProxyType(
                        {
                            "0fed2a99db77ec533a62dc66894d3ec6df3b58b6a8f3cf4a6b47e4086b7f97dc": (
                                "Fisher's values (as in bezdekIris.data)"
                            ),
                        }
                    ),
                    packaged_sha256=_IRIS_UCI,
                    table=Table(rows=150, columns=5),
                ),
            ),
            hdf5="iris.hdf5",
        ),
    }
)


def file_at(url: str | None) -> DataFile | None:
    """Return the raw file with a public address.

    Parameters
    ----------
    url : str or None
        An address.

    Returns
    -------
    DataFile or None
        The file, or None if no built-in data set has it.

    Examples
    --------
    >>> file_at(MANIFESTS["iris"].files[0].url).name
    'iris.data'
    >>> file_at("https://example.org/iris.data") is None
    True

    """
    for manifest in MANIFESTS.values():
        for file in manifest.files:
            if url is not None and file.url == url:
                return file
    return None
