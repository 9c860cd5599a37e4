"""Downloads the files of binarized MNIST; `fuel.converters.binarized_mnist` converts them."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from fuel.downloaders.base import default_downloader
from fuel.manifests import MANIFESTS

__all__ = ["fill_subparser"]


def fill_subparser(subparser: argparse.ArgumentParser) -> Callable[..., None]:
    """Give the sub-command of ``fuel-download`` its defaults.

    Parameters
    ----------
    subparser : argparse.ArgumentParser
        The parser of the sub-command.

    Returns
    -------
    callable
        `fuel.downloaders.base.default_downloader`.

    """
    manifest = MANIFESTS["binarized_mnist"]
    subparser.set_defaults(urls=manifest.urls, filenames=manifest.filenames)
    return default_downloader
