"""The import contracts hold, cover every room, and can fail."""

from __future__ import annotations

import configparser
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

LINT = "import sys; sys.path.insert(0, '.'); import importlinter.cli as cli; "
LINT += "cli.lint_imports_command(['--no-cache'])"


def lint(directory: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", LINT],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=100,
    )


def test_imports_only_go_down(checkout: Path) -> None:
    done = lint(checkout)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("room", "breach"),
    [
        ("schemes/_base.py", "import fuel.streams"),
        ("schemes/_base.py", "import h5py"),
        ("datasets/_dataset.py", "import fuel.transformers"),
        ("streams/_base.py", "import torch"),
    ],
)
def test_a_breach_is_caught(checkout: Path, tmp_path: Path, room: str, breach: str) -> None:
    shutil.copytree(
        checkout / "fuel", tmp_path / "fuel", ignore=shutil.ignore_patterns("*.so", "__pycache__")
    )
    shutil.copy(checkout / ".importlinter", tmp_path)
    path = tmp_path / "fuel" / room
    path.write_text(f"{path.read_text(encoding='utf-8')}\n{breach}\n", encoding="utf-8")
    done = lint(tmp_path)
    assert done.returncode != 0
    assert "BROKEN" in done.stdout


def test_every_room_has_its_floor(checkout: Path) -> None:
    contracts = configparser.ConfigParser()
    contracts.read(checkout / ".importlinter", encoding="utf-8")
    layers = contracts["importlinter:contract:floors"]["layers"]
    floors = {name.strip("()") for name in layers.replace("|", " ").replace(":", " ").split()}
    rooms = {path.stem for path in (checkout / "fuel").glob("*.py") if path.stem != "__init__"}
    rooms |= {path.parent.name for path in (checkout / "fuel").glob("*/__init__.py")}
    # `data` holds files, not code, whether or not it is importable.
    assert {f"fuel.{room}" for room in rooms - {"data"}} - floors == set()


def test_a_layer_in_parentheses_is_not_built(checkout: Path) -> None:
    text = (checkout / ".importlinter").read_text(encoding="utf-8")
    waiting = [word.strip("()") for word in text.split() if word.startswith("(fuel.")]
    built = [
        name
        for name in waiting
        if (checkout / name.replace(".", "/") / "__init__.py").exists()
        or (checkout / (name.replace(".", "/") + ".py")).exists()
    ]
    assert built == [], "take their parentheses away in .importlinter"
