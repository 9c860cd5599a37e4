"""Looking for data files in the directories of the setting ``data_path``.

Making the files is the task of `fuel.downloaders` and `fuel.converters`, copying them to a fast
disk that of `fuel.utils.cache`.
"""

from __future__ import annotations

import os
import re

from fuel.config_parser import config
from fuel.exceptions import StorageError

__all__ = ["DataFileNotFoundError", "find_in_data_path"]

#: Files whose name is not that of the data set: pattern, what to download, what to convert.
_SPECIAL = (
    (r"svhn_format_(\d)$", r"svhn \1", r"svhn \1"),
    (r"caltech101_silhouettes(\d+)$", r"caltech101_silhouettes \1", r"caltech101_silhouettes \1"),
    (r"emnist_(\w+)$", r"emnist", r"emnist \1"),
    (r"celeba_(\w+)$", "celeba", r"celeba \1"),
)


class DataFileNotFoundError(StorageError, FileNotFoundError):
    """A data file is in none of the directories of ``data_path``."""


def _commands(filename: str, directory: str, made_as: str | None) -> str:
    """Say how to make a file, if it is one that the converters make."""
    name, extension = os.path.splitext(os.path.basename(filename))
    if extension != ".hdf5":
        return ""
    download = convert = made_as or name
    for pattern, *templates in _SPECIAL:
        match = re.match(pattern, name)
        if match:
            download, convert = (match.expand(template) for template in templates)
    where = f'"{directory}"' if " " in directory else directory
    return (
        f" To make it, run `fuel-download {download} -d {where}` and then "
        f"`fuel-convert {convert} -d {where} -o {where}` (the directory must exist)."
    )


def find_in_data_path(filename: str, *, made_as: str | None = None) -> str:
    """Find a data file.

    Parameters
    ----------
    filename : str
        Its name. An absolute path is looked for only there.
    made_as : str, optional
        What the commands that make it are to be given, for the message; by default that is told by
        the name.

    Returns
    -------
    str
        The path in the first directory of ``config.data_path`` that has such a file. ``~`` and
        environment variables in the names of directories are filled in.

    Raises
    ------
    OSError
        If none has it. The message lists the directories, and the commands that make the file.

    """
    filename = os.fspath(filename)
    directories = [os.path.expandvars(os.path.expanduser(path)) for path in config.data_path]
    for directory in directories:
        path = os.path.join(directory, filename)
        if os.path.isfile(path):
            return path
    searched = ", ".join(directory or os.curdir for directory in directories) or "no directory"
    first = directories[0] or os.curdir if directories else os.curdir
    raise DataFileNotFoundError(
        f"{filename} not found in Fuel's data path, which is {searched} (from "
        f"{config.origin('data_path')}). If it is elsewhere, name its directory in the environment "
        f"variable FUEL_DATA_PATH or as `data_path` in ~/.fuelrc."
        f"{_commands(filename, first, made_as)}"
    )
