"""Data sets of the UCI Machine Learning Repository."""

from __future__ import annotations

from types import MappingProxyType

from fuel.manifests._base import DataFile, Manifest, Table

__all__ = ["UCI"]

_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/"

_IRIS_UCI = "6f608b71a7317216319b4d27b4d9bc84e6abd734eda7872b71a458569e2656c0"

UCI = (
    Manifest(
        name="adult",
        title="Adult, 48,842 people of a census and whether they earn above 50,000 dollars",
        files=(
            DataFile(name="adult.data", url=_UCI + "adult/adult.data"),
            DataFile(name="adult.test", url=_UCI + "adult/adult.test"),
        ),
        hdf5="adult.hdf5",
    ),
    Manifest(
        name="digits",
        title="UCI handwritten digits, 1,797 images of 8 x 8 pixels",
        files=(
            DataFile(
                name="optdigits.tes",
                url=_UCI + "optdigits/optdigits.tes",
                size=264712,
                packaged_sha256=(
                    "6ebb3d2fee246a4e99363262ddf8a00a3c41bee6014c373ed9d9216ba7f651b8"
                ),
                table=Table(rows=1797, columns=65),
            ),
        ),
        hdf5="digits.hdf5",
    ),
    Manifest(
        name="iris",
        title="Iris plants, 150 flowers of three species",
        files=(
            DataFile(
                name="iris.data",
                url=_UCI + "iris/iris.data",
                size=4551,
                sha256=_IRIS_UCI,
                also=MappingProxyType(
                    {
                        "0fed2a99db77ec533a62dc66894d3ec6df3b58b6a8f3cf4a6b47e4086b7f97dc": (
                            "Fisher's values (as in bezdekIris.data)"
                        ),
                    }
                ),
                packaged_sha256=_IRIS_UCI,
                table=Table(rows=150, columns=5),
            ),
        ),
        hdf5="iris.hdf5",
    ),
)
