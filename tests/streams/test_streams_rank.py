"""The rank that is found in the environment, and ranks that are none."""

from __future__ import annotations

import numpy
import pytest

from fuel.datasets import IndexableDataset
from fuel.schemes import SequentialScheme
from fuel.streams import DataStream, ShardedStream


def direct(count, size):
    return DataStream(
        IndexableDataset({"x": numpy.arange(count)}),
        iteration_scheme=SequentialScheme(count, size),
    )


VARIABLES = [
    ("RANK", "WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
]


@pytest.fixture
def no_launcher(monkeypatch):
    for pair in VARIABLES:
        for name in pair:
            monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_the_rank_is_found_in_the_variables_of_launchers(no_launcher):
    def found(**given):
        part = ShardedStream(direct(4, 2), **{"rank": "auto", "world_size": "auto", **given})
        return part.rank, part.world_size

    assert found() == (0, 1)
    for number, (rank, size) in reversed(list(enumerate(VARIABLES))):
        no_launcher.setenv(rank, str(number))
        no_launcher.setenv(size, "7")
        assert found() == (number, 7)
    assert found(rank=3) == (3, 7)
    assert found(world_size=9) == (0, 9)


def test_a_rank_that_is_none_is_refused(no_launcher):
    def build(rank, world_size):
        return ShardedStream(direct(4, 2), rank=rank, world_size=world_size)

    with pytest.raises(ValueError, match="less than `world_size`, got rank 2 of 2"):
        build(2, 2)
    with pytest.raises(ValueError, match="`rank` must be an integer from 0 on.*got -1"):
        build(-1, 2)
    with pytest.raises(ValueError, match="`world_size` must be an integer from 1 on.*got 0"):
        build(0, 0)
    with pytest.raises(ValueError, match="`rank` must be an integer or 'auto', got 'first'"):
        build("first", 2)
    no_launcher.setenv("RANK", "1")
    with pytest.raises(ValueError, match="RANK and WORLD_SIZE, but WORLD_SIZE is not set"):
        build("auto", "auto")
    no_launcher.setenv("WORLD_SIZE", "two")
    with pytest.raises(ValueError, match="WORLD_SIZE is 'two', which is no integer"):
        build("auto", "auto")
    no_launcher.setenv("WORLD_SIZE", "1")
    with pytest.raises(ValueError, match=r"rank 1 of 1 \(from RANK and WORLD_SIZE\)"):
        build("auto", "auto")
    with pytest.raises(ValueError, match="`remainder` of ShardedStream must be one of"):
        ShardedStream(direct(4, 2), rank=0, world_size=1, remainder="keep")
    with pytest.raises(TypeError, match="needs a stream"):
        ShardedStream(IndexableDataset([1]), rank=0, world_size=1)
