"""How much of the machine this process may use: processors and memory.

A container sees the whole machine in most of what Python reports; what it may really use is said
by its control group (Linux, both versions of the file system) and by the affinity of the process.
Every function here reads files again each time it is called, which takes some 50 microseconds:
limits change while a process runs. Space on disks is in `fuel.utils.disk`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

__all__ = ["memory_in_use", "memory_left", "memory_limit", "oom_kills", "usable_cpus"]

_ROOT = Path("/")
#: Version 1 says "no limit" as the largest multiple of a page; nothing near it is a limit.
_UNLIMITED = 2**60


def usable_cpus(root: str | os.PathLike[str] = _ROOT) -> int:
    """Return how many processors this process can keep busy.

    Parameters
    ----------
    root : path, optional
        Where the file system begins; for tests.

    Returns
    -------
    int
        The processors it may run on, or the time it is granted in processors (rounded up) where
        that is less; at least 1.

    """
    try:
        count = len(os.sched_getaffinity(0))  # type: ignore[attr-defined,unused-ignore]
    except (AttributeError, OSError):  # macOS, Windows
        count = getattr(os, "process_cpu_count", os.cpu_count)() or 1
    for level in _levels(root, "cpu"):
        quota = _quota(level)
        if quota is not None:
            count = min(count, quota)
    return max(count, 1)


def memory_limit(root: str | os.PathLike[str] = _ROOT) -> int | None:
    """Return how much memory this process and its companions may use together.

    Parameters
    ----------
    root : path, optional
        Where the file system begins; for tests.

    Returns
    -------
    int or None
        Bytes: the tightest limit of the control groups it is in, or the machine's memory where
        that is less. None where the system does not say (it is neither Linux nor has `sysconf`).

    """
    limits = [limit for limit, _ in _accounts(root)]
    return min(limits) if limits else None


def memory_in_use(root: str | os.PathLike[str] = _ROOT) -> int | None:
    """Return how much of `memory_limit` is used up.

    Parameters
    ----------
    root : path, optional
        Where the file system begins; for tests.

    Returns
    -------
    int or None
        Bytes, for the same control group (or the machine) that `memory_limit` is about; without
        the cached contents of files, which the system gives up when memory is asked for. None
        where the system does not say.

    """
    accounts = _accounts(root)
    return min(accounts)[1] if accounts else None


def memory_left(root: str | os.PathLike[str] = _ROOT) -> int | None:
    """Return how much memory can still be taken before somebody is killed for it.

    Parameters
    ----------
    root : path, optional
        Where the file system begins; for tests.

    Returns
    -------
    int or None
        Bytes: the least that is left in any of the control groups and on the machine, 0 or more.
        None where the system does not say.

    """
    left = [max(0, limit - used) for limit, used in _accounts(root) if used is not None]
    return min(left) if left else None


def oom_kills(root: str | os.PathLike[str] = _ROOT) -> int | None:
    """Return how many processes of the control group were killed because memory ran out.

    Parameters
    ----------
    root : path, optional
        Where the file system begins; for tests.

    Returns
    -------
    int or None
        Their number since the group was made: look twice and compare. None where nobody counts.

    """
    for level in _levels(root, "memory"):
        for name in ("memory.events", "memory.oom_control"):
            count = _table(level / name).get("oom_kill")
            if count is not None:
                return count
    return None


def _accounts(root: str | os.PathLike[str]) -> list[tuple[int, int | None]]:
    """Return limit and use of the machine and of each control group that has a limit."""
    accounts = []
    machine = {name.rstrip(":"): size for name, size in _table(_join(root, "proc/meminfo")).items()}
    total, free = machine.get("MemTotal"), machine.get("MemAvailable")
    if total is not None:
        accounts.append((total * 1024, None if free is None else (total - free) * 1024))
    elif hasattr(os, "sysconf"):
        try:
            accounts.append((os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), None))
        except (ValueError, OSError):
            pass
    for level in _levels(root, "memory"):
        limit = _number(level / "memory.max", level / "memory.limit_in_bytes")
        if limit is None or limit >= _UNLIMITED:
            continue
        used = _number(level / "memory.current", level / "memory.usage_in_bytes")
        if used is not None:
            detail = _table(level / "memory.stat")
            cached = sum(
                # Version 1 has the group alone without the prefix, and with it all below.
                detail.get(f"total_{name}", detail.get(name, 0))
                for name in ("inactive_file", "active_file")
            )
            used = max(0, used - cached)
        accounts.append((limit, used))
    return accounts


def _levels(root: str | os.PathLike[str], controller: str) -> Iterator[Path]:
    """Yield the directories of the control groups this process is in, the innermost first."""
    try:
        lines = _join(root, "proc/self/cgroup").read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return
    mounts = _join(root, "sys/fs/cgroup")
    unified: list[Path] = []
    for line in lines:
        number, controllers, group = line.split(":", 2)
        names = controllers.split(",")
        if controller in names:  # version 1, which then has this controller for itself
            for name in (controllers, controller):
                if (mounts / name).is_dir():
                    yield from _upwards(mounts / name, group)
                    return
        if number == "0" and not controllers:
            for mount in (mounts, mounts / "unified"):
                if (mount / "cgroup.controllers").exists():
                    unified = list(_upwards(mount, group))
                    break
    yield from unified


def _upwards(mount: Path, group: str) -> Iterator[Path]:
    parts = [part for part in group.split("/") if part not in ("", ".", "..")]
    # Inside of a container the path may be the one that the host sees, of which nothing is here.
    while parts:
        level = mount.joinpath(*parts)
        if level.is_dir():
            yield level
        parts.pop()
    yield mount


def _quota(level: Path) -> int | None:
    """Return the processors' worth of time that a control group is granted, rounded up."""
    try:
        if (level / "cpu.max").exists():
            granted, period = (level / "cpu.max").read_text().split()
        else:
            granted = (level / "cpu.cfs_quota_us").read_text()
            period = (level / "cpu.cfs_period_us").read_text()
        if granted == "max" or int(granted) <= 0 or int(period) <= 0:
            return None
        return -(-int(granted) // int(period))
    except (OSError, ValueError):
        return None


def _number(*paths: Path) -> int | None:
    """Return the number in the first file that exists; None for "max" and where there is none."""
    for path in paths:
        try:
            return int(path.read_text())
        except ValueError:
            return None
        except OSError:
            continue
    return None


def _table(path: Path) -> dict[str, int]:
    """Return the lines of a file that are a name and a number."""
    table = {}
    try:
        for line in path.read_text().splitlines():
            name, value, *_ = [*line.split(), "", ""]
            if value.isdecimal():
                table[name] = int(value)
    except (OSError, UnicodeDecodeError):
        pass
    return table


def _join(root: str | os.PathLike[str], place: str) -> Path:
    return Path(root) / place
