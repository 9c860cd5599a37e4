"""Nothing half-written: what is left after success, failure and a kill."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fuel.converters import _output
from fuel.converters.base import atomic_output, staging_directory
from fuel.exceptions import StorageError


def test_the_final_name_appears_only_when_the_file_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("older")
    with atomic_output(str(path)) as part:
        Path(part).write_text("new")
        assert path.read_text() == "older"
        assert Path(part).parent == tmp_path and part.endswith(".part")
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["x"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failure_leaves_what_was_there_and_nothing_else(
    tmp_path: Path, error: type[BaseException]
) -> None:
    path = tmp_path / "x"
    path.write_text("older")
    with pytest.raises(error), atomic_output(str(path)) as part:
        Path(part).write_text("half of")
        raise error
    assert path.read_text() == "older"
    assert os.listdir(tmp_path) == ["x"]


def test_writing_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="nothing was written"):
        with atomic_output(str(tmp_path / "x")):
            pass


def test_a_symbolic_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("older")
    try:
        (tmp_path / "link").symlink_to(tmp_path / "real")
    except OSError:
        pytest.skip("this platform lets only administrators make symbolic links")
    with atomic_output(str(tmp_path / "link")) as part:
        Path(part).write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_two_writers_of_one_file_do_not_disturb_each_other(tmp_path: Path) -> None:
    path = str(tmp_path / "x")
    with atomic_output(path) as first, atomic_output(path) as second:
        assert first != second
        Path(first).write_text("1")
        Path(second).write_text("2")
    assert (tmp_path / "x").read_text() == "1"  # the outer block ends last
    assert os.listdir(tmp_path) == ["x"]


def test_the_rest_of_a_killed_writer_is_removed_by_the_next(tmp_path: Path) -> None:
    program = """
import os, sys
from fuel.converters.base import atomic_output, staging_directory
with staging_directory(sys.argv[1], "job") as folder, atomic_output(sys.argv[1] + "/x") as part:
    open(part, "w").close()
    open(folder + "/y", "w").close()
    os._exit(9)
"""
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], timeout=60)
    assert done.returncode == 9
    assert len(os.listdir(tmp_path)) == 2
    assert all(name.endswith(".part") for name in os.listdir(tmp_path))
    with atomic_output(str(tmp_path / "x")) as part:
        Path(part).write_text("new")
    with staging_directory(str(tmp_path), "job"):
        pass
    assert os.listdir(tmp_path) == ["x"]


def test_the_part_of_a_living_process_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_output.os, "getpid", os.getppid)
    living = tmp_path / _output._part_name("x")
    monkeypatch.undo()
    living.touch()
    elsewhere = tmp_path / "x.0000-999999999-aa.part"  # of another machine
    elsewhere.touch()
    _output._sweep(str(tmp_path), "x")
    # Windows tells by refusing to remove open files instead.
    assert living.exists() or os.name == "nt"
    assert elsewhere.exists()


def test_staged_files_move_together_and_only_after_success(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("older")
    with pytest.raises(ValueError), staging_directory(str(tmp_path), "job") as folder:
        Path(folder, "a").write_text("half")
        raise ValueError
    assert (tmp_path / "a").read_text() == "older"
    with staging_directory(str(tmp_path), "job") as folder:
        Path(folder, "a").write_text("new")
        Path(folder, "sub").mkdir()
        Path(folder, "sub", "b").write_text("below")
    assert (tmp_path / "a").read_text() == "new"
    assert (tmp_path / "sub" / "b").read_text() == "below"
    assert sorted(os.listdir(tmp_path)) == ["a", "sub"]


def test_what_is_no_file_is_not_replaced_by_one(tmp_path: Path) -> None:
    # A directory stands for a device or a pipe, which root could replace.
    target = tmp_path / "x"
    target.mkdir()
    with pytest.raises(StorageError, match="that is no file"), atomic_output(str(target)):
        raise AssertionError("nothing is written")
    assert os.listdir(tmp_path) == ["x"]
