"""What W7 runs in an interpreter of its own: from its start to a first batch.

``python -m workloads._fresh NAME WORKERS`` prints a line of JSON when the first batch is there, and
then waits to be ended. Also here, how such an interpreter is started.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy

__all__ = ["BATCH", "BUILDERS", "first_batch", "seconds_to_import"]

COUNT, BATCH = 60_000, 128


class Images:
    """Images in memory, one at a time, for frameworks that take an object with items."""

    def __init__(self, images: Any) -> None:
        self.images = images

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> Any:
        return self.images[index]


def _fuel(images: Any, workers: int) -> Any:
    from fuel import DataLoader

    return DataLoader(images, batch_size=BATCH, shuffle=True, num_workers=workers)


def _fuel_object(images: Any, workers: int) -> Any:
    from fuel import DataLoader

    return DataLoader(
        Images(images), batch_size=BATCH, shuffle=True, num_workers=workers, collate=True
    )


def _torch(method: str) -> Callable[[Any, int], Any]:
    def build(images: Any, workers: int) -> Any:
        from torch.utils.data import DataLoader

        return DataLoader(
            Images(images),  # type: ignore[arg-type]
            batch_size=BATCH,
            shuffle=True,
            num_workers=workers,
            multiprocessing_context=method if workers else None,
        )

    return build


def _stateful(images: Any, workers: int) -> Any:
    from torchdata.stateful_dataloader import StatefulDataLoader

    return StatefulDataLoader(Images(images), batch_size=BATCH, shuffle=True, num_workers=workers)


def _grain(images: Any, workers: int) -> Any:
    import grain

    dataset = grain.MapDataset.source(Images(images)).seed(1).shuffle().batch(BATCH)
    dataset = dataset.to_iter_dataset()
    if workers:
        dataset = dataset.mp_prefetch(grain.MultiprocessingOptions(num_workers=workers))
    return dataset


def _spdl(images: Any, workers: int) -> Any:
    from spdl.pipeline import PipelineBuilder

    order = numpy.random.default_rng(0).permutation(len(images))
    parts = [order[start : start + BATCH] for start in range(0, len(order), BATCH)]
    pipeline = PipelineBuilder().add_source(parts).pipe(images.__getitem__).add_sink(2)
    pipeline = pipeline.build(num_threads=max(1, workers))
    pipeline.start()
    return pipeline


def _numpy(images: Any, workers: int) -> Any:
    return [images[numpy.random.default_rng(0).permutation(len(images))[:BATCH]]]


BUILDERS: dict[str, Callable[[Any, int], Any]] = {
    "numpy": _numpy,
    "fuel": _fuel,
    "fuel-object": _fuel_object,
    "torch-fork": _torch("fork"),
    "torch-forkserver": _torch("forkserver"),
    "torch-spawn": _torch("spawn"),
    "torchdata": _stateful,
    "grain": _grain,
    "spdl": _spdl,
}
#: What is imported before the time begins.
_IMPORTS = {
    "numpy": "numpy", "fuel": "fuel.loader._loader", "fuel-object": "fuel.loader._loader",
    "torch-fork": "torch.utils.data",
    "torch-forkserver": "torch.utils.data", "torch-spawn": "torch.utils.data",
    "torchdata": "torchdata.stateful_dataloader", "grain": "grain", "spdl": "spdl.pipeline",
}  # fmt: skip


def _environment() -> dict[str, str]:
    """As an installed package has it: compiled modules are kept, the warm-up has written them."""
    unwanted = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED")
    return {name: value for name, value in os.environ.items() if name not in unwanted}


def first_batch(name: str, workers: int) -> dict[str, float]:
    """Run a contender in an interpreter of its own; return what it took.

    ``"seconds"`` go from making the loader to the first batch, ``"ms in all"`` from the start of
    the interpreter.
    """
    begin = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "workloads._fresh", name, str(workers)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=_environment(),
    )
    assert process.stdout is not None and process.stderr is not None
    try:
        line = next((text for text in process.stdout if text.startswith("{")), None)
        total = time.perf_counter() - begin
        if line is None:
            raise RuntimeError(process.stderr.read()[-600:])
    finally:
        # It has a session of its own, so that its workers go too.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        process.stderr.close()
    return {"seconds": json.loads(line)["seconds"], "ms in all": total * 1e3}


def seconds_to_import(statement: str) -> dict[str, float]:
    """Run a statement in an interpreter of its own; return what it took there."""
    code = f"import time; begin = time.perf_counter(); {statement}\n"
    code += "print(time.perf_counter() - begin)"
    begin = time.perf_counter()
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=_environment())
    total = time.perf_counter() - begin
    if done.returncode:
        raise RuntimeError(done.stderr[-600:])
    return {"seconds": float(done.stdout.split()[-1]), "ms in all": total * 1e3}


def main() -> None:
    """Be the interpreter."""
    name, workers = sys.argv[1], int(sys.argv[2])
    images = numpy.random.default_rng(1).integers(0, 256, (COUNT, 28, 28), dtype=numpy.uint8)
    __import__(_IMPORTS[name])
    begin = time.perf_counter()
    batch = next(iter(BUILDERS[name](images, workers)))
    seconds = time.perf_counter() - begin
    assert len(batch) == BATCH
    print(json.dumps({"seconds": seconds}), flush=True)
    time.sleep(60)


if __name__ == "__main__":
    main()
