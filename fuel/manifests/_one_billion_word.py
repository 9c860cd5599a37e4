"""The One Billion Word benchmark."""

from __future__ import annotations

from fuel.manifests._base import DataFile, Manifest

__all__ = ["ONE_BILLION_WORD"]

_NAME = "1-billion-word-language-modeling-benchmark-r13output.tar.gz"

#: It is read as text: there is no HDF5 file.
ONE_BILLION_WORD = (
    Manifest(
        name="one_billion_word",
        title="One Billion Word, shuffled sentences of news",
        files=(DataFile(name=_NAME, url=f"http://www.statmt.org/lm-benchmark/{_NAME}"),),
        hdf5="",
    ),
)
