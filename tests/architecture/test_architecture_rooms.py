"""Rooms stay small, say what they are for, and name and document what they offer."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import fuel

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 500
SUFFIXES = {".py", ".pyi", ".pyx", ".pxd", ".h", ".c"}
CODE = ["fuel", "tests", "bin", "benchmarks", "examples", "docs"]


def source_files() -> Iterator[Path]:
    for folder in CODE:
        for path in sorted((ROOT / folder).rglob("*")):
            parts = path.relative_to(ROOT).parts
            if any(part in {"_build", "__pycache__"} or part.startswith(".") for part in parts):
                continue
            if path.is_file() and (path.suffix in SUFFIXES or path.parent.name == "bin"):
                yield path


def modules() -> Iterator[str]:
    yield "fuel"
    for module in pkgutil.walk_packages(fuel.__path__, "fuel."):
        # Compiled kernels have no source to look at; their doors are looked at instead.
        spec = module.module_finder.find_spec(module.name, None)  # type: ignore[call-arg]
        if spec is not None and spec.origin is not None and spec.origin.endswith(".py"):
            yield module.name


MODULES = sorted(modules())
PUBLIC = [name for name in MODULES if not any(part[0] == "_" for part in name.split("."))]
PUBLIC.remove("fuel.version")  # one assignment, read as text by the build


def test_no_file_is_longer_than_500_lines() -> None:
    sizes = {str(p.relative_to(ROOT)): len(p.read_bytes().splitlines()) for p in source_files()}
    assert {path: size for path, size in sizes.items() if size > LIMIT} == {}


def test_every_module_opens_with_what_it_is_for() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in source_files()
        if path.suffix == ".py" and not ast.get_docstring(ast.parse(path.read_bytes()))
    ]
    assert silent == []


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_are_listed_exist_and_are_documented(name: str) -> None:
    module = importlib.import_module(name)
    if not offers_something(module):
        return
    assert hasattr(module, "__all__"), f"{name} has no __all__"
    listed = list(module.__all__)
    assert len(set(listed)) == len(listed)
    undocumented = [problem for entry in listed for problem in silent_parts(module, entry)]
    assert undocumented == []


def offers_something(module: ModuleType) -> bool:
    """Whether a module is more than a docstring and the modules below it."""
    things = [value for name, value in vars(module).items() if name[0] != "_"]
    return any(not inspect.ismodule(thing) for thing in things)


def silent_parts(module: ModuleType, name: str) -> Iterator[str]:
    """Names of what is public in ``module.name`` and has no docstring."""
    thing = getattr(module, name)
    label = f"{module.__name__}.{name}"
    if inspect.isclass(thing) and thing.__module__.startswith("fuel"):
        # A class explains itself; its methods may inherit their explanation. The methods of a
        # suite are laws, which their names state.
        if not thing.__dict__.get("__doc__"):
            yield label
        for attribute, value in vars(thing).items():
            method = getattr(value, "__func__", value)
            if not attribute.startswith(("_", "test_")) and (
                inspect.isfunction(method) or isinstance(method, property)
            ):
                if not inspect.getdoc(getattr(thing, attribute)):
                    yield f"{label}.{attribute}"
    elif inspect.isfunction(thing) and not inspect.getdoc(thing):
        yield label
    elif inspect.ismodule(thing) and not inspect.getdoc(thing):
        yield label


def test_tests_have_names_that_are_unique() -> None:
    names: dict[str, list[Path]] = {}
    for path in (ROOT / "tests").rglob("test_*.py"):
        names.setdefault(path.name, []).append(path)
    assert {name: paths for name, paths in names.items() if len(paths) > 1} == {}
