"""The Dogs vs. Cats competition."""

from __future__ import annotations

from fuel.manifests._base import DataFile, Manifest

__all__ = ["DOGS_VS_CATS"]

_DROPBOX = "https://www.dropbox.com/s/"

DOGS_VS_CATS = (
    Manifest(
        name="dogs_vs_cats",
        title="Dogs vs. Cats, 37,500 photographs of pets",
        files=(
            DataFile(
                name="dogs_vs_cats.train.zip", url=_DROPBOX + "s3u30quvpxqdbz6/train.zip?dl=1"
            ),
            DataFile(
                name="dogs_vs_cats.test1.zip", url=_DROPBOX + "21rwu6drnplsbkb/test1.zip?dl=1"
            ),
        ),
        hdf5="dogs_vs_cats.hdf5",
    ),
)
