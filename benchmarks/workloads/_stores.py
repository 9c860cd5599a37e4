"""The files of W3: the same images, contiguous and in chunks, bare and compressed."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
from harness.registry import SEED, Work

__all__ = ["CHUNK", "LAYOUTS", "SIZES", "Size", "mapped", "opened", "prepare_stores", "raw_chunks"]

#: Examples in a chunk.
CHUNK = 128


@dataclass(frozen=True)
class Size:
    """How large the rows of a file are, and the batches that are read."""

    name: str
    shape: tuple[int, ...]
    count: int
    batch: int

    @property
    def row(self) -> int:
        """The bytes of a row."""
        return int(numpy.prod(self.shape))


SIZES = {
    "large": Size("large", (3, 32, 32), 50_000, 256),
    "small": Size("small", (1, 28, 28), 60_000, 32),
}

LAYOUTS: dict[str, dict[str, Any]] = {
    "contiguous": {},
    "chunked": {"chunks": True},
    "gzip": {"chunks": True, "compression": "gzip", "compression_opts": 4},
    "lzf": {"chunks": True, "compression": "lzf"},
    "zstd": {"chunks": True, "compression": 32015, "compression_opts": (3,)},
}


def _images(count: int, shape: tuple[int, ...]) -> Any:
    """Make smooth surfaces in few shades, with noise on a tenth of the pixels: compressible."""
    rng = numpy.random.default_rng(SEED)
    channels, side, _ = shape
    coarse = rng.integers(0, 256, (count, channels, 5, 5)).astype(numpy.float32)
    grid = numpy.linspace(0, 3.999, side)
    low, part = grid.astype(int), (grid % 1).astype(numpy.float32)
    rows = coarse[:, :, low] * (1 - part)[:, None] + coarse[:, :, low + 1] * part[:, None]
    full = rows[:, :, :, low] * (1 - part) + rows[:, :, :, low + 1] * part
    shades = full.clip(0, 255).astype(numpy.uint8) & 0xF0
    noise = rng.integers(0, 160, shades.shape, dtype=numpy.uint8)
    return numpy.where(noise < 16, shades | noise, shades)


def prepare_stores(work: Work) -> None:
    """Write the files, if they are not there."""
    import h5py

    files: dict[tuple[str, str], Path] = {}
    for size in SIZES.values():
        count = 2560 if work.quick else size.count
        images = None
        for layout, options in LAYOUTS.items():
            path = work.data / f"w3-{size.name}-{layout}-{count}.hdf5"
            files[size.name, layout] = path
            if path.exists():
                continue
            if layout == "zstd":
                import hdf5plugin  # noqa: F401 - registers the filter
            images = _images(count, size.shape) if images is None else images
            part = path.with_suffix(f".{os.getpid()}.part")
            with h5py.File(part, "w") as h5file:
                chunks = {"chunks": (CHUNK, *size.shape)} if options else {}
                h5file.create_dataset("x", data=images, **{**options, **chunks})
            part.replace(path)
    work.given.files = files


def opened(work: Work, size: str, layout: str, **cache: Any) -> Any:
    """Open a file with h5py, and return its dataset."""
    import h5py

    path = work.given.files[size, layout]
    if layout == "zstd":
        import hdf5plugin  # noqa: F401
    if cache:  # HDF5 shares one cache among all handles of a file: use a copy
        own = path.with_suffix(".copy.hdf5")
        if not own.exists():
            shutil.copy(path, own)
        path = own
    return h5py.File(path, "r", **cache)["x"]


def mapped(work: Work, size: str) -> Any:
    """Return the dataset of the contiguous file as a memory map."""
    dataset = opened(work, size, "contiguous")
    offset, shape = dataset.id.get_offset(), dataset.shape
    dataset.file.close()
    path = work.given.files[size, "contiguous"]
    return numpy.memmap(path, numpy.uint8, "r", offset, shape)


def raw_chunks(work: Work, size: str, layout: str) -> list[bytes]:
    """Return the chunks of a file as they are in it."""
    dataset = opened(work, size, layout)
    return [
        dataset.id.read_direct_chunk(dataset.id.get_chunk_info(number).chunk_offset)[1]
        for number in range(dataset.id.get_num_chunks())
    ]
