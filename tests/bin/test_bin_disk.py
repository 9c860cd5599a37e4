"""A disk that is full, or a file that may not grow: one plain line, and nothing left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fuel.bin import fuel_convert, fuel_download

resource = pytest.importorskip("resource", reason="Windows has no limit for the size of a file")

#: Bytes; enough for `import`, not enough for the digits.
LIMIT = 40_000


def limited(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command that cannot make large files."""
    program = (
        f"import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, ({LIMIT}, {LIMIT})); "
        "from fuel.bin import fuel_convert, fuel_download; "
        "{'convert': fuel_convert, 'download': fuel_download}[sys.argv.pop(1)].main()"
    )
    return subprocess.run(
        [sys.executable, "-B", "-c", program, *arguments],
        cwd=cwd,
        env=dict(os.environ, HOME=str(cwd)),
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_a_download_that_does_not_fit_leaves_nothing_and_names_the_file(tmp_path: Path) -> None:
    done = limited("download", "digits", "--bundled", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "optdigits.tes.part: File too large" in done.stderr
    assert os.listdir(tmp_path) == []


def test_a_conversion_that_does_not_fit_keeps_the_older_file(tmp_path: Path) -> None:
    fuel_download.main(["digits", "--bundled", "-d", str(tmp_path)])
    (tmp_path / "digits.hdf5").write_bytes(b"an older one")
    done = limited("convert", "digits", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "fuel-convert: error: File too large\n")
    assert sorted(os.listdir(tmp_path)) == ["digits.hdf5", "optdigits.tes"]
    assert (tmp_path / "digits.hdf5").read_bytes() == b"an older one"
    fuel_convert.main(["digits", "-d", str(tmp_path), "-o", str(tmp_path)])
    assert (tmp_path / "digits.hdf5").stat().st_size > LIMIT


def test_a_converter_that_leaves_a_file_open_fails_in_good_order(tmp_path: Path) -> None:
    (tmp_path / "untidy.py").write_text(
        """import atexit, os, h5py
def fill_subparser(subparser):
    return convert
def convert(directory, output_directory):
    global file
    file = h5py.File(os.path.join(output_directory, "open.hdf5"), "w")
    atexit.register(print, "tidied up")
    raise ValueError("the input is broken")
all_converters = (("untidy", fill_subparser),)
""",
        encoding="utf-8",
    )
    more = {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path]), "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-B", "-m", "fuel.bin.fuel_convert", "untidy"],
        cwd=tmp_path,
        env={**os.environ, **more, "FUEL_EXTRA_CONVERTERS": "untidy"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (1, "tidied up\n")
    assert done.stderr.startswith("fuel-convert: error: ValueError: the input is broken")
    assert os.listdir(tmp_path) == ["untidy.py"]


@pytest.mark.parametrize("name", ["", ".", "..", "folder/"])
def test_an_output_needs_a_name(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        fuel_convert.main(["digits", "-o", str(tmp_path), "-r", name])
    assert ended.value.code == 2
    assert "-r must name the converted file" in capsys.readouterr().err


def test_an_output_may_have_a_name_that_begins_with_dots(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fuel_download.main(["iris", "--bundled", "-d", str(tmp_path)])
    fuel_convert.main(["iris", "-d", str(tmp_path), "-o", str(tmp_path), "-r", "..iris"])
    assert f"wrote {tmp_path / '..iris.hdf5'}" in capsys.readouterr().out
    assert (tmp_path / "..iris.hdf5").is_file()


def test_where_input_was_looked_for_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        fuel_convert.main(["digits", "-d", str(tmp_path / "nowhere"), "-o", str(tmp_path)])
    assert f"looked for in {tmp_path / 'nowhere'}, which is no directory" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["convert", "download"])
def test_a_working_directory_that_is_gone_is_told(tmp_path: Path, command: str) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    program = (
        f"import os; from fuel.bin import fuel_{command} as command; "
        "os.rmdir(os.getcwd()); command.main(['iris'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=gone, capture_output=True, text=True, timeout=60
    )
    expected = f"fuel-{command}: error: the working directory is gone; change to another one first"
    assert (done.returncode, done.stderr.strip()) == (1, expected)
