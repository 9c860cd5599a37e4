"""What all commands have in common: options, exit codes, suggestions, colours, completion."""

from __future__ import annotations

import importlib
import io
import shutil
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from fuel.bin import _common, _manners, fuel_convert, fuel_download
from fuel.bin._completion import SHELLS, completion_script
from fuel.manifests import MANIFESTS
from fuel.utils import _progress

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = sorted(path.stem for path in (ROOT / "fuel" / "bin").glob("fuel_*.py"))


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ended(command: str, *arguments: str) -> int | str | None:
    with pytest.raises(SystemExit) as caught:
        importlib.import_module(f"fuel.bin.{command}").main(list(arguments))
    return caught.value.code


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_the_same_manners(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name = command.replace("_", "-")
    assert ended(command, "--version") == 0
    assert capsys.readouterr().out.startswith(f"{name} 0.")
    assert ended(command, "--help") == 0
    text = capsys.readouterr().out
    for option in ("--quiet", "--verbose", "--traceback", "--completion", "--version"):
        assert option in text
    assert "\n\nExit codes: 0 all went well;" in text
    assert ended(command, "--quite") == 2
    error = capsys.readouterr().err
    assert f"{name}: error: " in error and "Traceback" not in error


def test_an_option_that_is_not_there_is_answered_with_the_nearest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for arguments in (["--quite", "iris"], ["iris", "--bundeld"]):
        assert ended("fuel_download", *arguments) == 2
        error = capsys.readouterr().err
        assert "did you mean --quiet?" in error or "did you mean --bundled?" in error


@pytest.mark.parametrize(
    "given, meant",
    [("mnits", "mnist"), ("CIFAR-10", "cifar10"), ("dogs-vs-cats", "dogs_vs_cats")],
)
@pytest.mark.parametrize("command", ["fuel_download", "fuel_convert"])
def test_an_unknown_data_set_is_answered_with_the_nearest(
    command: str, given: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(command, given) == 2
    error = capsys.readouterr().err
    assert f"invalid choice: '{given}'; did you mean {meant}" in error
    assert "--list` shows what there is" in error and "DATASET ..." in error
    assert ended(command, "qqqqqq") == 2
    assert "did you mean" not in capsys.readouterr().err


def use_plugin(monkeypatch: pytest.MonkeyPatch, function: Any, fill: Any = None) -> None:
    module = types.ModuleType("my_fuel_downloaders")

    def fill_subparser(subparser: Any) -> Any:
        if fill is not None:
            fill(subparser)
        return function

    module.all_downloaders = (("theirs", fill_subparser),)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setenv("FUEL_EXTRA_DOWNLOADERS", module.__name__)


@pytest.mark.parametrize(
    "arguments, expected",
    [
        (["theirs"], (False, False, False)),
        (["-q", "theirs"], (True, False, True)),
        (["theirs", "--quiet"], (True, False, True)),
        (["--verbose", "theirs"], (False, True, False)),
        (["-q", "theirs", "-v"], (False, True, False)),
    ],
)
def test_manners_may_stand_before_and_after_the_data_set_and_end_with_the_command(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], expected: tuple[bool, ...]
) -> None:
    seen = []

    def download(directory: str, clear: bool) -> None:
        seen.append((_common.is_quiet(), _common.is_verbose(), _progress.hidden.get()))

    use_plugin(monkeypatch, download)
    fuel_download.main(arguments)
    assert seen == [expected]
    assert (_common.is_quiet(), _common.is_verbose(), _progress.hidden.get()) == (False,) * 3


def test_options_of_a_plug_in_go_before_those_of_the_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: dict[str, Any] = {}

    def fill(subparser: Any) -> None:
        subparser.add_argument("-v", "--url", help="theirs")
        subparser.add_argument("-q", "--jobs", type=int)
        subparser.add_argument("--quiet", type=int)

    use_plugin(monkeypatch, lambda **options: seen.update(options), fill)
    fuel_download.main(["theirs", "-v", "x", "-q", "99", "--quiet", "1", "--verbose"])
    assert {name: seen[name] for name in ("url", "jobs", "quiet")} == {
        "url": "x",
        "jobs": 99,
        "quiet": 1,
    }


def test_where_a_bug_happened_is_shown_on_request(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(**options: Any) -> None:
        raise KeyError("lost")

    use_plugin(monkeypatch, broken)
    # A command of its own process ends it at once if files are open; other tests may have some.
    monkeypatch.setattr(_common, "_end_with_files_that_cannot_be_closed", lambda code: None)
    for place in (["--traceback", "theirs"], ["theirs", "--traceback"]):
        monkeypatch.setattr(sys, "argv", ["fuel-download", *place])
        with pytest.raises(SystemExit) as caught:
            fuel_download.main()
        assert caught.value.code == 1
        assert "in broken" in capsys.readouterr().err


def test_an_interruption_is_told_and_has_its_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(**options: Any) -> None:
        raise KeyboardInterrupt

    use_plugin(monkeypatch, interrupted)
    assert ended("fuel_download", "theirs") == 130
    assert capsys.readouterr().err == "\nfuel-download: interrupted\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    "variables, coloured",
    [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False), ({"NO_COLOR": ""}, True)],
)
def test_errors_are_red_on_terminals_that_want_it(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], coloured: bool
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert ended("fuel_info", "nowhere.hdf5") == 1
    text = sys.stderr.getvalue()  # type: ignore[attr-defined]
    assert text.startswith("fuel-info: \x1b[1;31merror:\x1b[0m there" if coloured else "fuel-info:")
    assert ("\x1b" in text) == coloured


def test_no_colours_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    assert ended("fuel_info", "nowhere.hdf5") == 1
    assert "\x1b" not in capsys.readouterr().err


def test_a_rehearsal_asks_nobody_and_writes_nothing(
    monkeypatch: pytest.MonkeyPatch, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("fuel.downloaders.youtube_audio._program", lambda: ["must-not-be-run"])
    fuel_download.main(["iris", "--dry-run", "-d", "made"])
    out = capsys.readouterr().out
    assert "iris.data: 4,551 bytes\n" in out and "Nothing was written." in out
    fuel_download.main(["iris", "-n", "--bundled", "-d", "made"])
    assert "a copy that ships with Fuel" in capsys.readouterr().out
    fuel_download.main(["youtube_audio", "--youtube-id", "abc", "--dry-run", "-d", "made"])
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["iris", "--jobs", "0"], "expected a number from 1 to 16, got '0'"),
        (["iris", "-j", "many"], "expected a number from 1 to 16, got 'many'"),
        (["iris", "--url", "example.org/x"], "'example.org/x' is no address"),
        (["iris", "--url", "x=https://example.org/x"], "there is no file 'x' in this data set"),
        (["iris", "-n", "--clear"], "leave --clear out"),
        (["theirs", "-n"], "known to it alone; leave --dry-run out"),
    ],
)
def test_wrong_usage_is_told_and_nothing_is_done(
    monkeypatch: pytest.MonkeyPatch,
    here: Path,
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    use_plugin(monkeypatch, lambda **options: pytest.fail("was run"))
    assert ended("fuel_download", *arguments) == 2
    assert message in capsys.readouterr().err
    assert list(here.iterdir()) == []


def test_an_address_that_nobody_used_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use_plugin(monkeypatch, lambda **options: None)
    fuel_download.main(["theirs", "--url", "https://example.org/x"])
    assert "warning: --url was of no use" in capsys.readouterr().err


def script(command: str, shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert ended(command, "--completion", shell) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_prints_a_script_for_every_shell(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for shell in SHELLS:
        text = script(command, shell, capsys)
        assert text.startswith("#") and text.endswith("\n")
        assert command.replace("_", "-") in text and "verbose" in text
        found = shutil.which(shell)
        if found:
            done = subprocess.run([found, "-n"], input=text, capture_output=True, text=True)
            assert (done.returncode, done.stderr) == (0, "")
    assert ended(command, "--completion", "cmd.exe") == 2
    if command in ("fuel_convert", "fuel_download"):
        assert "iris" in script(command, "zsh", capsys)
        assert "__fish_seen_subcommand_from iris" in script(command, "fish", capsys)


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("folder", "other_folder"):
        (here / name).mkdir()
    (here / "file").touch()
    (here / "complete.sh").write_text(script("fuel_download", "bash", capsys))

    def completed(*words: str) -> list[str]:
        program = (
            'source ./complete.sh; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }; '
            '_fuel_download; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        done = subprocess.run(
            ["bash", "-c", program, "bash", "fuel-download", *words],
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stderr == ""
        return done.stdout.split()

    assert set(MANIFESTS) & set(completed("")) >= {"iris", "mnist", "digits"}
    assert completed("ir") == ["iris"]
    assert completed("--comp") == ["--completion"]
    assert completed("--completion", "") == ["bash", "fish", "zsh"]
    assert completed("iris", "--bu") == ["--bundled"]
    assert completed("mnist", "--bu") == []
    assert completed("svhn", "")[-2:] == ["1", "2"]
    assert completed("iris", "-d", "f") == ["folder"]
    assert completed("iris", "--jobs", "") == []
    assert completed("fi") == []


def test_names_that_a_shell_could_misread_are_left_out() -> None:
    parser = _manners.make_parser("fuel-x", "")
    subparsers = parser.add_subparsers()
    subparsers.add_parser("good", help="it's: 100%% $(true) `true`")
    subparsers.add_parser("$(touch oops)", help="")
    for shell in SHELLS:
        text = completion_script(shell, parser)
        assert "oops" not in text and "good" in text
        if shutil.which(shell):
            subprocess.run([shell, "-n"], input=text, text=True, check=True)


def test_convert_is_quiet_too(capsys: pytest.CaptureFixture[str]) -> None:
    fuel_download.main(["iris", "--bundled"])
    fuel_convert.main(["iris", "--quiet"])
    assert "wrote" in capsys.readouterr().out
