"""What the framework adds to a bare loop: per batch, per step, and per generator handed out.

Each figure is the median over interleaved rounds, in microseconds, beside what is unavoidable:
the gather of the rows, and the building of a new generator.

    python benchmarks/serial_overhead.py
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy

from fuel import DataLoader
from fuel.datasets import IndexableDataset
from fuel.kernels.gather import gather
from fuel.rng import GeneratorPool, example_rng
from fuel.schemes import PermutedScheme, SequentialExampleScheme, SequentialScheme, ShuffledScheme
from fuel.streams import DataStream
from fuel.transformers import AgnosticTransformer

EXAMPLES, ROW, BATCH, ROUNDS = 20_000, 784, 128, 9


class Nothing(AgnosticTransformer):
    """A step that does nothing: what is left is the framework."""

    elementwise = True

    def __init__(self, data_stream: object) -> None:
        super().__init__(data_stream, data_stream.produces_examples)  # type: ignore[attr-defined]

    def transform_any(self, data: object) -> object:
        return data


def changed(row: Any) -> Any:
    return row


def changed_with(row: Any, rng: Any) -> Any:
    return row


def epoch(stream: DataStream) -> Callable[[], int]:
    return lambda: sum(1 for _ in stream)


def main() -> None:
    """Measure and print the table."""
    rows = numpy.random.default_rng(0).integers(256, size=(EXAMPLES, ROW)).astype("u1")
    dataset = IndexableDataset({"rows": rows})

    def stream(scheme: object) -> DataStream:
        return DataStream(dataset, iteration_scheme=scheme)

    orders = [
        order.tolist()
        for order in numpy.split(
            numpy.random.default_rng(1).permutation(EXAMPLES)[: EXAMPLES // BATCH * BATCH],
            EXAMPLES // BATCH,
        )
    ]
    pool = GeneratorPool(1, "step")
    work: dict[str, Callable[[], int]] = {
        "gather of lists of rows, bare": lambda: sum(1 for order in orders if len(rows[order])),
        "DataStream, sequential batches": epoch(stream(SequentialScheme(EXAMPLES, BATCH))),
        "DataStream, shuffled batches": epoch(stream(ShuffledScheme(EXAMPLES, BATCH))),
        "DataStream, permuted batches": epoch(stream(PermutedScheme(EXAMPLES, BATCH, seed=1))),
        "the same and a step that does nothing": epoch(
            Nothing(stream(PermutedScheme(EXAMPLES, BATCH, seed=1)))
        ),
        "DataStream, single examples": epoch(stream(SequentialExampleScheme(EXAMPLES))),
        "a generator, reset": lambda: sum(1 for n in range(1000) if pool.rng(0, n)),
        "a generator, built": lambda: sum(1 for n in range(1000) if example_rng(1, 0, n, "step")),
    }
    # The same rows, gathered by nothing but the kernel, in the same order.
    vectors = [numpy.asarray(order) for order in orders]
    labels = numpy.arange(EXAMPLES)
    small = rows[:, :16].copy()

    def loader(data: Any, batch_size: int = BATCH, **options: Any) -> Callable[[], int]:
        made = DataLoader(data, batch_size, partial=False, seed=1, **options)
        return lambda: sum(1 for _ in made)

    in_order = [numpy.arange(k * BATCH, (k + 1) * BATCH) for k in range(EXAMPLES // BATCH)]

    def bare(table: Any, order: list[Any]) -> Callable[[], int]:
        return lambda: sum(1 for places in order if len(gather(table, places)))

    work |= {
        "gather of 784 bytes in order, bare": bare(rows, in_order),
        "DataLoader, 784 bytes in order": loader(rows),
        "gather of 16 bytes in order, bare": bare(small, in_order),
        "DataLoader, 16 bytes in order": loader(small),
        "DataLoader, 16 bytes and labels": loader((small, labels)),
        "gather of 784 bytes shuffled, bare": bare(rows, vectors),
        "DataLoader, 784 bytes shuffled": loader(rows, shuffle=True),
        "DataLoader, single observations": loader(small, -1),
        "a call of a function": lambda: sum(1 for row in small[:2000] if len(changed(row))),
        "DataLoader, single, transform": loader(small, -1, transform=changed),
        "DataLoader, single, transform with rng": loader(small, -1, transform=changed_with),
        "DataLoader, 784 bytes, one worker": loader(rows, num_workers=1),
    }
    times: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(ROUNDS):
        for name, job in work.items():
            begin = time.perf_counter()
            count = job()
            times[name].append((time.perf_counter() - begin) / count * 1e6)
    print(f"{'':40} microseconds an item (median of {ROUNDS} rounds)")
    for name, found in times.items():
        print(f"{name:40} {statistics.median(found):10.2f}")


if __name__ == "__main__":
    main()
