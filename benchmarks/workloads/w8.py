"""Resuming in the middle of an epoch: from a saved state and a fresh loader to the next batch.

Batches of 128, shuffled; the examples are their own numbers, so that only the order is at work. The
large case begins again behind a million batches of 10^9 examples: of the peers, only those that can
jump take part. The small case begins behind 3,900 batches of 10^6 examples. What is compared at the
end of each pass: the batch is the one that follows without a pause, where a contender can say.
"""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Callable
from typing import Any

import numpy
from harness.registry import SEED, Bound, Goal, Work, Workload

from workloads._common import peak_growth

__all__ = ["WORKLOAD"]

WORKLOAD = Workload("W8", "resume behind batch k of n examples, batch 128", "resumes", timed=True)
BATCH = 128
LARGE, SMALL = "batch 1,000,000 of 10^9 examples", "batch 3,900 of 10^6 examples"
WHERE = {LARGE: (10**9, 10**6), SMALL: (10**6, 3900)}
OURS, OURS_WORKERS = "Fuel DataLoader", "Fuel DataLoader, 2 workers"
Pass = Callable[[], tuple[Any, ...]]

WORKLOAD.goals = [
    Goal(OURS, "Grain, set_state", 5.0, LARGE),
    Goal(OURS, "torchdata StatefulDataLoader", 100.0, SMALL),
]
WORKLOAD.bounds = [
    Bound(OURS, "ms", 10.0, LARGE),
    Bound(OURS, "state bytes", 1e6, LARGE),
    Bound(OURS, "KB grown", 1e3, LARGE),
]


class Numbers:
    """Examples that are their own numbers."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        return index

    def __getitems__(self, indices: Any) -> Any:
        return numpy.asarray(indices)


def _place(work: Work, case: str) -> tuple[int, int]:
    length, batch = WHERE[case]
    return (100_000, 390) if work.quick else (length, batch)


def _measured(resume: Callable[[], Any], state: bytes, expected: Any = None) -> Pass:
    """Return a pass that resumes, looks at what came, and says what it took."""

    def run() -> tuple[Any, ...]:
        begin = time.perf_counter()
        batch, grown = peak_growth(resume)
        seconds = time.perf_counter() - begin
        assert len(batch) == BATCH
        assert expected is None or numpy.array_equal(batch, expected)
        # Two looks at the peak take some 0.1 ms, which is not the contender's.
        begin = time.perf_counter()
        resume()
        seconds = min(seconds, time.perf_counter() - begin)
        return 1, 0, {"seconds": seconds, "state bytes": len(state), "KB grown": grown / 1e3}

    return run


@WORKLOAD.contender("a keyed permutation, called from its place on", "limit", case=LARGE)
def permutation_large(work: Work) -> Pass:
    """Fuel's kernel, with a key and a place for a state."""
    return _permutation(work, LARGE)


@WORKLOAD.contender("a keyed permutation, called from its place on", "limit", case=SMALL)
def permutation_small(work: Work) -> Pass:
    """The same."""
    return _permutation(work, SMALL)


def _permutation(work: Work, case: str) -> Pass:
    from fuel.kernels.permutation import Permutation

    length, number = _place(work, case)
    state = json.dumps({"seed": SEED, "place": number * BATCH}).encode()

    def resume() -> Any:
        known = json.loads(state)
        return Permutation(known["seed"], 0, length).block(known["place"], BATCH)

    return _measured(resume, state)


@WORKLOAD.contender("NumPy, permute again from the seed", "hand", case=SMALL)
def numpy_permute(work: Work) -> Pass:
    """What users write by hand."""
    length, number = _place(work, SMALL)
    state = json.dumps({"seed": SEED, "place": number * BATCH}).encode()

    def resume() -> Any:
        known = json.loads(state)
        order = numpy.random.default_rng(known["seed"]).permutation(length)
        return order[known["place"] : known["place"] + BATCH]

    return _measured(resume, state)


def _fuel(work: Work, case: str, workers: int = 0) -> Pass:
    from fuel import DataLoader

    length, number = _place(work, case)

    def make() -> Any:
        return DataLoader(
            Numbers(length), batch_size=BATCH, shuffle=True, seed=SEED, num_workers=workers
        )

    iterator = iter(make())
    iterator.seek(number)
    state = json.dumps(iterator.state_dict()).encode()
    expected = next(iterator)
    iterator.close()

    def resume() -> Any:
        iterator = iter(make())
        iterator.load_state_dict(json.loads(state))
        batch = next(iterator)
        iterator.close()
        return batch

    return _measured(resume, state, expected)


@WORKLOAD.contender(OURS, "fuel", case=LARGE)
def fuel_large(work: Work) -> Pass:
    """A state of a few hundred bytes, as JSON."""
    return _fuel(work, LARGE)


@WORKLOAD.contender(OURS_WORKERS, "fuel", case=LARGE)
def fuel_large_workers(work: Work) -> Pass:
    """The same with workers, which are running."""
    return _fuel(work, LARGE, workers=2)


@WORKLOAD.contender(OURS, "fuel", case=SMALL)
def fuel_small(work: Work) -> Pass:
    """A state of a few hundred bytes, as JSON."""
    return _fuel(work, SMALL)


def _grain(work: Work, case: str, workers: int = 0) -> Pass:
    import grain

    length, number = _place(work, case)

    def make() -> Any:
        dataset = grain.MapDataset.source(Numbers(length)).seed(SEED % 2**31).shuffle()
        options = grain.ReadOptions(num_threads=2, prefetch_buffer_size=4)
        dataset = dataset.batch(BATCH).to_iter_dataset(options)
        if workers:
            dataset = dataset.mp_prefetch(grain.MultiprocessingOptions(num_workers=workers))
        return iter(dataset)

    iterator = make()
    expected = None
    if case == SMALL:
        for _ in range(number):
            next(iterator)
        state = iterator.get_state()
        expected = next(iterator)
    else:
        # To walk there would take half an hour.
        state = {**iterator.get_state(), "next_index": number}
    del iterator

    def resume() -> Any:
        iterator = make()
        iterator.set_state(state)
        return next(iterator)

    return _measured(resume, json.dumps(state).encode(), expected)


@WORKLOAD.contender("Grain, set_state", "peer", case=LARGE, lane="torch", needs=("grain",))
def grain_large(work: Work) -> Pass:
    """Threads; its order can be entered anywhere."""
    return _grain(work, LARGE)


@WORKLOAD.contender("Grain, set_state", "peer", case=SMALL, lane="torch", needs=("grain",))
def grain_small(work: Work) -> Pass:
    """Threads."""
    return _grain(work, SMALL)


@WORKLOAD.contender(
    "Grain, set_state, 2 workers", "peer", case=SMALL, lane="torch", needs=("grain",)
)
def grain_workers(work: Work) -> Pass:
    """Workers, which are started for it."""
    return _grain(work, SMALL, workers=2)


def _stateful(work: Work, workers: int) -> Pass:
    from torchdata.stateful_dataloader import StatefulDataLoader

    length, number = _place(work, SMALL)

    def make() -> Any:
        return StatefulDataLoader(
            Numbers(length),
            batch_size=BATCH,
            shuffle=True,
            collate_fn=numpy.asarray,
            num_workers=workers,
        )

    loader = make()
    iterator = iter(loader)
    for _ in range(number):
        next(iterator)
    state = loader.state_dict()
    expected = next(iterator)
    del iterator, loader

    def resume() -> Any:
        loader = make()
        loader.load_state_dict(state)
        return next(iter(loader))

    return _measured(resume, pickle.dumps(state), expected)


@WORKLOAD.contender(
    "torchdata StatefulDataLoader", "peer", case=SMALL, lane="torch", needs=("torchdata",)
)
def stateful(work: Work) -> Pass:
    """In the process itself."""
    return _stateful(work, 0)


@WORKLOAD.contender(
    "torchdata StatefulDataLoader, 2 workers", "peer", case=SMALL, lane="torch",
    needs=("torchdata",),
)  # fmt: skip
def stateful_workers(work: Work) -> Pass:
    """Workers, which are started for it."""
    return _stateful(work, 2)


@WORKLOAD.contender(
    "torch DataLoader, replayed", "peer", case=SMALL, lane="torch", needs=("torch",)
)
def torch_replayed(work: Work) -> Pass:
    """It has no state: the batches before are made again and dropped."""
    import torch
    from torch.utils.data import DataLoader

    length, number = _place(work, SMALL)

    def resume() -> Any:
        order = torch.Generator().manual_seed(SEED)
        loader = DataLoader(
            Numbers(length),  # type: ignore[arg-type]
            batch_size=BATCH,
            shuffle=True,
            generator=order,
            collate_fn=numpy.asarray,
        )
        batches = iter(loader)
        for _ in range(number):
            next(batches)
        return next(batches)

    return _measured(resume, b"")
