"""The three commands as real processes: exit codes, plain lines, interruption."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def environment(**more: str) -> dict[str, str]:
    return dict(os.environ, PYTHONPATH=str(ROOT), NO_PROXY="127.0.0.1", **more)


def run(directory: Path, module: str, *arguments: str, **more: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", f"fuel.bin.{module}", *arguments],
        cwd=directory,
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


def test_from_raw_files_to_a_described_file(tmp_path: Path) -> None:
    assert run(tmp_path, "fuel_download", "digits", "--bundled")[0] == 0
    code, out, err = run(tmp_path, "fuel_convert", "digits")
    assert (code, err) == (0, "")
    code, out, err = run(tmp_path, "fuel_info", "digits.hdf5")
    assert (code, err) == (0, "")
    assert "\n    fuel-convert digits\n" in out
    assert "train  1442 examples" in out
    assert run(tmp_path, "fuel_download", "digits", "--clear")[0] == 0
    assert os.listdir(tmp_path) == ["digits.hdf5"]


@pytest.mark.parametrize(
    "module, arguments, code, message",
    [
        ("fuel_convert", [], 2, "fuel-convert: error: name a data set"),
        ("fuel_convert", ["iris"], 2, "fuel-convert: error: The following required files"),
        ("fuel_download", [], 2, "fuel-download: error: name a data set"),
        ("fuel_info", [], 2, "fuel-info: error: name an HDF5 file"),
        ("fuel_info", ["nowhere.hdf5"], 1, "fuel-info: error: there is no file nowhere.hdf5"),
    ],
)
def test_mistakes_have_an_exit_code_and_a_line(
    tmp_path: Path, module: str, arguments: list[str], code: int, message: str
) -> None:
    found, out, err = run(tmp_path, module, *arguments)
    assert found == code
    assert message in err
    assert out == ""
    assert os.listdir(tmp_path) == []


EXTRA = """
import os, h5py
def convert(directory, output_directory, output_filename="theirs.hdf5"):
    path = os.path.join(output_directory, output_filename)
    with h5py.File(path, mode="w") as h5file:
        h5file["x"] = [1, 2, 3]
        {then}
    return (path,)
all_converters = (("theirs", lambda subparser: convert),)
"""


def plugin(directory: Path, then: str) -> dict[str, str]:
    (directory / "plugins").mkdir()
    (directory / "plugins" / "their_package.py").write_text(EXTRA.format(then=then))
    (directory / "fuelrc").write_text("extra_converters: ['their_package']\n")
    return {
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(directory / "plugins")]),
        "FUEL_CONFIG": str(directory / "fuelrc"),
    }


def start(directory: Path, *command: str, **more: str) -> subprocess.Popen[str]:
    new_group = 0 if os.name != "nt" else subprocess.CREATE_NEW_PROCESS_GROUP
    return subprocess.Popen(
        [sys.executable, "-u", "-m", *command],
        cwd=directory,
        env={**environment(), **more},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        creationflags=new_group,
    )


def interrupt(process: subprocess.Popen[str]) -> tuple[int, str]:
    process.send_signal(signal.SIGINT if os.name != "nt" else signal.CTRL_BREAK_EVENT)
    error = process.communicate(timeout=60)[1]
    return process.returncode, error


def test_a_converter_named_in_the_configuration_file_works(tmp_path: Path) -> None:
    variables = plugin(tmp_path, "pass")
    out = tmp_path / "out"
    out.mkdir()
    done = start(tmp_path, "fuel.bin.fuel_convert", "theirs", "-o", str(out), **variables)
    error = done.communicate(timeout=60)[1]
    assert (done.returncode, error) == (0, "")
    assert os.listdir(out) == ["theirs.hdf5"]


def test_a_bug_in_a_converter_is_a_line_that_says_how_to_see_more(tmp_path: Path) -> None:
    variables = plugin(tmp_path, "raise KeyError('lost')")
    (tmp_path / "theirs.hdf5").write_text("precious")
    done = start(tmp_path, "fuel.bin.fuel_convert", "theirs", **variables)
    error = done.communicate(timeout=60)[1]
    assert done.returncode == 1
    assert error.startswith("fuel-convert: error: KeyError: 'lost' (`fuel-convert --traceback")
    assert (tmp_path / "theirs.hdf5").read_text() == "precious"
    done = start(tmp_path, "fuel.bin.fuel_convert", "--traceback", "theirs", **variables)
    error = done.communicate(timeout=60)[1]
    assert "Traceback" in error and "their_package.py" in error


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signal that is like Ctrl-C to a child")
def test_an_interrupted_conversion_leaves_nothing(tmp_path: Path) -> None:
    variables = plugin(tmp_path, "print('begun', flush=True); import time; time.sleep(60)")
    out = tmp_path / "out"
    out.mkdir()
    (out / "theirs.hdf5").write_text("precious")
    process = start(tmp_path, "fuel.bin.fuel_convert", "theirs", "-o", str(out), **variables)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    code, error = interrupt(process)
    assert code == 130
    assert "Traceback" not in error and "fuel-convert: interrupted" in error
    assert os.listdir(out) == ["theirs.hdf5"]
    assert (out / "theirs.hdf5").read_text() == "precious"


DOWNLOADER = """
from fuel.downloaders.base import default_downloader
def fill_subparser(subparser):
    subparser.set_defaults(urls=["http://127.0.0.1:{port}/x"], filenames=["x"])
    return default_downloader
all_downloaders = (("theirs", fill_subparser),)
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signal that is like Ctrl-C to a child")
@pytest.mark.parametrize("ranges", ["", "Accept-Ranges: none\r\n"])
def test_an_interrupted_download_keeps_only_what_can_be_resumed(
    tmp_path: Path, ranges: str
) -> None:
    """The server sends a part and then nothing more, until the client goes away."""
    out = tmp_path / "out"
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        (tmp_path / "their_downloads.py").write_text(DOWNLOADER.format(port=port))
        variables = {
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)]),
            "FUEL_EXTRA_DOWNLOADERS": "their_downloads",
        }
        process = start(tmp_path, "fuel.bin.fuel_download", "theirs", "-d", str(out), **variables)
        connection, _ = server.accept()
        with connection:
            connection.recv(65536)
            head = "HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n"
            date = "Last-Modified: Wed, 21 Oct 2015 07:28:00 GMT\r\n"
            connection.sendall((head + date + ranges + "\r\n").encode() + b"x" * 2048)
            part = out / "x.part"
            written = threading.Event()
            while not (part.exists() and part.stat().st_size == 2048):
                assert process.poll() is None
                written.wait(0.01)
            code, error = interrupt(process)
    assert code == 130
    assert "Traceback" not in error and "fuel-download: interrupted" in error
    assert os.listdir(out) == ([] if ranges else ["x.part"])
