"""Progress bars behind the interface of the original: ``bar.update(position)``.

Shared by downloaders and converters, which re-export it. tqdm draws the bar, with speed and time
left, and only on a terminal: a log file gets no bars. Commands hide them with `hidden` when they
are told to be quiet.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

__all__ = ["ProgressBar", "bytes_text", "hidden", "progress_bar", "say"]

#: Whether bars are left out where they would be shown.
hidden: ContextVar[bool] = ContextVar("fuel_progress_hidden", default=False)


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

    def start_at(self, value: int) -> None:
        """Say how much was done before, which tells nothing of the speed.

        Parameters
        ----------
        value : int
            How much was done, in the unit of ``maxval``.

        """
        self._bar.initial = self._bar.n = self._bar.last_print_n = self.value = value
        self._bar.refresh()


def _on_terminal() -> bool:
    # Not every stand-in for the standard output says whether it is a terminal.
    terminal = bool(getattr(sys.stdout, "isatty", lambda: False)())
    return terminal and os.environ.get("TERM") != "dumb" and not hidden.get()


@contextmanager
def progress_bar(
    name: str | None,
    maxval: int | None,
    prefix: str = "Converting",
    unit: str = "it",
    leave: bool = True,
) -> Iterator[ProgressBar]:
    """Show a progress bar on the standard output while a block runs.

    Bars of several threads are drawn one below the other.

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
    leave : bool, optional
        Whether the bar stays when the block has ended.

    Yields
    ------
    ProgressBar
        Call its ``update(value)`` as the work goes on.

    """
    from tqdm import tqdm

    bar = tqdm(
        total=maxval if isinstance(maxval, int) else None,
        desc=f"{prefix} {name}" if name else prefix,
        file=sys.stdout,
        disable=not _on_terminal(),
        unit=unit,
        unit_scale=unit == "B",
        dynamic_ncols=True,
        leave=leave,
    )
    try:
        yield ProgressBar(bar)
    finally:
        bar.close()


def say(text: str) -> None:
    """Print a line on the standard output, above the bars if there are any.

    Parameters
    ----------
    text : str
        The line.

    """
    from tqdm import tqdm

    with tqdm.external_write_mode(file=sys.stdout):
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def bytes_text(size: float) -> str:
    """Write a number of bytes for people.

    Parameters
    ----------
    size : float
        The number.

    Returns
    -------
    str
        Three digits or so, and a unit that is a power of 1000.

    Examples
    --------
    >>> bytes_text(512), bytes_text(264712), bytes_text(2.6e9)
    ('512 bytes', '265 kB', '2.6 GB')

    """
    units = ["kB", "MB", "GB", "TB"]
    if size < 1000:
        return f"{size:.0f} bytes"
    while (size := size / 1000) >= 1000 and len(units) > 1:
        units.pop(0)
    return f"{size:.0f} {units[0]}" if size >= 100 else f"{size:.1f} {units[0]}"
