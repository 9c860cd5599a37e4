"""The data sets of the ImageNet Large Scale Visual Recognition Challenge.

Whoever registers at image-net.org is given the address of the pictures, so they have none here.
"""

from __future__ import annotations

from fuel.manifests._base import DataFile, Manifest

__all__ = ["IMAGENET"]

_2010 = "http://www.image-net.org/challenges/LSVRC/2010/"

IMAGENET = (
    Manifest(
        name="ilsvrc2010",
        title="ILSVRC2010, 1.5 million photographs of 1000 classes",
        files=(
            DataFile(
                name="ILSVRC2010_test_ground_truth.txt",
                url=_2010 + "ILSVRC2010_test_ground_truth.txt",
            ),
            DataFile(
                name="ILSVRC2010_devkit-1.0.tar.gz",
                url=_2010 + "download/ILSVRC2010_devkit-1.0.tar.gz",
            ),
            DataFile(name="ILSVRC2010_images_train.tar"),
            DataFile(name="ILSVRC2010_images_val.tar"),
            DataFile(name="ILSVRC2010_images_test.tar"),
            DataFile(name="patch_images.tar"),
        ),
        hdf5="ilsvrc2010.hdf5",
    ),
    Manifest(
        name="ilsvrc2012",
        title="ILSVRC2012, 1.4 million photographs of 1000 classes",
        files=(
            DataFile(name="ILSVRC2012_devkit_t12.tar.gz"),
            DataFile(name="ILSVRC2012_img_train.tar"),
            DataFile(name="ILSVRC2012_img_val.tar"),
            DataFile(name="ILSVRC2012_img_test.tar"),
        ),
        hdf5="ilsvrc2012.hdf5",
    ),
)
