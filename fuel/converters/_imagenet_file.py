"""The HDF5 file of ILSVRC: made first, then filled picture by picture.

Pictures come from ``_imagenet_images``, directly or, for programs that were written for the
original's functions, through a socket.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy

from fuel.exceptions import StorageError

__all__ = ["create_splits", "fill", "image_consumer", "prepare_hdf5_file", "received"]

_LABELS = {
    "encoded_images": ("batch",),
    "targets": ("batch", "index"),
    "filenames": ("batch", "index"),
}


def prepare_hdf5_file(hdf5_file: Any, n_train: int, n_valid: int, n_test: int) -> None:
    """Make the datasets of a file.

    Parameters
    ----------
    hdf5_file : h5py.File
        A file open for writing.
    n_train, n_valid, n_test : int
        How many pictures there are.

    """
    import h5py

    total = n_train + n_valid + n_test
    hdf5_file.create_dataset(
        "encoded_images", shape=(total,), dtype=h5py.vlen_dtype(numpy.dtype("uint8"))
    )
    hdf5_file.create_dataset("targets", shape=(total, 1), dtype=numpy.int16)
    hdf5_file.create_dataset("filenames", shape=(total, 1), dtype="S32")


def create_splits(
    hdf5_file: Any, n_train: int, n_valid: int, n_test: int, test_targets: bool = True
) -> None:
    """Write the splits and the axis labels.

    Parameters
    ----------
    hdf5_file : h5py.File
        A file that `prepare_hdf5_file` made.
    n_train, n_valid, n_test : int
        How many pictures there are.
    test_targets : bool, optional
        Whether the classes of the test pictures are known.

    """
    from fuel.datasets.hdf5 import H5PYDataset

    bounds = {
        "train": (0, n_train),
        "valid": (n_train, n_train + n_valid),
        "test": (n_train + n_valid, n_train + n_valid + n_test),
    }
    parts: dict[str, dict[str, Any]] = {
        split: dict.fromkeys(_LABELS, rows) for split, rows in bounds.items()
    }
    if not test_targets:
        del parts["test"]["targets"]
    hdf5_file.attrs["split"] = H5PYDataset.create_split_array(parts)
    for name, labels in _LABELS.items():
        for axis, label in enumerate(labels):
            hdf5_file[name].dims[axis].label = label


def fill(
    hdf5_file: Any,
    images: Iterable[tuple[Any, Any, bytes]],
    num_expected: int,
    shuffle_seed: int | None = None,
    offset: int = 0,
    bar: Any = None,
) -> None:
    """Store pictures.

    Parameters
    ----------
    hdf5_file : h5py.File
        A file that `prepare_hdf5_file` made.
    images : iterable of (str, int, bytes)
        Base name, class (None where it is secret), and content.
    num_expected : int
        How many there are.
    shuffle_seed : int, optional
        Put them in the order that ``numpy.random.RandomState(shuffle_seed)`` permutes them to;
        by default in the order in which they come.
    offset : int, optional
        The first row.
    bar : object, optional
        Its ``update`` gets the number of those that are stored.

    Raises
    ------
    StorageError
        If there are more of them, or fewer.

    """
    order = (
        range(num_expected)
        if shuffle_seed is None
        else numpy.random.RandomState(shuffle_seed).permutation(num_expected)
    )
    count = 0
    for name, label, content in images:
        if count == num_expected:
            raise StorageError(
                f"there are more than the {num_expected} pictures that the development kit "
                f"announces, {name!r} among them; do the archives belong together?"
            )
        row = offset + int(order[count])
        hdf5_file["encoded_images"][row] = numpy.frombuffer(content, dtype=numpy.uint8)
        hdf5_file["filenames"][row] = name.encode("ascii") if isinstance(name, str) else name
        if label is not None:
            hdf5_file["targets"][row] = label
        count += 1
        if bar is not None:
            bar.update(offset + count)
    if count != num_expected:
        raise StorageError(
            f"there are {count} pictures instead of the {num_expected} that the development kit "
            "announces; an archive was cut short: get it again"
        )


def received(socket: Any) -> Iterator[tuple[Any, Any, bytes]]:
    """Receive pictures from a producer, without an end.

    What comes is unpickled, so the other end must be a process that this one started.

    Parameters
    ----------
    socket : zmq.Socket
        Where they come from.

    Yields
    ------
    tuple
        As `fill` takes them.

    """
    import zmq

    while True:
        # The flag means nothing for receiving, but programs look for the call as it always was.
        name, label = socket.recv_pyobj(zmq.SNDMORE)
        yield name, label, socket.recv()


def image_consumer(
    socket: Any,
    hdf5_file: Any,
    num_expected: int,
    shuffle_seed: int | None = None,
    offset: int = 0,
) -> None:
    """Store pictures that come through a socket.

    Parameters
    ----------
    socket : zmq.Socket
        Where `send_images` of a process that this one started sends them. What comes is unpickled:
        the socket must not be open to anybody else.
    hdf5_file, num_expected, shuffle_seed, offset
        See `fill`.

    """
    from itertools import islice

    fill(hdf5_file, islice(received(socket), num_expected), num_expected, shuffle_seed, offset)


def send_images(socket: Any, images: Iterable[tuple[Any, Any, bytes]]) -> None:
    """Send pictures to an `image_consumer`.

    Parameters
    ----------
    socket : zmq.Socket
        Where to.
    images : iterable of (str, int, bytes)
        The pictures.

    """
    import zmq

    for name, label, content in images:
        socket.send_pyobj((name, label), zmq.SNDMORE)
        socket.send(content)
