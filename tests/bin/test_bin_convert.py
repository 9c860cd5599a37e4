"""``fuel-convert`` as a function: options, tags, plug-ins, failures that destroy nothing."""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import h5py
import numpy
import pytest

from fuel.bin.fuel_convert import main
from fuel.config_parser import config
from fuel.converters.base import fill_hdf5_file
from fuel.downloaders.packaged import take_packaged
from fuel.manifests import MANIFESTS


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def raw(here: Path) -> Path:
    take_packaged(MANIFESTS["iris"], str(here / "raw"))
    return here / "raw"


Converter = Callable[..., Any]


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """`plugin("name", converter)` makes a module that the settings name."""
    names: list[str] = []

    def make(dataset: str, converter: Converter, module: str = "my_fuel_converters") -> None:
        found = types.ModuleType(module)
        found.all_converters = ((dataset, lambda subparser: converter),)  # type: ignore
        monkeypatch.setitem(sys.modules, module, found)
        names.append(module)
        monkeypatch.setenv("FUEL_EXTRA_CONVERTERS", " ".join(names))

    yield make


def old_style(directory: str, output_directory: str, output_filename: str = "old.hdf5") -> Any:
    """A converter as the manual has it: it opens its output first, and reads afterwards."""
    output_path = os.path.join(output_directory, output_filename)
    h5file = h5py.File(output_path, mode="w")
    data = numpy.loadtxt(os.path.join(directory, "numbers.txt"), ndmin=2)
    fill_hdf5_file(h5file, (("all", "numbers", data),))
    h5file.flush()
    h5file.close()
    return (output_path,)


def failure(arguments: list[str]) -> int | str | None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    return caught.value.code


def test_the_output_is_tagged_with_how_it_was_made(raw: Path, here: Path) -> None:
    main(["iris", "-d", "raw"])
    with h5py.File(here / "iris.hdf5", "r") as h5file:
        assert h5file.attrs["fuel_convert_command"] == b"fuel-convert iris -d raw"
        assert h5file.attrs["h5py_interface_version"] == b"0.3"
        assert h5file.attrs["fuel_convert_version"] == b"0.2"
    assert sorted(os.listdir(here)) == ["iris.hdf5", "raw"]


@pytest.mark.parametrize(
    "given, written",
    [("x", "x.hdf5"), ("x.h5", "x.h5"), ("x.hdf", "x.hdf"), ("x.dat", "x.dat.hdf5")],
)
def test_an_output_filename_gets_an_extension(raw: Path, given: str, written: str) -> None:
    Path("out").mkdir()
    main(["iris", "-d", "raw", "-o", "out", "-r", given])
    assert os.listdir("out") == [written]


def test_an_output_filename_may_hold_a_directory(raw: Path) -> None:
    Path("out/below").mkdir(parents=True)
    main(["iris", "-d", "raw", "-o", "out", "-r", "below/x"])
    assert os.listdir("out/below") == ["x.hdf5"]
    assert failure(["iris", "-d", "raw", "-r", "nowhere/x"]) == 2


def test_missing_input_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    for name, file in (("iris", "iris.data"), ("digits", "optdigits.tes")):
        assert failure([name]) == 2
        error = capsys.readouterr().err
        assert error.startswith("usage: fuel-convert")
        assert (
            f"fuel-convert: error: The following required files were not found:\n   * {file}\n"
            in error
        )
        assert "Did you forget to run fuel-download?" in error
    assert os.listdir() == []


def test_the_output_directory_must_exist(raw: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert failure(["iris", "-d", "raw", "-o", "nowhere"]) == 2
    assert "fuel-convert: error: the output directory nowhere does not exist" in (
        capsys.readouterr().err
    )
    assert failure(["iris", "-o", "raw/iris.data"]) == 2
    assert "is not a directory" in capsys.readouterr().err


def test_damaged_input_is_a_plain_line(raw: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["iris", "-d", "raw"])
    before = Path("iris.hdf5").read_bytes()
    (raw / "iris.data").write_text("<html>\n")
    assert failure(["iris", "-d", "raw"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("fuel-convert: error: line 1 of") and error.count("\n") == 1
    assert Path("iris.hdf5").read_bytes() == before


@pytest.mark.filterwarnings("default")
def test_a_remark_of_a_converter_is_a_plain_line(
    raw: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (raw / "iris.data").read_text().splitlines()
    (raw / "iris.data").write_text("\n".join(lines[:100]))
    main(["iris", "-d", "raw"])
    assert capsys.readouterr().err.startswith("fuel-convert: warning: raw")


@pytest.mark.parametrize("arguments", [[], ["--traceback"]])
def test_without_a_name_the_usage_and_the_names_are_shown(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert failure(arguments) == 2
    error = capsys.readouterr().err
    assert "usage: fuel-convert" in error and "\n  digits\n" in error and "\n  iris\n" in error


def test_an_unknown_name_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert failure(["nosuch"]) == 2
    assert "nosuch" in capsys.readouterr().err


def test_version_and_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert failure(["--version"]) == 0
    assert capsys.readouterr().out.startswith("fuel-convert 0.")
    main(["--list"])
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert {"digits", "iris", "mnist"} <= set(listed)


def test_a_converter_of_another_package_works_unchanged(plugin: Callable[..., None]) -> None:
    plugin("numbers", old_style)
    Path("numbers.txt").write_text("1 2\n3 4\n")
    main(["numbers"])
    with h5py.File("old.hdf5", "r") as h5file:
        assert h5file["numbers"][...].tolist() == [[1, 2], [3, 4]]
        assert h5file.attrs["fuel_convert_command"] == b"fuel-convert numbers"
    assert sorted(os.listdir()) == ["numbers.txt", "old.hdf5"]
    main(["numbers", "-r", "other"])
    assert sorted(os.listdir()) == ["numbers.txt", "old.hdf5", "other.hdf5"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_old_converter_that_fails_does_not_destroy_the_older_file(
    plugin: Callable[..., None], error: type[BaseException]
) -> None:
    def broken(directory: str, output_directory: str) -> Any:
        h5py.File(os.path.join(output_directory, "old.hdf5"), mode="w")
        raise error("half-way")

    plugin("numbers", broken)
    Path("old.hdf5").write_bytes(b"precious")
    with pytest.raises((SystemExit, error)):
        main(["numbers"])
    assert Path("old.hdf5").read_bytes() == b"precious"
    assert os.listdir() == ["old.hdf5"]


def test_a_converter_may_ask_for_the_real_directory(plugin: Callable[..., None]) -> None:
    seen = []

    def appending(directory: str, output_directory: str) -> Any:
        seen.append(output_directory)
        path = os.path.join(output_directory, "grows.hdf5")
        with h5py.File(path, "a") as h5file:
            h5file[str(len(h5file))] = [1]
        return path

    appending.in_place = True  # type: ignore[attr-defined]
    plugin("growing", appending)
    main(["growing"])
    main(["growing"])
    assert seen == [os.getcwd()] * 2
    with h5py.File("grows.hdf5", "r") as h5file:
        assert sorted(h5file) == ["0", "1"]


@pytest.mark.parametrize(
    "returned, message", [(3, "must return a tuple of the paths"), (("x.hdf5",), "did not write")]
)
def test_a_wrong_return_value_is_explained(
    plugin: Callable[..., None],
    capsys: pytest.CaptureFixture[str],
    returned: Any,
    message: str,
) -> None:
    plugin("odd", lambda directory, output_directory: returned)
    assert failure(["odd"]) == 1
    assert message in capsys.readouterr().err


def test_a_name_cannot_be_given_to_a_converter_that_has_none(
    plugin: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    plugin("odd", lambda directory, output_directory: ())
    assert failure(["odd", "-r", "x"]) == 2
    assert "leave -r out" in capsys.readouterr().err


def test_a_name_conflict_concerns_only_that_name(
    plugin: Callable[..., None], raw: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plugin("digits", old_style)
    with pytest.raises(ValueError) as caught:
        main(["digits"])
    assert str(caught.value) == "extra converters conflict in name with built-in converters"
    capsys.readouterr()
    main(["iris", "-d", "raw"])
    error = capsys.readouterr().err
    assert error.startswith("fuel-convert: warning: extra converters conflict in name")
    assert "'digits' is in my_fuel_converters and in fuel.converters" in error


def test_two_extra_modules_conflict_as_well(plugin: Callable[..., None]) -> None:
    plugin("numbers", old_style, "first_converters")
    plugin("numbers", old_style, "second_converters")
    with pytest.raises(ValueError, match="conflict in name with each other"):
        main(["numbers"])


def test_a_module_that_cannot_be_imported_is_named_where_it_matters(
    monkeypatch: pytest.MonkeyPatch, raw: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FUEL_EXTRA_CONVERTERS", "no_such_package.converters fuel.version")
    main(["iris", "-d", "raw"])
    error = capsys.readouterr().err
    assert "fuel-convert: warning: extra converters module 'no_such_package.converters'" in error
    assert "has no attribute 'all_converters'" in error
    assert failure(["theirs"]) == 2
    error = capsys.readouterr().err
    assert "fuel-convert: error: there is no 'theirs'" in error
    assert "ModuleNotFoundError: No module named 'no_such_package'" in error


def test_the_setting_may_be_assigned(plugin: Callable[..., None]) -> None:
    plugin("numbers", old_style)
    del os.environ["FUEL_EXTRA_CONVERTERS"]
    Path("numbers.txt").write_text("1\n")
    with config.override(extra_converters=["my_fuel_converters"]):
        main(["numbers"])
    assert Path("old.hdf5").exists()


def test_an_error_in_a_converter_reaches_a_calling_program(plugin: Callable[..., None]) -> None:
    def buggy(directory: str, output_directory: str) -> Any:
        return {}["x"]

    plugin("buggy", buggy)
    with pytest.raises(KeyError):
        main(["buggy"])
    assert os.listdir() == []


def test_on_the_command_line_a_conflict_is_a_plain_line(
    plugin: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    plugin("digits", old_style)
    monkeypatch.setattr(sys, "argv", ["fuel-convert", "digits"])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 1
    assert capsys.readouterr().err == (
        "fuel-convert: error: extra converters conflict in name with built-in converters: "
        "'digits' is in my_fuel_converters and in fuel.converters; rename it there, or take the "
        "module out of `extra_converters`\n"
    )


@pytest.mark.parametrize("options", [[], ["-r", "other"]])
def test_no_clobber_keeps_what_is_there(tmp_path, options, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = "other.hdf5" if options else "iris.hdf5"
    with open("iris.data", "wb") as raw, open(name, "wb") as old:
        raw.write((files("fuel") / "data" / "iris.data").read_bytes())
        old.write(b"old")
    with pytest.raises(SystemExit) as end:
        main(["iris", "--no-clobber", *options])
    assert end.value.code == 2
    assert f"{name} exists already, and --no-clobber forbids" in capsys.readouterr().err
    with open(name, "rb") as old:
        assert old.read() == b"old"
    os.remove(name)
    main(["iris", "--no-clobber", *options])
    assert os.path.getsize(name) > 1000
