"""From a cold start: importing a package, and the first batch of a fresh process.

The first batch is one of 128 of 60,000 images of 28x28 bytes in memory, shuffled. Its time begins
when the package is imported and the data is there; *ms in all* begins with the interpreter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness.registry import Goal, Work, Workload

from workloads._fresh import BATCH, first_batch, seconds_to_import

__all__ = ["WORKLOAD"]

WORKLOAD = Workload("W7", "from a cold start", "starts", timed=True)
IMPORT, TWO, NONE = "import", "first batch, 2 workers", "first batch, no worker"
Pass = Callable[[], tuple[Any, ...]]

WORKLOAD.goals = [
    Goal("import fuel", "import torch", 10.0, IMPORT),
    Goal("Fuel DataLoader, an array", "torch DataLoader, fork", 1.0, TWO),
    Goal("Fuel DataLoader, an array", "torch DataLoader, forkserver", 1.0, TWO),
    Goal("Fuel DataLoader, an array", "torch DataLoader", 1.0, NONE),
]


def _import(statement: str) -> Callable[[Work], Pass]:
    return lambda work: lambda: (1, 0, seconds_to_import(statement))


def _first(name: str, workers: int) -> Callable[[Work], Pass]:
    return lambda work: lambda: (1, BATCH * 784, first_batch(name, workers))


for _statement, _kind, _lane, _package in (
    ("import numpy", "limit", "", "numpy"),
    ("import fuel", "fuel", "", "fuel"),
    ("import fuel; fuel.DataLoader", "fuel", "", "fuel"),
    ("import fuel.streams", "fuel", "", "fuel"),
    ("import h5py", "hand", "", "h5py"),
    ("import torch", "peer", "torch", "torch"),
    ("import torch.utils.data", "peer", "torch", "torch"),
    ("import torchdata.stateful_dataloader", "peer", "torch", "torchdata"),
    ("import grain", "peer", "torch", "grain"),
    ("import spdl.pipeline", "peer", "torch", "spdl"),
    ("import datasets", "peer", "torch", "datasets"),
    ("import tensorflow", "peer", "tensorflow", "tensorflow"),
):
    WORKLOAD.contender(_statement, _kind, case=IMPORT, lane=_lane, needs=(_package,))(
        _import(_statement)
    )

for _name, _kind, _lane, _needs, _key in (
    ("Fuel DataLoader, an array", "fuel", "", (), "fuel"),
    ("Fuel DataLoader, an object with items", "fuel", "", (), "fuel-object"),
    ("torch DataLoader, fork", "peer", "torch", ("torch",), "torch-fork"),
    ("torch DataLoader, forkserver", "peer", "torch", ("torch",), "torch-forkserver"),
    ("torch DataLoader, spawn", "peer", "torch", ("torch",), "torch-spawn"),
    ("torchdata StatefulDataLoader, fork", "peer", "torch", ("torchdata",), "torchdata"),
    ("Grain, mp_prefetch", "peer", "torch", ("grain",), "grain"),
    ("SPDL pipeline, threads", "peer", "torch", ("spdl",), "spdl"),
):
    WORKLOAD.contender(_name, _kind, case=TWO, lane=_lane, needs=_needs)(_first(_key, 2))

for _name, _kind, _lane, _needs, _key in (
    ("NumPy, permute and gather", "limit", "", (), "numpy"),
    ("Fuel DataLoader, an array", "fuel", "", (), "fuel"),
    ("Fuel DataLoader, an object with items", "fuel", "", (), "fuel-object"),
    ("torch DataLoader", "peer", "torch", ("torch",), "torch-fork"),
    ("torchdata StatefulDataLoader", "peer", "torch", ("torchdata",), "torchdata"),
    ("Grain, threads", "peer", "torch", ("grain",), "grain"),
):
    WORKLOAD.contender(_name, _kind, case=NONE, lane=_lane, needs=_needs)(_first(_key, 0))
