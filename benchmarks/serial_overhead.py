"""What the framework adds to a bare loop: per batch, per step, and per generator handed out.

Each figure is the median over interleaved rounds, in microseconds, beside what is unavoidable:
the gather of the rows, and the building of a new generator.

    python benchmarks/serial_overhead.py
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy

from fuel.datasets import IndexableDataset
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
