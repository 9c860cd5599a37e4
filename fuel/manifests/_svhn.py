"""Street View House Numbers."""

from __future__ import annotations

from fuel.manifests._base import DataFile, Manifest

__all__ = ["SVHN"]

_STANFORD = "http://ufldl.stanford.edu/housenumbers/"


def _files(pattern: str) -> tuple[DataFile, ...]:
    names = [pattern.format(split) for split in ("train", "test", "extra")]
    return tuple(DataFile(name=name, url=_STANFORD + name) for name in names)


SVHN = (
    Manifest(
        name="svhn_1",
        title="Street View House Numbers, whole numbers with a box around each digit",
        files=_files("{}.tar.gz"),
        hdf5="svhn_format_1.hdf5",
    ),
    Manifest(
        name="svhn_2",
        title="Street View House Numbers, single digits of 32 x 32 pixels",
        files=_files("{}_32x32.mat"),
        hdf5="svhn_format_2.hdf5",
    ),
)
