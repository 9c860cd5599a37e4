"""Downloads the raw files of SVHN; what becomes of them is in `fuel.converters.svhn`."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from fuel.downloaders.base import default_downloader
from fuel.manifests import MANIFESTS

__all__ = ["fill_subparser", "svhn_downloader"]

_PREFIX = "http://ufldl.stanford.edu/housenumbers/"


def svhn_downloader(which_format: int, directory: str, clear: bool = False) -> None:
    """Download the three files of one of the formats of SVHN, or delete them.

    Parameters
    ----------
    which_format : {1, 2}
        Whole house numbers (2.6 GB), or single digits (1.6 GB).
    directory : str
        Where the files go.
    clear : bool, optional
        Delete them instead.

    Raises
    ------
    ValueError
        If there is no such format.
    OSError
        If a file cannot be had; see `fuel.downloaders.base.default_downloader`.

    """
    if which_format not in (1, 2):
        raise ValueError(f"SVHN format needs to be either 1 or 2, got {which_format!r}")
    filenames = MANIFESTS[f"svhn_{which_format}"].filenames
    default_downloader(
        directory=directory,
        urls=[None] * len(filenames),
        filenames=filenames,
        url_prefix=_PREFIX,
        clear=clear,
    )


def fill_subparser(subparser: argparse.ArgumentParser) -> Callable[..., None]:
    """Give the sub-command of ``fuel-download`` its argument, the format.

    Parameters
    ----------
    subparser : argparse.ArgumentParser
        The parser of the sub-command.

    Returns
    -------
    callable
        `svhn_downloader`.

    """
    subparser.add_argument(
        "which_format",
        type=int,
        choices=(1, 2),
        help="1: whole house numbers with a box around each digit; 2: single digits",
    )
    return svhn_downloader
