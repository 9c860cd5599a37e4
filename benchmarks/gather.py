"""What gathering costs, alone and with arithmetic, beside NumPy and beside loops in C.

Small rows (60,000 x (28, 28) bytes, batches of 128) and images (50,000 x (3, 32, 32) bytes, batches
of 256, to float32), shuffled. The C loops do what must be done and nothing else; they are compiled
here with the flags of the kernels, where there is a C compiler. Interleaved rounds; medians of the
time of this thread, so that other work on the machine counts as little as possible.

    python benchmarks/gather.py
    FUEL_KERNELS_SIMD=baseline python benchmarks/gather.py
"""

from __future__ import annotations

import ctypes
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.kernels import memory
from fuel.kernels._select import active
from fuel.kernels.arithmetic import Arithmetic
from fuel.kernels.gather import gather

ROUNDS = 9
SHAPE, PLANE = (3, 32, 32), 32 * 32
SCALE, SHIFT = 1 / 127.5, -1.0

LOOP = """
void NAME(const uint8_t *restrict source, const int64_t *restrict rows, int64_t count,
          int64_t channels, int64_t plane, const TYPE *scale, const TYPE *shift,
          float *restrict out)
{
    const int64_t row = channels * plane;
    for (int64_t i = 0; i < count; i++) {
        const uint8_t *from = source + rows[i] * row;
        if (i + 2 < count)
            for (int64_t k = 0; k < row; k += 64)
                __builtin_prefetch(source + rows[i + 2] * row + k, 0, 3);
        for (int64_t c = 0; c < channels; c++) {
            const TYPE a = scale[c], b = shift[c];
            for (int64_t k = 0; k < plane; k++) out[k] = (float)((TYPE)from[k] * a + b);
            from += plane;
            out += plane;
        }
    }
}
"""


def c_loops() -> ctypes.CDLL | None:
    """Compile the loops, where there is a compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "loops.c"), Path(folder, "loops.so")
        source.write_text(
            "#include <stdint.h>\n"
            + LOOP.replace("NAME", "single").replace("TYPE", "float")
            + LOOP.replace("NAME", "twice").replace("TYPE", "double"),
            encoding="utf-8",
        )
        flags = ["-O3", "-ffp-contract=off", "-shared", "-fPIC"]
        subprocess.run([compiler, *flags, str(source), "-o", str(library)], check=True)
        loops = ctypes.CDLL(str(library))
    for loop in (loops.single, loops.twice):
        size, pointer = ctypes.c_int64, ctypes.c_void_p
        loop.argtypes = [pointer, pointer, size, size, size, pointer, pointer, pointer]
        loop.restype = None
    return loops


def batches(count: int, size: int) -> list[NDArray[numpy.int64]]:
    """Return a shuffled epoch of whole batches."""
    order = numpy.random.default_rng(0).permutation(count)
    return [order[start : start + size].copy() for start in range(0, count - size + 1, size)]


def each(job: Callable[[Any], Any], requests: list[Any]) -> Callable[[], None]:
    """Return an epoch of a job, each result dropped before the next."""

    def epoch() -> None:
        for request in requests:
            job(request)

    return epoch


def in_c(loop: Any, type_: Any, source: NDArray[Any]) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """Return a job that has a C loop fill fresh memory."""
    scale, shift = numpy.full(3, SCALE, type_), numpy.full(3, SHIFT, type_)

    def job(rows: NDArray[Any]) -> NDArray[Any]:
        out = memory.empty((len(rows), *SHAPE), numpy.float32)
        pointers = (scale.ctypes.data, shift.ctypes.data, out.ctypes.data)
        loop(source.ctypes.data, rows.ctypes.data, len(rows), 3, PLANE, *pointers)
        return out

    return job


def work() -> dict[str, tuple[Callable[[], None], int]]:
    """Return the jobs by name, each with the number of its examples."""
    rng = numpy.random.default_rng(0)
    small = rng.integers(0, 256, (60_000, 28, 28), numpy.uint8)
    images = rng.integers(0, 256, (50_000, *SHAPE), numpy.uint8)
    requests = batches(len(small), 128)
    lists = [rows.tolist() for rows in requests]
    count = 128 * len(requests)
    jobs = {
        "small rows: numpy, source[rows]": (each(lambda rows: small[rows], requests), count),
        "small rows: gather": (each(lambda rows: gather(small, rows), requests), count),
        "small rows: gather, rows in a list": (
            each(lambda rows: gather(small, rows), lists),
            count,
        ),
    }
    requests = batches(len(images), 256)
    count = 256 * len(requests)
    loops = c_loops()
    if loops is not None:
        for name, loop, type_ in (
            ("single", loops.single, numpy.float32),
            ("double", loops.twice, numpy.float64),
        ):
            jobs[f"images: C loop in {name} precision"] = (
                each(in_c(loop, type_, images), requests),
                count,
            )
    channels = numpy.full((3, 1, 1), SCALE), numpy.full((3, 1, 1), SHIFT)
    chains: dict[str, list[tuple[str, Any]]] = {
        "cast, scale, shift": [("cast", "float32"), ("multiply", SCALE), ("add", SHIFT)],
        "scale, shift, cast": [("multiply", SCALE), ("add", SHIFT), ("cast", "float32")],
        "the same by channel": [
            ("multiply", channels[0]),
            ("add", channels[1]),
            ("cast", "float32"),
        ],
    }
    for name, steps in chains.items():
        chain = Arithmetic.of(numpy.uint8, SHAPE, steps)
        assert chain is not None
        job = each(lambda rows, chain=chain: gather(images, rows, chain), requests)
        jobs[f"images: {name}"] = job, count
        job = each(lambda rows, chain=chain: chain.reference(images[rows]), requests[:20])
        jobs[f"images: {name}, numpy"] = job, 256 * 20
    return jobs


def main() -> None:
    """Measure and print the table."""
    jobs = work()
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(ROUNDS):
        for name, (job, count) in jobs.items():
            begin = time.thread_time()
            job()
            times[name].append((time.thread_time() - begin) / count)
    print(f"kernels: {active()}; median of {ROUNDS} rounds")
    for name, found in times.items():
        each_one = statistics.median(found)
        print(f"{name:44} {each_one * 1e9:9.0f} ns an example {1e-6 / each_one:8.2f} million/s")


if __name__ == "__main__":
    main()
