"""Downloads the raw files of Dogs vs. Cats, which `fuel.converters.dogs_vs_cats` converts.

The addresses are those of long ago. Where they do not answer, ``train.zip`` and ``test1.zip`` of
the competition are the same files under shorter names: https://www.kaggle.com/c/dogs-vs-cats/data
"""

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
    manifest = MANIFESTS["dogs_vs_cats"]
    subparser.set_defaults(urls=manifest.urls, filenames=manifest.filenames)
    return default_downloader
