"""Copies of data files on a local disk, for data that lies on a slow or busy one.

With the setting ``local_data_path``, a data file is copied there once and read from there. A copy
is used only while it is known to be that file: beside it, ``.NAME.origin`` says which file it
was made of, and how large and how old that was. Copies appear complete or not at all.

Locks are in `fuel.utils.lock`, the space on a disk in `fuel.utils.disk`.
"""

from __future__ import annotations

import glob
import hashlib
import json
import logging
import os
import shutil
from typing import Any

from fuel.config_parser import config
from fuel.utils import disk, lock

__all__ = ["cache_file", "copy_from_server_to_local"]

log = logging.getLogger(__name__)

#: Seconds without a sign of progress after which a process that copies is not waited for any
#: more. Writing to a busy network disk may pause for some ten seconds.
_STALL_S = 60.0

_CHUNK_BYTES = 1 << 20

#: Copies that this process has marked as being read.
_marked: set[tuple[int, str]] = set()

#: Warnings given so far: a file is opened many times.
_warned: set[str] = set()


def cache_file(filename: str) -> str:
    """Return a local copy of a file, making it if there is none.

    The first file of a name is copied to that name in the directory ``config.local_data_path``;
    another file of the same name goes to a subdirectory of it that stands for the directory that
    it comes from. The copy keeps the permissions, the group and the time of the original.

    Parameters
    ----------
    filename : str
        The file.

    Returns
    -------
    str
        The path of the copy. It is `filename` itself if ``local_data_path`` is ``""``, if
        `filename` is not a file or lies in the cache already, and, with a warning in the log,
        where a copy cannot be made: the directory cannot be written to, the disk would be over
        90 % full, or another process that is copying the file makes no progress.

    Notes
    -----
    Processes and threads may ask for one file at the same time; one of them copies it.

    """
    local = config.local_data_path
    if not local:
        return filename
    local = os.path.realpath(os.path.expandvars(os.path.expanduser(local)))
    source = os.path.realpath(filename)
    if not os.path.isfile(source) or _is_inside(source, local):
        return filename
    try:
        copy = _valid_copy(source, local) or _make_copy(source, local)
    except OSError as error:
        _warn_once("%s is read where it is, because it cannot be cached: %s", filename, error)
        return filename
    if copy is None:
        return filename
    _mark_as_read(copy)
    return copy


def _warn_once(message: str, *arguments: object) -> None:
    """Log a warning; the same again only for those who look at everything."""
    text = message % arguments
    log.log(logging.DEBUG if text in _warned else logging.WARNING, "%s", text)
    _warned.add(text)


def _is_inside(path: str, directory: str) -> bool:
    try:
        return os.path.commonpath((os.path.normcase(path), os.path.normcase(directory))) == (
            os.path.normcase(directory)
        )
    except ValueError:  # different drives
        return False


def _places(source: str, local: str) -> tuple[str, str]:
    """Return the two places where the copy of a file may be: the plain and the hashed one."""
    directory, name = os.path.split(source)
    key = hashlib.blake2b(os.path.normcase(directory).encode(errors="surrogateescape"))
    return os.path.join(local, name), os.path.join(local, key.hexdigest()[:16], name)


def _record_path(copy: str) -> str:
    directory, name = os.path.split(copy)
    return os.path.join(directory, f".{name}.origin")


def _read_record(copy: str) -> dict[str, Any]:
    """Return what is known about a copy; nothing if it is not one of ours."""
    try:
        with open(_record_path(copy), encoding="utf-8") as file:
            record = json.load(file)
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def _describe(source: str, status: os.stat_result, copy: str) -> dict[str, Any]:
    """Return the record that a good copy of a file has."""
    # The time of the copy too, because some file systems keep it less exactly than others.
    return {
        "origin": source,
        "size": status.st_size,
        "mtime_ns": status.st_mtime_ns,
        "copy_mtime_ns": os.stat(copy).st_mtime_ns,
    }


def _write_record(source: str, status: os.stat_result, copy: str) -> None:
    path = _record_path(copy)
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(_describe(source, status, copy), file)
    os.replace(path + ".part", path)


def _valid_copy(source: str, local: str) -> str | None:
    status = os.stat(source)
    for copy in _places(source, local):
        if (
            os.path.isfile(copy)
            and os.path.getsize(copy) == status.st_size
            and os.access(copy, os.R_OK)
            and _read_record(copy) == _describe(source, status, copy)
        ):
            return copy
    return None


def _make_copy(source: str, local: str) -> str | None:
    plain, hashed = _places(source, local)
    disk.safe_mkdir(local)
    if not disk.check_enough_space(local, source, plain):
        _warn_once("%s is not cached: it would fill the disk of %s", source, local)
        return None
    # One lock for both places, because which one is free is decided under it.
    lock_dir = plain + ".writelock"
    if not _wait_for_lock(lock_dir, local, os.path.basename(source)):
        log.warning(
            "%s is not cached: another process holds %s and makes no progress", source, lock_dir
        )
        return None
    try:
        copy = _valid_copy(source, local)
        if copy is not None:  # made while we waited
            return copy
        copy = plain if _may_replace(plain, source) else hashed
        status = os.stat(source)
        if not (os.path.isfile(copy) and _same_content(copy, source)):
            disk.safe_mkdir(os.path.dirname(copy))
            status = _copy(source, copy)
        _write_record(source, status, copy)
        return copy
    finally:
        lock.Unlocker(lock_dir).unlock()


def _wait_for_lock(lock_dir: str, local: str, name: str) -> bool:
    """Wait for a lock as long as its holder copies something."""
    seen = None
    while True:
        try:
            lock.lock(lock_dir, timeout=_STALL_S)
            return True
        except lock.LockTimeoutError:
            name_ = glob.escape(name + ".part")
            parts = glob.glob(os.path.join(glob.escape(local), name_))
            parts += glob.glob(os.path.join(glob.escape(local), "*", name_))
            progress = {path: os.path.getsize(path) for path in parts if os.path.exists(path)}
            if progress == seen:
                return False
            seen = progress


def _may_replace(copy: str, source: str) -> bool:
    """Tell whether the plain place is free for a file: empty, or taken by a copy of it."""
    if not os.path.lexists(copy):
        return True
    if not os.path.isfile(copy):
        return False
    record = _read_record(copy)
    if record:
        return record.get("origin") == source
    # Put there by hand, or by a version that kept no record. If the file begins in the same way,
    # it is a copy, perhaps one that was never finished; else it may be the only one of its kind.
    return _begins_with(source, copy)


def _begins_with(path: str, beginning: str) -> bool:
    """Tell whether the content of one file is the beginning of another's."""
    with open(path, "rb") as whole, open(beginning, "rb") as part:
        while True:
            chunk = part.read(_CHUNK_BYTES)
            if not chunk:
                return True
            if whole.read(len(chunk)) != chunk:
                return False


def _same_content(copy: str, source: str) -> bool:
    """Tell whether a file without a record is a full copy, so that it need not be made again."""
    if _read_record(copy) or os.path.getsize(copy) != os.path.getsize(source):
        return False
    return _begins_with(source, copy)


def _copy(source: str, target: str) -> os.stat_result:
    """Copy a file with its permissions, group and time; the target appears when it is complete.

    Returns the status of the original that belongs to the content copied.
    """
    part = target + ".part"
    try:
        # What an earlier attempt left may have the permissions of a read-only original.
        if os.path.lexists(part):
            os.remove(part)
        status = os.stat(source)
        with open(source, "rb") as original, open(part, "xb") as copy:
            shutil.copyfileobj(original, copy, _CHUNK_BYTES)
            copy.flush()
            os.fsync(copy.fileno())
        after = os.stat(source)
        if (status.st_size, status.st_mtime_ns) != (after.st_size, after.st_mtime_ns) or (
            os.path.getsize(part) != status.st_size
        ):
            raise OSError(f"{source} changed while it was being copied; try again when it is still")
        shutil.copystat(source, part)
        _keep_group(source, part)
        os.replace(part, target)
    except BaseException:
        if os.path.lexists(part):
            os.remove(part)
        raise
    return status


def _keep_group(source: str, target: str) -> None:
    if hasattr(os, "chown"):
        try:
            os.chown(target, -1, os.stat(source).st_gid)
        except OSError as error:
            log.info("%s does not get the group of %s: %s", target, source, error)


def _mark_as_read(copy: str) -> None:
    key = (os.getpid(), copy)
    if key in _marked:
        return
    _marked.add(key)
    try:
        lock.get_readlock(os.getpid(), copy)
    except OSError as error:
        log.info("%s cannot be marked as being read: %s", copy, error)


def copy_from_server_to_local(
    dataset_remote_dir: str, dataset_local_dir: str, remote_fname: str, local_fname: str
) -> None:
    """Copy one file of a data set, and make the directory it goes to.

    Parameters
    ----------
    dataset_remote_dir : str
        The directory whose permissions and group a new local directory gets.
    dataset_local_dir : str
        The directory to copy to.
    remote_fname : str
        The file to copy.
    local_fname : str
        The path of the copy, which appears when it is complete. It keeps the permissions, the
        group and the time of the original.

    """
    log.debug("copying %s to %s", remote_fname, local_fname)
    if not os.path.isdir(dataset_local_dir):
        disk.safe_mkdir(dataset_local_dir)
        if os.path.isdir(dataset_remote_dir):
            shutil.copymode(dataset_remote_dir, dataset_local_dir)
            _keep_group(dataset_remote_dir, dataset_local_dir)
    _copy(remote_fname, local_fname)
