"""Rewriting an HDF5 file so that it is read fast: another layout, other chunks, another order.

The examples, splits, axis labels and attributes stay what they are. How a file is stored now, and
whether that suits random reading, is told by ``fuel-info``.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable, Iterator
from typing import Any

from fuel.converters.base import progress_bar
from fuel.converters.writer import HDF5Writer, SourceSpec
from fuel.exceptions import StorageError
from fuel.kernels.permutation import Permutation

__all__ = ["convert_repack", "fill_subparser", "repack"]

#: What HDF5 and this package write by themselves.
_OWN = frozenset(
    {
        "CLASS",
        "DIMENSION_LABELS",
        "DIMENSION_LIST",
        "NAME",
        "REFERENCE_LIST",
        "fuel_provenance",
        "split",
    }
)
_BLOCK_BYTES = 8 * 2**20
_FEWEST, _MOST = 1, 4096
#: What is assumed of an example whose size varies: that of a photograph.
_RAGGED_BYTES = 256 * 2**10


def repack(
    path: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    layout: str = "contiguous",
    compression: str | None = None,
    compression_level: int | None = None,
    chunk_bytes: int | None = None,
    byte_shuffle: bool = False,
    checksum: bool = False,
    shuffle_seed: int | None = None,
) -> str:
    """Rewrite a file.

    Parameters
    ----------
    path : path
        The file.
    output : path
        The new file; it may be the same, which is then replaced when the new one is whole.
    layout, compression, compression_level, chunk_bytes, byte_shuffle, checksum
        How to store it, see `fuel.converters.writer.HDF5Writer`. In one piece, which is read
        fastest in any order, by default.
    shuffle_seed : int, optional
        Put the examples of each split in a shuffled order, which depends on this. A file whose
        neighbours have nothing in common is read well by `ChunkShuffledScheme`.

    Returns
    -------
    str
        `output`.

    Raises
    ------
    fuel.exceptions.StorageError
        If a file cannot be read or written.
    ValueError
        If the file holds what cannot be rewritten, or an option is unknown.

    Notes
    -----
    The file is written split by split. Examples that belong to several splits are written once for
    each; lists of row numbers become rows that follow one another. What belongs to no split is
    left out.

    Examples
    --------
    >>> import h5py, numpy
    >>> from fuel.converters.repack import repack
    >>> with h5py.File("old.hdf5", "w") as f:
    ...     _ = f.create_dataset("x", data=numpy.arange(10), chunks=(2,), compression="gzip")
    >>> with h5py.File(repack("old.hdf5", "new.hdf5"), "r") as f:
    ...     f["x"].chunks, f["x"][:3]
    (None, array([0, 1, 2]))

    """
    from fuel.datasets.hdf5 import H5PYDataset
    from fuel.io.hdf5.store import DEFAULT_BYTES

    path, output = os.fspath(path), os.fspath(output)
    found = _Contents(path)
    parts: dict[str | None, Any] = {}
    for split in found.splits:
        parts[split] = H5PYDataset(
            path,
            None if split is None else (split,),
            subset_order="given",
            chunk_cache_bytes=DEFAULT_BYTES,
        )
    sizes = {split or "": part.num_examples for split, part in parts.items()}
    writer = HDF5Writer(
        output,
        found.specs,
        sizes=sizes,
        absent={
            split or "": tuple(name for name in found.specs if name not in part.sources)
            for split, part in parts.items()
        },
        splits=None if None in parts else list(sizes),
        layout=layout,
        compression=compression,
        compression_level=compression_level,
        chunk_bytes=chunk_bytes,
        byte_shuffle=byte_shuffle,
        checksum=checksum,
        inputs=(path,),
        attributes=found.attributes,
    )
    for source, attributes in found.of_sources.items():
        writer.describe(source, attributes)
    name = os.path.basename(path)
    with writer, progress_bar(name, sum(sizes.values()), prefix="Rewriting") as bar:
        done = 0
        for split, part in parts.items():
            for (text, source), comment in found.comments.items():
                if text == split:
                    writer.comment(text, source, comment)
            for batch in _batches(part, found.row_bytes, shuffle_seed):
                writer.add(split, **batch)
                done += len(next(iter(batch.values())))
                bar.update(done)
            part.close(None)
    return output


class _Contents:
    """What is in a file, without its data."""

    def __init__(self, path: str) -> None:
        import h5py

        from fuel.datasets import _h5_layout, _splits
        from fuel.datasets._h5_handles import noticing_damage, open_hdf5

        with open_hdf5(path) as h5file, noticing_damage(path):
            splits = _splits.get_all_splits(h5file)
            rows = _splits.read_splits(h5file)
            order = list(dict.fromkeys(row.split for row in rows))
            self.splits: list[str | None] = [*order] if splits else [None]
            names = _h5_layout.get_all_sources(h5file)
            if not names:
                raise StorageError(f"{path!r} contains no dataset with examples")
            labels = _h5_layout.get_axis_labels(h5file)
            specs = _h5_layout.specs_of(h5file, names)
            self.specs: dict[str, SourceSpec] = {}
            self.row_bytes = 1
            self.of_sources: dict[str, dict[str, Any]] = {}
            for name in names:
                dataset, spec = h5file[name], specs[name]
                text = h5py.check_string_dtype(dataset.dtype)
                if spec.dtype is None or h5py.check_dtype(ref=dataset.dtype):
                    if text is None or text.length is not None or dataset.ndim > 1:
                        raise ValueError(
                            f"source {name!r} of {path!r} holds elements of type {dataset.dtype}, "
                            "which cannot be rewritten; leave the file as it is"
                        )
                    kind = "str" if text.encoding == "utf-8" else "bytes"
                    self.specs[name] = SourceSpec((), kind, labels[name])
                    self.row_bytes += 1024
                else:
                    assert spec.shape is not None
                    self.specs[name] = SourceSpec(spec.shape, spec.dtype, labels[name])
                    fixed = [size for size in spec.shape if size is not None]
                    ragged = len(fixed) < len(spec.shape)
                    size = math.prod(fixed) * spec.dtype.itemsize
                    self.row_bytes += _RAGGED_BYTES if ragged else size
                self.of_sources[name] = _attributes(dataset)
            self.attributes = _attributes(h5file)
            self.comments = {
                (row.split, row.source): row.comment
                for row in rows
                if row.available and row.comment not in ("", ".")
            }


def _attributes(thing: Any) -> dict[str, Any]:
    return {name: thing.attrs[name] for name in thing.attrs if name not in _OWN}


def _batches(dataset: Any, row_bytes: int, seed: int | None) -> Iterator[dict[str, Any]]:
    """Yield the examples of a split, so many at a time that they take a few megabytes."""
    count = dataset.num_examples
    size = min(max(_BLOCK_BYTES // row_bytes, _FEWEST), _MOST)
    order = None if seed is None else Permutation(seed, 0, count, "repack")
    for start in range(0, count, size):
        stop = min(start + size, count)
        request: Any = slice(start, stop)
        if order is not None:
            request = order.block(start, stop - start)
        yield dict(zip(dataset.sources, dataset.get_data(None, request), strict=True))


def convert_repack(
    directory: str,
    output_directory: str,
    file: str,
    output: str,
    output_filename: str | None = None,
    **options: Any,
) -> tuple[str, ...]:
    """Rewrite a file; see `repack`.

    Parameters
    ----------
    directory, output_directory : str
        Where the two files are, if their names say nothing else.
    file, output : str
        The file, and the new one.
    output_filename : str, optional
        Another name for the new one, which takes the place of `output`.
    **options
        As for `repack`.

    Returns
    -------
    tuple of str
        The path of the new file.

    """
    target = os.path.join(output_directory, output_filename or output)
    folder = os.path.dirname(target)
    if folder and not os.path.isdir(folder):
        raise StorageError(f"the output directory {folder} does not exist; make it first")
    return (repack(os.path.join(directory, file), target, **options),)


# The new file is written beside its final name in any case.
convert_repack.in_place = True  # type: ignore[attr-defined]


def fill_subparser(subparser: argparse.ArgumentParser) -> Callable[..., tuple[str, ...]]:
    """Set up the sub-command ``repack`` of ``fuel-convert``; it returns `convert_repack`.

    Parameters
    ----------
    subparser : argparse.ArgumentParser
        The parser of the sub-command.

    """
    add = subparser.add_argument
    add("file", metavar="FILE", help="the HDF5 file")
    add("output", metavar="OUT", help="the new file; it may be the same")
    add(
        "--layout",
        choices=["contiguous", "chunked"],
        default="contiguous",
        help="in one piece, or in chunks (default: %(default)s)",
    )
    add("--compression", choices=["gzip", "lzf", "zstd"], help="compress the chunks")
    add("--compression-level", type=int, metavar="N", help="gzip: 0 to 9, zstd: 1 to 22")
    add("--chunk-bytes", type=int, metavar="N", help="size of a chunk (default: 131072)")
    add("--byte-shuffle", action="store_true", help="put bytes of equal weight side by side")
    add("--checksum", action="store_true", help="keep a checksum of each chunk")
    add(
        "--shuffle-seed",
        type=int,
        metavar="N",
        help="put the examples of each split in a shuffled order",
    )
    return convert_repack
