"""Raw files that ship with the package: taking them, and judging those that were downloaded.

Small data sets can be had without a network. Fetching files is in `base`.
"""

from __future__ import annotations

import hashlib
import os
from importlib.resources import files

from fuel.downloaders._part import PartFile
from fuel.downloaders.base import ensure_directory_exists, file_sha256
from fuel.exceptions import StorageError
from fuel.manifests import DataFile, Manifest

__all__ = ["check_file", "take_packaged"]


def take_packaged(manifest: Manifest, directory: str) -> list[str]:
    """Copy the files of a data set that ship with the package.

    Parameters
    ----------
    manifest : Manifest
        The data set.
    directory : str
        Where the copies go; made if it is not there. Files of the same names are replaced.

    Returns
    -------
    list of str
        The paths of the copies.

    Raises
    ------
    StorageError
        If the package holds no copy of a file, or the copy is damaged.

    """
    contents = [(file, _packaged_bytes(file)) for file in manifest.files]
    ensure_directory_exists(directory)
    paths = []
    for file, content in contents:
        path = os.path.join(directory, file.name)
        part = PartFile(path)
        try:
            part.forget()
            part.write(content)
            part.commit()
        finally:
            if not part.closed:
                part.give_up()
        paths.append(path)
    return paths


def _packaged_bytes(file: DataFile) -> bytes:
    if file.packaged_sha256 is None:
        raise StorageError(f"{file.name} does not ship with the package; download it")
    content = (files("fuel") / "data" / file.name).read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != file.packaged_sha256:
        raise StorageError(
            f"the packaged copy of {file.name} is damaged: its SHA-256 is {found}, not "
            f"{file.packaged_sha256}; install the package again"
        )
    return content


def check_file(file: DataFile, path: str) -> str | None:
    """Judge a raw file by its checksum, or by its form where the checksum is unknown.

    Parameters
    ----------
    file : DataFile
        What it should be.
    path : str
        Where it is.

    Returns
    -------
    str or None
        A remark for the user where it is not a variant that is known, but has the right form;
        None where there is nothing to say.

    Raises
    ------
    StorageError
        If it is something else.

    """
    found = file_sha256(path)
    if file.accepts(found):
        return None
    if file.sha256 is not None:
        raise StorageError(f"{path} is not {file.name}: its SHA-256 is {found}, not {file.sha256}")
    if file.table is None:
        return None
    _check_table(file, path)
    return (
        f"{file.name} has the right form ({file.table.rows} lines of {file.table.columns} fields), "
        f"but is not one of the known variants (SHA-256 {found})"
    )


def _check_table(file: DataFile, path: str) -> None:
    assert file.table is not None
    rows = 0
    with open(path, encoding="latin-1") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            rows += 1
            columns = line.count(",") + 1
            if columns != file.table.columns:
                raise StorageError(
                    f"{path} is not {file.name}: line {number} has {columns} fields instead of "
                    f"{file.table.columns}, and begins {line[:40]!r}"
                )
    if rows != file.table.rows:
        raise StorageError(
            f"{path} is not the whole {file.name}: it has {rows} examples instead of "
            f"{file.table.rows}"
        )
