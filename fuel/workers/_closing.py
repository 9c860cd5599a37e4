"""Ending all workers, without loading what starts them."""

from __future__ import annotations

import sys

__all__ = ["close_workers"]


def close_workers() -> None:
    """End all worker processes, those at work as well.

    A pass whose workers were ended gets new ones when its next item is asked for. Workers end by
    themselves with the program; this is for whoever wants their memory back earlier.

    Notes
    -----
    May be called from any thread, and twice.

    """
    module = sys.modules.get("fuel.workers._idle")
    if module is not None:
        module.close_workers()
