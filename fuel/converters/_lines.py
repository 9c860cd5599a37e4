"""Reading raw text files line by line: lines of bounded length, and a remark on what is missing."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator

__all__ = ["numbered_lines", "remark_on_count"]

log = logging.getLogger(__name__)

#: Longer lines come in pieces; whoever reads them finds that the pieces are no lines.
MAX_LINE_BYTES = 1 << 16


def numbered_lines(path: str) -> Iterator[tuple[int, bytes]]:
    """Go through the lines of a file.

    Parameters
    ----------
    path : str
        The file.

    Yields
    ------
    (int, bytes)
        The number of the line, from 1, and what it holds, without white space at its ends. Empty
        lines are passed over.

    Raises
    ------
    OSError
        If it cannot be opened.

    """
    with open(path, "rb") as file:
        number = 0
        while line := file.readline(MAX_LINE_BYTES):
            number += 1
            if content := line.strip():
                yield number, content


def remark_on_count(path: str, found: int, published: int) -> None:
    """Log a warning if a file has not as many examples as the one that was published.

    A text file that is cut short between two lines looks whole. A smaller one may also be meant.

    Parameters
    ----------
    path : str
        The file.
    found, published : int
        How many examples it has, and how many it was published with.

    """
    if found != published:
        log.warning(
            "%s has %d examples, where the published file has %d; if that is not meant, get it "
            "again",
            os.fspath(path),
            found,
            published,
        )
