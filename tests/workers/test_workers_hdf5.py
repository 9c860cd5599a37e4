"""HDF5 files under workers: each opens the file for itself, and reads what a serial run reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy
import pytest

from fuel.datasets import H5PYDataset
from fuel.schemes import (
    ChunkShuffledScheme,
    ConstantScheme,
    PermutedExampleScheme,
    SequentialScheme,
    ShuffledScheme,
)
from fuel.streams import DataStream
from fuel.transformers import Batch, Parallel
from fuel.workers import _crew, close_workers

ROWS = 300


@pytest.fixture(autouse=True)
def no_help_from_the_consumer(monkeypatch: pytest.MonkeyPatch) -> None:
    # It would read the first batches itself, while the workers start.
    monkeypatch.setattr(_crew.Crew, "may_help", lambda *arguments: False)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    generator = numpy.random.default_rng(0)
    where = tmp_path / "data.hdf5"
    with h5py.File(where, "w") as file:
        images = generator.integers(256, size=(ROWS, 3, 8, 8)).astype("uint8")
        file.create_dataset("contiguous", data=images)
        file.create_dataset("gzip", data=images, chunks=(16, 3, 8, 8), compression="gzip")
        words = file.create_dataset("ragged", (ROWS,), dtype=h5py.vlen_dtype(numpy.int32))
        for row in range(ROWS):
            words[row] = numpy.arange(row % 7)
    return where


def streams(path: Path) -> dict[str, Any]:
    def over(scheme: Any, **options: Any) -> Any:
        return DataStream(H5PYDataset(path, **options), iteration_scheme=scheme)

    plain = {"sources": ("contiguous", "gzip", "ragged")}
    dataset = H5PYDataset(path, sources=("gzip",))
    return {
        "in order": over(SequentialScheme(ROWS, 32), **plain),
        "shuffled": over(ShuffledScheme(ROWS, 32, rng=numpy.random.RandomState(0)), **plain),
        "in memory": over(SequentialScheme(ROWS, 32), load_in_memory=True, **plain),
        "lent": over(SequentialScheme(ROWS, 32), copy=False, sources=("contiguous",)),
        "chunks": DataStream(dataset, iteration_scheme=ChunkShuffledScheme(dataset, 32, seed=1)),
        "grouped": Batch(
            over(PermutedExampleScheme(ROWS, seed=1), **plain),
            ConstantScheme(32),
        ),
    }


def digest(items: Any) -> list[Any]:
    return [
        [
            numpy.asarray(part).tobytes() if part.dtype != object else [x.tobytes() for x in part]
            for part in map(numpy.asarray, item)
        ]
        for item in items
    ]


@pytest.mark.parametrize(
    ("kind", "method"), [("thread", None), ("process", None), ("process", "spawn")]
)
@pytest.mark.parametrize("name", ["in order", "shuffled", "in memory", "lent", "chunks", "grouped"])
def test_a_file_read_by_workers_is_the_file(
    path: Path, kind: str, method: str | None, name: str
) -> None:
    expected = digest(streams(path)[name])
    with Parallel(streams(path)[name], workers=2, kind=kind, start_method=method) as parallel:
        assert digest(parallel) == expected
    close_workers()


def test_the_parent_may_have_the_file_open_and_read_it_meanwhile(path: Path) -> None:
    stream = streams(path)["grouped"]
    other = streams(path)["grouped"]
    parallel = Parallel(stream, workers=2, kind="process")
    pairs = list(zip(parallel, other, strict=True))
    assert digest(a for a, _ in pairs) == digest(b for _, b in pairs)
    parallel.close()
