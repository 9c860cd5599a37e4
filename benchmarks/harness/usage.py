"""Processor time and memory of a process together with those it started.

On Linux `/proc` tells about processes that are still alive; elsewhere only what the operating
system says of those that have ended is counted.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

__all__ = ["below", "memory_bytes", "peak_bytes", "processor_seconds"]

_PROC = Path("/proc")


def below(pid: int) -> list[int]:
    """Return the processes that a process started, and those that they started."""
    found = []
    try:
        tasks = list((_PROC / str(pid) / "task").iterdir())
        for task in tasks:
            for child in (task / "children").read_text().split():
                found += [int(child), *below(int(child))]
    except OSError:
        pass  # it ended meanwhile, or there is no such file here
    return found


def processor_seconds() -> float:
    """Return the processor time of this process, of its dead children and of those alive."""
    times = os.times()
    total = time.process_time() + times.children_user + times.children_system
    for pid in below(os.getpid()):
        try:
            # The name, in parentheses, may hold spaces; the times are fields 14 and 15.
            fields = (_PROC / str(pid) / "stat").read_text().rsplit(")", 1)[1].split()
            total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except (OSError, IndexError):
            pass
    return total


def memory_bytes(pid: int) -> int:
    """Return the memory a process and those below it hold now; what they share counts once."""
    total = 0
    for one in [pid, *below(pid)]:
        try:
            lines = (_PROC / str(one) / "smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))
    return total


def peak_bytes() -> int:
    """Return the most memory that this process ever held; 0 where nobody says."""
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak << 10
