"""Space on a disk, and making directories."""

from __future__ import annotations

import os
import shutil

__all__ = ["check_enough_space", "disk_usage", "safe_mkdir"]


def disk_usage(path: str | os.PathLike[str]) -> tuple[int, int]:
    """Return the size of the disk that a path is on, and how much of it is used.

    Parameters
    ----------
    path : str or path
        A file or directory that exists.

    Returns
    -------
    total, used : int
        In bytes.

    """
    usage = shutil.disk_usage(path)
    return usage.total, usage.used


def safe_mkdir(folder_name: str | os.PathLike[str], force_perm: int | None = None) -> None:
    """Make a directory and those above it, where they do not exist yet.

    Parameters
    ----------
    folder_name : str or path
        The directory. Nothing is done if it exists.
    force_perm : int, optional
        Permissions for each directory made here, whatever the umask of the process is.

    Raises
    ------
    FileExistsError
        If a file that is not a directory has the name.

    Notes
    -----
    Several processes may make the same directory at once.

    """
    folder = os.fspath(folder_name)
    if folder in ("", os.curdir):
        return
    missing = []
    while folder and not os.path.isdir(folder):
        missing.append(folder)
        parent = os.path.dirname(folder.rstrip(os.sep))
        if parent == folder:
            break
        folder = parent
    for folder in reversed(missing):
        try:
            os.mkdir(folder)
        except FileExistsError:
            if not os.path.isdir(folder):
                raise
            continue  # another process was faster
        if force_perm is not None:
            os.chmod(folder, force_perm)


def check_enough_space(
    dataset_local_dir: str | os.PathLike[str],
    remote_fname: str | os.PathLike[str],
    local_fname: str | os.PathLike[str] | None = None,
    max_disk_usage: float = 0.9,
) -> bool:
    """Tell whether a file can be copied to a disk without filling it.

    Parameters
    ----------
    dataset_local_dir : str or path
        A directory on the disk to copy to.
    remote_fname : str or path
        The file to copy.
    local_fname : str or path, optional
        Its future name, which does not matter.
    max_disk_usage : float, optional
        The part of the disk that may be in use afterwards.

    Returns
    -------
    bool
        True if less than that part will be used.

    """
    total, used = disk_usage(dataset_local_dir)
    return used + os.path.getsize(remote_fname) < total * max_disk_usage
