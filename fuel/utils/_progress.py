"""Progress bars behind the interface of the original: ``bar.update(position)``.

Shared by downloaders and converters, which re-export it. tqdm draws the bar, and only on a
terminal: a log file gets no bars.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["ProgressBar", "progress_bar"]


class ProgressBar:
    """A bar that is told how far the work has come.

    Parameters
    ----------
    bar : tqdm.tqdm
        What draws it.

    """

    def __init__(self, bar: Any) -> None:
        self._bar = bar
        self.value = 0

    def update(self, value: int) -> None:
        """Say how much is done.

        Parameters
        ----------
        value : int
            How much is done in all, in the unit of ``maxval`` (not since the last call).

        """
        self._bar.update(value - self.value)
        self.value = value


@contextmanager
def progress_bar(
    name: str | None, maxval: int | None, prefix: str = "Converting", unit: str = "it"
) -> Iterator[ProgressBar]:
    """Show a progress bar on the standard output while a block runs.

    Parameters
    ----------
    name : str or None
        What is worked on.
    maxval : int or None
        What `ProgressBar.update` is given at the end; None if that is unknown.
    prefix : str, optional
        What is done to it.
    unit : str, optional
        What is counted; ``"B"`` counts bytes.

    Yields
    ------
    ProgressBar
        Call its ``update(value)`` as the work goes on.

    """
    from tqdm import tqdm

    # Not every stand-in for the standard output says whether it is a terminal.
    terminal = bool(getattr(sys.stdout, "isatty", lambda: False)())
    bar = tqdm(
        total=maxval if isinstance(maxval, int) else None,
        desc=f"{prefix} {name}" if name else prefix,
        file=sys.stdout,
        disable=not terminal,
        unit=unit,
        unit_scale=unit == "B",
        dynamic_ncols=True,
    )
    try:
        yield ProgressBar(bar)
    finally:
        bar.close()
