"""Downloads the raw files of Caltech-101 Silhouettes.

What becomes of them is in `fuel.converters.caltech101_silhouettes`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from fuel.downloaders.base import default_downloader
from fuel.manifests import MANIFESTS

__all__ = ["fill_subparser", "silhouettes_downloader"]


def silhouettes_downloader(size: int, **kwargs: Any) -> None:
    """Download the silhouettes of one size, or delete them.

    Parameters
    ----------
    size : {16, 28}
        How many pixels high and wide the images are.
    **kwargs
        ``directory`` and further arguments of `fuel.downloaders.base.default_downloader`.

    Raises
    ------
    ValueError
        If there is no such size.
    OSError
        If the file cannot be had.

    """
    if size not in (16, 28):
        raise ValueError(f"the silhouettes have a size of 16 or 28, got {size!r}")
    manifest = MANIFESTS[f"caltech101_silhouettes_{size}"]
    default_downloader(urls=manifest.urls, filenames=manifest.filenames, **kwargs)


def fill_subparser(subparser: argparse.ArgumentParser) -> Callable[..., None]:
    """Give the sub-command of ``fuel-download`` its argument, the size.

    Parameters
    ----------
    subparser : argparse.ArgumentParser
        The parser of the sub-command.

    Returns
    -------
    callable
        `silhouettes_downloader`.

    """
    subparser.add_argument(
        "size", type=int, choices=(16, 28), help="how many pixels high and wide the images are"
    )
    return silhouettes_downloader
