"""The HDF5 files of ILSVRC: their layout, and filling them in a shuffled order.

Rows are permuted as they are written, so that a file that is read from the front to the back is
read in a random order. `HDF5Writer` appends, so it is not used: here the raw archives are read
forwards, and each picture goes to its row. Where pictures come from is in `_imagenet_archives`.
"""

from __future__ import annotations

import errno
import os
import shutil
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy

from fuel.converters._imagenet_archives import Picture
from fuel.converters._output import atomic_output
from fuel.converters._provenance import Inputs, write_provenance
from fuel.converters.base import label_axes, progress_bar
from fuel.exceptions import StorageError

__all__ = ["Section", "convert", "create_splits", "encoded_name", "prepare", "read_ahead"]

#: The length of a name in the file.
NAME_BYTES = 32
#: Pictures wait until there are so many bytes, or so many pictures, of them.
_BLOCK_BYTES = 16 * 2**20
_BLOCK_PICTURES = 512
#: How many bytes are read ahead of those that are being written.
_AHEAD_BYTES = 32 * 2**20


def create_splits(
    n_train: int, n_valid: int, n_test: int, labelled_test: bool
) -> dict[str, dict[str, tuple[int, int]]]:
    """Return which rows of which source belong to which split."""
    bounds = {
        "train": (0, n_train),
        "valid": (n_train, n_train + n_valid),
        "test": (n_train + n_valid, n_train + n_valid + n_test),
    }
    splits = {
        name: dict.fromkeys(("encoded_images", "targets", "filenames"), rows)
        for name, rows in bounds.items()
    }
    if not labelled_test:
        del splits["test"]["targets"]
    return splits


def prepare(hdf5_file: Any, splits: dict[str, dict[str, tuple[int, int]]]) -> None:
    """Make the sources of a file, empty, with the labels of their axes and the splits.

    Parameters
    ----------
    hdf5_file : h5py.File
        A file open for writing. Of its methods ``create_dataset`` is used.
    splits : dict
        What `create_splits` returns.

    """
    import h5py

    from fuel.datasets.hdf5 import H5PYDataset

    rows = {
        source: max(bounds[source][1] for bounds in splits.values() if source in bounds)
        for source in splits["train"]
    }
    hdf5_file.attrs["split"] = H5PYDataset.create_split_array(splits)
    hdf5_file.create_dataset(
        "encoded_images",
        shape=(rows["encoded_images"],),
        dtype=h5py.vlen_dtype(numpy.dtype("uint8")),
    )
    hdf5_file.create_dataset("targets", shape=(rows["targets"], 1), dtype=numpy.dtype("int16"))
    hdf5_file.create_dataset(
        "filenames", shape=(rows["filenames"], 1), dtype=numpy.dtype(f"S{NAME_BYTES}")
    )
    label_axes(hdf5_file["encoded_images"], "batch")
    label_axes(hdf5_file["targets"], "batch", "index")
    label_axes(hdf5_file["filenames"], "batch", "index")


def encoded_name(name: str) -> bytes:
    """Return the name of a picture as it is stored; StorageError if it does not fit."""
    encoded = name.encode("ascii", "backslashreplace")
    if len(encoded) > NAME_BYTES:
        raise StorageError(
            f"the name of a picture must have at most {NAME_BYTES} characters of ASCII, got "
            f"{name!r}; get the archives again"
        )
    return encoded


@dataclass(frozen=True)
class Section:
    """A split that is to be written.

    Attributes
    ----------
    pictures : callable
        Returns its pictures, in any order.
    count : int
        How many there are.
    seed : int or None
        Permutes its rows; None leaves them in their order.

    """

    pictures: Callable[[], Iterator[Picture]]
    count: int
    seed: int | None = None


def convert(
    output_path: str,
    name: str,
    splits: dict[str, dict[str, tuple[int, int]]],
    sections: Sequence[Section],
    inputs: Sequence[str],
) -> None:
    """Write a file, whole or not at all.

    Parameters
    ----------
    output_path : str
        Its path.
    name : str
        What is converted, for the progress bar.
    splits : dict
        What `create_splits` returns.
    sections : sequence of Section
        The splits, in the same order.
    inputs : sequence of str
        The raw files, whose names, sizes and SHA-256 are noted.

    Raises
    ------
    StorageError
        If the raw files are damaged, or there is no room.

    """
    import h5py

    needed = sum(os.path.getsize(path) for path in inputs)
    with atomic_output(output_path) as part, _full_disk_told(output_path, needed):
        noted = Inputs(inputs)
        try:
            with (
                h5py.File(part, "w") as h5file,
                progress_bar(name, sum(section.count for section in sections)) as bar,
            ):
                prepare(h5file, splits)
                offset = 0
                for section in sections:
                    writer = _Rows(h5file, offset, _permutation(section))
                    with read_ahead(section.pictures()) as pictures:
                        for picture in pictures:
                            writer.add(picture)
                            bar.update(offset + writer.count)
                    writer.finish()
                    offset += section.count
                write_provenance(h5file, noted.describe())
        except BaseException:
            noted.give_up()
            raise


def _permutation(section: Section) -> Any:
    """Return the row of each picture, by its place."""
    if section.seed is None:
        return numpy.arange(section.count)
    return numpy.random.RandomState(section.seed).permutation(section.count)


class _Rows:
    """Writes pictures to the rows that are theirs, many at a time.

    Parameters
    ----------
    h5file : h5py.File
        The file.
    offset : int
        The first row.
    rows : numpy.ndarray
        For each place the row, counted from `offset`.

    """

    def __init__(self, h5file: Any, offset: int, rows: Any) -> None:
        self._images = h5file["encoded_images"]
        self._targets = h5file["targets"]
        self._names = h5file["filenames"]
        self._offset = offset
        self._rows = rows
        self._waiting: list[Picture] = []
        self._bytes = 0
        self.count = 0

    def add(self, picture: Picture) -> None:
        if picture.place >= len(self._rows):
            raise StorageError(
                f"there are more pictures than the {len(self._rows)} expected, the first is "
                f"{picture.name}; get the archives again, all of the same year"
            )
        self._waiting.append(picture)
        self._bytes += len(picture.content)
        self.count += 1
        if self._bytes >= _BLOCK_BYTES or len(self._waiting) >= _BLOCK_PICTURES:
            self._flush()

    def finish(self) -> None:
        self._flush()
        if self.count != len(self._rows):
            raise StorageError(
                f"there are {self.count} pictures instead of {len(self._rows)}; get the archives "
                "again, all of the same year"
            )

    def _flush(self) -> None:
        pictures, self._waiting, self._bytes = self._waiting, [], 0
        if not pictures:
            return
        rows = self._offset + numpy.array([self._rows[picture.place] for picture in pictures])
        images = numpy.empty(len(pictures), dtype=self._images.dtype)
        for place, picture in enumerate(pictures):
            images[place] = numpy.frombuffer(picture.content, "uint8")
        _write(self._images, rows, images)
        names = numpy.array(
            [encoded_name(picture.name) for picture in pictures], dtype=self._names.dtype
        )
        _write(self._names, rows, names)
        if pictures[0].label is not None:
            labels = numpy.array([picture.label for picture in pictures], dtype="int16")
            _write(self._targets, rows, labels)


def _write(dataset: Any, rows: Any, values: Any) -> None:
    """Write rows in any order: h5py's own way takes one call of HDF5 for each of them."""
    import h5py

    space = dataset.id.get_space()
    points = numpy.zeros((len(rows), dataset.ndim), dtype="uint64")
    points[:, 0] = rows
    space.select_elements(points)
    dataset.id.write(h5py.h5s.create_simple((len(rows),)), space, values)


@contextmanager
def read_ahead(
    pictures: Iterable[Picture], max_bytes: int = _AHEAD_BYTES
) -> Iterator[Iterator[Picture]]:
    """Read pictures in a thread while others are being written.

    Parameters
    ----------
    pictures : iterable of Picture
        Gone through in the thread. If it is a generator, it is closed there.
    max_bytes : int, optional
        About how far ahead: reading waits while more is waiting to be taken.

    Yields
    ------
    iterator of Picture
        The same; an exception that was raised in the thread is raised here, in its place.

    """
    ahead = _Ahead(iter(pictures), max_bytes)
    try:
        yield ahead.taken()
    finally:
        ahead.stop()


class _Ahead:
    def __init__(self, pictures: Iterator[Picture], max_bytes: int) -> None:
        self._pictures = pictures
        self._max_bytes = max_bytes
        self._ready: deque[Picture] = deque()
        self._bytes = 0
        self._over = False
        self._stopped = False
        self._error: BaseException | None = None
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="fuel-reading", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            for picture in self._pictures:
                with self._changed:
                    self._ready.append(picture)
                    self._bytes += len(picture.content)
                    self._changed.notify_all()
                    while self._bytes > self._max_bytes and not self._stopped:
                        self._changed.wait()
                    if self._stopped:
                        break
        except BaseException as error:
            self._error = error
        finally:
            close = getattr(self._pictures, "close", None)
            if close is not None:
                close()
            with self._changed:
                self._over = True
                self._changed.notify_all()

    def taken(self) -> Iterator[Picture]:
        while True:
            with self._changed:
                while not self._ready and not self._over:
                    self._changed.wait()
                if not self._ready:
                    break
                picture = self._ready.popleft()
                self._bytes -= len(picture.content)
                self._changed.notify_all()
            yield picture
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        self._thread.join()


@contextmanager
def _full_disk_told(path: str, needed: int) -> Iterator[None]:
    """Say of a full disk how much room is needed; at once, if that can be foreseen."""
    folder = os.path.dirname(os.path.realpath(path))
    free = shutil.disk_usage(folder).free

    def error() -> StorageError:
        return StorageError(
            f"{path} cannot be written: it takes about {needed:,} bytes, as the archives do, and "
            f"{free:,} bytes are free in {folder}; make room, or give another directory"
        )

    # Pictures cannot be compressed further, and what is around them is a small part.
    if free < 0.9 * needed:
        raise error()
    try:
        yield
    except (OSError, RuntimeError) as problem:
        numbers = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
        told = any(f"errno = {number}," in str(problem) for number in numbers)
        if not isinstance(problem, StorageError) and (
            told or getattr(problem, "errno", None) in numbers
        ):
            raise error() from problem
        raise
