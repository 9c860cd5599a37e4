"""Converts the ILSVRC2010 data set to HDF5: 1.5 million photographs of a thousand kinds of things.

What the raw archives are like is told by the private modules beside this one: ``_imagenet_devkit``
(the development kit), ``_imagenet_archives`` (pictures), ``_imagenet_writing`` (the HDF5 file) and
``_imagenet_sockets`` (functions with which a process of its own reads the archives).
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
    labels_of,
    parse_ground_truth,
    read_files,
    read_mat,
    synsets_of,
)
from fuel.converters._imagenet_sockets import (
    extract_patch_images,
    image_consumer,
    load_from_tar_or_patch,
    other_set_producer,
    process_other_set,
    process_train_set,
    train_set_producer,
)
from fuel.converters._raw import damaged
from fuel.converters.base import check_exists

__all__ = [
    "convert_ilsvrc2010",
    "create_splits",
    "extract_patch_images",
    "fill_subparser",
    "image_consumer",
    "load_from_tar_or_patch",
    "other_set_producer",
    "prepare_hdf5_file",
    "prepare_metadata",
    "process_other_set",
    "process_train_set",
    "read_devkit",
    "read_metadata_mat_file",
    "train_set_producer",
]

DEVKIT_ARCHIVE = "ILSVRC2010_devkit-1.0.tar.gz"
DEVKIT_META_PATH = "devkit-1.0/data/meta.mat"
DEVKIT_VALID_GROUNDTRUTH_PATH = "devkit-1.0/data/ILSVRC2010_validation_ground_truth.txt"
PATCH_IMAGES_TAR = "patch_images.tar"
TEST_GROUNDTRUTH = "ILSVRC2010_test_ground_truth.txt"
TRAIN_IMAGES_TAR = "ILSVRC2010_images_train.tar"
VALID_IMAGES_TAR = "ILSVRC2010_images_val.tar"
TEST_IMAGES_TAR = "ILSVRC2010_images_test.tar"
IMAGE_TARS = (TRAIN_IMAGES_TAR, VALID_IMAGES_TAR, TEST_IMAGES_TAR, PATCH_IMAGES_TAR)
PUBLIC_FILES = (TEST_GROUNDTRUTH, DEVKIT_ARCHIVE)
ALL_FILES = PUBLIC_FILES + IMAGE_TARS

_ID = "ILSVRC2010_ID"
_ADVICE = "get it again with `fuel-download ilsvrc2010`"


@check_exists(required_files=ALL_FILES)
def convert_ilsvrc2010(
    directory: str,
    output_directory: str,
    output_filename: str = "ilsvrc2010.hdf5",
    shuffle_seed: int | None = None,
) -> tuple[str, ...]:
    """Convert the ILSVRC2010 data set.

    The file has three sources: ``encoded_images``, the bytes of a JPEG file for each example;
    ``targets``, int16 of shape (n, 1) with the axes batch and index and the classes 0 to 999, in
    the order of the development kit; ``filenames``, byte strings of shape (n, 1). There are three
    splits: ``train`` (1,261,406 examples), ``valid`` (50,000) and ``test`` (150,000). Pictures
    that were published broken are replaced by those of ``patch_images.tar``.

    The training examples are shuffled: the picture at place *i*, counted through the classes in
    the order of the archive and through the pictures of each in the order of their names, is the
    example ``numpy.random.RandomState(shuffle_seed).permutation(n)[i]``. The others are in the
    order of their names.

    Parameters
    ----------
    directory : str
        Where the files are: the development kit, the ground truth of the test set and four tar
        archives of pictures.
    output_directory : str
        Where the HDF5 file goes; it must exist, and have room for some 140 GB.
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
        kit, something is no picture, a replacement was not used, or there is no room.

    """
    paths = {name: os.path.join(directory, name) for name in ALL_FILES}
    train, valid, test = (paths[name] for name in IMAGE_TARS[:3])
    kit, test_labels = _metadata(paths[DEVKIT_ARCHIVE], paths[TEST_GROUNDTRUTH])
    # What a look at the headers can tell comes before hours of work.
    check_classes(train, kit.classes, kit.num_train, _ADVICE)
    names = {path: names_in(path, _ADVICE) for path in (valid, test)}
    labels = {valid: kit.valid, test: test_labels}
    for path in names:
        check_numbers(path, names[path], len(labels[path]), _ADVICE)
    patches = Patches.for_all(paths[PATCH_IMAGES_TAR], _ADVICE)

    def other(path: str, which: str) -> writing.Section:
        return writing.Section(
            lambda: other_pictures(path, patches[which], labels[path], _ADVICE, names[path]),
            len(labels[path]),
        )

    n_train = sum(kit.num_train.values())
    seed = config.default_seed if shuffle_seed is None else shuffle_seed
    output_path = os.path.join(output_directory, output_filename)
    writing.convert(
        output_path,
        "ilsvrc2010",
        create_splits(n_train, len(kit.valid), len(test_labels)),
        (
            writing.Section(
                lambda: train_pictures(
                    train, patches["train"], kit.classes, _ADVICE, kit.num_train
                ),
                n_train,
                seed,
            ),
            other(valid, "valid"),
            other(test, "test"),
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
        `convert_ilsvrc2010`.

    """
    subparser.add_argument(
        "--shuffle-seed",
        type=int,
        default=None,
        help="orders the training examples (default: the setting `default_seed`)",
    )
    return convert_ilsvrc2010


def _metadata(devkit_archive: Archive, test_groundtruth_path: str) -> tuple[Kit, NDArray[Any]]:
    synsets, _, raw_valid = read_devkit(devkit_archive)
    kit = Kit.of(
        synsets, _ID, raw_valid, f"{DEVKIT_VALID_GROUNDTRUTH_PATH} in {name_of(devkit_archive)}"
    )
    with open(test_groundtruth_path, "rb") as file:
        raw_test = parse_ground_truth(file.read(), test_groundtruth_path, _ADVICE)
    return kit, labels_of(synsets[_ID], raw_test, test_groundtruth_path)


def prepare_metadata(
    devkit_archive: Archive, test_groundtruth_path: str
) -> tuple[int, NDArray[Any], NDArray[Any], dict[str, int]]:
    """Read what a conversion needs to know before it begins.

    Parameters
    ----------
    devkit_archive : str, path or binary file object
        The development kit.
    test_groundtruth_path : str
        The ground truth of the test set.

    Returns
    -------
    n_train : int
        How many training pictures there are.
    valid_groundtruth, test_groundtruth : numpy.ndarray, int16
        The class of each picture, from 0 on.
    wnid_map : dict of str to int
        The number of each class by its WordNet ID.

    Raises
    ------
    StorageError
        If one of the files is damaged.

    """
    kit, test = _metadata(devkit_archive, test_groundtruth_path)
    return sum(kit.num_train.values()), kit.valid, test, dict(kit.classes)


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
        `fuel.datasets.hdf5.H5PYDataset.create_split_array` takes it.

    Examples
    --------
    >>> create_splits(10, 4, 5)["valid"]["targets"]
    (10, 14)

    """
    return writing.create_splits(n_train, n_valid, n_test, labelled_test=True)


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


def read_devkit(f: Archive) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Read the development kit.

    Parameters
    ----------
    f : str, path or binary file object
        The archive.

    Returns
    -------
    synsets : numpy.ndarray
        The table of synsets; see `read_metadata_mat_file`.
    cost_matrix : numpy.ndarray, shape (1000, 1000)
        The cost of taking one class for another.
    raw_valid_groundtruth : numpy.ndarray, int16
        The number of the synset that each picture of the validation set shows.

    Raises
    ------
    StorageError
        If it is damaged, or a file is missing in it.

    """
    wanted = (DEVKIT_META_PATH, DEVKIT_VALID_GROUNDTRUTH_PATH)
    meta, truth = read_files(f, wanted, _ADVICE)
    synsets, cost_matrix = _read_meta(meta, f"{DEVKIT_META_PATH} in {name_of(f)}")
    return (
        synsets,
        cost_matrix,
        parse_ground_truth(truth, f"{DEVKIT_VALID_GROUNDTRUTH_PATH} in {name_of(f)}", _ADVICE),
    )


def read_metadata_mat_file(
    meta_mat: str | os.PathLike[str] | IO[bytes],
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Read the file of the development kit that describes the classes.

    Parameters
    ----------
    meta_mat : str, path or binary file object
        ``meta.mat``, a MATLAB file of version 5.

    Returns
    -------
    synsets : numpy.ndarray
        One element for each synset, with the fields ``ILSVRC2010_ID`` (int16), ``WNID`` (S9),
        ``words`` and ``gloss`` (byte strings), ``num_children`` (int8), ``children`` (int16, the
        numbers of the synsets below, filled up with -1), ``wordnet_height`` (int8) and
        ``num_train_images`` (int16).
    cost_matrix : numpy.ndarray, shape (1000, 1000)
        The cost of taking one class for another.

    Raises
    ------
    StorageError
        If it is damaged, or lacks something.

    """
    return _read_meta(meta_mat)


def _read_meta(meta_mat: Any, name: str | None = None) -> tuple[NDArray[Any], NDArray[Any]]:
    variables, name = read_mat(meta_mat, _ADVICE, name)
    synsets = synsets_of(variables, _ID, name, _ADVICE)
    if "cost_matrix" not in variables:
        raise damaged(name, "it lacks `cost_matrix`", _ADVICE)
    return synsets, variables["cost_matrix"]
