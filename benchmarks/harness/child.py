"""The process of one contender: sets up, then makes a pass whenever it is told to.

It reads one word a line from its standard input and answers each with a line of JSON on what was
its standard output; whatever else is printed goes to standard error. Started by `conductor`.
"""

from __future__ import annotations

import argparse
import gc
import importlib.metadata
import importlib.util
import json
import os
import statistics
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness import usage
from harness.registry import Work, load

__all__ = ["main"]

# Packages whose versions belong to a result.
_PACKAGES = (
    "numpy", "pillow", "fuel", "torch", "torchdata", "grain", "spdl", "spdl-core", "datasets",
    "simplejpeg", "tensorflow-cpu", "tensorflow", "nvidia-dali-cuda120",
)  # fmt: skip


def main() -> None:
    """Serve until the input ends."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("workload")
    parser.add_argument("case")
    parser.add_argument("contender")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print must not look like an answer

    def answer(**fields: Any) -> None:
        answers.write(json.dumps(fields) + "\n")
        answers.flush()

    try:
        run, before = _set_up(options)
    except Exception as error:
        traceback.print_exc()
        answer(skipped=f"{type(error).__name__}: {error}"[:300])
        return
    answer(ready=True, data_bytes=before, versions=_versions())
    for line in sys.stdin:
        word, *numbers = line.split()
        if word != "pass":
            break
        try:
            answer(**_one_pass(run, float(numbers[0])))
        except Exception as error:
            traceback.print_exc()
            answer(skipped=f"{type(error).__name__}: {error}"[:300])
    # Workers and threads of frameworks may not end by themselves.
    answers.close()
    sys.stderr.flush()
    for pid in usage.below(os.getpid()):
        try:
            os.kill(pid, 9)
        except OSError:
            pass
    os._exit(0)


def _set_up(options: argparse.Namespace) -> tuple[Callable[[], tuple[Any, ...]], int]:
    workload = load(options.workload)
    contender = workload.find(options.case, options.contender)
    for name in contender.needs:
        if not _installed(name):
            raise ImportError(f"{name} is not installed")
    work = Work(options.data, options.quick, options.threads)
    workload.prepare(work)
    gc.collect()
    before = usage.memory_bytes(os.getpid()) or usage.peak_bytes()
    return contender.build(work), before


def _installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # the package above it is missing
        return False


def _one_pass(run: Callable[[], tuple[Any, ...]], at_least: float) -> dict[str, Any]:
    """Run epochs for some time, and return what one of them took."""
    gc.collect()
    processor, begin, epochs = usage.processor_seconds(), time.perf_counter(), 0
    own: list[dict[str, float]] = []
    while True:
        examples, size, *more = run()
        own += more
        epochs += 1
        seconds = time.perf_counter() - begin
        if seconds >= at_least:
            break
    processor = usage.processor_seconds() - processor
    if not examples:
        raise RuntimeError("the contender delivered nothing")
    extra = {name: statistics.median(one[name] for one in own) for name in (own[0] if own else ())}
    return {
        "seconds": extra.pop("seconds", seconds / epochs),
        "extra": extra,
        "processor_seconds": processor / epochs,
        "examples": examples,
        "bytes": size,
        "epochs": epochs,
        "peak_bytes": usage.peak_bytes(),
    }


def _versions() -> dict[str, str]:
    found = {"python": ".".join(map(str, sys.version_info[:3]))}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pass
    return found


if __name__ == "__main__":
    main()
