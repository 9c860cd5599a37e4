"""The way back: HDF5 files as ``.npz``, Parquet, tar archives, or folders of images.

`export` is what ``fuel-export`` calls. Reading is done by ``_export_read``, writing by
``_export_npz``, ``_export_parquet`` and ``_export_files``. The way there is
`fuel.converters.bring`.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Sequence

from fuel.converters._export_files import write_images, write_webdataset
from fuel.converters._export_npz import write_npz
from fuel.converters._export_parquet import write_parquet
from fuel.converters._export_read import Stored
from fuel.converters.base import atomic_output, staging_directory
from fuel.exceptions import ConfigurationError, StorageError

__all__ = ["FORMATS", "export"]

#: What can be written, with the function that does it.
FORMATS = {
    "npz": write_npz,
    "parquet": write_parquet,
    "webdataset": write_webdataset,
    "images": write_images,
}


def export(
    path: str | os.PathLike[str],
    to: str,
    output: str | os.PathLike[str],
    *,
    splits: Sequence[str] | None = None,
    sources: Sequence[str] | None = None,
    compress: bool | None = None,
) -> str:
    """Write what is in an HDF5 file in another format.

    Parameters
    ----------
    path : path
        The HDF5 file.
    to : {'npz', 'parquet', 'webdataset', 'images'}
        The format. ``npz`` has one array for each source; ``parquet`` one column; ``webdataset``
        is a tar archive with a member for each source of each example; ``images`` is a folder with
        a folder of image files for each class (the sources ``targets`` and ``filenames`` are used
        if they are there).
    output : path
        The file, which is replaced if it exists; for ``images`` a folder, which must not exist or
        be empty.
    splits : sequence of str, optional
        The splits to write; by default all. With several, arrays are called ``SOURCE_SPLIT``,
        Parquet has a column ``split``, archives have members ``split.txt``, images are in folders
        named by their split - the forms that ``fuel-convert`` takes back.
    sources : sequence of str, optional
        The sources to write; by default all.
    compress : bool, optional
        Whether to compress. By default Parquet is, ``.npz`` is not, an archive if its name ends in
        ``.gz`` or ``.tgz``.

    Returns
    -------
    str
        The path of what was written.

    Raises
    ------
    StorageError
        If the file cannot be read, or holds something that the format cannot hold. Nothing is
        written then.
    ConfigurationError
        If there is no such format, split or source.

    Notes
    -----
    Some megabytes of examples are in memory at a time. What is written takes the place of an older
    file when it is whole. The same data gives the same bytes.

    Examples
    --------
    >>> import numpy
    >>> from fuel.converters.export import export
    >>> from fuel.converters.writer import HDF5Writer, SourceSpec
    >>> with HDF5Writer("points.hdf5", {"x": SourceSpec((2,), "float32")}) as writer:
    ...     writer.add("train", x=numpy.ones((3, 2), "float32"))
    ...     writer.add("test", x=numpy.zeros((1, 2), "float32"))
    >>> path = export("points.hdf5", "npz", "points.npz")
    >>> with numpy.load(path) as arrays:
    ...     sorted(arrays), arrays["x_train"].shape
    (['x_test', 'x_train'], (3, 2))

    """
    if to not in FORMATS:
        raise ConfigurationError(f"there is no format {to!r}; there are {', '.join(FORMATS)}")
    try:
        stored = Stored(os.fspath(path), splits, sources)
    except ValueError as error:
        if isinstance(error, StorageError):
            raise
        raise ConfigurationError(f"{os.fspath(path)} cannot be exported: {error}") from error
    target = os.path.abspath(os.fspath(output))
    folder, name = os.path.split(target)
    if not os.path.isdir(folder):
        raise StorageError(f"there is no folder {folder}; make it first")
    if os.path.exists(target) and os.path.samefile(target, path):
        raise ConfigurationError(f"{output} is the file that is exported; name another output")
    if compress is None:
        compress = to == "parquet" or (
            to == "webdataset" and name.lower().endswith((".gz", ".tgz"))
        )
    if to != "images":
        with atomic_output(target) as part:
            _write(to, stored, part, compress, target)
        return target
    if os.path.exists(target) and (not os.path.isdir(target) or os.listdir(target)):
        raise StorageError(f"{output} exists already; name a folder that does not, or an empty one")
    with staging_directory(folder, name) as staging:
        whole = os.path.join(staging, "images")
        os.mkdir(whole)
        _write(to, stored, whole, compress, target)
        if os.path.isdir(target):
            os.rmdir(target)
        os.rename(whole, target)
    return target


def _write(to: str, stored: Stored, part: str, compress: bool, target: str) -> None:
    """Write in a format; say of a full disk which file it was and how much is free."""
    try:
        FORMATS[to](stored, part, compress)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", None)):
            raise
        folder = os.path.dirname(target)
        free = shutil.disk_usage(folder).free
        raise StorageError(
            f"{target} cannot be written: {error.strerror or error}; {free:,} bytes are free in "
            f"{folder}: make room, or give another place"
        ) from error
