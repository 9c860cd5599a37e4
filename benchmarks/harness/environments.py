"""Virtual environments for the peers, made once and used again.

A *lane* is an environment. The lane "" is the interpreter that runs the benchmarks: it measures
limits, code written by hand and Fuel. Peers that do not get along with each other have lanes of
their own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

__all__ = ["LANES", "interpreter", "own_interpreter"]

ROOT = Path(__file__).resolve().parents[2]
#: Where they are made, and left for the next run.
FOLDER = ROOT / ".venv-benchmarks"

#: What is installed for each lane, in this order, a command for each group: where one cannot be
#: installed, the others are still measured. Requirements that are repeated hold what is there.
LANES: dict[str, tuple[tuple[str, ...], ...]] = {
    "torch": (
        ("numpy", "pillow"),
        ("torch==2.13.0", "numpy"),
        ("torchdata==0.11.0", "torch==2.13.0", "numpy"),
        ("grain", "numpy"),
        ("simplejpeg", "numpy"),
        ("spdl", "numpy"),
        ("datasets", "numpy"),
        ("h5py", "numpy"),
        ("tensorstore", "numpy"),
        ("zarr", "numpy"),
    ),
    "tensorflow": (("tensorflow-cpu",),),
    # The part that runs on a CPU needs no CUDA, which its dependencies would bring.
    "dali": (
        ("numpy", "optree", "astunparse", "gast", "libcst", "makefun", "packaging", "six"),
        ("--no-deps", "nvidia-dali-cuda120"),
        ("nvidia-nvimgcodec-cu12==0.9.*",),
    ),
}
# These have the version that Fuel is measured with, where nothing else is asked for.
_SAME = ("numpy", "pillow")


def own_interpreter(say: Callable[[str], None]) -> str:
    """Return an interpreter that imports Fuel: this one, or that of an environment made for it."""
    if find_spec("fuel") is not None and find_spec("PIL") is not None:
        return sys.executable
    python = _make("fuel")
    say("installing Fuel of this checkout")
    _install(python, [str(ROOT)])
    return str(python)


def interpreter(lane: str, say: Callable[[str], None]) -> str:
    """Return the interpreter of a lane, made if need be."""
    python = _make(lane)
    note = FOLDER / lane / "installed.json"
    wanted = [[_exact(lane, name) for name in group] for group in LANES[lane]]
    state = json.loads(note.read_text()) if note.exists() else {}
    if state.get("wanted") != wanted:
        failed = []
        for group in wanted:
            say(f"{lane}: installing {' '.join(group)}")
            if not _install(python, group):
                failed.append(group)
                say(f"{lane}: {' '.join(group)} cannot be installed here; measured without")
        note.write_text(json.dumps({"wanted": wanted, "failed": failed}, indent=1))
    return str(python)


def _exact(lane: str, name: str) -> str:
    return f"{name}=={version(name)}" if lane == "torch" and name in _SAME else name


def _make(name: str) -> Path:
    folder = FOLDER / name
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if not python.exists():
        venv.create(folder, with_pip=True)
    return python


def _install(python: Path, group: list[str]) -> bool:
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    return subprocess.run([*command, *group]).returncode == 0
