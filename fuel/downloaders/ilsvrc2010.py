"""Downloads the raw files of ILSVRC2010; what becomes of them is in `fuel.converters.ilsvrc2010`.

The pictures have no public address: whoever registers at https://image-net.org is told one, which
is given to the command with ``-P``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from fuel.downloaders.base import default_downloader
from fuel.manifests import MANIFESTS

__all__ = ["IMAGE_TARS", "fill_subparser"]

#: The files that have no public address.
IMAGE_TARS = tuple(MANIFESTS["ilsvrc2010"].filenames[2:])


def fill_subparser(subparser: argparse.ArgumentParser) -> Callable[..., None]:
    """Give the sub-command of ``fuel-download`` its defaults, and the option ``-P``.

    Parameters
    ----------
    subparser : argparse.ArgumentParser
        The parser of the sub-command.

    Returns
    -------
    callable
        `fuel.downloaders.base.default_downloader`.

    """
    manifest = MANIFESTS["ilsvrc2010"]
    subparser.add_argument(
        "-P",
        "--url-prefix",
        default=None,
        help="address of the directory that holds the files without a public address, with a "
        "slash at its end",
    )
    subparser.set_defaults(urls=manifest.urls, filenames=manifest.filenames)
    return default_downloader
