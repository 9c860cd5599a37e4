from fuel.datasets import base as base
from fuel.datasets import billion as billion
from fuel.datasets import celeba as celeba
from fuel.datasets import digits as digits
from fuel.datasets import dogs_vs_cats as dogs_vs_cats
from fuel.datasets import hdf5 as hdf5
from fuel.datasets import iris as iris
from fuel.datasets import svhn as svhn
from fuel.datasets import text as text
from fuel.datasets import toy as toy
from fuel.datasets import youtube_audio as youtube_audio
from fuel.datasets.base import Dataset as Dataset
from fuel.datasets.base import IndexableDataset as IndexableDataset
from fuel.datasets.base import IterableDataset as IterableDataset
from fuel.datasets.billion import OneBillionWord as OneBillionWord
from fuel.datasets.celeba import CelebA as CelebA
from fuel.datasets.digits import Digits as Digits
from fuel.datasets.dogs_vs_cats import DogsVsCats as DogsVsCats
from fuel.datasets.hdf5 import H5PYDataset as H5PYDataset
from fuel.datasets.iris import Iris as Iris
from fuel.datasets.svhn import SVHN as SVHN
from fuel.datasets.text import TextFile as TextFile

__all__ = [
    "SVHN",
    "CelebA",
    "Dataset",
    "Digits",
    "DogsVsCats",
    "H5PYDataset",
    "IndexableDataset",
    "Iris",
    "IterableDataset",
    "OneBillionWord",
    "TextFile",
]
