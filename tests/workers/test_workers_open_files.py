"""HDF5 datasets that the program opened itself, in worker processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy
import pytest

from fuel import DataLoader
from fuel.workers import close_workers


@pytest.fixture(autouse=True)
def no_workers_left() -> Any:
    yield
    close_workers()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with h5py.File(tmp_path / "data.hdf5", "w") as file:
        file["x"] = numpy.arange(40).reshape(20, 2)
        file["deep/y"] = numpy.arange(20) % 3
    return tmp_path / "data.hdf5"


def change(observation: Any) -> Any:
    x, y = observation
    return x * 2, y


def test_a_dataset_of_an_open_file_is_opened_again_by_the_workers(path: Path) -> None:
    with h5py.File(path) as file:
        data = file["x"], file["deep/y"]
        expected = list(DataLoader(data, 5, shuffle=True, seed=1, transform=change))
        with DataLoader(data, 5, shuffle=True, seed=1, transform=change, num_workers=2) as loader:
            found = list(loader)
        for (x, y), (a, b) in zip(found, expected, strict=True):
            assert (x == a).all() and (y == b).all()


def test_a_class_that_opens_its_file_at_once_can_travel(path: Path) -> None:
    class Mine:
        def __init__(self) -> None:
            self.file = h5py.File(path)

        def __len__(self) -> int:
            return len(self.file["x"])

        def __getitem__(self, index: int) -> Any:
            return self.file["x"][index], self.file["deep"]["y"][index]

    mine = Mine()
    with DataLoader(mine, 5, collate=True, num_workers=2) as loader:
        assert numpy.concatenate([x for x, _ in loader]).tolist() == mine.file["x"][:].tolist()
    mine.file.close()


def test_a_file_that_is_open_for_writing_is_refused_with_advice(path: Path) -> None:
    with (
        h5py.File(path, "r+") as file,
        pytest.raises(TypeError, match="open for writing.*mode 'r'.*parallel="),
    ):
        next(iter(DataLoader((file["x"], file["deep/y"]), 5, transform=change, num_workers=1)))


def test_a_file_in_memory_only_is_refused() -> None:
    with h5py.File("nowhere", "w", driver="core", backing_store=False) as file:
        file["x"] = numpy.arange(4)
        with pytest.raises(TypeError, match="open for writing"):
            next(iter(DataLoader(file["x"], 2, num_workers=1)))
