"""What several workloads share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy

__all__ = ["index_batches", "peak_growth"]


def index_batches(count: int, size: int, rng: Any) -> Iterator[Any]:
    """Yield the indices of the batches of one epoch in a new shuffled order."""
    order = rng.permutation(count)
    for start in range(0, count, size):
        yield numpy.ascontiguousarray(order[start : start + size])


def peak_growth(function: Callable[[], Any]) -> tuple[Any, float]:
    """Call a function; return what it returns, and how many bytes the process grew at its peak.

    The number is 0 where the system does not tell (it does on Linux).
    """
    try:
        Path("/proc/self/clear_refs").write_text("5")  # the peak is now what there is
        before = _resident("VmRSS")
    except OSError:
        return function(), 0.0
    found = function()
    return found, max(0.0, _resident("VmHWM") - before)


def _resident(name: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return float(line.split()[1]) * 1024
    return 0.0
