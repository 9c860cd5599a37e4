"""MNIST and the data sets that share its format."""

from __future__ import annotations

from fuel.manifests._base import DataFile, Manifest

__all__ = ["IDX"]

_NAMES = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)

_LECUN = "http://yann.lecun.com/exdb/mnist/"

_MNIST_MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)

_MNIST = (
    (9912422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
    (28881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
    (1648877, "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
    (4542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
)

_FASHION = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"

_FASHION_MIRROR = "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/"

_KMNIST = "http://codh.rois.ac.jp/kmnist/dataset/kmnist/"

IDX = (
    Manifest(
        name="emnist",
        title="EMNIST, handwritten letters and digits, 814,255 images of 28 x 28 pixels",
        files=(
            DataFile(
                name="gzip.zip",
                url="https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip",
                mirrors=("http://www.itl.nist.gov/iaui/vip/cs_links/EMNIST/gzip.zip",),
            ),
        ),
        hdf5="emnist_balanced.hdf5",
    ),
    Manifest(
        name="fashion_mnist",
        title="Fashion-MNIST, clothes, 70,000 images of 28 x 28 pixels",
        files=tuple(
            DataFile(name=name, url=_FASHION + name, mirrors=(_FASHION_MIRROR + name,))
            for name in _NAMES
        ),
        hdf5="fashion_mnist.hdf5",
    ),
    Manifest(
        name="kmnist",
        title="KMNIST, cursive Japanese characters, 70,000 images of 28 x 28 pixels",
        files=tuple(DataFile(name=name, url=_KMNIST + name) for name in _NAMES),
        hdf5="kmnist.hdf5",
    ),
    Manifest(
        name="mnist",
        title="MNIST, handwritten digits, 70,000 images of 28 x 28 pixels",
        files=tuple(
            DataFile(
                name=name,
                url=_LECUN + name,
                mirrors=tuple(mirror + name for mirror in _MNIST_MIRRORS),
                size=size,
                sha256=sha256,
            )
            for name, (size, sha256) in zip(_NAMES, _MNIST, strict=True)
        ),
        hdf5="mnist.hdf5",
    ),
)
