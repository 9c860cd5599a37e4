"""Downloads the raw files of ILSVRC2010, which `fuel.converters.ilsvrc2010` converts.

Most of them need a registration at https://image-net.org, which gives an address for them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from fuel.downloaders.base import default_downloader
from fuel.manifests import MANIFESTS

__all__ = ["fill_subparser"]


def fill_subparser(subparser: argparse.ArgumentParser) -> Callable[..., None]:
    """Give the sub-command of ``fuel-download`` its defaults, and the option for an address.

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
        help="the address that the registered get, but for the names of the files",
    )
    subparser.set_defaults(urls=manifest.urls, filenames=manifest.filenames)
    return default_downloader
