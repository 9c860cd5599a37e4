"""Opening compressed text files and tar archives.

What is inside a data file is the business of `fuel.converters` and `fuel.datasets`.
"""

from __future__ import annotations

import gzip
import os
import tarfile
from typing import IO, Any, cast

__all__ = ["open_", "tar_open"]


def open_(
    filename: str | os.PathLike[str], mode: str = "r", encoding: str | None = None
) -> IO[Any]:
    """Open a file, decompressing it if its name ends in ``.gz``.

    Parameters
    ----------
    filename : str or path
        The file.
    mode : str, optional
        As for the built-in `open`, for both kinds of file: ``"r"`` reads text, ``"rb"`` bytes.
    encoding : str, optional
        Of the text; as for `open`, by default that of the platform.

    Returns
    -------
    file object
        Text or binary, as `mode` says.

    Raises
    ------
    ValueError
        If an encoding is given for a binary mode.

    """
    filename = os.fspath(filename)
    if not filename.endswith(".gz"):
        return open(filename, mode, encoding=encoding)
    if "b" not in mode and "t" not in mode:
        mode += "t"  # gzip's default is binary
    return cast("IO[Any]", gzip.open(filename, mode, encoding=encoding))


def tar_open(f: str | os.PathLike[str] | IO[bytes]) -> tarfile.TarFile:
    """Open a tar archive for reading, compressed or not.

    Parameters
    ----------
    f : str, path or binary file object
        The archive.

    Returns
    -------
    tarfile.TarFile
        The open archive. Where Python knows how, it refuses to extract files to places outside
        of the directory chosen.

    Raises
    ------
    tarfile.ReadError
        If it is not an archive; downloading it again often helps.

    """
    try:
        if isinstance(f, (str, os.PathLike)):
            archive = tarfile.open(name=f)  # noqa: SIM115 - the caller closes it
        else:
            archive = tarfile.open(fileobj=f)  # noqa: SIM115
    except tarfile.ReadError as error:
        name = f if isinstance(f, (str, os.PathLike)) else getattr(f, "name", f)
        raise tarfile.ReadError(
            f"{name} is not a tar archive, or is cut short; download it again"
        ) from error
    # Archives come from the network. The default of Python 3.14, for the versions before it.
    if hasattr(tarfile, "data_filter"):
        archive.extraction_filter = tarfile.data_filter
    return archive
