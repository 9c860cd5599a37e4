"""The distributions hold what they must and nothing else, and build one from the other alone."""

from __future__ import annotations

import email.message
import email.parser
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

import pytest

TOP = [
    ".fuelrc.example",
    ".importlinter",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "MANIFEST.in",
    "README.md",
    "SECURITY.md",
    "conftest.py",
    "pyproject.toml",
    "setup.py",
]
FOLDERS = ["bin", "benchmarks", "docs", "examples", "fuel", "tests"]
PRODUCTS = shutil.ignore_patterns(
    "*.so", "*.pyd", "*.c", "__pycache__", "_build", "api", "results", "*.egg-info"
)
# Left behind in many checkouts; none of it may travel.
LITTER = [
    "fuel/kernels/_litter.c",
    "fuel/kernels/_litter.html",
    "fuel/kernels/_litter.cpython-399-x86_64-linux-gnu.so",
    "fuel/__pycache__/litter.cpython-399.pyc",
    "build/lib/fuel/litter.py",
    "notes.txt",
    "quickstart-output/digits.hdf5",
    "docs/_build/litter.py",
]
COMPILED = os.environ.get("FUEL_KERNELS", "") != "reference"

# Building takes a minute on two cores that have nothing else to do.
pytestmark = pytest.mark.timeout(300)


def run(command: list[str], directory: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        cwd=directory,
        env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", **variables},
        capture_output=True,
        text=True,
        timeout=280,
    )


def expect(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def tree(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources without products, and with litter."""
    copy = tmp_path_factory.mktemp("checkout")
    for name in TOP:
        shutil.copy(checkout / name, copy)
    for name in FOLDERS:
        shutil.copytree(checkout / name, copy / name, ignore=PRODUCTS)
    for name in LITTER:
        path = copy / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"litter")
    return copy


@pytest.fixture(scope="module")
def sdist(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("sdist")
    expect(run(["-m", "build", "--sdist", "--no-isolation", "--outdir", str(output)], tree))
    (path,) = output.iterdir()
    return path


@pytest.fixture(scope="module")
def unpacked(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        if hasattr(tarfile, "data_filter"):
            archive.extractall(directory, filter="data")
        else:  # the first releases of Python 3.10 and 3.11
            archive.extractall(directory)
    (path,) = directory.iterdir()
    return path


@pytest.fixture(scope="module")
def wheel(unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("wheel")
    source = tmp_path_factory.mktemp("alone") / unpacked.name
    shutil.copytree(unpacked, source)
    command = ["-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "-w", str(output), "."]
    expect(run(command, source, FUEL_REQUIRE_EXTENSIONS=str(int(COMPILED))))
    (path,) = output.iterdir()
    return path


def package_files(checkout: Path, *suffixes: str) -> set[str]:
    found = {p for suffix in suffixes for p in (checkout / "fuel").rglob(f"*{suffix}")}
    found |= {p for p in (checkout / "fuel" / "data").iterdir() if p.name[0] != "."}
    found.add(checkout / "fuel" / "py.typed")
    return {path.relative_to(checkout).as_posix() for path in found}


def test_the_source_distribution_holds_the_sources_and_nothing_else(
    checkout: Path, unpacked: Path
) -> None:
    held = {p.relative_to(unpacked).as_posix() for p in unpacked.rglob("*") if p.is_file()}
    assert package_files(checkout, ".py", ".pyi", ".pyx", ".pxd") <= held
    assert set(TOP) <= held
    made = {name for name in held if name.startswith("fuel.egg-info/")}
    made |= {"PKG-INFO", "setup.cfg"}
    strangers = {
        name
        for name in held - made - set(TOP)
        if PurePosixPath(name).parts[0] not in FOLDERS
        or "litter" in name
        or name.endswith((".c", ".so", ".pyd", ".pyc"))
    }
    assert strangers == set()


def test_the_wheel_holds_the_package_and_nothing_else(checkout: Path, wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if not name.endswith("/")}
    code = {name for name in held if ".dist-info/" not in name}
    compiled = {name for name in code if name.endswith((".so", ".pyd"))}
    assert code - compiled == package_files(checkout, ".py", ".pyi")
    kernels = {path.stem for path in (checkout / "fuel" / "kernels").glob("_*.pyx")}
    if COMPILED:
        assert {PurePosixPath(name).name.split(".")[0] for name in compiled} == kernels
        assert {PurePosixPath(name).parent.as_posix() for name in compiled} <= {"fuel/kernels"}


def test_the_metadata_names_licence_commands_and_requirements(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = [name for name in archive.namelist() if name.endswith("/METADATA")]
        (commands,) = [name for name in archive.namelist() if name.endswith("/entry_points.txt")]
        text = archive.read(metadata).decode()
        entry_points = archive.read(commands).decode()
        assert any(name.endswith("licenses/LICENSE") for name in archive.namelist())
    message: email.message.Message = email.parser.Parser().parsestr(text)
    assert message["Name"] == "fuel"
    assert message["Requires-Python"] == ">=3.10"
    assert message["License-Expression"] == "MIT"
    required = {
        line.partition(">")[0] for line in message.get_all("Requires-Dist") or [] if ";" not in line
    }
    assert required == {
        "cloudpickle", "filelock", "h5py", "numpy", "pillow", "platformdirs",
        "pyyaml", "pyzmq", "requests", "scipy", "tables", "tqdm",
    }  # fmt: skip
    for name in ["convert", "download", "info"]:
        assert f"fuel-{name} = fuel.bin.fuel_{name}:main" in entry_points


ON_THE_TWINS = """
import pathlib, sys
import fuel
assert pathlib.Path(fuel.__file__).is_relative_to(sys.argv[1]), fuel.__file__
assert not list(pathlib.Path(sys.argv[1]).rglob("_*.so"))
from fuel.schemes import PermutedScheme
requests = list(PermutedScheme(10, batch_size=4, seed=1).get_request_iterator())
assert sorted(index for request in requests for index in request) == list(range(10))
print("works")
"""
WITHOUT_COMPILER = {"CC": "false", "CXX": "false"}


@pytest.mark.skipif(sys.platform == "win32", reason="CC does not choose the compiler on Windows")
def test_without_a_compiler_it_installs_and_runs_on_the_twins(
    unpacked: Path, tmp_path: Path
) -> None:
    source, target = tmp_path / "source", tmp_path / "installed"
    shutil.copytree(unpacked, source)
    options = ["--no-build-isolation", "--no-deps", "--no-index", "--target", str(target)]
    expect(run(["-m", "pip", "install", *options, str(source)], tmp_path, **WITHOUT_COMPILER))
    code = ON_THE_TWINS
    done = run(["-c", code, str(target)], tmp_path, PYTHONPATH=str(target))
    assert done.stdout.strip() == "works", done.stdout + done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="CC does not choose the compiler on Windows")
def test_without_a_compiler_it_fails_where_extensions_are_required(
    unpacked: Path, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    shutil.copytree(unpacked, source)
    build = ["setup.py", "-q", "build_ext", "--inplace"]
    kept = run(build, source, **WITHOUT_COMPILER)
    assert kept.returncode == 0
    assert "the NumPy twins will be used" in kept.stderr
    refused = run(build, source, FUEL_REQUIRE_EXTENSIONS="1", **WITHOUT_COMPILER)
    assert refused.returncode != 0
    refused = run([*build, "--only", "jpeg"], source, FUEL_REQUIRE_JPEG="1", **WITHOUT_COMPILER)
    assert refused.returncode != 0
    assert "libjpeg-turbo and its headers were not found; install" in refused.stderr


def test_a_folder_without_libjpeg_is_named(unpacked: Path) -> None:
    refused = run(["setup.py", "-q", "build_ext"], unpacked, FUEL_JPEG_ROOT="nowhere")
    assert refused.returncode != 0
    assert "must be a folder with `include` and `lib`, got 'nowhere'" in refused.stderr


def test_a_kernel_that_cannot_be_translated_is_left_out(unpacked: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(unpacked, source)
    (source / "fuel" / "kernels" / "_broken.pyx").write_text("def f(:\n", encoding="utf-8")
    for name in (source / "fuel" / "kernels").glob("_[!b]*.pyx"):
        name.unlink()
    build = ["setup.py", "-q", "build_ext", "--inplace"]
    kept = run(build, source)
    assert kept.returncode == 0
    assert "fuel.kernels._broken could not be built" in kept.stderr
    assert run(build, source, FUEL_REQUIRE_EXTENSIONS="1").returncode != 0
