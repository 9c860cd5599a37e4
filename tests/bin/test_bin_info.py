"""``fuel-info`` as a function: the original's block, what is in the file, settings, damage."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import h5py
import numpy
import pytest

from fuel.bin.fuel_info import describe_file, main
from fuel.converters.base import fill_hdf5_file, label_axes


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def failure(arguments: list[str]) -> int | str | None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    return caught.value.code


def write(path: str = "x.hdf5", tags: bool = True) -> None:
    with h5py.File(path, "w") as h5file:
        values = numpy.zeros((5, 2), dtype="float32")
        fill_hdf5_file(
            h5file,
            (("train", "x", values[:3]), ("train", "y", values[:3]), ("test", "x", values, "all")),
        )
        label_axes(h5file["x"], "batch", "feature")
        if tags:
            h5file.attrs["fuel_convert_command"] = numpy.bytes_(b"fuel-convert x -d .")
            h5file.attrs["h5py_interface_version"] = "0.3"
            h5file.attrs["fuel_convert_version"] = b"0.2"


def test_the_block_of_the_original_comes_first(capsys: pytest.CaptureFixture[str]) -> None:
    write()
    main(["x.hdf5"])
    said = capsys.readouterr().out
    block = """
Metadata for x.hdf5
===================

The command used to generate this file is

    fuel-convert x -d .

Relevant versions are

    H5PYDataset     0.3
    fuel.converters 0.2

"""
    assert said.startswith(block)
    assert (
        said.removeprefix(block)
        == """Splits are

    train  3 examples  rows 0 to 3  x, y
    test   5 examples  rows 3 to 8  x     all

    test  has no y

Sources are

    x  float32  8 x 2  batch, feature
    y  float32  3 x 2

They are stored

    x  contiguous  64 B
    y  contiguous  24 B

The layout suits reading in any order.

"""
    )


def test_what_is_unknown_is_not_available(capsys: pytest.CaptureFixture[str]) -> None:
    write("sub.hdf5", tags=False)
    main(["sub.hdf5"])
    said = capsys.readouterr().out
    assert "\n    N/A\n" in said
    assert "    H5PYDataset     N/A\n    fuel.converters N/A\n" in said


def test_json_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    write()
    main(["x.hdf5", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found == describe_file("x.hdf5")
    assert found["file"] == "x.hdf5"
    assert found["command"] == "fuel-convert x -d ."
    assert found["versions"] == {"H5PYDataset": "0.3", "fuel.converters": "0.2"}
    assert found["splits"]["test"] == {
        "x": {"start": 3, "stop": 8, "examples": 5, "comment": "all"}
    }
    assert found["sources"]["x"]["shape"] == [8, 2]
    assert found["sources"]["x"]["axis_labels"] == ["batch", "feature"]
    assert found["sources"]["y"]["axis_labels"] is None


def test_other_layouts_are_described_too() -> None:
    with h5py.File("plain.hdf5", "w") as h5file:
        h5file.create_dataset("group/a", data=numpy.zeros((4, 3)), chunks=True, compression="gzip")
        h5file["scalar"] = 3
        h5file["empty"] = h5py.Empty("float64")
        h5file["text"] = ["a", "b"]
        ragged = h5file.create_dataset("ragged", (2,), dtype=h5py.vlen_dtype("uint8"))
        scale = h5file.create_dataset("ragged_shapes", data=numpy.zeros((2, 1), dtype="int32"))
        scale.make_scale("shapes")
        ragged.dims[0].attach_scale(scale)
    found = describe_file("plain.hdf5")
    assert found["splits"] == {}
    assert found["command"] is None
    sources = found["sources"]
    assert sorted(sources) == ["empty", "group/a", "ragged", "scalar", "text"]
    assert sources["group/a"]["compression"] == "gzip"
    assert (sources["ragged"]["dtype"], sources["ragged"]["variable_length"]) == ("uint8", True)
    assert sources["text"]["dtype"] == "text"
    assert (sources["scalar"]["shape"], sources["empty"]["shape"]) == ([], None)


def test_splits_by_index_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    from fuel.datasets.hdf5 import H5PYDataset

    with h5py.File("x.hdf5", "w") as h5file:
        h5file["x"] = numpy.zeros((5, 1))
        h5file["chosen"] = [0, 2]
        split = {"few": {"x": (-1, -1, h5file["chosen"].ref)}}
        h5file.attrs["split"] = H5PYDataset.create_split_array(split)
    assert describe_file("x.hdf5")["splits"] == {"few": {"x": {"indices": 2, "examples": 2}}}
    main(["x.hdf5"])
    assert "few  2 examples  by index  x" in capsys.readouterr().out


def cut(path: str) -> None:
    content = Path(path).read_bytes()
    Path(path).write_bytes(content[: len(content) // 2])


def scribble(path: str) -> None:
    content = bytearray(Path(path).read_bytes())
    content[100:-1] = b"\xff" * (len(content) - 101)
    Path(path).write_bytes(content)


@pytest.mark.parametrize(
    "spoil, message",
    [
        (os.remove, "there is no file x.hdf5"),
        (cut, "x.hdf5 is cut short"),
        (lambda path: Path(path).write_text("hello"), "x.hdf5 is not an HDF5 file"),
        (lambda path: Path(path).write_bytes(b""), "x.hdf5 is not an HDF5 file"),
        (scribble, "x.hdf5 "),
        (lambda path: (os.remove(path), os.mkdir(path)), "x.hdf5 is a directory"),
    ],
)
def test_what_is_wrong_with_a_file_is_a_plain_line(
    spoil: Any, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write()
    spoil("x.hdf5")
    assert failure(["x.hdf5"]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith(f"fuel-info: error: {message}")
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert failure([]) == 2
    assert "usage: fuel-info" in capsys.readouterr().err
    assert failure(["x.hdf5", "--config"]) == 2
    assert failure(["--version"]) == 0


def test_every_setting_is_shown_with_where_it_comes_from(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "rc").write_text("floatX: float32\n")
    monkeypatch.setenv("FUEL_CONFIG", str(here / "rc"))
    monkeypatch.setenv("FUEL_DATA_PATH", os.pathsep.join(["/one", "/two"]))
    from fuel.config_parser import Configuration

    fresh = Configuration()
    fresh.add_config("floatX", str, default="float64", env_var="FUEL_FLOATX")
    fresh.add_config("data_path", str, env_var="FUEL_DATA_PATH")
    fresh.add_config("default_seed", int, default=1)
    fresh.load_yaml()
    monkeypatch.setattr("fuel.bin.fuel_info.config", fresh)
    main(["--config"])
    said = capsys.readouterr().out
    assert f"Configuration file: {here / 'rc'}\n" in said
    rows = {line.split()[0]: line for line in said.splitlines() if line.startswith("    ")}
    assert "'float32'" in rows["floatX"] and f"file {here / 'rc'}" in rows["floatX"]
    assert "environment variable FUEL_DATA_PATH" in rows["data_path"]
    assert "default" in rows["default_seed"]
    main(["--config", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["settings"]["floatX"]["value"] == "float32"
    assert "permutation" in found["kernels"]


def test_an_unusable_setting_is_explained_beside_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from fuel.config_parser import Configuration

    fresh = Configuration()
    fresh.add_config("workers", int, default=1, env_var="X_WORKERS")
    fresh.add_config("other", int, default=2)
    monkeypatch.setenv("X_WORKERS", "many")
    monkeypatch.setattr("fuel.bin.fuel_info.config", fresh)
    main(["--config"])
    said = capsys.readouterr().out
    assert "(unusable)" in said and "many" in said
    assert re.search(r"\n    other +2 +default\n", said)


def test_a_problem_that_settings_share_is_told_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from fuel.config_parser import Configuration, SettingDescription

    fresh = Configuration()
    damaged = [SettingDescription(key, None, "not set", None, "not\n YAML") for key in "ab"]
    object.__setattr__(fresh, "describe", lambda: damaged)
    monkeypatch.setattr("fuel.bin.fuel_info.config", fresh)
    main(["--config"])
    said = capsys.readouterr().out
    assert said.count("Problem: not YAML\n") == 1
    assert said.count("(unusable)") == 2
