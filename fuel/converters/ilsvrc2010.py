"""Converts ILSVRC2010, 1.5 million photographs of 1,000 classes, to HDF5.

The development kit is read in ``_imagenet_metadata``, archives in ``_imagenet_images``, the file is
filled in ``_imagenet_file``. The functions that programs use of this module keep their names.
"""

from __future__ import annotations

import argparse
import io
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.config_parser import config
from fuel.converters._imagenet_file import (
    create_splits,
    fill,
    image_consumer,
    prepare_hdf5_file,
    send_images,
)
from fuel.converters._imagenet_images import (
    extract_patch_images,
    load_from_tar_or_patch,
    other_images,
    train_images,
)
from fuel.converters._imagenet_metadata import read_ground_truth, read_kit, read_synsets, wnids_of
from fuel.converters._provenance import Inputs, write_provenance
from fuel.converters.base import atomic_output, check_exists, progress_bar
from fuel.exceptions import StorageError
from fuel.manifests import MANIFESTS

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
TRAIN_IMAGES_TAR = "ILSVRC2010_images_train.tar"
VALID_IMAGES_TAR = "ILSVRC2010_images_val.tar"
TEST_IMAGES_TAR = "ILSVRC2010_images_test.tar"
PATCH_IMAGES_TAR = "patch_images.tar"
TEST_GROUNDTRUTH = "ILSVRC2010_test_ground_truth.txt"
_FOLDER = "devkit-1.0"


@check_exists(required_files=MANIFESTS["ilsvrc2010"].filenames)
def convert_ilsvrc2010(
    directory: str,
    output_directory: str,
    shuffle_seed: int | None = None,
    output_filename: str = "ilsvrc2010.hdf5",
) -> tuple[str, ...]:
    """Convert ILSVRC2010.

    The file has the sources ``encoded_images`` (the files as they are, uint8 of variable length),
    ``targets`` (int16 of shape (n, 1), from 0 to 999) and ``filenames`` (of shape (n, 1)), and the
    splits ``train`` (in a shuffled order), ``valid`` and ``test``.

    Parameters
    ----------
    directory : str
        Where the six raw files are.
    output_directory : str
        Where the HDF5 file goes; it must exist.
    shuffle_seed : int, optional
        What the order of the training pictures depends on; by default ``config.default_seed``.
    output_filename : str, optional
        The name of the HDF5 file.

    Returns
    -------
    tuple of str
        The path of the HDF5 file.

    Raises
    ------
    MissingInputFiles
        If a raw file is not there.
    StorageError
        If one is damaged, or they do not belong together.

    """
    import h5py

    names = [DEVKIT_ARCHIVE, TRAIN_IMAGES_TAR, VALID_IMAGES_TAR, TEST_IMAGES_TAR]
    names += [PATCH_IMAGES_TAR, TEST_GROUNDTRUTH]
    devkit, train, valid, test, patch, truth = [os.path.join(directory, name) for name in names]
    n_train, valid_truth, test_truth, wnid_map = prepare_metadata(devkit, truth)
    n_valid, n_test = len(valid_truth), len(test_truth)
    seed = config.default_seed if shuffle_seed is None else shuffle_seed
    output_path = os.path.join(output_directory, output_filename)
    inputs = Inputs([devkit, train, valid, test, patch, truth])
    try:
        with (
            atomic_output(output_path) as part,
            h5py.File(part, "w") as h5file,
            progress_bar("ilsvrc2010", n_train + n_valid + n_test) as bar,
        ):
            prepare_hdf5_file(h5file, n_train, n_valid, n_test)
            create_splits(h5file, n_train, n_valid, n_test)
            patches = extract_patch_images(patch, "train")
            fill(h5file, train_images(train, patches, wnid_map), n_train, seed, 0, bar)
            offset = n_train
            for split, archive, known in (
                ("valid", valid, valid_truth),
                ("test", test, test_truth),
            ):
                patches = extract_patch_images(patch, split)
                images = other_images(archive, patches, known)
                fill(h5file, images, len(known), None, offset, bar)
                offset += len(known)
            write_provenance(h5file, inputs.describe())
    except BaseException:
        inputs.give_up()
        raise
    return (output_path,)


def prepare_metadata(
    devkit_archive: Any, test_groundtruth_path: Any
) -> tuple[int, NDArray[numpy.int16], NDArray[numpy.int16], dict[str, int]]:
    """Read what the development kit says.

    Parameters
    ----------
    devkit_archive : path or binary file object
        The development kit.
    test_groundtruth_path : path or binary file object
        The classes of the test pictures.

    Returns
    -------
    n_train : int
        The number of training pictures.
    valid_groundtruth, test_groundtruth : numpy.ndarray of int16
        Classes, from 0 on.
    wnid_map : dict of str to int
        The classes by WordNet id.

    """
    synsets, _, raw_valid = read_devkit(devkit_archive)
    wnid_map, n_train = wnids_of(synsets, 2010)
    return n_train, raw_valid - 1, read_ground_truth(test_groundtruth_path) - 1, wnid_map


def read_devkit(f: Any) -> tuple[NDArray[Any], NDArray[numpy.uint8], NDArray[numpy.int16]]:
    """Read the development kit.

    Parameters
    ----------
    f : path or binary file object
        The archive.

    Returns
    -------
    synsets : numpy.ndarray
        See `read_metadata_mat_file`.
    cost_matrix : numpy.ndarray of uint8
        See `read_metadata_mat_file`.
    raw_valid_groundtruth : numpy.ndarray of int16
        The classes of the validation pictures, from 1 on.

    """
    meta, truth = read_kit(f, 2010, _FOLDER)
    synsets, cost = read_metadata_mat_file(io.BytesIO(meta))
    return synsets, cost, truth


def read_metadata_mat_file(meta_mat: Any) -> tuple[NDArray[Any], NDArray[numpy.uint8]]:
    """Read ``meta.mat``.

    Parameters
    ----------
    meta_mat : path or binary file object
        The file.

    Returns
    -------
    synsets : numpy.ndarray of a structured type
        ``ILSVRC2010_ID``, ``WNID``, ``words``, ``gloss``, ``num_children``, ``children``,
        ``wordnet_height``, ``num_train_images``.
    cost_matrix : numpy.ndarray of uint8
        The cost of taking one class for another.

    """
    synsets, cost = read_synsets(meta_mat, 2010)
    if cost is None:
        raise StorageError("meta.mat of the development kit has no cost_matrix; get it again")
    return synsets, cost


def _patches(archive: Any, which_set: str) -> dict[str, bytes]:
    return {} if archive is None else extract_patch_images(archive, which_set)


def train_set_producer(
    socket: Any, train_archive: Any, patch_archive: Any, wnid_map: Mapping[Any, int]
) -> None:
    """Send the training pictures through a socket.

    Parameters
    ----------
    socket : zmq.Socket
        To an `image_consumer` in the process that started this one.
    train_archive, patch_archive : path or binary file object
        The archives.
    wnid_map : dict of str to int
        The classes by WordNet id.

    """
    send_images(socket, train_images(train_archive, _patches(patch_archive, "train"), wnid_map))


def other_set_producer(
    socket: Any,
    which_set: str,
    image_archive: Any,
    patch_archive: Any,
    groundtruth: Sequence[int],
) -> None:
    """Send validation or test pictures through a socket.

    Parameters
    ----------
    socket : zmq.Socket
        To an `image_consumer` in the process that started this one.
    which_set : {'valid', 'test'}
        Which.
    image_archive, patch_archive : path or binary file object
        The archives.
    groundtruth : sequence of int
        The class of each picture.

    """
    send_images(
        socket, other_images(image_archive, _patches(patch_archive, which_set), groundtruth)
    )


def process_train_set(
    hdf5_file: Any,
    train_archive: Any,
    patch_archive: Any,
    n_train: int,
    wnid_map: Mapping[Any, int],
    shuffle_seed: int | None = None,
) -> None:
    """Store the training pictures.

    Parameters
    ----------
    hdf5_file : h5py.File
        A file that `prepare_hdf5_file` made.
    train_archive, patch_archive : path or binary file object
        The archives.
    n_train : int
        How many there are.
    wnid_map : dict of str to int
        The classes by WordNet id.
    shuffle_seed : int, optional
        What their order depends on; by default they come as in the archive.

    """
    images = train_images(train_archive, _patches(patch_archive, "train"), wnid_map)
    fill(hdf5_file, images, n_train, shuffle_seed)


def process_other_set(
    hdf5_file: Any,
    which_set: str,
    image_archive: Any,
    patch_archive: Any,
    groundtruth: Sequence[int],
    offset: int,
) -> None:
    """Store validation or test pictures.

    Parameters
    ----------
    hdf5_file : h5py.File
        A file that `prepare_hdf5_file` made.
    which_set : {'valid', 'test'}
        Which.
    image_archive, patch_archive : path or binary file object
        The archives.
    groundtruth : sequence of int
        The class of each picture.
    offset : int
        The first row.

    """
    images = other_images(image_archive, _patches(patch_archive, which_set), groundtruth)
    fill(hdf5_file, images, len(groundtruth), None, offset)


def fill_subparser(subparser: argparse.ArgumentParser) -> Callable[..., tuple[str, ...]]:
    """Set up the sub-command of ``fuel-convert``; it returns `convert_ilsvrc2010`.

    Parameters
    ----------
    subparser : argparse.ArgumentParser
        The parser of the sub-command.

    """
    subparser.add_argument(
        "--shuffle-seed",
        type=int,
        default=config.default_seed,
        help="seed of the order of the training pictures (default: %(default)s)",
    )
    return convert_ilsvrc2010
