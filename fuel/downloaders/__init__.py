"""Getting the raw files of data sets.

`all_downloaders` is what ``fuel-download`` knows: pairs of a name and a function that fills the
parser of a sub-command and returns the function to call. Other packages offer the same tuple.

- `base`: the functions that downloaders are made of
- `packaged`: copies that ship with the package
- `iris`, `digits`: one module a data set
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from fuel.downloaders import (
    celeba,
    digits,
    dogs_vs_cats,
    iris,
    one_billion_word,
    svhn,
    youtube_audio,
)

__all__ = ["all_downloaders"]

#: Name and function of every downloader.
all_downloaders: tuple[
    tuple[str, Callable[[argparse.ArgumentParser], Callable[..., None]]], ...
] = (
    ("digits", digits.fill_subparser),
    ("celeba", celeba.fill_subparser),
    ("iris", iris.fill_subparser),
    ("svhn", svhn.fill_subparser),
    ("dogs_vs_cats", dogs_vs_cats.fill_subparser),
    ("youtube_audio", youtube_audio.fill_subparser),
    ("one_billion_word", one_billion_word.fill_subparser),
)
