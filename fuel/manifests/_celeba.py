"""CelebFaces Attributes."""

from __future__ import annotations

from fuel.manifests._base import DataFile, Manifest

__all__ = ["CELEBA"]

_DROPBOX = "https://www.dropbox.com/sh/8oqt9vytwxb3s4r/"

_FILES = (
    DataFile(
        name="img_align_celeba.zip",
        url=_DROPBOX + "AADIKlz8PR9zr6Y20qbkunrba/Img/img_align_celeba.zip?dl=1",
    ),
    DataFile(
        name="list_attr_celeba.txt",
        url=_DROPBOX + "AAC7-uCaJkmPmvLX2_P5qy0ga/Anno/list_attr_celeba.txt?dl=1",
    ),
)

CELEBA = (
    Manifest(
        name="celeba_aligned_cropped",
        title="CelebA, 202,599 faces of 178 x 218 pixels with 40 attributes",
        files=_FILES,
        hdf5="celeba_aligned_cropped.hdf5",
    ),
    Manifest(
        name="celeba_64",
        title="CelebA, 202,599 faces of 64 x 64 pixels with 40 attributes",
        files=_FILES,
        hdf5="celeba_64.hdf5",
    ),
)
