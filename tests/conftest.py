"""Fixtures that tests of several rooms share. One room's fixtures stay in its own files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# A shell without job control has what it runs in the background ignore Ctrl-C, and all processes
# that the tests start and interrupt would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The directory that holds `pyproject.toml`."""
    return ROOT


@pytest.fixture
def fresh_python(tmp_path: Path) -> Callable[..., str]:
    """Runs a program in a new interpreter, in a new directory: `fresh_python(code, *arguments)`.

    Returns what it printed. A non-zero exit code or a warning fails the test with all that it
    said. Variables of the environment are given by keyword.
    """

    def run(code: str, *arguments: str, **variables: str) -> str:
        environment = dict(os.environ, PYTHONPATH=str(ROOT), **variables)
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", code, *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run
