"""`examples/quickstart.py` does what it shows: real data, a trained model, an exact resumption."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, Path]:
    """What it printed, what it complained about, and the folder with what it made."""
    folder = tmp_path_factory.mktemp("shown") / "output folder"
    done = subprocess.run(
        [sys.executable, "-W", "error", "examples/quickstart.py", "--output", str(folder)],
        cwd=ROOT,
        env=dict(os.environ, PYTHONPATH=str(ROOT)),
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, done.stderr, folder


def test_it_converts_and_describes_the_file(shown: tuple[str, str, Path]) -> None:
    out, _, folder = shown
    assert (folder / "digits.hdf5").is_file()
    assert "Metadata for digits.hdf5" in out
    assert re.search(r"features +uint8 +1797 x 1 x 8 x 8", out)


def test_the_chain_has_five_transformers_or_more(shown: tuple[str, str, Path]) -> None:
    steps = re.findall(r"(?m)^ *([\w()]+) -> (?:examples|batches)", shown[0])
    assert len(steps) >= 6
    assert steps[-1] == "DataStream"


def test_it_goes_on_at_the_very_next_batch(shown: tuple[str, str, Path]) -> None:
    out, _, folder = shown
    assert "the next batch is the same: yes" in out
    assert "all later batches are the same: yes" in out
    position = json.loads((folder / "checkpoint.json").read_text(encoding="utf-8"))["stream"]
    # In the middle of an epoch of 29 batches, not at one of its ends.
    assert 0 < position["delivered"] < 29


def test_the_model_learns(shown: tuple[str, str, Path]) -> None:
    found = re.search(r"test accuracy: ([\d.]+)%", shown[0])
    assert found is not None
    assert float(found[1]) > 93
    assert re.search(r"examples per second.*: [\d,]+", shown[0])


def test_the_picture_is_a_picture(shown: tuple[str, str, Path]) -> None:
    with Image.open(shown[2] / "augmented.png") as picture:
        assert picture.format == "PNG"
        assert picture.width > 600
        colours = picture.convert("L").getcolors()
    assert colours is not None and len(colours) > 10


def test_no_progress_bars_where_nobody_watches(shown: tuple[str, str, Path]) -> None:
    assert shown[1] == ""
