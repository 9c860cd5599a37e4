"""Converts the ILSVRC2012 data set to HDF5: 1.4 million photographs of a thousand kinds of things.

It differs from `fuel.converters.ilsvrc2010` in the development kit, in that no picture has to be
replaced, and in that the classes of the test set were never published. The private modules named
there do the work.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import IO, Any

from numpy.typing import NDArray

from fuel.config_parser import config
from fuel.converters import _imagenet_writing as writing
from fuel.converters._imagenet_archives import (
    Archive,
    Patches,
    check_classes,
    check_numbers,
    name_of,
    names_in,
    other_pictures,
    train_pictures,
)
from fuel.converters._imagenet_devkit import (
    Kit,
    parse_ground_truth,
    read_files,
    read_mat,
    synsets_of,
)
from fuel.converters._imagenet_sockets import create_temp_tar
from fuel.converters._raw import damaged
from fuel.converters.base import check_exists

__all__ = [
    "convert_ilsvrc2012",
    "create_splits",
    "create_temp_tar",
    "fill_subparser",
    "prepare_hdf5_file",
    "prepare_metadata",
    "read_devkit",
    "read_metadata_mat_file",
]

DEVKIT_ARCHIVE = "ILSVRC2012_devkit_t12.tar.gz"
DEVKIT_META_PATH = "ILSVRC2012_devkit_t12/data/meta.mat"
DEVKIT_VALID_GROUNDTRUTH_PATH = "ILSVRC2012_devkit_t12/data/ILSVRC2012_validation_ground_truth.txt"
TRAIN_IMAGES_TAR = "ILSVRC2012_img_train.tar"
VALID_IMAGES_TAR = "ILSVRC2012_img_val.tar"
TEST_IMAGES_TAR = "ILSVRC2012_img_test.tar"
IMAGE_TARS = (TRAIN_IMAGES_TAR, VALID_IMAGES_TAR, TEST_IMAGES_TAR)
ALL_FILES = (DEVKIT_ARCHIVE, *IMAGE_TARS)

_ID = "ILSVRC2012_ID"
_ADVICE = "get it again with `fuel-download ilsvrc2012`"

#: The development kit does not say how large the test set is.
_PUBLISHED_TRAIN, _PUBLISHED_TEST = 1281167, 100000


@check_exists(required_files=ALL_FILES)
def convert_ilsvrc2012(
    directory: str,
    output_directory: str,
    output_filename: str = "ilsvrc2012.hdf5",
    shuffle_seed: int | None = None,
) -> tuple[str, ...]:
    """Convert the ILSVRC2012 data set.

    The file has three sources: ``encoded_images``, the bytes of a JPEG file for each example (one
    of those published is a PNG file); ``targets``, int16 of shape (n, 1) with the axes batch and
    index and the classes 0 to 999, in the order of the development kit; ``filenames``, byte
    strings of shape (n, 1). There are three splits: ``train`` (1,281,167 examples), ``valid``
    (50,000) and ``test`` (100,000, without ``targets``).

    The training examples are shuffled: the picture at place *i*, counted through the classes in
    the order of the archive and through the pictures of each in the order of their names, is the
    example ``numpy.random.RandomState(shuffle_seed).permutation(n)[i]``. The others are in the
    order of their names.

    Parameters
    ----------
    directory : str
        Where the files are: the development kit and three tar archives of pictures.
    output_directory : str
        Where the HDF5 file goes; it must exist, and have room for some 170 GB.
    output_filename : str, optional
        The name of the HDF5 file.
    shuffle_seed : int, optional
        Orders the training examples; by default the setting ``default_seed``.

    Returns
    -------
    tuple of str
        The path of the HDF5 file.

    Raises
    ------
    MissingInputFiles
        If a file is not there.
    StorageError
        If a file is cut short or damaged, the numbers of pictures are not those of the development
        kit, something is no picture, or there is no room.

    """
    paths = {name: os.path.join(directory, name) for name in ALL_FILES}
    train, valid, test = (paths[name] for name in IMAGE_TARS)
    kit = _kit(paths[DEVKIT_ARCHIVE])
    n_train = sum(kit.num_train.values())
    # What a look at the headers can tell comes before hours of work.
    check_classes(train, kit.classes, kit.num_train, _ADVICE)
    names = {path: names_in(path, _ADVICE) for path in (valid, test)}
    n_test = len(names[test])
    if n_train == _PUBLISHED_TRAIN and n_test != _PUBLISHED_TEST:
        raise damaged(test, f"it has {n_test} pictures instead of {_PUBLISHED_TEST}", _ADVICE)
    check_numbers(valid, names[valid], len(kit.valid), _ADVICE)
    check_numbers(test, names[test], None, _ADVICE)

    def none() -> Patches:
        return Patches({}, "")

    seed = config.default_seed if shuffle_seed is None else shuffle_seed
    output_path = os.path.join(output_directory, output_filename)
    writing.convert(
        output_path,
        "ilsvrc2012",
        create_splits(n_train, len(kit.valid), n_test),
        (
            writing.Section(
                lambda: train_pictures(train, none(), kit.classes, _ADVICE, kit.num_train),
                n_train,
                seed,
            ),
            writing.Section(
                lambda: other_pictures(valid, none(), kit.valid, _ADVICE, names[valid]),
                len(kit.valid),
            ),
            writing.Section(
                lambda: other_pictures(test, none(), None, _ADVICE, names[test]), n_test
            ),
        ),
        inputs=tuple(paths.values()),
    )
    return (output_path,)


def fill_subparser(subparser: argparse.ArgumentParser) -> Callable[..., tuple[str, ...]]:
    """Set up the sub-command of ``fuel-convert``; it has the option ``--shuffle-seed``.

    Parameters
    ----------
    subparser : argparse.ArgumentParser
        The parser of the sub-command.

    Returns
    -------
    callable
        `convert_ilsvrc2012`.

    """
    subparser.add_argument(
        "--shuffle-seed",
        type=int,
        default=None,
        help="orders the training examples (default: the setting `default_seed`)",
    )
    return convert_ilsvrc2012


def _kit(devkit_archive: Archive) -> Kit:
    synsets, raw_valid = read_devkit(devkit_archive)
    return Kit.of(
        synsets, _ID, raw_valid, f"{DEVKIT_VALID_GROUNDTRUTH_PATH} in {name_of(devkit_archive)}"
    )


def prepare_metadata(devkit_archive: Archive) -> tuple[int, NDArray[Any], int, dict[str, int]]:
    """Read what a conversion needs to know before it begins.

    Parameters
    ----------
    devkit_archive : str, path or binary file object
        The development kit.

    Returns
    -------
    n_train : int
        How many training pictures there are.
    valid_groundtruth : numpy.ndarray, int16
        The class of each picture of the validation set, from 0 on.
    n_test : int
        100,000, as published: the development kit does not say it. `convert_ilsvrc2012` counts.
    wnid_map : dict of str to int
        The number of each class by its WordNet ID.

    Raises
    ------
    StorageError
        If the kit is damaged.

    """
    kit = _kit(devkit_archive)
    return sum(kit.num_train.values()), kit.valid, _PUBLISHED_TEST, dict(kit.classes)


def create_splits(n_train: int, n_valid: int, n_test: int) -> dict[str, dict[str, tuple[int, int]]]:
    """Return which rows of which source belong to which split.

    Parameters
    ----------
    n_train, n_valid, n_test : int
        The numbers of examples.

    Returns
    -------
    dict
        For each split, and each of its sources, the first row and the one behind the last, as
        `fuel.datasets.hdf5.H5PYDataset.create_split_array` takes it. The test set has no targets.

    Examples
    --------
    >>> create_splits(10, 4, 5)["test"]
    {'encoded_images': (14, 19), 'filenames': (14, 19)}

    """
    return writing.create_splits(n_train, n_valid, n_test, labelled_test=False)


def prepare_hdf5_file(hdf5_file: Any, n_train: int, n_valid: int, n_test: int) -> None:
    """Make the sources of a file, empty, with the labels of their axes and the splits.

    Parameters
    ----------
    hdf5_file : h5py.File
        A file open for writing.
    n_train, n_valid, n_test : int
        The numbers of examples.

    """
    writing.prepare(hdf5_file, create_splits(n_train, n_valid, n_test))


def read_devkit(f: Archive) -> tuple[NDArray[Any], NDArray[Any]]:
    """Read the development kit.

    Parameters
    ----------
    f : str, path or binary file object
        The archive.

    Returns
    -------
    synsets : numpy.ndarray
        The table of synsets; see `read_metadata_mat_file`.
    raw_valid_groundtruth : numpy.ndarray, int16
        The number of the synset that each picture of the validation set shows.

    Raises
    ------
    StorageError
        If it is damaged, or a file is missing in it.

    """
    wanted = (DEVKIT_META_PATH, DEVKIT_VALID_GROUNDTRUTH_PATH)
    meta, truth = read_files(f, wanted, _ADVICE)
    synsets = _read_meta(meta, f"{DEVKIT_META_PATH} in {name_of(f)}")
    return synsets, parse_ground_truth(
        truth, f"{DEVKIT_VALID_GROUNDTRUTH_PATH} in {name_of(f)}", _ADVICE
    )


def read_metadata_mat_file(meta_mat: str | os.PathLike[str] | IO[bytes]) -> NDArray[Any]:
    """Read the file of the development kit that describes the classes.

    Parameters
    ----------
    meta_mat : str, path or binary file object
        ``meta.mat``, a MATLAB file of version 5.

    Returns
    -------
    numpy.ndarray
        One element for each synset, with the fields ``ILSVRC2012_ID`` (int16), ``WNID`` (S9),
        ``words`` and ``gloss`` (byte strings), ``num_children`` (int8), ``children`` (int16, the
        numbers of the synsets below, filled up with -1), ``wordnet_height`` (int8) and
        ``num_train_images`` (int16).

    Raises
    ------
    StorageError
        If it is damaged, or lacks something.

    """
    return _read_meta(meta_mat)


def _read_meta(meta_mat: Any, name: str | None = None) -> NDArray[Any]:
    variables, name = read_mat(meta_mat, _ADVICE, name)
    return synsets_of(variables, _ID, name, _ADVICE)
