"""The pictures of ILSVRC from one process to another, in the way of the original converters.

Programs that use these functions go on working; ``fuel-convert`` itself reads ahead in a thread
(`_imagenet_writing`). A message is the pickled pair of the picture's name and class, and the
picture. Pickles may run code when they are read, so such a socket must be one that only a process
of this program can write to: `fuel.utils.parallel.producer_consumer`, which is used here, starts
that process itself, and listens on the loopback interface only.
"""

from __future__ import annotations

import functools
import os
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy

from fuel.converters._imagenet_archives import (
    MAX_PICTURE_BYTES,
    Archive,
    Patches,
    check_numbers,
    check_picture,
    class_of,
    each_member,
    name_of,
    names_in,
    seekable,
)
from fuel.converters._imagenet_writing import encoded_name
from fuel.converters._raw import DAMAGE, damaged
from fuel.converters.base import progress_bar
from fuel.utils.formats import tar_open
from fuel.utils.parallel import producer_consumer

__all__ = [
    "create_temp_tar",
    "extract_patch_images",
    "image_consumer",
    "load_from_tar_or_patch",
    "other_set_producer",
    "process_other_set",
    "process_train_set",
    "train_set_producer",
]

_ADVICE = "get the archive again"


def extract_patch_images(f: Archive, which_set: str) -> dict[str, bytes]:
    """Return the replacements for broken pictures of one set.

    Parameters
    ----------
    f : str, path or binary file object
        The archive of replacements, in folders called train, val and test.
    which_set : {'train', 'valid', 'test'}
        The set.

    Returns
    -------
    dict of str to bytes
        The pictures by their names, without directories.

    Raises
    ------
    ValueError
        If there is no such set.
    StorageError
        If the archive is damaged.

    """
    return Patches.read(f, which_set, _ADVICE)


def load_from_tar_or_patch(
    tar: tarfile.TarFile, image_filename: str, patch_images: Mapping[str, bytes]
) -> tuple[bytes, bool]:
    """Return a picture of an archive, or its replacement.

    Parameters
    ----------
    tar : tarfile.TarFile
        The archive.
    image_filename : str
        The path of the picture in it.
    patch_images : dict of str to bytes
        Replacements by their names, without directories.

    Returns
    -------
    image_data : bytes
        The picture; if it was compressed with gzip, it is not any more.
    patched : bool
        Whether it is a replacement.

    Raises
    ------
    StorageError
        If it is no picture, or damaged.
    KeyError
        If the archive has no such file.

    """
    patch = patch_images.get(_base(image_filename))
    if patch is not None:
        return patch, True
    return _load(tar, image_filename, str(tar.name or "the archive")), False


def _base(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _load(tar: tarfile.TarFile, path: str, archive: str) -> bytes:
    member, name = tar.getmember(path), f"{path} in {archive}"
    if not member.isreg():
        raise damaged(name, "it is no regular file", _ADVICE)
    if member.size > MAX_PICTURE_BYTES:
        raise damaged(name, f"it has {member.size} bytes, too many for a picture", _ADVICE)
    file = tar.extractfile(member)
    assert file is not None  # it is a regular file
    try:
        content = file.read()
    except DAMAGE as error:
        raise damaged(name, f"it is cut short or damaged ({error})", _ADVICE) from error
    return check_picture(content, name, _ADVICE)


def train_set_producer(
    socket: Any, train_archive: Archive, patch_archive: Archive, wnid_map: Mapping[str, int]
) -> None:
    """Send the pictures of the training set.

    Classes are sent in the order of the archive, the pictures of each in the order of their names.

    Parameters
    ----------
    socket : zmq.Socket
        Where they go; see the module on who may be at its other end.
    train_archive : str, path or binary file object
        An archive of archives, one for each class.
    patch_archive : str, path or binary file object
        The archive of replacements.
    wnid_map : dict of str to int
        The number of each class by its WordNet ID.

    Raises
    ------
    StorageError
        If an archive is damaged. If replacements are left over it is a `ValueError` as well.

    """
    patches = _patches(patch_archive, "train")
    for one in each_member(train_archive, _ADVICE):
        wnid = class_of(one.name, wnid_map, name_of(train_archive), _ADVICE)
        with seekable(one) as inner:
            names_in(inner, _ADVICE)
            for name, content in _in_order(inner, patches):
                _send(socket, name, wnid_map[wnid], content)
    patches.check_used()


def other_set_producer(
    socket: Any,
    which_set: str,
    image_archive: Archive,
    patch_archive: Archive,
    groundtruth: Iterable[int | None],
) -> None:
    """Send the pictures of the validation or the test set, in the order of their names.

    Parameters
    ----------
    socket : zmq.Socket
        Where they go; see the module on who may be at its other end.
    which_set : {'valid', 'test'}
        Which set it is.
    image_archive : str, path or binary file object
        The pictures.
    patch_archive : str, path or binary file object
        The archive of replacements.
    groundtruth : iterable of int or None
        The class of each picture; None where it is not known.

    Raises
    ------
    StorageError
        If an archive is damaged, or the numbers of pictures and classes differ. If replacements
        are left over it is a `ValueError` as well.

    """
    patches = _patches(patch_archive, which_set)
    labels = list(groundtruth)
    check_numbers(image_archive, names_in(image_archive, _ADVICE), len(labels), _ADVICE)
    for (name, content), label in zip(_in_order(image_archive, patches), labels):
        _send(socket, name, label, content)
    patches.check_used()


def _patches(archive: Archive, which_set: str) -> Patches:
    return Patches(extract_patch_images(archive, which_set), name_of(archive))


def _in_order(archive: Any, patches: Patches) -> Iterator[tuple[str, bytes]]:
    """Go through an archive, which is known to be whole, in the order of the names."""
    if not isinstance(archive, (str, os.PathLike)):
        archive.seek(0)
    with tar_open(archive) as tar:
        for path in sorted(member.name for member in tar if member.isreg()):
            content = patches.take(_base(path))
            if content is None:
                content = _load(tar, path, name_of(archive))
            yield _base(path), content


def _send(socket: Any, name: str, label: int | None, content: bytes) -> None:
    import zmq

    socket.send_pyobj((name, label), zmq.SNDMORE)
    socket.send(content)


def image_consumer(
    socket: Any,
    hdf5_file: Any,
    num_expected: int,
    shuffle_seed: int | None = None,
    offset: int = 0,
) -> None:
    """Write the pictures that a producer sends.

    Parameters
    ----------
    socket : zmq.Socket
        Where they come from. What comes is unpickled, so only a process of this program may be at
        its other end.
    hdf5_file : h5py.File
        A file with the sources ``encoded_images``, ``filenames`` and ``targets``.
    num_expected : int
        How many pictures come.
    shuffle_seed : int, optional
        Permutes the rows: the picture that comes as number *i* goes to the row with that place in
        ``numpy.random.RandomState(shuffle_seed).permutation(num_expected)``. By default rows are
        written in their order.
    offset : int, optional
        The first row.

    """
    import zmq

    if shuffle_seed is None:
        rows = numpy.arange(num_expected)
    else:
        rows = numpy.random.RandomState(shuffle_seed).permutation(num_expected)
    with progress_bar("images", num_expected) as bar:
        for number, row in enumerate(rows.tolist(), 1):
            name, label = socket.recv_pyobj(zmq.SNDMORE)
            content = socket.recv()
            hdf5_file["filenames"][offset + row] = encoded_name(name)
            hdf5_file["encoded_images"][offset + row] = numpy.frombuffer(content, dtype="uint8")
            if label is not None:
                hdf5_file["targets"][offset + row] = label
            bar.update(number)


def process_train_set(
    hdf5_file: Any,
    train_archive: str,
    patch_archive: str,
    n_train: int,
    wnid_map: Mapping[str, int],
    shuffle_seed: int | None = None,
) -> None:
    """Write the training set, which another process reads.

    Parameters
    ----------
    hdf5_file : h5py.File
        A file that `prepare_hdf5_file` has prepared.
    train_archive, patch_archive : str
        The archives of pictures and of replacements.
    n_train : int
        How many pictures there are.
    wnid_map : dict of str to int
        The number of each class by its WordNet ID.
    shuffle_seed : int, optional
        Permutes the rows; see `image_consumer`.

    Raises
    ------
    StorageError
        If an archive is damaged.
    WorkerError
        If there are fewer pictures.

    """
    producer_consumer(
        functools.partial(
            train_set_producer,
            train_archive=train_archive,
            patch_archive=patch_archive,
            wnid_map=wnid_map,
        ),
        functools.partial(
            image_consumer,
            hdf5_file=hdf5_file,
            num_expected=n_train,
            shuffle_seed=shuffle_seed,
        ),
    )


def process_other_set(
    hdf5_file: Any,
    which_set: str,
    image_archive: str,
    patch_archive: str,
    groundtruth: Iterable[int | None],
    offset: int,
) -> None:
    """Write the validation or the test set, which another process reads.

    Parameters
    ----------
    hdf5_file : h5py.File
        A file that `prepare_hdf5_file` has prepared.
    which_set : {'valid', 'test'}
        Which set it is.
    image_archive, patch_archive : str
        The archives of pictures and of replacements.
    groundtruth : iterable of int or None
        The class of each picture; None where it is not known.
    offset : int
        The first row.

    Raises
    ------
    StorageError
        If an archive is damaged, or the numbers of pictures and classes differ.

    """
    labels = list(groundtruth)
    producer_consumer(
        functools.partial(
            other_set_producer,
            which_set=which_set,
            image_archive=image_archive,
            patch_archive=patch_archive,
            groundtruth=labels,
        ),
        functools.partial(
            image_consumer, hdf5_file=hdf5_file, num_expected=len(labels), offset=offset
        ),
    )


@contextmanager
def create_temp_tar() -> Iterator[str]:
    """Make an empty archive for a block, for those who have no replacements.

    Yields
    ------
    str
        Its path.

    """
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "empty.tar")
        tarfile.open(path, "w").close()
        yield path
