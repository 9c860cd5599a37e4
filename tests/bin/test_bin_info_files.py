"""What ``fuel-info`` does with options, terminals, and names that are not to be trusted."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import h5py
import numpy
import pytest

from fuel.bin import _info_text
from fuel.bin.fuel_info import main
from fuel.datasets.hdf5 import H5PYDataset


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def file() -> str:
    with h5py.File("x.hdf5", "w") as h5file:
        h5file["x"] = numpy.arange(5 * 81).reshape(5, 9, 9).astype("u1")
        h5file["y"] = numpy.array([0, 1, 0, 1, 1])
        split = {"train": {"x": (0, 3), "y": (0, 3)}, "test": {"x": (3, 5)}}
        h5file.attrs["split"] = H5PYDataset.create_split_array(split)
    return "x.hdf5"


def failure(capsys, *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    return caught.value.code, capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["--preview", "x.hdf5"], "--preview needs the name of a file that ends in .png"),
        (["--html", "page"], "--html needs the name of a file that ends in .html"),
        (["--preview", "no/where.png"], "there is no directory no"),
        (["--split", "train"], "choose what --preview and --html draw; add one"),
        (["--count", "3"], "choose what --preview and --html draw; add one"),
        (["--preview", "p.png", "--split", "valid"], "has no split 'valid'; it has train, test"),
        (["--preview", "p.png", "--count", "0"], "`count` must be from 1 to 400, got 0"),
        (["--preview", "p.png", "--count", "many"], "invalid int value"),
        (["--html", "p.html", "--split", "valid"], "has no split 'valid'"),
    ],
)
def test_wrong_usage_is_told_and_writes_nothing(file, capsys, arguments, sentence) -> None:
    code, said = failure(capsys, file, *arguments)
    assert code == 2 and sentence in said
    assert os.listdir(".") == ["x.hdf5"]


def test_the_file_itself_is_never_an_output(file, capsys, here: Path) -> None:
    os.link(file, "x.png")
    before = Path(file).read_bytes()
    code, said = failure(capsys, file, "--preview", "x.png")
    assert code == 2 and "would replace x.png itself" in said
    assert Path(file).read_bytes() == before


def test_availability_is_told(file, capsys) -> None:
    main([file])
    assert "\n    test  has no y\n" in capsys.readouterr().out
    main([file, "--json"])
    assert json.loads(capsys.readouterr().out)["unavailable"] == {"test": ["y"]}


def test_json_is_json_whatever_is_in_the_file(capsys) -> None:
    with h5py.File("x.hdf5", "w") as h5file:
        h5file["nan"] = numpy.array([numpy.nan, numpy.inf, -numpy.inf])
        h5file["text\x1b\ud800".encode("utf8", "surrogatepass")] = numpy.arange(3)
        h5file["empty"] = numpy.zeros(0)
    main(["x.hdf5", "--json", "--stats"])

    def refuse(constant):
        raise AssertionError(constant)

    found = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert found["statistics"]["nan"]["values"]["inf"] == 2
    assert found["statistics"]["nan"]["values"]["mean"] is None


KEYS = {
    "file", "size_bytes", "format", "user_block_bytes", "command", "versions", "provenance",
    "splits", "unavailable", "sources", "advice", "remarks", "problems",
}  # fmt: skip


def test_the_keys_are_what_programs_rely_on(file, capsys) -> None:
    main([file, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert set(found) == KEYS
    assert set(found["sources"]["x"]) == {
        "shape", "dtype", "type", "labels", "variable_length", "axis_labels", "sizes", "shapes",
        "chunks", "compression", "storage", "random_reading",
    }  # fmt: skip
    main([file, "--json", "--stats"])
    assert set(json.loads(capsys.readouterr().out)) == KEYS | {"statistics"}


def test_names_cannot_move_the_cursor(capsys) -> None:
    with h5py.File("x.hdf5", "w") as h5file:
        h5file["\x1b[2J\r\n\u202ename"] = numpy.arange(3)
        h5file.attrs["fuel_convert_command"] = "\x1b]0;title\x07"
    main(["x.hdf5", "--stats"])
    said = capsys.readouterr().out
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202e]", said)
    assert "\\x1b[2J\\r\\n\\u202ename" in said


def test_letters_that_the_output_lacks_are_written_otherwise() -> None:
    with h5py.File("x.hdf5", "w") as h5file:
        h5file["größe"] = numpy.arange(3)
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "fuel.bin.fuel_info", "x.hdf5"]
    done = subprocess.run(command, capture_output=True, env=environment, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"gr\\xf6\\xdfe" in done.stdout


class Terminal:
    """A standard output of so many columns."""

    encoding = "utf-8"

    def __init__(self) -> None:
        self.text = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None:
        pass


@pytest.mark.parametrize("columns", [30, 60, 200])
def test_a_narrow_terminal_cuts_nothing_off(file, monkeypatch, columns: int) -> None:
    with h5py.File(file, "a") as h5file:
        h5file.create_dataset("z", (90, 99, 99), "f4", chunks=(45, 9, 9), compression=4)
        for axis, label in enumerate(("batch", "height", "width")):
            h5file["z"].dims[axis].label = label
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    main([file, "--stats"])
    lines = terminal.text.split("Relevant")[1].splitlines()
    assert max(len(line) for line in lines if "`" not in line) <= max(columns, 40)
    for word in ("batch, height, width", "chunks of 45 x 9 x 9", "gzip level 4", "rows 0 to 3"):
        assert word in terminal.text


@pytest.mark.parametrize(
    "variables, coloured",
    [({"TERM": "xterm"}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
)
def test_colours_only_where_they_are_welcome(monkeypatch, variables, coloured: bool) -> None:
    with h5py.File("x.hdf5", "w") as h5file:
        h5file.create_dataset("x", (9000, 300), "f4", chunks=(9000, 300), compression="gzip")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    main(["x.hdf5"])
    assert ("\x1b[33mFor reading in any order\x1b[0m" in terminal.text) == coloured


def test_what_cannot_be_read_is_named_and_the_rest_shown(capsys) -> None:
    with h5py.File("x.hdf5", "w") as h5file:
        h5file.create_dataset("bad", (10,), "f4", external=[("gone.raw", 0, 40)])
        h5file["good"] = [1, 2]
    with pytest.raises(SystemExit) as caught:
        main(["x.hdf5", "--stats"])
    said = capsys.readouterr()
    assert caught.value.code == 1
    assert said.err == "fuel-info: error: x.hdf5: not all could be read: bad\n"
    assert "Problem: source bad cannot be read" in said.out and "\n    good" in said.out
    assert "takes data from gone.raw, which is not there" in said.out


def test_the_command_for_rewriting_works(capsys) -> None:
    from fuel.bin.fuel_convert import main as convert

    with h5py.File("-a file.hdf5", "w") as h5file:
        data = numpy.arange(9000 * 300, dtype="f4").reshape(9000, 300)
        h5file.create_dataset("x", data=data, chunks=(9000, 300), compression="gzip")
    main(["./-a file.hdf5"])
    found = re.search(r"`fuel-convert (.*)` rewrites", capsys.readouterr().out)
    assert found is not None
    if os.name != "nt":
        import shlex

        convert(shlex.split(found[1]))
        capsys.readouterr()
        main(["./-a file-fast.hdf5"])
        assert "The layout suits reading in any order." in capsys.readouterr().out


def test_many_classes_are_summed_up(capsys) -> None:
    with h5py.File("x.hdf5", "w") as h5file:
        h5file["y"] = numpy.arange(250) % 100
    main(["x.hdf5", "--stats"])
    assert "y in all: 100 classes with 2 to 3 examples each" in capsys.readouterr().out


def test_the_width_of_what_is_no_terminal_is_not_asked_for() -> None:
    rows = [["a", "b" * 300], ["long", ""]]
    assert _info_text.table(rows) == ["    a     " + "b" * 300, "    long"]
