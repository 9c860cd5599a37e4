"""Programs that use workers, in processes of their own, and what they leave behind."""

from __future__ import annotations

import os
import secrets
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

__all__ = ["PRELUDE", "Program", "wait_for_end"]

ROOT = Path(__file__).resolve().parent.parent.parent
_MARK = "FUEL_TEST_PROGRAM"

#: What every program begins with.
PRELUDE = """\
import os, sys, time, signal
import numpy
from fuel.datasets import IndexableDataset
from fuel.schemes import SequentialExampleScheme
from fuel.streams import DataStream
from fuel.transformers import Mapping, Parallel

def chain(function, rows=40):
    dataset = IndexableDataset({"n": numpy.arange(rows)})
    stream = DataStream(dataset, iteration_scheme=SequentialExampleScheme(rows))
    return Mapping(stream, function, elementwise=True)

def parallel(function, rows=40, **settings):
    settings = {"workers": 2, "kind": "process", **settings}
    return Parallel(chain(function, rows), **settings)

"""


def wait_for_end(pids: list[int], seconds: float) -> list[int]:
    """Wait until processes have ended; return those that have not in so many seconds."""
    deadline = time.monotonic() + seconds
    left = []
    for pid in pids:
        try:
            handle = os.pidfd_open(pid)
        except OSError:
            continue
        try:
            poller = select.poll()
            poller.register(handle, select.POLLIN)
            if not poller.poll(max(0.0, deadline - time.monotonic()) * 1000):
                left.append(pid)
        finally:
            os.close(handle)
    return left


class Program:
    """A program in a process group of its own.

    Parameters
    ----------
    arguments : list of str
        For the interpreter.
    directory : Path
        Where it runs.
    variables : str
        Of the environment.

    """

    def __init__(self, arguments: list[str], directory: Path, **variables: str) -> None:
        self.mark = secrets.token_hex(12)
        self.errors = directory / f"errors-{self.mark}"
        environment = dict(os.environ, PYTHONPATH=str(ROOT), **variables)
        environment[_MARK] = self.mark
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, *arguments],
                cwd=directory,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )

    @classmethod
    def of(cls, code: str, directory: Path, **variables: str) -> Program:
        """Start a program from a file."""
        path = directory / f"program-{secrets.token_hex(4)}.py"
        path.write_text(PRELUDE + code)
        return cls(["-W", "error", str(path)], directory, **variables)

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: Any) -> None:
        for pid in self.others():
            os.kill(pid, signal.SIGKILL)
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def line(self) -> str:
        """Return the next line that it prints."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().decode().strip()

    def result(self) -> str:
        """Close its input, and return all that it prints; it must end well, and say nothing."""
        printed, _ = self.process.communicate(timeout=90)
        assert self.process.returncode == 0, self.complaints()
        assert not self.complaints()
        return printed.decode()

    def complaints(self) -> str:
        """Return what it wrote to standard error."""
        return self.errors.read_text()

    def others(self) -> list[int]:
        """Return the processes that it started and that live, and those that they started."""
        found = []
        needle = f"{_MARK}={self.mark}".encode()
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == self.process.pid:
                continue
            try:
                theirs = needle in (entry / "environ").read_bytes().split(b"\0")
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if theirs and state not in "ZX":
                found.append(int(entry.name))
        return found

    def nothing_is_left(self, seconds: float = 5.0, but: set[int] | None = None) -> bool:
        """Tell whether all that it started ends within so many seconds."""
        deadline = time.monotonic() + seconds
        while True:  # one that ends may have started another meanwhile
            there = [pid for pid in self.others() if pid not in (but or set())]
            if not there:
                return True
            if wait_for_end(there, deadline - time.monotonic()):
                return False
