"""From IDX files of images and labels to HDF5: what MNIST and its relatives have in common.

The names of the files and the outputs are in the converters (`mnist`, `fashion_mnist`, `kmnist`,
`emnist`), the format is in `_idx`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy
from numpy.typing import DTypeLike, NDArray

from fuel.converters._idx import IdxError, IdxReader
from fuel.converters.base import progress_bar
from fuel.converters.writer import HDF5Writer, SourceSpec

__all__ = [
    "IMAGE_MAGIC",
    "LABEL_MAGIC",
    "TARGETS",
    "as_pixels",
    "convert_pairs",
    "open_pair",
    "pixel_dtype",
]

#: The first four bytes of a file of images (bytes, three axes) and of labels (bytes, one axis).
IMAGE_MAGIC, LABEL_MAGIC = 2051, 2049

#: What the labels of all image data sets here look like.
TARGETS = SourceSpec((1,), "uint8", ("batch", "index"))

_BATCH = 4096

#: Opens the files of images and labels of a split.
Opener = Callable[[], AbstractContextManager[tuple[IdxReader, IdxReader]]]


def pixel_dtype(dtype: DTypeLike | None) -> numpy.dtype[Any]:
    """Return the type that pixels get.

    Parameters
    ----------
    dtype : dtype-like or None
        A floating type or ``bool``; None leaves pixels as they are.

    Returns
    -------
    numpy.dtype
        The type.

    Raises
    ------
    ValueError
        If it is another one.

    """
    if dtype is None:
        return numpy.dtype("uint8")
    found = numpy.dtype(dtype)
    if found.kind not in "bf":
        raise ValueError(
            f"pixels can be converted to bool or to a floating type, got {found}; leave `dtype` "
            "out to keep them as they are"
        )
    return found


def as_pixels(images: NDArray[Any], dtype: numpy.dtype[Any]) -> NDArray[Any]:
    """Convert pixels from 0 to 255: to 0 and 1 by halves for bool, to 0.0 ... 1.0 for floats."""
    if dtype.kind == "b":
        return images >= 128
    if dtype.kind == "f":
        images = images.astype(dtype)
        images /= dtype.type(255)
    return images


def open_pair(
    images: str, labels: str, advice: str, magics: tuple[int, int] = (IMAGE_MAGIC, LABEL_MAGIC)
) -> Opener:
    """Return what opens a file of images and one of labels.

    Parameters
    ----------
    images, labels : str
        The paths.
    advice : str
        What messages tell to do if they are damaged.
    magics : tuple of int, optional
        What each begins with.

    Returns
    -------
    callable
        Returns a context manager with the two `IdxReader`.

    """

    @contextmanager
    def open_both() -> Iterator[tuple[IdxReader, IdxReader]]:
        with (
            IdxReader(images, magics[0], advice=advice) as first,
            IdxReader(labels, magics[1], advice=advice) as second,
        ):
            yield first, second

    return open_both


def convert_pairs(
    pairs: Mapping[str, Opener],
    output_path: str,
    *,
    title: str,
    inputs: tuple[str, ...],
    dtype: DTypeLike | None = None,
    upright: bool = True,
    classes: range | None = None,
) -> tuple[str, ...]:
    """Write a file of images and labels.

    Parameters
    ----------
    pairs : dict of str to callable
        For each split what opens its files; called twice, as the headers of all of them are
        looked at first.
    output_path : str
        The HDF5 file.
    title : str
        What the progress bar says.
    inputs : tuple of str
        The paths of the raw files, which are noted in the file.
    dtype : dtype-like, optional
        What pixels are converted to; see `pixel_dtype`.
    upright : bool, optional
        Whether the rows of the raw images are rows. If not, they are columns, and are turned.
    classes : range, optional
        Which labels there are; others are an error. By default all.

    Returns
    -------
    tuple of str
        The path of the HDF5 file.

    Raises
    ------
    ValueError
        If `dtype` is not possible.
    StorageError
        If a file is not what it should be.

    """
    pixels = pixel_dtype(dtype)
    sizes, shapes = {}, {}
    for split, opener in pairs.items():
        with opener() as (images, labels):
            if len(images) != len(labels):
                raise IdxError(
                    f"{images.name} has {len(images)} images, but {labels.name} has {len(labels)} "
                    "labels; they are not of one download: get both again"
                )
            sizes[split] = len(images)
            height, width = images.shape[1:]
            shapes[images.name] = (height, width) if upright else (width, height)
    if len(set(shapes.values())) > 1:
        told = ", ".join(f"{shape} in {name}" for name, shape in shapes.items())
        raise IdxError(f"the images must be of the same size, got {told}; get the files again")
    height, width = next(iter(shapes.values()))
    sources = {
        "features": SourceSpec(
            (1, height, width), pixels.name, ("batch", "channel", "height", "width")
        ),
        "targets": TARGETS,
    }
    done = 0
    with (
        HDF5Writer(output_path, sources, sizes=sizes, splits=pairs, inputs=inputs) as writer,
        progress_bar(title, sum(sizes.values())) as bar,
    ):
        for split, opener in pairs.items():
            with opener() as (images, labels):
                batches = zip(images.batches(_BATCH), labels.batches(_BATCH), strict=True)
                for features, targets in batches:
                    _check_labels(labels, targets, classes)
                    if not upright:
                        features = features.transpose(0, 2, 1)
                    writer.add(
                        split,
                        features=as_pixels(features, pixels)[:, None],
                        targets=targets[:, None],
                    )
                    done += len(targets)
                    bar.update(done)
    return (output_path,)


def _check_labels(reader: IdxReader, targets: NDArray[Any], classes: range | None) -> None:
    if classes is None or not len(targets):
        return
    for label in (int(targets.min()), int(targets.max())):
        if label not in classes:
            raise reader.error(
                f"labels should be from {classes[0]} to {classes[-1]}, but one is {label}"
            )
