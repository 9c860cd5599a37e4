"""Data sets on the pages of the universities of Toronto and Massachusetts."""

from __future__ import annotations

from fuel.manifests._base import DataFile, Manifest

__all__ = ["UNIVERSITIES"]

_TORONTO = "http://www.cs.toronto.edu/"

_UMASS = "https://people.cs.umass.edu/~marlin/data/"


def _silhouettes(size: int) -> Manifest:
    name = f"caltech101_silhouettes_{size}_split1.mat"
    return Manifest(
        name=f"caltech101_silhouettes_{size}",
        title=f"Caltech-101 Silhouettes, outlines of 101 kinds of things, {size} x {size} pixels",
        files=(DataFile(name=name, url=_UMASS + name),),
        hdf5=f"caltech101_silhouettes{size}.hdf5",
    )


def _cifar(classes: int, size: int, sha256: str) -> Manifest:
    name = f"cifar-{classes}-python.tar.gz"
    return Manifest(
        name=f"cifar{classes}",
        title=f"CIFAR-{classes}, 60,000 photographs of 32 x 32 pixels, {classes} classes",
        files=(
            DataFile(
                name=name,
                url=f"{_TORONTO}~kriz/{name}",
                mirrors=(f"https://www.cs.toronto.edu/~kriz/{name}",),
                size=size,
                sha256=sha256,
            ),
        ),
        hdf5=f"cifar{classes}.hdf5",
    )


UNIVERSITIES = (
    Manifest(
        name="binarized_mnist",
        title="MNIST, binarized once for all, 70,000 images of 28 x 28 pixels",
        files=tuple(
            DataFile(
                name=f"binarized_mnist_{split}.amat",
                url=(
                    f"{_TORONTO}~larocheh/public/datasets/binarized_mnist/"
                    f"binarized_mnist_{split}.amat"
                ),
            )
            for split in ("train", "valid", "test")
        ),
        hdf5="binarized_mnist.hdf5",
    ),
    _silhouettes(16),
    _silhouettes(28),
    _cifar(10, 170498071, "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce"),
    _cifar(100, 169001437, "85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7"),
)
