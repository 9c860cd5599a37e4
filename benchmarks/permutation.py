"""What an index of the keyed permutation costs, for a few sizes, compiled and in NumPy.

Blocks of 256 ordinals, as a batch asks for them; and whole epochs of ten, the making of the
permutation included. Medians over interleaved rounds, in nanoseconds an index, beside NumPy's own
permutation of all indices where it fits into memory.

    python benchmarks/permutation.py
    FUEL_KERNELS=reference python benchmarks/permutation.py
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy

from fuel.kernels._select import active
from fuel.kernels.permutation import Permutation

SIZES, BLOCK, BLOCKS, ROUNDS = (5, 10, 1000, 10**6, 10**9, 2**62), 256, 200, 9


def blocks(count: int) -> tuple[Callable[[], Any], int]:
    """Return a job that asks for many indices of a permutation, and how many."""
    order = Permutation(1, 0, count)
    if count >= BLOCK:
        return lambda: [order.block(start, BLOCK) for start in range(BLOCKS)], BLOCK * BLOCKS
    # Small permutations are asked for the same ordinals again, so that a call is as large.
    ordinals = numpy.arange(BLOCK, dtype=numpy.int64) % count
    return lambda: [order.many(ordinals) for _ in range(BLOCKS)], BLOCK * BLOCKS


def main() -> None:
    """Measure and print the table."""
    work = {f"permutation of {count:,}": blocks(count) for count in SIZES}
    order = Permutation(1, 0, 10)
    work["all of 10 in one call"] = (
        lambda: [order.block(0, 10) for _ in range(BLOCKS)],
        10 * BLOCKS,
    )
    work["all of 10, and the permutation made"] = (
        lambda: [Permutation(1, epoch, 10).block(0, 10) for epoch in range(BLOCKS)],
        10 * BLOCKS,
    )
    rng = numpy.random.default_rng(0)
    work["numpy, permutation of 1,000,000"] = (lambda: rng.permutation(10**6), 10**6)
    times: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(ROUNDS):
        for name, (job, indices) in work.items():
            begin = time.perf_counter()
            job()
            times[name].append((time.perf_counter() - begin) / indices * 1e9)
    print(f"kernels: {active()}; nanoseconds an index, median of {ROUNDS} rounds")
    for name, found in times.items():
        print(f"{name:44} {statistics.median(found):9.1f}")


if __name__ == "__main__":
    main()
