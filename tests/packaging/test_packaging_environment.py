"""The programs in `bin/` say what is wrong in one line, and redo only what has changed."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ["quickstart", "test", "fuel-convert", "fuel-download", "fuel-info"]

# Building takes a minute on two cores that have nothing else to do.
pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def checkout_copy(tmp_path: Path) -> Path:
    """A checkout in which nothing was installed: enough for the programs to start from."""
    copy = tmp_path / "a checkout"
    shutil.copytree(ROOT / "bin", copy / "bin", ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "fuel" / "kernels").mkdir(parents=True)
    (copy / "fuel" / "kernels" / "_kernel.pyx").write_text("x = 1\n", encoding="utf-8")
    (copy / "examples").mkdir()
    (copy / "examples" / "quickstart.py").write_text("print('ran')\n", encoding="utf-8")
    for name in ["pyproject.toml", "setup.py"]:
        shutil.copy(ROOT / name, copy)
    return copy


def load(copy: Path) -> ModuleType:
    path = copy / "bin" / "_environment.py"
    spec = importlib.util.spec_from_file_location("_environment_under_test", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def environment(checkout_copy: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The room under test, with the slow parts (venv, pip) replaced by notes of what was asked."""
    module = load(checkout_copy)
    module.asked = []  # type: ignore[attr-defined]

    def make() -> None:
        module.asked.append("make")
        module.python().parent.mkdir(parents=True, exist_ok=True)
        module.python().touch()

    def install(extras: list[str], require_kernels: bool) -> None:
        module.asked.append(("install", list(extras), require_kernels))

    monkeypatch.setattr(module, "_make", make)
    monkeypatch.setattr(module, "_install", install)
    monkeypatch.setattr(module, "_kernels_work", lambda: True)
    return module


def start(
    copy: Path, program: str, *arguments: str, cwd: Path | None = None, **variables: str
) -> Any:
    return subprocess.run(
        [sys.executable, str(copy / "bin" / program), *arguments],
        cwd=cwd,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=280,
    )


def test_an_unchanged_environment_is_used_again(environment: Any) -> None:
    environment.prepare(["test"])
    environment.prepare(["test"])
    environment.prepare([])  # what is there has more than is needed
    assert environment.asked == ["make", ("install", ["test"], False)]


def test_a_change_of_the_sources_installs_again(environment: Any) -> None:
    environment.prepare([])
    for name in ["pyproject.toml", "setup.py", "fuel/kernels/_kernel.pyx"]:
        with open(environment.ROOT / name, "a", encoding="utf-8") as file:
            file.write("\n# changed\n")
        environment.prepare([])
    assert environment.asked == ["make"] + [("install", [], False)] * 4


def test_more_extras_are_added_to_those_that_are_there(environment: Any) -> None:
    environment.prepare(["docs"])
    environment.prepare(["test"], require_kernels=True)
    assert environment.asked[1:] == [
        ("install", ["docs"], False),
        ("install", ["docs", "test"], True),
    ]


def test_another_python_or_a_moved_checkout_makes_a_new_environment(environment: Any) -> None:
    environment.prepare([])
    stamp = json.loads(environment.STAMP.read_text(encoding="utf-8"))
    for place in range(len(stamp["environment"])):
        changed = json.loads(json.dumps(stamp))
        changed["environment"][place] = "another"
        environment.STAMP.write_text(json.dumps(changed), encoding="utf-8")
        environment.prepare([])
    assert environment.asked.count("make") == 1 + len(stamp["environment"])


def test_a_failed_installation_is_not_taken_for_a_finished_one(
    environment: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment.prepare([])

    def fail(extras: list[str], require_kernels: bool) -> None:
        raise environment.Failure("no network")

    with monkeypatch.context() as patch:
        patch.setattr(environment, "_install", fail)
        with pytest.raises(environment.Failure):
            environment.prepare(["test"])
    environment.prepare([])
    assert environment.asked.count(("install", [], False)) == 2


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"environment": 3}'])
def test_a_damaged_stamp_is_as_good_as_none(environment: Any, damage: str) -> None:
    environment.prepare([])
    environment.STAMP.write_text(damage, encoding="utf-8")
    environment.prepare([])
    assert environment.asked.count("make") == 2


def test_missing_kernels_are_built_where_they_are_required(
    environment: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "_kernels_work", lambda: False)
    environment.prepare([])
    environment.prepare([])
    environment.prepare([], require_kernels=True)
    assert environment.asked[1:] == [("install", [], False), ("install", [], True)]


def test_something_else_named_venv_is_left_alone(checkout_copy: Path) -> None:
    (checkout_copy / ".venv").mkdir()
    (checkout_copy / ".venv" / "letter").write_text("precious", encoding="utf-8")
    done = start(checkout_copy, "quickstart")
    assert done.returncode == 1
    assert "is not a virtual environment; move it away" in done.stderr
    assert (checkout_copy / ".venv" / "letter").read_text(encoding="utf-8") == "precious"


@pytest.mark.parametrize("moment", ["folder", "clearing"])
def test_an_environment_whose_making_was_interrupted_is_made_again(
    checkout_copy: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    module = load(checkout_copy)
    module.HOME.mkdir()
    if moment == "clearing":
        (module.HOME / "pyvenv.cfg").touch()
        (module.HOME / "lib").mkdir()
        (module.HOME / "lib" / "old").touch()

        def interrupted(path: str) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(module.shutil, "rmtree", interrupted)
            with pytest.raises(KeyboardInterrupt):
                module._make()
    made: list[str] = []
    monkeypatch.setattr("venv.create", lambda path, **options: made.append(path))
    module._make()
    assert made == [str(module.HOME)]
    assert [path.name for path in module.HOME.iterdir()] == ["pyvenv.cfg"]


def test_a_command_in_an_incomplete_environment_says_how_to_complete_it(
    checkout_copy: Path, tmp_path: Path
) -> None:
    import venv

    venv.create(checkout_copy / ".venv", symlinks=os.name != "nt")
    (tmp_path / "fuel.py").write_text("print('not the package')\n", encoding="utf-8")
    done = start(checkout_copy, "fuel-info", "a.hdf5", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("fuel-info: failed: No module named 'fuel'")
    assert "run bin/quickstart once" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot replace a running program")
def test_a_signal_to_the_quickstart_reaches_the_program_that_works(checkout_copy: Path) -> None:
    import venv

    module = load(checkout_copy)
    venv.create(module.HOME, symlinks=True)
    module.STAMP.write_text(json.dumps(module._describe([])), encoding="utf-8")
    (checkout_copy / "examples" / "quickstart.py").write_text(
        "import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(60)\n", encoding="utf-8"
    )
    program = [sys.executable, str(checkout_copy / "bin" / "quickstart")]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        last = [process.stdout.readline() for _ in range(3)][-1]
        assert int(last) == process.pid
        process.terminate()
        assert process.wait(timeout=30) == -15


def test_an_old_python_is_told_what_is_needed(
    checkout_copy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = load(checkout_copy)
    monkeypatch.setattr(module, "OLDEST", (4, 0))
    monkeypatch.setattr(module, "NEWER", [])
    assert module.program(lambda arguments: 0) == 1
    assert "Python 4.0 or newer is needed, this is 3." in capsys.readouterr().err


def test_a_python_without_ensurepip_is_told_what_to_install(checkout_copy: Path) -> None:
    stub = checkout_copy / "stub"
    stub.mkdir()
    (stub / "ensurepip.py").write_text(
        "raise ImportError('No module named ensurepip', name='ensurepip')\n", encoding="utf-8"
    )
    done = start(checkout_copy, "test", PYTHONPATH=str(stub))
    assert done.returncode == 1
    assert "no module `ensurepip`" in done.stderr
    assert "apt install python3-venv" in done.stderr


def test_without_a_network_it_says_that_pip_failed_and_what_to_try(checkout_copy: Path) -> None:
    done = start(checkout_copy, "quickstart", PIP_NO_INDEX="1", PIP_CONFIG_FILE=os.devnull)
    assert done.returncode == 1
    assert "making a virtual environment in .venv" in done.stdout
    assert "pip could not install the package" in done.stderr
    assert "check the network connection" in done.stderr
    assert "Traceback" not in done.stderr.splitlines()[-1]
    assert not (checkout_copy / ".venv" / "fuel-stamp.json").exists()


def test_an_incomplete_checkout_is_named(checkout_copy: Path) -> None:
    (checkout_copy / "examples" / "quickstart.py").unlink()
    done = start(checkout_copy, "quickstart")
    assert done.returncode == 1
    assert "this checkout is incomplete" in done.stderr


def test_the_launchers_hand_over_arguments_and_exit_code(checkout_copy: Path) -> None:
    package = checkout_copy / "fuel" / "bin"
    package.mkdir()
    for folder in (package, package.parent):
        (folder / "__init__.py").touch()
    (package / "fuel_info.py").write_text(
        "import sys\ndef main(args=None):\n    print(sys.argv[1:])\n    return 3\n",
        encoding="utf-8",
    )
    done = start(checkout_copy, "fuel-info", "a file.hdf5")
    assert (done.returncode, done.stdout.strip()) == (3, "['a file.hdf5']")
    missing = start(checkout_copy, "fuel-convert", "iris")
    assert missing.returncode == 1
    assert "run bin/quickstart once" in missing.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="files on Windows have no executable bit")
def test_the_programs_can_be_executed() -> None:
    assert [name for name in PROGRAMS if not os.access(ROOT / "bin" / name, os.X_OK)] == []
