"""Nothing half-written: outputs grow under another name and get theirs when they are whole.

`atomic_output` is for one file, `staging_directory` for whatever a converter writes. What a killed
process left behind is removed by the next one that writes the same output.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from fuel.exceptions import StorageError

__all__ = ["atomic_output", "staging_directory"]


def _host() -> str:
    """Name this machine in a few letters: process ids mean nothing on another one."""
    return hashlib.blake2b(socket.gethostname().encode(), digest_size=3).hexdigest()


def _part_name(name: str) -> str:
    """Return a name that no other output has, and that says who is writing it."""
    return f"{name}.{_host()}-{os.getpid()}-{secrets.token_hex(3)}.part"


def _is_running(pid: int) -> bool:
    if os.name == "nt":
        return False  # there, removing a file that is in use fails, which tells as much
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def _remove(path: str) -> None:
    try:
        if os.path.isdir(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.remove(path)
    except OSError:
        pass


def _sweep(directory: str, name: str) -> None:
    """Remove what killed processes of this machine left of an output."""
    pattern = re.compile(re.escape(name) + rf"\.{_host()}-(\d+)-[0-9a-f]+\.part")
    try:
        entries = os.listdir(directory)
    except OSError:
        return
    for entry in entries:
        found = pattern.fullmatch(entry)
        if found and int(found[1]) != os.getpid() and not _is_running(int(found[1])):
            _remove(os.path.join(directory, entry))


def _flush(path: str) -> None:
    """Make sure that the content of a file is on the disk before its name is."""
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


@contextmanager
def atomic_output(path: str) -> Iterator[str]:
    """Write a file under another name, and rename it when the block ends without an error.

    Until then, and after an error, whatever had that name before is untouched. Two processes that
    write the same file do not disturb each other; the one that ends last wins.

    Parameters
    ----------
    path : str
        The final name.

    Yields
    ------
    str
        The name to write to: a ``.part`` in the same directory. The file must be closed when the
        block ends.

    Raises
    ------
    StorageError
        If the block wrote nothing, or there is something of that name that is no file.

    Examples
    --------
    >>> import os
    >>> with atomic_output("numbers.txt") as part, open(part, "w") as file:
    ...     _ = file.write("1 2 3")
    >>> os.listdir(".")
    ['numbers.txt']

    """
    path = os.path.realpath(path)
    if os.path.exists(path) and not os.path.isfile(path):
        # To give the new file its name would remove what others use: a device, a pipe.
        raise StorageError(
            f"{path} cannot be written: there is something of that name that is no file; give the "
            "name of a file"
        )
    directory, name = os.path.split(path)
    _sweep(directory, name)
    part = os.path.join(directory, _part_name(name))
    try:
        yield part
        if not os.path.isfile(part):
            raise StorageError(f"nothing was written to {part}, so there is no {name}")
        _flush(part)
        os.replace(part, path)
    except BaseException:
        _remove(part)
        raise


@contextmanager
def staging_directory(directory: str, name: str) -> Iterator[str]:
    """Collect files in a new directory, and move them one level up when the block succeeds.

    This protects the outputs of code that knows nothing of it: it is told to write to the staging
    directory, and older files of the same names are replaced, each at once, only at the end. After
    an error nothing is moved.

    Parameters
    ----------
    directory : str
        Where the files belong.
    name : str
        What the work is called; it becomes a part of the name of the staging directory.

    Yields
    ------
    str
        The absolute path of the staging directory, which is inside ``directory``.

    """
    directory = os.path.realpath(directory)
    _sweep(directory, name)
    staging = os.path.join(directory, _part_name(name))
    os.mkdir(staging)
    try:
        yield staging
        for root, folders, files in os.walk(staging):
            target = os.path.normpath(os.path.join(directory, os.path.relpath(root, staging)))
            for folder in folders:
                os.makedirs(os.path.join(target, folder), exist_ok=True)
            for file in sorted(files):
                _flush(os.path.join(root, file))
                os.replace(os.path.join(root, file), os.path.join(target, file))
    finally:
        _remove(staging)
