"""``fuel-download`` as a function: packaged files, plug-ins, what it says."""

from __future__ import annotations

import io
import os
import sys
import types
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import requests

from fuel.bin.fuel_download import main
from fuel.downloaders import _transfer
from fuel.exceptions import NeedURLPrefix
from fuel.manifests import MANIFESTS

IRIS = (Path(__file__).resolve().parents[2] / "fuel/data/iris.data").read_bytes()
DIGITS = (Path(__file__).resolve().parents[2] / "fuel/data/optdigits.tes").read_bytes()


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_transfer, "RETRY_DELAYS_S", (0.0, 0.0, 0.0))
    return tmp_path


def serving(content: bytes | Exception, status: int = 200) -> Any:
    """Stands in for `requests.get`; the network itself is tested with the downloaders."""

    def get(url: str, **options: Any) -> requests.Response:
        if isinstance(content, Exception):
            raise content
        response = requests.Response()
        response.status_code = status
        response.reason = {404: "Not Found"}.get(status, "")
        response.url = url
        response.raw = io.BytesIO(content)
        return response

    return mock.patch("fuel.downloaders.base.requests.get", side_effect=get)


def failure(arguments: list[str]) -> int | str | None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    return caught.value.code


def test_a_download_that_is_right_is_kept_and_told(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(IRIS):
        main(["iris", "-d", "made"])
    assert Path("made/iris.data").read_bytes() == IRIS
    heading, _, rest = capsys.readouterr().out.partition("\n\n")
    assert heading == "Downloading iris.data"
    assert rest.startswith("iris.data: 4,551 bytes from archive.ics.uci.edu, ")
    assert rest.count("\n") == 1


def test_bundled_files_need_no_network(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(AssertionError("asked the network")) as get:
        for name in (name for name in MANIFESTS if MANIFESTS[name].packaged):
            main([name, "--bundled"])
    assert get.call_count == 0
    assert sorted(os.listdir()) == ["iris.data", "optdigits.tes"]
    assert Path("optdigits.tes").read_bytes() == DIGITS
    assert "that ship with Fuel, as asked" in capsys.readouterr().out


@pytest.mark.parametrize(
    "content, status, reason",
    [
        (requests.exceptions.ConnectionError("x"), 0, "no connection to archive.ics.uci.edu"),
        (requests.exceptions.ReadTimeout("x"), 0, "archive.ics.uci.edu did not answer in time"),
        (b"<html>gone</html>", 404, "archive.ics.uci.edu answered 404 Not Found"),
        (b"<html>log in</html>", 200, "sent a page (HTML) in place of iris.data"),
        (b"1,2,3" * 1000, 200, "is not the expected file"),
    ],
)
def test_offline_the_bundled_files_are_taken_and_it_is_said(
    capsys: pytest.CaptureFixture[str], content: Any, status: int, reason: str
) -> None:
    if isinstance(content, Exception):
        content.request = requests.Request("GET", MANIFESTS["iris"].urls[0]).prepare()
    with serving(content, status):
        main(["iris"])
    assert Path("iris.data").read_bytes() == IRIS
    said = capsys.readouterr().out
    assert "Took the files of iris that ship with Fuel, because the download failed" in said
    assert reason in said
    assert os.listdir() == ["iris.data"]


def test_digits_are_judged_by_their_form(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(DIGITS + b"\n"):
        main(["digits"])
    assert "Note: optdigits.tes has the right form" in capsys.readouterr().out
    assert Path("optdigits.tes").read_bytes() == DIGITS + b"\n"
    with serving(b"log in please"):
        main(["digits"])
    assert "line 1 has 1 fields instead of 65" in capsys.readouterr().out
    assert Path("optdigits.tes").read_bytes() == DIGITS


def test_clear_deletes_the_files(here: Path) -> None:
    main(["iris", "--bundled"])
    (here / "other").touch()
    with serving(AssertionError("asked the network")):
        main(["iris", "--clear"])
        main(["iris", "--clear"])
    assert os.listdir() == ["other"]


def test_usage_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert failure([]) == 2
    error = capsys.readouterr().err
    assert "usage: fuel-download" in error and "\n  digits\n" in error and "\n  iris\n" in error
    assert failure(["nosuch"]) == 2
    assert failure(["--version"]) == 0


def test_the_list_has_sizes_titles_and_what_is_packaged(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["--list"])
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert {"iris", "digits", "mnist", "svhn"} <= set(lines)
    assert lines["iris"].split(maxsplit=4)[1:] == [
        "4.6",
        "kB",
        "packaged",
        "Iris plants, 150 flowers of three species",
    ]
    assert "packaged" not in lines["mnist"]
    assert lines["svhn"].endswith("Street View House Numbers (2 variants)")


def test_a_directory_that_cannot_be_made_is_a_plain_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("taken").touch()
    assert failure(["iris", "--bundled", "-d", "taken"]) == 1
    assert capsys.readouterr().err.startswith("fuel-download: error: taken: ")


def use_plugin(monkeypatch: pytest.MonkeyPatch, name: str, function: Any) -> None:
    module = types.ModuleType("my_fuel_downloaders")

    def fill_subparser(subparser: Any) -> Any:
        subparser.set_defaults(urls=["http://example.invalid/x"], filenames=["x"])
        return function

    module.all_downloaders = ((name, fill_subparser),)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setenv("FUEL_EXTRA_DOWNLOADERS", module.__name__)


def test_a_downloader_of_another_package_gets_its_options(
    monkeypatch: pytest.MonkeyPatch, here: Path
) -> None:
    function = mock.Mock()
    use_plugin(monkeypatch, "theirs", function)
    main(["theirs", "--clear"])
    function.assert_called_once_with(
        directory=str(here), clear=True, urls=["http://example.invalid/x"], filenames=["x"]
    )


def test_a_name_conflict_is_a_value_error(monkeypatch: pytest.MonkeyPatch) -> None:
    use_plugin(monkeypatch, "iris", mock.Mock())
    with pytest.raises(ValueError) as caught:
        main(["iris"])
    assert str(caught.value) == "extra downloaders conflict in name with built-in downloaders"
    main(["digits", "--bundled"])


def test_a_missing_prefix_is_explained(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use_plugin(monkeypatch, "theirs", mock.Mock(side_effect=NeedURLPrefix("no address of x")))
    assert failure(["theirs"]) == 2
    error = capsys.readouterr().err
    assert "fuel-download: error: no address of x\n\n" in error and "--url-prefix" in error


def test_a_failed_download_of_what_is_not_packaged_is_a_plain_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from fuel.downloaders.base import default_downloader

    use_plugin(monkeypatch, "theirs", default_downloader)
    with serving(b"", 404):
        assert failure(["theirs"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("fuel-download: error: ") and "404 Not Found" in error
    assert error.count("\n") == 1
    assert os.listdir() == []
