from fuel.datasets import adult as adult
from fuel.datasets import base as base
from fuel.datasets import billion as billion
from fuel.datasets import binarized_mnist as binarized_mnist
from fuel.datasets import caltech101_silhouettes as caltech101_silhouettes
from fuel.datasets import celeba as celeba
from fuel.datasets import cifar10 as cifar10
from fuel.datasets import cifar100 as cifar100
from fuel.datasets import digits as digits
from fuel.datasets import dogs_vs_cats as dogs_vs_cats
from fuel.datasets import emnist as emnist
from fuel.datasets import fashion_mnist as fashion_mnist
from fuel.datasets import hdf5 as hdf5
from fuel.datasets import imagenet as imagenet
from fuel.datasets import iris as iris
from fuel.datasets import kmnist as kmnist
from fuel.datasets import mnist as mnist
from fuel.datasets import svhn as svhn
from fuel.datasets import text as text
from fuel.datasets import toy as toy
from fuel.datasets import youtube_audio as youtube_audio
from fuel.datasets.adult import Adult as Adult
from fuel.datasets.base import Dataset as Dataset
from fuel.datasets.base import IndexableDataset as IndexableDataset
from fuel.datasets.base import IterableDataset as IterableDataset
from fuel.datasets.billion import OneBillionWord as OneBillionWord
from fuel.datasets.binarized_mnist import BinarizedMNIST as BinarizedMNIST
from fuel.datasets.caltech101_silhouettes import CalTech101Silhouettes as CalTech101Silhouettes
from fuel.datasets.celeba import CelebA as CelebA
from fuel.datasets.cifar10 import CIFAR10 as CIFAR10
from fuel.datasets.cifar100 import CIFAR100 as CIFAR100
from fuel.datasets.digits import Digits as Digits
from fuel.datasets.dogs_vs_cats import DogsVsCats as DogsVsCats
from fuel.datasets.emnist import EMNIST as EMNIST
from fuel.datasets.fashion_mnist import FashionMNIST as FashionMNIST
from fuel.datasets.hdf5 import H5PYDataset as H5PYDataset
from fuel.datasets.iris import Iris as Iris
from fuel.datasets.kmnist import KMNIST as KMNIST
from fuel.datasets.mnist import MNIST as MNIST
from fuel.datasets.svhn import SVHN as SVHN
from fuel.datasets.text import TextFile as TextFile

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "EMNIST",
    "KMNIST",
    "MNIST",
    "SVHN",
    "Adult",
    "BinarizedMNIST",
    "CalTech101Silhouettes",
    "CelebA",
    "Dataset",
    "Digits",
    "DogsVsCats",
    "FashionMNIST",
    "H5PYDataset",
    "IndexableDataset",
    "Iris",
    "IterableDataset",
    "OneBillionWord",
    "TextFile",
]
