"""Converts ILSVRC2012, 1.4 million photographs of 1,000 classes, to HDF5.

It differs from ILSVRC2010, whose functions are in `fuel.converters.ilsvrc2010`, in that the classes
of the test pictures are secret and no picture has to be replaced.
"""

from __future__ import annotations

import argparse
import io
import os
from collections.abc import Callable
from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.config_parser import config
from fuel.converters import _imagenet_file
from fuel.converters._imagenet_file import fill, prepare_hdf5_file
from fuel.converters._imagenet_images import other_images, train_images
from fuel.converters._imagenet_metadata import read_kit, read_synsets, wnids_of
from fuel.converters._provenance import Inputs, write_provenance
from fuel.converters.base import atomic_output, check_exists, progress_bar
from fuel.manifests import MANIFESTS
from fuel.utils.formats import tar_open

__all__ = [
    "convert_ilsvrc2012",
    "create_splits",
    "fill_subparser",
    "prepare_hdf5_file",
    "prepare_metadata",
    "read_devkit",
    "read_metadata_mat_file",
]

DEVKIT_ARCHIVE = "ILSVRC2012_devkit_t12.tar.gz"
TRAIN_IMAGES_TAR = "ILSVRC2012_img_train.tar"
VALID_IMAGES_TAR = "ILSVRC2012_img_val.tar"
TEST_IMAGES_TAR = "ILSVRC2012_img_test.tar"
_FOLDER = "ILSVRC2012_devkit_t12"


@check_exists(required_files=MANIFESTS["ilsvrc2012"].filenames)
def convert_ilsvrc2012(
    directory: str,
    output_directory: str,
    shuffle_seed: int | None = None,
    output_filename: str = "ilsvrc2012.hdf5",
) -> tuple[str, ...]:
    """Convert ILSVRC2012.

    The file has the sources ``encoded_images`` (the files as they are, uint8 of variable length),
    ``targets`` (int16 of shape (n, 1), from 0 to 999; not of the test pictures) and ``filenames``
    (of shape (n, 1)), and the splits ``train`` (in a shuffled order), ``valid`` and ``test``.

    Parameters
    ----------
    directory : str
        Where the four raw files are.
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
    devkit, train, valid, test = [os.path.join(directory, name) for name in names]
    n_train, valid_truth, wnid_map = _metadata(devkit)
    n_test = _count(test)
    n_valid = len(valid_truth)
    seed = config.default_seed if shuffle_seed is None else shuffle_seed
    output_path = os.path.join(output_directory, output_filename)
    inputs = Inputs([devkit, train, valid, test])
    try:
        with (
            atomic_output(output_path) as part,
            h5py.File(part, "w") as h5file,
            progress_bar("ilsvrc2012", n_train + n_valid + n_test) as bar,
        ):
            prepare_hdf5_file(h5file, n_train, n_valid, n_test)
            create_splits(h5file, n_train, n_valid, n_test)
            fill(h5file, train_images(train, {}, wnid_map), n_train, seed, 0, bar)
            fill(h5file, other_images(valid, {}, valid_truth), n_valid, None, n_train, bar)
            fill(h5file, other_images(test, {}, None), n_test, None, n_train + n_valid, bar)
            write_provenance(h5file, inputs.describe())
    except BaseException:
        inputs.give_up()
        raise
    return (output_path,)


def create_splits(hdf5_file: Any, n_train: int, n_valid: int, n_test: int) -> None:
    """Write the splits and the axis labels; the test pictures have no targets.

    Parameters
    ----------
    hdf5_file : h5py.File
        A file that `prepare_hdf5_file` made.
    n_train, n_valid, n_test : int
        How many pictures there are.

    """
    _imagenet_file.create_splits(hdf5_file, n_train, n_valid, n_test, test_targets=False)


def _count(archive: str) -> int:
    """Count the pictures of an archive."""
    import tarfile

    from fuel.exceptions import StorageError

    try:
        with tar_open(archive) as tar:
            return sum(1 for info in tar if info.isfile())
    except (tarfile.TarError, EOFError) as error:
        raise StorageError(f"{archive} is cut short or damaged: {error}; get it again") from error


def _metadata(devkit: Any) -> tuple[int, NDArray[numpy.int16], dict[str, int]]:
    synsets, raw_valid = read_devkit(devkit)
    wnid_map, n_train = wnids_of(synsets, 2012)
    return n_train, raw_valid - 1, wnid_map


def prepare_metadata(
    devkit_archive: Any,
) -> tuple[int, NDArray[numpy.int16], int, dict[str, int]]:
    """Read what the development kit says.

    Parameters
    ----------
    devkit_archive : path or binary file object
        The development kit.

    Returns
    -------
    n_train : int
        The number of training pictures.
    valid_groundtruth : numpy.ndarray of int16
        The classes of the validation pictures, from 0 on.
    n_test : int
        The number of test pictures, which is the same for everybody: 100,000.
    wnid_map : dict of str to int
        The classes by WordNet id.

    """
    n_train, valid_truth, wnid_map = _metadata(devkit_archive)
    return n_train, valid_truth, 100_000, wnid_map


def read_devkit(f: Any) -> tuple[NDArray[Any], NDArray[numpy.int16]]:
    """Read the development kit.

    Parameters
    ----------
    f : path or binary file object
        The archive.

    Returns
    -------
    synsets : numpy.ndarray
        See `read_metadata_mat_file`.
    raw_valid_groundtruth : numpy.ndarray of int16
        The classes of the validation pictures, from 1 on.

    """
    meta, truth = read_kit(f, 2012, _FOLDER)
    return read_metadata_mat_file(io.BytesIO(meta)), truth


def read_metadata_mat_file(meta_mat: Any) -> NDArray[Any]:
    """Read ``meta.mat``.

    Parameters
    ----------
    meta_mat : path or binary file object
        The file.

    Returns
    -------
    numpy.ndarray of a structured type
        ``ILSVRC2012_ID``, ``WNID``, ``words``, ``gloss``, ``num_children``, ``children``,
        ``wordnet_height``, ``num_train_images``.

    """
    return read_synsets(meta_mat, 2012)[0]


def fill_subparser(subparser: argparse.ArgumentParser) -> Callable[..., tuple[str, ...]]:
    """Set up the sub-command of ``fuel-convert``; it returns `convert_ilsvrc2012`.

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
    return convert_ilsvrc2012
