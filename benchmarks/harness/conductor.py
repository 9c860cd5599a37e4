"""Starts a process for each contender, and lets them make their passes in turns.

While one works, the others wait for their turn, each in its own process: what one does to the
allocator, to threads or to caches of its own does not reach another. In every round each makes one
pass, beginning with another contender from round to round, so that a change of the machine's speed
hits all alike.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness import usage
from harness.registry import Contender, Workload

__all__ = ["Outcome", "Settings", "conduct"]

HERE = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Settings:
    """How much is measured."""

    data: Path
    logs: Path
    rounds: int
    threads: int
    quick: bool
    at_least_s: float  # a pass repeats its epoch for so long
    patience_s: float  # a contender that does not answer for so long is left out


@dataclass
class Outcome:
    """What came of one contender."""

    contender: Contender
    skipped: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    passes: list[dict[str, float]] = field(default_factory=list)
    data_bytes: int = 0
    peak_bytes: int = 0


class _Child:
    """The process of a contender, as its conductor sees it."""

    def __init__(self, workload: str, contender: Contender, python: str, settings: Settings):
        command = [python, "-m", "harness.child", workload, contender.case, contender.name]
        command += ["--data", str(settings.data), "--threads", str(settings.threads)]
        command += ["--quick"] if settings.quick else []
        environment = {
            # Numerical libraries with pools of threads of their own lose much more than they gain
            # on batches of this size where processors are few.
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "MKL_NUM_THREADS": "1",
            "FUEL_NUM_THREADS": str(settings.threads),
            "HF_HUB_OFFLINE": "1",
            "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
            "TF_CPP_MIN_LOG_LEVEL": "3",
            **contender.environment,
        }
        name = "".join(
            c if c.isalnum() else "-" for c in f"{workload}-{contender.case}-{contender.name}"
        )
        self.log = settings.logs / f"{name.lower()}.log"
        # What is beside the environment of a peer is not meant for it.
        others = "" if contender.lane else os.environ.get("PYTHONPATH", "")
        path = os.pathsep.join(filter(None, (str(HERE), others)))
        with self.log.open("wb") as errors:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, **environment, "PYTHONPATH": path},
                cwd=HERE,
            )
        self._answers: queue.Queue[dict[str, Any]] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(json.loads(line))
        self._answers.put({"skipped": f"ended by itself, see {self.log.name}"})

    def ask(self, line: str) -> None:
        """Send a line; a child that is gone says so when it is listened to."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()
        except (OSError, ValueError):  # a broken pipe, or one that `end` has closed
            pass

    def answer(self, patience_s: float) -> dict[str, Any]:
        """Wait for an answer."""
        found = self.poll(patience_s)
        return {"skipped": f"no answer within {patience_s:g} s"} if found is None else found

    def poll(self, seconds: float) -> dict[str, Any] | None:
        """Wait a while for an answer."""
        try:
            return self._answers.get(timeout=seconds)
        except queue.Empty:
            return None

    def end(self) -> None:
        """Ask it to end, and end it if it does not."""
        self.ask("quit")
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            for pid in [*usage.below(self.pid), self.pid]:
                try:
                    os.kill(pid, 9)
                except OSError:
                    pass
            self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except OSError:
                    pass


def conduct(
    workload: Workload,
    wanted: list[tuple[Contender, str]],
    settings: Settings,
    say: Callable[[str], None],
) -> list[Outcome]:
    """Measure contenders of a workload, each with the interpreter given."""
    outcomes, children = [], []
    try:
        for contender, python in wanted:
            # One after another: their setting up would disturb each other's warm-up.
            outcome, child = Outcome(contender), _Child(workload.name, contender, python, settings)
            outcomes.append(outcome)
            children.append(child)
            _warm_up(outcome, child, settings)
            said = outcome.skipped or f"{outcome.passes.pop()['seconds']:.3f} s to warm up"
            say(f"{workload.name} {contender.case} {contender.name}: {said}")
        alive = [pair for pair in zip(outcomes, children, strict=True) if not pair[0].skipped]
        for number in range(settings.rounds):
            turn = number % max(1, len(alive))
            for outcome, child in alive[turn:] + alive[:turn]:
                if not outcome.skipped:
                    _one_pass(outcome, child, settings)
            say(f"{workload.name}: round {number + 1} of {settings.rounds}")
        for outcome, child in alive:
            if not outcome.skipped:
                _memory_pass(outcome, child, settings)
    finally:
        for child in children:
            child.end()
    return outcomes


def _warm_up(outcome: Outcome, child: _Child, settings: Settings) -> None:
    first = child.answer(settings.patience_s)
    if "skipped" in first:
        outcome.skipped = str(first["skipped"])
        return
    outcome.versions, outcome.data_bytes = first["versions"], int(first["data_bytes"])
    _one_pass(outcome, child, settings)


def _one_pass(outcome: Outcome, child: _Child, settings: Settings) -> None:
    child.ask(f"pass {settings.at_least_s}")
    found = child.answer(settings.patience_s)
    if "skipped" in found:
        outcome.skipped = str(found["skipped"])
        child.end()
    else:
        outcome.passes.append(found)


def _memory_pass(outcome: Outcome, child: _Child, settings: Settings) -> None:
    """One more pass, not timed, while its memory is looked at again and again."""
    child.ask(f"pass {settings.at_least_s}")
    peak, end = 0, time.monotonic() + settings.patience_s
    found = None
    while found is None and time.monotonic() < end:
        peak = max(peak, usage.memory_bytes(child.pid))
        found = child.poll(0.01)
    outcome.peak_bytes = peak or int((found or {}).get("peak_bytes", 0))
